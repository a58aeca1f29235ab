#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "costmodel/calibrate/calibration.h"
#include "costmodel/calibrate/measured_work.h"
#include "costmodel/compute/operation.h"
#include "costmodel/spec/scenario.h"

namespace hexaplan::validator {

/// Operations of the prediction that a measurement speaks of, or one side of such a pair alone. Per step; 0
/// runs: this side has none.
struct ComparedOperation {
  costmodel::WorkKind kind = costmodel::WorkKind::Gemm;
  std::string name;   // of the prediction's operations: "mlp.up, mlp.down"; empty: it has none
  std::string shape;  // "8192 x 4096 x 14336", "all_reduce of 64 MiB over 8"
  double predicted = 0, measured = 0;  // seconds
  double predicted_runs = 0, measured_runs = 0;
  double flops = 0;  // of one product; 0: a message
};

struct ComparedWork {
  std::array<double, costmodel::kWorkKinds> predicted{}, measured{};  // seconds per step, by WorkKind
  /// By the seconds that they differ, most first.
  std::vector<ComparedOperation> operations;
  double matched = 0;  // share of the measured seconds of products and messages that the prediction has, too
};

/// Stage of a rank of the scenario's layout; nothing for none, and for ranks that the layout does not have.
[[nodiscard]] std::optional<int> stage_of_rank(const costmodel::Scenario& scenario,
                                               std::optional<std::int64_t> rank);

/// Holds what a rank of `stage` ran against the operations that the prediction gives such a rank. Products
/// are matched by their dimensions in any order (a product and its two gradients share them), messages by
/// kind, ranks and size within 1 %. Precondition: no rule rejects the scenario; 0 <= stage < pp.
[[nodiscard]] ComparedWork compare_work(const costmodel::Scenario& scenario,
                                        const costmodel::Calibration& calibration, int stage,
                                        const costmodel::MeasuredWork& measured);

}  // namespace hexaplan::validator
