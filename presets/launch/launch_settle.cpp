// What settings say together, framework by framework, and what each does when its file says nothing.
#include "presets/launch/launch_settle.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <utility>

#include "costmodel/spec/stage_plan.h"
#include "costmodel/units/parse_number.h"
#include "presets/launch/launch_reading.h"
#include "presets/launch/launch_words.h"
#include "presets/launch/maxtext_plan.h"
#include "presets/launch/trainer_plan.h"
#include "presets/models/rotary_fields.h"
#include "presets/scenario/scenario_request.h"

namespace hexaplan::presets {

using costmodel::DType;
using costmodel::Precision;
using costmodel::RecomputeMode;
using costmodel::ScheduleKind;
using costmodel::StageSplit;

namespace {

using R = LaunchReading&;

/// As pretrain_gpt.py has them (core_v0.15.3 megatron/training/arguments.py).
void begin_megatron(R r) {
  costmodel::ModelSpec& m = r.plan.model;
  m.norm = costmodel::NormKind::Layer;
  m.positions = costmodel::PositionKind::Learned;
  m.mlp.gated = false;
  m.mlp.activation = costmodel::Activation::Gelu;
  m.tied_embeddings = true;
  m.moe.top_k = 2;
  m.moe.renormalise = true;
  m.moe.balance_coefficient = 0;
}
/// v0.6.0 src/megatron/bridge/models/gpt_provider.py, mla_provider.py, training/mixed_precision.py.
void begin_bridge(R r) {
  begin_megatron(r);
  r.fused_loss = true;
  r.no_gelu_fusion = true;
  r.fp8_recipe = "tensorwise";
}
/// LlamaConfig of nanotron (19f88fb src/nanotron/config/models_config.py).
void begin_nanotron(R r) {
  r.plan.model.norm_epsilon = 1e-6;
}
/// v0.2.2 torchtitan/config/job_config.py.
void begin_torchtitan(R r) {
  r.local_batch = 8;
  r.pipeline_batch = 1;
  r.plan.recipe.sequence = 2048;
  r.brain = true;
  r.replicas = 1;
  r.shards = -1;
  r.granularity = "selective";
  r.method = "2";
  r.strategy = "default";
}

// --- layers over stages ---

constexpr std::size_t kMostLayoutWords = 100'000;

/// Of "(...)" at `begin`: where it ends; npos when it does not.
std::size_t closing_bracket(std::string_view text, std::size_t begin) {
  int open = 0;
  for (std::size_t end = begin; end < text.size(); ++end) {
    open += text[end] == '(' ? 1 : text[end] == ')' ? -1 : 0;
    if (open == 0) return end;
  }
  return std::string_view::npos;
}

/// "*3" at `at`, which moves behind it; 1 without a star, nothing when no number follows.
std::optional<std::size_t> take_times(std::string_view text, std::size_t& at) {
  if (at >= text.size() || text[at] != '*') return 1;
  const std::size_t digits = std::min(text.find_first_not_of("0123456789", at + 1), text.size());
  const auto count = costmodel::parse_number<std::uint16_t>(text.substr(at + 1, digits - at - 1));
  at = digits;
  if (!count) return std::nullopt;
  return *count;
}

/// Writes out "(tt|)*3" and "t*3" (core_v0.15.3 megatron/core/transformer/pipeline_parallel_layer_layout.py).
/// False when it is something else.
bool write_out(std::string_view text, std::string& into, int depth) {
  for (std::size_t i = 0; i < text.size() && into.size() < kMostLayoutWords && depth < 8;) {
    std::string unit;
    if (text[i] == '(') {
      const std::size_t end = closing_bracket(text, i);
      if (end == std::string_view::npos || !write_out(text.substr(i + 1, end - i - 1), unit, depth + 1))
        return false;
      i = end + 1;
    } else {
      unit = text[i++];
    }
    const std::optional<std::size_t> times = take_times(text, i);
    if (!times) return false;
    for (std::size_t n = 0; n < *times && into.size() < kMostLayoutWords; ++n) into += unit;
  }
  return into.size() < kMostLayoutWords;
}

/// Layers of every chunk; empty when the text is something else.
std::vector<int> layers_of_chunks(std::string_view text) {
  std::string whole;
  if (!write_out(text, whole, 0)) return {};
  std::vector<int> chunks{0};
  for (const char c : whole) {
    if (c == '|') {
      chunks.push_back(0);
    } else if (c == 't') {
      ++chunks.back();
    } else if (c != 'E' && c != 'L' && c != 'm' && c != ',' && c != ' ') {
      return {};
    }
  }
  return chunks;
}

/// The split that has these layers, by its name where one has it.
void take_stages(R r, const std::vector<int>& chunks) {
  costmodel::Layout& layout = r.plan.layout;
  for (const StageSplit split :
       {StageSplit::Even, StageSplit::ComputeCost, StageSplit::EmbeddingCounts, StageSplit::EndsMinusOne}) {
    layout.split = split;
    if (costmodel::chunk_layers(r.plan) == chunks) return;
  }
  layout.split = StageSplit::Explicit;
  layout.stage_layers = chunks;
}

/// Model chunks per stage, of whose layers Megatron-LM is told the number: embedding and loss count where
/// they are asked to, and what does not divide is refused (core_v0.15.3 megatron/training/arguments.py,
/// validate_args).
void take_virtual_layers(R r) {
  if (r.virtual_layers == 0) return;
  costmodel::Layout& layout = r.plan.layout;
  const std::int64_t layers = r.plan.model.layers;
  const std::int64_t counted = layers + (r.counts_embedding ? 1 : 0) + (r.counts_loss ? 1 : 0);
  const std::int64_t chunks = layout.pp * r.virtual_layers;
  if (layers == 0) {
    r.notes.push_back(fmt::format(
        "the chunks of a stage, {} layers each, need the model's number of layers: one is planned",
        r.virtual_layers));
  } else if (counted % chunks != 0) {
    r.notes.push_back(
        fmt::format("{} layers{} do not fill {} stages with chunks of {}, which Megatron-LM refuses: one "
                    "chunk is planned",
                    counted, counted > layers ? ", embedding and loss counted as asked," : "", layout.pp,
                    r.virtual_layers));
  } else {
    layout.vpp = static_cast<int>(std::min<std::int64_t>(counted / chunks, 1'000'000));
  }
}

void settle_stages(R r) {
  costmodel::Layout& layout = r.plan.layout;
  const std::int64_t layers = r.plan.model.layers;
  if (!r.stage_text.empty()) {
    const std::vector<int> chunks = layers_of_chunks(r.stage_text);
    if (!chunks.empty() && chunks.size() % static_cast<std::size_t>(layout.pp) == 0 && layout.pp > 1) {
      layout.vpp = static_cast<int>(chunks.size()) / layout.pp;
      layout.schedule = layout.vpp > 1 ? ScheduleKind::Interleaved : ScheduleKind::OneFOneB;
      std::int64_t total = 0;
      for (const int chunk : chunks) total += chunk;
      if (total == layers) return take_stages(r, chunks);
    }
    r.notes.emplace_back("the layers of pipeline stages could not be read; an even split is assumed");
  }
  take_virtual_layers(r);
  if (layout.vpp > 1) layout.schedule = ScheduleKind::Interleaved;
  if (r.counts_embedding && r.counts_loss) {
    layout.split = StageSplit::EmbeddingCounts;
  } else if (r.counts_embedding || r.counts_loss) {
    r.notes.emplace_back(
        "of embedding and loss, one counts as a layer of its stage: an even split is assumed");
  }
}

// --- the model ---

/// "([0]*3+[1]*58)", "[0,1,1]" or a period: which layers have experts, as 0 and 1. Empty when it is something
/// else.
std::vector<int> expert_pattern(std::string_view text, std::int64_t layers) {
  std::vector<int> pattern;
  if (const auto period = costmodel::parse_number<std::int64_t>(text)) {
    for (std::int64_t i = 0; *period > 0 && i < layers; ++i) pattern.push_back(i % *period == 0 ? 1 : 0);
    return pattern;
  }
  std::vector<int> unit;
  bool inside = false;
  for (std::size_t i = 0; i < text.size() && pattern.size() < kMostLayoutWords; ++i) {
    const char c = text[i];
    if (c == '[') {
      inside = true;
      unit.clear();
    } else if (c == ']') {
      inside = false;
      std::size_t behind = i + 1;
      std::size_t times = take_times(text, behind).value_or(0);
      i = behind - 1;
      for (; times > 0 && pattern.size() < kMostLayoutWords; --times)
        pattern.insert(pattern.end(), unit.begin(), unit.end());
    } else if (c == '0' || c == '1') {
      if (inside) unit.push_back(c - '0');
    } else if (c != ',' && c != '+' && c != '(' && c != ')' && c != ' ') {
      return {};
    }
  }
  return pattern;
}

/// `bias`: of the model's linear layers.
void settle_experts(R r, bool bias) {
  costmodel::MoeSpec& moe = r.plan.model.moe;
  if (!r.plan.model.is_moe()) {
    moe = {};
    return;
  }
  moe.expert_bias = bias;
  const std::int64_t layers = r.plan.model.layers;
  if (moe.expert_ffn == 0) moe.expert_ffn = r.plan.model.mlp.ffn;
  if (r.layer_experts.empty() || r.layer_experts == "1") return;
  const std::vector<int> pattern = expert_pattern(r.layer_experts, layers);
  if (static_cast<std::int64_t>(pattern.size()) != layers) {
    r.notes.push_back(
        fmt::format("which layers have experts could not be read from \"{}\"", r.layer_experts));
    return;
  }
  moe.first_k_dense = std::find(pattern.begin(), pattern.end(), 1) - pattern.begin();
  const auto is_moe = [&](std::int64_t i, std::int64_t period) {
    return (i + 1) % period == 0 && i >= moe.first_k_dense;
  };
  for (std::int64_t period = 1; period <= layers; ++period) {
    bool same = true;
    for (std::int64_t i = 0; i < layers && same; ++i)
      same = is_moe(i, period) == (pattern[static_cast<std::size_t>(i)] == 1);
    moe.period = period;
    if (same) return;
  }
  moe.period = 1;
  for (std::int64_t i = moe.first_k_dense; i < layers; ++i) {
    if (pattern[static_cast<std::size_t>(i)] == 0) moe.dense_layers.push_back(static_cast<int>(i));
  }
}

void settle_windows(R r) {
  costmodel::AttentionSpec& a = r.plan.model.attention;
  if (a.window == 0 || r.windowed.empty()) return;
  if (const auto period = costmodel::parse_number<std::int64_t>(r.windowed)) {
    a.global_period = std::clamp<std::int64_t>(*period, 0, r.plan.model.layers);
    return;
  }
  const std::vector<int> pattern = expert_pattern(r.windowed, r.plan.model.layers);
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == 0) a.global_layers.push_back(static_cast<int>(i));
  }
}

