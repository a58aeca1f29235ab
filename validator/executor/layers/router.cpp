#include "validator/executor/layers/router.h"

#include <algorithm>
#include <cstddef>

#include "validator/executor/layers/linear.h"
#include "validator/executor/parallel/context.h"

namespace hexaplan::validator {
namespace {

using costmodel::DType;
using costmodel::Pass;
using costmodel::TensorKind;

constexpr std::string_view kMatrix = "moe.router.weight";
constexpr std::string_view kOperation = "moe.router";

Tensor fp32(const Rank& rank, std::string_view name, std::int64_t rows, std::int64_t cols) {
  return rank.device.allocate({name, TensorKind::Transient, DType::Fp32}, rows, cols);
}

/// Rows of one sequence among the rank's tokens. Under sequence parallelism tensor-parallel ranks have
/// consecutive parts of all of them.
struct SequenceRows {
  std::int64_t sequence, first, count;
  std::int64_t first_place;  // of the first row, in the rank's part of the sequence
};
std::vector<SequenceRows> sequence_rows(const Rank& rank) {
  const costmodel::LocalDims& d = rank.dims;
  const std::int64_t begin =
      rank.scenario.layout.sp ? rank.position(costmodel::Axis::Tensor) * d.sp_tokens : 0;
  std::vector<SequenceRows> out;
  for (std::int64_t row = begin; row < begin + d.sp_tokens;) {
    const std::int64_t place = row % d.local_sequence;
    const std::int64_t count = std::min(d.local_sequence - place, begin + d.sp_tokens - row);
    out.push_back({row / d.local_sequence, row - begin, count, place});
    row += count;
  }
  return out;
}

/// Experts in turn, by a token's position in its sequence: evenly filled whatever the layout.
std::vector<std::int32_t> experts_in_turn(const Rank& rank) {
  const costmodel::LocalDims& d = rank.dims;
  const std::vector<std::int32_t> positions = local_positions(rank);
  std::vector<std::int32_t> chosen;
  for (const SequenceRows& rows : sequence_rows(rank)) {
    for (std::int64_t i = 0; i < rows.count; ++i) {
      const std::int64_t position = positions[static_cast<std::size_t>(rows.first_place + i)];
      for (std::int64_t k = 0; k < d.top_k; ++k)
        chosen.push_back(static_cast<std::int32_t>((position * d.top_k + k) % d.experts));
    }
  }
  return chosen;
}

/// How often each sequence's tokens chose each expert, on all ranks that share the sequences: b × E.
std::vector<std::int32_t> choices_of_sequences(const Rank& rank, const std::vector<std::int32_t>& chosen) {
  const costmodel::LocalDims& d = rank.dims;
  std::vector<std::int32_t> counts(static_cast<std::size_t>(d.micro_batch * d.experts));
  for (const SequenceRows& rows : sequence_rows(rank)) {
    for (std::int64_t i = rows.first * d.top_k; i < (rows.first + rows.count) * d.top_k; ++i)
      ++counts[static_cast<std::size_t>(rows.sequence * d.experts + chosen[static_cast<std::size_t>(i)])];
  }
  const bool sp = rank.scenario.layout.sp && rank.groups.tensor->size() > 1;
  if (!sp && rank.groups.context->size() == 1) return counts;
  const Tensor sum = rank.device.allocate({"moe.balance", TensorKind::Transient, DType::Int32},
                                          static_cast<std::int64_t>(counts.size()), 1);
  rank.device.upload(sum, counts);
  const Call call = rank.call("moe.balance", Pass::Forward, DType::Int32);
  if (sp) rank.groups.tensor->all_reduce(wire(sum), Reduction::Sum, call).wait();
  if (rank.groups.context->size() > 1)
    rank.groups.context->all_reduce(wire(sum), Reduction::Sum, call).wait();
  rank.device.download(counts, sum);
  return counts;
}

}  // namespace

Routed route(const Rank& rank, const Unit& unit, const View& normed, const Keeping& keep) {
  const costmodel::LocalDims& d = rank.dims;
  Routed out;
  out.probabilities = rank.device.allocate(keep.fp32("moe.router.logits"), d.router_tokens, d.experts);
  linear_forward(rank, kOperation, normed, unit.weight(kMatrix), out.probabilities);
  out.chosen = rank.device.allocate({"moe.routing_map", keep.kind, DType::Int32}, d.router_tokens, d.top_k);
  out.weights = rank.device.allocate(keep.fp32("moe.routing_map"), d.router_tokens, d.top_k);
  const bool in_turn = rank.routing == Routing::InTurn;
  if (in_turn) rank.device.upload(out.chosen, experts_in_turn(rank));
  rank.device.route(out.probabilities, in_turn, rank.scenario.model.moe.renormalise, out.probabilities,
                    out.chosen, out.weights);
  out.chosen_on_host.resize(static_cast<std::size_t>(d.router_tokens * d.top_k));
  rank.device.download(out.chosen_on_host, out.chosen);

  const costmodel::Recipe& recipe = rank.scenario.recipe;
  const double factor = rank.scenario.model.moe.balance_coefficient /
                        static_cast<double>(costmodel::tokens_per_step(recipe)) *
                        static_cast<double>(d.experts) / static_cast<double>(d.top_k * recipe.sequence);
  for (const std::int32_t count : choices_of_sequences(rank, out.chosen_on_host))
    out.balance.push_back(factor * count);
  return out;
}

Tensor copy_weights(const Rank& rank, const Routed& routed, const std::vector<std::int32_t>& places) {
  const auto copies = static_cast<std::int64_t>(places.size());
  const Tensor list = rank.device.allocate({"moe.rows", TensorKind::Transient, DType::Int32}, copies, 1);
  rank.device.upload(list, places);
  Tensor out = fp32(rank, "moe.copy_weights", copies, 1);
  rank.device.gather_rows(routed.weights.view().reshaped(copies, 1), list, out);
  return out;
}

Tensor weight_gradients(const Rank& rank, const View& d_copies, const View& outputs,
                        const std::vector<std::int32_t>& places) {
  const auto copies = static_cast<std::int64_t>(places.size());
  const Tensor dots = fp32(rank, "moe.copy_weight_gradients", copies, 1);
  rank.device.row_dots(d_copies, outputs, dots);
  const Tensor list = rank.device.allocate({"moe.rows", TensorKind::Transient, DType::Int32}, copies, 1);
  rank.device.upload(list, places);
  Tensor out = fp32(rank, "moe.weight_gradients", rank.dims.router_tokens, rank.dims.top_k);
  rank.device.fill(out, 0);
  rank.device.scatter_rows(dots, list, {}, out.view().reshaped(copies, 1));
  return out;
}

Tensor route_backward(const Rank& rank, const Unit& unit, const View& normed, const Routed& routed,
                      const View& d_weights) {
  const std::int64_t experts = rank.dims.experts;
  const Tensor d_logits = fp32(rank, "moe.router.gradient", rank.dims.router_tokens, experts);
  const Tensor per_expert = fp32(rank, "moe.balance", 3, experts);
  const View d_mean = per_expert.view().row_range(0, 1), sums = per_expert.view().row_range(1, 1);
  const View loss = per_expert.view().row_range(2, 1).column_range(0, 1);
  for (const SequenceRows& rows : sequence_rows(rank)) {
    const auto part = [&](const View& v) { return v.row_range(rows.first, rows.count); };
    rank.device.upload(d_mean,
                       std::span{routed.balance}.subspan(static_cast<std::size_t>(rows.sequence * experts),
                                                         static_cast<std::size_t>(experts)));
    rank.device.route_backward(part(routed.probabilities), part(routed.chosen), part(routed.weights),
                               rank.scenario.model.moe.renormalise, part(d_weights), d_mean, part(d_logits));
    // The loss is linear in the probabilities, so that its value is its gradient times them.
    rank.device.fill(sums, 0);
    rank.device.column_sums(part(routed.probabilities), sums);
    rank.device.row_dots(d_mean, sums, loss);
    rank.device.add(rank.balance_loss, loss);
  }
  linear_backward_weight(rank, kOperation, d_logits, normed, unit.gradient(kMatrix));
  Tensor d_normed = rank.transient("norm.output.gradient", normed.rows, normed.cols);
  linear_backward_data(rank, kOperation, d_logits, unit.weight(kMatrix), d_normed);
  return d_normed;
}

}  // namespace hexaplan::validator
