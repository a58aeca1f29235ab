#pragma once
#include <functional>

#include "costmodel/spec/scenario.h"
#include "validator/executor/communicator/threads/thread_ranks.h"
#include "validator/executor/device/cpu/cpu_device.h"
#include "validator/executor/parallel/rank.h"

namespace hexaplan::validator {

/// Runs `program` on every rank of the scenario's layout, each a thread with a float64 device of its own.
inline void on_every_rank(const costmodel::Scenario& scenario, const std::function<void(Rank&)>& program) {
  ThreadRanks backend;
  backend.run({.ranks = static_cast<int>(scenario.layout.world_size())}, [&](Communicator& world) {
    const auto device = make_cpu_device(Element::F64);
    Rank rank{scenario, *device, world};
    program(rank);
  });
}

}  // namespace hexaplan::validator
