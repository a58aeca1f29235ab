#pragma once
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "costmodel/units/quantity.h"
#include "validator/executor/communicator/run_ranks.h"
#include "validator/measure/store/measurement_store.h"
#include "validator/measure/sweep/kernel_bench.h"
#include "validator/measure/sweep/point.h"

namespace hexaplan::validator {

/// How far a sweep is. `point`: the one that begins; nullptr at the end.
struct SweepProgress {
  int done = 0, total = 0;
  const Point* point = nullptr;
  costmodel::Seconds elapsed, budget;
};

struct SweepOptions {
  costmodel::Seconds budget{1e9};  // no point is begun after it
  bool again = false;              // measure what is in the store, too
  std::function<void(const SweepProgress&)> progress;
};

/// How long one rank's device takes for what all measured at the same time.
struct DeviceSpeed {
  int rank = 0;
  std::string host;
  double slowness = 1;  // median over points of its time over the median device's
};

/// Points of a plan that are measured now, and how they got there.
struct SweepResult {
  std::vector<Measurement> measurements;  // in the order of the plan
  int measured = 0, stored = 0;           // now; before, and taken from the store
  int left_out = 0;                       // no time for them
  int refused = 0;                        // products that the device does not have after all,
  std::string refusal;                    // and its words about the first
  std::vector<DeviceSpeed> devices;       // by rank, where every rank measured kernels
};

/// Measures the points that the store lacks and stores each before the next begins: a kill loses the one
/// under way. Throws StoreError, OutOfMemory.
[[nodiscard]] SweepResult sweep_kernels(std::span<const Point> plan, KernelBench& bench,
                                        MeasurementStore& store, const SweepOptions& options);

/// What a sweep over ranks runs on.
struct RankSweep {
  RankBackend& backend;
  RankOptions ranks;
  std::function<std::unique_ptr<Device>(int rank)> make_device;  // one per rank
  BenchOptions bench;
};

/// Kernels that the ranks of a job measure before their links.
struct KernelSweep {
  /// The same points on all ranks: the rates are those of rank 0's device.
  std::function<std::vector<Point>(const RoughRates&)> plan;
  /// Every rank has a device of its own: all measure every point at the same time, as in a step, and the
  /// samples of the median device are kept. Else rank 0 measures alone.
  bool on_every_rank = false;
  SweepOptions options;
  std::function<void(Device&)> done;  // on rank 0, with its device
};

/// The same for kernels and then collectives, on all ranks of the backend, a point at a time. World rank 0
/// stores and decides; in other processes the result is empty and `store` may be nullptr. `kernels`: nullptr,
/// none; what they leave of their budget is added to the links'. Throws RankFault; std::runtime_error within
/// it where ranks have GPUs of several types.
[[nodiscard]] SweepResult sweep_ranks(const KernelSweep* kernels, std::span<const Point> collectives,
                                      const RankSweep& on, MeasurementStore* store,
                                      const SweepOptions& options);
[[nodiscard]] inline SweepResult sweep_collectives(std::span<const Point> plan, const RankSweep& on,
                                                   MeasurementStore* store, const SweepOptions& options) {
  return sweep_ranks(nullptr, plan, on, store, options);
}

}  // namespace hexaplan::validator
