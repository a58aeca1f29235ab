#pragma once
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "presets/json/read_json.h"
#include "presets/scenario/scenario_request.h"

namespace hexaplan::presets {

// A report (`hexaplan report`) is a page for people; the scenario that it answers travels inside it, so that
// the page is also a scenario file.

/// Whether a model, calibration or fabric is the name of a file, and not of a preset.
[[nodiscard]] bool names_a_file(std::string_view name);

/// The request as another machine can read it: a model that stands in a file of this one becomes
/// `model_config`, unless that is null; calibrations and fabrics in files stay behind.
[[nodiscard]] ScenarioRequest portable(ScenarioRequest request, const JsonValue& model_config);

/// <script type="application/json" id="hexaplan-scenario">…</script>: data, which browsers do not run.
/// `number`: 1 is what the page is about; others are called "hexaplan-scenario-2", … and are what it compares
/// it with. `name`: what it is called there.
[[nodiscard]] std::string scenario_script(const ScenarioRequest& request, std::size_t number = 1,
                                          std::string_view name = {});

/// A scenario in a page.
struct PageScenario {
  std::string name;
  JsonDocument document;
};
/// All scenarios within the text of a page, by number; none when it is no page. InputError for a page without
/// any.
[[nodiscard]] std::vector<PageScenario> scenarios_in_page(std::string_view text, const std::string& file);
/// The scenario within the text of a page; nothing when it is no page. InputError for a page without one.
[[nodiscard]] std::optional<JsonDocument> scenario_in_page(std::string_view text, const std::string& file);

/// A JSON file, or the scenario inside a report or a project (project_question.h).
[[nodiscard]] JsonDocument read_scenario_document(const std::filesystem::path& path);
/// The same of a text that was read from `file`.
[[nodiscard]] JsonDocument parse_scenario_document(std::string_view text, const std::string& file);

}  // namespace hexaplan::presets
