#pragma once
#include <span>

#include "validator/executor/parallel/rank.h"
#include "validator/executor/parameters/local_tensor.h"

namespace hexaplan::validator {

/// Each matrix of the tensors, which lie in `flat` one behind the other, becomes nearly the orthogonal one
/// that is nearest to it: kNewtonSchulzSteps iterations of a quintic polynomial, whose products are counted
/// as "optimizer.newton_schulz" (arXiv:2502.16982 section 2.1; torch.optim.Muon).
void orthogonalise(const Rank& rank, std::span<const LocalTensor> tensors, const View& flat);

}  // namespace hexaplan::validator
