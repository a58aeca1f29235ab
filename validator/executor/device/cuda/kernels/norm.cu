#include <cassert>

#include "validator/executor/device/cuda/kernels/column_partials.h"
#include "validator/executor/device/operation_forms.h"

namespace hexaplan::validator::cuda {
namespace {

/// One group of columns of one row is an item: blocks take them in turn, row after row.
struct Groups {
  std::int64_t count, width;  // per row
  float epsilon, offset;      // offset: what is added to the weight
  bool layer;
};
Groups groups_of(const NormForm& form, const View& x) {
  const std::int64_t count = form.groups(x.cols);
  return {count, x.cols / count, static_cast<float>(form.epsilon), form.zero_centered ? 1.0F : 0.0F,
          form.kind == costmodel::NormKind::Layer};
}

/// Where an item lies.
struct Item {
  std::int64_t row, group, first;  // first: of the group's columns
};
HEXAPLAN_DEVICE Item item_at(const Groups& groups, std::int64_t i) {
  if (groups.count == 1) return {i, 0, 0};  // no division, which takes as long as a load
  const std::int64_t row = i / groups.count, group = i % groups.count;
  return {row, group, group * groups.width};
}

/// What x̂ = (x − mean)·rstd takes.
struct Statistics {
  float mean, rstd;
};
HEXAPLAN_DEVICE Statistics load_statistics(const Groups& groups, const View& v, std::int64_t r,
                                           std::int64_t g) {
  if (!groups.layer) return {0, load(v, r, g)};
  return {load(v, r, 2 * g), load(v, r, 2 * g + 1)};
}
HEXAPLAN_DEVICE void store_statistics(const Groups& groups, const View& v, std::int64_t r, std::int64_t g,
                                      const Statistics& s) {
  if (groups.layer) store(v, r, 2 * g, s.mean);
  store(v, r, groups.layer ? 2 * g + 1 : g, s.rstd);
}

/// What x̂ is multiplied by, at columns of a group.
template <int kCount>
HEXAPLAN_DEVICE Pack<kCount> factors_at(const Groups& groups, const View& weight, std::int64_t c) {
  Pack<kCount> out;
  if (weight.data != nullptr) out = load<kCount>(weight, 0, c);
  for (int i = 0; i < kCount; ++i) out.at[i] = weight.data != nullptr ? groups.offset + out.at[i] : 1;
  return out;
}

/// Calls body(Width, c) for the columns of a group that this thread has.
template <class Body>
HEXAPLAN_DEVICE void for_group(const Groups& groups, bool in_packs, const Body& body) {
  for_columns(groups.width, in_packs, threadIdx.x, blockDim.x, body);
}

/// All threads call it.
HEXAPLAN_DEVICE Statistics statistics_of(const Groups& groups, const View& x, std::int64_t r,
                                         std::int64_t first, bool in_packs) {
  const auto width = static_cast<float>(groups.width);
  float sum = 0, squares = 0;
  if (groups.layer) {
    for_group(groups, in_packs, [&](auto wide, std::int64_t c) {
      constexpr int kCount = decltype(wide)::kValue;
      const Pack<kCount> in = load<kCount>(x, r, first + c);
      for (int i = 0; i < kCount; ++i) sum += in.at[i];
    });
    sum = over_block(sum);
  }
  const float mean = sum / width;
  for_group(groups, in_packs, [&](auto wide, std::int64_t c) {
    constexpr int kCount = decltype(wide)::kValue;
    const Pack<kCount> in = load<kCount>(x, r, first + c);
    for (int i = 0; i < kCount; ++i) squares += (in.at[i] - mean) * (in.at[i] - mean);
  });
  return {mean, 1 / sqrtf(over_block(squares) / width + groups.epsilon)};
}

/// Packs of a row that a thread holds in registers: k·blockDim.x packs apart. All loads of a row are under
/// way before the first is used, and none is repeated.
template <int kHeld, bool kBf16>
struct Held {
  Kept<kPack, kBf16> at[kHeld];
};
template <int kHeld, class Body>
HEXAPLAN_DEVICE void for_held(const Groups& groups, const Body& body) {
  HEXAPLAN_UNROLL
  for (int k = 0; k < kHeld; ++k) {
    const std::int64_t c = (threadIdx.x + k * std::int64_t{blockDim.x}) * kPack;
    if (c < groups.width) body(k, c);
  }
}
template <int kHeld, bool kBf16>
HEXAPLAN_DEVICE Held<kHeld, kBf16> hold(const Groups& groups, const View& v, std::int64_t r,
                                        std::int64_t first) {
  Held<kHeld, kBf16> out{};
  for_held<kHeld>(groups, [&](int k, std::int64_t c) { out.at[k] = keep<kPack, kBf16>(v, r, first + c); });
  return out;
}

template <int kHeld, bool kBf16>
HEXAPLAN_KERNEL norm_held(Groups groups, View x, View weight, View bias, View y, View statistics) {
  if constexpr (kBf16) x.element = weight.element = bias.element = y.element = Element::Bf16;
  const auto width = static_cast<float>(groups.width);
  for (std::int64_t item = blockIdx.x; item < x.rows * groups.count; item += gridDim.x) {
    const Item at = item_at(groups, item);
    const Held<kHeld, kBf16> in = hold<kHeld, kBf16>(groups, x, at.row, at.first);
    Statistics s{0, 0};
    if (groups.layer) {
      for_held<kHeld>(groups, [&](int k, std::int64_t) {
        const Pack<kPack> of = numbers_of(in.at[k]);
        for (int i = 0; i < kPack; ++i) s.mean += of.at[i];
      });
      s.mean = over_block(s.mean) / width;
    }
    float squares = 0;
    for_held<kHeld>(groups, [&](int k, std::int64_t) {
      const Pack<kPack> of = numbers_of(in.at[k]);
      for (int i = 0; i < kPack; ++i) squares += (of.at[i] - s.mean) * (of.at[i] - s.mean);
    });
    s.rstd = 1 / sqrtf(over_block(squares) / width + groups.epsilon);
    if (threadIdx.x == 0) store_statistics(groups, statistics, at.row, at.group, s);
    for_held<kHeld>(groups, [&](int k, std::int64_t c) {
      const Pack<kPack> of = numbers_of(in.at[k]), w = factors_at<kPack>(groups, weight, c);
      Pack<kPack> out, b{};
      if (bias.data != nullptr) b = load<kPack>(bias, 0, c);
      for (int i = 0; i < kPack; ++i) out.at[i] = (of.at[i] - s.mean) * s.rstd * w.at[i] + b.at[i];
      store(y, at.row, at.first + c, out);
    });
  }
}

/// Rows too wide to be held, or not packed.
HEXAPLAN_KERNEL norm_groups(Groups groups, View x, View weight, View bias, View y, View statistics,
                            bool in_packs) {
  for (std::int64_t item = blockIdx.x; item < x.rows * groups.count; item += gridDim.x) {
    const Item at = item_at(groups, item);
    const Statistics s = statistics_of(groups, x, at.row, at.first, in_packs);
    if (threadIdx.x == 0) store_statistics(groups, statistics, at.row, at.group, s);
    for_group(groups, in_packs, [&](auto wide, std::int64_t c) {
      constexpr int kCount = decltype(wide)::kValue;
      Pack<kCount> out = load<kCount>(x, at.row, at.first + c);
      const Pack<kCount> w = factors_at<kCount>(groups, weight, c);
      Pack<kCount> b{};
      if (bias.data != nullptr) b = load<kCount>(bias, 0, c);
      for (int i = 0; i < kCount; ++i) out.at[i] = (out.at[i] - s.mean) * s.rstd * w.at[i] + b.at[i];
      store(y, at.row, at.first + c, out);
    });
  }
}

/// Where column c + i of a block's share of dweight lies: so that neighbouring threads meet neighbouring
/// words.
HEXAPLAN_DEVICE std::int64_t place_of(std::int64_t c, int i, int count, std::int64_t cols) {
  return count == kPack ? i * (cols / kPack) + c / kPack : c;
}

struct BackwardOperands {
  View dy, x, weight, statistics, dx;
  bool accumulate;
  /// Row b of each: block b's share of dweight and dbias; nullptr: not wanted.
  float *weight_partials, *bias_partials;
};

/// Σ over a group of dy·w·x̂ and of dy·w, on all threads, divided by its width.
struct Means {
  float projection, gradient;
};
HEXAPLAN_DEVICE Means means_of(const Groups& groups, const BackwardOperands& in, const Statistics& s,
                               std::int64_t r, std::int64_t first, bool in_packs) {
  float projection = 0, sum = 0;
  for_group(groups, in_packs, [&](auto wide, std::int64_t c) {
    constexpr int kCount = decltype(wide)::kValue;
    const Pack<kCount> x = load<kCount>(in.x, r, first + c), grad = load<kCount>(in.dy, r, first + c),
                       w = factors_at<kCount>(groups, in.weight, c);
    for (int i = 0; i < kCount; ++i) {
      projection += grad.at[i] * w.at[i] * (x.at[i] - s.mean);
      sum += grad.at[i] * w.at[i];
    }
  });
  const auto width = static_cast<float>(groups.width);
  projection = over_block(projection) * s.rstd / width;
  return {projection, groups.layer ? over_block(sum) / width : 0};
}

HEXAPLAN_KERNEL norm_backward_groups(Groups groups, BackwardOperands in, bool in_packs) {
  float* const weight_share = shared_memory<float>();
  float* const bias_share = weight_share + (in.weight_partials != nullptr ? groups.width : 0);
  const auto columns = [&](const auto& body) { for_group(groups, in_packs, body); };
  columns([&](auto wide, std::int64_t c) {
    constexpr int kCount = decltype(wide)::kValue;
    for (int i = 0; i < kCount; ++i) {
      const std::int64_t place = place_of(c, i, kCount, groups.width);
      if (in.weight_partials != nullptr) weight_share[place] = 0;
      if (in.bias_partials != nullptr) bias_share[place] = 0;
    }
  });
  for (std::int64_t item = blockIdx.x; item < in.x.rows * groups.count; item += gridDim.x) {
    const Item at = item_at(groups, item);
    const Statistics s = load_statistics(groups, in.statistics, at.row, at.group);
    const Means means = means_of(groups, in, s, at.row, at.first, in_packs);
    columns([&](auto wide, std::int64_t c) {
      constexpr int kCount = decltype(wide)::kValue;
      const Pack<kCount> x = load<kCount>(in.x, at.row, at.first + c),
                         grad = load<kCount>(in.dy, at.row, at.first + c),
                         w = factors_at<kCount>(groups, in.weight, c);
      Pack<kCount> out{};
      if (in.accumulate) out = load<kCount>(in.dx, at.row, at.first + c);
      for (int i = 0; i < kCount; ++i) {
        const float normalised = (x.at[i] - s.mean) * s.rstd;
        const std::int64_t place = place_of(c, i, kCount, groups.width);
        if (in.weight_partials != nullptr) weight_share[place] += grad.at[i] * normalised;
        if (in.bias_partials != nullptr) bias_share[place] += grad.at[i];
        out.at[i] += s.rstd * (grad.at[i] * w.at[i] - means.gradient - normalised * means.projection);
      }
      store(in.dx, at.row, at.first + c, out);
    });
  }
  columns([&](auto wide, std::int64_t c) {
    constexpr int kCount = decltype(wide)::kValue;
    for (int i = 0; i < kCount; ++i) {
      const std::int64_t place = place_of(c, i, kCount, groups.width),
                         to = std::int64_t{blockIdx.x} * groups.width + c + i;
      if (in.weight_partials != nullptr) in.weight_partials[to] = weight_share[place];
      if (in.bias_partials != nullptr) in.bias_partials[to] = bias_share[place];
    }
  });
}

/// What the backward of one item reads.
template <int kHeld, bool kBf16>
struct BackwardRow {
  Held<kHeld, kBf16> x, gradient, before;
  Statistics s;
};
template <int kHeld, bool kBf16>
HEXAPLAN_DEVICE BackwardRow<kHeld, kBf16> backward_row(const Groups& groups, const BackwardOperands& in,
                                                       std::int64_t item) {
  const Item at = item_at(groups, item);
  BackwardRow<kHeld, kBf16> row{};
  row.x = hold<kHeld, kBf16>(groups, in.x, at.row, at.first);
  row.gradient = hold<kHeld, kBf16>(groups, in.dy, at.row, at.first);
  if (in.accumulate) row.before = hold<kHeld, kBf16>(groups, in.dx, at.row, at.first);
  row.s = load_statistics(groups, in.statistics, at.row, at.group);
  return row;
}

/// As norm_backward_groups; shares of dweight and dbias stay in registers. The next item is on its way while
/// this one is summed up: few blocks fit the registers, too few to hide the memory behind each other.
template <int kHeld, bool kBf16, bool kBias>
HEXAPLAN_KERNEL norm_backward_held(Groups groups, BackwardOperands in) {
  if constexpr (kBf16) in.dy.element = in.x.element = in.weight.element = in.dx.element = Element::Bf16;
  const auto width = static_cast<float>(groups.width);
  const std::int64_t items = in.x.rows * groups.count;
  Held<kHeld, false> weight_share{}, bias_share{};
  constexpr bool kAhead = kBf16 && kHeld <= 2;  // wider ones have no registers left
  BackwardRow<kHeld, kBf16> next{};
  if (kAhead && blockIdx.x < items) next = backward_row<kHeld, kBf16>(groups, in, blockIdx.x);
  for (std::int64_t item = blockIdx.x; item < items; item += gridDim.x) {
    const auto row = kAhead ? next : backward_row<kHeld, kBf16>(groups, in, item);
    if (kAhead && item + gridDim.x < items) next = backward_row<kHeld, kBf16>(groups, in, item + gridDim.x);
    float projection = 0, sum = 0;
    for_held<kHeld>(groups, [&](int k, std::int64_t c) {
      const Pack<kPack> w = factors_at<kPack>(groups, in.weight, c), x = numbers_of(row.x.at[k]),
                        d = numbers_of(row.gradient.at[k]);
      for (int i = 0; i < kPack; ++i) {
        projection += d.at[i] * w.at[i] * (x.at[i] - row.s.mean);
        sum += d.at[i] * w.at[i];
      }
    });
    const float projected = over_block(projection) * row.s.rstd / width;
    const float mean = groups.layer ? over_block(sum) / width : 0;
    const Item at = item_at(groups, item);
    for_held<kHeld>(groups, [&](int k, std::int64_t c) {
      const Pack<kPack> w = factors_at<kPack>(groups, in.weight, c), x = numbers_of(row.x.at[k]),
                        d = numbers_of(row.gradient.at[k]);
      Pack<kPack> out = numbers_of(row.before.at[k]);
      for (int i = 0; i < kPack; ++i) {
        const float normalised = (x.at[i] - row.s.mean) * row.s.rstd;
        weight_share.at[k].at[i] += d.at[i] * normalised;
        if constexpr (kBias) bias_share.at[k].at[i] += d.at[i];
        out.at[i] += row.s.rstd * (d.at[i] * w.at[i] - mean - normalised * projected);
      }
      store(in.dx, at.row, at.first + c, out);
    });
  }
  for_held<kHeld>(groups, [&](int k, std::int64_t c) {
    const std::int64_t to = std::int64_t{blockIdx.x} * groups.width + c;
    for (int i = 0; i < kPack; ++i) {
      if (in.weight_partials != nullptr) in.weight_partials[to + i] = weight_share.at[k].at[i];
      if constexpr (kBias) in.bias_partials[to + i] = bias_share.at[k].at[i];
    }
  });
}

/// Groups begin at whole packs.
Format format_of_groups(const Groups& groups, std::initializer_list<View> views) {
  Format format = format_of(views);
  format.in_packs = format.in_packs && (groups.count == 1 || groups.width % kPack == 0);
  return format;
}

/// Calls with_held(packs that a thread holds, whether of bf16), or without() where rows cannot be held: of
/// fp32 four packs beside each other would not fit the registers.
template <class WithHeld, class Without>
void by_width(const Groups& groups, const Format& format, const WithHeld& with_held, const Without& without) {
  constexpr std::int64_t kOfBlock = std::int64_t{kLargestBlock} * kPack;
  const bool wide = groups.width > 2 * kOfBlock;
  if (!format.in_packs || groups.width % kPack != 0 || groups.width > (format.bf16 ? 4 : 2) * kOfBlock)
    return without();
  if (wide) return with_held(Width<4>{}, std::true_type{});
  format.bf16 ? with_held(Width<2>{}, std::true_type{}) : with_held(Width<2>{}, std::false_type{});
}
Spread by_held(const char* name, std::int64_t items, std::int64_t width, int held, std::int64_t most) {
  return by_rows(name, items, ceil_of(width, held), most);
}

}  // namespace

void norm(const Queue& queue, const NormForm& form, const View& x, const View& weight, const View& bias,
          const View& y, const View& statistics) {
  const Groups groups = groups_of(form, x);
  assert(groups.count * groups.width == x.cols && statistics.cols == form.statistics(x.cols));
  const Format format = format_of_groups(groups, {x, weight, bias, y});
  const std::int64_t items = x.rows * groups.count;
  by_width(
      groups, format,
      [&](auto held, auto bf16) {
        constexpr int kHeld = decltype(held)::kValue;
        launch(queue, by_held("norm", items, groups.width, kHeld, kManyBlocks), norm_held<kHeld, bf16()>,
               groups, x, weight, bias, y, statistics);
      },
      [&] {
        launch(queue, by_rows("norm", items, groups.width), norm_groups, groups, x, weight, bias, y,
               statistics, format.in_packs);
      });
}

void norm_backward(const Queue& queue, const NormForm& form, const View& dy, const View& x,
                   const View& weight, const View& statistics, const View& dx, const View& dweight,
                   const View& dbias) {
  if (x.elements() == 0) return;
  const Groups groups = groups_of(form, x);
  const bool of_weight = dweight.data != nullptr, of_bias = dbias.data != nullptr;
  const std::int64_t sums = groups.width * ((of_weight ? 1 : 0) + (of_bias ? 1 : 0));
  const std::int64_t items = x.rows * groups.count, most = sums > 0 ? most_partials(sums) : kManyBlocks;
  const auto blocks = static_cast<unsigned>(std::min(items, most));
  auto* const partials = reinterpret_cast<float*>(queue.scratch);
  float* const bias_partials = partials + (of_weight ? blocks * groups.width : 0);
  const BackwardOperands operands{dy,
                                  x,
                                  weight,
                                  statistics,
                                  dx,
                                  form.accumulate,
                                  of_weight ? partials : nullptr,
                                  of_bias ? bias_partials : nullptr};
  const Format format = format_of_groups(groups, {dy, x, weight, dx});
  by_width(
      groups, format,
      [&](auto held, auto bf16) {
        constexpr int kHeld = decltype(held)::kValue;
        launch(queue, by_held("norm_backward", items, groups.width, kHeld, most),
               of_bias ? norm_backward_held<kHeld, bf16(), true> : norm_backward_held<kHeld, bf16(), false>,
               groups, operands);
      },
      [&] {
        Spread spread = by_rows("norm_backward", items, groups.width, most);
        spread.shared_bytes = static_cast<std::size_t>(sums) * sizeof(float);
        launch(queue, spread, norm_backward_groups, groups, operands, format.in_packs);
      });
  if (of_weight) add_partials(queue, partials, blocks, dweight);
  if (of_bias) add_partials(queue, bias_partials, blocks, dbias);
}

}  // namespace hexaplan::validator::cuda
