#include <algorithm>
#include <utility>

#include "cli/render/measure_text.h"
#include "cli/render/snapshot_text.h"
#include "cli/render/trace_text.h"
#include "costmodel/communication/bus_share.h"
#include "presets/calibration/fabric/collective_names.h"
#include "presets/json/spec_names.h"

namespace hexaplan::cli {

using presets::JsonArray;
using presets::JsonObject;
using presets::JsonValue;

namespace {

JsonValue or_null(const std::optional<std::int64_t>& value) {
  return value ? JsonValue{*value} : JsonValue{};
}
JsonValue bytes_or_null(costmodel::Bytes bytes) {
  return bytes.value() > 0 ? JsonValue{costmodel::whole(bytes)} : JsonValue{};
}

/// By StepUnit: what `seconds` are of.
constexpr const char* kUnits[] = {"step", "token per GPU", "sequence"};

JsonArray logged_lines_json(const ImportedRun& run, const std::vector<std::size_t>& which) {
  JsonArray lines;
  for (const std::size_t i : which)
    lines.push_back(JsonObject{{"line", static_cast<std::int64_t>(run.log.steps[run.logged[i]].line)},
                               {"iteration", run.timed[i].iteration},
                               {"seconds", run.timed[i].time.value()}});
  return lines;
}

JsonValue steady_json(const ImportedRun& run) {
  const auto& steady = run.steady;
  return JsonObject{{"unit", kUnits[static_cast<std::size_t>(run.unit)]},
                    {"seconds", steady.median.value()},
                    {"low", steady.low.value()},
                    {"high", steady.high.value()},
                    {"spread", steady.spread},
                    {"drift", steady.drift},
                    {"lines", static_cast<std::int64_t>(run.timed.size())},
                    {"used", static_cast<std::int64_t>(steady.used.size())},
                    {"warm_up", logged_lines_json(run, steady.warm_up)},
                    {"disturbed", logged_lines_json(run, steady.disturbed)}};
}

JsonArray peaks_json(const ImportedRun& run) {
  JsonArray peaks;
  for (const auto& peak : run.log.peaks)
    peaks.push_back(JsonObject{{"rank", or_null(peak.rank)},
                               {"allocated_bytes", bytes_or_null(peak.allocated)},
                               {"reserved_bytes", bytes_or_null(peak.reserved)}});
  return peaks;
}

JsonArray timers_json(const ImportedRun& run) {
  JsonArray timers;
  for (const auto& phase : run.log.phases) {
    std::vector<costmodel::Seconds> times = phase.times;
    std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2),
                     times.end());
    timers.push_back(JsonObject{{"name", phase.name}, {"seconds", times[times.size() / 2].value()}});
  }
  return timers;
}

JsonValue compared_json(const ImportedRun& run) {
  JsonArray memory;
  for (const ComparedPeak& peak : run.peaks)
    memory.push_back(JsonObject{{"kind", peak.reserved ? "reserved" : "allocated"},
                                {"rank", or_null(peak.rank)},
                                {"stage", peak.stage},
                                {"predicted", peak.predicted.value()},
                                {"measured", peak.measured.value()},
                                {"error", peak.error()}});
  JsonValue step;
  if (run.step)
    step = JsonObject{{"predicted", run.step->predicted},
                      {"measured", run.step->measured},
                      {"error", run.step->error()},
                      {"low", run.step->interval.low},
                      {"high", run.step->interval.high}};
  return JsonObject{{"step", std::move(step)}, {"memory", std::move(memory)}};
}

JsonValue run_json(const ImportedRun& run, bool compared) {
  JsonArray notes;
  for (const std::string& note : run.notes) notes.emplace_back(note);
  return JsonObject{{"file", run.log.file},
                    {"format", title_of(run.log.format)},
                    {"time", steady_json(run)},
                    {"peaks", peaks_json(run)},
                    {"timers", timers_json(run)},
                    {"said", JsonObject{{"processes", or_null(run.log.world_size)},
                                        {"global_batch", or_null(run.log.global_batch)},
                                        {"sequence", or_null(run.log.sequence)}}},
                    {"compared", compared ? compared_json(run) : JsonValue{}},
                    {"notes", std::move(notes)}};
}

