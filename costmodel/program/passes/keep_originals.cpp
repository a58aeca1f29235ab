#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "costmodel/program/passes/passes.h"

namespace hexaplan::costmodel::program {
namespace {

/// NVIDIA/Megatron-LM@d98e8a6 set_save_original_input: attention's output, which attention's own backward
/// reads (transformer/attention.py, multi_latent_attention.py); what the router keeps of the shared experts'
/// input (moe/shared_experts.py); activations of experts that are recomputed (moe/experts.py); outputs of
/// recomputed norms (transformer_layer.py, set_for_recompute_input_layernorm and its sibling). Backward casts
/// the original once more (NVIDIA/TransformerEngine@d0067d0 pytorch/module/linear.py).
class Originals {
 public:
  Originals(Program program, std::uint16_t recomputed)
      : before_{std::move(program)}, p_{before_}, recomputed_{recomputed}, again_(p_.values.size(), kNone) {}

  Program run() {
    for (Op op : std::exchange(p_.ops, {})) {
      for (std::size_t i = 0; i < op.reads.size() && op.phase != Phase::Forward; ++i)
        op.reads[i] = of_original(op.reads[i]);
      p_.ops.push_back(op);
    }
    forget_unread_copies();
    return std::move(p_);
  }

 private:
  /// `narrow`, or what is cast in its place before the operation that is about to follow.
  ValueId of_original(ValueId narrow) {
    const Op* cast = cast_of(narrow);
    if (cast == nullptr || !has_original(*cast)) return narrow;
    ValueId& again = again_[position(narrow)];
    if (again != kNone) return again;
    again = p_.like(narrow, p_.of(narrow).role);
    p_.ops.push_back({.site = cast->site,
                      .kind = Kind::Quantise,
                      .reads = {cast->reads[0]},
                      .writes = {again},
                      .phase = Phase::Backward,
                      .pass = Pass::BackwardData});
    return again;
  }
  /// What made `narrow` of an original in forward.
  [[nodiscard]] const Op* cast_of(ValueId narrow) const {
    const bool of_forward = position(narrow) < again_.size() && p_.of(narrow).shape.type == Type::Quantised;
    const Op* made = of_forward ? producer(before_, narrow) : nullptr;
    const bool casts = made != nullptr && made->phase == Phase::Forward &&
                       (made->kind == Kind::Quantise || made->kind == Kind::Copy);
    return casts ? made : nullptr;
  }
  /// Where values entered the tensor-parallel region, which changes nothing of them.
  [[nodiscard]] ValueId entered(ValueId id) const {
    for (const Op* made = producer(before_, id); made != nullptr && made->kind == Kind::EnterTensor;
         made = producer(before_, id))
      id = made->reads[0];
    return id;
  }
  /// True where the original is there in backward without this cast: kept for something else, or made again.
  /// What a recomputed module casts is cast again with it.
  [[nodiscard]] bool has_original(const Op& cast) const {
    if ((row_of(cast.site).modules & recomputed_) != 0) return false;
    const ValueId original = entered(cast.reads[0]);
    const Op* made = producer(before_, original);
    if (made != nullptr && made->phase == Phase::Forward && (row_of(made->site).modules & recomputed_) != 0)
      return true;
    return std::ranges::any_of(before_.ops, [&](const Op& op) {
      return op.phase != Phase::Forward && op.kind != Kind::Quantise &&
             std::ranges::any_of(op.reads, [&](ValueId id) { return entered(id) == original; });
    });
  }
  void forget_unread_copies() {
    std::vector<bool> read(p_.values.size(), false);
    for (const Op& op : p_.ops) {
      for (const ValueId id : op.reads) read[position(id)] = true;
    }
    std::erase_if(p_.ops, [&](const Op& op) {
      return op.kind == Kind::Copy && op.writes.size() == 1 &&
             p_.of(op.writes[0]).shape.type == Type::Quantised && !read[position(op.writes[0])];
    });
  }

  const Program before_;
  Program p_;
  std::uint16_t recomputed_;    // modules whose results are made again
  std::vector<ValueId> again_;  // by value that forward cast: what backward casts in its place
};

}  // namespace

Program keep_originals(Program p, const Techniques& t) {
  // Of core attention the output is kept.
  const auto modules = static_cast<std::uint16_t>(t.modules & ~kRecomputeCoreAttention);
  return Originals{std::move(p), t.recomputed == Recomputed::Modules ? modules : std::uint16_t{0}}.run();
}

}  // namespace hexaplan::costmodel::program
