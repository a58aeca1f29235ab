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

/// The text of a recipe's flag. Precondition: the command has it.
std::string& text_of(ScenarioOptions& question, std::string_view key) {
  return std::find_if(question.recipe.begin(), question.recipe.end(),
                      [&](const ScenarioOptions::RecipeFlag& field) { return field.key == key; })
      ->text;
}

void set_if_absent(ScenarioOptions& question, std::string_view key, std::string_view value) {
  if (std::string& text = text_of(question, key); text.empty()) text = value;
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
  text_of(search.question, "fine_tune") = method.fine_tune;
  text_of(search.question, "optimizer") = method.optimizer;
  text_of(search.question, "offload") = method.offload;
  if (method.offload.empty()) search.dimensions.push_back({"--offload", "none"});
  const bool several = !options.gpus.empty() && options.gpus != "1";
  search.question.framework = !method.framework.empty()             ? std::string{method.framework}
                              : !options.question.framework.empty() ? options.question.framework
                              : several                             ? "fsdp2"
                                                                    : "hf-eager";
  // What trainers above Hugging Face's Trainer can be told.
  search.dimensions.push_back({"--recompute", "none,full"});
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
