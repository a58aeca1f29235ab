#include "costmodel/step/step_counts.h"

#include <algorithm>

#include "costmodel/compute/operations.h"
#include "costmodel/memory/flat_units.h"
#include "costmodel/program/fold.h"
#include "costmodel/program/sizes.h"
#include "costmodel/program/variants.h"
#include "costmodel/program/working_sets.h"
#include "costmodel/schedule/schedule.h"
#include "costmodel/spec/chunk_order.h"
#include "costmodel/spec/local_dims.h"
#include "costmodel/spec/stage_plan.h"
#include "costmodel/step/estimate.h"
#include "costmodel/step/step_parts.h"
#include "costmodel/units/mutation.h"

namespace hexaplan::costmodel {
namespace {

class Counter {
 public:
  /// Each operation `times` times, and those that are recomputed `recomputing` times more.
  void add(const std::vector<Operation>& operations, double times, double recomputing) {
    for (const Operation& op : operations) {
      const double again = op.recomputed && !mutant("recomputed-layers-run-once") ? recomputing : 0;
      const double runs = only_recomputes(op) ? recomputing : times + again;
      if (op.kind == OpKind::Collective) {
        collective(op, runs);
      } else if (op.flops.value() > 0) {
        flops(op, runs);
      }
    }
  }
  /// Copies among the operations.
  void add_copies(const std::vector<Operation>& operations) {
    for (const Operation& op : operations) {
      if (op.kind == OpKind::Copy) copy(op.name, op.pass, op.count, op.payload);
    }
  }
  void copy(std::string_view name, Pass pass, double times, Bytes payload) {
    auto& rows = counts_.copies;
    auto row = std::find_if(rows.begin(), rows.end(),
                            [&](const CopyCount& c) { return c.operation == name && c.pass == pass; });
    if (row == rows.end()) row = rows.insert(row, {.operation = name, .pass = pass});
    row->copies += times;
    row->bytes += payload * times;
  }
  StepCounts take() { return std::move(counts_); }

 private:
  void collective(const Operation& op, double runs) {
    auto& rows = counts_.collectives;
    auto row = std::find_if(rows.begin(), rows.end(), [&](const CollectiveCount& c) {
      return c.operation == op.name && c.pass == op.pass && c.kind == op.collective && c.group == op.group;
    });
    if (row == rows.end())
      row =
          rows.insert(row, {.operation = op.name, .pass = op.pass, .kind = op.collective, .group = op.group});
    row->messages += op.count * runs;
    row->bytes += op.payload * (op.count * runs);
  }

  void flops(const Operation& op, double runs) {
    auto& rows = counts_.flops;
    auto row = std::find_if(rows.begin(), rows.end(),
                            [&](const FlopCount& f) { return f.operation == op.name && f.pass == op.pass; });
    if (row == rows.end()) row = rows.insert(row, {.operation = op.name, .pass = op.pass, .flops = {}});
    row->flops += op.flops * runs;
  }

