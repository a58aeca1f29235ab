// Core attention over one rank's keys, or blockwise over those of the context group.
#include <utility>

#include "validator/executor/interpreter/operation.h"
#include "validator/executor/parallel/context.h"

namespace hexaplan::validator {
namespace {

namespace program = costmodel::program;
using program::ValueId;

/// Queries, keys and values that begin at operand `first`: side by side, or queries apart.
struct Operands {
  QueryKeyValue in;
  std::size_t behind = 0;  // the operand after them
};

bool has_joint_projection(const Rank& rank) {
  return rank.scenario.model.attention.kind == costmodel::AttentionKind::Grouped;
}

template <class Ids>
Operands operands(const Operation& o, const Ids& ids, std::size_t first) {
  const View query = o.frame.view(ids[first]);
  if (has_joint_projection(o.rank)) return {projections(o.rank, query), first + 1};
  return {projections(o.rank, query, o.frame.view(ids[first + 1])), first + 2};
}

KeyValue keys_of(const QueryKeyValue& of) {
  return {of.key, of.value};
}

/// Keys and values in an operand of their own or in the joint projection.
KeyValue keys_in(const Rank& rank, const View& operand) {
  return has_joint_projection(rank) ? keys_of(projections(rank, operand)) : unpacked(rank, operand);
}

/// Part of rank `other` of everybody's keys, or of their gradients.
KeyValue part_of(const Rank& rank, const View& all, int other) {
  return unpacked(rank, all.row_range(rank.dims.tokens * other, rank.dims.tokens));
}

bool stores_scores(const Rank& rank) {
  return costmodel::stores_scores(rank.scenario.recipe.attention);
}

bool is_ring(const Rank& rank) {
  return rank.scenario.layout.context == costmodel::ContextKind::Ring;
}

Call ring_call(const Operation& o, costmodel::Pass pass) {
  return o.rank.call(program::row_of(program::Site::Ring).name, pass);
}

}  // namespace

View pack_own_keys(const Rank& rank, const View& operand, const View& everybodys) {
  const View own = everybodys.row_range(rank.dims.tokens * rank.groups.context->rank(), rank.dims.tokens);
  pack(rank, keys_in(rank, operand), own);
  return own;
}

namespace {

const Rotation& rotation_in(const Rank& rank) {
  return rank.in_window() ? rank.windowed_rotation : rank.rotation;
}

/// Queries and keys of a joint projection, or queries alone.
void rotate(const Operation& o, bool inverse) {
  const std::int64_t columns = has_joint_projection(o.rank) ? o.rank.dims.q + o.rank.dims.k : o.rank.dims.q;
  o.rank.device.rope(o.out(0).column_range(0, columns), o.batch.positions, rotation_in(o.rank), inverse);
}

/// Norms of queries and of keys: their columns, statistics and parts of the weights, which lie side by side.
/// Each head by itself with the weights of all, or all heads together.
struct HeadNorms {
  explicit HeadNorms(const Rank& of)
      : rank{of},
        form{norm_form(of.scenario.model)},
        together{of.scenario.model.attention.qk_norm_scope == costmodel::QkNormScope::Row} {
    form.kind = costmodel::NormKind::Rms;
    form.width = together ? 0 : of.scenario.model.attention.head_dim;
  }
  /// 0: queries, 1: keys.
  [[nodiscard]] View columns(const View& joint, int part) const {
    return part == 0 ? joint.column_range(0, rank.dims.q) : joint.column_range(rank.dims.q, rank.dims.k);
  }
  [[nodiscard]] View statistics(const View& all, int part) const {
    if (together) return all.column_range(part, 1);
    return part == 0 ? all.column_range(0, rank.dims.heads)
                     : all.column_range(rank.dims.heads, rank.dims.kv_heads);
  }
  [[nodiscard]] View vector(const View& weights, int part) const {
    if (weights.data == nullptr) return {};  // the gradient of frozen ones
    if (!together) return weights.slice(part * form.width, form.width);
    return part == 0 ? weights.slice(0, rank.dims.q) : weights.slice(rank.dims.q, rank.dims.k);
  }
  [[nodiscard]] View values(const View& joint) const {
    return joint.column_range(rank.dims.q + rank.dims.k, rank.dims.v);
  }

