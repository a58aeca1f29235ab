#include "costmodel/communication/device_overhead.h"
#include "costmodel/compute/operations.h"
#include "costmodel/memory/layer_ledger.h"
#include "planner/search/unit_search.h"

namespace hexaplan::planner {

using namespace costmodel;

namespace {

/// Full recomputation and that of some layers run the same operations again.
Recompute operations_of(Recompute recompute) {
  if (recompute.mode == RecomputeMode::Layers) recompute = {.mode = RecomputeMode::Full};
  return recompute;
}

/// Quantised recipes cast weights once per step; Hexaplan's executor keeps the tokens of all its
/// micro-batches.
bool counts_microbatches(const Scenario& sc) {
  return is_quantized(sc.recipe.precision) || sc.framework.replays_parameters;
}

/// Parameters and optimizer states, which no pass frees: what else the ledger has, a replay may hold less of.
MemoryLoad resident_load(const Scenario& sc, const ParameterMemory& memory, const StagePlan& stage) {
  MemoryLoad load;
  memory.visit(sc, stage, [&](const TensorEntry& entry, double times) {
    if (entry.kind == TensorKind::Parameter || entry.kind == TensorKind::OptimizerState)
      load.add(entry, times);
  });
  return load;
}

}  // namespace

std::size_t UnitSearch::PassKeyHash::operator()(const PassKey& key) const {
  std::size_t hash = 0;
  const auto mix = [&](std::int64_t value) {
    hash ^= static_cast<std::size_t>(value) + 0x9e3779b97f4a7c15ULL + (hash << 6) + (hash >> 2);
  };
  mix(key.batch);
  mix(key.recompute);
  mix(key.forwards_first ? 1 : 0);
  mix(key.sp * 4 + (key.pipeline ? 2 : 0) + (key.pipeline_crosses_network ? 1 : 0));
  mix(key.sharding);
  mix(key.microbatches);
  for (const GroupPlacement& p : key.placements) {
    mix(p.ranks);
    mix(p.stride);
    mix(p.sharing);
    for (std::size_t i = 0; i < static_cast<std::size_t>(p.levels); ++i) mix(p.within[i]);
  }
  return hash;
}

UnitSearch::PassPart& UnitSearch::pass_part(std::uint16_t option) {
  PassPart& part = timed_part(option);
  std::optional<ActivationMemory>& memory = part.content->memory;
  if (!memory) {
    sc_.recipe.recompute = operations_of(space_.recomputes[option].recompute);
    memory.emplace(sc_, local_dims(sc_), used_);
    memory->sum();
  }
  return part;
}

UnitSearch::PassPart& UnitSearch::timed_part(std::uint16_t option) {
  const int sharding = operations_of_sharding(sc_);
  const bool forwards_first = sc_.layout.schedule == ScheduleKind::GPipe;
  const std::size_t variant =
      (std::size_t{candidate_.batch} * 2 + candidate_.sp) * 2 + (forwards_first ? 1 : 0);
  const std::size_t index = (variant * (space_.recomputes.size() + 1) + option) * kOperationKinds +
                            static_cast<std::size_t>(sharding);
  if (pass_of_[index] != nullptr) return *pass_of_[index];
  sc_.recipe.recompute = operations_of(recompute_of(option));
  std::uint16_t like = 0;  // first option that runs the same operations
  while (operations_of(recompute_of(like)) != sc_.recipe.recompute) ++like;
  PassKey key{.batch = candidate_.batch,
              .recompute = like,
              .sp = candidate_.sp,
              .pipeline = sc_.layout.pp > 1,
              .forwards_first = forwards_first,
              .sharding = sharding,
              .microbatches = counts_microbatches(sc_) ? microbatches_per_step(sc_) : 0};
  std::unique_ptr<PassContent>& content = contents_[key];
  if (!content) content = std::make_unique<PassContent>();
  key.pipeline_crosses_network = pricer_->pipeline_crosses_network();
  key.placements = {pricer_->placement_of(Group::Tensor), pricer_->placement_of(Group::Context),
                    pricer_->placement_of(Group::Expert), pricer_->placement_of(Group::ExpertTensor)};
  std::unique_ptr<PassPart>& part = passes_[key];
  if (!part) part = std::make_unique<PassPart>(PassPart{content.get(), {}});
  pass_of_[index] = part.get();
  return *part;
}

/// Precondition: `part` is that of the current choice.
const LayerTotals& UnitSearch::times_of(PassPart& part) {
  const Recompute present = sc_.recipe.recompute;
  const bool offloads = (sc_.recipe.offload & kOffloadActivations) != 0;
  const Offloading offloading =
      offloads ? Offloading{present.mode, present.layers, sc_.layout.pp * chunks_per_stage(sc_.layout)}
               : Offloading{};
  const auto [entry, made] = part.totals.try_emplace(offloading);
  if (!made) return entry->second;
  const auto [work, unknown] = part.content->work.try_emplace(offloading);
  if (unknown) {
    if (!offloads) sc_.recipe.recompute = operations_of(present);
    work->second = work_of_layers(sc_, local_dims(sc_), *pricer_, used_);
    sc_.recipe.recompute = present;
  }
  entry->second = totals_of(price_layers(work->second, sc_.framework, *pricer_));
  return entry->second;
}

const ParameterMemory& UnitSearch::parameter_memory(bool separates_ends, std::uint16_t sharding) {
  const std::size_t accumulates = microbatches_per_step(sc_) > 1 ? 1 : 0;
  auto& memory = parameters_[(std::size_t{sharding} * 2 + accumulates) * 2 + (separates_ends ? 1 : 0)];
  if (!memory) {
    memory = std::make_unique<ParameterMemory>(sc_, used_);
    memory->sum();
  }
  return *memory;
}

UnitSearch::StatePart& UnitSearch::state_part(const PipelineChoice& pipe, std::uint16_t sharding) {
  const std::size_t accumulates = microbatches_per_step(sc_) > 1 ? 1 : 0;
  const std::size_t place =
      ((pipe.shape->plan * sharding_options_.size() + sharding) * 2 + (sc_.layout.sp ? 1 : 0)) * 2 +
      accumulates;
  auto& part = states_[place];
  if (part) return *part;
  auto& memory = state_memory_[place];
  if (!memory) memory = std::make_unique<StateMemory>(make_state_memory(pipe, sharding));
  part = std::make_unique<StatePart>(make_state_part(*memory));
  return *part;
}

UnitSearch::StateMemory UnitSearch::make_state_memory(const PipelineChoice& pipe, std::uint16_t sharding) {
  const ParameterMemory& memory = parameter_memory(pipe.shape->separates_ends, sharding);
  StateMemory of;
  for (const StageGroup& group : pipe.shape->groups) {
    of.loads.push_back(memory.load(sc_, group.plan));
    of.resident.push_back(resident_load(sc_, memory, group.plan));
    if (sc_.recipe.offload != 0) of.offloaded.push_back(memory.offloaded(sc_, group.plan));
  }
  return of;
}

UnitSearch::StatePart UnitSearch::make_state_part(const StateMemory& memory) const {
  TensorLedger device;
  append_device_entries(sc_, device_overhead(sc_, hardware_.calibration), device);
  const MemoryLoad outside = load_of(device);
  const Allocator allocator = allocator_of(sc_);
  StatePart part{.loads = memory.loads, .transfers = {}, .offloaded = &memory.offloaded};
  for (std::size_t g = 0; g < part.loads.size(); ++g) {
    part.loads[g] += outside;
    part.least_peak = larger(part.least_peak, device_peak(part.loads[g], {}, allocator).needed);
    MemoryLoad resident = memory.resident[g];
    resident += outside;
    part.least_replayed = larger(part.least_replayed, device_peak(resident, {}, allocator).needed);
  }
  return part;
}

void UnitSearch::add_transfers(const PipelineChoice& pipe, StatePart& states) {
  if (!states.transfers.empty()) return;
  auto& counts = counts_[pipe.shape->separates_ends ? 1 : 0];
  if (!counts) counts.emplace(sc_, all_layers_);
  const Pricer pricer{sc_, hardware_.calibration};  // the rank order's one knows no shard groups
  for (const StageGroup& group : pipe.shape->groups)
    states.transfers.push_back(price_transfers(sc_, hardware_.calibration, pricer, *counts, group.plan));
}

}  // namespace hexaplan::planner
