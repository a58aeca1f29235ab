#include "planner/search/contest.h"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "costmodel/schedule/schedule.h"
#include "costmodel/simulate/simulated_totals.h"
#include "costmodel/simulate/simulation.h"
#include "planner/refine/refine.h"
#include "planner/search/rejections.h"
#include "planner/search/search.h"

namespace hexaplan::planner {

using namespace costmodel;

bool keeps_limits(const SearchProblem& problem, const Plan& plan) {
  const SlowestSteps slowest = slowest_steps(problem.constraints, scenario_of(problem, plan));
  return plan.price.peak <= most_memory(problem, plan.hardware) && !broken_by_step(slowest, plan.price.step);
}

namespace {

constexpr std::size_t kBatch = 16;  // candidates refined or simulated between two looks at the list
constexpr std::int64_t kMostTasks = 4'000'000;  // of one simulation: a fifth of a second
constexpr double kMostSpread = 0.5;
constexpr double kRounding = 1e-9;
constexpr Seconds kNoLimit{std::numeric_limits<double>::infinity()};

/// A way to run a finalist: the candidate as it is, or refined.
struct Variant {
  Plan plan;  // price in closed form
  std::optional<Estimate> estimate;
  std::optional<Seconds> simulated;
  bool usable = true;
  double caution = 1;          // of its step time
  Seconds allowed = kNoLimit;  // the longest step that keeps the limits
  [[nodiscard]] Seconds step() const { return simulated.value_or(plan.price.step); }
  [[nodiscard]] Seconds cautious_step() const { return step() * caution; }
};

struct Finalist {
  Candidate place;
  std::optional<Variant> even, refined;
  bool bounds_alone = false;  // nobody has priced `even` yet
  bool priced = false;        // in full: estimated, and simulated where that is asked for
};

Variant variant_of(const SearchProblem& problem, Plan plan) {
  const Constraints& limits = problem.constraints;
  if (problem.rank_by == RankBy::Expected && !limits.limit_steps()) return {.plan = std::move(plan)};
  const Scenario sc = scenario_of(problem, plan);
  const double sigma = problem.rank_by == RankBy::Expected ? 0 : time_sigma_of(problem, plan.hardware, sc);
  const SlowestSteps slowest = slowest_steps(limits, sc);
  return {.plan = std::move(plan),
          .caution = caution(problem.rank_by, sigma),
          .allowed = *std::min_element(slowest.begin(), slowest.end())};
}

Price price_at(const SearchProblem& problem, const Plan& plan, Seconds step, Bytes peak) {
  return price_of(scenario_of(problem, plan), problem.hardware[plan.hardware].calibration, step, peak);
}

/// The plan with the price that estimate_step gives it.
Plan estimated(const SearchProblem& problem, Plan plan) {
  const Estimate estimate =
      estimate_step(scenario_of(problem, plan), problem.hardware[plan.hardware].calibration);
  plan.price = price_at(problem, plan, estimate.time.total(), estimate.peak().needed);
  return plan;
}

/// For a candidate that nobody priced: what the search knows of it are bounds.
void price_in_closed_form(const SearchProblem& problem, Variant& variant) {
  variant.plan = estimated(problem, variant.plan);
  variant.usable = keeps_limits(problem, variant.plan);
  // Where it is no plan, whatever it refines to is faster.
  if (!variant.usable) variant.plan.price.step = kNoLimit;
}

/// Estimates the variant and, where asked, simulates it. Not usable where it then breaks a limit.
void price_in_full(const SearchProblem& problem, SimulatedTotals& simulated, Variant& variant) {
  const Scenario sc = scenario_of(problem, variant.plan);
  const Calibration& calibration = problem.hardware[variant.plan.hardware].calibration;
  variant.estimate = estimate_step(sc, calibration);
  variant.plan.price =
      price_at(problem, variant.plan, variant.estimate->time.total(), variant.estimate->peak().needed);
  if (problem.simulate_winners && tasks_of_step(sc) <= kMostTasks)
    variant.simulated = simulated.of(sc, calibration);
  Plan as_shown = variant.plan;
  as_shown.price = price_at(problem, as_shown, variant.step(), as_shown.price.peak);
  variant.usable = keeps_limits(problem, as_shown);
}

/// Both ways of a finalist in full; the plain one only where simulation could still prefer it.
void price_in_full(const SearchProblem& problem, SimulatedTotals& simulated, double spread,
                   Finalist& finalist) {
  finalist.priced = true;
  if (finalist.refined) price_in_full(problem, simulated, *finalist.refined);
  if (!finalist.even->usable) return;
  const bool refined = finalist.refined && finalist.refined->usable;
  const Seconds even = finalist.even->plan.price.step * finalist.even->caution;
  if (refined && finalist.refined->cautious_step() < even * (1 - spread)) {
    finalist.even->usable = false;
  } else {
    price_in_full(problem, simulated, *finalist.even);
  }
}

/// Uneven stages make no sense of a goal of little memory: they take what is left over.
std::optional<Plan> refined(const SearchProblem& problem, const Variant& even, Seconds longest) {
  if (!problem.refine_winners || problem.objective == Objective::MemoryHeadroom) return std::nullopt;
  const std::vector<Recompute> choices = filled_space(problem, even.plan.hardware).recompute;
  return refine(problem, even.plan, may_choose_recomputed_layers(choices), longest);
}

/// What a ranking lists once: the best plan that has all of this in common.
struct Kind {
  std::size_t hardware;
  Precision precision;
  int tp, cp, pp, ep, etp, zero;
  std::int64_t micro_batch;
  RecomputeMode mode;
  std::uint16_t modules;
  std::uint8_t offload;
  double offload_fraction;
  explicit Kind(const Plan& p)
      : hardware{p.hardware},
        precision{p.recipe.precision},
        tp{p.layout.tp},
        cp{p.layout.cp},
        pp{p.layout.pp},
        ep{p.layout.ep},
        etp{p.layout.etp},
        zero{p.layout.sharding.stage},
        micro_batch{p.recipe.micro_batch},
        mode{p.recipe.recompute.mode},
        modules{p.recipe.recompute.modules},
        offload{p.recipe.offload},
        offload_fraction{p.recipe.offload_fraction} {}
  friend bool operator==(const Kind&, const Kind&) = default;
};

/// Objectives that grow with the step time can be missed by as much as it; others order by it second.
bool could_pass(const Scored& bound, const Scored& last, double spread, bool follows_step_time) {
  if (follows_step_time) return bound.goal * (1 - spread) <= last.goal;
  if (bound.goal != last.goal) return bound.goal < last.goal;
  return bound.tie() * (1 - spread) <= last.tie();
}

class ContestRun {
 public:
  ContestRun(const SearchProblem& problem, const Work& work, std::span<const Findings> of_hardware,
             const std::stop_token& stop)
      : problem_{problem}, work_{work}, stop_{stop}, goal_{problem} {
    spread_ = problem.simulate_winners ? kSimulationSpread : 0;
    for (const Findings& found : of_hardware) {
      const std::vector<Prospect> prospects = found.prospects.sorted();
      prospects_.insert(prospects_.end(), prospects.begin(), prospects.end());
      if (!found.prospects.complete() && !prospects.empty()) left_out_.push_back(prospects.back().bound);
      if (found.outclassed) outclassed_.push_back(*found.outclassed);
      // The best of every family as it is, whatever room its bounds had left it.
      for (const TopList::Entry& entry : found.top.entries())
        prospects_.push_back({entry.scored, entry.scored});
      // Other stages can take the risk off the best plan that breaks its limit alone.
      if (found.risky) prospects_.push_back({*found.risky, *found.risky, false});
    }
    std::stable_sort(prospects_.begin(), prospects_.end(),
                     [](const Prospect& a, const Prospect& b) { return better(a.bound, b.bound); });
  }

