#include "cli/commands/calibrate.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <thread>

#include "cli/commands/history.h"
#include "cli/commands/host_memory.h"
#include "cli/commands/interrupts.h"
#include "cli/commands/job.h"
#include "cli/commands/ready_device.h"
#include "cli/version.h"
#include "cli/write_file.h"
#include "costmodel/units/format_units.h"
#include "presets/calibration/find_calibration.h"
#include "presets/clusters/cluster_preset.h"
#include "presets/gpus/gpu_preset.h"
#include "presets/json/input_error.h"
#include "validator/executor/backends/backends.h"
#include "validator/executor/communicator/bootstrap/bootstrap_error.h"
#include "validator/executor/communicator/bootstrap/launcher.h"
#include "validator/executor/communicator/rank_fault.h"
#include "validator/executor/device/device.h"
#include "validator/measure/sweep/sweep.h"

namespace hexaplan::cli {
namespace {

using costmodel::Bytes;
using costmodel::Precision;
using costmodel::Seconds;
using presets::InputError;
using presets::JsonArray;
using presets::JsonObject;
using presets::JsonValue;
using validator::Device;
using validator::Element;
using validator::SweepProgress;
using validator::SweepResult;

constexpr Seconds kQuickBudget{100}, kFullBudget{1800};
/// Of the budget for kernels at most, where collectives follow.
constexpr double kKernelShare = 0.8;
/// One execution of a point may take so much of the budget: with its thirteen runs, hundreds of points fit.
constexpr double kLongestRunShare = 1.0 / 1500;
constexpr Seconds kShortestLimit{5e-3};
/// GEMMs per power of two of area and depth.
constexpr int kQuickPerCell = 1, kFullPerCell = 4;

/// What a kind of device is measured with.
struct DeviceRow {
  std::string_view name;
  std::string_view gpu;             // preset; empty: by the device's own name
  std::string_view ranks;           // kind that its collectives run over
  int gpus;                         // by default
  Bytes memory;                     // of one point
  costmodel::BytesPerSecond links;  // guess of a collective, the same on all hosts: they must plan alike
};
// A processor's caches end below 64 MiB; an H100's at 50 MiB, a B200's at 126 MiB, and the largest layers'
// weight gradients take 2 GB.
constexpr DeviceRow kDevices[] = {{"cpu", "cpu", "threads", 2, Bytes{64e6}, costmodel::BytesPerSecond{2e9}},
                                  {"cuda", "", "nccl", 1, Bytes{2e9}, costmodel::BytesPerSecond{20e9}}};

const DeviceRow& row_of(const std::string& device) {
  const std::string name = ready_device(device).name;
  const auto row = std::find_if(std::begin(kDevices), std::end(kDevices),
                                [&](const DeviceRow& r) { return r.name == name; });
  assert(row != std::end(kDevices));  // a row for every device
  return *row;
}

std::string processor_name() {
  std::ifstream file{"/proc/cpuinfo"};
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("model name")) return line.substr(std::min(line.find(": "), line.size() - 2) + 2);
  }
  return "processor";
}

/// Versions that set rates; clocks and temperatures change by the minute.
std::string software_of(const std::vector<validator::DeviceFact>& facts) {
  std::string text;
  for (const validator::DeviceFact& fact : facts) {
    if (fact.unit.empty() && !fact.text.empty())
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", fact.name, fact.text);
  }
  return text;
}

JsonValue machine_json(const validator::MachineIdentity& machine,
                       const std::vector<validator::DeviceFact>& facts) {
  JsonObject object{{"device", machine.device}, {"host", machine.host}};
  for (const validator::DeviceFact& fact : facts) {
    if (fact.unit.empty()) {
      object.emplace_back(fact.name, fact.text);
    } else {
      object.emplace_back(fact.name, fmt::format("{:g} {}", fact.value, fact.unit));
    }
  }
  object.emplace_back("hexaplan", version_text());
  return object;
}

double rounded(double value) {
  return std::round(value * 1e4) / 1e4;
}

