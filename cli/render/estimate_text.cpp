#include "cli/render/estimate_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "cli/render/changes.h"
#include "cli/render/estimate_rows.h"
#include "cli/render/heading.h"
#include "cli/render/network_text.h"
#include "cli/render/not_modelled.h"
#include "cli/render/numbers.h"
#include "cli/render/training.h"
#include "costmodel/step/outer_operations.h"
#include "presets/published/published_runs.h"
#include "report/formula_index.h"

namespace hexaplan::cli {

using costmodel::Bytes;
using costmodel::Estimate;
using costmodel::format_binary;
using costmodel::format_count;
using costmodel::format_duration;
using costmodel::format_percent;
using costmodel::format_short;
using costmodel::Seconds;
using costmodel::StageMemory;

namespace {

constexpr int kShareBarWidth = 24;
constexpr std::size_t kStagesInTable = 16;

std::string fits_lines(const EstimateReport& report, const TextStyle& style) {
  const Estimate& e = report.estimate;
  const Bytes peak = e.peak().needed;
  const std::string line = fmt::format(
      "{}: {} of {} per GPU on stage {}, {} ({}) free; chance of running out {}\n",
      report.at_risk() ? style.warn("Fits, at risk") : style.good("Fits"), format_binary(peak),
      format_binary(e.capacity), e.peak_stage, format_binary(e.capacity - peak),
      format_percent((e.capacity - peak) / e.capacity), format_percent(e.out_of_memory_probability));
  return line + changes_lines(report.changes, "safer");
}

std::string does_not_fit_lines(const EstimateReport& report, const TextStyle& style) {
  const Estimate& e = report.estimate;
  const Bytes peak = e.peak().needed;
  std::string text = fmt::format("{}: {} needed on stage {}, {} ({}) more than the {} of one GPU\n",
                                 style.bad("Does not fit"), format_binary(peak), e.peak_stage,
                                 format_binary(peak - e.capacity),
                                 format_percent((peak - e.capacity) / e.capacity), format_binary(e.capacity));
  text += changes_lines(report.changes, "would fit");
  if (report.changes.empty())
    text += fmt::format(
        "  no change of recipe or layout, alone or with others, was found that makes it fit with a chance of "
        "running out of at most {}; use more or larger GPUs\n",
        format_percent(planner::kDefaultRisk));
  return text;
}

std::string verdict(const EstimateReport& report, const TextStyle& style) {
  if (report.fits()) return fits_lines(report, style);
  const auto& rejected = std::get<costmodel::Rejected>(report.estimate.verdict);
  if (!report.priced()) return rejected_lines(rejected, style);
  if (rejected.rule == "fits-in-memory") return does_not_fit_lines(report, style);
  return fmt::format("{}: {}\n  {}\n", style.bad("Does not fit"), rejected.reason, rejected.advice) +
         changes_lines(report.changes, "would fit");
}

/// Stages to show: all, or the first ones, the last and the one that binds.
std::vector<std::size_t> shown_stages(const Estimate& e) {
  std::vector<std::size_t> shown;
  for (std::size_t i = 0; i < e.stages.size(); ++i) {
    const bool ends = i + 3 < kStagesInTable || i + 1 == e.stages.size();
    if (e.stages.size() <= kStagesInTable || ends || static_cast<int>(i) == e.peak_stage) shown.push_back(i);
  }
  return shown;
}

/// By TensorKind, as narrow as columns must be.
constexpr std::array<std::string_view, costmodel::kTensorKinds> kKindColumns{
    "param", "grad", "optim", "activ", "logits", "trans", "comm", "other", "cached"};

std::string memory_by_stage(const Estimate& e, const TextStyle& style) {
  std::vector<std::vector<std::string>> rows{{"stage"}};
  for (const std::string_view column : kKindColumns) rows[0].emplace_back(column);
  rows[0].insert(rows[0].end(), {"peak", fmt::format("of {}", gib_digits(e.capacity))});
  const auto shown = shown_stages(e);
  for (const std::size_t i : shown) {
    const StageMemory& stage = e.stages[i];
    std::vector<std::string> row{fmt::format("{}{}", stage.stage, stage.stage == e.peak_stage ? " *" : "")};
    const costmodel::MemoryBreakdown kinds = stage.on_device();
    for (const costmodel::MemoryKind& kind : costmodel::kMemoryKinds)
      row.push_back(gib_digits(kinds.of(kind.kind)));
    row.push_back(gib_digits(stage.device));
    row.push_back(style.bar(stage.device / e.capacity, kShareBarWidth));
    rows.push_back(std::move(row));
  }
  std::string text =
      fmt::format("\n{} (GiB, 2^30 bytes; * = where it peaks, {})\n", style.bold("Memory per GPU by stage"),
                  costmodel::name_of(e.peak().instant)) +
      fitted_table(std::move(rows), style, {.expendable = {"other", "comm", "trans", "logits"}});
  if (shown.size() < e.stages.size()) {
    text += fmt::format("({} more stages: --json has all)\n", e.stages.size() - shown.size());
  }
  return text;
}

/// Label, value, share and bar of each part of a whole that is not zero.
struct Part {
  std::string label;
  std::string value;
  double share = 0;
};
std::string bars(const std::vector<Part>& parts, const TextStyle& style) {
  std::vector<std::vector<std::string>> rows;
  for (const Part& part : parts) {
    if (part.share < 0.0005) continue;
    rows.push_back(
        {"  " + part.label, part.value, format_percent(part.share), style.bar(part.share, kShareBarWidth)});
  }
  return format_table(rows);
}

/// What the allocator gives back before memory runs out.
std::string runs_in(const StageMemory& stage) {
  if (stage.needed.value() > 0.995 * stage.device.value()) return "";
  return fmt::format("; runs in {}, the rest is cached", format_binary(stage.needed));
}

/// What "cached" means, where it is a part worth a word.
std::string cached_line(const StageMemory& stage, const costmodel::FrameworkProfile& framework) {
  if (stage.on_device().cached < stage.device * 0.05) return "";
  const bool flat = framework.flat_optimizer_buffers && stage.instant == costmodel::kOptimizer;
  return fmt::format("  cached: reserved by the caching allocator and not allocated{}\n",
                     flat ? "; the step's flat buffers do not fit into what freed activations left" : "");
}

std::string memory_by_kind(const Estimate& e, const costmodel::FrameworkProfile& framework,
                           const TextStyle& style) {
  std::vector<Part> parts;
  const StageMemory& stage = e.peak();
  const costmodel::MemoryBreakdown kinds = stage.on_device();
  for (const costmodel::MemoryKind& kind : costmodel::kMemoryKinds) {
    const Bytes bytes = kinds.of(kind.kind);
    parts.push_back({std::string{kind.key}, format_binary(bytes), bytes / stage.device});
  }
  return fmt::format("\n{}\n", style.bold(fmt::format("Memory of stage {} by kind", stage.stage))) +
         bars(parts, style) +
         fmt::format("  90 % interval {} {} {}; allocated {}, reserved {}{}\n",
                     format_binary(Bytes{e.memory_bytes.low}), style.dash(),
                     format_binary(Bytes{e.memory_bytes.high}), format_binary(stage.allocated),
                     format_binary(stage.reserved), runs_in(stage)) +
         cached_line(stage, framework);
}

std::string simulated_allocator(const EstimateReport& report, const TextStyle& style) {
  if (!report.allocator) return "";
  const AllocatorReport& allocator = *report.allocator;
  std::string text =
      fmt::format("\n{} ({}; {} steps)\n", style.bold("PyTorch's caching allocator, simulated"),
                  allocator.words, costmodel::program::kSimulatedSteps);
  if (!allocator.not_simulated.empty())
    return text + fmt::format("  not simulated: {}\n", allocator.not_simulated);
  std::vector<std::vector<std::string>> rows{{"  stage", "allocated", "reserved", "cached", "largest free",
                                              "retries", "expandable segments", "estimate"}};
  const auto reserved = [](const costmodel::program::SimulatedAllocator& run) {
    return run.ran_out ? std::string{"out of memory"} : format_binary(run.use.peak_reserved);
  };
  for (const std::size_t i : shown_stages(report.estimate)) {
    const auto& [stage, asked, expandable] = allocator.stages[i];
    const costmodel::AllocatorUse& use = asked.use;
    rows.push_back({fmt::format("  {}", stage), format_binary(use.peak_allocated), reserved(asked),
                    format_percent((use.peak_reserved - use.peak_allocated) / use.peak_reserved),
                    format_binary(use.largest_free), format_count(use.retries),
                    reserved(expandable.value_or(asked)), format_binary(report.estimate.stages[i].reserved)});
  }
  return text + format_table(rows) +
         "  reserved and cached at the peak; 'estimate': by the profile's factor, which counts above\n";
}

/// What offloaded tensors take of a node; nothing without any.
std::string host_memory(const EstimateReport& report) {
  struct Place {
    std::string_view name;
    Bytes needed, capacity;
  };
  const Estimate& e = report.estimate;
  const costmodel::ClusterSpec& cluster = report.question.scenario.cluster;
  std::string text;
  for (const Place& place : {Place{"host memory", e.host_memory, cluster.host.memory},
                             Place{"disks", e.disk, cluster.host.disk}}) {
    if (place.needed <= Bytes{}) continue;
    text += fmt::format(
        "  offloaded to the {} of a node of {} GPUs: {} of {}\n", place.name, cluster.gpus_per_node,
        format_binary(place.needed),
        place.capacity > Bytes{} ? format_binary(place.capacity) : std::string{"a size that is not known"});
  }
  return text;
}

std::string time_by_cause(const Estimate& e, const TextStyle& style) {
  std::vector<Part> parts;
  const Seconds total = e.time.total();
  for (const costmodel::TimeCause& cause : costmodel::kTimeCauses) {
    const Seconds seconds = e.time.*cause.member;
    parts.push_back({std::string{cause.name}, format_duration(seconds), seconds / total});
  }
  std::stable_sort(parts.begin(), parts.end(),
                   [](const Part& a, const Part& b) { return b.share < a.share; });
  return fmt::format("\n{} {} (90 % interval {} {} {})\n", style.bold("Step time"), format_duration(total),
                     format_duration(Seconds{e.step_seconds.low}), style.dash(),
                     format_duration(Seconds{e.step_seconds.high})) +
         bars(parts, style);
}

/// What the step's mean spreads over many.
std::string outer_step_line(const Question& question) {
  const auto outer = costmodel::outer_step(question.scenario, question.calibration);
  if (!outer) return "";
  const costmodel::Layout& l = question.scenario.layout;
  const std::string messages =
      l.outer_replicas == 1
          ? ""
          : fmt::format("{} for the messages of {} replicas, {} per GPU; ", format_duration(outer->messages),
                        l.outer_replicas, format_binary(outer->payload));
  return fmt::format(
      "  outer step: {} every {} steps ({}{} for the update); the times above have a step's "
      "share of it\n",
      format_duration(outer->total()), question.scenario.recipe.outer.every, messages,
      format_duration(outer->update));
}

std::string throughput(const EstimateReport& report, const TextStyle& style) {
  const costmodel::Throughput& t = report.estimate.throughput;
  std::string text = fmt::format(
      "\n{} {} tokens/s per GPU, {} tokens/s in all, {:.1f} TFLOP/s per GPU\n"
      "  MFU {}, HFU {} ({});\n  MFU {} with attention counted in full\n",
      style.bold("Throughput"), format_count(static_cast<std::int64_t>(t.tokens_per_second_per_gpu)),
      format_count(static_cast<std::int64_t>(t.tokens_per_second)), t.model_tflops_per_gpu,
      format_percent(t.mfu), format_percent(t.hfu), kUtilisationConvention,
      format_percent(t.mfu_full_attention));
  return report.training ? text + training_text(report.question.scenario, *report.training, style) : text;
}

std::string calibration(const EstimateReport& report, const TextStyle& style) {
  const costmodel::Calibration& c = report.question.calibration;
  const presets::FabricOrigin& f = report.question.fabric;
  std::string text = fmt::format("{}\n  kernels: {} ({}), {}\n", style.bold("Calibration"), c.name,
                                 name_of_provenance(c.provenance), c.source);
  text += fmt::format("  inside the node: {}\n",
                      f.inside_source.empty()
                          ? "NCCL's model on datasheet figures (prior)"
                          : fmt::format("{}, {}", name_of_provenance(f.inside), f.inside_source));
  if (f.network.empty()) return text;
  return text + fmt::format("  network: {} ({}), {}\n", f.network, name_of_provenance(f.network_provenance),
                            f.network_source);
}

std::string published(const EstimateReport& report, const TextStyle& style) {
  const costmodel::Scenario& scenario = report.question.scenario;
  std::string text = fmt::format("{}\n", style.bold("Evidence"));
  for (const std::string& line : presets::evidence_lines(presets::evidence_for(scenario, 1), scenario))
    text += fmt::format("  {}\n", line);
  return text;
}

/// Formula, title and functions of an anchor; then its source on a line of its own.
std::string formula_lines(std::string_view anchor) {
  const report::FormulaNote note = report::find_formula(anchor);
  std::string text = fmt::format("      {} {}", anchor, note.title);
  if (!note.function.empty()) text += fmt::format(": {}", note.function);
  text += '\n';
  if (!note.source.empty()) text += fmt::format("      source: {}\n", note.source);
  return text;
}

/// Names every formula once, below the list that uses it.
class FormulaLegend {
 public:
  void add(std::string_view anchor) {
    if (!anchor.empty() && std::find(anchors_.begin(), anchors_.end(), anchor) == anchors_.end())
      anchors_.push_back(anchor);
  }
  [[nodiscard]] std::string text() const {
    std::string lines = "    formulas (docs/formulas.md)\n";
    for (const std::string_view anchor : anchors_) lines += formula_lines(anchor);
    return lines;
  }

