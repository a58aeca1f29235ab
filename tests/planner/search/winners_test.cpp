// What a ranking says about its plans: diversity, limits, rejections, uneven splits, cancelling.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>
#include <stop_token>
#include <string>
#include <tuple>
#include <vector>

#include "costmodel/simulate/simulation.h"
#include "planner/explain/explain.h"
#include "planner/problem/nearby_batches.h"
#include "planner/refine/refine.h"
#include "planner/search/search.h"
#include "planner/search/sensitivity.h"
#include "tests/costmodel/step/example_scenario.h"

namespace hexaplan::planner {
namespace {

using namespace costmodel;

/// The example model on its 16 GPUs.
SearchProblem example_problem() {
  SearchProblem problem;
  problem.base = example_scenario();
  problem.hardware = {{problem.base.cluster, {}}};
  return problem;
}

const RejectionCount* rejection(const Ranking& ranking, std::string_view rule) {
  const auto found = std::find_if(ranking.rejections.begin(), ranking.rejections.end(),
                                  [&](const RejectionCount& r) { return r.rule == rule; });
  return found == ranking.rejections.end() ? nullptr : &*found;
}

TEST(ranking, lists_the_best_of_every_family_best_first) {
  SearchProblem problem = example_problem();
  problem.simulate_winners = false;
  const Ranking ranking = search(problem);
  ASSERT_EQ(ranking.plans.size(), 10);
  std::set<std::tuple<int, int, int, int, std::int64_t, int>> families;
  for (std::size_t i = 0; i < ranking.plans.size(); ++i) {
    const Plan& plan = ranking.plans[i].plan;
    if (i > 0) {
      EXPECT_LE(ranking.plans[i - 1].plan.price.step, plan.price.step);
    }
    EXPECT_TRUE(families
                    .emplace(plan.layout.tp, plan.layout.cp, plan.layout.pp, plan.layout.sharding.stage,
                             plan.recipe.micro_batch, static_cast<int>(plan.recipe.recompute.mode))
                    .second);
    EXPECT_NEAR(ranking.plans[i].estimate.time.total() / plan.price.step, 1, 1e-12);
  }
}

TEST(ranking, simulates_what_it_lists_and_says_how_far_the_closed_form_was_off) {
  SearchProblem problem = example_problem();
  problem.space.pp = {4};
  const Ranking ranking = search(problem);
  ASSERT_GT(ranking.plans.size(), 5);
  for (std::size_t i = 0; i < ranking.plans.size(); ++i) {
    const RankedPlan& ranked = ranking.plans[i];
    ASSERT_TRUE(ranked.simulated.has_value());
    EXPECT_EQ(*ranked.simulated, ranked.plan.price.step);
    EXPECT_EQ(*ranked.simulated, simulate_step(scenario_of(problem, ranked.plan), {}).total);
    EXPECT_LT(std::abs(ranked.closed_form_error()), 0.1);
    if (i > 0) {
      EXPECT_LE(*ranking.plans[i - 1].simulated, *ranked.simulated);
    }
  }
}

/// Questions whose stages do not come out even: 32 layers over 3, 5, 6 or 12 stages.
SearchProblem uneven_problem(std::int64_t gpus) {
  SearchProblem problem = example_problem();
  problem.hardware[0].cluster.gpus = problem.hardware[0].cluster.levels.back().ranks = gpus;
  problem.base.recipe.global_batch = gpus * 4;
  return problem;
}

TEST(ranking, the_first_plan_is_the_best_that_any_longer_list_knows) {
  for (const std::int64_t gpus : {12, 24, 40}) {
    SCOPED_TRACE(gpus);
    SearchProblem problem = uneven_problem(gpus);
    const Ranking ten = search(problem);
    problem.top = 100;
    const Ranking many = search(problem);
    ASSERT_GT(many.plans.size(), ten.plans.size());
    for (std::size_t i = 0; i < ten.plans.size(); ++i) {
      EXPECT_EQ(ten.plans[i].plan.layout, many.plans[i].plan.layout) << i;
      EXPECT_EQ(ten.plans[i].plan.price, many.plans[i].plan.price) << i;
    }
    for (std::size_t i = 1; i < many.plans.size(); ++i)
      EXPECT_LE(many.plans[i - 1].plan.price.step, many.plans[i].plan.price.step) << i;
  }
}

TEST(ranking, a_refined_plan_is_the_plan_and_says_what_it_refines) {
  SearchProblem problem = uneven_problem(40);
  problem.space.pp = {5};
  const Ranking ranking = search(problem);
  const auto refined = std::find_if(ranking.plans.begin(), ranking.plans.end(), [](const RankedPlan& p) {
    return p.refined_from && p.plan.layout.split == StageSplit::Explicit;
  });
  ASSERT_NE(refined, ranking.plans.end());
  EXPECT_LT(refined->estimate.time.total(), refined->refined_from->price.step);
  EXPECT_NE(refined->refined_from->layout.split, StageSplit::Explicit);
  EXPECT_EQ(refined->plan.price.peak, refined->estimate.peak().needed);
  // It is on the front, too, or something there beats it.
  EXPECT_TRUE(std::any_of(ranking.pareto.begin(), ranking.pareto.end(), [&](const Plan& p) {
    return p.price.step <= refined->estimate.time.total() && p.price.peak <= refined->plan.price.peak;
  }));
}

TEST(ranking, refined_and_simulated_plans_do_not_depend_on_threads_either) {
  const SearchProblem problem = uneven_problem(24);
  const Ranking one = search(problem, {.threads = 1}), many = search(problem, {.threads = 7});
  EXPECT_EQ(one.contest.refined, many.contest.refined);
  EXPECT_EQ(one.contest.simulated, many.contest.simulated);
  ASSERT_EQ(one.plans.size(), many.plans.size());
  for (std::size_t i = 0; i < one.plans.size(); ++i) {
    EXPECT_EQ(one.plans[i].plan.layout, many.plans[i].plan.layout);
    EXPECT_EQ(one.plans[i].plan.price, many.plans[i].plan.price);
  }
  ASSERT_EQ(one.pareto.size(), many.pareto.size());
}

TEST(ranking, recomputes_by_layer_only_where_the_space_has_every_count) {
  SearchProblem problem = uneven_problem(24);
  problem.hardware[0].cluster.gpu.memory = Bytes{30e9};
  problem.space.recompute = {{.mode = RecomputeMode::None}};
  for (const RankedPlan& plan : search(problem).plans)
    EXPECT_EQ(plan.plan.recipe.recompute.mode, RecomputeMode::None);
  problem.space.recompute = {{.mode = RecomputeMode::Full}};
  for (const RankedPlan& plan : search(problem).plans)
    EXPECT_EQ(plan.plan.recipe.recompute.mode, RecomputeMode::Full);
}

TEST(ranking, a_layout_is_rejected_with_its_neighbours_that_pass) {
  SearchProblem problem = example_problem();
  problem.base.model.attention.kv_heads = problem.base.model.attention.heads = 24;
  problem.hardware[0].cluster.gpus = 16;
  problem.space.tp = {1, 16};
  const Ranking ranking = search(problem);
  const RejectionCount* heads = rejection(ranking, "heads-divide-by-tp");
  ASSERT_NE(heads, nullptr);
  EXPECT_EQ(heads->reason, "24 attention heads do not split over tp=16");
  ASSERT_EQ(heads->nearest.size(), 2);
  EXPECT_EQ(heads->nearest[0].tp, 12);
  EXPECT_EQ(heads->nearest[1].tp, 24);
}

TEST(ranking, degrees_that_do_not_fill_the_cluster_are_counted) {
  SearchProblem problem = example_problem();
  problem.space.tp = {1};
  problem.space.cp = {1};
  problem.space.pp = {1, 3, 5};
  const Ranking ranking = search(problem);
  const RejectionCount* fills = rejection(ranking, "fills-the-cluster");
  ASSERT_NE(fills, nullptr);
  EXPECT_EQ(fills->candidates, 2);
}

TEST(ranking, of_machines_too_small_says_what_comes_closest) {
  SearchProblem problem = example_problem();
  problem.hardware[0].cluster.gpu.memory = Bytes{5e9};
  const Ranking ranking = search(problem);
  EXPECT_TRUE(ranking.plans.empty());
  EXPECT_TRUE(ranking.pareto.empty());
  const RejectionCount* memory = rejection(ranking, "fits-in-memory");
  ASSERT_NE(memory, nullptr);
  EXPECT_EQ(memory->candidates, ranking.counts.priced + ranking.counts.pruned);
  EXPECT_NE(memory->reason.find("more than the 4.66 GiB allowed"), std::string::npos);
}

TEST(ranking, lists_no_plan_that_runs_out_of_memory_more_often_than_allowed) {
  SearchProblem problem = example_problem();
  problem.space.schedule = {ScheduleKind::OneFOneB};
  problem.hardware[0].cluster.gpu.memory = Bytes{24e9};
  const SearchOptions all{.every_layout = true};  // nothing is ruled out unpriced
  const Ranking safe = search(problem, all);
  ASSERT_FALSE(safe.plans.empty());
  for (const RankedPlan& plan : safe.plans) {
    EXPECT_LE(plan.plan.price.risk, kDefaultRisk);
    EXPECT_NEAR(plan.plan.price.risk, plan.estimate.out_of_memory_probability, 1e-9);
  }
  for (const Plan& plan : safe.pareto) EXPECT_LE(plan.price.risk, kDefaultRisk);
  const RejectionCount* risk = rejection(safe, "max-risk");
  ASSERT_NE(risk, nullptr);
  EXPECT_NE(risk->reason.find("5.00 % are allowed"), std::string::npos) << risk->reason;
  // What safety costs: without it the fastest plan is the one that was named.
  ASSERT_TRUE(safe.best_at_any_risk.has_value());
  problem.constraints.max_risk = 1;
  problem.refine_winners = false;
  problem.simulate_winners = false;
  const Ranking any = search(problem, all);
  EXPECT_EQ(rejection(any, "max-risk"), nullptr);
  EXPECT_FALSE(any.best_at_any_risk.has_value());
  EXPECT_EQ(any.counts.feasible, safe.counts.feasible + risk->candidates);
  EXPECT_LE(any.plans[0].plan.price.step, safe.best_at_any_risk->price.step);
}

/// A plan that few published runs are like has to be faster by what they leave open.
TEST(ranking, by_a_quantile_plans_rest_on_what_was_measured) {
  SearchProblem problem = example_problem();
  problem.space.cp = {1, 2};
  const Ranking expected = search(problem);
  problem.rank_by = RankBy::P90;
  const Ranking cautious = search(problem);
  ASSERT_FALSE(expected.plans.empty());
  ASSERT_EQ(cautious.plans.size(), expected.plans.size());
  for (std::size_t i = 0; i < cautious.plans.size(); ++i) {
    const RankedPlan& plan = cautious.plans[i];
    EXPECT_EQ(contains(plan.techniques, Technique::ContextParallel), plan.plan.layout.cp > 1);
    EXPECT_GT(plan.ninth_decile, plan.plan.price.step);
    if (i > 0) {
      EXPECT_LE(cautious.plans[i - 1].ninth_decile, plan.ninth_decile);
    }
  }
  EXPECT_LE(cautious.plans[0].ninth_decile, expected.plans[0].ninth_decile);
  EXPECT_LE(expected.plans[0].plan.price.step, cautious.plans[0].plan.price.step);
  const auto with_cp = [](const Ranking& ranking) {
    return std::count_if(ranking.plans.begin(), ranking.plans.end(),
                         [](const RankedPlan& p) { return p.plan.layout.cp > 1; });
  };
  EXPECT_LE(with_cp(cautious), with_cp(expected));
}

TEST(nearby_batches, divide_over_sizes_that_the_asked_one_does_not) {
  // 13 divides 507 and 520, 26, 52 and 104 only 520.
  EXPECT_EQ(nearby_batches(512, 0.02, 104), (std::vector<std::int64_t>{507, 512, 520}));
  EXPECT_EQ(nearby_batches(512, 0.005, 104), (std::vector<std::int64_t>{512}));
  EXPECT_EQ(nearby_batches(2048, 0.05, 16384), (std::vector<std::int64_t>{2048}));
  EXPECT_EQ(nearby_batches(1, 0.25, 8), (std::vector<std::int64_t>{1}));
}

TEST(ranking, batches_are_compared_by_their_time_per_token) {
  SearchProblem problem = uneven_problem(24);
  problem.base.recipe.global_batch = 94;  // dp 12 and 24 take 96
  const Ranking asked = search(problem);
  problem.hardware.push_back(problem.hardware[0]);
  problem.hardware[0].global_batch = 94;
  problem.hardware[1].global_batch = 96;
  const Ranking both = search(problem);
  ASSERT_FALSE(both.plans.empty());
  const auto rate = [](const RankedPlan& p) { return p.plan.price.tokens_per_second_per_gpu; };
  EXPECT_EQ(both.plans[0].plan.recipe.global_batch, 96);
  EXPECT_GT(rate(both.plans[0]), rate(asked.plans[0]));
  for (std::size_t i = 1; i < both.plans.size(); ++i)
    EXPECT_GE(rate(both.plans[i - 1]), rate(both.plans[i]) * (1 - 1e-12));
}

TEST(ranking, keeps_hours_dollars_and_mfu) {
  SearchProblem problem = example_problem();
  problem.base.recipe.tokens = 1'000'000'000;
  problem.hardware[0].cluster.gpu.price_per_hour = 2;
  problem.simulate_winners = false;
  const Ranking free = search(problem);
  ASSERT_GE(free.plans.size(), 2);
  const Price best = free.plans[0].plan.price, second = free.plans[1].plan.price;
  const double steps = 1e9 / (64 * 8192);
  const auto hours = [&](const Price& p) { return steps * p.step.value() / 3600; };
  const auto only_best = [&](const char* rule, const std::function<void(Constraints&)>& limit) {
    SearchProblem limited = problem;
    limit(limited.constraints);
    const Ranking ranking = search(limited);
    ASSERT_FALSE(ranking.plans.empty()) << rule;
    EXPECT_EQ(ranking.plans[0].plan.price, best);
    for (const RankedPlan& plan : ranking.plans) EXPECT_LT(plan.plan.price.step, second.step) << rule;
    EXPECT_NE(rejection(ranking, rule), nullptr);
  };
  const double between = (hours(best) + hours(second)) / 2;
  only_best("max-hours", [&](Constraints& c) { c.hours = between; });
  only_best("max-cost", [&](Constraints& c) { c.dollars = between * 16 * 2; });
  only_best("min-mfu", [&](Constraints& c) { c.mfu = (best.mfu + second.mfu) / 2; });
}

TEST(ranking, the_cheapest_cluster_that_is_fast_enough_wins_by_gpus) {
  SearchProblem problem = example_problem();
  problem.base.recipe.tokens = 1'000'000'000;
  problem.objective = Objective::Gpus;
  for (const std::int64_t gpus : {8, 32}) {
    HardwareOption hardware = problem.hardware[0];
    hardware.cluster.gpus = hardware.cluster.levels.back().ranks = gpus;
    problem.hardware.push_back(hardware);
  }
  ASSERT_EQ(search(problem).plans.at(0).plan.price.gpus, 8);
  const double steps = 1e9 / (64 * 8192);
  const Ranking eight = search(problem);
  problem.constraints.hours = eight.plans[0].plan.price.step.value() * steps / 3600 * 0.75;
  const Ranking sixteen = search(problem);
  EXPECT_EQ(sixteen.plans.at(0).plan.price.gpus, 16);
  for (const Plan& plan : sixteen.pareto) EXPECT_NE(plan.price.gpus, 8);
}

TEST(ranking, a_stopped_search_returns_what_it_has) {
  std::stop_source source;
  SearchProblem problem = example_problem();
  std::int64_t calls = 0;
  const Ranking ranking = search(problem, {.threads = 1,
                                           .progress =
                                               [&](const SearchProgress& p) {
                                                 ++calls;
                                                 EXPECT_GT(p.share, 0);
                                                 if (p.priced > 0) source.request_stop();
                                               },
                                           .stop = source.get_token()});
  const Ranking whole = search(problem);
  EXPECT_TRUE(ranking.stopped);
  EXPECT_GT(calls, 0);
  EXPECT_GT(ranking.counts.priced, 0);
  EXPECT_LT(ranking.counts.priced, whole.counts.priced);
  EXPECT_FALSE(ranking.plans.empty());
}

// --- uneven splits ---

/// Fastest explicit split of 8 layers over 4 stages by trying all of them, with every count of recomputed
/// layers.
Seconds fastest_by_trial(const Scenario& base, const Calibration& calibration) {
  Seconds best{1e9};
  Scenario sc = base;
  sc.layout.split = StageSplit::Explicit;
  const auto try_recomputed = [&](const auto& self, std::vector<int>& recomputed) -> void {
    const std::size_t stage = recomputed.size();
    if (stage == sc.layout.stage_layers.size()) {
      const bool none = std::all_of(recomputed.begin(), recomputed.end(), [](int n) { return n == 0; });
      sc.recipe.recompute = {.mode = none ? RecomputeMode::None : RecomputeMode::Layers};
      sc.recipe.recompute.stage_layers = recomputed;
      const Estimate estimate = estimate_step(sc, calibration);
      if (estimate.out_of_memory_probability <= kDefaultRisk) best = smaller(best, estimate.time.total());
      return;
    }
    for (int n = 0; n <= sc.layout.stage_layers[stage]; ++n) {
      recomputed.push_back(n);
      self(self, recomputed);
      recomputed.pop_back();
    }
  };
  for (int a = 1; a <= 5; ++a)
    for (int b = 1; a + b <= 6; ++b)
      for (int c = 1; a + b + c <= 7; ++c) {
        sc.layout.stage_layers = {a, b, c, 8 - a - b - c};
        std::vector<int> recomputed;
        try_recomputed(try_recomputed, recomputed);
      }
  return best;
}

TEST(uneven_split, is_the_fastest_of_all_splits_that_fit) {
  int gained = 0;
  for (const double gigabytes : {13.0, 15.0, 18.0, 24.0, 80.0}) {
    SearchProblem problem = example_problem();
    problem.base.model.layers = 8;
    problem.base.recipe.global_batch = 32;
    problem.hardware[0].cluster.gpu.memory = Bytes{gigabytes * 1e9};
    Plan plan{.layout = problem.base.layout, .recipe = problem.base.recipe};
    plan.layout.pp = 4, plan.layout.dp = 2;
    plan.recipe.recompute.mode = RecomputeMode::Full;
    const Scenario sc = scenario_of(problem, plan);
    const Estimate even = estimate_step(sc, {});
    plan.price = price_of(sc, {}, even.time.total(), even.stages[0].needed);
    const Seconds best = fastest_by_trial(sc, {});
    const auto refined = refine(problem, plan);
    if (best.value() >= even.time.total().value()) {
      EXPECT_FALSE(refined.has_value());
      continue;
    }
    ASSERT_TRUE(refined.has_value()) << gigabytes;
    EXPECT_NEAR(refined->price.step / best, 1, 1e-9) << gigabytes;
    EXPECT_LE(refined->price.peak, refined->price.capacity);
    ++gained;
  }
  EXPECT_GE(gained, 3);
}

/// The fastest of the same splits, where every stage recomputes as many layers as the others.
Seconds fastest_with_one_count(const Scenario& base) {
  Seconds best{1e9};
  Scenario sc = base;
  sc.layout.split = StageSplit::Explicit;
  for (int a = 1; a <= 5; ++a)
    for (int b = 1; a + b <= 6; ++b)
      for (int c = 1; a + b + c <= 7; ++c)
        for (int count = 0; count <= 5; ++count) {
          sc.layout.stage_layers = {a, b, c, 8 - a - b - c};
          sc.recipe.recompute = {.mode = count == 0 ? RecomputeMode::None : RecomputeMode::Layers,
                                 .layers = count};
          const Estimate estimate = estimate_step(sc, {});
          if (estimate.out_of_memory_probability <= kDefaultRisk) best = smaller(best, estimate.time.total());
        }
  return best;
}

TEST(uneven_split, recomputes_as_many_layers_on_every_stage_where_the_framework_has_one_number) {
  int gained = 0, recomputed = 0;
  for (const double gigabytes : {12.0, 13.0, 14.0, 15.0, 16.0, 18.0, 24.0, 80.0}) {
    SCOPED_TRACE(gigabytes);
    SearchProblem problem = example_problem();
    problem.base.framework.abilities.recompute_per_stage = false;
    problem.base.model.layers = 8;
    problem.base.recipe.global_batch = 32;
    problem.hardware[0].cluster.gpu.memory = Bytes{gigabytes * 1e9};
    Plan plan{.layout = problem.base.layout, .recipe = problem.base.recipe};
    plan.layout.pp = 4, plan.layout.dp = 2;
    plan.recipe.recompute.mode = RecomputeMode::Full;
    const Scenario sc = scenario_of(problem, plan);
    const Estimate even = estimate_step(sc, {});
    plan.price = price_of(sc, {}, even.time.total(), even.stages[0].needed);
    const Seconds best = fastest_with_one_count(sc);
    const auto refined = refine(problem, plan);
    if (best.value() >= even.time.total().value()) {
      EXPECT_FALSE(refined.has_value());
      continue;
    }
    ASSERT_TRUE(refined.has_value());
    EXPECT_NEAR(refined->price.step / best, 1, 1e-9);
    EXPECT_TRUE(refined->recipe.recompute.stage_layers.empty());
    ++gained;
    recomputed += refined->recipe.recompute.layers > 0 ? 1 : 0;
  }
  EXPECT_GE(gained, 3);
  EXPECT_GE(recomputed, 1);
}

TEST(ranking, by_default_tries_what_the_framework_has) {
  SearchProblem problem = example_problem();
  FrameworkAbilities& can = problem.base.framework.abilities;
  can.recompute = 1U << static_cast<unsigned>(RecomputeMode::None);
  can.recompute_modules = {kRecomputeNorm, kRecomputeMoeActivation,
                           kRecomputeNorm | kRecomputeMlaUpProjection};
  // Experts and latent attention are not in the model.
  EXPECT_EQ(filled_space(problem, 0).recompute,
            (std::vector<Recompute>{{.mode = RecomputeMode::None},
                                    {.mode = RecomputeMode::SelectiveModules, .modules = kRecomputeNorm}}));
  problem.base.model.layers = 80;
  can.unequal_stages = false;
  problem.space.pp = {1, 4, 8};
  // 80 = 4 · 20 = 8 · 10; with the ends 82 divides by no stages.
  EXPECT_EQ(filled_space(problem, 0).vpp, (std::vector<int>{1, 2, 4, 5, 10}));
}

TEST(uneven_split, needs_a_pipeline) {
  const SearchProblem problem = example_problem();
  Plan plan{.layout = {.dp = 16}, .recipe = problem.base.recipe};
  plan.price = price_of(scenario_of(problem, plan), {}, Seconds{1}, Bytes{1});
  EXPECT_FALSE(refine(problem, plan).has_value());
}

// --- explanation ---

TEST(explanation, terms_add_up_to_what_differs) {
  Scenario a = example_scenario(), b = a;
  b.layout.pp = 4, b.layout.dp = 2;
  const Estimate of_a = estimate_step(a, {}), of_b = estimate_step(b, {});
  const Explanation why = explain(of_a, of_b);
  double time = 0, memory = 0;
  for (const Term& term : why.time) time += term.difference();
  for (const Term& term : why.memory) memory += term.difference();
  EXPECT_NEAR(time, (of_b.time.total() - of_a.time.total()).value(), 1e-9);
  const auto peak = [](const Estimate& e) { return e.peak().needed.value(); };
  EXPECT_NEAR(memory, peak(of_b) - peak(of_a), 1);
  for (std::size_t i = 1; i < why.time.size(); ++i)
    EXPECT_GE(std::abs(why.time[i - 1].difference()), std::abs(why.time[i].difference()));
}

TEST(search_each, answers_as_one_search_after_the_other) {
  std::vector<SearchProblem> problems;
  for (const std::int64_t sequence : {2048, 4096, 8192}) {
    problems.push_back(example_problem());
    problems.back().base.recipe.sequence = sequence;
    problems.back().simulate_winners = false;
  }
  for (const int threads : {1, 3}) {
    double share = 0;
    SearchOptions options{.threads = threads, .progress = {}, .stop = {}};
    options.progress = [&](const SearchProgress& now) { share = std::max(share, now.share); };
    const std::vector<Ranking> rankings = search_each(problems, options);
    ASSERT_EQ(rankings.size(), problems.size());
    for (std::size_t i = 0; i < problems.size(); ++i) {
      const Ranking alone = search(problems[i]);
      EXPECT_EQ(rankings[i].counts.priced, alone.counts.priced);
      ASSERT_EQ(rankings[i].plans.size(), alone.plans.size());
      for (std::size_t p = 0; p < alone.plans.size(); ++p) {
        EXPECT_EQ(rankings[i].plans[p].plan.layout, alone.plans[p].plan.layout);
        EXPECT_EQ(rankings[i].plans[p].plan.price, alone.plans[p].plan.price);
      }
    }
    EXPECT_NEAR(share, 1, 1e-9);
  }
}

TEST(search_each, ends_at_once_when_it_is_stopped) {
  std::stop_source stop;
  stop.request_stop();
  const std::vector<Ranking> rankings = search_each({example_problem(), example_problem()},
                                                    {.threads = 2, .progress = {}, .stop = stop.get_token()});
  ASSERT_EQ(rankings.size(), 2U);
  for (const Ranking& ranking : rankings) EXPECT_TRUE(ranking.stopped);
}

TEST(sensitivity, more_memory_lets_in_what_did_not_fit) {
  SearchProblem problem = example_problem();
  problem.simulate_winners = problem.refine_winners = false;
  problem.constraints.max_risk = 1;
  Bytes least{1e15};
  for (const Plan& plan : search(problem).pareto) least = smaller(least, plan.price.peak);
  problem.hardware[0].cluster.gpu.memory = least - Bytes{0x1p29};
  ASSERT_TRUE(search(problem).plans.empty());
  const auto changes = sensitivity(problem);
  ASSERT_EQ(changes.front().change, "1 GiB more memory per GPU");
  ASSERT_TRUE(changes.front().best);
  EXPECT_LE(changes.front().best->plan.price.peak, least + Bytes{0x1p29});
  for (std::size_t i = 1; i < changes.size(); ++i) EXPECT_FALSE(changes[i].best) << changes[i].change;
}

TEST(sensitivity, links_inside_nodes_count_where_they_were_measured_too) {
  SearchProblem problem = example_problem();
  problem.simulate_winners = problem.refine_winners = false;
  problem.space.tp = {8};
  problem.space.sp = {false};
  problem.hardware[0].calibration.collectives = {{.kind = CollectiveKind::AllReduce,
                                                  .ranks = 8,
                                                  .size = {.log2 = {10, 30}},
                                                  .microseconds = {20, 6000}}};
  const Seconds step = search(problem).plans.at(0).plan.price.step;
  for (const ChangedMachines& changed : sensitivity(problem)) {
    if (changed.change != "links inside nodes 25 % faster") continue;
    ASSERT_TRUE(changed.best);
    EXPECT_LT(changed.best->plan.price.step, step * 0.99);
  }
}

TEST(sensitivity, of_an_oversubscribed_network_shows_what_full_bisection_brings) {
  SearchProblem problem = example_problem();
  problem.simulate_winners = problem.refine_winners = false;
  ClusterSpec& cluster = problem.hardware[0].cluster;
  NetworkLevel tier = cluster.levels.back();
  tier.bandwidth = tier.bandwidth / 50;
  cluster.levels.back().ranks = cluster.gpus_per_node;
  cluster.levels.push_back(tier);
  const Seconds step = search(problem).plans.at(0).plan.price.step;
  const auto changes = sensitivity(problem);
  const auto full = std::find_if(changes.begin(), changes.end(),
                                 [](const auto& row) { return row.change == "no oversubscription"; });
  ASSERT_NE(full, changes.end());
  ASSERT_TRUE(full->best);
  EXPECT_LT(full->best->plan.price.step, step);
}

TEST(sensitivity, leaves_out_what_the_machines_do_not_have) {
  SearchProblem problem = example_problem();
  problem.simulate_winners = problem.refine_winners = false;
  ClusterSpec& cluster = problem.hardware[0].cluster;
  cluster.gpus = 8;
  cluster.levels.pop_back();
  cluster.gpu.price_per_hour = 0;
  std::vector<std::string> names;
  for (const ChangedMachines& changed : sensitivity(problem)) names.push_back(changed.change);
  EXPECT_EQ(names, (std::vector<std::string>{"1 GiB more memory per GPU", "links inside nodes 25 % faster"}));
}

TEST(ranking, of_equally_many_gpus_the_batch_with_the_most_tokens_per_second_is_first) {
  SearchProblem problem = example_problem();
  problem.simulate_winners = problem.refine_winners = false;
  problem.objective = Objective::Gpus;
  problem.base.recipe.global_batch = 64;
  problem.hardware[0].global_batch = 64;
  problem.hardware.push_back(problem.hardware[0]);
  problem.hardware[1].global_batch = 48;  // a shorter step, of fewer tokens
  const Ranking ranking = search(problem);
  const auto& plans = ranking.plans;
  ASSERT_GT(plans.size(), 1U);
  for (std::size_t i = 1; i < plans.size(); ++i)
    EXPECT_GE(plans[i - 1].plan.price.tokens_per_second_per_gpu,
              plans[i].plan.price.tokens_per_second_per_gpu * (1 - 1e-12));
  // The step alone would say otherwise.
  EXPECT_FALSE(std::is_sorted(plans.begin(), plans.end(), [](const RankedPlan& a, const RankedPlan& b) {
    return a.plan.price.step < b.plan.price.step;
  }));
}

TEST(ranking, cost_counts_what_failures_and_spare_nodes_take) {
  SearchProblem problem = example_problem();
  problem.simulate_winners = problem.refine_winners = false;
  problem.objective = Objective::Cost;
  problem.base.recipe.tokens = 1'000'000'000'000;
  problem.hardware.push_back(problem.hardware[0]);
  problem.hardware[0].cluster.gpu.price_per_hour = 2;
  problem.hardware[1].cluster.gpu.price_per_hour = 2.01;
  ASSERT_EQ(search(problem).plans[0].plan.hardware, 0U);
  problem.hardware[0].cluster.reliability.spare_nodes = 1;
  EXPECT_EQ(search(problem).plans[0].plan.hardware, 1U);
}

}  // namespace
}  // namespace hexaplan::planner
