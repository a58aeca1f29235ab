// What the search's bounds and its grouping of stages rest on.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "costmodel/memory/memory_load.h"
#include "costmodel/program/activation_memory.h"
#include "costmodel/spec/rules.h"
#include "costmodel/spec/stage_plan.h"
#include "costmodel/step/estimate.h"
#include "tests/support/random_scenario.h"

namespace hexaplan::costmodel {
namespace {

double gigabytes(int most) {
  return *rc::gen::inRange(0, most * 1000) * 1e6;
}

/// States are the same in all passes, at least as many at the optimizer step; what lies outside never
/// changes.
MemoryLoad any_load() {
  MemoryLoad load;
  const Bytes states{gigabytes(60)}, outside{gigabytes(4)};
  for (auto& at : load.at) at = {states, Bytes{gigabytes(5)}, outside};
  load.optimizer_only = Bytes{gigabytes(20)};
  MemoryLoad::At& update = load.at[index_of(kOptimizer)];
  update.states += Bytes{gigabytes(20)};
  update.live += load.optimizer_only;
  return load;
}

RC_GTEST_PROP(bounds, device_memory_never_falls_when_activations_are_added, ()) {
  const MemoryLoad load = any_load();
  LiveLoad some, more;
  for (std::size_t i = 0; i < kInstants; ++i) {
    if ((instant_at(static_cast<int>(i)) & kInPasses) == 0) continue;
    some.at[i] = Bytes{gigabytes(40)};
    more.at[i] = some.at[i] + Bytes{gigabytes(40)};
  }
  const Allocator allocator{.flat = *rc::gen::arbitrary<bool>(),
                            .reserved_ratio = 1 + *rc::gen::inRange(0, 1500) / 1000.0,
                            .unreleasable_share = *rc::gen::inRange(0, 1001) / 1000.0,
                            .capacity = Bytes{gigabytes(120)}};
  const DevicePeak least = device_peak(load, {}, allocator);
  const DevicePeak middle = device_peak(load, some, allocator);
  const DevicePeak most = device_peak(load, more, allocator);
  for (const auto memory : {&DevicePeak::needed, &DevicePeak::device}) {
    RC_ASSERT((least.*memory).value() <= (middle.*memory).value() * (1 + 1e-12));
    RC_ASSERT((middle.*memory).value() <= (most.*memory).value() * (1 + 1e-12));
  }
}

RC_GTEST_PROP(bounds, a_stage_never_needs_less_with_more_microbatches_in_flight, ()) {
  const Scenario sc = *support::any_scenario();
  RC_PRE(!first_rejection(sc).has_value());
  const auto stages = plan_stages(sc);
  ActivationMemory memory{sc, local_dims(sc), used_classes(stages)};
  memory.sum();
  for (const StagePlan& stage : stages) {
    LiveLoad before = memory.load(stage, 1);
    for (const double in_flight : {1.5, 2.0, 3.0, 8.0}) {
      const LiveLoad load = memory.load(stage, in_flight);
      for (std::size_t i = 0; i < kInstants; ++i) RC_ASSERT(before.at[i] <= load.at[i]);
      RC_ASSERT(before.unreclaimed <= load.unreclaimed);
      before = load;
    }
  }
}

}  // namespace
}  // namespace hexaplan::costmodel
