#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/commands/search.h"
#include "cli/options.h"

namespace hexaplan::cli {

/// A way to fine-tune: what is trained, by which optimizer, and where its states are. Words of the recipe's
/// fields.
struct FinetuneMethod {
  std::string_view name;  // "LoRA, 8-bit AdamW"
  std::string_view fine_tune;
  std::span<const std::string_view> profiles;  // that can do it, the one that shards most last
  std::string_view optimizer = "adamw";
  std::string_view offload = {};
  std::string_view zero = {};  // of the search
  /// One field more. A question that says it itself does not need the method.
  std::string_view field = {}, value = {};
};

/// The best plan of one method, or why there is none.
struct FinetuneAnswer {
  FinetuneMethod method;
  bool loss_in_chunks = false;  // because it does not fit otherwise
  SearchReport search;
  [[nodiscard]] bool fits() const { return !search.ranking.plans.empty(); }
};

/// Everything `hexaplan finetune` has to say: what fits first, the fastest of it first.
struct FinetuneReport {
  std::vector<FinetuneAnswer> answers;
  std::vector<std::string_view> trainers;  // that run the first: targets of `export`
};

/// Searches the best plan of every method on the same GPUs. The notes of all stand in the first answer's
/// question. InputError when something cannot be used.
[[nodiscard]] FinetuneReport run_finetune(const FinetuneOptions& options);

}  // namespace hexaplan::cli
