#include <cassert>

#include "validator/executor/device/cuda/kernels/spread.h"

namespace hexaplan::validator::cuda {
namespace {

HEXAPLAN_DEVICE float sigmoid(float x) {
  return 1 / (1 + expf(-x));
}

struct SwiGlu {
  View gate, up, act;
  template <int kCount>
  HEXAPLAN_DEVICE void run(std::int64_t r, std::int64_t c) const {
    const Pack<kCount> g = load<kCount>(gate, r, c), u = load<kCount>(up, r, c);
    Pack<kCount> out;
    for (int i = 0; i < kCount; ++i) out.at[i] = g.at[i] * sigmoid(g.at[i]) * u.at[i];
    store(act, r, c, out);
  }
};

struct SwiGluBackward {
  View d_act, gate, up, d_gate, d_up;
  template <int kCount>
  HEXAPLAN_DEVICE void run(std::int64_t r, std::int64_t c) const {
    const Pack<kCount> d = load<kCount>(d_act, r, c), g = load<kCount>(gate, r, c),
                       u = load<kCount>(up, r, c);
    Pack<kCount> dg, du;
    for (int i = 0; i < kCount; ++i) {
      const float s = sigmoid(g.at[i]);
      dg.at[i] = d.at[i] * u.at[i] * s * (1 + g.at[i] * (1 - s));
      du.at[i] = d.at[i] * g.at[i] * s;
    }
    store(d_gate, r, c, dg);
    store(d_up, r, c, du);
  }
};

}  // namespace

void swiglu(const Queue& queue, const View& gate_up, const View& act) {
  const std::int64_t f = act.cols;
  assert(gate_up.cols == 2 * f && gate_up.rows == act.rows);
  const SwiGlu operation{gate_up.column_range(0, f), gate_up.column_range(f, f), act};
  launch_elementwise(queue, "swiglu", act.rows, f, packed({operation.gate, operation.up, act}), operation);
}

void swiglu_backward(const Queue& queue, const View& d_act, const View& gate_up, const View& d_gate_up) {
  const std::int64_t f = d_act.cols;
  assert(gate_up.cols == 2 * f && gate_up.rows == d_act.rows && d_gate_up.cols == 2 * f);
  const SwiGluBackward operation{d_act, gate_up.column_range(0, f), gate_up.column_range(f, f),
                                 d_gate_up.column_range(0, f), d_gate_up.column_range(f, f)};
  const bool in_packs = packed({d_act, operation.gate, operation.up, operation.d_gate, operation.d_up});
  launch_elementwise(queue, "swiglu_backward", d_act.rows, f, in_packs, operation);
}

}  // namespace hexaplan::validator::cuda
