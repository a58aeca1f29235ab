#pragma once
#include <optional>
#include <string_view>

#include "presets/truth/truth_row.h"

namespace hexaplan::presets {

/// Year of `engine_era`: a year (2022), month (2023-11), release of NeMo's containers (24.07) or MLPerf round
/// (mlperf-v5.1: rounds 4.x were 2024, 5.x 2025). Nothing for other words.
[[nodiscard]] std::optional<int> year_of_era(std::string_view era);

/// The row's Megatron is of the time before Transformer Engine's kernels and overlapped data-parallel
/// collectives: NeMo and Megatron-Core had them from 2024 on; Megatron-LM's legacy models, on which forks are
/// built, did not for a year more (--use-legacy-models, --transformer-impl local). An unknown era is today's.
[[nodiscard]] bool before_transformer_engine(const TruthRow& row);

/// The row's weight gradients were added up by autograd: Megatron-LM's products add into the main gradient
/// since 2022-02-13 in fp32 (@83b1e42f) and since 2022-09-27 in every type (@07916bf2), NeMo's by its
/// published recipes of 2023.
[[nodiscard]] bool before_fused_accumulation(const TruthRow& row);

/// The row's software had no FlashAttention but the first generation: the second came with flash-attn 2.0 of
/// July 2023, and with PyTorch 2.2 of January 2024 where PyTorch's own attention runs. An unknown era is
/// today's.
[[nodiscard]] bool before_flash_attention_2(const TruthRow& row);

/// The row's layers were none of Liger's: linkedin/Liger-Kernel began in August 2024. An unknown era is
/// today's.
[[nodiscard]] bool before_liger(const TruthRow& row);

/// The row's products with 4-bit weights kept their input: bitsandbytes freed it with 0.43.2 of July 2024
/// (bitsandbytes-foundation/bitsandbytes@9e753741, "fix QLoRA mem bug"), and litgpt stayed with 0.42.0 until
/// the end of that year (Lightning-AI/litgpt@d2ed13c3, pyproject.toml). An unknown era is today's.
[[nodiscard]] bool before_four_bit_inputs_were_freed(const TruthRow& row);

}  // namespace hexaplan::presets
