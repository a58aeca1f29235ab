// Copies, elementwise work and reductions.
#include "tests/validator/conformance/operations.h"
#include "validator/executor/device/nf4.h"

namespace hexaplan::tests {
namespace {

using validator::Element;
using validator::Reduction;
using validator::Stream;
using validator::View;

const std::vector<Size> kSizes{{0, 8}, {1, 1}, {1, 8}, {3, 13}, {5, 40}, {17, 64}, {70, 272}, {2, 2059}};

/// The last ones fill a block, and go beyond one.
const std::vector<Size> kQuantised{{0, 8}, {1, 1}, {3, 13}, {5, 40}, {2, 4096}, {3, 8203}};

/// Parts of a block, of a byte; more scales than share one.
const std::vector<Size> kInBlocksOf4Bits{{1, 1}, {1, 63}, {1, 64}, {3, 200}, {1, 4097}, {5, 8192}};

void copies(Bench& b, Size s) {
  const View narrow = b.data(s.rows, s.cols), wide = b.fp32(s.rows, s.cols);
  const View same = b.new_data(s.rows, s.cols), widened = b.new_fp32(s.rows, s.cols),
             narrowed = b.new_data(s.rows, s.cols);
  b.device.copy(same, narrow);
  b.device.copy(widened, narrow, Stream::Communication);
  b.device.synchronize();
  b.device.copy(narrowed, wide);
  b.result("same element", same);
  b.result("widened", widened);
  b.result("narrowed", narrowed);
}

/// Rows in 8 or 4 bits and back, alone and on top of other numbers. Among them zeros, and a block whose
/// largest is far above the rest.
template <int kBits>
void quantises(Bench& b, Size s) {
  const View x = b.data(s.rows, s.cols), blocks = b.new_fp32(s.rows, (s.cols + 4095) / 4096);
  if (s.rows > 0) b.device.fill(x.row_range(0, 1), 0);
  if (s.rows > 1) b.device.fill(x.row_range(1, 1).column_range(0, 1), -512);
  const View codes = b.new_bytes(s.rows, (s.cols * kBits + 7) / 8), again = b.new_fp32(s.rows, s.cols);
  const View sum = b.data(s.rows, s.cols);
  b.device.quantise(kBits, x, codes, blocks);
  b.device.dequantise(kBits, codes, blocks, again, false);
  b.device.dequantise(kBits, codes, blocks, sum, true);
  b.result("scales", blocks);
  b.result("codes", codes);
  b.result("numbers", again);
  b.result("sum", sum);
}

/// Any codes, in blocks whose scales are fp32, or codes themselves.
template <bool kScalesToo>
void from_nf4(Bench& b, Size s) {
  constexpr std::int64_t kBlock = 64, kScaleBlock = 256;
  const auto random = [&](std::int64_t count) {
    std::vector<std::int32_t> codes;
    for (std::int64_t i = 0; i < count; ++i) codes.push_back(b.pick(256));
    const View out = b.new_bytes(1, count);
    b.device.upload(out, std::span<const std::int32_t>{codes});
    return out;
  };
  const std::int64_t numbers = s.rows * s.cols, blocks = (numbers + kBlock - 1) / kBlock;
  if (numbers == 0) return;
  validator::Nf4Matrix from{.numbers = numbers, .codes = random((numbers + 1) / 2)};
  from.scales = kScalesToo ? random(blocks) : b.fp32(1, blocks);
  if (kScalesToo) from.scales_of_scales = b.fp32(1, (blocks + kScaleBlock - 1) / kScaleBlock);
  if (kScalesToo) from.mean = 0.625F;
  const View narrow = b.new_data(1, numbers), wide = b.new_fp32(1, numbers);
  b.device.dequantise_nf4(from, narrow);
  b.device.dequantise_nf4(from, wide);
  b.result("narrow", narrow);
  b.result("wide", wide);
}

void copies_of_ids(Bench& b, Size s) {
  std::vector<std::int32_t> numbers;
  for (std::int64_t i = 0; i < s.rows * s.cols; ++i) numbers.push_back(b.pick(1 << 30) - (1 << 29));
  const View from = b.ids(s.rows, s.cols, numbers), to = b.new_ids(s.rows, s.cols);
  b.device.copy(to, from);
  b.result("ids", to);
  for (std::int32_t& x : numbers) x %= 1000;
  const View small = b.ids(s.rows, s.cols, numbers), real = b.new_fp32(s.rows, s.cols);
  b.device.copy(real, small);
  b.result("as numbers", real);
  b.device.copy(to, real);
  b.result("and back", to);
}

void fills(Bench& b, Size s) {
  const View data = b.new_data(s.rows, s.cols), fp32 = b.new_fp32(s.rows, s.cols),
             ids = b.new_ids(s.rows, s.cols);
  b.device.fill(data, 0.75);
  b.device.fill(fp32, -1);
  b.device.fill(ids, 5);
  b.result("data", data);
  b.result("fp32", fp32);
  b.result("ids", ids);
}

void additions(Bench& b, Size s) {
  const View data = b.data(s.rows, s.cols), fp32 = b.fp32(s.rows, s.cols), other = b.data(s.rows, s.cols);
  b.device.add(data, other);
  b.device.add(fp32, other);
  b.result("to data", data);
  b.result("to fp32", fp32);
}

void scales(Bench& b, Size s) {
  const View data = b.data(s.rows, s.cols), rows = b.data(s.rows, s.cols);
  std::vector<double> factors;
  for (std::int64_t i = 0; i < s.rows; ++i) factors.push_back(0.5 + static_cast<double>(i));
  b.device.scale(data, -1.5);
  b.device.scale_rows(rows, b.column(factors));
  b.result("by one factor", data);
  b.result("row by row", rows);
}

void biases(Bench& b, Size s) {
  const View data = b.data(s.rows, s.cols), fp32 = b.fp32(s.rows, s.cols), bias = b.data(1, s.cols);
  b.device.add_bias(data, bias);
  b.device.add_bias(fp32, bias);
  b.result("to data", data);
  b.result("to fp32", fp32);
}

void caps(Bench& b, Size s) {
  const View x = b.data(s.rows, s.cols, 3), d = b.data(s.rows, s.cols);
  b.device.soft_cap(x, 5);
  b.result("capped", x);
  b.device.soft_cap_backward(x, 5, d);
  b.result("gradient", d);
}

void clips(Bench& b, Size s) {
  const View x = b.data(s.rows, s.cols, 3), d = b.data(s.rows, s.cols);
  b.device.clip_backward(x, 2.5, d);
  b.result("gradient", d);
  b.device.clip(x, 2.5);
  b.result("clipped", x);
}

/// Every function of the table; gradients are written over what they are gradients of.
void functions(Bench& b, Size s) {
  for (const auto& row : costmodel::program::kFunctions) {
    const View x = b.data(s.rows, s.cols, 3), y = b.data(s.rows, s.cols, 3), d = b.data(s.rows, s.cols);
    const View out = b.new_data(s.rows, s.cols), alone = b.new_data(s.rows, s.cols);
    const std::string name{row.name};
    b.device.pointwise(row.id, x, y, out);
    b.result(name, out);
    b.device.pointwise_backward(row.id, d, x, {}, alone, {});
    b.result(name + " of one operand: gradient", alone);
    b.device.pointwise_backward(row.id, d, x, y, d, y);
    b.result(name + ": gradient of the first operand", d);
    b.result(name + ": gradient of the second", y);
  }
}

void norms(Bench& b, Size s) {
  const View sum = b.column({3});
  b.device.squared_norm(b.fp32(s.rows, s.cols), sum);
  b.device.squared_norm(b.data(s.rows, s.cols), sum);
  b.result("sum", sum);
}

void parts(Bench& b, Size s) {
  for (const Reduction reduction : {Reduction::Sum, Reduction::Max}) {
    std::vector<View> data, ids;
    for (int i = 0; i < 5; ++i) {
      data.push_back(b.data(1, s.rows * s.cols));
      std::vector<std::int32_t> numbers;
      for (std::int64_t k = 0; k < s.rows; ++k) numbers.push_back(b.pick(1 << 26));
      ids.push_back(b.ids(numbers));
    }
    const View other = b.new_data(1, s.rows * s.cols);
    b.device.reduce_parts(data, reduction, other, Stream::Communication);
    b.device.synchronize();
    b.device.reduce_parts(data, reduction, data[2], Stream::Compute);
    b.device.reduce_parts(ids, reduction, ids[0], Stream::Compute);
    b.result("in a new place", other);
    b.result("in place", data[2]);
    b.result("ids", ids[0]);
  }
}

void noise(Bench& b, Size s) {
  const View data = b.new_data(s.rows, s.cols), fp32 = b.new_fp32(s.rows, s.cols);
  b.device.fill_noise(data, 11, 0.02, Stream::Compute);
  b.device.fill_noise(fp32, 12, 3, Stream::Communication);
  b.device.synchronize();
  b.result("data", data);
  b.result("fp32", fp32);
}

void updates(Bench& b, Size s) {
  const std::int64_t n = s.rows * s.cols;
  const View parameter = b.data(1, n), master = b.fp32(1, n), m = b.fp32(1, n, 0.1), v = b.new_fp32(1, n),
             gradient = b.fp32(1, n), alone = b.fp32(1, n);
  b.device.fill(v, 0.25);
  validator::OptimizerUpdate update{
      .parameter = parameter, .master = master, .first_moment = m, .second_moment = v};
  update.gradient = gradient;
  update.learning_rate = 0.01;
  update.weight_decay = 0.1;
  update.gradient_factor = 0.7;
  update.step = 3;
  b.device.update(update);
  b.result("parameter", parameter);
  b.result("master", master);
  b.result("first moment", m);
  b.result("second moment", v);
  update.parameter = update.master = alone;
  update.gradient = b.data(1, n);
  b.device.update(update);
  b.result("parameter without a master", alone);
}

/// SGD, Lion, and what LAMB, Muon and Adafactor do to single numbers.
void other_updates(Bench& b, Size s) {
  using validator::UpdateRule;
  const std::int64_t n = s.rows * s.cols;
  for (const UpdateRule rule : {UpdateRule::Sgd, UpdateRule::Lion, UpdateRule::LambDirection,
                                UpdateRule::MuonDirection, UpdateRule::Descend, UpdateRule::FactoredMoment}) {
    const View parameter = b.data(1, n), master = b.fp32(1, n), m = b.fp32(1, n, 0.1), v = b.new_fp32(1, n),
               direction = b.fp32(1, n);
    b.device.fill(v, 0.25);
    const bool moment_alone = rule == UpdateRule::FactoredMoment;
    const bool makes_direction =
        rule == UpdateRule::LambDirection || rule == UpdateRule::MuonDirection || moment_alone;
    validator::OptimizerUpdate update{.rule = rule};
    if (!moment_alone) update.master = master;
    if (!makes_direction) update.parameter = parameter;
    if (rule != UpdateRule::Descend) update.gradient = b.fp32(1, n), update.first_moment = m;
    if (rule == UpdateRule::LambDirection || moment_alone) update.second_moment = v;
    if (makes_direction || rule == UpdateRule::Descend) update.direction = direction;
    update.learning_rate = 0.01;
    update.weight_decay = 0.1;
    update.gradient_factor = 0.7;
    update.direction_factor = 1.3;
    update.step = 3;
    b.device.update(update);
    const std::string name = " by rule " + std::to_string(static_cast<int>(rule));
    b.result("parameter" + name, parameter);
    b.result("master" + name, master);
    b.result("first moment" + name, m);
    b.result("second moment" + name, v);
    b.result("direction" + name, direction);
  }
}

}  // namespace

std::vector<Operation> memory_operations() {
  return {{"copy", kSizes, copies},
          {"copy_ids", kSizes, copies_of_ids},
          {"fill", kSizes, fills},
          {"add", kSizes, additions},
          {"scale", kSizes, scales},
          {"squared_norm", kSizes, norms},
          {"add_bias", kSizes, biases},
          {"soft_cap", kSizes, caps},
          {"clip", kSizes, clips},
          {"functions", kSizes, functions},
          {"quantise_to_8_bits", kQuantised, quantises<8>},
          {"quantise_to_4_bits", kQuantised, quantises<4>},
          {"nf4", kInBlocksOf4Bits, from_nf4<false>},
          {"nf4_with_scales_in_8_bits", kInBlocksOf4Bits, from_nf4<true>},
          {"reduce_parts", kSizes, parts},
          {"fill_noise", kSizes, noise},
          {"adamw", kSizes, updates},
          {"optimizers", {{1, 1}, {3, 13}, {17, 64}}, other_updates}};
}

}  // namespace hexaplan::tests
