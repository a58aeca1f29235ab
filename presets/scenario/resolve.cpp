#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <utility>

#include "costmodel/program/not_modelled.h"
#include "costmodel/spec/axes_text.h"
#include "costmodel/spec/beyond_abilities.h"
#include "presets/calibration/read_calibration.h"
#include "presets/calibration/run_calibration.h"
#include "presets/catalog/catalog.h"
#include "presets/clusters/cluster_preset.h"
#include "presets/frameworks/framework_preset.h"
#include "presets/models/find_model.h"
#include "presets/models/model_text.h"
#include "presets/models/read_model_config.h"
#include "presets/scenario/recipe_fields.h"
#include "presets/scenario/scenario_request.h"

namespace hexaplan::presets {

using costmodel::ClusterSpec;
using costmodel::Layout;
using costmodel::ModelSpec;
using costmodel::Recipe;

namespace {

constexpr std::string_view kDefaultFramework = "megatron";
constexpr std::int64_t kDefaultSequence = 4096;
/// Micro-batches per pipeline stage when no global batch is given: leaves a bubble of about a fifth (S3).
constexpr std::int64_t kMicrobatchesPerStage = 4;

/// A config object has no file to be named after; transformers writes where it came from.
ModelSpec model_from_object(const JsonValue& config) {
  ModelSpec model = model_from_config("scenario", "/model", config);
  const JsonValue* origin = config.find("_name_or_path");
  const auto* name = origin == nullptr ? nullptr : origin->get_if<std::string>();
  if (name != nullptr && !name->empty()) model.name = name->substr(name->find_last_of('/') + 1);
  return model;
}

}  // namespace

ModelSpec look_up_model(const JsonValue& model) {
  if (model.is_null()) {
    throw InputError({.field = "--model",
                      .value = "nothing",
                      .expected = "a preset, a config.json or its folder",
                      .hint = "'hexaplan presets list models' lists the presets"});
  }
  if (const auto* name = model.get_if<std::string>()) {
    return is_model_text(*name) ? parse_model_text(*name, "--model") : find_model(*name);
  }
  return model_from_object(model);
}

namespace {

struct ClusterFields {
  std::string gpu;
  std::int64_t gpus = 0;
  int per_node = 0;
  double node_gbps = 0;
  std::string network;
};

struct ClusterField {
  std::string_view key;
  bool required;
  void (*read)(const ValueReader&, ClusterFields&);
};
constexpr ClusterField kClusterFields[] = {
    {"gpu", true, [](const ValueReader& v, ClusterFields& f) { f.gpu = v.text(); }},
    {"gpus", true,
     [](const ValueReader& v, ClusterFields& f) {
       f.gpus = v.integer({1, 10'000'000});
     }},
    {"gpus_per_node", false,
     [](const ValueReader& v, ClusterFields& f) {
       f.per_node = v.small_integer({1, 1'000'000});
     }},
    {"node_nic_gbps", false,
     [](const ValueReader& v, ClusterFields& f) {
       f.node_gbps = v.number({1e-3, 1e9});
     }},
    {"network", false, [](const ValueReader& v, ClusterFields& f) { f.network = v.text(); }},
};

ClusterFields read_cluster_fields(const JsonObject& fields) {
  static const std::string file = "scenario";
  ClusterFields result;
  ObjectReader reader{file, "/cluster", fields, Reading::Strict};
  for (const ClusterField& row : kClusterFields) {
    const auto value = row.required ? std::optional{reader.required(row.key)} : reader.optional(row.key);
    if (value) row.read(*value, result);
  }
  reader.finish();
  return result;
}

}  // namespace

std::vector<std::string_view> cluster_keys() {
  std::vector<std::string_view> keys;
  for (const ClusterField& row : kClusterFields) keys.push_back(row.key);
  return keys;
}

ClusterSpec look_up_cluster(const JsonValue& cluster) {
  if (cluster.is_null()) {
    throw InputError({.field = "--cluster",
                      .value = "nothing",
                      .expected = "GPUs and network, such as 64xH100",
                      .hint = "'hexaplan presets list gpus' lists the types"});
  }
  if (const auto* text = cluster.get_if<std::string>()) return parse_cluster(*text);
  const ClusterFields f = read_cluster_fields(*cluster.get_if<JsonObject>());
  return make_cluster(f.gpu, f.gpus, f.per_node, f.node_gbps, f.network);
}

ClusterRequest cluster_request(const JsonValue& cluster) {
  if (const auto* text = cluster.get_if<std::string>()) return parse_cluster_request(*text);
  if (cluster.is_null()) return {};
  const ClusterFields f = read_cluster_fields(*cluster.get_if<JsonObject>());
  ClusterRequest request{.gpu = f.gpu, .gpus = f.gpus, .network = f.network, .gbps_per_node = f.node_gbps};
  if (f.per_node > 0 && f.gpus % f.per_node == 0) {
    request.nodes = f.gpus / f.per_node;
    request.per_node = f.per_node;
  }
  return request;
}

costmodel::FrameworkProfile look_up_framework(const std::string& name) {
  return find_framework(name.empty() ? kDefaultFramework : name);
}

std::string framework_of(const ScenarioRequest& request) {
  if (request.framework.empty() || request.layout.layout.sharding.stage == 0) return request.framework;
  const std::string by_layout = preset_where_sharded(PresetKind::Framework, request.framework,
                                                     request.layout.by_fsdp() ? "fsdp" : "zero");
  return by_layout.empty() ? request.framework : by_layout;
}

namespace {

/// dp so that the layout fills the cluster.
int data_parallel(const Layout& layout, std::int64_t gpus) {
  const int replicas = layout.outer_replicas;
  const std::int64_t others = layout.ranks_per_dp();
  if (gpus % others != 0) {
    throw InputError(
        {.field = "layout",
         .value = fmt::format("{}tp{} cp{} pp{}", replicas > 1 ? fmt::format("diloco{} ", replicas) : "",
                              layout.tp, layout.cp, layout.pp),
         .expected = fmt::format("{} that divides {} GPUs, not {}", costmodel::axes_text(layout, false), gpus,
                                 others)});
  }
  return static_cast<int>(gpus / others);
}

/// Words about a whole run, which is not asked for without a budget of tokens.
}  // namespace

std::string note_without_effect(const costmodel::KnobNote& word) {
  return fmt::format("{} changes nothing: {}", word.knob, word.effect);
}

namespace {

void note_unasked_run(const Recipe& recipe, std::vector<std::string>& notes) {
  if (recipe.tokens > 0) return;
  Recipe run;
  run.checkpoints = recipe.checkpoints;
  run.reliability = recipe.reliability;
  const Recipe usual;
  for (const RecipeField& field : recipe_fields()) {
    if (field.write(run) != field.write(usual))
      notes.push_back(fmt::format("{} changes nothing: no budget of tokens is given", field.key));
  }
}

std::int64_t default_global_batch(const Layout& layout, const Recipe& recipe) {
  const std::int64_t microbatches = layout.pp > 1 ? kMicrobatchesPerStage * layout.pp : 1;
  return recipe.micro_batch * layout.batch_ranks() * microbatches;
}

}  // namespace

ResolvedScenario resolve(const ScenarioRequest& request) {
  return resolve(request, look_up_model(request.model), look_up_cluster(request.cluster),
                 look_up_framework(framework_of(request)));
}

ResolvedScenario resolve(const ScenarioRequest& request, ModelSpec looked_up_model,
                         ClusterSpec looked_up_cluster, costmodel::FrameworkProfile profile) {
  ResolvedScenario result;
  auto& [model, recipe, cluster, layout, framework] = result.scenario;
  model = std::move(looked_up_model);
  cluster = std::move(looked_up_cluster);
  framework = std::move(profile);
  if (request.price_per_hour) cluster.gpu.price_per_hour = *request.price_per_hour;
  layout = request.layout.layout;
  recipe = request.recipe;
  if (!request.layout.dp_given) layout.dp = data_parallel(layout, cluster.gpus);
  if (recipe.sequence == 0) {
    recipe.sequence =
        model.max_positions > 0 ? std::min(kDefaultSequence, model.max_positions) : kDefaultSequence;
    result.notes.push_back(fmt::format("sequence length not given: {} tokens", recipe.sequence));
  }
  if (recipe.global_batch == 0) {
    recipe.global_batch = default_global_batch(layout, recipe);
    result.notes.push_back(fmt::format("global batch not given: {} sequences", recipe.global_batch));
  }
  if (const std::int64_t rank = adapter_rank(result.scenario); rank > 0 && recipe.lora_rank == 0) {
    recipe.lora_rank = rank;
    result.notes.push_back(fmt::format("LoRA rank not given: {} (default)", rank));
  }
  // Names of profiles need no look at the table of aliases.
  if (!request.framework.empty() && request.framework != framework.name) {
    const std::string by_layout = framework_of(request);
    if (by_layout != request.framework) {
      result.notes.push_back(fmt::format(
          "{} shards states with DeepSpeed (zero1 to zero3) or with PyTorch's FSDP (fsdp, hsdp8): profile {}",
          request.framework, framework.name));
    } else if (std::string note = note_of_alias(PresetKind::Framework, request.framework); !note.empty()) {
      result.notes.push_back(std::move(note));
    }
  }
  for (const costmodel::KnobNote& word : words_without_effect(result.scenario))
    result.notes.push_back(note_without_effect(word));
  for (const std::string& word : beyond_abilities(result.scenario))
    result.notes.push_back(fmt::format("{} does not have {}: the numbers are those of one like it that had",
                                       framework.name, word));
  note_unasked_run(recipe, result.notes);
  return result;
}

namespace {

void take_links(const OwnFabric& links, ClusterCalibration& result) {
  apply(links, result.calibration, result.fabric);
  result.overlap_slowdown = links.overlap_slowdown;
}

std::filesystem::path calibration_path(const std::string& name) {
  const bool is_path =
      name.find('/') != std::string::npos || std::filesystem::path{name}.extension() == ".json";
  return is_path ? std::filesystem::path{name} : find_preset(PresetKind::Calibration, name);
}

void take_curves(const std::filesystem::path& path, ClusterCalibration& result) {
  costmodel::Calibration kernels = read_calibration(path);
  kernels.collectives = std::move(result.calibration.collectives);
  kernels.network = result.calibration.network;
  result.calibration = std::move(kernels);
  if (const auto links = read_own_fabric(path)) take_links(*links, result);
}

/// Curves, or what runs taught beside the curves that they were held against.
void take_calibration(const std::string& name, const ClusterSpec& cluster, ClusterCalibration& result) {
  const std::filesystem::path path = calibration_path(name);
  result.runs = read_run_calibration(path);
  if (!result.runs) return take_curves(path, result);
  if (result.runs->gpu != cluster.gpu.name) {
    throw InputError({.file = path.string(),
                      .field = "/gpu",
                      .value = result.runs->gpu,
                      .expected = fmt::format("runs on {}, the cluster's GPU", cluster.gpu.name)});
  }
  if (!result.runs->curves.empty()) take_curves(calibration_path(result.runs->curves), result);
}

/// Links that somebody measured need no correction.
void correct_by_runs(ClusterCalibration& result, bool own_links) {
  using costmodel::RunConstant;
  if (!result.runs) return;
  costmodel::RunCorrections value = result.runs->value;
  for (const RunConstant link : {RunConstant::NodeLinks, RunConstant::Network}) {
    if (own_links) value[static_cast<std::size_t>(link)] = 0;
  }
  costmodel::Calibration& c = result.calibration;
  correct(c, value);
  c.name += ", corrected by runs";
  c.source = fmt::format("{}; corrected by {} ({})", c.source, result.runs->source, result.runs->date);
}

/// What the file taught of another framework's software and does not say of this one.
std::string note_of_runs(const ClusterCalibration& found, const std::string& framework) {
  if (!found.runs || found.runs->framework == framework) return {};
  std::string names;
  for (const costmodel::RunConstantRow& row : costmodel::run_constants()) {
    if (row.of_framework && found.runs->told[static_cast<std::size_t>(row.constant)])
      names += fmt::format("{}{}", names.empty() ? "" : ", ", row.name);
  }
  if (names.empty()) return {};
  return fmt::format("learned with {} and left out for {}: {}", found.runs->framework, framework, names);
}

}  // namespace

ClusterCalibration calibration_for(const ScenarioRequest& request, const ClusterSpec& cluster) {
  ClusterCalibration result = find_calibration(cluster);
  if (!request.calibration.empty()) take_calibration(request.calibration, cluster, result);
  correct_by_runs(result, !request.fabric.empty());
  if (request.fabric.empty()) return result;
  const auto links = read_own_fabric(request.fabric);
  if (!links) throw InputError({.file = request.fabric, .field = "/fabric", .expected = "measured links"});
  const auto& gpus = links->gpus;
  if (std::find(gpus.begin(), gpus.end(), cluster.gpu.name) == gpus.end()) {
    throw InputError({.file = request.fabric,
                      .field = "/gpus",
                      .value = fmt::format("{}", fmt::join(gpus, ", ")),
                      .expected = fmt::format("links measured on {}, the cluster's GPU", cluster.gpu.name)});
  }
  take_links(*links, result);
  return result;
}

CalibratedScenario calibrate(const ScenarioRequest& request, ResolvedScenario resolved) {
  ClusterCalibration found = calibration_for(request, resolved.scenario.cluster);
  return calibrate(std::move(resolved), std::move(found));
}

CalibratedScenario calibrate(ResolvedScenario resolved, ClusterCalibration found) {
  found.apply_to(resolved.scenario.framework);
  if (std::string note = note_of_runs(found, resolved.scenario.framework.name); !note.empty())
    resolved.notes.push_back(std::move(note));
  return {.scenario = std::move(resolved.scenario),
          .calibration = std::move(found.calibration),
          .notes = std::move(resolved.notes),
          .fabric = std::move(found.fabric)};
}

CalibratedScenario resolve_calibrated(const ScenarioRequest& request) {
  return calibrate(request, resolve(request));
}

}  // namespace hexaplan::presets
