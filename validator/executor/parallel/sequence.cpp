// Sequence parallelism: outside attention and MLP every tensor-parallel rank keeps its share of the tokens
// (arXiv:2205.05198 §4.2.2). Rows of a micro-batch are sequence after sequence; ranks own consecutive rows.
#include "validator/executor/parallel/tensor.h"

namespace hexaplan::validator {

Tensor gather_sequence(const Rank& rank, const View& x, const Call& call) {
  Tensor all = rank.transient("tensor_parallel.gathered", x.rows * rank.groups.tensor->size(), x.cols);
  rank.groups.tensor->all_gather(wire(x), wire(all), call).wait();
  return all;
}

void scatter_sequence(const Rank& rank, const View& partial, const View& out, const Call& call) {
  rank.groups.tensor->reduce_scatter(wire(partial), wire(out), Reduction::Sum, call).wait();
}

}  // namespace hexaplan::validator
