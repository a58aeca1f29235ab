#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <variant>

#include "costmodel/spec/scenario.h"
#include "presets/gpus/gpu_preset.h"
#include "presets/truth/truth_row.h"

namespace hexaplan::presets {

/// Why a row has no scenario: "architecture 't5' is not modelled".
struct NoScenario {
  std::string reason;
};
using RowScenario = std::variant<NoScenario, costmodel::Scenario>;

/// Turns rows of a truth table into scenarios. Keeps the presets it has read: a table has thousands of rows
/// and some dozens of clusters and frameworks.
class RowInterpreter {
 public:
  /// Uses the normalised columns only. What a row leaves open takes the documented default of the schema;
  /// what no model here can express, or a row without an input that every prediction needs, has a reason
  /// instead.
  [[nodiscard]] RowScenario scenario_of(const TruthRow& row);

 private:
  /// Engine, GPU, GPUs, GPUs per node, Gbit/s per node, network.
  using ClusterKey = std::tuple<std::string, std::string, std::int64_t, int, double, std::string>;
  /// Profile, with FlashAttention's first generation in place of the second, with 4-bit products that keep
  /// their inputs.
  using ProfileKey = std::tuple<std::string, bool, bool>;
  [[nodiscard]] const costmodel::ClusterSpec& cluster(const TruthRow& row);
  [[nodiscard]] const costmodel::FrameworkProfile& framework(const TruthRow& row);

  std::map<std::string, GpuPreset, std::less<>> gpus_;
  std::map<ClusterKey, costmodel::ClusterSpec> clusters_;
  std::map<ProfileKey, costmodel::FrameworkProfile> frameworks_;
};

}  // namespace hexaplan::presets
