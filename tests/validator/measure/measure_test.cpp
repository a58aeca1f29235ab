// Sweeps on the CPU device and on threads: what is planned, measured, stored and taken up again.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <set>
#include <tuple>

#include "tests/support/emulated_device.h"
#include "tests/support/temporary_folder.h"
#include "validator/executor/communicator/threads/thread_ranks.h"
#include "validator/executor/device/cpu/cpu_device.h"
#include "validator/measure/sweep/sweep.h"

namespace hexaplan::validator {
namespace {

namespace fs = std::filesystem;
using costmodel::Bytes;
using costmodel::BytesPerSecond;
using costmodel::CollectiveKind;
using costmodel::FlopsPerSecond;
using costmodel::Pass;
using costmodel::Precision;
using costmodel::Seconds;

const RoughRates kH100{FlopsPerSecond{600e12}, FlopsPerSecond{300e12}, BytesPerSecond{2e12}};
const RoughRates kH200{FlopsPerSecond{650e12}, FlopsPerSecond{400e12}, BytesPerSecond{3e12}};
const RoughRates kProcessor{FlopsPerSecond{40e9}, FlopsPerSecond{5e9}, BytesPerSecond{8e9}};

std::vector<Point> plan(const RoughRates& rates, int per_cell, double longest,
                        std::vector<Precision> narrow = {}) {
  return plan_kernels({.rates = rates,
                       .longest_run = Seconds{longest},
                       .memory = Bytes{4e9},
                       .per_cell = per_cell,
                       .narrow = std::move(narrow)});
}

std::vector<Point> of_precision(const std::vector<Point>& points, Precision precision) {
  std::vector<Point> result;
  std::copy_if(points.begin(), points.end(), std::back_inserter(result),
               [precision](const Point& p) { return p.precision == precision; });
  return result;
}

std::vector<std::string> names_of(const std::vector<Point>& points) {
  std::vector<std::string> names;
  for (const Point& point : points) names.push_back(name_of(point));
  return names;
}

TEST(plan_kernels, any_beginning_is_a_sweep_of_all_kinds) {
  const std::vector<Point> points = plan(kH100, 1, 0.5);
  std::set<PointKind> kinds;
  std::set<std::string> names;
  for (const Point& point : points) {
    EXPECT_TRUE(names.insert(name_of(point)).second) << name_of(point) << " twice";
    if (names.size() <= points.size() / 4) kinds.insert(point.kind);
  }
  EXPECT_EQ(kinds.size(), 7U) << "all but collectives and overlap";
  EXPECT_GT(plan(kH100, 4, 0.5).size(), 2 * points.size()) << "a full sweep is a denser one";
}

TEST(plan_kernels, has_shapes_of_real_layers_and_what_small_machines_can_compute) {
  std::set<std::string> names;
  for (const Point& point : plan(kH100, 4, 0.5)) names.insert(name_of(point));
  // Llama-3.1-8B under tp=1: gate and up, 4096 tokens.
  EXPECT_TRUE(names.contains("gemm bf16 forward 4096x28672x4096"));
  EXPECT_TRUE(
      names.contains("attention backward batch 4 heads 32/8 queries 4096 keys 4096 dim 128/128 causal"));
  EXPECT_TRUE(names.contains("memory-bound adamw 67108864 elements"));
  const std::vector<Point> small = plan(kProcessor, 1, 0.01);
  EXPECT_GT(small.size(), 40U);
  for (const Point& point : small) EXPECT_LE(guess_time(point, kProcessor), Seconds{0.01}) << name_of(point);
}

/// What a quick sweep of 100 s on one H100 or H200 may plan (cli/commands/calibrate.cpp).
std::vector<Point> quick_plan() {
  return plan_kernels({.rates = kH200,
                       .longest_run = Seconds{100.0 / 1500},
                       .memory = Bytes{2e9},
                       .per_cell = 1,
                       .narrow = {Precision::Fp8}});
}

std::vector<std::string> quick_names() {
  return names_of(quick_plan());
}

TEST(plan_kernels, a_quick_sweep_of_a_gpu_fits_its_budget) {
  // Two warm-ups and ten samples of 5 ms or two executions (BenchOptions); a fixed order cuts off the rest.
  double seconds = 0;
  for (const Point& p : quick_plan()) {
    seconds += std::max(12 * 5e-3, 23 * guess_time(p, kH200).value());
    if (p.kind == PointKind::SustainedGemm) seconds += 2;
  }
  EXPECT_LT(seconds, 85);
}

TEST(plan_kernels, a_quick_sweep_of_a_gpu_has_the_attention_of_ordinary_training_early) {
  const std::vector<std::string> names = quick_names();
  const auto place = [&](const std::string& name) {
    return std::find(names.begin(), names.end(), name) - names.begin();
  };
  const auto quarter = static_cast<std::ptrdiff_t>(names.size() / 4);
  for (const char* heads : {"32/8", "32/32"}) {
    for (const std::int64_t sequence : {2048, 4096, 8192, 16384, 32768}) {
      if (sequence == 32768 && std::string_view{heads} == "32/32") continue;  // of 2.7 GB

      for (const char* direction : {"forward", "backward"}) {
        const std::int64_t batch = std::max<std::int64_t>(1, 16384 / sequence);
        const std::string name =
            fmt::format("attention {} batch {} heads {} queries {} keys {} dim 128/128 causal", direction,
                        batch, heads, sequence, sequence);
        EXPECT_LT(place(name), sequence < 32768 ? quarter : 2 * quarter) << name;
      }
    }
  }
  EXPECT_LT(place("attention forward batch 4 heads 16/16 queries 4096 keys 4096 dim 64/64 causal"), quarter);
}

TEST(plan_kernels, have_latent_heads_and_every_memory_bound_kernel) {
  for (const int per_cell : {1, 4}) {
    int latent = 0;
    std::set<MemoryStep> steps;
    for (const Point& p : plan(kH100, per_cell, 0.5)) {
      if (p.attention.head_dim == 192 && p.attention.v_head_dim == 128) ++latent;
      if (p.kind == PointKind::MemoryBound) steps.insert(p.step);
    }
    EXPECT_GE(latent, per_cell == 1 ? 4 : 30);
    EXPECT_EQ(steps.size(), static_cast<std::size_t>(kMemorySteps));
  }
}

TEST(plan_kernels, a_quick_sweep_of_a_gpu_has_experts_of_published_models_in_every_pass_early) {
  const std::vector<std::string> names = quick_names();
  const std::set<std::string> early(names.begin(),
                                    names.begin() + static_cast<std::ptrdiff_t>(names.size() / 3));
  for (const char* name :
       {"grouped gemm bf16 forward 2048x14336x4096 batch 8", "grouped gemm bf16 data 2048x4096x14336 batch 8",
        "grouped gemm bf16 weight 14336x4096x2048 batch 8",
        "grouped gemm bf16 forward 256x1536x2048 batch 128",
        "grouped gemm bf16 forward 512x2048x1408 batch 64",
        "grouped gemm bf16 forward 128x768x3072 batch 256", "grouped gemm bf16 weight 3072x768x128 batch 256",
        "grouped gemm bf16 forward 1024x8192x5120 batch 16",
        "grouped gemm bf16 weight 2816x2048x512 batch 64"})
    EXPECT_TRUE(early.contains(name)) << name;
}

TEST(plan_kernels, a_quick_sweep_of_a_gpu_has_the_products_of_large_layers) {
  const std::vector<std::string> names = quick_names();
  EXPECT_THAT(names, testing::IsSupersetOf({"gemm bf16 forward 8192x8192x8192",
                                            "sustained gemm bf16 forward 8192x8192x8192",
                                            "memory-bound adamw 66666496 elements"}));
}

TEST(plan_kernels, a_quick_sweep_of_one_gpu_takes_less_than_two_minutes) {
  for (const std::vector<Precision>& narrow : {std::vector<Precision>{}, {Precision::Fp8}}) {
    double seconds = 0;
    for (const Point& point : plan(kH100, 1, 0.5, narrow)) {
      constexpr double kRuns = 3 + 10, kShortest = 200e-6, kSetUp = 20e-3;
      seconds += kSetUp + kRuns * std::max(guess_time(point, kH100).value(), kShortest);
      if (point.kind == PointKind::SustainedGemm) seconds += BenchOptions{}.sustained.value();
    }
    EXPECT_LT(seconds, 60) << "and the budget cuts off what takes longer than guessed";
  }
}

TEST(plan_kernels, fp8_adds_products_and_changes_nothing_else) {
  for (const int per_cell : {1, 4}) {
    const std::vector<Point> without = plan(kH100, per_cell, 0.5);
    const std::vector<Point> with = plan(kH100, per_cell, 0.5, {Precision::Fp8});
    EXPECT_EQ(names_of(of_precision(with, Precision::Bf16)), names_of(without));
    EXPECT_TRUE(of_precision(without, Precision::Fp8).empty());
    const auto gemms = [](const std::vector<Point>& points) {
      return std::count_if(points.begin(), points.end(),
                           [](const Point& p) { return p.kind == PointKind::Gemm; });
    };
    const std::vector<Point> narrow = of_precision(with, Precision::Fp8);
    EXPECT_GE(gemms(narrow), 40) << "enough for a curve of its own, and to hold out a quarter";
    EXPECT_LT(gemms(narrow), gemms(without) / 2) << "a quick sweep has to hold both";
  }
}

TEST(plan_kernels, fp8_has_every_pass_and_a_sustained_product_in_any_beginning) {
  const std::vector<Point> points = plan(kH100, 1, 0.5, {Precision::Fp8});
  std::set<std::string> names, passes;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const Point& p = points[i];
    EXPECT_TRUE(names.insert(name_of(p)).second) << name_of(p) << " twice";
    if (p.precision != Precision::Fp8) continue;
    for (const std::int64_t side : {p.gemm.m, p.gemm.n, p.gemm.k}) EXPECT_EQ(side % 16, 0) << name_of(p);
    if (i < points.size() / 4)
      passes.insert(name_of(p).substr(0, name_of(p).find(' ', name_of(p).find("fp8") + 4)));
  }
  EXPECT_THAT(passes, testing::IsSupersetOf({"gemm fp8 forward", "gemm fp8 data", "gemm fp8 weight",
                                             "sustained gemm fp8 forward"}));
  EXPECT_TRUE(names.contains("gemm fp8 forward 8192x8192x8192")) << "what the sustained one is held against";
  EXPECT_TRUE(std::any_of(points.begin(), points.end(), [](const Point& p) {
    return p.precision == Precision::Fp8 && p.gemm.accumulate_bytes > 0;
  }));
}

TEST(point, traffic_is_that_of_the_operands_and_of_the_result) {
  struct Row {
    Precision precision;
    double accumulate_bytes, operand, result;  // bytes per element
  };
  constexpr double kM = 32, kN = 48, kK = 64;
  for (const Row& row : {Row{Precision::Bf16, 0, 2, 2}, Row{Precision::Bf16, 8, 2, 8},
                         Row{Precision::Fp8, 0, 1, 2}, Row{Precision::Fp8, 8, 1, 8}}) {
    const Point p{.precision = row.precision,
                  .gemm = {.m = 32, .n = 48, .k = 64, .accumulate_bytes = row.accumulate_bytes}};
    EXPECT_EQ(traffic_of(p).value(), row.operand * (kM * kK + kK * kN) + row.result * kM * kN) << name_of(p);
  }
}

TEST(point, eight_bits_are_guessed_to_compute_twice_as_fast) {
  const RoughRates no_memory{kH100.gemm, kH100.attention, BytesPerSecond{1e30}};
  Point p{.gemm = {.m = 4096, .n = 4096, .k = 4096}};
  const double wide = guess_time(p, no_memory).value();
  p.precision = Precision::Fp8;
  EXPECT_NEAR(guess_time(p, no_memory).value(), wide / 2, 1e-12);
}

TEST(plan_collectives, cover_every_kind_over_groups_up_to_all_ranks) {
  std::set<std::pair<CollectiveKind, int>> seen;
  int overlaps = 0;
  for (const Point& point :
       plan_collectives({.ranks = 12, .per_node = 8, .overlaps = true},
                        {.rates = kH100, .longest_run = Seconds{1}, .memory = Bytes{4e9}})) {
    if (point.kind == PointKind::Overlap) {
      ++overlaps;
      continue;
    }
    seen.emplace(point.collective, point.ranks);
    EXPECT_EQ(point.nodes, point.ranks > 8 ? 2 : 1);
  }
  EXPECT_EQ(seen.size(), 6U * 4) << "2, 4, 8 and 12 ranks";
  EXPECT_GT(overlaps, 0);
}

using Form = std::tuple<int, int, int, int>;  // ranks, nodes, stride, groups at once
std::set<Form> forms_of(const std::vector<Point>& points, CollectiveKind kind) {
  std::set<Form> forms;
  for (const Point& point : points) {
    if (point.kind == PointKind::Collective && point.collective == kind)
      forms.emplace(point.ranks, point.nodes, point.stride, point.groups);
  }
  return forms;
}

TEST(plan_collectives, have_the_groups_that_layouts_have_all_of_them_at_once) {
  const std::vector<Point> points =
      plan_collectives({.ranks = 32, .per_node = 8},
                       {.rates = kH100, .longest_run = Seconds{1}, .memory = Bytes{4e9}, .per_cell = 1});
  const std::set<Form> all{{2, 1, 1, 16}, {4, 1, 1, 8}, {8, 1, 1, 4},  {16, 2, 1, 2}, {32, 4, 1, 1},
                           {16, 4, 2, 2}, {8, 4, 4, 4}, {2, 2, 8, 16}, {4, 4, 8, 8}};
  EXPECT_EQ(forms_of(points, CollectiveKind::AllReduce), all);
  EXPECT_EQ(forms_of(points, CollectiveKind::SendRecv), all) << "pairs across nodes";
  std::set<Form> exchanges = all;
  exchanges.erase({2, 2, 8, 16});
  EXPECT_EQ(forms_of(points, CollectiveKind::AllToAll), exchanges) << "of two ranks: a pair";
}

TEST(plan_collectives, groups_that_hosts_would_cut_are_measured_alone_and_not_in_strides) {
  const std::vector<Point> points =
      plan_collectives({.ranks = 12, .per_node = 6},
                       {.rates = kH100, .longest_run = Seconds{1}, .memory = Bytes{4e9}, .per_cell = 1});
  EXPECT_EQ(
      forms_of(points, CollectiveKind::AllGather),
      (std::set<Form>{{2, 1, 1, 6}, {4, 1, 1, 1}, {8, 2, 1, 1}, {12, 2, 1, 1}, {6, 2, 2, 2}, {2, 2, 6, 6}}));
}

class Sweep : public testing::Test {
 protected:
  static BenchOptions quick() {
    return {.memory = Bytes{4e6},
            .warmups = 1,
            .samples = 3,
            .shortest_sample = Seconds{1e-6},
            .sustained = Seconds{1e-3}};
  }
  static std::vector<Point> one_of_each_kind() {
    std::vector<Point> points;
    std::set<std::pair<PointKind, int>> kinds;
    for (const Point& point : plan(kProcessor, 1, 2e-3)) {
      const int step = point.kind == PointKind::MemoryBound ? static_cast<int>(point.step)
                       : point.kind == PointKind::Gemm      ? static_cast<int>(point.pass)
                                                            : 0;
      if (traffic_of(point) <= quick().memory && kinds.insert({point.kind, step}).second)
        points.push_back(point);
    }
    return points;
  }
  tests::TemporaryFolder own_;
  fs::path folder_ = own_.path();
  Database database_{folder_ / "store.sqlite"};
  MeasurementStore store_{database_, {"cpu", "here", ""}, "test"};
};

TEST_F(Sweep, measures_every_kernel_of_the_cpu_device) {
  const auto device = make_cpu_device(Element::F32);
  KernelBench bench{*device, quick()};
  const RoughRates rates = bench.probe();
  EXPECT_GT(rates.gemm.value(), 1e7);
  EXPECT_GT(rates.memory.value(), 1e6);
  const std::vector<Point> points = one_of_each_kind();
  EXPECT_GE(points.size(), 3U + kMemorySteps + 3U);
  const SweepResult result = sweep_kernels(points, bench, store_, {});
  EXPECT_EQ(result.measured, static_cast<int>(points.size()));
  for (const Measurement& m : result.measurements) {
    EXPECT_EQ(m.seconds.size(), 3U) << name_of(m.point);
    EXPECT_TRUE(m.median() > 0 && m.median() < 1) << name_of(m.point) << " " << m.median() << " s";
  }
}

TEST_F(Sweep, grouped_products_run_in_every_pass) {
  const auto device = make_cpu_device(Element::F32);
  KernelBench bench{*device, quick()};
  for (const Pass pass : {Pass::Forward, Pass::BackwardData, Pass::BackwardWeight}) {
    const Point p{
        .kind = PointKind::GroupedGemm, .pass = pass, .gemm = {.m = 24, .n = 40, .k = 16, .batch = 4}};
    const std::vector<double> seconds = bench.measure(p);
    EXPECT_EQ(seconds.size(), 3U) << name_of(p);
  }
  EXPECT_FALSE(bench.holds_not_a_number());
}

TEST_F(Sweep, a_probe_guesses_large_operations_by_rates_that_no_launch_hides) {
  const auto device = make_cpu_device(Element::F32);
  BenchOptions options = quick();
  options.memory = Bytes{64e6};
  KernelBench bench{*device, options};
  const RoughRates rates = bench.probe();
  const Point copy{.kind = PointKind::MemoryBound, .step = MemoryStep::Copy, .elements = 1 << 22};
  const double seconds = Measurement{copy, bench.measure(copy)}.median();
  EXPECT_LT(std::abs(std::log(guess_time(copy, rates).value() / seconds)), std::log(4.0));
}

TEST_F(Sweep, computes_on_numbers_that_are_numbers) {
  // Not-a-numbers would mean operands that nobody wrote, or states that cannot be.
  const auto device = make_cpu_device(Element::F32);
  KernelBench bench{*device, quick()};
  const SweepResult result = sweep_kernels(one_of_each_kind(), bench, store_, {});
  ASSERT_FALSE(result.measurements.empty());
  EXPECT_FALSE(bench.holds_not_a_number());
}

TEST_F(Sweep, takes_what_is_stored_and_measures_the_rest) {
  const auto device = make_cpu_device(Element::F32);
  KernelBench bench{*device, quick()};
  const std::vector<Point> points = one_of_each_kind();
  const std::span<const Point> half{points.data(), points.size() / 2};
  (void)sweep_kernels(half, bench, store_, {});
  int begun = 0;
  SweepOptions options;
  options.progress = [&](const SweepProgress& p) { begun += p.point != nullptr ? 1 : 0; };
  const SweepResult rest = sweep_kernels(points, bench, store_, options);
  EXPECT_EQ(rest.stored, static_cast<int>(half.size()));
  EXPECT_EQ(rest.measured, static_cast<int>(points.size() - half.size()));
  EXPECT_EQ(begun, rest.measured);
  EXPECT_EQ(rest.measurements.size(), points.size());
  options.again = true;
  EXPECT_EQ(sweep_kernels(half, bench, store_, options).measured, static_cast<int>(half.size()));
}

Point narrow_point(PointKind kind, Pass pass, std::int64_t m, double accumulate_bytes = 0) {
  return {.kind = kind,
          .precision = Precision::Fp8,
          .pass = pass,
          .gemm = {.m = m, .n = 48, .k = 64, .accumulate_bytes = accumulate_bytes}};
}

TEST_F(Sweep, measures_fp8_and_leaves_out_what_the_device_turns_out_not_to_have) {
  const auto device = tests::make_emulated_device(Element::Bf16);
  BenchOptions options = quick();
  options.memory = Bytes{4e4};
  KernelBench bench{*device, options};
  const std::vector<Point> points = {
      narrow_point(PointKind::Gemm, Pass::Forward, 32),
      narrow_point(PointKind::Gemm, Pass::BackwardData, 32),
      narrow_point(PointKind::Gemm, Pass::BackwardWeight, 32, 8),
      narrow_point(PointKind::Gemm, Pass::Forward, 40),  // no multiple of 16
      narrow_point(PointKind::SustainedGemm, Pass::Forward, 32),
  };
  int done = 0;
  SweepOptions sweep;
  sweep.progress = [&](const SweepProgress& p) { done = p.done; };
  const SweepResult result = sweep_kernels(points, bench, store_, sweep);
  EXPECT_EQ(result.measured, 4);
  EXPECT_EQ(result.refused, 1);
  EXPECT_FALSE(result.refusal.empty());
  EXPECT_EQ(result.measurements.size(), 4U);
  EXPECT_EQ(done, 5);
  EXPECT_FALSE(bench.holds_not_a_number());
  EXPECT_EQ(sweep_kernels(points, bench, store_, {}).refused, 1) << "and is asked again by the next sweep";
}

TEST_F(Sweep, begins_nothing_after_its_budget) {
  const auto device = make_cpu_device(Element::F32);
  KernelBench bench{*device, quick()};
  const std::vector<Point> points = one_of_each_kind();
  const SweepResult result = sweep_kernels(points, bench, store_, {.budget = Seconds{0}});
  EXPECT_EQ(result.left_out, static_cast<int>(points.size()));
  EXPECT_TRUE(result.measurements.empty());
}

TEST_F(Sweep, groups_in_strides_are_measured_at_once_and_ranks_that_are_left_over_wait) {
  ThreadRanks ranks;
  const RankSweep on{.backend = ranks,
                     .ranks = {.ranks = 5},
                     .make_device = [](int) { return make_cpu_device(Element::F32); },
                     .bench = quick()};
  std::vector<Point> points;
  for (const CollectiveKind kind :
       {CollectiveKind::AllReduce, CollectiveKind::AllToAll, CollectiveKind::SendRecv}) {
    points.push_back({.kind = PointKind::Collective,
                      .collective = kind,
                      .ranks = 2,
                      .nodes = 2,
                      .stride = 2,
                      .groups = 2,
                      .payload = Bytes{4096}});
  }
  const SweepResult result = sweep_collectives(points, on, &store_, {});
  ASSERT_EQ(result.measured, 3);
  for (const Measurement& m : result.measurements) EXPECT_GT(m.median(), 0) << name_of(m.point);
  EXPECT_EQ(name_of(points.front()),
            "collective all-reduce 2 ranks on 2 hosts, 2 apart, 2 groups at once 4096 B");
}

TEST_F(Sweep, collectives_of_threads_are_measured_and_taken_up_again) {
  ThreadRanks ranks;
  const RankSweep on{.backend = ranks,
                     .ranks = {.ranks = 3},
                     .make_device = [](int) { return make_cpu_device(Element::F32); },
                     .bench = quick()};
  const std::vector<Point> points = plan_collectives(
      {.ranks = 3, .per_node = 3},
      {.rates = kProcessor, .longest_run = Seconds{1e-5}, .memory = Bytes{4e6}, .per_cell = 1});
  ASSERT_GE(points.size(), 12U);
  const SweepResult result = sweep_collectives(points, on, &store_, {});
  EXPECT_EQ(result.measured, static_cast<int>(points.size()));
  for (const Measurement& m : result.measurements) EXPECT_GT(m.median(), 0) << name_of(m.point);
  EXPECT_EQ(sweep_collectives(points, on, &store_, {}).stored, static_cast<int>(points.size()));
}

}  // namespace
}  // namespace hexaplan::validator
