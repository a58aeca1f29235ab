#pragma once
#include <cstdint>
#include <functional>

#include "costmodel/spec/model_spec.h"
#include "presets/models/config_fields.h"

namespace hexaplan::presets {

// What rows of model_families.cpp share: parts of config.json that many families have, each with defaults of
// its own. All throw InputError for values that no model can have.

inline constexpr RealRange kCoefficient{0.0, 1e6};
inline constexpr Key kWindow{"sliding_window"};

/// True for the layers that are meant.
using LayerRule = std::function<bool(std::int64_t)>;
/// The layers whose numbers stand under `key`; `absent` where the file has no such list.
[[nodiscard]] LayerRule listed_layers(ConfigFields& fields, const costmodel::ModelSpec& model, Key key,
                                      LayerRule absent);

// --- Attention -------------------------------------------------------------------------------------------

/// On queries, keys and values together, and on the output product.
void set_attention_bias(costmodel::ModelSpec& model, bool bias);
/// Scores times `scale`; 0: over the root of a head's width.
void set_score_scale(costmodel::ModelSpec& model, double scale);
/// A number, or null for none, which is 0.
[[nodiscard]] double read_or_none(ConfigFields& fields, Key key, double absent);

/// Every layer, unless the window is null.
void read_plain_window(ConfigFields& fields, costmodel::ModelSpec& model, std::int64_t absent);
/// layer_types where the file has it, else `windowed`.
void read_windows(ConfigFields& fields, costmodel::ModelSpec& model, std::int64_t window,
                  const LayerRule& windowed);
/// `period` - 1 windowed layers, then a global one.
void read_alternating_windows(ConfigFields& fields, costmodel::ModelSpec& model, std::int64_t absent,
                              std::int64_t period);
/// A global layer, then `period` - 1 windowed ones.
void read_windows_behind_global(ConfigFields& fields, costmodel::ModelSpec& model, std::int64_t absent,
                                std::int64_t period);
/// Qwen's, switched off in most files: from layer max_window_layers on.
void read_qwen_windows(ConfigFields& fields, costmodel::ModelSpec& model);

/// Layers without rotary positions.
void set_unrotated(costmodel::ModelSpec& model, const LayerRule& unrotated);
/// no_rope_layers (0: none there), else every no_rope_layer_interval-th of the model's layers.
void read_unrotated(ConfigFields& fields, costmodel::ModelSpec& model);

struct LatentDefaults {
  std::int64_t q_rank = 1536, kv_rank = 512, nope = 128, rope = 64, value = 128;
};
/// Multi-head latent attention.
void read_latent_attention(ConfigFields& fields, costmodel::ModelSpec& model, const LatentDefaults& = {});

// --- Recurrent layers ------------------------------------------------------------------------------------

/// layer_types where the file has it, else `attends`: layers that attend in a model whose others keep a
/// state. Where all attend the model has no recurrence.
void read_attention_layers(ConfigFields& fields, costmodel::ModelSpec& model, const LayerRule& attends);
/// layer_types where the file has it, else the rules: layers that attend, some of them within a window, in a
/// model whose others keep a state.
void read_mixed_layers(ConfigFields& fields, costmodel::ModelSpec& model, std::int64_t window,
                       const LayerRule& attends, const LayerRule& windowed);
/// Layers of single branches, by words of layers_block_type or letters of hybrid_override_pattern
/// (Nemotron-H). Sets how many there are.
void read_branches(ConfigFields& fields, costmodel::ModelSpec& model);
/// Multi-token-prediction modules of such a model: attention and experts each, or attention and an MLP where
/// it has no experts; others are refused. Precondition: experts are read.
void read_branch_modules(ConfigFields& fields, costmodel::ModelSpec& model);

// --- Experts ---------------------------------------------------------------------------------------------

struct MoeFields {
  Key experts;
  std::int64_t experts_absent;
  std::int64_t top_k_absent;  // 0 = the file must say
  Key ffn;
  std::int64_t ffn_absent;
  Key top_k{"num_experts_per_tok"};
  double balance_absent = 0.001;  // 0: the class knows no balance loss
};
/// Routed experts; none where their number is null.
void read_experts(ConfigFields& fields, costmodel::ModelSpec& model, const MoeFields& moe);
/// Layer i has experts when it is not listed in mlp_only_layers and (i + 1) % decoder_sparse_step == 0.
void read_sparse_layers(ConfigFields& fields, costmodel::ModelSpec& model);
/// mlp_layer_types ("dense", "sparse") where the file has it, else `sparse`.
void read_mlp_layer_types(ConfigFields& fields, costmodel::ModelSpec& model, const LayerRule& sparse);
/// Layers for which `sparse` is false have no experts.
void set_expert_layers(costmodel::ModelSpec& model, const LayerRule& sparse);

enum class ChoiceOfExperts : std::uint8_t { Greedy, Grouped, Corrected };
struct RouterDefaults {
  ChoiceOfExperts choice;
  costmodel::RouterScore score;
  std::int64_t groups, top_groups;
  double weight_factor;
  bool renormalise;
};
/// "softmax" or "sigmoid".
[[nodiscard]] costmodel::RouterScore read_router_score(ConfigFields& fields, Key key,
                                                       costmodel::RouterScore absent);
void read_deepseek_router(ConfigFields& fields, costmodel::ModelSpec& model, const RouterDefaults& absent);

struct DeepseekDefaults {
  std::int64_t experts, shared, top_k, expert_ffn, first_k_dense;
  Key experts_key{"n_routed_experts", "num_local_experts"}, shared_key{"n_shared_experts"};
};
/// Routed and shared experts, and the layers that have them.
void read_deepseek_experts(ConfigFields& fields, costmodel::ModelSpec& model, const DeepseekDefaults& absent);
/// Throws InputError where `key` asks for biases, which shared experts would have, too.
void refuse_shared_biases(ConfigFields& fields, Key key);
/// Routing as DeepSeek-V3's in a model with grouped-query attention.
void read_corrected_experts(ConfigFields& fields, costmodel::ModelSpec& model, const DeepseekDefaults& absent,
                            double weight_factor, bool renormalise);

}  // namespace hexaplan::presets
