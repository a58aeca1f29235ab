#include "costmodel/program/ops.h"

#include <fmt/format.h>

#include <numeric>

namespace hexaplan::costmodel::program {
namespace {

/// Entering a tensor-parallel region without SP changes nothing: all names are read from one buffer.
ValueId before_entering(const Program& p, ValueId id) {
  for (const Op* made = producer(p, id); made != nullptr && made->kind == Kind::EnterTensor;
       made = producer(p, id))
    id = made->reads[0];
  return id;
}
bool aliases(const Program& p, ValueId held, ValueId wanted) {
  return before_entering(p, held) == before_entering(p, wanted);
}

std::string describe(const Program& p, const Op& op, ValueId id, std::string_view fault) {
  return fmt::format("{} {} ({}) reads {} {}", row_of(op.site).name, row_of(op.kind).name,
                     static_cast<int>(op.phase), name_of(p.of(id).tensor), fault);
}

}  // namespace

std::string_view name_of(Site site, const Weight& weight) {
  switch (weight.adapter) {
    case AdapterSide::Down:
      return "adapter.down";
    case AdapterSide::Up:
      return "adapter.up";
    case AdapterSide::Scale:
      return "adapter.scale";
    case AdapterSide::Sum:
      return "adapter.row_norms";
    case AdapterSide::Magnitude:
      return "adapter.magnitude";
    case AdapterSide::None:
      break;
  }
  return row_of(site).name;
}
std::string_view name_of(const Program& p, const Op& op) {
  return op.weight < 0 ? row_of(op.site).name : name_of(op.site, p.weights[position(op.weight)]);
}

const Op* producer(const Program& p, ValueId id) {
  for (const Op& op : p.ops) {
    if (op.writes.contains(id)) return &op;
  }
  return nullptr;
}

Rows matrix_rows(const Program& p, const Op& op) {
  const Rows rows = p.of(op.kind == Kind::MatmulWeight ? op.reads[1] : op.writes[0]).shape.rows;
  if (rows == Rows::LossChunk) return Rows::Tokens;  // all chunks together
  // Copies that no rank exchanges are the rows of experts.
  return p.of(op.reads[0]).shape.rows == Rows::ExpertRows ? Rows::ExpertRows : rows;
}

std::vector<ValueId> buffers_of(const Program& p) {
  std::vector<ValueId> out(p.values.size());
  std::iota(out.begin(), out.end(), ValueId{0});
  for (const Op& op : p.ops) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(op.in_place); ++i)
      out[position(op.writes[i])] = out[position(op.reads[i])];
  }
  return out;
}

std::vector<int> last_touches(const Program& p, const std::vector<ValueId>& buffers) {
  std::vector<int> last(p.values.size(), -1);
  for (std::size_t i = 0; i < p.ops.size(); ++i) {
    for (const ValueId id : p.ops[i].reads) last[position(buffers[position(id)])] = static_cast<int>(i);
    for (const ValueId id : p.ops[i].writes) last[position(buffers[position(id)])] = static_cast<int>(i);
  }
  return last;
}

Shape payload_of(const Program& p, const Op& op) {
  assert(row_of(op.kind).message.has_value());
  if (op.payload) return *op.payload;
  const bool gathers = row_of(op.kind).message == CollectiveKind::AllGather;
  return p.of(gathers ? op.writes[0] : op.reads[0]).shape;
}

std::optional<std::string> first_fault(const Program& p) {
  const std::vector<ValueId> buffers = buffers_of(p);
  std::vector<ValueId> holds(p.values.size(), kNone);  // by buffer
  for (const ValueId given : {p.input, p.d_output}) {
    if (given != kNone) holds[position(given)] = given;
  }
  Phase phase = Phase::Forward;
  for (const Op& op : p.ops) {
    if (op.phase < phase) return fmt::format("{} stands behind a later phase", row_of(op.site).name);
    phase = op.phase;
    for (const ValueId id : op.reads) {
      const ValueId held = holds[position(buffers[position(id)])];
      if (held == kNone) return describe(p, op, id, "that nobody wrote");
      if (!aliases(p, held, id)) return describe(p, op, id, "that was overwritten");
    }
    for (const ValueId id : op.writes) holds[position(buffers[position(id)])] = id;
  }
  return std::nullopt;
}

}  // namespace hexaplan::costmodel::program
