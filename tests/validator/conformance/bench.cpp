#include "tests/validator/conformance/bench.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "tests/validator/device/random_numbers.h"
#include "validator/executor/device/bf16.h"

namespace hexaplan::tests {

using costmodel::DType;
using validator::View;

namespace {

constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();
/// In every element, outside the views.
constexpr double kSurroundings = 7;

std::vector<double> unwritten(std::int64_t count) {
  return std::vector<double>(static_cast<std::size_t>(count), kNotANumber);
}

}  // namespace

std::vector<double> Bench::random(std::int64_t count, double scale) {
  std::vector<double> numbers = validator::random_numbers(static_cast<std::size_t>(count), ++seed_);
  for (double& x : numbers) {
    x = static_cast<double>(validator::to_float(validator::to_bf16(static_cast<float>(scale * x))));
  }
  return numbers;
}

View Bench::place(DType dtype, Placement placement, std::int64_t rows, std::int64_t cols,
                  const std::vector<double>& numbers) {
  const bool wide = placement != Placement::Contiguous;
  const std::int64_t first = !wide ? 0 : placement == Placement::Aligned ? 8 : 1;
  const std::int64_t width = !wide                             ? cols
                             : placement == Placement::Aligned ? (cols + 7) / 8 * 8 + 16
                                                               : cols + 3;
  const std::int64_t height = rows + (wide ? 1 : 0);
  Placed& placed = placed_.emplace_back(
      Placed{device.allocate({"operand", costmodel::TensorKind::Transient, dtype}, height, width), first,
             rows, cols});
  std::vector<double> all(static_cast<std::size_t>(height * width), kSurroundings);
  for (std::int64_t r = 0; r < rows; ++r) {
    std::copy_n(numbers.begin() + r * cols, cols, all.begin() + r * width + first);
  }
  device.upload(placed.whole, all);
  return placed.whole.view().row_range(0, rows).column_range(first, cols);
}

View Bench::data(std::int64_t rows, std::int64_t cols, double scale) {
  return place(DType::Bf16, placement_, rows, cols, random(rows * cols, scale));
}
View Bench::fp32(std::int64_t rows, std::int64_t cols, double scale) {
  return place(DType::Fp32, placement_, rows, cols, random(rows * cols, scale));
}
View Bench::column(std::vector<double> numbers) {
  const auto rows = static_cast<std::int64_t>(numbers.size());
  return place(DType::Fp32, Placement::Contiguous, rows, 1, numbers);
}
View Bench::ids(std::int64_t rows, std::int64_t cols, const std::vector<std::int32_t>& numbers) {
  return place(DType::Int32, Placement::Contiguous, rows, cols, {numbers.begin(), numbers.end()});
}
View Bench::ids(const std::vector<std::int32_t>& numbers) {
  return ids(static_cast<std::int64_t>(numbers.size()), 1, numbers);
}
View Bench::new_data(std::int64_t rows, std::int64_t cols) {
  return place(DType::Bf16, placement_, rows, cols, unwritten(rows * cols));
}
View Bench::new_fp32(std::int64_t rows, std::int64_t cols) {
  return place(DType::Fp32, placement_, rows, cols, unwritten(rows * cols));
}
View Bench::new_column(std::int64_t rows) {
  return place(DType::Fp32, Placement::Contiguous, rows, 1, unwritten(rows));
}
View Bench::new_bytes(std::int64_t rows, std::int64_t cols) {
  return place(DType::Int8, placement_, rows, cols,
               std::vector<double>(static_cast<std::size_t>(rows * cols), 9));
}
View Bench::new_ids(std::int64_t rows, std::int64_t cols) {
  return ids(rows, cols, std::vector<std::int32_t>(static_cast<std::size_t>(rows * cols), -1));
}

std::int32_t Bench::pick(std::int64_t below) {
  // A linear congruential generator (Knuth, The Art of Computer Programming 2, §3.3.4, line 26 of table 1).
  picked_ = picked_ * 6364136223846793005U + 1442695040888963407U;
  return static_cast<std::int32_t>((picked_ >> 33) % static_cast<std::uint64_t>(below));
}

void Bench::result(const std::string& name, const View& view) {
  const bool integers = view.element == validator::Element::I32 || view.element == validator::Element::U8;
  Result out{.name = name, .integers = integers, .values = {}};
  out.values.resize(static_cast<std::size_t>(view.elements()));
  device.download(out.values, view);
  results_.push_back(std::move(out));
}

std::vector<Result> Bench::results() {
  check_surroundings();
  return std::move(results_);
}

void Bench::check_surroundings() {
  for (const Placed& placed : placed_) {
    const View& whole = placed.whole.view();
    std::vector<double> all(static_cast<std::size_t>(whole.elements()));
    device.download(all, whole);
    std::int64_t changed = 0;
    for (std::int64_t i = 0; i < whole.elements(); ++i) {
      const std::int64_t r = i / whole.cols, c = i % whole.cols;
      const bool inside = r < placed.rows && c >= placed.first && c < placed.first + placed.cols;
      changed += !inside && all[static_cast<std::size_t>(i)] != kSurroundings ? 1 : 0;
    }
    EXPECT_EQ(changed, 0) << "elements around a view of " << placed.rows << " x " << placed.cols
                          << " were written";
  }
}

}  // namespace hexaplan::tests
