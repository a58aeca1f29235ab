// A search must find what pricing every candidate with estimate_step finds, over hundreds of random problems.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>
#include <vector>

#include "costmodel/simulate/simulation.h"
#include "planner/refine/refine.h"
#include "planner/search/search.h"
#include "planner/search/unit_search.h"
#include "planner/search/work.h"
#include "tests/costmodel/step/example_scenario.h"
#include "tests/planner/search/exhaustive.h"
#include "tests/support/random_scenario.h"

namespace hexaplan::planner {
namespace {

using namespace costmodel;

constexpr double kRounding = 1e-12;
constexpr std::uint64_t kProblems = 1000;

double relative(double a, double b) {
  return std::abs(a - b) / std::max(std::abs(a), std::abs(b));
}

bool fits(const SearchProblem& problem, const Exhaustive::Priced& p) {
  return p.peak <= p.leaf.scenario.cluster.gpu.memory * problem.constraints.memory_share;
}
bool keeps_limits(const SearchProblem& problem, const Exhaustive::Priced& p) {
  return fits(problem, p) && p.fits_on_host && p.risk <= problem.constraints.max_risk;
}

Price price(const SearchProblem& problem, const Exhaustive::Priced& p) {
  return price_of(p.leaf.scenario, problem.hardware[p.leaf.hardware].calibration, p.step, p.peak);
}

/// The step that counts in the ranking: by P90 it grows with what the published runs leave open.
Seconds cautious(const SearchProblem& problem, const Scenario& sc, Seconds step) {
  if (problem.rank_by == RankBy::Expected) return step;
  return step * ninth_decile(time_sigma(sc.framework, problem.hardware[0].calibration,
                                        added_variance(techniques_used(sc))));
}

double goal(const SearchProblem& problem, const Scenario& sc, Seconds predicted, Bytes peak) {
  // For as many tokens as one step of the asked batch has.
  const Seconds step =
      cautious(problem, sc, predicted) *
      (static_cast<double>(problem.base.recipe.global_batch) / static_cast<double>(sc.recipe.global_batch));
  const auto gpus = static_cast<double>(sc.cluster.gpus);
  bool priced = true;
  for (const HardwareOption& m : problem.hardware) priced = priced && m.cluster.gpu.price_per_hour > 0;
  switch (problem.objective) {
    case Objective::StepTime:
      return step.value();
    case Objective::TokensPerGpu:
      return step.value() * gpus;
    case Objective::Cost:
      return step.value() * gpus * (priced ? sc.cluster.gpu.price_per_hour : 1);
    case Objective::Gpus:
      return gpus;
    case Objective::MemoryHeadroom:
      return (peak - sc.cluster.gpu.memory).value();
  }
  return 0;
}

/// True when some plan of `front` is as good as the point in every respect, up to rounding.
template <class Plans, class Values>
bool covered(const Plans& front, const std::array<double, 4>& point, const Values& values) {
  return std::any_of(front.begin(), front.end(), [&](const auto& plan) {
    const std::array<double, 4> of_plan = values(plan);
    for (std::size_t i = 0; i < point.size(); ++i) {
      if (of_plan[i] > point[i] + kRounding * std::abs(point[i])) return false;
    }
    return true;
  });
}

std::array<double, 4> values_of(const Price& p) {
  return {p.step.value(), p.peak.value(), static_cast<double>(p.gpus), p.dollars_per_step};
}

void expect_same_counts(const SearchProblem& problem, const Exhaustive& all, const Ranking& ranking) {
  std::map<std::string, std::int64_t> expected = all.rejected;
  if (all.too_large > 0) expected["fits-in-memory"] = all.too_large;
  if (all.too_much_for_the_host > 0) expected["fits-in-host-memory"] = all.too_much_for_the_host;
  if (all.too_risky > 0) expected["max-risk"] = all.too_risky;
  std::map<std::string, std::int64_t> counted;
  for (const RejectionCount& r : ranking.rejections) counted[r.rule] = r.candidates;
  const SearchCounts& counts = ranking.counts;
  // Nobody asks whether what is outclassed meets the limits, or whether what is too risky by a bound on its
  // memory fits at all.
  EXPECT_LE(counted["max-risk"] + counted["fits-in-memory"],
            expected["max-risk"] + expected["fits-in-memory"]);
  EXPECT_LE(counted["fits-in-memory"], expected["fits-in-memory"]);
  EXPECT_LE(counted["fits-in-host-memory"], expected["fits-in-host-memory"]);
  std::int64_t outclassed = 0;
  for (const char* limit : {"fits-in-memory", "fits-in-host-memory", "max-risk"}) {
    outclassed += expected[limit] - counted[limit];
    counted.erase(limit);
    expected.erase(limit);
  }
  EXPECT_LE(outclassed, counts.outclassed);
  EXPECT_EQ(counted, expected);
  EXPECT_EQ(counts.enumerated, all.enumerated);
  EXPECT_EQ(counts.priced + counts.pruned + counts.outclassed, static_cast<std::int64_t>(all.priced.size()));
  EXPECT_EQ(counts.enumerated, counts.priced + counts.pruned + counts.outclassed + counts.rejected);
  const auto feasible = std::count_if(all.priced.begin(), all.priced.end(),
                                      [&](const auto& p) { return keeps_limits(problem, p); });
  EXPECT_LE(counts.feasible, feasible);
  EXPECT_GE(counts.feasible + counts.outclassed, feasible);
}

void expect_same_optimum(const SearchProblem& problem, const Exhaustive& all, const Ranking& ranking) {
  double best = std::numeric_limits<double>::infinity();
  for (const auto& p : all.priced) {
    if (keeps_limits(problem, p)) best = std::min(best, goal(problem, p.leaf.scenario, p.step, p.peak));
  }
  ASSERT_EQ(ranking.plans.empty(), std::isinf(best));
  if (ranking.plans.empty()) return;
  const Plan& plan = ranking.plans.front().plan;
  EXPECT_LE(relative(goal(problem, scenario_of(problem, plan), plan.price.step, plan.price.peak), best),
            kRounding);
}

/// What a list has once: the best plan that has all of this in common.
auto kind_of(const Exhaustive::Priced& p) {
  const Layout& l = p.leaf.scenario.layout;
  const Recipe& r = p.leaf.scenario.recipe;
  return std::tuple{p.leaf.hardware,
                    r.precision,
                    l.tp,
                    l.cp,
                    l.pp,
                    l.ep,
                    l.etp,
                    l.sharding.stage,
                    r.micro_batch,
                    r.offload,
                    r.offload_fraction,
                    r.recompute.mode,
                    r.recompute.modules};
}

/// Goals of the best candidate of each kind that meets the limits, best first.
std::vector<double> goals_of_kinds(const SearchProblem& problem, const Exhaustive& all) {
  std::map<decltype(kind_of(all.priced.front())), double> best;
  for (const auto& p : all.priced) {
    if (!keeps_limits(problem, p)) continue;
    const double value = goal(problem, p.leaf.scenario, p.step, p.peak);
    const auto [entry, made] = best.try_emplace(kind_of(p), value);
    entry->second = std::min(entry->second, value);
  }
  std::vector<double> goals;
  for (const auto& [kind, value] : best) goals.push_back(value);
  std::sort(goals.begin(), goals.end());
  return goals;
}

void expect_same_list(const SearchProblem& problem, const Exhaustive& all, const Ranking& ranking) {
  const std::vector<double> goals = goals_of_kinds(problem, all);
  ASSERT_EQ(ranking.plans.size(), std::min(goals.size(), problem.top));
  EXPECT_TRUE(ranking.contest.settled);
  for (std::size_t i = 0; i < ranking.plans.size(); ++i) {
    const Plan& plan = ranking.plans[i].plan;
    const double found = goal(problem, scenario_of(problem, plan), plan.price.step, plan.price.peak);
    const double scale = std::max(
        std::abs(goals[i]), plan.price.capacity.value() * (problem.objective == Objective::MemoryHeadroom));
    EXPECT_LE(std::abs(found - goals[i]), kRounding * scale) << "place " << i + 1;
  }
}

/// The best that fits, of those that the risk alone leaves out.
void expect_same_best_at_any_risk(const SearchProblem& problem, const Exhaustive& all,
                                  const Ranking& ranking) {
  double best = std::numeric_limits<double>::infinity();
  for (const auto& p : all.priced) {
    if (!fits(problem, p) || !p.fits_on_host || keeps_limits(problem, p)) continue;
    best = std::min(best, goal(problem, p.leaf.scenario, p.step, p.peak));
  }
  ASSERT_EQ(ranking.best_at_any_risk.has_value(), !std::isinf(best));
  if (!ranking.best_at_any_risk) return;
  const Plan& plan = *ranking.best_at_any_risk;
  EXPECT_LE(relative(goal(problem, scenario_of(problem, plan), plan.price.step, plan.price.peak), best),
            kRounding);
  EXPECT_GT(plan.price.risk, problem.constraints.max_risk);
}

/// What is said to come closest to fitting needs least of all that do not fit.
void expect_true_closest(const SearchProblem& problem, const Exhaustive& all, const Ranking& ranking) {
  const Exhaustive::Priced* closest = nullptr;
  const auto too_much = [&](const Exhaustive::Priced& p) {
    return (p.peak - p.leaf.scenario.cluster.gpu.memory * problem.constraints.memory_share).value();
  };
  for (const auto& p : all.priced) {
    if (!fits(problem, p) && (closest == nullptr || too_much(p) < too_much(*closest))) closest = &p;
  }
  if (closest == nullptr || ranking.counts.outclassed > 0) return;
  const auto row = std::find_if(ranking.rejections.begin(), ranking.rejections.end(),
                                [](const RejectionCount& r) { return r.rule == "fits-in-memory"; });
  ASSERT_NE(row, ranking.rejections.end());
  const std::string expected = fmt::format("needs {:.2f} GiB", closest->peak.value() / 1073741824.0);
  EXPECT_NE(row->reason.find(expected), std::string::npos) << row->reason << ", expected: " << expected;
}

void expect_same_front(const SearchProblem& problem, const Exhaustive& all, const Ranking& ranking) {
  const auto value = [](const Plan& plan) {
    std::array<double, 4> values = values_of(plan.price);
    // Batches may differ: time and money count per sequence.
    for (const std::size_t i : {std::size_t{0}, std::size_t{3}})
      values[i] /= static_cast<double>(plan.recipe.global_batch);
    return values;
  };
  std::vector<Plan> feasible;
  for (const auto& p : all.priced) {
    const Scenario& sc = p.leaf.scenario;
    if (keeps_limits(problem, p))
      feasible.push_back({.hardware = p.leaf.hardware,
                          .layout = sc.layout,
                          .recipe = sc.recipe,
                          .price = price(problem, p)});
  }
  for (const Plan& plan : feasible) {
    ASSERT_TRUE(covered(ranking.pareto, value(plan), value)) << "a candidate beats the front";
  }
  for (const Plan& plan : ranking.pareto) {
    ASSERT_TRUE(covered(feasible, value(plan), value)) << "the front promises too much";
  }
}

TEST(exact_search, agrees_with_pricing_every_candidate) {
  std::int64_t candidates = 0, pruned = 0, with_plans = 0;
  for (std::uint64_t seed = 1; seed <= kProblems; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const SearchProblem problem = random_problem(seed);
    const Exhaustive all = enumerate_all(problem);
    const Ranking ranking = search(problem);
    expect_same_counts(problem, all, ranking);
    expect_same_optimum(problem, all, ranking);
    expect_same_list(problem, all, ranking);
    expect_same_best_at_any_risk(problem, all, ranking);
    expect_true_closest(problem, all, ranking);
    expect_same_front(problem, all, ranking);
    if (HasFailure()) return;
    candidates += ranking.counts.priced + ranking.counts.outclassed;
    pruned += ranking.counts.pruned;
    with_plans += ranking.plans.empty() ? 0 : 1;
  }
  // The problems are worth asking.
  EXPECT_GT(candidates, 19000);
  EXPECT_GT(pruned, 1000);
  EXPECT_GT(with_plans, 50);
}

TEST(exact_search, prices_each_candidate_as_estimate_step_does) {
  for (std::uint64_t seed = 1; seed <= kProblems; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    SearchProblem problem = random_problem(seed);
    problem.constraints.memory_share = 1e9;  // nothing is pruned
    const Space space = make_space(problem, 0);
    const std::vector<Unit> units = units_of(problem, space, 0);
    UnitSearch pricer{problem, space, 0};
    std::size_t number = 0;
    pricer.set_visitor([&](const Candidate& candidate, Seconds step, Bytes peak) {
      if (::testing::Test::HasFailure()) return;
      Scenario sc = base_on(problem, 0);
      apply(units[number], space, candidate, sc);
      const Estimate estimate = estimate_step(sc, problem.hardware[0].calibration);
      ASSERT_LE(relative(step.value(), estimate.time.total().value()), kRounding) << sc;
      ASSERT_LE(relative(peak.value(), estimate.peak().needed.value()), kRounding);
    });
    for (; number < units.size(); ++number) {
      Findings findings{1, 1};
      pricer.run(units[number], static_cast<std::uint32_t>(number), findings, {});
    }
    if (HasFailure()) return;
  }
}

/// The fastest, as it counts in the ranking, of all candidates and of what refining each of them gives.
Seconds fastest_refined(const SearchProblem& problem, const Exhaustive& all) {
  const bool chooses = may_choose_recomputed_layers(filled_space(problem, 0).recompute);
  Seconds fastest{std::numeric_limits<double>::infinity()};
  Scenario last;  // of those below; they come one after the other
  for (const Exhaustive::Priced& p : all.priced) {
    if (!keeps_limits(problem, p)) continue;
    const Scenario& sc = p.leaf.scenario;
    fastest = smaller(fastest, Seconds{goal(problem, sc, p.step, p.peak)});
    // What differs only in how many layers recompute is refined into the same plan.
    if (chooses && recomputes_whole_layers(sc.recipe.recompute.mode)) {
      Recipe recipe = sc.recipe;
      recipe.recompute = {};
      if (sc.layout == last.layout && recipe == last.recipe && sc.cluster.gpus == last.cluster.gpus) continue;
      last.layout = sc.layout;
      last.recipe = recipe;
      last.cluster.gpus = sc.cluster.gpus;
    }
    const Plan plan{
        .hardware = p.leaf.hardware, .layout = sc.layout, .recipe = sc.recipe, .price = price(problem, p)};
    if (const auto refined = refine(problem, plan, chooses))
      fastest = smaller(fastest, Seconds{goal(problem, scenario_of(problem, *refined), refined->price.step,
                                              refined->price.peak)});
  }
  return fastest;
}

TEST(exact_search, no_refinement_of_any_candidate_beats_the_first_plan) {
  int refined = 0;
  for (std::uint64_t seed = 1; seed <= kProblems / 3; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    SearchProblem problem = random_problem(seed);
    problem.objective = Objective::StepTime;
    problem.refine_winners = true;
    problem.top = 5;
    problem.space.pp = {2, 4, 8};
    if (seed % 2 == 0) problem.space.recompute.push_back({.mode = RecomputeMode::Layers});
    const Ranking ranking = search(problem);
    if (ranking.plans.empty()) continue;
    ASSERT_TRUE(ranking.contest.settled);
    const Exhaustive all = enumerate_all(problem);
    const RankedPlan& first = ranking.plans.front();
    const Price& price = first.plan.price;
    EXPECT_LE(goal(problem, scenario_of(problem, first.plan), price.step, price.peak),
              fastest_refined(problem, all).value() * (1 + 1e-9));
    EXPECT_LE(first.plan.price.risk, problem.constraints.max_risk);
    refined += first.refined_from ? 1 : 0;
    if (HasFailure()) return;
  }
  EXPECT_GT(refined, 5);
}

void expect_same_plans(const std::vector<Plan>& some, const std::vector<Plan>& others) {
  ASSERT_EQ(some.size(), others.size());
  for (std::size_t i = 0; i < some.size(); ++i) {
    EXPECT_EQ(some[i].layout, others[i].layout);
    EXPECT_EQ(some[i].recipe, others[i].recipe);
    EXPECT_EQ(some[i].price, others[i].price);
  }
}

std::vector<Plan> plans_of(const Ranking& ranking) {
  std::vector<Plan> plans;
  for (const RankedPlan& ranked : ranking.plans) plans.push_back(ranked.plan);
  if (ranking.best_at_any_risk) plans.push_back(*ranking.best_at_any_risk);
  return plans;
}

TEST(exact_search, layouts_left_out_for_their_bound_are_in_no_list_and_not_on_the_front) {
  std::int64_t left_out = 0;
  int risky = 0, refined = 0;
  for (std::uint64_t seed = 1; seed <= kProblems / 2; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    SearchProblem problem = random_problem(seed);
    problem.refine_winners = seed % 2 == 0;
    problem.simulate_winners = seed % 3 != 0;
    problem.top = 1 + seed % 3;
    problem.constraints.max_risk = seed % 5 == 0 ? 1 : 0.05;
    if (seed % 4 == 0) {
      problem.space.recompute.push_back({.mode = RecomputeMode::Layers});
      problem.space.pp = {2, 4, 8};
    }
    const Ranking ranking = search(problem);
    const Ranking every = search(problem, {.every_layout = true});
    expect_same_plans(plans_of(ranking), plans_of(every));
    expect_same_plans(ranking.pareto, every.pareto);
    EXPECT_EQ(ranking.contest.settled, every.contest.settled);
    EXPECT_EQ(ranking.counts.enumerated, every.counts.enumerated);
    EXPECT_LE(every.counts.outclassed, ranking.counts.outclassed);
    if (HasFailure()) return;
    left_out += ranking.counts.outclassed - every.counts.outclassed;
    risky += ranking.best_at_any_risk ? 1 : 0;
    for (const RankedPlan& plan : ranking.plans) refined += plan.refined_from ? 1 : 0;
  }
  EXPECT_GT(left_out, 1000);
  EXPECT_GT(risky, 5);
  EXPECT_GT(refined, 5);
}

/// Candidates on three counts of GPUs, few enough to simulate all of them.
SearchProblem three_counts() {
  SearchProblem problem;
  problem.base = example_scenario();
  problem.base.recipe.tokens = 1'000'000'000;
  for (const std::int64_t gpus : {8, 16, 32}) {
    HardwareOption option{problem.base.cluster, {}};
    option.cluster.gpus = option.cluster.levels.back().ranks = gpus;
    option.cluster.gpu.price_per_hour = 2;
    problem.hardware.push_back(option);
  }
  problem.space.tp = {2, 4, 8};
  problem.space.cp = {1};
  problem.space.pp = {1, 2, 4};
  problem.space.vpp = {1, 2};
  problem.space.zero = {1};
  problem.space.micro_batch = {1, 2};
  problem.space.recompute = {{.mode = RecomputeMode::None}, {.mode = RecomputeMode::Full}};
  problem.refine_winners = false;
  problem.top = 30;
  return problem;
}

/// Every candidate with its simulated step.
Exhaustive simulated(const SearchProblem& problem) {
  Exhaustive all = enumerate_all(problem);
  for (auto& p : all.priced) {
    if (keeps_limits(problem, p)) p.step = simulate_step(p.leaf.scenario, {}).total;
  }
  return all;
}

/// Those that keep the limits of the step's time.
Exhaustive within(const Constraints& limits, Exhaustive all) {
  std::erase_if(all.priced, [&](const Exhaustive::Priced& p) {
    return broken_by_step(slowest_steps(limits, p.leaf.scenario), p.step).has_value();
  });
  return all;
}

TEST(exact_search, of_several_counts_of_gpus_lists_all_that_keep_a_limit_once_simulated) {
  SearchProblem problem = three_counts();
  const Exhaustive all = simulated(problem);
  std::vector<double> hours, dollars, mfus;
  for (const auto& p : all.priced) {
    if (!keeps_limits(problem, p)) continue;
    const Price at = price(problem, p);
    const double run = 1e9 / (64 * 8192) * at.step.value() / 3600;
    hours.push_back(run);
    dollars.push_back(run * static_cast<double>(at.gpus) * 2);
    mfus.push_back(at.mfu);
  }
  for (auto* list : {&hours, &dollars, &mfus}) std::sort(list->begin(), list->end());
  std::reverse(mfus.begin(), mfus.end());
  // Nothing, one plan, few, and half of all keep the limit.
  std::size_t listed = 0;
  for (const std::size_t place : {std::size_t{0}, std::size_t{3}, std::size_t{20}, hours.size() / 2}) {
    const double out = place == 0 ? 0.99 : 1.001;
    for (const Objective objective : {Objective::StepTime, Objective::Cost, Objective::Gpus}) {
      problem.objective = objective;
      const Constraints limits[] = {
          {.hours = hours[place] * out}, {.dollars = dollars[place] * out}, {.mfu = mfus[place] / out}};
      for (const Constraints& limit : limits) {
        SCOPED_TRACE(fmt::format("place {}, objective {}, limit {}", place, static_cast<int>(objective),
                                 &limit - limits));
        problem.constraints = limit;
        const Exhaustive expected = within(limit, all);
        const Ranking ranking = search(problem);
        expect_same_list(problem, expected, ranking);
        // However few candidates are kept at first.
        const Ranking narrow = search(problem, {.threads = 0, .progress = {}, .stop = {}, .room = 1});
        EXPECT_EQ(narrow.plans.empty(), ranking.plans.empty());
        if (narrow.contest.settled) expect_same_list(problem, expected, narrow);
        listed += ranking.plans.size();
        if (ranking.plans.empty() && ranking.counts.feasible > 0) {
          EXPECT_NE(reason_for_nothing(ranking).find("none of the"), std::string::npos);
        }
      }
    }
  }
  EXPECT_GT(listed, 100U);
}

TEST(exact_search, does_not_depend_on_the_number_of_threads) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const SearchProblem problem = random_problem(seed);
    const Ranking one = search(problem, {.threads = 1});
    const Ranking many = search(problem, {.threads = 7});
    EXPECT_EQ(one.counts, many.counts);
    ASSERT_EQ(one.plans.size(), many.plans.size());
    for (std::size_t i = 0; i < one.plans.size(); ++i) {
      EXPECT_EQ(one.plans[i].plan.layout, many.plans[i].plan.layout);
      EXPECT_EQ(one.plans[i].plan.recipe, many.plans[i].plan.recipe);
      EXPECT_EQ(one.plans[i].plan.price, many.plans[i].plan.price);
    }
    ASSERT_EQ(one.pareto.size(), many.pareto.size());
    for (std::size_t i = 0; i < one.pareto.size(); ++i) {
      EXPECT_EQ(one.pareto[i].layout, many.pareto[i].layout);
      EXPECT_EQ(one.pareto[i].price, many.pareto[i].price);
    }
    ASSERT_EQ(one.rejections.size(), many.rejections.size());
    for (std::size_t i = 0; i < one.rejections.size(); ++i) {
      EXPECT_EQ(one.rejections[i].reason, many.rejections[i].reason);
      EXPECT_EQ(one.rejections[i].example, many.rejections[i].example);
    }
  }
}

}  // namespace
}  // namespace hexaplan::planner
