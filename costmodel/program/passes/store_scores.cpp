#include "costmodel/program/passes/passes.h"

namespace hexaplan::costmodel::program {

Program store_scores(Program p, const Techniques& t) {
  constexpr Shape kScores{Rows::Tokens, Width::Scores};
  for (Value& value : p.values) {
    if (value.tensor != Tensor::LogSumExp) continue;
    value.tensor = Tensor::Scores;
    value.shape = kScores;
  }
  for (Op& op : p.ops) {
    if (op.kind != Kind::Attend) continue;
    if (t.keeps_capped_scores) op.writes.push_back(p.add({.tensor = Tensor::CappedScores, .shape = kScores}));
    if (!t.drops_out) continue;
    op.writes.push_back(p.add({.tensor = Tensor::ScoresDropout, .shape = kScores}));
    op.writes.push_back(
        p.add({.tensor = Tensor::ScoresDropout, .shape = {kScores.rows, kScores.width, Type::Byte}}));
  }
  return p;
}

}  // namespace hexaplan::costmodel::program
