#include "tests/validator/step/tiny_scenario.h"

#include <gtest/gtest.h>

#include <utility>

#include "costmodel/spec/rules.h"
#include "costmodel/step/estimate.h"
#include "presets/frameworks/framework_preset.h"
#include "validator/executor/communicator/threads/thread_ranks.h"
#include "validator/executor/device/cpu/cpu_device.h"

namespace hexaplan::tests {

costmodel::Scenario tiny_scenario(const costmodel::Layout& layout) {
  costmodel::Scenario sc;
  costmodel::ModelSpec& m = sc.model;
  m.name = "tiny";
  m.layers = 4;
  m.hidden = 16;
  m.vocab = 62;
  m.attention = {.heads = 8, .kv_heads = 2, .head_dim = 4, .v_head_dim = 4};
  m.mlp = {.ffn = 24};
  sc.recipe.sequence = 16;
  sc.recipe.micro_batch = 1;
  sc.recipe.global_batch = 8;
  sc.layout = layout;
  sc.cluster.gpus = static_cast<int>(layout.world_size());
  sc.cluster.gpu.name = "cpu";
  sc.cluster.gpu.memory = costmodel::Bytes{1e9};
  sc.cluster.gpu.memory_bandwidth = costmodel::BytesPerSecond{1e11};
  sc.cluster.gpu.sm_count = 1;
  sc.cluster.gpus_per_node = static_cast<int>(sc.cluster.gpus);
  sc.cluster.levels = {{.name = "host",
                        .fabric = costmodel::Fabric::NvSwitch,
                        .ranks = layout.world_size(),
                        .bandwidth = costmodel::BytesPerSecond{1e10}}};
  sc.cluster.gpu.peak.fill(costmodel::FlopsPerSecond{1e12});
  sc.framework =
      presets::read_framework_preset(HEXAPLAN_SOURCE_DIR "/presets/frameworks/hexaplan.json").profile;
  return sc;
}

costmodel::Scenario on_one_rank(costmodel::Scenario sc) {
  sc.layout = {};
  sc.cluster.gpus = 1;
  sc.recipe.recompute = {};
  sc.recipe.offload = 0;
  sc.recipe.optimizer_in_backward = false;
  sc.recipe.execution.reduction = costmodel::GradientReduction::Default;
  return sc;
}

TinyRun run_tiny(const costmodel::Scenario& sc, int steps,
                 std::function<std::unique_ptr<validator::Device>(int rank)> make_device) {
  TinyRun run;
  if (const auto rejected = costmodel::first_rejection(sc)) {
    ADD_FAILURE() << rejected->reason;
    return run;
  }
  if (const auto rejected = validator::first_not_executable(sc)) {
    ADD_FAILURE() << rejected->reason;
    return run;
  }
  validator::GlobalState state;
  validator::RunOptions options{.steps = steps, .routing = validator::Routing::InTurn};
  if (!make_device)
    make_device = [](int /*rank*/) { return validator::make_cpu_device(validator::Element::F64); };
  options.make_device = std::move(make_device);
  options.stepped = [&](const validator::RankView& view) {
    if (view.step == steps) state.add(view, validator::State::Master);
  };
  validator::ThreadRanks ranks;
  run.report = validator::run_steps(sc, options, ranks);
  run.parameters = state.tensors();
  return run;
}

validator::Verification expect_what_was_predicted(const costmodel::Scenario& sc) {
  validator::VerifyOptions options;
  options.make_device = [](int /*rank*/) { return validator::make_cpu_device(validator::Element::F64); };
  validator::ThreadRanks ranks;
  validator::Verification result = validator::verify(sc, options, ranks);
  EXPECT_EQ(result.fault, "");
  for (const validator::Mismatch& m : result.mismatches)
    ADD_FAILURE() << "rank " << m.rank << ", " << m.what << ": predicted " << m.predicted << ", executed "
                  << m.executed;
  EXPECT_GT(result.compared, 20);
  return result;
}

}  // namespace hexaplan::tests
