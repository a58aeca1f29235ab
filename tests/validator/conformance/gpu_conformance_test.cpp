// The same operations on the GPU of this machine, where there is one.
#include <gtest/gtest.h>

#include "tests/validator/conformance/narrow_products.h"
#include "tests/validator/conformance/operations.h"
#include "validator/executor/backends/backends.h"

namespace hexaplan::tests {
namespace {

using validator::Element;

class CudaConformance : public testing::TestWithParam<Operation> {
 protected:
  static void expect(Element element, double bound) {
    const auto state = validator::find_backend("cuda");
    if (!state || !state->available)
      GTEST_SKIP() << (state ? state->detail + "; " + state->remedy : "no device is called cuda");
    expect_like_float64(GetParam(), *validator::make_device("cuda", element), bound);
  }
};

TEST_P(CudaConformance, agrees_with_float64_in_float32) {
  expect(Element::F32, 1e-5);
}
TEST_P(CudaConformance, agrees_with_float64_in_bfloat16) {
  expect(Element::Bf16, 1e-2);
}

TEST(CudaNarrowConformance, e4m3_agrees_with_float64_on_the_rounded_operands) {
  const auto state = validator::find_backend("cuda");
  if (!state || !state->available)
    GTEST_SKIP() << (state ? state->detail + "; " + state->remedy : "no device is called cuda");
  const auto device = validator::make_device("cuda", Element::Bf16);
  if (device->narrow_gemms().empty())
    GTEST_SKIP() << device->description() << " multiplies no fp8: sm_89 and newer do, with cuBLASLt";
  expect_e4m3_like_float64(*device);
}

INSTANTIATE_TEST_SUITE_P(device, CudaConformance, testing::ValuesIn(all_operations()),
                         [](const testing::TestParamInfo<Operation>& which) { return which.param.name; });

}  // namespace
}  // namespace hexaplan::tests
