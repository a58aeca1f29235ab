#pragma once
#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "validator/measure/runs/learn_constants.h"

// How well predictions hold once a few runs have been learned from.
namespace hexaplan::validator {

/// One configuration of a source, measured: the mean over its runs.
struct FewShotCase {
  std::string source, kind;  // kind: what one calibration is for, a GPU type and a framework
  RunEvidence run;
};

/// Runs that are learned from.
inline constexpr std::array<std::size_t, 2> kShots{1, 3};

struct FewShotScore {
  std::size_t configurations = 0;
  double before = 0;  // T as predicted
  double after = 0;   // T once learned from
};
using FewShotScores = std::array<FewShotScore, kShots.size()>;

struct FewShotReport {
  FewShotScores all{};
  struct OfSource {
    std::string source;
    FewShotScores scores;
  };
  std::vector<OfSource> sources;
};

/// Within each kind of a source with more configurations than are learned from: draws some, learns, and takes
/// T (docs/accuracy.md) over the others, to first order in the constants; the median over 25 draws, which are
/// the same every time. Sources: mean over kinds by configurations; all: over sources by √min(configurations,
/// 100).
[[nodiscard]] FewShotReport score_few_shots(const std::vector<FewShotCase>& cases);

}  // namespace hexaplan::validator
