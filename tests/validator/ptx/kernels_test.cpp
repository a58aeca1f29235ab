// The PTX that nvcc makes of the executor's kernels, interpreted: every operation of a device against the CPU
// in float64, with bounds, what nobody wrote, races and barriers watched. Without a GPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <span>

#include "tests/support/ptx/gpu.h"
#include "tests/validator/conformance/narrow_products.h"
#include "tests/validator/conformance/operations.h"

namespace hexaplan::tests {
namespace {

using ptx::Gpu;
using ptx::Order;
using validator::Element;

/// All shapes take minutes (scripts/nightly.sh); without asking, the small ones do.
bool every_shape() {
  const char* const asked = std::getenv("HEXAPLAN_EVERY_SHAPE");  // NOLINT(concurrency-mt-unsafe)
  return asked != nullptr && *asked != '\0';
}
Operation of_this_run(Operation operation) {
  if (every_shape()) return operation;
  const auto large = [](const Size& s) { return s.rows * s.cols > 700; };
  if (!std::all_of(operation.sizes.begin(), operation.sizes.end(), large))
    operation.sizes.erase(std::remove_if(operation.sizes.begin(), operation.sizes.end(), large),
                          operation.sizes.end());
  return operation;
}

/// Tiles take hundreds of times what other kernels do.
bool has_tiles(const Operation& operation) {
  return operation.name.rfind("attention", 0) == 0;
}

class PtxConformance : public testing::TestWithParam<Operation> {
 protected:
  static void expect(Element element, double bound) {
    constexpr Placement kFew[] = {Placement::Contiguous, Placement::Odd};
    const auto device = make_emulated_device(element, &Gpu::instance());
    expect_like_float64(of_this_run(GetParam()), *device, bound,
                        every_shape()
                            ? std::span<const Placement>{kPlacements}
                            : std::span<const Placement>{kFew}.first(has_tiles(GetParam()) ? 1 : 2));
  }
  void TearDown() override { Gpu::instance().set_order(Order::Forward); }
};

/// Warps, and blocks, from the last to the first.
TEST_P(PtxConformance, in_bfloat16) {
  Gpu::instance().set_order(Order::Backward);
  expect(Element::Bf16, 1e-2);
}
TEST_P(PtxConformance, in_float32_and_float16_in_every_order) {
  if (!every_shape()) GTEST_SKIP() << "HEXAPLAN_EVERY_SHAPE=1 runs it";
  expect(Element::F32, 1e-5);
  Gpu::instance().set_order(Order::Shuffled);
  expect(Element::F16, 2e-3);
}

/// Bit for bit: no sum is left to chance.
TEST_P(PtxConformance, does_not_depend_on_which_warp_comes_first) {
  if (has_tiles(GetParam()) && !every_shape()) GTEST_SKIP() << "HEXAPLAN_EVERY_SHAPE=1 runs it";
  const Operation operation = of_this_run(GetParam());
  const auto device = make_emulated_device(Element::Bf16, &Gpu::instance());
  for (const Size& size : operation.sizes) {
    std::vector<Result> first;
    for (const Order order : {Order::Forward, Order::Backward}) {
      Gpu::instance().set_order(order);
      const std::vector<Result> results = results_of(operation, *device, size, Placement::Contiguous);
      if (first.empty()) first = results;
      ASSERT_EQ(results.size(), first.size());
      for (std::size_t i = 0; i < results.size(); ++i)
        EXPECT_EQ(results[i].values, first[i].values)
            << results[i].name << " of " << size.rows << " x " << size.cols;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(device, PtxConformance, testing::ValuesIn(all_operations()),
                         [](const testing::TestParamInfo<Operation>& which) { return which.param.name; });

TEST(ptx_of_the_kernels, every_instruction_is_known) {
  std::size_t instructions = 0;
  for (const auto& [source, module] : Gpu::instance().modules()) {
    for (const std::string& kernel : module.kernels()) instructions += module.read(kernel).code.size();
  }
  EXPECT_GT(instructions, 10000U);
}

}  // namespace
}  // namespace hexaplan::tests
