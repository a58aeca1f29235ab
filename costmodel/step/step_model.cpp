#include "costmodel/step/step_model.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace hexaplan::costmodel {

StepModel::StepModel(const Scenario& sc, const Calibration& calibration, const std::vector<StagePlan>& stages)
    : sc_{sc},
      calibration_{calibration},
      stages_{stages},
      pricer_{sc, calibration},
      parameters_{sc, stages},
      prices_{price_layers(sc, local_dims(sc), pricer_, used_classes(stages))},
      totals_{totals_of(prices_)},
      combiner_{sc, message_time(sc, local_dims(sc), pricer_)},
      microbatches_{static_cast<double>(microbatches_per_step(sc))} {}

LayerCost StepModel::stage_cost(const StagePlan& stage) const {
  LayerCost cost;
  for (std::size_t c = 0; c < kLayerClasses; ++c) {
    if (stage.layers[c] == 0) continue;
    LayerCost layers = prices_.layers[c] * stage.layers[c];
    layers.recomputed = layers.recomputed * stage.recomputed_share(c);
    layers.recomputed_flops *= stage.recomputed_share(c);
    cost += layers;
  }
  cost += prices_.embedding * stage.embedding;
  cost += prices_.head * stage.head;
  return stage.copies == 1 ? cost : cost * (1.0 / stage.copies);
}

StageTransfers StepModel::transfers_of(std::size_t stage) const {
  return price_transfers(sc_, calibration_, pricer_, parameters_, stages_[stage]);
}

Seconds StepModel::span_of(const std::vector<StageLoad>& loads) const {
  if (combiner_.has_closed_form()) return {};
  std::vector<PassWaits> waits;
  waits.reserve(loads.size());
  for (const StageLoad& load : loads) waits.push_back(load.waits);
  return replayed_span(sc_, totals_, waits);
}

/// The slowest stage sets the pace, with what it does once per step: taking the stage by its compute alone
/// would let a faster GPU lengthen the step by moving the choice to a stage with more to reduce.
StepTime StepModel::time() const {
  std::vector<StageLoad> loads;
  std::vector<StageTransfers> transfers;  // of stages that differ from the one before
  loads.reserve(stages_.size());
  const auto as_before = [&](std::size_t s) { return s > 0 && stages_[s] == stages_[s - 1]; };
  for (std::size_t s = 0; s < stages_.size(); ++s) {
    const int neighbours = neighbours_of(static_cast<int>(s), static_cast<int>(stages_.size()));
    if (as_before(s)) {
      loads.push_back(loads.back());
      loads.back().neighbours = neighbours;
      continue;
    }
    StageLoad& load =
        loads.emplace_back(StageLoad{.totals = stage_totals(totals_, stages_[s]), .neighbours = neighbours});
    load.waits = combiner_.waits(totals_, stages_[s], transfers.emplace_back(transfers_of(s)), load.totals);
  }
  const Seconds span = span_of(loads);
  StepTime longest;
  auto own = transfers.begin();
  for (std::size_t s = 0; s < stages_.size(); ++s) {
    const bool alike = as_before(s);
    if (s > 0 && !alike) ++own;
    if (alike && loads[s].neighbours <= loads[s - 1].neighbours) continue;
    const StepTime time = time_paced_by(loads, s, *own, span);
    if (time.total() > longest.total()) longest = time;
  }
  return longest;
}

StageTimes StepModel::times_of(std::size_t stage) const {
  const LayerCost cost = stage_cost(stages_[stage]);
  return {.forward = cost.forward * microbatches_,
          .recompute = cost.recomputed * microbatches_,
          .backward = cost.backward * microbatches_,
          .optimizer = transfers_of(stage).update};
}

/// Where a schedule was replayed, every stage takes the whole span: the busiest one says what of it is work,
/// and waits least.
std::size_t StepModel::accounted(const std::vector<StageLoad>& loads, std::size_t slowest) const {
  if (combiner_.has_closed_form()) return slowest;
  const auto less = [](const StageLoad& a, const StageLoad& b) {
    return a.totals.total() < b.totals.total();
  };
  return static_cast<std::size_t>(std::max_element(loads.begin(), loads.end(), less) - loads.begin());
}

namespace {
/// Takes what hides behind another micro-batch's kernels off what they wait for: messages and copies to the
/// host, and off those of recomputation last.
void hide(Seconds hidden, StepTime& t) {
  const std::array waits = {&t.tensor_parallel, &t.context_parallel, &t.expert_parallel, &t.offload};
  Seconds waited;
  for (const Seconds* cause : waits) waited += *cause;
  const Seconds taken = smaller(hidden, waited);
  if (taken > Seconds{}) {
    const double left = 1 - taken / waited;
    for (Seconds* cause : waits) *cause *= left;
  }
  t.recompute -= hidden - taken;
}
}  // namespace

StepTime StepModel::time_paced_by(const std::vector<StageLoad>& loads, std::size_t slowest,
                                  const StageTransfers& transfers, Seconds span) const {
  const std::size_t busiest = accounted(loads, slowest);
  const LayerCost cost = stage_cost(stages_[busiest]);
  PassCost passes = cost.forward;
  passes += cost.backward;
  const StepOverheads overheads = combiner_.overheads(transfers, loads, slowest, span);
  StepTime t;
  t.gemm = passes.gemm * microbatches_;
  t.attention = passes.attention * microbatches_;
  t.memory_bound = passes.memory_bound * microbatches_;
  t.launch = passes.launch * microbatches_;
  t.recompute = cost.recomputed.total() * microbatches_;
  t.tensor_parallel = passes.tensor * microbatches_;
  t.context_parallel = passes.context * microbatches_;
  t.expert_parallel = passes.expert * microbatches_;
  t.offload = passes.offload * microbatches_;
  t.pipeline_p2p = overheads.pipeline_p2p;
  const PassTotals& work = loads[busiest].totals;
  const Seconds more_work = work.total() - loads[slowest].totals.total();
  const Seconds hidden = hidden_in_pairs(work, sc_.framework, sc_.layout.schedule) * microbatches_;
  const Seconds idle = overheads.bubble - more_work * microbatches_;
  t.bubble = larger(Seconds{}, idle + hidden);
  hide(t.bubble - idle, t);
  t.data_parallel = overheads.data_parallel;
  t.offload += overheads.offload;
  t.optimizer = overheads.optimizer;
  t.host = overheads.host;
  return t;
}

/// Stages differ, the ranks of one stage do not.
Flops StepModel::hardware_flops() const {
  Flops sum, of_stage;
  for (std::size_t s = 0; s < stages_.size(); ++s) {
    if (s == 0 || stages_[s] != stages_[s - 1]) {
      const LayerCost cost = stage_cost(stages_[s]);
      of_stage = (cost.flops + cost.recomputed_flops) * microbatches_;
    }
    sum += of_stage;
  }
  return sum * static_cast<double>(sc_.layout.dp) * sc_.layout.tp * sc_.layout.cp;
}

}  // namespace hexaplan::costmodel
