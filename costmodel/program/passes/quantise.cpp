#include <utility>

#include "costmodel/program/passes/passes.h"

namespace hexaplan::costmodel::program {
namespace {

/// Operands of matrices, cast where they are read; the gradient of a result once for both backward products.
class Casts {
 public:
  explicit Casts(Program program) : p_{std::move(program)}, gradients_(p_.weights.size(), kNone) {}

  Program run() {
    for (Op op : std::exchange(p_.ops, {})) {
      const bool forward = op.kind == Kind::Matmul || op.kind == Kind::GroupedMatmul;
      if (forward && is_narrow(op)) op.reads[0] = cast(op, op.reads[0], Kind::Quantise);
      const bool derived = op.kind == Kind::MatmulData || op.kind == Kind::MatmulWeight;
      if (derived && is_narrow(op)) {
        ValueId& dy = op.reads[op.kind == Kind::MatmulData ? 0 : 1];
        ValueId& narrow = gradients_[position(op.weight)];
        if (narrow == kNone) narrow = cast(op, dy, Kind::QuantiseGradient);
        dy = narrow;
      }
      p_.ops.push_back(op);
    }
    return std::move(p_);
  }

 private:
  /// Routers and gates keep their precision.
  [[nodiscard]] static bool is_narrow(const Op& op) {
    return op.site != Site::Router && op.site != Site::SharedGate;
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

  Program p_;
  std::vector<ValueId> gradients_;  // by weight: of its result, cast
};

}  // namespace

Program quantise_matrices(Program p, const Techniques& /*techniques*/) {
  return Casts{std::move(p)}.run();
}

}  // namespace hexaplan::costmodel::program
