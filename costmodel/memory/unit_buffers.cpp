#include "costmodel/memory/unit_buffers.h"

#include <algorithm>

#include "costmodel/memory/flat_units.h"
#include "costmodel/memory/layer_ledger.h"
#include "costmodel/memory/ledger_rows.h"

namespace hexaplan::costmodel {
namespace {

constexpr double kInt32 = 4;

double gathered_bytes(const Scenario& sc, const UnitSizes& unit) {
  double bytes = 0;
  for (const FlatSizes& f : unit.flats) bytes += f.stage >= 3 ? parameter_bytes(sc, f, f.padded()) : 0;
  return bytes;
}

double unsharded_bytes(const Scenario& sc, const UnitSizes& unit) {
  double bytes = 0;
  for (const FlatSizes& f : unit.flats)
    bytes += f.stage >= 2 && f.trained ? f.padded() * bytes_per_element(state_types(sc).gradient) : 0;
  return bytes;
}

}  // namespace

void append_step_targets(const Scenario& sc, const LocalDims& dims, TensorLedger& out) {
  LedgerRows{out, -1}.bytes("batch.targets", TensorKind::Transient,
                            static_cast<double>(dims.tokens * microbatches_per_step(sc)) * kInt32, kAlways);
}

void append_step_ids(const Scenario& sc, const LocalDims& dims, TensorLedger& out) {
  LedgerRows{out, -1}.bytes("batch.ids", TensorKind::Transient,
                            static_cast<double>(dims.tokens * microbatches_per_step(sc)) * kInt32, kAlways);
}

void append_step_numbers(const LocalDims& dims, TensorLedger& out) {
  LedgerRows append{out, -1};
  append.bytes("batch.positions", TensorKind::Transient, static_cast<double>(dims.tokens) * kInt32, kAlways);
  append.bytes("step.sums", TensorKind::Transient, kStepSumBytes, kAlways);
}

void append_unit_buffers(const Scenario& sc, const StagePlan& stage, TensorLedger& out) {
  double gathered = 0, unsharded = 0, update = 0;
  for (std::size_t c = 0; c < kLayerClasses; ++c) {
    if (stage.layers[c] == 0) continue;
    const UnitSizes unit = layer_unit(sc, layer_class_at(sc.model, static_cast<int>(c)));
    gathered = std::max(gathered, gathered_bytes(sc, unit));
    unsharded = std::max(unsharded, unsharded_bytes(sc, unit));
    update = std::max(update, update_buffer_bytes(sc, unit));
  }
  if (stage.embedding > 0)
    update = std::max(update, update_buffer_bytes(sc, end_unit(sc, UnitRole::Embedding)));
  LedgerRows append{out, -1};
  append.bytes("parameter.gathered", TensorKind::Transient, gathered, kForward | kBackward);
  append.bytes("gradient.unsharded", TensorKind::Transient, unsharded, kBackward);
  std::vector<UnitSizes> ends;
  if (stage.head > 0) {
    for (const UnitRole role : last_stage_units(sc)) ends.push_back(end_unit(sc, role));
  }
  for (const UnitSizes& unit : ends) update = std::max(update, update_buffer_bytes(sc, unit));
  append.bytes("optimizer.directions", TensorKind::Transient, update, kOptimizer);
  if (stage.head <= 0) return;
  if (shares_embedding(sc)) ends.push_back(end_unit(sc, UnitRole::Embedding));
  for (const UnitSizes& unit : ends) {
    append.bytes("parameter.gathered", TensorKind::Transient, gathered_bytes(sc, unit),
                 kLoss | kHeadBackward);
    append.bytes("gradient.unsharded", TensorKind::Transient, unsharded_bytes(sc, unit),
                 kLoss | kHeadBackward);
  }
}

}  // namespace hexaplan::costmodel
