#include <utility>

#include "cli/render/changes.h"
#include "cli/render/estimate_json.h"
#include "cli/render/not_modelled.h"
#include "cli/render/search_text.h"
#include "cli/render/training.h"

namespace hexaplan::cli {

using planner::Plan;
using planner::RankedPlan;
using presets::JsonArray;
using presets::JsonObject;
using presets::JsonValue;

namespace {

JsonValue price_json(const planner::Price& price) {
  return JsonObject{
      {"step_seconds", price.step.value()},
      {"peak_bytes", costmodel::whole(price.peak)},
      {"capacity_bytes", costmodel::whole(price.capacity)},
      {"gpus", price.gpus},
      {"dollars_per_step", price.dollars_per_step > 0 ? JsonValue{price.dollars_per_step} : JsonValue{}},
      {"tokens_per_second_per_gpu", price.tokens_per_second_per_gpu},
      {"mfu", price.mfu},
      {"out_of_memory_probability", price.risk}};
}

JsonValue plan_json(const SearchReport& report, const Plan& plan) {
  return JsonObject{{"cluster", report.problem.hardware[plan.hardware].cluster.name},
                    {"layout", presets::to_layout_text(plan.layout)},
                    {"price", price_json(plan.price)},
                    {"not_modelled", not_modelled_json(not_modelled_of(report, plan))},
                    {"scenario", to_json(request_of(report, plan))}};
}

JsonValue evidence_json(costmodel::TechniqueSet techniques) {
  JsonArray rows;
  for (const costmodel::TechniqueEvidence& row : costmodel::technique_evidence()) {
    if (!contains(techniques, row.technique)) continue;
    rows.push_back(JsonObject{{"technique", std::string{row.name}},
                              {"runs", row.runs},
                              {"configurations", row.configurations},
                              {"sources", row.sources},
                              {"spread", row.configurations > 0 ? JsonValue{row.spread} : JsonValue{}}});
  }
  return rows;
}

JsonValue rejection_json(const planner::RejectionCount& row) {
  JsonArray nearest;
  for (const costmodel::Layout& layout : row.nearest) nearest.emplace_back(presets::to_layout_text(layout));
  return JsonObject{{"rule", row.rule},
                    {"candidates", row.candidates},
                    {"reason", row.reason},
                    {"advice", row.advice},
                    {"example", presets::to_layout_text(row.example)},
                    {"nearest", std::move(nearest)}};
}

JsonValue contest_json(const planner::Contest& contest) {
  return JsonObject{{"refined", contest.refined},
                    {"simulated", contest.simulated},
                    {"spread", contest.spread},
                    {"settled", contest.settled}};
}

JsonValue terms_json(const std::vector<planner::Term>& terms) {
  JsonArray array;
  for (const planner::Term& term : terms)
    array.push_back(JsonObject{{"term", term.key}, {"a", term.a}, {"b", term.b}});
  return array;
}

}  // namespace

JsonValue ranked_json(const SearchReport& report, const RankedPlan& ranked) {
  JsonValue plan = plan_json(report, ranked.plan);
  JsonObject& object = *plan.get_if<JsonObject>();
  object.emplace_back("time_by_cause", causes_json(ranked.estimate.time));
  const costmodel::Interval interval = interval_of(ranked);
  object.emplace_back("interval_seconds", JsonArray{interval.low, interval.high});
  object.emplace_back("out_of_memory_probability", ranked.estimate.out_of_memory_probability);
  object.emplace_back("simulated_seconds",
                      ranked.simulated ? JsonValue{ranked.simulated->value()} : JsonValue{});
  object.emplace_back("training",
                      ranked.plan.recipe.tokens > 0
                          ? training_json(scenario_of(report, ranked.plan), training_of(report, ranked))
                          : JsonValue{});
  object.emplace_back("p90_seconds", ranked.ninth_decile.value());
  object.emplace_back("evidence", evidence_json(ranked.techniques));
  object.emplace_back("closed_form_seconds", ranked.estimate.time.total().value());
  object.emplace_back("refined_from",
                      ranked.refined_from ? plan_json(report, *ranked.refined_from) : JsonValue{});
  return plan;
}

JsonValue search_json(const SearchReport& report) {
  JsonArray plans, front, rejections, notes;
  for (const RankedPlan& ranked : report.ranking.plans) plans.push_back(ranked_json(report, ranked));
  for (const Plan& plan : report.ranking.pareto) front.push_back(plan_json(report, plan));
  for (const auto& row : report.ranking.rejections) rejections.push_back(rejection_json(row));
  for (const std::string& note : report.question.notes) notes.emplace_back(note);
  const planner::SearchCounts& c = report.ranking.counts;
  JsonObject object{
      {"schema", "hexaplan/search/1"},
      {"stopped", report.ranking.stopped},
      {"counts", JsonObject{{"enumerated", c.enumerated},
                            {"rejected", c.rejected},
                            {"pruned", c.pruned},
                            {"outclassed", c.outclassed},
                            {"priced", c.priced},
                            {"feasible", c.feasible}}},
      {"contest", contest_json(report.ranking.contest)},
      {"plans", std::move(plans)},
      {"pareto", std::move(front)},
      {"best_at_any_risk",
       report.ranking.best_at_any_risk ? plan_json(report, *report.ranking.best_at_any_risk) : JsonValue{}},
      {"evidence", report.ranking.plans.empty()
                       ? JsonValue{}
                       : published_json(scenario_of(report, report.ranking.plans.front().plan))},
      {"changes_that_fit", report.help ? JsonValue{changes_json(report.help->changes)} : JsonValue{}},
      {"rejections", std::move(rejections)},
      {"notes", std::move(notes)}};
  if (report.ranking.plans.empty())
    object.emplace_back("nothing_found", planner::reason_for_nothing(report.ranking));
  JsonArray techniques;
  for (const planner::UnusedTechnique& row : report.techniques)
    techniques.push_back(JsonObject{{"setting", std::string{row.setting}},
                                    {"value", std::string{row.value}},
                                    {"plan", static_cast<std::int64_t>(row.plan + 1)},
                                    {"step_seconds", row.step.value()}});
  object.emplace_back("unused_techniques", std::move(techniques));
  if (report.fewer)
    object.emplace_back(
        "fewer_gpus",
        JsonObject{{"gpus", report.fewer->gpus},
                   {"plan", report.fewer->best ? ranked_json(report, *report.fewer->best) : JsonValue{}}});
  if (!report.sensitivity.empty()) {
    JsonArray changes;
    for (const planner::ChangedMachines& changed : report.sensitivity)
      changes.push_back(
          JsonObject{{"change", changed.change},
                     {"plan", changed.best ? ranked_json(report, *changed.best) : JsonValue{}}});
    object.emplace_back("sensitivity", std::move(changes));
  }
  if (report.explanation) {
    const auto& [a, b, terms] = *report.explanation;
    object.emplace_back("explanation", JsonObject{{"plan_a", static_cast<std::int64_t>(a + 1)},
                                                  {"plan_b", static_cast<std::int64_t>(b + 1)},
                                                  {"time_seconds", terms_json(terms.time)},
                                                  {"memory_bytes", terms_json(terms.memory)}});
  }
  return object;
}

}  // namespace hexaplan::cli
