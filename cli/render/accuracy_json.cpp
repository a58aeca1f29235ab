#include "cli/render/accuracy_json.h"

#include <utility>

#include "cli/render/accuracy_rows.h"
#include "cli/render/estimate_json.h"

namespace hexaplan::cli {

using presets::JsonArray;
using presets::JsonObject;
using presets::JsonValue;
using validator::ComparedCase;
using validator::ErrorSummary;
using validator::FamilyErrors;
using validator::Scores;

namespace {

JsonValue count(std::size_t n) {
  return static_cast<std::int64_t>(n);
}

/// Null where nothing was scored that it would be of.
JsonValue figure(std::size_t rows, double value) {
  return rows == 0 ? JsonValue{} : JsonValue{value};
}

JsonValue errors_json(const ErrorSummary& e) {
  return JsonObject{{"rows", count(e.rows)},
                    {"skipped", count(e.skipped)},
                    {"macro_mean_abs_error", figure(e.rows, e.macro_mean_abs_error)},
                    {"median_abs_error", figure(e.rows, e.median_abs_error)},
                    {"worst", figure(e.rows, e.worst)},
                    {"bias", figure(e.rows, e.bias)}};
}

JsonValue families_json(const FamilyErrors& f) {
  JsonArray beyond;
  for (const std::string& id : f.beyond_double) beyond.emplace_back(id);
  return JsonObject{{"rows", count(f.rows)},
                    {"families", count(f.families)},
                    {"typical_error", figure(f.families, f.typical_error)},
                    {"within_10_percent", figure(f.families, f.within_10_percent)},
                    {"within_25_percent", figure(f.families, f.within_25_percent)},
                    {"covered_by_90_percent_interval", figure(f.families, f.covered)},
                    {"noise_floor", figure(f.repeated, f.noise_floor)},
                    {"families_measured_again", count(f.repeated)},
                    {"beyond_double", std::move(beyond)}};
}

void append_scores(const Scores& scores, JsonObject& object) {
  JsonObject memory;
  for (const auto& [kind, name] : kMemoryFigureNames) {
    memory.emplace_back(name, errors_json(scores.memory[static_cast<std::size_t>(kind)]));
  }
  object.emplace_back("time", errors_json(scores.time));
  object.emplace_back("families", families_json(scores.families));
  object.emplace_back("families_with_disturbed", families_json(scores.with_disturbed));
  object.emplace_back("memory", std::move(memory));
  object.emplace_back(
      "oom",
      JsonObject{{"rows", count(scores.out_of_memory.rows)},
                 {"skipped", count(scores.out_of_memory.skipped)},
                 {"accuracy", figure(scores.out_of_memory.rows, scores.out_of_memory.accuracy)},
                 {"false_fit", count(scores.out_of_memory.false_fit)},
                 {"false_oom", count(scores.out_of_memory.false_oom)},
                 {"brier", figure(scores.chance_of_running_out.rows, scores.chance_of_running_out.brier)},
                 {"reliability_gap",
                  figure(scores.chance_of_running_out.rows, scores.chance_of_running_out.reliability_gap)}});
  object.emplace_back(
      "ranking", JsonObject{{"groups", count(scores.ranking.groups)},
                            {"mean_regret", figure(scores.ranking.groups, scores.ranking.mean_regret)},
                            {"median_regret", figure(scores.ranking.groups, scores.ranking.median_regret)},
                            {"worst_regret", figure(scores.ranking.groups, scores.ranking.worst_regret)},
                            {"groups_within_5_percent", count(scores.ranking.groups_within_5_percent)},
                            {"mean_spearman", figure(scores.ranking.groups, scores.ranking.mean_spearman)}});
}

JsonValue case_json(const ComparedCase& c) {
  JsonObject row{{"case_id", c.id}, {"source", c.source}, {"family", c.family}};
  if (!c.reason.empty()) {
    row.emplace_back("skipped", c.reason);
    return row;
  }
  if (c.time) {
    row.emplace_back("time", JsonObject{{"predicted", c.time->predicted},
                                        {"measured", c.time->measured},
                                        {"error", c.time->error()},
                                        {"low", c.low},
                                        {"high", c.high},
                                        {"disturbed", c.disturbed},
                                        {"by_cause", causes_json(c.by_cause)}});
  }
  if (!c.memory.empty()) {
    JsonObject memory;
    for (const auto& m : c.memory) {
      memory.emplace_back(
          name_of_memory(m.kind),
          JsonObject{{"predicted", m.predicted}, {"measured", m.measured}, {"error", m.error}});
    }
    row.emplace_back("memory", std::move(memory));
  }
  if (c.measured_out_of_memory && c.predicted_out_of_memory) {
    row.emplace_back("oom", JsonObject{{"predicted", *c.predicted_out_of_memory},
                                       {"measured", *c.measured_out_of_memory},
                                       {"probability", c.chance_of_running_out},
                                       {"device_bytes", c.device_bytes},
                                       {"capacity_bytes", c.capacity_bytes}});
  }
  return row;
}

JsonValue few_shot_json(const validator::FewShotScores& scores) {
  JsonArray list;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (scores[i].configurations == 0) continue;
    list.push_back(JsonObject{{"runs", count(validator::kShots[i])},
                              {"configurations", count(scores[i].configurations)},
                              {"before", scores[i].before},
                              {"after", scores[i].after}});
  }
  return list;
}

const validator::FewShotScores& few_shot_of(const validator::FewShotReport& report,
                                            const std::string& source) {
  static const validator::FewShotScores none{};
  for (const auto& row : report.sources) {
    if (row.source == source) return row.scores;
  }
  return none;
}

/// What few shots learn from: ln(measured / predicted), and what each constant does to it.
JsonValue configurations_json(const std::vector<validator::FewShotCase>& cases) {
  JsonArray list;
  for (const validator::FewShotCase& c : cases) {
    JsonObject slopes;
    for (const costmodel::RunConstantRow& row : costmodel::run_constants())
      slopes.emplace_back(std::string{row.key}, correction_of(c.run.slope, row.constant));
    list.push_back(JsonObject{
        {"source", c.source}, {"kind", c.kind}, {"residual", c.run.residual}, {"slopes", std::move(slopes)}});
  }
  return list;
}

}  // namespace

JsonValue accuracy_json(const AccuracyResult& result, bool rows) {
  JsonObject object{{"schema", "hexaplan/accuracy/1"}};
  append_scores(result.report.all, object);
  if (result.few_shot) object.emplace_back("few_shot", few_shot_json(result.few_shot->all));
  JsonArray sources;
  for (const auto& [source, scores] : result.report.sources) {
    JsonObject entry{{"source", source}};
    append_scores(scores, entry);
    if (result.few_shot) entry.emplace_back("few_shot", few_shot_json(few_shot_of(*result.few_shot, source)));
    sources.push_back(std::move(entry));
  }
  object.emplace_back("sources", std::move(sources));
  if (!rows) return object;
  JsonArray list;
  for (const ComparedCase& c : result.cases) list.push_back(case_json(c));
  object.emplace_back("rows", std::move(list));
  if (result.few_shot) object.emplace_back("configurations", configurations_json(result.configurations));
  return object;
}

}  // namespace hexaplan::cli