JsonValue fit_quality(const validator::CalibrationFit& fit) {
  JsonObject object;
  for (const validator::FitError& e : fit.errors) {
    JsonObject row{{"points", e.points}, {"median", rounded(e.median)}, {"p90", rounded(e.p90)}};
    if (e.held_out > 0) {
      row.emplace_back("held_out", JsonObject{{"points", e.held_out},
                                              {"median", rounded(e.held_out_median)},
                                              {"p90", rounded(e.held_out_p90)}});
    }
    if (e.share > 0) row.emplace_back("share", rounded(e.share));
    object.emplace_back(e.kind, std::move(row));
  }
  JsonObject intervals;
  for (const validator::FittedNumber& n : fit.numbers)
    intervals.emplace_back(n.name, JsonArray{n.low, n.high});
  object.emplace_back("intervals_95", std::move(intervals));
  return object;
}

class CalibrationRun {
 public:
  CalibrationRun(const CalibrateOptions& options, bool progress)
      : options_{options},
        shows_progress_{progress && isatty(STDERR_FILENO) != 0},
        row_{row_of(options.device)} {}

  CalibrateReport run() {
    const auto begin = std::chrono::steady_clock::now();
    // Before ranks start threads of their own, which would take the signals.
    const Interrupts interrupts{[this](int signal) { interrupted(signal); }};
    report_.budget = options_.budget.value() > 0 ? options_.budget
                     : options_.quick            ? kQuickBudget
                                                 : kFullBudget;
    const std::vector<Element> elements = validator::elements_of_device(options_.device);
    element_ = elements.empty() ? Element::F32 : elements.front();
    job_ = job_of_several(options_.job);
    refuse_one_rank();
    prepare_ranks();
    const int first = ranks_ == nullptr ? 0 : ranks_->first_local_rank();
    report_.speaks = first == 0;
    device_ = make_device(ranks_ == nullptr ? 0 : ranks_->gpu_of(first));
    identify();
    cluster_ = find_cluster();
    std::optional<validator::Database> database;  // of one process: others may be on other hosts
    std::optional<validator::MeasurementStore> store;
    if (report_.speaks) {
      database.emplace(options_.store.empty() ? validator::default_store_file()
                                              : std::filesystem::path{options_.store});
      report_.store = database->file().string();
      store.emplace(*database, machine_, version_text());
    }
    const SweepResult measured =
        ranks_ == nullptr ? measure_alone(*store) : measure_job(store ? &*store : nullptr);
    if (!report_.speaks) return std::move(report_);
    count(measured);
    const std::vector<validator::Measurement>& measurements = measured.measurements;
    if (measurements.empty()) {
      throw InputError({.field = "--budget",
                        .value = costmodel::format_duration(report_.budget),
                        .expected = "time for at least one measurement"});
    }
    report_.fit =
        validator::fit_calibration(measurements, cluster_, presets::find_calibration(cluster_).calibration);
    note_missing_links();
    write();
    report_.took = Seconds{std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count()};
    return std::move(report_);
  }

 private:
  std::unique_ptr<Device> make_device(int gpu) const {
    auto device = validator::make_device(options_.device, element_, {.gpu = gpu});
    if (device) return device;
    throw InputError({.field = "--device", .value = options_.device, .expected = "a device that starts"});
  }

  void identify() {
    facts_ = device_->facts();
    streams_ = device_->native_stream(validator::Stream::Communication) != nullptr;
    const bool cpu = !row_.gpu.empty();
    report_.device =
        cpu ? fmt::format("{}: {}", device_->description(), processor_name()) : device_->description();
    machine_ = {.device = report_.device, .host = host_name(), .software = software_of(facts_)};
    report_.gpu = !options_.gpu.empty() ? presets::find_gpu(options_.gpu).name
                  : !row_.gpu.empty()   ? std::string{row_.gpu}
                                        : presets::gpu_of_device(report_.device).value_or("");
    if (!report_.gpu.empty()) return;
    throw InputError({.field = "--gpu",
                      .value = presets::in_quotes(report_.device),
                      .expected = "the name of its GPU preset: none is called so",
                      .hint = "see 'hexaplan presets list gpus'"});
  }

