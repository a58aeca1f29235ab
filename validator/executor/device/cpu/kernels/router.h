#pragma once
#include "validator/executor/device/cpu/kernels/matrix.h"

namespace hexaplan::validator::kernels {

/// probabilities = softmax over all experts, which may overwrite the logits; the k largest per token, largest
/// first, ties to the smaller id, go to chosen, unless they are `given` there, and to weights (tokens × k),
/// divided by their sum where `renormalise`.
/// [arXiv:2405.04434 eq. 20-22; renormalised: arXiv:2401.04088 §2.1]
template <class T>
void route(Input<T> logits, bool given, bool renormalise, Matrix<T> probabilities,
           Matrix<std::int32_t> chosen, Matrix<T> weights);

/// Gradient of the logits, given those of the chosen weights and one addend per expert for the gradient of
/// every token's probability (the balance loss). `d_mean` may be null: none.
template <class T>
void route_backward(Input<T> probabilities, Input<std::int32_t> chosen, Input<T> weights, bool renormalise,
                    Input<T> d_weights, const T* d_mean, Matrix<T> d_logits);

}  // namespace hexaplan::validator::kernels
