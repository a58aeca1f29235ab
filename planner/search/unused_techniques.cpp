#include "planner/search/unused_techniques.h"

#include <algorithm>
#include <optional>
#include <variant>

#include "costmodel/program/not_modelled.h"
#include "costmodel/spec/rules.h"
#include "costmodel/step/estimate.h"
#include "planner/fitting/faster_changes.h"
#include "planner/problem/plan.h"
#include "planner/search/contest.h"

namespace hexaplan::planner {
namespace {

using namespace costmodel;

/// Tokens of one micro-batch travel while another's layers compute, which takes two of them at a time: no
/// pipeline, or chunks that interleave; and layers whose passes are not one checkpoint. (NVIDIA/Megatron-LM
/// megatron/core/transformer/transformer_config.py overlap_moe_expert_parallel_comm.)
bool can_overlap_experts(const Scenario& sc) {
  const Recompute& recompute = sc.recipe.recompute;
  return sc.model.is_moe() && sc.layout.ep > 1 && (sc.layout.pp == 1 || sc.layout.vpp > 1) &&
         !recompute.of_layers() && (recompute.modules & kRecomputeMoe) == 0 && sc.model.mtp_layers <= 1;
}

struct Row {
  std::string_view setting, value;
  /// Makes the change; false where there is nothing to change, or the framework has no such thing.
  bool (*apply)(Scenario& sc);
};

constexpr Row kRows[] = {
    {"ep-overlap", "true",
     [](Scenario& sc) {
       const FrameworkProfile& f = sc.framework;
       if (sc.recipe.execution.expert_overlap || !can_overlap_experts(sc)) return false;
       sc.recipe.execution.expert_overlap = true;
       return f.expert_overlap_asked > f.expert_overlap;
     }},
    {"tp-comm-overlap", "true",
     [](Scenario& sc) {
       const FrameworkProfile& f = sc.framework;
       if (sc.recipe.execution.tensor_overlap || sc.layout.tp == 1 || !sc.layout.sp) return false;
       sc.recipe.execution.tensor_overlap = true;
       return f.tensor_overlap_asked > f.tensor_overlap;
     }},
    {"offload", "activations",
     [](Scenario& sc) {
       if (sc.recipe.recompute.mode == RecomputeMode::None ||
           (sc.framework.abilities.offload & kOffloadActivations) == 0 || sc.recipe.offload != 0)
         return false;
       sc.recipe.offload = kOffloadActivations;
       sc.recipe.recompute = {};
       return true;
     }},
};

/// The step of the plan with the change; nothing where it cannot be made, or breaks a limit of memory.
std::optional<Seconds> step_with(const SearchProblem& as_it_is, const Row& row, const Plan& plan) {
  const Scenario before = scenario_of(as_it_is, plan);
  Scenario sc = before;
  if (!row.apply(sc) || first_rejection(sc) || !newly_not_modelled(before, sc).empty()) return std::nullopt;
  const Estimate estimate = estimate_step(sc, as_it_is.hardware[plan.hardware].calibration);
  if (!std::holds_alternative<Fits>(estimate.verdict) ||
      most_memory(as_it_is, plan.hardware) < estimate.peak().needed)
    return std::nullopt;
  Plan changed = plan;
  changed.recipe = sc.recipe;
  changed.price = price_of(sc, as_it_is.hardware[plan.hardware].calibration, estimate.time.total(),
                           estimate.peak().needed);
  return finished(as_it_is, changed).price.step;
}

}  // namespace

std::vector<UnusedTechnique> unused_techniques(const SearchProblem& problem,
                                               const std::vector<RankedPlan>& plans) {
  std::vector<UnusedTechnique> found;
  if (plans.empty() || problem.objective == Objective::MemoryHeadroom) return found;
  SearchProblem as_it_is = problem;
  as_it_is.refine_winners = false;
  const RankedPlan& first = plans.front();
  for (const Row& row : kRows) {
    std::optional<UnusedTechnique> best;
    for (std::size_t i = 0; i < plans.size(); ++i) {
      const Plan& plan = plans[i].plan;
      // Others on more GPUs, or of another batch, are faster for another reason.
      if (plan.hardware != first.plan.hardware) continue;
      const auto step = step_with(as_it_is, row, plan);
      if (step && (!best || *step < best->step)) best = {row.setting, row.value, i, *step};
    }
    if (best && best->step < first.plan.price.step * (1 - kWorthSaying)) found.push_back(*best);
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const UnusedTechnique& a, const UnusedTechnique& b) { return a.step < b.step; });
  return found;
}

}  // namespace hexaplan::planner
