#include "presets/truth/scenario_of_row.h"

#include <fmt/format.h>

#include <cstddef>
#include <limits>
#include <string_view>
#include <utility>

#include "costmodel/spec/stage_plan.h"
#include "presets/clusters/cluster_preset.h"
#include "presets/frameworks/framework_preset.h"
#include "presets/json/input_error.h"
#include "presets/json/vocabulary.h"
#include "presets/models/read_model_config.h"
#include "presets/truth/engine_era.h"
#include "presets/truth/row_layout.h"
#include "presets/truth/row_model.h"

namespace hexaplan::presets {

using costmodel::AttentionLibrary;
using costmodel::ClusterSpec;
using costmodel::FrameworkProfile;
using costmodel::Scenario;

namespace {

/// Engines with a profile of their own: for all models, or for those with experts alone (NeMo AutoModel runs
/// dense ones as transformers has them).
struct EngineProfile {
  std::string_view engine, profile;
  bool experts_alone = false;
};
constexpr EngineProfile kEngineProfiles[] = {{"nanotron-polling", "nanotron-polling"},
                                             {"aleph-alpha-scaling", "megatron-aleph-alpha"},
                                             {"kempnerforge", "fsdp2-kempnerforge"},
                                             {"paxml", "paxml"},
                                             {"nemo-automodel", "fsdp2-automodel", true}};

/// DeepSpeed wraps the model that it is given: transformers' Llama as it is (FlagOpen/FlagPerf@1b5a0303
/// training/benchmarks/llama2_7b/deepspeed: LlamaForCausalLM), or, later, with Liger's kernels in place.
bool runs_transformers_layers(const TruthRow& row) {
  return row.engine == "deepspeed" && row.arch == "llama" && before_liger(row);
}

/// Framework profile that stands for a word of the schema, mostly the one of its name. `engine` says more
/// where it names an engine with a profile of its own, and the era which Megatron-LM, NeMo or fork it was.
std::string_view profile_name(const TruthRow& row) {
  for (const EngineProfile& own : kEngineProfiles) {
    const bool meant = !own.experts_alone || row.n_experts.value_or(0) > 0;
    if (own.engine == row.engine && meant) return own.profile;
  }
  if (row.framework_profile == "hf") return "hf-eager";
  if (row.framework_profile == "deepspeed" && runs_transformers_layers(row)) return "hf-deepspeed";
  if (row.framework_profile == "megatron" && before_transformer_engine(row))
    return before_fused_accumulation(row) ? "megatron-2022" : "megatron-2023";
  return row.framework_profile;
}

/// GPU types of which a source says that they ran below their nominal power, and the preset with the limit.
struct LimitedGpu {
  std::string_view gpu, preset;
};
/// torchao's and torchtitan's runs: 750 of 1,000 W (pytorch/ao pull request 3566).
constexpr LimitedGpu kLimitedGpus[] = {{"b200", "b200-750w"}};

/// The row's GPU; limits of which nobody says how low they are change nothing.
std::string_view gpu_of(const TruthRow& row) {
  for (const LimitedGpu& limited : kLimitedGpus) {
    if (row.power_limited.value_or(false) && limited.gpu == row.gpu) return limited.preset;
  }
  return row.gpu;
}

/// Words of the schema whose network has another name here.
std::string_view network_kind(const TruthRow& row) {
  return row.network_kind == "omnipath" ? std::string_view{"omni-path"} : std::string_view{row.network_kind};
}

/// The network between nanotron's machines was measured when its runs began, and is slower than others of its
/// kind: networks.json has it under a kind of its own.
void take_measured_network(const TruthRow& row, ClusterSpec& cluster) {
  constexpr std::string_view kKind = "efa", kOwnFigures = "efa-nanotron";
  std::string& name = cluster.levels.back().name;
  if (row.engine.starts_with("nanotron") && name.starts_with(kKind))
    name.replace(0, kKind.size(), kOwnFigures);
}

constexpr double kMostRanks = 1e7, kMostSequences = 1e9;  // as on the command line

struct RequiredCell {
  std::string_view column;
  std::optional<std::int64_t> TruthRow::*cell;
};
constexpr RequiredCell kRequired[] = {
    {"layers", &TruthRow::layers},
    {"hidden", &TruthRow::hidden},
    {"ffn", &TruthRow::ffn},
    {"heads", &TruthRow::heads},
    {"vocab", &TruthRow::vocab},
    {"seq", &TruthRow::seq},
    {"n_gpus", &TruthRow::n_gpus},
    {"tp", &TruthRow::tp},
    {"pp", &TruthRow::pp},
    {"dp", &TruthRow::dp},
    {"micro_batch", &TruthRow::micro_batch},
};

void check_required(const TruthRow& row) {
  if (!row.problem.empty()) throw NoScenario{row.problem};
  for (const RequiredCell& required : kRequired) {
    const auto& cell = row.*required.cell;
    if (!cell) throw NoScenario{fmt::format("{} is not given", required.column)};
    if (*cell < 1) throw NoScenario{fmt::format("{} is {}", required.column, *cell)};
  }
  if (row.gpu.empty() || row.gpu == "unknown") throw NoScenario{"the GPU type is not known"};
}

/// Each cell is in its range; together they may still be too much.
void check_sizes(const Scenario& scenario, const TruthRow& row) {
  if (scenario.model.attention.head_dim < 1)
    throw NoScenario{
        fmt::format("{} heads of a hidden size of {}: no element per head", *row.heads, *row.hidden)};
  if (const double parameters = rough_parameters(scenario.model); parameters > kMostParameters)
    throw NoScenario{
        fmt::format("a model of {:.3g} parameters, at most {:.0e}", parameters, kMostParameters)};
  const costmodel::Layout& l = scenario.layout;
  if (const double ranks = static_cast<double>(l.outer_replicas) * l.dp * l.tp * l.cp * l.pp;
      ranks > kMostRanks)
    throw NoScenario{fmt::format("a layout of {:.3g} ranks, at most {:.0e}", ranks, kMostRanks)};
}

/// Where the batch is not given.
void check_batch(const TruthRow& row) {
  if (row.global_batch) return;
  const double batch = static_cast<double>(*row.micro_batch) *
                       static_cast<double>(row.grad_accum.value_or(1)) *
                       static_cast<double>(row.dp.value_or(1));
  if (batch > kMostSequences)
    throw NoScenario{
        fmt::format("a global batch of {:.3g} sequences, at most {:.0e}", batch, kMostSequences)};
}

/// Norms that a source says are not fused keep what PyTorch's own operators keep: the input in fp32 and the
/// normalised tensor before and after its scale (stas00/ml-engineering training/performance: 28 copies of
/// 2·s·b·h for Llama-3.1-8B, of which each norm has 4).
FrameworkProfile with_unfused_norms(FrameworkProfile profile) {
  profile.saved[static_cast<std::size_t>(costmodel::Saved::NormInput)] = {.fp32 = 1};
  profile.saved[static_cast<std::size_t>(costmodel::Saved::NormOutput)] = {.compute = 2};
  return profile;
}

}  // namespace

const ClusterSpec& RowInterpreter::cluster(const TruthRow& row) {
  const std::int64_t per_node = row.gpus_per_node.value_or(0);
  if (per_node < 0 || per_node > std::numeric_limits<int>::max()) {
    throw NoScenario{fmt::format("gpus_per_node is {}", per_node)};
  }
  const ClusterKey key{row.engine,
                       std::string{gpu_of(row)},
                       *row.n_gpus,
                       static_cast<int>(per_node),
                       row.node_nic_gbps.value_or(0.0),
                       std::string{network_kind(row)}};
  if (const auto found = clusters_.find(key); found != clusters_.end()) return found->second;
  const auto& [engine, name, gpus, gpus_per_node, gbps, network] = key;
  auto gpu = gpus_.find(name);
  if (gpu == gpus_.end()) gpu = gpus_.emplace(name, find_gpu_preset(name)).first;
  ClusterSpec cluster = make_cluster(gpu->second, gpus, gpus_per_node, gbps, network);
  take_measured_network(row, cluster);
  return clusters_.emplace(key, std::move(cluster)).first->second;
}

const FrameworkProfile& RowInterpreter::framework(const TruthRow& row) {
  ProfileKey key{profile_name(row), before_flash_attention_2(row), before_four_bit_inputs_were_freed(row)};
  if (const auto found = frameworks_.find(key); found != frameworks_.end()) return found->second;
  const auto& [name, first_generation, keeps_four_bit_inputs] = key;
  FrameworkProfile profile = find_framework(name);
  if (first_generation && profile.attention_library == AttentionLibrary::FlashAttention2)
    profile.attention_library = AttentionLibrary::FlashAttention1;
  profile.four_bit_keeps_inputs = profile.four_bit_keeps_inputs || keeps_four_bit_inputs;
  return frameworks_.emplace(std::move(key), std::move(profile)).first->second;
}

RowScenario RowInterpreter::scenario_of(const TruthRow& row) {
  try {
    check_required(row);
    check_batch(row);
    const costmodel::Layout layout = layout_of(row);
    Scenario scenario{
        .model = model_of(row),
        .recipe = recipe_of(row, costmodel::chunks_per_stage(layout)),
        .cluster = cluster(row),
        .layout = layout,
        .framework = row.fused_norm.value_or(true) ? framework(row) : with_unfused_norms(framework(row))};
    check_sizes(scenario, row);
    return scenario;
  } catch (const NoScenario& none) {
    return none;
  } catch (const InputError& error) {
    return NoScenario{error.what()};
  }
}

}  // namespace hexaplan::presets
