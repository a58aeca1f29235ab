#include "cli/render/execution_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/render/estimate_rows.h"
#include "costmodel/units/format_units.h"
#include "validator/executor/report/run_summary.h"

namespace hexaplan::cli {

using costmodel::Bytes;
using costmodel::format_binary;
using costmodel::format_count;
using costmodel::format_duration;
using costmodel::Seconds;
using validator::ExecutionReport;
using validator::RankReport;

namespace {

using Rows = std::vector<std::vector<std::string>>;
constexpr std::size_t kStepsShown = 20;
constexpr std::size_t kOperationsShown = 8;

std::string heading(const ExecutionQuestion& question, const ExecutionReport& report,
                    const TextStyle& style) {
  const costmodel::Scenario& s = question.scenario;
  const std::string device = report.ranks.empty() ? question.device : report.ranks.front().device;
  return fmt::format("{}{} {} {} {} {} ranks ({}) {} {}\n", style.bold(s.model.name),
                     question.shrunk ? " (shrunk)" : "", style.dot(), presets::to_layout_text(s.layout),
                     style.dot(), s.layout.world_size(), question.ranks, style.dot(), device) +
         fmt::format("{} layers, hidden {}, sequence {} tokens, micro-batch {}, global batch {}\n",
                     s.model.layers, s.model.hidden, s.recipe.sequence, s.recipe.micro_batch,
                     s.recipe.global_batch) +
         (question.arithmetic.empty() ? "\n" : question.arithmetic + "\n\n");
}

std::vector<std::string> step_columns(bool experts) {
  if (!experts) return {"step", "loss", "gradient norm", "learning rate", "time"};
  return {"step", "cross entropy", "balance loss", "loss, both", "gradient norm", "learning rate", "time"};
}
std::string finite_text(double value, int digits) {
  if (std::isnan(value)) return "not a number";
  return std::isinf(value) ? "infinite" : fmt::format("{:.{}f}", value, digits);
}
std::vector<std::string> step_row(const validator::StepReport& step, bool experts) {
  std::vector<std::string> row{std::to_string(step.step)};
  if (experts) {
    row.push_back(finite_text(step.loss - step.balance_loss, 6));
    row.push_back(finite_text(step.balance_loss, 6));
  }
  row.insert(row.end(), {finite_text(step.loss, 6), finite_text(step.gradient_norm, 4),
                         fmt::format("{:.3g}", step.learning_rate),
                         format_duration(step.time) + (step.skipped    ? " (skipped: gradients overflowed)"
                                                       : step.warm_up  ? " (warm-up)"
                                                       : step.profiled ? " (profiled)"
                                                                       : "")});
  return row;
}

std::string steps_table(const ExecutionReport& report, bool experts, const TextStyle& style) {
  Rows rows{step_columns(experts)};
  const std::size_t count = report.steps.size();
  for (std::size_t i = 0; i < count; ++i) {
    if (count > kStepsShown && i >= kStepsShown / 2 && i + kStepsShown / 2 < count) {
      if (i == kStepsShown / 2) rows.emplace_back(rows.front().size()).front() = "…";
      continue;
    }
    rows.push_back(step_row(report.steps[i], experts));
  }
  const auto measured = std::count_if(report.steps.begin(), report.steps.end(),
                                      [](const auto& step) { return !step.warm_up && !step.profiled; });
  return style.bold("Steps") + "\n" + format_table(rows) +
         (measured > 1 ? fmt::format("median of {} measured steps: {}\n", measured,
                                     format_duration(validator::median_step_time(report.steps)))
                       : std::string{});
}

std::string phases_table(const ExecutionReport& report, const TextStyle& style) {
  Rows rows{{"phase", "mean over ranks", "slowest rank", "share"}};
  for (const validator::PhaseSummary& sum : validator::summarize_phases(report.ranks)) {
    rows.push_back({std::string{validator::name_of(sum.phase)}, format_duration(sum.mean),
                    format_duration(sum.slowest), costmodel::format_percent(sum.share)});
  }
  return fmt::format("\n{}\n", style.bold("Time by phase, all steps")) + format_table(rows);
}

std::string memory_table(const ExecutionReport& report, const TextStyle& style) {
  const auto largest = std::max_element(
      report.ranks.begin(), report.ranks.end(),
      [](const RankReport& a, const RankReport& b) { return a.memory.peak_bytes < b.memory.peak_bytes; });
  Rows rows{{"kind", "at the peak"}};
  const auto add = [&](std::string_view name, std::int64_t bytes) {
    if (bytes > 0) rows.push_back({std::string{name}, format_binary(Bytes{static_cast<double>(bytes)})});
  };
  for (const costmodel::MemoryKind& kind : costmodel::kMemoryKinds)
    add(kind.key, largest->memory.peak_by_kind[static_cast<std::size_t>(kind.kind)]);
  add("together", largest->memory.peak_bytes);
  add("in host memory", largest->offloaded.memory.peak_bytes);
  add("on disks", largest->offloaded.disk.peak_bytes);
  return fmt::format("\n{} (in the types of the ledger; rank {}, stage {})\n", style.bold("Memory"),
                     largest->rank, largest->stage) +
         format_table(rows);
}

std::string collectives_table(const ExecutionReport& report, const TextStyle& style) {
  const auto traffic = validator::summarize_traffic(report.ranks);
  if (traffic.empty()) return {};
  Rows rows{{"collective", "group", "messages", "bytes", "time"}};
  for (const validator::TrafficSummary& sum : traffic) {
    rows.push_back({std::string{validator::name_of(sum.kind)}, std::string{costmodel::name_of(sum.group)},
                    format_count(sum.busiest.messages), format_binary(sum.busiest.bytes),
                    format_duration(sum.busiest.time)});
  }
  return fmt::format("\n{} (busiest rank, all steps; bytes of the full tensor)\n",
                     style.bold("Collectives")) +
         format_table(rows, 2);
}

/// Calls of the device by kind, those of the rank that computes longest.
std::string compute_table(const ExecutionReport& report, const TextStyle& style) {
  const auto whole = [](const RankReport& rank) {
    Seconds sum;
    for (const validator::ComputeTime& kind : rank.compute) sum += kind.time;
    return sum;
  };
  const auto longest =
      std::max_element(report.ranks.begin(), report.ranks.end(),
                       [&](const RankReport& a, const RankReport& b) { return whole(a) < whole(b); });
  if (whole(*longest) <= Seconds{}) return {};
  Rows rows{{"kind", "calls", "time", "share"}};
  for (std::size_t i = 0; i < longest->compute.size(); ++i) {
    const validator::ComputeTime& kind = longest->compute[i];
    if (kind.calls == 0) continue;
    rows.push_back({std::string{validator::name_of(static_cast<validator::ComputeKind>(i))},
                    format_count(kind.calls), format_duration(kind.time),
                    costmodel::format_percent(kind.time / whole(*longest))});
  }
  return fmt::format("\n{} (rank {}, {} step{})\n", style.bold("Time by kind of operation"), longest->rank,
                     longest->timed_steps, longest->timed_steps == 1 ? "" : "s") +
         format_table(rows);
}

/// Matrix products and attention, which are timed one by one, the slowest first.
std::string operations_table(const ExecutionReport& report, const TextStyle& style) {
  const auto slowest = validator::summarize_operations(report.ranks);
  Rows rows{{"operation", "FLOPs", "time", "rate"}};
  for (std::size_t i = 0; i < std::min(slowest.size(), kOperationsShown); ++i) {
    const validator::OperationReport& sum = slowest[i];
    rows.push_back(
        {sum.name, costmodel::format_flops(sum.timed_flops), format_duration(sum.time),
         sum.time.value() > 0 ? costmodel::format_rate(sum.timed_flops / sum.time) : std::string{}});
  }
  return fmt::format("\n{} (all ranks and timed steps, forward and backward)\n",
                     style.bold("Matrix products and attention")) +
         format_table(rows);
}

}  // namespace

std::string execution_text(const ExecutionResult& result, const TextStyle& style) {
  if (result.rejected) {
    return fmt::format("{}: {} (rule {})\n", style.bad("Cannot run"), result.rejected->reason,
                       result.rejected->rule) +
           (result.rejected->advice.empty() ? "" : fmt::format("  {}\n", result.rejected->advice));
  }
  const ExecutionReport& report = result.report;
  std::string text = heading(result.question, report, style);
  if (!report.steps.empty()) text += steps_table(report, result.question.scenario.model.is_moe(), style);
  if (report.ranks.empty()) return text;
  return text + phases_table(report, style) + compute_table(report, style) + operations_table(report, style) +
         memory_table(report, style) + collectives_table(report, style);
}

std::string fault_text(const ExecutionResult& result, const std::string& report_file) {
  const validator::Fault& fault = *result.report.fault;
  std::string text = fmt::format("hexaplan: {}\n", validator::RankFault{fault}.what());
  if (!result.advice.empty()) text += fmt::format("  {}\n", result.advice);
  for (const validator::LastCall& call : fault.last_calls) {
    if (fault.place && call.rank == fault.rank) continue;  // the first line says it
    const std::string what = !call.answered ? "does not answer"
                             : call.operation.empty()
                                 ? "has not communicated"
                                 : fmt::format("{} {}", call.inside ? "in" : "after", describe(call));
    text += fmt::format("  rank {}: {}\n", call.rank, what);
  }
  const std::size_t steps = result.report.steps.size();
  return text + fmt::format("  {} step{} done{}\n", steps, steps == 1 ? "" : "s",
                            report_file.empty() ? "" : "; kept in " + report_file);
}

namespace {

std::string_view option_of(validator::BackendRole role) {
  switch (role) {
    case validator::BackendRole::Device:
      return "--device";
    case validator::BackendRole::Ranks:
      return "--ranks";
    case validator::BackendRole::Library:
      return "used by a device";
  }
  return {};
}

}  // namespace

std::string backends_text(const std::vector<validator::BackendState>& backends, const TextStyle& style) {
  Rows rows{{"name", "option", "state", "what"}};
  std::string remedies;
  for (const validator::BackendState& state : backends) {
    rows.push_back({state.name, std::string{option_of(state.role)},
                    state.available ? style.good("ready") : style.bad("missing"),
                    fmt::format("{} ({})", state.what, state.detail)});
    if (!state.remedy.empty()) remedies += fmt::format("{}: {}\n", state.name, state.remedy);
  }
  return format_table(rows, 4) + (remedies.empty() ? "" : "\n" + remedies);
}

}  // namespace hexaplan::cli
