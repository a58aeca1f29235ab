#include "validator/executor/layers/embedding.h"

#include <algorithm>
#include <utility>

#include "validator/executor/parallel/tensor.h"

namespace hexaplan::validator {
namespace {

using costmodel::Pass;
using costmodel::TensorKind;

constexpr std::string_view kTable = "embedding.word.weight";

}  // namespace

VocabularyPart vocabulary_part(const Rank& rank) {
  const std::int64_t rows = rank.dims.vocab;
  const std::int64_t first = rank.position(costmodel::Axis::Tensor) * rows;
  return {.first = first,
          .rows = rows,
          .words = std::clamp<std::int64_t>(rank.scenario.model.vocab - first, 0, rows)};
}

Tensor embedding_forward(const Rank& rank, const Unit& unit, const View& ids) {
  const TensorLabel label{"layer.output", TensorKind::Transient, rank.activation};
  Tensor partial = partial_output(rank, label);
  rank.device.embedding_lookup(ids, unit.weight(kTable), vocabulary_part(rank).first, partial);
  return leave_tensor_parallel(rank, "embedding.leave_tp", Pass::Forward, std::move(partial), label);
}

void embedding_backward(const Rank& rank, const Unit& unit, const View& ids, const View& d) {
  const MaybeOwned all = enter_tensor_parallel(rank, "embedding.leave_tp", Pass::BackwardData, d);
  rank.device.embedding_backward(ids, all, vocabulary_part(rank).first, unit.gradient(kTable));
}

}  // namespace hexaplan::validator
