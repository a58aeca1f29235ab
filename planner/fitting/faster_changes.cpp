#include "planner/fitting/faster_changes.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <variant>

#include "costmodel/program/not_modelled.h"
#include "costmodel/spec/beyond_abilities.h"
#include "costmodel/spec/rules.h"

namespace hexaplan::planner {

using costmodel::Estimate;
using costmodel::RecomputeMode;
using costmodel::Scenario;

namespace {

using Settings = std::vector<ChangedSetting>;

/// One change, in words. `apply` makes it and says how it is set; empty: there is nothing to change.
struct SingleChange {
  std::string_view what;
  Settings (*apply)(Scenario& s);
};

/// Moves a factor of two between data parallelism and another degree.
Settings trade(Scenario& s, int& degree, const char* name, bool more) {
  int& from = more ? s.layout.dp : degree;
  int& to = more ? degree : s.layout.dp;
  if (from % 2 != 0) return {};
  from /= 2;
  to *= 2;
  Settings settings{{"layout", fmt::format("{}{} dp{}", name, degree, s.layout.dp)}};
  if (s.layout.tp == 1) s.layout.sp = false;
  for (ChangedSetting& also : split_sequences(s)) settings.push_back(std::move(also));
  return settings;
}

Settings micro_batch(Scenario& s, std::int64_t sequences) {
  s.recipe.micro_batch = sequences;
  return {{"micro-batch", fmt::format("{}", sequences)}};
}

constexpr SingleChange kSingleChanges[] = {
    {"gradients are reduced and parameters gathered under computation",
     [](Scenario& s) -> Settings {
       if (s.recipe.execution.data_overlap != false) return {};
       s.recipe.execution.data_overlap.reset();
       return {{"dp-overlap", "auto"}};
     }},
    {"no recomputation", [](Scenario& s) { return change_recompute(s, RecomputeMode::None, "none"); }},
    {"selective recomputation",
     [](Scenario& s) { return change_recompute(s, RecomputeMode::Selective, "selective"); }},
    {"full recomputation", [](Scenario& s) { return change_recompute(s, RecomputeMode::Full, "full"); }},
    {"sequence parallelism", split_sequences},
    {"optimizer states sharded over data-parallel ranks",
     [](Scenario& s) -> Settings {
       if (s.layout.sharding.stage != 0) return {};
       s.layout.sharding.stage = 1;
       return {{"layout", "zero1"}};
     }},
    {"a fused loss",
     [](Scenario& s) -> Settings {
       if (costmodel::fuses_cross_entropy(s) || s.recipe.cross_entropy == costmodel::CrossEntropy::Fused)
         return {};
       s.recipe.cross_entropy = costmodel::CrossEntropy::Fused;
       return {{"cross-entropy", "fused"}};
     }},
    {"no dropout",
     [](Scenario& s) -> Settings {
       if (s.recipe.dropout == 0.0) return {};
       s.recipe.dropout = 0.0;
       return {{"dropout", "0"}};
     }},
    {"twice the micro-batch", [](Scenario& s) { return micro_batch(s, s.recipe.micro_batch * 2); }},
    {"half the micro-batch",
     [](Scenario& s) {
       return s.recipe.micro_batch % 2 != 0 ? Settings{} : micro_batch(s, s.recipe.micro_batch / 2);
     }},
    {"less tensor parallelism", [](Scenario& s) { return trade(s, s.layout.tp, "tp", false); }},
    {"more tensor parallelism", [](Scenario& s) { return trade(s, s.layout.tp, "tp", true); }},
    {"fewer pipeline stages",
     [](Scenario& s) { return s.layout.vpp == 1 ? trade(s, s.layout.pp, "pp", false) : Settings{}; }},
    {"two model chunks per pipeline stage",
     [](Scenario& s) -> Settings {
       using costmodel::ScheduleKind;
       if (s.layout.pp == 1 || s.layout.vpp > 1 || s.layout.schedule != ScheduleKind::OneFOneB ||
           !costmodel::has_bit(s.framework.abilities.schedules, ScheduleKind::Interleaved))
         return {};
       s.layout.vpp = 2;
       s.layout.schedule = ScheduleKind::Interleaved;
       return {{"layout", "vpp2"}};
     }},
    {"less context parallelism", [](Scenario& s) { return trade(s, s.layout.cp, "cp", false); }},
};

}  // namespace

bool fits_safely(const Estimate& estimate) {
  return std::holds_alternative<costmodel::Fits>(estimate.verdict) &&
         estimate.out_of_memory_probability <= kDefaultRisk;
}

bool worth_saying(const Estimate& now, const Estimate& changed) {
  return !fits_safely(now) || changed.time.total() < now.time.total() * (1 - kWorthSaying);
}

std::vector<FasterChange> faster_changes(const Scenario& scenario, const Estimate& now,
                                         const costmodel::Calibration& calibration, std::size_t most,
                                         const MayPropose& may_propose) {
  std::vector<FasterChange> found;
  const std::size_t beyond = costmodel::beyond_abilities(scenario).size();
  for (const SingleChange& change : kSingleChanges) {
    Scenario changed = scenario;
    Settings settings = change.apply(changed);
    if (settings.empty() || costmodel::first_rejection(changed)) continue;
    if (may_propose && !may_propose(changed)) continue;
    if (beyond < costmodel::beyond_abilities(changed).size()) continue;  // the framework has no such axis
    if (!costmodel::newly_not_modelled(scenario, changed).empty()) continue;
    Estimate estimate = costmodel::estimate_step(changed, calibration);
    if (!fits_safely(estimate) || !worth_saying(now, estimate)) continue;
    found.push_back({change.what, std::move(settings), std::move(changed), std::move(estimate)});
  }
  std::stable_sort(found.begin(), found.end(), [](const FasterChange& a, const FasterChange& b) {
    return a.estimate.time.total() < b.estimate.time.total();
  });
  if (found.size() > most) found.erase(found.begin() + static_cast<std::ptrdiff_t>(most), found.end());
  return found;
}

}  // namespace hexaplan::planner
