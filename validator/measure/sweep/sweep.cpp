#include "validator/measure/sweep/sweep.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "validator/executor/device/unsupported_product.h"
#include "validator/measure/sweep/collective_bench.h"

namespace hexaplan::validator {
namespace {

using costmodel::Seconds;

/// What rank 0 decides about a point.
enum class Step : std::uint8_t { Measure, Skip };

/// What one point gave.
struct Sampled {
  std::vector<double> seconds;
  std::optional<DeviceState> state;
};

/// Under which the state of a point's device is stored, and in which units.
std::string state_name(const Point& point) {
  return name_of(point) + ": state";
}
constexpr std::string_view kStateUnits = "MHz, W, °C";
std::vector<double> numbers_of_state(const std::optional<DeviceState>& state) {
  return state ? std::vector<double>{state->clock, state->power, state->temperature} : std::vector<double>{};
}
std::optional<DeviceState> state_of(const std::vector<double>& numbers) {
  if (numbers.size() != 3) return std::nullopt;
  return DeviceState{.clock = numbers[0], .power = numbers[1], .temperature = numbers[2]};
}

/// Book-keeping of one sweep: what is there, what is left, how long it took.
class Ledger {
 public:
  Ledger(std::span<const Point> plan, MeasurementStore& store, const SweepOptions& options)
      : store_{store}, options_{options}, known_{store.newest()}, total_{static_cast<int>(plan.size())} {}

  /// Takes the point from the store, or leaves it out, or says that it has to be measured.
  [[nodiscard]] Step begin(const Point& point) {
    if (!options_.again) {
      const auto found = known_.find(name_of(point));
      if (found != known_.end() && !found->second.samples.empty()) {
        const auto state = known_.find(state_name(point));
        result_.measurements.push_back(
            {point, found->second.samples,
             state == known_.end() ? std::nullopt : state_of(state->second.samples)});
        ++result_.stored;
        return Step::Skip;
      }
    }
    if (elapsed() >= options_.budget) {
      ++result_.left_out;
      return Step::Skip;
    }
    report(&point);
    return Step::Measure;
  }
  void end(const Point& point, Sampled sampled) {
    if (sampled.state) store_.add(state_name(point), kStateUnits, numbers_of_state(sampled.state));
    store_.add(name_of(point), "s", sampled.seconds);
    result_.measurements.push_back({point, std::move(sampled.seconds), sampled.state});
    ++result_.measured;
  }
  void refuse(const UnsupportedProduct& why) {
    if (result_.refused++ == 0) result_.refusal = why.what();
  }
  [[nodiscard]] SweepResult finish() {
    report(nullptr);
    return std::move(result_);
  }

 private:
  using Clock = std::chrono::steady_clock;
  [[nodiscard]] Seconds elapsed() const {
    return Seconds{std::chrono::duration<double>(Clock::now() - begin_).count()};
  }
  void report(const Point* point) const {
    if (!options_.progress) return;
    options_.progress({.done = result_.measured + result_.stored + result_.left_out + result_.refused,
                       .total = total_,
                       .point = point,
                       .elapsed = elapsed(),
                       .budget = options_.budget});
  }

