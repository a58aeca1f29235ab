#include <utility>

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

}  // namespace

Program attend_over_context_ranks(Program p, const Techniques& t) {
  std::vector<Op> out;
  ValueId own = kNone, result = kNone;
  for (Op op : std::exchange(p.ops, {})) {
    for (ValueId& id : op.reads) id = id == own ? result : id;
    if (op.kind != Kind::Attend) {
      out.push_back(op);
      continue;
    }
    own = op.writes[0];
    t.context == ContextKind::AllToAll ? attend_to_exchanged(p, op, out, result)
                                       : attend_to_others(p, op, t, out, result);
  }
  p.ops = std::move(out);
  if (p.output == own) p.output = result;
  return p;
}

}  // namespace hexaplan::costmodel::program
