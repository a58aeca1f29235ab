#include "costmodel/simulate/stage_operations.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "costmodel/compute/operations.h"
#include "costmodel/memory/layer_ledger.h"
#include "costmodel/spec/local_dims.h"
#include "costmodel/step/estimate.h"
#include "costmodel/step/layer_cost.h"
#include "costmodel/step/offload_operations.h"
#include "costmodel/step/stage_parameters.h"
#include "costmodel/step/step_operations.h"
#include "costmodel/step/step_parts.h"

namespace hexaplan::costmodel {
namespace {

/// Pieces of one operation that runs several times in a row are placed one by one up to so many.
constexpr double kMostPieces = 4096;

/// An operation in the order of a pass.
struct Planned {
  std::int32_t operation;
  Seconds time;         // of all pieces
  int pieces = 1;       // ring steps, buckets
  bool beside = false;  // of a layer that is gathered or reduced whole: nothing waits for it here
};
using Sequence = std::vector<Planned>;

/// A layer, the embedding or the head.
struct UnitSequences {
  Sequence forward, recomputed, backward_input, backward_weight;
};

int pieces_of(double count) {
  return static_cast<int>(std::clamp(std::round(count), 1.0, kMostPieces));
}

/// The operations of one scenario, each with its price.
class OperationTable {
 public:
  OperationTable(const Scenario& sc, const Calibration& calibration) : pricer_{sc, calibration} {}

  Planned plan(const Operation& op, double share = 1) {
    const auto index = static_cast<std::int32_t>(operations_.size());
    operations_.push_back(op);
    return {.operation = index, .time = pricer_.time_of(op) * share, .pieces = pieces_of(op.count)};
  }
  [[nodiscard]] const Operation& at(const Planned& planned) const {
    return operations_[static_cast<std::size_t>(planned.operation)];
  }
  std::vector<Operation> take() { return std::move(operations_); }

 private:
  Pricer pricer_;
  std::vector<Operation> operations_;
};

/// Sequences of the units of a model, made when they are asked for.
class UnitPlanner {
 public:
  UnitPlanner(const Scenario& sc, OperationTable& table, const std::vector<StagePlan>& stages)
      : sc_{sc}, dims_{local_dims(sc)}, table_{table}, parameters_{sc, stages} {}

  const UnitSequences& layer(std::size_t index) {
    std::optional<UnitSequences>& layer = layers_[index];
    if (layer) return *layer;
    std::vector<Operation> operations;
    const LayerClass kind = layer_class_at(sc_.model, static_cast<int>(index));
    append_layer_operations(sc_, dims_, kind, operations);
    append_activation_copies(sc_, dims_, kind, operations);
    layer = sequences_of(operations, 1);
    add_sharding(ShardedUnit::Layer, parameters_.layer(index), 1, *layer);
    return *layer;
  }
  const UnitSequences& embedding(double share) {
    if (!embedding_) {
      embedding_ = sequences_of(embedding_operations(sc_), share);
      add_sharding(ShardedUnit::End, parameters_.embedding(), share, *embedding_);
    }
    return *embedding_;
  }
  const UnitSequences& head(double share) {
    if (!head_) {
      head_ = sequences_of(head_operations(sc_), share);
      add_sharding(ShardedUnit::Head, parameters_.head_unit(), share, *head_);
    }
    return *head_;
  }

 private:
  UnitSequences sequences_of(const std::vector<Operation>& operations, double share) {
    UnitSequences unit;
    for (const Operation& op : operations) {
      const Planned planned = table_.plan(op, share);
      if (only_recomputes(op)) {
        unit.recomputed.push_back(planned);
        continue;
      }
      if (op.recomputed) unit.recomputed.push_back(planned);
      const bool weights = op.pass == Pass::BackwardWeight && op.kind != OpKind::Collective;
      (op.pass == Pass::Forward ? unit.forward
       : weights                ? unit.backward_weight
                                : unit.backward_input)
          .push_back(planned);
    }
    return unit;
  }

