#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "costmodel/calibrate/calibration.h"
#include "costmodel/spec/scenario.h"
#include "costmodel/units/bits.h"

// How sure a predicted step time is: the more, the more published runs train the way it describes.
// [docs/formulas.md#T9]
namespace hexaplan::costmodel {

/// Ways of training whose published runs are counted by themselves.
enum class Technique : std::uint8_t {
  ContextParallel,      // sequences of at most 8,192 tokens
  LongContextParallel,  // longer ones
  ExpertParallel,
  Interleaved,
  ZeroBubble,
  DualPipe,
  VocabularyParallel,
  UnevenStages,
  Zero2,
  Zero3,
  HybridSharding,
  Offload,
  SelectiveRecompute,  // of modules or operators
  NarrowTypes,         // 8-bit and 4-bit matrix products
  ManyGpus,            // more than 512
};
inline constexpr std::size_t kTechniqueCount = 15;

/// Published runs with a technique, and the root mean square of ln(measured / predicted) of their steps.
struct TechniqueEvidence {
  Technique technique;
  std::string_view name;  // "context parallelism up to 8k tokens"
  int runs = 0;
  int configurations = 0;  // that differ
  int sources = 0;
  double spread = 0;
  /// Standard deviation that it stands for: few runs count less than what unmeasured techniques were off.
  [[nodiscard]] double sigma() const;
};
/// In the order of the enum.
[[nodiscard]] const std::array<TechniqueEvidence, kTechniqueCount>& technique_evidence();

/// A set of techniques, bits in the order of the enum.
using TechniqueSet = std::uint32_t;
[[nodiscard]] constexpr bool contains(TechniqueSet set, Technique one) {
  return has_bit(set, one);
}
/// What the scenario uses.
[[nodiscard]] TechniqueSet techniques_used(const Scenario& scenario);

/// Variance of ln(measured / predicted) that `techniques` add to that of all runs.
[[nodiscard]] double added_variance(TechniqueSet techniques);
/// Standard deviation of ln(measured / predicted) of a step; `added`: added_variance.
[[nodiscard]] double time_sigma(const FrameworkProfile& framework, const Calibration& calibration,
                                double added);
/// What nine of ten steps with such a deviation stay below, as a factor on the predicted one.
[[nodiscard]] double ninth_decile(double sigma);

}  // namespace hexaplan::costmodel
