// Training steps of Hugging Face transformers (tests/golden/transformers_oracle.py) repeated by the executor,
// on one rank and cut over ranks: loss of every step, every gradient of the first, every parameter after the
// last.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "costmodel/spec/rules.h"
#include "tests/validator/proofs/hf_steps.h"
#include "tests/validator/step/tiny_scenario.h"
#include "validator/executor/communicator/threads/thread_ranks.h"
#include "validator/executor/device/cpu/cpu_device.h"
#include "validator/executor/parameters/initial_values.h"
#include "validator/executor/step/run_steps.h"

namespace hexaplan::tests {
namespace {

using costmodel::ContextKind;
using costmodel::Layout;
using costmodel::RecomputeMode;
using costmodel::Scenario;
using costmodel::ScheduleKind;
using presets::JsonValue;
using validator::GlobalState;

void expect_steps_of_transformers(const HfSteps& golden, const Scenario& sc) {
  Repeated run;
  repeat_steps(
      golden, sc, [&](const validator::RankView& rank) { golden.load(rank); }, run);
  const std::vector<double> losses = numbers_in(golden["losses"]),
                            norms = numbers_in(golden["gradient_norms"]);
  ASSERT_EQ(run.report.steps.size(), losses.size());
  ASSERT_NEAR(run.report.steps[0].loss, losses[0], kOfLosses * losses[0]);
  ASSERT_NEAR(run.report.steps[0].gradient_norm, norms[0], kOfTensors * norms[0]);
  // m = (1 − β₁)·clipped gradient after the first step.
  const double clip = golden.optimizer("clip");
  ASSERT_LT(clip, norms[0]) << "the step must clip";
  const double share = (1 - golden.optimizer("beta1")) * clip / (norms[0] + 1e-6);
  std::vector<std::vector<double>> gradients = golden.stored(run.first_moment.tensors());
  std::vector<std::vector<double>> changes = golden.stored(run.master.tensors());
  for (std::size_t t = 0; t < changes.size(); ++t) {
    for (double& g : gradients[t]) g /= share;
    for (std::size_t i = 0; i < changes[t].size(); ++i) changes[t][i] -= golden.weights()[t][i];
    const std::string& name = golden.map().tensors()[t].name;
    expect_fingerprint(golden.tensor(name), golden.seed(), name, "gradient", gradients[t], 1e-3 * norms[0]);
    // Where a gradient is zero but for rounding, the change is rounding divided by ε.
    expect_fingerprint(golden.tensor(name), golden.seed(), name, "change", changes[t],
                       golden.optimizer("learning_rate"));
  }
  for (std::size_t i = 1; i < losses.size(); ++i) {
    EXPECT_NEAR(run.report.steps[i].loss, losses[i], 10 * kOfLosses * losses[i]) << "step " << i + 1;
    EXPECT_NEAR(run.report.steps[i].gradient_norm, norms[i], kOfTensors * norms[i]) << "step " << i + 1;
  }
}

struct NamedLayout {
  std::string_view name;
  Layout layout;
  RecomputeMode recompute = RecomputeMode::None;
};
constexpr auto kInterleaved = ScheduleKind::Interleaved;

const std::vector<NamedLayout>& layouts() {
  static const std::vector<NamedLayout> kLayouts{
      {"one rank", {}},
      {"dp 2", {.dp = 2}},
      {"tp 2", {.tp = 2}},
      {"tp 2 with sequence parallelism", {.tp = 2, .sp = true}},
      {"cp 2, ring", {.cp = 2}},
      {"cp 2, gathered keys", {.cp = 2, .context = ContextKind::AllGather}},
      {"cp 2, all to all", {.cp = 2, .context = ContextKind::AllToAll}},
      {"pp 2", {.pp = 2}},
      {"pp 2, two chunks", {.pp = 2, .vpp = 2, .schedule = kInterleaved}},
      {"pp 2, ZB-H1", {.pp = 2, .schedule = ScheduleKind::ZbH1}},
      {"pp 2, ZB-V", {.pp = 2, .schedule = ScheduleKind::Zbv}},
      {"zero 1", {.dp = 2, .sharding = {.stage = 1}}},
      {"zero 2, pp 2", {.dp = 2, .pp = 2, .sharding = {.stage = 2}}},
      {"zero 3", {.dp = 4, .sharding = {.stage = 3}}},
      {"recompute full", {}, RecomputeMode::Full},
      {"recompute selective", {}, RecomputeMode::Selective},
      {"tp 2 sp pp 2, ZB-H1, recompute full",
       {.tp = 2, .pp = 2, .sp = true, .schedule = ScheduleKind::ZbH1},
       RecomputeMode::Full},
      {"ep 2", {.dp = 2, .ep = 2}},
      {"ep 2, etp 2, zero 1", {.dp = 2, .tp = 2, .ep = 2, .sp = true, .sharding = {.stage = 1}}},
      {"ep 2, pp 2, zero 3, recompute full",
       {.dp = 2, .pp = 2, .ep = 2, .sharding = {.stage = 3}},
       RecomputeMode::Full},
  };
  return kLayouts;
}

/// Every golden file: the model is executed, or refused by this rule.
struct Family {
  std::string golden;
  std::string refused_by = {};
};
void PrintTo(const Family& family, std::ostream* out) {
  *out << family.golden;
}
const std::vector<Family> kFamiliesProved{
    {"llama"},
    {"llama_llama3_scaling"},
    {"llama_yarn"},
    {"mistral"},
    {"mixtral"},
    {"qwen2"},
    {"qwen2_moe"},
    {"qwen3"},
    {"qwen3_moe"},
    {"qwen3_next"},
    {"qwen3_5_text"},
    {"phi3"},
    {"gemma"},
    {"gemma2"},
    {"gemma3_text"},
    {"gpt_oss"},
    {"deepseek_v2"},
    {"deepseek_v3"},
    {"deepseek_v3_no_query_rank"},
    {"gpt2"},
    {"gpt_neox"},
    {"gpt_neox_sequential"},
    {"bloom"},
    {"opt"},
    {"opt_post_norm"},
    {"mpt"},
    {"phi"},
    {"gptj"},
    {"starcoder2"},
    {"stablelm"},
    {"falcon"},
    {"falcon_7b"},
    {"gpt_bigcode"},
    {"glm"},
    {"glm4"},
    {"glm4_moe"},
    {"dots1"},
    {"ernie4_5"},
    {"helium"},
    {"seed_oss"},
    {"granite"},
    {"granite_swa"},
    {"hyperclovax"},
    {"cohere"},
    {"cohere2"},
    {"olmo"},
    {"olmo2"},
    {"olmo3"},
    {"smollm3"},
    {"exaone4"},
    {"nemotron"},
    {"arcee"},
    {"jais2"},
    {"cwm"},
    {"ministral"},
    {"internlm3"},
    {"vaultgemma"},
    {"youtu"},
    {"minicpm3"},
    {"gpt_neo"},
    {"openai_gpt"},
    {"biogpt"},
    {"granitemoe"},
    {"granitemoeshared"},
    {"olmoe"},
    {"flex_olmo"},
    {"minimax_m2"},
    {"exaone_moe"},
    {"mellum"},
    {"solar_open"},
    {"glm4_moe_lite"},
    {"hy_v3"},
    {"exaone"},
    {"cohere_compass_text"},
    {"cohere2_moe"},
    {"cohere2_moe_rms"},
    {"flint"},
    {"sarvam_moe"},
    {"sarvam_mla"},
};

class steps_of_transformers : public testing::TestWithParam<Family> {};

TEST_P(steps_of_transformers, are_repeated_on_every_layout_or_refused_by_the_rule_that_the_table_names) {
  const HfSteps golden{GetParam().golden};
  const auto refused = validator::first_not_executable(golden.scenario({}));
  EXPECT_EQ(refused ? refused->rule : std::string{}, GetParam().refused_by);
  if (refused) return;
  int proved = 0;
  for (const NamedLayout& named : layouts()) {
    Scenario sc = golden.scenario(named.layout);
    sc.recipe.recompute.mode = named.recompute;
    if (costmodel::first_rejection(sc) || validator::first_not_executable(sc)) continue;
    SCOPED_TRACE(named.name);
    expect_steps_of_transformers(golden, sc);
    if (HasFatalFailure()) return;
    ++proved;
  }
  EXPECT_GE(proved, 11) << "one rank and at least ten layouts";
}

/// Loss and gradients of the first step by a device that stores in `element`, nothing clipped.
struct FirstStep {
  double loss = 0;
  std::vector<std::vector<double>> gradients;  // as the checkpoint holds them
};
FirstStep first_step(const HfSteps& golden, const Scenario& sc, validator::Element element) {
  validator::RunOptions options;
  options.seed = golden.seed();
  options.optimizer.clip_norm = 0;
  options.make_device = [element](int /*rank*/) { return validator::make_cpu_device(element); };
  options.loaded = [&](const validator::RankView& rank) { golden.load(rank); };
  GlobalState moments;
  options.stepped = [&](const validator::RankView& rank) {
    moments.add(rank, validator::State::FirstMoment);
  };
  validator::ThreadRanks ranks;
  FirstStep out;
  out.loss = validator::run_steps(sc, options, ranks).steps.at(0).loss;
  out.gradients = golden.stored(moments.tensors());
  for (std::vector<double>& tensor : out.gradients) {
    for (double& g : tensor) g /= 1 - options.optimizer.beta1;
  }
  return out;
}

double distance(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return std::sqrt(sum);
}

/// Both round after every operation, but not the same operations: the executor keeps no row of a norm or of
/// attention in float32 where transformers does, and the other way round.
constexpr double kMostOfRounding = 2.5;

TEST_P(steps_of_transformers, in_bf16_are_as_near_to_float64_as_transformers_in_bf16) {
  const HfSteps golden{GetParam().golden};
  Scenario sc = golden.scenario({});
  if (sc.model.is_moe() || validator::first_not_executable(sc)) return;
  sc.recipe.precision = costmodel::Precision::Bf16;
  const FirstStep exact = first_step(golden, sc, validator::Element::F64);
  const FirstStep rounded = first_step(golden, sc, validator::Element::Bf16);
  const JsonValue& errors = golden["bf16"];
  EXPECT_NE(rounded.loss, exact.loss);
  // An error of the loss may be small by chance: at least the unit in the last place of bf16.
  EXPECT_NEAR(rounded.loss, exact.loss,
              kMostOfRounding * std::max(number_in(*errors.find("loss")), 0x1p-8 * exact.loss));
  double total = 0, allowed = 0;
  for (std::size_t t = 0; t < exact.gradients.size(); ++t) {
    const double error = distance(rounded.gradients[t], exact.gradients[t]);
    const double of_transformers = number_in(*errors.find("gradients")->find(golden.map().tensors()[t].name));
    total += error * error;
    allowed += of_transformers * of_transformers;
  }
  EXPECT_GT(total, 0);
  EXPECT_LE(std::sqrt(total), kMostOfRounding * std::sqrt(allowed));
}

INSTANTIATE_TEST_SUITE_P(families, steps_of_transformers, testing::ValuesIn(kFamiliesProved),
                         [](const testing::TestParamInfo<Family>& family) { return family.param.golden; });

}  // namespace
}  // namespace hexaplan::tests