  /// Collectives need a backend and at least two ranks; without, the calibration has no links of its own.
  /// Processes of a job are ranks: on their own they would all measure one GPU of their host.
  void prepare_ranks() {
    const std::string kind = options_.ranks.empty() ? std::string{row_.ranks} : options_.ranks;
    gpus_ = options_.gpus > 0 ? options_.gpus : job_ ? 1 : row_.gpus;
    if (gpus_ > 1 || job_) {
      refuse_imagined(kind);
      refuse_lone_processes(kind);
      ranks_ = make_ranks(kind);
      if (ranks_ == nullptr && (!options_.ranks.empty() || options_.gpus > 1 || job_)) {
        const auto state = validator::find_backend(kind);
        throw InputError({.field = "--ranks",
                          .value = presets::in_quotes(kind),
                          .expected = state ? state->detail : "ranks that this build has",
                          .hint = state ? state->remedy : "see 'hexaplan backends'"});
      }
      if (ranks_ != nullptr && ranks_->fixed_ranks() > 0) gpus_ = ranks_->fixed_ranks();
    }
    if (ranks_ == nullptr)
      report_.notes.emplace_back("one rank: no collectives, and no GEMM beside one, were measured");
  }

  /// Threads of every process of a job would measure the same, and write the same files.
  void refuse_lone_processes(const std::string& kind) const {
    if (!job_ || kind != "threads") return;
    throw InputError({.field = "calibrate",
                      .value = fmt::format("process {} of {} that {} started", job_->process, job_->processes,
                                           job_->launcher),
                      .expected = "--ranks mpi or nccl in a job of several processes",
                      .hint = "without a launcher, one process measures the whole host"});
  }

  /// As the processes lie on hosts, or as --cluster says.
  [[nodiscard]] costmodel::ClusterSpec find_cluster() {
    if (!options_.cluster.empty()) {
      costmodel::ClusterSpec named = presets::parse_cluster(options_.cluster);
      // Another type on another process is told by all when they have met.
      const bool same_type = named.gpu.name == report_.gpu || !report_.speaks;
      if (same_type && named.gpus == std::max(gpus_, 1)) return named;
      throw InputError({.field = "--cluster",
                        .value = options_.cluster,
                        .expected = fmt::format("the {} {} of the job", std::max(gpus_, 1), report_.gpu)});
    }
    const auto here = validator::find_local_processes(validator::process_environment());
    if (!job_ || !here || here->count >= job_->processes)
      return presets::make_cluster(report_.gpu, std::max(gpus_, 1));
    const int per_node = here->count * (gpus_ / job_->processes);
    report_.notes.push_back(
        fmt::format("{} hosts of {} GPUs, with the network of the reference node; --cluster says otherwise",
                    (gpus_ + per_node - 1) / per_node, per_node));
    return presets::make_cluster(report_.gpu, gpus_, per_node);
  }

  /// Links that were asked for are measured or refused.
  void refuse_one_rank() const {
    const int gpus = options_.gpus > 0 ? options_.gpus : row_.gpus;
    if (options_.ranks.empty() || gpus > 1 || job_) return;
    refuse_imagined(options_.ranks);
    throw InputError({.field = "--ranks",
                      .value = presets::in_quotes(options_.ranks),
                      .expected = "at least two ranks to measure links between",
                      .hint = options_.gpus == 1
                                  ? "--gpus 2 or more, or leave --ranks out"
                                  : "add --gpus N, the GPUs of this host, or leave --ranks out"});
  }

  /// Ranks that share a GPU, or that are not there, tell nothing of links.
  void refuse_imagined(const std::string& kind) const {
    const bool imagined = kind == "solo" || (kind == "threads" && options_.device != "cpu");
    if (!imagined) return;
    throw InputError({.field = "--ranks",
                      .value = presets::in_quotes(kind),
                      .expected = "ranks with links between them, such as nccl",
                      .hint = job_ ? "leave --ranks out" : "--gpus 1 leaves collectives out"});
  }
  std::unique_ptr<validator::RankBackend> make_ranks(const std::string& kind) const {
    try {
      return validator::make_rank_backend(kind,
                                          {.gpus = options_.gpus, .launch = launch_flags(options_.job)});
    } catch (const validator::BootstrapError& error) {
      throw InputError({.field = "--ranks", .value = kind, .expected = error.what()});
    }
  }