/// Factors of cosines and sines, and of latent attention's scores (megatron/core/transformer/
/// multi_latent_attention.py).
void settle_yarn(R r) {
  costmodel::RotarySpec& rotary = r.plan.model.rotary;
  const double all = yarn_magnitude(rotary.factor, r.yarn_mscale_all.value_or(0));
  rotary.attention_factor = yarn_magnitude(rotary.factor, r.yarn_mscale.value_or(1)) / all;
  if (r.plan.model.attention.kind == costmodel::AttentionKind::Latent) rotary.score_factor = all * all;
}

/// Megatron-LM's switches for biases, gates and GELU.
void settle_megatron_model(R r) {
  costmodel::ModelSpec& m = r.plan.model;
  const bool bias = !r.no_bias;
  m.attention.qkv_bias = bias || r.qkv_bias;
  m.attention.output_bias = m.mlp.bias = bias;
  m.norm_bias = m.norm == costmodel::NormKind::Layer;
  const bool clamped = m.mlp.clamp > 0;
  m.mlp.gated = r.gated || r.quick_gate;
  m.mlp.activation = r.gated || clamped ? costmodel::Activation::Silu : costmodel::Activation::Gelu;
  if (r.squared_relu && !m.mlp.gated) m.mlp.activation = costmodel::Activation::ReluSquared;
  if (m.mlp.gated) {
    m.mlp.gelu = r.quick_gate && !clamped ? costmodel::GeluForm::Quick : costmodel::GeluForm::Exact;
  } else {
    m.mlp.gelu = bias && !r.no_gelu_fusion ? costmodel::GeluForm::Tanh : costmodel::GeluForm::Exact;
  }
  if (m.mlp.ffn == 0 && r.says_model) m.mlp.ffn = r.gated ? m.hidden * 8 / 3 / 64 * 64 : 4 * m.hidden;
  if (m.rotary.scaling == costmodel::RopeScaling::Llama3) {
    m.rotary.original_positions = 8192;
    if (m.rotary.factor == 1) m.rotary.factor = 8;
  }
  if (m.rotary.scaling == costmodel::RopeScaling::Yarn) {
    m.rotary.original_positions = 4096;
    settle_yarn(r);
  }
  settle_experts(r, bias);
}

