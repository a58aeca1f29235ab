#include "cli/render/coverage_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "cli/render/terminal.h"
#include "costmodel/memory/layer_ledger.h"
#include "costmodel/schedule/schedule.h"
#include "costmodel/spec/local_dims.h"
#include "costmodel/spec/rank_grid.h"
#include "costmodel/spec/stage_plan.h"
#include "presets/json/vocabulary.h"
#include "presets/scenario/recompute_text.h"

namespace hexaplan::cli {
namespace {

using costmodel::Layout;
using costmodel::Scenario;

template <const auto& kNames, auto kField>
std::string name_of_recipe(const Scenario& s) {
  return std::string{presets::name_in(kNames, s.recipe.*kField)};
}
std::int64_t micro_batches(const Scenario& s) {
  return costmodel::microbatches_per_step(s);
}
std::string schedule_of(const Scenario& s) {
  return s.layout.pp > 1 ? std::string{presets::name_in(presets::kScheduleNames, s.layout.schedule)} : "none";
}
std::string context_of(const Scenario& s) {
  return s.layout.cp > 1 ? std::string{presets::name_in(presets::kContextNames, s.layout.context)} : "none";
}
std::string split_of(const Scenario& s) {
  if (s.layout.split == costmodel::StageSplit::Explicit) return "stages=";
  return std::string{presets::name_in(presets::kSplitNames, s.layout.split)};
}
/// Counts of layers differ from layout to layout: "layers=" stands for all.
std::string recomputation_of(const Scenario& s) {
  const std::string text = presets::to_recompute_text(s.recipe.recompute);
  return s.recipe.recompute.mode == costmodel::RecomputeMode::Layers ? "layers=" : text;
}

std::string outer_steps_of(const Scenario& s) {
  const costmodel::OuterSteps& outer = s.recipe.outer;
  if (!outer.taken()) return "none";
  return fmt::format("diloco{} {} {}", s.layout.outer_replicas,
                     presets::name_in(presets::kOuterDTypeNames, outer.dtype),
                     presets::name_in(presets::kOuterStatesNames, outer.states));
}

struct CoverageAxis {
  std::string_view name;
  std::string (*choice)(const Scenario&);
};
constexpr CoverageAxis kCoverageAxes[] = {
    {"dp", [](const Scenario& s) { return std::to_string(s.layout.dp); }},
    {"tp", [](const Scenario& s) { return std::to_string(s.layout.tp); }},
    {"cp", [](const Scenario& s) { return std::to_string(s.layout.cp); }},
    {"context", context_of},
    {"pp", [](const Scenario& s) { return std::to_string(s.layout.pp); }},
    {"vpp", [](const Scenario& s) { return std::to_string(s.layout.vpp); }},
    {"schedule", schedule_of},
    {"stages", split_of},
    {"ep", [](const Scenario& s) { return std::to_string(s.layout.ep); }},
    {"etp", [](const Scenario& s) { return std::to_string(s.layout.etp); }},
    {"zero", [](const Scenario& s) { return std::to_string(s.layout.sharding.stage); }},
    {"recompute", recomputation_of},
    {"precision", name_of_recipe<presets::kPrecisionNames, &costmodel::Recipe::precision>},
    {"cross-entropy", name_of_recipe<presets::kCrossEntropyNames, &costmodel::Recipe::cross_entropy>},
    {"offload",
     [](const Scenario& s) {
       constexpr std::pair<std::uint8_t, std::string_view> kTargets[] = {
           {costmodel::kOffloadOptimizer, "optimizer"},
           {costmodel::kOffloadParameters, "params"},
           {costmodel::kOffloadActivations, "activations"}};
       std::string text;
       for (const auto& [bit, name] : kTargets) {
         if ((s.recipe.offload & bit) != 0) text.append(text.empty() ? "" : ",").append(name);
       }
       return text.empty() ? std::string{"none"} : text;
     }},
    {"optimizer", name_of_recipe<presets::kOptimizerNames, &costmodel::Recipe::optimizer>},
    {"attention", name_of_recipe<presets::kAttentionNames, &costmodel::Recipe::attention>},
    {"fine-tune", name_of_recipe<presets::kFineTuneNames, &costmodel::Recipe::fine_tune>},
    {"lora-bias", name_of_recipe<presets::kLoraBiasNames, &costmodel::Recipe::lora_bias>},
    {"saved-modules", name_of_recipe<presets::kSavedModulesNames, &costmodel::Recipe::saved_modules>},
    {"outer-steps", outer_steps_of},
    {"micro-batch", [](const Scenario& s) { return std::to_string(s.recipe.micro_batch); }},
    {"micro-batches", [](const Scenario& s) { return std::to_string(micro_batches(s)); }},
};

struct Technique {
  std::string_view name;
  bool (*is_used)(const Scenario&);
};
constexpr Technique kTechniques[] = {
    {"sequence parallelism", [](const Scenario& s) { return s.layout.sp; }},
    {"hybrid shards",
     [](const Scenario& s) {
       return s.layout.sharding.stage > 0 && s.layout.shard_ranks() < s.layout.dp * s.layout.cp;
     }},
    {"shards of 3 ranks",
     [](const Scenario& s) { return s.layout.sharding.stage > 0 && s.layout.shard_ranks() % 3 == 0; }},
    {"second copy of parameters (hpz)", [](const Scenario& s) { return s.layout.sharding.hpz > 1; }},
    {"parameters gathered in 8 bits (qwz)",
     [](const Scenario& s) { return s.layout.sharding.quantized_weights; }},
    {"gradients reduced in 4 bits (qgz)",
     [](const Scenario& s) { return s.layout.sharding.quantized_gradients; }},
    {"… between nodes as well",
     [](const Scenario& s) {
       const auto node = costmodel::place_group(s.layout, costmodel::Group::ShardNode, s.cluster).ranks;
       return s.layout.sharding.quantized_gradients && node < s.layout.shard_ranks();
     }},
    {"inputs of recomputed layers cut over tp",
     [](const Scenario& s) { return s.layout.partition_activations && s.layout.tp > 1 && !s.layout.sp; }},
    {"a share of the optimizer offloaded",
     [](const Scenario& s) {
       return costmodel::offloaded_update(s.recipe) > 0 && s.recipe.offload_fraction < 1;
     }},
    {"activations of some layers offloaded",
     [](const Scenario& s) {
       return (s.recipe.offload & costmodel::kOffloadActivations) != 0 && s.recipe.offload_layers > 0;
     }},
    {"states on disks",
     [](const Scenario& s) {
       return s.recipe.offload != 0 && s.recipe.offload_device == costmodel::OffloadDevice::Nvme;
     }},
    {"gradients reduced in the last micro-batch",
     [](const Scenario& s) {
       return costmodel::gradient_reduction(s) == costmodel::GradientReduction::Once;
     }},
    {"replicas summed in the last micro-batch",
     [](const Scenario& s) {
       return costmodel::gradient_reduction(s) == costmodel::GradientReduction::ReplicasOnce;
     }},
    {"rows of weights measured (DoRA)",
     [](const Scenario& s) { return costmodel::learns_magnitudes(s.recipe); }},
    {"dropout", [](const Scenario& s) { return s.recipe.dropout > 0; }},
    {"updates in backward", [](const Scenario& s) { return s.recipe.optimizer_in_backward; }},
    {"another rank order", [](const Scenario& s) { return s.layout.order != Layout{}.order; }},
    {"uneven stages",
     [](const Scenario& s) {
       const std::vector<int> chunks = costmodel::chunk_layers(s);
       return std::adjacent_find(chunks.begin(), chunks.end(), std::not_equal_to<>{}) != chunks.end();
     }},
    {"V-shaped schedule",
     [](const Scenario& s) { return s.layout.pp > 1 && costmodel::is_v_shaped(s.layout.schedule); }},
    {"backward in two parts",
     [](const Scenario& s) { return s.layout.pp > 1 && costmodel::splits_backward(s.layout.schedule); }},
    {"micro-batches that pp does not divide",
     [](const Scenario& s) { return micro_batches(s) % s.layout.pp != 0; }},
    {"fewer micro-batches than stages", [](const Scenario& s) { return micro_batches(s) < s.layout.pp; }},
    {"layers recomputed on some stages",
     [](const Scenario& s) { return !s.recipe.recompute.stage_layers.empty(); }},
    {"experts", [](const Scenario& s) { return s.model.is_moe(); }},
    {"shared experts", [](const Scenario& s) { return s.model.moe.shared_ffn > 0; }},
    {"first layers dense",
     [](const Scenario& s) { return s.model.is_moe() && s.model.moe.first_k_dense > 0; }},
    {"every other layer dense", [](const Scenario& s) { return s.model.is_moe() && s.model.moe.period > 1; }},
    {"columns of experts cut",
     [](const Scenario& s) { return s.model.is_moe() && s.layout.expert_tensor() > 1; }},
    {"tokens dropped beyond a capacity", costmodel::limits_experts},
    {"… experts padded to it", costmodel::pads_experts},
    {"grouped keys", [](const Scenario& s) { return s.model.attention.kv_heads < s.model.attention.heads; }},
    {"more tp ranks than keys", [](const Scenario& s) { return s.model.attention.kv_heads < s.layout.tp; }},
    {"window", [](const Scenario& s) { return s.model.attention.window > 0; }},
    {"window in every other layer",
     [](const Scenario& s) { return s.model.attention.window > 0 && s.model.attention.global_period > 0; }},
    {"latent attention",
     [](const Scenario& s) { return s.model.attention.kind == costmodel::AttentionKind::Latent; }},
    {"biases", [](const Scenario& s) { return s.model.attention.qkv_bias; }},
    {"norms of queries and keys", [](const Scenario& s) { return s.model.attention.qk_norm; }},
    {"gate of what attention makes", [](const Scenario& s) { return s.model.attention.output_gate; }},
    {"LayerNorm, GELU, learned positions",
     [](const Scenario& s) { return s.model.norm == costmodel::NormKind::Layer; }},
    {"multi-token prediction", [](const Scenario& s) { return s.model.mtp_layers > 0; }},
    {"… two modules", [](const Scenario& s) { return s.model.mtp_layers > 1; }},
    {"tied embeddings", [](const Scenario& s) { return s.model.tied_embeddings; }},
    {"tied embeddings on two stages",
     [](const Scenario& s) { return s.model.tied_embeddings && costmodel::separates_ends(s.layout); }},
    {"odd width", [](const Scenario& s) { return s.model.hidden % 2 != 0; }},
    {"padded vocabulary",
     [](const Scenario& s) { return s.model.vocab % (s.layout.tp * s.framework.vocab_multiple) != 0; }},
};

/// Numbers by size, words behind them.
bool comes_before(const std::string& a, const std::string& b) {
  const auto is_number = [](const std::string& text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
  };
  if (is_number(a) && is_number(b)) return a.size() != b.size() ? a.size() < b.size() : a < b;
  return is_number(a) && !is_number(b);
}

/// Choices of an axis that exist whether somebody makes them or not.
std::vector<std::string> known_choices(std::string_view axis) {
  std::vector<std::string> out;
  const auto first_spellings = [&](const auto& names) {
    for (const auto& row : names) {
      if (presets::name_in(names, row.value) == row.name) out.emplace_back(row.name);
    }
  };
  if (axis == "schedule") first_spellings(presets::kScheduleNames);
  if (axis == "context") first_spellings(presets::kContextNames);
  return out;
}

/// Those that are known, then others that were made, in order.
std::vector<std::string> choices_of(const CoverageAxis& axis, std::span<const Scenario> scenarios) {
  std::vector<std::string> choices = known_choices(axis.name);
  const std::size_t known = choices.size();
  for (const Scenario& s : scenarios) {
    if (std::find(choices.begin(), choices.end(), axis.choice(s)) == choices.end())
      choices.push_back(axis.choice(s));
  }
  std::stable_sort(choices.begin() + static_cast<std::ptrdiff_t>(known), choices.end(), comes_before);
  return choices;
}

CoverageRow count_choice(const CoverageAxis& axis, const std::string& choice,
                         std::span<const Scenario> scenarios) {
  const auto made = std::count_if(scenarios.begin(), scenarios.end(),
                                  [&](const Scenario& s) { return axis.choice(s) == choice; });
  return {std::string{axis.name}, choice, made};
}

}  // namespace

std::vector<CoverageRow> coverage_of(std::span<const Scenario> scenarios) {
  std::vector<CoverageRow> out;
  for (const CoverageAxis& axis : kCoverageAxes) {
    for (const std::string& choice : choices_of(axis, scenarios))
      out.push_back(count_choice(axis, choice, scenarios));
  }
  for (const Technique& technique : kTechniques) {
    const auto used = std::count_if(scenarios.begin(), scenarios.end(), technique.is_used);
    out.push_back({"techniques", std::string{technique.name}, used});
  }
  return out;
}

std::string coverage_text(std::span<const CoverageRow> rows) {
  std::vector<std::vector<std::string>> lines{{"axis", "layouts by choice"}};
  for (const CoverageRow& row : rows) {
    const bool technique = row.axis == "techniques";
    if (technique || lines.back().front() != row.axis)
      lines.push_back({technique ? row.choice : row.axis, ""});
    std::string& text = lines.back().back();
    if (technique) {
      text = std::to_string(row.scenarios);
    } else {
      text += fmt::format("{}{} ×{}", text.empty() ? "" : ", ", row.choice, row.scenarios);
    }
  }
  return format_table(lines, 2);
}

presets::JsonValue coverage_json(std::span<const CoverageRow> rows) {
  presets::JsonArray list;
  for (const CoverageRow& row : rows) {
    list.push_back(
        presets::JsonObject{{"axis", row.axis}, {"choice", row.choice}, {"layouts", row.scenarios}});
  }
  return list;
}

}  // namespace hexaplan::cli
