#include "costmodel/compute/transformer_operations.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace hexaplan::costmodel {
namespace {

std::int64_t alignment_of(std::int64_t a, std::int64_t b) {
  return std::gcd(std::gcd(a, b), std::int64_t{8});
}

/// Emits forward and backward of each step of a layer in one place, so that they cannot drift apart.
class OperationBuilder {
 public:
  OperationBuilder(const Scenario& sc, const LocalDims& d, std::vector<Operation>& out)
      : sc_{sc},
        d_{d},
        out_{out},
        element_{bits_per_element(activation_dtype(sc.recipe.precision)) / 8.0},
        trains_weights_{!trains_adapters(sc.recipe)},
        quantizes_{is_quantized(sc.recipe.precision)} {}

  /// Steps that follow run again in backward when the recipe recomputes one of `modules`.
  void in_modules(std::uint16_t modules) { modules_ = modules; }
  /// Linear layers that follow are not quantised (output layer, router).
  void keep_wide(bool wide) { quantizes_ = !wide && is_quantized(sc_.recipe.precision); }
  /// Nothing that follows runs again where the framework ends a full recompute early.
  void end_of_saved_tensors() { past_saved_tensors_ = sc_.framework.recompute_stops_early; }

  void linear(std::string_view name, std::int64_t tokens, std::int64_t inputs, std::int64_t outputs) {
    quantize(tokens, inputs, outputs, 1);
    gemms(name, OpKind::Gemm, {tokens, outputs, inputs, 1});
  }
  void grouped(std::string_view name, std::int64_t tokens, std::int64_t experts, std::int64_t inputs,
               std::int64_t outputs) {
    if (tokens <= 0 || experts <= 0) return;
    quantize(tokens, inputs, outputs, experts);
    gemms(name, OpKind::GroupedGemm, {std::max<std::int64_t>(1, tokens / experts), outputs, inputs, experts});
  }

  void elementwise(std::string_view name, Elementwise step, double elements) {
    const ElementwiseRule& rule = sc_.framework.elementwise[static_cast<std::size_t>(step)];
    Operation op{
        .name = name, .kind = OpKind::MemoryBound, .precision = sc_.recipe.precision, .formula = "T3"};
    op.bytes = Bytes{elements * element_ * rule.forward_passes};
    op.kernels = rule.forward_kernels;
    op.rerun = reruns(0);
    if (op.bytes.value() > 0) out_.push_back(op);
    op.pass = Pass::BackwardData;
    op.rerun = false;
    op.bytes = Bytes{elements * element_ * rule.backward_passes};
    op.kernels = rule.backward_kernels;
    if (op.bytes.value() > 0) out_.push_back(op);
  }

  /// A collective of the forward pass and the one that answers it in backward.
  void collective(std::string_view name, CollectiveKind forward, CollectiveKind backward, Group group,
                  double elements, double count = 1) {
    add_collective(name, Pass::Forward, forward, group, elements, count);
    add_collective(name, Pass::BackwardData, backward, group, elements, count);
  }
  void add_collective(std::string_view name, Pass pass, CollectiveKind kind, Group group, double elements,
                      double count = 1) {
    if (group_size(sc_.layout, group) <= 1 || elements <= 0) return;
    Operation op{.name = name, .kind = OpKind::Collective, .pass = pass, .formula = "C1"};
    op.rerun = pass == Pass::Forward && reruns(0);
    op.kernels = 1;
    op.count = count;
    op.collective = kind;
    op.group = group;
    op.payload = Bytes{elements * element_};
    out_.push_back(op);
  }

  /// Token copies to the ranks of their experts, or back; the opposite way in backward.
  void exchange_tokens(std::string_view name, double elements) {
    const std::size_t first = out_.size();
    collective(name, CollectiveKind::AllToAll, CollectiveKind::AllToAll, Group::Expert, elements);
    for (std::size_t i = first; i < out_.size(); ++i) out_[i].copies = static_cast<double>(d_.top_k);
  }

