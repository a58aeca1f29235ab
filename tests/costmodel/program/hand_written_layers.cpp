#include "tests/costmodel/program/hand_written_layers.h"

#include <algorithm>

namespace hexaplan::costmodel {
namespace {

constexpr TensorKind kSaved = TensorKind::Activation;
constexpr TensorKind kPassing = TensorKind::Transient;
constexpr double kFp32 = 4;

}  // namespace

/// A matrix whose weight gradient needs what it read and the gradient of what it wrote.
struct ExplicitStep::Linear {
  double input = 0, output_gradient = 0;
  bool gathers_input = false;  // kept cut over tensor-parallel ranks
  /// The gradient is the stream's own, or gathered from it; another buffer otherwise.
  bool of_stream = false;
};

ExplicitStep::ExplicitStep(const Scenario& sc, const LocalDims& d)
    : drops_log_sum_exp_{sc.recipe.recompute.mode == RecomputeMode::Selective},
      scatters_{sc.layout.sp && sc.layout.tp > 1} {
  const double element = bytes_per_element(activation_dtype(sc.recipe.precision));
  const auto per_token = [&](std::int64_t width) { return static_cast<double>(d.tokens * width) * element; };
  stream_ = static_cast<double>(d.sp_tokens * d.hidden) * element;
  whole_ = per_token(d.hidden);
  gathered_ = scatters_ ? whole_ : 0;
  stats_ = static_cast<double>(d.sp_tokens) * kFp32;
  log_sum_exp_ = delta_ = static_cast<double>(d.tokens * d.heads) * kFp32;
  qkv_ = per_token(d.q + d.k + d.v);
  q_sum_ = static_cast<double>(d.tokens * d.q) * kFp32;
  o_ = per_token(d.o);
  dense_ = {.gate_up = per_token(d.mlp_up), .activation = per_token(d.mlp_act)};
  shared_ = {.gate_up = per_token(d.shared_up), .activation = per_token(d.shared_act)};
  logits_ = per_token(d.vocab);
  maxima_ = static_cast<double>(d.tokens) * kFp32;
  sums_ = 2 * maxima_;
  keys_ = {
      .bytes = per_token(d.k + d.v), .ranks = sc.layout.cp, .ring = sc.layout.context == ContextKind::Ring};
  if (sc.model.is_moe()) size_experts(sc, d);
}

void ExplicitStep::size_experts(const Scenario& sc, const LocalDims& d) {
  const double element = bytes_per_element(activation_dtype(sc.recipe.precision));
  const auto rows = [&](double count, std::int64_t width) {
    return count * static_cast<double>(width) * element;
  };
  constexpr double kIndexBytes = 4;
  const std::int64_t etp = sc.layout.expert_tensor();
  const auto choices = static_cast<double>(d.router_tokens * d.top_k);
  const auto copies = static_cast<double>(d.sent_copies);
  const auto received = static_cast<double>(d.expert_tokens);
  const auto experts = static_cast<double>(d.experts);
  const bool others_share_sequences = scatters_ || sc.layout.cp > 1, pads = sc.recipe.routing.pads();
  experts_ = {
      .exchanges = sc.layout.ep > 1 || etp > 1,
      .shares_columns = etp > 1,
      .choices = choices * kIndexBytes,
      .index = copies * kIndexBytes,
      .rows_index = received * kIndexBytes,
      .copies = rows(copies, d.hidden),
      .rows = rows(received, d.hidden),
      .received = rows(received / static_cast<double>(etp), d.hidden),
      .gate_up = rows(received, d.expert_up),
      .activation = rows(received, d.expert_act),
      .probabilities = static_cast<double>(d.router_tokens * d.experts) * kFp32,
      .per_expert = 3 * experts * kFp32,
      .balance = others_share_sequences ? static_cast<double>(d.micro_batch) * experts * kIndexBytes : 0,
      .counts = sc.layout.ep > 1 && !pads ? experts * sc.layout.ep * kIndexBytes : 0,
      .shared_counts = etp > 1 && !pads ? experts * static_cast<double>(etp) * kIndexBytes : 0};
}

/// What a row-parallel layer makes of all tokens becomes this rank's tokens of the sum.
void ExplicitStep::leave_tensor_parallel(TensorKind keep, AllocationTrace& trace) const {
  if (!scatters_) return trace.take(keep, whole_);
  trace.take(kPassing, whole_);
  trace.take(keep, stream_);
  trace.give(kPassing, whole_);
}

void ExplicitStep::embedding_forward(AllocationTrace& trace) const {
  leave_tensor_parallel(kPassing, trace);
}

/// What a column-parallel matrix writes, its input gathered meanwhile.
void ExplicitStep::column_parallel(double output, TensorKind keep, AllocationTrace& trace) const {
  trace.take(kPassing, gathered_);
  trace.take(keep, output);
  trace.give(kPassing, gathered_);
}

void ExplicitStep::mlp_forward(const Mlp& mlp, TensorKind keep, AllocationTrace& trace) const {
  column_parallel(mlp.gate_up, keep, trace);
  trace.take(keep, mlp.activation);
}

/// Other ranks' keys: one after the other around a ring, the next one arriving while this one is held, or all
/// at once. Each further block's output is merged into the first.
void ExplicitStep::attend(AllocationTrace& trace) const {
  if (keys_.ranks == 1) return;
  const double held = keys_.ring ? keys_.bytes : keys_.bytes * static_cast<double>(keys_.ranks);
  trace.take(kPassing, held);
  if (keys_.ring) {
    trace.take(kPassing, keys_.bytes);
    trace.give(kPassing, keys_.bytes);
  }
  trace.take(kPassing, o_ + log_sum_exp_);
  trace.give(kPassing, o_ + log_sum_exp_ + held);
}

void ExplicitStep::attend_backward(AllocationTrace& trace) const {
  trace.take(kPassing, q_sum_);
  if (keys_.ranks > 1 && keys_.ring) {
    // Keys and their gradients, and both arriving as long as there is a further rank.
    const double arriving = (keys_.ranks > 2 ? 2 : 0) * keys_.bytes;
    trace.take(kPassing, 2 * keys_.bytes + arriving);
    trace.give(kPassing, 2 * keys_.bytes + arriving);
  } else if (keys_.ranks > 1) {
    const double all = keys_.bytes * static_cast<double>(keys_.ranks);
    trace.take(kPassing, 2 * all);
    trace.give(kPassing, all);
    trace.take(kPassing, keys_.bytes);
    trace.give(kPassing, keys_.bytes + all);
  }
  trace.give(kPassing, q_sum_);
}

/// Copies, alive as passing, become the rows of this rank's experts.
void ExplicitStep::to_experts(TensorKind keep, AllocationTrace& trace) const {
  const Experts& x = experts_;
  if (!x.exchanges) return trace.move(kPassing, keep, x.copies);
  trace.take(kPassing, x.rows);  // as they arrive
  trace.give(kPassing, x.copies);
  trace.take(keep, x.rows);  // by expert
  trace.take(kPassing, x.rows_index);
  trace.give(kPassing, x.rows_index + x.rows);
}

/// … and back.
void ExplicitStep::from_experts(TensorKind keep, AllocationTrace& trace) const {
  const Experts& x = experts_;
  if (!x.exchanges) return trace.move(kPassing, keep, x.copies);
  trace.take(kPassing, x.rows);
  trace.take(kPassing, x.rows_index);
  trace.give(kPassing, x.rows_index + x.rows);
  double leaving = x.rows;
  if (x.shares_columns) {
    trace.take(kPassing, x.received);
    trace.give(kPassing, x.rows);
    leaving = x.received;
  }
  trace.take(keep, x.copies);
  trace.give(kPassing, leaving);
}

void ExplicitStep::experts_forward(TensorKind keep, AllocationTrace& trace) const {
  const Experts& x = experts_;
  trace.take(keep, x.probabilities + 2 * x.choices);
  for (const double numbers : {x.balance, x.counts, x.shared_counts}) {
    trace.take(kPassing, numbers);
    trace.give(kPassing, numbers);
  }
  trace.take(kPassing, x.index + x.copies);
  to_experts(keep, trace);
  trace.give(kPassing, x.index);
  trace.take(keep, x.gate_up + x.activation);
  trace.take(kPassing, x.rows);
  from_experts(keep, trace);
  if (shared_.activation > 0) mlp_forward(shared_, keep, trace);
}

/// Sum of the experts' outputs with that of the shared ones.
void ExplicitStep::experts_output(AllocationTrace& trace) const {
  if (shared_.activation > 0) {
    leave_tensor_parallel(kPassing, trace);
  } else {
    trace.take(kPassing, stream_);
  }
  trace.take(kPassing, 3 * experts_.index);
  trace.give(kPassing, 3 * experts_.index);
}

void ExplicitStep::experts_backward(bool split, TensorKind keep, AllocationTrace& trace) const {
  const Experts& x = experts_;
  trace.take(kPassing, x.index + x.copies);       // gradient of the copies' outputs
  trace.take(kPassing, x.choices + 2 * x.index);  // gradients of their weights
  trace.give(kPassing, 2 * x.index);
  trace.give(keep, x.copies);
  trace.take(kPassing, 2 * x.index);
  trace.give(kPassing, 2 * x.index);
  trace.take(kPassing, x.probabilities + x.per_expert + stream_);  // through the router
  trace.give(kPassing, x.probabilities + x.per_expert + x.choices);
  trace.give(keep, x.probabilities + 2 * x.choices);
  to_experts(kPassing, trace);
  trace.take(kPassing, x.activation);
  weight_gradient({.input = x.activation, .output_gradient = x.rows}, split, keep, trace);
  trace.take(kPassing, x.gate_up);
  trace.give(kPassing, x.activation);
  trace.give(keep, x.gate_up);
  trace.take(kPassing, x.rows);
  weight_gradient({.input = x.rows, .output_gradient = x.gate_up}, split, keep, trace);
  from_experts(kPassing, trace);
  trace.give(kPassing, x.copies + x.index);
  if (shared_.activation > 0) {
    mlp_backward(shared_, split, keep, trace);
    trace.give(kPassing, stream_);
  } else {
    trace.give(keep, stream_);  // what the router read
  }
}

void ExplicitStep::saved_forward(LayerClass kind, TensorKind keep, AllocationTrace& trace) const {
  trace.take(keep, stream_ + stats_);  // first norm
  column_parallel(qkv_, keep, trace);
  trace.take(keep, o_ + log_sum_exp_);
  attend(trace);
  if (drops_log_sum_exp_) trace.give(keep, log_sum_exp_);
  leave_tensor_parallel(keep, trace);  // residual stream between attention and MLP
  trace.take(keep, stream_ + stats_);  // second norm
  kind.moe ? experts_forward(keep, trace) : mlp_forward(dense_, keep, trace);
}

void ExplicitStep::layer_forward(LayerClass kind, bool recomputed, AllocationTrace& trace) const {
  const TensorKind keep = recomputed ? kPassing : kSaved;
  trace.move(kPassing, kSaved, stream_);  // the input is kept in any case
  const double before = trace.live().of(keep).value();
  saved_forward(kind, keep, trace);
  const double saved = trace.live().of(keep).value() - before;
  kind.moe ? experts_output(trace) : leave_tensor_parallel(kPassing, trace);
  if (recomputed) trace.give(keep, saved);
}

/// Made at once, or kept: then the stream's gradient, which goes on changing, is copied unless it was
/// gathered.
void ExplicitStep::weight_gradient(const Linear& linear, bool split, TensorKind keep,
                                   AllocationTrace& trace) const {
  if (split) {
    if (linear.of_stream && !scatters_) trace.take(kPassing, whole_);
    return;
  }
  if (linear.gathers_input) {
    trace.take(kPassing, gathered_);
    trace.give(kPassing, gathered_);
  }
  trace.give(keep, linear.input);
  trace.give(kPassing, linear.of_stream ? gathered_ : linear.output_gradient);
}

void ExplicitStep::mlp_backward(const Mlp& mlp, bool split, TensorKind keep, AllocationTrace& trace) const {
  trace.take(kPassing, gathered_);  // the stream's gradient
  trace.take(kPassing, mlp.activation);
  weight_gradient({.input = mlp.activation, .of_stream = true}, split, keep, trace);
  trace.take(kPassing, mlp.gate_up);
  trace.give(kPassing, mlp.activation);
  trace.give(keep, mlp.gate_up);
  leave_tensor_parallel(kPassing, trace);
  weight_gradient({.input = stream_, .output_gradient = mlp.gate_up, .gathers_input = true}, split, keep,
                  trace);
}

void ExplicitStep::attention_backward(bool split, TensorKind keep, AllocationTrace& trace) const {
  const TensorKind statistics = drops_log_sum_exp_ ? kPassing : keep;
  if (drops_log_sum_exp_) {
    trace.take(statistics, log_sum_exp_);
    attend(trace);
  }
  trace.take(kPassing, gathered_);
  trace.take(kPassing, o_ + delta_);
  weight_gradient({.input = o_, .of_stream = true}, split, keep, trace);
  trace.take(kPassing, qkv_);
  attend_backward(trace);
  trace.give(kPassing, o_ + delta_);
  trace.give(statistics, log_sum_exp_);
  trace.give(keep, qkv_);
  leave_tensor_parallel(kPassing, trace);
  weight_gradient({.input = stream_, .output_gradient = qkv_, .gathers_input = true}, split, keep, trace);
}

void ExplicitStep::layer_backward(LayerClass kind, bool recomputed, bool split,
                                  AllocationTrace& trace) const {
  const TensorKind keep = recomputed ? kPassing : kSaved;
  if (recomputed) saved_forward(kind, keep, trace);
  kind.moe ? experts_backward(split, keep, trace) : mlp_backward(dense_, split, keep, trace);
  trace.give(kPassing, stream_);       // gradient of the second norm's output
  trace.give(keep, stream_ + stats_);  // residual stream, statistics
  attention_backward(split, keep, trace);
  trace.give(kPassing, stream_);
  trace.give(keep, stats_);
  trace.give(kSaved, stream_);
}

void ExplicitStep::layer_weight_gradients(LayerClass kind, bool recomputed, AllocationTrace& trace) const {
  const TensorKind keep = recomputed ? kPassing : kSaved;
  const double kept_stream = scatters_ ? gathered_ : whole_;
  const auto make = [&](double input, double gradient, bool gathers) {
    if (gathers) {
      trace.take(kPassing, gathered_);
      trace.give(kPassing, gathered_);
    }
    trace.give(keep, input);
    trace.give(kPassing, gradient);
  };
  if (kind.moe) {
    make(experts_.activation, experts_.rows, false);
    make(experts_.rows, experts_.gate_up, false);
  }
  const Mlp& mlp = kind.moe ? shared_ : dense_;
  if (mlp.activation > 0) {
    make(mlp.activation, kept_stream, false);
    make(stream_, mlp.gate_up, true);
  }
  make(o_, kept_stream, false);
  make(stream_, qkv_, true);
}

void ExplicitStep::head(AllocationTrace& trace) const {
  constexpr TensorKind kLogits = TensorKind::Logits;
  trace.enter(kLoss);
  trace.take(kLogits, stream_ + stats_);
  trace.take(kPassing, gathered_);
  trace.take(kLogits, logits_);
  trace.give(kPassing, gathered_);
  trace.take(kLogits, maxima_ + sums_);
  trace.give(kLogits, maxima_ + sums_);
  trace.enter(kHeadBackward);
  leave_tensor_parallel(kPassing, trace);
  trace.take(kPassing, gathered_);
  trace.give(kPassing, gathered_);
  trace.give(kLogits, stream_ + logits_);
  trace.take(kSaved, stream_);
  trace.give(kPassing, 2 * stream_);  // the input, the gradient of the norm's output
  trace.give(kLogits, stats_);
}

void ExplicitStep::embedding_backward(AllocationTrace& trace) const {
  trace.take(kPassing, gathered_);
  trace.give(kPassing, gathered_);
}

}  // namespace hexaplan::costmodel
