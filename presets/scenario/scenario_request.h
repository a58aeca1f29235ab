#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "costmodel/program/not_modelled.h"
#include "costmodel/spec/scenario.h"
#include "presets/calibration/find_calibration.h"
#include "presets/clusters/cluster_preset.h"
#include "presets/json/json_value.h"
#include "presets/json/read_json.h"
#include "presets/scenario/layout_text.h"

namespace hexaplan::presets {

/// A scenario as a user writes it, before presets are looked up and defaults are filled in: the content of a
/// scenario file.
struct ScenarioRequest {
  /// Preset name, path of a config.json (or of its folder), or the config object itself. Null: not given.
  JsonValue model;
  /// "64xH100", or {"gpu", "gpus", "gpus_per_node", "node_nic_gbps", "network"}. Null: not given.
  JsonValue cluster;
  std::string framework;    // empty = megatron
  std::string calibration;  // preset or path; empty = the curves of the GPU type
  std::string fabric;       // path; empty = the calibration's own links, else those of the GPU type
  LayoutRequest layout;
  costmodel::Recipe recipe;              // sequence, global_batch: 0 = not given
  std::optional<double> price_per_hour;  // US dollars per GPU
  friend bool operator==(const ScenarioRequest&, const ScenarioRequest&) = default;
};

inline constexpr std::string_view kScenarioSchema = "hexaplan/scenario/1";

/// Reads {"schema": "hexaplan/scenario/1", "model", "cluster", "framework", "layout", "recipe",
/// "calibration", "fabric", "price_per_hour"}; only schema is required. Strict: an unknown key is an
/// InputError that names the nearest one. "filled" lists members that were left to the program when the file
/// was written; they hold all the same.
[[nodiscard]] ScenarioRequest read_scenario(const JsonDocument& document);
/// JSON that `read_scenario` reads back to an equal request.
[[nodiscard]] JsonValue to_json(const ScenarioRequest& request);

/// A request with presets looked up and defaults filled in.
struct ResolvedScenario {
  costmodel::Scenario scenario;
  std::vector<std::string> notes;  // which defaults were used
};
/// InputError when the model or the cluster is not given, a preset is unknown, or dp cannot follow from the
/// cluster (its GPUs do not divide by tp·cp·pp). Rules about layouts are left to costmodel::first_rejection.
[[nodiscard]] ResolvedScenario resolve(const ScenarioRequest& request);
/// "ep_overlap changes nothing: ep is 1", as resolve notes it.
[[nodiscard]] std::string note_without_effect(const costmodel::KnobNote& word);

// The same in two steps, for callers with many requests about the same presets. Only look_up_… reads files.
[[nodiscard]] costmodel::ModelSpec look_up_model(const JsonValue& model);
/// Keys of a cluster that is given as an object.
[[nodiscard]] std::vector<std::string_view> cluster_keys();
[[nodiscard]] costmodel::ClusterSpec look_up_cluster(const JsonValue& cluster);
/// The parts of a cluster as given; a partly filled last node counts as the reference node.
[[nodiscard]] ClusterRequest cluster_request(const JsonValue& cluster);
[[nodiscard]] costmodel::FrameworkProfile look_up_framework(const std::string& name);
/// The profile that a request's framework means: of a trainer that shards with DeepSpeed or FSDP, the one
/// whose words its layout has (presets/frameworks/aliases.json, "sharded").
[[nodiscard]] std::string framework_of(const ScenarioRequest& request);
[[nodiscard]] ResolvedScenario resolve(const ScenarioRequest& request, costmodel::ModelSpec model,
                                       costmodel::ClusterSpec cluster, costmodel::FrameworkProfile framework);

/// The curves that the request names, else those of the GPU type. Links: of the request's fabric, else what
/// the calibration that it names has, else those of the cluster. InputError when a fabric was measured on
/// other GPUs.
[[nodiscard]] ClusterCalibration calibration_for(const ScenarioRequest& request,
                                                 const costmodel::ClusterSpec& cluster);

/// A scenario with the calibration that prices it.
struct CalibratedScenario {
  costmodel::Scenario scenario;
  costmodel::Calibration calibration;
  std::vector<std::string> notes;  // which defaults were used
  FabricOrigin fabric;             // where the curves of the links come from
};
/// Adds the calibration of the request's cluster; a measured overlap slowdown replaces the framework
/// profile's.
[[nodiscard]] CalibratedScenario calibrate(const ScenarioRequest& request, ResolvedScenario resolved);
/// The same with a calibration that was looked up before.
[[nodiscard]] CalibratedScenario calibrate(ResolvedScenario resolved, ClusterCalibration found);
/// resolve() and calibrate() in one call: everything that estimate_step, search and simulate_step take.
[[nodiscard]] CalibratedScenario resolve_calibrated(const ScenarioRequest& request);

}  // namespace hexaplan::presets
