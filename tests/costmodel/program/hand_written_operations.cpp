#include "tests/costmodel/program/hand_written_operations.h"

#include <cstddef>

#include "tests/costmodel/program/hand_written_builder.h"

namespace hexaplan::costmodel::program {
namespace {

class LayerOperations {
 public:
  LayerOperations(const Scenario& sc, const LocalDims& d, LayerClass kind, std::vector<Operation>& out)
      : sc_{sc}, d_{d}, kind_{kind}, build_{sc, d, out} {}

  void append() {
    norm("norm1");
    build_.enter_tensor_parallel("attention.enter_tp", static_cast<double>(sc_.framework.attention_entries));
    sc_.model.attention.kind == AttentionKind::Latent ? latent_projections() : grouped_projections();
    core();
    build_.gathered_gradient();
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
    build_.same_input();
    build_.linear("attention.kv_down", d_.tokens, d_.hidden, d_.kv_latent);
    build_.elementwise("attention.latent_norm", Elementwise::Norm,
                       static_cast<double>(d_.tokens * a.kv_lora_rank));
    build_.in_modules(kRecomputeMlaUpProjection);
    build_.linear("attention.kv_up", d_.tokens, a.kv_lora_rank, d_.heads * (a.qk_nope_dim + a.v_head_dim));
    const bool rotates = sc_.model.positions == PositionKind::Rotary;  // keys are laid out in any case
    build_.elementwise("attention.rope", Elementwise::Rope,
                       static_cast<double>(d_.tokens * (rotates ? 2 : 1) * d_.q));
    build_.in_modules(0);
  }

  /// Attention under context parallelism: ring of keys and values, gathered keys and values, or heads against
  /// sequence (Ulysses).
  void core() {
    const std::int64_t cp = sc_.layout.cp;
    const bool latent = sc_.model.attention.kind == AttentionKind::Latent;
    const auto kv = static_cast<double>(d_.tokens * (latent ? d_.q + d_.o : d_.k + d_.v));
    build_.in_modules(kRecomputeCoreAttention);  // what runs again needs the other ranks' keys again
    if (cp > 1 && sc_.layout.context == ContextKind::Ring) {
      ring("attention.ring", kv, cp);
    } else if (cp > 1 && sc_.layout.context == ContextKind::AllGather) {
      const double all = kv * static_cast<double>(cp);
      build_.collective("attention.gather_kv", CollectiveKind::AllGather, CollectiveKind::ReduceScatter,
                        Group::Context, all);
      build_.add_collective("attention.gather_kv", Pass::BackwardData, CollectiveKind::AllGather,
                            Group::Context, all);
    } else if (cp > 1) {
      build_.collective("attention.all_to_all", CollectiveKind::AllToAll, CollectiveKind::AllToAll,
                        Group::Context, static_cast<double>(d_.tokens * (d_.q + d_.o)) + kv);
    }
    build_.attention(kind_.windowed);
  }

  /// Forward, keys and values move c − 1 times. In backward they do so again and their gradients, one step
  /// behind, as often: c messages of which the first has no gradients and the last nothing else (Transformer
  /// Engine context_parallel.py, AttnFuncWithCPAndKVP2P).  [docs/formulas.md#C11]
  void ring(std::string_view name, double kv, std::int64_t cp) {
    const auto both = static_cast<double>(cp - 2);
    build_.add_collective(name, Pass::Forward, CollectiveKind::SendRecv, Group::Context, kv, both + 1);
    build_.add_collective(name, Pass::BackwardData, CollectiveKind::SendRecv, Group::Context, kv, 2);
    build_.add_collective(name, Pass::BackwardData, CollectiveKind::SendRecv, Group::Context, 2 * kv, both);
  }

  void activation(std::string_view name, std::int64_t elements) {
    build_.elementwise(name, Elementwise::Activation, static_cast<double>(elements));
  }

  /// Gate and up may bring in their input apart.
  [[nodiscard]] double mlp_entries() const {
    return sc_.model.mlp.gated ? static_cast<double>(sc_.framework.mlp_entries) : 1.0;
  }

  void mlp() {
    build_.in_modules(kRecomputeMlp);
    build_.enter_tensor_parallel("mlp.enter_tp", mlp_entries());
    build_.linear("mlp.up", d_.tokens, d_.hidden, d_.mlp_up);
    bias("mlp.up_bias", sc_.model.mlp.bias, d_.tokens * d_.mlp_up);
    build_.in_modules(kRecomputeMlp | kRecomputeActivation);
    activation("mlp.activation", d_.tokens * (d_.mlp_up + d_.mlp_act));
    build_.in_modules(kRecomputeMlp);
    build_.end_of_saved_tensors();
    build_.gathered_gradient();
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
    routing_counts();
    build_.elementwise("moe.permute", Elementwise::Permute, static_cast<double>(d_.sent_copies) * h);
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
    build_.elementwise("moe.unpermute", Elementwise::Permute, static_cast<double>(d_.sent_copies) * h);
    shared_experts();
    build_.in_modules(0);
  }

