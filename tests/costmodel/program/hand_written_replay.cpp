#include "tests/costmodel/program/hand_written_replay.h"

#include <optional>

#include "costmodel/program/replay_memory.h"
#include "costmodel/schedule/schedule.h"
#include "costmodel/spec/chunk_order.h"
#include "costmodel/spec/stage_plan.h"

namespace hexaplan::costmodel::program {
namespace {

struct ReplayedUnit {
  UnitSizes sizes;
  int opened = 0;  // passes that still add to unsharded gradients
};
struct ReplayedLayer {
  LayerClass kind;
  bool recomputed = false;
  ReplayedUnit unit;
};
struct ReplayedChunk {
  bool first = false, last = false;
  bool next_here = false, previous_here = false;  // the neighbour is on this stage: the stream stays
  std::vector<ReplayedLayer> layers;
};

class StageReplay {
 public:
  StageReplay(const Scenario& sc, int stage)
      : sc_{sc}, dims_{local_dims(sc)}, step_{sc, dims_}, types_{state_types(sc)} {
    plan(stage);
    keep_states();
    keep_tokens();
  }

  /// `microbatches` of the step's; calls `after(trace)` behind every task.
  template <class After>
  ReplayedMemory run(int stage, int microbatches, const After& after) {
    const Schedule schedule = make_schedule(sc_.layout.schedule, sc_.layout.pp, microbatches, sc_.layout.vpp);
    for (const Task& task : schedule.stages[static_cast<std::size_t>(stage)]) {
      run(task);
      after(trace_);
    }
    trace_.enter(kOptimizer);
    trace_.enter(kIdle);
    ReplayedMemory out;
    out.peak_instant = trace_.highest();
    for (int i = 0; i < kInstants; ++i) out.at[static_cast<std::size_t>(i)] = trace_.peak(instant_at(i));
    return out;
  }

 private:
  void plan(int stage) {
    const Layout& l = sc_.layout;
    const auto counts = chunk_layers(sc_);
    for (int c = 0; c < chunks_per_stage(l); ++c) {
      int recomputed = recomputed_layers(sc_.recipe.recompute, static_cast<std::size_t>(stage));
      const auto position =
          static_cast<std::size_t>(chunk_position(l.schedule, l.pp, {.stage = stage, .chunk = c}));
      ReplayedChunk chunk{.first = position == 0, .last = position + 1 == counts.size(), .layers = {}};
      const auto here = [&](const std::optional<StageChunk>& other) {
        return other && other->stage == stage;
      };
      const StageChunk at{.stage = stage, .chunk = c};
      chunk.next_here = here(next_chunk(l.schedule, l.pp, chunks_per_stage(l), at));
      chunk.previous_here = here(previous_chunk(l.schedule, l.pp, at));
      std::int64_t layer = 0;
      for (std::size_t i = 0; i < position; ++i) layer += counts[i];
      for (int i = 0; i < counts[position]; ++i, ++layer) {
        const LayerClass kind = class_of_layer(sc_.model, layer);
        chunk.layers.push_back({kind, recomputed-- > 0, {layer_unit(sc_, kind)}});
      }
      if (chunk.first) embedding_ = {end_unit(sc_, UnitRole::Embedding)};
      if (chunk.last) head_ = {end_unit(sc_, UnitRole::Head)};
      if (chunk.last && copies_embedding(sc_)) tied_copy_ = {end_unit(sc_, UnitRole::TiedCopy)};
      chunks_.push_back(std::move(chunk));
    }
  }

  void keep_states() {
    const auto keep = [&](TensorKind kind, DType dtype, double elements) {
      trace_.take(kind, elements * bytes_per_element(dtype));
    };
    const auto keep_unit = [&](const ReplayedUnit& unit) {
      for (const FlatSizes& f : unit.sizes.flats) {
        keep(TensorKind::Parameter, types_.parameter, f.stage >= 3 ? f.shard() : f.padded());
        keep(TensorKind::Gradient, types_.gradient, f.stage >= 2 ? f.shard() : f.padded());
        if (types_.master) keep(TensorKind::OptimizerState, DType::Fp32, f.shard());
        keep(TensorKind::OptimizerState, types_.moment, 2 * f.shard());
      }
    };
    for (const ReplayedChunk& chunk : chunks_) {
      for (const ReplayedLayer& layer : chunk.layers) keep_unit(layer.unit);
    }
    for (const ReplayedUnit* end : {&embedding_, &head_, &tied_copy_}) keep_unit(*end);
  }

  void keep_tokens() {
    const double tokens = static_cast<double>(dims_.tokens) * bytes_per_element(DType::Int32);
    const auto microbatches = static_cast<double>(microbatches_per_step(sc_));
    const double ends = (embedding_.sizes.flats.empty() ? 0 : 1) + (head_.sizes.flats.empty() ? 0 : 1);
    constexpr double kScalars = 5 * 4;  // two losses of the rank; squares and both losses of all ranks, fp32
    trace_.take(TensorKind::Transient, tokens * (1 + ends * microbatches) + kScalars);
  }

