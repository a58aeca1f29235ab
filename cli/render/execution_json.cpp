#include "cli/render/execution_json.h"

#include <utility>

#include "cli/render/estimate_rows.h"
#include "cli/version.h"

namespace hexaplan::cli {

using presets::JsonArray;
using presets::JsonObject;
using presets::JsonValue;
using validator::ExecutionReport;
using validator::RankReport;

namespace {

constexpr const char* kSchema = "hexaplan/run/1";
constexpr std::size_t kMostSamples = 2000;

/// JSON key of a name for people: "gradient reduction" -> "gradient_reduction".
std::string key_of(std::string_view name) {
  std::string key{name};
  for (char& c : key) {
    if (c == ' ' || c == '-' || c == '/') c = '_';
  }
  return key;
}

std::string_view name_of_pass(costmodel::Pass pass) {
  constexpr std::string_view kNames[] = {"forward", "backward_data", "backward_weight", "step"};
  return kNames[static_cast<std::size_t>(pass)];
}

JsonValue by_kind(const validator::BytesByKind& bytes) {
  JsonObject kinds;
  for (const costmodel::MemoryKind& row : costmodel::kMemoryKinds)
    kinds.emplace_back(row.key, bytes[static_cast<std::size_t>(row.kind)]);
  return kinds;
}

JsonValue memory_json(const validator::MemoryReport& memory) {
  JsonArray tensors, timeline;
  for (const validator::PeakTensor& tensor : memory.peak_tensors) {
    tensors.push_back(
        JsonObject{{"name", tensor.name}, {"kind", costmodel::key_of(tensor.kind)}, {"bytes", tensor.bytes}});
  }
  for (const validator::MemorySample& sample : thinned(memory.timeline, kMostSamples))
    timeline.push_back(JsonObject{{"seconds", sample.seconds}, {"bytes", by_kind(sample.live)}});
  JsonObject object{{"peak_bytes", memory.peak_bytes},
                    {"peak_bytes_by_kind", by_kind(memory.peak_by_kind)},
                    {"tensors_at_peak", std::move(tensors)}};
  if (!memory.timeline.empty()) object.emplace_back("timeline", std::move(timeline));
  return object;
}

JsonObject phases_json(const validator::PhaseTimes& times) {
  JsonObject phases;
  for (int i = 0; i < validator::kPhases; ++i) {
    phases.emplace_back(key_of(validator::name_of(static_cast<validator::Phase>(i))),
                        times[static_cast<std::size_t>(i)].value());
  }
  return phases;
}

/// Phases that a layer does not have are left out: most have two or three.
JsonArray layers_json(const validator::LayerTimes& layers) {
  JsonArray rows;
  for (const auto& [layer, times] : layers) {
    JsonObject row{{"layer", layer}};
    for (auto& [phase, seconds] : phases_json(times)) {
      if (*seconds.get_if<double>() > 0) row.emplace_back(phase, seconds);
    }
    rows.emplace_back(std::move(row));
  }
  return rows;
}

JsonObject compute_json(const RankReport& rank) {
  JsonObject kinds;
  for (int i = 0; i < validator::kComputeKinds; ++i) {
    const validator::ComputeTime& sum = rank.compute[static_cast<std::size_t>(i)];
    if (sum.calls == 0) continue;
    kinds.emplace_back(key_of(validator::name_of(static_cast<validator::ComputeKind>(i))),
                       JsonObject{{"calls", sum.calls}, {"seconds", sum.time.value()}});
  }
  return {{"steps", rank.timed_steps}, {"by_kind", std::move(kinds)}};
}

/// What was offloaded, and what crossed the link between device and host.
JsonValue offloaded_json(const validator::HostReport& host) {
  JsonArray copies;
  for (const validator::CopyReport& row : host.copies) {
    copies.push_back(JsonObject{{"operation", row.operation},
                                {"pass", name_of_pass(row.pass)},
                                {"copies", row.copies},
                                {"bytes", costmodel::whole(row.bytes)}});
  }
  JsonObject object{{"memory", memory_json(host.memory)}};
  if (host.disk.peak_bytes > 0) object.emplace_back("disk", memory_json(host.disk));
  object.emplace_back("copies", std::move(copies));
  return object;
}

JsonValue rank_json(const RankReport& rank) {
  JsonArray traffic, operations, steps;
  for (const costmodel::Seconds time : rank.step_times) steps.emplace_back(time.value());
  for (const validator::TrafficReport& row : rank.traffic) {
    traffic.push_back(JsonObject{{"operation", row.operation},
                                 {"pass", name_of_pass(row.pass)},
                                 {"collective", key_of(validator::name_of(row.kind))},
                                 {"group", key_of(costmodel::name_of(row.group))},
                                 {"messages", row.count.messages},
                                 {"bytes", costmodel::whole(row.count.bytes)},
                                 {"seconds", row.count.time.value()}});
  }
  for (const validator::OperationReport& row : rank.operations) {
    operations.push_back(JsonObject{{"operation", row.name},
                                    {"pass", name_of_pass(row.pass)},
                                    {"flops", row.flops.value()},
                                    {"timed_flops", row.timed_flops.value()},
                                    {"seconds", row.time.value()}});
  }
  JsonObject object{{"rank", rank.rank},
                    {"stage", rank.stage},
                    {"host", rank.host},
                    {"process", rank.process},
                    {"device", rank.device},
                    {"step_seconds", std::move(steps)},
                    {"phase_seconds", phases_json(rank.phases)},
                    {"layer_seconds", layers_json(rank.layers)},
                    {"compute", compute_json(rank)},
                    {"device_facts", facts_json(rank.facts)},
                    {"memory", memory_json(rank.memory)},
                    {"collectives", std::move(traffic)},
                    {"operations", std::move(operations)}};
  if (rank.offloaded.is_used()) object.emplace_back("offloaded", offloaded_json(rank.offloaded));
  return object;
}

/// Sizes as executed; the scenario holds them as asked for.
JsonValue model_json(const costmodel::ModelSpec& m) {
  return JsonObject{{"name", m.name},
                    {"layers", m.layers},
                    {"hidden", m.hidden},
                    {"heads", m.attention.heads},
                    {"kv_heads", m.attention.kv_heads},
                    {"head_dim", m.attention.head_dim},
                    {"ffn", m.mlp.ffn},
                    {"vocab", m.vocab},
                    {"experts", m.moe.experts}};
}

JsonValue fault_json(const ExecutionReport& report) {
  if (!report.fault) return {};
  const validator::Fault& fault = *report.fault;
  JsonArray calls;
  for (const validator::LastCall& call : fault.last_calls) {
    calls.push_back(JsonObject{{"rank", call.rank},
                               {"answered", call.answered},
                               {"operation", call.operation},
                               {"call", call.what},
                               {"layer", call.layer},
                               {"microbatch", call.microbatch},
                               {"waits", call.inside}});
  }
  return JsonObject{{"cause", name_of(fault.cause)},
                    {"rank", fault.rank},
                    {"operation", fault.place ? fault.place->operation : fault.call.operation},
                    {"layer", fault.place ? fault.place->layer : fault.call.layer},
                    {"reason", validator::RankFault{fault}.what()},
                    {"last_calls", std::move(calls)}};
}

}  // namespace

JsonValue facts_json(const std::vector<validator::DeviceFact>& facts) {
  JsonArray rows;
  for (const validator::DeviceFact& fact : facts) {
    JsonObject row{{"name", fact.name}};
    if (fact.unit.empty()) {
      row.emplace_back("text", fact.text);
    } else {
      row.emplace_back("value", fact.value);
      row.emplace_back("unit", fact.unit);
    }
    rows.emplace_back(std::move(row));
  }
  return rows;
}

JsonValue execution_json(const ExecutionQuestion& question, const ExecutionReport& report) {
  JsonArray steps, ranks, notes;
  for (const validator::StepReport& step : report.steps) {
    steps.push_back(JsonObject{{"step", step.step},
                               {"loss", step.loss},
                               {"cross_entropy", step.loss - step.balance_loss},
                               {"balance_loss", step.balance_loss},
                               {"gradient_norm", step.gradient_norm},
                               {"learning_rate", step.learning_rate},
                               {"seconds", step.time.value()},
                               {"loss_scale", step.loss_scale},
                               {"skipped", step.skipped},
                               {"warm_up", step.warm_up},
                               {"profiled", step.profiled}});
  }
  for (const RankReport& rank : report.ranks) ranks.push_back(rank_json(rank));
  for (const std::string& note : question.notes) notes.emplace_back(note);
  presets::ScenarioRequest filled = question.request;
  filled.layout = {question.scenario.layout, true};
  filled.recipe = question.scenario.recipe;
  filled.framework = question.scenario.framework.name;
  return JsonObject{
      {"schema", kSchema},
      {"complete", report.complete},
      {"fault", fault_json(report)},
      {"version", version_text()},
      {"device", question.device},
      {"dtype", question.dtype},
      {"arithmetic", question.arithmetic.empty() ? JsonValue{} : JsonValue{question.arithmetic}},
      {"ranks_are", question.ranks},
      {"seed", static_cast<std::int64_t>(question.seed)},
      {"first_step", question.first_step},
      {"shrunk", question.shrunk},
      {"model", model_json(question.scenario.model)},
      {"median_step_seconds", validator::median_step_time(report.steps).value()},
      {"steps", std::move(steps)},
      {"ranks", std::move(ranks)},
      {"scenario", to_json(filled)},
      {"notes", std::move(notes)}};
}

JsonValue rejection_json(const ExecutionResult& result) {
  const costmodel::Rejected& rejected = *result.rejected;
  return JsonObject{
      {"schema", kSchema},
      {"complete", false},
      {"rejection",
       JsonObject{{"rule", rejected.rule}, {"reason", rejected.reason}, {"advice", rejected.advice}}}};
}

namespace {

const char* role_name(validator::BackendRole role) {
  switch (role) {
    case validator::BackendRole::Device:
      return "device";
    case validator::BackendRole::Ranks:
      return "ranks";
    case validator::BackendRole::Library:
      return "library";
  }
  return "";
}

}  // namespace

JsonValue backends_json(const std::vector<validator::BackendState>& backends) {
  JsonArray rows;
  for (const validator::BackendState& state : backends) {
    rows.push_back(JsonObject{{"name", state.name},
                              {"role", role_name(state.role)},
                              {"what", state.what},
                              {"available", state.available},
                              {"detail", state.detail},
                              {"remedy", state.remedy}});
  }
  return JsonObject{{"schema", "hexaplan/backends/1"}, {"backends", std::move(rows)}};
}

}  // namespace hexaplan::cli
