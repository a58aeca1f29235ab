#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "costmodel/calibrate/calibration.h"
#include "costmodel/compute/operation.h"
#include "costmodel/spec/scenario.h"

namespace hexaplan::validator {

/// What a rank's time goes into, kernel by kernel, whatever runs at the same time.
enum class WorkKind : std::uint8_t { Gemm, Attention, MemoryBound, Message, Copy };
inline constexpr std::size_t kWorkKinds = 5;
[[nodiscard]] std::string_view name_of(WorkKind kind);

/// Products of one shape: C[m,n] = A[m,k]·B[k,n], `batch` at once. Seconds and runs are per step.
struct MeasuredGemm {
  std::int64_t m = 0, n = 0, k = 0, batch = 1;
  double runs = 0, seconds = 0;
};
/// Messages of one kind and size over groups of so many ranks.
struct MeasuredMessage {
  costmodel::CollectiveKind kind = costmodel::CollectiveKind::AllReduce;
  std::int64_t ranks = 0;
  double bytes = 0;  // of the full tensor
  double runs = 0, seconds = 0;
};

/// What one rank of a run spent its steps on.
struct MeasuredWork {
  std::array<double, kWorkKinds> seconds{};  // by WorkKind
  std::vector<MeasuredGemm> gemms;
  std::vector<MeasuredMessage> messages;
};

/// Operations of the prediction that a measurement speaks of, or one side of such a pair alone. Per step; 0
/// runs: this side has none.
struct ComparedOperation {
  WorkKind kind = WorkKind::Gemm;
  std::string name;   // of the prediction's operations: "mlp.up, mlp.down"; empty: it has none
  std::string shape;  // "8192 x 4096 x 14336", "all_reduce of 64 MiB over 8"
  double predicted = 0, measured = 0;  // seconds
  double predicted_runs = 0, measured_runs = 0;
  double flops = 0;  // of one product; 0: a message
};

struct ComparedWork {
  std::array<double, kWorkKinds> predicted{}, measured{};  // seconds per step, by WorkKind
  /// By the seconds that they differ, most first.
  std::vector<ComparedOperation> operations;
  double matched = 0;  // share of the measured seconds of products and messages that the prediction has, too
};

/// Holds what a rank of `stage` ran against the operations that the prediction gives such a rank. Products
/// are matched by their dimensions in any order (a product and its two gradients share them), messages by
/// kind, ranks and size within 1 %. Precondition: no rule rejects the scenario; 0 <= stage < pp.
[[nodiscard]] ComparedWork compare_work(const costmodel::Scenario& scenario,
                                        const costmodel::Calibration& calibration, int stage,
                                        const MeasuredWork& measured);

}  // namespace hexaplan::validator
