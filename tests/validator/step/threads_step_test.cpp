// Threads within a rank of the CPU: they share the pieces of an operation, which its shapes decide, so that a
// step has the same bits on any number of them.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <latch>
#include <new>
#include <string>
#include <thread>
#include <vector>

#ifdef __linux__
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#endif

#include "tests/validator/step/tiny_scenario.h"
#include "validator/executor/communicator/threads/thread_ranks.h"
#include "validator/executor/device/cpu/cpu_device.h"
#include "validator/executor/device/cpu/thread_team.h"
#include "validator/executor/step/global_state.h"
#include "validator/executor/step/run_steps.h"

namespace hexaplan::tests {
namespace {

using costmodel::Layout;
using costmodel::Optimizer;
using costmodel::Scenario;
using validator::Element;
using validator::ThreadTeam;

constexpr int kThreads[] = {2, 3};

struct ThreadCase {
  std::string name;
  Layout layout;
  void (*change)(Scenario&) = [](Scenario&) {};
  Element element = Element::F32;
};
std::ostream& operator<<(std::ostream& out, const ThreadCase& c) {
  return out << c.name;
}

/// Two layers of 160 columns, 2,000 words and two micro-batches of one sequence of 530 tokens: norms have
/// three pieces, attention eight forwards and two backwards, the products of gate and up two and those of the
/// head eight, the update of a table of words ten. Smaller products are one piece.
Scenario wide_scenario(const ThreadCase& one) {
  Scenario sc = tiny_scenario(one.layout);
  sc.model.layers = 2;
  sc.model.hidden = 160;
  sc.model.attention.head_dim = 20;
  sc.model.attention.v_head_dim = 20;
  sc.model.mlp.ffn = 432;
  sc.model.vocab = 2000;
  sc.recipe.sequence = 530;
  sc.recipe.global_batch = 2;
  one.change(sc);
  return sc;
}

void experts_of_four(Scenario& sc) {
  sc.model.moe = {.experts = 4, .top_k = 2, .expert_ffn = 144, .shared_ffn = 96};
}
void layer_norms(Scenario& sc) {
  sc.model.norm = costmodel::NormKind::Layer;
  sc.model.mlp.gated = false;
  sc.model.mlp.activation = costmodel::Activation::Gelu;
}
void stored_scores_and_dropout(Scenario& sc) {
  sc.recipe.attention = costmodel::AttentionKernel::Unfused;
  sc.recipe.dropout = 0.1;
}
void in_eight_bits(Scenario& sc) {
  sc.recipe.optimizer = Optimizer::AdamW8bit;
}
void updated_on_the_host(Scenario& sc) {
  sc.recipe.offload = costmodel::kOffloadOptimizer;
}

struct Trained {
  validator::ExecutionReport report;
  validator::GlobalState::Tensors parameters;
};
Trained train(const ThreadCase& one, int threads) {
  validator::GlobalState state;
  validator::RunOptions options{.steps = 2};
  options.host_threads = threads;
  options.make_device = [&](int /*rank*/) {
    return validator::make_cpu_device(one.element, {.threads = threads});
  };
  options.stepped = [&](const validator::RankView& view) {
    if (view.last) state.add(view, validator::State::Master);
  };
  validator::ThreadRanks ranks;
  Trained out{.report = validator::run_steps(wide_scenario(one), options, ranks), .parameters = {}};
  out.parameters = state.tensors();
  return out;
}

class Threads : public testing::TestWithParam<ThreadCase> {};

TEST_P(Threads, give_the_bits_of_one) {
  const Trained alone = train(GetParam(), 1);
  for (const int threads : kThreads) {
    const Trained shared = train(GetParam(), threads);
    ASSERT_EQ(shared.report.steps.size(), alone.report.steps.size());
    for (std::size_t i = 0; i < alone.report.steps.size(); ++i) {
      EXPECT_EQ(shared.report.steps[i].loss, alone.report.steps[i].loss) << threads << " threads, step " << i;
      EXPECT_EQ(shared.report.steps[i].gradient_norm, alone.report.steps[i].gradient_norm);
    }
    EXPECT_EQ(validator::largest_difference(shared.parameters, alone.parameters).relative, 0) << threads;
  }
}
INSTANTIATE_TEST_SUITE_P(
    validator, Threads,
    testing::Values(ThreadCase{"float32", {}}, ThreadCase{"bfloat16", {}, [](Scenario&) {}, Element::Bf16},
                    ThreadCase{"float64_layer_norms", {}, layer_norms, Element::F64},
                    ThreadCase{"experts", {}, experts_of_four},
                    ThreadCase{"stored_scores_and_dropout", {}, stored_scores_and_dropout},
                    ThreadCase{"stored_scores_in_bfloat16", {}, stored_scores_and_dropout, Element::Bf16},
                    ThreadCase{"adamw_8bit", {}, in_eight_bits},
                    ThreadCase{"two_ranks", {.dp = 2, .sharding = {.stage = 2}}},
                    ThreadCase{"updated_on_the_host", {}, updated_on_the_host}),
    [](const testing::TestParamInfo<ThreadCase>& which) { return which.param.name; });

TEST(ThreadTeams, do_every_piece_once_call_after_call) {
  for (const int threads : {1, 2, 3, 5}) {
    ThreadTeam team{threads};
    for (const std::int64_t pieces : {0, 1, 2, 7, 1000}) {
      std::vector<std::atomic<int>> done(static_cast<std::size_t>(pieces));
      team.for_each(pieces, [&](std::int64_t piece) { ++done[static_cast<std::size_t>(piece)]; });
      for (const std::atomic<int>& count : done) EXPECT_EQ(count, 1) << threads << " threads";
    }
  }
}

TEST(ThreadTeams, rethrow_what_a_piece_throws_and_go_on) {
  ThreadTeam team{3};
  const auto throws = [&] {
    team.for_each(100, [](std::int64_t piece) {
      if (piece == 40) throw std::bad_alloc{};
    });
  };
  EXPECT_THROW(throws(), std::bad_alloc);
  std::atomic<int> done{0};
  team.for_each(100, [&](std::int64_t /*piece*/) { ++done; });
  EXPECT_EQ(done, 100);
}

TEST(ThreadTeams, run_pieces_beside_each_other) {
  ThreadTeam team{3};
  std::latch all{3};
  std::atomic<int> met{0};
  const auto patience = std::chrono::steady_clock::now() + std::chrono::minutes{1};
  team.for_each(3, [&](std::int64_t /*piece*/) {
    all.count_down();
    while (!all.try_wait() && std::chrono::steady_clock::now() < patience) std::this_thread::yield();
    if (all.try_wait()) ++met;
  });
  EXPECT_EQ(met, 3) << "pieces that were begun before another one ended";
}

#ifdef __linux__
/// Sanitizers need address space of their own.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST(ThreadTeams, are_smaller_where_the_system_makes_no_more_threads) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_AS, &before), 0);
  rlim_t pages = 0;
  std::ifstream{"/proc/self/statm"} >> pages;
  constexpr rlim_t kForStacks = rlim_t{64} << 20U;
  const rlimit tight{.rlim_cur = pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) + kForStacks,
                     .rlim_max = before.rlim_max};
  constexpr int kWanted = 1000;
  ThreadTeam team{kWanted};
  std::atomic<int> done{0};
  ASSERT_EQ(setrlimit(RLIMIT_AS, &tight), 0);
  team.for_each(100, [&](std::int64_t /*piece*/) { ++done; });
  ASSERT_EQ(setrlimit(RLIMIT_AS, &before), 0);
  EXPECT_EQ(done, 100);
  EXPECT_LT(team.threads(), kWanted);
  team.for_each(100, [&](std::int64_t /*piece*/) { ++done; });
  EXPECT_EQ(done, 200);
}
#endif
TEST(ThreadTeams, share_the_processors_among_the_ranks_of_a_host) {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  ASSERT_EQ(sched_getaffinity(0, sizeof mask, &mask), 0);
  const int all = CPU_COUNT(&mask);
  EXPECT_EQ(validator::threads_per_rank(1), all);
  EXPECT_EQ(validator::threads_per_rank(all), 1);
  EXPECT_EQ(validator::threads_per_rank(100000), 1) << "more ranks than processors";
}
#endif

}  // namespace
}  // namespace hexaplan::tests
