#include "presets/weights/weight_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <numeric>

#include "costmodel/parameters/parameter_tensors.h"
#include "presets/json/input_error.h"
#include "presets/weights/weight_names.h"

namespace hexaplan::presets {
namespace {

using costmodel::ModelSpec;
using costmodel::ParameterTensor;

constexpr std::string_view kLayer = "{l}", kExpert = "{e}";

std::string with_number(std::string name, std::string_view placeholder, std::int64_t number) {
  if (const std::size_t at = name.find(placeholder); at != std::string::npos)
    name.replace(at, placeholder.size(), std::to_string(number));
  return name;
}

const ParameterTensor* find_tensor(const std::vector<ParameterTensor>& tensors, std::string_view name) {
  const auto found =
      std::find_if(tensors.begin(), tensors.end(), [&](const ParameterTensor& t) { return t.name == name; });
  return found == tensors.end() ? nullptr : &*found;
}

}  // namespace

/// Fills a map, layer by layer.
class WeightMap::Builder {
 public:
  Builder(WeightMap& map, const ModelSpec& model) : map_{map}, model_{model} {}

  /// What checkpoints of the family have of `parameters`.
  void add(int layer, const std::vector<ParameterTensor>& parameters) {
    for (const auto& table : checkpoint_tensors(model_.family)) {
      for (const CheckpointTensor& row : table) {
        const bool of_layer = row.name.find(kLayer) != std::string_view::npos;
        const bool wanted = row.norms_per_layer == 0 || row.norms_per_layer == model_.norms_per_layer;
        if (of_layer != (layer != kNoLayer) || !wanted) continue;
        row.copy_of.empty() ? add_stored(layer, row, parameters) : add_copy(layer, row);
      }
    }
    for (const ParameterTensor& t : parameters) require_whole(layer, t);
  }

 private:
  /// Beside a module's parameters.
  void add_copy(int layer, const CheckpointTensor& row) {
    const auto original = std::ranges::find(map_.tensors_, row.copy_of, &StoredTensor::name);
    if (layer < model_.layers || original == map_.tensors_.end()) return;
    map_.tensors_.push_back({.name = with_number(std::string{row.name}, kLayer, layer),
                             .shape = original->shape,
                             .of_module = true,
                             .copy_of = original->name});
  }
  void add_stored(int layer, const CheckpointTensor& row, const std::vector<ParameterTensor>& parameters) {
    const ParameterTensor* first = find_tensor(parameters, row.blocks[0].tensor);
    if (first == nullptr) return;
    const std::string name = with_number(std::string{row.name}, kLayer, layer);
    const bool per_expert = row.name.find(kExpert) != std::string_view::npos;
    std::int64_t rows = 0;
    for (const ParameterBlock& b : row.blocks) {
      if (!b.tensor.empty()) rows += find_tensor(parameters, b.tensor)->rows / b.blocks;
    }
    const std::int64_t files = per_expert ? first->count : 1;
    for (std::int64_t e = 0; e < files; ++e) {
      map_.tensors_.push_back({.name = with_number(name, kExpert, e),
                               .shape = shape_of(row, *first, rows, per_expert),
                               .of_module = layer >= model_.layers});
      add_blocks(layer, row, parameters, rows, e);
    }
  }

  [[nodiscard]] static std::vector<std::int64_t> shape_of(const CheckpointTensor& row,
                                                          const ParameterTensor& t, std::int64_t rows,
                                                          bool per_expert) {
    std::vector<std::int64_t> shape{rows};
    const bool vector = t.cols == 1 && !t.matrix;
    if (!vector) shape.insert(row.transposed ? shape.begin() : shape.end(), t.cols);
    if (!per_expert && t.count > 1) shape.insert(shape.begin(), t.count);
    return shape;
  }

  [[nodiscard]] std::int64_t groups_of(const CheckpointTensor& row, std::int64_t block_rows) const {
    switch (row.groups) {
      case Groups::One:
        return 1;
      case Groups::KvHeads:
        return model_.attention.kv_heads;
      case Groups::Rows:
        return block_rows;
    }
    return 1;
  }