  /// All-gather of a sequence-parallel input before a column-parallel linear layer. Backward gathers the
  /// input once more for the weight gradient (unless kept) and scatters the input's gradient
  /// (arXiv:2205.05198 §4.2.2).
  void enter_tensor_parallel(std::string_view name) {
    const auto stream = static_cast<double>(d_.tokens * d_.hidden);
    if (!sc_.layout.sp) {
      add_collective(name, Pass::BackwardData, CollectiveKind::AllReduce, Group::Tensor, stream);
      return;
    }
    collective(name, CollectiveKind::AllGather, CollectiveKind::ReduceScatter, Group::Tensor, stream);
    if (!sc_.framework.gather_saved_inputs && trains_weights_) {
      add_collective(name, Pass::BackwardWeight, CollectiveKind::AllGather, Group::Tensor, stream);
    }
  }
  void leave_tensor_parallel(std::string_view name) {
    const auto stream = static_cast<double>(d_.tokens * d_.hidden);
    if (sc_.layout.sp) {
      collective(name, CollectiveKind::ReduceScatter, CollectiveKind::AllGather, Group::Tensor, stream);
    } else {
      add_collective(name, Pass::Forward, CollectiveKind::AllReduce, Group::Tensor, stream);
    }
  }

  void attention(bool windowed) {
    in_modules(kRecomputeCoreAttention);
    sc_.recipe.attention == AttentionKernel::Flash ? flash(windowed) : stored_scores();
    in_modules(0);
  }

 private:
  [[nodiscard]] bool reruns(double operator_policy_threshold) const {
    const Recompute& recompute = sc_.recipe.recompute;
    switch (recompute.mode) {
      case RecomputeMode::Full:
      case RecomputeMode::Layers:
        return !past_saved_tensors_;
      case RecomputeMode::Selective:
        return (modules_ & kRecomputeCoreAttention) != 0;
      case RecomputeMode::SelectiveModules:
        return (modules_ & recompute.modules) != 0;
      case RecomputeMode::SelectiveOperators:
        return operator_policy_threshold <= 0;
      case RecomputeMode::None:
        break;
    }
    return false;
  }

  /// Casts for an fp8 or fp4 linear layer: its input, in backward its output's gradient, and its weight: read
  /// in 16 bits, written as it is and transposed; once per step, or whenever FSDP has gathered it.
  void quantize(std::int64_t tokens, std::int64_t inputs, std::int64_t outputs, std::int64_t experts) {
    if (!quantizes_) return;
    const ElementwiseRule& rule = sc_.framework.elementwise[static_cast<std::size_t>(Elementwise::Cast)];
    Operation op{
        .name = "quantize", .kind = OpKind::MemoryBound, .precision = sc_.recipe.precision, .formula = "T3"};
    op.bytes = Bytes{static_cast<double>(tokens * inputs) * element_ * rule.forward_passes};
    op.kernels = rule.forward_kernels;
    op.rerun = reruns(0);
    if (op.bytes.value() > 0) out_.push_back(op);
    op.rerun = false;
    op.pass = Pass::BackwardData;
    op.bytes = Bytes{static_cast<double>(tokens * outputs) * element_ * rule.backward_passes};
    op.kernels = rule.backward_kernels;
    if (op.bytes.value() > 0) out_.push_back(op);
    const std::int64_t microbatches = sc_.recipe.global_batch / (sc_.recipe.micro_batch * sc_.layout.dp);
    op.name = "quantize.weight";
    op.pass = Pass::Forward;
    op.kernels = 1;
    op.count = sc_.layout.sharding.stage >= 3
                   ? 1.0
                   : 1.0 / static_cast<double>(std::max<std::int64_t>(1, microbatches));
    op.bytes = Bytes{static_cast<double>(inputs * outputs * experts) * (2 + 2 * 1)};
    out_.push_back(op);
  }

