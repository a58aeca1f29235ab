#include "planner/search/unit_search.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "costmodel/compute/operations.h"
#include "costmodel/schedule/schedule.h"
#include "costmodel/step/memory_risk.h"
#include "costmodel/step/model_flops.h"
#include "costmodel/step/technique_evidence.h"
#include "planner/problem/plan.h"
#include "planner/refine/refine.h"
#include "planner/search/contest.h"
#include "planner/search/search_rules.h"

namespace hexaplan::planner {

using namespace costmodel;

namespace {

std::int64_t count(std::size_t n) {
  return static_cast<std::int64_t>(n);
}

}  // namespace

UnitSearch::UnitSearch(const SearchProblem& problem, const Space& space, std::size_t hardware,
                       LeastSeen* closest, std::shared_ptr<Pipelines> pipelines)
    : problem_{problem},
      space_{space},
      hardware_{problem.hardware[hardware]},
      sc_{base_on(problem, hardware)},
      goal_{problem},
      closest_{closest},
      pipelines_of_hardware_{std::move(pipelines)} {
  sc_.framework.abilities.unequal_stages = *space.lists.unequal_stages;
  StagePlan whole{.layers = layers_by_class(sc_.model, 0, sc_.model.layers)};
  add_ends(sc_, true, true, whole);
  all_layers_ = {whole};
  used_ = used_classes(all_layers_);
  refines_ = problem.refine_winners && problem.objective != Objective::MemoryHeadroom;
  counts_layers_ = counts_layers(space);
  if (!pipelines_of_hardware_) pipelines_of_hardware_ = std::make_shared<Pipelines>(counts_layers_);
  chooses_recomputed_ = refines_ && may_choose_recomputed_layers(space.lists.recompute);
  most_memory_ = sc_.cluster.gpu.memory * problem.constraints.memory_share;
  memory_sigma_ = memory_sigma(sc_.framework, hardware_.calibration);
  safe_memory_ = most_memory_at_risk(sc_.cluster.gpu.memory, problem.constraints.max_risk, memory_sigma_);
  Scenario recomputing;
  recomputing.model = sc_.model;
  for (const RecomputeOption& option : space.recomputes) {
    recomputing.recipe.recompute = option.recompute;
    recompute_variance_.push_back(added_variance(techniques_used(recomputing)));
  }
}

/// What the present choice adds to the variance of a step, recompute aside.
double UnitSearch::variance_of_layout() {
  if (problem_.rank_by == RankBy::Expected) return 0;
  sc_.recipe.recompute = {};
  return added_variance(techniques_used(sc_));
}

void UnitSearch::run(const Unit& unit, std::uint32_t number, Findings& findings, const std::stop_token& stop,
                     const Incumbents* incumbents) {
  unit_ = unit;
  incumbents_ = incumbents;
  findings_ = &findings;
  candidate_ = {.unit = number};
  apply(unit, sc_);
  slowest_ = slowest_steps(problem_.constraints, sc_);
  passes_.clear();
  contents_.clear();
  for (std::size_t pp = 0; pp < space_.lists.pp.size() && !stop.stop_requested(); ++pp) {
    grid(static_cast<std::uint16_t>(pp));
  }
}

std::optional<std::size_t> UnitSearch::broken(RuleScope scope) const {
  const std::span<const Rule> rules = search_rules();
  for (std::size_t i = 0; i < rules.size(); ++i) {
    if (rules[i].scope == scope && !rules[i].passes(sc_, nullptr)) return i;
  }
  return std::nullopt;
}

bool UnitSearch::wanted_dp(int dp) const {
  const std::vector<int>& wanted = space_.lists.dp;
  return wanted.empty() || std::find(wanted.begin(), wanted.end(), dp) != wanted.end();
}

/// A group of all ranks is the whole group again.
void UnitSearch::list_shardings() {
  const int ranks = sc_.layout.dp * sc_.layout.cp;
  sharding_options_ = space_.shardings_for(ranks, unit_.offload);
  shardings_.clear();
  for (std::size_t i = 0; i < sharding_options_.size(); ++i) {
    const Sharding& sharding = sharding_options_[i];
    const bool repeats = sharding.group == ranks &&
                         std::any_of(sharding_options_.begin(), sharding_options_.end(), [&](const auto& o) {
                           return o.stage == sharding.stage && o.group == 0;
                         });
    if (!repeats) shardings_.push_back(static_cast<std::uint16_t>(i));
  }
}

/// Candidates that differ in their recomputation alone.
std::int64_t UnitSearch::recompute_choices(const PipelineChoice& pipe) const {
  std::int64_t choices = 0;
  for (const RecomputeOption& option : space_.recomputes) {
    choices += option.every_count ? std::max(0, pipe.shape->most_chunk - 1) : 1;
  }
  return choices;
}

void UnitSearch::grid(std::uint16_t pp) {
  replayed_.clear();
  spans_.clear();
  differing_.clear();
  candidate_ = {.unit = candidate_.unit, .pp = pp};
  Layout& l = sc_.layout;
  l.pp = space_.lists.pp[pp];
  l.dp = static_cast<int>(std::max<std::int64_t>(1, sc_.cluster.gpus / l.ranks_per_dp()));
  l.vpp = 1;
  l.split = StageSplit::Even;
  l.sp = false;
  l.schedule = ScheduleKind::OneFOneB;
  l.order = space_.lists.order.front();
  sc_.recipe.recompute = {};
  if (l.world_size() != sc_.cluster.gpus) {  // not a factorisation: one candidate, whatever the rest
    findings_->reject(*broken(RuleScope::Grid), 1, candidate_);
    return;
  }
  if (!wanted_dp(l.dp)) return;
  list_shardings();
  l.sharding = sharding_options_[shardings_.front()];
  pipe_options_ = l.pp > 1 ? space_.pipes : space_.without_pipeline;
  orders_ = distinct_orders(space_.lists.order, l);
  sp_choices_ = l.tp > 1 ? space_.lists.sp.size() : 1;
  if (const auto rule = broken(RuleScope::Grid)) {
    const std::size_t pipes = pipe_options_.size() * space_.recomputes.size();
    findings_->reject(
        *rule,
        count(space_.lists.micro_batch.size() * sp_choices_ * shardings_.size() * orders_.size() * pipes),
        candidate_);
    return;
  }
  counts_ = {};
  parameters_.clear();
  parameters_.resize(sharding_options_.size() * 4);
  plan_pipelines();
  state_memory_.clear();
  state_memory_.resize(plans_ * sharding_options_.size() * 4);
  combinations_.clear();
  for (const PipelineChoice& pipe : pipelines_) {
    set_pipeline(pipe);
    for (std::size_t batch = 0; batch < space_.lists.micro_batch.size(); ++batch) {
      combine(pipe, static_cast<std::uint16_t>(batch));
    }
  }
  for (const std::size_t order : orders_) walk_order(static_cast<std::uint16_t>(order));
}

void UnitSearch::set_pipeline(const PipelineChoice& pipe) {
  candidate_.pipe = pipe.option;
  if (pipe.shape != nullptr) chunks_differ_ = pipe.shape->chunks_differ;
  sc_.layout.schedule = pipe_options_[pipe.option].schedule;
  sc_.layout.vpp = pipe_options_[pipe.option].vpp;
  sc_.layout.split = pipe_options_[pipe.option].split;
}

void UnitSearch::set_sharding(std::uint16_t sharding) {
  candidate_.sharding = sharding;
  sc_.layout.sharding = sharding_options_[sharding];
}

/// Stages of every pipeline option that the rules accept.
void UnitSearch::plan_pipelines() {
  pipelines_.clear();
  plans_ = 0;
  for (std::size_t option = 0; option < pipe_options_.size(); ++option) {
    PipelineChoice pipe{.option = static_cast<std::uint16_t>(option)};
    set_pipeline(pipe);
    if (const auto rule = broken(RuleScope::Stages)) {
      findings_->reject(*rule,
                        count(space_.lists.micro_batch.size() * sp_choices_ * shardings_.size() *
                              orders_.size() * space_.recomputes.size()),
                        candidate_);
      continue;
    }
    pipe.shape = &pipelines_of_hardware_->of(sc_, pipeline_key());
    plans_ = std::max(plans_, pipe.shape->plan + 1);
    pipelines_.push_back(pipe);
  }
}

const WarmUps* UnitSearch::warm_ups() {
  if (!may_replay() || sc_.framework.replays_parameters || (sc_.recipe.offload & kOffloadActivations) != 0)
    return nullptr;
  const Recompute present = std::exchange(sc_.recipe.recompute, {});
  const WarmUps& known = pipelines_of_hardware_->warm_ups(sc_, pipeline_key());
  sc_.recipe.recompute = present;
  return &known;
}

/// What the present choice recomputes of a stage or chunk.
void UnitSearch::recompute_first(const LayersByCount& first, StagePlan& plan) const {
  const auto count = static_cast<std::size_t>(recomputed_layers(sc_.recipe.recompute, 0));
  set_recomputed(sc_.recipe.recompute,
                 first.empty() ? LayersByClass{} : first[std::min(count, first.size() - 1)], plan);
}

LiveLoad UnitSearch::live_when_warm(const WarmUp& stage) const {
  LiveLoad live;
  for (const WarmUp::Forwards& forwards : stage.chunks) {
    StagePlan chunk = forwards.chunk;
    recompute_first(forwards.first, chunk);
    live.at[index_of(kForward)] += content_->memory->kept(chunk) * forwards.count;
  }
  return live;
}

std::vector<std::uint16_t> UnitSearch::accepted_shardings(std::int64_t below) {
  std::vector<std::uint16_t> accepted;
  for (const std::uint16_t sharding : shardings_) {
    set_sharding(sharding);
    if (const auto rule = broken(RuleScope::Shards)) {
      findings_->reject(*rule, below, candidate_);
    } else {
      accepted.push_back(sharding);
    }
  }
  return accepted;
}

/// Combinations of a pipeline and a micro-batch that the rules accept.
void UnitSearch::combine(const PipelineChoice& pipe, std::uint16_t batch) {
  candidate_.batch = batch;
  candidate_.sp = 0;
  candidate_.sharding = shardings_.front();
  sc_.recipe.micro_batch = space_.lists.micro_batch[batch];
  const std::int64_t below = count(orders_.size()) * recompute_choices(pipe);
  if (const auto rule = broken(RuleScope::Batch)) {
    findings_->reject(*rule, below * count(sp_choices_ * shardings_.size()), candidate_);
    return;
  }
  LayoutChoice combination{
      .pipe = &pipe, .batch = batch, .in_flight = &pipelines_of_hardware_->in_flight(sc_, pipeline_key())};
  for (std::size_t sp = 0; sp < sp_choices_; ++sp) {
    candidate_.sp = static_cast<std::uint8_t>(sp);
    candidate_.sharding = shardings_.front();
    sc_.layout.sp = sc_.layout.tp > 1 && space_.lists.sp[sp];
    if (const auto rule = broken(RuleScope::Sequence)) {
      findings_->reject(*rule, below * count(shardings_.size()), candidate_);
      continue;
    }
    combination.sp = candidate_.sp;
    combination.shardings = accepted_shardings(below);
    if (!combination.shardings.empty()) combinations_.push_back(combination);
  }
}

void UnitSearch::walk_order(std::uint16_t order) {
  candidate_.order = order;
  sc_.layout.order = space_.lists.order[order];
  pricer_.emplace(sc_, hardware_.calibration);
  pass_of_.assign(space_.lists.micro_batch.size() * 4 * (space_.recomputes.size() + 1) * kOperationKinds,
                  nullptr);
  states_.clear();
  states_.resize(plans_ * sharding_options_.size() * 4);
  for (const LayoutChoice& combination : combinations_) price(combination);
}

void UnitSearch::price(const LayoutChoice& combination) {
  const PipelineChoice& pipe = *combination.pipe;
  candidate_.batch = combination.batch;
  candidate_.sp = combination.sp;
  set_pipeline(pipe);
  sc_.layout.sp = sc_.layout.tp > 1 && space_.lists.sp[combination.sp];
  sc_.recipe.micro_batch = space_.lists.micro_batch[combination.batch];
  microbatches_ = static_cast<double>(microbatches_per_step(sc_));
  warm_up_.reset();
  least_loads_of_.reset();
  refinable_ = refines_ && pipe.shape->refinable;
  const Seconds message = message_time(sc_, local_dims(sc_), *pricer_);
  active_.clear();
  for (const std::uint16_t sharding : combination.shardings) {
    set_sharding(sharding);
    if (const auto rule = broken(RuleScope::Order)) {
      findings_->reject(*rule, recompute_choices(pipe), candidate_);
      continue;
    }
    StatePart& states = state_part(pipe, sharding);
    if (most_memory_ < least_of_states(states)) {
      prune(combination, states);
      continue;
    }
    add_transfers(pipe, states);
    const ShardingChoice shard{sharding, operations_of_sharding(sc_), &states, StepCombiner{sc_, message},
                               variance_of_layout()};
    if (!outclasses_layout(combination, shard)) active_.push_back(shard);
  }
  if (active_.empty()) return;
  prospects_.assign(active_.size() * (space_.recomputes.size() + 1), std::nullopt);
  for (std::size_t option = 0; option < space_.recomputes.size(); ++option) {
    price_recomputation(combination, static_cast<std::uint16_t>(option));
  }
  host_ = {};  // what is left of the prospects has met it
  const double simulated = problem_.simulate_winners ? 1 - kSimulationSpread : 1;
  for (const auto& prospect : prospects_) {
    if (prospect && !broken_limit(prospect->bound.step * simulated, prospect->bound.peak))
      findings_->prospects.offer(*prospect);
  }
}

/// First and last count of recomputed layers that an option stands for.
std::pair<int, int> UnitSearch::layer_counts(const PipelineChoice& pipe, const RecomputeOption& option) {
  if (option.every_count) return {1, pipe.shape->most_chunk - 1};
  return {option.recompute.layers, option.recompute.layers};
}

void UnitSearch::set_recompute(const RecomputeOption& option, int layers) {
  sc_.recipe.recompute = option.recompute;
  sc_.recipe.recompute.layers = layers;
  candidate_.layers = option.every_count ? static_cast<std::uint16_t>(layers) : std::uint16_t{0};
}

/// Candidates that do not fit whatever they recompute. Where their states leave open that one of them comes
/// closest to fitting of all candidates, their memory is priced nevertheless: what is said of the closest one
/// has to be true.
void UnitSearch::prune(const LayoutChoice& combination, const StatePart& states) {
  const PipelineChoice& pipe = *combination.pipe;
  const std::int64_t pruned = recompute_choices(pipe);
  findings_->counts.enumerated += pruned;
  findings_->counts.pruned += pruned;
  findings_->reject(Limit::Memory, pruned, std::numeric_limits<double>::infinity(), candidate_);
  const double rounding = 1e-9;
  const double least = (least_of_states(states) * (1 - rounding) - most_memory_).value();
  if (closest_ != nullptr && closest_->value() < least) return;
  for (std::size_t option = 0; option < space_.recomputes.size(); ++option) {
    candidate_.recompute = static_cast<std::uint16_t>(option);
    const PassPart& part = pass_part(candidate_.recompute);
    const auto [first, last] = layer_counts(pipe, space_.recomputes[option]);
    for (int layers = first; layers <= last; ++layers) {
      set_recompute(space_.recomputes[option], layers);
      set_stages(combination, part);
      does_not_fit(0, peak_of(candidate_.sharding, states));
    }
  }
}

/// A peak that is not `exact` is a bound from below, of candidates that do not come closest.
void UnitSearch::does_not_fit(std::int64_t candidates, Bytes peak, bool exact) {
  const double too_much = exact ? distance(Limit::Memory, {}, peak) : std::numeric_limits<double>::infinity();
  findings_->reject(Limit::Memory, candidates, too_much, candidate_);
  if (closest_ != nullptr) closest_->lower(too_much);
}

void UnitSearch::price_recomputation(const LayoutChoice& combination, std::uint16_t option) {
  const RecomputeOption& choice = space_.recomputes[option];
  candidate_.recompute = option;
  const auto [first, last] = layer_counts(*combination.pipe, choice);
  for (int operations = 0; operations < static_cast<int>(kOperationKinds); ++operations) {
    const auto one = std::find_if(active_.begin(), active_.end(), [&](const ShardingChoice& shard) {
      return shard.operations == operations;
    });
    if (one == active_.end()) continue;
    sc_.layout.sharding = sharding_options_[one->index];
    PassPart& part = pass_part(option);
    for (int layers = first; layers <= last; ++layers) {
      set_recompute(choice, layers);
      price_stages(combination, part, operations);
    }
  }
}

/// Stages with the present recomputation, and what it keeps alive.
void UnitSearch::set_stages(const LayoutChoice& combination, const PassPart& part) {
  const std::vector<StageGroup>& groups = combination.pipe->shape->groups;
  combination_ = &combination;
  content_ = part.content;
  if (!warm_up_) warm_up_ = warm_ups();
  plan_.resize(groups.size());
  live_.resize(groups.size());
  least_live_.clear();
  offloaded_.clear();
  for (std::size_t g = 0; g < groups.size(); ++g) {
    plan_[g] = groups[g].plan;
    recompute_first(groups[g].first, plan_[g]);
    live_[g] = content_->memory->load(plan_[g], (*combination.in_flight)[g]);
    if (*warm_up_ != nullptr) least_live_.push_back(live_when_warm((**warm_up_)[g]));
    if (sc_.recipe.offload != 0)
      offloaded_.push_back(content_->memory->offloaded(plan_[g], (*combination.in_flight)[g]));
  }
}

/// Every sharding of the stages with this recomputation.
void UnitSearch::price_stages(const LayoutChoice& combination, PassPart& part, int operations) {
  set_stages(combination, part);
  pass_ = &part;
  timed_ = false;
  for (const ShardingChoice& shard : active_) {
    if (shard.operations == operations) price_candidate(shard);
  }
}

/// What the stages take with this recomputation. Many never fit, so nobody asks for their time.
void UnitSearch::time_stages() {
  if (timed_) return;
  timed_ = true;
  set_loads(*pass_);
}

/// Times of the stages that plan_ has.
void UnitSearch::set_loads(PassPart& part) {
  times_ = &times_of(part);
  const std::vector<StageGroup>& groups = combination_->pipe->shape->groups;
  loads_.resize(groups.size());
  const auto is_end = [&](int stage) { return neighbours_of(stage, sc_.layout.pp) == 1; };
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const std::vector<int>& members = groups[g].members;
    loads_[g] = {.totals = stage_totals(*times_, plan_[g]),
                 .count = static_cast<int>(members.size()),
                 .neighbours = std::all_of(members.begin(), members.end(), is_end) ? 1 : 2};
  }
  least_span_ = least_span();
}

