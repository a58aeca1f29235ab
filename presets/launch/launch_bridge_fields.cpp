// Settings that Megatron-Bridge has beside those of Megatron-LM, or in other words: ConfigContainer as it
// writes itself to YAML. Sources: launch_formats().
#include <array>
#include <cmath>
#include <string>

#include "costmodel/parameters/adapters.h"
#include "presets/launch/launch_fields.h"
#include "presets/launch/launch_readers.h"
#include "presets/launch/launch_reading.h"
#include "presets/launch/launch_words.h"

namespace hexaplan::presets {

using costmodel::AdapterTargets;
using costmodel::AttentionKind;
using costmodel::CudaGraphs;
using costmodel::DType;
using costmodel::ExpertDispatcher;
using costmodel::Optimizer;
using costmodel::PositionKind;
using costmodel::RopeScaling;
using costmodel::Scenario;

namespace {

using S = const Scenario&;
using V = const ValueReader&;
using R = LaunchReading&;

constexpr std::array<std::string_view, kLaunchers> bridge(std::string_view key) {
  return {kNone, kNone, kNone, kNone, key};
}

// --- classes: what a "_target_" names ---

constexpr char kLatentProvider[] = "megatron.bridge.models.mla_provider.MLAModelProvider";
constexpr char kProvider[] = "megatron.bridge.models.gpt_provider.GPTModelProvider";

/// The part behind the last dot: functions and types are named with their modules.
std::string last_name(const std::string& path) {
  return path.substr(path.find_last_of('.') == std::string::npos ? 0 : path.find_last_of('.') + 1);
}
/// Providers of one model are named after it: "Llama3ModelProvider8B".
void read_provider(V v, R r) {
  const std::string name = last_name(v.text());
  if (name.starts_with("MLA")) r.plan.model.attention.kind = AttentionKind::Latent;
  if (name == "GPTModelProvider" || name == "MLAModelProvider") return;
  r.notes.push_back("the model's defaults are those of " + name +
                    ", which are not known here: only what the file says is read");
}

constexpr FrameworkWord<DType> kTorchNames[] = {
    {DType::Bf16, "torch.bfloat16"}, {DType::Fp16, "torch.float16"}, {DType::Fp32, "torch.float32"}};
JsonValue computed_type(S s) {
  return word_of(kTorchNames, costmodel::activation_dtype(s.recipe.precision));
}

// --- the model ---

enum class ActivationName { Silu, Gelu, FastGelu, QuickGelu, Relu, SquaredRelu };
/// src/megatron/bridge/utils/activation_map.py, and what functions are called where they stand.
constexpr FrameworkWord<ActivationName> kBridgeActivations[] = {
    {ActivationName::Silu, "silu"},
    {ActivationName::Gelu, "gelu"},
    {ActivationName::FastGelu, "fast_gelu"},
    {ActivationName::FastGelu, "gelu_pytorch_tanh"},
    {ActivationName::QuickGelu, "quick_gelu"},
    {ActivationName::Relu, "relu"},
    {ActivationName::SquaredRelu, "squared_relu"},
    {ActivationName::SquaredRelu, "relu2"}};

/// The kernels that add the bias compute GELU by tanh (megatron/core/fusions/fused_bias_gelu.py,
/// fused_bias_geglu.py), and transformer_config.py has them for these functions alone.
bool fuses_activation(S s) {
  const costmodel::MlpSpec& mlp = s.model.mlp;
  if (mlp.clamp > 0) return true;
  if (mlp.activation == costmodel::Activation::Silu) return mlp.gated;
  if (mlp.activation != costmodel::Activation::Gelu) return false;
  if (mlp.gelu == costmodel::GeluForm::Quick) return mlp.gated;
  return mlp.gelu == costmodel::GeluForm::Tanh && (mlp.gated || has_linear_bias(s));
}
JsonValue activation(S s) {
  using costmodel::Activation;
  const costmodel::MlpSpec& mlp = s.model.mlp;
  if (mlp.clamp > 0) return "quick_gelu";
  constexpr FrameworkWord<Activation> kPlain[] = {
      {Activation::Silu, "silu"}, {Activation::Relu, "relu"}, {Activation::ReluSquared, "squared_relu"}};
  if (mlp.activation != Activation::Gelu) return word_of(kPlain, mlp.activation);
  if (mlp.gelu == costmodel::GeluForm::Quick) return "quick_gelu";
  return mlp.gelu == costmodel::GeluForm::Tanh && !fuses_activation(s) ? "fast_gelu" : "gelu";
}
void read_activation(V v, R r) {
  std::string name = last_name(v.text());
  const JsonValue word{name};
  using costmodel::Activation;
  costmodel::MlpSpec& mlp = r.plan.model.mlp;
  mlp.gelu = costmodel::GeluForm::Exact;
  switch (meaning_of(kBridgeActivations, ValueReader{v.file(), v.pointer(), word, Reading::Lenient})) {
    case ActivationName::Silu:
      mlp.activation = Activation::Silu;
      break;
    case ActivationName::Relu:
      mlp.activation = Activation::Relu;
      break;
    case ActivationName::SquaredRelu:
      mlp.activation = Activation::ReluSquared;
      break;
    case ActivationName::FastGelu:
      mlp.activation = Activation::Gelu;
      mlp.gelu = costmodel::GeluForm::Tanh;
      break;
    case ActivationName::QuickGelu:
      mlp.activation = Activation::Gelu;
      mlp.gelu = costmodel::GeluForm::Quick;
      break;
    case ActivationName::Gelu:
      mlp.activation = Activation::Gelu;
      break;
  }
}

/// An empty object is null in YAML: its own default is 512.
JsonValue query_rank(S s) {
  if (!has_latent_attention(s)) return {};
  const std::int64_t rank = s.model.attention.q_lora_rank;
  return rank > 0 ? JsonValue{rank} : JsonValue{JsonObject{}};
}

JsonValue bridge_positions(S s) {
  constexpr FrameworkWord<PositionKind> kWords[] = {{PositionKind::Rotary, "rope"},
                                                    {PositionKind::Learned, "learned_absolute"},
                                                    {PositionKind::Alibi, "none"},
                                                    {PositionKind::Sinusoidal, "none"},
                                                    {PositionKind::None, "none"}};
  if (scales_by_yarn(s) && !has_latent_attention(s)) return "yarn";
  return word_of(kWords, s.model.positions);
}
void read_positions(V v, R r) {
  enum class Kind { Rope, Yarn, Learned, None };
  constexpr FrameworkWord<Kind> kKinds[] = {
      {Kind::Rope, "rope"}, {Kind::Yarn, "yarn"}, {Kind::Learned, "learned_absolute"}, {Kind::None, "none"}};
  const Kind kind = meaning_of(kKinds, v);
  r.plan.model.positions = kind == Kind::Learned ? PositionKind::Learned
                           : kind == Kind::None  ? PositionKind::None
                                                 : PositionKind::Rotary;
  if (kind == Kind::Yarn) r.plan.model.rotary.scaling = RopeScaling::Yarn;
}

/// What `m` of yarn_magnitude(factor, m) gives `magnitude` (arXiv:2309.00071 eq. 22).
double yarn_mscale(double factor, double magnitude) {
  return factor > 1 ? (magnitude - 1) / (0.1 * std::log(factor)) : 0;
}
/// Numbers that a file has with fewer digits than we compute them.
double without_noise(double value) {
  const double short_form = std::round(value * 1e6) / 1e6;
  return std::abs(short_form - value) < 1e-9 ? short_form : value;
}
/// Of all scores, and of cosines and sines over them (megatron/core/transformer/multi_latent_attention.py).
double mscale_all(S s) {
  const costmodel::RotarySpec& r = s.model.rotary;
  return without_noise(yarn_mscale(r.factor, std::sqrt(r.score_factor)));
}
double mscale(S s) {
  const costmodel::RotarySpec& r = s.model.rotary;
  return without_noise(yarn_mscale(r.factor, r.attention_factor * std::sqrt(r.score_factor)));
}

template <double costmodel::RotarySpec::*number>
void read_rotary_number(V v, R r) {
  r.plan.model.rotary.*number = v.number({0, 1e15});
}
void read_original_positions(V v, R r) {
  r.plan.model.rotary.original_positions = v.integer({1, 1'000'000'000});
}

JsonValue score_scale(S s) {
  const costmodel::AttentionSpec& a = s.model.attention;
  const bool own = a.score_width > 0 && a.score_width != static_cast<double>(a.head_dim);
  return only_if(own && !has_latent_attention(s), 1 / std::sqrt(a.score_width));
}
void read_score_scale(V v, R r) {
  const double scale = v.number({1e-9, 1e9});
  r.plan.model.attention.score_width = without_noise(1 / (scale * scale));
}

JsonValue layer_list(S s, bool (*has)(costmodel::LayerClass)) {
  JsonArray list;
  for (std::int64_t layer = 0; layer < s.model.layers; ++layer)
    list.emplace_back(std::int64_t{has(costmodel::class_of_layer(s.model, layer)) ? 1 : 0});
  return list;
}
bool all_alike(const JsonValue& list) {
  const JsonArray& values = *list.get_if<JsonArray>();
  for (const JsonValue& value : values) {
    if (!(value == values.front())) return false;
  }
  return true;
}
JsonValue bridge_expert_layers(S s) {
  if (!s.model.is_moe()) return {};
  JsonValue list = layer_list(s, [](costmodel::LayerClass c) { return c.moe; });
  return all_alike(list) ? JsonValue{} : list;
}
JsonValue bridge_windowed_layers(S s) {
  const costmodel::AttentionSpec& a = s.model.attention;
  if (a.window == 0 || (a.global_period == 0 && a.global_layers.empty())) return {};
  if (a.global_layers.empty()) return a.global_period;
  return layer_list(s, [](costmodel::LayerClass c) { return c.windowed; });
}
JsonValue bridge_unrotated_layers(S s) {
  JsonValue list = layer_list(s, [](costmodel::LayerClass c) { return c.unrotated; });
  const bool none = s.model.attention.unrotated_period == 0 && s.model.attention.unrotated_layers.empty();
  return none ? JsonValue{} : list;
}
/// The period, or a list of ones and zeros.
void read_unrotated(V v, R r) {
  costmodel::AttentionSpec& a = r.plan.model.attention;
  if (v.json().get_if<JsonArray>() == nullptr) {
    a.unrotated_period = v.integer({0, 10'000});
    return;
  }
  a.unrotated_layers.clear();
  int layer = 0;
  for (const ValueReader& element : v.elements()) {
    if (element.integer({0, 1}) == 1) a.unrotated_layers.push_back(layer);
    ++layer;
  }
}
/// As text, which settle_reading knows.
template <std::string LaunchReading::*text>
void read_list_text(V v, R r) {
  r.*text = text_in(v);
}
void read_window_pair(V v, R r) {
  std::int64_t before = -1;
  if (v.json().get_if<JsonArray>() == nullptr) {
    before = v.integer({-1, 1'000'000'000});
  } else if (const auto elements = v.elements(); !elements.empty()) {
    before = elements.front().integer({-1, 1'000'000'000});
  }
  r.plan.model.attention.window = before < 0 ? 0 : before + 1;
}

// --- exchange of tokens ---

/// DeepEP needs more than one rank to send to (megatron/core/transformer/moe/token_dispatcher.py).
ExpertDispatcher dispatcher(S s) {
  if (s.recipe.execution.dispatcher != ExpertDispatcher::Default) return s.recipe.execution.dispatcher;
  const bool flex = s.framework.expert_dispatch_merges_copies && s.layout.ep > 1;
  return flex ? ExpertDispatcher::DeepEp : ExpertDispatcher::AllToAll;
}
JsonValue dispatcher_type(S s) {
  constexpr FrameworkWord<ExpertDispatcher> kWords[] = {{ExpertDispatcher::AllToAll, "alltoall"},
                                                        {ExpertDispatcher::AllGather, "allgather"},
                                                        {ExpertDispatcher::DeepEp, "flex"},
                                                        {ExpertDispatcher::HybridEp, "flex"}};
  return s.model.is_moe() ? word_of(kWords, dispatcher(s)) : JsonValue{};
}
constexpr FrameworkWord<ExpertDispatcher> kFlexBackends[] = {{ExpertDispatcher::DeepEp, "deepep"},
                                                             {ExpertDispatcher::HybridEp, "hybridep"}};
JsonValue flex_backend(S s) {
  return s.model.is_moe() ? word_of(kFlexBackends, dispatcher(s)) : JsonValue{};
}

// --- the step ---

constexpr FrameworkWord<Optimizer> kBridgeOptimizers[] = {
    {Optimizer::AdamW, "adam"}, {Optimizer::Sgd, "sgd"}, {Optimizer::Lion, "lion"}};
JsonValue optimizer_name(S s) {
  return word_of(kBridgeOptimizers, s.recipe.optimizer);
}

bool reduces_in_fp32(S s) {
  const bool half = costmodel::activation_dtype(s.recipe.precision) != DType::Fp32;
  return half && gradient_dtype(s) == DType::Fp32;
}
void read_reduction_type(V v, R r) {
  r.gradients_in_fp32 = v.boolean();
  r.gradients_in_bf16 = !r.gradients_in_fp32;
}

constexpr FrameworkWord<CudaGraphs> kGraphs[] = {{CudaGraphs::None, "none"},
                                                 {CudaGraphs::Partial, "transformer_engine"},
                                                 {CudaGraphs::FullIteration, "full_iteration"},
                                                 {CudaGraphs::FullIteration, "local"}};
JsonValue graphs(S s) {
  return word_of(kGraphs, s.recipe.execution.graphs);
}
bool captures(S s) {
  return s.recipe.execution.graphs > CudaGraphs::None;
}
bool captures_step(S s) {
  return s.recipe.execution.graphs == CudaGraphs::FullIteration;
}

JsonValue backend_number(S s) {
  std::int64_t number = 1;
  for (const auto& row : kCoreBackends) {
    if (row.value == core_backend(s)) return JsonArray{JsonValue{number}};
    ++number;
  }
  return {};
}
void read_backend_number(V v, R r) {
  for (const ValueReader& element : v.elements())
    r.plan.recipe.attention =
        kCoreBackends[element.integer({1, static_cast<std::int64_t>(std::size(kCoreBackends))}) - 1].value;
}
void read_backend(V v, R r) {
  r.plan.recipe.attention = meaning_of(kCoreBackends, v);
}

// --- adapters ---

bool bridge_trains_lora(S s) {
  return s.recipe.fine_tune == costmodel::FineTune::Lora && s.recipe.trainable_parameters == 0;
}
struct AdaptedLayers {
  AdapterTargets targets;
  std::array<const char*, 4> layers;
};
/// src/megatron/bridge/peft/lora.py; queries, keys and values are one layer.
constexpr AdaptedLayers kAdapted[] = {
    {AdapterTargets::AllLinear, {"linear_qkv", "linear_proj", "linear_fc1", "linear_fc2"}},
    {AdapterTargets::Attention, {"linear_qkv", "linear_proj"}},
    {AdapterTargets::QueryKeyValue, {"linear_qkv"}},
    {AdapterTargets::Mlp, {"linear_fc1", "linear_fc2"}}};
JsonArray names_in(const AdaptedLayers& row) {
  JsonArray names;
  for (const char* name : row.layers) {
    if (name != nullptr) names.emplace_back(name);
  }
  return names;
}
JsonValue adapted_layers(S s) {
  if (!bridge_trains_lora(s)) return {};
  for (const AdaptedLayers& row : kAdapted) {
    if (row.targets == s.recipe.lora_targets) return names_in(row);
  }
  return {};
}
void read_adapted(V v, R r) {
  r.plan.recipe.fine_tune = costmodel::FineTune::Lora;
  for (const AdaptedLayers& row : kAdapted) {
    if (JsonValue{names_in(row)} == v.json()) {
      r.plan.recipe.lora_targets = row.targets;
      return;
    }
  }
  r.notes.emplace_back("adapters beside these layers have no word of their own: planned beside all of them");
}

// Rows that say what a model computes: import compares presets by them.
constexpr LaunchField kBridgeModel[] = {
    {[](S s) -> JsonValue { return has_latent_attention(s) ? kLatentProvider : kProvider; },
     bridge("model._target_"), read_provider},
    // The provider's own default is that of grouped attention, whatever its name.
    {[](S s) { return when(has_latent_attention(s)); }, bridge("model.multi_latent_attention"),
     [](V v, R r) {
       if (v.boolean()) r.plan.model.attention.kind = AttentionKind::Latent;
     }},
    {query_rank, bridge("model.q_lora_rank"),
     [](V v, R r) {
       r.query_rank_said = true;
       const bool none = v.json().is_null();
       r.plan.model.attention.q_lora_rank = none ? 0 : v.integer({1, 1'000'000});
     },
     true},
    {[](S s) -> JsonValue { return s.model.mlp.gated; }, bridge("model.gated_linear_unit"),
     read_flag<&LaunchReading::gated>},
    {activation, bridge("model.activation_func"), read_activation},
    {[](S s) -> JsonValue { return fuses_activation(s); }, bridge("model.bias_activation_fusion"),
     [](V v, R r) { r.no_gelu_fusion = !v.boolean(); }},
    {[](S s) -> JsonValue { return has_linear_bias(s); }, bridge("model.add_bias_linear"),
     [](V v, R r) { r.no_bias = !v.boolean(); }},
    {bridge_positions, bridge("model.position_embedding_type"), read_positions},
    {[](S s) { return only_if(is_rotary(s), s.model.rotary.base); }, bridge("model.rotary_base"),
     read_rotary_number<&costmodel::RotarySpec::base>},
    // YaRN of latent attention …
    {[](S s) {
       return only_if(has_latent_attention(s) && scales_by_yarn(s), s.model.rotary.original_positions);
     },
     bridge("model.original_max_position_embeddings"), read_original_positions},
    {[](S s) { return only_if(has_latent_attention(s) && scales_by_yarn(s), s.model.rotary.beta_fast); },
     bridge("model.beta_fast"), read_rotary_number<&costmodel::RotarySpec::beta_fast>},
    {[](S s) { return only_if(has_latent_attention(s) && scales_by_yarn(s), s.model.rotary.beta_slow); },
     bridge("model.beta_slow"), read_rotary_number<&costmodel::RotarySpec::beta_slow>},
    {[](S s) { return only_if(has_latent_attention(s) && scales_by_yarn(s), mscale(s)); },
     {"--mscale", kNone, kNone, kNone, "model.mscale"},
     [](V v, R r) {
       r.yarn_mscale = v.number({0, 1e6});
     }},
    {[](S s) { return only_if(has_latent_attention(s) && scales_by_yarn(s), mscale_all(s)); },
     {"--mscale-all-dim", kNone, kNone, kNone, "model.mscale_all_dim"},
     [](V v, R r) {
       r.yarn_mscale_all = v.number({0, 1e6});
     }},
    // … and of the others.
    {[](S s) { return only_if(!has_latent_attention(s) && scales_by_yarn(s), s.model.rotary.factor); },
     bridge("model.yarn_rotary_scaling_factor"), read_rotary_number<&costmodel::RotarySpec::factor>},
    {[](S s) {
       return only_if(!has_latent_attention(s) && scales_by_yarn(s), s.model.rotary.original_positions);
     },
     bridge("model.yarn_original_max_position_embeddings"), read_original_positions},
    {[](S s) { return only_if(!has_latent_attention(s) && scales_by_yarn(s), s.model.rotary.beta_fast); },
     bridge("model.yarn_beta_fast"), read_rotary_number<&costmodel::RotarySpec::beta_fast>},
    {[](S s) { return only_if(!has_latent_attention(s) && scales_by_yarn(s), s.model.rotary.beta_slow); },
     bridge("model.yarn_beta_slow"), read_rotary_number<&costmodel::RotarySpec::beta_slow>},
    {[](S s) { return only_if(!has_latent_attention(s) && scales_by_yarn(s), mscale(s)); },
     bridge("model.yarn_mscale"),
     [](V v, R r) {
       r.yarn_mscale = v.number({0, 1e6});
     }},
    {[](S s) { return only_if(!has_latent_attention(s) && scales_by_yarn(s), 0.0); },
     bridge("model.yarn_mscale_all_dim"),
     [](V v, R r) {
       r.yarn_mscale_all = v.number({0, 1e6});
     }},
    {[](S s) { return only_if(!has_latent_attention(s) && scales_by_yarn(s), s.model.rotary.whole_ramp); },
     bridge("model.yarn_correction_range_round_to_int"),
     [](V v, R r) { r.plan.model.rotary.whole_ramp = v.boolean(); }},
    {score_scale, bridge("model.softmax_scale"), read_score_scale},
    {[](S s) {
       const std::int64_t window = s.model.attention.window;
       return only_if(window > 0, JsonArray{JsonValue{window - 1}, JsonValue{0}});
     },
     bridge("model.window_size"), read_window_pair},
    {bridge_windowed_layers, bridge("model.window_attn_skip_freq"), read_list_text<&LaunchReading::windowed>},
    {bridge_unrotated_layers, bridge("model.no_rope_freq"), read_unrotated},
    {bridge_expert_layers, bridge("model.moe_layer_freq"), read_list_text<&LaunchReading::layer_experts>},
    {[](S s) { return when(s.model.moe.shared_gate); }, bridge("model.moe_shared_expert_gate"),
     [](V v, R r) { r.plan.model.moe.shared_gate = v.boolean(); }},
    {[](S s) -> JsonValue { return s.model.tied_embeddings; },
     bridge("model.share_embeddings_and_output_weights"),
     [](V v, R r) { r.plan.model.tied_embeddings = v.boolean(); }},
    {[](S) -> JsonValue { return true; }, bridge("model.should_pad_vocab")},
};

// Rows of the step and of what stands around it.
constexpr LaunchField kBridgeFrame[] = {
    {[](S) -> JsonValue { return "megatron.bridge.training.config.ConfigContainer"; }, bridge("_target_")},
    {[](S) -> JsonValue { return "megatron.bridge.training.config.TrainingConfig"; },
     bridge("train._target_")},
    {[](S) -> JsonValue { return "megatron.bridge.training.config.OptimizerConfig"; },
     bridge("optimizer._target_")},
    {optimizer_name, bridge("optimizer.optimizer"),
     [](V v, R r) { r.plan.recipe.optimizer = meaning_of(kBridgeOptimizers, v); }},
    {[](S s) { return when(s.layout.sharding.stage > 0); }, bridge("optimizer.use_distributed_optimizer"),
     [](V v, R r) { r.distributed_optimizer = r.distributed_optimizer || v.boolean(); }},
    {[](S s) { return only_if(offloads(s, costmodel::kOffloadOptimizer), s.recipe.offload_fraction); },
     bridge("optimizer.optimizer_offload_fraction"),
     [](V v, R r) { r.plan.recipe.offload_fraction = v.number(kShare); }},
    {[](S) -> JsonValue { return "megatron.bridge.training.config.DistributedDataParallelConfig"; },
     bridge("ddp._target_")},
    {[](S) -> JsonValue { return "megatron.bridge.training.config.DistributedInitConfig"; },
     bridge("dist._target_")},
    {[](S) -> JsonValue { return "megatron.bridge.training.mixed_precision.MixedPrecisionConfig"; },
     bridge("mixed_precision._target_")},
    {[](S s) { return when(costmodel::activation_dtype(s.recipe.precision) == DType::Fp32); },
     bridge("mixed_precision.fp32")},
    {computed_type, bridge("mixed_precision.params_dtype._target_")},
    {[](S) -> JsonValue { return false; }, bridge("mixed_precision.params_dtype._call_")},
    {computed_type, bridge("mixed_precision.pipeline_dtype._target_")},
    {[](S) -> JsonValue { return false; }, bridge("mixed_precision.pipeline_dtype._call_")},
    {[](S s) -> JsonValue { return reduces_in_fp32(s); }, bridge("mixed_precision.grad_reduce_in_fp32"),
     read_reduction_type},
    {[](S s) -> JsonValue { return costmodel::fuses_cross_entropy(s); },
     bridge("model.cross_entropy_loss_fusion"), read_flag<&LaunchReading::fused_loss>},
    {[](S) -> JsonValue { return "megatron.core.transformer.enums.AttnBackend"; },
     bridge("model.attention_backend._target_")},
    {backend_number, bridge("model.attention_backend._args_"), read_backend_number},
    // As overrides say it.
    {[](S) -> JsonValue { return {}; }, bridge("model.attention_backend"), read_backend},
    {[](S) -> JsonValue { return true; }, bridge("model.bias_dropout_fusion")},
    {[](S) -> JsonValue { return true; }, bridge("model.persist_layer_norm")},
    {[](S s) { return when(is_rotary(s) && !has_latent_attention(s)); }, bridge("model.apply_rope_fusion")},
    {dispatcher_type, bridge("model.moe_token_dispatcher_type"),
     [](V v, R r) {
       constexpr FrameworkWord<ExpertDispatcher> kTypes[] = {{ExpertDispatcher::AllToAll, "alltoall"},
                                                             {ExpertDispatcher::AllGather, "allgather"},
                                                             {ExpertDispatcher::DeepEp, "flex"}};
       r.dispatcher = meaning_of(kTypes, v);
     }},
    {flex_backend, bridge("model.moe_flex_dispatcher_backend"),
     [](V v, R r) { r.flex_dispatcher = meaning_of(kFlexBackends, v); }},
    {[](S s) { return when(offloads_counted_layers(s)); }, bridge("model.cpu_offloading")},
    {graphs, bridge("model.cuda_graph_impl"),
     [](V v, R r) { r.plan.recipe.execution.graphs = meaning_of(kGraphs, v); }},
    {[](S s) { return when(captures(s)); }, bridge("model.use_te_rng_tracker")},
    {[](S s) { return only_if(captures_step(s), "megatron.bridge.training.config.RerunStateMachineConfig"); },
     bridge("rerun_state_machine._target_")},
    {[](S s) { return only_if(captures_step(s), false); },
     bridge("rerun_state_machine.check_for_nan_in_loss")},
    {[](S s) {
       return only_if(bridge_trains_lora(s),
                      s.recipe.dora ? "megatron.bridge.peft.dora.DoRA" : "megatron.bridge.peft.lora.LoRA");
     },
     bridge("peft._target_"),
     [](V v, R r) {
       const std::string name = last_name(v.text());
       r.plan.recipe.dora = name == "DoRA";
       if (r.plan.recipe.dora || name == "LoRA") r.plan.recipe.fine_tune = costmodel::FineTune::Lora;
     }},
    {adapted_layers, bridge("peft.target_modules"), read_adapted},
    {[](S s) { return only_if(bridge_trains_lora(s), adapter_rank(s)); }, bridge("peft.dim"),
     [](V v, R r) {
       r.plan.recipe.lora_rank = v.integer({1, 1'000'000});
     }},
    // Its own default is 32 whatever the rank.
    {[](S s) { return only_if(bridge_trains_lora(s), adapter_alpha(s)); }, bridge("peft.alpha"),
     [](V v, R r) {
       r.trainer.alpha = v.integer({1, 1'000'000});
     }},
    {[](S) -> JsonValue { return "megatron.bridge.training.config.SchedulerConfig"; },
     bridge("scheduler._target_")},
    {[](S) -> JsonValue { return "megatron.bridge.training.config.MockGPTDatasetConfig"; },
     bridge("dataset._target_")},
    {[](S s) -> JsonValue { return s.recipe.sequence; }, bridge("dataset.seq_length"),
     [](V v, R r) {
       if (r.plan.recipe.sequence == 0) r.plan.recipe.sequence = v.integer({1, 1'000'000'000});
     }},
    {[](S) -> JsonValue { return 1234; }, bridge("dataset.random_seed")},
    {[](S) -> JsonValue { return false; }, bridge("dataset.reset_position_ids")},
    {[](S) -> JsonValue { return false; }, bridge("dataset.reset_attention_mask")},
    {[](S) -> JsonValue { return false; }, bridge("dataset.eod_mask_loss")},
    {[](S) -> JsonValue { return "single"; }, bridge("dataset.dataloader_type")},
    {[](S) -> JsonValue { return "megatron.bridge.training.config.LoggerConfig"; },
     bridge("logger._target_")},
    {[](S) -> JsonValue { return "megatron.bridge.training.tokenizers.config.TokenizerConfig"; },
     bridge("tokenizer._target_")},
    {[](S) -> JsonValue { return "NullTokenizer"; }, bridge("tokenizer.tokenizer_type")},
    {[](S s) -> JsonValue { return s.model.vocab; }, bridge("tokenizer.vocab_size")},
    {[](S) -> JsonValue { return "megatron.bridge.training.config.CheckpointConfig"; },
     bridge("checkpoint._target_")},
};

}  // namespace

std::span<const LaunchField> bridge_model_fields() {
  return kBridgeModel;
}
std::span<const LaunchField> launch_bridge_fields() {
  return kBridgeFrame;
}

}  // namespace hexaplan::presets