  Finalists hold() {
    // Plans that break a limit once simulated leave their places to others.
    for (double before = -1; before < spread_ || next_could_be_listed();) {
      before = spread_;
      refine_those_that_could_pass();
      price_those_that_could_pass();
      if (stop_.stop_requested()) break;
    }
    contest_.spread = spread_;
    const auto could = [&](const Scored& bound) { return could_be_listed(bound); };
    contest_.settled = !stop_.stop_requested() && std::ranges::none_of(left_out_, could);
    Finalists out = listed();
    out.misses_outclassed = std::ranges::any_of(outclassed_, could);
    return out;
  }

 private:
  /// Whether simulation could still leave it within the limits, or did.
  [[nodiscard]] bool usable(const std::optional<Variant>& v) const {
    return v && v->usable && (v->estimate || v->plan.price.step * (1 - spread_) <= v->allowed);
  }
  [[nodiscard]] bool usable(const Finalist& f) const { return usable(f.even) || usable(f.refined); }
  [[nodiscard]] const Variant& best_of(const Finalist& f) const {
    if (!usable(f.refined)) return *f.even;
    return usable(f.even) && f.even->cautious_step() <= f.refined->cautious_step() ? *f.even : *f.refined;
  }
  [[nodiscard]] Scored score_of(const Variant& variant, const Candidate& place) const {
    const Bytes peak = variant.plan.price.peak;
    return {.goal = goal_.of(variant.plan.hardware, variant.cautious_step(), peak),
            .step = variant.step(),
            .peak = peak,
            .candidate = place,
            .weight = variant.caution * goal_.steps(variant.plan.hardware)};
  }
  [[nodiscard]] Scored score_of(const Finalist& f) const { return score_of(best_of(f), f.place); }

