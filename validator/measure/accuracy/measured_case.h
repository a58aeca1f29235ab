#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "costmodel/step/estimate.h"
#include "costmodel/units/quantity.h"

namespace hexaplan::validator {

/// What a published memory figure is; kinds are never mixed.
enum class MemoryKind : std::uint8_t { Allocated, Reserved, Device };
inline constexpr int kMemoryKinds = 3;

/// Whose figure it is, and when it was taken.
enum class MemoryScope : std::uint8_t {
  WorstRank,         // peak, maximum over ranks
  FirstStage,        // peak of the first pipeline stage
  LastStage,         // peak of the last pipeline stage
  FirstStageUpdate,  // first stage, peak between its last backward and the end of the step
};

struct MeasuredMemory {
  MemoryKind kind = MemoryKind::Allocated;
  MemoryScope scope = MemoryScope::WorstRank;
  costmodel::Bytes bytes;
};

/// A training run that somebody measured, and for which figures it may be held against a prediction.
struct MeasuredCase {
  std::string id;
  std::string source;
  std::string rank_group;        // runs that differ only in layout share one; empty = none
  std::string family;            // runs of one configuration share it
  std::optional<double> weight;  // inside its source; unset = as the others
  std::optional<costmodel::Seconds> step;
  /// Measured as well, but its source says that something disturbed it: scored apart.
  std::optional<costmodel::Seconds> disturbed_step;
  std::vector<MeasuredMemory> memory;
  std::optional<bool> ran_out_of_memory;

  [[nodiscard]] bool scoreable() const {
    return step || disturbed_step || !memory.empty() || ran_out_of_memory;
  }
};

/// Why a case has no prediction.
struct NotPredicted {
  std::string reason;
};
struct PredictedCase {
  MeasuredCase measured;
  std::variant<NotPredicted, costmodel::Estimate> prediction;
};

/// The predicted counterpart of a published memory figure.
[[nodiscard]] costmodel::Bytes predicted_memory(const costmodel::Estimate& estimate, MemoryKind kind,
                                                MemoryScope scope);
/// The worst rank needs more than the device can give.
[[nodiscard]] bool predicts_out_of_memory(const costmodel::Estimate& estimate);

}  // namespace hexaplan::validator
