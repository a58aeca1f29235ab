#pragma once
#include <memory>

#include "cli/options.h"
#include "costmodel/spec/model_spec.h"
#include "presets/json/json_value.h"
#include "presets/weights/weights_folder.h"
#include "validator/executor/step/run_steps.h"

namespace hexaplan::cli {

/// --weights and --save-weights: the formats of presets/ joined to the parameters of the executor's ranks.
class WeightFiles {
 public:
  /// Opens --weights. `config` is what --save-weights writes as config.json. InputError when something cannot
  /// be used.
  WeightFiles(const ExecuteOptions& options, const costmodel::ModelSpec& model, presets::JsonValue config);

  [[nodiscard]] bool loads() const { return reader_ != nullptr; }
  [[nodiscard]] bool saves() const { return writer_ != nullptr; }
  /// Fills in what the rank owns.
  void load(const validator::RankView& rank) const;
  /// Collective over the world.
  void save(const validator::RankView& rank);

 private:
  presets::JsonValue config_;
  std::unique_ptr<presets::WeightsReader> reader_;
  std::unique_ptr<presets::WeightsWriter> writer_;
};

}  // namespace hexaplan::cli
