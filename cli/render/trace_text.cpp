#include "cli/render/trace_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "charts/table_text.h"
#include "cli/render/numbers.h"

namespace hexaplan::cli {

using charts::Cells;
using costmodel::format_count;
using costmodel::format_duration;
using costmodel::format_percent;
using costmodel::format_signed_percent;
using costmodel::Seconds;

namespace {

constexpr std::size_t kRowsShown = 8;
constexpr std::size_t kRanksInFull = 2;

std::string seconds(double value) {
  return value > 0 ? format_duration(Seconds{value}) : "-";
}

std::string trace_title(const ImportedTrace& imported, const TextStyle& style) {
  const presets::DeviceTrace& trace = imported.trace;
  std::string text = fmt::format("{}: {}", style.bold(trace.file), name_of(trace.profiler));
  if (!trace.part.empty()) text += ", " + trace.part;
  if (trace.rank) text += fmt::format(", rank {}", *trace.rank);
  if (trace.rank && trace.world_size) text += fmt::format(" of {}", *trace.world_size);
  if (!trace.device.empty()) text += ", " + trace.device;
  return text + fmt::format(", {} events, {}\n", format_count(static_cast<std::int64_t>(trace.events)),
                            imported.profile.steps == 0   ? "no steps marked"
                            : imported.profile.steps == 1 ? "1 step"
                                                          : fmt::format("{} steps", imported.profile.steps));
}

std::string step_lines(const ImportedTrace& imported) {
  const presets::TraceProfile& profile = imported.profile;
  std::string text;
  if (imported.steady) {
    text = fmt::format("  a step takes: {}", format_duration(imported.steady->median));
    if (imported.steady->used.size() > 1)
      text += fmt::format(" (median of {}, {} to {})", imported.steady->used.size(),
                          format_duration(imported.steady->low), format_duration(imported.steady->high));
    text += "\n";
  }
  const auto share = [&](double part) { return format_percent(profile.step > 0 ? part / profile.step : 0); };
  return text + fmt::format("  {} runs {} of it, {} nothing; messages alone {}, copies alone {}\n",
                            imported.trace.on_device ? "the device" : "something", share(profile.busy),
                            share(std::max(0.0, profile.idle())), share(profile.exposed_messages),
                            share(profile.exposed_copies));
}

std::string kinds_table(const ImportedTrace& imported) {
  const presets::TraceProfile& profile = imported.profile;
  Cells rows{{"  per step", "time", "share", imported.trace.on_device ? "kernels" : "operators"}};
  for (std::size_t i = 0; i < presets::kKernelKinds; ++i) {
    const presets::KindShare& kind = profile.kinds[i];
    if (kind.count <= 0) continue;
    rows.push_back({fmt::format("  {}", name_of(static_cast<presets::KernelKind>(i))), seconds(kind.seconds),
                    format_percent(profile.step > 0 ? kind.seconds / profile.step : 0),
                    fmt::format("{:.0f}", kind.count)});
  }
  return format_table(rows);
}

std::string messages_table(const presets::TraceProfile& profile) {
  if (profile.messages.empty()) return {};
  Cells rows{{"  messages", "ranks", "size", "per step", "time", "one takes", "bus bandwidth"}};
  for (std::size_t i = 0; i < std::min(profile.messages.size(), kRowsShown); ++i) {
    const presets::MessageShare& share = profile.messages[i];
    const bool sized = share.message.bytes > 0;
    rows.push_back({fmt::format("  {} {}", share.message.kind, share.message.group),
                    share.message.ranks > 0 ? fmt::format("{}", share.message.ranks) : "-",
                    sized ? costmodel::format_binary(costmodel::Bytes{share.message.bytes}) : "-",
                    fmt::format("{:.3g}", share.count), seconds(share.seconds), seconds(share.median),
                    share.bus_bandwidth > 0
                        ? costmodel::format_rate(costmodel::BytesPerSecond{share.bus_bandwidth})
                        : "-"});
  }
  return format_table(rows);
}

std::string gemms_table(const presets::TraceProfile& profile) {
  if (profile.gemms.empty()) return {};
  Cells rows{{"  products m x n x k", "per step", "time", "one takes", "rate"}};
  for (std::size_t i = 0; i < std::min(profile.gemms.size(), kRowsShown); ++i) {
    const presets::GemmShare& share = profile.gemms[i];
    const presets::TraceGemm& gemm = share.gemm;
    rows.push_back({fmt::format("  {}{} x {} x {}", gemm.batch > 1 ? fmt::format("{} of ", gemm.batch) : "",
                                gemm.m, gemm.n, gemm.k),
                    fmt::format("{:.3g}", share.count), seconds(share.seconds), seconds(share.median),
                    costmodel::format_rate(costmodel::FlopsPerSecond{share.rate})});
  }
  return format_table(rows);
}

std::string rate_cell(const validator::ComparedOperation& operation, double spent, double runs) {
  if (operation.flops <= 0 || spent <= 0 || runs <= 0) return "";
  return costmodel::format_rate(costmodel::FlopsPerSecond{operation.flops * runs / spent});
}

std::string work_tables(const ImportedTrace& imported) {
  const validator::ComparedWork& work = *imported.work;
  Cells rows{{"  beside the prediction", "predicted", "measured", "error"}};
  if (imported.step)
    rows.push_back({"  step", seconds(imported.step->predicted), seconds(imported.step->measured),
                    format_signed_percent(imported.step->error())});
  for (std::size_t i = 0; i < costmodel::kWorkKinds; ++i) {
    if (work.predicted[i] <= 0 && work.measured[i] <= 0) continue;
    rows.push_back(
        {fmt::format("  {}, stage {}", name_of(static_cast<costmodel::WorkKind>(i)), imported.stage),
         seconds(work.predicted[i]), seconds(work.measured[i]),
         work.measured[i] > 0 ? format_signed_percent(work.predicted[i] / work.measured[i] - 1) : ""});
  }
  std::string text = format_table(rows);
  Cells operations{
      {"  where the step loses time", "", "predicted", "measured", "lost", "rate", "calibrated"}};
  for (std::size_t i = 0; i < std::min(work.operations.size(), kRowsShown); ++i) {
    const validator::ComparedOperation& op = work.operations[i];
    operations.push_back(
        {"  " + op.shape, op.name.empty() ? "not in the prediction" : op.name, seconds(op.predicted),
         op.measured_runs > 0 ? seconds(op.measured) : "not in the trace",
         seconds(op.measured_runs > 0 ? op.measured - op.predicted : 0),
         rate_cell(op, op.measured, op.measured_runs), rate_cell(op, op.predicted, op.predicted_runs)});
  }
  if (operations.size() > 1) text += format_table(operations, 2);
  return text + fmt::format("  {} of the time of products and messages of known size is matched\n",
                            format_percent(work.matched));
}

std::string rank_text(const ImportedTrace& imported, const TextStyle& style) {
  std::string text = trace_title(imported, style) + step_lines(imported) + kinds_table(imported) +
                     messages_table(imported.profile) + gemms_table(imported.profile);
  if (imported.work) text += work_tables(imported);
  for (const std::string& note : imported.notes) text += fmt::format("  {}\n", style.dim(note));
  return text;
}

std::string rank_name(const presets::DeviceTrace& trace) {
  if (trace.rank) return fmt::format("{}", *trace.rank);
  return trace.part.empty() ? trace.file : trace.part;
}

std::string ranks_table(const std::vector<ImportedTrace>& traces) {
  Cells rows{{"rank", "step", "device runs", "nothing runs", "messages alone"}};
  for (const ImportedTrace& imported : traces) {
    const presets::TraceProfile& profile = imported.profile;
    rows.push_back({rank_name(imported.trace), seconds(profile.step), seconds(profile.busy),
                    seconds(profile.idle()), seconds(profile.exposed_messages)});
  }
  return format_table(rows) + "\n";
}

double computing(const ImportedTrace& imported) {
  return imported.profile.busy - imported.profile.exposed_messages;
}

presets::JsonArray messages_json(const presets::TraceProfile& profile) {
  presets::JsonArray rows;
  for (const presets::MessageShare& share : profile.messages)
    rows.push_back(presets::JsonObject{{"kind", share.message.kind},
                                       {"group", share.message.group},
                                       {"ranks", share.message.ranks},
                                       {"bytes", share.message.bytes},
                                       {"count", share.count},
                                       {"seconds", share.seconds},
                                       {"median_seconds", share.median},
                                       {"bus_bandwidth", share.bus_bandwidth}});
  return rows;
}

presets::JsonArray gemms_json(const presets::TraceProfile& profile) {
  presets::JsonArray rows;
  for (const presets::GemmShare& share : profile.gemms)
    rows.push_back(presets::JsonObject{{"m", share.gemm.m},
                                       {"n", share.gemm.n},
                                       {"k", share.gemm.k},
                                       {"batch", share.gemm.batch},
                                       {"type", share.gemm.type},
                                       {"count", share.count},
                                       {"seconds", share.seconds},
                                       {"median_seconds", share.median},
                                       {"flops_per_second", share.rate}});
  return rows;
}

presets::JsonValue work_json(const validator::ComparedWork& work) {
  presets::JsonObject kinds;
  for (std::size_t i = 0; i < costmodel::kWorkKinds; ++i)
    kinds.emplace_back(std::string{name_of(static_cast<costmodel::WorkKind>(i))},
                       presets::JsonObject{{"predicted", work.predicted[i]}, {"measured", work.measured[i]}});
  presets::JsonArray operations;
  for (const validator::ComparedOperation& op : work.operations)
    operations.push_back(presets::JsonObject{{"shape", op.shape},
                                             {"operations", op.name},
                                             {"predicted", op.predicted},
                                             {"measured", op.measured},
                                             {"predicted_runs", op.predicted_runs},
                                             {"measured_runs", op.measured_runs}});
  return presets::JsonObject{
      {"kinds", std::move(kinds)}, {"matched", work.matched}, {"operations", std::move(operations)}};
}

presets::JsonValue trace_json(const ImportedTrace& imported) {
  const presets::DeviceTrace& trace = imported.trace;
  const presets::TraceProfile& profile = imported.profile;
  presets::JsonObject kinds;
  for (std::size_t i = 0; i < presets::kKernelKinds; ++i)
    kinds.emplace_back(
        std::string{name_of(static_cast<presets::KernelKind>(i))},
        presets::JsonObject{{"seconds", profile.kinds[i].seconds}, {"count", profile.kinds[i].count}});
  presets::JsonArray notes;
  for (const std::string& note : imported.notes) notes.emplace_back(note);
  const auto number = [](const std::optional<std::int64_t>& value) {
    return value ? presets::JsonValue{*value} : presets::JsonValue{};
  };
  return presets::JsonObject{
      {"file", trace.file},
      {"profiler", std::string{name_of(trace.profiler)}},
      {"part", trace.part},
      {"rank", number(trace.rank)},
      {"world_size", number(trace.world_size)},
      {"device", trace.device},
      {"on_device", trace.on_device},
      {"cut_off", trace.cut_off},
      {"events", static_cast<std::int64_t>(trace.events)},
      {"steps", static_cast<std::int64_t>(profile.steps)},
      {"median_step_seconds",
       imported.steady ? presets::JsonValue{imported.steady->median.value()} : presets::JsonValue{}},
      {"step_seconds", profile.step},
      {"busy_seconds", profile.busy},
      {"exposed_message_seconds", profile.exposed_messages},
      {"exposed_copy_seconds", profile.exposed_copies},
      {"kinds", std::move(kinds)},
      {"messages", messages_json(profile)},
      {"products", gemms_json(profile)},
      {"work", imported.work ? work_json(*imported.work) : presets::JsonValue{}},
      {"notes", std::move(notes)}};
}

}  // namespace

std::string traces_text(const std::vector<ImportedTrace>& traces, const TextStyle& style) {
  if (traces.empty()) return {};
  if (traces.size() == 1) return rank_text(traces.front(), style);
  std::string text = ranks_table(traces);
  if (traces.size() <= kRanksInFull) {
    for (const ImportedTrace& imported : traces) text += rank_text(imported, style) + "\n";
    text.pop_back();
    return text;
  }
  const auto longest = std::max_element(
      traces.begin(), traces.end(), [](const auto& a, const auto& b) { return computing(a) < computing(b); });
  return text + rank_text(*longest, style);
}

presets::JsonArray traces_json(const std::vector<ImportedTrace>& traces) {
  presets::JsonArray rows;
  for (const ImportedTrace& imported : traces) rows.push_back(trace_json(imported));
  return rows;
}

}  // namespace hexaplan::cli
