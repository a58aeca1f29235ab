#include "costmodel/program/sizes.h"

#include "costmodel/memory/layer_ledger.h"
#include "costmodel/spec/scan_flops.h"
#include "costmodel/units/ceil_div.h"
#include "costmodel/units/mutation.h"

namespace hexaplan::costmodel::program {
namespace {

struct Filler {
  Sizes& sizes;
  void operator()(Rows symbol, std::int64_t n) const {
    sizes.rows[position(symbol)] = static_cast<double>(n);
  }
  void operator()(Rows symbol, double n) const { sizes.rows[position(symbol)] = n; }
  void operator()(Width symbol, std::int64_t n) const {
    sizes.width[position(symbol)] = static_cast<double>(n);
  }
};

void fill_attention(const Filler& set, const Scenario& sc, const LocalDims& d) {
  const AttentionSpec& a = sc.model.attention;
  const bool latent = a.kind == AttentionKind::Latent;
  const std::int64_t key_value = latent ? d.q + d.o : d.k + d.v;
  set(Width::QueryKeyValue, d.q + d.k + d.v);
  set(Width::QueryGateKeyValue, d.q + d.o + d.k + d.v);
  set(Width::QueryKey, d.q + d.k);
  // Of what adapters change: the queries' matrix makes their gates as well.
  set(Width::QueryValue, (a.output_gate ? d.q + d.o : d.q) + d.v);
  set(Width::Query, d.q);
  set(Width::KeyValue, key_value);
  set(Width::KeyValueTwice, 2 * key_value);
  set(Width::Key, d.k);
  set(Width::Value, d.v);
  set(Width::RepeatedKeyValue, d.q + d.o);
  set(Width::Sequence, d.sequence);
  set(Width::Scores, d.heads * d.sequence);
  set(Width::Attended, d.o);
  set(Width::Heads, d.heads);
  set(Width::NormedHeads, d.heads + d.kv_heads);
  set(Width::QueryLatent, d.q_latent);
  set(Width::KeyValueLatent, d.kv_latent);
  set(Width::KeyValueNormed, d.kv_latent_normed);
  set(Width::KeyValueUp, d.heads * (a.qk_nope_dim + a.v_head_dim));
}

void fill_recurrence(const Filler& set, const Scenario& sc, const LocalDims& d) {
  const RecurrentSpec& r = sc.model.recurrent;
  // Heads are exchanged for tokens: a rank has all of a sequence for its share of them.
  set(Rows::Chunks, d.chunks);
  set(Width::StateProjected, d.state_projected);
  set(Width::StateExchanged, d.state_exchanged);
  set(Width::StateMixed, d.state_mixed);
  set(Width::StateValues, d.state_values);
  set(Width::StateHeads, d.state_heads);
  set(Width::StateHeads2, 2 * d.state_heads);
  set(Width::StateGroups, d.state_groups);
  set(Width::StateGroups2, 2 * d.state_groups);
  set(Width::StateKeys2, 2 * d.state_keys);
  set(Width::StateOperands, 2 * d.state_heads * r.state + d.state_values);
  const bool both = r.kind == RecurrentKind::KimiDelta;  // keys with their decays forward and back
  set(Width::StateDeltaWorkspace, (both ? 2 : 1) * d.state_heads * r.state + 2 * d.state_values);
  set(Width::StateIntra, d.state_heads * r.chunk);
  set(Width::StateGroupIntra, d.state_groups * r.chunk);
  set(Width::StateSize, d.state_values * r.state / sc.layout.cp);
  set(Width::StateKernel, r.kernel);
  set(Width::StateRank, r.rank);
  set(Width::StateSelected, r.rank + 2 * d.state_keys);
  set(Width::StateThree, 3);
  set(Width::StateRows, d.state_heads * r.state);
}

void fill_mixture(const Filler& set, const Scenario& sc, const LocalDims& d) {
  const Layout& l = sc.layout;
  set(Rows::Copies, d.router_tokens * d.top_k);
  set(Rows::Sent, mutant("dropped-copies-travel") ? d.router_tokens * d.top_k : d.sent_copies);
  set(Rows::Received, static_cast<double>(d.expert_tokens) /
                          (mutant("received-rows-are-those-of-all-columns") ? 1 : l.expert_tensor()));
  set(Rows::Exchanged, d.expert_tokens);
  set(Rows::ExpertRows, d.expert_tokens);
  set(Rows::LocalExperts, d.experts_local);
  set(Width::Experts, d.experts);
  set(Width::ExpertGateUp, d.expert_up);
  set(Width::ExpertActivation, d.expert_act);
  set(Width::SharedGateUp, d.shared_up);
  set(Width::SharedActivation, d.shared_act);
  set(Width::SequenceCounts, d.micro_batch * d.experts);
  set(Width::ExchangedCounts, d.experts * l.ep);
  set(Width::SharedCounts, d.experts * l.expert_tensor());
  set(Width::BalanceLoss, (mutant("balance-loss-takes-one-row") ? 4 : 3) * d.experts);
}

/// Of the loss as a whole where it is not cut.
void fill_loss_chunks(const Filler& set, const Scenario& sc, const LocalDims& d) {
  const bool chunked = sc.recipe.cross_entropy == CrossEntropy::Chunked;
  const LossChunks chunks = chunked ? loss_chunks(sc, d) : LossChunks{1, d.tokens};
  set(Rows::LossChunk, chunks.rows);
  set(Rows::LossShare, static_cast<double>(d.tokens) / static_cast<double>(chunks.count));
}

}  // namespace

Sizes sizes_of(const Scenario& sc, const LocalDims& d) {
  Sizes sizes;
  const Filler set{sizes};
  set(Rows::One, std::int64_t{1});
  set(Rows::Tokens, d.tokens);
  set(Rows::Hidden, d.sp_tokens);
  set(Rows::Context, d.tokens * sc.layout.cp);
  set(Rows::TensorRanks, std::int64_t{sc.layout.tp});
  fill_loss_chunks(set, sc, d);
  set(Width::One, 1);
  set(Width::Two, 2);
  set(Width::Hidden, d.hidden);
  set(Width::HiddenShare, ceil_div(d.hidden, sc.layout.tp));
  set(Width::GateUp, d.mlp_up);
  set(Width::Activation, d.mlp_act);
  set(Width::AdapterRank, adapter_rank(sc));
  set(Width::AdapterRanks2, 2 * adapter_rank(sc));
  set(Width::AdapterRanks3, 3 * adapter_rank(sc));
  set(Width::Vocab, d.vocab);
  set(Width::Positions, sc.model.max_positions);
  fill_attention(set, sc, d);
  fill_recurrence(set, sc, d);
  fill_mixture(set, sc, d);
  sizes.activation_bytes = bytes_per_element(activation_dtype(sc.recipe.precision));
  sizes.quantised_bytes = sc.framework.quantized_input_bytes;
  // 2·(d_qk + d_v) FLOPs per pair that the mask keeps.  [docs/formulas.md#T2]
  const AttentionSpec& a = sc.model.attention;
  const double per_pair =
      2.0 * static_cast<double>(d.heads * d.micro_batch) * static_cast<double>(a.head_dim + a.v_head_dim);
  sizes.attention_flops = per_pair * d.attention_pairs * (mutant("attention-pairs-count-twice") ? 2 : 1);
  sizes.windowed_flops = per_pair * d.windowed_pairs;
  const double scores = 2 * sizes.elements({Rows::Tokens, Width::Scores});
  sizes.score_flops = scores * static_cast<double>(a.head_dim);
  sizes.value_flops = scores * static_cast<double>(a.v_head_dim);
  const ScanFlops scan = scan_flops(sc.model.recurrent, d.state_heads, d.state_groups);
  sizes.scan_flops = static_cast<double>(d.tokens) * scan.forward;
  sizes.scan_back_flops = static_cast<double>(d.tokens) * scan.backward;
  return sizes;
}

}  // namespace hexaplan::costmodel::program