// --- precision, recomputation, sharding ---

/// The precision-aware optimizer's. Moments of two types are planned in the wider one.
void settle_moments(R r) {
  if (!r.first_moment && !r.second_moment) return;
  const DType first = r.first_moment.value_or(DType::Fp32), second = r.second_moment.value_or(DType::Fp32);
  using costmodel::bits_per_element;
  const DType wider = bits_per_element(first) < bits_per_element(second) ? second : first;
  if (first != second) r.notes.emplace_back("moments of two types are planned as if both had the wider one");
  if (wider != r.plan.framework.moment_dtype) r.plan.recipe.moment_dtype = wider;
}

/// Of attention's scores and of what is added to the residual stream: 0.1 each where the files say nothing.
void take_dropout(R r) {
  const double scores = r.attention_dropout.value_or(0.1), hidden = r.hidden_dropout.value_or(0.1);
  r.plan.recipe.dropout = std::max(scores, hidden);
  if (scores != hidden)
    r.notes.push_back(
        fmt::format("dropout is {} in attention and {} behind it, which are one number here: {} is "
                    "planned for both",
                    scores, hidden, r.plan.recipe.dropout));
}

void settle_megatron_recipe(R r) {
  costmodel::Recipe& recipe = r.plan.recipe;
  recipe.precision = sixteen_or_more(r);
  if (r.fp8) {
    const std::string& kind = r.fp8_recipe;
    recipe.precision = kind == "blockwise" ? Precision::Fp8Block
                       : kind == "mxfp8"   ? Precision::Mxfp8
                                           : Precision::Fp8;
    // Megatron-LM's default (megatron/training/arguments.py, --fp8-recipe).
    if (kind.empty() || kind == "delayed")
      r.notes.emplace_back(
          "fp8 with delayed scaling is planned as with current scaling, under which no 8-bit copy is kept of "
          "what is kept in 16 bits anyway");
  }
  if (r.fp4) recipe.precision = Precision::Nvfp4;
  if (recipe.attention == costmodel::AttentionKernel::FlashAttention2)
    r.notes.emplace_back(
        "the attention backend \"flash\" is planned as FlashAttention-2; where its third version is "
        "installed "
        "(Hopper), add --attention flash");
  using costmodel::CudaGraphs;
  if (r.graphs_whole_step && recipe.execution.graphs == CudaGraphs::Partial)
    recipe.execution.graphs = CudaGraphs::FullIteration;
  // validate_args sums in fp32 unless it is told otherwise; with fp16 it is the other way round.
  const bool in_half = r.half && !r.gradients_in_fp32;
  take_gradient_type(r, r.gradients_in_bf16 ? DType::Bf16 : in_half ? DType::Fp16 : DType::Fp32);
  const bool fused = r.fused_loss.value_or(false);
  if (fused != r.plan.framework.fused_cross_entropy)
    recipe.cross_entropy = fused ? costmodel::CrossEntropy::Fused : costmodel::CrossEntropy::Unfused;
  if (r.overlaps_gradients != (r.plan.framework.gradient_overlap != costmodel::GradientOverlap::None))
    recipe.execution.data_overlap = r.overlaps_gradients;
  take_dropout(r);
  settle_moments(r);
}

