#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "presets/scenario/scenario_request.h"

// What can be said of how to train, as rows of docs/techniques.md.
namespace hexaplan::tests {

/// A technique: a word of the question in a scenario where it matters, and the same without it.
struct Technique {
  std::string_view section;
  std::string title;
  std::string words;  // as it is said: "zero3", "--optimizer muon"
  presets::CalibratedScenario without, with;
  std::function<bool(const costmodel::Scenario&)> used_by;
};
/// Every word of layouts, every value of a recipe that is a way of training, and the parts of models that
/// are. Further spellings of a word have no row of their own.
[[nodiscard]] std::vector<Technique> techniques();
/// Keys of a recipe that are neither techniques nor sizes here: a new one needs a place.
[[nodiscard]] std::vector<std::string_view> fields_without_a_place();

/// What is known of a technique. A cell is "yes" or what there is; notes say why not, or what is left out.
struct Cell {
  std::string text;
  std::vector<std::string> notes;
};
inline constexpr std::string_view kAcceptedOnly = "accepted only";
inline constexpr std::string_view kDiffers = "differs from the prediction";
inline constexpr std::string_view kDoesNotRun = "does not run";

/// Which numbers of an answer the technique moves; kAcceptedOnly when none and nothing says so.
[[nodiscard]] Cell priced(const Technique& technique);
/// "yes" when the executor ran the scenario, made small, and every count was the predicted one; kDiffers when
/// one was not.
[[nodiscard]] Cell executed(const Technique& technique);
/// "yes" when the same step ran on the kernels of the CUDA device, compiled for the host; kDoesNotRun when it
/// should have.
[[nodiscard]] Cell written_for_cuda(const Technique& technique);

/// Published runs that train in some way, and the median of |predicted / measured − 1|.
struct PublishedErrors {
  std::size_t steps = 0, peaks = 0;  // measured step times; memory figures
  double step_error = 0, peak_error = 0;
};
/// Over tests/golden/rows. Runs that their source calls disturbed do not count.
[[nodiscard]] PublishedErrors published_with(const Technique& technique);

}  // namespace hexaplan::tests
