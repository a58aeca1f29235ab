// The step program is derived from forward tables and rules; the functions that estimates use today were
// written by hand, forward and backward. Where both describe a step, they must agree to the byte.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "costmodel/program/count.h"
#include "costmodel/program/layer_program.h"
#include "costmodel/schedule/in_flight.h"
#include "costmodel/schedule/schedule.h"
#include "costmodel/step/stage_memory.h"
#include "tests/costmodel/program/program_scenarios.h"
#include "tests/costmodel/program/today.h"
#include "tests/support/random_scenario.h"

namespace hexaplan::costmodel::program {
namespace {

std::vector<LayerClass> classes_of(const Scenario& sc) {
  std::vector<LayerClass> out;
  for (int i = 0; i < kMtpClass; ++i) {
    for (std::int64_t layer = 0; layer < sc.model.layers; ++layer) {
      if (class_of_layer(sc.model, layer) != layer_class_at(sc.model, i)) continue;
      out.push_back(layer_class_at(sc.model, i));
      break;
    }
  }
  return out;
}

#define HEXAPLAN_NO_DIFFERENCE(expression)       \
  do {                                           \
    const std::string difference = (expression); \
    RC_LOG() << difference << '\n';              \
    RC_ASSERT(difference.empty());               \
  } while (false)

RC_GTEST_PROP(dense_program, does_the_same_operations_as_todays_lists, ()) {
  const Scenario sc = dense_scenario();
  for (const LayerClass kind : classes_of(sc)) HEXAPLAN_NO_DIFFERENCE(layer_difference(sc, kind));
  HEXAPLAN_NO_DIFFERENCE(end_difference(sc));
}

RC_GTEST_PROP(dense_program, keeps_the_same_bytes_as_todays_ledger, ()) {
  const Scenario sc = dense_scenario();
  for (const LayerClass kind : classes_of(sc)) HEXAPLAN_NO_DIFFERENCE(kept_difference(sc, kind));
}

RC_GTEST_PROP(dense_program, replays_to_the_same_peaks_as_the_hand_written_step, ()) {
  const Scenario sc = dense_scenario();
  RC_LOG() << sc << '\n';
  HEXAPLAN_NO_DIFFERENCE(replay_difference(sc));
}

RC_GTEST_PROP(dense_program, keeps_the_same_bytes_when_modules_are_recomputed, ()) {
  Scenario sc = with_recomputed_modules(dense_scenario());
  // Today's ledger drops queries, keys and values for it, although there is no up-projection to make them.
  sc.recipe.recompute.modules &= static_cast<std::uint16_t>(~unsigned{kRecomputeMlaUpProjection});
  RC_LOG() << sc << '\n';
  for (const LayerClass kind : classes_of(sc)) HEXAPLAN_NO_DIFFERENCE(kept_difference(sc, kind));
}

RC_GTEST_PROP(dense_program, does_the_same_operations_when_modules_are_recomputed, ()) {
  Scenario sc = with_recomputed_modules(dense_scenario());
  sc.framework.recompute_stops_early = false;  // today's lists run a module's last matrix again in any case
  RC_LOG() << sc << '\n';
  for (const LayerClass kind : classes_of(sc)) HEXAPLAN_NO_DIFFERENCE(layer_difference(sc, kind));
}

RC_GTEST_PROP(moe_program, does_the_same_operations_as_todays_lists, ()) {
  const Scenario sc = moe_scenario();
  for (const LayerClass kind : classes_of(sc)) HEXAPLAN_NO_DIFFERENCE(layer_difference(sc, kind));
}

RC_GTEST_PROP(moe_program, replays_to_the_same_peaks_as_the_hand_written_step, ()) {
  const Scenario sc = moe_scenario();
  RC_LOG() << sc << '\n';
  HEXAPLAN_NO_DIFFERENCE(replay_difference(sc));
}

RC_GTEST_PROP(every_program, has_the_same_bytes_alive_around_every_task_as_the_hand_written_step, ()) {
  const Scenario sc = *rc::gen::arbitrary<bool>() ? dense_scenario() : moe_scenario();
  RC_LOG() << sc << '\n';
  HEXAPLAN_NO_DIFFERENCE(task_difference(sc));
}

RC_GTEST_PROP(moe_program, keeps_the_same_bytes_as_todays_ledger, ()) {
  const Scenario sc = moe_scenario();
  RC_LOG() << sc << '\n';
  for (const LayerClass kind : classes_of(sc)) HEXAPLAN_NO_DIFFERENCE(kept_difference(sc, kind));
}

RC_GTEST_PROP(moe_program, does_the_same_operations_when_modules_are_recomputed, ()) {
  Scenario sc = with_recomputed_modules(moe_scenario());
  sc.framework.recompute_stops_early = false;
  RC_LOG() << sc << '\n';
  for (const LayerClass kind : classes_of(sc)) HEXAPLAN_NO_DIFFERENCE(layer_difference(sc, kind));
}

/// What the ledger's rules forget of what a layer keeps, in bytes: statistics of LayerNorms, of norms of
/// heads and of latents.
double forgotten(const Scenario& sc) {
  const LocalDims d = local_dims(sc);
  const AttentionSpec& a = sc.model.attention;
  const RecomputeMode mode = sc.recipe.recompute.mode;
  const bool whole = mode == RecomputeMode::Full || mode == RecomputeMode::Layers;
  if (whole) return 0;
  std::int64_t numbers = 0;
  if (sc.model.norm == NormKind::Layer) numbers += sc.model.norms_per_layer * d.sp_tokens;
  if (a.qk_norm) numbers += d.tokens * (d.heads + d.kv_heads);
  if (a.kind == AttentionKind::Latent) numbers += d.tokens * (a.q_lora_rank > 0 ? 2 : 1);
  // The executor keeps queries, keys and values in one buffer.
  const bool with_values = a.qk_norm && !sc.framework.separate_projections;
  const double values = with_values ? static_cast<double>(d.tokens * d.v) : 0;
  // What attention made is kept cast for the matrix behind it, and as it is for a fused kernel alone.
  const bool fused = !stores_scores(sc.recipe.attention);
  const double per_element =
      fused && sc.framework.keeps_original_inputs ? 0 : sc.framework.quantized_input_bytes - (fused ? 0 : 2);
  const double cast =
      is_quantized(sc.recipe.precision) ? static_cast<double>(d.tokens * d.o) * per_element : 0;
  return cast + 4.0 * static_cast<double>(numbers) +
         values * bytes_per_element(activation_dtype(sc.recipe.precision));
}

RC_GTEST_PROP(framework_program, keeps_the_same_bytes_as_the_rules_of_the_profile, ()) {
  const Scenario sc = framework_scenario();
  RC_LOG() << sc << '\n';
  const bool eager = sc.framework.saved[static_cast<std::size_t>(Saved::NormOutput)].compute > 1;
  // The rules drop repeated keys with attention's scores, and forget what they are made from; latents' keys
  // they forget altogether, and fp32 copies of norms' inputs outlive their recomputation.
  RC_PRE(!eager || (sc.recipe.recompute.mode != RecomputeMode::Selective &&
                    sc.recipe.recompute.mode != RecomputeMode::SelectiveModules &&
                    sc.model.attention.kind != AttentionKind::Latent));
  // Whole queries are made from a gathered input, which is kept for it; where there is no up-projection, the
  // rules drop what nothing can make.
  const bool makes_up = (sc.recipe.recompute.modules & kRecomputeMlaUpProjection) != 0;
  RC_PRE(!makes_up || (sc.model.attention.kind == AttentionKind::Latent &&
                       (!sc.layout.sp || sc.model.attention.q_lora_rank > 0)));
  // Of gathered inputs the rules say that they are kept; the program knows that routers and latents read the
  // cut ones, and that modules which run again gather again.
  const bool plain = sc.model.attention.kind != AttentionKind::Latent && !sc.model.is_moe();
  RC_PRE(!sc.framework.gather_saved_inputs || !sc.layout.sp ||
         (plain && sc.recipe.recompute.mode == RecomputeMode::None));
  // In 8 bits, what runs again reads its input as it is.
  RC_PRE(!is_quantized(sc.recipe.precision) || sc.recipe.recompute.mode != RecomputeMode::SelectiveModules);
  // Of adapters that the executor refuses its program has no products.
  RC_PRE(!sc.framework.keeps_what_backward_reads || !trains_adapters(sc.recipe) ||
         adapters_are_operations(sc));
  for (const LayerClass kind : classes_of(sc))
    HEXAPLAN_NO_DIFFERENCE(kept_difference(sc, kind, all_passes(), forgotten(sc)));
}

/// Most that passes hold at forward and backward: the ledger's closed form, without what is there whatever
/// runs, and without what a stage receives, which the replay has as the input of its layers.
double closed_form(const Scenario& sc, const std::vector<StagePlan>& stages, int stage, Instant instant) {
  const Calibration none;
  const MemoryModel model{sc, none, stages};
  const double in_flight = microbatches_in_flight(sc)[static_cast<std::size_t>(stage)];
  double bytes = 0;
  for (const TensorEntry& e : model.ledger(stages[static_cast<std::size_t>(stage)], in_flight)) {
    const bool of_passes =
        e.kind == TensorKind::Activation || e.kind == TensorKind::Logits || e.kind == TensorKind::Transient;
    if (of_passes && (e.alive & instant) != 0 && e.formula != "M1" && e.formula != "M6" &&
        e.name != "tensor_parallel.gathered")
      bytes += e.size().value();
  }
  return bytes;
}

/// Where estimates take the closed form, it is what the replay has, or more: layers of several classes do not
/// have their largest working set when most is kept, and not all is kept while the last layer runs forward.
/// It may miss one tensor of hidden states. Recomputed layers come first in the stage's order, and first by
/// class in the closed form: of N recomputed layers of several classes it does not claim anything.
RC_GTEST_PROP(framework_program, its_closed_form_holds_what_the_replay_does_or_more, ()) {
  const Scenario sc = framework_scenario();
  RC_PRE(!needs_replay(sc) && !sc.framework.replays_parameters);
  RC_PRE(sc.recipe.recompute.mode != RecomputeMode::Layers);
  RC_PRE(!has_unequal_chunks(sc) || !sc.model.is_moe());  // in flight by layers, whatever their class
  RC_PRE(sc.layout.schedule != ScheduleKind::GPipe);      // the executor's habit: gradients of its head wait
  RC_LOG() << sc << '\n';
  const std::vector<StagePlan> stages = plan_stages(sc);
  const StepReplay replay{sc};
  const double hidden_states = sizes_of(sc, local_dims(sc)).bytes({Rows::Hidden, Width::Hidden});
  for (int stage = 0; stage < sc.layout.pp; ++stage) {
    const StagePlan& plan = stages[static_cast<std::size_t>(stage)];
    if (plan.total_layers() == 0) continue;
    const ReplayedMemory replayed = replay.stage(stage);
    double most = 0, closed = 0;
    for (const Instant instant : {kForward, kBackward}) {
      const MemoryBreakdown& at = replayed.at[index_of(instant)];
      most = std::max(most, (at.activations + at.transient).value());
      closed = std::max(closed, closed_form(sc, stages, stage, instant));
    }
    RC_LOG() << "stage " << stage << " closed " << closed << " replayed " << most << '\n';
    const bool of_backward = closed_form(sc, stages, stage, kForward) < closed;
    const bool all_alike = plan.layers[0] == plan.total_layers() || plan.layers[1] == plan.total_layers();
    RC_ASSERT(closed + hidden_states >= most * (1 - 1e-9));
    if (all_alike && of_backward) RC_ASSERT(closed <= most * (1 + 1e-9));
  }
}

RC_GTEST_PROP(framework_program, holds_what_the_executor_holds_where_it_keeps_the_same, ()) {
  Scenario sc = dense_scenario();
  RC_PRE(sc.layout.sharding.stage < 2);  // the executor gathers and opens gradients unit by unit
  Scenario other = sc;
  other.framework.replays_parameters = other.framework.keeps_what_backward_reads = false;
  RC_PRE(!first_gap(other).has_value());
  RC_LOG() << sc << '\n';
  const StepReplay executor{sc}, framework{other};
  for (int stage = 0; stage < sc.layout.pp; ++stage) {
    const ReplayedMemory a = executor.stage(stage), b = framework.stage(stage);
    const Bytes tokens = a.at[index_of(kIdle)].transient;
    for (const Instant instant : {kForward, kBackward}) {
      const MemoryBreakdown &mine = a.at[index_of(instant)], &theirs = b.at[index_of(instant)];
      RC_ASSERT(mine.activations == theirs.activations);
      RC_ASSERT(mine.transient - tokens == theirs.transient);
    }
  }
}

RC_GTEST_PROP(latent_program, does_the_same_operations_when_modules_are_recomputed, ()) {
  Scenario sc = with_recomputed_modules(latent_scenario());
  RC_PRE(sc.model.attention.q_lora_rank > 0);  // today's list forgets the projection of whole queries
  sc.framework.recompute_stops_early = false;
  RC_LOG() << sc << '\n';
  for (const LayerClass kind : classes_of(sc)) HEXAPLAN_NO_DIFFERENCE(layer_difference(sc, kind));
}

RC_GTEST_PROP(latent_program, does_the_same_operations_as_todays_lists, ()) {
  const Scenario sc = latent_scenario();
  for (const LayerClass kind : classes_of(sc)) HEXAPLAN_NO_DIFFERENCE(layer_difference(sc, kind));
}

RC_GTEST_PROP(every_program, reads_only_what_was_written_and_not_overwritten_since, ()) {
  Scenario sc = *rc::gen::element(0, 1, 2) == 0 ? dense_scenario()
                : *rc::gen::element(0, 1) == 0  ? moe_scenario()
                                                : latent_scenario();
  if (*rc::gen::arbitrary<bool>()) sc = with_recomputed_modules(sc);
  for (const LayerClass kind : classes_of(sc)) {
    for (const bool whole : {false, true}) {
      for (const bool split : {false, true}) {
        Techniques t = techniques_of(sc, whole);
        t.splits_backward = split;
        Program p = forward_layer(sc.model, kind);
        for (const PassRow& pass : all_passes()) {
          if (pass.applies(p, t)) p = pass.rewrite(std::move(p), t);
          const std::string fault = first_fault(p).value_or("");
          RC_LOG() << pass.name << ": " << fault << '\n';
          RC_ASSERT(fault.empty());
        }
      }
    }
  }
}

}  // namespace
}  // namespace hexaplan::costmodel::program