void settle_megatron_recomputation(R r) {
  costmodel::Recompute& recompute = r.plan.recipe.recompute;
  if (r.granularity == "selective") {
    const std::uint16_t modules = recompute.modules;
    const bool core_alone = modules == 0 || modules == costmodel::kRecomputeCoreAttention;
    recompute.mode = core_alone && modules == 0 ? RecomputeMode::Selective : RecomputeMode::SelectiveModules;
  } else if (r.granularity == "full") {
    if (r.method == "block") {
      recompute.mode = RecomputeMode::Layers;
      recompute.layers =
          static_cast<int>(std::min<std::int64_t>(r.recompute_count, std::numeric_limits<int>::max()));
    } else {
      recompute.mode = RecomputeMode::Full;
      if (r.recompute_count > 1)
        r.notes.push_back(
            fmt::format("checkpoints every {} layers are planned as one of every layer", r.recompute_count));
    }
  }
  if (recompute.mode != RecomputeMode::SelectiveModules) recompute.modules = 0;
}

/// A group of `size` ranks where that is not all of them.
void take_group(R r, std::int64_t size) {
  const costmodel::Layout& layout = r.plan.layout;
  if (size < static_cast<std::int64_t>(layout.dp) * layout.cp)
    r.plan.layout.sharding.group = static_cast<int>(size);
}

