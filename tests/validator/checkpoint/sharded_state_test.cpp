#include "validator/executor/checkpoint/sharded_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "costmodel/spec/rules.h"
#include "costmodel/step/estimate.h"
#include "tests/support/temporary_folder.h"
#include "tests/validator/step/tiny_scenario.h"
#include "validator/executor/checkpoint/owned_runs.h"
#include "validator/executor/communicator/threads/thread_ranks.h"
#include "validator/executor/device/cpu/cpu_device.h"

namespace hexaplan::tests {
namespace {

namespace fs = std::filesystem;
using costmodel::Layout;
using costmodel::Scenario;
using validator::CheckpointReader;
using validator::Element;
using validator::RankView;

struct Change {
  std::string name;
  Layout saved, loaded;
  void (*change)(Scenario&) = [](Scenario&) {};
};

void tie(Scenario& scenario) {
  scenario.model.tied_embeddings = true;
}
template <costmodel::Optimizer kOptimizer>
void train_by(Scenario& scenario) {
  scenario.recipe.optimizer = kOptimizer;
}
void route_to_experts(Scenario& scenario) {
  scenario.model.moe = {.experts = 4, .top_k = 2, .expert_ffn = 8, .shared_ffn = 12, .first_k_dense = 1};
}

class Resharded : public testing::TestWithParam<Change> {
 protected:
  TinyRun train(const Scenario& scenario, int first_step, int steps, bool save) const {
    TinyRun run;
    EXPECT_FALSE(costmodel::first_rejection(scenario) || validator::first_not_executable(scenario));
    validator::GlobalState state;
    // As run_tiny: learned routing may fall otherwise where two experts are equally probable.
    validator::RunOptions options{
        .steps = steps, .first_step = first_step, .routing = validator::Routing::InTurn};
    options.make_device = [](int /*rank*/) { return validator::make_cpu_device(Element::F64); };
    std::optional<CheckpointReader> checkpoint;
    if (first_step > 0) {
      checkpoint.emplace(validator::find_checkpoint(folder_));
      EXPECT_EQ(checkpoint->header().step, first_step);
      options.loaded = [&](const RankView& view) { load_checkpoint(*checkpoint, view); };
    }
    options.stepped = [&](const RankView& view) {
      if (view.step != first_step + steps) return;
      if (save) save_checkpoint(folder_, view);
      state.add(view, validator::State::Master);
    };
    validator::ThreadRanks ranks;
    run.report = validator::run_steps(scenario, options, ranks);
    run.parameters = state.tensors();
    return run;
  }

