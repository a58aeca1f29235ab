#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "costmodel/memory/flat_units.h"
#include "costmodel/program/working_sets.h"
#include "costmodel/spec/local_dims.h"
#include "costmodel/spec/optimizer_traits.h"
#include "costmodel/spec/rank_grid.h"
#include "costmodel/spec/stage_plan.h"
#include "costmodel/units/ceil_div.h"
#include "validator/executor/parallel/rotary.h"
#include "validator/executor/step/run_steps.h"

namespace hexaplan::validator {
namespace {

using costmodel::Scenario;

/// True when attention sees a part of a sequence at a time.
bool shares_sequence(const Scenario& s) {
  return s.layout.cp > 1 && s.layout.context != costmodel::ContextKind::AllToAll;
}

bool stores_scores(const Scenario& s) {
  return costmodel::stores_scores(s.recipe.attention);
}

bool reduces_in_4_bits(const Scenario& s) {
  return s.layout.sharding.quantized_gradients && s.layout.sharding.stage >= 3;
}

/// 4-bit weights have a step of their own (QLoRA).
bool is_narrow(const std::optional<costmodel::DType>& type) {
  return type && *type != costmodel::DType::Nf4 && costmodel::bytes_per_element(*type) < 2;
}

bool keeps_4_bits(const Scenario& s) {
  return s.recipe.fine_tune == costmodel::FineTune::Qlora;
}

/// What the executor has no code for. A row goes when the code comes.
struct Missing {
  std::string_view rule, what, advice;
  bool (*applies)(const Scenario&);
};

constexpr std::array kMissing{
    Missing{"executor-model",
            "recurrent layers (state space, linear attention, convolutions) are planned, not executed",
            "choose a model whose layers attend",
            [](const Scenario& s) { return s.model.is_recurrent() || s.model.single_branches; }},
    Missing{"executor-block", "a block without a norm before its MLP is not executed",
            "choose a model with parallel branches or two norms in a layer",
            [](const Scenario& s) { return s.model.norms_per_layer < 2 && !s.model.parallel_residual; }},
    Missing{"executor-block", "post-norm blocks (norm after the residual add) are not executed with experts",
            "choose a pre-norm model",
            [](const Scenario& s) { return s.model.norms_after && s.model.is_moe(); }},
    Missing{"executor-activation", "an activation with parameters of its own is not executed",
            "choose a model with SiLU, GELU or ReLU",
            [](const Scenario& s) { return s.model.mlp.activation == costmodel::Activation::Xielu; }},
    Missing{"executor-qk-norm", "norms of queries and keys with weights for every head are not executed",
            "choose a model that norms heads with the same weights, or all of them together",
            [](const Scenario& s) {
              const costmodel::AttentionSpec& a = s.model.attention;
              return a.qk_norm && (a.qk_norm_scope == costmodel::QkNormScope::EachHead ||
                                   a.qk_norm_kind == costmodel::NormKind::Layer);
            }},
    Missing{"executor-qk-norm", "QK-norm over whole rows is executed without tensor parallelism only",
            "use tp=1",
            [](const Scenario& s) {
              const costmodel::AttentionSpec& a = s.model.attention;
              return a.qk_norm && a.qk_norm_scope == costmodel::QkNormScope::Row && s.layout.tp > 1;
            }},
    Missing{"executor-positions", "a fixed table of positions is not executed",
            "choose a model with rotary or learned positions",
            [](const Scenario& s) { return s.model.positions == costmodel::PositionKind::Sinusoidal; }},
    Missing{"executor-attention", "chunked attention (attention_chunk_size) is not executed",
            "choose a model with sliding windows, or sequences no longer than a chunk",
            [](const Scenario& s) {
              return s.model.attention.chunked && s.recipe.sequence > s.model.attention.window;
            }},
    Missing{"executor-positions",
            "an odd number of rotated columns, or more than 256 of a head, is not executed",
            "choose a model with another head_dim or partial_rotary_factor",
            [](const Scenario& s) {
              const std::int64_t columns = rotated_columns(s.model);
              return s.model.positions == costmodel::PositionKind::Rotary &&
                     (columns % 2 != 0 || columns < 2 ||
                      columns > 2 * static_cast<std::int64_t>(Rotation::kMostPairs));
            }},
    Missing{"executor-router", "more than 32 groups of experts are not executed", "choose a model with fewer",
            [](const Scenario& s) { return s.model.moe.groups > RouterForm::kMostGroups; }},
    // As Megatron-LM asks for (NVIDIA/Megatron-LM megatron/training/arguments.py: MoE with tensor
    // parallelism).
    Missing{"executor-experts", "experts under tensor parallelism need sequence parallelism", "use sp=true",
            [](const Scenario& s) { return s.model.is_moe() && s.layout.tp > 1 && !s.layout.sp; }},
    Missing{"executor-experts", "the load of experts follows from the router, not from the plan",
            "use a routing imbalance of 1",
            [](const Scenario& s) { return s.model.is_moe() && s.recipe.routing.imbalance != 1; }},
    Missing{"executor-context", "a sliding window is executed with whole sequences only",
            "use cp=1 or exchange heads for tokens (context=alltoall)",
            [](const Scenario& s) { return shares_sequence(s) && s.model.attention.window > 0; }},
    Missing{"executor-context", "latent attention is executed with whole sequences only",
            "use cp=1 or exchange heads for tokens (context=alltoall)",
            [](const Scenario& s) {
              return shares_sequence(s) && s.model.attention.kind == costmodel::AttentionKind::Latent;
            }},
    Missing{"executor-context", "heads are exchanged for tokens only where every rank gets keys and values",
            "use a cp that divides the key-value heads of a tensor-parallel rank",
            [](const Scenario& s) {
              const std::int64_t heads = std::max<std::int64_t>(1, s.model.attention.kv_heads / s.layout.tp);
              return s.layout.cp > 1 && !shares_sequence(s) && heads % s.layout.cp != 0;
            }},
    Missing{"executor-context", "ALiBi's distances are not executed under context parallelism", "use cp=1",
            [](const Scenario& s) {
              return s.layout.cp > 1 && s.model.positions == costmodel::PositionKind::Alibi;
            }},
    Missing{"executor-mtp",
            "multi-token prediction is executed with rotary positions, a final norm and no other "
            "norm of embeddings",
            "choose a model without modules",  // as Megatron-LM asks for (megatron/training/arguments.py)
            [](const Scenario& s) {
              const bool others = s.model.positions == costmodel::PositionKind::Learned ||
                                  s.model.embedding_norm || !s.model.final_norm;
              return costmodel::mtp_modules(s) > 0 && others;
            }},
    Missing{
        "executor-mtp", "a module's projection is cut over tp where it gives every rank as many columns",
        "use a tp that divides the hidden size",
        [](const Scenario& s) { return costmodel::mtp_modules(s) > 0 && s.model.hidden % s.layout.tp != 0; }},
    Missing{"executor-mtp",
            "a multi-token-prediction module needs targets further ahead than the sequence has tokens",
            "use sequences longer than there are modules",
            [](const Scenario& s) {
              return costmodel::mtp_modules(s) > 0 && s.recipe.sequence <= costmodel::mtp_modules(s);
            }},
    Missing{"executor-mtp", "adapters are not executed with multi-token prediction",
            "train all parameters, or choose a model without modules",
            [](const Scenario& s) {
              return costmodel::mtp_modules(s) > 0 && costmodel::trains_adapters(s.recipe);
            }},
    Missing{"executor-mtp",
            "neither secondary partitions (hpz) nor partitioned activations are executed with multi-token "
            "prediction",
            "use hpz=0 and partition-activations=false",
            [](const Scenario& s) {
              return costmodel::mtp_modules(s) > 0 &&
                     (s.layout.sharding.hpz > 1 || costmodel::program::cuts_checkpoints(s));
            }},
    Missing{"executor-precision", "quantised recipes are not executed", "use bf16, fp16 or fp32",
            [](const Scenario& s) { return costmodel::is_quantized(s.recipe.precision); }},
    Missing{"executor-precision", "parameters, gradients or moments in 8 bits are not executed",
            "keep parameters and gradients in 16 bits or 32",
            [](const Scenario& s) {
              return is_narrow(s.recipe.parameter_dtype) || is_narrow(s.recipe.gradient_dtype);
            }},
    Missing{"executor-precision", "moments in 16 bits are executed where products are in bf16",
            "use precision bf16, or leave the type of the moments to the framework",
            [](const Scenario& s) {
              return s.recipe.moment_dtype == costmodel::DType::Bf16 &&
                     s.recipe.precision != costmodel::Precision::Bf16;
            }},
    Missing{"executor-adapters", "4-bit weights are not executed with experts", "use LoRA",
            [](const Scenario& s) { return keeps_4_bits(s) && s.model.is_moe(); }},
    Missing{"executor-adapters",
            "double quantisation subtracts the mean of a whole matrix's scales, of which a ZeRO-3 rank has a "
            "part",
            "use double-quantization false, or ZeRO-2",
            [](const Scenario& s) {
              return keeps_4_bits(s) && s.recipe.double_quantization && s.layout.sharding.stage >= 3 &&
                     s.layout.shard_ranks() > 1;
            }},
    Missing{"executor-adapters",
            "4-bit weights are executed neither with a secondary partition (hpz) nor on the host",
            "use hpz=0, or offload something else than params",
            [](const Scenario& s) {
              const bool offloads = (s.recipe.offload & costmodel::kOffloadParameters) != 0;
              return keeps_4_bits(s) && s.layout.sharding.stage >= 3 &&
                     (s.layout.sharding.hpz > 1 || offloads);
            }},
    Missing{"executor-adapters", "adapters of experts and routers are not executed",
            "use lora-targets attention, qkv or qv",
            [](const Scenario& s) {
              return s.recipe.fine_tune == costmodel::FineTune::Lora && s.model.is_moe() &&
                     (s.recipe.lora_targets == costmodel::AdapterTargets::AllLinear ||
                      s.recipe.lora_targets == costmodel::AdapterTargets::Mlp);
            }},
    Missing{
        "executor-adapters", "IA3's scales inside experts are not executed",
        "use LoRA with lora-targets attention, qkv or qv",
        [](const Scenario& s) { return s.recipe.fine_tune == costmodel::FineTune::Ia3 && s.model.is_moe(); }},
    Missing{
        "executor-adapters",
        "biases of recurrences, of an embedding's norm, or of values without keys are not executed beside "
        "adapters",
        "use lora-bias none, or lora-targets all-linear with lora-bias lora-only",
        [](const Scenario& s) {
          return costmodel::trains_adapters(s.recipe) && !costmodel::trained_biases_are_operations(s);
        }},
    Missing{"executor-adapters", "a number of trained parameters does not say how wide adapters are",
            "use lora-rank",
            [](const Scenario& s) {
              return costmodel::trains_adapters(s.recipe) && s.recipe.trainable_parameters > 0;
            }},
    Missing{"executor-outer-steps", "outer gradients are added up in the type in which they travel",
            "use outer-dtype fp32 or bf16",
            [](const Scenario& s) { return costmodel::bits_per_element(s.recipe.outer.dtype) < 16; }},
    Missing{"executor-outer-steps",
            "replicas between outer steps would skip different steps when fp16 overflows", "use bf16 or fp32",
            [](const Scenario& s) {
              return s.layout.outer_replicas > 1 && s.recipe.precision == costmodel::Precision::Fp16;
            }},
    Missing{"executor-in-backward",
            "updates in backward cannot wait for overflows of fp16's scaled gradients",
            "use bf16 or fp32, or optimizer_in_backward false",
            [](const Scenario& s) {
              return s.recipe.optimizer_in_backward && s.recipe.precision == costmodel::Precision::Fp16;
            }},
    Missing{
        "executor-in-backward",
        "gradients of tied embeddings on two stages are complete after the backward pass only",
        "use pp=1, a model whose embedding is not tied, or optimizer_in_backward false",
        [](const Scenario& s) { return s.recipe.optimizer_in_backward && costmodel::copies_embedding(s); }},
    Missing{"executor-in-backward", "offloaded states are updated when all gradients are there",
            "use optimizer_in_backward false, or offload something else",
            [](const Scenario& s) {
              return s.recipe.optimizer_in_backward && costmodel::offloaded_update(s.recipe) > 0;
            }},
    Missing{"executor-offload",
            "8-bit AdamW, Adafactor, LAMB and Muon are not element-wise, and are executed on the device only",
            "use offload params or activations, or AdamW, Lion or SGD",
            [](const Scenario& s) {
              const costmodel::OptimizerTraits& traits = costmodel::traits_of(s.recipe.optimizer);
              return costmodel::offloaded_update(s.recipe) > 0 &&
                     (traits.quantised || traits.factored || traits.orthogonalises || traits.scales_matrices);
            }},
    Missing{
        "executor-offload",
        "gradients of tied embeddings on two stages are reduced on the device, not on the host where their "
        "sharded states are",
        "use ZeRO-1, or pp=1",
        [](const Scenario& s) {
          return costmodel::offloaded_update(s.recipe) > 0 && s.layout.sharding.stage >= 2 &&
                 costmodel::copies_embedding(s);
        }},
    // Parts of a softmax over other ranks' keys are merged by statistics.
    Missing{
        "executor-attention-kernel",
        "stored scores are executed with whole sequences only: blocks of keys are merged by log-sum-exps, "
        "which are not kept",
        "use flash attention, cp=1 or context=alltoall",
        [](const Scenario& s) { return shares_sequence(s) && stores_scores(s); }},
    Missing{
        "executor-attention-kernel", "attention is the executor's own kernel, or cuDNN's",
        "use flash attention",
        [](const Scenario& s) { return s.recipe.attention == costmodel::AttentionKernel::FlashAttention2; }},
    Missing{"executor-attention-kernel",
            "sinks with stored scores are not executed: their share of the softmax is not kept",
            "use flash attention",
            [](const Scenario& s) { return s.model.attention.sinks && stores_scores(s); }},
    Missing{
        "executor-dropout",
        "attention dropout is executed with whole sequences only: blocks of a ring do not know the positions "
        "of their keys",
        "use cp=1 or exchange heads for tokens (context=alltoall)",
        [](const Scenario& s) { return shares_sequence(s) && s.recipe.dropout > 0; }},
    Missing{"executor-schedule",
            "DualPipe feeds micro-batches from both ends and is not executed with one per step",
            "use two micro-batches or more",
            [](const Scenario& s) {
              return costmodel::model_copies(s.layout.schedule) > 1 &&
                     costmodel::microbatches_per_step(s) < 2;
            }},
    Missing{
        "executor-schedule",
        "gradients of DualPipe's two copies of the model are reduced on the device, not on the host where "
        "their sharded states are",
        "use ZeRO-1, or dualpipev",
        [](const Scenario& s) {
          return costmodel::model_copies(s.layout.schedule) > 1 &&
                 costmodel::offloaded_update(s.recipe) > 0 && s.layout.sharding.stage >= 2;
        }},
    Missing{"executor-vocabulary", "the output layer is executed on the last stage only",
            "leave the vocabulary on the last stage",
            [](const Scenario& s) { return s.layout.vocab != costmodel::VocabParallel::LastStage; }},
    Missing{"executor-sharding",
            "quantised messages (qwz, qgz) would round parameters that tensor-parallel ranks replicate "
            "differently on each of them",
            "use tp=1 and etp=1, or neither qwz nor qgz",
            [](const Scenario& s) {
              const costmodel::Sharding& z = s.layout.sharding;
              return z.stage >= 3 && (z.quantized_weights || z.quantized_gradients) &&
                     (s.layout.tp > 1 || (s.model.is_moe() && s.layout.expert_tensor() > 1));
            }},
    Missing{"executor-sharding", "gradients in 4 bits (qgz) are not executed with experts", "use qgz=false",
            [](const Scenario& s) { return reduces_in_4_bits(s) && s.model.is_moe(); }},
    Missing{"executor-sharding",
            "gradients in 4 bits (qgz) need as many ranks of a shard group on every node",
            "use a shard group that is a multiple of its ranks in a node, or qgz=false",
            [](const Scenario& s) {
              return reduces_in_4_bits(s) &&
                     s.layout.shard_ranks() %
                             costmodel::place_group(s.layout, costmodel::Group::ShardNode, s.cluster).ranks !=
                         0;
            }},
    Missing{"executor-sharding",
            "reductions over replicas in the last micro-batch are executed on the device only",
            "reduce gradients in every micro-batch, or offload no optimizer",
            [](const Scenario& s) {
              return costmodel::gradient_reduction(s) == costmodel::GradientReduction::ReplicasOnce &&
                     costmodel::offloaded_update(s.recipe) > 0;
            }},
    Missing{"executor-sharding", "partitioned activations need a size that tp divides",
            "use partition-activations=false, or a micro-batch whose hidden states tp divides",
            [](const Scenario& s) {
              const costmodel::LocalDims dims = costmodel::local_dims(s);
              return costmodel::program::cuts_checkpoints(s) && dims.tokens * dims.hidden % s.layout.tp != 0;
            }},
    Missing{"executor-sharding", "a secondary partition of parameters (hpz) is not executed with experts",
            "use hpz=0", [](const Scenario& s) { return s.layout.sharding.hpz > 1 && s.model.is_moe(); }},
};

}  // namespace

std::optional<costmodel::Rejected> first_not_executable(const Scenario& scenario) {
  if (!scenario.model.own_rule.empty()) {
    return costmodel::Rejected{"executor-model", fmt::format("{} are not executed", scenario.model.own_rule),
                               "choose a model of another family"};
  }
  for (const Missing& missing : kMissing) {
    if (missing.applies(scenario)) {
      return costmodel::Rejected{std::string{missing.rule}, std::string{missing.what},
                                 std::string{missing.advice}};
    }
  }
  return std::nullopt;
}

}  // namespace hexaplan::validator
