#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "cli/options.h"
#include "costmodel/calibrate/calibration.h"
#include "presets/json/read_json.h"
#include "presets/scenario/scenario_request.h"

namespace hexaplan::cli {

/// A question with everything looked up: what every command that plans starts from.
struct Question {
  presets::ScenarioRequest request;
  costmodel::Scenario scenario;
  std::vector<std::string> notes;  // what was not said and which value it got
  costmodel::Calibration calibration;
  presets::FabricOrigin fabric;
};

/// How many ways to make a plan fit an answer lists.
inline constexpr std::size_t kSuggestedChanges = 3;

/// The JSON of a file, of a page that `report` wrote, or of stdin for "-".
[[nodiscard]] presets::JsonDocument read_document(const std::string& path);

/// The scenario file, if any, with the flags on top. InputError names the flag or the file's field.
/// `notes`: gets what launch files (--from) leave open. UsageError when a question is said twice.
[[nodiscard]] presets::ScenarioRequest read_request(const ScenarioOptions& options,
                                                    std::vector<std::string>* notes = nullptr);
/// What --model says, as a scenario has it; null where it is not given. Reads stdin for "-".
[[nodiscard]] presets::JsonValue asked_model(const ScenarioOptions& options);
/// Puts the flags on top. `imported`: --model and --cluster were already read with the launch files.
void override_request(presets::ScenarioRequest& request, const ScenarioOptions& options,
                      bool imported = false);

/// Looks everything up; a problem is told of the flag or file it came from.
[[nodiscard]] presets::ResolvedScenario resolve_request(const presets::ScenarioRequest& request,
                                                        const ScenarioOptions& options);

/// The same with its calibration.
[[nodiscard]] presets::CalibratedScenario calibrate_request(const presets::ScenarioRequest& request,
                                                            const ScenarioOptions& options);

/// Takes out of a scenario's document what nobody asked for when it was written ("filled"): it follows from
/// the rest, which something on top changes.
void ask_anew(presets::JsonValue& root);
/// The question as a scenario file holds it, with every gap filled.
[[nodiscard]] presets::ScenarioRequest filled_request(const Question& question);
/// That as a document, with the names of the members that nobody said ("filled").
[[nodiscard]] presets::JsonValue filled_document(const Question& question);
/// Writes it: with flags on top, what nobody said is asked anew. No file: nothing.
void save_scenario(const std::string& file, const Question& question);

/// Reads, resolves, finds the calibration, writes --save-scenario. InputError when something cannot be used.
[[nodiscard]] Question ask(const ScenarioOptions& options);

}  // namespace hexaplan::cli