  /// Finalists that a ranking would list now, best first: of a kind the best one. `all`: with those that are
  /// not priced in full yet.
  [[nodiscard]] std::vector<const Finalist*> list(bool all) const {
    std::vector<std::pair<Scored, const Finalist*>> scored;
    for (const Finalist& f : finalists_) {
      if (usable(f) && (all || f.priced)) scored.emplace_back(score_of(f), &f);
    }
    std::sort(scored.begin(), scored.end(),
              [](const auto& a, const auto& b) { return better(a.first, b.first); });
    std::vector<const Finalist*> out;
    std::vector<Kind> kinds;
    for (const auto& [score, finalist] : scored) {
      if (out.size() == problem_.top) break;
      const Kind kind{best_of(*finalist).plan};
      if (std::find(kinds.begin(), kinds.end(), kind) != kinds.end()) continue;
      kinds.push_back(kind);
      out.push_back(finalist);
    }
    return out;
  }

  /// The score to pass for a place in the list; nothing while there is room.
  [[nodiscard]] std::optional<Scored> last_of(bool all) const {
    const auto listed = list(all);
    if (listed.size() < problem_.top || listed.empty()) return std::nullopt;
    return score_of(*listed.back());
  }
  [[nodiscard]] bool could_be_listed(const Scored& bound, bool all = false) const {
    const auto last = last_of(all);
    return problem_.top > 0 && (!last || could_pass(bound, *last, spread_, goal_.follows_step_time()));
  }

  [[nodiscard]] bool next_could_be_listed() const {
    return next_ < prospects_.size() && could_be_listed(prospects_[next_].bound, true);
  }

  /// A closed form that is longer could not be listed; without a list yet only what breaks a limit is too
  /// long.
  [[nodiscard]] Seconds longest_worth_refining(const Finalist& finalist,
                                               const std::optional<Scored>& last) const {
    const Seconds allowed = finalist.even->allowed * ((1 + kRounding) / (1 - spread_));
    if (!last || !goal_.follows_step_time()) return allowed;
    const double of_a_second =
        goal_.of(finalist.even->plan.hardware, Seconds{finalist.even->caution}, Bytes{});
    return smaller(allowed, Seconds{last->goal / (of_a_second * (1 - spread_)) * (1 + kRounding)});
  }

  void refine_one(Finalist& finalist, const std::optional<Scored>& listed_last) const {
    if (finalist.bounds_alone) price_in_closed_form(problem_, *finalist.even);
    const Seconds longest = longest_worth_refining(finalist, listed_last);
    if (auto plan = refined(problem_, *finalist.even, longest))
      finalist.refined = variant_of(problem_, std::move(*plan));
  }

