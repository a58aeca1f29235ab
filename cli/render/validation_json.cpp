#include <utility>

#include "cli/render/execution_json.h"
#include "cli/render/validation_text.h"
#include "cli/version.h"
#include "validator/measure/compare/findings.h"

namespace hexaplan::cli {

using presets::JsonArray;
using presets::JsonObject;
using presets::JsonValue;
using validator::ComparedTotal;
using validator::ScenarioUse;
using validator::ValidatedScenario;

namespace {

JsonValue total_json(const std::optional<ComparedTotal>& total) {
  if (!total) return {};
  return JsonObject{{"predicted", total->predicted},
                    {"measured", total->measured},
                    {"error", total->error()},
                    {"interval", JsonArray{total->interval.low, total->interval.high}},
                    {"inside", total->inside()}};
}

JsonValue rank_json(const validator::ComparedRank& rank) {
  JsonArray terms;
  for (const validator::ComparedTerm& term : rank.terms) {
    const auto error = term.error();
    terms.push_back(JsonObject{{"group", validator::kTermGroupKeys[static_cast<std::size_t>(term.group)]},
                               {"name", term.name},
                               {"predicted", term.predicted},
                               {"measured", term.measured},
                               {"error", error ? JsonValue{*error} : JsonValue{}}});
    if (term.bus_rate > 0)
      terms.back().get_if<JsonObject>()->emplace_back("bus_bytes_per_second", term.bus_rate);
  }
  return JsonObject{{"rank", rank.rank}, {"stage", rank.stage}, {"terms", std::move(terms)}};
}

JsonValue scenario_json(const ValidatedScenario& s) {
  JsonArray ranks;
  for (const validator::ComparedRank& rank : s.ranks) ranks.push_back(rank_json(rank));
  JsonArray all;
  for (const validator::RankSummary& rank : s.all_ranks) {
    all.push_back(JsonObject{{"rank", rank.rank},
                             {"stage", rank.stage},
                             {"host", rank.host},
                             {"device", rank.device},
                             {"step_seconds", rank.step.value()},
                             {"computing_seconds", rank.computing.value()},
                             {"peak_bytes", rank.peak_bytes}});
  }
  JsonArray said;
  for (const std::string& finding : findings(s)) said.emplace_back(finding);
  JsonObject object{
      {"name", s.name},
      {"title", s.title},
      {"use", name_of(s.use)},
      {"solo", s.solo},
      {"gpus", s.gpus},
      {"outcome", name_of(s.outcome)},
      {"reason", s.reason},
      {"predicted_to_fit", s.predicted_to_fit},
      {"measured_steps", s.steps},
      {"measured_step_seconds",
       s.measured_step > costmodel::Seconds{} ? JsonValue{s.measured_step.value()} : JsonValue{}},
      {"step", total_json(s.step)},
      {"memory", total_json(s.memory)},
      {"mfu", s.mfu > 0 ? JsonValue{s.mfu} : JsonValue{}},
      {"ranks", std::move(ranks)},
      {"all_ranks", std::move(all)},
      {"findings", std::move(said)},
      {"device_facts", facts_json(s.facts)}};
  if (s.other) {
    object.emplace_back("other_framework", JsonObject{{"name", s.other->framework},
                                                      {"predicted_step_seconds", s.other->step.value()},
                                                      {"predicted_device_bytes", s.other->device.value()}});
  }
  if (s.solo && s.step) {
    object.emplace_back("measured_compute_seconds", s.measured_compute.value());
    object.emplace_back("modelled_messages_seconds", s.modelled_messages.value());
  }
  return object;
}

JsonValue errors_json(const validator::ErrorCounts& counts) {
  return JsonObject{{"scenarios", static_cast<std::int64_t>(counts.scenarios)},
                    {"mean_abs_error", counts.mean},
                    {"worst", counts.worst},
                    {"bias", counts.bias},
                    {"inside", counts.inside}};
}

JsonValue summary_json(const ValidateReport& report, ScenarioUse use) {
  const validator::ValidationSummary summary = summarise(report.scenarios, use);
  return JsonObject{{"step", errors_json(summary.step)},
                    {"memory", errors_json(summary.memory)},
                    {"fits_asked", static_cast<std::int64_t>(summary.fits_asked)},
                    {"fits_right", static_cast<std::int64_t>(summary.fits_right)}};
}

}  // namespace

JsonValue validation_json(const ValidateReport& report) {
  JsonArray scenarios, notes;
  for (const ValidatedScenario& scenario : report.scenarios) scenarios.push_back(scenario_json(scenario));
  for (const std::string& note : report.notes) notes.emplace_back(note);
  return JsonObject{{"schema", "hexaplan/validation/1"},
                    {"version", version_text()},
                    {"command", report.command},
                    {"asked", report.asked},
                    {"complete", report.complete()},
                    {"stopped_by", report.signal == 0 ? JsonValue{} : JsonValue{report.stopped_by()}},
                    {"device", report.device},
                    {"hardware", report.hardware},
                    {"calibration", report.calibration.empty() ? JsonValue{} : JsonValue{report.calibration}},
                    {"steps", report.steps},
                    {"warm_up", report.warm_up},
                    {"elapsed_seconds", report.elapsed.value()},
                    {"summary", JsonObject{{"all", summary_json(report, ScenarioUse::Unknown)},
                                           {"fitted", summary_json(report, ScenarioUse::Fitted)},
                                           {"held_out", summary_json(report, ScenarioUse::HeldOut)}}},
                    {"scenarios", std::move(scenarios)},
                    {"notes", std::move(notes)}};
}

}  // namespace hexaplan::cli