  void run(const Task& task) {
    ReplayedChunk& chunk = chunks_[static_cast<std::size_t>(task.chunk)];
    switch (task.pass) {
      case TaskPass::Forward:
        return forward(chunk);
      case TaskPass::Backward:
        return backward(chunk, false);
      case TaskPass::BackwardInput:
        return backward(chunk, true);
      case TaskPass::BackwardWeight:
        return weight_gradients(chunk);
    }
  }

  void forward(ReplayedChunk& chunk) {
    trace_.enter(kForward);
    if (chunk.first) {
      gather(embedding_);
      step_.embedding_forward(trace_);
      release(embedding_);
    } else if (!chunk.previous_here) {
      trace_.take(TensorKind::Transient, step_.stream());
    }
    for (ReplayedLayer& layer : chunk.layers) {
      gather(layer.unit);
      step_.layer_forward(layer.kind, layer.recomputed, trace_);
      release(layer.unit);
    }
    if (chunk.last) return head();
    if (!chunk.next_here) trace_.give(TensorKind::Transient, step_.stream());
  }

  void head() {
    std::vector<ReplayedUnit*> used{&head_};
    if (copies_embedding(sc_)) used.push_back(&tied_copy_);
    if (shares_embedding(sc_)) used.push_back(&embedding_);
    for (ReplayedUnit* unit : used) {
      gather(*unit);
      open(*unit);
    }
    step_.head(trace_);
    for (ReplayedUnit* unit : used) {
      release(*unit);
      close(*unit);
    }
  }

  void backward(ReplayedChunk& chunk, bool split) {
    trace_.enter(kBackward);
    if (chunk.last) {
      trace_.move(TensorKind::Activation, TensorKind::Transient, step_.stream());
    } else if (!chunk.next_here) {
      trace_.take(TensorKind::Transient, step_.stream());
    }
    for (auto layer = chunk.layers.rbegin(); layer != chunk.layers.rend(); ++layer) {
      gather(layer->unit);
      open(layer->unit);
      step_.layer_backward(layer->kind, layer->recomputed, split, trace_);
      release(layer->unit);
      if (!split) close(layer->unit);
    }
    if (chunk.first) {
      const bool reads = embedding_backward_reads_parameters(sc_);
      if (reads) gather(embedding_);
      open(embedding_);
      step_.embedding_backward(trace_);
      if (reads) release(embedding_);
      close(embedding_);
    }
    if (!chunk.previous_here) trace_.give(TensorKind::Transient, step_.stream());
  }

  void weight_gradients(ReplayedChunk& chunk) {
    trace_.enter(kBackward);
    for (auto layer = chunk.layers.rbegin(); layer != chunk.layers.rend(); ++layer)
      step_.layer_weight_gradients(layer->kind, layer->recomputed, trace_);
    for (auto layer = chunk.layers.rbegin(); layer != chunk.layers.rend(); ++layer) close(layer->unit);
  }

  /// ZeRO-3: the whole parameters for one pass. [docs/formulas.md#C9]
  void gather(const ReplayedUnit& unit) { trace_.take(TensorKind::Transient, gathered(unit)); }
  void release(const ReplayedUnit& unit) { trace_.give(TensorKind::Transient, gathered(unit)); }
  [[nodiscard]] double gathered(const ReplayedUnit& unit) const {
    double bytes = 0;
    for (const FlatSizes& f : unit.sizes.flats)
      bytes += f.stage >= 3 ? f.padded() * bytes_per_element(types_.parameter) : 0;
    return bytes;
  }
  /// From ZeRO-2 on: gradients before they are cut, as long as some pass adds to them.
  void open(ReplayedUnit& unit) {
    if (unit.opened++ == 0) trace_.take(TensorKind::Transient, unsharded(unit));
  }
  void close(ReplayedUnit& unit) {
    if (--unit.opened == 0) trace_.give(TensorKind::Transient, unsharded(unit));
  }
  [[nodiscard]] double unsharded(const ReplayedUnit& unit) const {
    double bytes = 0;
    for (const FlatSizes& f : unit.sizes.flats)
      bytes += f.stage >= 2 ? f.padded() * bytes_per_element(types_.gradient) : 0;
    return bytes;
  }

  const Scenario& sc_;
  LocalDims dims_;
  ExplicitStep step_;
  StateTypes types_;
  std::vector<ReplayedChunk> chunks_;
  ReplayedUnit embedding_, head_, tied_copy_;
  AllocationTrace trace_;
};

}  // namespace

ReplayedMemory hand_written_replay(const Scenario& scenario, int stage) {
  const auto microbatches = static_cast<int>(microbatches_per_step(scenario));
  return StageReplay{scenario, stage}.run(stage, microbatches, [](const AllocationTrace&) {});
}

std::vector<TaskMemory> hand_written_tasks(const Scenario& scenario, int stage) {
  std::vector<TaskMemory> tasks;
  const auto microbatches = static_cast<int>(microbatches_per_step(scenario));
  (void)StageReplay{scenario, stage}.run(stage, microbatches, [&](AllocationTrace& trace) {
    TaskMemory task;
    for (int i = 0; i < kInstants; ++i) task.at[static_cast<std::size_t>(i)] = trace.peak(instant_at(i));
    task.after = trace.live();
    tasks.push_back(task);
    trace.forget_peaks();
  });
  return tasks;
}

}  // namespace hexaplan::costmodel::program