  /// Where the blocks of the tensor appended last lie; that of expert `expert`, or of all.
  void add_blocks(int layer, const CheckpointTensor& row, const std::vector<ParameterTensor>& parameters,
                  std::int64_t rows, std::int64_t expert) {
    const bool per_expert = row.name.find(kExpert) != std::string_view::npos;
    std::int64_t row_in_group = 0;
    for (const ParameterBlock& b : row.blocks) {
      if (b.tensor.empty()) break;
      const ParameterTensor& t = *find_tensor(parameters, b.tensor);
      const std::int64_t height = t.rows / b.blocks, groups = groups_of(row, height);
      const std::int64_t row_stride = row.transposed ? 1 : t.cols;
      Parameter& parameter = map_.parameters_[{layer, std::string{t.name}}];
      parameter.columns = t.cols;
      const std::int64_t begin = per_expert ? expert : 0, end = per_expert ? expert + 1 : t.count;
      for (std::int64_t e = begin; e < end; ++e) {
        parameter.rows.push_back({.first = e * t.rows + b.block * height,
                                  .count = height,
                                  .tensor = map_.tensors_.size() - 1,
                                  .origin = (e - begin) * rows * t.cols + row_in_group * row_stride,
                                  .group = height / groups,
                                  .row_stride = row_stride,
                                  .group_stride = rows / groups * row_stride,
                                  .column_stride = row.transposed ? rows : 1});
      }
      row_in_group += height / groups;
    }
  }

  void require_whole(int layer, const ParameterTensor& t) const {
    const auto found = map_.parameters_.find(std::pair{layer, std::string{t.name}});
    std::int64_t rows = 0;
    if (found != map_.parameters_.end()) {
      for (const Rows& part : found->second.rows) rows += part.count;
    }
    if (rows == t.rows * t.count) return;
    throw InputError({.field = "/model_type",
                      .value = in_quotes(model_.family),
                      .expected = fmt::format("a family whose checkpoints' name of {} is known", t.name)});
  }

  WeightMap& map_;
  const ModelSpec& model_;
};

std::int64_t StoredTensor::elements() const {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>{});
}

WeightMap::WeightMap(const ModelSpec& model) {
  Builder builder{*this, model};
  std::vector<ParameterTensor> parameters;
  append_embedding_parameters(model, parameters);
  append_head_parameters(model, false, parameters);
  builder.add(kNoLayer, parameters);
  for (int layer = 0; layer < model.layers + model.mtp_layers; ++layer) {
    parameters.clear();
    append_layer_parameters(model, class_of_layer(model, layer), parameters);
    builder.add(layer, parameters);
  }
  std::vector<std::size_t> order(tensors_.size()), place(tensors_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return tensors_[a].name < tensors_[b].name; });
  std::vector<StoredTensor> sorted;
  for (std::size_t i = 0; i < order.size(); ++i) {
    place[order[i]] = i;
    sorted.push_back(std::move(tensors_[order[i]]));
  }
  tensors_ = std::move(sorted);
  for (auto& [key, parameter] : parameters_) {
    for (Rows& rows : parameter.rows) rows.tensor = place[rows.tensor];
    std::sort(parameter.rows.begin(), parameter.rows.end(),
              [](const Rows& a, const Rows& b) { return a.first < b.first; });
  }
}

void WeightMap::visit(int layer, std::string_view name, std::int64_t first, std::int64_t count,
                      const std::function<void(const StoredRun&)>& run) const {
  const auto found = parameters_.find(std::pair{layer, std::string{name}});
  assert(found != parameters_.end());
  const Parameter& p = found->second;
  for (std::int64_t done = 0; done < count;) {
    const std::int64_t row = (first + done) / p.columns, column = (first + done) % p.columns;
    const auto after = std::upper_bound(p.rows.begin(), p.rows.end(), row,
                                        [](std::int64_t r, const Rows& part) { return r < part.first; });
    assert(after != p.rows.begin());
    const Rows& part = *(after - 1);
    assert(row < part.first + part.count);
    const std::int64_t r = row - part.first;
    const std::int64_t begin =
        part.origin + r / part.group * part.group_stride + r % part.group * part.row_stride;
    // Rows of a matrix that is not transposed follow one another within their group; so do vectors.
    const bool joined = part.column_stride == 1 && part.row_stride == p.columns;
    const std::int64_t rows = joined ? part.group - r % part.group : 1;
    const std::int64_t length = std::min(rows * p.columns - column, count - done);
    run({.tensor = part.tensor,
         .first = begin + column * part.column_stride,
         .stride = part.column_stride,
         .at = done,
         .count = length});
    done += length;
  }
}

}  // namespace hexaplan::presets
