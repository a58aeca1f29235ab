#include "costmodel/spec/rank_grid.h"

#include <algorithm>
#include <cassert>

namespace hexaplan::costmodel {
namespace {

constexpr std::array<std::string_view, kGroupCount> kGroupNames{
    "tensor", "context",       "data",        "data-context", "shard", "replica", "secondary", "pipe",
    "expert", "expert-tensor", "expert-data", "world",        "outer", "mirror",  "shard-node"};

/// One digit of the mixed-radix number that a world rank is: (rank / stride) % size.
struct Digit {
  std::int64_t stride = 1;
  std::int64_t size = 1;
};

/// The digits in which the members of a group differ, smallest stride first. Digits of size 1 are left out.
struct Digits {
  std::array<Digit, 4> digit{};
  int count = 0;

  void add(Digit d) {
    if (d.size > 1) {
      digit[static_cast<std::size_t>(count++)] = d;
    }
  }
  [[nodiscard]] const Digit& at(int i) const { return digit[static_cast<std::size_t>(i)]; }
  [[nodiscard]] std::int64_t ranks() const {
    std::int64_t product = 1;
    for (int i = 0; i < count; ++i) {
      product *= at(i).size;
    }
    return product;
  }
};

/// The digit of one of the four axes of the layout's order.
Digit dense_digit(const Layout& layout, Axis wanted) {
  std::int64_t stride = 1;
  for (const Axis axis : layout.order) {
    if (axis == wanted) {
      break;
    }
    stride *= degree_of(layout, axis);
  }
  return {.stride = stride, .size = degree_of(layout, wanted)};
}

/// The experts' axes count the ranks of one stage in world order: etp innermost, then ep, then the replicas
/// (Megatron-LM core/parallel_state.py, the expert RankGenerator of order tp-ep-dp-pp).
Digit expert_digit_in_stage(const Layout& layout, Axis axis) {
  const std::int64_t etp = layout.expert_tensor();
  switch (axis) {
    case Axis::ExpertTensor:
      return {.stride = 1, .size = etp};
    case Axis::Expert:
      return {.stride = etp, .size = layout.ep};
    default:
      return {.stride = etp * layout.ep, .size = layout.expert_data()};
  }
}

/// Adds a digit given among the ranks of one stage. Where the pipeline axis is not outermost, ranks of a
/// stage are consecutive only up to its stride.
void add_stage_digit(const Layout& layout, Digit d, Digits& out) {
  const Digit pipeline = dense_digit(layout, Axis::Pipeline);
  if (d.stride >= pipeline.stride) {
    out.add({.stride = d.stride * pipeline.size, .size = d.size});
  } else if (d.stride * d.size <= pipeline.stride) {
    out.add(d);
  } else {
    const std::int64_t inside = pipeline.stride / d.stride;
    out.add({.stride = d.stride, .size = inside});
    out.add({.stride = pipeline.stride * pipeline.size, .size = d.size / inside});
  }
}

Digits data_context_digits(const Layout& layout) {
  Digits result;
  for (const Axis axis : layout.order) {
    if (axis == Axis::Data || axis == Axis::Context) {
      result.add(dense_digit(layout, axis));
    }
  }
  return result;
}

/// Splits a group into parts of `part` members next to each other, and the digits that tell the parts apart.
struct Split {
  Digits inside;
  Digits across;
};
Split split_group(const Digits& whole, std::int64_t part) {
  Split result;
  for (int i = 0; i < whole.count; ++i) {
    const Digit d = whole.at(i);
    const std::int64_t low = std::min(part, d.size);
    result.inside.add({.stride = d.stride, .size = low});
    result.across.add({.stride = d.stride * low, .size = d.size / low});
    part = std::max<std::int64_t>(1, part / low);
  }
  return result;
}

Digits shard_digits(const Layout& layout) {
  return split_group(data_context_digits(layout), layout.shard_ranks()).inside;
}

Digits digits_of(const Layout& layout, Group group) {
  assert(group != Group::ShardNode);
  Digits result;
  switch (group) {
    case Group::Tensor:
      result.add(dense_digit(layout, Axis::Tensor));
      break;
    case Group::Context:
      result.add(dense_digit(layout, Axis::Context));
      break;
    case Group::Data:
      result.add(dense_digit(layout, Axis::Data));
      break;
    case Group::Pipeline:
      result.add(dense_digit(layout, Axis::Pipeline));
      break;
    case Group::DataContext:
      return data_context_digits(layout);
    case Group::Shard:
      return shard_digits(layout);
    case Group::Replica:
      return split_group(data_context_digits(layout), layout.shard_ranks()).across;
    case Group::Secondary:
      return split_group(shard_digits(layout), std::max(1, layout.sharding.hpz)).inside;
    case Group::ShardNode:
      break;
    case Group::Expert:
      add_stage_digit(layout, expert_digit_in_stage(layout, Axis::Expert), result);
      break;
    case Group::ExpertTensor:
      add_stage_digit(layout, expert_digit_in_stage(layout, Axis::ExpertTensor), result);
      break;
    case Group::ExpertData:
      add_stage_digit(layout, expert_digit_in_stage(layout, Axis::ExpertData), result);
      break;
    case Group::World:
      result.add({.stride = 1, .size = layout.replica_size()});
      break;
    case Group::Outer:
      result.add({.stride = layout.replica_size(), .size = layout.outer_replicas});
      break;
    case Group::Mirror: {
      const Digit pipeline = dense_digit(layout, Axis::Pipeline);
      result.add({.stride = pipeline.stride * (pipeline.size - 1),
                  .size = std::min<std::int64_t>(pipeline.size, model_copies(layout.schedule))});
      break;
    }
  }
  return result;
}

/// The stages r and p − 1 − r, from the upper one on.
std::vector<std::int64_t> mirrored(const Layout& layout, std::int64_t rank) {
  const Digit pipeline = dense_digit(layout, Axis::Pipeline);
  const std::int64_t stage = rank / pipeline.stride % pipeline.size, other = pipeline.size - 1 - stage;
  if (model_copies(layout.schedule) == 1 || stage == other) return {rank};
  const std::int64_t partner = rank + (other - stage) * pipeline.stride;
  return {std::min(rank, partner), std::max(rank, partner)};
}

/// Members with world rank below `limit` in the group that holds rank 0.
std::int64_t members_below(const Digits& digits, std::int64_t limit) {
  std::int64_t members = 0;
  std::int64_t lower = digits.ranks();
  for (int i = digits.count - 1; i >= 0; --i) {
    const Digit& d = digits.at(i);
    lower /= d.size;
    const std::int64_t complete = std::min(d.size, limit / d.stride);
    members += complete * lower;
    limit -= complete * d.stride;
    if (complete == d.size) {
      return members;
    }
  }
  return members + (limit > 0 ? 1 : 0);
}

/// GPUs that share network cards: one unit of the largest level that is not the network.
std::int64_t gpus_behind_one_network(const ClusterSpec& cluster) {
  std::int64_t gpus = cluster.gpus_per_node;
  for (const NetworkLevel& level : cluster.levels) {
    if (level.fabric != Fabric::Network) {
      gpus = std::max(gpus, level.ranks);
    }
  }
  return std::max<std::int64_t>(1, gpus);
}

/// How a group lies in units of a network tier.
struct InUnits {
  std::int64_t members = 1;  // of the group in one unit
  std::int64_t uplinks = 1;  // GPUs of the unit per group that leaves it
};

/// Groups of a kind fill blocks of consecutive ranks. They lie alike in all units where units hold whole
/// blocks, or blocks whole units of whole strides. Otherwise the border of a unit cuts through all groups of
/// a block: half of each lies on either side at worst, and as a unit has two borders, its links upwards serve
/// two blocks of groups.
InUnits lie_in_units(const Digits& digits, std::int64_t unit, std::int64_t world) {
  const std::int64_t members = members_below(digits, unit);
  if (digits.count == 0 || unit >= world) return {members, members};
  const Digit& last = digits.at(digits.count - 1);
  const std::int64_t block = last.stride * last.size;
  const bool whole_strides = unit % last.stride == 0 || last.stride % unit == 0;
  const bool whole_units = whole_strides && (block % unit == 0 || block >= world);
  if (block <= unit ? unit % block == 0 : whole_units) return {members, members};
  const std::int64_t half = std::max<std::int64_t>(1, members / 2);
  return {half, block > unit ? half : std::max(half, unit * members / (2 * block))};
}

/// Whether groups have the same members' places in every node that they touch, so that neighbours in
/// different nodes have equal ranks inside them.
bool keeps_rails(const Digits& digits, std::int64_t node) {
  for (int i = 0; i < digits.count; ++i) {
    const Digit& d = digits.at(i);
    const std::int64_t span = d.stride * d.size;
    const bool inside = span <= node && node % span == 0;
    const bool across = d.stride >= node ? d.stride % node == 0 : node % d.stride == 0 && span % node == 0;
    if (!inside && !across) return false;
  }
  return true;
}

Digits shard_digits_in_node(const Layout& layout, const ClusterSpec& cluster) {
  const Digits shard = shard_digits(layout);
  return split_group(shard, members_below(shard, gpus_behind_one_network(cluster))).inside;
}

}  // namespace

std::string_view name_of(Group group) {
  return kGroupNames.at(static_cast<std::size_t>(group));
}

std::int64_t degree_of(const Layout& layout, Axis axis) {
  switch (axis) {
    case Axis::Tensor:
      return layout.tp;
    case Axis::Context:
      return layout.cp;
    case Axis::Data:
      return layout.dp;
    case Axis::Pipeline:
      return layout.pp;
    case Axis::Expert:
      return layout.ep;
    case Axis::ExpertTensor:
      return layout.expert_tensor();
    case Axis::ExpertData:
      return layout.expert_data();
  }
  return 1;
}

std::array<std::int64_t, kAxisCount> coordinates_of(const Layout& layout, std::int64_t rank) {
  assert(rank >= 0 && rank < layout.world_size());
  std::array<std::int64_t, kAxisCount> result{};
  const auto at = [&](Axis axis) -> std::int64_t& { return result[static_cast<std::size_t>(axis)]; };
  for (const Axis axis : layout.order) {
    const Digit d = dense_digit(layout, axis);
    at(axis) = rank / d.stride % d.size;
  }
  const Digit pipeline = dense_digit(layout, Axis::Pipeline);
  const std::int64_t in_stage =
      rank % pipeline.stride + rank / (pipeline.stride * pipeline.size) * pipeline.stride;
  for (const Axis axis : {Axis::Expert, Axis::ExpertTensor, Axis::ExpertData}) {
    const Digit d = expert_digit_in_stage(layout, axis);
    at(axis) = in_stage / d.stride % d.size;
  }
  return result;
}

std::vector<std::int64_t> members_of(const Layout& layout, Group group, std::int64_t rank) {
  assert(rank >= 0 && rank < layout.world_size());
  if (group == Group::Mirror) return mirrored(layout, rank);
  const Digits digits = digits_of(layout, group);
  std::int64_t first = rank;
  for (int i = 0; i < digits.count; ++i) {
    const Digit& d = digits.at(i);
    first -= rank / d.stride % d.size * d.stride;
  }
  std::vector<std::int64_t> members;
  members.reserve(static_cast<std::size_t>(digits.ranks()));
  for (std::int64_t member = 0; member < digits.ranks(); ++member) {
    std::int64_t place = first;
    std::int64_t rest = member;
    for (int i = 0; i < digits.count; ++i) {
      place += rest % digits.at(i).size * digits.at(i).stride;
      rest /= digits.at(i).size;
    }
    members.push_back(place);
  }
  return members;
}

std::int64_t group_size(const Layout& layout, Group group) {
  return digits_of(layout, group).ranks();
}

GroupPlacement place_group(const Layout& layout, Group group, const ClusterSpec& cluster) {
  const Digits digits =
      group == Group::ShardNode ? shard_digits_in_node(layout, cluster) : digits_of(layout, group);
  GroupPlacement placement;
  placement.ranks = digits.ranks();
  placement.stride = digits.count > 0 ? digits.at(0).stride : 1;
  placement.levels = static_cast<int>(std::min(cluster.levels.size(), placement.within.size()));
  for (int i = 0; i < placement.levels; ++i) {
    const auto level = static_cast<std::size_t>(i);
    const bool last = i + 1 == placement.levels;
    const NetworkLevel& of = cluster.levels[level];
    InUnits lies{placement.ranks, placement.ranks};
    if (!last && of.fabric == Fabric::Network) {
      lies = lie_in_units(digits, of.ranks, layout.world_size());
    } else if (!last) {
      lies.members = lies.uplinks = members_below(digits, of.ranks);
    }
    const std::int64_t below = i > 0 ? placement.within[level - 1] : 1;
    placement.within[level] = std::max(lies.members, below);
    placement.uplinks[level] = std::max(lies.uplinks, below);
  }
  const std::int64_t node = gpus_behind_one_network(cluster);
  placement.equal_rails = keeps_rails(digits, node);
  const std::int64_t behind = std::min(node, layout.world_size());
  const std::int64_t inside = members_below(digits, behind);
  if (inside < placement.ranks) {
    placement.sharing = std::max<std::int64_t>(1, behind / inside);
  }
  return placement;
}

}  // namespace hexaplan::costmodel
