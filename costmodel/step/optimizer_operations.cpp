#include "costmodel/step/optimizer_operations.h"

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
  if (!traits_of(sc.recipe.optimizer).scales_matrices || sc.framework.updates_whole_matrices ||
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
void append_newton_schulz(const Scenario& sc, const MultipliedMatrices& m, std::vector<Operation>& out) {
  const bool sharded = !sc.framework.updates_whole_matrices && shards_states(sc.layout);
  const double flops = sharded ? m.flops / sc.layout.shard_ranks() : m.flops;
  const std::int64_t shorter = m.mean(&MultipliedMatrices::shorter_by_flops),
                     longer = m.mean(&MultipliedMatrices::longer_by_flops);
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

// --- subspaces: GaLore, APOLLO ---

/// Share of the rate of products in fp32 at which singular value decompositions run. Estimate: MAGMA's gesdd
/// takes 4.33 s for 4,160 × 4,160 on a GTX Titan X of 6.6 TFLOP/s (pytorch/pytorch#1373: 0.43 TFLOP/s by
/// svd_flops, 7 %); by a figure cited from memory (arXiv:2412.05270: ten minutes for all matrices of
/// Llama-7B on A100) it is 4 %.
constexpr double kSvdShare = 0.06;

/// Bytes per element that kernels behind the projection read and write, operator by operator.
struct ProjectedTraffic {
  double step = 0;      // of the whole matrix, in the gradient's type, beside the parameter's own
  double subspace = 0;  // of the gradient in the subspace, in the moments' type
};
/// In the subspace both moments are scaled and added to, and the step is made (jiaweizzhao/GaLore@2cc66f8
/// galore_torch/adamw.py AdamW.step: mul_, add_, mul_, addcmul_, sqrt, add_, div); back in the matrix it is
/// scaled and added. APOLLO reads both for their norms, multiplies gradients by the factors, reads the
/// product for its length and divides by the limit (zhuhanqing/APOLLO@76b3472 apollo_torch/apollo.py
/// AdamW.step).
ProjectedTraffic projected_traffic(const OptimizerTraits& traits) {
  if (traits.scales_gradients()) return {.step = 8, .subspace = 20};
  return {.step = 3, .subspace = 18};
}

/// … of the matrices, per parameter of them.
double subspace_traffic_bytes(const StateTypes& types, const Recipe& recipe, const MultipliedMatrices& m) {
  const OptimizerTraits& traits = traits_of(recipe.optimizer);
  const ProjectedTraffic moved = projected_traffic(traits);
  const double gradient = bytes_per_element(types.gradient);
  const double moment = traits.quantised ? bytes_per_element(DType::Int8) : bytes_per_element(types.moment);
  const double own = types.master ? bytes_per_element(types.parameter) + 2 * bytes_per_element(DType::Fp32)
                                  : 2 * bytes_per_element(types.parameter);
  return moved.step * gradient + own + moved.subspace * moment * m.moment / m.elements;
}

/// Singular vectors of every gradient, or random numbers, once in so many steps: their mean over steps.
void append_subspace_choice(const Scenario& sc, const StateTypes& types, const MultipliedMatrices& m,
                            std::vector<Operation>& out) {
  const auto interval = static_cast<double>(projection_interval(sc.recipe));
  if (traits_of(sc.recipe.optimizer).subspace == Subspace::Random) {
    out.push_back({.name = "optimizer.random_subspace",
                   .kind = OpKind::MemoryBound,
                   .pass = Pass::Step,
                   .bytes = Bytes{m.projection * bytes_per_element(types.gradient) / interval},
                   .update = true,
                   .formula = "T16"});
    return;
  }
  const std::int64_t side = m.mean(&MultipliedMatrices::shorter_by_flops);
  const GemmShape product{.m = side, .n = side, .k = side};
  out.push_back({.name = "optimizer.svd",
                 .kind = OpKind::Gemm,
                 .pass = Pass::Step,
                 .precision = Precision::Fp32,
                 .gemm = product,
                 .count = m.svd_flops / product.flops().value() / kSvdShare / interval,
                 .formula = "T16"});
}

/// Gradients are projected in every step, and GaLore's steps are projected back.
void append_projections(const Scenario& sc, const MultipliedMatrices& m, std::vector<Operation>& out) {
  const StateTypes types = state_types(sc);
  const std::int64_t shorter = m.mean(&MultipliedMatrices::shorter_by_flops),
                     longer = m.mean(&MultipliedMatrices::longer_by_flops),
                     rank = m.mean(&MultipliedMatrices::rank_by_flops);
  const auto product = [&](std::string_view name, const GemmShape& shape) {
    out.push_back({.name = name,
                   .kind = OpKind::Gemm,
                   .pass = Pass::Step,
                   .precision = types.gradient == DType::Fp32 ? Precision::Fp32 : Precision::Bf16,
                   .gemm = shape,
                   .flops = Flops{m.flops},
                   .count = m.flops / shape.flops().value(),
                   .formula = "T16"});
  };
  product("optimizer.project", {.m = longer, .n = rank, .k = shorter});
  if (!traits_of(sc.recipe.optimizer).scales_gradients())
    product("optimizer.project_back", {.m = longer, .n = shorter, .k = rank});
  append_subspace_choice(sc, types, m, out);
}

// --- second moments of rows and columns: Shampoo, SOAP ---

/// Shares of the rate of products in fp32 at which decompositions of a side run. Estimates: "less than 3%" of
/// an H100 for eigenvectors (arXiv:2410.02170, abstract); a QR decomposition of 4,096 × 4,096 without its
/// orthogonal factor in 24 ms on an NVIDIA GPU that is not named (flagos-ai/FlagGems#5586: 3.8 TFLOP/s, 19 %
/// of an A100, 6 % of an H100).
constexpr double kEigenShare = 0.03, kQrShare = 0.1;

/// Products in fp32, whatever PyTorch would round gradients to: matrix units for TF32 are off unless asked
/// for (torch.backends.cuda.matmul.allow_tf32).
void append_preconditioning(const Scenario& sc, const MultipliedMatrices& m, std::vector<Operation>& out) {
  const bool bases = traits_of(sc.recipe.optimizer).precondition == Precondition::Eigenbasis;
  const auto side = std::max<std::int64_t>(1, std::llround(m.side_fourths / m.side_cubes));
  const GemmShape square{.m = side, .n = side, .k = side};
  const auto products = [&](std::string_view name, double flops, double issued) {
    out.push_back({.name = name,
                   .kind = OpKind::Gemm,
                   .pass = Pass::Step,
                   .precision = Precision::Fp32,
                   .gemm = square,
                   .flops = Flops{issued},
                   .count = flops / square.flops().value(),
                   .formula = "T17"});
  };
  products("optimizer.second_moments", m.flops, m.flops);
  const double applied = m.flops * (bases ? kSoapRotations : 1);
  products(bases ? "optimizer.rotate" : "optimizer.precondition", applied, applied);
  // The product is written, the statistics are read and written.
  out.push_back({.name = "optimizer.second_moments_update",
                 .kind = OpKind::MemoryBound,
                 .pass = Pass::Step,
                 .bytes = Bytes{4 * m.side_squares * bytes_per_element(DType::Fp32)},
                 .update = true,
                 .formula = "T17"});
  const auto frequency = static_cast<double>(precondition_frequency(sc.recipe));
  const double decomposition = bases ? kQrFlops / kQrShare : kEigenFlops / kEigenShare;
  const double multiplied = 2.0 * products_per_decomposition(traits_of(sc.recipe.optimizer).precondition);
  products(bases ? "optimizer.qr" : "optimizer.eigenvectors",
           m.side_cubes * (decomposition + multiplied) / frequency, 0);
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

namespace {

/// Bytes that a rank's parameters move, over those of AdamW: of the matrices that the optimizer takes one by
/// one, and of everything else.
double mean_traffic_ratio(const Scenario& sc, const StageParameters& parameters) {
  const OptimizerTraits& traits = traits_of(sc.recipe.optimizer);
  const double all = parameters.trained.all();
  if (!traits.by_matrix() || all <= 0) return update_traffic_ratio(sc, sc.recipe.optimizer);
  const MultipliedMatrices& m = parameters.matrices;
  const double others = update_traffic_ratio(sc, traits.beside);
  if (m.elements <= 0) return others;
  const StateTypes types = state_types(sc);
  const double own = traits.projects() ? subspace_traffic_bytes(types, sc.recipe, m) /
                                             traffic(types, traits_of(Optimizer::AdamW))
                                       : update_traffic_ratio(sc, sc.recipe.optimizer);
  return others + m.elements / all * (own - others);
}

}  // namespace

void append_update(const Scenario& sc, const StageParameters& parameters, std::vector<Operation>& out) {
  const DenseAndExpert& p = parameters.trained;
  const double on_device = 1 - offloaded_update(sc.recipe);
  const double local = updated_elements(sc, p) * on_device;
  const double whole = sc.layout.sharding.stage >= 3 ? 0 : p.all();
  const double bytes = local * passes_bytes(sc) * mean_traffic_ratio(sc, parameters) +
                       whole * sc.framework.whole_gradient_passes_bytes;
  if (bytes <= 0) return;
  out.push_back({.name = "optimizer.update",
                 .kind = OpKind::MemoryBound,
                 .pass = Pass::Step,
                 .bytes = Bytes{bytes},
                 .update = true,
                 .formula = "T7"});
  append_norms(sc, parameters, out);
  const MultipliedMatrices matrices = parameters.matrices * on_device;
  if (matrices.flops <= 0) return;
  if (traits_of(sc.recipe.optimizer).projects()) return append_projections(sc, matrices, out);
  if (traits_of(sc.recipe.optimizer).preconditions()) return append_preconditioning(sc, matrices, out);
  append_newton_schulz(sc, matrices, out);
}

}  // namespace hexaplan::costmodel
