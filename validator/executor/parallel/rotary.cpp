#include "validator/executor/parallel/rotary.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numbers>

// Scaling follows huggingface/transformers v5.23.0 src/transformers/modeling_rope_utils.py, function by
// function.
namespace hexaplan::validator {
namespace {

using costmodel::RopeScaling;
using costmodel::RotarySpec;

constexpr double kTurn = 2 * std::numbers::pi;

/// Low frequencies are divided by the factor, high ones stay, those between go over from one to the other.
double llama3_frequency(const RotarySpec& r, double frequency) {
  const double turns = static_cast<double>(r.original_positions) * frequency / kTurn;
  if (turns < r.low_frequency) return frequency / r.factor;
  if (turns > r.high_frequency) return frequency;
  const double kept = (turns - r.low_frequency) / (r.high_frequency - r.low_frequency);
  return (1 - kept) * frequency / r.factor + kept * frequency;
}

/// Begin and end of YaRN's ramp over pairs: where a pair makes beta turns in the original length
/// (arXiv:2309.00071 §3.2).
struct Ramp {
  double begin, end;
  /// 0 before it, 1 behind it.
  [[nodiscard]] double at(double pair) const { return std::clamp((pair - begin) / (end - begin), 0.0, 1.0); }
};
Ramp yarn_ramp(const RotarySpec& r, double columns) {
  const auto pair_of = [&](double turns) {
    return columns * std::log(static_cast<double>(r.original_positions) / (turns * kTurn)) /
           (2 * std::log(r.base));
  };
  double begin = pair_of(r.beta_fast), end = pair_of(r.beta_slow);
  if (r.whole_ramp) {
    begin = std::floor(begin);
    end = std::ceil(end);
  }
  begin = std::max(begin, 0.0);
  end = std::min(end, columns - 1);
  constexpr double kNotZero = 0.001;
  return {begin, begin == end ? end + kNotZero : end};
}

/// "NTK-aware": the base grows with what the sequence is longer than the original length.
double dynamic_base(const RotarySpec& r, double columns, std::int64_t sequence) {
  const auto original = static_cast<double>(r.original_positions);
  const double length = std::max(static_cast<double>(sequence), original);
  return r.base * std::pow(r.factor * length / original - (r.factor - 1), columns / (columns - 2));
}

}  // namespace

std::int64_t rotated_columns(const costmodel::ModelSpec& model) {
  if (model.attention.kind == costmodel::AttentionKind::Latent) return model.attention.qk_rope_dim;
  return static_cast<std::int64_t>(static_cast<double>(model.attention.head_dim) * model.rotary.share);
}

Rotation rotation_of(const costmodel::ModelSpec& model, std::int64_t sequence) {
  if (model.positions != costmodel::PositionKind::Rotary) return {};
  const RotarySpec& r = model.rotary;
  const bool latent = model.attention.kind == costmodel::AttentionKind::Latent;
  Rotation out{.head_dim = model.attention.head_dim,
               .pairs = rotated_columns(model) / 2,
               .first = latent ? model.attention.qk_nope_dim : 0,
               .interleaved = r.interleaved};
  assert(rotated_columns(model) % 2 == 0 && out.pairs <= static_cast<std::int64_t>(Rotation::kMostPairs));
  const auto columns = static_cast<double>(2 * out.pairs);
  const bool yarn = r.scaling == RopeScaling::Yarn, longrope = r.scaling == RopeScaling::LongRope;
  const double base = r.scaling == RopeScaling::Dynamic ? dynamic_base(r, columns, sequence) : r.base;
  const Ramp ramp = yarn ? yarn_ramp(r, columns) : Ramp{0, 1};
  const std::vector<double>& factors = sequence > r.original_positions ? r.long_factors : r.short_factors;
  for (std::size_t i = 0; i < static_cast<std::size_t>(out.pairs); ++i) {
    const auto pair = static_cast<double>(i);
    double frequency = std::pow(base, -2 * pair / columns);
    if (r.scaling == RopeScaling::Linear) frequency /= r.factor;
    if (r.scaling == RopeScaling::Llama3) frequency = llama3_frequency(r, frequency);
    if (yarn) frequency *= 1 - ramp.at(pair) * (1 - 1 / r.factor);
    if (longrope) frequency /= factors[i];
    out.frequencies[i] = frequency;
  }
  if (yarn || longrope) out.magnitude = r.attention_factor;
  return out;
}

Rotation windowed_rotation(const costmodel::ModelSpec& model, std::int64_t sequence) {
  if (model.rotary.local_base == 0) return rotation_of(model, sequence);
  costmodel::ModelSpec local = model;
  local.rotary.base = model.rotary.local_base;
  local.rotary.scaling = RopeScaling::None;
  return rotation_of(local, sequence);
}

}  // namespace hexaplan::validator
