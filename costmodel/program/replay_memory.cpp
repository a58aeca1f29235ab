#include "costmodel/program/replay_memory.h"

#include <algorithm>
#include <functional>

#include "costmodel/memory/layer_ledger.h"
#include "costmodel/memory/outer_states.h"
#include "costmodel/parameters/adapters.h"
#include "costmodel/program/replay.h"
#include "costmodel/program/techniques.h"
#include "costmodel/schedule/schedule.h"
#include "costmodel/spec/stage_plan.h"

namespace hexaplan::costmodel {
namespace {

/// What the program describes and the executor refuses (validator/executor/step/not_executable.cpp): nothing
/// has shown that its memory is what the replay says.
bool is_never_executed(const Scenario& sc) {
  const Recipe& r = sc.recipe;
  return is_quantized(r.precision) || (trains_adapters(r) && !adapters_are_operations(sc)) ||
         casts_automatically(sc);
}

/// The models that M8's ledger was written for; of others it forgets statistics and copies.
bool is_llama(const ModelSpec& m) {
  const AttentionSpec& a = m.attention;
  return a.kind == AttentionKind::Grouped && !a.qk_norm && a.value_clip == 0 && m.norm == NormKind::Rms &&
         m.norms_per_layer == 2 && !m.norms_after && !m.norms_behind_branches && m.residual_multiplier == 1 &&
         m.logit_multiplier == 1 && m.attention.unrotated_period == 0 &&
         m.attention.unrotated_layers.empty() && !m.parallel_residual && m.mlp.gated &&
         m.positions == PositionKind::Rotary && !m.embedding_norm && m.logit_softcap == 0 && !m.is_moe();
}

/// Where M8's ledger equals the replay.
bool ledger_is_exact(const Scenario& sc) {
  const auto chunks = chunk_layers(sc);
  return std::adjacent_find(chunks.begin(), chunks.end(), std::not_equal_to<>{}) == chunks.end() &&
         !splits_backward(sc.layout.schedule) && chunks_per_stage(sc.layout) == 1 &&
         sc.layout.sharding.stage < 2 && sc.recipe.offload == 0 &&
         outer_states_on_host(sc.recipe.outer) == 0 && !sc.recipe.optimizer_in_backward &&
         !sc.layout.partition_activations &&
         (sc.layout.cp == 1 || sc.layout.context != ContextKind::AllToAll) && is_llama(sc.model) &&
         mtp_modules(sc) == 0 && !trains_adapters(sc.recipe);
}

ReplayedTask::Level level_of(const MemoryBreakdown& live) {
  return {.allocated = live.allocated(), .activations = live.activations};
}

}  // namespace

bool needs_replay(const Scenario& sc, bool differing_chunks) {
  if (!sc.framework.replays_parameters)  // weight gradients that wait hold what no count in flight says
    return (splits_backward(sc.layout.schedule) || differing_chunks) && !program::first_gap(sc);
  return !is_never_executed(sc) && !program::first_gap(sc) && !ledger_is_exact(sc);
}

bool needs_replay(const Scenario& sc) {
  const bool may_matter = !sc.framework.replays_parameters && !splits_backward(sc.layout.schedule);
  return needs_replay(sc, may_matter && chunks_differ(sc));
}

ReplayedMemory replay_memory(const Scenario& scenario, int stage) {
  return program::StepReplay{scenario}.stage(stage);
}

std::vector<ReplayedMemory> replay_peaks(const Scenario& scenario) {
  const program::StepReplay replay{scenario};
  std::vector<ReplayedMemory> stages;
  stages.reserve(static_cast<std::size_t>(scenario.layout.pp));
  for (int stage = 0; stage < scenario.layout.pp; ++stage) stages.push_back(replay.stage(stage));
  return stages;
}

std::vector<std::vector<ReplayedTask>> replay_tasks(const Scenario& scenario) {
  const program::StepReplay replay{scenario};
  std::vector<std::vector<ReplayedTask>> stages(static_cast<std::size_t>(scenario.layout.pp));
  for (int stage = 0; stage < scenario.layout.pp; ++stage) {
    std::vector<ReplayedTask>& tasks = stages[static_cast<std::size_t>(stage)];
    for (const program::TaskMemory& task : replay.tasks(stage)) {
      tasks.push_back({.at = {}, .after = level_of(task.after)});
      for (std::size_t i = 0; i < tasks.back().at.size(); ++i) tasks.back().at[i] = level_of(task.at[i]);
    }
  }
  return stages;
}

}  // namespace hexaplan::costmodel
