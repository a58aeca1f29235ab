#include "validator/measure/runs/learn_from_runs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "presets/scenario/scenario_request.h"
#include "validator/measure/runs/few_shot.h"

namespace hexaplan::validator {
namespace {

using costmodel::kRunConstantCount;
using costmodel::RunConstant;
using costmodel::RunCorrections;

constexpr std::size_t at(RunConstant constant) {
  return static_cast<std::size_t>(constant);
}

struct Ran {
  const char* layout;
  const char* cluster;
  std::int64_t micro_batch;
};
/// Runs in which computing, links of a node, the network and the host each take their share.
constexpr Ran kRan[] = {
    {"dp8", "8xH100", 1}, {"tp8 sp", "8xH100", 4}, {"tp8 pp2", "16xH100", 1}, {"dp16 zero3", "16xH100", 1}};

/// A world whose constants differ from the presets', and runs measured in it.
class World {
 public:
  explicit World(const RunCorrections& truth) {
    for (const Ran& ran : kRan) {
      presets::ScenarioRequest request;
      request.model = "llama-3.2-1b";
      request.cluster = ran.cluster;
      request.layout = presets::parse_layout(ran.layout, "layout");
      request.recipe.sequence = 2048;
      request.recipe.micro_batch = ran.micro_batch;
      request.recipe.global_batch = 64;
      const presets::CalibratedScenario found = presets::resolve_calibrated(request);
      costmodel::Scenario scenario = found.scenario;
      costmodel::Calibration curves = found.calibration;
      correct(scenario.framework, truth);
      correct(curves, truth);
      const costmodel::Estimate estimate = costmodel::estimate_step(scenario, curves);
      MeasuredCase measured{.id = ran.layout, .source = "own", .family = ran.layout};
      measured.step = estimate.time.total();
      measured.memory = {{MemoryKind::Reserved, MemoryScope::WorstRank,
                          predicted_memory(estimate, MemoryKind::Reserved, MemoryScope::WorstRank)}};
      runs.push_back({measured, found.scenario});
      curves_[found.scenario.cluster.name] = found.calibration;
    }
  }
  [[nodiscard]] RunLearning learn() const {
    return learn_from_runs(
        runs, [this](const costmodel::ClusterSpec& cluster) -> const auto& {
          return curves_.at(cluster.name);
        });
  }
  std::vector<OwnRun> runs;

 private:
  std::map<std::string, costmodel::Calibration> curves_;
};

TEST(learn_from_runs, every_constant_moves_a_figure_of_some_run) {
  const World world{{}};
  const RunLearning learning = world.learn();
  for (const costmodel::RunConstantRow& row : costmodel::run_constants()) {
    RunCorrections moved{};
    moved[at(row.constant)] = 0.2;
    const RunLearning other = World{moved}.learn();
    double most = 0;
    for (std::size_t i = 0; i < learning.figures.size(); ++i)
      most = std::max(most, std::abs(other.figures[i].measured / learning.figures[i].measured - 1));
    EXPECT_GT(most, 1e-4) << row.name;
  }
}

TEST(learn_from_runs, runs_as_predicted_teach_nothing) {
  const RunLearning learning = World{{}}.learn();
  EXPECT_THAT(learning.constants.value, testing::Each(testing::DoubleNear(0, 1e-9)));
  for (const LearnedFigure& figure : learning.figures) EXPECT_NEAR(figure.after / figure.measured, 1, 1e-9);
}

TEST(learn_from_runs, slow_clocks_are_found_and_the_rest_of_the_error_goes) {
  RunCorrections truth{};
  truth[at(RunConstant::Products)] = std::log(0.8);
  truth[at(RunConstant::Reserved)] = std::log(2);
  const RunLearning learning = World{truth}.learn();
  EXPECT_TRUE(learning.constants.told[at(RunConstant::Products)]);
  EXPECT_LT(learning.constants.value[at(RunConstant::Products)], std::log(0.9));
  EXPECT_GT(learning.constants.value[at(RunConstant::Reserved)], 0);
  for (const LearnedFigure& figure : learning.figures) {
    EXPECT_LT(std::abs(std::log(figure.after / figure.measured)),
              0.5 * std::abs(std::log(figure.before / figure.measured)) + 1e-3)
        << figure.id << (figure.memory ? " reserved" : "");
    EXPECT_FALSE(figure.disturbed());
  }
}

TEST(learn_from_runs, a_disturbed_run_counts_little_and_is_named) {
  World world{{}};
  world.runs[1].measured.step = 3 * *world.runs[1].measured.step;
  const RunLearning learning = world.learn();
  for (const LearnedFigure& figure : learning.figures)
    EXPECT_EQ(figure.disturbed(), figure.id == world.runs[1].measured.id && !figure.memory) << figure.id;
  EXPECT_NEAR(learning.figures.front().after / learning.figures.front().measured, 1, 0.05);
}

TEST(learn_from_runs, what_the_runs_do_not_use_stays_as_the_presets_have_it) {
  World world{{}};
  world.runs.resize(1);  // one node, data parallel
  world.runs[0].measured.step = 1.2 * *world.runs[0].measured.step;
  const LearnedConstants constants = world.learn().constants;
  EXPECT_FALSE(constants.told[at(RunConstant::Network)]);
  EXPECT_EQ(constants.value[at(RunConstant::Network)], 0);
  EXPECT_EQ(constants.sigma[at(RunConstant::Network)],
            costmodel::run_constants()[at(RunConstant::Network)].prior);
  EXPECT_TRUE(constants.told[at(RunConstant::Products)]);
}

TEST(learn_constants, runs_of_one_configuration_weigh_as_one) {
  RunEvidence one{.residual = 0.1};
  one.slope[0] = -1;
  const double once = learn_constants({one}).value[0];
  one.weight = 0.25;
  EXPECT_NEAR(learn_constants({one, one, one, one}).value[0], once, 1e-9);
}

TEST(few_shot, what_all_runs_of_a_source_share_is_gone_after_one_and_scatter_stays) {
  std::vector<FewShotCase> cases;
  for (int i = 0; i < 40; ++i) {
    FewShotCase c{.source = i < 20 ? "shares" : "scatters", .kind = "h100 megatron"};
    c.run.slope[at(RunConstant::Products)] = -1;
    c.run.residual = i < 20 || i % 2 == 0 ? 0.15 : -0.15;
    cases.push_back(c);
  }
  const FewShotReport report = score_few_shots(cases);
  ASSERT_EQ(report.sources.size(), 2U);
  const FewShotScores &scatters = report.sources[0].scores, &shares = report.sources[1].scores;
  EXPECT_NEAR(shares[0].before, std::expm1(0.15), 1e-9);
  EXPECT_LT(shares[0].after, 0.6 * shares[0].before);
  EXPECT_LT(shares[1].after, shares[0].after);
  EXPECT_GE(scatters[1].after, scatters[1].before - 1e-9);
  EXPECT_EQ(report.all[1].configurations, 40U);
}

TEST(few_shot, a_source_with_no_runs_left_to_score_is_not_scored) {
  const std::vector<FewShotCase> cases(3, FewShotCase{.source = "small", .kind = "k"});
  const FewShotReport report = score_few_shots(cases);
  EXPECT_EQ(report.sources[0].scores[0].configurations, 3U);
  EXPECT_EQ(report.sources[0].scores[1].configurations, 0U);
  EXPECT_EQ(report.all[1].configurations, 0U);
}

}  // namespace
}  // namespace hexaplan::validator
