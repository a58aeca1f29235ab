#pragma once
#include <cstdint>
#include <vector>

#include "validator/executor/layers/norm.h"
#include "validator/executor/parallel/data.h"

namespace hexaplan::validator {

/// What a router made of the n tokens of a rank's residual stream.
struct Routed {
  Tensor probabilities;    // of all E experts, n × E; in the place of the logits
  Tensor chosen, weights;  // experts of a token and their probabilities, n × K
  std::vector<std::int32_t> chosen_on_host;
  /// Gradient of the balance loss by the probability of an expert, per sequence of the micro-batch: b × E.
  std::vector<double> balance;
};

/// Probabilities of all experts, softmax in fp32, and the K largest of each token (arXiv:2405.04434 eq.
/// 20-22; divided by their sum where the model renormalises), or experts in turn by position where the run
/// wants them evenly filled. The balance loss is that of each sequence, coefficient·Σᵢ fᵢ·Pᵢ with fᵢ = E/K
/// times the share of the sequence's tokens that chose expert i, Pᵢ its mean probability, averaged over the
/// global batch (arXiv:2412.19437 eq. 17-20): no layout changes what a sequence is. Ranks that share a
/// sequence add up their counts.
[[nodiscard]] Routed route(const Rank& rank, const Unit& unit, const View& normed, const Keeping& keep);

/// Weights of the copies in the order of `places`, each token·K + choice.
[[nodiscard]] Tensor copy_weights(const Rank& rank, const Routed& routed,
                                  const std::vector<std::int32_t>& places);
/// Gradient of the weights, n × K: products of the copies' output gradients and outputs.
[[nodiscard]] Tensor weight_gradients(const Rank& rank, const View& d_copies, const View& outputs,
                                      const std::vector<std::int32_t>& places);

/// Gradient of the normed tokens through the router. Adds the balance loss to the rank's and the gradient of
/// the router's matrix, which is small, at once.
[[nodiscard]] Tensor route_backward(const Rank& rank, const Unit& unit, const View& normed,
                                    const Routed& routed, const View& d_weights);

}  // namespace hexaplan::validator
