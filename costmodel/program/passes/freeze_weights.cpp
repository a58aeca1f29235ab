#include <algorithm>

#include "costmodel/program/passes/passes.h"

namespace hexaplan::costmodel::program {
namespace {

/// Where adapters are operations, all gradients that are left are theirs, and those of what trains beside
/// them. Where nothing below the first layer is trained, the embedding has no backward pass.
Program freeze_all_but_adapters(Program p, const Adapters& adapters) {
  const auto trains = [&](const Op& op) { return adapters.trains(p.weights[position(op.weight)]); };
  const bool reaches_table = std::any_of(
      p.ops.begin(), p.ops.end(), [&](const Op& op) { return op.kind == Kind::LookupBack && trains(op); });
  std::erase_if(p.ops, [&](const Op& op) {
    if (op.phase == Phase::Forward) return false;
    switch (op.kind) {
      case Kind::MatmulWeight:
        return p.weights[position(op.weight)].adapter == AdapterSide::None && !trains(op);
      case Kind::BiasWeight:
      case Kind::GroupedBiasWeight:
      case Kind::SinkWeight:
      case Kind::LookupBack:
        return !trains(op);
      default:
        return p.part == Part::Embedding && !reaches_table;
    }
  });
  return p;
}

}  // namespace

/// Otherwise what is left of weight gradients stands for those of the adapters beside the matrix, which read
/// the same input; IA³ scales that of the MLP's second matrix alone. Products with 4-bit weights kept their
/// input in any case until bitsandbytes 0.43.2 (autograd/_functions.py MatMul4Bit, @9e753741), as the memory
/// of lit-gpt's runs of 2023 shows (FrameworkProfile::four_bit_keeps_inputs), and those with 8-bit weights
/// keep it to this day (@95f9af3, MatMul8bitLt: ctx.tensors). Experts that stay parameters in
/// 16 bits keep no input.
Program freeze_weights(Program p, const Techniques& t) {
  if (t.adapters.operations) return freeze_all_but_adapters(std::move(p), t.adapters);
  const auto trains_beside = [&](const Op& op) {
    const Weight& weight = p.weights[position(op.weight)];
    if (weight.first != Parameter::Count && t.adapters.keeps_input[position(weight.first)]) return true;
    const bool adapted = t.adapters.beside(weight) > 0;
    return adapted && (!t.adapters.scale || op.site == Site::Down);
  };
  std::erase_if(p.ops, [&](const Op& op) {
    if (op.kind == Kind::BiasWeight || op.kind == Kind::GroupedBiasWeight)
      return !t.adapters.trains(p.weights[position(op.weight)]);
    return op.kind == Kind::MatmulWeight && !trains_beside(op);
  });
  return p;
}

}  // namespace hexaplan::costmodel::program
