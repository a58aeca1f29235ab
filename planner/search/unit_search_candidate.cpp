#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <utility>

#include "costmodel/compute/operations.h"
#include "costmodel/program/replay_memory.h"
#include "costmodel/schedule/schedule.h"
#include "costmodel/step/memory_risk.h"
#include "costmodel/step/stage_memory.h"
#include "costmodel/step/technique_evidence.h"
#include "planner/refine/refine.h"
#include "planner/search/unit_search.h"

namespace hexaplan::planner {

using namespace costmodel;

/// What micro-batches wait for under a sharding.
void UnitSearch::set_waits(const ShardingChoice& shard) {
  for (std::size_t g = 0; g < plan_.size(); ++g)
    loads_[g].waits = shard.combiner.waits(*times_, plan_[g], shard.states->transfers[g], loads_[g].totals);
}

/// The slowest stage sets the pace.
Seconds UnitSearch::step_of(const ShardingChoice& shard, Seconds span) const {
  Seconds step;
  for (std::size_t g = 0; g < plan_.size(); ++g) {
    const StepOverheads overheads = shard.combiner.overheads(shard.states->transfers[g], loads_, g, span);
    step = larger(step, loads_[g].totals.total() * microbatches_ + overheads.total());
  }
  return step;
}

/// Whether needs_replay may hold for the current scenario, at no cost.
bool UnitSearch::may_replay() const {
  return sc_.framework.replays_parameters || splits_backward(sc_.layout.schedule) || chunks_differ_ ||
         (sc_.layout.vpp > 1 && counts_layers_);
}

/// The fullest stage has to fit.
Bytes UnitSearch::peak_of(std::uint16_t sharding, const StatePart& states) {
  if (!may_replay()) return ledger_peak(states);
  const Sharding before = std::exchange(sc_.layout.sharding, sharding_options_[sharding]);
  const Bytes peak = needs_replay(sc_, differing_chunks()) ? replayed_peak(sc_, states) : ledger_peak(states);
  sc_.layout.sharding = before;
  return peak;
}

/// chunks_differ of the current scenario: a matter of the pipeline, unless some layers are recomputed.
bool UnitSearch::differing_chunks() {
  if (chunks_differ_ || sc_.recipe.recompute.mode != RecomputeMode::Layers) return chunks_differ_;
  const auto [entry, made] = differing_.try_emplace({candidate_.pipe, sc_.recipe.recompute.layers}, false);
  if (made) entry->second = chunks_differ(sc_);
  return entry->second;
}

Bytes UnitSearch::least_of_states(const StatePart& states) const {
  return may_replay() ? states.least_replayed : states.least_peak;
}

/// Of a stage that has run its warm-up, its layers alone.
Bytes UnitSearch::least_replayed_peak(const StatePart& states) const {
  Bytes peak = states.least_replayed;
  if (least_live_.empty()) return peak;
  const Allocator allocator = allocator_of(sc_);
  for (std::size_t g = 0; g < least_live_.size(); ++g)
    peak = larger(peak, device_peak(states.loads[g], least_live_[g], allocator).needed);
  return peak;
}

/// Passes hold the same under every sharding that runs the same operations, and wherever ranks lie.
Bytes UnitSearch::replayed_peak(const Scenario& sc, const StatePart& states) {
  if (sc.framework.replays_parameters) return replayed_need(sc, hardware_.calibration);
  const Pipeline& pipe = *combination_->pipe->shape;
  std::vector<LiveLoad>& replayed = replayed_[{.pipe = candidate_.pipe,
                                               .batch = candidate_.batch,
                                               .recompute = candidate_.recompute,
                                               .sp = candidate_.sp,
                                               .layers = sc.recipe.recompute.layers,
                                               .sharding = operations_of_sharding(sc)}];
  if (replayed.empty()) replayed = replayed_live(sc, *content_->memory);
  const Allocator allocator = allocator_of(sc);
  Bytes peak;
  for (std::size_t g = 0; g < pipe.groups.size(); ++g) {
    for (const int stage : pipe.groups[g].members) {
      const LiveLoad& live = replayed[static_cast<std::size_t>(stage)];
      peak = larger(peak, device_peak(states.loads[g], live, allocator).needed);
    }
  }
  assert(least_replayed_peak(states).value() <= peak.value() * (1 + 1e-12));
  return peak;
}

/// The fullest stage by its ledger.
Bytes UnitSearch::ledger_peak(const StatePart& states) const {
  const Allocator allocator = allocator_of(sc_);
  Bytes peak;
  for (std::size_t g = 0; g < plan_.size(); ++g) {
    peak = larger(peak, device_peak(states.loads[g], live_[g], allocator).needed);
  }
  return peak;
}

HostLoad UnitSearch::host_of(const StatePart& states) const {
  HostLoad most;
  for (std::size_t g = 0; g < states.offloaded->size(); ++g)
    most = larger_of(most, host_load(sc_.recipe, (*states.offloaded)[g], offloaded_[g]));
  return of_node(most, sc_.cluster);
}

void UnitSearch::set_caution(const ShardingChoice& shard) {
  if (problem_.rank_by == RankBy::Expected) return;
  const double added = shard.variance + recompute_variance_[candidate_.recompute];
  caution_ = caution(problem_.rank_by, time_sigma(sc_.framework, hardware_.calibration, added));
}

void UnitSearch::price_candidate(const ShardingChoice& shard) {
  candidate_.sharding = shard.index;
  ++findings_->counts.enumerated;
  set_caution(shard);
  host_ = host_of(*shard.states);
  // A replay costs as much as a hundred closed forms: what it is of has to be fast enough. Anything else has
  // to fit before it is timed. The ledger can hold more than a replay does, so it bounds none.
  const Bytes least_peak = may_replay() ? least_replayed_peak(*shard.states) : ledger_peak(*shard.states);
  Bytes peak = least_peak;
  if (most_memory_ < peak && !visitor_) {
    ++findings_->counts.priced;
    const bool may_be_closest = closest_ == nullptr || (peak - most_memory_).value() <= closest_->value();
    if (!may_replay() || !may_be_closest) return does_not_fit(1, peak, !may_replay());
    return does_not_fit(1, peak_of(shard.index, *shard.states));
  }
  time_stages();
  set_waits(shard);
  Seconds step = step_of(shard, least_span_);
  if (may_replay()) {
    if (!visitor_ && is_hopeless(step, least_peak)) {
      // A prospect that no refinement makes fit would keep others from the contest.
      if (refinable_) consider(shard, step, peak_of(shard.index, *shard.states), false);
      return;
    }
    peak = peak_of(shard.index, *shard.states);
  }
  if (!shard.combiner.has_closed_form()) {
    if (!visitor_ && is_hopeless(step, peak)) return consider(shard, step, peak, false);
    step = step_of(shard, known_span(shard));
  }
  ++findings_->counts.priced;
  if (visitor_) visitor_(candidate_, step, peak);
  consider(shard, step, peak, true);
  record(step, peak);
}

/// Of the present stages: orders of ranks whose groups lie alike take the same time, where passes wait for
/// nothing that depends on the sharding.
Seconds UnitSearch::known_span(const ShardingChoice& shard) {
  const bool waits = std::any_of(loads_.begin(), loads_.end(),
                                 [](const StageLoad& load) { return load.waits.total() > Seconds{}; });
  const Recompute& recompute = sc_.recipe.recompute;
  const auto [entry, made] = spans_.try_emplace(
      {times_, microbatches_per_step(sc_), candidate_.pipe, recompute.mode, recompute.layers,
       waits ? std::optional{std::pair{candidate_.order, shard.index}} : std::nullopt});
  if (!made) return entry->second;
  std::vector<PassWaits> of_stages(waits ? static_cast<std::size_t>(sc_.layout.pp) : 0);
  const std::vector<StageGroup>& groups = combination_->pipe->shape->groups;
  for (std::size_t g = 0; waits && g < groups.size(); ++g)
    for (const int stage : groups[g].members) of_stages[static_cast<std::size_t>(stage)] = loads_[g].waits;
  return entry->second = replayed_span(sc_, *times_, of_stages);
}

/// Adds a candidate that meets the memory limits to its prospect. An unpriced one only shows that there is
/// something to refine; its step is a bound.
void UnitSearch::consider(const ShardingChoice& shard, Seconds step, Bytes peak, bool priced) {
  if (most_memory_ < peak || safe_memory_ < peak || (!priced && !refinable_)) return;
  if (!fits_on_host(host_, sc_.cluster.host)) return;
  const auto place = static_cast<std::size_t>(&shard - active_.data());
  const bool together =
      refinable_ && chooses_recomputed_ && recomputes_whole_layers(sc_.recipe.recompute.mode);
  const std::size_t index =
      place * (space_.recomputes.size() + 1) + (together ? 0 : std::size_t{candidate_.recompute} + 1);
  std::optional<Prospect>& prospect = prospects_[index];
  const Scored member = scored(step, peak);
  if (!prospect) {
    prospect = {.bound = scored(refinable_ ? refined_bound(shard, step) : step, peak),
                .best = member,
                .priced = priced};
  } else if (priced && (!prospect->priced || better(member, prospect->best))) {
    prospect->best = member;
    prospect->priced = true;
  }
  // The more a plan recomputes, the less it copies to the host.
  if (refinable_ && (sc_.recipe.offload & kOffloadActivations) != 0) {
    const Scored bound = scored(refined_bound(shard, step), peak);
    if (better(bound, prospect->bound)) prospect->bound = bound;
  }
  if (!refinable_) prospect->bound = prospect->best;
  prospect->bound.candidate = prospect->best.candidate;
}

/// Lower bound on the step of any refinement. `step`: of the candidate.
Seconds UnitSearch::refined_bound(const ShardingChoice& shard, Seconds step) {
  const RecomputeMode mode = sc_.recipe.recompute.mode;
  const bool recomputes = mode != RecomputeMode::Layers &&
                          !(chooses_recomputed_ && recomputes_whole_layers(mode));  // all that they recompute
  if (sc_.layout.vpp > 1)
    return recomputes ? step : step_without_recompute(shard);  // stages keep their layers
  return uneven_bound(shard, recomputes);
}

/// The step of the current stages without recompute, and without bubble where there is no closed form of it.
Seconds UnitSearch::step_without_recompute(const ShardingChoice& shard) {
  const std::vector<StageLoad> loads = loads_;
  const std::vector<StagePlan> plan = plan_;
  for (StageLoad& load : loads_) load.totals.scale_recomputed(0);
  for (StagePlan& stage : plan_) stage.recomputing = {};
  set_waits(shard);
  const Seconds step = step_of(shard, {});
  loads_ = loads;
  plan_ = plan;
  return step;
}

/// Lower bound on the step of any split of the layers: some stage takes at least the average time, and some
/// stage has at least the average number of layers, rounded up. Of costs that occur once per step, only those
/// that every stage pays, and those per layer, count.
Seconds UnitSearch::uneven_bound(const ShardingChoice& shard, bool recomputes) const {
  PassTotals all;
  Seconds by_layer;  // of one micro-batch
  Seconds everywhere, least_layer{std::numeric_limits<double>::infinity()};
  for (std::size_t g = 0; g < plan_.size(); ++g) {
    PassTotals totals = loads_[g].totals;
    StagePlan plan = plan_[g];
    if (!recomputes) {
      totals.scale_recomputed(0);
      plan.recomputing = {};
    }
    const StageTransfers& transfers = shard.states->transfers[g];
    const StepOverheads alone = shard.combiner.overheads(transfers, loads_, g, {});
    all += totals * loads_[g].count;
    if (shard.combiner.waits_by_layer())
      by_layer += shard.combiner.waits(*times_, plan, transfers, totals).data_parallel() * loads_[g].count;
    everywhere = shard.combiner.messages(1) + alone.host;
  }
  for (std::size_t c = 0; c < kLayerClasses; ++c) {
    if (!used_[c]) continue;
    const PassTotals& layer = times_->layers[c];
    Seconds busy = layer.forward + layer.backward + (recomputes ? layer.recomputed : Seconds{});
    if (runs_in_pairs(sc_.layout.schedule)) busy -= layer.collectives();
    least_layer = smaller(least_layer, busy);
  }
  const Seconds work = all.total() - hidden_in_pairs(all, sc_.framework, sc_.layout.schedule);
  const auto stages = static_cast<double>(sc_.layout.pp);
  const double most_layers = std::ceil(static_cast<double>(sc_.model.layers) / stages);
  const double paced = shard.combiner.has_closed_form() ? microbatches_ - 1 : microbatches_;
  const Seconds pace = larger((work + by_layer) * (paced / stages), least_layer * most_layers * paced);
  return pace + everywhere + (shard.combiner.has_closed_form() ? work + by_layer : Seconds{});
}

/// Loads of the present layout's stages where nothing is recomputed: no other choice takes less time.
void UnitSearch::set_least_loads(const LayoutChoice& combination) {
  const int operations = operations_of_sharding(sc_);
  if (least_loads_of_ == operations) return;
  least_loads_of_ = operations;
  combination_ = &combination;
  plan_.clear();
  for (const StageGroup& group : combination.pipe->shape->groups) plan_.push_back(group.plan);
  set_loads(timed_part(nothing_recomputed()));
}

/// Whether earlier plans beat whatever becomes of the present layout with this sharding. Its candidates are
/// counted then.
bool UnitSearch::outclasses_layout(const LayoutChoice& combination, const ShardingChoice& shard) {
  // The more a plan recomputes, the less it copies to the host.
  const bool copies = (sc_.recipe.offload & kOffloadActivations) != 0;
  if (visitor_ || prices_every_layout_ || copies) return false;
  sc_.recipe.recompute = {};
  candidate_.recompute = candidate_.layers = 0;
  set_least_loads(combination);
  set_waits(shard);
  Seconds step = step_of(shard, refinable_ ? Seconds{} : least_span_);
  if (refinable_ && sc_.layout.vpp == 1) step = smaller(step, uneven_bound(shard, false));
  if (problem_.rank_by != RankBy::Expected)
    caution_ = caution(problem_.rank_by, time_sigma(sc_.framework, hardware_.calibration, shard.variance));
  const Scored bound = scored(step, least_of_states(*shard.states));
  const double spread = shard.combiner.has_closed_form() ? expected_spread_ : kReplayedSpread;
  if (!is_out_of_reach(bound, spread)) return false;
  const std::int64_t choices = recompute_choices(*combination.pipe);
  findings_->counts.enumerated += choices;
  findings_->counts.outclassed += choices;
  findings_->offer_outclassed(bound);
  return true;
}

/// Whether what has this bound enters no list even where simulation takes `spread` of its closed form off it,
/// is not on the front and not the best of what is too risky.
bool UnitSearch::is_out_of_reach(const Scored& bound, double spread) const {
  Scored simulated = bound;
  if (problem_.simulate_winners) {
    if (goal_.follows_step_time()) simulated.goal *= 1 - spread;
    simulated.step = bound.step * (1 - spread);
  }
  if (findings_->top.admits(simulated) && (!incumbents_ || incumbents_->top.admits(simulated))) return false;
  if (findings_->front.admits(bound) && (!incumbents_ || incumbents_->front.admits(bound))) return false;
  const bool may_be_risky = safe_memory_ < most_memory_ && findings_->admits_risky(bound) &&
                            (!incumbents_ || !incumbents_->risky || better(bound, *incumbents_->risky));
  return !may_be_risky;
}

/// Whether earlier plans keep such a candidate out of both the list and the front. What is simulated before
/// it is listed, and not refined, has to be priced for that.
bool UnitSearch::is_outclassed(const Scored& at_best) const {
  Scored simulated = at_best;
  if (problem_.simulate_winners && !refinable_ && goal_.follows_step_time())
    simulated.goal *= 1 - kReplayedSpread;
  const bool listed =
      findings_->top.admits(simulated) && (!incumbents_ || incumbents_->top.admits(simulated));
  if (listed) return false;
  return !findings_->front.admits(at_best) || (incumbents_ && !incumbents_->front.admits(at_best));
}

/// Replaying a schedule costs hundreds of times as much as a closed form. True for candidates that would be
/// too large, too slow or beaten by earlier plans even without a bubble: they are not replayed.
bool UnitSearch::is_hopeless(Seconds least_step, Bytes peak) {
  SearchCounts& counts = findings_->counts;
  const Scored at_best = scored(least_step, peak);
  if (const auto limit = broken_limit(least_step, peak)) {
    if (*limit == Limit::Risk && findings_->admits_risky(at_best)) return false;
    ++counts.pruned;
    reject(*limit, least_step, peak);
    return true;
  }
  if (!is_outclassed(at_best)) return false;
  ++counts.outclassed;
  return true;
}

/// First limit that a candidate breaks.
std::optional<Limit> UnitSearch::broken_limit(Seconds step, Bytes peak) const {
  if (most_memory_ < peak) return Limit::Memory;
  if (!fits_on_host(host_, sc_.cluster.host)) return Limit::HostMemory;
  if (const auto limit = broken_by_step(slowest_, step)) return limit;
  return safe_memory_ < peak ? std::optional{Limit::Risk} : std::nullopt;
}

double UnitSearch::distance(Limit limit, Seconds step, Bytes peak) const {
  switch (limit) {
    case Limit::Memory:
      return (peak - most_memory_).value();
    case Limit::HostMemory:
      return (host_.memory + host_.disk).value();
    case Limit::Risk:
      return out_of_memory_probability(peak, sc_.cluster.gpu.memory, memory_sigma_);
    case Limit::Hours:
    case Limit::Dollars:
    case Limit::Mfu:
      return step.value();
  }
  return 0;
}

void UnitSearch::record(Seconds step, Bytes peak) {
  if (const auto limit = broken_limit(step, peak)) {
    reject(*limit, step, peak);
    if (*limit == Limit::Risk) findings_->offer_risky(scored(step, peak));
    return;
  }
  ++findings_->counts.feasible;
  const Scored candidate = scored(step, peak);
  if (findings_->top.admits(candidate)) findings_->top.offer(candidate, family());
  findings_->front.offer(candidate);
}

void UnitSearch::reject(Limit limit, Seconds step, Bytes peak) {
  if (limit == Limit::Memory) return does_not_fit(1, peak);
  findings_->reject(limit, 1, distance(limit, step, peak), candidate_);
}

Scored UnitSearch::scored(Seconds step, Bytes peak) const {
  return {.goal = goal_.of(unit_.hardware, step * caution_, peak),
          .step = step,
          .peak = peak,
          .candidate = candidate_,
          .weight = caution_ * goal_.steps(unit_.hardware)};
}

Family UnitSearch::family() const {
  return {.hardware = unit_.hardware,
          .precision = unit_.precision,
          .tp = unit_.tp,
          .cp = unit_.cp,
          .ep = unit_.ep,
          .etp = unit_.etp,
          .zero = sharding_options_[candidate_.sharding].stage,
          .offload = unit_.offload,
          .offload_fraction = unit_.offload_fraction,
          .pp = candidate_.pp,
          .batch = candidate_.batch,
          .recompute = sc_.recipe.recompute.mode,
          .modules = sc_.recipe.recompute.modules};
}

}  // namespace hexaplan::planner
