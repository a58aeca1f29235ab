#pragma once
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "validator/executor/device/device.h"

namespace hexaplan::tests {

/// How matrices lie in memory.
enum class Placement : std::uint8_t {
  Contiguous,
  Aligned,  // part of a wider and longer matrix, rows at multiples of 16 bytes
  Odd,      // part of one, rows begin and end anywhere
};
inline constexpr Placement kPlacements[] = {Placement::Contiguous, Placement::Aligned, Placement::Odd};

/// What an operation left behind.
struct Result {
  std::string name;
  bool integers = false;
  std::vector<double> values;
};

/// Gives an operation its operands on some device, the same numbers on every device (all of them are numbers
/// that bf16 has), and collects what it wrote.
class Bench {
 public:
  Bench(validator::Device& on, Placement placement) : device{on}, placement_{placement} {}

  // Random numbers, normally distributed; `data` in what activations and weights are stored in, `fp32` in
  // what statistics, gradients and optimizer states are.
  validator::View data(std::int64_t rows, std::int64_t cols, double scale = 1);
  validator::View fp32(std::int64_t rows, std::int64_t cols, double scale = 1);
  /// One number per row, without gaps.
  validator::View column(std::vector<double> numbers);
  validator::View ids(std::int64_t rows, std::int64_t cols, const std::vector<std::int32_t>& numbers);
  validator::View ids(const std::vector<std::int32_t>& numbers);
  // To be written: not-a-numbers.
  validator::View new_data(std::int64_t rows, std::int64_t cols);
  validator::View new_fp32(std::int64_t rows, std::int64_t cols);
  validator::View new_column(std::int64_t rows);
  validator::View new_bytes(std::int64_t rows, std::int64_t cols);
  validator::View new_ids(std::int64_t rows, std::int64_t cols);
  /// A number in [0, below), the next of a fixed row.
  std::int32_t pick(std::int64_t below);

  void result(const std::string& name, const validator::View& view);
  /// After the last result: what was written, and whether elements outside the views stayed what they were.
  std::vector<Result> results();

  validator::Device& device;  // NOLINT(*-non-private-*): operations are called on it

 private:
  validator::View place(costmodel::DType dtype, Placement placement, std::int64_t rows, std::int64_t cols,
                        const std::vector<double>& numbers);
  std::vector<double> random(std::int64_t count, double scale);
  void check_surroundings();

  struct Placed {
    validator::Tensor whole;
    std::int64_t first, rows, cols;  // first column and size of the view
  };
  Placement placement_;
  std::deque<Placed> placed_;
  std::vector<Result> results_;
  unsigned seed_ = 0;
  std::uint64_t picked_ = 1;
};

}  // namespace hexaplan::tests