  void gemms(std::string_view name, OpKind kind, GemmShape shape) {
    Operation op{
        .name = name, .kind = kind, .precision = sc_.recipe.precision, .gemm = shape, .formula = "T1"};
    op.gemm.alignment = alignment_of(shape.n, shape.k);
    op.flops = shape.flops();
    op.kernels = sc_.framework.gemm_kernels_forward;
    op.rerun = reruns(1) || reruns_as_matmul();
    out_.push_back(op);
    op.rerun = false;
    op.pass = Pass::BackwardData;
    op.gemm = {shape.m, shape.k, shape.n, shape.batch, 0, op.gemm.alignment};
    out_.push_back(op);
    if (!trains_weights_) return;
    op.pass = Pass::BackwardWeight;
    op.gemm = {shape.n, shape.k, shape.m, shape.batch, 0, op.gemm.alignment};
    // Sharded parameters: the gradient goes into the reduce buffer and is added to a shard only.
    const bool adds = sc_.layout.sharding.stage < (sc_.framework.zero2_gathers_layers ? 2 : 3);
    const bool apart = sc_.framework.weight_gradient_temporary_bytes > 0;
    if (adds && !apart) op.gemm.accumulate_bytes = 2 * main_gradient_bytes();
    out_.push_back(op);
    if (adds && apart) accumulate_gradient(shape);
  }

  /// torchtitan's per-operator policy recomputes every second matmul.
  bool reruns_as_matmul() {
    if (sc_.recipe.recompute.mode != RecomputeMode::SelectiveOperators) return false;
    matmul_parity_ = !matmul_parity_;
    return !matmul_parity_;
  }

  /// Weight gradient made in a buffer of its own, then added to the main gradient: read it, read and write
  /// the main one.
  void accumulate_gradient(const GemmShape& shape) {
    Operation op{.name = "gradient.accumulate",
                 .kind = OpKind::MemoryBound,
                 .pass = Pass::BackwardWeight,
                 .formula = "T3"};
    op.bytes = Bytes{static_cast<double>(shape.n * shape.k * shape.batch) *
                     (sc_.framework.weight_gradient_temporary_bytes + 2 * main_gradient_bytes())};
    out_.push_back(op);
  }

  [[nodiscard]] double main_gradient_bytes() const {
    return bits_per_element(sc_.recipe.gradient_dtype.value_or(sc_.framework.gradient_dtype)) / 8.0;
  }

  void flash(bool windowed) {
    Operation op{.name = "attention.core",
                 .kind = OpKind::Attention,
                 .precision = sc_.recipe.precision,
                 .formula = "T2"};
    // A ring attends to one rank's keys at a time.
    const bool ring = sc_.layout.cp > 1 && sc_.layout.context == ContextKind::Ring;
    const std::int64_t pieces = ring ? sc_.layout.cp : 1;
    const auto share = static_cast<double>(pieces);
    AttentionShape& shape = op.attention;
    op.count = share;
    shape = {.batch = d_.micro_batch,
             .heads = d_.heads,
             .kv_heads = d_.kv_heads,
             .seq_q = d_.local_sequence,
             .seq_kv = d_.sequence / pieces,
             .head_dim = sc_.model.attention.head_dim,
             .v_head_dim = sc_.model.attention.v_head_dim,
             .window = windowed ? sc_.model.attention.window : 0,
             .causal = true,
             .dropout = sc_.recipe.dropout > 0,
             .pairs = (windowed ? d_.windowed_pairs : d_.attention_pairs) / share,
             .library = sc_.framework.attention_library};
    op.flops = Flops{2.0 * share * shape.pairs * static_cast<double>(shape.heads * shape.batch) *
                     static_cast<double>(shape.head_dim + shape.v_head_dim)};
    op.rerun = reruns(1);
    out_.push_back(op);
    op.pass = Pass::BackwardData;
    op.rerun = false;
    op.flops = op.flops * 2.5;
    op.kernels = 3;
    out_.push_back(op);
    if (ring) merge_ring_pieces(share - 1);
  }

  /// Each further piece of a ring is added to the output in fp32 by the two log-sum-exps, and its gradients
  /// to those of queries, keys and values: read the piece, read and write the sum (Transformer Engine
  /// context_parallel.py, flash_attn_fwd_out_correction).
  void merge_ring_pieces(double merges) {
    Operation op{.name = "attention.merge", .kind = OpKind::MemoryBound, .count = merges, .formula = "T3"};
    const double bytes = element_ + 8;
    op.bytes = Bytes{static_cast<double>(d_.tokens * d_.o) * bytes};
    op.rerun = reruns(1);
    out_.push_back(op);
    op.pass = Pass::BackwardData;
    op.rerun = false;
    op.bytes = Bytes{static_cast<double>(d_.tokens * (d_.q + d_.k + d_.v)) * bytes};
    out_.push_back(op);
  }