void settle_megatron_sharding(R r) {
  constexpr FrameworkWord<int> kStrategies[] = {
      {0, "no_shard"}, {1, "optim"}, {2, "optim_grads"}, {3, "optim_grads_params"}};
  costmodel::Sharding& sharding = r.plan.layout.sharding;
  sharding.stage = r.distributed_optimizer ? 1 : 0;
  if (r.fsdp) {
    for (const auto& row : kStrategies) {
      if (r.strategy == row.word) sharding.stage = row.value;
    }
  }
  if (r.replicas <= 1 || sharding.stage == 0) return;
  if (r.gpus > 0) {
    take_group(r, std::int64_t{r.plan.layout.dp} * r.plan.layout.cp / r.replicas);
  } else {
    r.notes.emplace_back("the size of the groups that shard the optimizer needs the number of GPUs");
  }
}

/// dp, where the world's size is known.
void settle_world(R r) {
  costmodel::Layout& layout = r.plan.layout;
  const std::int64_t others = layout.ranks_per_dp();
  if (r.dp_said) {
    if (r.gpus == 0 && layout.dp <= 10'000'000 / others) r.gpus = layout.dp * others;
  } else if (r.gpus > 0 && r.gpus % others == 0) {
    layout.dp = static_cast<int>(r.gpus / others);
  }
}

void settle_megatron(R r) {
  settle_megatron_model(r);
  settle_dimensions(r);
  settle_windows(r);
  settle_megatron_recipe(r);
  settle_megatron_recomputation(r);
  settle_stages(r);
  settle_megatron_sharding(r);
}

/// Megatron-Bridge's provider says the function itself; what its kernels fuse with the bias is the
/// approximation by tanh (launch_bridge_fields.cpp).
void settle_bridge_model(R r) {
  costmodel::ModelSpec& m = r.plan.model;
  const bool bias = !r.no_bias;
  m.attention.qkv_bias = bias || r.qkv_bias;
  m.attention.output_bias = m.mlp.bias = bias;
  m.norm_bias = m.norm == costmodel::NormKind::Layer;
  m.mlp.gated = r.gated;
  if (m.mlp.clamp > 0) {
    m.mlp.activation = costmodel::Activation::Silu;
    m.mlp.gelu = costmodel::GeluForm::Exact;
  } else if (m.mlp.activation == costmodel::Activation::Gelu && m.mlp.gelu == costmodel::GeluForm::Exact &&
             !r.no_gelu_fusion) {
    m.mlp.gelu = costmodel::GeluForm::Tanh;
  }
  if (m.mlp.ffn == 0 && r.says_model) m.mlp.ffn = 4 * m.hidden;
  if (m.positions == costmodel::PositionKind::Learned) m.max_positions = r.plan.recipe.sequence;
  if (m.attention.kind == costmodel::AttentionKind::Latent) {
    if (!r.query_rank_said) m.attention.q_lora_rank = 512;
    if (m.attention.kv_lora_rank == 0) m.attention.kv_lora_rank = 512;
  }
  settle_experts(r, bias);
}

void settle_bridge_rotary(R r) {
  costmodel::RotarySpec& rotary = r.plan.model.rotary;
  using costmodel::RopeScaling;
  if (rotary.scaling == RopeScaling::None) {
    rotary.factor = 1;
    rotary.original_positions = 0;
  } else if (rotary.scaling == RopeScaling::Llama3) {
    rotary.original_positions = 8192;
  } else if (rotary.scaling == RopeScaling::Yarn) {
    if (rotary.original_positions == 0) rotary.original_positions = 4096;
    settle_yarn(r);
  }
}

/// The exchange that stands behind "flex" where a plan says nothing else.
void settle_dispatcher(R r) {
  using costmodel::ExpertDispatcher;
  if (!r.dispatcher || !r.plan.model.is_moe()) return;
  const bool flex = *r.dispatcher == ExpertDispatcher::DeepEp;
  const ExpertDispatcher said = flex ? r.flex_dispatcher.value_or(*r.dispatcher) : *r.dispatcher;
  const bool usually_flex = r.plan.framework.expert_dispatch_merges_copies && r.plan.layout.ep > 1;
  const ExpertDispatcher usual = usually_flex ? ExpertDispatcher::DeepEp : ExpertDispatcher::AllToAll;
  r.plan.recipe.execution.dispatcher = said == usual ? ExpertDispatcher::Default : said;
}