  MeasurementStore& store_;
  const SweepOptions& options_;
  std::map<std::string, StoredMeasurement, std::less<>> known_;
  int total_;
  SweepResult result_;
  Clock::time_point begin_ = Clock::now();
};

/// Rank 0's step, on every rank.
Step agree(Communicator& world, Step mine) {
  const std::byte byte{static_cast<unsigned char>(mine)};
  return static_cast<Step>(world.gather_bytes({&byte, 1}).front().front());
}

double median_time(std::vector<double> seconds) {
  return Measurement{.point = {}, .seconds = std::move(seconds)}.median();
}

/// Every rank's numbers.
std::vector<std::vector<double>> gather(Communicator& world, std::span<const double> mine) {
  std::vector<std::vector<double>> all;
  for (const std::vector<std::byte>& bytes : world.gather_bytes(std::as_bytes(mine))) {
    std::vector<double>& numbers = all.emplace_back(bytes.size() / sizeof(double));
    if (!bytes.empty()) std::memcpy(numbers.data(), bytes.data(), bytes.size());
  }
  return all;
}
std::vector<std::string> gather(Communicator& world, const std::string& mine) {
  std::vector<std::string> all;
  for (const std::vector<std::byte>& bytes : world.gather_bytes(std::as_bytes(std::span{mine}))) {
    std::string& text = all.emplace_back(bytes.size(), ' ');
    if (!bytes.empty()) std::memcpy(text.data(), bytes.data(), bytes.size());
  }
  return all;
}

std::string host_of_process() {
  std::array<char, 256> host{};
  return gethostname(host.data(), host.size() - 1) == 0 ? host.data() : "unknown";
}

/// "NVIDIA H200, bfloat16" of "cuda:3 NVIDIA H200, bfloat16": what is the same on all GPUs of a type.
std::string type_of(const Device& device) {
  const std::string text = device.description();
  const std::size_t space = text.find(' ');
  return space == std::string::npos ? text : text.substr(space + 1);
}

/// One calibration is of one type of GPU.
void refuse_different_devices(Communicator& world, const Device& device) {
  const std::vector<std::string> types = gather(world, type_of(device));
  const std::vector<std::string> hosts = gather(world, host_of_process());
  for (std::size_t rank = 1; rank < types.size(); ++rank) {
    if (types[rank] == types.front()) continue;
    throw std::runtime_error{
        fmt::format("rank {} on {} is {}, rank 0 on {} is {}: calibrate one type at a time", rank,
                    hosts[rank], types[rank], hosts.front(), types.front())};
  }
}

/// Kernels of a job: what one rank does of it.
class RankKernels {
 public:
  RankKernels(const KernelSweep& kernels, const BenchOptions& bench, Communicator& world, Device& device)
      : kernels_{kernels}, world_{world}, measures_{kernels.on_every_rank || world.rank() == 0} {
    if (measures_) bench_.emplace(device, bench);
  }

  [[nodiscard]] std::vector<Point> plan() {
    const RoughRates mine = measures_ ? bench_->probe() : RoughRates{};
    const std::array<double, 3> numbers{mine.gemm.value(), mine.attention.value(), mine.memory.value()};
    const std::vector<double> first = gather(world_, numbers).front();
    return kernels_.plan({costmodel::FlopsPerSecond{first[0]}, costmodel::FlopsPerSecond{first[1]},
                          costmodel::BytesPerSecond{first[2]}});
  }

  /// The samples that are kept, on every rank; UnsupportedProduct where a device that measures has none.
  Sampled measure(const Point& point) {
    std::string refusal = "a device of another rank has none";
    std::vector<double> mine;
    try {
      if (measures_) mine = bench_->measure(point);
    } catch (const UnsupportedProduct& why) {
      refusal = why.what();
    }
    std::vector<std::vector<double>> all = gather(world_, mine);
    const std::vector<std::vector<double>> states =
        gather(world_, numbers_of_state(measures_ ? bench_->state() : std::nullopt));
    const auto those_that_measure = static_cast<std::ptrdiff_t>(kernels_.on_every_rank ? all.size() : 1);
    const bool refused = std::any_of(all.begin(), all.begin() + those_that_measure,
                                     [](const std::vector<double>& samples) { return samples.empty(); });
    if (refused) throw UnsupportedProduct{refusal};
    const std::size_t kept = kernels_.on_every_rank ? middle(all) : 0;
    return {std::move(all[kept]), state_of(states[kept])};
  }

  /// By rank; none where they did not all measure.
  [[nodiscard]] std::vector<DeviceSpeed> speeds() {
    std::vector<DeviceSpeed> result;
    const std::vector<std::string> hosts = gather(world_, host_of_process());
    for (std::size_t rank = 0; rank < ratios_.size(); ++rank)
      result.push_back({static_cast<int>(rank), hosts[rank], median_time(ratios_[rank])});
    return result;
  }

 private:
  /// Rank of the median device; how long each takes over it is noted.
  std::size_t middle(const std::vector<std::vector<double>>& all) {
    std::vector<std::pair<double, std::size_t>> order;
    for (std::size_t rank = 0; rank < all.size(); ++rank) order.emplace_back(median_time(all[rank]), rank);
    std::sort(order.begin(), order.end());
    const auto [median, rank] = order[(order.size() - 1) / 2];
    ratios_.resize(all.size());
    for (const auto& [time, of] : order) ratios_[of].push_back(time / median);
    return rank;
  }

