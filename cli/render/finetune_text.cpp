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
#include "presets/scenario/recompute_text.h"

namespace hexaplan::cli {

using costmodel::format_binary;
using costmodel::format_count;
using costmodel::format_duration;
using costmodel::format_percent;
using planner::Plan;

namespace {

const Plan& best(const FinetuneAnswer& answer) {
  return answer.search.ranking.plans.front().plan;
}

const costmodel::Scenario& asked(const FinetuneAnswer& answer) {
  return answer.search.question.scenario;
}

std::string heading(const FinetuneReport& report, const TextStyle& style) {
  const costmodel::Scenario& s = asked(report.answers.front());
  return fmt::format("{} {} {} x {}, {} each {} sequence {} tokens {} global batch {}\n",
                     style.bold(s.model.name), style.dot(), format_count(s.cluster.gpus), s.cluster.gpu.name,
                     format_binary(s.cluster.gpu.memory), style.dot(), format_count(s.recipe.sequence),
                     style.dot(), format_count(s.recipe.global_batch));
}

std::string fitting(const FinetuneReport& report) {
  charts::Cells rows{
      {"method", "framework", "GiB", "risk", "step", "tokens/s", "micro-batch", "recompute", "layout"}};
  for (const FinetuneAnswer& answer : report.answers) {
    if (!answer.fits()) continue;
    const Plan& plan = best(answer);
    const double tokens =
        static_cast<double>(costmodel::tokens_per_step(plan.recipe)) / plan.price.step.value();
    rows.push_back({std::string{answer.method.name}, asked(answer).framework.name,
                    gib_digits(plan.price.peak), format_percent(plan.price.risk),
                    format_duration(plan.price.step), format_count(static_cast<std::int64_t>(tokens)),
                    fmt::format("{}", plan.recipe.micro_batch),
                    presets::to_recompute_text(plan.recipe.recompute), presets::to_layout_text(plan.layout)});
  }
  if (rows.size() == 1) return {};
  return "\nFits, fastest first\n" + format_table(rows);
}

/// How the fastest is started: its trainers read what `export` writes.
std::string next_step(const FinetuneReport& report) {
  const FinetuneAnswer& first = report.answers.front();
  if (!first.fits()) return {};
  return "\nTo run the first: hexaplan export --target axolotl " + words_of_plan(first.search, best(first)) +
         "\n(or --target trl, llamafactory)\n";
}

/// Why a method has no plan: the limit that most candidates break.
std::string refusal(const FinetuneAnswer& answer) {
  for (const planner::RejectionCount& row : answer.search.ranking.rejections)
    if (row.constraint) return row.reason;
  const auto& rejections = answer.search.ranking.rejections;
  return rejections.empty() ? "no layout to try" : rejections.front().reason;
}

std::string not_fitting(const FinetuneReport& report) {
  std::string text;
  for (const FinetuneAnswer& answer : report.answers) {
    if (!answer.fits()) text += fmt::format("  {}: {}\n", answer.method.name, refusal(answer));
  }
  return text.empty() ? text : "\nDoes not fit\n" + text;
}

}  // namespace

std::string finetune_text(const FinetuneReport& report, const TextStyle& style) {
  std::string text = heading(report, style) + fitting(report) + next_step(report) + not_fitting(report);
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
        {"fits", answer.fits()},
        {"reason", answer.fits() ? presets::JsonValue{} : presets::JsonValue{refusal(answer)}},
        {"search", search_json(answer.search)}});
  }
  return presets::JsonObject{{"schema", "hexaplan/finetune/1"}, {"methods", std::move(methods)}};
}

}  // namespace hexaplan::cli
