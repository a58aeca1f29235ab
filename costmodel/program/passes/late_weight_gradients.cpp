#include <algorithm>

#include "costmodel/program/passes/passes.h"
#include "costmodel/units/mutation.h"

namespace hexaplan::costmodel::program {
namespace {

/// Behind which operation the weight gradient at `at` belongs.
std::size_t place_for(const Program& p, std::size_t at) {
  const ValueId input = p.ops[at].reads[0];
  const Op* made = producer(p, input);
  const bool entered = made != nullptr && (made->kind == Kind::AllGather || made->kind == Kind::EnterTensor);
  std::size_t last = at;
  for (std::size_t i = at + 1; i < p.ops.size(); ++i) {
    const Op& other = p.ops[i];
    const bool reads = other.reads.contains(input) && other.kind != Kind::MatmulWeight;
    const bool answers = !mutant("wgrad-does-not-wait-for-its-collective") && entered &&
                         other.site == made->site && other.phase == Phase::Backward;
    if (reads || answers) last = i;
  }
  return last;
}

}  // namespace

Program delay_weight_gradients(Program p, const Techniques& /*techniques*/) {
  using Offset = std::vector<Op>::difference_type;
  for (std::size_t i = p.ops.size(); i-- > 0;) {
    if (p.ops[i].kind != Kind::MatmulWeight ||
        (p.ops[i].site == Site::Router && !mutant("router-wgrad-is-late")))
      continue;
    const auto from = p.ops.begin() + static_cast<Offset>(i);
    std::rotate(from, from + 1, p.ops.begin() + static_cast<Offset>(place_for(p, i)) + 1);
  }
  return p;
}

}  // namespace hexaplan::costmodel::program