  void stored_scores() {
    const std::int64_t batch = d_.micro_batch * d_.heads;
    const auto elements = static_cast<double>(batch * d_.local_sequence * d_.sequence);
    score_gemms("attention.scores", {d_.local_sequence, d_.sequence, sc_.model.attention.head_dim, batch});
    // Scaling, masking and softmax one by one, on Perlmutter's A100 (DebarghaG/estimate-train-time@1ac4d5e):
    // 10 passes forward and 24 backward, where the fused kernel has 2 and 3.
    constexpr double kUnfusedOverFused = 5;
    const double kernels = sc_.recipe.attention == AttentionKernel::Unfused ? kUnfusedOverFused : 1.0;
    elementwise("attention.softmax", Elementwise::Softmax, elements * kernels);
    if (sc_.recipe.dropout > 0) elementwise("attention.dropout", Elementwise::ScoreDropout, elements);
    score_gemms("attention.values", {d_.local_sequence, sc_.model.attention.v_head_dim, d_.sequence, batch});
  }

  void score_gemms(std::string_view name, GemmShape shape) {
    Operation op{.name = name,
                 .kind = OpKind::Gemm,
                 .precision = sc_.recipe.precision,
                 .gemm = shape,
                 .formula = "T1"};
    if (is_quantized(op.precision)) op.precision = Precision::Bf16;
    op.gemm.alignment = alignment_of(shape.n, shape.k);
    op.flops = shape.flops();
    op.rerun = reruns(1);
    out_.push_back(op);
    op.rerun = false;
    op.pass = Pass::BackwardData;
    out_.push_back(op);
    out_.push_back(op);  // gradients of both operands
  }

  const Scenario& sc_;
  const LocalDims& d_;
  std::vector<Operation>& out_;
  double element_;
  bool trains_weights_;
  bool matmul_parity_ = false;
  bool past_saved_tensors_ = false;
  bool quantizes_;
  std::uint16_t modules_ = 0;
};

class LayerOperations {
 public:
  LayerOperations(const Scenario& sc, const LocalDims& d, LayerClass kind, std::vector<Operation>& out)
      : sc_{sc}, d_{d}, kind_{kind}, build_{sc, d, out} {}

  void append() {
    norm("norm1");
    build_.enter_tensor_parallel("attention.enter_tp");
    sc_.model.attention.kind == AttentionKind::Latent ? latent_projections() : grouped_projections();
    core();
    build_.linear("attention.output", d_.tokens, d_.o, d_.hidden);
    bias("attention.output_bias", sc_.model.attention.output_bias, d_.tokens * d_.hidden);
    build_.leave_tensor_parallel("attention.leave_tp");
    residual("attention.residual");
    if (sc_.model.norms_per_layer >= 2) norm("norm2");
    kind_.moe ? experts() : mlp();
    residual("mlp.residual");
    for (int extra = 2; extra < sc_.model.norms_per_layer; ++extra) norm("post_norm");
  }

 private:
  void norm(std::string_view name) {
    build_.in_modules(kRecomputeNorm);
    build_.elementwise(name, sc_.recipe.fused_norm ? Elementwise::Norm : Elementwise::UnfusedNorm,
                       static_cast<double>(d_.sp_tokens * d_.hidden));
    build_.in_modules(0);
  }
  void residual(std::string_view name) {
    build_.elementwise(name, Elementwise::ResidualAdd, static_cast<double>(d_.sp_tokens * d_.hidden));
  }
  void bias(std::string_view name, bool present, std::int64_t elements) {
    if (present) build_.elementwise(name, Elementwise::BiasAdd, static_cast<double>(elements));
  }

  void grouped_projections() {
    const std::int64_t qk = d_.q + d_.k;
    build_.linear("attention.qkv", d_.tokens, d_.hidden, qk + d_.v);
    bias("attention.qkv_bias", sc_.model.attention.qkv_bias, d_.tokens * (qk + d_.v));
    if (sc_.model.attention.qk_norm) {
      build_.elementwise("attention.qk_norm", Elementwise::QkNorm, static_cast<double>(d_.tokens * qk));
    }
    if (sc_.model.positions == PositionKind::Rotary) {
      build_.elementwise("attention.rope", Elementwise::Rope, static_cast<double>(d_.tokens * qk));
    }
    if (d_.heads > d_.kv_heads) {
      build_.elementwise("attention.repeat_kv", Elementwise::RepeatKeyValue,
                         static_cast<double>(d_.tokens * (d_.q + d_.o)));
    }
  }

