#include <algorithm>
#include <utility>
#include <vector>

#include "costmodel/program/passes/passes.h"
#include "costmodel/units/mutation.h"

namespace hexaplan::costmodel::program {
namespace {

constexpr Shape kOwnKeys{Rows::Tokens, Width::KeyValue};

Op message(Site site, Kind kind, ValueId from, ValueId to, Shape payload) {
  return {.site = site,
          .kind = kind,
          .reads = {from},
          .writes = {to},
          .group = Group::Context,
          .payload = payload};
}

/// Heads against sequence: afterwards a rank has all tokens of its share of the heads, in as many bytes.
ValueId exchange(Program& p, ValueId value, std::vector<Op>& out) {
  const ValueId exchanged = p.like(value, Role::Itself);
  out.push_back(message(Site::ContextExchange, Kind::AllToAll, value, exchanged, p.of(value).shape));
  return exchanged;
}

void attend_to_exchanged(Program& p, Op attend, std::vector<Op>& out, ValueId& result) {
  for (ValueId& id : attend.reads) id = exchange(p, id, out);
  out.push_back(attend);
  result = exchange(p, attend.writes[0], out);
}

/// Own keys first; then those of the other ranks, whose part of the output is merged by the log-sum-exps.
void attend_to_others(Program& p, const Op& attend, const Techniques& t, std::vector<Op>& out,
                      ValueId& result) {
  out.push_back(attend);
  const ValueId keys = attend.reads[attend.reads.size() - 1];
  const bool ring = t.context == ContextKind::Ring;
  Shape held = kOwnKeys;
  held.rows = ring ? Rows::Tokens : Rows::Context;
  const ValueId others = p.add({.tensor = Tensor::KeyValue, .shape = held, .role = Role::Whole});
  Op fetch = message(ring ? Site::Ring : Site::GatherKeys, ring ? Kind::SendRecv : Kind::AllGather, keys,
                     others, held);
  if (ring) {  // the next block arrives while this one is attended to
    fetch.writes.push_back(p.add({.tensor = Tensor::KeyValue, .shape = held, .role = Role::Workspace}));
    fetch.times = static_cast<std::int16_t>(
        t.context_ranks - (mutant("ring-receives-once-less") && t.context_ranks > 2 ? 2 : 1));
  }
  out.push_back(fetch);
  Op merge{.site = Site::Merge, .kind = Kind::AttendBlocks, .reads = {attend.writes[0], attend.writes[1]}};
  for (const ValueId id : attend.reads) merge.reads.push_back(id);
  merge.reads.push_back(others);
  for (const Role role : {Role::Itself, Role::Partial}) {
    for (const ValueId id : attend.writes) merge.writes.push_back(p.like(id, role));
  }
  merge.in_place = mutant("merged-output-takes-a-buffer") ? std::int8_t{0} : row_of(merge.kind).in_place;
  out.push_back(merge);
  result = merge.writes[0];
}

/// A recurrence reads whole sequences: heads are exchanged for tokens between the projection and it, and back
/// behind it, however attention shares sequences (NVIDIA/Megatron-LM megatron/core/ssm/
/// mamba_context_parallel.py, and gated_delta_net/common.py, whose gated norm stands before the way back).
/// Five messages of Mamba-2's parts are one here.
bool begins_recurrence(const Op& op) {
  return op.kind == Kind::StateSpace || (op.site == Site::StateProjection && op.kind == Kind::Separate);
}
bool ends_recurrence(const Op& op) {
  return op.kind == Kind::StateSpace || (op.site == Site::StateGate && op.kind == Kind::Pointwise);
}
ValueId exchange_heads(Program& p, ValueId value, Width width, std::vector<Op>& out) {
  const Shape shape{Rows::Tokens, width};
  const ValueId exchanged = p.like(value, Role::Itself, shape);
  out.push_back(message(Site::StateExchange, Kind::AllToAll, value, exchanged, shape));
  return exchanged;
}

}  // namespace

Program attend_over_context_ranks(Program p, const Techniques& t) {
  std::vector<Op> out;
  std::vector<std::pair<ValueId, ValueId>> stand_for;
  const auto renamed = [&](ValueId id) {
    const auto found = std::ranges::find(stand_for, id, &std::pair<ValueId, ValueId>::first);
    return found == stand_for.end() ? id : found->second;
  };
  for (Op op : std::exchange(p.ops, {})) {
    for (ValueId& id : op.reads) id = renamed(id);
    if (begins_recurrence(op)) op.reads[0] = exchange_heads(p, op.reads[0], Width::StateExchanged, out);
    if (op.kind != Kind::Attend) {
      out.push_back(op);
      if (ends_recurrence(op))
        stand_for.emplace_back(op.writes[0], exchange_heads(p, op.writes[0], Width::StateValues, out));
      continue;
    }
    ValueId result = kNone;
    t.context == ContextKind::AllToAll ? attend_to_exchanged(p, op, out, result)
                                       : attend_to_others(p, op, t, out, result);
    stand_for.emplace_back(op.writes[0], result);
  }
  p.ops = std::move(out);
  p.output = renamed(p.output);
  return p;
}

}  // namespace hexaplan::costmodel::program
