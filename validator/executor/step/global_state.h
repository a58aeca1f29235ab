#pragma once
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "validator/executor/step/run_steps.h"

namespace hexaplan::validator {

/// One state of the whole, unsharded model on the host, put together from what ranks of one process own.
class GlobalState {
 public:
  /// Unit (layer, or an end: UnitPlan) and parameter.
  using Key = std::pair<int, std::string>;
  using Tensors = std::map<Key, std::vector<double>>;

  /// Adds what this rank owns; ranks may call it at the same time.
  void add(const RankView& rank, State state);
  [[nodiscard]] const Tensors& tensors() const { return tensors_; }

 private:
  std::mutex mutex_;
  Tensors tensors_;
};

/// How far two states are apart: per parameter ‖a − b‖ / ‖b‖ (0 where both are zero, infinite where sizes
/// differ or one is missing).
struct Difference {
  GlobalState::Key parameter;
  double relative = 0;
};
/// The largest.
[[nodiscard]] Difference largest_difference(const GlobalState::Tensors& a, const GlobalState::Tensors& b);

}  // namespace hexaplan::validator
