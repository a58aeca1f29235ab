#include "cli/commands/finetune.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace hexaplan::cli {
namespace {

// What people try, from the most memory to the least. Offloading is DeepSpeed's (accelerate and the trainers
// above it configure its offload_optimizer and offload_param).
constexpr FinetuneMethod kMethods[] = {
    {"full", "full"},
    {"full, 8-bit AdamW", "full", "adamw-8bit"},
    {"full, optimizer offloaded", "full", "adamw", "optimizer", "deepspeed", "2,3"},
    {"full, optimizer and parameters offloaded", "full", "adamw", "optimizer,params", "deepspeed", "3"},
    {"LoRA", "lora"},
    {"QLoRA", "qlora"},
    {"QLoRA, 8-bit AdamW", "qlora", "adamw-8bit"},
};

void set_if_absent(ScenarioOptions& question, std::string_view key, std::string_view value) {
  for (ScenarioOptions::RecipeFlag& field : question.recipe) {
    if (field.key == key && field.text.empty()) field.text = value;
  }
}

void set(ScenarioOptions& question, std::string_view key, std::string_view value) {
  for (ScenarioOptions::RecipeFlag& field : question.recipe) {
    if (field.key == key) field.text = value;
  }
}

/// The question of one method. Sequence and batch that nobody gave are those that trainers' examples use.
SearchOptions search_of(const FinetuneOptions& options, const FinetuneMethod& method) {
  SearchOptions search;
  search.question = options.question;
  if (!options.gpu.empty())
    search.question.cluster = fmt::format("{}x{}", options.gpus.empty() ? "1" : options.gpus, options.gpu);
  if (search.question.scenario.empty()) {
    set_if_absent(search.question, "sequence", "2048");
    set_if_absent(search.question, "global_batch", "16");
  }
  set(search.question, "fine_tune", method.fine_tune);
  set(search.question, "optimizer", method.optimizer);
  set(search.question, "offload", method.offload);
  const bool several = !options.gpus.empty() && options.gpus != "1";
  search.question.framework = !method.framework.empty()             ? std::string{method.framework}
                              : !options.question.framework.empty() ? options.question.framework
                              : several                             ? "fsdp2"
                                                                    : "hf-eager";
  if (!method.zero.empty()) search.dimensions.push_back({"--zero", std::string{method.zero}});
  search.top = "1";
  search.max_risk = options.max_risk;
  return search;
}

/// Fastest first; what does not fit last, in the methods' order.
bool ranks_before(const FinetuneAnswer& a, const FinetuneAnswer& b) {
  if (!a.fits() || !b.fits()) return a.fits() && !b.fits();
  return a.search.ranking.plans.front().plan.price.step < b.search.ranking.plans.front().plan.price.step;
}

}  // namespace

FinetuneReport run_finetune(const FinetuneOptions& options) {
  FinetuneReport report;
  for (const FinetuneMethod& method : kMethods)
    report.answers.push_back({method, run_search(search_of(options, method), true)});
  std::stable_sort(report.answers.begin(), report.answers.end(), ranks_before);
  return report;
}

}  // namespace hexaplan::cli