/// Its LoRA has alpha 32 whatever the rank, its DoRA 64 (v0.6.0 src/megatron/bridge/peft/lora.py, dora.py).
void settle_bridge_adapters(R r) {
  costmodel::Recipe& recipe = r.plan.recipe;
  if (recipe.fine_tune != costmodel::FineTune::Lora) return;
  const std::int64_t rank = recipe.lora_rank > 0 ? recipe.lora_rank : r.plan.framework.adapter_rank;
  const std::int64_t alpha = r.trainer.alpha > 0 ? r.trainer.alpha : recipe.dora ? 64 : 32;
  if (alpha != 2 * rank) recipe.lora_alpha = alpha;
}

void settle_bridge(R r) {
  if ((r.plan.recipe.offload & costmodel::kOffloadOptimizer) == 0) r.plan.recipe.offload_fraction = 1;
  settle_bridge_adapters(r);
  settle_bridge_model(r);
  settle_bridge_rotary(r);
  settle_dimensions(r);
  settle_windows(r);
  if (r.half || !r.brain) r.gradients_in_bf16 = false;
  settle_megatron_recipe(r);
  settle_megatron_recomputation(r);
  settle_stages(r);
  settle_megatron_sharding(r);
  settle_dispatcher(r);
}

void settle_nanotron(R r) {
  r.plan.model.attention.qkv_bias = r.qkv_bias;
  settle_dimensions(r);
  r.plan.recipe.precision = sixteen_or_more(r);
  take_gradient_type(r, r.gradients_in_fp32 || r.plan.recipe.precision == Precision::Fp32 ? DType::Fp32
                        : r.half                                                          ? DType::Fp16
                                                                                          : DType::Bf16);
  if (r.granularity == "full") r.plan.recipe.recompute.mode = RecomputeMode::Full;
  costmodel::Layout& layout = r.plan.layout;
  if (layout.pp == 1 || r.plan.model.layers < layout.pp) return;
  layout.split = StageSplit::ComputeCost;
  take_stages(r, costmodel::chunk_layers(r.plan));
}

void settle_torch_sharding(R r) {
  costmodel::Layout& layout = r.plan.layout;
  const std::int64_t others = layout.ranks_per_dp();
  if (r.shards > 0) {
    r.dp_said = true;
    layout.dp = static_cast<int>(std::min<std::int64_t>(r.replicas * r.shards, 1'000'000));
    if (r.gpus == 0 && layout.dp <= 10'000'000 / others) r.gpus = layout.dp * others;
  }
  const bool shards = r.shards != 1 || layout.cp > 1;
  if (!shards) return;
  const bool keeps = r.strategy == "never" || (r.strategy == "default" && layout.pp > 1);
  layout.sharding.stage = keeps ? 2 : 3;
  if (r.replicas <= 1) return;
  if (r.shards > 0) {
    take_group(r, r.shards * layout.cp);
  } else if (r.gpus > 0) {
    take_group(r, static_cast<std::int64_t>(layout.dp) * layout.cp / r.replicas);
  } else {
    r.notes.emplace_back("the size of the groups that shard the state needs the number of GPUs");
  }
}

/// Batches counted in tokens, and what else is another default in torchtitan since it counts them so
/// (torchtitan@b5bcd76 torchtitan/config/configs.py, trainer.py).
void settle_torch_tokens(R r) {
  costmodel::Recipe& recipe = r.plan.recipe;
  const std::int64_t sequence = std::max<std::int64_t>(1, recipe.sequence);
  r.pipeline_batch = std::max<std::int64_t>(1, r.pass_tokens / sequence);
  if (r.pass_tokens % sequence != 0)
    r.notes.push_back(fmt::format("a pass of {} tokens is no number of sequences of {}: {} are planned",
                                  r.pass_tokens, sequence, r.pipeline_batch));
  r.local_batch = r.pipeline_batch * (r.plan.layout.pp > 1 ? r.pipeline_passes : 1);
  if (r.step_tokens > 0 && recipe.global_batch <= 0) recipe.global_batch = r.step_tokens / sequence;
  if (r.method == "2") r.method = "op";  // SelectiveAC is what is taken when none is said
  if (r.whole_graphs && r.plan.layout.pp == 1) recipe.execution.graphs = costmodel::CudaGraphs::FullIteration;
}

