// Copies of tokens find the ranks of their experts and come back.
#include "validator/executor/parallel/expert.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <string>

#include "costmodel/program/passes/passes.h"
#include "tests/validator/parallel/ranks.h"
#include "validator/executor/interpreter/interpreter.h"
#include "validator/executor/parallel/routing.h"

namespace hexaplan::validator {
namespace {

namespace program = costmodel::program;
using costmodel::CollectiveKind;
using costmodel::Group;
using costmodel::Scenario;

constexpr int kTokens = 6, kTop = 2, kExperts = 4;

struct Case {
  int dp, tp, ep, etp;
  costmodel::MoeRouting routing{};
};
void PrintTo(const Case& c, std::ostream* out) {
  *out << "dp " << c.dp << " tp " << c.tp << " ep " << c.ep << " etp " << c.etp << " capacity "
       << c.routing.capacity_factor << (c.routing.pads() ? " padded" : "");
}
constexpr costmodel::MoeRouting kDropped{.capacity_factor = 0.5},
    kPadded{.capacity_factor = 1.5, .pad_to_capacity = true};

Scenario scenario_of(const Case& c) {
  Scenario sc;
  sc.model.layers = 1;
  sc.model.hidden = 2;
  sc.model.attention = {.heads = 4, .kv_heads = 4, .head_dim = 2, .v_head_dim = 2};
  sc.model.moe = {.experts = kExperts, .top_k = kTop, .expert_ffn = 4};
  sc.recipe.sequence = kTokens * c.tp;
  sc.recipe.global_batch = c.dp;
  sc.recipe.routing = c.routing;
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

/// Later tokens chose with more weight.
std::vector<double> weights_of_choice() {
  std::vector<double> weights(kTokens * kTop);
  std::iota(weights.begin(), weights.end(), 1.0);
  return weights;
}

/// The uneven choice, as the router's operations would tell it to everybody.
void tell_choices(Rank& rank, HostRouting& routing) {
  routing.chosen = choice_of(rank.groups.world->rank());
  routing.exchange =
      rank.scenario.recipe.routing.drops()
          ? ExpertExchange{rank, routing.chosen, within_capacity(rank, routing.chosen, weights_of_choice())}
          : ExpertExchange{rank, routing.chosen};
  if (rank.scenario.recipe.routing.pads()) return;
  for (const Group group : {Group::Expert, Group::ExpertTensor}) {
    const int ranks = group == Group::Expert ? rank.groups.expert->size() : rank.groups.expert_tensor->size();
    if (ranks == 1) continue;
    const Tensor counts = rank.device.allocate(
        {"test", costmodel::TensorKind::Transient, costmodel::DType::Int32}, 1, rank.dims.experts * ranks);
    routing.exchange.tell(rank, group, counts);
  }
}

/// Tokens, their copies, and an expert that does nothing to them: what expert parallelism makes of it brings
/// every copy to its expert and back. `there`: no way back.
Runnable exchange_program(const Rank& rank, bool there) {
  using program::Rows;
  program::Program p;
  p.input = p.add({.tensor = program::Tensor::NormOutput, .shape = {Rows::Hidden, program::Width::Hidden}});
  const program::ValueId copies =
      p.add({.tensor = program::Tensor::TokenCopies, .shape = {Rows::Sent, program::Width::Hidden}});
  const program::ValueId order = p.add({.tensor = program::Tensor::TokenOrder,
                                        .shape = {Rows::Sent, program::Width::One, program::Type::Int32}});
  p.output = p.add(
      {.tensor = program::Tensor::ExpertProjection, .shape = {Rows::ExpertRows, program::Width::Hidden}});
  p.ops.push_back({.site = program::Site::Permute,
                   .kind = program::Kind::Permute,
                   .reads = {p.input},
                   .writes = {copies, order}});
  p.ops.push_back({.site = there ? program::Site::ExpertUp : program::Site::ExpertDown,
                   .kind = program::Kind::Copy,
                   .reads = {copies},
                   .writes = {p.output}});
  program::Techniques techniques;
  techniques.exchanges_experts = rank.groups.expert->size() > 1;
  techniques.cuts_experts = rank.groups.expert_tensor->size() > 1;
  program::Program exchanged = program::exchange_token_copies(std::move(p), techniques);
  exchanged.output = exchanged.ops.back().writes[0];
  return Runnable{std::move(exchanged)};
}

/// Tokens that say where they come from, through the program; what its output holds.
struct Exchanged {
  std::vector<double> values;
  ExpertExchange exchange;
};
Exchanged exchange_on(Rank& rank, bool there) {
  const Runnable runnable = exchange_program(rank, there);
  const program::Sizes sizes = program::sizes_of(rank.scenario, rank.dims);
  Frame frame{rank, runnable, sizes};
  tell_choices(rank, frame.routing);
  const int world = rank.groups.world->rank();
  std::vector<double> tokens;
  for (int t = 0; t < kTokens; ++t) tokens.insert(tokens.end(), {world + 1.0, t + 1.0});
  Tensor input = rank.transient("test", kTokens, 2);
  rank.device.upload(input, tokens);
  frame.give_input(rank, std::move(input));
  run_phase(rank, frame, program::Phase::Forward, {}, {});
  const Tensor output = frame.take_output();
  Exchanged out{std::vector<double>(static_cast<std::size_t>(output.view().elements())),
                frame.routing.exchange};
  rank.device.download(out.values, output);
  return out;
}

class expert_exchange : public testing::TestWithParam<Case> {};

TEST_P(expert_exchange, brings_every_copy_to_its_expert) {
  on_every_rank(scenario_of(GetParam()), [](Rank& rank) {
    const Exchanged there = exchange_on(rank, true);
    const std::vector<std::int64_t>& offsets = there.exchange.offsets();
    ASSERT_EQ(there.values.size(), static_cast<std::size_t>(2 * there.exchange.rows()));
    ASSERT_EQ(offsets.size(), static_cast<std::size_t>(rank.dims.experts_local) + 1);
    for (std::size_t e = 0; e + 1 < offsets.size(); ++e) {
      const auto expert = static_cast<std::int32_t>(rank.groups.expert->rank() * rank.dims.experts_local) +
                          static_cast<std::int32_t>(e);
      for (std::int64_t r = offsets[e]; r < offsets[e + 1]; ++r) {
        if (there.values[static_cast<std::size_t>(2 * r)] == 0) {
          EXPECT_TRUE(rank.scenario.recipe.routing.pads());
          continue;
        }
        const auto world = static_cast<int>(there.values[static_cast<std::size_t>(2 * r)]) - 1;
        const auto token = static_cast<std::size_t>(there.values[static_cast<std::size_t>(2 * r + 1)]) - 1;
        const std::vector<std::int32_t> chosen = choice_of(world);
        EXPECT_TRUE(chosen[kTop * token] == expert || chosen[kTop * token + 1] == expert)
            << "token " << token << " of rank " << world << " did not choose expert " << expert;
      }
    }
  });
}

TEST_P(expert_exchange, brings_every_copy_home_in_the_order_in_which_it_left) {
  on_every_rank(scenario_of(GetParam()), [](Rank& rank) {
    const Exchanged home = exchange_on(rank, false);
    // Ranks that share an expert each return all rows: their sum is as many times what was sent.
    const double sharers = rank.groups.expert_tensor->size();
    std::vector<double> expected;
    for (const std::int32_t place : home.exchange.places()) {
      const bool padding = place < 0;
      expected.push_back(padding ? 0 : sharers * (rank.groups.world->rank() + 1));
      expected.push_back(padding ? 0 : sharers * (place / kTop + 1));
    }
    EXPECT_EQ(home.values, expected);
  });
}

INSTANTIATE_TEST_SUITE_P(layouts, expert_exchange,
                         testing::Values(Case{1, 1, 1, 1}, Case{2, 1, 2, 1}, Case{4, 1, 2, 1},
                                         Case{1, 2, 1, 2}, Case{2, 2, 2, 2}, Case{2, 2, 4, 1},
                                         Case{1, 4, 2, 2}, Case{2, 2, 1, 2}, Case{1, 1, 1, 1, kDropped},
                                         Case{4, 1, 2, 1, kDropped}, Case{2, 2, 2, 2, kDropped},
                                         Case{1, 1, 1, 1, kPadded}, Case{2, 1, 2, 1, kPadded},
                                         Case{1, 2, 1, 2, kPadded}, Case{2, 2, 2, 2, kPadded},
                                         Case{2, 2, 4, 1, kPadded}));

TEST(expert_exchange, sends_every_copy_once_whatever_the_router_chose) {
  on_every_rank(scenario_of({2, 1, 2, 1}), [](Rank& rank) {
    (void)exchange_on(rank, true);
    const TrafficCount sent = rank.groups.world->traffic().of(CollectiveKind::AllToAll, Group::Expert);
    EXPECT_EQ(sent.messages, 1);
    EXPECT_EQ(sent.bytes, costmodel::Bytes{kTokens * kTop * 2 * 2.0});
  });
}

/// Six tokens with two of four experts each: a mean of three. Rank 0's choice fills experts 0 and 1 with six
/// copies each, of which the last three weigh most.
TEST(within_capacity, leaves_every_expert_its_most_probable_tokens) {
  on_every_rank(scenario_of({1, 1, 1, 1, {.capacity_factor = 1}}), [](Rank& rank) {
    EXPECT_THAT(within_capacity(rank, choice_of(0), weights_of_choice()),
                testing::ElementsAre(6, 7, 8, 9, 10, 11));
  });
  // Of equal ones the first.
  on_every_rank(scenario_of({1, 1, 1, 1, {.capacity_factor = 1}}), [](Rank& rank) {
    EXPECT_THAT(within_capacity(rank, choice_of(0), std::vector<double>(kTokens * kTop, 1.0)),
                testing::ElementsAre(0, 1, 2, 3, 4, 5));
  });
}

TEST(within_capacity, does_not_choose_by_rounding_between_tokens_that_are_alike) {
  const auto kept_where_later_ones_weigh_more_by = [](double difference) {
    std::vector<std::int32_t> kept;
    on_every_rank(scenario_of({1, 1, 1, 1, {.capacity_factor = 1}}), [&](Rank& rank) {
      std::vector<double> weights(kTokens * kTop, 0.25);
      for (std::size_t i = 0; i < weights.size(); ++i) weights[i] += difference * static_cast<double>(i);
      kept = within_capacity(rank, choice_of(0), weights);
    });
    return kept;
  };
  EXPECT_THAT(kept_where_later_ones_weigh_more_by(0x1p-52), testing::ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(kept_where_later_ones_weigh_more_by(0x1p-24), testing::ElementsAre(6, 7, 8, 9, 10, 11));
}

/// One rank stands for two that have a half of the sequence each, and for two of a ring, which have the
/// outer and the inner quarters.
TEST(within_capacity, counts_by_what_each_rank_routes) {
  Scenario sc = scenario_of({1, 1, 1, 1, {.capacity_factor = 1}});
  sc.recipe.sequence = 8;
  on_every_rank(sc, [](Rank& rank) {
    rank.drops_as = costmodel::Layout{.tp = 2, .sp = true};
    EXPECT_THAT(routed_together(rank),
                testing::ElementsAre(testing::ElementsAre(0, 1, 2, 3), testing::ElementsAre(4, 5, 6, 7)));
    rank.drops_as = costmodel::Layout{.cp = 2};
    EXPECT_THAT(routed_together(rank),
                testing::ElementsAre(testing::ElementsAre(0, 1, 6, 7), testing::ElementsAre(2, 3, 4, 5)));
    // Everybody chose experts 0 and 1, which take two tokens of four, or four of eight.
    std::vector<std::int32_t> chosen;
    std::vector<double> weights;
    for (const double weight : {8, 7, 1, 2, 3, 4, 5, 6}) {
      chosen.insert(chosen.end(), {0, 1});
      weights.insert(weights.end(), {weight, weight});
    }
    EXPECT_THAT(within_capacity(rank, chosen, weights),
                testing::ElementsAre(0, 1, 2, 3, 8, 9, 10, 11));  // tokens 0, 1, 4, 5
    rank.drops_as.reset();
    EXPECT_THAT(within_capacity(rank, chosen, weights),
                testing::ElementsAre(0, 1, 2, 3, 12, 13, 14, 15));  // tokens 0, 1, 6, 7
  });
}

TEST(expert_exchange, nobody_has_to_be_told_how_many_rows_padded_experts_get) {
  on_every_rank(scenario_of({2, 2, 2, 2, kPadded}), [](Rank& rank) {
    const Exchanged there = exchange_on(rank, true);
    // Three copies on average, times 1.5, rounded up; two ranks send to an expert, two share its columns.
    EXPECT_EQ(there.exchange.places().size(), std::size_t{kExperts * 5});
    EXPECT_EQ(there.exchange.rows(), kExperts * 5 * 2);
    const TrafficCount told = rank.groups.world->traffic().of(CollectiveKind::AllGather, Group::Expert);
    EXPECT_EQ(told.messages, 0);
  });
}

}  // namespace
}  // namespace hexaplan::validator
