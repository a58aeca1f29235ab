#include "validator/measure/sweep/sweep.h"

#include <cassert>
#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "validator/executor/device/unsupported_product.h"
#include "validator/measure/sweep/collective_bench.h"

namespace hexaplan::validator {
namespace {

using costmodel::Seconds;

/// What rank 0 decides about a point.
enum class Step : std::uint8_t { Measure, Skip };

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
        result_.measurements.push_back({point, found->second.samples});
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
  void end(const Point& point, std::vector<double> seconds) {
    store_.add(name_of(point), "s", seconds);
    result_.measurements.push_back({point, std::move(seconds)});
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

}  // namespace

SweepResult sweep_kernels(std::span<const Point> plan, KernelBench& bench, MeasurementStore& store,
                          const SweepOptions& options) {
  Ledger ledger{plan, store, options};
  for (const Point& point : plan) {
    if (ledger.begin(point) != Step::Measure) continue;
    try {
      ledger.end(point, bench.measure(point));
    } catch (const UnsupportedProduct& why) {
      ledger.refuse(why);
    }
  }
  return ledger.finish();
}

SweepResult sweep_collectives(std::span<const Point> plan, const RankSweep& on, MeasurementStore* store,
                              const SweepOptions& options) {
  const bool speaks = on.backend.first_local_rank() == 0;
  assert(!speaks || store != nullptr);
  std::unique_ptr<Ledger> ledger;
  if (speaks) ledger = std::make_unique<Ledger>(plan, *store, options);
  on.backend.run(on.ranks, [&](Communicator& world) {
    const std::unique_ptr<Device> device = on.make_device(world.rank());
    const DeviceInUse in_use{world, *device};
    CollectiveBench bench{*device, world, on.bench};
    const bool decides = world.rank() == 0;
    for (const Point& point : plan) {
      const Step step = agree(world, decides ? ledger->begin(point) : Step::Skip);
      if (step == Step::Skip) continue;
      std::vector<double> seconds = bench.measure(point);
      if (decides) ledger->end(point, std::move(seconds));
    }
  });
  return speaks ? ledger->finish() : SweepResult{};
}

}  // namespace hexaplan::validator
