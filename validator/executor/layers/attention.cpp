#include "validator/executor/layers/attention.h"

#include <array>
#include <utility>

#include "validator/executor/parallel/context.h"
#include "validator/executor/parallel/tensor.h"

namespace hexaplan::validator {
namespace {

using costmodel::DType;
using costmodel::Pass;
using costmodel::TensorKind;

constexpr std::string_view kQuery = "attention.query.weight";
constexpr std::string_view kKeyValue = "attention.key_value.weight";
constexpr std::string_view kOutput = "attention.output.weight";

/// Columns of the joint projection's output.
struct Projections {
  Projections(const Rank& rank, const View& all)
      : q{all.column_range(0, rank.dims.q)},
        k{all.column_range(rank.dims.q, rank.dims.k)},
        v{all.column_range(rank.dims.q + rank.dims.k, rank.dims.v)},
        rotated{all.column_range(0, rank.dims.q + rank.dims.k)} {}
  View q, k, v, rotated;
};

Tensor allocate_query_key_value(const Rank& rank, const Keeping& keep) {
  const std::array<LabelledColumns, 3> parts{{{keep.label("attention.query"), rank.dims.q},
                                              {keep.label("attention.key"), rank.dims.k},
                                              {keep.label("attention.value"), rank.dims.v}}};
  return rank.device.allocate(parts, rank.dims.tokens);
}

void rotate(const Rank& rank, const View& x, const View& positions, bool inverse) {
  rank.device.rope(x, positions, rank.rotation, inverse);
}

/// Core attention once more for what selective recomputation dropped; the output comes out as it was.
void restore_log_sum_exp(const Rank& rank, AttentionSaved& saved) {
  if (!saved.log_sum_exp.empty()) return;
  saved.log_sum_exp = rank.device.allocate({"attention.log_sum_exp", TensorKind::Transient, DType::Fp32},
                                           rank.dims.tokens, rank.dims.heads);
  const Projections in{rank, saved.query_key_value};
  attend(rank, in.q, in.k, in.v, saved.output, saved.log_sum_exp);
}

/// Gradient of the joint projection's output; frees what only it needs.
Tensor core_backward(const Rank& rank, const View& positions, AttentionSaved& saved, Tensor d_output,
                     Tensor delta) {
  Tensor gradient = rank.transient("attention.query_key_value.gradient", rank.dims.tokens,
                                   saved.query_key_value.view().cols);
  const Projections in{rank, saved.query_key_value}, d{rank, gradient};
  attend_backward(rank, in.q, in.k, in.v, d_output, saved.log_sum_exp, delta, d.q, d.k, d.v);
  rotate(rank, d.rotated, positions, true);
  return gradient;
}

}  // namespace

Tensor attention_forward(const Rank& rank, const Unit& unit, const View& normed, const View& positions,
                         const Keeping& keep, const TensorLabel& result, AttentionSaved& saved) {
  {
    const MaybeOwned x = enter_tensor_parallel(rank, "attention.enter_tp", Pass::Forward, normed);
    saved.query_key_value = allocate_query_key_value(rank, keep);
    linear_forward(rank, "attention.qkv", x, unit.weight(kQuery, kKeyValue), saved.query_key_value);
  }
  const Projections in{rank, saved.query_key_value};
  rotate(rank, in.rotated, positions, false);
  saved.output = rank.device.allocate(keep.label("attention.output"), rank.dims.tokens, rank.dims.o);
  saved.log_sum_exp =
      rank.device.allocate(keep.fp32("attention.log_sum_exp"), rank.dims.tokens, rank.dims.heads);
  attend(rank, in.q, in.k, in.v, saved.output, saved.log_sum_exp);
  if (rank.scenario.recipe.recompute.mode == costmodel::RecomputeMode::Selective) saved.log_sum_exp.free();

  Tensor partial = partial_output(rank, result);
  linear_forward(rank, "attention.output", saved.output, unit.weight(kOutput), partial);
  return leave_tensor_parallel(rank, "attention.leave_tp", Pass::Forward, std::move(partial), result);
}

Tensor attention_backward(Rank& rank, const Unit& unit, Tensor normed, const View& positions,
                          AttentionSaved saved, const View& d, WeightGradients& weights) {
  restore_log_sum_exp(rank, saved);
  MaybeOwned dy = enter_tensor_parallel(rank, "attention.leave_tp", Pass::BackwardData, d);
  Tensor d_output = rank.transient("attention.output.gradient", rank.dims.tokens, rank.dims.o);
  linear_backward_data(rank, "attention.output", dy, unit.weight(kOutput), d_output);
  Tensor delta = rank.device.allocate({"attention.delta", TensorKind::Transient, DType::Fp32},
                                      rank.dims.tokens, rank.dims.heads);
  rank.device.attention_delta(d_output, saved.output, delta);
  weights.linear(rank, "attention.output", "", std::move(saved.output), std::move(dy),
                 unit.gradient(kOutput));

  Tensor d_qkv = core_backward(rank, positions, saved, std::move(d_output), std::move(delta));
  saved = {};
  const TensorLabel label{"norm.output.gradient", TensorKind::Transient, rank.activation};
  Tensor partial = partial_output(rank, label);
  linear_backward_data(rank, "attention.qkv", d_qkv, unit.weight(kQuery, kKeyValue), partial);
  Tensor d_normed =
      leave_tensor_parallel(rank, "attention.enter_tp", Pass::BackwardData, std::move(partial), label);
  weights.linear(rank, "attention.qkv", "attention.enter_tp", std::move(normed), std::move(d_qkv),
                 unit.gradient(kQuery, kKeyValue));
  return d_normed;
}

}  // namespace hexaplan::validator
