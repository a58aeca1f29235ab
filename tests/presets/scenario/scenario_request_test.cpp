#include "presets/scenario/scenario_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "presets/json/input_error.h"

namespace hexaplan::presets {
namespace {

ScenarioRequest read(const std::string& json) {
  return read_scenario(parse_json(json, "run.json"));
}

std::string error_of(const std::string& json) {
  try {
    (void)read(json);
    return "accepted";
  } catch (const InputError& error) {
    return error.what();
  }
}

TEST(scenario, reads_numbers_with_units_and_layouts_as_text_or_object) {
  const ScenarioRequest text = read(
      R"({"schema": "hexaplan/scenario/1", "model": "llama-3.1-8b", "cluster": "64xH100", "layout": "tp2 pp2 sp zero1 stages=16/16",
          "recipe": {"sequence": "8k", "global_batch": 1024, "tokens": "15T", "recompute": "layers=4"}, "price_per_hour": 2.5})");
  EXPECT_EQ(text.recipe.sequence, 8192);
  EXPECT_EQ(text.recipe.tokens, 15'000'000'000'000);
  EXPECT_EQ(text.price_per_hour, 2.5);
  const ScenarioRequest object = read(
      R"({"schema": "hexaplan/scenario/1", "layout": {"tp": 2, "pp": 2, "sp": true, "zero": 1, "stages": [16, 16]}})");
  EXPECT_EQ(text.layout, object.layout);
}

TEST(scenario, what_is_written_reads_back_the_same) {
  ScenarioRequest request;
  request.model = JsonObject{{"model_type", "llama"}, {"hidden_size", 4096}};
  request.cluster = JsonObject{{"gpu", "h100"}, {"gpus", 64}};
  request.framework = "fsdp2";
  request.calibration = "h100-80-sxm";
  request.layout = parse_layout("dp8 tp2 pp4 vpp2 zero1 sp", "layout");
  request.price_per_hour = 1.25;
  costmodel::Recipe& r = request.recipe;
  r.sequence = 8192, r.micro_batch = 2, r.global_batch = 512, r.tokens = 1'000'000, r.dropout = 0.1;
  r.precision = costmodel::Precision::Fp8Block;
  r.parameter_dtype = costmodel::DType::Fp32, r.gradient_dtype = costmodel::DType::Bf16;
  r.optimizer = costmodel::Optimizer::Muon, r.optimizer_in_backward = true, r.fused_norm = false;
  r.projection_rank = 64, r.projection_interval = 50;
  r.recompute = {.mode = costmodel::RecomputeMode::Layers, .layers = 3};
  r.attention = costmodel::AttentionKernel::Unfused, r.cross_entropy = costmodel::CrossEntropy::Chunked;
  r.fine_tune = costmodel::FineTune::Lora, r.lora_rank = 16, r.trainable_parameters = 12345;
  r.offload = costmodel::kOffloadOptimizer | costmodel::kOffloadActivations,
  r.offload_device = costmodel::OffloadDevice::Nvme;
  r.routing = {.imbalance = 1.5, .capacity_factor = 1.25, .pad_to_capacity = true};
  EXPECT_EQ(read(to_text(to_json(request))), request);
  EXPECT_EQ(read(to_text(to_json(ScenarioRequest{}))), ScenarioRequest{});
}

TEST(scenario, unknown_keys_are_errors_that_name_the_nearest) {
  EXPECT_EQ(error_of(R"({"schema": "hexaplan/scenario/1", "modle": "x"})"),
            "run.json: /modle: got an unknown key, expected one of schema, model, cluster, framework, "
            "layout, recipe, calibration, fabric, price_per_hour, filled; did you mean \"model\"?");
  EXPECT_THAT(error_of(R"({"schema": "hexaplan/scenario/1", "recipe": {"sequense": 1}})"),
              testing::EndsWith("; did you mean \"sequence\"?"));
}

TEST(scenario, values_are_checked_where_they_stand) {
  EXPECT_EQ(error_of(R"({"schema": "hexaplan/scenario/2"})"),
            "run.json: /schema: got \"hexaplan/scenario/2\", expected \"hexaplan/scenario/1\"");
  EXPECT_EQ(error_of(R"({"schema": "hexaplan/scenario/1", "recipe": {"micro_batch": 0}})").substr(0, 36),
            "run.json: /recipe/micro_batch: got 0");
  EXPECT_EQ(error_of(R"({"schema": "hexaplan/scenario/1", "layout": "tp0"})"),
            "run.json: /layout: got \"tp0\", expected tp with a whole number from 1 to 1000000");
  EXPECT_EQ(error_of(R"({"schema": "hexaplan/scenario/1", "layout": {"tpp": 2}})").substr(0, 34),
            "run.json: /layout: got \"tpp=2\", ex");
}

TEST(resolve, derives_dp_from_the_cluster_and_fills_what_was_left_open) {
  ScenarioRequest request;
  request.model = "llama-3.1-8b";
  request.cluster = "16xH100";
  request.layout = parse_layout("tp2 pp2", "layout");
  const ResolvedScenario resolved = resolve(request);
  EXPECT_EQ(resolved.scenario.layout.dp, 4);
  EXPECT_EQ(resolved.scenario.recipe.sequence, 4096);
  EXPECT_EQ(resolved.scenario.recipe.global_batch, 4 * 8);
  EXPECT_EQ(resolved.scenario.framework.name, "megatron");
  EXPECT_EQ(resolved.notes.size(), 2U);
}

TEST(resolve, a_cluster_from_fields_is_the_cluster_from_words) {
  ScenarioRequest words, fields;
  words.model = fields.model = "llama-3.1-8b";
  words.cluster = "16xH100";
  fields.cluster = JsonObject{{"gpu", "H100"}, {"gpus", 16}};
  EXPECT_EQ(resolve(words).scenario.cluster.gpu.name, resolve(fields).scenario.cluster.gpu.name);
  EXPECT_EQ(resolve(words).scenario.cluster.gpus, resolve(fields).scenario.cluster.gpus);
}

}  // namespace
}  // namespace hexaplan::presets
