#include <bit>
#include <cassert>

#include "validator/executor/device/cpu/kernels/noise.h"
#include "validator/executor/device/cuda/kernels/spread.h"
#include "validator/executor/device/device.h"
#include "validator/executor/device/e4m3.h"
#include "validator/executor/device/element_functions.h"

namespace hexaplan::validator::cuda {
namespace {

struct Fill {
  using TakesWords = void;
  View to;
  float value;
  template <int kCount>
  HEXAPLAN_DEVICE void run(std::int64_t r, std::int64_t c) const {
    Pack<kCount> out;
    for (int i = 0; i < kCount; ++i) out.at[i] = value;
    store(to, r, c, out);
  }
};

HEXAPLAN_DEVICE void store_e4m3(std::byte* row, std::int64_t c, float x) {
  reinterpret_cast<std::uint8_t*>(row)[c] = e4m3_of_float_bits(bits_of<std::uint32_t>(x));
}

HEXAPLAN_DEVICE double read(const View& v, std::int64_t r, std::int64_t c) {
  const std::byte* row = row_of(v, r);
  if (v.element == Element::F64) return reinterpret_cast<const double*>(row)[c];
  if (v.element == Element::I32) return reinterpret_cast<const std::int32_t*>(row)[c];
  if (v.element == Element::U8) return reinterpret_cast<const std::uint8_t*>(row)[c];
  if (v.element == Element::E4m3) {
    const std::uint32_t bits = float_bits_of_e4m3(reinterpret_cast<const std::uint8_t*>(row)[c]);
    return static_cast<double>(bits_of<float>(bits));
  }
  return static_cast<double>(load(v, r, c));
}
HEXAPLAN_DEVICE void write(const View& v, std::int64_t r, std::int64_t c, double x) {
  std::byte* row = row_of(v, r);
  if (v.element == Element::F64) {
    reinterpret_cast<double*>(row)[c] = x;
  } else if (v.element == Element::I32) {
    reinterpret_cast<std::int32_t*>(row)[c] = static_cast<std::int32_t>(x);
  } else if (v.element == Element::U8) {
    reinterpret_cast<std::uint8_t*>(row)[c] = static_cast<std::uint8_t>(x);
  } else if (v.element == Element::E4m3) {
    store_e4m3(row, c, static_cast<float>(x));
  } else {
    store(v, r, c, static_cast<float>(x));
  }
}

/// Codes, one by one.
struct FillCodes {
  View to;
  double value;
  template <int kCount>
  HEXAPLAN_DEVICE void run(std::int64_t r, std::int64_t c) const {
    for (int i = 0; i < kCount; ++i) write(to, r, c + i, value);
  }
};

/// Between fp32, bf16 and fp16, or what is stored alike (ids pass through as fp32 words).
struct Convert {
  using TakesWords = void;
  View to, from;
  template <int kCount>
  HEXAPLAN_DEVICE void run(std::int64_t r, std::int64_t c) const {
    store(to, r, c, load<kCount>(from, r, c));
  }
};
struct ConvertAny {
  View to, from;
  template <int kCount>
  HEXAPLAN_DEVICE void run(std::int64_t r, std::int64_t c) const {
    for (int i = 0; i < kCount; ++i) write(to, r, c + i, read(from, r, c + i));
  }
};

struct Add {
  using TakesWords = void;
  View to, other;
  HEXAPLAN_DEVICE void assume(Element element) { to.element = other.element = element; }
  template <int kCount>
  HEXAPLAN_DEVICE void run(std::int64_t r, std::int64_t c) const {
    Pack<kCount> sum = load<kCount>(to, r, c);
    const Pack<kCount> addend = load<kCount>(other, r, c);
    for (int i = 0; i < kCount; ++i) sum.at[i] += addend.at[i];
    store(to, r, c, sum);
  }
};

struct Scale {
  View x;
  float factor;
  template <int kCount>
  HEXAPLAN_DEVICE void run(std::int64_t r, std::int64_t c) const {
    Pack<kCount> out = load<kCount>(x, r, c);
    for (int i = 0; i < kCount; ++i) out.at[i] *= factor;
    store(x, r, c, out);
  }
};

struct ScaleRows {
  View x, factors;
  template <int kCount>
  HEXAPLAN_DEVICE void run(std::int64_t r, std::int64_t c) const {
    Pack<kCount> out = load<kCount>(x, r, c);
    const float factor = vector_at(factors, r);
    for (int i = 0; i < kCount; ++i) out.at[i] *= factor;
    store(x, r, c, out);
  }
};

struct ScaleColumns {
  View x, factors;
  template <int kCount>
  HEXAPLAN_DEVICE void run(std::int64_t r, std::int64_t c) const {
    Pack<kCount> out = load<kCount>(x, r, c);
    const Pack<kCount> by = load<kCount>(factors, 0, c);
    for (int i = 0; i < kCount; ++i) out.at[i] *= by.at[i];
    store(x, r, c, out);
  }
};

struct AddBias {
  View x, bias;
  template <int kCount>
  HEXAPLAN_DEVICE void run(std::int64_t r, std::int64_t c) const {
    Pack<kCount> out = load<kCount>(x, r, c);
    const Pack<kCount> addend = load<kCount>(bias, 0, c);
    for (int i = 0; i < kCount; ++i) out.at[i] += addend.at[i];
    store(x, r, c, out);
  }
};

struct SoftCap {
  View x;
  float cap;
  template <int kCount>
  HEXAPLAN_DEVICE void run(std::int64_t r, std::int64_t c) const {
    Pack<kCount> out = load<kCount>(x, r, c);
    for (int i = 0; i < kCount; ++i) out.at[i] = cap * tanhf(out.at[i] / cap);
    store(x, r, c, out);
  }
};
struct SoftCapBackward {
  View y;
  float cap;
  View d;
  template <int kCount>
  HEXAPLAN_DEVICE void run(std::int64_t r, std::int64_t c) const {
    const Pack<kCount> capped = load<kCount>(y, r, c);
    Pack<kCount> out = load<kCount>(d, r, c);
    for (int i = 0; i < kCount; ++i) out.at[i] *= 1 - capped.at[i] / cap * (capped.at[i] / cap);
    store(d, r, c, out);
  }
};

struct Clip {
  View x;
  float limit;
  template <int kCount>
  HEXAPLAN_DEVICE void run(std::int64_t r, std::int64_t c) const {
    Pack<kCount> out = load<kCount>(x, r, c);
    for (int i = 0; i < kCount; ++i) out.at[i] = fmaxf(fminf(out.at[i], limit), -limit);
    store(x, r, c, out);
  }
};
struct ClipBackward {
  View x;
  float limit;
  View d;
  template <int kCount>
  HEXAPLAN_DEVICE void run(std::int64_t r, std::int64_t c) const {
    const Pack<kCount> in = load<kCount>(x, r, c);
    Pack<kCount> out = load<kCount>(d, r, c);
    for (int i = 0; i < kCount; ++i) out.at[i] = fabsf(in.at[i]) <= limit ? out.at[i] : 0;
    store(d, r, c, out);
  }
};

template <int kCount>
HEXAPLAN_DEVICE Pack<kCount> load_if_there(const View& v, std::int64_t r, std::int64_t c) {
  return v.data != nullptr ? load<kCount>(v, r, c) : Pack<kCount>{};
}
/// The function is the same for a whole launch, so that its branch costs nothing beside the memory.
struct Pointwise {
  costmodel::program::Function f;
  View a, b, out;
  template <int kCount>
  HEXAPLAN_DEVICE void run(std::int64_t r, std::int64_t c) const {
    Pack<kCount> of = load<kCount>(a, r, c);
    const Pack<kCount> other = load_if_there<kCount>(b, r, c);
    for (int i = 0; i < kCount; ++i) of.at[i] = point_of(f, of.at[i], other.at[i]).value;
    store(out, r, c, of);
  }
};
struct PointwiseBackward {
  costmodel::program::Function f;
  View d_out, a, b, da, db;
  template <int kCount>
  HEXAPLAN_DEVICE void run(std::int64_t r, std::int64_t c) const {
    const Pack<kCount> d = load<kCount>(d_out, r, c);
    Pack<kCount> first = load<kCount>(a, r, c), second = load_if_there<kCount>(b, r, c);
    for (int i = 0; i < kCount; ++i) {
      const ValueAndSlopes<float> at = point_of(f, first.at[i], second.at[i]);
      first.at[i] = d.at[i] * at.in_a;
      second.at[i] = d.at[i] * at.in_b;
    }
    store(da, r, c, first);
    if (db.data != nullptr) store(db, r, c, second);
  }
};

HEXAPLAN_DEVICE float gate_at(const View& gates, std::int64_t r) {
  return 1 / (1 + expf(-vector_at(gates, r)));
}
struct GateRows {
  View gates, x, out;
  template <int kCount>
  HEXAPLAN_DEVICE void run(std::int64_t r, std::int64_t c) const {
    Pack<kCount> gated = load<kCount>(x, r, c);
    const float open = gate_at(gates, r);
    for (int i = 0; i < kCount; ++i) gated.at[i] *= open;
    store(out, r, c, gated);
  }
};
/// One block per row.
HEXAPLAN_KERNEL gate_gradients(View d_out, View gates, View x, View dx, View d_gates, bool in_packs) {
  for (std::int64_t r = blockIdx.x; r < x.rows; r += gridDim.x) {
    const float open = gate_at(gates, r);
    float sum = 0;
    for_columns(x.cols, in_packs, threadIdx.x, blockDim.x, [&](auto width, std::int64_t c) {
      constexpr int kCount = decltype(width)::kValue;
      Pack<kCount> d = load<kCount>(d_out, r, c);
      const Pack<kCount> in = load<kCount>(x, r, c);
      for (int i = 0; i < kCount; ++i) {
        sum += d.at[i] * in.at[i];
        d.at[i] *= open;
      }
      store(dx, r, c, d);
    });
    sum = over_block(sum);
    if (threadIdx.x == 0) set_vector(d_gates, r, open * (1 - open) * sum);
  }
}

/// Parts travel as arguments of the kernel, of which there are 4 KB.
constexpr std::size_t kMostParts = 128;
struct ReduceParts {
  std::byte* parts[kMostParts];
  View to;
  int count;
  bool maximum;

