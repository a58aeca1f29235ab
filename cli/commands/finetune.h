#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "cli/commands/search.h"
#include "cli/options.h"

namespace hexaplan::cli {

/// A way to fine-tune: what is trained, by which optimizer, and what is offloaded.
struct FinetuneMethod {
  std::string_view name;       // "LoRA, 8-bit AdamW"
  std::string_view fine_tune;  // words of the recipe's fields
  std::string_view optimizer = "adamw";
  std::string_view offload = {};
  std::string_view framework = {};  // that can do it; empty: as asked for
  std::string_view zero = {};       // of the search
};

/// The best plan of one method, or why there is none.
struct FinetuneAnswer {
  FinetuneMethod method;
  SearchReport search;
  [[nodiscard]] bool fits() const { return !search.ranking.plans.empty(); }
};

/// Everything `hexaplan finetune` has to say: what fits first, the fastest of it first.
struct FinetuneReport {
  std::vector<FinetuneAnswer> answers;
};

/// Searches the best plan of every method on the same GPUs. InputError when something cannot be used.
[[nodiscard]] FinetuneReport run_finetune(const FinetuneOptions& options);

}  // namespace hexaplan::cli