  void refine_those_that_could_pass() {
    while (next_could_be_listed()) {
      const auto listed_last = last_of(true);
      const std::size_t first = finalists_.size(), last = std::min(next_ + kBatch, prospects_.size());
      for (; next_ < last; ++next_) {
        const Prospect& prospect = prospects_[next_];
        finalists_.push_back({.place = prospect.best.candidate,
                              .even = variant_of(problem_, plan_of(problem_, work_, prospect.best)),
                              .bounds_alone = !prospect.priced});
      }
      tbb::parallel_for(first, finalists_.size(),
                        [&](std::size_t i) { refine_one(finalists_[i], listed_last); });
      if (stop_.stop_requested()) return;
    }
  }

  void price_those_that_could_pass() {
    for (;;) {
      std::vector<Finalist*> waiting = unpriced_that_could_pass();
      if (waiting.empty()) return;
      tbb::parallel_for(std::size_t{0}, waiting.size(),
                        [&](std::size_t i) { price_in_full(problem_, simulated_, spread_, *waiting[i]); });
      for (const Finalist* finalist : waiting) widen_spread(*finalist);
      if (stop_.stop_requested()) return;
    }
  }

  /// Of every kind the best that is priced in full.
  [[nodiscard]] std::vector<std::pair<Kind, Scored>> best_of_kinds() const {
    std::vector<std::pair<Kind, Scored>> best;
    for (const Finalist& f : finalists_) {
      if (!f.priced || !usable(f)) continue;
      const Kind kind{best_of(f).plan};
      const Scored score = score_of(f);
      const auto known =
          std::find_if(best.begin(), best.end(), [&](const auto& other) { return other.first == kind; });
      if (known == best.end()) {
        best.emplace_back(kind, score);
      } else if (better(score, known->second)) {
        known->second = score;
      }
    }
    return best;
  }

  /// Whether the variant is of a kind of which a better plan is priced, even if simulation takes as much off
  /// this one as it has taken off any of its schedule: a list would not have it.
  [[nodiscard]] bool is_beaten_in_kind(const Variant& variant, const Candidate& place,
                                       const std::vector<std::pair<Kind, Scored>>& best) const {
    const Kind kind{variant.plan};
    const auto known =
        std::find_if(best.begin(), best.end(), [&](const auto& other) { return other.first == kind; });
    if (known == best.end()) return false;
    const Scenario sc = scenario_of(problem_, variant.plan);
    const bool closed = has_closed_form(sc.layout, static_cast<int>(microbatches_per_step(sc)));
    const double spread = closed ? spread_ : std::max(spread_, kReplayedSpread);
    return !could_pass(score_of(variant, place), known->second, spread, goal_.follows_step_time());
  }

  [[nodiscard]] std::vector<Finalist*> unpriced_that_could_pass() {
    constexpr std::size_t most_of_kind = 4;  // at a time: the best of them beats the others
    const auto last = last_of(false);
    const std::vector<std::pair<Kind, Scored>> best = best_of_kinds();
    std::vector<std::pair<Scored, Finalist*>> waiting;
    for (Finalist& f : finalists_) {
      if (f.priced || !usable(f) || problem_.top == 0) continue;
      const Scored score = score_of(f);
      if (last && !could_pass(score, *last, spread_, goal_.follows_step_time())) continue;
      const auto beaten = [&](const std::optional<Variant>& v) {
        return !usable(v) || is_beaten_in_kind(*v, f.place, best);
      };
      if (!beaten(f.even) || !beaten(f.refined)) waiting.emplace_back(score, &f);
    }
    std::sort(waiting.begin(), waiting.end(),
              [](const auto& a, const auto& b) { return better(a.first, b.first); });
    std::vector<Finalist*> out;
    std::vector<Kind> kinds;
    for (const auto& [score, finalist] : waiting) {
      const Kind kind{best_of(*finalist).plan};
      if (std::cmp_greater_equal(std::count(kinds.begin(), kinds.end(), kind), most_of_kind)) continue;
      kinds.push_back(kind);
      out.push_back(finalist);
      if (out.size() == kBatch) break;
    }
    return out;
  }

