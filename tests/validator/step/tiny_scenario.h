#pragma once
#include <functional>
#include <memory>
#include <string>

#include "costmodel/spec/scenario.h"
#include "validator/executor/step/global_state.h"
#include "validator/executor/step/run_steps.h"
#include "validator/executor/verify/verify.h"

namespace hexaplan::tests {

/// A Llama of a few thousand parameters in Hexaplan's own framework profile: 4 layers, hidden 16, 8 heads of
/// 4, 2 kv heads, 62 words (padded under tensor parallelism), sequences of 16. `layout` decides the rest;
/// the cluster has as many GPUs as it needs.
[[nodiscard]] costmodel::Scenario tiny_scenario(const costmodel::Layout& layout = {});
/// The same model and recipe on one rank.
[[nodiscard]] costmodel::Scenario on_one_rank(costmodel::Scenario scenario);

struct TinyRun {
  validator::ExecutionReport report;
  validator::GlobalState::Tensors parameters;  // after the last step
};
/// `steps` steps on threads, in float64 or on the given devices. Fails the test when rules or executor reject
/// the scenario.
[[nodiscard]] TinyRun run_tiny(const costmodel::Scenario& scenario, int steps = 2,
                               std::function<std::unique_ptr<validator::Device>(int rank)> make_device = {});
/// Fails the test unless every rank, run in float64, allocates, sends and computes what was predicted, and
/// all together what one rank computes. Returns how far apart they are.
validator::Verification expect_what_was_predicted(const costmodel::Scenario& scenario);

}  // namespace hexaplan::tests