void settle_torchtitan(R r) {
  costmodel::Recipe& recipe = r.plan.recipe;
  costmodel::Layout& layout = r.plan.layout;
  const std::int64_t layers = r.named_layers > 0 ? r.named_layers : r.plan.model.layers;
  if (!costmodel::is_quantized(recipe.precision)) recipe.precision = sixteen_or_more(r);
  take_gradient_type(r, recipe.gradient_dtype.value_or(DType::Fp32));
  layout.sp = layout.tp > 1 && r.cuts_sequences;
  settle_torch_sharding(r);
  // Off unless it is set, in every release that has the switch: training.compile and compile.enable of v0.1
  // to v0.2.2 (torchtitan/config/job_config.py), compile.enable since (torchtitan/config/configs.py).
  recipe.execution.compiled = r.compiles_model && recipe.execution.compiled.value_or(false);
  if (r.pass_tokens > 0) settle_torch_tokens(r);
  recipe.micro_batch = layout.pp > 1 ? r.pipeline_batch : r.local_batch;
  if (recipe.global_batch <= 0 && r.gpus > 0) recipe.global_batch = r.local_batch * layout.dp;
  if (layout.pp == 1) {
    layout.schedule = costmodel::Layout{}.schedule;  // one that waits for stages
  } else if (layout.schedule == ScheduleKind::Interleaved) {
    const std::int64_t chunks = layout.pp * r.layers_per_stage;
    layout.vpp = chunks > 0 && layers % chunks == 0 && layers > 0 ? static_cast<int>(layers / chunks) : 2;
  }
  if (r.granularity == "full") {
    recipe.recompute.mode = RecomputeMode::Full;
  } else if (r.granularity == "selective" && r.method == "op") {
    recipe.recompute.mode = RecomputeMode::SelectiveOperators;
  } else if (r.granularity == "selective") {
    const auto every = costmodel::parse_number<int>(r.method);
    recipe.recompute.mode = RecomputeMode::Layers;
    recipe.recompute.layers = every && *every > 0
                                  ? static_cast<int>(std::min<std::int64_t>(layers, 1'000'000)) / layout.pp /
                                        costmodel::chunks_per_stage(layout) / *every
                                  : 0;
    if (recipe.recompute.layers == 0) {
      recipe.recompute = {};
      r.notes.emplace_back(
          "checkpoints of every n-th layer need the model's number of layers: none are planned");
    }
  } else if (r.granularity != "none") {
    r.notes.push_back(fmt::format("recomputation \"{}\" has no word here: none is planned", r.granularity));
  }
}

/// Types that a file leaves to a trainer's arguments.
void take_automatic_type(R r) {
  if (r.left_to_trainer.empty()) return;
  const bool left = left_to_trainer(r, "bf16.enabled") || left_to_trainer(r, "fp16.enabled");
  const bool type = !r.half && !r.brain && left;
  r.brain = r.brain || type;
  r.notes.push_back(
      fmt::format("\"auto\" is for the trainer to fill in ({}): {}give the trainer's file or "
                  "command, too, or say them",
                  fmt::join(r.left_to_trainer, ", "), type ? "bf16 is planned; " : ""));
}

void settle_deepspeed(R r) {
  costmodel::Recipe& recipe = r.plan.recipe;
  costmodel::Layout& layout = r.plan.layout;
  fill_automatic_sizes(r);
  take_automatic_type(r);
  take_deepspeed_overlap(r);
  take_zero_sizes(r);
  recipe.precision = sixteen_or_more(r);
  if (recipe.gradient_dtype) take_gradient_type(r, *recipe.gradient_dtype);
  layout.sp = layout.tp > 1;
  const std::int64_t per_rank = recipe.micro_batch * std::max<std::int64_t>(1, r.accumulation);
  if (r.gpus == 0 && recipe.global_batch > 0 && r.accumulation > 0 && recipe.global_batch % per_rank == 0) {
    layout.dp = static_cast<int>(std::min<std::int64_t>(recipe.global_batch / per_rank, 1'000'000));
    r.dp_said = true;
  }
  if (layout.sharding.stage == 3 && r.gpus > 0 && r.replicas > 1)
    take_group(r, static_cast<std::int64_t>(layout.dp) * layout.cp / r.replicas);
}

