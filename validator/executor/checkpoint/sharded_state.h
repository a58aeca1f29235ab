#pragma once
#include <string>

#include "costmodel/spec/model_spec.h"
#include "validator/executor/checkpoint/checkpoint_file.h"
#include "validator/executor/step/run_steps.h"

namespace hexaplan::validator {

/// Saves the training state (master parameters, states of the optimizer, the step) as a new checkpoint in
/// `root`; every rank writes what it owns, every element once. Collective over the world. Throws
/// CheckpointError.
void save_checkpoint(const std::string& root, const RankView& rank);

/// Fills in what this rank owns, under any layout of the same model. Call on every rank, before the first
/// step. Throws CheckpointError when the checkpoint is of another model.
void load_checkpoint(const CheckpointReader& checkpoint, const RankView& rank);

/// Sizes of the model, and the optimizer, that a checkpoint and the scenario must share, as text.
[[nodiscard]] std::string checkpoint_model(const costmodel::Scenario& scenario);

}  // namespace hexaplan::validator