  void latent_projections() {
    const AttentionSpec& a = sc_.model.attention;
    if (a.q_lora_rank > 0) {
      build_.linear("attention.q_down", d_.tokens, d_.hidden, a.q_lora_rank);
      build_.elementwise("attention.latent_norm", Elementwise::Norm,
                         static_cast<double>(d_.tokens * a.q_lora_rank));
      build_.in_modules(kRecomputeMlaUpProjection);
      build_.linear("attention.q_up", d_.tokens, a.q_lora_rank, d_.q);
    } else {
      build_.linear("attention.q", d_.tokens, d_.hidden, d_.q);
    }
    build_.in_modules(0);
    build_.linear("attention.kv_down", d_.tokens, d_.hidden, d_.kv_latent);
    build_.elementwise("attention.latent_norm", Elementwise::Norm,
                       static_cast<double>(d_.tokens * a.kv_lora_rank));
    build_.in_modules(kRecomputeMlaUpProjection);
    build_.linear("attention.kv_up", d_.tokens, a.kv_lora_rank, d_.heads * (a.qk_nope_dim + a.v_head_dim));
    build_.elementwise("attention.rope", Elementwise::Rope, static_cast<double>(d_.tokens * 2 * d_.q));
    build_.in_modules(0);
  }

  /// Attention under context parallelism: ring of keys and values, gathered keys and values, or heads against
  /// sequence (Ulysses).
  void core() {
    const std::int64_t cp = sc_.layout.cp;
    const bool latent = sc_.model.attention.kind == AttentionKind::Latent;
    const auto kv = static_cast<double>(d_.tokens * (latent ? d_.q + d_.o : d_.k + d_.v));
    if (cp > 1 && sc_.layout.context == ContextKind::Ring) {
      const auto steps = static_cast<double>(cp - 1);
      build_.add_collective("attention.ring", Pass::Forward, CollectiveKind::SendRecv, Group::Context, kv,
                            steps);
      build_.add_collective("attention.ring", Pass::BackwardData, CollectiveKind::SendRecv, Group::Context,
                            2 * kv, steps);
    } else if (cp > 1 && sc_.layout.context == ContextKind::AllGather) {
      build_.collective("attention.gather_kv", CollectiveKind::AllGather, CollectiveKind::ReduceScatter,
                        Group::Context, kv * static_cast<double>(cp));
    } else if (cp > 1) {
      build_.collective("attention.all_to_all", CollectiveKind::AllToAll, CollectiveKind::AllToAll,
                        Group::Context, static_cast<double>(d_.tokens * (d_.q + d_.o)) + kv);
    }
    build_.attention(kind_.windowed);
  }

  void activation(std::string_view name, std::int64_t elements) {
    build_.elementwise(name, Elementwise::Activation, static_cast<double>(elements));
  }

  void mlp() {
    build_.in_modules(kRecomputeMlp);
    build_.enter_tensor_parallel("mlp.enter_tp");
    build_.linear("mlp.up", d_.tokens, d_.hidden, d_.mlp_up);
    bias("mlp.up_bias", sc_.model.mlp.bias, d_.tokens * d_.mlp_up);
    build_.in_modules(kRecomputeMlp | kRecomputeActivation);
    activation("mlp.activation", d_.tokens * (d_.mlp_up + d_.mlp_act));
    build_.in_modules(kRecomputeMlp);
    build_.end_of_saved_tensors();
    build_.linear("mlp.down", d_.tokens, d_.mlp_act, d_.hidden);
    build_.leave_tensor_parallel("mlp.leave_tp");
    build_.in_modules(0);
  }

