#include "costmodel/step/optimizer_operations.h"

#include <algorithm>
#include <cmath>

#include "costmodel/memory/layer_ledger.h"
#include "costmodel/memory/optimizer_states.h"

namespace hexaplan::costmodel {
namespace {

/// Bytes per parameter: the gradient read, the parameter (and the copy beside a master) updated, the states
/// read and written.
double traffic(const StateTypes& types, const OptimizerTraits& traits) {
  double states = 0;
  for (const KeptState& state : kept_states(types, traits))
    states += 2 * bytes_per_element(state.dtype) / state.parameters;
  const double parameter = bytes_per_element(types.parameter) * (types.master ? 1 : 2);
  return bytes_per_element(types.gradient) + parameter + states + traits.further_bytes;
}

/// SGD in three kernels: the moment is scaled, the gradient is added to it, and it is subtracted from the
/// parameter. The moment is read twice and written once more than in one kernel (pytorch/pytorch
/// torch/optim/sgd.py _multi_tensor_sgd, without weight decay).
double foreach_bytes(const Scenario& sc, const StateTypes& types, Optimizer optimizer) {
  return optimizer == Optimizer::Sgd && sc.framework.foreach_sgd ? 3 * bytes_per_element(types.moment) : 0;
}

/// The norms of whole matrices and their updates, of which every rank has a shard (NVIDIA/apex
/// apex/contrib/optimizers/distributed_fused_lamb.py sums both over its group).
void append_norms(const Scenario& sc, const StageParameters& p, std::vector<Operation>& out) {
  if (!traits_of(sc.recipe.optimizer).scales_matrices || sc.framework.explicit_step ||
      !shards_states(sc.layout))
    return;
  out.push_back({.name = "optimizer.norms",
                 .kind = OpKind::Collective,
                 .pass = Pass::Step,
                 .collective = CollectiveKind::AllReduce,
                 .group = Group::Shard,
                 .payload = Bytes{2 * p.tensors * bytes_per_element(DType::Fp32)},
                 .formula = "T7"});
}

/// Each sharded matrix is gathered and orthogonalised by one rank of its group, which keeps its part of the
/// result (arXiv:2502.16982 section 3.2, Distributed Muon; in bf16).
void append_newton_schulz(const Scenario& sc, const OrthogonalisedMatrices& m, std::vector<Operation>& out) {
  if (m.flops <= 0) return;
  // Hexaplan's executor gathers unit by unit, and every rank makes the whole: explicit_operations.cpp.
  const bool sharded = !sc.framework.explicit_step && shards_states(sc.layout);
  const double flops = sharded ? m.flops / sc.layout.shard_ranks() : m.flops;
  const auto side = [&](double weighted) {
    return std::max<std::int64_t>(1, std::llround(weighted / m.flops));
  };
  const std::int64_t shorter = side(m.shorter_by_flops), longer = side(m.longer_by_flops);
  const GemmShape product{.m = shorter, .n = shorter, .k = longer};
  out.push_back({.name = "optimizer.newton_schulz",
                 .kind = OpKind::Gemm,
                 .pass = Pass::Step,
                 .gemm = product,
                 .flops = Flops{flops},
                 .count = flops / product.flops().value(),
                 .formula = "T7"});
  if (!sharded) return;
  out.push_back({.name = "optimizer.gather_matrices",
                 .kind = OpKind::Collective,
                 .pass = Pass::Step,
                 .count = m.count,
                 .collective = CollectiveKind::AllGather,
                 .group = Group::Shard,
                 .payload = Bytes{m.elements / m.count * bytes_per_element(DType::Bf16)},
                 .formula = "T7"});
}

/// Of AdamW whose moments have the framework's type.
double usual_passes_bytes(const Scenario& sc, const StateTypes& types) {
  const bool narrow = !types.master && bits_per_element(types.parameter) == 16 &&
                      bits_per_element(types.gradient) == 16 && bits_per_element(types.moment) == 16;
  const double own = sc.framework.narrow_optimizer_passes_bytes;
  return narrow && own > 0 ? own : sc.framework.optimizer_passes_bytes;
}

/// Of AdamW. Moments of another type than the framework's are read and written in theirs.
double passes_bytes(const Scenario& sc) {
  const StateTypes types = state_types(sc);
  StateTypes usual = types;
  usual.moment = usual_moment_dtype(sc);
  const OptimizerTraits adamw = traits_of(Optimizer::AdamW);
  return usual_passes_bytes(sc, usual) + traffic(types, adamw) - traffic(usual, adamw);
}

}  // namespace

double updated_elements(const Scenario& sc, const DenseAndExpert& trained) {
  return sc.layout.sharding.stage < 1 ? trained.all() : of_shard(sc.layout, trained);
}

double update_traffic_ratio(const Scenario& sc, Optimizer optimizer) {
  if (optimizer == Optimizer::AdamW) return 1;
  const StateTypes types = state_types(sc);
  return (traffic(types, traits_in(sc, optimizer)) + foreach_bytes(sc, types, optimizer)) /
         traffic(types, traits_of(Optimizer::AdamW));
}

void append_update(const Scenario& sc, const StageParameters& parameters, std::vector<Operation>& out) {
  const DenseAndExpert& p = parameters.trained;
  const double on_device = 1 - offloaded_update(sc.recipe);
  const double local = updated_elements(sc, p) * on_device;
  // Muon's states are those of its matrices alone.
  const double own = traits_of(sc.recipe.optimizer).orthogonalises && p.all() > 0
                         ? parameters.matrices.elements / p.all()
                         : 1;
  const double ratio = 1 + own * (update_traffic_ratio(sc, sc.recipe.optimizer) - 1);
  const double whole = sc.layout.sharding.stage >= 3 ? 0 : p.all();
  const double bytes = local * passes_bytes(sc) * ratio + whole * sc.framework.whole_gradient_passes_bytes;
  if (bytes <= 0) return;
  out.push_back({.name = "optimizer.update",
                 .kind = OpKind::MemoryBound,
                 .pass = Pass::Step,
                 .bytes = Bytes{bytes},
                 .update = true,
                 .formula = "T7"});
  append_norms(sc, parameters, out);
  append_newton_schulz(sc, parameters.matrices * on_device, out);
}

}  // namespace hexaplan::costmodel
