// Every optimizer under layouts that cut what it looks at: it sends, allocates and computes what the cost
// model says, and comes to the parameters of one rank.
#include <gmock/gmock.h>

#include <optional>
#include <string>
#include <vector>

#include "costmodel/spec/optimizer_traits.h"
#include "costmodel/spec/rules.h"
#include "tests/validator/step/tiny_scenario.h"
#include "validator/executor/verify/verify.h"

namespace hexaplan::tests {
namespace {

using costmodel::Layout;
using costmodel::Optimizer;
using costmodel::Scenario;

struct Case {
  std::string name;
  Layout layout;
  void (*change)(Scenario&) = [](Scenario&) {};
};
void tie(Scenario& sc) {
  sc.model.tied_embeddings = true;
}
void experts(Scenario& sc) {
  sc.model.moe = {.experts = 4, .top_k = 2, .expert_ffn = 8, .shared_ffn = 12};
}
void latent_attention(Scenario& sc) {
  sc.model.attention = {.kind = costmodel::AttentionKind::Latent,
                        .heads = 4,
                        .kv_heads = 4,
                        .head_dim = 6,
                        .v_head_dim = 4,
                        .q_lora_rank = 6,
                        .kv_lora_rank = 8,
                        .qk_nope_dim = 4,
                        .qk_rope_dim = 2};
}
/// Of what has a gradient to step along: keys' biases have none but rounding.
void biases(Scenario& sc) {
  sc.model.norm = costmodel::NormKind::Layer;
  sc.model.mlp.bias = sc.model.attention.output_bias = true;
}
void fp16(Scenario& sc) {
  sc.recipe.precision = costmodel::Precision::Fp16;
}
void fp32(Scenario& sc) {
  sc.recipe.precision = costmodel::Precision::Fp32;
}

const std::vector<Case>& cases() {
  static const std::vector<Case> kCases{
      {"one_rank", {}},
      {"dp2", {.dp = 2}},
      {"tp4_more_than_kv_heads_sp", {.tp = 4, .sp = true}},
      {"zero1_by_2", {.dp = 2, .sharding = {.stage = 1}}},
      {"zero2_cp2", {.dp = 2, .cp = 2, .sharding = {.stage = 2}}, fp16},
      {"zero3_hybrid", {.dp = 4, .sharding = {.stage = 3, .group = 2}}, fp32},
      {"tied_pp2_zero1_tp2", {.dp = 2, .tp = 2, .pp = 2, .sharding = {.stage = 1}}, tie},
      {"tied_pp2", {.pp = 2}, tie},
      {"experts_ep2_etp2_zero1", {.dp = 4, .tp = 2, .ep = 2, .sp = true, .sharding = {.stage = 1}}, experts},
      {"experts_zero3", {.dp = 2, .sharding = {.stage = 3}}, experts},
      {"latent_attention_tp2_zero1", {.dp = 2, .tp = 2, .sharding = {.stage = 1}}, latent_attention},
      {"biases_tp2_zero3", {.dp = 4, .tp = 2, .sharding = {.stage = 3}}, biases}};
  return kCases;
}

constexpr Optimizer kOptimizers[] = {Optimizer::AdamW8bit,  Optimizer::Adafactor,  Optimizer::Lion,
                                     Optimizer::Sgd,        Optimizer::Muon,       Optimizer::Lamb,
                                     Optimizer::Galore,     Optimizer::Galore8bit, Optimizer::Apollo,
                                     Optimizer::ApolloMini, Optimizer::Soap,       Optimizer::Shampoo};
bool takes_whole_matrices(Optimizer optimizer) {
  const costmodel::OptimizerTraits& traits = costmodel::traits_of(optimizer);
  return traits.projects() || traits.preconditions();
}

struct OptimizerCase {
  Optimizer optimizer;
  Case layout;
  std::optional<costmodel::DType> moments = {};
};
void PrintTo(const OptimizerCase& c, std::ostream* out) {
  *out << c.layout.name;
}
Scenario scenario_of(const OptimizerCase& c) {
  Scenario sc = tiny_scenario(c.layout.layout);
  c.layout.change(sc);
  sc.model.layers = 2;
  sc.recipe.optimizer = c.optimizer;
  sc.recipe.moment_dtype = c.moments;
  if (costmodel::traits_of(c.optimizer).projects())
    sc.recipe.projection_rank = 2, sc.recipe.projection_interval = 2;
  // Some sides are longer, and some matrices have several blocks.
  if (costmodel::traits_of(c.optimizer).preconditions())
    sc.recipe.precondition_frequency = 1, sc.recipe.max_precondition_dim = 16;
  return sc;
}
class OptimizerStep : public testing::TestWithParam<OptimizerCase> {
 protected:
  static Scenario scenario() { return scenario_of(GetParam()); }
};

TEST_P(OptimizerStep, is_what_was_predicted_and_that_of_one_rank) {
  expect_what_was_predicted(scenario());
}

/// Where numbers may differ, they differ by little.
TEST_P(OptimizerStep, comes_near_one_rank_where_it_acts_on_what_a_rank_holds) {
  const Scenario sc = scenario();
  if (validator::updates_as_on_one_rank(sc) >= 2) return;
  const TinyRun sharded = run_tiny(sc), single = run_tiny(on_one_rank(sc));
  const auto worst = validator::largest_difference(sharded.parameters, single.parameters);
  // Bases and roots may follow rounding, which so few steps hardly show.
  if (!costmodel::traits_of(sc.recipe.optimizer).preconditions()) {
    EXPECT_GT(worst.relative, 1e-10) << "compare them exactly, then";
  }
  EXPECT_LT(worst.relative, 0.05) << worst.parameter.second;
}

std::vector<OptimizerCase> all_cases() {
  std::vector<OptimizerCase> out;
  for (const Optimizer optimizer : kOptimizers) {
    for (const Case& layout : cases()) {
      const bool whole = !costmodel::first_rejection(scenario_of({optimizer, layout}));
      if (whole || !takes_whole_matrices(optimizer)) out.push_back({optimizer, layout});
    }
  }
  for (const Optimizer optimizer :
       {Optimizer::Apollo, Optimizer::ApolloMini, Optimizer::Soap, Optimizer::Shampoo})
    out.push_back({optimizer, {"experts_ep2", {.dp = 2, .ep = 2}, experts}});
  for (const Case& layout : cases()) {
    if (layout.change != fp16 && layout.change != fp32)
      out.push_back({Optimizer::AdamW, layout, costmodel::DType::Bf16});
  }
  return out;
}
std::string name_of(const testing::TestParamInfo<OptimizerCase>& which) {
  constexpr const char* kNames[] = {"adamw",       "adamw_8bit", "adafactor", "lion",        "sgd",
                                    "muon",        "lamb",       "galore",    "galore_8bit", "apollo",
                                    "apollo_mini", "soap",       "shampoo"};
  const std::string optimizer = kNames[static_cast<std::size_t>(which.param.optimizer)];
  return optimizer + (which.param.moments ? "_moments_in_bf16_" : "_") + which.param.layout.name;
}
INSTANTIATE_TEST_SUITE_P(validator, OptimizerStep, testing::ValuesIn(all_cases()), name_of);

}  // namespace
}  // namespace hexaplan::tests
