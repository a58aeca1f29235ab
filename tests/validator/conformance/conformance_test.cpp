// Every operation of `Device` against the CPU in float64: the CPU in float32, and the CUDA kernels run on the
// host.
#include <gtest/gtest.h>

#include "tests/support/emulated_device.h"
#include "tests/validator/conformance/narrow_products.h"
#include "tests/validator/conformance/operations.h"
#include "validator/executor/device/cpu/cpu_device.h"
#include "validator/executor/device/cuda/emulation/emulation.h"

namespace hexaplan::tests {
namespace {

using validator::Element;
namespace emulation = validator::cuda::emulation;

constexpr double kFp32 = 1e-5, kBf16 = 1e-2, kFp16 = 2e-3;

std::string name_of(const testing::TestParamInfo<Operation>& which) {
  return which.param.name;
}

class Conformance : public testing::TestWithParam<Operation> {};

TEST_P(Conformance, cpu_in_float32) {
  expect_like_float64(GetParam(), *validator::make_cpu_device(Element::F32), kFp32);
}

TEST_P(Conformance, cpu_in_bfloat16) {
  expect_like_float64(GetParam(), *validator::make_cpu_device(Element::Bf16), kBf16);
}

TEST_P(Conformance, cpu_in_float16) {
  expect_like_float64(GetParam(), *validator::make_cpu_device(Element::F16), kFp16);
}

TEST_P(Conformance, cuda_kernels_in_float16) {
  expect_like_float64(GetParam(), *make_emulated_device(Element::F16), kFp16);
}

TEST_P(Conformance, cuda_kernels_in_float32) {
  expect_like_float64(GetParam(), *make_emulated_device(Element::F32), kFp32);
}

TEST_P(Conformance, cuda_kernels_in_bfloat16) {
  expect_like_float64(GetParam(), *make_emulated_device(Element::Bf16), kBf16);
}

/// A missing barrier, or a sum whose order is left to chance, would show.
TEST_P(Conformance, cuda_kernels_do_not_depend_on_which_thread_comes_first) {
  const auto device = make_emulated_device(Element::Bf16);
  for (const Size& size : GetParam().sizes) {
    const std::vector<Result> forward = results_of(GetParam(), *device, size, Placement::Contiguous);
    emulation::set_order(emulation::Order::Backward);
    const std::vector<Result> backward = results_of(GetParam(), *device, size, Placement::Contiguous);
    emulation::set_order(emulation::Order::Forward);
    ASSERT_EQ(forward.size(), backward.size());
    for (std::size_t i = 0; i < forward.size(); ++i)
      EXPECT_EQ(forward[i].values, backward[i].values)
          << forward[i].name << " of " << size.rows << " x " << size.cols;
  }
}

TEST(NarrowConformance, cuda_kernels_with_products_of_e4m3) {
  expect_e4m3_like_float64(*make_emulated_device(Element::Bf16));
}

TEST(NarrowConformance, what_computes_in_fp32_or_wider_has_no_narrow_products) {
  EXPECT_TRUE(make_emulated_device(Element::F32)->narrow_gemms().empty());
  for (const Element element : {Element::F32, Element::F64})
    EXPECT_TRUE(validator::make_cpu_device(element)->narrow_gemms().empty());
}

INSTANTIATE_TEST_SUITE_P(device, Conformance, testing::ValuesIn(all_operations()), name_of);

}  // namespace
}  // namespace hexaplan::tests
