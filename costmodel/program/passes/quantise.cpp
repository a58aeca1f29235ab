#include <utility>

#include "costmodel/program/passes/passes.h"

namespace hexaplan::costmodel::program {
namespace {

/// Operands of matrices, cast where they are read; the gradient of a result once for both backward products.
/// A weight gradient reads what the product in forward read, or gathers again what was kept in 8 bits.
class Casts {
 public:
  explicit Casts(Program program)
      : p_{std::move(program)}, inputs_(p_.weights.size(), kNone), gradients_(p_.weights.size(), kNone) {}

  Program run() {
    for (Op op : std::exchange(p_.ops, {})) {
      const bool forward = op.kind == Kind::Matmul || op.kind == Kind::GroupedMatmul;
      if (forward && is_narrow(op))
        inputs_[position(op.weight)] = op.reads[0] = cast(op, op.reads[0], Kind::Quantise);
      const bool derived = op.kind == Kind::MatmulData || op.kind == Kind::MatmulWeight;
      if (derived && is_narrow(op)) {
        ValueId& dy = op.reads[op.kind == Kind::MatmulData ? 0 : 1];
        ValueId& narrow = gradients_[position(op.weight)];
        if (narrow == kNone) narrow = cast(op, dy, Kind::QuantiseGradient);
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
    const auto maker = std::ranges::find_if(p_.ops, [&](const Op& op) { return op.writes.contains(wide); });
    if (maker == p_.ops.end() || maker->phase != Phase::Forward || p_.of(wide).shape.type == Type::Quantised)
      return;
    Shape shape = p_.of(wide).shape;
    shape.type = Type::Quantised;
    const ValueId kept = p_.like(wide, Role::Copy, shape);
    gather->reads[0] = kept;
    p_.ops.insert(maker + 1, {.site = maker->site, .kind = Kind::Copy, .reads = {wide}, .writes = {kept}});
  }

  Program p_;
  std::vector<ValueId> inputs_;     // by weight: of the product in forward, cast
  std::vector<ValueId> gradients_;  // by weight: of its result, cast
};

}  // namespace

Program quantise_matrices(Program p, const Techniques& /*techniques*/) {
  return Casts{std::move(p)}.run();
}

}  // namespace hexaplan::costmodel::program