  tests::TemporaryFolder own_;
  fs::path folder_ = own_.path();
};

/// Two steps under one layout, the third under another: as if nothing had happened.
TEST_P(Resharded, training_goes_on_under_another_layout_as_if_uninterrupted) {
  Scenario first = tiny_scenario(GetParam().saved), second = tiny_scenario(GetParam().loaded);
  GetParam().change(first);
  GetParam().change(second);
  const TinyRun whole = run_tiny(on_one_rank(first), 3);
  (void)train(first, 0, 2, true);
  const TinyRun third = train(second, 2, 1, false);
  ASSERT_EQ(third.report.steps.size(), 1U);
  const double loss = whole.report.steps.at(2).loss;
  EXPECT_NEAR(third.report.steps[0].loss, loss, 1e-10 * loss);
  EXPECT_NEAR(third.report.steps[0].gradient_norm, whole.report.steps[2].gradient_norm, 1e-10);
  const auto worst = validator::largest_difference(third.parameters, whole.parameters);
  EXPECT_LE(worst.relative, 1e-10) << worst.parameter.second << " of unit " << worst.parameter.first;
}

TEST(owned_pieces, are_the_part_s_runs_however_many_elements_come_at_a_time) {
  const auto unit = validator::plan_unit(tiny_scenario({.tp = 2}), 1, {.tp_rank = 1});
  for (const validator::LocalTensor& tensor : unit.dense) {
    const std::int64_t elements = tensor.elements() - 1;  // of a shard that begins at the second
    const validator::OwnedPart part{
        .tensor = &tensor,
        .first = 1,
        .view = {.data = nullptr, .element = Element::F64, .rows = 1, .cols = elements, .stride = elements}};
    std::vector<std::pair<std::int64_t, std::int64_t>> whole, pieces;  // place in the part, in the tensor
    const auto add = [](auto& to, const validator::OwnedRun& run, std::int64_t begin) {
      for (std::int64_t i = 0; i < run.count; ++i) to.emplace_back(begin + run.local + i, run.global + i);
    };
    for (const validator::OwnedRun& run : validator::runs_of(part)) add(whole, run, 0);
    std::int64_t seen = 0;
    const auto visit = [&](const validator::OwnedPiece& piece) {
      for (const validator::OwnedRun& run : piece.runs) add(pieces, run, seen);
      seen += piece.view.elements();
    };
    for (const std::int64_t at_once : {1, 7, 1000000}) {
      pieces.clear();
      seen = 0;
      validator::for_each_piece(part, visit, at_once);
      EXPECT_EQ(pieces, whole) << tensor.name << ", " << at_once << " at a time";
      EXPECT_EQ(seen, elements);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    validator, Resharded,
    testing::Values(Change{"tp2_to_pp2", {.tp = 2}, {.pp = 2}},
                    Change{"zero3_to_tp4", {.dp = 4, .sharding = {.stage = 3}}, {.tp = 4, .sp = true}},
                    Change{"pp4_to_one", {.pp = 4}, {}},
                    Change{"hybrid_to_zero1",
                           {.dp = 4, .sharding = {.stage = 3, .group = 2}},
                           {.dp = 2, .tp = 2, .sharding = {.stage = 1}}},
                    Change{"tied_pp2_to_tp2", {.pp = 2}, {.tp = 2}, tie},
                    Change{"tied_tp2_to_pp2", {.tp = 2}, {.dp = 2, .pp = 2, .sharding = {.stage = 2}}, tie},
                    Change{"cp2_to_pp2_dp2", {.cp = 2}, {.dp = 2, .pp = 2}},
                    Change{"lion_zero2_to_tp2",
                           {.dp = 2, .sharding = {.stage = 2}},
                           {.tp = 2},
                           train_by<costmodel::Optimizer::Lion>},
                    Change{"lamb_tp2_to_zero3",
                           {.tp = 2},
                           {.dp = 4, .sharding = {.stage = 3}},
                           train_by<costmodel::Optimizer::Lamb>},
                    Change{"sgd_pp2_to_zero1",
                           {.pp = 2},
                           {.dp = 2, .sharding = {.stage = 1}},
                           train_by<costmodel::Optimizer::Sgd>},
                    Change{"adamw_8bit_zero1_to_pp2",
                           {.dp = 4, .sharding = {.stage = 1}},
                           {.pp = 2},
                           train_by<costmodel::Optimizer::AdamW8bit>},
                    Change{"muon_zero3_to_pp2",
                           {.dp = 4, .sharding = {.stage = 3}},
                           {.pp = 2},
                           train_by<costmodel::Optimizer::Muon>},
                    Change{"adafactor_tp4_to_zero3",
                           {.tp = 4, .sp = true},
                           {.dp = 4, .sharding = {.stage = 3}},
                           train_by<costmodel::Optimizer::Adafactor>},
                    Change{"adafactor_tied_zero1_pp2_to_tp2",
                           {.dp = 2, .pp = 2, .sharding = {.stage = 1}},
                           {.tp = 2},
                           [](Scenario& sc) {
                             tie(sc);
                             train_by<costmodel::Optimizer::Adafactor>(sc);
                           }},
                    Change{"adafactor_experts_ep2_to_tp2_zero3",
                           {.dp = 2, .ep = 2},
                           {.dp = 2, .tp = 2, .sp = true, .sharding = {.stage = 3}},
                           [](Scenario& sc) {
                             route_to_experts(sc);
                             train_by<costmodel::Optimizer::Adafactor>(sc);
                           }},
                    Change{"experts_ep2_to_etp1",
                           {.dp = 2, .ep = 2},
                           {.dp = 2, .tp = 2, .ep = 2, .etp = 1, .sp = true},
                           route_to_experts},
                    Change{"experts_zero3_ep4_to_one",
                           {.dp = 4, .ep = 4, .sharding = {.stage = 3}},
                           {},
                           route_to_experts},
                    Change{"experts_tp2_to_zero1_ep2",
                           {.tp = 2, .sp = true},
                           {.dp = 4, .ep = 2, .sharding = {.stage = 1}},
                           route_to_experts}),
    [](const auto& param) { return param.param.name; });

TEST_F(Resharded, a_checkpoint_of_another_model_is_refused_with_both_sizes) {
  Scenario scenario = tiny_scenario({});
  (void)train(scenario, 0, 1, true);
  scenario.model.hidden = 32;
  scenario.model.attention.head_dim = scenario.model.attention.v_head_dim = 8;
  try {
    (void)train(scenario, 1, 1, false);
    FAIL() << "it was loaded";
  } catch (const validator::RankFault& fault) {
    EXPECT_THAT(fault.what(),
                testing::HasSubstr("holds a model of 4 layers, hidden 16, 8 heads (2 kv) of 4"));
    EXPECT_THAT(fault.what(),
                testing::HasSubstr("the scenario's has 4 layers, hidden 32, 8 heads (2 kv) of 8"));
  }
}

}  // namespace
}  // namespace hexaplan::tests
