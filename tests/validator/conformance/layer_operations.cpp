// Norms, rotary positions, activations.
#include <algorithm>
#include <cmath>
#include <utility>

#include "tests/validator/conformance/operations.h"

namespace hexaplan::tests {
namespace {

using validator::ActivationForm;
using validator::ActivationKind;
using validator::NormForm;
using validator::Rotation;
using validator::View;

const std::vector<Size> kSizes{{0, 8}, {1, 1}, {1, 8}, {3, 13}, {5, 40}, {70, 272}, {2, 2059}};

/// A way of normalising: whole rows, or `heads` groups of columns each.
struct NormCase {
  std::string name;
  NormForm form;
  std::int64_t heads = 0;
  bool weight = true, bias = false;
};
const std::vector<NormCase>& norm_cases() {
  constexpr auto kLayer = costmodel::NormKind::Layer;
  static const std::vector<NormCase> kCases{
      {"rms", {}},
      {"rms_zero_centered", {.epsilon = 1e-6, .zero_centered = true}},
      {"rms_without_weight", {}, 0, false},
      {"rms_replacing", {.accumulate = false}},
      {"rms_of_heads", {.accumulate = false}, 3},
      {"layer", {.kind = kLayer}, 0, true, true},
      {"layer_without_bias", {.kind = kLayer}},
      {"layer_without_weight", {.kind = kLayer}, 0, false},
      {"layer_of_heads", {.kind = kLayer, .accumulate = false}, 2, true, true},
  };
  return kCases;
}

/// cols: of a group.
void norms(Bench& b, Size s, const NormCase& which) {
  NormForm form = which.form;
  if (which.heads > 0) form.width = s.cols;
  const std::int64_t cols = s.cols * std::max<std::int64_t>(which.heads, 1);
  const auto maybe = [&](bool wanted, const View& v) { return wanted ? v : View{}; };
  const View w = maybe(which.weight, b.data(1, s.cols)), bias = maybe(which.bias, b.data(1, s.cols));
  // Far from zero, where a variance made of squares loses its digits.
  const View x = b.data(s.rows, cols), y = b.new_data(s.rows, cols);
  b.device.add_bias(x, b.data(1, cols, form.kind == costmodel::NormKind::Layer ? 4 : 0));
  const View statistics = b.new_fp32(s.rows, form.statistics(cols));
  b.device.norm(form, x, w, bias, y, statistics);
  b.result("output", y);
  b.result("statistics", statistics);
  const View dy = b.data(s.rows, cols), dx = b.data(s.rows, cols);
  const View dw = maybe(which.weight, b.fp32(1, s.cols)), d_bias = maybe(which.bias, b.fp32(1, s.cols));
  b.device.norm_backward(form, dy, x, w, statistics, dx, dw, d_bias);
  b.result("gradient", dx);
  if (which.weight) b.result("gradient of the weight", dw);
  if (which.bias) b.result("gradient of the bias", d_bias);
  const View narrow = b.data(1, s.cols);
  b.device.norm_backward(form, dy, x, w, statistics, dx, narrow, {});
  b.result("narrow gradient of the weight", narrow);
  b.device.norm_backward(form, dy, x, w, statistics, dx, {}, {});
  b.result("gradient alone", dx);
}

Rotation rotation(std::int64_t head_dim, std::int64_t pairs, double magnitude, bool interleaved) {
  Rotation out{.head_dim = head_dim, .pairs = pairs, .interleaved = interleaved, .magnitude = magnitude};
  for (std::int64_t i = 0; i < pairs; ++i)
    out.frequencies.at(static_cast<std::size_t>(i)) =
        std::pow(10000.0, -static_cast<double>(i) / static_cast<double>(pairs));
  return out;
}

/// cols: of a head. Positions up to 2²⁰, where fp32 angles would be wrong.
void rotations(Bench& b, Size s, bool interleaved) {
  std::vector<std::int32_t> positions;
  for (std::int64_t r = 0; r < s.rows; ++r) positions.push_back(r % 3 == 0 ? b.pick(1 << 20) : b.pick(100));
  const View places = b.ids(positions);
  for (const bool inverse : {false, true}) {
    const View x = b.data(s.rows, 3 * s.cols);
    b.device.rope(x, places, rotation(s.cols, s.cols / 2, 1, interleaved), inverse);
    b.result(inverse ? "turned back" : "turned", x);
    if (s.cols < 4) continue;
    // Half of a head's columns, stretched; then the last of them.
    Rotation half = rotation(s.cols, s.cols / 4, 1.3, interleaved);
    b.device.rope(x, places, half, inverse);
    b.result(inverse ? "half turned back" : "half turned", x);
    half.first = s.cols - 2 * half.pairs;
    b.device.rope(x, places, half, inverse);
    b.result(inverse ? "end turned back" : "end turned", x);
  }
}

void activations(Bench& b, Size s, const ActivationForm& form) {
  const std::int64_t cols = form.gated ? 2 * s.cols : s.cols;
  const View x = b.data(s.rows, cols, 3), act = b.new_data(s.rows, s.cols);
  b.device.activation(form, x, act);
  b.result("activation", act);
  const View d_act = b.data(s.rows, s.cols), d = b.new_data(s.rows, cols);
  b.device.activation_backward(form, d_act, x, d);
  b.result("gradient", d);
  b.device.activation_backward(form, d_act, x, x);
  b.result("gradient in place", x);
}

}  // namespace

std::vector<Operation> layer_operations() {
  std::vector<Operation> all;
  // The gradient through a norm of one column is the rounding of what cancels.
  const std::vector<Size> without_one{{0, 8}, {1, 8}, {3, 13}, {5, 40}, {70, 272}, {2, 2059}};
  for (const NormCase& which : norm_cases()) {
    all.push_back({"norm_" + which.name, which.form.accumulate ? kSizes : without_one,
                   [which](Bench& b, Size s) { norms(b, s, which); }});
  }
  for (const bool interleaved : {false, true}) {
    all.push_back({interleaved ? "rope_interleaved" : "rope",
                   {{0, 2}, {1, 2}, {5, 6}, {9, 16}, {33, 64}, {3, 128}},
                   [interleaved](Bench& b, Size s) { rotations(b, s, interleaved); }});
  }
  constexpr std::pair<ActivationKind, const char*> kKinds[] = {
      {ActivationKind::Silu, "silu"},          {ActivationKind::GeluExact, "gelu"},
      {ActivationKind::GeluTanh, "gelu_tanh"}, {ActivationKind::GeluQuick, "gelu_quick"},
      {ActivationKind::Relu, "relu"},          {ActivationKind::ReluSquared, "relu_squared"}};
  for (const auto& [kind, name] : kKinds) {
    for (const bool gated : {false, true}) {
      all.push_back({std::string{name} + (gated ? "_gated" : ""), kSizes,
                     [form = ActivationForm{.kind = kind, .gated = gated}](Bench& b, Size s) {
                       activations(b, s, form);
                     }});
    }
  }
  all.push_back({"gelu_quick_clamped", kSizes, [](Bench& b, Size s) {
                   activations(b, s, {.kind = ActivationKind::GeluQuick, .clamp = 2.5});
                 }});
  return all;
}

}  // namespace hexaplan::tests
