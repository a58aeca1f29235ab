#include "costmodel/posttrain/model_phases.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "costmodel/communication/device_overhead.h"
#include "costmodel/program/working_sets.h"
#include "costmodel/spec/rules.h"
#include "costmodel/spec/stage_plan.h"
#include "costmodel/step/estimate.h"
#include "costmodel/step/step_parts.h"
#include "costmodel/units/ceil_div.h"

namespace hexaplan::costmodel {
namespace {

bool is_trained(ModelRole role) {
  return kRoles[static_cast<std::size_t>(role)].trained;
}

/// Context- and sequence-parallel ranks have equal parts of a sequence.
std::int64_t cut_evenly(double tokens, const Layout& layout) {
  const std::int64_t parts = static_cast<std::int64_t>(layout.tp) * layout.cp * (layout.cp > 1 ? 2 : 1);
  return ceil_div(std::max<std::int64_t>(1, std::llround(std::ceil(tokens))), parts) * parts;
}

/// Sequences of one optimizer step.
std::int64_t mini_batch(const PostTraining& question) {
  return ceil_div(question.batch.sequences(), question.batch.mini_batches);
}

/// `sequences` of `length` tokens, in passes of at most `micro` per data-parallel rank.
Scenario with_batch(Scenario sc, std::int64_t length, std::int64_t micro, std::int64_t sequences) {
  const std::int64_t of_rank = ceil_div(sequences, sc.layout.dp);
  const std::int64_t passes = ceil_div(of_rank, std::max<std::int64_t>(1, micro));
  sc.recipe.sequence = length;
  sc.recipe.micro_batch = ceil_div(of_rank, passes);
  sc.recipe.global_batch = sc.recipe.micro_batch * passes * sc.layout.dp;
  return sc;
}

Scenario longest_sequences(const PostTraining& question, const Scenario& sc, std::int64_t micro) {
  return with_batch(sc, cut_evenly(static_cast<double>(question.batch.longest()), sc.layout), micro,
                    mini_batch(question));
}

/// Packed passes hold as many tokens as `micro` of the longest sequences.
Scenario timed(const PostTraining& question, const Scenario& sc, std::int64_t micro, std::int64_t sequences) {
  const RolloutBatch& batch = question.batch;
  if (!batch.packed)
    return with_batch(sc, cut_evenly(static_cast<double>(batch.longest()), sc.layout), micro, sequences);
  const std::int64_t length = cut_evenly(batch.mean(), sc.layout);
  const std::int64_t packed = std::max<std::int64_t>(1, micro * batch.longest() / length);
  return with_batch(sc, length, packed, sequences);
}

std::int64_t score_micro_batch(const PostTraining& question, const Scenario& sc) {
  return question.score_micro_batch > 0 ? question.score_micro_batch : sc.recipe.micro_batch;
}

/// Frozen models are loaded in 16 bits (verl/workers/fsdp_workers.py: torch_dtype of all but the actor).
Scenario scenario_of(const PostTraining& question, ModelRole role) {
  Scenario sc = *question.model(role);
  if (!is_trained(role) && !sc.recipe.parameter_dtype)
    sc.recipe.parameter_dtype = activation_dtype(sc.recipe.precision);
  return sc;
}

/// What one layer's forward makes, all of it at once: freed one by one without autograd, so at most this.
Bytes layer_values(const Scenario& sc) {
  const LocalDims dims = local_dims(sc);
  Bytes most;
  for (int c = 0; c < kMtpClass; ++c) {
    if (!uses_class(plan_stages(sc), static_cast<std::size_t>(c))) continue;
    TensorLedger kept;
    program::append_kept_values(sc, dims, layer_class_at(sc.model, c), kept);
    most = larger(most, size_of(kept));
  }
  return most;
}

/// Logits, and their copy in fp32 of which the log-probabilities are taken (NeMo-RL and verl both cast).
Bytes scored_logits(const Scenario& sc) {
  const LocalDims d = local_dims(sc);
  const double width =
      bytes_per_element(activation_dtype(sc.recipe.precision)) + bytes_per_element(DType::Fp32);
  return Bytes{static_cast<double>(d.tokens * d.vocab) * width};
}

/// Beside the parameters while sequences are scored: gathered parameters, then a layer or the logits.
Bytes scoring_set(const Scenario& sc, int stage) {
  Scenario alone = sc;
  alone.recipe.recompute = {.mode = RecomputeMode::Full};
  alone.recipe.offload = 0;
  const Bytes gathered = sum_alive(build_ledger(alone, stage), kForward).transient;
  const bool last = stage == sc.layout.pp - 1;
  return gathered + larger(layer_values(alone), last ? scored_logits(alone) : Bytes{});
}

void fill_states(const Scenario& sc, int stage, bool trained, ModelMemory& memory) {
  const MemoryBreakdown idle = sum_alive(build_ledger(sc, stage), kIdle);
  memory.parameters = idle.parameters;
  if (!trained) return;
  memory.parameters += idle.gradients;
  memory.optimizer = idle.optimizer;
}

/// The stage that holds most, of a model that is not trained.
int fullest_stage(const Scenario& sc) {
  int fullest = 0;
  Bytes most;
  for (int stage = 0; stage < sc.layout.pp; ++stage) {
    const Bytes bytes = sum_alive(build_ledger(sc, stage), kIdle).parameters + scoring_set(sc, stage);
    if (bytes < most) continue;
    most = bytes;
    fullest = stage;
  }
  return fullest;
}

/// A rule that a model's layout breaks, in the model's name.
Rejected of_model(ModelRole role, Rejected rejected) {
  rejected.reason =
      fmt::format("{}: {}", kRoles[static_cast<std::size_t>(role)].name, std::move(rejected.reason));
  return rejected;
}

std::optional<Rejected> too_few_sequences(const PostTraining& question, const Scenario& sc) {
  if (mini_batch(question) >= sc.layout.dp) return std::nullopt;
  return Rejected{"sequences-fill-ranks",
                  fmt::format("{} sequences of an optimizer step do not reach dp={} ranks",
                              mini_batch(question), sc.layout.dp),
                  "more prompts or responses, fewer mini-batches, or more tensor or pipeline parallelism"};
}

}  // namespace

Seconds scoring_time(const Scenario& sc, const Calibration& calibration) {
  const std::vector<StagePlan> stages = plan_stages(sc);
  const Pricer pricer{sc, calibration};
  const LocalDims dims = local_dims(sc);
  const LayerTotals totals = totals_of(price_layers(sc, dims, pricer, used_classes(stages)));
  const Seconds message = message_time(sc, dims, pricer);
  const StepCombiner combiner{sc, message};
  const ModelParameters parameters{sc, stages};
  Seconds sum, slowest;
  for (const StagePlan& stage : stages) {
    Seconds forward = stage_totals(totals, stage).forward;
    if (combiner.waits_by_layer()) {
      const StageTransfers transfers = price_transfers(sc, calibration, pricer, parameters, stage);
      forward += combiner.sharded_wait(totals, stage, transfers).forward;
    }
    sum += forward;
    slowest = larger(slowest, forward);
  }
  const auto passes = static_cast<double>(microbatches_per_step(sc));
  const double hops = sc.layout.pp - 1;
  return sum + (passes - 1) * slowest + (hops + (sc.layout.pp > 1 ? passes - 1 : 0)) * message;
}

std::variant<ModelPhases, Rejected> model_phases(const PostTraining& question, ModelRole role,
                                                 const Calibration& calibration) {
  const Scenario sc = scenario_of(question, role);
  const bool trained = is_trained(role);
  if (auto few = too_few_sequences(question, sc)) return of_model(role, std::move(*few));
  const Scenario longest = longest_sequences(question, sc, sc.recipe.micro_batch);
  if (auto rejected = first_rejection(longest)) return of_model(role, std::move(*rejected));
  const Scenario scored = longest_sequences(question, sc, score_micro_batch(question, sc));
  if (auto rejected = first_rejection(scored)) return of_model(role, std::move(*rejected));

  ModelPhases out;
  const DeviceOverhead overhead = device_overhead(longest, calibration);
  out.memory.context = overhead.context;
  out.memory.outside = overhead.context + overhead.communicators;
  int stage = 0;
  if (trained) {
    const Estimate estimate = estimate_step(longest, calibration);
    if (estimate.stages.empty()) return of_model(role, std::get<Rejected>(estimate.verdict));
    stage = estimate.peak_stage;
    out.memory.train = estimate.peak().needed - out.memory.outside;
    out.memory.host = estimate.peak().host;
    const Scenario step = timed(question, sc, sc.recipe.micro_batch, mini_batch(question));
    const Estimate mean = estimate_step(step, calibration);
    if (mean.stages.empty()) return of_model(role, std::get<Rejected>(mean.verdict));
    const double steps = static_cast<double>(question.batch.mini_batches) * question.batch.epochs;
    out.times.train = steps * mean.time.total();
  } else {
    stage = fullest_stage(scored);
  }
  fill_states(longest, stage, trained, out.memory);
  out.memory.score = out.memory.parameters + scoring_set(scored, stage);
  out.times.score = scoring_time(
      timed(question, sc, score_micro_batch(question, sc), question.batch.sequences()), calibration);
  return out;
}

}  // namespace hexaplan::costmodel
