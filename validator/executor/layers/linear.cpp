#include "validator/executor/layers/linear.h"

#include <memory>
#include <utility>

#include "validator/executor/parallel/tensor.h"

namespace hexaplan::validator {

using costmodel::Pass;

void linear_forward(const Rank& rank, std::string_view operation, const View& x, const View& weight,
                    const View& y) {
  rank.device.gemm({operation, Pass::Forward}, {.a = x, .b = weight, .c = y, .transpose_b = true});
}

void linear_backward_data(const Rank& rank, std::string_view operation, const View& dy, const View& weight,
                          const View& dx) {
  rank.device.gemm({operation, Pass::BackwardData}, {.a = dy, .b = weight, .c = dx});
}

void linear_backward_weight(const Rank& rank, std::string_view operation, const View& dy, const View& x,
                            const View& d_weight) {
  rank.device.gemm({operation, Pass::BackwardWeight},
                   {.a = dy, .b = x, .c = d_weight, .transpose_a = true, .accumulate = true});
}

void WeightGradients::linear(Rank& rank, std::string_view operation, std::string_view enter, Tensor input,
                             MaybeOwned dy, const View& d_weight) {
  const auto make = [operation, enter, d_weight](Rank& r, const View& x, const View& gradient) {
    const MaybeOwned whole =
        enter.empty() ? MaybeOwned{x} : enter_tensor_parallel(r, enter, Pass::BackwardWeight, x);
    linear_backward_weight(r, operation, gradient, whole, d_weight);
  };
  if (!later()) {
    make(rank, input, dy);
    return;
  }
  // The stream's gradient goes on changing: what waits needs a copy of it.
  if (!dy.owned()) {
    Tensor copy = rank.transient("weight_gradient.kept_gradient", dy.view().rows, dy.view().cols);
    rank.device.copy(copy, dy);
    dy = std::move(copy);
  }
  const auto held = std::make_shared<std::pair<Tensor, MaybeOwned>>(std::move(input), std::move(dy));
  add(rank, [make, held](Rank& r) { make(r, held->first, held->second); });
}

void WeightGradients::add(Rank& rank, std::function<void(Rank&)> work) {
  if (later()) {
    kept_.push_back({.layer = rank.layer, .work = std::move(work)});
  } else {
    work(rank);
  }
}

void WeightGradients::run(Rank& rank) {
  const int layer = rank.layer;
  for (Kept& kept : kept_) {
    rank.enter_layer(kept.layer);
    kept.work(rank);
    kept.work = nullptr;
  }
  kept_.clear();
  rank.enter_layer(layer);
}

}  // namespace hexaplan::validator
