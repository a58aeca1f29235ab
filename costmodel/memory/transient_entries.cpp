#include <algorithm>

#include "costmodel/memory/layer_ledger.h"
#include "costmodel/memory/saved_tensors.h"

namespace hexaplan::costmodel {
namespace {

/// Live bytes while a layer's backward walks from its end to its start: `grow` when a buffer appears,
/// `shrink` when one is freed (a saved activation counts too: what backward has consumed makes room for what
/// it makes).
class Liveness {
 public:
  void grow(double bytes) {
    live_ += bytes;
    peak_ = std::max(peak_, live_);
  }
  void shrink(double bytes) { live_ -= bytes; }
  /// A buffer that comes and goes within one operation.
  void pulse(double bytes) { peak_ = std::max(peak_, live_ + bytes); }
  [[nodiscard]] double peak() const { return peak_; }

 private:
  double live_ = 0;
  double peak_ = 0;
};

double scores(const LocalDims& d) {
  return static_cast<double>(d.micro_batch * d.heads * d.local_sequence * d.sequence);
}

class LayerBackward {
 public:
  LayerBackward(const Scenario& sc, const LocalDims& d, LayerClass kind)
      : sc_{sc}, d_{d}, kind_{kind}, element_{bytes_per_element(activation_dtype(sc.recipe.precision))} {}

  /// Peak bytes above states and saved activations.
  double peak() {
    grow(d_.sp_tokens * d_.hidden);  // gradient of the layer's output
    gather_buffers();
    kind_.moe ? experts() : mlp(d_.mlp_up, d_.mlp_act, d_.tokens);
    attention();
    return live_.peak();
  }

 private:
  void grow(std::int64_t elements) { live_.grow(static_cast<double>(elements) * element_); }
  void shrink(std::int64_t elements) { live_.shrink(static_cast<double>(elements) * element_); }
  void weight_gradient(std::int64_t elements) {
    if (trains_adapters(sc_.recipe)) return;
    live_.pulse(static_cast<double>(elements) * sc_.framework.weight_gradient_temporary_bytes);
  }
  [[nodiscard]] bool saves(Saved tensor) const {
    const SavedRule rule = saved_rule(sc_, tensor);
    return rule.compute > 0 || rule.byte > 0 || rule.fp32 > 0;
  }

  void gather_buffers() {
    if (sc_.layout.sp)
      live_.grow(sc_.framework.sp_gather_buffers * static_cast<double>(d_.tokens * d_.hidden) * element_);
  }

  void mlp(std::int64_t up, std::int64_t act, std::int64_t tokens) {
    const std::int64_t h = d_.hidden;
    grow(tokens * act);        // gradient of the second matrix's input
    weight_gradient(act * h);  // its weight gradient
    if (saves(Saved::ActivationOutput)) shrink(tokens * act);
    grow(tokens * up);  // gradient through the activation function
    shrink(tokens * act);
    if (saves(Saved::GateUp)) shrink(tokens * up);
    weight_gradient(up * h);
    grow(tokens * h / (sc_.layout.sp ? sc_.layout.tp : 1));  // gradient of the block's input
    shrink(tokens * up);
  }

  void experts() {
    const std::int64_t t = d_.expert_tokens;
    grow(2 * t * d_.hidden);  // combine's backward: dispatched gradient, before and after the all-to-all
    grow(t * d_.expert_act);
    weight_gradient(d_.experts_local * d_.expert_act * d_.hidden);
    grow(t * d_.expert_up);
    shrink(t * d_.expert_act);
    weight_gradient(d_.experts_local * d_.expert_up * d_.hidden);
    shrink(t * d_.hidden);
    grow(t * d_.hidden);
    shrink(t * d_.expert_up);
    shrink(2 * t * d_.hidden);
    if (d_.shared_act > 0) mlp(d_.shared_up, d_.shared_act, d_.tokens);
  }

  void attention() {
    const bool latent = sc_.model.attention.kind == AttentionKind::Latent;
    const std::int64_t k = latent ? d_.q : d_.k;
    const std::int64_t v = latent ? d_.o : d_.v;
    grow(d_.tokens * d_.o);  // gradient of the attention output
    weight_gradient(d_.o * d_.hidden);
    if (sc_.recipe.attention == AttentionKernel::Flash) {
      // fp32 accumulator of dQ and delta (cuDNN 9 and FlashAttention-2 both keep them)
      live_.pulse(static_cast<double>(d_.tokens * (d_.q + d_.k + d_.v)) * element_ +
                  4.0 * static_cast<double>(d_.tokens * (d_.q + d_.heads)));
    } else {
      // The gradient before and after the softmax, in the type that it was computed in.
      const bool wide = saved_rule(sc_, Saved::Scores).fp32 > 0;
      live_.pulse(2 * scores(d_) * (wide ? bytes_per_element(DType::Fp32) : element_));
    }
    grow(d_.tokens * (d_.q + k + v));
    weight_gradient((d_.q + d_.k + d_.v) * d_.hidden);
  }

  const Scenario& sc_;
  const LocalDims& d_;
  LayerClass kind_;
  double element_;
  Liveness live_;
};

/// Largest working set of a layer's forward: MLP in and out of the activation, or dispatch buffers.
double forward_working_set(const Scenario& sc, const LocalDims& d, LayerClass kind) {
  const double element = bytes_per_element(activation_dtype(sc.recipe.precision));
  const double stream = static_cast<double>(2 * d.sp_tokens * d.hidden);
  const double gathered =
      sc.layout.sp ? sc.framework.sp_gather_buffers * static_cast<double>(d.tokens * d.hidden) : 0.0;
  const double dispatch = kind.moe ? static_cast<double>(2 * d.expert_tokens * d.hidden) : 0.0;
  // A softmax that casts its operand has it in both types.
  const bool widened =
      sc.recipe.attention != AttentionKernel::Flash && saved_rule(sc, Saved::Scores).fp32 > 0;
  return (stream + gathered + dispatch + (widened ? scores(d) : 0.0)) * element;
}

TensorEntry working_set(std::string_view name, double bytes, std::uint8_t alive, LayerClass kind) {
  return {.name = name,
          .formula = "M4",
          .kind = TensorKind::Transient,
          .dtype = DType::Int8,
          .alive = alive,
          .layer_class = static_cast<std::int8_t>(index_of(kind)),
          .elements = bytes};
}

}  // namespace

void append_layer_transients(const Scenario& sc, const LocalDims& d, LayerClass kind, bool recomputed,
                             TensorLedger& out) {
  out.push_back(working_set("forward.working_set", forward_working_set(sc, d, kind), kForward, kind));
  out.push_back(working_set("backward.working_set", LayerBackward{sc, d, kind}.peak(), kBackward, kind));
  if (recomputed) {
    TensorLedger again;
    append_saved_entries(sc, d, kind, 1, again);
    out.push_back(working_set("backward.recomputed_layer", sum_alive(again, kBackward).activations.value(),
                              kBackward, kind));
  }
  if (sc.layout.cp > 1 && sc.layout.context == ContextKind::Ring) {
    // Two buffers of keys and values in flight, and their gradients (fp32 in backward).
    const auto kv = static_cast<double>(d.tokens * (d.k + d.v));
    out.push_back(working_set("attention.ring_buffers", 2 * 2 * kv, kForward, kind));
    out.push_back(working_set("attention.ring_buffers", 2 * (2 + 4) * kv, kBackward, kind));
  }
}

}  // namespace hexaplan::costmodel
