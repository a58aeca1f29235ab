#pragma once
#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "costmodel/spec/cluster_spec.h"
#include "costmodel/spec/layout.h"

namespace hexaplan::costmodel {

// Preconditions of everything here, which the rules (spec/rules) check: every degree >= 1, `order` a
// permutation of the four axes, ep·etp divides dp·cp·tp (and, where the pipeline axis is not outermost, the
// ranks inside it divide or are divided by etp and ep·etp), the shard group divides dp·cp along whole
// contexts or parts of one.

/// Process groups that a step communicates over. Dense gradients and ZeRO shards use DataContext (dp·cp);
/// experts use ExpertData.
enum class Group : std::uint8_t {
  Tensor,
  Context,
  Data,
  DataContext,
  Shard,      // the ZeRO/FSDP shard group: DataContext or a part of it
  Replica,    // across shard groups (HSDP)
  Secondary,  // ZeRO++ hpZ: sharding.hpz neighbours of the shard group, which keep a second copy together
  Pipeline,
  Expert,
  ExpertTensor,
  ExpertData,
  World,      // a replica's ranks: all, unless several train apart
  Outer,      // across replicas that train apart: the same rank of each
  Mirror,     // two stages that hold the same layers of two copies of the model (DualPipe)
  ShardNode,  // ranks of the shard group inside one node or rack: place_group alone knows it
};
inline constexpr int kGroupCount = 15;
/// "tensor", "data-context" …
[[nodiscard]] std::string_view name_of(Group group);
inline constexpr int kLayoutGroups = 14;  // that the layout alone defines: all but ShardNode

/// Where a group lies on the network: how many of its members share one unit of each level.
struct GroupPlacement {
  std::int64_t ranks = 1;   // members
  std::int64_t stride = 1;  // distance between neighbours in world rank
  /// Members inside one unit of cluster.levels[i]; the last spans the group. Non-decreasing. Where units of
  /// a network tier cut groups in unlike parts, half a group at worst.
  std::array<std::int64_t, kMostLevels> within{1, 1, 1, 1, 1, 1, 1, 1};
  /// GPUs of such a unit whose links upwards are this group's when all of its kind talk at once: its own
  /// members' where the groups lie alike.
  std::array<std::int64_t, kMostLevels> uplinks{1, 1, 1, 1, 1, 1, 1, 1};
  int levels = 0;
  /// Members in different nodes have the same ranks inside their nodes: they share rails.
  bool equal_rails = true;
  /// Groups of this kind (this one included) that share the network cards of one node, or NVLink rack, and
  /// talk at the same time; 1 for a group inside one node.
  std::int64_t sharing = 1;
  friend bool operator==(const GroupPlacement&, const GroupPlacement&) = default;
};

/// Ranks along an axis.
[[nodiscard]] std::int64_t degree_of(const Layout& layout, Axis axis);
/// Coordinates of `rank` on the seven axes. Precondition: 0 <= rank < layout.world_size().
[[nodiscard]] std::array<std::int64_t, kAxisCount> coordinates_of(const Layout& layout, std::int64_t rank);
/// World ranks of the group of kind `group` that `rank` belongs to, in group order (rank itself included).
/// Precondition: not ShardNode, which is the cluster's.
[[nodiscard]] std::vector<std::int64_t> members_of(const Layout& layout, Group group, std::int64_t rank);
/// Size of groups of this kind. Precondition: not ShardNode.
[[nodiscard]] std::int64_t group_size(const Layout& layout, Group group);
/// Placement of the group that holds rank 0; the grid is regular, so every group of the kind has the same,
/// but for Mirror: the first and the last stage lie farthest apart.
[[nodiscard]] GroupPlacement place_group(const Layout& layout, Group group, const ClusterSpec& cluster);

}  // namespace hexaplan::costmodel
