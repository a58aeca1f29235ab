#include "costmodel/simulate/step_pieces.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "costmodel/memory/layer_ledger.h"
#include "costmodel/spec/local_dims.h"
#include "costmodel/step/layer_cost.h"
#include "costmodel/step/stage_parameters.h"
#include "costmodel/step/step_operations.h"
#include "costmodel/step/step_parts.h"

namespace hexaplan::costmodel {
namespace {

PassTime pass_time(const PassCost& cost) {
  return {cost.compute(), cost.total() - cost.compute()};
}

/// Prices chunks of one scenario.
class ChunkPricer {
 public:
  ChunkPricer(const Scenario& sc, const Calibration& calibration, const std::vector<StagePlan>& stages)
      : sc_{sc},
        calibration_{calibration},
        pricer_{sc, calibration},
        parameters_{sc, stages},
        prices_{price_layers(sc, local_dims(sc), pricer_, used_classes(stages))},
        totals_{totals_of(prices_)},
        message_{message_time(sc, local_dims(sc), pricer_)},
        combiner_{sc, message_} {}

  [[nodiscard]] Seconds message() const { return message_; }
  [[nodiscard]] StageTransfers transfers(const StagePlan& part) const {
    return price_transfers(sc_, calibration_, pricer_, parameters_, part);
  }

  [[nodiscard]] ChunkPieces price(const StagePlan& chunk) const {
    LayerCost cost;
    for (std::size_t c = 0; c < kLayerClasses; ++c) {
      if (chunk.layers[c] == 0) continue;
      LayerCost layers = prices_.layers[c] * chunk.layers[c];
      layers.recomputed = layers.recomputed * chunk.recomputed_share(c);
      cost += layers;
    }
    cost += prices_.embedding * chunk.embedding;
    cost += prices_.head * chunk.head;
    ChunkPieces pieces{.forward = pass_time(cost.forward),
                       .backward_input = pass_time(cost.backward),
                       .backward_weight = {cost.weight_gradient, {}},
                       .recomputed = pass_time(cost.recomputed),
                       .head_forward = prices_.head.forward.total() * chunk.head,
                       .head_backward = prices_.head.backward.total() * chunk.head};
    pieces.backward_input.compute -= cost.weight_gradient;
    const bool offloads = offloaded_update(sc_.recipe) > 0;
    if (!gathers_layers(sc_) && !offloads) return pieces;
    const StageTransfers own = transfers(chunk);
    if (offloads) pieces.scatter_wait = StepCombiner::offload_wait(stage_totals(totals_, chunk), own);
    if (!gathers_layers(sc_)) return pieces;
    const ShardedWait wait = combiner_.sharded_wait(totals_, chunk, own);
    pieces.gather_wait = wait.forward;
    pieces.scatter_wait += wait.backward;
    return pieces;
  }

  /// The chunk's part of what its stage transfers.
  void share(const StageTransfers& stage, const StagePlan& whole, const StagePlan& chunk,
             ChunkPieces& pieces) const {
    const double all = parameters_.of(whole).trained.all();
    const double share = all > 0 ? parameters_.of(chunk).trained.all() / all : 0;
    pieces.gathering = stage.gathering * share;
    pieces.reduction = stage.reduction * share;
    pieces.buckets = std::max(1, static_cast<int>(std::lround(stage.buckets * share)));
  }

 private:
  const Scenario& sc_;
  const Calibration& calibration_;
  Pricer pricer_;
  ModelParameters parameters_;
  LayerPrices prices_;
  LayerTotals totals_;
  Seconds message_;
  StepCombiner combiner_;
};

}  // namespace

StepPieces price_pieces(const Scenario& sc, const Calibration& calibration,
                        const std::vector<StagePlan>& stages, const std::vector<StagePlan>& chunks) {
  const ChunkPricer pricer{sc, calibration, stages};
  const std::size_t per_stage = chunks.size() / stages.size();
  StepPieces pieces{.message = pricer.message()};
  pieces.chunks.reserve(chunks.size());
  pieces.stages.reserve(stages.size());
  for (std::size_t s = 0; s < stages.size(); ++s) {
    const bool as_before = s > 0 && stages[s] == stages[s - 1] &&
                           std::equal(chunks.begin() + static_cast<std::ptrdiff_t>((s - 1) * per_stage),
                                      chunks.begin() + static_cast<std::ptrdiff_t>(s * per_stage),
                                      chunks.begin() + static_cast<std::ptrdiff_t>(s * per_stage));
    if (as_before) {
      for (std::size_t c = 0; c < per_stage; ++c)
        pieces.chunks.push_back(pieces.chunks[pieces.chunks.size() - per_stage]);
      pieces.stages.push_back(pieces.stages.back());
      continue;
    }
    const StageTransfers transfers = pricer.transfers(stages[s]);
    pieces.stages.push_back({.update = transfers.update + transfers.outer_update,
                             .slices = transfers.slices + transfers.host + transfers.gradients_to_host_once,
                             .mirror = transfers.mirror,
                             .outer = transfers.outer_messages});
    for (std::size_t c = 0; c < per_stage; ++c) {
      const StagePlan& chunk = chunks[s * per_stage + c];
      pieces.chunks.push_back(pricer.price(chunk));
      pricer.share(transfers, stages[s], chunk, pieces.chunks.back());
    }
  }
  return pieces;
}

}  // namespace hexaplan::costmodel
