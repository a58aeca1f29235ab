#include "presets/models/rotary_fields.h"

#include <cmath>
#include <optional>

// Keys, defaults and rules: huggingface/transformers v5.23.0 src/transformers/modeling_rope_utils.py
// (RotaryEmbeddingConfigMixin, _compute_…_parameters).
namespace hexaplan::presets {
namespace {

using costmodel::ModelSpec;
using costmodel::RopeScaling;
using costmodel::RotarySpec;

constexpr Named<RopeScaling> kScalings[] = {
    {"default", RopeScaling::None}, {"linear", RopeScaling::Linear},      {"dynamic", RopeScaling::Dynamic},
    {"yarn", RopeScaling::Yarn},    {"deepseek_yarn", RopeScaling::Yarn}, {"longrope", RopeScaling::LongRope},
    {"su", RopeScaling::LongRope},  {"llama3", RopeScaling::Llama3},
};
constexpr RealRange kBase{1.0, 1e15};
constexpr RealRange kFactor{1e-6, 1e6};
constexpr RealRange kRotaryShare{1e-6, 1.0};
constexpr Key kOriginal{"original_max_position_embeddings"};

ConfigFields fields_of(const ValueReader& object) {
  static_cast<void>(object.object());  // InputError unless it is one
  return {object.file(), object.pointer(), *object.json().get_if<JsonObject>()};
}

std::optional<ConfigFields> inner_object(ConfigFields& f, Key key) {
  const std::optional<ValueReader> found = f.value(key);
  return found ? std::optional{fields_of(*found)} : std::nullopt;
}

double required_number(ConfigFields& f, Key key, RealRange range) {
  const std::optional<ValueReader> found = f.value(key);
  if (!found) throw f.error(key, 0, "a number: this kind of scaling needs it");
  return found->number(range);
}

std::vector<double> factors_of_pairs(ConfigFields& f, Key key, const ModelSpec& m, const RotarySpec& rotary) {
  const std::optional<ValueReader> found = f.value(key);
  const std::int64_t width =
      m.attention.kind == costmodel::AttentionKind::Latent ? m.attention.qk_rope_dim : m.attention.head_dim;
  const auto pairs = static_cast<std::size_t>(static_cast<double>(width) * rotary.share) / 2;
  std::vector<double> factors = found ? found->numbers(kFactor) : std::vector<double>{};
  if (factors.size() != pairs)
    throw f.error(key, static_cast<std::int64_t>(factors.size()),
                  "a factor for each pair of rotated columns");
  return factors;
}

void read_yarn(ConfigFields& f, const ModelSpec& model, RotarySpec& r) {
  r.beta_fast = f.number({"beta_fast"}, 32, kFactor);
  r.beta_slow = f.number({"beta_slow"}, 1, kFactor);
  r.whole_ramp = f.flag({"truncate"}, true);
  const double m = f.number({"mscale"}, 0, kNotNegative), all = f.number({"mscale_all_dim"}, 0, kNotNegative);
  const bool both = m > 0 && all > 0;
  r.attention_factor =
      f.number({"attention_factor"},
               yarn_magnitude(r.factor, both ? m : 1) / (both ? yarn_magnitude(r.factor, all) : 1), kFactor);
  // deepseek-ai/DeepSeek-V3 modeling_deepseek.py, DeepseekV3Attention: softmax_scale.
  if (all > 0 && model.attention.kind == costmodel::AttentionKind::Latent)
    r.score_factor = std::pow(yarn_magnitude(r.factor, all), 2);
}

void read_longrope(ConfigFields& f, const ModelSpec& m, RotarySpec& r) {
  r.short_factors = factors_of_pairs(f, {"short_factor"}, m, r);
  r.long_factors = factors_of_pairs(f, {"long_factor"}, m, r);
  const double usual =
      r.factor <= 1 ? 1.0
                    : std::sqrt(1 + std::log(r.factor) / std::log(static_cast<double>(r.original_positions)));
  r.attention_factor = f.number({"attention_factor"}, usual, kFactor);
}

/// What the object that names a kind of scaling says beside it.
void read_scaling(ConfigFields& f, const ModelSpec& m, RotarySpec& r) {
  const std::optional<ValueReader> kind = f.value({"rope_type", "type"});
  r.scaling = kind ? kind->choice(kScalings) : RopeScaling::None;
  if (r.scaling == RopeScaling::None) return;
  r.original_positions =
      f.size(kOriginal, r.original_positions == 0 ? m.max_positions : r.original_positions);
  const double stretched = static_cast<double>(m.max_positions) / static_cast<double>(r.original_positions);
  if (r.scaling == RopeScaling::Dynamic) r.original_positions = m.max_positions;
  const bool may_follow = r.scaling == RopeScaling::Yarn || r.scaling == RopeScaling::LongRope;
  r.factor = may_follow ? f.number({"factor"}, stretched, kFactor) : required_number(f, {"factor"}, kFactor);
  if (r.scaling == RopeScaling::Llama3) {
    r.low_frequency = required_number(f, {"low_freq_factor"}, kFactor);
    r.high_frequency = required_number(f, {"high_freq_factor"}, kFactor);
  }
  if (r.scaling == RopeScaling::Yarn) read_yarn(f, m, r);
  if (r.scaling == RopeScaling::LongRope) read_longrope(f, m, r);
}

void read_base(ConfigFields& f, RotarySpec& r) {
  r.base = f.number({"rope_theta", "rotary_emb_base"}, r.base, kBase);
  r.share = f.number({"partial_rotary_factor", "rotary_pct"}, r.share, kRotaryShare);
}

/// One object per kind of layer: windowed layers have a base of their own.
void read_local(ConfigFields& f, RotarySpec& r) {
  if (const std::optional<ValueReader> kind = f.value({"rope_type", "type"});
      kind && kind->choice(kScalings) != RopeScaling::None)
    throw kind->error("default: scaled positions of windowed layers are not modelled");
  r.local_base = f.number({"rope_theta"}, r.local_base, kBase);
}

}  // namespace

double yarn_magnitude(double factor, double m) {
  return factor <= 1 ? 1.0 : 0.1 * m * std::log(factor) + 1.0;
}

RotarySpec read_rotary(ConfigFields& fields, const ModelSpec& model, RotarySpec defaults) {
  RotarySpec r = std::move(defaults);
  read_base(fields, r);
  r.local_base = fields.number({"rope_local_base_freq"}, r.local_base, kBase);
  r.interleaved = fields.flag({"rope_interleave"}, r.interleaved);
  if (fields.value(kOriginal)) r.original_positions = fields.size(kOriginal, 0);
  if (fields.is_null({"rope_parameters", "rope_scaling"})) r.scaling = RopeScaling::None;
  if (std::optional<ConfigFields> parameters = inner_object(fields, {"rope_parameters", "rope_scaling"})) {
    if (std::optional<ConfigFields> local = inner_object(*parameters, {"sliding_attention"}))
      read_local(*local, r);
    std::optional<ConfigFields> global = inner_object(*parameters, {"full_attention"});
    ConfigFields& of_layers = global ? *global : *parameters;
    read_base(of_layers, r);
    read_scaling(of_layers, model, r);
  }
  if (r.scaling == RopeScaling::None) r.original_positions = 0;
  return r;
}

}  // namespace hexaplan::presets