  /// ZeRO-3 and FSDP: gathered before it runs, reduced behind its backward. Copies in and out of the buffers
  /// lie in what a pass waits for, and are left out here.
  void add_sharding(ShardedUnit which, const StageParameters& parameters, double share, UnitSequences& unit) {
    if (!gathers_layers(sc_)) return;
    std::vector<Operation> operations;
    append_layer_sharding(sc_, which, MicrobatchOf::Last, parameters * share, operations);
    Sequence gather, gather_again;
    for (const Operation& op : operations) {
      if (op.kind != OpKind::Collective && op.kind != OpKind::Copy) continue;
      Planned planned = table_.plan(op);
      planned.beside = true;
      (op.pass == Pass::Forward        ? gather
       : op.pass == Pass::BackwardData ? gather_again
                                       : unit.backward_weight)
          .push_back(planned);
    }
    unit.forward.insert(unit.forward.begin(), gather.begin(), gather.end());
    unit.backward_input.insert(unit.backward_input.begin(), gather_again.begin(), gather_again.end());
  }

  const Scenario& sc_;
  LocalDims dims_;
  OperationTable& table_;
  ModelParameters parameters_;
  std::array<std::optional<UnitSequences>, kLayerClasses> layers_;
  std::optional<UnitSequences> embedding_, head_;
};

void append(Sequence& to, const Sequence& more) {
  to.insert(to.end(), more.begin(), more.end());
}

bool is_backward(SpanKind kind) {
  return kind == SpanKind::Backward || kind == SpanKind::BackwardInput || kind == SpanKind::BackwardWeight;
}

/// What a chunk of a stage runs, pass by pass.
class ChunkSequences {
 public:
  ChunkSequences(UnitPlanner& units, const StagePlan& chunk) : units_{units}, chunk_{chunk} {}

  const Sequence& of(SpanKind kind) {
    const auto [found, added] = made_.try_emplace(kind);
    if (added) found->second = kind == SpanKind::Forward ? forward() : backward(kind);
    return found->second;
  }

 private:
  Sequence forward() {
    Sequence all;
    if (chunk_.embedding > 0) append(all, units_.embedding(chunk_.embedding).forward);
    for (std::size_t c = 0; c < kLayerClasses; ++c) {
      for (int i = 0; i < chunk_.layers[c]; ++i) append(all, units_.layer(c).forward);
    }
    if (chunk_.head > 0) append(all, units_.head(chunk_.head).forward);
    return all;
  }

  /// The last layer first; the first ones are those that are recomputed.
  Sequence backward(SpanKind kind) {
    Sequence all;
    const auto unit = [&](const UnitSequences& sequences, bool again) {
      if (again && kind != SpanKind::BackwardWeight) append(all, sequences.recomputed);
      if (kind != SpanKind::BackwardWeight) append(all, sequences.backward_input);
      if (kind != SpanKind::BackwardInput) append(all, sequences.backward_weight);
    };
    if (chunk_.head > 0) unit(units_.head(chunk_.head), true);
    for (std::size_t c = kLayerClasses; c-- > 0;) {
      for (int i = chunk_.layers[c]; i-- > 0;) unit(units_.layer(c), i < chunk_.recomputing[c]);
    }
    if (chunk_.embedding > 0) unit(units_.embedding(chunk_.embedding), true);
    return all;
  }

  UnitPlanner& units_;
  StagePlan chunk_;
  std::map<SpanKind, Sequence> made_;
};

/// One pass of one micro-batch as it was drawn.
struct DrawnPass {
  Seconds begin, end;
  Seconds exposed;  // of its collectives
  SpanKind kind = SpanKind::Forward;
  std::int32_t microbatch = -1;
  int chunk = 0;
};

/// Recomputation, pass and the collectives behind them, as one.
std::vector<DrawnPass> passes_of(const StageTimeline& stage) {
  const auto& compute = stage.streams[static_cast<std::size_t>(Stream::Compute)];
  const auto& collectives = stage.streams[static_cast<std::size_t>(Stream::Collectives)];
  std::vector<DrawnPass> passes;
  std::size_t next = 0;
  Seconds recomputed_begin{-1};
  for (const Span& span : compute) {
    if (span.kind == SpanKind::Recompute) {
      recomputed_begin = span.begin;
      continue;
    }
    if (span.kind != SpanKind::Forward && !is_backward(span.kind)) continue;
    DrawnPass pass{.begin = recomputed_begin >= Seconds{} ? recomputed_begin : span.begin,
                   .end = span.end,
                   .exposed = {},
                   .kind = span.kind,
                   .microbatch = span.microbatch,
                   .chunk = std::max<int>(0, span.chunk)};
    recomputed_begin = Seconds{-1};
    while (next < collectives.size() && collectives[next].begin < span.end) ++next;
    if (next < collectives.size() && collectives[next].begin == span.end) {
      pass.exposed = collectives[next].end - collectives[next].begin;
      pass.end = collectives[next].end;
    }
    passes.push_back(pass);
  }
  return passes;
}

/// Puts sequences onto the streams.
class StagePlacer {
 public:
  explicit StagePlacer(OperationTable& table) : table_{table} {}