  [[nodiscard]] validator::BenchOptions bench_options() const {
    // A short budget leaves no time to fill much memory.
    const double share = std::max(0.02, std::min(1.0, report_.budget.value() / kQuickBudget.value()));
    validator::BenchOptions bench{.memory = share * row_.memory, .sustained = report_.budget / 50};
    bench.shortest_sample = share * bench.shortest_sample;  // a short budget is for trying out
    return bench;
  }
  [[nodiscard]] validator::PlanLimits limits(const validator::RoughRates& rates) const {
    const bool quick = report_.budget <= kQuickBudget;
    return {.rates = rates,
            .longest_run = larger(kShortestLimit, kLongestRunShare * report_.budget),
            .memory = bench_options().memory,
            .per_cell = quick ? kQuickPerCell : kFullPerCell};
  }

  SweepResult measure_alone(validator::MeasurementStore& store) {
    const std::vector<Precision> narrow = narrow_precisions();
    validator::KernelBench bench{*device_, bench_options()};
    SweepResult result = sweep_kernels(kernel_plan(bench.probe(), narrow), bench, store, sweep_options(1.0));
    facts_ = device_->facts();  // with the modules that the kernels are in
    return result;
  }

  [[nodiscard]] std::vector<validator::Point> kernel_plan(const validator::RoughRates& rates,
                                                          const std::vector<Precision>& narrow) const {
    validator::PlanLimits all = limits(rates);
    all.narrow = narrow;
    all.beside_messages = ranks_ != nullptr && streams_;
    return plan_kernels(all);
  }

  /// What the device multiplies in beside bf16, where the GPU's preset has a peak to measure it by.
  std::vector<Precision> narrow_precisions() {
    std::vector<Precision> precisions = device_->narrow_gemms();
    const bool has_units = cluster_.gpu.peak_of(Precision::Fp8).value() > 0;
    if (has_units && std::count(precisions.begin(), precisions.end(), Precision::Fp8) == 0)
      report_.notes.emplace_back("no fp8 products were measured: the device has none here");
    std::erase_if(precisions, [&](Precision p) { return cluster_.gpu.peak_of(p).value() <= 0; });
    return precisions;
  }

  /// Kernels on every GPU of the job at the same time, then links.
  SweepResult measure_job(validator::MeasurementStore* store) {
    const std::vector<Precision> narrow = narrow_precisions();
    device_.reset();  // its memory is the ranks'
    const validator::KernelSweep kernels{
        .plan = [&](const validator::RoughRates& rates) { return kernel_plan(rates, narrow); },
        .on_every_rank = options_.device != kHostDevice,
        .options = sweep_options(kKernelShare),
        .done = [this](Device& device) { facts_ = device.facts(); }};
    // A GEMM is small beside the payloads, whatever computes it.
    const costmodel::FlopsPerSecond any{1e14};
    const std::vector<validator::Point> links =
        plan_collectives({.ranks = gpus_, .per_node = cluster_.gpus_per_node, .overlaps = streams_},
                         limits({.gemm = any, .attention = any, .memory = row_.links}));
    const validator::RankSweep on{
        .backend = *ranks_,
        .ranks = {.ranks = gpus_, .run = "calibrate", .timeout = options_.job.timeout},
        .make_device = [this](int rank) { return make_device(ranks_->gpu_of(rank)); },
        .bench = bench_options()};
    return sweep_ranks(&kernels, links, on, store, sweep_options(1 - kKernelShare));
  }

  void count(const SweepResult& result) {
    report_.measured = result.measured;
    report_.stored = result.stored;
    report_.left_out = result.left_out;
    report_.devices = result.devices;
    if (result.refused > 0) {
      report_.notes.push_back(fmt::format("{} matrix products are not there and were left out: {}",
                                          result.refused, result.refusal));
    }
    note_slow_devices(result.devices);
    note_restless(result.measurements);
    note_clocks(result.measurements);
  }

