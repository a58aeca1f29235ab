#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "costmodel/spec/scenario.h"
#include "costmodel/step/technique_evidence.h"
#include "costmodel/units/quantity.h"

// On what an answer rests: published training runs like it (docs/accuracy.md#evidence).
namespace hexaplan::presets {

/// A published run near a question, beside what is predicted for it.
struct PublishedRun {
  std::string id, source;  // the row, and its citation
  std::string gpu, framework, model, layout;
  std::int64_t gpus = 0;
  std::int64_t runs = 1;  // of its source that it stands for: others differ in layout, batch or sequence
  costmodel::Seconds measured, predicted;  // one step
  double tokens_per_second_per_gpu = 0;    // measured
  double distance = 0;                     // distance_to
  [[nodiscard]] double error() const { return predicted / measured - 1; }
};

/// How many published runs use a technique of the question.
struct TechniqueSupport {
  costmodel::TechniqueEvidence evidence;  // on any GPU
  std::int64_t runs_on_gpu = 0;           // … on the GPU type asked about
};

struct Evidence {
  std::vector<PublishedRun> nearest;         // nearest first
  std::vector<TechniqueSupport> techniques;  // that the question uses
  std::int64_t runs_on_gpu = 0;              // published runs on its GPU type, of anything
  std::int64_t runs_with_framework = 0;
};

/// Nearest runs of presets/published/runs.json, and how many support each technique. The distance is a sum:
/// GPU of another type of the same architecture 1, of another architecture 3; another framework of the same
/// family 0.5, of another 2; 1 per technique that only one of both uses; half a point per factor of 2 in
/// GPUs, in layers·hidden² and in the sequence; a quarter per factor of 2 in tp and in pp. Predictions are of
/// the presets' curves. Reads a file the first time.
[[nodiscard]] Evidence evidence_for(const costmodel::Scenario& scenario, std::size_t count);

/// In words, one per line: at most three.
[[nodiscard]] std::vector<std::string> evidence_lines(const Evidence& evidence,
                                                      const costmodel::Scenario& scenario);

}  // namespace hexaplan::presets
