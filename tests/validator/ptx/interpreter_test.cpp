// What the interpreter of PTX promises to those who trust its verdict on kernels: written in PTX by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "tests/support/ptx/fault.h"
#include "tests/support/ptx/launch.h"

namespace hexaplan::tests::ptx {
namespace {

using testing::AllOf;
using testing::HasSubstr;

/// A kernel with one array of global memory as its argument, whose address is in %rd1; %r1 is the thread,
/// %rd3 the address of its word of 32 bits.
std::string kernel(const std::string& body, const std::string& shared = "") {
  return ".version 8.0\n.target sm_80\n.address_size 64\n" + shared +
         "\n.visible .entry k(\n\t.param .u64 k_param_0\n)\n{\n"
         "ld.param.u64 %rd1, [k_param_0];\ncvta.to.global.u64 %rd1, %rd1;\nmov.u32 %r1, %tid.x;\n"
         "mul.wide.u32 %rd2, %r1, 4;\nadd.s64 %rd3, %rd1, %rd2;\n" +
         body + "\nret;\n}\n";
}

/// The GPU of a test: one array.
class Machine {
 public:
  explicit Machine(std::size_t words, bool written = true) : words_(words) {
    memory_.add(bytes(), 4 * words);
    memory_.set_written(bytes(), 4 * words, written);
  }
  Work run(const std::string& text, Grid grid) {
    std::byte* const argument = bytes();
    const Kernel k = Module{text}.read("k");
    std::byte arguments[sizeof argument];
    std::memcpy(arguments, &argument, sizeof argument);
    return ptx::run(k, grid, arguments, memory_, clock_);
  }
  /// What is wrong with the kernel, in every order in which its warps can run.
  std::string fault(const std::string& text, Grid grid) {
    std::string first;
    for (const Order order : {Order::Forward, Order::Backward, Order::Shuffled}) {
      grid.order = order;
      try {
        run(text, grid);
        return "nothing";
      } catch (const Fault& fault) {
        if (first.empty()) first = fault.what();
      }
    }
    return first;
  }
  std::uint32_t& operator[](std::size_t i) { return words_[i]; }

