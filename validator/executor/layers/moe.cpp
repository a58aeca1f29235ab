#include "validator/executor/layers/moe.h"

#include <memory>
#include <utility>

#include "validator/executor/layers/router.h"

namespace hexaplan::validator {
namespace {

using costmodel::DType;
using costmodel::Pass;
using costmodel::TensorKind;

constexpr std::string_view kGateUp = "moe.experts.gate_up.weight";
constexpr std::string_view kDown = "moe.experts.down.weight";
constexpr std::string_view kUpOperation = "moe.expert.up";
constexpr std::string_view kDownOperation = "moe.expert.down";

constexpr ExpertWay kDispatch{"moe.dispatch", "moe.gather_tp", Pass::Forward};
constexpr ExpertWay kCombine{"moe.combine", "moe.scatter_tp", Pass::Forward};
constexpr ExpertWay answers(ExpertWay way) {
  way.pass = Pass::BackwardData;
  return way;
}

/// Row of the token that each copy was made of.
Tensor token_rows(const Rank& rank, const ExpertExchange& exchange) {
  std::vector<std::int32_t> rows = exchange.places();
  for (std::int32_t& place : rows) place /= static_cast<std::int32_t>(rank.dims.top_k);
  Tensor list = rank.device.allocate({"moe.copy_tokens", TensorKind::Transient, DType::Int32},
                                     static_cast<std::int64_t>(rows.size()), 1);
  rank.device.upload(list, rows);
  return list;
}

Tensor copies_of(const Rank& rank, const View& x, const View& tokens) {
  Tensor copies = rank.transient("moe.copies", tokens.rows, x.cols);
  rank.device.gather_rows(x, tokens, copies);
  return copies;
}

/// One GEMM per expert on the rows that the exchange brought.
void expert_linear(const Rank& rank, std::string_view operation, Pass pass, const ExpertExchange& exchange,
                   const View& x, const View& weight, const View& y) {
  rank.device.grouped_gemm({operation, pass},
                           {.a = x, .b = weight, .c = y, .transpose_b = pass == Pass::Forward},
                           exchange.offsets());
}
void expert_weight_gradient(Rank& rank, std::string_view operation, const ExpertExchange& exchange, Tensor x,
                            Tensor dy, const View& d_weight, WeightGradients& weights) {
  struct Held {
    Tensor x, dy;
    std::vector<std::int64_t> offsets;
  };
  const auto held = std::make_shared<Held>(Held{std::move(x), std::move(dy), exchange.offsets()});
  weights.add(rank, [held, operation, d_weight](Rank& r) {
    r.device.grouped_gemm(
        {operation, Pass::BackwardWeight},
        {.a = held->dy, .b = held->x, .c = d_weight, .transpose_a = true, .accumulate = true}, held->offsets);
  });
}

/// Gradient of the dispatched copies, back at home, given that of the experts' outputs there.
Tensor experts_backward(Rank& rank, const Unit& unit, MoeSaved& saved, Tensor d_copies,
                        WeightGradients& weights) {
  const ExpertExchange& exchange = saved.exchange;
  const TensorLabel rows_label{"moe.expert.gradient", TensorKind::Transient, rank.activation};
  Tensor d_output = exchange.to_experts(rank, std::move(d_copies), answers(kCombine), rows_label);
  Tensor d_activation =
      rank.transient("moe.expert.activation.gradient", exchange.rows(), rank.dims.expert_act);
  expert_linear(rank, kDownOperation, Pass::BackwardData, exchange, d_output, unit.weight(kDown),
                d_activation);
  expert_weight_gradient(rank, kDownOperation, exchange, std::move(saved.expert_activation),
                         std::move(d_output), unit.gradient(kDown), weights);
  Tensor d_gate_up = rank.transient("moe.expert.gate_up.gradient", exchange.rows(), rank.dims.expert_up);
  rank.device.swiglu_backward(d_activation, saved.expert_gate_up, d_gate_up);
  d_activation.free();
  saved.expert_gate_up.free();
  Tensor d_input = rank.transient("moe.expert.gradient", exchange.rows(), rank.dims.hidden);
  expert_linear(rank, kUpOperation, Pass::BackwardData, exchange, d_gate_up, unit.weight(kGateUp), d_input);
  expert_weight_gradient(rank, kUpOperation, exchange, std::move(saved.expert_input), std::move(d_gate_up),
                         unit.gradient(kGateUp), weights);
  return exchange.from_experts(rank, std::move(d_input), answers(kDispatch),
                               {"moe.copies", TensorKind::Transient, rank.activation});
}

}  // namespace

void moe_forward_to_output(const Rank& rank, const Unit& unit, const View& normed, const Keeping& keep,
                           MoeSaved& saved) {
  saved.routed = route(rank, unit, normed, keep);
  saved.exchange = ExpertExchange{rank, saved.routed.chosen_on_host};
  {
    const Tensor tokens = token_rows(rank, saved.exchange);
    saved.expert_input = saved.exchange.to_experts(rank, copies_of(rank, normed, tokens), kDispatch,
                                                   keep.label("moe.expert.input"));
  }
  const std::int64_t rows = saved.exchange.rows();
  saved.expert_gate_up = rank.device.allocate(keep.label("moe.expert.gate_up"), rows, rank.dims.expert_up);
  expert_linear(rank, kUpOperation, Pass::Forward, saved.exchange, saved.expert_input, unit.weight(kGateUp),
                saved.expert_gate_up);
  saved.expert_activation =
      rank.device.allocate(keep.label("moe.expert.activation"), rows, rank.dims.expert_act);
  rank.device.swiglu(saved.expert_gate_up, saved.expert_activation);
  Tensor output = rank.transient("moe.expert.rows", rows, rank.dims.hidden);
  expert_linear(rank, kDownOperation, Pass::Forward, saved.exchange, saved.expert_activation,
                unit.weight(kDown), output);
  saved.expert_output =
      saved.exchange.from_experts(rank, std::move(output), kCombine, keep.label("moe.expert.output"));
  if (rank.dims.shared_act > 0)
    mlp_forward_to_activation(rank, kSharedExperts, unit, normed, keep, saved.shared);
}

Tensor moe_forward_from_output(const Rank& rank, const Unit& unit, const MoeSaved& saved,
                               const TensorLabel& result) {
  Tensor output;
  if (rank.dims.shared_act > 0) {
    output = mlp_forward_from_activation(rank, kSharedExperts, unit, saved.shared, result);
  } else {
    output = rank.device.allocate(result, rank.dims.sp_tokens, rank.dims.hidden);
    rank.device.fill(output, 0);
  }
  const Tensor tokens = token_rows(rank, saved.exchange);
  const Tensor factors = copy_weights(rank, saved.routed, saved.exchange.places());
  rank.device.scatter_rows(saved.expert_output, tokens, factors, output);
  return output;
}

Tensor moe_backward(Rank& rank, const Unit& unit, Tensor normed, MoeSaved saved, const View& d,
                    WeightGradients& weights) {
  Tensor tokens = token_rows(rank, saved.exchange);
  Tensor d_copies = copies_of(rank, d, tokens);
  Tensor d_weights = weight_gradients(rank, d_copies, saved.expert_output, saved.exchange.places());
  saved.expert_output.free();
  rank.device.scale_rows(d_copies, copy_weights(rank, saved.routed, saved.exchange.places()));
  Tensor d_normed = route_backward(rank, unit, normed, saved.routed, d_weights);
  d_weights.free();
  saved.routed = {};

  d_copies = experts_backward(rank, unit, saved, std::move(d_copies), weights);
  rank.device.scatter_rows(d_copies, tokens, {}, d_normed);
  d_copies.free();
  tokens.free();
  if (rank.dims.shared_act > 0) {
    const Tensor shared =
        mlp_backward(rank, kSharedExperts, unit, std::move(normed), std::move(saved.shared), d, weights);
    rank.device.add(d_normed, shared);
  }
  return d_normed;
}

}  // namespace hexaplan::validator
