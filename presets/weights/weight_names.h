#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace hexaplan::presets {

/// One of `blocks` parts of equal height, one below the other, of a parameter as costmodel::ParameterTensor
/// names it: keys are block 0 and values block 1 of "attention.key_value.weight". No tensor: nothing.
struct ParameterBlock {
  std::string_view tensor = {};
  int block = 0, blocks = 1;
};

/// How a tensor of a checkpoint holds several blocks: group by group, of each block its share of the rows.
enum class Groups : std::uint8_t {
  One,      // one block below the other
  KvHeads,  // per key-value head: its queries, its key, its value
  Rows,     // row by row in turn
};

/// A tensor of a Hugging Face checkpoint and the parameters it holds. "{l}" stands for the layer, "{e}" for
/// the expert; without "{e}" experts lie one behind the other.
struct CheckpointTensor {
  std::string_view name;
  std::array<ParameterBlock, 3> blocks;
  Groups groups = Groups::One;
  bool transposed = false;  // input features first
  int norms_per_layer = 0;  // only in models with so many; 0: in all
  /// It has the numbers of this tensor once more, beside the parameters of a multi-token-prediction module.
  std::string_view copy_of = {};
  std::string_view module = {};  // of the code, where the checkpoint has kept an older name
};

/// Tables of tensors that checkpoints of a model_type have; a model has those whose parameters it has.
/// Empty when nobody wrote them down.
[[nodiscard]] std::span<const std::span<const CheckpointTensor>> checkpoint_tensors(
    std::string_view model_type);

/// What a model_type's code calls the module that holds a whole parameter, without what it stands in:
/// "embed_in" of "embedding.word.weight" in GPT-NeoX (transformers v5.23.0). Empty when nobody wrote it down.
[[nodiscard]] std::string_view module_name(std::string_view model_type, std::string_view parameter);
/// Whether some model_type calls it so, or its checkpoints do, as its code did before.
[[nodiscard]] bool is_module_name(std::string_view name, std::string_view parameter);

}  // namespace hexaplan::presets
