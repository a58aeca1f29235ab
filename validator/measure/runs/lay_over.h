#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "costmodel/calibrate/measured_work.h"
#include "costmodel/simulate/stage_operations.h"
#include "costmodel/spec/scenario.h"

namespace hexaplan::validator {

/// What runs beside each other: kernels, messages, copies over the host's link.
enum class WorkLane : std::uint8_t { Compute, Messages, Copies };
inline constexpr std::size_t kWorkLanes = 3;

/// One operation on one side, or several memory-bound or attention kernels in a row, which the two sides cut
/// differently. Seconds from the begin of the step.
struct LaidRun {
  double begin = 0, end = 0;
  double busy = 0;  // that its kernels run, without the gaps between them
  costmodel::WorkKind kind = costmodel::WorkKind::Gemm;
  std::int32_t first = 0, count = 1;  // of the lane's rows of its side
  std::int32_t partner = -1;          // the run of the other side that is the same; -1: none is
};

/// One lane of a rank: both sides in the order in which they run.
struct OverlaidLane {
  std::vector<costmodel::PlacedOperation> operations;  // predicted
  std::vector<costmodel::MeasuredRun> kernels;         // measured
  std::vector<LaidRun> predicted, measured;
};

/// A measured step over the predicted one of the same rank.
struct Overlay {
  std::vector<costmodel::Operation> operations;  // of PlacedOperation::operation
  std::vector<std::string> names;                // of MeasuredRun::name
  std::array<OverlaidLane, kWorkLanes> lanes;    // by WorkLane
  double predicted_step = 0, measured_step = 0;  // seconds
  /// Share of the measured seconds of products and messages of known shape that the prediction has, too.
  double matched = 0;
};

/// Lays `measured` over what a rank of the scenario is predicted to run. The nth product of some dimensions,
/// or message of some kind, ranks and size, is the nth such one of the other side (work_keys.h). What runs
/// between two products is what runs behind the same product on the other side; where both sides have as many
/// attentions, the nth is the nth.
[[nodiscard]] Overlay lay_over(const costmodel::Scenario& scenario, costmodel::StageOperations predicted,
                               double predicted_step, costmodel::MeasuredStep measured);

}  // namespace hexaplan::validator
