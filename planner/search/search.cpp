#include "planner/search/search.h"

#include <tbb/global_control.h>
#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_pipeline.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <array>
#include <memory>
#include <mutex>
#include <utility>

#include "planner/search/contest.h"
#include "planner/search/findings.h"
#include "planner/search/pipelines.h"
#include "planner/search/rejections.h"
#include "planner/search/unit_order.h"
#include "planner/search/unit_search.h"
#include "planner/search/work.h"

namespace hexaplan::planner {
namespace {

using namespace costmodel;

/// Tells the caller how far the units are, one thread at a time.
class ProgressReport {
 public:
  ProgressReport(const SearchOptions& options, std::size_t units) : options_{options}, units_{units} {}
  void finished(std::int64_t priced) {
    if (!options_.progress) return;
    const std::lock_guard lock{mutex_};
    ++done_;
    priced_ += priced;
    options_.progress({static_cast<double>(done_) / static_cast<double>(units_), priced_});
  }

 private:
  const SearchOptions& options_;
  std::size_t units_, done_ = 0;
  std::int64_t priced_ = 0;
  std::mutex mutex_;
};

/// Room for prospects of a hardware option: many more than are listed, since bounds are not what plans cost.
std::size_t prospect_room(const SearchProblem& problem, const SearchOptions& options) {
  constexpr std::size_t for_each_listed = 16;
  return std::max({std::size_t{1}, options.room, for_each_listed * problem.top});
}

/// What all units hold. Findings are merged in the order in which units begin as soon as those before are
/// complete, so that only those of units under way take memory, and the answer does not depend on threads.
struct Found {
  TopList top;                        // on any hardware
  std::vector<Findings> of_hardware;  // by hardware option
  std::optional<Scored> risky;        // the best on any hardware

  void merge(std::size_t hardware, const Findings& later) {
    of_hardware[hardware].merge(later);
    top.merge(later.top);
    if (later.risky && (!risky || better(*later.risky, *risky))) risky = later.risky;
  }
};
struct UnitFindings {
  std::size_t place = 0;  // in the order in which units begin
  std::unique_ptr<Findings> findings;
};
struct UnitStart {
  std::size_t place = 0;
  std::shared_ptr<const Incumbents> incumbents;  // on its hardware
};
/// A unit begins once all those this far before it are merged, and knows their best plans and no others': so
/// the answer does not depend on the number of threads, and findings take little memory.
constexpr std::size_t kUnitsAhead = 32;

class UnitsRun {
 public:
  /// `order`: numbers of the units as they begin.
  UnitsRun(const SearchProblem& problem, const Work& work, const std::vector<std::size_t>& order,
           const SearchOptions& options, double expected_spread)
      : problem_{problem},
        work_{work},
        options_{options},
        expected_spread_{expected_spread},
        order_{order},
        report_{options, work.units.size()} {
    for (std::size_t m = 0; m < problem.hardware.size(); ++m) {
      found_.of_hardware.emplace_back(problem.top, options.room);
      pipelines_.push_back(std::make_shared<Pipelines>(counts_layers(work.spaces[m])));
    }
  }

  /// The first units run in rounds, each of as many as ran before it, whose best plans it knows.
  Found run() {
    for (std::size_t first = 0, last = 0; first < order_.size(); first = last) {
      const std::size_t most = first < kUnitsAhead ? std::max(first * 2, std::size_t{1}) : order_.size();
      last = std::min(most, order_.size());
      run_round(first, last);
    }
    return std::move(found_);
  }

 private:
  void run_round(std::size_t first, std::size_t last) {
    for (std::size_t place = first; place < std::min(last, first + kUnitsAhead); ++place) know_for(place);
    std::size_t next = first;
    const auto start = [&](tbb::flow_control& control) {
      if (next == last || options_.stop.stop_requested()) control.stop();
      const std::size_t place = next++;
      return UnitStart{place, known_[place % kUnitsAhead]};
    };
    const auto run = [&](const UnitStart& begin) { return run_unit(begin); };
    const auto merge = [&](const UnitFindings& result) {
      found_.merge(unit_at(result.place).hardware, *result.findings);
      if (result.place + kUnitsAhead < last) know_for(result.place + kUnitsAhead);
    };
    tbb::parallel_pipeline(
        kUnitsAhead, tbb::make_filter<void, UnitStart>(tbb::filter_mode::serial_in_order, start) &
                         tbb::make_filter<UnitStart, UnitFindings>(tbb::filter_mode::parallel, run) &
                         tbb::make_filter<UnitFindings, void>(tbb::filter_mode::serial_in_order, merge));
  }

