#include "cli/commands/presets.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cli/render/estimate_rows.h"
#include "costmodel/parameters/parameter_tensors.h"
#include "costmodel/units/format_units.h"
#include "costmodel/units/nearest_name.h"
#include "presets/calibration/read_calibration.h"
#include "presets/catalog/catalog.h"
#include "presets/clusters/cluster_preset.h"
#include "presets/frameworks/framework_preset.h"
#include "presets/gpus/gpu_preset.h"
#include "presets/json/input_error.h"
#include "presets/json/read_json.h"
#include "presets/models/find_model.h"
#include "presets/models/hub_models.h"

namespace hexaplan::cli {

using presets::JsonObject;
using presets::PresetKind;

namespace {

JsonObject model_facts(const std::string& name) {
  const costmodel::ModelSpec model = presets::find_model(name);
  const costmodel::ParameterCount parameters = costmodel::count_parameters(model);
  return {{"name", name},
          {"family", model.family},
          {"parameters", parameters.total},
          {"active", parameters.active},
          {"layers", model.layers},
          {"hidden", model.hidden},
          {"heads", model.attention.heads},
          {"kv_heads", model.attention.kv_heads},
          {"vocab", model.vocab}};
}

/// A GPU without units of a precision has a peak of 0.
std::string peak_text(const costmodel::GpuSpec& gpu, costmodel::Precision precision) {
  const costmodel::FlopsPerSecond peak = gpu.peak_of(precision);
  return peak.value() > 0 ? format_rate(peak) : "none";
}

JsonObject gpu_facts(const std::string& name) {
  const presets::GpuPreset gpu = presets::find_gpu_preset(name);
  return {{"name", name},
          {"title", gpu.title},
          {"memory", format_binary(gpu.spec.memory)},
          {"bandwidth", format_rate(gpu.spec.memory_bandwidth)},
          {"bf16", peak_text(gpu.spec, costmodel::Precision::Bf16)},
          {"fp8", peak_text(gpu.spec, costmodel::Precision::Fp8)},
          {"per_node", gpu.node.gpus}};
}

JsonObject cluster_facts(const std::string& name) {
  const costmodel::ClusterSpec cluster = presets::parse_cluster(name);
  return {{"name", name},
          {"gpu", cluster.gpu.name},
          {"gpus", cluster.gpus},
          {"per_node", cluster.gpus_per_node},
          {"network", presets::network_text(cluster)}};
}

JsonObject framework_facts(const std::string& name) {
  return {{"name", name}, {"description", presets::find_framework_preset(name).description}};
}

JsonObject calibration_facts(const std::string& name) {
  const auto calibration = presets::read_calibration(presets::find_preset(PresetKind::Calibration, name));
  return {
      {"name", name}, {"gpu", calibration.gpu}, {"date", calibration.date}, {"source", calibration.source}};
}

struct KindInfo {
  std::string_view name;  // as the command line says it
  PresetKind kind;
  JsonObject (*facts)(const std::string& name);
};
constexpr KindInfo kKinds[] = {{"models", PresetKind::Model, model_facts},
                               {"gpus", PresetKind::Gpu, gpu_facts},
                               {"clusters", PresetKind::Cluster, cluster_facts},
                               {"frameworks", PresetKind::Framework, framework_facts},
                               {"calibrations", PresetKind::Calibration, calibration_facts}};

const KindInfo& find_kind(const std::string& word) {
  std::vector<std::string_view> names;
  for (const KindInfo& info : kKinds) {
    if (info.name == word || info.name.substr(0, info.name.size() - 1) == word) return info;
    names.push_back(info.name);
  }
  const std::string_view near = costmodel::nearest_name(word, names);
  throw UsageError{fmt::format("unknown kind of preset '{}'; {}", word,
                               near.empty() ? fmt::format("there are {}", fmt::join(names, ", "))
                                            : fmt::format("did you mean '{}'?", near))};
}

PresetList list_kind(const KindInfo& info) {
  PresetList list{.kind = std::string{info.name}};
  for (const std::string& name : presets::list_presets(info.kind)) {
    try {
      list.rows.push_back(info.facts(name));
    } catch (const presets::InputError& error) {
      list.unreadable.push_back({name, error.what()});
    }
  }
  if (list.rows.empty()) return list;
  for (const auto& [column, value] : list.rows.front()) list.columns.push_back(column);
  return list;
}

}  // namespace

std::vector<std::string> preset_names(const std::string& kind) {
  return presets::list_presets(find_kind(kind).kind);
}

std::vector<PresetList> list_presets(const PresetsOptions& options) {
  std::vector<PresetList> lists;
  if (!options.kind.empty()) {
    lists.push_back(list_kind(find_kind(options.kind)));
    return lists;
  }
  for (const KindInfo& info : kKinds) lists.push_back(list_kind(info));
  return lists;
}

PresetContent show_preset(const PresetsOptions& options) {
  const KindInfo& info = find_kind(options.kind);
  // A model also by its name on the hub, as --model takes it.
  const auto preset = info.kind == presets::PresetKind::Model && presets::is_hub_name(options.name)
                          ? presets::preset_with_config_of(options.name)
                          : std::nullopt;
  const auto file = preset ? *preset : presets::find_preset(info.kind, options.name);
  const std::string name = file.stem().string();
  return {.kind = std::string{info.name},
          .name = name,
          .file = file.string(),
          .aliases = presets::aliases_of(info.kind, name),
          .content = presets::read_json_file(file).root};
}

}  // namespace hexaplan::cli