  const KernelSweep& kernels_;
  Communicator& world_;
  bool measures_;
  std::optional<KernelBench> bench_;
  std::vector<std::vector<double>> ratios_;  // by rank
};

}  // namespace

SweepResult sweep_kernels(std::span<const Point> plan, KernelBench& bench, MeasurementStore& store,
                          const SweepOptions& options) {
  Ledger ledger{plan, store, options};
  for (const Point& point : plan) {
    if (ledger.begin(point) != Step::Measure) continue;
    try {
      std::vector<double> seconds = bench.measure(point);
      ledger.end(point, {std::move(seconds), bench.state()});
    } catch (const UnsupportedProduct& why) {
      ledger.refuse(why);
    }
  }
  return ledger.finish();
}

namespace {

/// A sweep over the ranks of a job: rank 0's books, and what every rank does.
class JobSweep {
 public:
  JobSweep(const KernelSweep* kernels, std::span<const Point> collectives, const RankSweep& on,
           MeasurementStore* store, const SweepOptions& options)
      : kernels_{kernels}, collectives_{collectives}, on_{on}, store_{store}, options_{options} {}

  void run(Communicator& world) {
    const std::unique_ptr<Device> device = on_.make_device(world.rank());
    if (kernels_ != nullptr && kernels_->on_every_rank) refuse_different_devices(world, *device);
    SweepOptions options = options_;
    if (kernels_ != nullptr) options.budget += measure_kernels(world, *device);
    const DeviceInUse in_use{world, *device};
    CollectiveBench bench{*device, world, on_.bench};
    sweep(world, collectives_, options, [&](const Point& point) {
      return Sampled{bench.measure(point), std::nullopt};
    });
  }

  /// Where rank 0 was.
  [[nodiscard]] SweepResult take_result() { return std::move(result_); }

 private:
  /// What is left of the kernels' budget.
  Seconds measure_kernels(Communicator& world, Device& device) {
    const auto begin = std::chrono::steady_clock::now();
    RankKernels kernels{*kernels_, on_.bench, world, device};
    const std::vector<Point> plan = kernels.plan();
    sweep(world, plan, kernels_->options, [&](const Point& point) { return kernels.measure(point); });
    std::vector<DeviceSpeed> speeds = kernels.speeds();
    const Seconds taken{std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count()};
    const Seconds left = std::max(Seconds{}, kernels_->options.budget - taken);
    if (world.rank() != 0) return left;
    result_.devices = std::move(speeds);
    if (kernels_->done) kernels_->done(device);
    return left;
  }

  template <class Measure>
  void sweep(Communicator& world, std::span<const Point> plan, const SweepOptions& options,
             const Measure& measure) {
    std::optional<Ledger> ledger;  // of rank 0
    if (world.rank() == 0) ledger.emplace(plan, *store_, options);
    for (const Point& point : plan) {
      if (agree(world, ledger ? ledger->begin(point) : Step::Skip) == Step::Skip) continue;
      try {
        Sampled sampled = measure(point);
        if (ledger) ledger->end(point, std::move(sampled));
      } catch (const UnsupportedProduct& why) {
        if (ledger) ledger->refuse(why);
      }
    }
    if (ledger) add(ledger->finish());
  }

  void add(SweepResult part) {
    result_.measurements.insert(result_.measurements.end(), part.measurements.begin(),
                                part.measurements.end());
    result_.measured += part.measured;
    result_.stored += part.stored;
    result_.left_out += part.left_out;
    if (result_.refused == 0) result_.refusal = part.refusal;
    result_.refused += part.refused;
  }

  const KernelSweep* kernels_;
  std::span<const Point> collectives_;
  const RankSweep& on_;
  MeasurementStore* store_;
  const SweepOptions& options_;
  SweepResult result_;
};

}  // namespace

SweepResult sweep_ranks(const KernelSweep* kernels, std::span<const Point> collectives, const RankSweep& on,
                        MeasurementStore* store, const SweepOptions& options) {
  assert(on.backend.first_local_rank() != 0 || store != nullptr);
  JobSweep job{kernels, collectives, on, store, options};
  on.backend.run(on.ranks, [&](Communicator& world) { job.run(world); });
  return job.take_result();
}

}  // namespace hexaplan::validator