  /// What simulation took off the closed form of one plan it may take off that of others.
  void widen_spread(const Finalist& finalist) {
    for (const auto* variant : {&finalist.even, &finalist.refined}) {
      if (!*variant || !(*variant)->simulated) continue;
      ++contest_.simulated;
      const double off = 1 - *(*variant)->simulated / (*variant)->plan.price.step;
      spread_ = std::min(kMostSpread, std::max(spread_, off));
    }
  }

  [[nodiscard]] Finalists listed() {
    Finalists out;
    for (const Finalist* finalist : list(false)) {
      const Variant& best = best_of(*finalist);
      RankedPlan plan{.plan = best.plan, .estimate = *best.estimate, .simulated = best.simulated};
      plan.plan.price = price_at(problem_, best.plan, best.step(), best.plan.price.peak);
      const Scenario sc = scenario_of(problem_, best.plan);
      plan.techniques = techniques_used(sc);
      plan.ninth_decile = best.step() * ninth_decile(time_sigma_of(problem_, best.plan.hardware, sc));
      if (&best != &*finalist->even) plan.refined_from = estimated(problem_, finalist->even->plan);
      out.plans.push_back(std::move(plan));
    }
    for (const Finalist& finalist : finalists_) {
      if (!finalist.refined) continue;
      ++contest_.refined;
      if (keeps_limits(problem_, finalist.refined->plan)) out.refined.push_back(finalist.refined->plan);
    }
    if (out.plans.empty()) contest_.missed = missed();
    out.contest = contest_;
    return out;
  }

  /// Of what was simulated, what comes closest to its limit; nothing of it is usable.
  [[nodiscard]] std::optional<Contest::Missed> missed() const {
    const Variant* best = nullptr;
    for (const Finalist& f : finalists_) {
      for (const auto* variant : {&f.even, &f.refined}) {
        if (!*variant || !(*variant)->simulated) continue;
        if (best == nullptr || (*variant)->step() / (*variant)->allowed < best->step() / best->allowed)
          best = &**variant;
      }
    }
    if (best == nullptr) return std::nullopt;
    const SlowestSteps slowest = slowest_steps(problem_.constraints, scenario_of(problem_, best->plan));
    const auto limit = broken_by_step(slowest, best->step());
    if (!limit) return std::nullopt;
    return Contest::Missed{std::string{name_of(*limit)}, best->step(),
                           slowest[static_cast<std::size_t>(*limit)]};
  }

  const SearchProblem& problem_;
  const Work& work_;
  const std::stop_token& stop_;
  Goal goal_;
  std::vector<Prospect> prospects_;  // by bound
  std::vector<Scored> left_out_;     // by hardware, the least bound of what there was no room for
  std::vector<Scored> outclassed_;   // … and of layouts that earlier plans seemed to beat
  std::size_t next_ = 0;
  std::vector<Finalist> finalists_;
  double spread_ = 0;
  SimulatedTotals simulated_;
  Contest contest_;
};

}  // namespace

Finalists hold_contest(const SearchProblem& problem, const Work& work, std::span<const Findings> found,
                       const std::stop_token& stop) {
  return ContestRun{problem, work, found, stop}.hold();
}

Plan finished(const SearchProblem& problem, const Plan& plan) {
  Finalist finalist{.even = variant_of(problem, plan)};
  if (auto better_plan = refined(problem, *finalist.even, kNoLimit))
    finalist.refined = variant_of(problem, std::move(*better_plan));
  SimulatedTotals simulated;
  price_in_full(problem, simulated, 0, finalist);
  const Variant& best = finalist.refined && finalist.refined->usable &&
                                finalist.refined->cautious_step() < finalist.even->cautious_step()
                            ? *finalist.refined
                            : *finalist.even;
  Plan out = best.plan;
  out.price = price_at(problem, best.plan, best.step(), best.plan.price.peak);
  return out;
}

}  // namespace hexaplan::planner
