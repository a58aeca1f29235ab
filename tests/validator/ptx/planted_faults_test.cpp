// Faults put into the PTX of the kernels, one at a time, and what the interpreter says of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/ptx/fault.h"
#include "tests/support/ptx/gpu.h"
#include "tests/validator/conformance/operations.h"

namespace hexaplan::tests {
namespace {

using ptx::Gpu;
using ptx::Order;
using testing::HasSubstr;

/// Where `what` stands in the body of the kernel whose mangled name has `kernel`.
std::vector<std::size_t> places(const std::string& text, const std::string& kernel, const std::string& what) {
  std::vector<std::size_t> found;
  for (std::size_t entry = text.find(".entry "); entry != std::string::npos;
       entry = text.find(".entry ", entry + 1)) {
    const std::size_t name = text.find('(', entry), end = text.find("\n}", entry);
    if (text.substr(entry, name - entry).find(kernel) == std::string::npos) continue;
    for (std::size_t at = text.find(what, name); at < end; at = text.find(what, at + 1)) found.push_back(at);
  }
  return found;
}

/// Of rows that are held in registers, two packs of bf16 per thread, and of rows that aren't packed.
struct NormKernel {
  const char* name;
  std::int64_t columns;
};
constexpr NormKernel kNormKernels[] = {{"norm_heldILi2ELb1E", 272}, {"norm_groups", 271}};

class PlantedFaults : public testing::Test {
 protected:
  void TearDown() override {
    Gpu::instance().set_edit({});
    Gpu::instance().set_order(Order::Forward);
  }
  /// Replaces the `which`-th `what` in the kernel of the source; false: there are not so many.
  static bool plant(const std::string& source, const std::string& kernel, const std::string& what,
                    std::size_t which, const std::string& by) {
    if (which >= places(Gpu::text_of(source), kernel, what).size()) return false;
    Gpu::instance().set_edit([source, kernel, what, which, by](const std::string& name, std::string text) {
      if (name == source) text.replace(places(text, kernel, what).at(which), what.size(), by);
      return text;
    });
    return true;
  }
  /// What the interpreter says of an operation, in both orders of warps; else how its results differ from
  /// those of the kernels as they are.
  static std::string verdict(const std::string& operation, Size size) {
    const std::vector<Operation> all = all_operations();
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const Operation& o) { return o.name == operation; });
    if (found == all.end()) return "no such operation";
    const auto device = make_emulated_device(validator::Element::Bf16, &Gpu::instance());
    for (const Order order : {Order::Forward, Order::Backward}) {
      Gpu::instance().set_order(order);
      try {
        static_cast<void>(results_of(*found, *device, size, Placement::Contiguous));
      } catch (const ptx::Fault& fault) {
        return fault.what();
      }
    }
    return "nothing";
  }
};

TEST_F(PlantedFaults, nothing_is_said_of_kernels_as_they_are) {
  EXPECT_EQ(verdict("norm_rms", {3, 272}), "nothing");
  EXPECT_EQ(verdict("norm_layer", {4100, 272}), "nothing");
  EXPECT_EQ(verdict("norm_layer", {4100, 271}), "nothing");
  EXPECT_EQ(verdict("add", {3, 13}), "nothing");
}

TEST_F(PlantedFaults, the_first_barrier_of_a_sum_over_the_block_is_missed) {
  // "Readers of the call before are gone": what an emulation that never lets a warp run ahead does not see.
  for (const NormKernel& kernel : kNormKernels) {
    std::vector<std::string> verdicts;
    for (std::size_t i = 0; plant("norm", kernel.name, "bar.sync \t0;", i, ""); ++i)
      verdicts.push_back(verdict("norm_layer", {4100, kernel.columns}));
    EXPECT_THAT(verdicts, testing::SizeIs(testing::Ge(2))) << kernel.name;
    for (const std::string& said : verdicts)
      EXPECT_THAT(said, testing::AnyOf(HasSubstr("race"), HasSubstr("nobody wrote"))) << kernel.name;
  }
}

/// Some barriers of a kernel guard what one launch alone does not do twice; one at least is missed.
TEST_F(PlantedFaults, barriers_of_sums_tiles_and_lists_are_missed) {
  struct Kernel {
    std::string source, name, operation;
    Size size;
  };
  for (const Kernel& kernel : {Kernel{"elementwise", "squares_of_blocks", "squared_norm", {3, 13}},
                               Kernel{"gemm", "multiply_one", "gemm_mixed", {7, 8}},
                               Kernel{"rows", "add_rows", "embedding", {70, 40}}}) {
    int planted = 0, found = 0;
    for (std::size_t i = 0; plant(kernel.source, kernel.name, "bar.sync \t0;", i, ""); ++i, ++planted)
      found += verdict(kernel.operation, kernel.size) != "nothing" ? 1 : 0;
    EXPECT_GE(found, 1) << kernel.name << ": none of " << planted << " barriers";
    RecordProperty(kernel.name, std::to_string(found) + " of " + std::to_string(planted));
  }
}

TEST_F(PlantedFaults, a_loop_that_runs_one_turn_too_far_leaves_its_matrix) {
  int found = 0, planted = 0;
  for (const char* comparison : {"setp.le.s64", "setp.ge.s64", "setp.lt.s64", "setp.gt.s64"}) {
    const std::string other =
        std::string{comparison}.substr(0, 6) + (comparison[6] == 'e' ? 't' : 'e') + ".s64";
    for (std::size_t i = 0; plant("elementwise", "3AddE", comparison, i, other); ++i, ++planted)
      found += verdict("add", {3, 13}).find("out of bounds") != std::string::npos ? 1 : 0;
  }
  EXPECT_GE(planted, 2);
  EXPECT_GE(found, 1);
}

TEST_F(PlantedFaults, a_partial_sum_that_is_not_stored_is_read_by_nobody_in_silence) {
  for (const NormKernel& kernel : kNormKernels) {
    ASSERT_TRUE(plant("norm", kernel.name, "st.shared.f32", 0, "//"));
    EXPECT_THAT(verdict("norm_layer", {3, kernel.columns}),
                HasSubstr("reads shared memory that nobody wrote"));
  }
}

TEST_F(PlantedFaults, statistics_that_the_forward_does_not_write_stop_the_backward) {
  std::vector<std::string> verdicts;
  for (std::size_t i = 0; plant("norm", "norm_groups", "st.global.f32", i, "//"); ++i)
    verdicts.push_back(verdict("norm_rms", {3, 13}));
  EXPECT_THAT(verdicts, testing::Contains(HasSubstr("reads what nobody wrote")));
}

}  // namespace
}  // namespace hexaplan::tests
