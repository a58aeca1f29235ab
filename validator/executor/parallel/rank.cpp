#include "validator/executor/parallel/rank.h"

#include <algorithm>
#include <cassert>

#include "costmodel/memory/outer_states.h"
#include "validator/executor/parallel/alibi.h"
#include "validator/executor/parallel/rotary.h"

namespace hexaplan::validator {

using costmodel::Axis;
using costmodel::DType;
using costmodel::Group;

namespace {

/// This rank and those of the same class.
template <class ClassOf>
std::unique_ptr<Communicator> part_of(Communicator& whole, Group kind, const ClassOf& class_of) {
  const auto own = class_of(whole.rank());
  return whole.split(ranks_where(whole.size(), [&](int rank) { return class_of(rank) == own; }), kind);
}

}  // namespace

Groups make_groups(Communicator& world, const costmodel::Scenario& sc) {
  const costmodel::Layout& layout = sc.layout;
  Groups g;
  g.world = &world;
  g.tensor = make_group(world, layout, Group::Tensor);
  g.context = make_group(world, layout, Group::Context);
  g.data = make_group(world, layout, Group::DataContext);
  g.pipeline = make_group(world, layout, Group::Pipeline);
  g.expert = make_group(world, layout, Group::Expert);
  g.expert_tensor = make_group(world, layout, Group::ExpertTensor);
  g.expert_data = make_group(world, layout, Group::ExpertData);
  g.shard = make_group(world, layout, Group::Shard);
  g.replica = make_group(world, layout, Group::Replica);
  if (layout.sharding.hpz > 1) g.secondary = make_group(world, layout, Group::Secondary);
  if (layout.sharding.quantized_gradients && layout.sharding.stage >= 3) {
    const auto neighbours =
        static_cast<int>(costmodel::place_group(layout, Group::ShardNode, sc.cluster).ranks);
    g.shard_node = part_of(*g.shard, Group::ShardNode, [&](int rank) { return rank / neighbours; });
    g.shard_across = part_of(*g.shard, Group::Shard, [&](int rank) { return rank % neighbours; });
  }
  g.alone = part_of(world, Group::Shard, [](int rank) { return rank; });
  // Experts are cut over as large a part of their replicas as dense parameters over theirs.
  const std::int64_t whole = std::int64_t{layout.dp} * layout.cp;
  const auto part = static_cast<int>(
      std::max<std::int64_t>(1, std::int64_t{layout.expert_data()} * layout.shard_ranks() / whole));
  Communicator& replicas = *g.expert_data;
  g.expert_shard = part_of(replicas, Group::ExpertData, [&](int rank) { return rank / part; });
  g.expert_replica = part_of(replicas, Group::ExpertData, [&](int rank) { return rank % part; });
  const int copies = static_cast<int>(std::max<std::int64_t>(1, layout.tp / sc.model.attention.kv_heads));
  g.key_value = part_of(*g.tensor, Group::Tensor, [&](int rank) { return rank / copies; });
  const int last = g.pipeline->size() - 1;
  g.tied_ends = part_of(*g.pipeline, Group::Pipeline, [&](int stage) { return stage == last ? 0 : stage; });
  g.mirror = make_group(world, layout, Group::Mirror);
  g.outer = make_group(world, layout, Group::Outer);
  if (layout.outer_replicas > 1) g.inside = make_group(world, layout, Group::World);
  return g;
}

Rank::Rank(const costmodel::Scenario& sc, Device& dev, Communicator& world, InitialValues values, int threads)
    : scenario{sc},
      dims{costmodel::local_dims(sc)},
      device{dev},
      host{sc.recipe.offload == 0 && costmodel::outer_states_on_host(sc.recipe.outer) == 0
               ? nullptr
               : std::make_unique<HostMemory>(dev, sc.recipe.offload_device == costmodel::OffloadDevice::Nvme,
                                              threads)},
      groups{make_groups(world, sc)},
      at{costmodel::coordinates_of(sc.layout, world.rank())},
      activation{costmodel::activation_dtype(sc.recipe.precision)},
      rotation{rotation_of(sc.model, sc.recipe.sequence)},
      windowed_rotation{validator::windowed_rotation(sc.model, sc.recipe.sequence)},
      initial{values} {
  if (sc.model.positions != costmodel::PositionKind::Alibi) return;
  const std::vector<double> all = validator::alibi_slopes(sc.model.attention.heads);
  const auto own = static_cast<std::size_t>(dims.heads);
  alibi_slopes = device.allocate_message(device.element_of(DType::Fp32), dims.heads);
  device.upload(alibi_slopes.view(),
                std::span{all}.subspan(own * static_cast<std::size_t>(position(Axis::Tensor)), own));
}

ParameterPlace Rank::parameter_place() const {
  return {.tp_rank = position(Axis::Tensor),
          .expert_rank = position(Axis::Expert),
          .expert_tensor_rank = position(Axis::ExpertTensor)};
}

Buffer wire(const View& view) {
  assert(view.contiguous());
  static constexpr std::array kTypes = {DType::Fp64, DType::Fp32, DType::Bf16, DType::Int32,
                                        DType::Fp8,  DType::Fp16, DType::Int8};
  return {view.data, view.elements(), kTypes[static_cast<std::size_t>(view.element)]};
}

}  // namespace hexaplan::validator
