#pragma once
#include <cstdint>
#include <span>
#include <string_view>

#include "costmodel/spec/model_spec.h"
#include "presets/json/json_value.h"
#include "presets/models/config_fields.h"

namespace hexaplan::presets {

/// Where a family keeps its dimensions; an empty name: the family has no such field.
struct DimensionKeys {
  Key hidden, ffn, layers, heads, kv_heads, head_dim, positions;
};

inline constexpr std::int64_t kRoundedDown = -1;
/// Class defaults of the dimensions.
struct Dimensions {
  std::int64_t vocab, hidden;
  std::int64_t ffn;  // 0 = 4 × hidden
  std::int64_t layers, heads;
  std::int64_t kv_heads;  // 0 = heads
  std::int64_t head_dim;  // 0 = hidden / heads; kRoundedDown = the same where that is no whole number
  std::int64_t positions;
};

/// Class defaults of numbers that only say which function is computed.
struct Constants {
  double norm_epsilon;
  double rope_base = 10000;
  costmodel::GeluForm gelu = costmodel::GeluForm::Exact;
};

/// The two lineages of decoder blocks.
enum class Block : std::uint8_t {
  Llama,  // RMSNorm, gated MLP, rotary positions, no biases
  Gpt,    // LayerNorm, two-matrix MLP, biases everywhere
};

/// Linear layers that a family's modeling code has as one.
enum Packed : std::uint8_t {
  kPackedNothing = 0,
  kPackedQkv = 1,     // queries, keys and values
  kPackedGateUp = 2,  // gate and up
};

/// One model_type of config.json: what its file says, and what only its modeling code knows.
struct ModelFamily {
  std::string_view model_type;
  const DimensionKeys* keys;
  Dimensions defaults;
  Constants constants;
  Block block;
  costmodel::Activation activation;
  bool tied_embeddings;
  /// Reads the family's own fields and applies the rules that stand in no file.
  void (*apply_rules)(ConfigFields&, costmodel::ModelSpec&);
  std::uint8_t packed = kPackedNothing;  // bits of Packed
};
[[nodiscard]] std::span<const ModelFamily> model_families();

/// A model_type of config.json whose language model is one of the families above. The parts beside it, a
/// vision or audio tower and what joins it, are not counted (ModelSpec::not_counted).
struct ModelWrapper {
  std::string_view model_type;
  std::string_view nested;  // member that holds the language model
  std::string_view family;  // of the language model, where its object has no model_type
};
[[nodiscard]] std::span<const ModelWrapper> model_wrappers();
/// ModelSpec::not_counted of files that hold more than a language model.
inline constexpr const char* kBesideLanguage = "what stands beside its language model";

/// A model_type that is known and not planned, and what it has that no operation of the step program is.
struct RefusedFamily {
  std::string_view model_type;
  std::string_view reason;
};
[[nodiscard]] std::span<const RefusedFamily> refused_families();

/// Where the language model of a config.json lies.
struct LanguageModel {
  const ModelFamily* family = nullptr;  // nullptr: no family that is known
  std::string_view nested = {};         // member of the file that holds it; empty: the file itself
  bool wrapped = false;                 // the file describes more than a language model
};
[[nodiscard]] LanguageModel language_model_of(const JsonValue& config);

}  // namespace hexaplan::presets
