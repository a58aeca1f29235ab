#include "presets/truth/row_of_scenario.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "costmodel/spec/stage_plan.h"
#include "presets/frameworks/framework_preset.h"
#include "presets/json/spec_names.h"
#include "presets/json/vocabulary.h"
#include "presets/scenario/execution_words.h"

namespace hexaplan::presets {
namespace {

using costmodel::ModelSpec;
using costmodel::Scenario;

/// A column and how its cell is written.
struct CellColumn {
  std::string_view name;
  std::string (*write)(const Scenario& scenario);
};

std::string number_cell(std::int64_t value) {
  return std::to_string(value);
}
/// Empty: none, or the usual number.
std::string cell_above(std::int64_t usual, std::int64_t value) {
  return value > usual ? number_cell(value) : std::string{};
}
std::string bool_cell(bool value) {
  return value ? "1" : "0";
}
std::string bool_cell(const std::optional<bool>& value) {
  return value ? bool_cell(*value) : std::string{};
}
std::string text_cell(std::string_view text) {
  return std::string{text};
}

bool is_latent(const ModelSpec& model) {
  return model.attention.kind == costmodel::AttentionKind::Latent;
}
std::string architecture(const Scenario& s) {
  const ModelSpec& model = s.model;
  if (is_latent(model)) return "deepseek";
  if (model.positions == costmodel::PositionKind::Alibi) return model.embedding_norm ? "bloom" : "mpt";
  if (model.norm == costmodel::NormKind::Layer) return model.is_moe() ? "moe-gpt" : "gpt";
  return model.is_moe() ? "moe-llama" : "llama";
}

/// Profiles whose word in the schema is another one, with the engine and era that lead back to them.
struct ProfileWord {
  std::string_view name, profile, engine, era;
};
constexpr ProfileWord kProfileWords[] = {{"megatron", "megatron", "megatron-lm", "2026"},
                                         {"megatron-2022", "megatron", "megatron-lm", "2022"},
                                         {"megatron-2023", "megatron", "megatron-lm", "2023"},
                                         {"nanotron-polling", "nanotron", "nanotron-polling", ""},
                                         {"megatron-aleph-alpha", "megatron", "aleph-alpha-scaling", ""},
                                         {"fsdp2-kempnerforge", "fsdp2", "kempnerforge", ""},
                                         {"paxml", "maxtext", "paxml", ""},
                                         {"fsdp2-automodel", "fsdp2", "nemo-automodel", ""},
                                         {"hf-eager", "hf", "hf-trainer", ""},
                                         {"hf-fsdp2", "fsdp2", "hf-trainer", ""},
                                         {"hf-deepspeed", "deepspeed", "hf-trainer", ""}};
ProfileWord profile_word(const Scenario& s) {
  for (const ProfileWord& row : kProfileWords) {
    if (is_version_of(s.framework, row.name)) return row;
  }
  return {s.framework.name, s.framework.name, "", ""};
}

bool has_network(const Scenario& s) {
  return s.cluster.gpus > s.cluster.gpus_per_node && s.cluster.levels.size() > 1;
}
/// "ib400" → "ib".
std::string network_cell(const Scenario& s) {
  if (!has_network(s)) return {};
  std::string kind = cards_or_links(s.cluster).name;
  kind.resize(std::min(kind.find(' '), kind.size()));  // "ib400 pod": of the tier's
  while (!kind.empty() && (std::string_view{"0123456789."}.find(kind.back()) != std::string_view::npos))
    kind.pop_back();
  return kind == "omni-path" ? "omnipath" : kind;
}
std::string network_rate(const Scenario& s) {
  if (!has_network(s)) return {};
  return fmt::format("{:g}", cards_or_links(s.cluster).bandwidth.value() * 8e-9 * s.cluster.gpus_per_node);
}

std::string sharding(const Scenario& s) {
  const costmodel::Sharding& sharding = s.layout.sharding;
  const bool fully = sharding.stage == 3 && s.framework.name.starts_with("fsdp");
  if (!fully) return number_cell(sharding.stage);
  return sharding.group > 0 ? "fsdp-hybrid" : "fsdp-full";
}
std::string stage_layout(const Scenario& s) {
  switch (s.layout.split) {
    case costmodel::StageSplit::EndsMinusOne:
      return "ends-minus-one";
    case costmodel::StageSplit::EmbeddingCounts:
      return "embedding-counts";
    default:
      return "uniform";
  }
}
std::string vocabulary_method(const Scenario& s) {
  switch (s.layout.vocab) {
    case costmodel::VocabParallel::AllStagesTwoBarriers:
      return "vocab-1";
    case costmodel::VocabParallel::AllStagesOneBarrier:
      return "vocab-2";
    case costmodel::VocabParallel::Interlaced:
      return "interlaced";
    default:
      return "none";
  }
}

std::string recompute(const Scenario& s) {
  switch (s.recipe.recompute.mode) {
    case costmodel::RecomputeMode::None:
      return "none";
    case costmodel::RecomputeMode::Selective:
      return "selective-core-attn";
    case costmodel::RecomputeMode::SelectiveModules:
      return "selective-modules";
    case costmodel::RecomputeMode::SelectiveOperators:
      return "selective-op";
    case costmodel::RecomputeMode::Layers:
      return "block-N";
    default:
      return "full";
  }
}
std::string modules_cell(const Scenario& s) {
  std::string text;
  for (const auto& row : kRecomputeModuleNames) {
    if ((s.recipe.recompute.modules & row.value) != 0)
      text += fmt::format("{}{}", text.empty() ? "" : ";", row.name);
  }
  return text;
}
std::string offload(const Scenario& s) {
  std::string text;
  for (const auto& row : kOffloadNames) {
    if ((s.recipe.offload & row.value) != 0) text += fmt::format("{}{}", text.empty() ? "" : ";", row.name);
  }
  return text;
}
std::string cross_entropy(const Scenario& s) {
  const bool stated = s.recipe.cross_entropy == costmodel::CrossEntropy::Fused ||
                      s.recipe.cross_entropy == costmodel::CrossEntropy::Chunked;
  return stated ? text_cell(name_in(kCrossEntropyNames, s.recipe.cross_entropy)) : std::string{};
}
/// A word of execution; empty for what the framework does by itself.
std::string or_habit(std::string_view name) {
  return name == "default" ? std::string{} : std::string{name};
}
std::string dtype(const std::optional<costmodel::DType>& type) {
  return type ? text_cell(name_in(kStateDTypeNames, *type)) : "unknown";
}
std::string if_experts(const Scenario& s, std::int64_t value) {
  return s.model.is_moe() ? number_cell(value) : std::string{};
}
std::string if_latent(const Scenario& s, std::int64_t value) {
  return is_latent(s.model) ? number_cell(value) : std::string{};
}

const CellColumn kCells[] = {
    {"engine", [](const Scenario& s) { return text_cell(profile_word(s).engine); }},
    {"engine_era", [](const Scenario& s) { return text_cell(profile_word(s).era); }},
    {"tp_comm_overlap", [](const Scenario& s) { return bool_cell(s.recipe.execution.tensor_overlap); }},
    {"pipeline_overlap", [](const Scenario& s) { return bool_cell(s.recipe.execution.pipeline_overlap); }},
    {"dp_overlap", [](const Scenario& s) { return bool_cell(s.recipe.execution.data_overlap); }},
    {"ep_overlap", [](const Scenario& s) { return bool_cell(s.recipe.execution.expert_overlap); }},
    {"async_tp", [](const Scenario& s) { return bool_cell(s.recipe.execution.tensor_backward_overlap); }},
    {"compile", [](const Scenario& s) { return bool_cell(s.recipe.execution.compiled); }},
    {"cuda_graphs",
     [](const Scenario& s) { return or_habit(name_in(kCudaGraphNames, s.recipe.execution.graphs)); }},
    {"moe_dispatcher",
     [](const Scenario& s) { return or_habit(name_in(kDispatcherNames, s.recipe.execution.dispatcher)); }},
    {"model_name", [](const Scenario& s) { return s.model.name; }},
    {"arch", architecture},
    {"gated_mlp", [](const Scenario& s) { return bool_cell(s.model.mlp.gated); }},
    {"tied_embeddings", [](const Scenario& s) { return bool_cell(s.model.tied_embeddings); }},
    {"learned_positions",
     [](const Scenario& s) { return bool_cell(s.model.positions == costmodel::PositionKind::Learned); }},
    {"linear_bias", [](const Scenario& s) { return bool_cell(s.model.mlp.bias); }},
    {"fused_norm", [](const Scenario& s) { return bool_cell(s.recipe.fused_norm); }},
    {"layers", [](const Scenario& s) { return number_cell(s.model.layers); }},
    {"hidden", [](const Scenario& s) { return number_cell(s.model.hidden); }},
    {"ffn",
     [](const Scenario& s) {
       return number_cell(s.model.is_moe() ? s.model.moe.expert_ffn : s.model.mlp.ffn);
     }},
    {"heads", [](const Scenario& s) { return number_cell(s.model.attention.heads); }},
    {"kv_heads", [](const Scenario& s) { return number_cell(s.model.attention.kv_heads); }},
    {"head_dim", [](const Scenario& s) { return number_cell(s.model.attention.v_head_dim); }},
    {"vocab", [](const Scenario& s) { return number_cell(s.model.vocab); }},
    {"seq", [](const Scenario& s) { return number_cell(s.recipe.sequence); }},
    {"n_experts", [](const Scenario& s) { return if_experts(s, s.model.moe.experts); }},
    {"top_k", [](const Scenario& s) { return if_experts(s, s.model.moe.top_k); }},
    {"moe_ffn", [](const Scenario& s) { return if_experts(s, s.model.moe.expert_ffn); }},
    {"first_k_dense", [](const Scenario& s) { return if_experts(s, s.model.moe.first_k_dense); }},
    {"dense_ffn",
     [](const Scenario& s) { return if_experts(s, std::max<std::int64_t>(1, s.model.mlp.ffn)); }},
    {"shared_experts",
     [](const Scenario& s) {
       return s.model.is_moe() ? fmt::format("{}", static_cast<double>(s.model.moe.shared_ffn) /
                                                       static_cast<double>(s.model.moe.expert_ffn))
                               : std::string{};
     }},
    {"q_lora_rank", [](const Scenario& s) { return if_latent(s, s.model.attention.q_lora_rank); }},
    {"kv_lora_rank", [](const Scenario& s) { return if_latent(s, s.model.attention.kv_lora_rank); }},
    {"qk_rope_dim", [](const Scenario& s) { return if_latent(s, s.model.attention.qk_rope_dim); }},
    {"gpu", [](const Scenario& s) { return s.cluster.gpu.name; }},
    {"network_kind", network_cell},
    {"n_gpus", [](const Scenario& s) { return number_cell(s.cluster.gpus); }},
    {"gpus_per_node", [](const Scenario& s) { return number_cell(s.cluster.gpus_per_node); }},
    {"node_nic_gbps", network_rate},
    {"tp", [](const Scenario& s) { return number_cell(s.layout.tp); }},
    {"pp", [](const Scenario& s) { return number_cell(s.layout.pp); }},
    {"vpp", [](const Scenario& s) { return number_cell(s.layout.vpp); }},
    {"cp", [](const Scenario& s) { return number_cell(s.layout.cp); }},
    {"ep", [](const Scenario& s) { return number_cell(s.layout.ep); }},
    {"etp", [](const Scenario& s) { return cell_above(0, s.layout.etp); }},
    {"dp", [](const Scenario& s) { return number_cell(s.layout.dp); }},
    {"shard_size", [](const Scenario& s) { return cell_above(0, s.layout.sharding.group); }},
    {"sp", [](const Scenario& s) { return bool_cell(s.layout.sp); }},
    {"zero", sharding},
    {"schedule", [](const Scenario& s) { return text_cell(name_in(kScheduleNames, s.layout.schedule)); }},
    {"vocab_method", vocabulary_method},
    {"stage_layout", stage_layout},
    {"micro_batch", [](const Scenario& s) { return number_cell(s.recipe.micro_batch); }},
    {"global_batch", [](const Scenario& s) { return number_cell(s.recipe.global_batch); }},
    {"padding", [](const Scenario& s) { return text_cell(name_in(kPaddingNames, s.recipe.padding)); }},
    {"framework_profile", [](const Scenario& s) { return text_cell(profile_word(s).profile); }},
    {"precision_norm",
     [](const Scenario& s) { return text_cell(name_in(kPrecisionNames, s.recipe.precision)); }},
    {"params_dtype", [](const Scenario& s) { return dtype(s.recipe.parameter_dtype); }},
    {"grad_dtype", [](const Scenario& s) { return dtype(s.recipe.gradient_dtype); }},
    {"optimizer_norm",
     [](const Scenario& s) { return text_cell(name_in(kOptimizerNames, s.recipe.optimizer)); }},
    {"projection_rank", [](const Scenario& s) { return cell_above(0, s.recipe.projection_rank); }},
    {"projection_interval", [](const Scenario& s) { return cell_above(0, s.recipe.projection_interval); }},
    {"precondition_frequency",
     [](const Scenario& s) { return cell_above(0, s.recipe.precondition_frequency); }},
    {"max_precondition_dim", [](const Scenario& s) { return cell_above(0, s.recipe.max_precondition_dim); }},
    {"optimizer_in_backward", [](const Scenario& s) { return bool_cell(s.recipe.optimizer_in_backward); }},
    {"outer_replicas", [](const Scenario& s) { return cell_above(1, s.layout.outer_replicas); }},
    {"outer_steps", [](const Scenario& s) { return cell_above(0, s.recipe.outer.every); }},
    {"outer_dtype",
     [](const Scenario& s) {
       return s.recipe.outer.taken() ? text_cell(name_in(kOuterDTypeNames, s.recipe.outer.dtype))
                                     : std::string{};
     }},
    {"outer_states",
     [](const Scenario& s) {
       return s.recipe.outer.taken() ? text_cell(name_in(kOuterStatesNames, s.recipe.outer.states))
                                     : std::string{};
     }},
    {"dropout", [](const Scenario& s) { return fmt::format("{}", s.recipe.dropout); }},
    {"offload", offload},
    {"ce_kind", cross_entropy},
    {"attention", [](const Scenario& s) { return text_cell(name_in(kAttentionNames, s.recipe.attention)); }},
    {"recompute_norm", recompute},
    {"recompute_layers",
     [](const Scenario& s) {
       const int of_stage = s.recipe.recompute.layers * costmodel::chunks_per_stage(s.layout);
       return cell_above(0, of_stage);
     }},
    {"recompute_modules", modules_cell},
    {"finetune", [](const Scenario& s) { return text_cell(name_in(kFineTuneNames, s.recipe.fine_tune)); }},
    {"lora_rank", [](const Scenario& s) { return cell_above(0, s.recipe.lora_rank); }},
};

/// Columns of the measurement, behind those of the scenario.
constexpr std::array<std::string_view, 11> kMeasured = {"case_id",
                                                        "source_file",
                                                        "outcome",
                                                        "scoreable_time",
                                                        "scoreable_memory",
                                                        "scoreable_oom",
                                                        "memory_kind",
                                                        "measured_step_seconds",
                                                        "measured_memory_bytes",
                                                        "measured_reserved_bytes",
                                                        "excluded_because"};

std::string csv_cell(std::string_view cell) {
  if (cell.find_first_of(",\"\r\n") == std::string_view::npos) return std::string{cell};
  std::string text = "\"";
  for (const char c : cell) text += c == '"' ? std::string{"\"\""} : std::string(1, c);
  return text + "\"";
}

std::string bytes_cell(costmodel::Bytes bytes) {
  return bytes.value() > 0 ? number_cell(costmodel::whole(bytes)) : std::string{};
}

}  // namespace

std::string truth_table_head() {
  std::string text;
  for (const std::string_view name : kMeasured) text += fmt::format("{}{}", text.empty() ? "" : ",", name);
  for (const CellColumn& column : kCells) text += fmt::format(",{}", column.name);
  return text + "\n";
}

std::string truth_row_of(const Scenario& scenario, const RunMeasurement& run) {
  const bool timed = run.step.has_value();
  const bool scored = timed && run.disturbed.empty();
  const bool allocated = run.allocated.value() > 0, reserved = run.reserved.value() > 0;
  const std::array<std::string, kMeasured.size()> measured = {
      run.id,
      run.source,
      "fits",
      bool_cell(scored),
      bool_cell(allocated || reserved),
      "0",
      allocated  ? "allocated-max-rank"
      : reserved ? "reserved"
                 : "",
      timed ? fmt::to_string(run.step->value()) : "",
      bytes_cell(allocated ? run.allocated : run.reserved),
      allocated ? bytes_cell(run.reserved) : "",
      timed && !scored ? "time: " + run.disturbed : ""};
  std::string text;
  for (const std::string& cell : measured) text += csv_cell(cell) + ",";
  for (const CellColumn& column : kCells) text += csv_cell(column.write(scenario)) + ",";
  text.back() = '\n';
  return text;
}

}  // namespace hexaplan::presets
