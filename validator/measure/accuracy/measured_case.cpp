#include "validator/measure/accuracy/measured_case.h"

namespace hexaplan::validator {

using costmodel::Bytes;
using costmodel::Estimate;
using costmodel::StageMemory;

namespace {

Bytes figure(const StageMemory& stage, MemoryKind kind) {
  switch (kind) {
    case MemoryKind::Allocated:
      return stage.allocated;
    case MemoryKind::Reserved:
      return stage.reserved;
    case MemoryKind::Device:
      return stage.device;
  }
  return {};
}

}  // namespace

Bytes predicted_memory(const Estimate& estimate, MemoryKind kind, MemoryScope scope) {
  if (estimate.stages.empty()) return {};
  if (scope == MemoryScope::FirstStage) return figure(estimate.stages.front(), kind);
  if (scope == MemoryScope::LastStage) return figure(estimate.stages.back(), kind);
  if (scope == MemoryScope::FirstStageUpdate) return estimate.stages.front().update;
  Bytes worst;
  for (const StageMemory& stage : estimate.stages) worst = costmodel::larger(worst, figure(stage, kind));
  return worst;
}

bool predicts_out_of_memory(const Estimate& estimate) {
  return predicted_memory(estimate, MemoryKind::Device, MemoryScope::WorstRank) > estimate.capacity;
}

}  // namespace hexaplan::validator
