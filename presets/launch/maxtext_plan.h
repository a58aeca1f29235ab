#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "costmodel/spec/scenario.h"

namespace hexaplan::presets {

struct LaunchReading;

// What MaxText says in axes of a mesh and in names of decoder blocks (AI-Hypercomputer/maxtext@e591f30
// src/maxtext/configs/base.yml, types.py).

/// Axes that a plan's degrees stand on, those with the most traffic first: they fill nodes in this order.
/// TensorSequence cuts what lies between products along the sequence, as Megatron's sequence parallelism
/// does; Tensor cuts it along the hidden size.
enum class MeshAxis : std::uint8_t { TensorSequence, Tensor, Context, Expert, Fsdp, Data, Stage };
inline constexpr int kMeshAxes = 7;

/// Ranks along every axis: of the whole mesh, or of a node ("ici") and between nodes ("dcn").
using MeshDegrees = std::array<std::int64_t, kMeshAxes>;
struct Mesh {
  MeshDegrees ici, dcn;
};
/// The axes that shard parameters are Fsdp, Context and Expert; the batch is cut over Data, Fsdp and Expert.
/// Nothing where no mesh has the plan's groups.
[[nodiscard]] std::optional<MeshDegrees> mesh_degrees(const costmodel::Scenario& scenario);
/// The same cut at the nodes of the plan's cluster.
[[nodiscard]] std::optional<Mesh> mesh_of(const costmodel::Scenario& scenario);

/// A kind of layer that MaxText has, and the models that consist of it.
struct DecoderBlock {
  std::string_view name;  // decoder_block
  bool (*is)(const costmodel::ModelSpec& model);
  void (*set)(costmodel::ModelSpec& model);
};
/// Nothing where MaxText has no such layers, or has them by the model's name alone.
[[nodiscard]] const DecoderBlock* decoder_block(const costmodel::ModelSpec& model);
/// By MaxText's name; nullptr where the block is not described here.
[[nodiscard]] const DecoderBlock* find_decoder_block(std::string_view name);

/// Defaults of base.yml.
void begin_maxtext(LaunchReading& reading);
void settle_maxtext(LaunchReading& reading);

}  // namespace hexaplan::presets
