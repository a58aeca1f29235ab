#pragma once
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "costmodel/memory/caching_allocator.h"
#include "costmodel/memory/tensor_ledger.h"
#include "costmodel/spec/scenario.h"

namespace hexaplan::costmodel::program {

/// One call of the framework's allocator, or (Complete) what the host learns of a stream.
struct AllocationEvent {
  enum class Call : std::uint8_t { Allocate, Free, RecordStream, Complete };
  Call call = Call::Allocate;
  std::uint32_t tensor = 0;  // numbered in the order in which they are made
  std::int64_t bytes = 0;    // asked for
  StreamNumber stream = 0;
  friend bool operator==(const AllocationEvent&, const AllocationEvent&) = default;
};

/// Steps until what is reserved stays: the first makes the optimizer's states, the second finds them where
/// they are, the third repeats it.
inline constexpr int kSimulatedSteps = 3;

/// Why the calls of a scenario's ranks are not known, or nothing.
[[nodiscard]] std::optional<std::string_view> not_simulated(const Scenario& scenario);

/// What one rank of `stage` allocates and frees from its start on, call by call: parameters, then `steps`
/// training steps in the order of the schedule, the first of which makes the optimizer's states. Of a long
/// step so many micro-batches as the pipeline needs to repeat itself. Nothing where not_simulated() says why,
/// and where there would be more than a million calls.
///
/// Layers and the embedding allocate as their programs do; states, buffers, logits and loss are the ledger's
/// rows, each alive at its instants. Gradients that do not stay appear with their layer's backward; where
/// layers are gathered, the next one's parameters and the reduced gradients belong to streams of their own.
/// [docs/formulas.md#M7]
[[nodiscard]] std::optional<std::vector<AllocationEvent>> step_allocations(const Scenario& scenario,
                                                                           int stage, int steps);

/// Whose an allocation is.
struct AllocationOrigin {
  std::string_view tensor;  // its name in the ledger
  Instant instant = kIdle;  // at which it is made
  int step = 0;             // 0: before the first one
  int layer = -1;           // of the model, multi-token-prediction modules behind its own; -1: of none
  int microbatch = -1;      // -1: of none
};
/// step_allocations with whose they are, by tensor.
struct NamedAllocations {
  std::vector<AllocationEvent> events;
  std::vector<AllocationOrigin> origins;
};
[[nodiscard]] std::optional<NamedAllocations> named_allocations(const Scenario& scenario, int stage,
                                                                int steps);

/// What the caching allocator makes of calls.
struct SimulatedAllocator {
  AllocatorUse use;  // behind the last one
  std::int64_t calls = 0;
  bool ran_out = false;  // of memory, where the calls end
};
/// `settings.capacity`: what the framework's allocator can have. Some milliseconds for a step.
[[nodiscard]] SimulatedAllocator run_calls(const std::vector<AllocationEvent>& calls,
                                           const AllocatorSettings& settings);

/// Makes calls one after the other, for who wants to see what each does.
class CallRunner {
 public:
  explicit CallRunner(CachingAllocator& allocator) : allocator_{allocator} {}
  /// False: out of memory.
  [[nodiscard]] bool make(const AllocationEvent& call);
  /// Where a live tensor is.
  [[nodiscard]] AllocationId allocation_of(std::uint32_t tensor) const { return ids_[tensor]; }

 private:
  CachingAllocator& allocator_;
  std::vector<AllocationId> ids_;  // by tensor
};

}  // namespace hexaplan::costmodel::program