  [[nodiscard]] UnitFindings run_unit(const UnitStart& begin) {
    UnitFindings result{begin.place, std::make_unique<Findings>(problem_.top, options_.room)};
    const Unit& unit = unit_at(begin.place);
    UnitSearch search{problem_, work_.spaces[unit.hardware], unit.hardware, &closest_,
                      pipelines_[unit.hardware]};
    if (options_.every_layout) search.price_every_layout();
    search.expect_spread(expected_spread_);
    search.run(unit, static_cast<std::uint32_t>(order_[begin.place]), *result.findings, options_.stop,
               begin.incumbents.get());
    report_.finished(result.findings->counts.priced);
    return result;
  }

  [[nodiscard]] const Unit& unit_at(std::size_t place) const { return work_.units[order_[place]]; }

  /// Keeps what the unit at `place` knows of those before it. What is simulated later can break a limit of
  /// its step. So can all that is best on one hardware option.
  void know_for(std::size_t place) {
    const Findings& here = found_.of_hardware[unit_at(place).hardware];
    const TopList& top = problem_.constraints.limit_steps() ? here.top : found_.top;
    known_[place % kUnitsAhead] =
        std::make_shared<const Incumbents>(Incumbents{top, here.front, found_.risky});
  }

  const SearchProblem& problem_;
  const Work& work_;
  const SearchOptions& options_;
  const double expected_spread_;
  std::vector<std::shared_ptr<Pipelines>> pipelines_;  // by hardware option
  const std::vector<std::size_t>& order_;
  ProgressReport report_;
  LeastSeen closest_;
  Found found_{TopList{problem_.top}, {}, {}};
  std::array<std::shared_ptr<const Incumbents>, kUnitsAhead>
      known_;  // by place, of the units that begin next
};

/// Time and money count per sequence: batches may differ.
bool beats(const Plan& a, const Plan& b) {
  const auto values = [](const Plan& p) {
    const auto batch = static_cast<double>(p.recipe.global_batch);
    return std::array{p.price.step.value() / batch, p.price.peak.value(), static_cast<double>(p.price.gpus),
                      p.price.dollars_per_step / batch};
  };
  const auto of_a = values(a), of_b = values(b);
  bool better = false;
  for (std::size_t i = 0; i < of_a.size(); ++i) {
    if (of_a[i] > of_b[i]) return false;
    better = better || of_a[i] < of_b[i];
  }
  return better;
}

/// Fronts of the hardware options and refined plans, without what they beat each other in.
std::vector<Plan> joint_front(const SearchProblem& problem, const Work& work,
                              const std::vector<Findings>& of_hardware, std::vector<Plan> all) {
  for (const Findings& found : of_hardware) {
    for (const Scored& point : found.front.points()) all.push_back(plan_of(problem, work, point));
  }
  std::vector<Plan> out;
  for (const Plan& plan : all) {
    const bool beaten =
        std::any_of(all.begin(), all.end(), [&](const Plan& other) { return beats(other, plan); });
    const bool twice = std::any_of(out.begin(), out.end(), [&](const Plan& other) {
      return other.layout == plan.layout && other.recipe == plan.recipe && other.price == plan.price;
    });
    if (!beaten && !twice) out.push_back(plan);
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const Plan& a, const Plan& b) { return a.price.step < b.price.step; });
  return out;
}

/// What simulation is expected to take off closed forms at first: more than kSimulationSpread, since plans on
/// the list may be slower once simulated. Chosen on 34 searches, whose plans and fronts are those of
/// kReplayedSpread (docs/search.md); where it is too little, find_finalists searches again with that.
constexpr double kExpectedSpread = 0.08;

/// Searches, and searches again with more room as long as fewer plans are listed than asked for and prospects
/// were left out: with a limit that bounds keep and plans break, those with the lowest bounds may be of no
/// use. Where the list became so slow once simulated that a layout could enter it which was left out for its
/// bound, fewer are left out, and in the end none.
Finalists find_finalists(const SearchProblem& problem, const Work& work, SearchOptions options,
                         Found& found) {
  constexpr std::size_t most = std::size_t{1} << 20, growth = 16;
  options.room = prospect_room(problem, options);
  const std::vector<std::size_t> order = promising_first(problem, work);
  double expected_spread = kExpectedSpread;
  for (;;) {
    found = UnitsRun{problem, work, order, options, expected_spread}.run();
    Finalists finalists = hold_contest(problem, work, found.of_hardware, options.stop);
    const bool more_room =
        finalists.plans.size() < problem.top && !finalists.contest.settled && options.room < most;
    if (options.stop.stop_requested() || (!finalists.misses_outclassed && !more_room)) return finalists;
    if (finalists.misses_outclassed) {
      options.every_layout = expected_spread >= kReplayedSpread;
      expected_spread = kReplayedSpread;
    } else {
      options.room *= growth;
    }
    options.progress = {};
  }
}

Ranking search_in_arena(const SearchProblem& problem, const SearchOptions& options) {
  const Work work = divide(problem);
  Found found{TopList{0}, {}, {}};
  Finalists finalists = find_finalists(problem, work, options, found);
  Account account;
  for (const Findings& here : found.of_hardware) account.merge(here);
  Ranking ranking{.plans = std::move(finalists.plans), .contest = std::move(finalists.contest)};
  ranking.pareto = joint_front(problem, work, found.of_hardware, std::move(finalists.refined));
  if (account.risky) {
    SearchProblem at_any_risk = problem;
    at_any_risk.constraints.max_risk = 1;
    Plan best = finished(at_any_risk, plan_of(problem, work, *account.risky));
    // With other stages it can keep the limit, and is among the listed ones then.
    if (!keeps_limits(problem, best)) ranking.best_at_any_risk = std::move(best);
  }
  ranking.rejections = rejections_of(problem, work, account);
  ranking.counts = account.counts;
  ranking.stopped = options.stop.stop_requested();
  return ranking;
}

/// Progress of several searches as one: of each the share that is done, and what it has priced.
class JointProgress {
 public:
  JointProgress(std::size_t searches, const SearchOptions& options) : options_{options}, of_(searches) {}
  /// What search `index` is given.
  [[nodiscard]] SearchOptions options_of(std::size_t index) {
    SearchOptions own{.threads = options_.threads,
                      .progress = {},
                      .stop = options_.stop,
                      .room = options_.room,
                      .every_layout = options_.every_layout};
    if (options_.progress) own.progress = [this, index](const SearchProgress& now) { report(index, now); };
    return own;
  }

