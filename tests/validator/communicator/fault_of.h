#pragma once
#include <gtest/gtest.h>

#include <span>

#include "validator/executor/communicator/communicator.h"
#include "validator/executor/communicator/rank_fault.h"

namespace hexaplan::validator {

inline constexpr Call kCall{.operation = "mlp.down", .layer = 3, .microbatch = 1};

/// One all-reduce of all ranks.
inline void meet(Communicator& world) {
  double value = 1;
  world.all_reduce(std::span{&value, 1}, Reduction::Sum, kCall).wait();
}

/// The fault that `run` ends in.
template <class Run>
RankFault fault_of(const Run& run) {
  try {
    run();
  } catch (const RankFault& fault) {
    return fault;
  }
  ADD_FAILURE() << "no fault";
  return RankFault{Fault{}};
}

}  // namespace hexaplan::validator
