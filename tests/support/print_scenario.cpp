#include <fmt/format.h>

#include <ostream>

#include "tests/support/random_scenario.h"

namespace hexaplan::costmodel {
namespace {

std::string describe(const ModelSpec& m) {
  std::string text = fmt::format("model: layers {} hidden {} vocab {} heads {}/{} x {} ffn {}{}", m.layers,
                                 m.hidden, m.vocab, m.attention.heads, m.attention.kv_heads,
                                 m.attention.head_dim, m.mlp.ffn, m.mlp.gated ? " gated" : "");
  if (m.attention.kind == AttentionKind::Latent) {
    text += fmt::format(" mla q {} kv {}", m.attention.q_lora_rank, m.attention.kv_lora_rank);
  }
  if (m.attention.window > 0) {
    text += fmt::format(" window {} global every {}", m.attention.window, m.attention.global_period);
  }
  if (m.is_moe()) {
    text += fmt::format(" experts {} top {} x {} shared {} dense first {} period {}", m.moe.experts,
                        m.moe.top_k, m.moe.expert_ffn, m.moe.shared_ffn, m.moe.first_k_dense, m.moe.period);
  }
  return text + fmt::format(" tied {} norms {}", m.tied_embeddings, m.norms_per_layer);
}

std::string describe(const Recipe& r) {
  return fmt::format(
      "recipe: seq {} micro {} global {} precision {} optimizer {} recompute {} (layers {}, modules {:#x}) "
      "attention {} "
      "loss {} dropout {} fine-tune {} (rank {}, targets {})",
      r.sequence, r.micro_batch, r.global_batch, static_cast<int>(r.precision), static_cast<int>(r.optimizer),
      static_cast<int>(r.recompute.mode), r.recompute.layers, r.recompute.modules,
      static_cast<int>(r.attention), static_cast<int>(r.cross_entropy), r.dropout,
      static_cast<int>(r.fine_tune), r.lora_rank, static_cast<int>(r.lora_targets));
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const Layout& l) {
  return out << fmt::format(
             "dp{} tp{} cp{} pp{} vpp{} ep{} etp{}{} zero{} group{} schedule {} context {} split {}", l.dp,
             l.tp, l.cp, l.pp, l.vpp, l.ep, l.etp, l.sp ? " sp" : "", l.sharding.stage, l.sharding.group,
             static_cast<int>(l.schedule), static_cast<int>(l.context), static_cast<int>(l.split));
}

std::ostream& operator<<(std::ostream& out, const Scenario& s) {
  return out << describe(s.model) << '\n'
             << describe(s.recipe) << '\n'
             << "layout: " << s.layout << '\n'
             << fmt::format(
                    "cluster: {} GPUs of {:.0f} GB, {} per node; framework: parameters {} gradients {} "
                    "overlap {}",
                    s.cluster.gpus, s.cluster.gpu.memory.value() / 1e9, s.cluster.gpus_per_node,
                    static_cast<int>(s.framework.parameter_dtype),
                    static_cast<int>(s.framework.gradient_dtype),
                    static_cast<int>(s.framework.gradient_overlap));
}

std::ostream& operator<<(std::ostream& out, const Calibration& c) {
  return out << fmt::format("calibration: share {} k_half {} sustained {}", c.gemm[0].share, c.gemm[0].k_half,
                            c.sustained);
}

}  // namespace hexaplan::costmodel