 private:
  void report(std::size_t index, const SearchProgress& now) {
    const std::lock_guard lock{mutex_};
    of_[index] = now;
    SearchProgress all;
    for (const SearchProgress& one : of_) {
      all.share += one.share / static_cast<double>(of_.size());
      all.priced += one.priced;
    }
    options_.progress(all);
  }

  const SearchOptions& options_;
  std::mutex mutex_;
  std::vector<SearchProgress> of_;
};

template <class Action>
auto in_arena(int wanted, const Action& action) {
  const int threads = wanted > 0 ? wanted : tbb::info::default_concurrency();
  const auto count = static_cast<std::size_t>(threads);
  const tbb::global_control allowed{tbb::global_control::max_allowed_parallelism, count};
  tbb::task_arena arena{threads};
  return arena.execute(action);
}

}  // namespace

Ranking search(const SearchProblem& problem, const SearchOptions& options) {
  return in_arena(options.threads, [&] { return search_in_arena(problem, options); });
}

std::vector<Ranking> search_each(const std::vector<SearchProblem>& problems, const SearchOptions& options) {
  std::vector<Ranking> rankings(problems.size());
  JointProgress progress{problems.size(), options};
  const auto one = [&](std::size_t i) { rankings[i] = search_in_arena(problems[i], progress.options_of(i)); };
  // A search that waits for its own tasks takes up no other, so that few are in memory at once.
  const auto alone = [&](std::size_t i) { tbb::this_task_arena::isolate([&] { one(i); }); };
  in_arena(options.threads, [&] { tbb::parallel_for(std::size_t{0}, problems.size(), alone); });
  return rankings;
}

}  // namespace hexaplan::planner