JsonValue links_json(const ImportedLinks& links) {
  const presets::NcclTest& test = links.test;
  JsonArray sizes, notes;
  for (const ImportedLinks::Size& size : links.sizes) {
    const double bus = costmodel::bus_share(test.kind, test.ranks) * (size.payload / size.measured).value();
    sizes.push_back(
        JsonObject{{"bytes", costmodel::whole(size.payload)},
                   {"measured", size.measured.value()},
                   {"bus_bandwidth", bus},
                   {"predicted", size.predicted ? JsonValue{size.predicted->value()} : JsonValue{}},
                   {"error", size.predicted ? JsonValue{size.error()} : JsonValue{}}});
  }
  for (const std::string& note : links.notes) notes.emplace_back(note);
  return JsonObject{
      {"file", links.file},        {"collective", presets::name_in(presets::kCollectiveNames, test.kind)},
      {"ranks", test.ranks},       {"hosts", test.nodes},
      {"device", test.device},     {"nccl", test.version},
      {"sizes", std::move(sizes)}, {"notes", std::move(notes)}};
}

JsonValue gpu_log_json(const ImportedGpuLog& imported) {
  const auto number = [](const std::optional<double>& value) {
    return value ? JsonValue{*value} : JsonValue{};
  };
  const auto bytes = [](const std::optional<costmodel::Bytes>& value) {
    return value ? JsonValue{costmodel::whole(*value)} : JsonValue{};
  };
  JsonArray gpus;
  for (const presets::LoggedGpu& gpu : imported.log.gpus)
    gpus.push_back(JsonObject{{"gpu", gpu.gpu},
                              {"name", gpu.name},
                              {"samples", static_cast<std::int64_t>(gpu.samples)},
                              {"busy_samples", static_cast<std::int64_t>(gpu.busy)},
                              {"memory_bytes", bytes(gpu.memory)},
                              {"capacity_bytes", bytes(gpu.capacity)},
                              {"utilisation_percent", number(gpu.utilisation)},
                              {"watts", number(gpu.watts)},
                              {"sm_mhz", number(gpu.sm_mhz)},
                              {"most_sm_mhz", number(gpu.most_sm_mhz)},
                              {"celsius", number(gpu.celsius)}});
  JsonValue compared;
  if (imported.memory)
    compared = JsonObject{{"predicted", costmodel::whole(imported.memory->predicted)},
                          {"measured", costmodel::whole(imported.memory->measured)},
                          {"error", imported.memory->error()}};
  return JsonObject{{"file", imported.log.file}, {"gpus", std::move(gpus)}, {"memory", std::move(compared)}};
}

}  // namespace

JsonValue measure_json(const MeasureReport& report) {
  JsonArray runs;
  for (const ImportedRun& run : report.runs) runs.push_back(run_json(run, report.priced()));
  JsonArray gpu_logs;
  for (const ImportedGpuLog& log : report.gpu_logs) gpu_logs.push_back(gpu_log_json(log));
  JsonArray links;
  for (const ImportedLinks& table : report.links) links.push_back(links_json(table));
  JsonValue rejection;
  if (report.estimate && !report.priced()) {
    const auto& rejected = std::get<costmodel::Rejected>(report.estimate->verdict);
    rejection = JsonObject{{"rule", rejected.rule}, {"reason", rejected.reason}, {"advice", rejected.advice}};
  }
  return JsonObject{{"schema", "hexaplan/measure/1"},
                    {"scenario", report.question ? to_json(report.question->request) : JsonValue{}},
                    {"rejection", std::move(rejection)},
                    {"runs", std::move(runs)},
                    {"traces", traces_json(report.traces)},
                    {"snapshots", snapshots_json(report.snapshots)},
                    {"gpu_logs", std::move(gpu_logs)},
                    {"links", std::move(links)}};
}

}  // namespace hexaplan::cli
