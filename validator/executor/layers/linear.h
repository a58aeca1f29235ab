#pragma once
#include <functional>
#include <string_view>
#include <vector>

#include "validator/executor/parallel/rank.h"

namespace hexaplan::validator {

/// y = x·Wᵀ. x: T×inputs, W: outputs×inputs, y: T×outputs.
void linear_forward(const Rank& rank, std::string_view operation, const View& x, const View& weight,
                    const View& y);
/// dx = dy·W.
void linear_backward_data(const Rank& rank, std::string_view operation, const View& dy, const View& weight,
                          const View& dx);
/// dW += dyᵀ·x.
void linear_backward_weight(const Rank& rank, std::string_view operation, const View& dy, const View& x,
                            const View& d_weight);

/// Weight gradients of a backward pass: made at once, or kept for later by schedules that fill bubbles with
/// them (arXiv:2401.10241 §2). Inputs are given away in both cases, so that layers are written once.
class WeightGradients {
 public:
  enum class When { AtOnce, Later };
  explicit WeightGradients(When when) : when_{when} {}

  /// dW += dyᵀ·input, the input gathered over tensor-parallel ranks first under `enter` (empty: it is whole).
  void linear(Rank& rank, std::string_view operation, std::string_view enter, Tensor input, MaybeOwned dy,
              const View& d_weight);
  /// Any other work of this kind; `work` owns what it needs.
  void add(Rank& rank, std::function<void(Rank&)> work);
  /// What was kept, in the order of the backward pass; frees it.
  void run(Rank& rank);
  [[nodiscard]] bool later() const { return when_ == When::Later; }

 private:
  struct Kept {
    int layer = -1;
    std::function<void(Rank&)> work;
  };
  When when_;
  std::vector<Kept> kept_;
};

}  // namespace hexaplan::validator