  /// What a short budget left out of the links, and what stands in its place.
  void note_missing_links() {
    if (ranks_ == nullptr) return;
    const bool hosts = cluster_.gpus_per_node < gpus_;
    const auto note = [&](bool missing, const char* what) {
      if (missing)
        report_.notes.push_back(
            fmt::format("not measured within {}: {}", costmodel::format_duration(report_.budget), what));
    };
    note(report_.fit.lines.empty(), "links; those of the GPU type stand in");
    note(hosts && !report_.fit.network, "the network between hosts; that of the GPU type stands in");
    note(streams_ && report_.fit.overlap_slowdown <= 0,
         "products beside messages; overlap_slowdown stays that of the framework's profile");
  }

  /// The slowest GPU sets a job's pace.
  void note_slow_devices(const std::vector<validator::DeviceSpeed>& devices) {
    if (devices.size() < 2) return;
    const auto slower = [](const validator::DeviceSpeed& a, const validator::DeviceSpeed& b) {
      return a.slowness < b.slowness;
    };
    const auto [fastest, slowest] = std::minmax_element(devices.begin(), devices.end(), slower);
    report_.notes.push_back(
        fmt::format("{} GPUs measured at the same time; the curves are the median's. Slowest: rank {} on {}, "
                    "{:.1f} % over the median; fastest: rank {} on {}, {:.1f} % under it",
                    devices.size(), slowest->rank, slowest->host, 100 * (slowest->slowness - 1),
                    fastest->rank, fastest->host, 100 * (1 - fastest->slowness)));
  }

  /// What is measured on a busy machine is not the machine's.
  void note_restless(const std::vector<validator::Measurement>& measurements) {
    constexpr double kRestless = 0.1, kMost = 0.2;
    const auto restless = std::count_if(measurements.begin(), measurements.end(),
                                        [](const auto& m) { return m.spread() > kRestless; });
    report_.restless = static_cast<int>(restless);
    if (static_cast<double>(restless) <= kMost * static_cast<double>(measurements.size())) return;
    report_.notes.push_back(fmt::format(
        "{} of {} points vary by more than {:.0f} % between samples: this machine is busy, or its "
        "clocks change; measure again with --again when it is quiet",
        restless, measurements.size(), 100 * kRestless));
  }

  /// Rates are of the clocks that power and heat allow.
  void note_clocks(const std::vector<validator::Measurement>& measurements) {
    std::map<validator::PointKind, std::vector<validator::DeviceState>> states;
    for (const validator::Measurement& m : measurements) {
      if (m.state) states[m.point.kind].push_back(*m.state);
    }
    for (auto& [kind, of_kind] : states) {
      std::ranges::sort(of_kind, {}, &validator::DeviceState::clock);
      ClocksOfKind row{.kind = std::string{name_of(kind)},
                       .points = static_cast<int>(of_kind.size()),
                       .lowest = of_kind.front().clock,
                       .median = of_kind[of_kind.size() / 2].clock,
                       .highest = of_kind.back().clock};
      for (const validator::DeviceState& state : of_kind) {
        row.power = std::max(row.power, state.power);
        row.temperature = std::max(row.temperature, state.temperature);
      }
      report_.clocks.push_back(std::move(row));
    }
  }

  validator::SweepOptions sweep_options(double share) {
    return {.budget = share * report_.budget,
            .again = options_.again,
            .progress = [this](const SweepProgress& p) { show(p); }};
  }
  void show(const SweepProgress& p) const {
    if (!shows_progress_) return;
    if (p.point == nullptr) {
      fmt::print(stderr, "\r\x1b[K");
    } else {
      fmt::print(stderr, "\r\x1b[K{} of {} points, {} of at most {}: {}", p.done + 1, p.total,
                 costmodel::format_duration(p.elapsed), costmodel::format_duration(p.budget),
                 name_of(*p.point));
    }
    std::fflush(stderr);
  }
  /// On a thread of its own; the process ends right after it.
  void interrupted(int signal) const {
    fmt::print(stderr, "\nhexaplan: interrupted by signal {}; what was measured is kept{}\n", signal,
               report_.store.empty() ? "" : " in " + report_.store + ": the same command goes on");
  }

