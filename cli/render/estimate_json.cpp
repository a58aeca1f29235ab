#include "cli/render/estimate_json.h"

#include <utility>

#include "cli/render/changes.h"
#include "cli/render/estimate_rows.h"
#include "cli/render/network_text.h"
#include "cli/render/not_modelled.h"
#include "cli/render/training.h"
#include "costmodel/step/outer_operations.h"
#include "costmodel/units/whole_parts.h"
#include "presets/published/published_runs.h"
#include "report/formula_index.h"

namespace hexaplan::cli {

using costmodel::Bytes;
using costmodel::Estimate;
using costmodel::StageMemory;
using presets::JsonArray;
using presets::JsonObject;
using presets::JsonValue;

namespace {

constexpr std::size_t kNearestListed = 5;

JsonValue whole_bytes(Bytes bytes) {
  return costmodel::whole(bytes);
}

JsonValue verdict_json(const EstimateReport& report) {
  const auto* rejected = std::get_if<costmodel::Rejected>(&report.estimate.verdict);
  if (rejected == nullptr) return {};
  return JsonObject{{"rule", rejected->rule},
                    {"reason", rejected->reason},
                    {"advice", rejected->advice},
                    {"changes_that_fit", changes_json(report.changes)}};
}

JsonValue stage_json(const StageMemory& stage) {
  JsonObject object{{"stage", stage.stage},
                    {"layers", stage.layers},
                    {"microbatches_in_flight", stage.microbatches_in_flight}};
  const costmodel::MemoryBreakdown kinds = stage.on_device();
  std::vector<double> parts;
  parts.reserve(costmodel::kMemoryKinds.size());
  for (const costmodel::MemoryKind& row : costmodel::kMemoryKinds)
    parts.push_back(kinds.of(row.kind).value());
  const std::vector<std::int64_t> whole = costmodel::whole_parts(parts, costmodel::whole(stage.device));
  for (std::size_t i = 0; i < whole.size(); ++i)
    object.emplace_back(costmodel::kMemoryKinds[i].key, whole[i]);
  object.emplace_back("peak", whole_bytes(stage.device));
  object.emplace_back("peak_instant", costmodel::name_of(stage.instant));
  object.emplace_back("allocated", whole_bytes(stage.allocated));
  object.emplace_back("reserved", whole_bytes(stage.reserved));
  object.emplace_back("needed", whole_bytes(stage.needed));
  object.emplace_back("idle", whole_bytes(stage.idle));
  object.emplace_back("host", whole_bytes(stage.host));
  object.emplace_back("disk", whole_bytes(stage.disk));
  return object;
}

JsonValue memory_json(const Estimate& e) {
  JsonArray stages;
  for (const StageMemory& stage : e.stages) stages.push_back(stage_json(stage));
  return JsonObject{{"peak_bytes", whole_bytes(e.peak().device)},
                    {"needed_bytes", whole_bytes(e.peak().needed)},
                    {"capacity_bytes", whole_bytes(e.capacity)},
                    {"peak_stage", e.peak_stage},
                    {"interval_bytes", JsonArray{whole_bytes(Bytes{e.memory_bytes.low}),
                                                 whole_bytes(Bytes{e.memory_bytes.high})}},
                    {"out_of_memory_probability", e.out_of_memory_probability},
                    {"host_bytes_per_node", whole_bytes(e.host_memory)},
                    {"disk_bytes_per_node", whole_bytes(e.disk)},
                    {"stages", std::move(stages)}};
}

JsonValue time_json(const Estimate& e) {
  return JsonObject{{"step_seconds", e.time.total().value()},
                    {"interval_seconds", JsonArray{e.step_seconds.low, e.step_seconds.high}},
                    {"by_cause", causes_json(e.time)}};
}

JsonValue throughput_json(const Estimate& e) {
  const costmodel::Throughput& t = e.throughput;
  return JsonObject{{"tokens_per_second", t.tokens_per_second},
                    {"tokens_per_second_per_gpu", t.tokens_per_second_per_gpu},
                    {"model_tflops_per_gpu", t.model_tflops_per_gpu},
                    {"mfu", t.mfu},
                    {"hfu", t.hfu},
                    {"mfu_full_attention", t.mfu_full_attention},
                    {"convention", kUtilisationConvention}};
}

JsonValue formula_json(std::string_view anchor) {
  const report::FormulaNote note = report::find_formula(anchor);
  return JsonObject{
      {"anchor", anchor}, {"title", note.title}, {"function", note.function}, {"source", note.source}};
}

JsonValue explanation_json(const Explanation& explanation) {
  JsonArray tensors, operations;
  for (const auto& entry : explanation.tensors) {
    tensors.push_back(JsonObject{{"name", entry.name},
                                 {"kind", costmodel::key_of(entry.kind)},
                                 {"bytes", whole_bytes(entry.size())},
                                 {"elements", entry.elements},
                                 {"count", entry.count},
                                 {"formula", formula_json(entry.formula)}});
  }
  for (const auto& [operation, runs, once, per_step] : explanation.operations) {
    operations.push_back(JsonObject{{"name", operation.name},
                                    {"seconds_per_step", per_step.value()},
                                    {"seconds_once", once.value()},
                                    {"runs", runs},
                                    {"flops", operation.flops.value()},
                                    {"formula", formula_json(operation.formula)}});
  }
  return JsonObject{{"stage", explanation.stage},
                    {"instant", costmodel::name_of(explanation.instant)},
                    {"tensors", std::move(tensors)},
                    {"operations", std::move(operations)}};
}

JsonValue allocator_json(const AllocatorReport& allocator) {
  JsonArray stages;
  for (const auto& [stage, asked, expandable] : allocator.stages) {
    stages.push_back(
        JsonObject{{"stage", stage},
                   {"allocated_bytes", whole_bytes(asked.use.peak_allocated)},
                   {"reserved_bytes", whole_bytes(asked.use.peak_reserved)},
                   {"largest_free_bytes", whole_bytes(asked.use.largest_free)},
                   {"segments", asked.use.segments},
                   {"retries", asked.use.retries},
                   {"ran_out", asked.ran_out},
                   {"expandable_reserved_bytes", whole_bytes(expandable.value_or(asked).use.peak_reserved)}});
  }
  return JsonObject{
      {"settings", allocator.words},
      {"not_simulated", allocator.not_simulated.empty() ? JsonValue{} : JsonValue{allocator.not_simulated}},
      {"steps", costmodel::program::kSimulatedSteps},
      {"stages", std::move(stages)}};
}

JsonValue calibration_json(const EstimateReport& report) {
  const costmodel::Calibration& c = report.question.calibration;
  const presets::FabricOrigin& f = report.question.fabric;
  return JsonObject{
      {"name", c.name},
      {"gpu", c.gpu},
      {"provenance", name_of_provenance(c.provenance)},
      {"source", c.source},
      {"date", c.date},
      {"inside_node", JsonObject{{"provenance", name_of_provenance(f.inside)}, {"source", f.inside_source}}},
      {"network", JsonObject{{"name", f.network},
                             {"provenance", name_of_provenance(f.network_provenance)},
                             {"source", f.network_source}}}};
}

}  // namespace

JsonValue published_json(const costmodel::Scenario& scenario) {
  const presets::Evidence evidence = presets::evidence_for(scenario, kNearestListed);
  JsonArray nearest, techniques;
  for (const presets::PublishedRun& run : evidence.nearest) {
    nearest.push_back(JsonObject{{"id", run.id},
                                 {"source", run.source},
                                 {"model", run.model},
                                 {"gpu", run.gpu},
                                 {"gpus", run.gpus},
                                 {"framework", run.framework},
                                 {"layout", run.layout},
                                 {"runs", run.runs},
                                 {"measured_seconds", run.measured.value()},
                                 {"predicted_seconds", run.predicted.value()},
                                 {"error", run.error()},
                                 {"tokens_per_second_per_gpu", run.tokens_per_second_per_gpu},
                                 {"predicted_tokens_per_second_per_gpu",
                                  run.tokens_per_second_per_gpu * (run.measured / run.predicted)},
                                 {"distance", run.distance}});
  }
  for (const auto& [row, on_gpu] : evidence.techniques) {
    techniques.push_back(JsonObject{{"technique", std::string{row.name}},
                                    {"runs", row.runs},
                                    {"configurations", row.configurations},
                                    {"sources", row.sources},
                                    {"runs_on_gpu", on_gpu}});
  }
  return JsonObject{{"nearest", std::move(nearest)},
                    {"techniques", std::move(techniques)},
                    {"runs_on_gpu", evidence.runs_on_gpu},
                    {"runs_with_framework", evidence.runs_with_framework}};
}

namespace {

/// `null` where none are taken.
JsonValue outer_step_json(const Question& question) {
  const auto outer = costmodel::outer_step(question.scenario, question.calibration);
  if (!outer) return {};
  return JsonObject{{"every_steps", question.scenario.recipe.outer.every},
                    {"replicas", question.scenario.layout.outer_replicas},
                    {"seconds", outer->total().value()},
                    {"message_seconds", outer->messages.value()},
                    {"update_seconds", outer->update.value()},
                    {"bytes_per_gpu", whole_bytes(outer->payload)}};
}

}  // namespace

JsonValue causes_json(const costmodel::StepTime& time) {
  JsonObject causes;
  for (const costmodel::TimeCause& cause : costmodel::kTimeCauses)
    causes.emplace_back(cause.key, (time.*cause.member).value());
  return causes;
}

JsonValue estimate_json(const EstimateReport& report) {
  const Estimate& e = report.estimate;
  JsonArray notes;
  for (const std::string& note : report.question.notes) notes.emplace_back(note);
  JsonObject object{
      {"schema", "hexaplan/estimate/1"}, {"fits", report.fits()}, {"rejection", verdict_json(report)}};
  object.emplace_back("safer_changes",
                      report.at_risk() ? JsonValue{changes_json(report.changes)} : JsonValue{});
  object.emplace_back("memory", report.priced() ? memory_json(e) : JsonValue{});
  object.emplace_back("time", report.priced() ? time_json(e) : JsonValue{});
  if (report.priced() && report.question.scenario.recipe.outer.taken())
    object.emplace_back("outer_step", outer_step_json(report.question));
  object.emplace_back("throughput", report.priced() ? throughput_json(e) : JsonValue{});
  object.emplace_back(
      "training", report.training ? training_json(report.question.scenario, *report.training) : JsonValue{});
  object.emplace_back("parameters", report.parameters);
  object.emplace_back("microbatches", e.microbatches);
  object.emplace_back("gpus", report.question.scenario.cluster.gpus);
  if (has_tiers(report.question.scenario.cluster))
    object.emplace_back("network", network_json(report.question));
  object.emplace_back("calibration", calibration_json(report));
  object.emplace_back("scenario", to_json(filled_request(report.question)));
  object.emplace_back("not_modelled", not_modelled_json(costmodel::not_modelled(report.question.scenario)));
  object.emplace_back("evidence", report.priced() ? published_json(report.question.scenario) : JsonValue{});
  object.emplace_back("notes", std::move(notes));
  if (report.allocator) object.emplace_back("allocator", allocator_json(*report.allocator));
  if (report.explanation) object.emplace_back("explanation", explanation_json(*report.explanation));
  return object;
}

}  // namespace hexaplan::cli
