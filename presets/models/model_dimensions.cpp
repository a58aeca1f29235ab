#include "presets/models/model_dimensions.h"

#include <fmt/format.h>

#include <array>
#include <cassert>
#include <filesystem>
#include <iterator>
#include <string>
#include <vector>

#include "presets/catalog/catalog.h"
#include "presets/models/find_model.h"
#include "presets/models/model_families.h"
#include "presets/models/model_preset.h"
#include "presets/models/model_text.h"
#include "presets/models/read_model_config.h"

namespace hexaplan::presets {

using costmodel::ModelSpec;

namespace {

/// Where a family keeps a dimension: under its own key, or under the first of `usual` that the file has.
struct DimensionRow {
  ModelDimension dimension;
  Key DimensionKeys::*own;  // null: the families share the names below
  std::array<std::string_view, 3> usual;
  bool every_family = false;  // also of files that leave the key out
  /// What a model by its dimensions calls it (model_text.h); empty: as its id; kNoWord: not at all.
  std::string_view word = {};
};
constexpr std::string_view kNoWord = "-";

constexpr DimensionRow kDimensionRows[] = {
    {{"layers", "decoder layers", [](const ModelSpec& m) { return m.layers; }}, &DimensionKeys::layers, {}},
    {{"hidden", "width of the residual stream", [](const ModelSpec& m) { return m.hidden; }},
     &DimensionKeys::hidden,
     {}},
    {{"ffn", "width inside the MLP", [](const ModelSpec& m) { return m.mlp.ffn; }}, &DimensionKeys::ffn, {}},
    {{"heads", "attention heads", [](const ModelSpec& m) { return m.attention.heads; }},
     &DimensionKeys::heads,
     {}},
    {{"kv_heads", "key and value heads", [](const ModelSpec& m) { return m.attention.kv_heads; }},
     &DimensionKeys::kv_heads,
     {}},
    {{"head_dim", "width of a head", [](const ModelSpec& m) { return m.attention.head_dim; }},
     &DimensionKeys::head_dim,
     {}},
    {{"vocab", "tokens in the vocabulary", [](const ModelSpec& m) { return m.vocab; }},
     nullptr,
     {"vocab_size"},
     true},
    {{"max_positions", "longest sequence the model was made for",
      [](const ModelSpec& m) { return m.max_positions; }},
     &DimensionKeys::positions,
     {}},
    {{"window", "tokens a sliding window sees", [](const ModelSpec& m) { return m.attention.window; }},
     nullptr,
     {"sliding_window"}},
    {{"experts", "routed experts of a layer", [](const ModelSpec& m) { return m.moe.experts; }},
     nullptr,
     {"num_local_experts", "n_routed_experts", "num_experts"}},
    {{"top_k", "experts a token visits", [](const ModelSpec& m) { return m.moe.top_k; }},
     nullptr,
     {"num_experts_per_tok", "num_experts_per_token"}},
    {{"expert_ffn", "width inside an expert", [](const ModelSpec& m) { return m.moe.expert_ffn; }},
     nullptr,
     {"moe_intermediate_size"}},
    {{"shared_ffn", "width of the shared expert", [](const ModelSpec& m) { return m.moe.shared_ffn; }},
     nullptr,
     {"shared_expert_intermediate_size"}},
    {{"shared_experts", "experts every token visits",
      [](const ModelSpec& m) { return m.moe.expert_ffn == 0 ? 0 : m.moe.shared_ffn / m.moe.expert_ffn; }},
     nullptr,
     {"n_shared_experts", "num_shared_experts"},
     false,
     kNoWord},
    {{"first_k_dense", "leading layers without experts",
      [](const ModelSpec& m) { return m.moe.first_k_dense; }},
     nullptr,
     {"first_k_dense_replace"}},
    {{"q_lora_rank", "rank of the compressed queries (MLA)",
      [](const ModelSpec& m) { return m.attention.q_lora_rank; }},
     nullptr,
     {"q_lora_rank"},
     false,
     "q_lora"},
    {{"kv_lora_rank", "rank of the compressed keys and values (MLA)",
      [](const ModelSpec& m) { return m.attention.kv_lora_rank; }},
     nullptr,
     {"kv_lora_rank"},
     false,
     "kv_lora"},
    {{"qk_nope_dim", "width of a head without positions (MLA)",
      [](const ModelSpec& m) { return m.attention.qk_nope_dim; }},
     nullptr,
     {"qk_nope_head_dim"},
     false,
     "qk_nope"},
    {{"qk_rope_dim", "width of a head with rotary positions (MLA)",
      [](const ModelSpec& m) { return m.attention.qk_rope_dim; }},
     nullptr,
     {"qk_rope_head_dim"},
     false,
     "qk_rope"},
    {{"v_head_dim", "width of a value head (MLA)", [](const ModelSpec& m) { return m.attention.v_head_dim; }},
     nullptr,
     {"v_head_dim"}},
    {{"mtp_layers", "multi-token prediction modules",
      [](const ModelSpec& m) { return static_cast<std::int64_t>(m.mtp_layers); }},
     nullptr,
     {"num_nextn_predict_layers"}},
};

const DimensionRow* find_row(std::string_view id) {
  for (const DimensionRow& row : kDimensionRows) {
    if (row.dimension.id == id) return &row;
  }
  return nullptr;
}

JsonValue* member(JsonValue& object, std::string_view key) {
  return const_cast<JsonValue*>(std::as_const(object).find(key));
}

/// The object that holds the language model's own fields; nullptr where the file lacks it.
JsonValue* language_model(JsonValue& config, const LanguageModel& of) {
  return of.nested.empty() ? &config : member(config, of.nested);
}

/// The key to read or write; empty when the family has none.
std::string_view key_of(const JsonValue& fields, const ModelFamily& family, const DimensionRow& row) {
  if (row.own != nullptr) {
    const Key& key = family.keys->*row.own;
    return !key.alias.empty() && fields.find(key.alias) != nullptr ? key.alias : key.name;
  }
  for (const std::string_view key : row.usual) {
    if (!key.empty() && fields.find(key) != nullptr) return key;
  }
  return row.every_family ? row.usual.front() : std::string_view{};
}

/// What a model by its dimensions calls `row`; empty when its text cannot say it.
std::string_view word_of(const DimensionRow& row) {
  if (row.word == kNoWord) return {};
  return row.word.empty() ? row.dimension.id : row.word;
}

/// The text of a model by its dimensions with `word` set to `value`; its other words stay as they were.
std::string with_word(std::string_view text, std::string_view word, std::int64_t value) {
  std::string changed;
  bool said = false;
  while (true) {
    const std::size_t begin = text.find_first_not_of(' ');
    if (begin == std::string_view::npos) break;
    const std::string_view now = text.substr(begin, text.find(' ', begin) - begin);
    const bool meant = now.substr(0, now.find('=')) == word;
    said = said || meant;
    if (!changed.empty()) changed += ' ';
    changed += meant ? fmt::format("{}={}", word, value) : std::string{now};
    text.remove_prefix(begin + now.size());
  }
  return said ? changed : fmt::format("{} {}={}", changed, word, value);
}

/// What the family adds to the file's value: OPT's position table has two rows more.
std::int64_t added_by_family(const JsonValue& config, const JsonValue& written, const DimensionRow& row) {
  const auto* in_file = written.get_if<std::int64_t>();
  return in_file == nullptr ? 0 : row.dimension.of(model_from_config("config", "", config)) - *in_file;
}

}  // namespace

std::span<const ModelDimension> model_dimensions() {
  static const std::vector<ModelDimension> dimensions = [] {
    std::vector<ModelDimension> list;
    list.reserve(std::size(kDimensionRows));
    for (const DimensionRow& row : kDimensionRows) list.push_back(row.dimension);
    return list;
  }();
  return dimensions;
}

JsonValue model_config(const JsonValue& model) {
  const auto* name = model.get_if<std::string>();
  if (name == nullptr || is_model_text(*name)) return model;
  const JsonDocument document = read_json_file(model_file(*name), JsonDialect::Python);
  JsonValue config = is_model_preset(document) ? *document.root.find("config") : document.root;
  auto* fields = config.get_if<JsonObject>();
  if (fields != nullptr && config.find("_name_or_path") == nullptr) {
    fields->insert(fields->begin(), {"_name_or_path", find_model(*name).name});
  }
  return config;
}

bool has_dimension(const JsonValue& config, std::string_view id) {
  const DimensionRow* row = find_row(id);
  if (config.get_if<std::string>() != nullptr) return row != nullptr && !word_of(*row).empty();
  const LanguageModel model = language_model_of(config);
  if (model.family == nullptr || row == nullptr) return false;
  const JsonValue* fields = model.nested.empty() ? &config : config.find(model.nested);
  return fields != nullptr && !key_of(*fields, *model.family, *row).empty();
}

JsonValue with_dimension(JsonValue config, std::string_view id, std::int64_t value) {
  assert(has_dimension(config, id));
  const DimensionRow& row = *find_row(id);
  if (const auto* text = config.get_if<std::string>()) return with_word(*text, word_of(row), value);
  const LanguageModel model = language_model_of(config);
  JsonValue* fields = language_model(config, model);
  const std::string_view key = key_of(*fields, *model.family, row);
  if (JsonValue* present = member(*fields, key)) {
    *present = value - added_by_family(config, *present, row);
  } else {
    fields->get_if<JsonObject>()->emplace_back(key, value);
  }
  return config;
}

}  // namespace hexaplan::presets
