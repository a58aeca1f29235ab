// What passes between the device's matrices and cuDNN's attention: the CUDA kernels, on the host.
#include "validator/executor/device/cuda/kernels/cudnn_layout.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/validator/device/random_numbers.h"
#include "validator/executor/device/bf16.h"
#include "validator/executor/device/device.h"

namespace hexaplan::validator::cuda {
namespace {

/// Two sequences of three queries, five rows apart.
constexpr AttentionBlock kBlock{.batch = 2,
                                .heads = 3,
                                .kv_heads = 1,
                                .seq_q = 3,
                                .seq_kv = 3,
                                .q_pitch = 5,
                                .kv_pitch = 5,
                                .head_dim = 4,
                                .v_head_dim = 40};

struct Matrix {
  Matrix(std::int64_t rows, std::int64_t cols, std::int64_t stride, unsigned seed)
      : view{nullptr, Element::F32, rows, cols, stride} {
    for (const double x : random_numbers(static_cast<std::size_t>(rows * stride), seed))
      data.push_back(static_cast<float>(x));
    view.data = reinterpret_cast<std::byte*>(data.data());  // NOLINT(*-reinterpret-cast)
  }
  [[nodiscard]] float at(std::int64_t r, std::int64_t c) const {
    return data[static_cast<std::size_t>(r * view.stride + c)];
  }
  std::vector<float> data;
  View view;
};

template <class Visit>
void for_queries(const Visit& visit) {
  for (std::int64_t b = 0; b < kBlock.batch; ++b)
    for (std::int64_t r = 0; r < kBlock.seq_q; ++r) visit(b, r, b * kBlock.q_pitch + r);
}

TEST(cudnn_layout, statistics_stand_head_after_head_and_come_back_to_their_rows) {
  const Matrix by_row{10, 3, 4, 1};
  const Matrix packed{1, 18, 18, 2};
  pack_statistics({}, kBlock, by_row.view, packed.view);
  for_queries([&](std::int64_t b, std::int64_t r, std::int64_t row) {
    for (std::int64_t h = 0; h < 3; ++h) EXPECT_EQ(packed.at(0, (b * 3 + h) * 3 + r), by_row.at(row, h));
  });
  const Matrix back{10, 3, 3, 3}, untouched = back;
  unpack_statistics({}, kBlock, packed.view, back.view);
  for_queries([&](std::int64_t /*b*/, std::int64_t /*r*/, std::int64_t row) {
    for (std::int64_t h = 0; h < 3; ++h) EXPECT_EQ(back.at(row, h), by_row.at(row, h));
  });
  for (const std::int64_t between : {3, 4, 8, 9})
    EXPECT_EQ(back.at(between, 1), untouched.at(between, 1)) << "rows between sequences are others'";
}

TEST(cudnn_layout, what_stands_in_for_the_output_has_its_delta) {
  Matrix d_o{10, 120, 128, 4};
  const Matrix delta{10, 3, 3, 5};
  for (std::int64_t c = 40; c < 80; ++c) d_o.data[static_cast<std::size_t>(128 + c)] = 0;  // row 1, head 1
  std::vector<Bf16> out(6 * 120);
  const View packed{reinterpret_cast<std::byte*>(out.data()), Element::Bf16, 6, 120, 120};  // NOLINT
  stand_in_output({}, kBlock, d_o.view, delta.view, packed);
  for_queries([&](std::int64_t b, std::int64_t r, std::int64_t row) {
    for (std::int64_t h = 0; h < 3; ++h) {
      double sum = 0, squares = 0;
      for (std::int64_t c = h * 40; c < (h + 1) * 40; ++c) {
        sum += static_cast<double>(d_o.at(row, c)) *
               static_cast<double>(to_float(out[static_cast<std::size_t>((b * 3 + r) * 120 + c)]));
        squares += std::pow(static_cast<double>(d_o.at(row, c)), 2);
      }
      const double expected = squares == 0 ? 0 : static_cast<double>(delta.at(row, h));
      EXPECT_NEAR(sum, expected, std::abs(expected) / 512) << row << " " << h;
    }
  });
}

}  // namespace
}  // namespace hexaplan::validator::cuda
