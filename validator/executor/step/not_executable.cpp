#include <fmt/format.h>

#include <array>
#include <optional>
#include <string_view>

#include "costmodel/units/ceil_div.h"
#include "validator/executor/parallel/rotary.h"
#include "validator/executor/step/run_steps.h"

namespace hexaplan::validator {
namespace {

using costmodel::Scenario;

/// What the executor has no code for. A row goes when the code comes.
struct Missing {
  std::string_view rule, what, advice;
  bool (*applies)(const Scenario&);
};

constexpr std::array kMissing{
    Missing{"executor-attention", "multi-head latent attention is not executed",
            "choose a model with grouped-query attention",
            [](const Scenario& s) { return s.model.attention.kind != costmodel::AttentionKind::Grouped; }},
    Missing{"executor-attention", "biases, norms or sinks inside attention are not executed",
            "choose a Llama-type model",
            [](const Scenario& s) {
              const costmodel::AttentionSpec& a = s.model.attention;
              return a.qkv_bias || a.output_bias || a.qk_norm || a.sinks;
            }},
    Missing{"executor-block", "only pre-norm blocks with RMSNorm and rotary positions are executed",
            "choose a Llama-type model",
            [](const Scenario& s) {
              const costmodel::ModelSpec& m = s.model;
              return m.norm != costmodel::NormKind::Rms || m.norms_per_layer != 2 || m.parallel_residual ||
                     m.positions != costmodel::PositionKind::Rotary || !m.final_norm || m.embedding_norm ||
                     m.norms_after || m.head_bias || m.mtp_layers > 0;
            }},
    Missing{"executor-block", "norms that multiply by 1 + weight are not executed",
            "choose a Llama-type model", [](const Scenario& s) { return s.model.zero_centered_norm; }},
    Missing{"executor-block", "multiplied embeddings are not executed", "choose a Llama-type model",
            [](const Scenario& s) { return s.model.embedding_multiplier != 1; }},
    Missing{"executor-attention", "soft-capped or clipped scores and logits are not executed",
            "choose a model without soft-capping",
            [](const Scenario& s) {
              return s.model.attention.softcap > 0 || s.model.attention.value_clip > 0 ||
                     s.model.logit_softcap > 0;
            }},
    Missing{"executor-positions", "rotary positions over neighbouring columns are not executed",
            "choose a model that rotates halves (rope_interleave false)",
            [](const Scenario& s) { return s.model.rotary.interleaved; }},
    Missing{"executor-positions", "windowed layers with rotary positions of their own are not executed",
            "choose a model with one RoPE base",
            [](const Scenario& s) { return s.model.rotary.local_base > 0; }},
    Missing{"executor-positions",
            "an odd number of rotated columns, or more than 256 of a head, is not executed",
            "choose a model with another head_dim or partial_rotary_factor",
            [](const Scenario& s) {
              const std::int64_t columns = rotated_columns(s.model);
              return columns % 2 != 0 || columns < 2 ||
                     columns > 2 * static_cast<std::int64_t>(Rotation::kMostPairs);
            }},
    Missing{"executor-mlp", "only SwiGLU without biases is executed", "choose a Llama-type model",
            [](const Scenario& s) {
              return !s.model.mlp.gated || s.model.mlp.bias ||
                     s.model.mlp.activation != costmodel::Activation::Silu || s.model.moe.expert_bias ||
                     s.model.moe.router_bias || s.model.moe.router_correction || s.model.moe.shared_gate;
            }},
    Missing{"executor-mlp", "clamped gates are not executed", "choose a Llama-type model",
            [](const Scenario& s) { return s.model.mlp.clamp > 0; }},
    Missing{"executor-router",
            "routers with sigmoid scores, groups of experts or scaled weights are not executed",
            "choose a model whose experts are the largest of a softmax",
            [](const Scenario& s) {
              const costmodel::MoeSpec& e = s.model.moe;
              return s.model.is_moe() && (e.score != costmodel::RouterScore::Softmax ||
                                          e.top_groups < e.groups || e.weight_factor != 1);
            }},
    // As Megatron-LM asks for (NVIDIA/Megatron-LM megatron/training/arguments.py: MoE with tensor
    // parallelism).
    Missing{"executor-experts", "experts beside tensor parallelism need their tokens split over it",
            "use sp=true",
            [](const Scenario& s) { return s.model.is_moe() && s.layout.tp > 1 && !s.layout.sp; }},
    Missing{"executor-experts", "tokens beyond an expert's capacity are not dropped",
            "use a capacity factor of 0: dropless",
            [](const Scenario& s) { return s.model.is_moe() && s.recipe.routing.capacity_factor > 0; }},
    Missing{"executor-experts", "how unevenly experts are filled follows from the router, not from the plan",
            "use a routing imbalance of 1",
            [](const Scenario& s) { return s.model.is_moe() && s.recipe.routing.imbalance != 1; }},
    Missing{"executor-context", "a sliding window is not executed under context parallelism", "use cp=1",
            [](const Scenario& s) { return s.layout.cp > 1 && s.model.attention.window > 0; }},
    Missing{"executor-context", "context parallelism over heads (all-to-all) is not executed",
            "use the ring or gathered keys and values",
            [](const Scenario& s) {
              return s.layout.cp > 1 && s.layout.context == costmodel::ContextKind::AllToAll;
            }},
    Missing{"executor-precision", "quantised recipes are not executed", "use bf16, fp16 or fp32",
            [](const Scenario& s) { return costmodel::is_quantized(s.recipe.precision); }},
    Missing{"executor-recipe", "adapters, dropout, offload and in-backward optimizers are not executed",
            "pre-train with AdamW on the device",
            [](const Scenario& s) {
              return costmodel::trains_adapters(s.recipe) || s.recipe.dropout > 0 || s.recipe.offload != 0 ||
                     s.recipe.optimizer_in_backward || s.recipe.optimizer != costmodel::Optimizer::AdamW;
            }},
    Missing{"executor-attention-kernel", "scores are never stored", "use flash attention",
            [](const Scenario& s) { return s.recipe.attention != costmodel::AttentionKernel::Flash; }},
    Missing{"executor-loss", "a chunked loss, or one that keeps its logits, is not executed",
            "use the fused one",
            [](const Scenario& s) {
              return s.recipe.cross_entropy == costmodel::CrossEntropy::Chunked ||
                     s.recipe.cross_entropy == costmodel::CrossEntropy::Unfused;
            }},
    Missing{"executor-recompute", "recomputation of single modules or operators is not executed",
            "recompute nothing, core attention (selective), some layers or all",
            [](const Scenario& s) {
              return s.recipe.recompute.mode == costmodel::RecomputeMode::SelectiveModules ||
                     s.recipe.recompute.mode == costmodel::RecomputeMode::SelectiveOperators;
            }},
    Missing{"executor-schedule", "DualPipe holds the model twice and is not executed", "use 1F1B or ZB-H1",
            [](const Scenario& s) { return s.layout.schedule == costmodel::ScheduleKind::DualPipe; }},
    Missing{"executor-vocabulary", "the output layer is executed on the last stage only",
            "leave the vocabulary on the last stage",
            [](const Scenario& s) { return s.layout.vocab != costmodel::VocabParallel::LastStage; }},
    Missing{"executor-sharding", "ZeRO++ and partitioned activations are not executed",
            "use ZeRO-0 to 3, hybrid shards included",
            [](const Scenario& s) {
              const costmodel::Sharding& z = s.layout.sharding;
              return z.hpz > 0 || z.quantized_weights || z.quantized_gradients ||
                     s.layout.partition_activations;
            }},
};

}  // namespace

std::optional<costmodel::Rejected> first_not_executable(const Scenario& scenario) {
  for (const Missing& missing : kMissing) {
    if (missing.applies(scenario)) {
      return costmodel::Rejected{std::string{missing.rule}, std::string{missing.what},
                                 std::string{missing.advice}};
    }
  }
  return std::nullopt;
}

}  // namespace hexaplan::validator
