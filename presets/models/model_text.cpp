#include "presets/models/model_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <span>

#include "costmodel/units/nearest_name.h"
#include "costmodel/units/parse_number.h"
#include "presets/json/input_error.h"
#include "presets/models/config_fields.h"

namespace hexaplan::presets {
namespace {

using costmodel::Activation;
using costmodel::AttentionKind;
using costmodel::ModelSpec;
using costmodel::NormKind;
using costmodel::PositionKind;

/// A word with a number behind it. A row stands behind those that its default follows from (fill_in).
struct SizeWord {
  std::string_view name;
  bool required;
  IntegerRange range;
  std::int64_t& (*size)(ModelSpec&);
  int& (*count)(ModelSpec&) = nullptr;  // instead of a size
  [[nodiscard]] std::int64_t of(ModelSpec& m) const { return count != nullptr ? count(m) : size(m); }
  void set(ModelSpec& m, std::int64_t value) const {
    if (count != nullptr) {
      count(m) = static_cast<int>(value);
    } else {
      size(m) = value;
    }
  }
};
constexpr IntegerRange kNoneOrSize{0, kSize.high};
constexpr SizeWord kSizeWords[] = {
    {"layers", true, kLayers, [](ModelSpec& m) -> std::int64_t& { return m.layers; }},
    {"hidden", true, kSize, [](ModelSpec& m) -> std::int64_t& { return m.hidden; }},
    {"heads", true, kSize, [](ModelSpec& m) -> std::int64_t& { return m.attention.heads; }},
    {"ffn", true, kSize, [](ModelSpec& m) -> std::int64_t& { return m.mlp.ffn; }},
    {"vocab", true, kSize, [](ModelSpec& m) -> std::int64_t& { return m.vocab; }},
    {"kv_heads", false, kSize, [](ModelSpec& m) -> std::int64_t& { return m.attention.kv_heads; }},
    {"q_lora", false, kNoneOrSize, [](ModelSpec& m) -> std::int64_t& { return m.attention.q_lora_rank; }},
    {"kv_lora", false, kNoneOrSize, [](ModelSpec& m) -> std::int64_t& { return m.attention.kv_lora_rank; }},
    {"qk_nope", false, kNoneOrSize, [](ModelSpec& m) -> std::int64_t& { return m.attention.qk_nope_dim; }},
    {"qk_rope", false, kNoneOrSize, [](ModelSpec& m) -> std::int64_t& { return m.attention.qk_rope_dim; }},
    {"head_dim", false, kSize, [](ModelSpec& m) -> std::int64_t& { return m.attention.head_dim; }},
    {"v_head_dim", false, kSize, [](ModelSpec& m) -> std::int64_t& { return m.attention.v_head_dim; }},
    {"window", false, kNoneOrSize, [](ModelSpec& m) -> std::int64_t& { return m.attention.window; }},
    {"global_period", false, kNoneOrSize,
     [](ModelSpec& m) -> std::int64_t& { return m.attention.global_period; }},
    {"max_positions", false, kNoneOrSize, [](ModelSpec& m) -> std::int64_t& { return m.max_positions; }},
    {"experts", false, {0, kExperts.high}, [](ModelSpec& m) -> std::int64_t& { return m.moe.experts; }},
    {"top_k", false, {0, kExperts.high}, [](ModelSpec& m) -> std::int64_t& { return m.moe.top_k; }},
    {"expert_ffn", false, kNoneOrSize, [](ModelSpec& m) -> std::int64_t& { return m.moe.expert_ffn; }},
    {"shared_ffn", false, kNoneOrSize, [](ModelSpec& m) -> std::int64_t& { return m.moe.shared_ffn; }},
    {"first_k_dense", false, kNoneOrSize, [](ModelSpec& m) -> std::int64_t& { return m.moe.first_k_dense; }},
    {"moe_period", false, kLayers, [](ModelSpec& m) -> std::int64_t& { return m.moe.period; }},
    {"mtp_layers", false, {0, kLayers.high}, nullptr, [](ModelSpec& m) -> int& { return m.mtp_layers; }},
};

/// A word that stands alone.
struct FlagWord {
  std::string_view name;
  bool (*is)(const ModelSpec&);
  void (*set)(ModelSpec&);
};
constexpr FlagWord kFlagWords[] = {
    {"tied", [](const ModelSpec& m) { return m.tied_embeddings; },
     [](ModelSpec& m) { m.tied_embeddings = true; }},
    {"qkv_bias", [](const ModelSpec& m) { return m.attention.qkv_bias; },
     [](ModelSpec& m) { m.attention.qkv_bias = true; }},
    {"output_bias", [](const ModelSpec& m) { return m.attention.output_bias; },
     [](ModelSpec& m) { m.attention.output_bias = true; }},
    {"qk_norm", [](const ModelSpec& m) { return m.attention.qk_norm; },
     [](ModelSpec& m) { m.attention.qk_norm = true; }},
    {"output_gate", [](const ModelSpec& m) { return m.attention.output_gate; },
     [](ModelSpec& m) { m.attention.output_gate = true; }},
    {"mlp_bias", [](const ModelSpec& m) { return m.mlp.bias; }, [](ModelSpec& m) { m.mlp.bias = true; }},
    {"layer_norm", [](const ModelSpec& m) { return m.norm == NormKind::Layer; },
     [](ModelSpec& m) { m.norm = NormKind::Layer; }},
    {"norm_bias", [](const ModelSpec& m) { return m.norm_bias; }, [](ModelSpec& m) { m.norm_bias = true; }},
    {"gelu", [](const ModelSpec& m) { return !m.mlp.gated && m.mlp.activation == Activation::Gelu; },
     [](ModelSpec& m) { m.mlp.gated = false, m.mlp.activation = Activation::Gelu; }},
    {"learned_positions", [](const ModelSpec& m) { return m.positions == PositionKind::Learned; },
     [](ModelSpec& m) { m.positions = PositionKind::Learned; }},
    {"renormalise", [](const ModelSpec& m) { return m.moe.renormalise; },
     [](ModelSpec& m) { m.moe.renormalise = true; }},
};

std::vector<std::string_view> known_model_words() {
  std::vector<std::string_view> words;
  for (const SizeWord& word : kSizeWords) words.push_back(word.name);
  for (const FlagWord& word : kFlagWords) words.push_back(word.name);
  return words;
}

[[noreturn]] void reject_model(std::string_view field, std::string_view word, std::string expected,
                               std::string hint = {}) {
  throw InputError{{.field = std::string{field},
                    .value = in_quotes(word),
                    .expected = std::move(expected),
                    .hint = std::move(hint)}};
}

/// What follows from other dimensions where it was not said.
void fill_in(ModelSpec& m) {
  costmodel::AttentionSpec& a = m.attention;
  const auto unless_said = [](std::int64_t& value, std::int64_t usual) {
    if (value == 0) value = usual;
  };
  unless_said(a.kv_heads, a.heads);
  if (a.kv_lora_rank > 0) {
    a.kind = AttentionKind::Latent;
    a.head_dim = a.qk_nope_dim + a.qk_rope_dim;
  }
  unless_said(a.head_dim, std::max<std::int64_t>(1, m.hidden / a.heads));
  unless_said(a.v_head_dim, a.head_dim);
  if (m.is_moe()) unless_said(m.moe.expert_ffn, m.mlp.ffn);
}

/// Reads one word into `model`; InputError when it is none.
void read_model_word(std::string_view word, std::string_view field, ModelSpec& model) {
  for (const FlagWord& flag : kFlagWords) {
    if (flag.name == word) return flag.set(model);
  }
  const std::string_view name = word.substr(0, word.find('='));
  for (const SizeWord& size : kSizeWords) {
    if (size.name != name) continue;
    const auto value =
        costmodel::parse_number<std::int64_t>(word.substr(std::min(word.size(), name.size() + 1)));
    if (!value || *value < size.range.low || *value > size.range.high) {
      reject_model(
          field, word,
          fmt::format("{}= with a whole number from {} to {}", name, size.range.low, size.range.high));
    }
    size.set(model, *value);
    return;
  }
  reject_model(field, word, "a dimension such as layers=4, or a flag such as tied",
               did_you_mean(costmodel::nearest_name(name, known_model_words())));
}

}  // namespace

bool is_model_text(std::string_view text) {
  const bool path = text.find('/') != std::string_view::npos || text.ends_with(".json");
  return !path && text.find('=') != std::string_view::npos;
}

ModelSpec parse_model_text(std::string_view text, std::string_view field) {
  ModelSpec model;
  model.name = "custom";
  std::vector<std::string_view> seen;
  while (true) {
    const std::size_t begin = text.find_first_not_of(' ');
    if (begin == std::string_view::npos) break;
    const std::string_view word = text.substr(begin, text.find(' ', begin) - begin);
    const std::string_view name = word.substr(0, word.find('='));
    if (std::find(seen.begin(), seen.end(), name) != seen.end())
      reject_model(field, word, fmt::format("{} only once", name));
    read_model_word(word, field, model);
    seen.push_back(name);
    text.remove_prefix(begin + word.size());
  }
  for (const SizeWord& size : kSizeWords) {
    if (size.required && size.of(model) == 0)
      reject_model(field, "", fmt::format("{}= with a whole number", size.name));
  }
  fill_in(model);
  return model;
}

std::string to_model_text(const ModelSpec& model) {
  ModelSpec wanted = model, said;
  std::vector<std::string> words;
  for (const SizeWord& size : kSizeWords) {
    ModelSpec read = said;
    if (!size.required) fill_in(read);
    if (size.of(wanted) == size.of(read)) continue;
    size.set(said, size.of(wanted));
    words.push_back(fmt::format("{}={}", size.name, size.of(said)));
  }
  for (const FlagWord& flag : kFlagWords) {
    if (flag.is(model)) words.emplace_back(flag.name);
  }
  return fmt::format("{}", fmt::join(words, " "));
}

}  // namespace hexaplan::presets