struct Framework {
  Launcher launcher;
  void (*begin)(R);
  void (*settle)(R);
};
constexpr Framework kFrameworks[] = {
    {Launcher::Megatron, begin_megatron, settle_megatron},
    {Launcher::Nanotron, begin_nanotron, settle_nanotron},
    {Launcher::Torchtitan, begin_torchtitan, settle_torchtitan},
    {Launcher::DeepSpeed, [](R) {}, settle_deepspeed},
    {Launcher::Bridge, begin_bridge, settle_bridge},
    {Launcher::MaxText, begin_maxtext, settle_maxtext},
    {Launcher::Trl, begin_trl, settle_trl},
    {Launcher::Axolotl, begin_axolotl, settle_axolotl},
    {Launcher::LlamaFactory, begin_llamafactory, settle_llamafactory},
};
const Framework& framework_of(Launcher launcher) {
  return *std::find_if(std::begin(kFrameworks), std::end(kFrameworks),
                       [&](const Framework& row) { return row.launcher == launcher; });
}

/// DeepSpeed's cpu_checkpointing moves what deepspeed.checkpointing keeps of checkpointed layers; trainers
/// above Hugging Face's Trainer checkpoint with PyTorch instead (v0.19.6
/// deepspeed/runtime/activation_checkpointing/checkpointing.py; huggingface/transformers@v5.23.0
/// src/transformers/modeling_utils.py, gradient_checkpointing_enable).
void settle_checkpoints_on_host(R r, Launcher launcher) {
  costmodel::Recipe& recipe = r.plan.recipe;
  if (!r.checkpoints_on_host) return;
  if (is_trainer(launcher)) {
    r.notes.emplace_back(
        "cpu_checkpointing changes nothing: the trainer checkpoints with PyTorch, not DeepSpeed");
  } else if (recipe.recompute.mode == RecomputeMode::None) {
    r.notes.emplace_back(
        "cpu_checkpointing moves the inputs of checkpointed layers, and the files say of none: where the "
        "program calls deepspeed.checkpointing, add --recompute full --offload activations");
  } else {
    recipe.offload = static_cast<std::uint8_t>(recipe.offload | costmodel::kOffloadActivations);
  }
}

/// Numbers of steps and sequences that follow from others.
void settle_batches(R r) {
  costmodel::Recipe& recipe = r.plan.recipe;
  recipe.global_batch = std::max<std::int64_t>(0, recipe.global_batch);
  const bool world = r.dp_said || r.gpus > 0;
  const double batch = static_cast<double>(recipe.micro_batch) *
                       static_cast<double>(std::max<std::int64_t>(1, r.accumulation)) * r.plan.layout.dp;
  if (recipe.global_batch == 0 && world && batch <= 1e9)
    recipe.global_batch = static_cast<std::int64_t>(batch);
  const double samples = r.samples > 0
                             ? static_cast<double>(r.samples)
                             : static_cast<double>(r.steps) * static_cast<double>(recipe.global_batch);
  const double tokens = samples * static_cast<double>(recipe.sequence);
  if (tokens >= 1 && tokens <= 1e18) recipe.tokens = static_cast<std::int64_t>(tokens);
}

}  // namespace

void settle_dimensions(LaunchReading& r) {
  costmodel::ModelSpec& m = r.plan.model;
  costmodel::AttentionSpec& a = m.attention;
  if (m.layers == 0 || m.hidden == 0 || a.heads == 0) return;
  const bool latent = a.kind == costmodel::AttentionKind::Latent;
  if (a.kv_heads == 0 || latent) a.kv_heads = a.heads;
  if (latent) {
    const auto unless_said = [](std::int64_t& value, std::int64_t usual) {
      value = value == 0 ? usual : value;
    };
    unless_said(a.kv_lora_rank, 32);
    unless_said(a.qk_nope_dim, 128);
    unless_said(a.qk_rope_dim, 64);
    unless_said(a.v_head_dim, 128);
    a.head_dim = a.qk_nope_dim + a.qk_rope_dim;
    a.qk_norm = false;  // its norms are part of it
  } else {
    if (a.head_dim == 0) a.head_dim = std::max<std::int64_t>(1, m.hidden / a.heads);
    a.v_head_dim = a.head_dim;
  }
  if (m.positions != costmodel::PositionKind::Rotary) m.rotary = {};
}

LaunchReading begin_reading(Launcher launcher) {
  LaunchReading reading;
  for (const LaunchFormat& format : launch_formats()) {
    if (format.launcher == launcher) reading.plan.framework = look_up_framework(std::string{format.profile});
  }
  framework_of(launcher).begin(reading);
  return reading;
}

void settle_reading(LaunchReading& reading, Launcher launcher) {
  settle_world(reading);
  framework_of(launcher).settle(reading);
  settle_checkpoints_on_host(reading, launcher);
  settle_world(reading);
  settle_batches(reading);
}

}  // namespace hexaplan::presets