  template <int kCount>
  HEXAPLAN_DEVICE void run(std::int64_t /*row*/, std::int64_t c) const {
    if (to.element == Element::I32) return integers_of<kCount>(c);
    Pack<kCount> out = load<kCount>(parts[0], to.element, c);
    for (int p = 1; p < count; ++p) {
      const Pack<kCount> part = load<kCount>(parts[p], to.element, c);
      for (int i = 0; i < kCount; ++i)
        out.at[i] = maximum ? fmaxf(out.at[i], part.at[i]) : out.at[i] + part.at[i];
    }
    store(to, 0, c, out);
  }
  template <int kCount>
  HEXAPLAN_DEVICE void integers_of(std::int64_t c) const {
    for (std::int64_t i = c; i < c + kCount; ++i) {
      std::int32_t value = reinterpret_cast<const std::int32_t*>(parts[0])[i];
      for (int p = 1; p < count; ++p) {
        const std::int32_t part = reinterpret_cast<const std::int32_t*>(parts[p])[i];
        value = !maximum ? value + part : value > part ? value : part;
      }
      reinterpret_cast<std::int32_t*>(to.data)[i] = value;
    }
  }
};

struct Noise {
  View to;
  std::uint64_t seed;
  std::int64_t cols;  // of a row before it was laid flat
  double scale;
  template <int kCount>
  HEXAPLAN_DEVICE void run(std::int64_t r, std::int64_t c) const {
    Pack<kCount> out;
    for (int i = 0; i < kCount; ++i) {
      const auto place = static_cast<std::uint64_t>(r * cols + c + i);
      out.at[i] = static_cast<float>(scale * validator::kernels::noise(seed, place));
    }
    if (to.element != Element::E4m3) return store(to, r, c, out);
    for (int i = 0; i < kCount; ++i) store_e4m3(row_of(to, r), c + i, out.at[i]);
  }
};

/// Σ x² of a block's elements.
HEXAPLAN_KERNEL squares_of_blocks(View x, bool in_packs, double* sums) {
  double mine = 0;
  const std::int64_t thread = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  for (std::int64_t r = 0; r < x.rows; ++r) {
    for_columns(x.cols, in_packs, thread, std::int64_t{gridDim.x} * blockDim.x,
                [&](auto width, std::int64_t c) {
                  constexpr int kCount = decltype(width)::kValue;
                  const Pack<kCount> in = load<kCount>(x, r, c);
                  float squares = 0;
                  for (int i = 0; i < kCount; ++i) squares += in.at[i] * in.at[i];
                  mine += static_cast<double>(squares);
                });
  }
  const double all = over_block(mine);
  if (threadIdx.x == 0) sums[blockIdx.x] = all;
}
HEXAPLAN_KERNEL add_squares(const double* sums, unsigned count, View sum) {
  double mine = 0;
  for (unsigned i = threadIdx.x; i < count; i += blockDim.x) mine += sums[i];
  const double all = over_block(mine);
  if (threadIdx.x == 0) set_vector(sum, 0, static_cast<float>(static_cast<double>(vector_at(sum, 0)) + all));
}

bool is_float(Element element) {
  return element == Element::F32 || element == Element::Bf16 || element == Element::F16;
}

}  // namespace

void copy(const Queue& queue, const View& to, const View& from) {
  assert(to.rows == from.rows && to.cols == from.cols);
  View target = to, source = from;
  flatten(target, source);
  const bool ids = to.element == Element::I32 && from.element == Element::I32;
  if (ids) target.element = source.element = Element::F32;
  const bool direct = is_float(target.element) && is_float(source.element);
  if (direct) {
    // What is written in words decides: halves of them are read without loss.
    const Format format{.in_packs = packed({target, source}), .words = bytes_of(target.element) == 4};
    launch_elementwise(queue, "copy", target.rows, target.cols, format, Convert{target, source});
  } else {
    launch_elementwise(queue, "copy", target.rows, target.cols, false, ConvertAny{target, source});
  }
}

void fill(const Queue& queue, const View& to, double value) {
  assert(to.element != Element::E4m3);
  View target = flat(to);
  if (to.element == Element::U8)
    return launch_elementwise(queue, "fill", target.rows, target.cols, false, FillCodes{target, value});
  auto bits = static_cast<float>(value);
  if (to.element == Element::I32) {  // written as the fp32 word with the same bits
    bits = std::bit_cast<float>(static_cast<std::int32_t>(value));
    target.element = Element::F32;
  }
  launch_elementwise(queue, "fill", target.rows, target.cols, format_of({target}), Fill{target, bits});
}

void reduce_parts(const Queue& queue, std::span<const View> parts, Reduction reduction, const View& to) {
  assert(!parts.empty() && parts.size() <= kMostParts && to.contiguous());
  ReduceParts operation{
      .to = flat(to), .count = static_cast<int>(parts.size()), .maximum = reduction == Reduction::Max};
  bool in_packs = packed({operation.to});
  for (std::size_t i = 0; i < parts.size(); ++i) {
    assert(parts[i].contiguous() && parts[i].elements() == to.elements() && parts[i].element == to.element);
    operation.parts[i] = parts[i].data;
    in_packs = in_packs && packed({flat(parts[i])});
  }
  launch_elementwise(queue, "reduce_parts", 1, to.elements(), in_packs, operation);
}

void fill_noise(const Queue& queue, const View& to, std::uint64_t seed, double scale) {
  assert(is_float(to.element) || to.element == Element::E4m3);
  const View target = flat(to);
  launch_elementwise(queue, "fill_noise", target.rows, target.cols, packed({target}),
                     Noise{target, seed, to.cols, scale});
}

void add(const Queue& queue, const View& to, const View& other) {
  assert(to.rows == other.rows && to.cols == other.cols);
  View target = to, addend = other;
  flatten(target, addend);
  launch_elementwise(queue, "add", target.rows, target.cols, format_of({target, addend}),
                     Add{target, addend});
}

void scale(const Queue& queue, const View& x, double factor) {
  const View target = flat(x);
  launch_elementwise(queue, "scale", target.rows, target.cols, packed({target}),
                     Scale{target, static_cast<float>(factor)});
}

void scale_rows(const Queue& queue, const View& x, const View& factors) {
  assert(factors.elements() == x.rows);
  launch_elementwise(queue, "scale_rows", x.rows, x.cols, packed({x}), ScaleRows{x, factors});
}

void add_bias(const Queue& queue, const View& x, const View& bias) {
  assert(bias.elements() == x.cols);
  launch_elementwise(queue, "add_bias", x.rows, x.cols, packed({x, bias}), AddBias{x, bias});
}

void scale_columns(const Queue& queue, const View& x, const View& factors) {
  assert(factors.elements() == x.cols);
  const View row = flat(factors);
  launch_elementwise(queue, "scale_columns", x.rows, x.cols, packed({x, row}), ScaleColumns{x, row});
}

void soft_cap(const Queue& queue, const View& x, double cap) {
  const View target = flat(x);
  launch_elementwise(queue, "soft_cap", target.rows, target.cols, packed({target}),
                     SoftCap{target, static_cast<float>(cap)});
}

void soft_cap_backward(const Queue& queue, const View& y, double cap, const View& d) {
  assert(y.rows == d.rows && y.cols == d.cols);
  View capped = y, target = d;
  flatten(capped, target);
  launch_elementwise(queue, "soft_cap_backward", target.rows, target.cols, packed({capped, target}),
                     SoftCapBackward{capped, static_cast<float>(cap), target});
}

void clip(const Queue& queue, const View& x, double limit) {
  const View target = flat(x);
  launch_elementwise(queue, "clip", target.rows, target.cols, packed({target}),
                     Clip{target, static_cast<float>(limit)});
}

void clip_backward(const Queue& queue, const View& x, double limit, const View& d) {
  assert(x.rows == d.rows && x.cols == d.cols);
  View in = x, target = d;
  flatten(in, target);
  launch_elementwise(queue, "clip_backward", target.rows, target.cols, packed({in, target}),
                     ClipBackward{in, static_cast<float>(limit), target});
}

void gate_rows(const Queue& queue, const View& gates, const View& x, const View& out) {
  assert(gates.elements() == x.rows && out.cols == x.cols);
  launch_elementwise(queue, "gate_rows", x.rows, x.cols, packed({x, out}), GateRows{gates, x, out});
}

void gate_rows_backward(const Queue& queue, const View& d_out, const View& gates, const View& x,
                        const View& dx, const View& d_gates) {
  assert(gates.elements() == x.rows && d_gates.elements() == x.rows && d_out.cols == x.cols);
  launch(queue, by_rows("gate_rows_backward", x.rows, x.cols), gate_gradients, d_out, gates, x, dx, d_gates,
         packed({d_out, x, dx}));
}

void pointwise(const Queue& queue, costmodel::program::Function f, const View& a, const View& b,
               const View& out) {
  assert(a.rows == out.rows && a.cols == out.cols);
  launch_elementwise(queue, "pointwise", a.rows, a.cols, packed({a, b, out}), Pointwise{f, a, b, out});
}

void pointwise_backward(const Queue& queue, costmodel::program::Function f, const View& d_out, const View& a,
                        const View& b, const View& da, const View& db) {
  assert(a.rows == d_out.rows && a.cols == d_out.cols);
  launch_elementwise(queue, "pointwise_backward", a.rows, a.cols, packed({d_out, a, b, da, db}),
                     PointwiseBackward{f, d_out, a, b, da, db});
}

void squared_norm(const Queue& queue, const View& x, const View& sum) {
  const View in = flat(x);
  if (in.elements() == 0) return;
  constexpr std::int64_t kMostBlocks = 1024;
  const unsigned blocks =
      as_dim(std::min(ceil_of(in.cols, std::int64_t{kLargestBlock} * kPack), kMostBlocks));
  auto* sums = reinterpret_cast<double*>(queue.scratch);
  launch(queue, {"squared_norm", {blocks, 1, 1}, {kLargestBlock, 1, 1}}, squares_of_blocks, in, packed({in}),
         sums);
  launch(queue, {"squared_norm", {1, 1, 1}, {kLargestBlock, 1, 1}}, add_squares, sums, blocks, sum);
}

}  // namespace hexaplan::validator::cuda