  void write() {
    costmodel::Calibration& c = report_.fit.calibration;
    const costmodel::Calibration before = presets::find_calibration(cluster_.gpu);
    const std::string own =
        fmt::format("measured on {} ({}) by hexaplan {}", machine_.device, machine_.host, version_text());
    const auto source = [&](bool measured) {
      return measured ? own : fmt::format("not measured here; {} has: {}", before.name, before.source);
    };
    c.name = c.gpu = report_.gpu;
    c.date = today();
    c.source = own;
    const Bytes fixed{validator::fixed_bytes(facts_)};
    if (fixed > Bytes{}) c.context = fixed;
    const validator::CalibrationFit& fit = report_.fit;
    presets::CalibrationOrigin origin{.sustained = source(fit.measured_sustained),
                                      .grouped = source(fit.measured_grouped),
                                      .accumulate_exposed = source(fit.measured_accumulation),
                                      .memory = source(fit.measured_memory),
                                      .optimizer = source(fit.measured_optimizer),
                                      .attention_unmasked = source(fit.measured_unmasked),
                                      .attention_windowed = source(fit.measured_windowed),
                                      .gemm = gemm_origins(before, source),
                                      .attention = {},
                                      .machine = machine_json(machine_, facts_),
                                      .fit = fit_quality(fit)};
    for (const costmodel::AttentionCurve& curve : c.attention) {
      const bool here = curve.library == costmodel::AttentionLibrary::Vendor &&
                        std::count(fit.head_dims.begin(), fit.head_dims.end(), curve.head_dim) > 0;
      origin.attention.push_back(source(here));
    }
    const bool has_links = !fit.lines.empty() || fit.overlap_slowdown > 0;
    const presets::LinksToWrite links = links_to_write(fit, cluster_, own);
    report_.out = options_.out.empty() ? fmt::format("calibration-{}.json", report_.gpu) : options_.out;
    write_file(
        report_.out,
        presets::to_text(calibration_json(c, cluster_.gpu, origin, has_links ? &links : nullptr)) + "\n");
  }

  /// Curves measured here, then those that the preset has of its own.
  template <class Source>
  std::vector<presets::CalibrationOrigin::GemmOrigin> gemm_origins(const costmodel::Calibration& before,
                                                                   const Source& source) const {
    std::vector<presets::CalibrationOrigin::GemmOrigin> rows;
    const auto& here = report_.fit.gemm_precisions;
    for (int p = 0; p < costmodel::kPrecisionCount; ++p) {
      const auto precision = static_cast<Precision>(p);
      const bool measured = std::count(here.begin(), here.end(), precision) > 0;
      const bool known =
          before.gemm[static_cast<std::size_t>(p)].provenance == costmodel::Provenance::Measured &&
          precision != Precision::Fp16;
      if (measured || known) rows.push_back({precision, source(measured)});
    }
    const bool has_peak = std::any_of(rows.begin(), rows.end(), [](const auto& r) {
      return r.precision == Precision::Bf16 || r.precision == Precision::Fp32;
    });
    if (!has_peak)
      rows.push_back({cluster_.gpu.peak_of(Precision::Bf16).value() > 0 ? Precision::Bf16 : Precision::Fp32,
                      source(false)});
    return rows;
  }

  const CalibrateOptions& options_;
  bool shows_progress_;
  const DeviceRow& row_;
  Element element_ = Element::F32;
  std::unique_ptr<Device> device_;
  std::unique_ptr<validator::RankBackend> ranks_;
  std::optional<validator::JobPlace> job_;  // of several processes
  int gpus_ = 1;                            // of the job
  bool streams_ = false;                    // compute and communication run beside each other
  costmodel::ClusterSpec cluster_;
  validator::MachineIdentity machine_;
  std::vector<validator::DeviceFact> facts_;
  CalibrateReport report_;
};

}  // namespace

CalibrateReport run_calibrate(const CalibrateOptions& options, bool progress) {
  if (!options.from.empty()) return run_calibrate_links(options);
  try {
    return CalibrationRun{options, progress}.run();
  } catch (const validator::RankFault& fault) {
    // What a rank threw says more than that it threw.
    if (fault.original) std::rethrow_exception(fault.original);
    throw;
  } catch (const validator::OutOfMemory& error) {
    throw InputError(
        {.field = "--device", .value = error.what(), .expected = "more free memory on the device"});
  }
}

}  // namespace hexaplan::cli
