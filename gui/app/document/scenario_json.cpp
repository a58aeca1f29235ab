#include "gui/app/document/scenario_json.h"

#include "cli/commands/question.h"

namespace hexaplan::gui {

presets::JsonValue scenarioJson(const Evaluation& evaluation) {
  if (!evaluation.understood()) return presets::to_json(evaluation.request);
  cli::Question question;
  question.request = evaluation.request;
  question.scenario = evaluation.scenario;
  return cli::filled_document(question);
}

presets::ScenarioRequest readScenarioAsAsked(const presets::ValueReader& scenario) {
  presets::JsonDocument document{scenario.file() + " at " + scenario.pointer(), scenario.json()};
  cli::ask_anew(document.root);
  return presets::read_scenario(document);
}

}  // namespace hexaplan::gui
