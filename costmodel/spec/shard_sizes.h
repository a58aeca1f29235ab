#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "costmodel/spec/scenario.h"

namespace hexaplan::costmodel {

/// Sizes by which ZeRO moves and holds parameters and gradients where modules gather their own
/// (FrameworkProfile::gathers_by_module), in elements: the recipe's, or the framework profile's.
/// [docs/formulas.md#M6]
struct ShardSizes {
  double reduce_bucket = 0, prefetch = 0, live = 0, reuse = 0, persistent = 0, update_group = 0;
};
/// A size by its three places.
struct SizePlace {
  std::optional<std::int64_t> ZeroSizes::*said;
  double FrameworkProfile::*usual;
  double ShardSizes::*size;
};
inline constexpr std::array<SizePlace, 6> kSizePlaces{{
    {&ZeroSizes::reduce_bucket, &FrameworkProfile::gradient_bucket_elements, &ShardSizes::reduce_bucket},
    {&ZeroSizes::prefetch, &FrameworkProfile::gather_prefetch_elements, &ShardSizes::prefetch},
    {&ZeroSizes::live, &FrameworkProfile::gather_live_elements, &ShardSizes::live},
    {&ZeroSizes::reuse, &FrameworkProfile::gather_reuse_elements, &ShardSizes::reuse},
    {&ZeroSizes::persistent, &FrameworkProfile::gather_persistent_elements, &ShardSizes::persistent},
    {&ZeroSizes::update_group, &FrameworkProfile::update_group_elements, &ShardSizes::update_group},
}};
[[nodiscard]] inline ShardSizes shard_sizes(const Scenario& sc) {
  ShardSizes sizes;
  for (const SizePlace& place : kSizePlaces) {
    const std::optional<std::int64_t>& said = sc.recipe.sizes.*place.said;
    sizes.*place.size = said ? static_cast<double>(*said) : sc.framework.*place.usual;
  }
  return sizes;
}

/// True where tensors of so many elements, whole, stay gathered on every rank between steps
/// (deepspeedai/DeepSpeed runtime/zero/parameter_offload.py mark_persistent_parameters).
[[nodiscard]] inline bool stays_whole(const Scenario& sc, double elements) {
  return sc.framework.gathers_by_module && sc.layout.sharding.stage >= 3 && sc.layout.shard_ranks() > 1 &&
         elements <= shard_sizes(sc).persistent;
}

/// True where the output layer gathers the embedding's table once more for its product, a module like any
/// other: the table is its matrix and was freed behind the embedding.
[[nodiscard]] inline bool gathers_tied_table(const Scenario& sc) {
  const ModelSpec& m = sc.model;
  const bool reads_table = m.tied_embeddings && m.outputs == 0 && !separates_ends(sc.layout);
  return reads_table && sc.framework.gathers_by_module && sc.layout.sharding.stage >= 3 &&
         !stays_whole(sc, static_cast<double>(m.vocab * m.hidden));
}

/// True where ZeRO++'s secondary partition (hpZ) lies in host memory, as the parameters do
/// (deepspeedai/DeepSpeed runtime/zero/partition_parameters.py _partition_param_sec, remote_device).
[[nodiscard]] inline bool secondary_on_host(const Scenario& sc) {
  return sc.layout.sharding.hpz > 1 && sc.layout.sharding.stage >= 3 &&
         (sc.recipe.offload & kOffloadParameters) != 0 && !sc.framework.secondary_partition_on_device;
}

/// Elements that are gathered ahead of the running module, which has `tensor` of them: whole tensors until
/// the bucket is full, so one at least; none beyond what may be alive
/// (runtime/zero/partitioned_param_coordinator.py _fetch_sub_module_impl).
[[nodiscard]] inline double fetched_ahead(const ShardSizes& sizes, double tensor) {
  const double room = std::min(sizes.prefetch, sizes.live - tensor);
  return room <= 0 ? 0 : std::max(room, tensor);
}

/// Layers that are gathered ahead of the running one; below 1: a share of it. `layer`: elements of a layer,
/// in `tensors` parameters.
[[nodiscard]] inline double prefetched_layers(const Scenario& sc, double layer, double tensors) {
  if (!sc.framework.gathers_by_module) return sc.framework.gather_prefetch_layers;
  if (layer <= 0) return 0;
  return fetched_ahead(shard_sizes(sc), layer / std::max(1.0, tensors)) / layer;
}

/// Elements of the last layers that stay gathered from their forward to their backward, because no more than
/// `reuse` others run in between: the layers behind twice, three times where they run again, and the output
/// layer of `head` twice (__params_to_release).
[[nodiscard]] inline double kept_for_backward(const Scenario& sc, double layers, double head) {
  const double passes = sc.recipe.recompute.of_layers() ? 3 : 2;
  return std::clamp((shard_sizes(sc).reuse - 2 * head) / passes, 0.0, layers);
}

/// Share of a recomputed layer of so many elements that stays gathered between its second forward and its
/// backward.
[[nodiscard]] inline double kept_for_recomputation(const Scenario& sc, double layer) {
  return layer > 0 ? std::clamp(shard_sizes(sc).reuse / (2 * layer), 0.0, 1.0) : 1;
}

}  // namespace hexaplan::costmodel
