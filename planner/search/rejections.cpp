#include "planner/search/rejections.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "costmodel/spec/rules.h"
#include "costmodel/step/estimate.h"
#include "costmodel/step/host_memory.h"
#include "costmodel/step/training_cost.h"
#include "costmodel/units/format_units.h"
#include "planner/search/search_rules.h"

namespace hexaplan::planner {
namespace {

using namespace costmodel;

constexpr double kGiB = 1073741824.0;

/// Layouts that differ from the example in the degree that the rule is about, and pass it: the next lower and
/// the next higher one.
std::vector<Layout> neighbours(const Rule& rule, Scenario sc) {
  std::vector<Layout> out;
  if (rule.axis == nullptr) return out;
  int& degree = sc.layout.*rule.axis;
  const int present = degree;
  const auto try_degree = [&](int value) {
    degree = value;
    if (!rule.passes(sc, nullptr)) return false;
    out.push_back(sc.layout);
    return true;
  };
  for (int lower = present - 1; lower >= 1 && !try_degree(lower);) --lower;
  for (int higher = present + 1; higher <= 2 * present && !try_degree(higher);) ++higher;
  return out;
}

/// The candidate as far as it was chosen when a rule of `scope` rejected it.
Scenario example_of(const SearchProblem& problem, const Work& work, const Candidate& candidate,
                    RuleScope scope) {
  const Unit& unit = work.units[candidate.unit];
  const Space& space = work.spaces[unit.hardware];
  Scenario sc = base_on(problem, unit.hardware);
  sc.framework.abilities.unequal_stages = *space.lists.unequal_stages;
  if (scope == RuleScope::Grid) {
    apply_grid(unit, space, candidate, sc);
    sc.layout.schedule = ScheduleKind::OneFOneB;
    sc.layout.vpp = 1;
    sc.layout.split = StageSplit::Even;
  } else {
    apply(unit, space, candidate, sc);
  }
  if (scope < RuleScope::Sequence) sc.layout.sp = false;
  sc.recipe.recompute = {};
  return sc;
}

RejectionCount of_rule(const SearchProblem& problem, const Work& work, const Rule& rule,
                       const RuleTally& tally) {
  const Scenario example = example_of(problem, work, tally.example, rule.scope);
  Reason why;
  rule.passes(example, &why);
  return {.rule = std::string{rule.name},
          .candidates = tally.candidates,
          .reason = std::move(why.reason),
          .advice = std::move(why.advice),
          .example = example.layout,
          .nearest = neighbours(rule, example)};
}

/// What of an estimate a constraint is about.
struct Wording {
  std::string_view name;
  std::string (*reason)(const SearchProblem&, const Scenario&, const Estimate&);
  std::string_view advice;
};

std::string memory_reason(const SearchProblem& problem, const Scenario& sc, const Estimate& e) {
  const Bytes limit = sc.cluster.gpu.memory * problem.constraints.memory_share;
  return fmt::format(
      "the one that comes closest needs {:.2f} GiB on stage {}, {} more than the {:.2f} GiB allowed",
      e.peak().needed.value() / kGiB, e.peak_stage, format_binary(larger(Bytes{}, e.peak().needed - limit)),
      limit.value() / kGiB);
}
std::string host_reason(const SearchProblem&, const Scenario& sc, const Estimate& e) {
  const auto rejected = host_rejection({e.host_memory, e.disk}, sc.cluster.host);
  return rejected ? "of the one that comes closest " + rejected->reason : "";
}
/// Two numbers in short, or in full where that does not tell them apart.
struct Pair {
  std::string first, second;
};
Pair told_apart(double first, double second, std::string (*in_short)(double),
                std::string (*in_full)(double)) {
  Pair pair{in_short(first), in_short(second)};
  return pair.first != pair.second ? pair : Pair{in_full(first), in_full(second)};
}
std::string hours_text(double hours) {
  constexpr double seconds_per_hour = 3600;
  return format_duration(Seconds{hours * seconds_per_hour});
}
std::string hours_in_full(double hours) {
  return fmt::format("{:.2f} hours", hours);
}
std::string dollars_text(double dollars) {
  return "$" + format_short(dollars);
}
std::string dollars_in_full(double dollars) {
  return fmt::format("${:.2f}", dollars);
}

std::string hours_reason(const SearchProblem& problem, const Scenario& sc, const Estimate& e) {
  const double hours = training_cost(sc, e).wall.value() / 3600;
  const double allowed = problem.constraints.hours.value_or(0);
  const auto [takes, may] = told_apart(hours, allowed, hours_text, hours_in_full);
  std::string text = fmt::format("the fastest of them trains for {} on {} GPUs, {} are allowed", takes,
                                 format_count(sc.cluster.gpus), may);
  // Whole nodes. A batch of the same size would leave each of them less to do.
  const double node = std::min<double>(sc.cluster.gpus_per_node, static_cast<double>(sc.cluster.gpus));
  const double gpus = node * std::ceil(static_cast<double>(sc.cluster.gpus) * hours / allowed / node);
  constexpr double kMostGpus = 1e12;
  if (!(gpus < kMostGpus)) return text;
  const double batch =
      std::ceil(static_cast<double>(sc.recipe.global_batch) * gpus / static_cast<double>(sc.cluster.gpus));
  return fmt::format("{}; {} GPUs would do at its rate per GPU, which takes a global batch of {}", text,
                     format_count(static_cast<std::int64_t>(gpus)),
                     format_count(static_cast<std::int64_t>(batch)));
}
std::string dollars_reason(const SearchProblem& problem, const Scenario& sc, const Estimate& e) {
  if (sc.cluster.gpu.price_per_hour <= 0) return fmt::format("{} has no price", sc.cluster.gpu.name);
  const auto [costs, may] = told_apart(training_cost(sc, e).dollars, problem.constraints.dollars.value_or(0),
                                       dollars_text, dollars_in_full);
  return fmt::format("the cheapest of them costs {}, {} are allowed", costs, may);
}
std::string mfu_reason(const SearchProblem& problem, const Scenario&, const Estimate& e) {
  return fmt::format("the best of them reaches {:.1f} % MFU, {:.1f} % are asked for", 100 * e.throughput.mfu,
                     100 * problem.constraints.mfu.value_or(0));
}
std::string risk_reason(const SearchProblem& problem, const Scenario&, const Estimate& e) {
  const double chance = 100 * e.out_of_memory_probability, allowed = 100 * problem.constraints.max_risk;
  constexpr int kLeastDigits = 2, kMostDigits = 6;
  int digits = kLeastDigits;
  while (digits < kMostDigits &&
         fmt::format("{:.{}f}", chance, digits) == fmt::format("{:.{}f}", allowed, digits))
    ++digits;
  return fmt::format(
      "they fit, but the safest of them has a chance of {:.{}f} % of running out of memory, {:.{}f} % are "
      "allowed",
      chance, digits, allowed, digits);
}

constexpr std::array<Wording, kLimits> kWordings{{
    {"fits-in-memory", memory_reason, "use more GPUs, recompute more, or shard more"},
    {"fits-in-host-memory", host_reason, "offload less, use more nodes, or offload to NVMe"},
    {"max-hours", hours_reason, "use more or faster GPUs, or allow more hours"},
    {"max-cost", dollars_reason, "use fewer or cheaper GPUs, or allow more dollars"},
    {"min-mfu", mfu_reason, "ask for less"},
    {"max-risk", risk_reason, "recompute more, shard more, or allow a higher risk"},
}};

RejectionCount of_limit(const SearchProblem& problem, const Work& work, Limit limit,
                        const LimitTally& tally) {
  const Wording& wording = kWordings[static_cast<std::size_t>(limit)];
  RejectionCount out{.rule = std::string{wording.name},
                     .candidates = tally.candidates,
                     .advice = std::string{wording.advice},
                     .constraint = true};
  const Unit& unit = work.units[tally.closest.unit];
  const HardwareOption& hardware = problem.hardware[unit.hardware];
  Scenario sc = base_on(problem, unit.hardware);
  apply(unit, work.spaces[unit.hardware], tally.closest, sc);
  out.example = sc.layout;
  out.reason = wording.reason(problem, sc, estimate_step(sc, hardware.calibration));
  out.closest = {std::move(sc), unit.hardware};
  return out;
}

}  // namespace

std::vector<RejectionCount> rejections_of(const SearchProblem& problem, const Work& work,
                                          const Account& account) {
  std::vector<RejectionCount> out;
  const std::span<const Rule> rules = search_rules();
  for (std::size_t i = 0; i < rules.size(); ++i) {
    if (account.rules[i].candidates > 0) out.push_back(of_rule(problem, work, rules[i], account.rules[i]));
  }
  for (std::size_t i = 0; i < kLimits; ++i) {
    if (account.limits[i].candidates == 0) continue;
    out.push_back(of_limit(problem, work, static_cast<Limit>(i), account.limits[i]));
  }
  std::stable_sort(out.begin(), out.end(), [](const RejectionCount& a, const RejectionCount& b) {
    return a.candidates > b.candidates;
  });
  return out;
}

std::string_view name_of(Limit limit) {
  return kWordings[static_cast<std::size_t>(limit)].name;
}

namespace {

/// Of candidates that meet every limit, until they are simulated.
std::string reason_of_simulation(const Ranking& ranking) {
  std::string text =
      fmt::format("{} candidates keep every limit in closed form", format_count(ranking.counts.feasible));
  const auto& missed = ranking.contest.missed;
  if (!missed) return text + ", but no plan was asked for";
  return fmt::format(
      "{}: {}, but none of the {} plans that were simulated does; the closest of these takes {} per step, at "
      "most {} would do",
      missed->limit, text, format_count(ranking.contest.simulated), format_duration(missed->step),
      format_duration(missed->allowed));
}

}  // namespace

const RejectionCount* last_limit(const Ranking& ranking) {
  if (ranking.counts.feasible > 0) return nullptr;
  for (auto limit = kWordings.rbegin(); limit != kWordings.rend(); ++limit) {
    for (const RejectionCount& row : ranking.rejections) {
      if (row.rule == limit->name) return &row;
    }
  }
  return nullptr;
}

std::string reason_for_nothing(const Ranking& ranking) {
  if (ranking.stopped) return "the search was stopped";
  if (ranking.counts.feasible > 0) return reason_of_simulation(ranking);
  if (ranking.rejections.empty()) return "the space is empty";
  const RejectionCount* limit = last_limit(ranking);
  const RejectionCount& row = limit != nullptr ? *limit : ranking.rejections.front();
  return row.rule + ": " + row.reason;
}

}  // namespace hexaplan::planner
