#include "gui/app/jobs/search_file.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "cli/commands/search.h"
#include "costmodel/step/technique_evidence.h"
#include "gui/app/document/scenario_json.h"

namespace hexaplan::gui {

using costmodel::Seconds;
using planner::Plan;
using planner::Price;
using planner::RankedPlan;
using presets::JsonArray;
using presets::JsonObject;
using presets::JsonValue;
using presets::ObjectReader;
using presets::ScenarioRequest;
using presets::ValueReader;

namespace {

constexpr presets::IntegerRange kListed{1, 10'000};
/// Of two prices that the same arithmetic makes; times are written exactly.
constexpr double kSamePrice = 1e-9;

// One row of a table writes and reads a number of a struct.
template <class T>
struct CountRow {
  std::string_view key;
  std::int64_t T::*member;
};
constexpr CountRow<planner::SearchCounts> kCounts[] = {
    {"enumerated", &planner::SearchCounts::enumerated}, {"rejected", &planner::SearchCounts::rejected},
    {"pruned", &planner::SearchCounts::pruned},         {"outclassed", &planner::SearchCounts::outclassed},
    {"priced", &planner::SearchCounts::priced},         {"feasible", &planner::SearchCounts::feasible}};

JsonValue priceJson(const Price& price) {
  return JsonObject{{"step_seconds", price.step.value()},
                    {"peak_bytes", price.peak.value()},
                    {"capacity_bytes", price.capacity.value()},
                    {"gpus", price.gpus},
                    {"dollars_per_step", price.dollars_per_step},
                    {"tokens_per_second_per_gpu", price.tokens_per_second_per_gpu},
                    {"mfu", price.mfu},
                    {"out_of_memory_probability", price.risk}};
}

Price readPrice(ObjectReader reader) {
  const auto number = [&](const char* key) { return reader.required(key).number(presets::kNotNegative); };
  Price price{.step = Seconds{number("step_seconds")},
              .peak = costmodel::Bytes{number("peak_bytes")},
              .capacity = costmodel::Bytes{number("capacity_bytes")},
              .gpus = reader.required("gpus").integer(presets::kPositive),
              .dollars_per_step = number("dollars_per_step"),
              .tokens_per_second_per_gpu = number("tokens_per_second_per_gpu"),
              .mfu = number("mfu"),
              .risk = reader.required("out_of_memory_probability").number(presets::kShare)};
  reader.finish();
  return price;
}

/// In the words of a scenario file.
JsonObject planJson(const Plan& plan) {
  ScenarioRequest said;
  said.layout = {plan.layout, true};
  said.recipe = plan.recipe;
  JsonObject object{{"price", priceJson(plan.price)}};
  const JsonValue words = presets::to_json(said);
  for (const char* key : {"layout", "recipe"}) {
    if (const JsonValue* value = words.find(key)) object.emplace_back(key, *value);
  }
  return object;
}

Plan readPlan(ObjectReader& reader) {
  Plan plan{.price = readPrice(reader.required("price").object())};
  presets::JsonDocument words{reader.file() + " at " + reader.pointer(),
                              JsonObject{{"schema", presets::kScenarioSchema},
                                         {"layout", reader.required("layout").json()},
                                         {"recipe", reader.required("recipe").json()}}};
  const ScenarioRequest said = presets::read_scenario(words);
  plan.layout = said.layout.layout;
  plan.recipe = said.recipe;
  return plan;
}

std::optional<Plan> readOptionalPlan(ObjectReader& reader, const char* key) {
  const auto value = reader.optional(key);
  if (!value) return std::nullopt;
  ObjectReader object = value->object();
  Plan plan = readPlan(object);
  object.finish();
  return plan;
}

/// `closed_form`: the one with which the plan was listed.
JsonValue rankedJson(const RankedPlan& ranked, Seconds closed_form) {
  JsonObject object = planJson(ranked.plan);
  object.emplace_back("closed_form_seconds", closed_form.value());
  object.emplace_back("p90_seconds", ranked.ninth_decile.value());
  if (ranked.simulated) object.emplace_back("simulated_seconds", ranked.simulated->value());
  if (ranked.refined_from) object.emplace_back("refined_from", planJson(*ranked.refined_from));
  return object;
}

/// `result`: the search, as far as it is read; its question is priced unless this machine lacks its model.
RankedPlan readRanked(ObjectReader reader, SearchResult& result) {
  RankedPlan ranked{.plan = readPlan(reader)};
  const double closed = reader.required("closed_form_seconds").number(presets::kNotNegative);
  result.closed_forms.emplace_back(closed);
  ranked.ninth_decile = Seconds{reader.required("p90_seconds").number(presets::kNotNegative)};
  if (const auto simulated = reader.optional("simulated_seconds"))
    ranked.simulated = Seconds{simulated->number(presets::kNotNegative)};
  ranked.refined_from = readOptionalPlan(reader, "refined_from");
  reader.finish();
  if (result.problem.hardware.empty()) return ranked;
  const costmodel::Scenario scenario = planner::scenario_of(result.problem, ranked.plan);
  ranked.estimate = costmodel::estimate_step(scenario, result.problem.hardware.front().calibration);
  ranked.techniques = costmodel::techniques_used(scenario);
  const double now = ranked.estimate.time.total().value();
  if (std::abs(now - closed) > kSamePrice * closed) result.outdated = true;
  return ranked;
}

/// Not the row of `hexaplan search --json`: a project brings back all of it, `constraint` included, which
/// that answer does not have, and which a change of that schema must not touch.
JsonValue rejectionJson(const planner::RejectionCount& row) {
  JsonArray nearest;
  for (const costmodel::Layout& layout : row.nearest) nearest.emplace_back(presets::to_layout_text(layout));
  return JsonObject{{"rule", row.rule},
                    {"candidates", row.candidates},
                    {"reason", row.reason},
                    {"advice", row.advice},
                    {"example", presets::to_layout_text(row.example)},
                    {"nearest", std::move(nearest)},
                    {"constraint", row.constraint}};
}

planner::RejectionCount readRejection(ObjectReader reader) {
  planner::RejectionCount row{.rule = reader.required("rule").text(),
                              .candidates = reader.required("candidates").integer(presets::kCount),
                              .reason = reader.required("reason").text(),
                              .advice = reader.required("advice").text(),
                              .example = presets::read_layout(reader.required("example")).layout,
                              .nearest = {},
                              .constraint = reader.required("constraint").boolean(),
                              .closest = {}};
  for (const ValueReader& layout : reader.required("nearest").elements())
    row.nearest.push_back(presets::read_layout(layout).layout);
  reader.finish();
  return row;
}

JsonValue termsJson(const SearchTerms& terms) {
  std::string_view objective;
  for (const auto& row : cli::objective_names()) {
    if (row.value == terms.objective) objective = row.name;
  }
  return JsonObject{{"objective", objective},
                    {"max_risk", terms.max_risk},
                    {"memory_share", terms.memory_share},
                    {"keep_micro_batch", terms.keep_micro_batch},
                    {"keep_recompute", terms.keep_recompute},
                    {"limits", terms.limits.toStdString()},
                    {"top", static_cast<std::int64_t>(terms.top)}};
}

SearchTerms readTerms(ObjectReader reader) {
  SearchTerms terms{
      .objective = reader.required("objective").choice(cli::objective_names()),
      .max_risk = reader.required("max_risk").number(presets::kShare),
      .memory_share = reader.required("memory_share").number(presets::kShare),
      .keep_micro_batch = reader.required("keep_micro_batch").boolean(),
      .keep_recompute = reader.required("keep_recompute").boolean(),
      .limits = QString::fromStdString(reader.required("limits").text()),
      .top = static_cast<std::size_t>(reader.required("top").integer(kListed)),
  };
  reader.finish();
  return terms;
}

void readRanking(ObjectReader& root, SearchResult& result) {
  planner::Ranking& ranking = result.ranking;
  ranking.stopped = root.required("stopped").boolean();
  ObjectReader counts = root.required("counts").object();
  for (const auto& row : kCounts)
    ranking.counts.*row.member = counts.required(row.key).integer(presets::kCount);
  counts.finish();
  ranking.contest.simulated = root.required("simulated").integer(presets::kCount);
  for (const ValueReader& plan : root.required("plans").elements())
    ranking.plans.push_back(readRanked(plan.object(), result));
  for (const ValueReader& row : root.required("pareto").elements()) {
    ObjectReader plan = row.object();
    ranking.pareto.push_back(readPlan(plan));
    plan.finish();
  }
  ranking.best_at_any_risk = readOptionalPlan(root, "best_at_any_risk");
  for (const ValueReader& row : root.required("rejections").elements())
    ranking.rejections.push_back(readRejection(row.object()));
}

}  // namespace

JsonValue toJson(const SearchResult& result) {
  const planner::Ranking& ranking = result.ranking;
  JsonArray plans, front, rejections;
  // What was listed stays, however often it is saved: a later program's prices would hide that they differ.
  for (std::size_t i = 0; i < ranking.plans.size(); ++i) {
    const RankedPlan& ranked = ranking.plans[i];
    plans.push_back(rankedJson(
        ranked, i < result.closed_forms.size() ? result.closed_forms[i] : ranked.estimate.time.total()));
  }
  for (const Plan& plan : ranking.pareto) front.emplace_back(planJson(plan));
  for (const planner::RejectionCount& row : ranking.rejections) rejections.push_back(rejectionJson(row));
  JsonObject counts;
  for (const auto& row : kCounts) counts.emplace_back(row.key, ranking.counts.*row.member);
  JsonObject object{{"scenario", scenarioJson(*result.evaluation)},
                    {"terms", termsJson(result.terms)},
                    {"stopped", ranking.stopped},
                    {"counts", std::move(counts)},
                    {"simulated", ranking.contest.simulated},
                    {"plans", std::move(plans)},
                    {"pareto", std::move(front)},
                    {"rejections", std::move(rejections)}};
  if (ranking.best_at_any_risk) object.emplace_back("best_at_any_risk", planJson(*ranking.best_at_any_risk));
  return object;
}

SearchResultPtr readSearch(const ValueReader& search, Evaluator& evaluator) {
  ObjectReader root = search.object();
  auto result = std::make_shared<SearchResult>();
  result->evaluation = evaluator.evaluate(readScenarioAsAsked(root.required("scenario")), Detail::Priced);
  result->terms = readTerms(root.required("terms").object());
  if (result->evaluation->calibration) result->problem = problemOf(*result->evaluation, result->terms);
  readRanking(root, *result);
  root.finish();
  return result;
}

}  // namespace hexaplan::gui
