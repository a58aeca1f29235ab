// What a rank allocates, call by call, and what the caching allocator makes of it.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "costmodel/program/step_allocations.h"
#include "costmodel/spec/stage_plan.h"
#include "tests/costmodel/properties/accepted_scenario.h"

namespace hexaplan::costmodel::program {
namespace {

using Call = AllocationEvent::Call;

/// A scenario whose calls are known, small enough to be run often.
Scenario simulated_scenario() {
  const Scenario sc = accepted_scenario();
  RC_PRE(!not_simulated(sc));
  RC_PRE(sc.model.layers <= 32);
  RC_PRE(sc.layout.schedule != ScheduleKind::GPipe || microbatches_per_step(sc) <= 16);
  return sc;
}
std::vector<AllocationEvent> calls_of_steps(const Scenario& sc, int steps) {
  const auto calls = step_allocations(sc, 0, steps);
  RC_PRE(calls.has_value());
  return *calls;
}
std::int64_t alive_after(const std::vector<AllocationEvent>& calls) {
  std::vector<std::int64_t> bytes;
  std::int64_t alive = 0;
  for (const AllocationEvent& event : calls) {
    if (event.call == Call::Allocate) {
      bytes.push_back(event.bytes);
      alive += event.bytes;
    } else if (event.call == Call::Free) {
      alive -= bytes[event.tensor];
    }
  }
  return alive;
}

RC_GTEST_PROP(step_allocations, say_whose_each_tensor_is, ()) {
  const Scenario sc = simulated_scenario();
  const int steps = 2;
  const auto named = named_allocations(sc, 0, steps);
  RC_PRE(named.has_value());
  RC_ASSERT(named->events == calls_of_steps(sc, steps));
  const auto made = std::count_if(named->events.begin(), named->events.end(),
                                  [](const AllocationEvent& e) { return e.call == Call::Allocate; });
  RC_ASSERT(std::ssize(named->origins) == made);
  int before = 0;
  for (const AllocationOrigin& origin : named->origins) {
    RC_ASSERT(!origin.tensor.empty());
    RC_ASSERT(origin.step >= before && origin.step <= steps);
    before = origin.step;
    RC_ASSERT(origin.layer < sc.model.layers + mtp_modules(sc));
    RC_ASSERT(origin.microbatch < microbatches_per_step(sc));
    RC_ASSERT(origin.layer < 0 || origin.microbatch >= 0);
    RC_ASSERT((origin.step == 0) == (origin.instant == kIdle) || origin.step > 0);
  }
}

RC_GTEST_PROP(step_allocations, name_tensors_that_are_alive, ()) {
  std::vector<bool> alive;
  for (const AllocationEvent& event : calls_of_steps(simulated_scenario(), 2)) {
    switch (event.call) {
      case Call::Allocate:
        RC_ASSERT(event.tensor == alive.size());
        RC_ASSERT(event.bytes > 0);
        alive.push_back(true);
        break;
      case Call::Free:
        RC_ASSERT(alive.at(event.tensor));
        alive[event.tensor] = false;
        break;
      case Call::RecordStream:
        RC_ASSERT(alive.at(event.tensor));
        break;
      case Call::Complete:
        RC_ASSERT(event.bytes >= 0);
        break;
    }
  }
}

RC_GTEST_PROP(step_allocations, leave_after_every_step_what_the_one_before_left, ()) {
  const Scenario sc = simulated_scenario();
  RC_ASSERT(alive_after(calls_of_steps(sc, 2)) == alive_after(calls_of_steps(sc, 3)));
}

RC_GTEST_PROP(step_allocations, reserve_at_least_what_they_allocate_and_hardly_grow_after_three_steps, ()) {
  const Scenario sc = simulated_scenario();
  const auto calls = calls_of_steps(sc, kSimulatedSteps), further = calls_of_steps(sc, kSimulatedSteps + 2);
  const AllocatorSettings settings{.expandable_segments = *rc::gen::arbitrary<bool>()};
  const AllocatorUse use = run_calls(calls, settings).use;
  RC_ASSERT(use.peak_reserved >= use.peak_allocated);
  RC_ASSERT(run_calls(further, settings).use.peak_reserved <= use.peak_reserved * 1.05);
}

RC_GTEST_PROP(step_allocations, run_out_of_memory_below_what_they_allocate, ()) {
  const auto calls = calls_of_steps(simulated_scenario(), 1);
  const double most = run_calls(calls, {}).use.peak_allocated.value();
  RC_ASSERT(run_calls(calls, {.capacity = static_cast<std::int64_t>(most / 2)}).ran_out);
}

}  // namespace
}  // namespace hexaplan::costmodel::program
