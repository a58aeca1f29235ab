#include "costmodel/step/technique_evidence.h"

#include <algorithm>
#include <cmath>

#include "costmodel/schedule/schedule.h"
#include "costmodel/spec/dtype.h"
#include "costmodel/spec/recompute_modules.h"

namespace hexaplan::costmodel {
namespace {

// Counted over tests/golden/rows, 3,642 runs of 3,504 configurations, and checked by
// tests/golden/technique_evidence.py.
constexpr double kSpreadOfAll = 0.105;
constexpr std::array<TechniqueEvidence, kTechniqueCount> kEvidence{{
    {Technique::ContextParallel, "context parallelism up to 8k tokens", 140, 138, 5, 0.069},
    {Technique::LongContextParallel, "context parallelism beyond 8k tokens", 6, 6, 2, 0.185},
    {Technique::ExpertParallel, "expert parallelism", 145, 145, 6, 0.128},
    {Technique::Interleaved, "interleaving", 259, 253, 10, 0.090},
    {Technique::ZeroBubble, "zero-bubble schedules", 44, 44, 1, 0.047},
    {Technique::DualPipe, "DualPipe", 0, 0, 0, 0},
    {Technique::VocabularyParallel, "vocabulary-parallel stages", 84, 60, 1, 0.134},
    {Technique::UnevenStages, "uneven stages", 215, 207, 9, 0.110},
    {Technique::Zero2, "ZeRO-2", 6, 6, 1, 0.054},
    {Technique::Zero3, "ZeRO-3", 216, 215, 9, 0.112},
    {Technique::HybridSharding, "hybrid sharding", 25, 25, 2, 0.116},
    {Technique::Offload, "offloading", 8, 8, 2, 0.043},
    {Technique::SelectiveRecompute, "recompute of modules", 106, 105, 6, 0.123},
    {Technique::NarrowTypes, "8-bit and 4-bit products", 279, 264, 6, 0.111},
    {Technique::ManyGpus, "more than 512 GPUs", 87, 87, 6, 0.117},
}};
/// Root mean square of the spreads above of techniques with 1 to 19 configurations: what is to be expected
/// of one that nobody has measured, and how many configurations outweigh that.
constexpr double kSpreadUnmeasured = 0.114;
constexpr double kConfigurationsOfPrior = 10;

constexpr std::int64_t kShortContext = 8192;  // tokens
constexpr std::int64_t kManyGpus = 512;
constexpr double kNinthDecile = 1.2816;  // of a standard normal

/// Of layers, and of such as the model has.
bool recomputes_parts(const Scenario& sc) {
  const Recompute& r = sc.recipe.recompute;
  if (r.mode == RecomputeMode::SelectiveModules) return (r.modules & recompute_modules_of(sc.model)) != 0;
  return r.mode == RecomputeMode::Selective || r.mode == RecomputeMode::SelectiveOperators;
}

bool uses(const Scenario& sc, Technique technique) {
  const Layout& l = sc.layout;
  switch (technique) {
    case Technique::ContextParallel:
      return l.cp > 1 && sc.recipe.sequence <= kShortContext;
    case Technique::LongContextParallel:
      return l.cp > 1 && sc.recipe.sequence > kShortContext;
    case Technique::ExpertParallel:
      return l.ep > 1;
    case Technique::Interleaved:
      return l.pp > 1 && l.vpp > 1;
    case Technique::ZeroBubble:
      return l.pp > 1 && splits_backward(l.schedule) && model_copies(l.schedule) == 1 &&
             l.schedule != ScheduleKind::DualPipeV;
    case Technique::DualPipe:
      return l.pp > 1 && (model_copies(l.schedule) > 1 || l.schedule == ScheduleKind::DualPipeV);
    case Technique::VocabularyParallel:
      return l.pp > 1 && l.vocab != VocabParallel::LastStage;
    case Technique::UnevenStages:
      return l.pp > 1 && l.split != StageSplit::Even;
    case Technique::Zero2:
      return l.sharding.stage == 2 && l.dp * l.cp > 1;
    case Technique::Zero3:
      return l.sharding.stage == 3 && l.dp * l.cp > 1;
    case Technique::HybridSharding:
      return l.sharding.stage == 3 && l.shard_ranks() < l.dp * l.cp;
    case Technique::Offload:
      return sc.recipe.offload != 0;
    case Technique::SelectiveRecompute:
      return recomputes_parts(sc);
    case Technique::NarrowTypes:
      return is_quantized(sc.recipe.precision);
    case Technique::ManyGpus:
      return sc.cluster.gpus > kManyGpus;
  }
  return false;
}

}  // namespace

double TechniqueEvidence::sigma() const {
  const double prior = kConfigurationsOfPrior * kSpreadUnmeasured * kSpreadUnmeasured;
  return std::sqrt((configurations * spread * spread + prior) / (configurations + kConfigurationsOfPrior));
}

const std::array<TechniqueEvidence, kTechniqueCount>& technique_evidence() {
  return kEvidence;
}

TechniqueSet techniques_used(const Scenario& scenario) {
  TechniqueSet set = 0;
  for (const TechniqueEvidence& row : kEvidence) {
    if (uses(scenario, row.technique)) set |= bit_of(row.technique);
  }
  return set;
}

double added_variance(TechniqueSet techniques) {
  double variance = 0;
  for (const TechniqueEvidence& row : kEvidence) {
    if (!contains(techniques, row.technique)) continue;
    variance += std::max(0.0, row.sigma() * row.sigma() - kSpreadOfAll * kSpreadOfAll);
  }
  return variance;
}

double time_sigma(const FrameworkProfile& framework, const Calibration& calibration, double added) {
  return std::sqrt(calibration.time_sigma * calibration.time_sigma +
                   framework.time_residual * framework.time_residual + added);
}

double ninth_decile(double sigma) {
  return std::exp(kNinthDecile * sigma);
}

}  // namespace hexaplan::costmodel