  /// Ranks that share a sequence add up how often its tokens chose each expert, for the balance loss; ranks
  /// that exchange tokens say how many each expert gets.  [docs/formulas.md#C12]
  void routing_counts() {
    if (!sc_.framework.counts_choices) return;
    const Layout& l = sc_.layout;
    const auto experts = static_cast<double>(d_.experts);
    const double of_sequences = experts * static_cast<double>(d_.micro_batch);
    if (l.sp) build_.integers("moe.balance", CollectiveKind::AllReduce, Group::Tensor, of_sequences);
    build_.integers("moe.balance", CollectiveKind::AllReduce, Group::Context, of_sequences);
    if (sc_.recipe.routing.pads()) return;  // as many as everybody knows
    build_.integers("moe.counts", CollectiveKind::AllGather, Group::Expert, experts * l.ep);
    build_.integers("moe.counts", CollectiveKind::AllGather, Group::ExpertTensor,
                    experts * l.expert_tensor());
  }

  void shared_experts() {
    if (d_.shared_act == 0) return;
    build_.in_modules(kRecomputeMoe | kRecomputeSharedExperts);
    build_.enter_tensor_parallel("moe.shared.enter_tp", mlp_entries());
    build_.linear("moe.shared.up", d_.tokens, d_.hidden, d_.shared_up);
    activation("moe.shared.activation", d_.tokens * (d_.shared_up + d_.shared_act));
    build_.end_of_saved_tensors();
    build_.gathered_gradient();
    build_.linear("moe.shared.down", d_.tokens, d_.shared_act, d_.hidden);
    build_.leave_tensor_parallel("moe.shared.leave_tp");
  }

  const Scenario& sc_;
  const LocalDims& d_;
  LayerClass kind_;
  OperationBuilder build_;
};

}  // namespace

std::vector<Operation> hand_written_layer(const Scenario& sc, LayerClass kind) {
  std::vector<Operation> out;
  const LocalDims d = local_dims(sc);
  LayerOperations{sc, d, kind, out}.append();
  // Frozen biases have no gradients.
  if (trains_adapters(sc.recipe))
    std::erase_if(out,
                  [](const Operation& op) { return op.pass != Pass::Forward && op.name.ends_with("bias"); });
  return out;
}

std::vector<Operation> hand_written_embedding(const Scenario& sc) {
  std::vector<Operation> out;
  const LocalDims d = local_dims(sc);
  OperationBuilder build{sc, d, out};
  build.keep_wide(true);
  build.elementwise("embedding.lookup", Elementwise::Embedding, static_cast<double>(d.tokens * d.hidden));
  build.leave_tensor_parallel("embedding.leave_tp");
  if (sc.model.embedding_norm) {
    build.elementwise("embedding.norm", Elementwise::Norm, static_cast<double>(d.sp_tokens * d.hidden));
  }
  for (Operation& op : out) op.recomputed = false;  // of no layer
  if (trains_adapters(sc.recipe))                   // nor has a frozen table
    std::erase_if(
        out, [](const Operation& op) { return op.pass != Pass::Forward && op.name == "embedding.lookup"; });
  return out;
}

namespace {

/// The maximum, the sum of exponentials and the target's logit of every token, in fp32; three messages
/// (Megatron-LM core/tensor_parallel/cross_entropy.py), or the two sums in one.
void append_loss_reduction(const Scenario& sc, const LocalDims& d, OperationBuilder& build) {
  const double fp32 = static_cast<double>(d.tokens) * bytes_per_element(DType::Fp32) /
                      bytes_per_element(activation_dtype(sc.recipe.precision));
  const auto reduce = [&](double numbers, double times) {
    build.add_collective("loss.reduce", Pass::Forward, CollectiveKind::AllReduce, Group::Tensor,
                         fp32 * numbers, times);
  };
  if (sc.framework.loss_reductions == 3) return reduce(1, 3);
  reduce(1, 1);
  reduce(2, 1);
}

}  // namespace

std::vector<Operation> hand_written_head(const Scenario& sc) {
  std::vector<Operation> out;
  const LocalDims d = local_dims(sc);
  OperationBuilder build{sc, d, out};
  build.keep_wide(true);
  build.elementwise("head.norm", sc.recipe.fused_norm ? Elementwise::Norm : Elementwise::UnfusedNorm,
                    static_cast<double>(d.sp_tokens * d.hidden));
  build.enter_tensor_parallel("head.enter_tp");
  build.linear("head.logits", d.tokens, d.hidden, d.vocab);
  const bool whole = sc.framework.whole_logits && sc.layout.tp > 1;
  build.elementwise("loss.cross_entropy",
                    fuses_cross_entropy(sc) ? Elementwise::FusedCrossEntropy : Elementwise::CrossEntropy,
                    static_cast<double>(d.tokens * d.vocab * (whole ? sc.layout.tp : 1)));
  if (!whole) append_loss_reduction(sc, d, build);
  if (whole) {
    build.add_collective("head.gather_logits", Pass::Forward, CollectiveKind::AllGather, Group::Tensor,
                         static_cast<double>(d.tokens * d.vocab * sc.layout.tp));
  }
  for (Operation& op : out) {
    op.recomputed = false;                                           // the head is never recomputed
    if (is_quantized(op.precision)) op.precision = Precision::Bf16;  // nor quantised
  }
  return out;
}

}  // namespace hexaplan::costmodel::program