  const Rank& rank;
  NormForm form;
  bool together;
};

/// Keys of latent attention: every head has a part of its own and one, with positions, that all share.
struct LatentKeys {
  explicit LatentKeys(const Rank& of) : rank{of}, a{of.scenario.model.attention} {
    shared = rotation_in(of);
    shared.head_dim = a.qk_rope_dim;
    shared.first = 0;
  }
  [[nodiscard]] std::int64_t heads() const { return rank.dims.heads; }
  [[nodiscard]] View own_key(const View& keys, std::int64_t head) const {
    return keys.column_range(head * a.head_dim, a.qk_nope_dim);
  }
  [[nodiscard]] View shared_key(const View& keys, std::int64_t head) const {
    return keys.column_range(head * a.head_dim + a.qk_nope_dim, a.qk_rope_dim);
  }
  [[nodiscard]] View value(const View& values, std::int64_t head) const {
    return values.column_range(head * a.v_head_dim, a.v_head_dim);
  }
  /// What the up-projection makes: per head its part of the key, then its value.
  [[nodiscard]] View made_key(const View& up, std::int64_t head) const {
    return up.column_range(head * (a.qk_nope_dim + a.v_head_dim), a.qk_nope_dim);
  }
  [[nodiscard]] View made_value(const View& up, std::int64_t head) const {
    return up.column_range(head * (a.qk_nope_dim + a.v_head_dim) + a.qk_nope_dim, a.v_head_dim);
  }
  /// The columns of the latent that become the shared part.
  [[nodiscard]] View rotary_part(const View& latent) const {
    return latent.column_range(a.kv_lora_rank, a.qk_rope_dim);
  }

