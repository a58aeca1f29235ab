// Backward of the whole model against central finite differences of its loss, in float64, for every kind of
// parameter.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "tests/validator/proofs/global_parameters.h"
#include "tests/validator/step/tiny_scenario.h"
#include "validator/executor/communicator/threads/thread_ranks.h"
#include "validator/executor/device/cpu/cpu_device.h"
#include "validator/executor/parameters/initial_values.h"

namespace hexaplan::tests {
namespace {

using costmodel::Scenario;
using validator::GlobalState;

/// One element of one parameter, and what is added to it.
struct Nudge {
  GlobalState::Key parameter;
  std::int64_t index = 0;
  double by = 0;
};

/// Parameters large enough that gradients are, too: N(0, 0.3²), norms around 1.
double parameter(int unit, const std::string& name, std::int64_t index) {
  const auto stream = static_cast<std::uint64_t>(unit + 10) * 64 + name.size();
  const double x = validator::counter_normal(5, stream, static_cast<std::uint64_t>(index));
  return name.find("norm") != std::string::npos ? 1 + 0.2 * x : 0.3 * x;
}

struct Step {
  double loss = 0;
  GlobalState::Tensors gradients;
};

Step step_of(const Scenario& sc, const Nudge& nudge) {
  validator::RunOptions options;
  options.optimizer.clip_norm = 0;
  options.make_device = [](int /*rank*/) { return validator::make_cpu_device(validator::Element::F64); };
  options.loaded = [&](const validator::RankView& rank) {
    set_parameters(rank, [&](int unit, const std::string& name, std::int64_t index) {
      const bool here = nudge.parameter == GlobalState::Key{unit, name} && nudge.index == index;
      return parameter(unit, name, index) + (here ? nudge.by : 0);
    });
  };
  GlobalState moments;
  options.stepped = [&](const validator::RankView& rank) {
    moments.add(rank, validator::State::FirstMoment);
  };
  validator::ThreadRanks ranks;
  Step step{.loss = validator::run_steps(sc, options, ranks).steps.at(0).loss,
            .gradients = moments.tensors()};
  for (auto& [key, gradient] : step.gradients) {
    for (double& g : gradient) g /= 1 - options.optimizer.beta1;  // first moment of a first step
  }
  return step;
}

/// Gradients of one parameter at a few places: ends, middle, and the largest.
void check(const Scenario& sc, const GlobalState::Key& key, const std::vector<double>& gradient) {
  const auto last = static_cast<std::int64_t>(gradient.size()) - 1;
  const auto largest = std::max_element(gradient.begin(), gradient.end(),
                                        [](double a, double b) { return std::abs(a) < std::abs(b); });
  const double scale = std::abs(*largest);
  EXPECT_GT(scale, 1e-6) << key.second << " has no gradient";
  constexpr double kStep = 1e-4;
  for (const std::int64_t i : {std::int64_t{0}, last / 3, last, largest - gradient.begin()}) {
    // Fourth order: the error is about h⁴ instead of h².
    const auto loss = [&](double by) { return step_of(sc, {key, i, by}).loss; };
    const double slope =
        (8 * (loss(kStep) - loss(-kStep)) - (loss(2 * kStep) - loss(-2 * kStep))) / (12 * kStep);
    EXPECT_NEAR(gradient[static_cast<std::size_t>(i)], slope, 1e-7 * std::max(scale, 1e-3))
        << key.second << " of unit " << key.first << ", element " << i;
  }
}

void check_all(const Scenario& sc) {
  const Step step = step_of(sc, {});
  ASSERT_FALSE(step.gradients.empty());
  for (const auto& [key, gradient] : step.gradients) check(sc, key, gradient);
}

Scenario small_model() {
  Scenario sc = tiny_scenario();
  sc.model.layers = 2;
  sc.model.hidden = 8;
  sc.model.vocab = 11;
  sc.model.attention = {.heads = 4, .kv_heads = 2, .head_dim = 2, .v_head_dim = 2};
  sc.model.mlp.ffn = 6;
  sc.recipe.sequence = 6;
  sc.recipe.global_batch = 2;
  return sc;
}

TEST(finite_differences, are_the_gradients_of_a_llama) {
  check_all(small_model());
}

TEST(finite_differences, are_the_gradients_of_a_model_with_tied_embeddings) {
  Scenario sc = small_model();
  sc.model.tied_embeddings = true;
  check_all(sc);
}

TEST(finite_differences, are_the_gradients_of_a_mixture_of_experts_with_its_balance_loss) {
  Scenario sc = small_model();
  sc.model.moe = {.experts = 3, .top_k = 2, .expert_ffn = 4, .shared_ffn = 5, .first_k_dense = 1};
  check_all(sc);
}

/// The same numbers are left out in every run: the loss is a smooth function of the parameters.
TEST(finite_differences, are_the_gradients_of_a_model_with_dropout) {
  Scenario sc = small_model();
  sc.recipe.dropout = 0.3;
  check_all(sc);
}

TEST(finite_differences, are_the_gradients_of_a_model_with_dropout_of_stored_and_capped_scores) {
  Scenario sc = small_model();
  sc.recipe.dropout = 0.3;
  sc.recipe.attention = costmodel::AttentionKernel::FusedSoftmax;
  sc.model.attention.softcap = 1.5;
  check_all(sc);
}

}  // namespace
}  // namespace hexaplan::tests