 private:
  std::byte* bytes() { return reinterpret_cast<std::byte*>(words_.data()); }  // NOLINT(*-reinterpret-cast)
  std::vector<std::uint32_t> words_;
  GlobalMemory memory_;
  Clock clock_;
};

constexpr char kShared[] = ".shared .align 4 .b8 tile[512];\n";
/// Every thread writes its word of shared memory, and reads that of the thread whose number differs in
/// `bits`.
std::string exchange(const std::string& barrier, unsigned bits) {
  return kernel(
      "mov.u32 %r2, tile;\nshl.b32 %r3, %r1, 2;\nadd.s32 %r4, %r2, %r3;\nst.shared.u32 [%r4], %r1;\n" +
          barrier + "xor.b32 %r5, %r3, " + std::to_string(4 * bits) +
          ";\nadd.s32 %r6, %r2, %r5;\nld.shared.u32 %r7, [%r6];\nst.global.u32 [%rd3], %r7;",
      kShared);
}

TEST(ptx_interpreter, every_thread_of_every_block_runs_once) {
  Machine gpu{128};
  for (const Order order : {Order::Forward, Order::Backward, Order::Shuffled}) {
    gpu.run(kernel("mov.u32 %r2, %ctaid.x;\nshl.b32 %r3, %r2, 6;\nadd.s32 %r4, %r3, %r1;\nmul.wide.u32 %rd4, "
                   "%r4, 4;\n"
                   "add.s64 %rd5, %rd1, %rd4;\nld.global.u32 %r5, [%rd5];\nadd.s32 %r6, %r5, %r4;\n"
                   "st.global.u32 [%rd5], %r6;"),
            {.blocks = {2}, .threads = {64}, .order = order});
  }
  for (unsigned i = 0; i < 128; ++i) EXPECT_EQ(gpu[i], 3 * i);
}

TEST(ptx_interpreter, lanes_that_part_meet_again) {
  Machine gpu{32};
  // A loop of as many turns as the lane has number; then all lanes exchange.
  gpu.run(kernel("mov.u32 %r2, 0;\nmov.u32 %r3, 0;\n$L1:\nsetp.ge.u32 %p1, %r2, %r1;\n@%p1 bra $L2;\n"
                 "add.s32 %r3, %r3, 2;\nadd.s32 %r2, %r2, 1;\nbra.uni $L1;\n$L2:\n"
                 "shfl.sync.bfly.b32 %r4|%p2, %r3, 1, 31, -1;\nst.global.u32 [%rd3], %r4;"),
          {.threads = {32}});
  for (unsigned i = 0; i < 32; ++i) EXPECT_EQ(gpu[i], 2 * (i ^ 1));
}

TEST(ptx_interpreter, a_ballot_has_a_bit_per_lane) {
  Machine gpu{32};
  gpu.run(kernel("setp.gt.u32 %p1, %r1, 29;\nvote.sync.ballot.b32 %r2, %p1, -1;\nst.global.u32 [%rd3], %r2;"),
          {.threads = {32}});
  for (unsigned i = 0; i < 32; ++i) EXPECT_EQ(gpu[i], 0xc0000000U);
}

TEST(ptx_interpreter, warps_that_a_barrier_orders_see_each_other) {
  Machine gpu{128};
  for (const Order order : {Order::Forward, Order::Backward, Order::Shuffled}) {
    gpu.run(exchange("bar.sync 0;\n", 64), {.threads = {128}, .order = order});
    for (unsigned i = 0; i < 128; ++i) EXPECT_EQ(gpu[i], i ^ 64);
  }
}

TEST(ptx_interpreter, without_the_barrier_it_names_the_race) {
  Machine gpu{128};
  // In the first order the other warp has not written yet, in a later one it has.
  EXPECT_THAT(gpu.fault(exchange("", 64), {.threads = {128}}),
              HasSubstr("reads shared memory that nobody wrote"));
  std::string what;
  try {
    // The upper warp reads what the lower one writes only after it.
    gpu.run(kernel("setp.lt.u32 %p1, %r1, 32;\nmov.u32 %r2, tile;\n@%p1 bra $L1;\nst.shared.u32 [%r2], "
                   "%r1;\nbra.uni $L2;\n"
                   "$L1:\nld.shared.u32 %r3, [%r2];\n$L2:",
                   kShared),
            {.threads = {33}, .order = Order::Backward});
  } catch (const Fault& fault) {
    what = fault.what();
  }
  EXPECT_THAT(what, AllOf(HasSubstr("`ld.shared.u32 %r3, [%r2]`"), HasSubstr("thread 0"),
                          HasSubstr("a write of the same place by thread 32 of the block: a race")));
}

TEST(ptx_interpreter, a_barrier_of_the_warp_orders_its_lanes_alone) {
  Machine gpu{128};
  gpu.run(exchange("bar.warp.sync -1;\n", 1), {.threads = {128}});
  for (unsigned i = 0; i < 128; ++i) EXPECT_EQ(gpu[i], i ^ 1);
  EXPECT_THAT(gpu.fault(exchange("", 1), {.threads = {32}}), HasSubstr("race"));
  EXPECT_THAT(gpu.fault(exchange("bar.warp.sync -1;\n", 64), {.threads = {128}}),
              HasSubstr("shared memory that nobody wrote"));
}

TEST(ptx_interpreter, a_write_after_a_read_is_a_race_as_well) {
  Machine gpu{64};
  const auto text = [](const std::string& barrier) {
    return kernel(
        "mov.u32 %r2, tile;\nsetp.ne.u32 %p1, %r1, 0;\n@%p1 bra $L1;\nst.shared.u32 [%r2], "
        "%r1;\n$L1:\nbar.sync 0;\n"
        "ld.shared.u32 %r3, [%r2];\n" +
            barrier + "setp.ne.u32 %p2, %r1, 40;\n@%p2 bra $L2;\nst.shared.u32 [%r2], %r1;\n$L2:",
        kShared);
  };
  EXPECT_EQ(gpu.fault(text("bar.sync 0;\n"), {.threads = {64}}), "nothing");
  EXPECT_THAT(gpu.fault(text(""), {.threads = {64}}), HasSubstr("race"));
}

TEST(ptx_interpreter, blocks_of_one_launch_are_not_ordered_but_launches_are) {
  Machine gpu{1};
  const std::string text = kernel("st.global.u32 [%rd1], %r1;");
  EXPECT_THAT(gpu.fault(text, {.blocks = {2}, .threads = {1}}),
              HasSubstr("by another block: a race of a write"));
  gpu.run(text, {.threads = {1}});
  gpu.run(text, {.threads = {1}});
}

TEST(ptx_interpreter, global_memory_has_bounds_and_must_be_written_first) {
  Machine gpu{32};
  EXPECT_THAT(gpu.fault(kernel("ld.global.u32 %r2, [%rd3];"), {.threads = {33}}),
              AllOf(HasSubstr("thread 32"), HasSubstr("out of bounds: at byte 128 of an allocation of 128")));
  EXPECT_THAT(gpu.fault(kernel("ld.global.u32 %r2, [%rd3+2];"), {.threads = {1}}),
              HasSubstr("not aligned to the 4 bytes"));
  EXPECT_THAT(gpu.fault(kernel("ld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%rd3];"), {.threads = {2}}),
              HasSubstr("not aligned to the 16 bytes"));
  Machine empty{32, false};
  EXPECT_THAT(empty.fault(kernel("ld.global.u32 %r2, [%rd3];"), {.threads = {1}}),
              HasSubstr("reads what nobody wrote"));
  EXPECT_EQ(empty.fault(kernel("st.global.u32 [%rd3], %r1;\nld.global.u32 %r2, [%rd3];"), {.threads = {32}}),
            "nothing");
}

TEST(ptx_interpreter, shared_memory_has_bounds_and_no_block_sees_that_of_another) {
  Machine gpu{32};
  EXPECT_THAT(
      gpu.fault(kernel("mov.u32 %r2, tile;\nst.shared.u32 [%r2+512], %r1;", kShared), {.threads = {1}}),
      HasSubstr("out of bounds of the block's shared memory"));
  const std::string dynamic = ".extern .shared .align 16 .b8 words[];\n";
  const std::string text = kernel("mov.u32 %r2, words;\nst.shared.u32 [%r2+12], %r1;", dynamic);
  EXPECT_EQ(gpu.fault(text, {.threads = {1}, .dynamic_shared_bytes = 16}), "nothing");
  EXPECT_THAT(gpu.fault(text, {.threads = {1}, .dynamic_shared_bytes = 12}), HasSubstr("out of bounds"));
  EXPECT_THAT(
      gpu.fault(kernel("mov.u32 %r2, tile;\nmov.u32 %r3, %ctaid.x;\nsetp.eq.u32 %p1, %r3, 1;\n@%p1 bra $L1;\n"
                       "st.shared.u32 [%r2], %r1;\nbra.uni $L2;\n$L1:\nld.shared.u32 %r4, [%r2];\n$L2:",
                       kShared),
                {.blocks = {2}, .threads = {1}}),
      HasSubstr("shared memory that nobody wrote"));
}

TEST(ptx_interpreter, barriers_that_not_all_reach_are_found) {
  Machine gpu{64};
  const auto some = [](const std::string& less_than, const std::string& what) {
    return kernel("setp.ge.u32 %p1, %r1, " + less_than + ";\n@%p1 bra $L1;\n" + what + "\n$L1:");
  };
  EXPECT_THAT(gpu.fault(some("7", "bar.sync 0;"), {.threads = {64}}),
              HasSubstr("`bar.sync 0` is not reached by threads of its warp"));
  EXPECT_THAT(gpu.fault(some("32", "bar.sync 0;"), {.threads = {64}}),
              HasSubstr("`bar.sync 0` is not reached by 1 warps of the block"));
  EXPECT_THAT(gpu.fault(some("32", "bar.sync 0;\nbra.uni $L2;") + "", {.threads = {64}}),
              HasSubstr("$L2, which is no label"));
  EXPECT_THAT(
      gpu.fault(
          kernel(
              "setp.ge.u32 %p1, %r1, 32;\n@%p1 bra $L1;\nbar.sync 0;\nbra.uni $L2;\n$L1:\nbar.sync 0;\n$L2:"),
          {.threads = {64}}),
      HasSubstr("while others wait at line"));
  EXPECT_THAT(gpu.fault(kernel("setp.ge.u32 %p1, %r1, 7;\n@%p1 bra $L1;\nbar.warp.sync -1;\nbra.uni "
                               "$L2;\n$L1:\nbar.warp.sync -1;\n$L2:"),
                        {.threads = {32}}),
              HasSubstr("reached by only some of the threads"));
}

TEST(ptx_interpreter, a_lane_outside_of_the_mask_of_an_exchange_is_found) {
  Machine gpu{32};
  EXPECT_THAT(gpu.fault(kernel("shfl.sync.bfly.b32 %r4|%p2, %r1, 1, 31, 255;"), {.threads = {32}}),
              AllOf(HasSubstr("thread 8"), HasSubstr("a lane that its mask leaves out")));
  EXPECT_THAT(gpu.fault(kernel("shfl.sync.bfly.b32 %r4|%p2, %r1, 16, 31, -1;"), {.threads = {16}}),
              HasSubstr("reads from lane 16, which does not take part"));
}

TEST(ptx_interpreter, bytes_are_counted_as_asked_for_and_once_each) {
  Machine gpu{32};
  const Work work = gpu.run(
      kernel(
          "ld.global.u32 %r2, [%rd3];\nld.global.u32 %r3, [%rd3];\nld.global.u32 %r4, [%rd1];\n"
          "bar.sync 0;\nst.global.u32 [%rd3], %r2;\nst.global.u32 [%rd3], %r2;\nld.global.u32 %r5, [%rd3];"),
      {.threads = {32}});
  EXPECT_EQ(work.global.loaded, 4U * 128);
  EXPECT_EQ(work.global.stored, 2U * 128);
  EXPECT_EQ(work.global.read_once, 128U);
  EXPECT_EQ(work.global.written_once, 128U);
}

TEST(ptx_interpreter, what_it_does_not_know_is_named_with_its_line) {
  Machine gpu{1};
  EXPECT_THAT(gpu.fault(kernel("tanh.approx.f32 %f1, %f2;"), {}),
              AllOf(HasSubstr("k, line 14: `tanh.approx.f32 %f1, %f2`"), HasSubstr("does not know")));
  EXPECT_THAT(gpu.fault(kernel("ld.u32 %r2, [%rd1];"), {}), HasSubstr("generic address"));
  EXPECT_THAT(gpu.fault(kernel("ld.volatile.global.u32 %r2, [%rd1];"), {}), HasSubstr(".volatile"));
  EXPECT_THAT(gpu.fault(kernel("bar.sync 1, 32;"), {}), HasSubstr("barrier of part of a block"));
  EXPECT_THAT(gpu.fault(kernel("mov.u32 %r2, %clock;\nmov.u32 %r3, %envreg.a;"), {}),
              HasSubstr("special register"));
  EXPECT_THAT(gpu.fault("not PTX", {}), HasSubstr(".version"));
}

/// The bits of one instruction's result.
std::uint64_t result(const std::string& opcode, const std::vector<std::uint64_t>& operands) {
  const LaneFunction f = find_compute(opcode);
  if (f == nullptr) throw Fault{"no " + opcode};
  std::vector<Lanes> registers(operands.size() + 1);
  Instruction in;
  in.operands.push_back(0);
  for (std::size_t i = 0; i < operands.size(); ++i) {
    registers[i + 1][0] = operands[i];
    in.operands.push_back(static_cast<std::uint32_t>(i + 1));
  }
  f(registers.data(), in, 1);
  return registers[0][0];
}
std::uint64_t f32(float x) {
  return to_bits(x);
}

TEST(ptx_interpreter, integers_wrap_shift_and_divide_as_the_hardware_does) {
  EXPECT_EQ(result("add.s32", {0x7fffffff, 1}), 0x80000000U);
  EXPECT_EQ(result("sub.s64", {0, 1}), ~std::uint64_t{0});
  EXPECT_EQ(result("mul.lo.s32", {0xffffffff, 3}), 0xfffffffdU);
  EXPECT_EQ(result("mul.hi.u32", {0x80000000, 6}), 3U);
  EXPECT_EQ(result("mul.wide.s32", {0xffffffff, 4}), static_cast<std::uint64_t>(-4));
  EXPECT_EQ(result("mul.wide.u32", {0xffffffff, 4}), 0x3fffffffcU);
  EXPECT_EQ(result("shl.b32", {1, 32}), 0U);
  EXPECT_EQ(result("shr.s32", {0x80000000, 40}), 0xffffffffU);
  EXPECT_EQ(result("shr.u32", {0x80000000, 31}), 1U);
  EXPECT_EQ(result("div.s64", {static_cast<std::uint64_t>(-7), 2}), static_cast<std::uint64_t>(-3));
  EXPECT_EQ(result("rem.s64", {static_cast<std::uint64_t>(-7), 2}), static_cast<std::uint64_t>(-1));
  EXPECT_EQ(result("popc.b32", {0xf0f}), 8U);
  EXPECT_EQ(result("bfi.b32", {0x5, 0xff00, 4, 4}), 0xff50U);
  EXPECT_EQ(result("setp.lt.s16", {0xffff, 0}), 1U);
  EXPECT_EQ(result("setp.lt.u16", {0xffff, 0}), 0U);
  EXPECT_EQ(result("cvt.u32.u16", {0x12345}), 0x2345U);
  EXPECT_EQ(result("cvt.s64.s32", {0xfffffffe}), static_cast<std::uint64_t>(-2));
}

TEST(ptx_interpreter, numbers_round_and_compare_as_ieee_says) {
  const float nan = std::numeric_limits<float>::quiet_NaN(),
              infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(result("setp.lt.f32", {f32(nan), f32(1)}), 0U);
  EXPECT_EQ(result("setp.ltu.f32", {f32(nan), f32(1)}), 1U);
  EXPECT_EQ(result("setp.ne.f32", {f32(nan), f32(1)}), 0U);
  EXPECT_EQ(result("setp.neu.f32", {f32(nan), f32(1)}), 1U);
  EXPECT_EQ(result("setp.nan.f32", {f32(nan), f32(1)}), 1U);
  EXPECT_EQ(result("max.f32", {f32(nan), f32(1)}), f32(1));
  EXPECT_EQ(result("min.f32", {f32(-infinity), f32(1)}), f32(-infinity));
  EXPECT_EQ(result("copysign.f32", {f32(-2), f32(3)}), f32(-3));
  EXPECT_EQ(result("fma.rn.f32", {f32(1 + 0x1p-12F), f32(1 + 0x1p-12F), f32(-1)}), f32(0x1p-11F + 0x1p-24F));
  EXPECT_EQ(result("fma.rm.f32", {f32(1.5F), f32(1), f32(0x1.8p23F)}), f32(0x1.8p23F + 1));
  EXPECT_EQ(result("ex2.approx.ftz.f32", {f32(-200)}), f32(0));
  EXPECT_EQ(result("ex2.approx.ftz.f32", {f32(3)}), f32(8));
  EXPECT_EQ(result("rcp.approx.ftz.f32", {f32(infinity)}), f32(0));
  EXPECT_EQ(result("cvt.rni.f32.f32", {f32(2.5F)}), f32(2));
  EXPECT_EQ(result("cvt.rzi.s32.f32", {f32(-3e10F)}), 0x80000000U);
  EXPECT_EQ(result("cvt.rzi.s32.f32", {f32(nan)}), 0U);
  EXPECT_EQ(result("cvt.sat.f32.f32", {f32(7)}), f32(1));
  EXPECT_EQ(result("cvt.rn.bf16.f32", {f32(1 + 0x1p-8F)}), 0x3f80U);
  EXPECT_EQ(result("cvt.rn.bf16.f32", {f32(1 + 0x1.8p-8F)}), 0x3f81U);
  EXPECT_EQ(result("selp.f32", {f32(1), f32(2), 0}), f32(2));
}

}  // namespace
}  // namespace hexaplan::tests::ptx
