// Mixtures of experts (arXiv:2405.04434 §2.1.2): a token's output is Σ over its K most probable experts of
// probability·MLP, plus the shared experts, which see every token. Lists of rows come from the host.
#include "costmodel/units/mutation.h"
#include "validator/executor/interpreter/operation.h"
#include "validator/executor/parallel/routing.h"

namespace hexaplan::validator {
namespace {

/// One of the n tokens' K choices per row -> one row per token.
View by_token(const Rank& rank, const View& copies) {
  return copies.reshaped(rank.dims.router_tokens, rank.dims.top_k);
}

/// Row of the token that each copy was made of; −1 for padding.
void upload_token_rows(const Operation& o, const View& list) {
  std::vector<std::int32_t> rows = o.frame.routing.exchange.places();
  for (std::int32_t& place : rows) {
    if (place >= 0) place /= static_cast<std::int32_t>(o.rank.dims.top_k);
  }
  o.rank.device.upload(list, rows);
}

/// Weights of the copies in the order in which they travel, by way of the list of their places.
void weights_of_copies(const Operation& o, const View& weights, const View& list, const View& out) {
  o.rank.device.upload(list, o.frame.routing.exchange.places());
  o.rank.device.gather_rows(weights, list, out);
}

std::vector<std::int32_t> copies_within_capacity(const Rank& rank, std::span<const std::int32_t> chosen,
                                                 const View& weights) {
  std::vector<double> values(chosen.size());
  rank.device.download(values, weights);
  return within_capacity(rank, chosen, values);
}

void reorder(const Operation& o, const std::vector<std::int32_t>& rows) {
  o.rank.device.upload(o.out(1), rows);
  o.rank.device.gather_rows(o.in(0), o.out(1), o.out(0));
}

}  // namespace

/// Probabilities of all experts, softmax in fp32, and the K largest of each token, or experts in turn by
/// position where the run wants them evenly filled.
void run_route(const Operation& o) {
  const Rank& rank = o.rank;
  const View probabilities = o.out(0), chosen = by_token(rank, o.out(1)), weights = by_token(rank, o.out(2));
  rank.device.gemm(o.issue(), {.a = o.in(0), .b = o.weight(), .c = probabilities, .transpose_b = true});
  if (o.op.bias >= 0) rank.device.add_bias(probabilities, o.bias());
  const View correction = o.model().moe.router_correction
                              ? o.weights.value(costmodel::Parameter::MoeRouterCorrectionBias)
                              : View{};
  const bool in_turn = rank.routing == Routing::InTurn;
  if (in_turn) rank.device.upload(chosen, experts_in_turn(rank));
  rank.device.route(router_form(o.model().moe, in_turn), probabilities, correction, probabilities, chosen,
                    weights);
  HostRouting& host = o.frame.routing;
  host.chosen.resize(static_cast<std::size_t>(chosen.elements()));
  rank.device.download(host.chosen, chosen);
  host.counts = choices_of_sequences(rank, host.chosen);
  host.exchange = rank.scenario.recipe.routing.drops()
                      ? ExpertExchange{rank, host.chosen, copies_within_capacity(rank, host.chosen, weights)}
                      : ExpertExchange{rank, host.chosen};
}

/// Of this rank's tokens: those of all ranks may be there already, where it runs again without the router.
void run_count_choices(const Operation& o) {
  o.rank.device.upload(o.out(0), choices_of_sequences(o.rank, o.frame.routing.chosen));
}

void run_gather_counts(const Operation& o) {
  o.frame.routing.exchange.tell(o.rank, o.op.group, o.out(0));
}

void run_permute(const Operation& o) {
  upload_token_rows(o, o.out(1));
  o.rank.device.gather_rows(o.in(0), o.out(1), o.out(0));
}

/// Operands: what the gradient of the router's input is so far, gradients of the copies, their tokens.
void run_permute_back(const Operation& o) {
  o.rank.device.scatter_rows(o.in(1), o.in(2), {}, o.out(0));
}

void run_regroup(const Operation& o) {
  reorder(o, o.frame.routing.exchange.order());
}
void run_ungroup(const Operation& o) {
  reorder(o, o.frame.routing.exchange.inverse());
}

/// Operands: what the shared experts made, if there are any; outputs of the experts, weights of the chosen.
void run_unpermute(const Operation& o) {
  const std::size_t first = o.op.reads.size() > 3 ? 1 : 0;
  if (first == 0) {
    o.rank.device.fill(o.out(0), 0);
  } else if (!o.accumulates()) {
    o.rank.device.copy(o.out(0), o.in(0));
  }
  const View tokens = o.out(1), list = o.out(2), factors = o.out(3);
  upload_token_rows(o, tokens);
  weights_of_copies(o, o.in(first + 1), list, factors);
  o.rank.device.scatter_rows(o.in(first), tokens, factors, o.out(0));
}

/// Gradients of the copies, not weighted yet, and of the weights: products with what the experts made.
void run_unpermute_back(const Operation& o) {
  const View copies = o.out(0), d_weights = o.out(1), tokens = o.out(2), list = o.out(3), dots = o.out(4);
  upload_token_rows(o, tokens);
  o.rank.device.gather_rows(o.in(0), tokens, copies);
  o.rank.device.row_dots(copies, o.in(1), dots);
  o.rank.device.upload(list, o.frame.routing.exchange.places());
  o.rank.device.fill(d_weights, 0);
  o.rank.device.scatter_rows(dots, list, {}, d_weights);
}

void run_scale_copies(const Operation& o) {
  weights_of_copies(o, o.in(1), o.out(1), o.out(2));
  if (!costmodel::mutant("token-weights-are-not-applied")) o.rank.device.scale_rows(o.out(0), o.out(2));
}

/// Gradient of the logits. The balance loss is linear in the probabilities, so that its value is its gradient
/// times them.
void run_route_back(const Operation& o) {
  const Rank& rank = o.rank;
  const std::int64_t experts = rank.dims.experts;
  const View probabilities = o.in(1), chosen = by_token(rank, o.in(2)), weights = by_token(rank, o.in(3));
  const View d_weights = by_token(rank, o.in(0)), d_logits = o.out(0);
  const View scratch = o.out(1).reshaped(3, experts);
  const View d_mean = scratch.row_range(0, 1), sums = scratch.row_range(1, 1);
  const View loss = scratch.row_range(2, 1).column_range(0, 1);
  const std::vector<double> balance = balance_gradient(rank, o.frame.routing.counts);
  const RouterForm form = router_form(rank.scenario.model.moe, rank.routing == Routing::InTurn);
  for (const SequenceRows& rows : sequence_rows(rank)) {
    const auto part = [&](const View& v) { return v.row_range(rows.first, rows.count); };
    rank.device.upload(d_mean, std::span{balance}.subspan(static_cast<std::size_t>(rows.sequence * experts),
                                                          static_cast<std::size_t>(experts)));
    rank.device.route_backward(form, part(probabilities), part(chosen), part(weights), part(d_weights),
                               d_mean, part(d_logits));
    rank.device.fill(sums, 0);
    rank.device.column_sums(part(probabilities), sums);
    rank.device.row_dots(d_mean, sums, loss);
    if (!costmodel::mutant("balance-loss-is-not-added")) rank.device.add(rank.balance_loss, loss);
  }
}

}  // namespace hexaplan::validator
