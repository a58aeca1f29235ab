// Training steps with dropout of Hugging Face transformers (tests/golden/dropout_oracle.py) repeated by the
// executor, scores stored or not, on one rank and cut over ranks: loss of every step, all gradients of the
// first.
#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <vector>

#include "costmodel/spec/rules.h"
#include "tests/validator/proofs/hf_steps.h"
#include "validator/executor/step/run_steps.h"

namespace hexaplan::tests {
namespace {

using costmodel::AttentionKernel;
using costmodel::Layout;
using costmodel::RecomputeMode;
using costmodel::Scenario;

struct DropoutCase {
  std::string name;
  Layout layout;
  AttentionKernel attention = AttentionKernel::Flash;
  RecomputeMode recompute = RecomputeMode::None;
};
void PrintTo(const DropoutCase& c, std::ostream* out) {
  *out << c.name;
}

const std::vector<DropoutCase>& cases() {
  constexpr auto kScores = AttentionKernel::FusedSoftmax;
  static const std::vector<DropoutCase> kCases{
      {"flash", {}},
      {"flash_recomputed", {}, AttentionKernel::Flash, RecomputeMode::Full},
      {"scores", {}, kScores},
      {"scores_step_by_step", {}, AttentionKernel::Unfused},
      {"flash_dp2_tp2_sp_pp2", {.dp = 2, .tp = 2, .pp = 2, .sp = true, .sharding = {.stage = 3}}},
      {"scores_tp2_sp_selective", {.tp = 2, .sp = true}, kScores, RecomputeMode::Selective},
      {"scores_by_operator", {.dp = 2}, kScores, RecomputeMode::SelectiveOperators},
      {"flash_exchanged_heads", {.cp = 2, .context = costmodel::ContextKind::AllToAll}}};
  return kCases;
}

void expect_steps(const std::string& model, const DropoutCase& how) {
  const presets::JsonValue golden =
      presets::read_json_file(std::string{HEXAPLAN_SOURCE_DIR} + "/tests/golden/dropout/" + model + ".json")
          .root;
  const HfSteps base{*golden.find("model")->get_if<std::string>()};
  Scenario sc = base.scenario(how.layout);
  sc.recipe.dropout = number_in(*golden.find("rate"));
  sc.recipe.attention = how.attention;
  sc.recipe.recompute.mode = how.recompute;
  ASSERT_FALSE(costmodel::first_rejection(sc)) << costmodel::first_rejection(sc)->reason;
  if (const auto refused = validator::first_not_executable(sc)) {
    // Two heads of keys on two ranks leave none for a second cut.
    EXPECT_EQ(refused->rule, "executor-context");
    return;
  }
  Repeated run;
  repeat_steps(
      base, sc, [&](const validator::RankView& rank) { base.load(rank); }, run);
  const std::vector<double> losses = numbers_in(*golden.find("losses")),
                            norms = numbers_in(*golden.find("gradient_norms"));
  ASSERT_EQ(run.report.steps.size(), losses.size());
  for (std::size_t i = 0; i < losses.size(); ++i) {
    EXPECT_NEAR(run.report.steps[i].loss, losses[i], 10 * kOfLosses * losses[i]) << "step " << i + 1;
    EXPECT_NEAR(run.report.steps[i].gradient_norm, norms[i], kOfTensors * norms[i]) << "step " << i + 1;
  }
  // m = (1 − β₁)·clipped gradient after the first step.
  const double share = (1 - base.optimizer("beta1")) * base.optimizer("clip") / (norms[0] + 1e-6);
  std::vector<std::vector<double>> gradients = base.stored(run.first_moment.tensors());
  for (std::size_t t = 0; t < gradients.size(); ++t) {
    for (double& g : gradients[t]) g /= share;
    const std::string& name = base.map().tensors()[t].name;
    expect_fingerprint(*golden.find("tensors")->find(name), base.seed(), name, "gradient", gradients[t],
                       1e-3 * norms[0]);
  }
}

class DropoutStep : public testing::TestWithParam<DropoutCase> {};

TEST_P(DropoutStep, is_that_of_transformers_gpt2) {
  expect_steps("gpt2", GetParam());
}
TEST_P(DropoutStep, is_that_of_transformers_llama) {
  expect_steps("llama", GetParam());
}
TEST_P(DropoutStep, is_that_of_transformers_gemma2) {
  expect_steps("gemma2", GetParam());
}

INSTANTIATE_TEST_SUITE_P(validator, DropoutStep, testing::ValuesIn(cases()),
                         [](const testing::TestParamInfo<DropoutCase>& which) { return which.param.name; });

}  // namespace
}  // namespace hexaplan::tests
