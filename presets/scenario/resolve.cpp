#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <utility>

#include "presets/calibration/read_calibration.h"
#include "presets/catalog/catalog.h"
#include "presets/clusters/cluster_preset.h"
#include "presets/frameworks/framework_preset.h"
#include "presets/models/find_model.h"
#include "presets/models/read_model_config.h"
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

ModelSpec resolve_model(const JsonValue& model) {
  if (model.is_null()) {
    throw InputError({.field = "--model",
                      .value = "nothing",
                      .expected = "a preset, a config.json or its folder",
                      .hint = "'hexaplan presets list models' lists the presets"});
  }
  if (const auto* name = model.get_if<std::string>()) return find_model(*name);
  return model_from_config("scenario", "/model", model);
}

ClusterSpec cluster_from_fields(const JsonObject& fields) {
  static const std::string file = "scenario";
  ObjectReader reader{file, "/cluster", fields, Reading::Strict};
  const std::string gpu = reader.required("gpu").text();
  const std::int64_t gpus = reader.required("gpus").integer({1, 10'000'000});
  int per_node = 0;
  double gbps = 0;
  std::string network;
  if (const auto value = reader.optional("gpus_per_node")) per_node = value->small_integer({1, 1'000'000});
  if (const auto value = reader.optional("node_nic_gbps")) gbps = value->number({1e-3, 1e9});
  if (const auto value = reader.optional("network")) network = value->text();
  reader.finish();
  return make_cluster(gpu, gpus, per_node, gbps, network);
}

ClusterSpec resolve_cluster(const JsonValue& cluster) {
  if (cluster.is_null()) {
    throw InputError({.field = "--cluster",
                      .value = "nothing",
                      .expected = "GPUs and network, such as 64xH100",
                      .hint = "'hexaplan presets list gpus' lists the types"});
  }
  if (const auto* text = cluster.get_if<std::string>()) return parse_cluster(*text);
  return cluster_from_fields(*cluster.get_if<JsonObject>());
}

/// dp so that the layout fills the cluster.
int data_parallel(const Layout& layout, std::int64_t gpus) {
  const std::int64_t others = static_cast<std::int64_t>(layout.tp) * layout.cp * layout.pp;
  if (gpus % others != 0) {
    throw InputError({.field = "layout",
                      .value = fmt::format("tp{} cp{} pp{}", layout.tp, layout.cp, layout.pp),
                      .expected = fmt::format("tp·cp·pp that divides {} GPUs, not {}", gpus, others)});
  }
  return static_cast<int>(gpus / others);
}

std::int64_t default_global_batch(const Layout& layout, const Recipe& recipe) {
  const std::int64_t microbatches = layout.pp > 1 ? kMicrobatchesPerStage * layout.pp : 1;
  return recipe.micro_batch * layout.dp * microbatches;
}

}  // namespace

ResolvedScenario resolve(const ScenarioRequest& request) {
  ResolvedScenario result;
  auto& [model, recipe, cluster, layout, framework] = result.scenario;
  model = resolve_model(request.model);
  cluster = resolve_cluster(request.cluster);
  if (request.price_per_hour) cluster.gpu.price_per_hour = *request.price_per_hour;
  framework = find_framework(request.framework.empty() ? kDefaultFramework : request.framework);
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
  return result;
}

ClusterCalibration calibration_for(const ScenarioRequest& request, const ClusterSpec& cluster) {
  ClusterCalibration result = find_calibration(cluster);
  const std::string& name = request.calibration;
  if (name.empty()) return result;
  const bool is_path =
      name.find('/') != std::string::npos || std::filesystem::path{name}.extension() == ".json";
  costmodel::Calibration kernels =
      read_calibration(is_path ? std::filesystem::path{name} : find_preset(PresetKind::Calibration, name));
  kernels.collectives = std::move(result.calibration.collectives);
  kernels.network = result.calibration.network;
  result.calibration = std::move(kernels);
  return result;
}

}  // namespace hexaplan::presets
