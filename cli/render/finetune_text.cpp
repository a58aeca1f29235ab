#include "cli/render/finetune_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "charts/table_text.h"
#include "cli/render/estimate_rows.h"
#include "cli/render/not_modelled.h"
#include "cli/render/numbers.h"
#include "cli/render/search_text.h"
#include "presets/json/spec_names.h"
#include "presets/json/vocabulary.h"
#include "presets/scenario/recompute_text.h"

namespace hexaplan::cli {

using costmodel::Bytes;
using costmodel::format_binary;
using costmodel::format_count;
using costmodel::format_duration;
using costmodel::format_percent;
using planner::Plan;

namespace {

const Plan& best(const FinetuneAnswer& answer) {
  return answer.search.ranking.plans.front().plan;
}

const costmodel::Estimate& estimate_of(const FinetuneAnswer& answer) {
  return answer.search.ranking.plans.front().estimate;
}

std::string name_of(const FinetuneAnswer& answer) {
  return std::string{answer.method.name} + (answer.loss_in_chunks ? ", loss in chunks" : "");
}

const costmodel::Scenario& asked(const FinetuneAnswer& answer) {
  return answer.search.question.scenario;
}

std::string heading(const FinetuneReport& report, const TextStyle& style) {
  const costmodel::Scenario& s = asked(report.answers.front());
  return fmt::format("{} {} {} x {}, {} each {} sequence {} tokens {} global batch {} {} {}\n",
                     style.bold(s.model.name), style.dot(), format_count(s.cluster.gpus), s.cluster.gpu.name,
                     format_binary(s.cluster.gpu.memory), style.dot(), format_count(s.recipe.sequence),
                     style.dot(), format_count(s.recipe.global_batch), style.dot(),
                     presets::name_in(presets::kPrecisionNames, s.recipe.precision));
}

/// What the plan offloads to a node: to its memory, and to its disks where it does that.
std::string host_cell(const FinetuneAnswer& answer) {
  const costmodel::Estimate& e = estimate_of(answer);
  std::string cell = e.host_memory > Bytes{} ? gib_digits(e.host_memory) : std::string{};
  if (e.disk > Bytes{}) cell += fmt::format("{}disk {}", cell.empty() ? "" : " + ", gib_digits(e.disk));
  return cell;
}

/// What is offloaded has no limit where nobody knows the machine.
std::string unknown_host(const FinetuneReport& report) {
  const costmodel::ClusterSpec& cluster = asked(report.answers.front()).cluster;
  const bool offloads =
      std::any_of(report.answers.begin(), report.answers.end(), [](const FinetuneAnswer& answer) {
        return answer.fits() && estimate_of(answer).host_memory > Bytes{};
      });
  if (!offloads || cluster.host.memory > Bytes{}) return {};
  return fmt::format(
      "How much memory the machines have is not known: say it, as in --cluster {}x{}+host256GiB\n",
      cluster.gpus, cluster.gpu.name);
}

std::string fitting(const FinetuneReport& report, const TextStyle& style) {
  charts::Cells rows{{"method", "framework", "GiB", "host GiB", "risk", "step", "tokens/s", "micro-batch",
                      "recompute", "layout"}};
  for (const FinetuneAnswer& answer : report.answers) {
    if (!answer.fits()) continue;
    const Plan& plan = best(answer);
    const double tokens =
        static_cast<double>(costmodel::tokens_per_step(plan.recipe)) / plan.price.step.value();
    rows.push_back({name_of(answer), asked(answer).framework.name, gib_digits(plan.price.peak),
                    host_cell(answer), format_percent(plan.price.risk), format_duration(plan.price.step),
                    format_count(static_cast<std::int64_t>(tokens)),
                    fmt::format("{}", plan.recipe.micro_batch),
                    presets::to_recompute_text(plan.recipe.recompute), presets::to_layout_text(plan.layout)});
  }
  if (rows.size() == 1) return {};
  return "\nFits, fastest first (GiB of a GPU, host GiB of a node)\n" +
         fitted_table(std::move(rows), style,
                      {.expendable = {"tokens/s", "host GiB", "risk", "micro-batch"}}) +
         unknown_host(report);
}

/// How the fastest is started: its trainers read what `export` writes.
std::string next_step(const FinetuneReport& report) {
  if (report.trainers.empty()) return {};
  const std::vector<std::string_view> others{report.trainers.begin() + 1, report.trainers.end()};
  return fmt::format("\nTo run the first: hexaplan export --target {} {}\n", report.trainers.front(),
                     words_of_plan(report.answers.front().search, best(report.answers.front()))) +
         (others.empty() ? "" : fmt::format("(or --target {})\n", fmt::join(others, ", ")));
}

/// Why a method has no plan: the limit that candidates got to last, as `search` says it; of a rule what would
/// keep it, too.
std::string refusal(const FinetuneAnswer& answer) {
  const planner::Ranking& ranking = answer.search.ranking;
  std::string text = planner::reason_for_nothing(ranking);
  for (const planner::RejectionCount& row : ranking.rejections) {
    if (!row.constraint && !row.advice.empty() && text == row.rule + ": " + row.reason)
      return text + "; " + row.advice;
  }
  return text;
}

std::string not_fitting(const FinetuneReport& report) {
  std::string text;
  for (const FinetuneAnswer& answer : report.answers) {
    if (!answer.fits())
      text += fmt::format("  {}: {}{}\n", answer.method.name, refusal(answer),
                          answer.loss_in_chunks ? " (with the loss in chunks)" : "");
  }
  return text.empty() ? text : "\nDoes not fit\n" + text;
}

}  // namespace

std::string finetune_text(const FinetuneReport& report, const TextStyle& style) {
  std::string text =
      heading(report, style) + fitting(report, style) + next_step(report) + not_fitting(report);
  std::vector<costmodel::KnobNote> left_out;
  for (const FinetuneAnswer& answer : report.answers) {
    if (!answer.fits()) continue;
    for (const auto& note : not_modelled_of(answer.search, best(answer))) {
      if (std::find(left_out.begin(), left_out.end(), note) == left_out.end()) left_out.push_back(note);
    }
  }
  return text + not_modelled_text(left_out, style);
}

presets::JsonValue finetune_json(const FinetuneReport& report) {
  presets::JsonArray methods;
  for (const FinetuneAnswer& answer : report.answers) {
    methods.push_back(presets::JsonObject{
        {"method", answer.method.name},
        {"framework", asked(answer).framework.name},
        {"loss_in_chunks", answer.loss_in_chunks},
        {"fits", answer.fits()},
        {"reason", answer.fits() ? presets::JsonValue{} : presets::JsonValue{refusal(answer)}},
        {"host_bytes_per_node", answer.fits()
                                    ? presets::JsonValue{costmodel::whole(estimate_of(answer).host_memory)}
                                    : presets::JsonValue{}},
        {"search", search_json(answer.search)}});
  }
  return presets::JsonObject{{"schema", "hexaplan/finetune/1"}, {"methods", std::move(methods)}};
}

}  // namespace hexaplan::cli
