#include "tests/validator/conformance/narrow_products.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "validator/executor/device/cpu/kernels/noise.h"
#include "validator/executor/device/e4m3.h"
#include "validator/executor/device/unsupported_product.h"

namespace hexaplan::tests {
namespace {

using costmodel::DType;
using validator::Element;
using validator::Gemm;
using validator::Tensor;
using validator::View;

/// A matrix of e4m3 on a device.
struct Narrow {
  Narrow(validator::Device& device, std::int64_t rows, std::int64_t cols)
      : memory{device.allocate_message(Element::E4m3, rows * cols)},
        view{memory.view().reshaped(rows, cols)},
        numbers(static_cast<std::size_t>(rows * cols)) {}
  Tensor memory;
  View view;
  std::vector<double> numbers;  // as they are on the device
};

/// Random numbers, and what became of them.
Narrow random_matrix(validator::Device& device, std::int64_t rows, std::int64_t cols, unsigned seed) {
  Narrow made{device, rows, cols};
  std::mt19937 random{seed};
  std::normal_distribution<double> normal;
  for (double& x : made.numbers) x = normal(random);
  device.upload(made.view, made.numbers);
  for (double& x : made.numbers)
    x = static_cast<double>(validator::to_float(validator::to_e4m3(static_cast<float>(x))));
  std::vector<double> stored(made.numbers.size());
  device.download(stored, made.view);
  EXPECT_EQ(stored, made.numbers) << "an upload rounds";
  return made;
}

struct Size {
  std::int64_t m, n, k;
};
struct Way {
  DType result;
  bool accumulate, fast;
};

void expect_product(validator::Device& device, const Size& s, const Way& way) {
  SCOPED_TRACE(testing::Message() << s.m << "x" << s.n << "x" << s.k << (way.accumulate ? " added" : "")
                                  << (way.fast ? " fast" : ""));
  const Narrow a = random_matrix(device, s.m, s.k, 1), b = random_matrix(device, s.n, s.k, 2);
  const Tensor c = device.allocate({.name = "c", .dtype = way.result}, s.m, s.n);
  const std::vector<double> before(static_cast<std::size_t>(s.m * s.n), 3);
  device.upload(c.view(), before);
  device.gemm({.operation = "test"}, {.a = a.view,
                                      .b = b.view,
                                      .c = c,
                                      .transpose_b = true,
                                      .accumulate = way.accumulate,
                                      .fast_accumulation = way.fast});
  std::vector<double> result(before.size());
  device.download(result, c);
  double off = 0, whole = 0;
  for (std::int64_t i = 0; i < s.m; ++i) {
    for (std::int64_t j = 0; j < s.n; ++j) {
      double sum = way.accumulate ? 3 : 0;
      for (std::int64_t k = 0; k < s.k; ++k)
        sum += a.numbers[static_cast<std::size_t>(i * s.k + k)] *
               b.numbers[static_cast<std::size_t>(j * s.k + k)];
      const double difference = result[static_cast<std::size_t>(i * s.n + j)] - sum;
      off += difference * difference;
      whole += sum * sum;
    }
  }
  EXPECT_LT(std::sqrt(off / whole), 1e-2);
}

void expect_noise(validator::Device& device) {
  constexpr std::int64_t kRows = 3, kCols = 48;
  Narrow noise{device, kRows, kCols};
  device.fill_noise(noise.view, 7, 100.0, validator::Stream::Compute);
  device.download(noise.numbers, noise.view);
  for (std::size_t i = 0; i < noise.numbers.size(); ++i) {
    const auto exact = static_cast<float>(100.0 * validator::kernels::noise(7, i));
    EXPECT_EQ(noise.numbers[i], static_cast<double>(validator::to_float(validator::to_e4m3(exact)))) << i;
  }
}

void expect_copies(validator::Device& device) {
  const Narrow from = random_matrix(device, 5, 16, 3);
  const Tensor wide = device.allocate({.name = "wide", .dtype = DType::Fp32}, 5, 16);
  const Narrow back{device, 5, 16};
  device.copy(wide, from.view);
  device.copy(back.view, wide);
  std::vector<double> numbers(from.numbers.size());
  device.download(numbers, back.view);
  EXPECT_EQ(numbers, from.numbers);
}

void expect_refusal(validator::Device& device) {
  const Narrow a = random_matrix(device, 16, 32, 1), b = random_matrix(device, 32, 16, 2);
  const Tensor c = device.allocate({.name = "c", .dtype = DType::Bf16}, 16, 16);
  EXPECT_THROW(device.gemm({.operation = "test"}, {.a = a.view, .b = b.view, .c = c}),
               validator::UnsupportedProduct)
      << "the second operand does not lie along the sum";
}

}  // namespace

void expect_e4m3_like_float64(validator::Device& device) {
  for (const Size& size : {Size{16, 16, 16}, Size{48, 32, 272}, Size{128, 144, 512}}) {
    for (const Way& way : {Way{DType::Bf16, false, true}, Way{DType::Bf16, false, false},
                           Way{DType::Fp32, true, false}, Way{DType::Fp32, false, false}})
      expect_product(device, size, way);
  }
  expect_noise(device);
  expect_copies(device);
  expect_refusal(device);
}

}  // namespace hexaplan::tests
