#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "costmodel/program/passes/passes.h"

namespace hexaplan::costmodel::program {
namespace {

/// Operands of matrices, cast where they are read, or by each rank before they are gathered over
/// tensor-parallel ranks, which sends a byte per element (NVIDIA/TransformerEngine@d0067d0
/// transformer_engine/pytorch/distributed.py gather_along_first_dim and its quantizer;
/// module/base.py grad_output_preprocess; pytorch/ao torchao/float8/float8_tensor_parallel.py); the gradient
/// of a result once for both backward products, which read it along either side: where blocks have a scale
/// each it is gathered twice. A weight gradient reads what the product in forward read, or
/// gathers again what was kept in 8 bits.
class Casts {
 public:
  Casts(Program program, const Techniques& t)
      : p_{std::move(program)},
        scales_blocks_{t.scales_blocks},
        inputs_(p_.weights.size(), kNone),
        gradients_(p_.weights.size(), kNone),
        narrow_(p_.values.size(), kNone) {}

  Program run() {
    const std::vector<Op> wide = std::exchange(p_.ops, {});
    for (Op op : wide) {
      if (op.kind == Kind::AllGather && op.group == Group::Tensor) cast_before(op, wide);
      const bool forward = op.kind == Kind::Matmul || op.kind == Kind::GroupedMatmul;
      if (forward && is_narrow(op))
        inputs_[position(op.weight)] = op.reads[0] = narrow_of(op, op.reads[0], Kind::Quantise);
      const bool derived = op.kind == Kind::MatmulData || op.kind == Kind::MatmulWeight;
      if (derived && is_narrow(op)) {
        ValueId& dy = op.reads[op.kind == Kind::MatmulData ? 0 : 1];
        ValueId& narrow = gradients_[position(op.weight)];
        if (narrow == kNone) narrow = narrow_of(op, dy, Kind::QuantiseGradient);
        dy = narrow;
      }
      if (op.kind == Kind::MatmulWeight && is_narrow(op))
        keep_narrow(op.reads[0], inputs_[position(op.weight)]);
      p_.ops.push_back(op);
    }
    return std::move(p_);
  }

 private:
  /// Routers, gates and adapters keep their precision.
  [[nodiscard]] bool is_narrow(const Op& op) const {
    const bool adapter = op.weight >= 0 && p_.weights[position(op.weight)].adapter != AdapterSide::None;
    return !adapter && op.site != Site::Router && op.site != Site::SharedGate;
  }
  /// The first reader of `id`, if all are products in 8 bits.
  [[nodiscard]] const Op* narrow_reader(ValueId id, const std::vector<Op>& all) const {
    const auto reads = [id](const Op& op) { return op.reads.contains(id); };
    const auto multiplies = [this](const Op& op) {
      return (op.kind == Kind::Matmul || op.kind == Kind::MatmulData || op.kind == Kind::MatmulWeight) &&
             is_narrow(op);
    };
    const bool others = std::ranges::any_of(all, [&](const Op& op) { return reads(op) && !multiplies(op); });
    const auto first = std::ranges::find_if(all, reads);
    return others || first == all.end() ? nullptr : &*first;
  }
  /// Inputs in forward and gradients of results; what weight gradients gather again is kept narrow.
  void cast_before(Op& gather, const std::vector<Op>& all) {
    const ValueId whole = gather.writes[0], part = gather.reads[0];
    const Op* reader = narrow_reader(whole, all);
    if (reader == nullptr || (reader->kind == Kind::MatmulWeight && reader->reads[0] == whole)) return;
    const bool forward = gather.phase == Phase::Forward;
    gather.reads[0] = narrow_[position(part)] =
        cast(*reader, part, forward ? Kind::Quantise : Kind::QuantiseGradient);
    gather.writes[0] = narrow_[position(whole)] = p_.like(whole, p_.of(whole).role);
    send_narrow(gather);
    if (!forward && scales_blocks_) gather.times = static_cast<std::int16_t>(2 * gather.times);
  }
  void send_narrow(Op& gather) {
    p_.of(gather.writes[0]).shape.type = Type::Quantised;
    if (gather.payload) gather.payload->type = Type::Quantised;
  }
  ValueId narrow_of(const Op& reader, ValueId wide, Kind kind) {
    const bool known = position(wide) < narrow_.size() && narrow_[position(wide)] != kNone;
    return known && reader.kind != Kind::GroupedMatmul ? narrow_[position(wide)] : cast(reader, wide, kind);
  }
  ValueId cast(const Op& reader, ValueId wide, Kind kind) {
    Shape shape = p_.of(wide).shape;
    shape.type = Type::Quantised;
    if (reader.kind == Kind::GroupedMatmul) shape.rows = Rows::ExpertRows;
    const ValueId narrow = p_.like(wide, p_.of(wide).role, shape);
    const Pass pass = reader.phase == Phase::Forward ? Pass::Forward : Pass::BackwardData;
    p_.ops.push_back({.site = reader.site,
                      .kind = kind,
                      .reads = {wide},
                      .writes = {narrow},
                      .phase = reader.phase,
                      .pass = pass});
    return narrow;
  }

  void keep_narrow(ValueId& input, ValueId narrow) {
    const auto gather = std::ranges::find_if(p_.ops, [&](const Op& op) { return op.writes.contains(input); });
    if (gather == p_.ops.end() || gather->phase == Phase::Forward) {
      input = narrow;
      return;
    }
    const ValueId wide = gather->reads[0];
    send_narrow(*gather);
    if (p_.of(wide).shape.type == Type::Quantised) return;
    if (narrow_[position(wide)] != kNone) {
      gather->reads[0] = narrow_[position(wide)];
      return;
    }
    const auto maker = std::ranges::find_if(p_.ops, [&](const Op& op) { return op.writes.contains(wide); });
    if (maker == p_.ops.end() || maker->phase != Phase::Forward) return;
    Shape shape = p_.of(wide).shape;
    shape.type = Type::Quantised;
    const ValueId kept = p_.like(wide, Role::Copy, shape);
    gather->reads[0] = kept;
    p_.ops.insert(maker + 1, {.site = maker->site, .kind = Kind::Copy, .reads = {wide}, .writes = {kept}});
  }

  Program p_;
  bool scales_blocks_;
  std::vector<ValueId> inputs_;     // by weight: of the product in forward, cast
  std::vector<ValueId> gradients_;  // by weight: of its result, cast
  std::vector<ValueId> narrow_;     // by value: what is gathered, and what arrives, in 8 bits
};

}  // namespace

Program quantise_matrices(Program p, const Techniques& t) {
  return Casts{std::move(p), t}.run();
}

}  // namespace hexaplan::costmodel::program
