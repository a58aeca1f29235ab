#pragma once
#include <string>
#include <vector>

#include "costmodel/spec/scenario.h"

namespace hexaplan::costmodel {

/// A word of the question and what no number of the answer contains because of it.
struct KnobNote {
  std::string knob;    // as it is said: "hpz", "offload optimizer", "optimizer muon"
  std::string effect;  // of not_modelled: what is left out; of words_without_effect: why nothing changes
  friend bool operator==(const KnobNote&, const KnobNote&) = default;
};

/// What the scenario asks for and memory, messages or time leave out, so that an answer can say so. Empty
/// when all of it is in the numbers.
[[nodiscard]] std::vector<KnobNote> not_modelled(const Scenario& scenario);

/// Words of the scenario that change nothing here, with the reason: a rank without adapters, a schedule
/// without stages.
[[nodiscard]] std::vector<KnobNote> words_without_effect(const Scenario& scenario);

/// Rows of `not_modelled(changed)` that `not_modelled(scenario)` has not: whoever proposes the change must
/// say so.
[[nodiscard]] std::vector<KnobNote> newly_not_modelled(const Scenario& scenario, const Scenario& changed);

}  // namespace hexaplan::costmodel
