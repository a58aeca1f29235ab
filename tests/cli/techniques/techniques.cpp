#include "tests/cli/techniques/techniques.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "presets/json/vocabulary.h"
#include "presets/scenario/recipe_fields.h"
#include "tests/support/knob_turns.h"

namespace hexaplan::tests {
namespace {

using namespace presets;
using costmodel::Layout;
using costmodel::Recipe;
using costmodel::Scenario;

/// What a word is called where it does not say so itself.
struct Title {
  std::string_view words, title;
};
constexpr Title kTitles[] = {
    {"dp", "data parallelism"},
    {"diloco", "replicas that train apart (DiLoCo)"},
    {"tp", "tensor parallelism"},
    {"sp", "sequence parallelism"},
    {"cp", "context parallelism"},
    {"ring", "… keys and values in a ring"},
    {"allgather", "… keys and values gathered"},
    {"alltoall", "… heads exchanged for tokens (Ulysses)"},
    {"pp", "pipeline parallelism"},
    {"vpp", "several model chunks per stage"},
    {"ep", "expert parallelism"},
    {"etp", "tensor parallelism of experts by itself"},
    {"order", "order of the axes over the ranks"},
    {"ddp", "whole replicas (DDP)"},
    {"zero1", "ZeRO-1: optimizer states sharded"},
    {"zero2", "ZeRO-2: and gradients"},
    {"zero3", "ZeRO-3: and parameters"},
    {"fsdp", "FSDP: the same in PyTorch's own engine"},
    {"hsdp", "hybrid sharding (HSDP)"},
    {"shard", "optimizer states sharded in groups"},
    {"hpz", "ZeRO++: second copy inside the node (hpZ)"},
    {"qwz", "ZeRO++: parameters gathered in 8 bits (qwZ)"},
    {"qgz", "ZeRO++: gradients reduced in 4 bits (qgZ)"},
    {"partition-activations", "ZeRO-R: checkpoints cut over tp"},
    {"gpipe", "all forward, all backward (GPipe)"},
    {"1f1b", "one forward, one backward"},
    {"interleaved", "1F1B with interleaved chunks"},
    {"zb-h1", "zero bubble, ZB-H1"},
    {"zb-2p", "zero bubble, ZB-2P"},
    {"zb-v", "zero bubble, ZB-V"},
    {"vhalf", "zero bubble, V-Half"},
    {"dualpipe", "DualPipe"},
    {"dualpipev", "DualPipeV"},
    {"even", "stages of equally many layers"},
    {"compute-cost", "stages cut by parameters (nanotron)"},
    {"ends-minus-one", "one layer fewer at both ends"},
    {"embedding-counts", "embedding and head count as layers"},
    {"stages", "stages of one's own"},
    {"vocab-last", "output layer on the last stage"},
    {"vocab-1", "vocabulary over all stages, one barrier"},
    {"vocab-2", "vocabulary over all stages, two barriers"},
    {"vocab-interlaced", "vocabulary over all stages, interlaced"},
    {"optimizer galore", "GaLore: moments in subspaces of gradients"},
    {"optimizer galore-8bit", "… in 8 bits"},
    {"optimizer apollo", "APOLLO: gradients scaled by random subspaces"},
    {"optimizer apollo-mini", "… matrix by matrix (APOLLO-Mini)"},
    {"optimizer soap", "SOAP: AdamW in eigenbases of rows' and columns' second moments"},
    {"optimizer shampoo", "Shampoo: inverse roots of them"},
    {"outer_steps 50", "outer steps between such replicas"},
    {"outer_dtype fp32", "… gradients in fp32"},
    {"outer_dtype bf16", "… in bf16"},
    {"outer_dtype fp8", "… in fp8"},
    {"outer_dtype fp4", "… in 4 bits (Streaming DiLoCo)"},
    {"outer_states gpu", "… states on the GPU"},
    {"outer_states copy-on-host", "… the copy on the host"},
    {"outer_states host", "… states on the host"},
    {"optimizer_in_backward true", "optimizer fused into the backward"},
    {"recompute layers=2", "full recomputation of some layers"},
    {"recompute full", "full recomputation"},
    {"recompute selective", "recomputation of core attention"},
    {"recompute selective-op", "recomputation by operator (torchtitan)"},
    {"recompute none", "everything kept"},
    {"recompute modules=core_attn", "recomputation by module: core attention"},
    {"recompute modules=layernorm", "recomputation by module: norms"},
    {"recompute modules=mla_up_proj", "recomputation by module: up-projections of latents"},
    {"recompute modules=mlp", "recomputation by module: MLP"},
    {"recompute modules=moe", "recomputation by module: experts"},
    {"recompute modules=moe_act", "recomputation by module: experts' activation"},
    {"recompute modules=shared_experts", "recomputation by module: shared experts"},
    {"recompute modules=act", "recomputation by module: activation"},
    {"attention flash", "attention that stores no scores"},
    {"attention flash-attention-2", "… by FlashAttention-2"},
    {"attention fused-softmax", "stored scores, fused softmax"},
    {"attention unfused", "stored scores, every step a kernel"},
    {"cross_entropy unfused", "cross entropy, logits kept"},
    {"cross_entropy fused", "cross entropy over the logits"},
    {"cross_entropy chunked", "cross entropy in chunks"},
    {"fused_norm false", "norm in tensor operations"},
    {"dropout 0.1", "dropout"},
    {"fine_tune pretrain", "pre-training"},
    {"fine_tune full", "full fine-tuning"},
    {"fine_tune lora", "LoRA"},
    {"fine_tune qlora", "QLoRA: 4-bit base (NF4)"},
    {"fine_tune ia3", "IA³"},
    {"fine_tune lora-8bit", "LoRA beside an 8-bit base (LLM.int8())"},
    {"lora_bias all", "biases that train beside LoRA"},
    {"lora_bias lora-only", "… those of the adapted layers"},
    {"saved_modules embedding", "a word table that trains beside adapters (modules_to_save)"},
    {"saved_modules head", "… an output layer"},
    {"saved_modules both", "… both"},
    {"dora true", "DoRA: learned magnitudes"},
    {"double_quantization true", "… whose scales have 8 bits"},
    {"lora_targets all-linear", "adapters beside all linear layers"},
    {"lora_targets attention", "… attention"},
    {"lora_targets qkv", "… queries, keys, values"},
    {"lora_targets qv", "… queries and values"},
    {"lora_targets mlp", "… the MLP"},
    {"offload optimizer", "optimizer states on the host (ZeRO-Offload)"},
    {"offload params", "parameters on the host"},
    {"offload activations", "activations on the host"},
    {"offload_device cpu", "offloading to host memory"},
    {"offload_device nvme", "offloading to disks (ZeRO-Infinity)"},
    {"offload_fraction 0.5", "a share of the optimizer offloaded (Twin-Flow)"},
    {"offload_layers 8", "activations of some layers offloaded"},
    {"padding longest", "batches padded to their longest sequence"},
    {"capacity_factor 0.5", "dropping tokens beyond a capacity"},
    {"pad_to_capacity true", "padding experts to a capacity"},
    {"tp_comm_overlap true", "tensor-parallel messages under products"},
    {"tp_backward_overlap false", "… not in the backward"},
    {"pipeline_overlap true", "messages between stages under computation"},
    {"dp_overlap false", "data-parallel messages not hidden"},
    {"reduce_gradients once", "gradients reduced once per step (no_sync)"},
    {"reduce_gradients replicas-once", "… between replicas only (HSDP)"},
    {"ep_overlap true", "experts' messages under computation"},
    {"ep_overlap false", "experts' messages not hidden"},
    {"compile true", "torch.compile, XLA"},
    {"moe_dispatcher alltoall", "a token travels once per expert"},
    {"moe_dispatcher allgather", "every rank receives every token"},
    {"moe_dispatcher deepep", "DeepEP: once per rank, over the network once per node"},
    {"moe_dispatcher hybridep", "HybridEP"},
    {"cuda_graphs partial", "CUDA graphs of modules"},
    {"cuda_graphs full_iteration", "CUDA graph of the whole step"},
};

std::string title_of(std::string_view words, std::string_view otherwise) {
  const auto row = std::ranges::find(kTitles, words, &Title::words);
  return std::string{row == std::end(kTitles) ? otherwise : row->title};
}

// --- layouts ---

constexpr std::string_view kLayout = "Layout", kSharding = "Sharding", kPipeline = "Pipeline";

/// Words of a layout whose use is not a value of one of the enums.
struct LayoutUse {
  std::string_view word, section;
  bool (*used)(const Layout& asked, const Layout& l);
};
bool same_stage(const Layout& asked, const Layout& l) {
  return l.sharding.stage == asked.sharding.stage && l.dp * l.cp > 1;
}
bool in_groups(const Layout& l) {
  return l.shard_ranks() < l.dp * l.cp;
}
constexpr LayoutUse kLayoutUses[] = {
    {"dp", kLayout, [](const Layout&, const Layout& l) { return l.dp > 1; }},
    {"diloco", kLayout, [](const Layout&, const Layout& l) { return l.outer_replicas > 1; }},
    {"tp", kLayout, [](const Layout&, const Layout& l) { return l.tp > 1; }},
    {"cp", kLayout, [](const Layout&, const Layout& l) { return l.cp > 1; }},
    {"pp", kLayout, [](const Layout&, const Layout& l) { return l.pp > 1; }},
    {"ep", kLayout, [](const Layout&, const Layout& l) { return l.ep > 1; }},
    {"etp", kLayout, [](const Layout&, const Layout& l) { return l.ep > 1 && l.expert_tensor() != l.tp; }},
    {"sp", kLayout, [](const Layout&, const Layout& l) { return l.sp && l.tp > 1; }},
    {"order", kLayout, [](const Layout&, const Layout& l) { return l.order != Layout{}.order; }},
    {"zero", kSharding, same_stage},
    {"ddp", kSharding, same_stage},
    {"fsdp", kSharding, same_stage},
    {"hsdp", kSharding, [](const Layout&, const Layout& l) { return l.sharding.stage == 3 && in_groups(l); }},
    {"shard", kSharding,
     [](const Layout&, const Layout& l) {
       return l.sharding.stage > 0 && l.sharding.stage < 3 && in_groups(l);
     }},
    {"hpz", kSharding, [](const Layout&, const Layout& l) { return l.sharding.hpz > 0; }},
    {"qwz", kSharding, [](const Layout&, const Layout& l) { return l.sharding.quantized_weights; }},
    {"qgz", kSharding, [](const Layout&, const Layout& l) { return l.sharding.quantized_gradients; }},
    {"partition-activations", kSharding,
     [](const Layout&, const Layout& l) { return l.partition_activations; }},
    {"vpp", kPipeline, [](const Layout&, const Layout& l) { return l.pp > 1 && l.vpp > 1; }},
    {"stages", kPipeline,
     [](const Layout&, const Layout& l) { return l.pp > 1 && l.split == costmodel::StageSplit::Explicit; }},
};

template <class E, std::size_t N>
bool names_word(const Named<E> (&table)[N], std::string_view word) {
  return std::ranges::find(table, word, &Named<E>::name) != std::end(table);
}

/// Section and use of a word.
std::pair<std::string_view, std::function<bool(const Scenario&)>> use_of(std::string_view word,
                                                                         const Layout& asked) {
  if (names_word(kScheduleNames, word))
    return {kPipeline,
            [asked](const Scenario& s) { return s.layout.pp > 1 && s.layout.schedule == asked.schedule; }};
  if (names_word(kContextNames, word))
    return {kLayout,
            [asked](const Scenario& s) { return s.layout.cp > 1 && s.layout.context == asked.context; }};
  if (names_word(kSplitNames, word))
    return {kPipeline,
            [asked](const Scenario& s) { return s.layout.pp > 1 && s.layout.split == asked.split; }};
  if (names_word(kVocabNames, word))
    return {kPipeline,
            [asked](const Scenario& s) { return s.layout.pp > 1 && s.layout.vocab == asked.vocab; }};
  const auto row = std::ranges::find(kLayoutUses, word, &LayoutUse::word);
  if (row == std::end(kLayoutUses)) return {kLayout, [](const Scenario&) { return false; }};
  return {row->section, [asked, used = row->used](const Scenario& s) { return used(asked, s.layout); }};
}

/// "stages=9/9/7/7" of "pp4 stages=9/9/7/7".
std::string said(std::string_view word, const std::string& layout) {
  const std::size_t begin = fmt::format(" {}", layout).find(fmt::format(" {}", word));
  return layout.substr(begin, layout.find(' ', begin) - begin);
}

void append_layouts(std::vector<Technique>& all) {
  std::vector<ScenarioRequest> seen;
  for (const LayoutTurn& turn : layout_turns()) {
    const ScenarioRequest from = request_of(turn.stage, turn.from), to = request_of(turn.stage, turn.to);
    if (std::ranges::find(seen, to) != seen.end()) continue;  // another spelling
    seen.push_back(to);
    const auto [section, used_by] = use_of(turn.word, to.layout.layout);
    const std::string words = said(turn.word, turn.to);
    all.push_back({section, title_of(turn.word == "zero" ? words : turn.word, words), words,
                   resolve_calibrated(from), resolve_calibrated(to), used_by});
  }
}

// --- recipes ---

/// Fields that are ways of training, in the order of the page. Those left out are sizes and what is known of
/// the machines.
struct RecipeSection {
  std::string_view key, section;
};
constexpr RecipeSection kRecipeSections[] = {
    {"recompute", "Recomputation"},
    {"precision", "Precision of the matrix products"},
    {"parameter_dtype", "Types of the states"},
    {"gradient_dtype", "Types of the states"},
    {"moment_dtype", "Types of the states"},
    {"optimizer", "Optimizers"},
    {"outer_steps", "Optimizers"},
    {"outer_dtype", "Optimizers"},
    {"outer_states", "Optimizers"},
    {"optimizer_in_backward", "Optimizers"},
    {"fine_tune", "Fine-tuning"},
    {"lora_bias", "Fine-tuning"},
    {"saved_modules", "Fine-tuning"},
    {"dora", "Fine-tuning"},
    {"double_quantization", "Fine-tuning"},
    {"lora_targets", "Fine-tuning"},
    {"offload", "Offloading"},
    {"offload_device", "Offloading"},
    {"offload_fraction", "Offloading"},
    {"offload_layers", "Offloading"},
    {"attention", "Kernels"},
    {"cross_entropy", "Kernels"},
    {"fused_norm", "Kernels"},
    {"dropout", "Kernels"},
    {"padding", "Kernels"},
    {"compile", "Kernels"},
    {"cuda_graphs", "Kernels"},
    {"dp_overlap", "Gradients and overlap"},
    {"reduce_gradients", "Gradients and overlap"},
    {"tp_comm_overlap", "Gradients and overlap"},
    {"tp_backward_overlap", "Gradients and overlap"},
    {"pipeline_overlap", "Gradients and overlap"},
    {"ep_overlap", "Experts"},
    {"moe_dispatcher", "Experts"},
    {"capacity_factor", "Experts"},
    {"pad_to_capacity", "Experts"},
};
constexpr std::string_view kNotTechniques[] = {
    "reduce_bucket",
    "prefetch_bucket",
    "live_parameters",
    "reuse_distance",
    "persistence_threshold",
    "sub_group_size",
    "sequence",
    "micro_batch",
    "global_batch",
    "projection_rank",
    "projection_interval",
    "precondition_frequency",
    "max_precondition_dim",
    "lora_rank",
    "lora_alpha",
    "trainable_parameters",
    "tokens",
    "checkpoint",
    "routing_imbalance",
    "gpu_mtbf",
    "checkpoint_interval",
    "node_mtbf",
    "link_mtbf",
    "storage_bandwidth",
    "restart_time",
    "repair_time",
    "spare_nodes",
    "pue",
};

/// Fields of which a run uses more than it says in one word, or says with another number.
struct RecipeUse {
  std::string_view key;
  bool (*used)(const Recipe& asked, const Scenario& s);
};
constexpr RecipeUse kRecipeUses[] = {
    {"offload",
     [](const Recipe& asked, const Scenario& s) { return (s.recipe.offload & asked.offload) != 0; }},
    {"outer_steps", [](const Recipe&, const Scenario& s) { return s.recipe.outer.taken(); }},
    {"outer_dtype",
     [](const Recipe& asked, const Scenario& s) {
       return s.recipe.outer.taken() && s.recipe.outer.dtype == asked.outer.dtype;
     }},
    {"outer_states",
     [](const Recipe& asked, const Scenario& s) {
       return s.recipe.outer.taken() && s.recipe.outer.states == asked.outer.states;
     }},
    {"offload_device",
     [](const Recipe& asked, const Scenario& s) {
       return s.recipe.offload != 0 && s.recipe.offload_device == asked.offload_device;
     }},
    {"offload_fraction",
     [](const Recipe&, const Scenario& s) { return s.recipe.offload != 0 && s.recipe.offload_fraction < 1; }},
    {"offload_layers", [](const Recipe&, const Scenario& s) { return s.recipe.offload_layers > 0; }},
    {"dropout", [](const Recipe&, const Scenario& s) { return s.recipe.dropout > 0; }},
    {"lora_targets",
     [](const Recipe& asked, const Scenario& s) {
       return costmodel::trains_adapters(s.recipe) && s.recipe.lora_targets == asked.lora_targets;
     }},
    {"capacity_factor", [](const Recipe&, const Scenario& s) { return s.recipe.routing.drops(); }},
    {"recompute",
     [](const Recipe& asked, const Scenario& s) {
       const costmodel::Recompute &a = asked.recompute, &r = s.recipe.recompute;
       return a.mode == r.mode && (a.modules == 0 || (a.modules & r.modules) != 0);
     }},
};

std::function<bool(const Scenario&)> use_of(std::string_view key, const Recipe& asked) {
  const auto row = std::ranges::find(kRecipeUses, key, &RecipeUse::key);
  if (row != std::end(kRecipeUses))
    return [asked, used = row->used](const Scenario& s) { return used(asked, s); };
  return [value = recipe_field(key).write(asked), write = recipe_field(key).write](const Scenario& s) {
    return write(s.recipe) == value;
  };
}

std::string said(const RecipeField& field, const std::string& value) {
  return field.flag.empty() ? fmt::format("\"{}\": {}", field.key, value)
                            : fmt::format("{} {}", field.flag, value);
}

/// `turn` without `value`: what it begins with, or where that says the same, its first other value.
ScenarioRequest without(const RecipeTurn& turn, const ScenarioRequest& to) {
  ScenarioRequest from = before(turn);
  for (std::size_t i = 0; from == to && i < turn.values.size(); ++i) from = with(turn, turn.values[i]);
  return from;
}

/// A switch as it stands unasked.
bool is_nothing_new(std::string_view key, const Recipe& asked, std::string_view value) {
  return (value == "true" || value == "false" || value == "none") && recipe_field(key).write(asked).is_null();
}

void append_recipes(std::vector<Technique>& all) {
  std::map<std::string_view, std::vector<Recipe>> seen;
  for (const auto& [key, section] : kRecipeSections) {
    for (const RecipeTurn& turn : recipe_turns()) {
      if (turn.key != key) continue;
      for (const std::string& value : turn.values) {
        const ScenarioRequest to = with(turn, value);
        if (value == "default" || is_nothing_new(key, to.recipe, value) ||
            std::ranges::find(seen[key], to.recipe) != seen[key].end())
          continue;
        seen[key].push_back(to.recipe);
        const std::string words = said(recipe_field(key), value);
        all.push_back({section, title_of(fmt::format("{} {}", key, value), value), words,
                       resolve_calibrated(without(turn, to)), resolve_calibrated(to),
                       use_of(key, to.recipe)});
      }
    }
  }
}

// --- models ---

/// A part of a model that a method is known by.
struct ModelTurn {
  std::string_view title, words;
  const Stage& stage;
  void (*remove)(costmodel::ModelSpec&);
  bool (*has)(const costmodel::ModelSpec&);
};
using costmodel::ModelSpec;
const ModelTurn kModelTurns[] = {
    {"grouped-query attention", "kv_heads", kDense,
     [](ModelSpec& m) { m.attention.kv_heads = m.attention.heads; },
     [](const ModelSpec& m) {
       return m.attention.kind == costmodel::AttentionKind::Grouped &&
              m.attention.kv_heads < m.attention.heads;
     }},
    {"multi-head latent attention", "kv_lora", kLatentLite,
     [](ModelSpec& m) {
       m.attention.kind = costmodel::AttentionKind::Grouped;
       m.attention.kv_lora_rank = m.attention.q_lora_rank = 0;
     },
     [](const ModelSpec& m) { return m.attention.kind == costmodel::AttentionKind::Latent; }},
    {"mixture of experts", "experts", kExperts, [](ModelSpec& m) { m.moe.top_k = 1; },
     [](const ModelSpec& m) { return m.is_moe(); }},
    {"shared experts", "shared_ffn", kLatentLite, [](ModelSpec& m) { m.moe.shared_ffn = 0; },
     [](const ModelSpec& m) { return m.moe.shared_ffn > 0; }},
    {"multi-token prediction", "num_nextn_predict_layers", kLatent, [](ModelSpec& m) { m.mtp_layers = 0; },
     [](const ModelSpec& m) { return m.mtp_layers > 0; }},
};

void append_models(std::vector<Technique>& all) {
  for (const ModelTurn& turn : kModelTurns) {
    CalibratedScenario with = resolve_calibrated(request_of(turn.stage)), without = with;
    turn.remove(without.scenario.model);
    all.push_back({"Models", std::string{turn.title}, std::string{turn.words}, std::move(without),
                   std::move(with), [has = turn.has](const Scenario& s) { return has(s.model); }});
  }
}

}  // namespace

std::vector<Technique> techniques() {
  std::vector<Technique> all;
  append_layouts(all);
  append_recipes(all);
  append_models(all);
  return all;
}

std::vector<std::string_view> fields_without_a_place() {
  std::vector<std::string_view> missing;
  for (const RecipeField& field : recipe_fields()) {
    if (std::ranges::find(kNotTechniques, field.key) == std::end(kNotTechniques) &&
        std::ranges::find(kRecipeSections, field.key, &RecipeSection::key) == std::end(kRecipeSections))
      missing.push_back(field.key);
  }
  return missing;
}

}  // namespace hexaplan::tests