  void place(const Sequence& sequence, const DrawnPass& pass) {
    Seconds computes, waited;
    for (const Planned& planned : sequence) {
      if (planned.beside) continue;
      (is_kernel(planned) ? computes : waited) += planned.time;
    }
    const double share = waited > Seconds{} ? std::min(1.0, pass.exposed / waited) : 0;
    const Seconds total = computes + waited * share, drawn = pass.end - pass.begin;
    const double stretch = total > Seconds{} ? drawn / total : 1;
    Seconds at = pass.begin;
    for (const Planned& planned : sequence) {
      const Seconds time = planned.time * std::min(1.0, stretch);
      if (is_kernel(planned)) {
        run(out_.computes, planned, at, time, pass.microbatch);
        at += planned.time * stretch;
      } else {
        send(planned, at, time, pass.microbatch);
        if (!planned.beside) at += planned.time * (share * stretch);
      }
    }
  }

  /// `planned` one after the other, filling what was drawn.
  void fill(const Sequence& sequence, Seconds begin, Seconds end, std::int32_t microbatch) {
    Seconds total;
    for (const Planned& planned : sequence) total += planned.time;
    Seconds at = begin;
    for (const Planned& planned : sequence) {
      const Seconds time = planned.time * (total > Seconds{} ? (end - begin) / total : 0);
      run(stream_of(planned), planned, at, time, microbatch);
      at += time;
    }
  }

  [[nodiscard]] bool too_many() const {
    return out_.computes.size() + out_.messages.size() + out_.copies.size() > kMostPlacedOperations;
  }

  StageOperations take() {
    for (auto* placed : {&out_.computes, &out_.messages, &out_.copies})
      std::stable_sort(placed->begin(), placed->end(),
                       [](const PlacedOperation& a, const PlacedOperation& b) { return a.begin < b.begin; });
    out_.operations = table_.take();
    return std::move(out_);
  }

 private:
  [[nodiscard]] bool is_kernel(const Planned& planned) const {
    const OpKind kind = table_.at(planned).kind;
    return kind != OpKind::Collective && kind != OpKind::Copy;
  }
  [[nodiscard]] std::vector<PlacedOperation>& stream_of(const Planned& planned) {
    if (is_kernel(planned)) return out_.computes;
    return table_.at(planned).kind == OpKind::Copy ? out_.copies : out_.messages;
  }

  static void run(std::vector<PlacedOperation>& onto, const Planned& planned, Seconds at, Seconds time,
                  std::int32_t microbatch) {
    if (time <= Seconds{}) return;
    const Seconds each = time / planned.pieces;
    for (int i = 0; i < planned.pieces; ++i)
      onto.push_back({at + each * i, at + each * (i + 1), planned.operation, microbatch});
  }

  /// Not before what lies on its stream is done.
  void send(const Planned& planned, Seconds at, Seconds time, std::int32_t microbatch) {
    auto& stream = stream_of(planned);
    const Seconds begin = stream.empty() ? at : larger(at, stream.back().end);
    run(stream, planned, begin, time, microbatch);
  }

