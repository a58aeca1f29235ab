#include "costmodel/step/step_operations.h"

#include <algorithm>

#include "costmodel/memory/layer_ledger.h"
#include "costmodel/spec/shard_sizes.h"
#include "costmodel/step/estimate.h"
#include "costmodel/step/execution.h"
#include "costmodel/step/offload_operations.h"
#include "costmodel/step/optimizer_operations.h"
#include "costmodel/step/outer_operations.h"
#include "costmodel/step/unit_operations.h"
#include "costmodel/units/mutation.h"

namespace hexaplan::costmodel {
namespace {

struct Transfer {
  std::string_view name;
  Pass pass;
  CollectiveKind kind;
  Group group;
  double bytes;
  double count = 1;
  std::string_view formula = "C8";
};

void append_transfer(const Scenario& sc, const Transfer& transfer, std::vector<Operation>& out) {
  if (transfer.bytes <= 0) return;
  if (transfer.group != Group::ShardNode && group_size(sc.layout, transfer.group) <= 1) return;
  out.push_back({.name = transfer.name,
                 .kind = OpKind::Collective,
                 .pass = transfer.pass,
                 .count = transfer.count,
                 .collective = transfer.kind,
                 .group = transfer.group,
                 .payload = Bytes{transfer.bytes / transfer.count},
                 .formula = transfer.formula});
}

/// The same collective for dense and for expert parameters.
void append_both(const Scenario& sc, Transfer transfer, Group dense_group, const DenseAndExpert& bytes,
                 std::vector<Operation>& out) {
  transfer.group = dense_group;
  transfer.bytes = bytes.dense;
  append_transfer(sc, transfer, out);
  transfer.group = Group::ExpertData;
  transfer.bytes = bytes.expert;
  append_transfer(sc, transfer, out);
}

void append_traffic(std::string_view name, std::string_view formula, double bytes,
                    std::vector<Operation>& out) {
  if (bytes <= 0) return;
  out.push_back({.name = name,
                 .kind = OpKind::MemoryBound,
                 .pass = Pass::Step,
                 .bytes = Bytes{bytes},
                 .formula = formula});
}

// --- ZeRO++ (arXiv:2306.10209), of ZeRO-3 ---

/// qwZ: parameters are gathered in 8 bits (section 4.1); a scale per block of thousands is not counted.
double gathered_share(const Scenario& sc) {
  return sc.layout.sharding.quantized_weights ? std::min(1.0, 1 / bytes_per_element(gathered_dtype(sc))) : 1;
}

/// Bytes per element of a gradient that qgZ exchanges (section 4.3: 4 bits).
constexpr double kQuantisedGradient = 0.5;

/// qgZ: gradients in 4 bits go to the neighbours in the node, are added up there, quantised again and go
/// between nodes: two all-to-all instead of a reduce-scatter (section 4.3).
void append_quantised_reduction(const Scenario& sc, double elements, std::vector<Operation>& out) {
  const double neighbours = static_cast<double>(place_group(sc.layout, Group::ShardNode, sc.cluster).ranks);
  const double bytes = elements * kQuantisedGradient;
  Transfer exchange{.name = "gradient.exchange_in_node",
                    .pass = Pass::BackwardWeight,
                    .kind = CollectiveKind::AllToAll,
                    .group = Group::ShardNode,
                    .bytes = bytes,
                    .formula = "C9"};
  if (neighbours > 1) append_transfer(sc, exchange, out);
  if (neighbours >= sc.layout.shard_ranks()) return;
  exchange.name = "gradient.exchange_between_nodes";
  exchange.group = Group::Shard;
  exchange.bytes = bytes / neighbours;
  append_transfer(sc, exchange, out);
}

/// Traffic of ZeRO++'s quantisation kernels, read and written in the types on either side.
double quantisation_bytes(const Scenario& sc, const StageParameters& p, double gathers) {
  const Sharding& z = sc.layout.sharding;
  double bytes = 0;
  if (z.quantized_weights) {
    const double element = bytes_per_element(gathered_dtype(sc));
    const double elements = p.gathered.all() / element;
    bytes += gathers * elements * (element + 1) * (1 + 1.0 / sc.layout.shard_ranks());
  }
  if (z.quantized_gradients) {
    // The whole gradient is quantised, its parts from the node dequantised and quantised again.
    const double element = bytes_per_element(gathered_dtype(sc)) + kQuantisedGradient;
    bytes += p.reduced.all() * (element + kQuantisedGradient);
  }
  return bytes;
}

}  // namespace

double bytes_per_reduced_gradient(const Scenario& sc) {
  return bytes_per_element(reduced_gradient_dtype(sc)) *
         (mutant("frameworks-reduce-in-another-type") ? 0.5 : 1);
}

Pass pass_of_reduction(const Scenario& sc) {
  return reduces_every_pass(sc) ? Pass::BackwardWeight : Pass::Step;
}

void append_gradient_reduction(const Scenario& sc, const StageParameters& p, std::vector<Operation>& out) {
  if (gathers_layers(sc)) return;
  const int stage = sc.layout.sharding.stage;
  const bool scatters = stage >= 1 && sc.framework.reduce_scatter_gradients;
  const bool bucketed = overlaps_gradients(sc) && sc.framework.gradient_bucket_elements > 0;
  append_both(sc,
              {.name = "gradient.reduce",
               .pass = pass_of_reduction(sc),
               .kind = scatters ? CollectiveKind::ReduceScatter : CollectiveKind::AllReduce,
               .count = bucketed ? std::max(1.0, p.buckets) : 1},
              Group::DataContext, p.reduced * bytes_per_reduced_gradient(sc), out);
}

void append_mirror_reduction(const Scenario& sc, const StageParameters& p, std::vector<Operation>& out) {
  const bool cut =
      gathers_layers(sc) || (sc.layout.sharding.stage >= 1 && sc.framework.reduce_scatter_gradients);
  const double elements = cut ? of_shard(sc.layout, p.reduced) : p.reduced.all();
  append_transfer(sc,
                  {.name = "gradient.mirror_reduce",
                   .pass = Pass::Step,
                   .kind = CollectiveKind::AllReduce,
                   .group = Group::Mirror,
                   .bytes = elements * bytes_per_reduced_gradient(sc)},
                  out);
}

void append_persistent_gather(const Scenario& sc, const StageParameters& p, std::vector<Operation>& out) {
  append_both(
      sc,
      {.name = "parameter.gather", .pass = Pass::Step, .kind = CollectiveKind::AllGather, .formula = "C9"},
      Group::Shard, p.persistent * gathered_share(sc), out);
}

void append_parameter_gather(const Scenario& sc, const StageParameters& p, std::vector<Operation>& out) {
  if (gathers_layers(sc) || sc.layout.sharding.stage < 1) return;
  const double element = bytes_per_element(gathered_dtype(sc));
  const bool broadcasts = sc.framework.gather_by_broadcasts;
  Transfer gather{.name = "parameter.gather",
                  .pass = Pass::Step,
                  .kind = broadcasts ? CollectiveKind::Broadcast : CollectiveKind::AllGather,
                  .group = Group::Shard,
                  .bytes = p.trained.dense * element,
                  .count = broadcasts ? sc.layout.shard_ranks() : 1.0};
  append_transfer(sc, gather, out);
  gather = {.name = gather.name,
            .pass = Pass::Step,
            .kind = CollectiveKind::AllGather,
            .group = Group::ExpertData,
            .bytes = p.trained.expert * element};
  append_transfer(sc, gather, out);
}

namespace {

/// Gradients of one unit on their way to the rank that updates them.
void append_unit_reduction(const Scenario& sc, MicrobatchOf which, const StageParameters& p,
                           std::vector<Operation>& out) {
  const GradientReduction when = gradient_reduction(sc);
  const bool waits = which == MicrobatchOf::BeforeLast;
  const Sharding& z = sc.layout.sharding;
  if (waits && when == GradientReduction::Once) return;
  if (z.quantized_gradients && z.stage >= 3) {
    append_quantised_reduction(sc, p.reduced.all(), out);
  } else {
    append_both(sc,
                {.name = "gradient.reduce",
                 .pass = Pass::BackwardWeight,
                 .kind = CollectiveKind::ReduceScatter,
                 .count = sc.framework.gathers_by_module ? p.buckets : 1.0,
                 .formula = "C9"},
                Group::Shard, p.reduced * bytes_per_reduced_gradient(sc), out);
  }
  if (waits && when == GradientReduction::ReplicasOnce) return;
  append_transfer(sc,
                  {.name = "gradient.replica_reduce",
                   .pass = Pass::BackwardWeight,
                   .kind = CollectiveKind::AllReduce,
                   .group = Group::Replica,
                   .bytes = p.reduced.dense * bytes_per_reduced_gradient(sc) / sc.layout.shard_ranks(),
                   .formula = "C9"},
                  out);
}

/// How often a backward gathers what its forward had: less than once where the last layers stay gathered,
/// more where a recomputed layer is freed between its second forward and its backward.
double gathered_again(const Scenario& sc, ShardedUnit unit, const StageParameters& p) {
  if (!sc.framework.gathers_by_module || unit != ShardedUnit::Layer) return 1;
  const double layer = p.gathered.all() / bytes_per_element(gathered_dtype(sc));
  if (layer <= 0) return 1;
  const double layers = layer * static_cast<double>(sc.model.layers) / sc.layout.pp;
  const auto head = static_cast<double>(local_dims(sc).vocab * sc.model.hidden);
  const double freed = sc.recipe.recompute.of_layers() ? 1 - kept_for_recomputation(sc, layer) : 0;
  return 1 - kept_for_backward(sc, layers, head) / layers + freed;
}

/// Bytes read and written per gradient on its way into the reduction's buffer, or added to those that wait.
double gradient_copy_bytes(const Scenario& sc, MicrobatchOf which) {
  if (which == MicrobatchOf::Last || gradient_reduction(sc) != GradientReduction::Once)
    return sc.framework.reduce_copy_bytes;
  return bytes_per_element(activation_dtype(sc.recipe.precision)) +
         2 * bytes_per_element(waiting_gradient_dtype(sc));
}

}  // namespace

void append_layer_sharding(const Scenario& sc, ShardedUnit unit, MicrobatchOf which, const StageParameters& p,
                           std::vector<Operation>& out) {
  const FrameworkProfile& f = sc.framework;
  const Sharding& z = sc.layout.sharding;
  const bool stays = (unit != ShardedUnit::Layer && f.gather_ends_for_whole_step) ||
                     (unit == ShardedUnit::Head && f.head_unit_stays_gathered);
  const bool reshards = f.reshard_after_forward && z.stage >= 3 && !stays;
  const bool secondary = z.stage >= 3 && z.hpz > 1;
  Transfer gather{.name = "parameter.gather",
                  .pass = Pass::Forward,
                  .kind = CollectiveKind::AllGather,
                  .count = f.gathers_by_module ? std::max(1.0, p.modules) : 1.0,
                  .formula = "C9"};
  append_both(sc, gather, Group::Shard, p.gathered * gathered_share(sc), out);
  gather.pass = Pass::BackwardData;
  const double shard = of_shard(sc.layout, p.gathered);
  double again = 0;  // of the forward's gathers
  double loaded = 0;
  if (reshards && secondary) {
    // hpZ: from the second copy, which was made of the gathered values and is not quantised again. It lies
    // where parameters do (deepspeedai/DeepSpeed runtime/zero/partition_parameters.py _partition_param_sec).
    gather.group = Group::Secondary;
    gather.bytes = p.gathered.all();
    append_transfer(sc, gather, out);
    loaded = p.gathered.all() / z.hpz;
  } else if (reshards) {
    again = gathered_again(sc, unit, p);
    gather.count *= again;
    append_both(sc, gather, Group::Shard, p.gathered * (gathered_share(sc) * again), out);
    loaded = shard * again;
  }
  append_parameter_loads(sc, shard, loaded, out);
  append_unit_reduction(sc, which, p, out);
  append_traffic("parameter.quantise", "C9", z.stage >= 3 ? quantisation_bytes(sc, p, 1 + again) : 0, out);
  // The profile counts bytes copied per element of its gather's type.
  const double gathered_elements = p.gathered.all() / bytes_per_element(gathered_dtype(sc));
  append_traffic("parameter.buffer_copies", "C9",
                 gathered_elements * (reshards ? 2 : 1) * f.gather_copy_bytes +
                     p.reduced.all() * gradient_copy_bytes(sc, which),
                 out);
}

std::vector<Operation> step_operations(const Scenario& sc, int stage) {
  const auto stages = plan_stages(sc);
  const StagePlan& plan = stages[static_cast<std::size_t>(stage)];
  const ModelParameters model{sc, stages};
  const StageParameters parameters = model.of(plan);
  if (sc.framework.replays_parameters) {
    std::vector<Operation> known = unit_operations(sc, stage);
    append_cpu_update(sc, parameters, known);
    append_update(sc, parameters, known);
    append_outer_update(sc, parameters, known);
    return known;
  }
  const double microbatches = static_cast<double>(microbatches_per_step(sc)) / plan.copies;
  std::vector<Operation> out;
  if (gathers_layers(sc)) {
    const auto append_of = [&](ShardedUnit unit, MicrobatchOf which, const StageParameters& p, double times) {
      const std::size_t first = out.size();
      if (times > 0) append_layer_sharding(sc, unit, which, p, out);
      for (std::size_t i = first; i < out.size(); ++i) out[i].count *= times;
    };
    const bool differ = gradient_reduction(sc) != GradientReduction::Every;
    const double last = differ ? 1.0 / plan.copies : microbatches;
    const auto append_times = [&](ShardedUnit unit, const StageParameters& p, double times) {
      append_of(unit, MicrobatchOf::BeforeLast, p, times * (microbatches - last));
      append_of(unit, MicrobatchOf::Last, p, times * last);
    };
    for (std::size_t c = 0; c < kLayerClasses; ++c)
      append_times(ShardedUnit::Layer, model.layer(c), plan.layers[c]);
    const StageParameters embedding = model.embedding() * plan.embedding,
                          head = model.head_unit() * plan.head;
    if (sc.framework.gather_ends_for_whole_step) {
      StageParameters root = embedding;
      append_times(ShardedUnit::End, root += head, 1);
    } else {
      append_times(ShardedUnit::End, embedding, 1);
      append_times(ShardedUnit::Head, head, 1);
    }
  }
  append_gradient_reduction(sc, parameters, out);
  append_mirror_reduction(sc, parameters, out);
  append_gradient_copies(sc, parameters, out);
  append_host_update(sc, parameters, out);
  append_update(sc, parameters, out);
  append_outer_messages(sc, parameters, out);
  append_outer_update(sc, parameters, out);
  append_parameter_gather(sc, parameters, out);
  append_persistent_gather(sc, parameters, out);
  return out;
}

}  // namespace hexaplan::costmodel
