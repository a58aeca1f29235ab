#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "costmodel/calibrate/calibration.h"
#include "costmodel/compute/operation.h"
#include "costmodel/simulate/simulation.h"
#include "costmodel/spec/scenario.h"

namespace hexaplan::costmodel {

/// An operation where a simulated step runs it.
struct PlacedOperation {
  Seconds begin, end;
  std::int32_t operation = 0;    // index into StageOperations::operations
  std::int32_t microbatch = -1;  // -1: of the step
};

/// What one rank of a stage runs in a step, operation by operation.
struct StageOperations {
  std::vector<Operation> operations;      // equal ones of different layers share an entry
  std::vector<PlacedOperation> computes;  // kernels, by begin
  std::vector<PlacedOperation> messages;  // collectives and messages to other stages, by begin
  std::vector<PlacedOperation> copies;    // between the GPU and its host, by begin
};

/// Operations beyond these are not placed: 24 bytes each.
inline constexpr std::size_t kMostPlacedOperations = 5'000'000;

/// The passes that `simulation` drew for `stage`, taken apart into their operations: in the order of the
/// operation list, each as long as its price, spread over its pass where the host is slower. Layers in the
/// order of the model, last first in backward; recomputation before the backward of its layer; what is sent
/// lies between the operations that it lies between in the list, as far as they wait for it. Nothing when
/// there are more than kMostPlacedOperations.  Precondition: the simulation is of this scenario and kept its
/// spans; the stage exists.
[[nodiscard]] std::optional<StageOperations> place_operations(const Scenario& scenario,
                                                              const Calibration& calibration,
                                                              const Simulation& simulation, int stage);

}  // namespace hexaplan::costmodel
