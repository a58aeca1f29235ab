#include "cli/commands/weight_files.h"

#include <utility>

#include "validator/executor/checkpoint/weights.h"
#include "validator/executor/communicator/communicator.h"
#include "validator/executor/parallel/rank.h"

namespace hexaplan::cli {
namespace {

/// The executor's units as the checkpoint counts layers.
int layer_of_unit(int unit) {
  return unit < 0 ? presets::WeightMap::kNoLayer : unit;
}

presets::StoredType type_to_save(const ExecuteOptions& options) {
  if (options.weights_type) return *options.weights_type;
  return options.dtype == "f64" ? presets::StoredType::F64 : presets::StoredType::F32;
}

}  // namespace

WeightFiles::WeightFiles(const ExecuteOptions& options, const costmodel::ModelSpec& model,
                         presets::JsonValue config)
    : config_{std::move(config)} {
  if (!options.weights.empty()) reader_ = std::make_unique<presets::WeightsReader>(options.weights, model);
  if (!options.save_weights.empty())
    writer_ = std::make_unique<presets::WeightsWriter>(options.save_weights, model, type_to_save(options));
}

void WeightFiles::load(const validator::RankView& rank) const {
  validator::load_weights(
      [this](int unit, std::string_view name, std::int64_t first, std::span<double> values) {
        reader_->read(layer_of_unit(unit), name, first, values);
      },
      rank);
}

void WeightFiles::save(const validator::RankView& rank) {
  validator::Communicator& world = *rank.rank.groups.world;
  if (world.rank() == 0) writer_->begin();
  world.barrier("saving weights");
  validator::store_weights(
      [this](int unit, std::string_view name, std::int64_t first, std::span<const double> values) {
        writer_->write(layer_of_unit(unit), name, first, values);
      },
      rank);
  world.barrier("saving weights");
  if (world.rank() == 0) writer_->commit(config_);
  world.barrier("saving weights");
}

}  // namespace hexaplan::cli
