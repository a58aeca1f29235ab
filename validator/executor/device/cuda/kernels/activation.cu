#include <cassert>

#include "validator/executor/device/cuda/kernels/spread.h"
#include "validator/executor/device/operation_forms.h"

namespace hexaplan::validator::cuda {
namespace {

/// On the GPU by its approximate units, 2 ulp each: with full division and exponential SwiGLU computed longer
/// than its operands take to come (H200: 2.1 of 4.2 TB/s).
HEXAPLAN_DEVICE float sigmoid(float x) {
#ifdef __CUDA_ARCH__
  return __fdividef(1.0F, 1.0F + __expf(-x));
#else
  return 1 / (1 + expf(-x));
#endif
}

/// A function and its slope at one place.
struct ValueAndSlope {
  float value, slope;
};
HEXAPLAN_DEVICE ValueAndSlope sigmoid_unit(float x, float steepness) {
  const float s = sigmoid(steepness * x);
  return {x * s, s * (1 + steepness * x * (1 - s))};
}
HEXAPLAN_DEVICE ValueAndSlope gelu_exact(float x) {
  constexpr float kRootOfHalf = 0.70710678118654752F, kDensityAtZero = 0.39894228040143268F;
  const float cumulative = (1 + erff(x * kRootOfHalf)) / 2;
  return {x * cumulative, cumulative + x * kDensityAtZero * expf(-x * x / 2)};
}
HEXAPLAN_DEVICE ValueAndSlope gelu_tanh(float x) {
  constexpr float kScale = 0.79788456080286536F, kCube = 0.044715F;  // √(2/π); arXiv:1606.08415 §2
  const float t = tanhf(kScale * (x + kCube * x * x * x));
  return {x * (1 + t) / 2, (1 + t + x * (1 - t * t) * kScale * (1 + 3 * kCube * x * x)) / 2};
}
/// The kind is the same for a whole launch, so that the branch costs nothing beside the memory.
HEXAPLAN_DEVICE ValueAndSlope of_kind(ActivationKind kind, float x) {
  const float positive = x > 0 ? x : 0;
  switch (kind) {
    case ActivationKind::Silu:
      return sigmoid_unit(x, 1);
    case ActivationKind::GeluExact:
      return gelu_exact(x);
    case ActivationKind::GeluTanh:
      return gelu_tanh(x);
    case ActivationKind::GeluQuick:
      return sigmoid_unit(x, 1.702F);
    case ActivationKind::Relu:
      return {positive, x > 0 ? 1.0F : 0.0F};
    case ActivationKind::ReluSquared:
      break;
  }
  return {positive * positive, 2 * positive};
}

struct Plain {
  ActivationKind kind;
  View x, act;
  template <int kCount>
  HEXAPLAN_DEVICE void run(std::int64_t r, std::int64_t c) const {
    Pack<kCount> out = load<kCount>(x, r, c);
    for (int i = 0; i < kCount; ++i) out.at[i] = of_kind(kind, out.at[i]).value;
    store(act, r, c, out);
  }
};
struct PlainBackward {
  ActivationKind kind;
  View d_act, x, dx;
  template <int kCount>
  HEXAPLAN_DEVICE void run(std::int64_t r, std::int64_t c) const {
    Pack<kCount> out = load<kCount>(d_act, r, c);
    const Pack<kCount> in = load<kCount>(x, r, c);
    for (int i = 0; i < kCount; ++i) out.at[i] *= of_kind(kind, in.at[i]).slope;
    store(dx, r, c, out);
  }
};

/// What a clamp makes of gate and up.
struct Clamp {
  float limit, offset;
  HEXAPLAN_DEVICE float gate(float g) const { return fminf(g, limit); }
  HEXAPLAN_DEVICE float up(float u) const { return fmaxf(fminf(u, limit), -limit) + offset; }
};
Clamp clamp_of(const ActivationForm& form) {
  return form.clamp > 0 ? Clamp{static_cast<float>(form.clamp), 1} : Clamp{-kNothing, 0};
}

struct Gated {
  ActivationKind kind;
  Clamp clamp;
  View gate, up, act;
  HEXAPLAN_DEVICE void assume(Element element) { gate.element = up.element = act.element = element; }
  template <int kCount>
  HEXAPLAN_DEVICE void run(std::int64_t r, std::int64_t c) const {
    const Pack<kCount> g = load<kCount>(gate, r, c), u = load<kCount>(up, r, c);
    Pack<kCount> out;
    for (int i = 0; i < kCount; ++i) out.at[i] = of_kind(kind, clamp.gate(g.at[i])).value * clamp.up(u.at[i]);
    store(act, r, c, out);
  }
};
struct GatedBackward {
  ActivationKind kind;
  Clamp clamp;
  View d_act, gate, up, d_gate, d_up;
  HEXAPLAN_DEVICE void assume(Element element) {
    d_act.element = gate.element = up.element = d_gate.element = d_up.element = element;
  }
  template <int kCount>
  HEXAPLAN_DEVICE void run(std::int64_t r, std::int64_t c) const {
    const Pack<kCount> d = load<kCount>(d_act, r, c), g = load<kCount>(gate, r, c),
                       u = load<kCount>(up, r, c);
    Pack<kCount> dg, du;
    for (int i = 0; i < kCount; ++i) {
      const ValueAndSlope f = of_kind(kind, clamp.gate(g.at[i]));
      dg.at[i] = g.at[i] <= clamp.limit ? d.at[i] * clamp.up(u.at[i]) * f.slope : 0;
      du.at[i] = fabsf(u.at[i]) <= clamp.limit ? d.at[i] * f.value : 0;
    }
    store(d_gate, r, c, dg);
    store(d_up, r, c, du);
  }
};

}  // namespace

void activation(const Queue& queue, const ActivationForm& form, const View& x, const View& act) {
  const std::int64_t f = act.cols;
  assert(x.cols == (form.gated ? 2 : 1) * f && x.rows == act.rows);
  if (!form.gated) {
    const Plain operation{form.kind, x, act};
    return launch_elementwise(queue, "activation", act.rows, f, packed({x, act}), operation);
  }
  const Gated operation{form.kind, clamp_of(form), x.column_range(0, f), x.column_range(f, f), act};
  launch_elementwise(queue, "activation", act.rows, f, format_of({operation.gate, operation.up, act}),
                     operation);
}

void activation_backward(const Queue& queue, const ActivationForm& form, const View& d_act, const View& x,
                         const View& dx) {
  const std::int64_t f = d_act.cols;
  assert(x.cols == (form.gated ? 2 : 1) * f && x.rows == d_act.rows && dx.cols == x.cols);
  if (!form.gated) {
    const PlainBackward operation{form.kind, d_act, x, dx};
    return launch_elementwise(queue, "activation_backward", d_act.rows, f, packed({d_act, x, dx}), operation);
  }
  const GatedBackward operation{form.kind,
                                clamp_of(form),
                                d_act,
                                x.column_range(0, f),
                                x.column_range(f, f),
                                dx.column_range(0, f),
                                dx.column_range(f, f)};
  launch_elementwise(queue, "activation_backward", d_act.rows, f,
                     format_of({d_act, operation.gate, operation.up, operation.d_gate, operation.d_up}),
                     operation);
}

}  // namespace hexaplan::validator::cuda