  OperationTable& table_;
  StageOperations out_;
};

/// What a data stream's spans of one kind are made of: transfers of the step's operations.
struct DataTransfers {
  Sequence reductions, gathers, outer, update;
};

DataTransfers data_transfers(const Scenario& sc, int stage, OperationTable& table) {
  DataTransfers transfers;
  for (const Operation& op : step_operations(sc, stage)) {
    const bool outer = op.name.starts_with("outer");
    if ((op.name.starts_with("optimizer") || outer) && op.kind != OpKind::Collective)
      transfers.update.push_back(table.plan(op));
    if (outer && op.kind == OpKind::Collective) transfers.outer.push_back(table.plan(op));
    if (op.kind != OpKind::Collective || gathers_layers(sc)) continue;
    if (op.name.starts_with("gradient")) transfers.reductions.push_back(table.plan(op));
    if (op.name.starts_with("parameter")) transfers.gathers.push_back(table.plan(op));
  }
  return transfers;
}

/// A part of a transfer, as large as the span is of all spans of its kind.
Sequence part_of(const Sequence& whole, double share) {
  Sequence part = whole;
  for (Planned& planned : part) {
    planned.time = planned.time * share;
    planned.pieces = pieces_of(planned.pieces * share);
  }
  return part;
}

void place_data(const StageTimeline& stage, const DataTransfers& transfers, StagePlacer& placer) {
  const auto& spans = stage.streams[static_cast<std::size_t>(Stream::Data)];
  const std::array kinds{std::pair{SpanKind::GradientReduce, &transfers.reductions},
                         std::pair{SpanKind::ParameterGather, &transfers.gathers},
                         std::pair{SpanKind::OuterReduce, &transfers.outer}};
  for (const auto& [kind, all] : kinds) {
    Seconds total;
    for (const Span& span : spans) total += span.kind == kind ? span.end - span.begin : Seconds{};
    for (const Span& span : spans) {
      if (span.kind == kind && total > Seconds{})
        placer.fill(part_of(*all, (span.end - span.begin) / total), span.begin, span.end, -1);
    }
  }
  for (const Span& span : stage.streams[static_cast<std::size_t>(Stream::Compute)]) {
    if (span.kind == SpanKind::Optimizer) placer.fill(transfers.update, span.begin, span.end, -1);
  }
}

/// Activations and gradients on their way between stages.
void place_messages(const Scenario& sc, const StageTimeline& stage, OperationTable& table,
                    StagePlacer& placer) {
  const auto& spans = stage.streams[static_cast<std::size_t>(Stream::Messages)];
  if (spans.empty()) return;
  const Bytes whole = stage_message_bytes(sc, local_dims(sc));
  const Planned message = table.plan({.name = "pipeline.message",
                                      .kind = OpKind::Collective,
                                      .collective = CollectiveKind::SendRecv,
                                      .group = Group::Pipeline,
                                      .payload = sends_slices(sc) ? whole / sc.layout.tp : whole,
                                      .formula = "C5"});
  for (const Span& span : spans) placer.fill({message}, span.begin, span.end, span.microbatch);
}

}  // namespace

std::optional<StageOperations> place_operations(const Scenario& sc, const Calibration& calibration,
                                                const Simulation& simulation, int stage) {
  const std::vector<StagePlan> stages = plan_stages(sc), chunks = plan_chunks(sc);
  const auto index = static_cast<std::size_t>(stage);
  const std::size_t per_stage = chunks.size() / stages.size();
  OperationTable table{sc, calibration};
  UnitPlanner units{sc, table, stages};
  std::vector<ChunkSequences> sequences;
  for (std::size_t c = 0; c < per_stage; ++c) sequences.emplace_back(units, chunks[index * per_stage + c]);
  StagePlacer placer{table};
  const StageTimeline& timeline = simulation.stages[index];
  for (const DrawnPass& pass : passes_of(timeline)) {
    placer.place(sequences[static_cast<std::size_t>(pass.chunk)].of(pass.kind), pass);
    if (placer.too_many()) return std::nullopt;
  }
  place_data(timeline, data_transfers(sc, stage, table), placer);
  place_messages(sc, timeline, table, placer);
  if (placer.too_many()) return std::nullopt;
  return placer.take();
}

}  // namespace hexaplan::costmodel
