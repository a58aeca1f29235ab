// Copies of tokens find the ranks of their experts and come back.
#include "validator/executor/parallel/expert.h"

#include <gtest/gtest.h>

#include <numeric>
#include <string>

#include "tests/validator/parallel/ranks.h"

namespace hexaplan::validator {
namespace {

using costmodel::CollectiveKind;
using costmodel::Group;
using costmodel::Scenario;

constexpr int kTokens = 6, kTop = 2, kExperts = 4;
constexpr ExpertWay kThere{"moe.dispatch", "moe.gather_tp"};
constexpr ExpertWay kBack{"moe.combine", "moe.scatter_tp"};
constexpr TensorLabel kLabel{.name = "test"};

struct Case {
  int dp, tp, ep, etp;
};
void PrintTo(const Case& c, std::ostream* out) {
  *out << "dp " << c.dp << " tp " << c.tp << " ep " << c.ep << " etp " << c.etp;
}

Scenario scenario_of(const Case& c) {
  Scenario sc;
  sc.model.layers = 1;
  sc.model.hidden = 2;
  sc.model.attention = {.heads = 4, .kv_heads = 4, .head_dim = 2, .v_head_dim = 2};
  sc.model.moe = {.experts = kExperts, .top_k = kTop, .expert_ffn = 4};
  sc.recipe.sequence = kTokens * c.tp;
  sc.recipe.global_batch = c.dp;
  sc.layout = {.dp = c.dp, .tp = c.tp, .ep = c.ep, .etp = c.etp, .sp = c.tp > 1};
  return sc;
}

/// Uneven on purpose: rank 0 sends everything to experts 0 and 1, others spread with a gap.
std::vector<std::int32_t> choice_of(int world_rank) {
  std::vector<std::int32_t> chosen;
  for (int t = 0; t < kTokens; ++t) {
    const std::int32_t first = world_rank == 0 ? t % 2 : (t * t + world_rank) % kExperts;
    chosen.push_back(first);
    chosen.push_back(world_rank == 0 ? 1 - first : (first + 1 + t % 2) % kExperts);
  }
  return chosen;
}

class expert_exchange : public testing::TestWithParam<Case> {};

TEST_P(expert_exchange, brings_every_copy_to_its_expert_and_back) {
  on_every_rank(scenario_of(GetParam()), [](Rank& rank) {
    const int world = rank.groups.world->rank();
    const std::vector<std::int32_t> chosen = choice_of(world);
    const ExpertExchange exchange{rank, chosen};
    // A copy carries its expert and where it comes from.
    std::vector<double> sent;
    for (const std::int32_t place : exchange.places()) {
      sent.push_back(chosen[static_cast<std::size_t>(place)]);
      sent.push_back(world * 100 + place);
    }
    Tensor copies = rank.transient("test", kTokens * kTop, 2);
    rank.device.upload(copies, sent);
    Tensor rows = exchange.to_experts(rank, std::move(copies), kThere, kLabel);
    ASSERT_EQ(rows.view().rows, exchange.rows());
    ASSERT_EQ(exchange.offsets().size(), static_cast<std::size_t>(rank.dims.experts_local) + 1);
    std::vector<double> arrived(static_cast<std::size_t>(rows.view().elements()));
    rank.device.download(arrived, rows);
    for (std::int64_t e = 0; e < rank.dims.experts_local; ++e) {
      for (std::int64_t r = exchange.offsets()[static_cast<std::size_t>(e)];
           r < exchange.offsets()[static_cast<std::size_t>(e) + 1]; ++r) {
        EXPECT_EQ(arrived[static_cast<std::size_t>(2 * r)],
                  static_cast<double>(rank.groups.expert->rank() * rank.dims.experts_local + e));
      }
    }
    // Ranks that share an expert each return all rows: their sum is as many times what was sent.
    const Tensor home = exchange.from_experts(rank, std::move(rows), kBack, kLabel);
    std::vector<double> returned(sent.size());
    rank.device.download(returned, home);
    for (double& x : sent) x *= rank.groups.expert_tensor->size();
    EXPECT_EQ(returned, sent);
  });
}

INSTANTIATE_TEST_SUITE_P(layouts, expert_exchange,
                         testing::Values(Case{1, 1, 1, 1}, Case{2, 1, 2, 1}, Case{4, 1, 2, 1},
                                         Case{1, 2, 1, 2}, Case{2, 2, 2, 2}, Case{2, 2, 4, 1},
                                         Case{1, 4, 2, 2}, Case{2, 2, 1, 2}));

TEST(expert_exchange, sends_every_copy_once_whatever_the_router_chose) {
  on_every_rank(scenario_of({2, 1, 2, 1}), [](Rank& rank) {
    const ExpertExchange exchange{rank, choice_of(rank.groups.world->rank())};
    (void)exchange.to_experts(rank, rank.transient("test", kTokens * kTop, 2), kThere, kLabel);
    const TrafficCount sent = rank.groups.world->traffic().of(CollectiveKind::AllToAll, Group::Expert);
    EXPECT_EQ(sent.messages, 1);
    EXPECT_EQ(sent.bytes, costmodel::Bytes{kTokens * kTop * 2 * 2.0});
  });
}

}  // namespace
}  // namespace hexaplan::validator
