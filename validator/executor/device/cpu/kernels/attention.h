#pragma once
#include "validator/executor/device/cpu/kernels/kernel_set.h"
#include "validator/executor/device/cpu/kernels/matrix.h"
#include "validator/executor/device/operation_forms.h"

namespace hexaplan::validator::kernels {
inline namespace HEXAPLAN_KERNEL_SET {

/// o = softmax(scale·q·kᵀ)·v and the log of the softmax's denominator, of one block as AttentionBlock lays it
/// out, with what it adds to scores; its slopes and sinks are rows of T. A query that sees no key gets o = 0,
/// lse = −∞ or its sink.
template <class T>
void attention_forward(const AttentionBlock& block, Input<T> q, Input<T> k, Input<T> v, Matrix<T> o,
                       Matrix<T> lse);

/// Adds a further block of keys to an output: as if `o` and `other` had been computed together.
/// o, other: tokens × heads·d; lse, other_lse: tokens × heads.  [arXiv:2310.01889]
template <class T>
void attention_merge(Matrix<T> o, Matrix<T> lse, Input<T> other, Input<T> other_lse);

/// delta = Σ over d of o·do, per token and head, of the *final* output.  [arXiv:2307.08691 §3.1.2]
template <class T>
void attention_delta(Input<T> o, Input<T> d_o, Matrix<T> delta);

/// Adds one block's share to dq, dk and dv. lse and delta are those of the final output, so that blocks may
/// be taken one by one in any order.  [arXiv:2307.08691 algorithm 2]
template <class T>
void attention_backward(const AttentionBlock& block, Input<T> q, Input<T> k, Input<T> v, Input<T> d_o,
                        Input<T> lse, Input<T> delta, Matrix<T> dq, Matrix<T> dk, Matrix<T> dv);

/// Products of queries and keys, rows × heads·seq_kv, become probabilities; `capped` what a soft cap made.
template <class T>
void score_softmax(const AttentionBlock& block, Matrix<T> scores, Matrix<T> capped);
/// d_scores = scale·p·(d_p − Σ p·d_p), times the slope of the soft cap.
template <class T>
void score_softmax_backward(const AttentionBlock& block, Input<T> p, Input<T> capped, Input<T> d_p,
                            Matrix<T> d_scores);

/// d_sinks −= Σ over rows of exp(sinks − lse)·delta: what the sinks took of the softmax has no value, so that
/// its score's gradient is p·(0 − delta). sinks, d_sinks: heads; lse, delta: rows × heads.
template <class T>
void sink_gradient(const T* sinks, Input<T> lse, Input<T> delta, T* d_sinks);

}  // namespace HEXAPLAN_KERNEL_SET
}  // namespace hexaplan::validator::kernels
