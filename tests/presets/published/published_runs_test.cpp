#include "presets/published/published_runs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "costmodel/step/estimate.h"
#include "presets/scenario/scenario_request.h"

namespace hexaplan::presets {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::HasSubstr;

CalibratedScenario ask(const char* cluster, const char* layout, const char* framework = "megatron") {
  ScenarioRequest request;
  request.model = "llama-3.1-8b";
  request.cluster = cluster;
  request.framework = framework;
  request.layout = parse_layout(layout, "layout");
  request.recipe.sequence = 8192;
  return resolve_calibrated(request);
}

TEST(published_runs, the_nearest_come_first_each_with_its_source_and_both_times) {
  const Evidence evidence = evidence_for(ask("64xH100", "tp2 pp2").scenario, 8);
  ASSERT_EQ(evidence.nearest.size(), 8U);
  EXPECT_TRUE(std::is_sorted(evidence.nearest.begin(), evidence.nearest.end(),
                             [](const auto& a, const auto& b) { return a.distance < b.distance; }));
  for (const PublishedRun& run : evidence.nearest) {
    EXPECT_FALSE(run.source.empty()) << run.id;
    EXPECT_GT(run.measured.value(), 0) << run.id;
    EXPECT_GT(run.predicted.value(), 0) << run.id;
    EXPECT_GE(run.runs, 1) << run.id;
  }
  EXPECT_EQ(evidence.nearest.front().gpu, "h100-80-sxm");
}

TEST(published_runs, each_step_away_from_a_question_makes_a_run_less_near) {
  // NVIDIA's Llama-3-8B on 8 H100 (docs of NeMo 24.07): the same GPU, framework, model and scale.
  struct Step {
    const char *cluster, *layout, *framework;
    double less;  // distance of the nearest, at least so much more than in the row above
  };
  double before = -1;
  for (const auto& [cluster, layout, framework, less] :
       {Step{"8xH100", "dp8", "megatron", 0}, Step{"8xH200", "dp8", "megatron", 0.4},
        Step{"2048xH200", "tp8 pp8 cp2 dp16", "megatron", 1}}) {
    const double nearest = evidence_for(ask(cluster, layout, framework).scenario, 1).nearest.front().distance;
    EXPECT_GE(nearest, before + less) << cluster << ' ' << layout;
    before = nearest;
  }
}

TEST(published_runs, what_nobody_has_published_is_said) {
  ScenarioRequest request;
  request.model = "deepseek-v3";
  request.cluster = "2048xH800";
  request.layout = parse_layout("pp16 ep64 dualpipe", "layout");
  const costmodel::Scenario scenario = resolve_calibrated(request).scenario;
  const Evidence evidence = evidence_for(scenario, 1);
  const auto lines = evidence_lines(evidence, scenario);
  EXPECT_LE(lines.size(), 3U);
  EXPECT_THAT(lines, Contains(AllOf(HasSubstr("nobody is known to have published a run"),
                                    HasSubstr("with DualPipe"))));
  EXPECT_THAT(lines, Contains(AllOf(HasSubstr("published with"), HasSubstr("expert parallelism: "))));
  const auto few = evidence_for(ask("8xT4", "tp8").scenario, 1);
  EXPECT_EQ(few.runs_on_gpu, 0);
  EXPECT_THAT(evidence_lines(few, ask("8xT4", "tp8").scenario), Contains(HasSubstr("on t4")));
}

TEST(published_runs, no_more_runs_are_on_a_gpu_than_there_are) {
  const Evidence evidence = evidence_for(ask("64xH100", "tp2 pp4 vpp2 cp2").scenario, 1);
  ASSERT_FALSE(evidence.techniques.empty());
  EXPECT_GT(evidence.runs_on_gpu, 0);
  EXPECT_GT(evidence.runs_with_framework, 0);
  for (const TechniqueSupport& support : evidence.techniques)
    EXPECT_LE(support.runs_on_gpu, evidence.runs_on_gpu) << support.evidence.name;
}

}  // namespace
}  // namespace hexaplan::presets