  void experts() {
    const auto routed = static_cast<double>(d_.router_tokens);
    const auto copies = static_cast<double>(d_.expert_tokens);
    const auto h = static_cast<double>(d_.hidden);
    build_.in_modules(kRecomputeMoe);
    build_.keep_wide(true);
    build_.linear("moe.router", d_.router_tokens, d_.hidden, d_.experts);
    build_.keep_wide(false);
    build_.elementwise("moe.route", Elementwise::Router, routed * static_cast<double>(d_.experts));
    build_.elementwise("moe.permute", Elementwise::Permute, routed * static_cast<double>(d_.top_k) * h);
    const double sent = copies / sc_.layout.expert_tensor() * h;
    build_.exchange_tokens("moe.dispatch", sent);
    build_.collective("moe.gather_tp", CollectiveKind::AllGather, CollectiveKind::ReduceScatter,
                      Group::ExpertTensor, copies * h);
    build_.grouped("moe.expert.up", d_.expert_tokens, d_.experts_local, d_.hidden, d_.expert_up);
    build_.in_modules(kRecomputeMoe | kRecomputeMoeActivation);
    activation("moe.expert.activation", d_.expert_tokens * (d_.expert_up + d_.expert_act));
    build_.in_modules(kRecomputeMoe);
    build_.grouped("moe.expert.down", d_.expert_tokens, d_.experts_local, d_.expert_act, d_.hidden);
    build_.collective("moe.scatter_tp", CollectiveKind::ReduceScatter, CollectiveKind::AllGather,
                      Group::ExpertTensor, copies * h);
    build_.exchange_tokens("moe.combine", sent);
    build_.elementwise("moe.unpermute", Elementwise::Permute, routed * static_cast<double>(d_.top_k) * h);
    shared_experts();
    build_.in_modules(0);
  }

  void shared_experts() {
    if (d_.shared_act == 0) return;
    build_.in_modules(kRecomputeMoe | kRecomputeSharedExperts);
    build_.enter_tensor_parallel("moe.shared.enter_tp");
    build_.linear("moe.shared.up", d_.tokens, d_.hidden, d_.shared_up);
    activation("moe.shared.activation", d_.tokens * (d_.shared_up + d_.shared_act));
    build_.linear("moe.shared.down", d_.tokens, d_.shared_act, d_.hidden);
    build_.leave_tensor_parallel("moe.shared.leave_tp");
  }

  const Scenario& sc_;
  const LocalDims& d_;
  LayerClass kind_;
  OperationBuilder build_;
};

}  // namespace

void append_layer_operations(const Scenario& sc, const LocalDims& d, LayerClass kind,
                             std::vector<Operation>& out) {
  LayerOperations{sc, d, kind, out}.append();
}

void append_embedding_operations(const Scenario& sc, const LocalDims& d, std::vector<Operation>& out) {
  OperationBuilder build{sc, d, out};
  build.elementwise("embedding.lookup", Elementwise::Embedding, static_cast<double>(d.tokens * d.hidden));
  build.leave_tensor_parallel("embedding.leave_tp");
  if (sc.model.embedding_norm) {
    build.elementwise("embedding.norm", Elementwise::Norm, static_cast<double>(d.sp_tokens * d.hidden));
  }
}

void append_head_operations(const Scenario& sc, const LocalDims& d, std::vector<Operation>& out) {
  const std::size_t first = out.size();
  OperationBuilder build{sc, d, out};
  build.keep_wide(true);
  build.elementwise("head.norm", sc.recipe.fused_norm ? Elementwise::Norm : Elementwise::UnfusedNorm,
                    static_cast<double>(d.sp_tokens * d.hidden));
  build.enter_tensor_parallel("head.enter_tp");
  build.linear("head.logits", d.tokens, d.hidden, d.vocab);
  build.elementwise("loss.cross_entropy",
                    fuses_cross_entropy(sc) ? Elementwise::FusedCrossEntropy : Elementwise::CrossEntropy,
                    static_cast<double>(d.tokens * d.vocab));
  build.add_collective("loss.reduce", Pass::Forward, CollectiveKind::AllReduce, Group::Tensor,
                       static_cast<double>(d.tokens) * 2, 3);
  for (std::size_t i = first; i < out.size(); ++i) {
    out[i].rerun = false;                                                    // the head is never recomputed
    if (is_quantized(out[i].precision)) out[i].precision = Precision::Bf16;  // nor quantised
  }
}

}  // namespace hexaplan::costmodel
