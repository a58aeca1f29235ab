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

/// Points of a plan that are measured now, and how they got there.
struct SweepResult {
  std::vector<Measurement> measurements;  // in the order of the plan
  int measured = 0, stored = 0;           // now; before, and taken from the store
  int left_out = 0;                       // no time for them
  int refused = 0;                        // products that the device does not have after all,
  std::string refusal;                    // and its words about the first
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
/// The same for collectives, on all ranks of the backend. World rank 0 stores and decides; in other processes
/// the result is empty and `store` may be nullptr. Throws RankFault.
[[nodiscard]] SweepResult sweep_collectives(std::span<const Point> plan, const RankSweep& on,
                                            MeasurementStore* store, const SweepOptions& options);

}  // namespace hexaplan::validator
