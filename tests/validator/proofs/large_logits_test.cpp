// Logits whose exponentials no type holds: the loss subtracts the largest of the whole vocabulary, of which
// every tensor-parallel rank has a part.
#include <gmock/gmock.h>

#include <cmath>

#include "tests/validator/step/tiny_scenario.h"

namespace hexaplan::tests {
namespace {

TEST(large_logits, have_the_loss_and_the_gradients_of_one_rank) {
  costmodel::Layout layout;
  layout.tp = 4;
  costmodel::Scenario sc = tiny_scenario(layout);
  sc.model.logit_multiplier = 1e5;
  const TinyRun cut = run_tiny(sc, 1), single = run_tiny(on_one_rank(sc), 1);
  const auto& a = cut.report.steps.front();
  const auto& b = single.report.steps.front();
  ASSERT_GT(b.loss, 1000) << "exp(1000) is more than float64 holds";
  ASSERT_TRUE(std::isfinite(b.loss) && std::isfinite(b.gradient_norm));
  EXPECT_NEAR(a.loss, b.loss, 1e-10 * b.loss);
  EXPECT_NEAR(a.gradient_norm, b.gradient_norm, 1e-8 * b.gradient_norm);
}

}  // namespace
}  // namespace hexaplan::tests
