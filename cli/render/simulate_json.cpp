#include "cli/render/simulate_json.h"

#include <utility>

#include "cli/render/not_modelled.h"
#include "cli/render/simulate_rows.h"

namespace hexaplan::cli {

using costmodel::Simulation;
using costmodel::StageTimeline;
using presets::JsonArray;
using presets::JsonObject;
using presets::JsonValue;

namespace {

JsonValue stage_json(std::size_t index, const StageTimeline& stage) {
  JsonObject times;
  for (const StageTimeName& name : kStageTimeNames)
    times.emplace_back(name.key, (stage.times.*name.member).value());
  return JsonObject{{"stage", static_cast<std::int64_t>(index)},
                    {"begin_seconds", stage.begin.value()},
                    {"seconds", std::move(times)},
                    {"microbatches_in_flight", stage.microbatches_in_flight},
                    {"peak_live_bytes", whole(stage.peak)},
                    {"peak_device_bytes", whole(stage.peak + stage.outside)}};
}

JsonValue path_json(const std::optional<costmodel::PathTimes>& path) {
  if (!path) return {};
  JsonObject seconds;
  for (std::size_t kind = 0; kind < path->kinds.size(); ++kind) {
    if (path->kinds[kind] > costmodel::Seconds{})
      seconds.emplace_back(std::string{name_of(static_cast<costmodel::SpanKind>(kind))},
                           path->kinds[kind].value());
  }
  return JsonObject{
      {"stages", path->stages}, {"seconds", std::move(seconds)}, {"waiting_seconds", path->waiting.value()}};
}

JsonValue rejection_json(const SimulateReport& report) {
  if (report.simulation) return {};
  const auto& rejected = std::get<costmodel::Rejected>(report.estimate.verdict);
  return JsonObject{{"rule", rejected.rule}, {"reason", rejected.reason}, {"advice", rejected.advice}};
}

}  // namespace

JsonValue simulate_json(const SimulateReport& report) {
  JsonArray notes;
  for (const std::string& note : report.question.notes) notes.emplace_back(note);
  JsonObject object{{"schema", "hexaplan/simulation/1"}, {"rejection", rejection_json(report)}};
  if (report.simulation) {
    const Simulation& s = *report.simulation;
    JsonArray stages;
    for (std::size_t i = 0; i < s.stages.size(); ++i) stages.push_back(stage_json(i, s.stages[i]));
    object.emplace_back("step_seconds", s.total.value());
    object.emplace_back("closed_form_seconds", report.estimate.time.total().value());
    object.emplace_back("bubble_share", s.bubble_share());
    object.emplace_back("exposed_share", s.exposed_share());
    object.emplace_back("critical_path", path_json(report.path));
    object.emplace_back("slowest_stage", s.slowest);
    object.emplace_back("peak_stage", s.peak_stage);
    object.emplace_back("capacity_bytes", whole(report.estimate.capacity));
    object.emplace_back("microbatches", s.microbatches);
    object.emplace_back("chunks", s.chunks);
    object.emplace_back("stages", std::move(stages));
  }
  object.emplace_back("not_modelled", not_modelled_json(costmodel::not_modelled(report.question.scenario)));
  object.emplace_back("notes", std::move(notes));
  return object;
}

}  // namespace hexaplan::cli
