#include "validator/executor/layers/head.h"

#include <utility>

#include "validator/executor/layers/embedding.h"
#include "validator/executor/parallel/tensor.h"

namespace hexaplan::validator {
namespace {

using costmodel::DType;
using costmodel::Pass;
using costmodel::TensorKind;

/// Turns logits into their gradient and adds up the loss.
void cross_entropy(const Rank& rank, const View& logits, const View& targets, double factor,
                   const View& loss) {
  const VocabularyPart part = vocabulary_part(rank);
  const auto fp32 = [&](std::string_view name, std::int64_t cols) {
    return rank.device.allocate({name, TensorKind::Logits, DType::Fp32}, logits.rows, cols);
  };
  const auto reduce = [&](const View& x, Reduction reduction) {
    if (rank.groups.tensor->size() == 1) return;
    rank.groups.tensor->all_reduce(wire(x), reduction, rank.call("loss.reduce", Pass::Forward, DType::Fp32))
        .wait();
  };
  const Tensor maxima = fp32("loss.maxima", 1);
  rank.device.row_max(logits, part.words, maxima);
  reduce(maxima, Reduction::Max);
  const Tensor sums = fp32("loss.sums", 2);
  rank.device.cross_entropy_sums(logits, part.words, maxima, targets, part.first, sums);
  reduce(sums, Reduction::Sum);
  rank.device.cross_entropy_gradient(logits, part.words, maxima, sums, targets, part.first, factor, logits,
                                     loss);
}

Tensor logits_of(const Rank& rank, const View& normed, const View& matrix) {
  const MaybeOwned x = enter_tensor_parallel(rank, "head.enter_tp", Pass::Forward, normed);
  Tensor logits = rank.device.allocate({"head.logits", TensorKind::Logits, rank.activation}, rank.dims.tokens,
                                       rank.dims.vocab);
  linear_forward(rank, "head.logits", x, matrix, logits);
  return logits;
}

}  // namespace

Tensor head_forward_backward(Rank& rank, const Unit& unit, const Unit& words, std::string_view matrix,
                             Tensor x, const View& targets, double factor, const View& loss) {
  rank.device.memory().enter(costmodel::kLoss);
  const Keeping keep{.kind = TensorKind::Logits, .activation = rank.activation};
  Normed norm = norm_forward(rank, x, unit.weight("final_norm.weight"), keep);
  Tensor logits = logits_of(rank, norm.output, words.weight(matrix));
  cross_entropy(rank, logits, targets, factor, loss);

  rank.device.memory().enter(costmodel::kHeadBackward);
  const TensorLabel label{"norm.output.gradient", TensorKind::Transient, rank.activation};
  Tensor partial = partial_output(rank, label);
  linear_backward_data(rank, "head.logits", logits, words.weight(matrix), partial);
  Tensor d_normed =
      leave_tensor_parallel(rank, "head.enter_tp", Pass::BackwardData, std::move(partial), label);
  WeightGradients at_once{WeightGradients::When::AtOnce};
  at_once.linear(rank, "head.logits", "head.enter_tp", std::move(norm.output), std::move(logits),
                 words.gradient(matrix));

  Tensor d = rank.device.allocate({"head.input_gradient", TensorKind::Activation, rank.activation},
                                  x.view().rows, x.view().cols);
  rank.device.fill(d, 0);
  norm_backward(rank, d_normed, x, unit.weight("final_norm.weight"), norm.stats, d,
                unit.gradient("final_norm.weight"));
  return d;
}

}  // namespace hexaplan::validator
