// Ranks on the GPUs of this machine: several on one, one of many, and one per GPU over NCCL.
#include <gmock/gmock.h>

#include <array>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "tests/validator/step/layout_cases.h"
#include "tests/validator/step/tiny_scenario.h"
#include "validator/executor/backends/backends.h"
#include "validator/executor/communicator/nccl/nccl_ranks.h"
#include "validator/executor/device/device.h"

namespace hexaplan::tests {
namespace {

using costmodel::Scenario;
using validator::Element;
using validator::Stream;

class GpuRanks : public testing::Test {
 protected:
  void SetUp() override {
    const auto state = validator::find_backend("cuda");
    if (!state || !state->available)
      GTEST_SKIP() << (state ? state->detail + "; " + state->remedy : "no device is called cuda");
  }
  static validator::ExecutionReport run(const Scenario& sc, validator::RankBackend& ranks) {
    validator::RunOptions options{.steps = 2, .routing = validator::Routing::InTurn};
    options.make_device = [&](int rank) {
      return validator::make_device("cuda", Element::F32, {.gpu = ranks.gpu_of(rank)});
    };
    return validator::run_steps(sc, options, ranks);
  }
  /// fp32 on the GPU against float64 of one rank on the host.
  static void expect_like_one_rank(const Scenario& sc, validator::RankBackend& ranks) {
    const auto report = run(sc, ranks);
    const auto single = run_tiny(on_one_rank(sc)).report;
    ASSERT_EQ(report.steps.size(), single.steps.size());
    for (std::size_t i = 0; i < single.steps.size(); ++i) {
      EXPECT_NEAR(report.steps[i].loss, single.steps[i].loss, 1e-4 * single.steps[i].loss);
      EXPECT_NEAR(report.steps[i].gradient_norm, single.steps[i].gradient_norm,
                  1e-3 * single.steps[i].gradient_norm);
    }
  }
};

TEST_F(GpuRanks, virtual_ranks_on_one_gpu_equal_one_rank) {
  for (const LayoutCase& c : layout_cases()) {
    SCOPED_TRACE(c.name);
    expect_like_one_rank(c.scenario(), *validator::make_rank_backend("threads"));
  }
}

TEST_F(GpuRanks, a_solo_rank_runs_and_stays_finite) {
  for (const LayoutCase& c : layout_cases()) {
    SCOPED_TRACE(c.name);
    const Scenario sc = c.scenario();
    const int last = static_cast<int>(sc.layout.world_size()) - 1;
    const auto report = run(sc, *validator::make_rank_backend("solo", {.solo_rank = last}));
    EXPECT_TRUE(std::isfinite(report.steps.back().gradient_norm));
  }
}

TEST_F(GpuRanks, over_nccl_equal_one_rank) {
  if (validator::find_nccl().functions == nullptr) GTEST_SKIP() << validator::find_nccl().problem;
  const int gpus = validator::find_nccl().functions->gpus();
  for (const LayoutCase& c : layout_cases()) {
    if (c.layout.world_size() > gpus) continue;
    SCOPED_TRACE(c.name);
    expect_like_one_rank(c.scenario(), *validator::make_rank_backend("nccl"));
  }
}

/// NCCL's own calls, with nobody else: the module's table on one GPU.
TEST_F(GpuRanks, every_function_of_the_nccl_module_works_with_one_rank) {
  if (validator::find_nccl().functions == nullptr) GTEST_SKIP() << validator::find_nccl().problem;
  const HexaplanNccl& nccl = *validator::find_nccl().functions;
  const auto device = validator::make_device("cuda", Element::F32);
  void* const stream = device->native_stream(Stream::Communication);
  ASSERT_EQ(nccl.adopt(stream), kHexaplanNcclReady) << nccl.last_error();
  std::array<char, kHexaplanNcclIdBytes> id{};
  ASSERT_EQ(nccl.make_id(id.data()), kHexaplanNcclReady) << nccl.last_error();
  void* const world = nccl.join(id.data(), 0, 1);
  ASSERT_NE(world, nullptr) << nccl.last_error();
  const auto finish = [&](int state) {
    while (state == kHexaplanNcclUnderWay) state = nccl.state(world);
    EXPECT_EQ(state, kHexaplanNcclReady) << nccl.last_error();
  };
  finish(nccl.state(world));
  const validator::Tensor in = device->allocate_message(Element::F32, 64),
                          out = device->allocate_message(Element::F32, 64);
  std::vector<double> values(64), got(64);
  std::iota(values.begin(), values.end(), 1);
  device->upload(in, values);
  device->fill(out, 0);
  device->wait(Stream::Communication, device->record(Stream::Compute));
  void* const from = in.view().data;
  void* const to = out.view().data;
  finish(nccl.all_reduce(world, stream, from, 64, kHexaplanNcclF32, kHexaplanNcclSum));
  finish(nccl.all_gather(world, stream, from, to, 64, kHexaplanNcclF32));
  finish(nccl.reduce_scatter(world, stream, from, to, 64, kHexaplanNcclF32, kHexaplanNcclMax));
  finish(nccl.broadcast(world, stream, to, 64, kHexaplanNcclF32, 0));
  finish(nccl.group_begin());
  finish(nccl.send(world, stream, from, 64, kHexaplanNcclF32, 0));
  finish(nccl.receive(world, stream, to, 64, kHexaplanNcclF32, 0));
  finish(nccl.group_end(world));
  void* const part = nccl.split(world, -1, 0);
  ASSERT_NE(part, nullptr) << nccl.last_error();
  finish(nccl.state(part));
  void* const mark = nccl.mark(stream);
  while (nccl.passed(mark) == kHexaplanNcclUnderWay) {
  }
  device->download(got, out);
  EXPECT_EQ(got, values);
  nccl.release_mark(mark);
  nccl.release(part);
  nccl.release(world);
}

}  // namespace
}  // namespace hexaplan::tests
