// Ways to compute the same step: what is kept of logits and scores, and what is made again, changes bytes and
// time, never a number.
#include <gmock/gmock.h>

#include <cmath>
#include <string>

#include "tests/validator/step/tiny_scenario.h"

namespace hexaplan::tests {
namespace {

using costmodel::AttentionKernel;
using costmodel::CrossEntropy;
using costmodel::RecomputeMode;
using costmodel::Scenario;

void expect_same(const Scenario& a, const Scenario& b) {
  const TinyRun one = run_tiny(a), other = run_tiny(b);
  ASSERT_EQ(one.report.steps.size(), 2U);
  ASSERT_EQ(other.report.steps.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    const auto &x = one.report.steps[i], &y = other.report.steps[i];
    EXPECT_NEAR(x.loss, y.loss, 1e-12 * y.loss);
    EXPECT_NEAR(x.gradient_norm, y.gradient_norm, 1e-12 * y.gradient_norm);
  }
  const auto worst = validator::largest_difference(one.parameters, other.parameters);
  EXPECT_LE(worst.relative, 1e-11) << worst.parameter.second << " of unit " << worst.parameter.first;
}

struct Variant {
  std::string name;
  void (*change)(Scenario&);
};
void PrintTo(const Variant& v, std::ostream* out) {
  *out << v.name;
}

class SameNumbers : public testing::TestWithParam<Variant> {};

TEST_P(SameNumbers, come_of_every_loss) {
  Scenario fused = tiny_scenario();
  GetParam().change(fused);
  for (const CrossEntropy kind : {CrossEntropy::Chunked, CrossEntropy::Unfused}) {
    Scenario other = fused;
    other.recipe.cross_entropy = kind;
    expect_same(other, fused);
  }
}

TEST_P(SameNumbers, come_of_flash_attention_and_of_stored_scores) {
  Scenario flash = tiny_scenario();
  GetParam().change(flash);
  for (const AttentionKernel kernel : {AttentionKernel::FusedSoftmax, AttentionKernel::Unfused}) {
    Scenario other = flash;
    other.recipe.attention = kernel;
    expect_same(other, flash);
  }
}

TEST_P(SameNumbers, come_of_every_recomputation) {
  Scenario kept = tiny_scenario();
  GetParam().change(kept);
  for (const RecomputeMode mode :
       {RecomputeMode::Full, RecomputeMode::Selective, RecomputeMode::SelectiveOperators}) {
    Scenario other = kept;
    other.recipe.recompute.mode = mode;
    expect_same(other, kept);
  }
}

INSTANTIATE_TEST_SUITE_P(
    validator, SameNumbers,
    testing::Values(
        Variant{"llama", [](Scenario&) {}},
        Variant{"window", [](Scenario& sc) { sc.model.attention.window = 5; }},
        Variant{"caps",
                [](Scenario& sc) {
                  sc.model.attention.softcap = 1.2;
                  sc.model.logit_softcap = 2;
                }},
        Variant{"distances", [](Scenario& sc) { sc.model.positions = costmodel::PositionKind::Alibi; }},
        Variant{"biases", [](Scenario& sc) { sc.model.attention.qkv_bias = sc.model.head_bias = true; }},
        Variant{"dropout", [](Scenario& sc) { sc.recipe.dropout = 0.3; }},
        Variant{"ragged_chunks",
                [](Scenario& sc) {
                  sc.recipe.sequence = 15;
                  sc.recipe.micro_batch = 2;
                }}),
    [](const testing::TestParamInfo<Variant>& which) { return which.param.name; });

/// Else nothing above would have been left out.
TEST(dropout, changes_the_loss) {
  Scenario sc = tiny_scenario();
  const TinyRun without = run_tiny(sc);
  sc.recipe.dropout = 0.3;
  const TinyRun with = run_tiny(sc);
  EXPECT_GT(std::abs(with.report.steps[0].loss - without.report.steps[0].loss), 1e-6);
}

}  // namespace
}  // namespace hexaplan::tests
