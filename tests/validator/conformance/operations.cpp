#include "tests/validator/conformance/operations.h"

#include <gtest/gtest.h>

#include <cmath>
#include <ostream>

#include "validator/executor/device/cpu/cpu_device.h"

namespace hexaplan::tests {

void PrintTo(const Operation& operation, std::ostream* out) {
  *out << operation.name;
}

std::vector<Operation> all_operations() {
  std::vector<Operation> all;
  for (const auto& some : {memory_operations(), matrix_operations(), layer_operations(),
                           attention_operations(), vocabulary_operations(), expert_operations()}) {
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

std::vector<Result> results_of(const Operation& operation, validator::Device& device, Size size,
                               Placement placement) {
  Bench bench{device, placement};
  operation.run(bench, size);
  return bench.results();
}

namespace {

/// ‖a − b‖/‖b‖; the same infinities differ by nothing.
double distance(const std::vector<double>& a, const std::vector<double>& b) {
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::isinf(b[i]) && a[i] == b[i]) continue;
    difference += (a[i] - b[i]) * (a[i] - b[i]);
    norm += b[i] * b[i];
  }
  return difference == 0 ? 0 : std::sqrt(difference / norm);
}

}  // namespace

void expect_like_float64(const Operation& operation, validator::Device& device, double bound,
                         std::span<const Placement> placements) {
  const auto reference = validator::make_cpu_device(validator::Element::F64);
  for (const Size& size : operation.sizes) {
    for (const Placement placement : placements) {
      const std::vector<Result> expected = results_of(operation, *reference, size, placement);
      const std::vector<Result> got = results_of(operation, device, size, placement);
      ASSERT_FALSE(expected.empty());
      ASSERT_EQ(got.size(), expected.size());
      for (std::size_t i = 0; i < got.size(); ++i) {
        ASSERT_EQ(got[i].values.size(), expected[i].values.size());
        // Not "greater than": a not-a-number has to fail.
        const double apart = distance(got[i].values, expected[i].values);
        EXPECT_TRUE(apart <= (got[i].integers ? 0 : bound))
            << got[i].name << " of " << size.rows << " x " << size.cols << ", placement "
            << static_cast<int>(placement) << ": apart by " << apart;
      }
    }
  }
}

}  // namespace hexaplan::tests
