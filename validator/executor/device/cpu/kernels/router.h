#pragma once
#include "validator/executor/device/cpu/kernels/matrix.h"
#include "validator/executor/device/operation_forms.h"

namespace hexaplan::validator::kernels {

/// scores of all experts, which may overwrite the logits; the k experts of the largest score + correction per
/// token, largest first, ties to the smaller id, of the best groups alone, go to `chosen` unless they are
/// given there; their scores, divided and multiplied as `form` says, to `weights` (tokens × k). `correction`
/// may be null.
/// [arXiv:2405.04434 eq. 20-22 and §2.2.2; renormalised: arXiv:2401.04088 §2.1; sigmoid and correction:
/// arXiv:2412.19437 eq. 13-16]
template <class T>
void route(const RouterForm& form, Input<T> logits, const T* correction, Matrix<T> scores,
           Matrix<std::int32_t> chosen, Matrix<T> weights);

/// Gradient of the logits, given those of the chosen weights and one addend per expert for the gradient of
/// every token's score (the balance loss). `d_mean` may be null: none.
template <class T>
void route_backward(const RouterForm& form, Input<T> scores, Input<std::int32_t> chosen, Input<T> weights,
                    Input<T> d_weights, const T* d_mean, Matrix<T> d_logits);

}  // namespace hexaplan::validator::kernels
