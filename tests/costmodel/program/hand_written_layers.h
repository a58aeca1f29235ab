#pragma once
#include <array>
#include <vector>

#include "costmodel/memory/flat_units.h"
#include "costmodel/memory/layer_ledger.h"
#include "costmodel/memory/tensor_ledger.h"
#include "costmodel/memory/unit_buffers.h"
#include "costmodel/spec/local_dims.h"
#include "costmodel/spec/scenario.h"

namespace hexaplan::costmodel {

// Memory of a step whose every allocation is known: that of Hexaplan's executor
// (FrameworkProfile::keeps_what_backward_reads). Sizes in bytes of one rank and micro-batch.
// [docs/formulas.md#M8]

/// Live bytes while allocations come and go.
class AllocationTrace {
 public:
  void take(TensorKind kind, double bytes) {
    live_.of(kind) += Bytes{bytes};
    total_ += Bytes{bytes};
    note();
  }
  void give(TensorKind kind, double bytes) {
    live_.of(kind) -= Bytes{bytes};
    total_ -= Bytes{bytes};
  }
  void move(TensorKind from, TensorKind to, double bytes) {
    live_.of(from) -= Bytes{bytes};
    live_.of(to) += Bytes{bytes};
  }
  /// What follows belongs to this instant.
  void enter(Instant instant) {
    instant_ = instant;
    note();
  }
  /// Peaks count from here on.
  void forget_peaks() {
    peaks_ = {};
    most_ = {};
  }
  [[nodiscard]] const MemoryBreakdown& live() const { return live_; }
  /// Where live bytes were most while at `instant`; nothing when it was never entered.
  [[nodiscard]] const MemoryBreakdown& peak(Instant instant) const { return peaks_[index_of(instant)]; }
  /// The instant whose peak came first among the highest.
  [[nodiscard]] Instant highest() const { return highest_; }

 private:
  void note() {
    Bytes& most = most_[index_of(instant_)];
    if (total_ <= most) return;
    if (total_ > most_[index_of(highest_)]) highest_ = instant_;
    most = total_;
    peaks_[index_of(instant_)] = live_;
  }
  MemoryBreakdown live_;
  Bytes total_;  // of live_: whole bytes, so that sums in any order agree
  std::array<MemoryBreakdown, kInstants> peaks_{};
  std::array<Bytes, kInstants> most_{};  // their totals
  Instant instant_ = kIdle, highest_ = kIdle;
};

/// What the passes of a step allocate and free, in the executor's order. Saved tensors of a recomputed layer
/// are transients.
class ExplicitStep {
 public:
  ExplicitStep(const Scenario& scenario, const LocalDims& dims);

  /// The stream enters alive as a transient; so does what comes out.
  void embedding_forward(AllocationTrace& trace) const;
  void layer_forward(LayerClass kind, bool recomputed, AllocationTrace& trace) const;
  /// Forward and backward of the output layer; leaves the gradient of its input as an activation.
  void head(AllocationTrace& trace) const;
  /// The stream's gradient is alive as a transient before and after. `split`: what weight gradients need
  /// stays until layer_weight_gradients.
  void layer_backward(LayerClass kind, bool recomputed, bool split, AllocationTrace& trace) const;
  void layer_weight_gradients(LayerClass kind, bool recomputed, AllocationTrace& trace) const;
  void embedding_backward(AllocationTrace& trace) const;

  [[nodiscard]] double stream() const { return stream_; }  // bytes of the residual stream on this rank

 private:
  struct Linear;
  void size_experts(const Scenario& scenario, const LocalDims& dims);
  void column_parallel(double output, TensorKind keep, AllocationTrace& trace) const;
  void saved_forward(LayerClass kind, TensorKind keep, AllocationTrace& trace) const;
  void leave_tensor_parallel(TensorKind keep, AllocationTrace& trace) const;
  void weight_gradient(const Linear& linear, bool split, TensorKind keep, AllocationTrace& trace) const;
  /// Widths of one MLP: a dense layer's, or the shared experts'.
  struct Mlp {
    double gate_up = 0, activation = 0;
  };
  void mlp_forward(const Mlp& mlp, TensorKind keep, AllocationTrace& trace) const;
  void mlp_backward(const Mlp& mlp, bool split, TensorKind keep, AllocationTrace& trace) const;
  void experts_forward(TensorKind keep, AllocationTrace& trace) const;
  void experts_backward(bool split, TensorKind keep, AllocationTrace& trace) const;
  void to_experts(TensorKind keep, AllocationTrace& trace) const;
  void from_experts(TensorKind keep, AllocationTrace& trace) const;
  void experts_output(AllocationTrace& trace) const;
  void attend(AllocationTrace& trace) const;
  void attend_backward(AllocationTrace& trace) const;
  void attention_backward(bool split, TensorKind keep, AllocationTrace& trace) const;

  bool drops_log_sum_exp_;
  bool scatters_;                     // sequence parallelism over more than one rank
  double stream_, whole_, gathered_;  // n·h, N·h, and N·h where it has to be gathered
  double stats_, log_sum_exp_, delta_;
  double qkv_, q_sum_, o_;
  Mlp dense_, shared_;
  double logits_, maxima_, sums_;

  /// Keys and values of other ranks under context parallelism.
  struct OtherKeys {
    double bytes = 0;  // of one rank
    std::int64_t ranks = 1;
    bool ring = false;
  } keys_;

  /// Experts; rows are token copies, those of one rank or those that its experts work on.
  struct Experts {
    bool exchanges = false;                         // with other ranks
    bool shares_columns = false;                    // over expert-tensor ranks
    double choices = 0, index = 0, rows_index = 0;  // one number per choice, per copy that travels, per row
    double copies = 0, rows = 0, received = 0;      // h wide
    double gate_up = 0, activation = 0;
    double probabilities = 0, per_expert = 0, balance = 0, counts = 0, shared_counts = 0;
  } experts_;
};

}  // namespace hexaplan::costmodel