  StepCounts counts_;
};

/// Calls `visit(class, chunk)` for the stage's layers in its order, chunk by chunk; modules of multi-token
/// prediction are none of them.
template <class Visitor>
void for_each_layer(const Scenario& sc, int stage, const Visitor& visit) {
  const Layout& l = sc.layout;
  const auto counts = chunk_layers(sc);
  for (int c = 0; c < chunks_per_stage(l); ++c) {
    const auto position =
        static_cast<std::size_t>(chunk_position(l.schedule, l.pp, {.stage = stage, .chunk = c}));
    std::int64_t layer = 0;
    for (std::size_t i = 0; i < position; ++i) layer += counts[i];
    for (int i = 0; i < counts[position]; ++i)
      visit(class_of_layer(sc.model, layer + i), static_cast<std::size_t>(c));
  }
}

/// The executor copies what an offloaded layer keeps tensor by tensor, in every micro-batch, to the host and
/// back.
void count_activation_copies(const Scenario& sc, int stage, const std::vector<CrossedChunk>& chunks,
                             Counter& counter) {
  std::int64_t offloaded = first_offloaded_layers(sc.recipe);
  if (offloaded == 0) return;
  std::vector<int> recomputed;
  recomputed.reserve(chunks.size());
  for (const CrossedChunk& chunk : chunks) recomputed.push_back(chunk.plan.total_recomputed());
  const program::Sizes sizes = program::sizes_of(sc, local_dims(sc));
  for_each_layer(sc, stage, [&](LayerClass kind, std::size_t chunk) {
    const bool again = recomputed[chunk]-- > 0;
    if (offloaded-- <= 0) return;
    const program::Variant& layer =
        program::variant_of(sc, program::Part::Layer, kind, program::techniques_of(sc, again));
    for (const program::KeptValue& value : layer.footprint.kept(sizes)) {
      if (value.bytes <= Bytes{}) continue;
      const Bytes bytes = again && program::cuts_checkpoints(sc) ? value.bytes / sc.layout.tp : value.bytes;
      counter.copy("activation.to_host", Pass::Forward, chunks[chunk].microbatches, bytes);
      counter.copy("activation.to_device", Pass::BackwardData, chunks[chunk].microbatches, bytes);
    }
  });
}

}  // namespace

std::vector<Operation> pipeline_operations(const Scenario& sc, int stage) {
  std::vector<Operation> out;
  const Layout& l = sc.layout;
  const Bytes bytes = stage_message_bytes(sc, local_dims(sc));
  const auto microbatches = static_cast<int>(microbatches_per_step(sc));
  const int chunks = chunks_per_stage(l);
  for (int c = 0; c < chunks; ++c) {
    const StageChunk here{.stage = stage, .chunk = c};
    const MicrobatchRange range = microbatches_of_chunk(l.schedule, microbatches, c);
    const auto send = [&](const std::optional<StageChunk>& to, Pass pass) {
      if (!to || to->stage == stage) return;
      out.push_back({.name = "pipeline.send",
                     .kind = OpKind::Collective,
                     .pass = pass,
                     .count = static_cast<double>(range.end - range.first +
                                                  (mutant("one-more-message-between-stages") ? 1 : 0)),
                     .collective = CollectiveKind::SendRecv,
                     .group = Group::Pipeline,
                     .payload = bytes,
                     .formula = "S4"});
    };
    send(next_chunk(l.schedule, l.pp, chunks, here), Pass::Forward);
    send(previous_chunk(l.schedule, l.pp, here), Pass::BackwardData);
  }
  return out;
}

StepCounts count_step(const Scenario& sc, int stage) {
  const std::vector<CrossedChunk> chunks = crossed_chunks(sc, stage);
  Counter counter;
  for (std::size_t c = 0; c < kLayerClasses; ++c) {
    double runs = 0, recomputing = 0;
    for (const CrossedChunk& chunk : chunks) {
      runs += chunk.plan.layers[c] * chunk.microbatches;
      recomputing += chunk.plan.recomputing[c] * chunk.microbatches;
    }
    if (runs > 0)
      counter.add(layer_operations(sc, layer_class_at(sc.model, static_cast<int>(c))), runs, recomputing);
  }
  double embeddings = 0, heads = 0;
  for (const CrossedChunk& chunk : chunks) {
    embeddings += chunk.plan.embedding * chunk.microbatches;
    heads += chunk.plan.head * chunk.microbatches;
  }
  if (embeddings > 0) counter.add(embedding_operations(sc), embeddings, 0);
  if (heads > 0) counter.add(head_operations(sc), heads, 0);
  counter.add(pipeline_operations(sc, stage), 1, 0);
  const std::vector<Operation> step = step_operations(sc, stage);
  counter.add(step, 1, 0);
  if (sc.framework.replays_parameters) {
    counter.add_copies(step);
    count_activation_copies(sc, stage, chunks, counter);
  }
  return counter.take();
}

}  // namespace hexaplan::costmodel
