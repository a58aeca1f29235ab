#pragma once
#include <QString>

#include "presets/scenario/scenario_request.h"

namespace hexaplan::gui {

/// A question as one word that survives mail, chat and browsers: "hexaplan:scenario/1/" and the scenario
/// file, compressed, in base64url. A model that stands in a file of this machine travels along
/// (`model_config`); calibrations in files stay behind.
[[nodiscard]] QString shareText(const presets::ScenarioRequest& request,
                                const presets::JsonValue& model_config);

/// The first such word in `text`; empty when there is none.
[[nodiscard]] QString findShareText(const QString& text);

/// InputError when the word is incomplete, of another version, or no scenario.
[[nodiscard]] presets::ScenarioRequest readShareText(const QString& word);

}  // namespace hexaplan::gui