 private:
  std::vector<std::string_view> anchors_;
};

std::string_view pass_text(costmodel::Pass pass) {
  constexpr std::string_view names[] = {"forward", "backward (data)", "backward (weight)", "step"};
  return names[static_cast<std::size_t>(pass)];
}

std::string explanation(const Explanation& explained, const TextStyle& style) {
  FormulaLegend tensor_formulas, operation_formulas;
  std::vector<std::vector<std::string>> tensors{
      {"  tensor", "kind", "formula", "elements", "x count", "size"}};
  for (const auto& entry : explained.tensors) {
    tensors.push_back({fmt::format("  {}", entry.name), std::string{costmodel::key_of(entry.kind)},
                       std::string{entry.formula}, format_short(entry.elements),
                       fmt::format("{:g}", entry.count), format_binary(entry.size())});
    tensor_formulas.add(entry.formula);
  }
  std::vector<std::vector<std::string>> operations{
      {"  operation", "pass", "formula", "once", "x runs", "per step"}};
  for (const auto& [operation, runs, once, per_step] : explained.operations) {
    operations.push_back({fmt::format("  {}", operation.name), std::string{pass_text(operation.pass)},
                          std::string{operation.formula}, format_duration(once), fmt::format("{:g}", runs),
                          format_duration(per_step)});
    operation_formulas.add(operation.formula);
  }
  return fmt::format("\n{}\n",
                     style.bold(fmt::format("Largest tensors of stage {} at its peak ({})", explained.stage,
                                            costmodel::name_of(explained.instant)))) +
         format_table(tensors, 3) + tensor_formulas.text() +
         fmt::format("\n{}\n", style.bold(fmt::format("Longest operations of stage {} (before any is hidden)",
                                                      explained.stage))) +
         format_table(operations, 3) + operation_formulas.text();
}

}  // namespace

std::string estimate_text(const EstimateReport& report, const TextStyle& style) {
  std::string text =
      heading(report.question, report.parameters, report.estimate, style) + verdict(report, style);
  if (!report.priced()) return text;
  const Estimate& e = report.estimate;
  text += memory_by_stage(e, style) + memory_by_kind(e, report.question.scenario.framework, style) +
          host_memory(report) + simulated_allocator(report, style) + time_by_cause(e, style) +
          outer_step_line(report.question) + throughput(report, style) +
          network_lines(report.question, style) +
          not_modelled_text(costmodel::not_modelled(report.question.scenario), style) +
          calibration(report, style) + published(report, style);
  if (report.explanation) text += explanation(*report.explanation, style);
  return text;
}

}  // namespace hexaplan::cli
