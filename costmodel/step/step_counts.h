#pragma once
#include <string_view>
#include <vector>

#include "costmodel/compute/operation.h"
#include "costmodel/spec/scenario.h"

namespace hexaplan::costmodel {

/// Collectives of one name, pass, kind and group in one step on one rank. Payloads as Operation has them.
struct CollectiveCount {
  std::string_view operation;
  Pass pass = Pass::Forward;
  CollectiveKind kind = CollectiveKind::AllReduce;
  Group group = Group::World;
  double messages = 0;
  Bytes bytes;
};
/// FLOPs of one name and pass; a recomputed forward counts as forward once more.
struct FlopCount {
  std::string_view operation;
  Pass pass = Pass::Forward;
  Flops flops;
};

/// Copies of one name and pass between a rank's device and its host, or the host's disks.
struct CopyCount {
  std::string_view operation;
  Pass pass = Pass::Forward;
  double copies = 0;
  Bytes bytes;
};

/// What one rank of a stage sends and computes in one optimizer step: its layers' operations for every
/// micro-batch, those of embedding and head, of the pipeline and of the parameters. Copies: those of the
/// executor, of every tensor that is offloaded; nothing under other profiles.
struct StepCounts {
  std::vector<CollectiveCount> collectives;
  std::vector<FlopCount> flops;
  std::vector<CopyCount> copies;
};
[[nodiscard]] StepCounts count_step(const Scenario& scenario, int stage);

/// Messages between stages on one rank of `stage` in one step.  [docs/formulas.md#S4]
[[nodiscard]] std::vector<Operation> pipeline_operations(const Scenario& scenario, int stage);

}  // namespace hexaplan::costmodel
