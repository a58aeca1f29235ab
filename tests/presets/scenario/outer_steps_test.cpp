// Words of replicas that train apart, and what they make of a thin link between sites.
#include <gmock/gmock.h>

#include <string>

#include "costmodel/spec/rules.h"
#include "costmodel/step/estimate.h"
#include "presets/scenario/layout_text.h"
#include "presets/scenario/recipe_fields.h"
#include "presets/scenario/scenario_request.h"
#include "presets/truth/row_of_scenario.h"
#include "presets/truth/scenario_of_row.h"

namespace hexaplan::presets {
namespace {

using costmodel::Scenario;
using testing::HasSubstr;

ScenarioRequest sites(const std::string& cluster, const std::string& layout, const std::string& every) {
  ScenarioRequest request;
  request.model = "llama-3.1-8b";
  request.cluster = cluster;
  request.framework = "fsdp2";
  request.layout = parse_layout(layout, "layout");
  request.recipe.sequence = 8192, request.recipe.global_batch = 2048;
  if (!every.empty()) set_recipe_field(request.recipe, "outer_steps", "outer_steps", every);
  return request;
}
double step(const ScenarioRequest& request) {
  const CalibratedScenario found = resolve_calibrated(request);
  EXPECT_FALSE(costmodel::first_rejection(found.scenario));
  return costmodel::estimate_step(found.scenario, found.calibration).time.total().value();
}

TEST(outer_step_words, are_read_and_written_and_leave_data_parallelism_the_rest) {
  const ScenarioRequest request = sites("16x8xH100+ib400", "diloco2 tp2 fsdp", "500");
  EXPECT_EQ(to_layout_text(request.layout), "diloco2 tp2 fsdp");
  const Scenario sc = resolve(request).scenario;
  EXPECT_EQ(sc.layout.outer_replicas, 2);
  EXPECT_EQ(sc.layout.dp * 2 * 2, sc.cluster.gpus);
  EXPECT_EQ(sc.layout.world_size(), sc.cluster.gpus);
  EXPECT_EQ(sc.recipe.outer.every, 500);
  try {
    static_cast<void>(resolve(sites("3x8xH100", "diloco5", "500")));
    FAIL() << "five replicas of 24 GPUs";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("diloco·tp·cp·pp that divides 24 GPUs, not 5"));
  }
}

TEST(outer_step_words, are_said_by_rows_of_measured_runs) {
  Scenario sc = resolve(sites("2x8xH100+ib400", "diloco2 fsdp", "100")).scenario;
  sc.recipe.outer.dtype = costmodel::DType::Fp8;
  sc.recipe.outer.states = costmodel::OuterStates::CopyOnHost;
  const std::string row = truth_row_of(sc, {.id = "a", .source = "b"});
  EXPECT_THAT(truth_table_head(), HasSubstr(",outer_replicas,outer_steps,outer_dtype,outer_states"));
  EXPECT_THAT(row, HasSubstr(",2,100,fp8,copy-on-host"));
}

/// Two sites of 32 nodes, joined by 400 Gbit/s over 1000 km.
constexpr const char* kThinLink = "64x8xH100+ib3200+tier:site:256+tier:wan:400gbps:10.5ms";

TEST(outer_steps_over_sites, make_the_step_that_of_a_site_alone_as_they_become_rare) {
  const double alone = step([] {
    ScenarioRequest one = sites("32x8xH100+ib3200", "fsdp", "");
    one.recipe.global_batch = 1024;
    return one;
  }());
  const double joined = step(sites(kThinLink, "hsdp256", ""));
  double before = joined;
  for (const char* every : {"10", "50", "500"}) {
    const double now = step(sites(kThinLink, "diloco2 fsdp", every));
    EXPECT_LT(now, before) << every;
    EXPECT_GT(now, alone) << every;
    before = now;
  }
  EXPECT_LT(before, 1.02 * alone);
  EXPECT_GT(joined, 1.1 * alone);
}

TEST(outer_steps_over_sites, of_the_preset_are_shorter_than_every_steps_gradients) {
  const auto of_preset = [](const char* layout, const char* every) {
    ScenarioRequest request = sites("two-sites-h100", layout, every);
    request.recipe.global_batch = 6144;
    return step(request);
  };
  EXPECT_LT(of_preset("diloco2 fsdp", "100"), of_preset("hsdp1536", ""));
}

}  // namespace
}  // namespace hexaplan::presets