  const Rank& rank;
  const costmodel::AttentionSpec& a;
  Rotation shared;
};

}  // namespace

void run_rope(const Operation& o) {
  rotate(o, false);
}
void run_rope_back(const Operation& o) {
  rotate(o, true);
}

namespace {

/// Calls visit(columns of what one matrix made, the same in their own operand) for all that lies together:
/// head by head its query and its gate (huggingface/transformers models/qwen3_next/modeling_qwen3_next.py,
/// Qwen3NextAttention), then keys and values, which have no gate.
template <class Visitor>
void for_gated_parts(const Rank& rank, const View& joint, const View& qkv, const View& gates,
                     const Visitor& visit) {
  const std::int64_t width = rank.scenario.model.attention.head_dim, queries = gates.cols;
  for (std::int64_t at = 0; at < queries; at += width) {
    visit(joint.column_range(2 * at, width), qkv.column_range(at, width));
    visit(joint.column_range(2 * at + width, width), gates.column_range(at, width));
  }
  const std::int64_t rest = qkv.cols - queries;
  visit(joint.column_range(2 * queries, rest), qkv.column_range(queries, rest));
}

}  // namespace

void run_separate(const Operation& o) {
  for_gated_parts(o.rank, o.in(0), o.out(0), o.out(1),
                  [&](const View& joint, const View& part) { o.rank.device.copy(part, joint); });
}
void run_separate_back(const Operation& o) {
  for_gated_parts(o.rank, o.out(0), o.in(0), o.in(1),
                  [&](const View& joint, const View& part) { o.rank.device.copy(joint, part); });
}

void run_qk_norm(const Operation& o) {
  const HeadNorms norms{o.rank};
  for (const int part : {0, 1}) {
    o.rank.device.norm(norms.form, norms.columns(o.in(0), part), norms.vector(o.weight(), part), {},
                       norms.columns(o.out(0), part), norms.statistics(o.out(1), part));
  }
  o.rank.device.copy(norms.values(o.out(0)), norms.values(o.in(0)));
}

void run_qk_norm_back(const Operation& o) {
  HeadNorms norms{o.rank};
  norms.form.accumulate = false;
  for (const int part : {0, 1}) {
    o.rank.device.norm_backward(norms.form, norms.columns(o.in(0), part), norms.columns(o.in(1), part),
                                norms.vector(o.weight(), part), norms.statistics(o.in(2), part),
                                norms.columns(o.out(0), part), norms.vector(o.weight_gradient(), part), {});
  }
  o.rank.device.copy(norms.values(o.out(0)), norms.values(o.in(0)));
}

/// Operands: what the up-projection made, the latent with the part of the key that all heads share.
void run_expand_keys(const Operation& o) {
  const LatentKeys latent{o.rank};
  const KeyValue out = unpacked(o.rank, o.out(0));
  const View shared = latent.shared_key(out.key, 0);
  o.rank.device.copy(shared, latent.rotary_part(o.in(1)));
  o.rank.device.rope(shared, o.batch.positions, latent.shared, false);
  for (std::int64_t head = 0; head < latent.heads(); ++head) {
    o.rank.device.copy(latent.own_key(out.key, head), latent.made_key(o.in(0), head));
    o.rank.device.copy(latent.value(out.value, head), latent.made_value(o.in(0), head));
    if (head > 0) o.rank.device.copy(latent.shared_key(out.key, head), shared);
  }
}

void run_expand_keys_back(const Operation& o) {
  const LatentKeys latent{o.rank};
  const KeyValue d = unpacked(o.rank, o.in(0));
  const View d_latent = o.out(1), d_shared = latent.rotary_part(d_latent);
  o.rank.device.fill(d_latent, 0);
  for (std::int64_t head = 0; head < latent.heads(); ++head) {
    o.rank.device.copy(latent.made_key(o.out(0), head), latent.own_key(d.key, head));
    o.rank.device.copy(latent.made_value(o.out(0), head), latent.value(d.value, head));
    o.rank.device.add(d_shared, latent.shared_key(d.key, head));
  }
  o.rank.device.rope(d_shared, o.batch.positions, latent.shared, true);
}

namespace {

/// Those of the heads that this rank attends with.
View of_own_sinks(const Rank& rank, const View& sinks) {
  const int shares = head_shares(rank);
  const std::int64_t heads = sinks.cols / shares;
  return sinks.column_range(shares == 1 ? 0 : rank.groups.context->rank() * heads, heads);
}

}  // namespace

/// Heads for tokens before core attention, tokens for heads behind it; gradients the other way round.
void run_head_exchange(const Operation& o) {
  const costmodel::LocalDims& d = o.rank.dims;
  const bool of_output = o.read_value(0).tensor == program::Tensor::AttentionOutput;
  std::vector<std::int64_t> widths{o.in(0).cols};
  if (o.read_value(0).tensor == program::Tensor::QueryKeyValue) widths = {d.q, d.k, d.v};
  if (o.read_value(0).tensor == program::Tensor::KeyValue) widths = {d.q, o.in(0).cols - d.q};
  const bool backward = o.op.pass != costmodel::Pass::Forward;
  (of_output == backward ? gather_tokens : gather_heads)(o.rank, widths, o.in(0), o.out(0), o.call());
}

void run_attend(const Operation& o) {
  if (stores_scores(o.rank)) return attend_with_scores(o, operands(o, o.op.reads, 0).in);
  const View sinks = o.op.weight < 0 ? View{} : of_own_sinks(o.rank, o.weight());
  attend_to_own(o.rank, operands(o, o.op.reads, 0).in, sinks,
                {of_own_heads(o.rank, o.out(0)), of_own_heads(o.rank, o.out(1))});
}

void run_sink_weight(const Operation& o) {
  o.rank.device.sink_gradient(of_own_sinks(o.rank, o.weight()), of_own_heads(o.rank, o.in(0)),
                              of_own_heads(o.rank, o.in(1)), of_own_sinks(o.rank, o.weight_gradient()));
}

/// Kernels add up gradients of the queries over blocks of keys in fp32; the own block is the first. Where it
/// is the only one, d.query may come straight from the kernel.
void run_attend_back(const Operation& o) {
  const Operands in = operands(o, o.op.reads, 0), d = operands(o, o.op.writes, 0);
  if (stores_scores(o.rank)) {
    return attend_with_scores_back(o, in.in, of_own_heads(o.rank, o.in(in.behind)), d.in, o.out(d.behind));
  }
  const View query_sum = of_own_heads(o.rank, o.out(d.behind));
  const AttentionGradient of{in.in, of_own_heads(o.rank, o.in(in.behind)),
                             of_own_heads(o.rank, o.in(in.behind + 1)),
                             of_own_heads(o.rank, o.in(in.behind + 2))};
  if (o.rank.groups.context->size() == head_shares(o.rank))
    return attend_to_own_back(o.rank, of, query_sum, d.in);
  attend_to_own_back(o.rank, of, {}, {query_sum, d.in.key, d.in.value});
}

void run_attend_delta(const Operation& o) {
  o.rank.device.attention_delta(o.in(0), o.in(1), o.out(0));
}

void run_attend_blocks(const Operation& o) {
  const Operands in = operands(o, o.op.reads, 2);
  const View others = o.in(in.behind);
  const Attended out{o.out(0), o.out(1)}, piece{o.out(2), o.out(3)};
  const int own = o.rank.groups.context->rank();
  for (int other = 0; other < o.rank.groups.context->size(); ++other) {
    if (other != own) attend_to_other(o.rank, in.in, other, part_of(o.rank, others, other), piece, out);
  }
}

/// One round of the ring: the keys of the previous rank take the place of those held.
void pass_on_keys(const Operation& o, int step) {
  const ValueId held = o.op.writes[0], arriving = o.op.writes[1];
  if (step == 1) pack(o.rank, keys_in(o.rank, o.in(0)), o.frame.view(held));
  Ring{o.rank}.pass_on({{o.frame.view(held), o.frame.view(arriving)}}, o.call());
  o.frame.swap(held, arriving);
}

void attend_to_passed(const Operation& o, int step) {
  const Operands in = operands(o, o.op.reads, 2);
  const View held = o.in(in.behind);
  attend_to_other(o.rank, in.in, Ring{o.rank}.source(step), unpacked(o.rank, held), {o.out(2), o.out(3)},
                  {o.out(0), o.out(1)});
}

/// The first round of the backward ring; the others run with the blocks, which need them one by one. A
/// forward ring that runs again, although what it was for is kept, has all its rounds.
void run_send_recv_back(const Operation& o) {
  if (o.op.recomputed) {
    for (int step = 1; step <= o.op.times; ++step) pass_on_keys(o, step);
    return;
  }
  if (o.read_value(0).role != program::Role::Whole) pass_on_keys(o, 1);
}

namespace {

/// Gradients of keys travel behind the keys and gain a share on every rank; from the last one they go home,
/// where the rank's own share waits. So keys are sent c − 1 times and gradients c − 1 times, in c messages:
/// the first has no gradients, the last nothing else (as in Transformer Engine's context_parallel.py).
void go_round(const Operation& o, const AttentionGradient& of, const View& query_sum, std::size_t first) {
  const ValueId keys = o.op.reads[first], gradients = o.op.reads[first + 1];
  const Ring ring{o.rank};
  const auto view = [&](ValueId id) { return o.frame.view(id); };
  const Call call = ring_call(o, o.op.pass);
  o.rank.device.fill(view(gradients), 0);
  for (int step = 1; step < ring.size(); ++step) {
    attend_to_other_back(o.rank, of, ring.source(step), unpacked(o.rank, view(keys)), query_sum,
                         unpacked(o.rank, view(gradients)));
    if (step + 1 < ring.size()) {
      const ValueId next_keys = o.op.reads[first + 2], next_gradients = o.op.reads[first + 3];
      ring.pass_on({{view(keys), view(next_keys)}, {view(gradients), view(next_gradients)}}, call);
      o.frame.swap(keys, next_keys);
      o.frame.swap(gradients, next_gradients);
    } else {  // nobody needs the keys any more
      ring.pass_on({{view(gradients), view(keys)}}, call);
    }
  }
}

/// Every rank's share of everybody's gradient, for the reduce-scatter that follows.
void share_gathered(const Operation& o, const AttentionGradient& of, const View& query_sum,
                    std::size_t first) {
  const View all = o.in(first), gradients = o.out(1);
  o.rank.device.fill(gradients, 0);
  for (int other = 0; other < o.rank.groups.context->size(); ++other) {
    if (other == o.rank.groups.context->rank()) continue;
    attend_to_other_back(o.rank, of, other, part_of(o.rank, all, other), query_sum,
                         part_of(o.rank, gradients, other));
  }
}

}  // namespace

/// Operands: gradient of the own keys, projections, gradient of the output, statistics, delta, the queries'
/// sum, keys of other ranks.
void run_attend_blocks_back(const Operation& o) {
  const Operands in = operands(o, o.op.reads, 1);
  const AttentionGradient of{in.in, o.in(in.behind), o.in(in.behind + 1), o.in(in.behind + 2)};
  const View query_sum = o.in(in.behind + 3);
  const std::size_t others = in.behind + 4;
  const QueryKeyValue d = projections(o.rank, o.out(0));
  if (is_ring(o.rank)) {
    go_round(o, of, query_sum, others);
    add_unpacked(o.rank, o.in(others), keys_of(d));  // the rank's own, come home
  } else {
    share_gathered(o, of, query_sum, others);
  }
  o.rank.device.copy(d.query, query_sum);
}

/// Gradients of keys that came home by a message, beside the joint projection's.
void run_add_keys(const Operation& o) {
  add_unpacked(o.rank, o.in(1), keys_in(o.rank, o.out(0)));
}

}  // namespace hexaplan::validator
