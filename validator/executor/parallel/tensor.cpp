#include "validator/executor/parallel/tensor.h"

namespace hexaplan::validator {

MaybeOwned enter_tensor_parallel(const Rank& rank, std::string_view operation, costmodel::Pass pass,
                                 const View& x) {
  if (!rank.scenario.layout.sp || rank.groups.tensor->size() == 1) return x;
  return gather_sequence(rank, x, rank.call(operation, pass));
}

Tensor partial_output(const Rank& rank, const TensorLabel& label) {
  const bool scatters = rank.scenario.layout.sp && rank.groups.tensor->size() > 1;
  return scatters ? rank.transient("tensor_parallel.partial", rank.dims.tokens, rank.dims.hidden)
                  : rank.device.allocate(label, rank.dims.tokens, rank.dims.hidden);
}

Tensor leave_tensor_parallel(const Rank& rank, std::string_view operation, costmodel::Pass pass,
                             Tensor partial, const TensorLabel& label) {
  if (rank.groups.tensor->size() == 1) return partial;
  const Call call = rank.call(operation, pass);
  if (!rank.scenario.layout.sp) {
    rank.groups.tensor->all_reduce(wire(partial), Reduction::Sum, call).wait();
    return partial;
  }
  Tensor own = rank.device.allocate(label, rank.dims.sp_tokens, partial.view().cols);
  scatter_sequence(rank, partial, own, call);
  return own;
}

}  // namespace hexaplan::validator