/// Lower bound on the time between the first task of a schedule without closed form and its last: a stage
/// begins once the chunks before its own have run, then has its work to do, and where the backward is whole
/// the chunks before it follow. Chunks count with their cheapest layers. Stages that drift from one step into
/// the next wait for nobody.
Seconds UnitSearch::least_span() const {
  const Layout& l = sc_.layout;
  Seconds forward{std::numeric_limits<double>::infinity()}, backward = forward;
  for (std::size_t c = 0; c < kLayerClasses; ++c) {
    if (!used_[c]) continue;
    const PassTotals& layer = times_->layers[c];
    const double hides = runs_in_pairs(l.schedule) ? 1 : 0;  // its collectives, at most
    forward = smaller(forward, layer.forward - layer.forward_collectives * hides);
    backward = smaller(backward, layer.backward - layer.backward_collectives * hides);
  }
  const Pipeline& pipe = *combination_->pipe->shape;
  Seconds chunk = (splits_backward(l.schedule) ? forward : forward + backward) * pipe.least_chunk;
  if (drifts(l.schedule)) chunk = {};
  Seconds span;
  for (std::size_t g = 0; g < loads_.size(); ++g) {
    int most_before = 0;
    for (const int stage : pipe.groups[g].members) {
      const int from_behind = model_copies(l.schedule) > 1 ? l.pp - 1 - stage : stage;
      most_before = std::max(most_before, std::min(stage, from_behind));
    }
    const PassTotals& work = loads_[g].totals;
    const Seconds busy = work.total() - hidden_in_pairs(work, sc_.framework, l.schedule);
    span = larger(span, busy * microbatches_ + chunk * most_before);
  }
  return span;
}

}  // namespace hexaplan::planner
