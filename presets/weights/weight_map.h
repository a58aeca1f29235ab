#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "costmodel/spec/model_spec.h"

namespace hexaplan::presets {

/// A tensor of a checkpoint: what `save_pretrained` would write for the model.
struct StoredTensor {
  std::string name;
  std::vector<std::int64_t> shape;
  bool of_module = false;  // for multi-token prediction
  std::string copy_of{};   // of another one's numbers; empty: it has its own
  [[nodiscard]] std::int64_t elements() const;
};

/// Consecutive elements of a parameter and where they lie in a stored tensor, `stride` elements apart.
struct StoredRun {
  std::size_t tensor = 0;   // position in WeightMap::tensors()
  std::int64_t first = 0;   // element of the stored tensor
  std::int64_t stride = 1;  // from one element to the next
  std::int64_t at = 0;      // offset among the elements that were asked for
  std::int64_t count = 0;
};

/// Where every element of a model's parameters lies in a Hugging Face checkpoint, and back: a permutation.
class WeightMap {
 public:
  /// Of embedding and head, which belong to no layer.
  static constexpr int kNoLayer = -1;

  /// Throws InputError when the names of the model's family are not written down.
  explicit WeightMap(const costmodel::ModelSpec& model);

  /// By name, as the safetensors library orders tensors of one type.
  [[nodiscard]] const std::vector<StoredTensor>& tensors() const { return tensors_; }

  /// Elements [first, first + count) of the unsharded, row-major parameter `name`
  /// (costmodel::ParameterTensor) of `layer`, run by run. Precondition: the model has the parameter, and so
  /// many elements of it.
  void visit(int layer, std::string_view name, std::int64_t first, std::int64_t count,
             const std::function<void(const StoredRun&)>& run) const;

 private:
  /// Rows of a parameter that lie in one stored tensor.
  struct Rows {
    std::int64_t first = 0, count = 0;  // of the parameter, experts stacked
    std::size_t tensor = 0;
    std::int64_t origin = 0;  // element of the stored tensor where the first row begins
    std::int64_t group = 0;   // rows that lie `row_stride` apart …
    std::int64_t row_stride = 0;
    std::int64_t group_stride = 0;  // … before the next group begins
    std::int64_t column_stride = 1;
  };
  struct Parameter {
    std::int64_t columns = 1;
    std::vector<Rows> rows;
  };
  class Builder;

  std::vector<StoredTensor> tensors_;
  std::map<std::pair<int, std::string>, Parameter, std::less<>> parameters_;
};

}  // namespace hexaplan::presets
