#include "cli/commands/posttrain.h"

#include <algorithm>
#include <utility>

#include "cli/commands/question.h"
#include "cli/write_file.h"
#include "presets/json/read_json.h"
#include "presets/scenario/scenario_page.h"

namespace hexaplan::cli {
namespace {

using presets::PostTrainingRequest;

/// Not refused by a rule about layouts.
bool is_short_of_memory(const costmodel::PostTrainingPlan& plan) {
  return plan.rejected && (plan.priced() || plan.rejected->rule == "cache-holds-a-sequence");
}

/// A post-training, or the scenario of its actor.
PostTrainingRequest read_file(const std::string& path) {
  const presets::JsonDocument document = read_document(path);
  const presets::JsonValue* schema = document.root.find("schema");
  const auto* name = schema == nullptr ? nullptr : schema->get_if<std::string>();
  if (name != nullptr && *name == presets::kPostTrainingSchema) return presets::read_post_training(document);
  return {.actor = presets::read_scenario(document), .words = {}};
}

bool typed(const ScenarioOptions& question, std::string_view key) {
  return std::any_of(question.recipe.begin(), question.recipe.end(),
                     [&](const auto& field) { return field.key == key && !field.text.empty(); });
}

/// As trainers do unless they are told otherwise (verl trainer/config/model/hf_model.yaml
/// enable_gradient_checkpointing: True).
void recompute_as_usual(const ScenarioOptions& question, PostTrainReport& report) {
  if (!question.scenario.empty() || typed(question, "recompute")) return;
  report.request.actor.recipe.recompute.mode = costmodel::RecomputeMode::Full;
  report.notes.emplace_back("recompute not given: full");
}

}  // namespace

PostTrainReport run_posttrain(const PostTrainOptions& options) {
  PostTrainReport report;
  const ScenarioOptions& question = options.question;
  if (!question.scenario.empty()) report.request = read_file(question.scenario);
  override_request(report.request.actor, question);
  recompute_as_usual(question, report);
  const auto fields = presets::post_training_fields();
  for (std::size_t i = 0; i < options.words.size(); ++i) {
    if (!options.words[i].empty())
      presets::set_post_training_field(report.request.words, fields[i], options.words[i]);
  }
  const auto models = presets::model_flags();
  for (std::size_t i = 0; i < options.models.size(); ++i) {
    if (!options.models[i].empty())
      presets::set_model_flag(report.request.words, models[i], options.models[i]);
  }
  if (!question.save_scenario.empty())
    write_file(question.save_scenario, presets::to_text(to_json(report.request)) + "\n");
  presets::ResolvedPostTraining resolved = presets::resolve_post_training(report.request);
  report.question = std::move(resolved.question);
  report.notes.insert(report.notes.end(), resolved.notes.begin(), resolved.notes.end());
  report.plan = costmodel::plan_post_training(report.question, resolved.calibration);
  if (is_short_of_memory(report.plan))
    report.changes = planner::fitting_post_training(report.question, resolved.calibration, kSuggestedChanges);
  return report;
}

}  // namespace hexaplan::cli
