#include "presets/scenario/preset_memory.h"

#include <fmt/format.h>

#include <cstdlib>
#include <string_view>
#include <utility>

namespace hexaplan::presets {
namespace {

/// More presets than anybody asks about at once; configurations that a program makes leave a trail.
constexpr std::size_t kMostRemembered = 256;

bool presets_may_change() {
  const char* own = std::getenv("HEXAPLAN_PRESETS");
  return own != nullptr && *own != '\0';
}

/// Also inside a cluster's text: "8x./mine.json+ib400".
bool may_name_a_file(std::string_view text) {
  return text.find('/') != std::string_view::npos || text.find(".json") != std::string_view::npos;
}

/// What a preset, or an object that says everything itself, is remembered by; empty: it is not.
std::string memory_key(const JsonValue& said) {
  if (said.is_null() || presets_may_change()) return {};
  if (const auto* name = said.get_if<std::string>()) return may_name_a_file(*name) ? std::string{} : *name;
  // A GPU may be called by a file; configurations of models hold no name that is looked up.
  const JsonValue* gpu = said.find("gpu");
  const auto* file = gpu == nullptr ? nullptr : gpu->get_if<std::string>();
  if (file != nullptr && may_name_a_file(*file)) return {};
  return to_text(said, JsonStyle::Compact);
}

/// Of curves and links: by the cluster and what the request names beside it.
std::string calibration_key(const ScenarioRequest& request) {
  const std::string cluster = memory_key(request.cluster);
  if (cluster.empty() || !request.fabric.empty() || may_name_a_file(request.calibration)) return {};
  return cluster + '\n' + request.calibration;
}

}  // namespace

template <class Value, class Make>
std::shared_ptr<const Value> PresetMemory::remembered(Shelf<Value>& shelf, const std::string& key,
                                                      const Make& make) {
  if (!key.empty()) {
    const std::lock_guard lock{mutex_};
    if (const auto found = shelf.find(key); found != shelf.end()) return found->second;
  }
  auto value = std::make_shared<const Value>(make());
  if (key.empty()) return value;
  const std::lock_guard lock{mutex_};
  if (shelf.size() >= kMostRemembered) shelf.clear();
  shelf.emplace(key, value);
  return value;
}

ResolvedScenario PresetMemory::resolve(const ScenarioRequest& request) {
  const auto model =
      remembered(models_, memory_key(request.model), [&] { return look_up_model(request.model); });
  const auto cluster =
      remembered(clusters_, memory_key(request.cluster), [&] { return look_up_cluster(request.cluster); });
  const bool sharded = request.layout.layout.sharding.stage > 0;
  const std::string_view by = !sharded ? "" : request.layout.by_fsdp() ? " by fsdp" : " by zero";
  const auto framework =
      remembered(frameworks_, memory_key(fmt::format("profile {}{}", request.framework, by)),
                 [&] { return look_up_framework(framework_of(request)); });
  return presets::resolve(request, *model, *cluster, *framework);
}

CalibratedScenario PresetMemory::calibrate(const ScenarioRequest& request, ResolvedScenario resolved) {
  const auto found = remembered(calibrations_, calibration_key(request),
                                [&] { return calibration_for(request, resolved.scenario.cluster); });
  return presets::calibrate(std::move(resolved), *found);
}

}  // namespace hexaplan::presets
