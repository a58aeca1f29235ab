#include "costmodel/step/step_operations.h"

#include <algorithm>

#include "costmodel/step/estimate.h"
#include "costmodel/step/execution.h"
#include "costmodel/step/explicit_operations.h"
#include "costmodel/units/mutation.h"

namespace hexaplan::costmodel {
namespace {

double reduce_bytes(const Scenario& sc) {
  return bytes_per_element(sc.recipe.gradient_dtype.value_or(sc.framework.reduce_dtype)) *
         (mutant("gradients-reduced-in-another-type") ? 0.5 : 1);
}

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
  if (transfer.bytes <= 0 || group_size(sc.layout, transfer.group) <= 1) return;
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

/// The optimizer's own.
void append_update_traffic(double bytes, std::vector<Operation>& out) {
  if (bytes <= 0) return;
  append_traffic("optimizer.update", "T7", bytes, out);
  out.back().update = true;
}

}  // namespace

bool gathers_by_layer(const Scenario& sc) {
  const int stage = sc.layout.sharding.stage;
  return stage >= 3 || (stage == 2 && sc.framework.zero2_gathers_layers);
}

bool reduces_beside_backward(const Scenario& sc) {
  return overlaps_gradients(sc);
}

void append_gradient_reduction(const Scenario& sc, const StageParameters& p, std::vector<Operation>& out) {
  if (gathers_by_layer(sc)) return;
  const int stage = sc.layout.sharding.stage;
  const bool scatters = stage >= 1 && sc.framework.reduce_scatter_gradients;
  const bool bucketed = reduces_beside_backward(sc) && sc.framework.gradient_bucket_elements > 0;
  append_both(sc,
              {.name = "gradient.reduce",
               .pass = Pass::Step,
               .kind = scatters ? CollectiveKind::ReduceScatter : CollectiveKind::AllReduce,
               .count = bucketed ? std::max(1.0, p.buckets) : 1},
              Group::DataContext, p.trained * reduce_bytes(sc), out);
}

void append_parameter_gather(const Scenario& sc, const StageParameters& p, std::vector<Operation>& out) {
  if (gathers_by_layer(sc) || sc.layout.sharding.stage < 1) return;
  const double element = bytes_per_element(sc.framework.gather_dtype);
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

void append_layer_sharding(const Scenario& sc, const StageParameters& p, std::vector<Operation>& out) {
  const FrameworkProfile& f = sc.framework;
  const bool reshards = f.reshard_after_forward && sc.layout.sharding.stage >= 3;
  // Less than a layer ahead of the host, parameters are gathered one by one.
  const bool one_by_one = f.gather_prefetch_layers > 0 && f.gather_prefetch_layers < 1;
  Transfer gather{.name = "parameter.gather",
                  .pass = Pass::Forward,
                  .kind = CollectiveKind::AllGather,
                  .count = one_by_one ? std::max(1.0, p.tensors) : 1.0,
                  .formula = "C9"};
  append_both(sc, gather, Group::Shard, p.gathered, out);
  gather.pass = Pass::BackwardData;
  if (reshards) append_both(sc, gather, Group::Shard, p.gathered, out);
  append_both(sc,
              {.name = "gradient.reduce",
               .pass = Pass::BackwardWeight,
               .kind = CollectiveKind::ReduceScatter,
               .formula = "C9"},
              Group::Shard, p.reduced * reduce_bytes(sc), out);
  append_transfer(sc,
                  {.name = "gradient.replica_reduce",
                   .pass = Pass::BackwardWeight,
                   .kind = CollectiveKind::AllReduce,
                   .group = Group::Replica,
                   .bytes = p.reduced.dense * reduce_bytes(sc) / sc.layout.shard_ranks(),
                   .formula = "C9"},
                  out);
  // The profile counts bytes copied per element of its gather's type.
  const double gathered_elements = p.gathered.all() / bytes_per_element(f.gather_dtype);
  append_traffic(
      "parameter.buffer_copies", "C9",
      gathered_elements * (reshards ? 2 : 1) * f.gather_copy_bytes + p.reduced.all() * f.reduce_copy_bytes,
      out);
}

void append_update(const Scenario& sc, const StageParameters& parameters, std::vector<Operation>& out) {
  const int stage = sc.layout.sharding.stage;
  const DenseAndExpert& p = parameters.trained;
  const double local =
      stage >= 1 ? p.dense / sc.layout.shard_ranks() + p.expert / std::max(1, sc.layout.expert_data())
                 : p.all();
  const double whole = stage >= 3 ? 0 : p.all();
  append_update_traffic(
      local * sc.framework.optimizer_passes_bytes + whole * sc.framework.whole_gradient_passes_bytes, out);
}

std::vector<Operation> step_operations(const Scenario& sc, int stage) {
  const auto stages = plan_stages(sc);
  const StagePlan& plan = stages[static_cast<std::size_t>(stage)];
  const ModelParameters model{sc, stages};
  const StageParameters parameters = model.of(plan);
  if (sc.framework.explicit_step) {
    std::vector<Operation> known = explicit_parameter_operations(sc, stage);
    append_update(sc, parameters, known);
    return known;
  }
  const double microbatches = static_cast<double>(microbatches_per_step(sc)) / plan.copies;
  std::vector<Operation> out;
  if (gathers_by_layer(sc)) {
    const auto append_times = [&](const StageParameters& p, double times) {
      const std::size_t first = out.size();
      if (times > 0) append_layer_sharding(sc, p, out);
      for (std::size_t i = first; i < out.size(); ++i) out[i].count *= times * microbatches;
    };
    for (std::size_t c = 0; c < kLayerClasses; ++c) append_times(model.layer(c), plan.layers[c]);
    append_times(model.embedding() * plan.embedding, 1);
    append_times(model.head() * plan.head, 1);
  }
  append_gradient_reduction(sc, parameters, out);
  append_update(sc, parameters, out);
  append_parameter_gather(sc, parameters, out);
  return out;
}

}  // namespace hexaplan::costmodel
