// Curves → synthetic measurements with noise and outliers → fit recovers the curves.
#include <gmock/gmock.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "costmodel/communication/collective_time.h"
#include "costmodel/compute/kernel_time.h"
#include "validator/executor/device/device_fact.h"
#include "validator/measure/fit/fit_calibration.h"
#include "validator/measure/fit/robust.h"
#include "validator/measure/sweep/plan.h"

namespace hexaplan::validator {
namespace {

using costmodel::Bytes;
using costmodel::BytesPerSecond;
using costmodel::Calibration;
using costmodel::ClusterSpec;
using costmodel::CollectiveKind;
using costmodel::Direction;
using costmodel::Flops;
using costmodel::FlopsPerSecond;
using costmodel::Precision;
using costmodel::Seconds;

/// Sizes of an H100 (its preset is another room's).
ClusterSpec cluster_of(std::int64_t nodes, std::int64_t per_node) {
  ClusterSpec cluster;
  cluster.gpu.name = "test";
  cluster.gpu.architecture = "hopper";
  cluster.gpu.memory_bandwidth = BytesPerSecond{3.35e12};
  cluster.gpu.peak[static_cast<std::size_t>(Precision::Bf16)] = FlopsPerSecond{989e12};
  cluster.gpu.peak[static_cast<std::size_t>(Precision::Fp8)] = FlopsPerSecond{1979e12};
  cluster.gpu.sm_count = 132;
  cluster.gpus = nodes * per_node;
  cluster.gpus_per_node = static_cast<int>(per_node);
  cluster.levels = {
      {"nvlink4", costmodel::Fabric::NvSwitch, per_node, BytesPerSecond{450e9}, Seconds{1e-6}, true}};
  if (nodes > 1) {
    cluster.levels.push_back({"ib400", costmodel::Fabric::Network, nodes * per_node, BytesPerSecond{50e9},
                              Seconds{2.7e-6}, false});
  }
  return cluster;
}

/// Noise of `sigma`, and every twentieth repetition late by a factor of up to 4, as when somebody else
/// computes.
class Noise {
 public:
  explicit Noise(std::uint64_t seed, double sigma) : random_{seed}, normal_{0, sigma} {}
  std::vector<double> around(double seconds) {
    std::vector<double> samples;
    // A point that was disturbed is disturbed in all its samples.
    const double late = share_(random_) < 0.05 ? 1 + 3 * share_(random_) : 1;
    for (int i = 0; i < 10; ++i) samples.push_back(late * seconds * std::exp(normal_(random_)));
    return samples;
  }
  double between(double low, double high) { return low + (high - low) * share_(random_); }

 private:
  std::mt19937_64 random_;
  std::normal_distribution<double> normal_;
  std::uniform_real_distribution<double> share_{0, 1};
};

Calibration random_truth(Noise& noise) {
  Calibration truth;
  truth.launch_floor = Seconds{noise.between(1e-6, 4e-6)};
  truth.memory = {.share = noise.between(0.6, 0.95), .ramp = Seconds{noise.between(2e-6, 6e-6)}};
  costmodel::GemmCurve& gemm = truth.gemm[static_cast<std::size_t>(Precision::Bf16)];
  gemm.share = noise.between(0.6, 0.85);
  gemm.k_half = noise.between(100, 300);
  gemm.quantisation = noise.between(0.2, 0.6);
  gemm.area.log2 = {18, 22, 26, 31};
  gemm.depth.log2 = {8, 12, 16};
  for (int i = 0; i < 12; ++i) gemm.correction.push_back(noise.between(-0.08, 0.08));
  truth.sustained = noise.between(0.85, 1.0);
  truth.grouped = noise.between(0.7, 1.0);
  truth.accumulate_exposed = noise.between(0.2, 1.0);
  // From the numbers that were drawn: more draws would move the noise of every point.
  truth.optimizer = {.share = 0.85 * truth.memory.share, .ramp = 1.3 * truth.memory.ramp};
  truth.attention_unmasked = 0.4 + gemm.share;
  truth.attention_windowed = 0.1 + gemm.share;
  costmodel::GemmCurve& narrow = truth.gemm[static_cast<std::size_t>(Precision::Fp8)];
  narrow = gemm;
  narrow.share = 0.9 * gemm.share;
  narrow.k_half = 1.4 * gemm.k_half;
  narrow.sustained = 0.2 + gemm.share;
  for (double& cell : narrow.correction) cell = -0.5 * cell;
  costmodel::AttentionCurve attention;
  for (int s = 6; s <= 15; ++s) {
    attention.sequence.log2.push_back(s);
    attention.forward.push_back(0.25 + 0.04 * (s - 6) + noise.between(0, 0.03));
    attention.backward.push_back(0.7 * attention.forward.back());
  }
  truth.attention = {attention};
  return truth;
}

double true_seconds(const Point& p, const ClusterSpec& cluster, const Calibration& truth) {
  Calibration alone = truth;
  switch (p.kind) {
    case PointKind::Launch:
      return truth.launch_floor.value();
    case PointKind::MemoryBound:
      return (p.step == MemoryStep::AdamW || p.step == MemoryStep::SquaredNorm
                  ? optimizer_time(traffic_of(p), cluster.gpu, truth)
                  : memory_bound_time(traffic_of(p), cluster.gpu, truth))
          .value();
    case PointKind::AttentionForward:
    case PointKind::AttentionBackward:
      return attention_time(p.attention,
                            p.kind == PointKind::AttentionForward ? Direction::Forward : Direction::Backward,
                            Precision::Bf16, cluster.gpu, truth)
          .value();
    default:
      if (p.kind != PointKind::SustainedGemm) {
        alone.sustained = 1;
        for (costmodel::GemmCurve& curve : alone.gemm) curve.sustained = 1;
      }
      return gemm_time(p.gemm, p.precision, cluster.gpu, alone).value();
  }
}

std::vector<Point> plan(int per_cell, std::vector<Precision> narrow = {}) {
  return plan_kernels({.rates = {FlopsPerSecond{600e12}, FlopsPerSecond{300e12}, BytesPerSecond{2e12}},
                       .longest_run = Seconds{0.2},
                       .memory = Bytes{4e9},
                       .per_cell = per_cell,
                       .narrow = std::move(narrow)});
}

double value_of(const CalibrationFit& fit, const std::string& name) {
  for (const FittedNumber& number : fit.numbers) {
    if (number.name == name) return number.value;
  }
  ADD_FAILURE() << name << " was not fitted";
  return 0;
}

TEST(fit, recovers_random_curves_from_noisy_measurements_with_outliers) {
  const ClusterSpec cluster = cluster_of(1, 8);
  const std::vector<Point> points = plan(1);
  EXPECT_GT(points.size(), 150U);
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    Noise noise{seed, 0.02};
    const Calibration truth = random_truth(noise);
    std::vector<Measurement> measurements;
    for (const Point& point : points)
      measurements.push_back({point, noise.around(true_seconds(point, cluster, truth))});
    const CalibrationFit fit = fit_calibration(measurements, cluster, {});
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    EXPECT_NEAR(value_of(fit, "launch_floor") / truth.launch_floor.value(), 1, 0.03);
    EXPECT_NEAR(value_of(fit, "memory.share") / truth.memory.share, 1, 0.03);
    EXPECT_NEAR(value_of(fit, "memory.ramp") / truth.memory.ramp.value(), 1, 0.15);
    EXPECT_NEAR(value_of(fit, "optimizer.share") / truth.optimizer.share, 1, 0.04);
    EXPECT_NEAR(value_of(fit, "attention_unmasked") / truth.attention_unmasked, 1, 0.05);
    EXPECT_NEAR(value_of(fit, "attention_windowed") / truth.attention_windowed, 1, 0.05);
    EXPECT_NEAR(value_of(fit, "sustained") / truth.sustained, 1, 0.05);
    EXPECT_NEAR(value_of(fit, "grouped") / truth.grouped, 1, 0.06);
    EXPECT_NEAR(fit.calibration.accumulate_exposed, truth.accumulate_exposed, 0.25);
    // What counts: times, also of shapes that were not measured.
    std::vector<double> errors;
    for (const Point& point : plan(3)) {
      Calibration alone = fit.calibration;
      if (point.kind != PointKind::SustainedGemm) alone.sustained = 1;
      const double predicted = true_seconds(point, cluster, fit.calibration);
      errors.push_back(std::abs(std::log(predicted / true_seconds(point, cluster, truth))));
    }
    EXPECT_LT(median_of(errors), 0.02);
    EXPECT_LT(quantile_of(errors, 0.9), 0.08);
    EXPECT_LT(fit.calibration.time_sigma, 0.08);
    ASSERT_FALSE(fit.residuals.empty());
    EXPECT_GT(std::abs(std::log(fit.residuals.front().measured / fit.residuals.front().predicted)), 0.3)
        << "an outlier stays one";
  }
}

std::vector<Measurement> measured(const std::vector<Point>& points, const ClusterSpec& cluster,
                                  const Calibration& truth, Noise& noise) {
  std::vector<Measurement> measurements;
  for (const Point& point : points)
    measurements.push_back({point, noise.around(true_seconds(point, cluster, truth))});
  return measurements;
}

std::vector<Point> fp8_alone(const std::vector<Point>& points) {
  std::vector<Point> result;
  for (const Point& point : points) {
    if (point.precision == Precision::Fp8) result.push_back(point);
  }
  return result;
}

TEST(fit, fp8_has_a_curve_and_a_sustained_ratio_of_its_own) {
  constexpr auto kFp8 = static_cast<std::size_t>(Precision::Fp8);
  const ClusterSpec cluster = cluster_of(1, 8);
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Noise noise{seed, 0.02};
    const Calibration truth = random_truth(noise);
    const CalibrationFit fit =
        fit_calibration(measured(plan(1, {Precision::Fp8}), cluster, truth, noise), cluster, {});
    EXPECT_THAT(fit.gemm_precisions, testing::ElementsAre(Precision::Bf16, Precision::Fp8));
    EXPECT_EQ(value_of(fit, "gemm.fp8.share"), fit.calibration.gemm[kFp8].share);
    EXPECT_EQ(value_of(fit, "gemm.fp8.sustained_ratio"), fit.calibration.gemm[kFp8].sustained);
    EXPECT_NEAR(fit.calibration.gemm[kFp8].sustained / truth.gemm[kFp8].sustained, 1, 0.08);
    EXPECT_NEAR(fit.calibration.sustained / truth.sustained, 1, 0.05) << "as bf16 sets it";
    std::vector<double> errors;
    for (const Point& point : fp8_alone(plan(4, {Precision::Fp8})))
      errors.push_back(std::abs(
          std::log(true_seconds(point, cluster, fit.calibration) / true_seconds(point, cluster, truth))));
    EXPECT_LT(median_of(errors), 0.025) << "of shapes that mostly were not measured";
    EXPECT_LT(quantile_of(errors, 0.9), 0.1);
    std::vector<std::string> kinds;
    for (const FitError& error : fit.errors) {
      kinds.push_back(error.kind);
      EXPECT_TRUE(error.kind != "gemm fp8" || error.held_out > 5);
    }
    EXPECT_THAT(kinds, testing::IsSupersetOf({"gemm", "gemm fp8", "sustained gemm", "sustained gemm fp8"}));
  }
}

TEST(fit, fp8_leaves_the_curve_of_bf16_as_it_is) {
  const ClusterSpec cluster = cluster_of(1, 8);
  Noise noise{2, 0.02};
  const Calibration truth = random_truth(noise);
  const auto fitted = [&](std::vector<Precision> narrow) {
    std::vector<Measurement> exact;
    for (const Point& point : plan(1, std::move(narrow)))
      exact.push_back({point, {true_seconds(point, cluster, truth)}});
    return fit_calibration(exact, cluster, {}).calibration;
  };
  const Calibration without = fitted({}), with = fitted({Precision::Fp8});
  const auto bf16 = [](const Calibration& c) { return c.gemm[static_cast<std::size_t>(Precision::Bf16)]; };
  EXPECT_EQ(bf16(with).share, bf16(without).share);
  EXPECT_EQ(bf16(with).correction, bf16(without).correction);
  EXPECT_EQ(with.sustained, without.sustained);
  EXPECT_EQ(with.grouped, without.grouped);
}

TEST(fit, a_sustained_ratio_that_was_not_measured_stays_as_it_was) {
  constexpr auto kFp8 = static_cast<std::size_t>(Precision::Fp8);
  const ClusterSpec cluster = cluster_of(1, 8);
  Noise noise{4, 0.02};
  const Calibration truth = random_truth(noise);
  std::vector<Point> points = plan(1, {Precision::Fp8});
  std::erase_if(points, [](const Point& p) { return p.kind == PointKind::SustainedGemm; });
  Calibration before;
  before.gemm[kFp8].sustained = 0.93;
  const CalibrationFit fit = fit_calibration(measured(points, cluster, truth, noise), cluster, before);
  EXPECT_EQ(fit.calibration.gemm[kFp8].sustained, 0.93);
  EXPECT_EQ(fit.calibration.gemm[kFp8].provenance, costmodel::Provenance::Measured);
  for (const FitError& error : fit.errors) {
    EXPECT_TRUE(error.kind != "gemm fp8" || error.median < 0.05) << "short runs know nothing of it";
  }
}

TEST(fit, intervals_hold_the_truth_about_as_often_as_they_say) {
  const ClusterSpec cluster = cluster_of(1, 8);
  std::vector<Point> points;
  for (const Point& point : plan(1)) {
    if (point.kind == PointKind::MemoryBound) points.push_back(point);
  }
  int inside = 0;
  constexpr int kTrials = 60;
  for (std::uint64_t seed = 1; seed <= kTrials; ++seed) {
    Noise noise{100 + seed, 0.05};
    const Calibration truth = random_truth(noise);
    std::vector<Measurement> measurements;
    for (const Point& point : points)
      measurements.push_back({point, noise.around(true_seconds(point, cluster, truth))});
    const CalibrationFit fit = fit_calibration(measurements, cluster, {});
    const auto found = std::find_if(fit.numbers.begin(), fit.numbers.end(),
                                    [](const FittedNumber& n) { return n.name == "memory.share"; });
    ASSERT_NE(found, fit.numbers.end());
    const FittedNumber& share = *found;
    inside += share.low <= truth.memory.share && truth.memory.share <= share.high ? 1 : 0;
  }
  EXPECT_GE(inside, kTrials * 80 / 100);
}

TEST(fit, what_was_not_measured_stays_as_it_was) {
  Calibration before;
  before.sustained = 0.77;
  before.memory.share = 0.66;
  before.attention.emplace_back();
  const CalibrationFit fit = fit_calibration({}, cluster_of(1, 8), before);
  EXPECT_EQ(fit.calibration.sustained, 0.77);
  EXPECT_EQ(fit.calibration.memory.share, 0.66);
  EXPECT_EQ(fit.calibration.attention.size(), 1U);
  EXPECT_TRUE(fit.numbers.empty());
  EXPECT_TRUE(fit.gemm_precisions.empty());
}

TEST(fit, time_never_falls_as_a_shape_grows_however_wild_the_measurements) {
  const ClusterSpec cluster = cluster_of(1, 8);
  Noise noise{5, 0.8};
  std::vector<Measurement> measurements;
  for (const Point& point : plan(1)) {
    if (point.kind == PointKind::Gemm)
      measurements.push_back({point, {noise.around(true_seconds(point, cluster, {})).front()}});
  }
  const CalibrationFit fit = fit_calibration(measurements, cluster, {});
  for (const auto dimension :
       {&costmodel::GemmShape::m, &costmodel::GemmShape::n, &costmodel::GemmShape::k}) {
    costmodel::GemmShape shape{.m = 64, .n = 512, .k = 128};
    double last = 0;
    for (int step = 0; step < 300; ++step, shape.*dimension += 1 + shape.*dimension / 40) {
      const double time = gemm_time(shape, Precision::Bf16, cluster.gpu, fit.calibration).value();
      ASSERT_GE(time, last * (1 - 1e-12)) << shape.m << "x" << shape.n << "x" << shape.k;
      last = time;
    }
  }
}

TEST(fit, one_sequence_of_attention_is_better_than_none) {
  const ClusterSpec cluster = cluster_of(1, 8);
  Noise noise{3, 0.02};
  const Calibration truth = random_truth(noise);
  Point point{.kind = PointKind::AttentionForward};
  point.attention = {.batch = 4,
                     .heads = 32,
                     .kv_heads = 8,
                     .seq_q = 2048,
                     .seq_kv = 2048,
                     .head_dim = 128,
                     .v_head_dim = 128,
                     .pairs = 2048.0 * 2048 / 2};
  const Measurement measured[] = {{point, {true_seconds(point, cluster, truth)}}};
  const CalibrationFit fit = fit_calibration(measured, cluster, {});
  EXPECT_THAT(fit.head_dims, testing::ElementsAre(128));
  const double seconds = true_seconds(point, cluster, fit.calibration);
  EXPECT_NEAR(seconds / measured[0].median(), 1, 0.02);
}

/// Sizes of one kernel in steps of four, 16 Ki to 256 Mi elements.
std::vector<Point> sizes_of(MemoryStep step) {
  std::vector<Point> points;
  for (std::int64_t elements = 1 << 14; elements <= 1 << 28; elements *= 4)
    points.push_back({.kind = PointKind::MemoryBound, .step = step, .elements = elements});
  return points;
}

constexpr MemoryStep kLayerKernels[] = {MemoryStep::Copy, MemoryStep::Add, MemoryStep::RmsNorm,
                                        MemoryStep::SwiGlu, MemoryStep::Rope};

TEST(fit, sizes_that_caches_serve_do_not_bend_the_share_of_the_memory) {
  const ClusterSpec cluster = cluster_of(1, 8);
  Calibration truth;
  truth.memory = {.share = 0.8, .ramp = Seconds{3e-6}};
  std::vector<Measurement> measured;
  for (const MemoryStep step : kLayerKernels) {
    for (const Point& p : sizes_of(step)) {
      const double streamed = true_seconds(p, cluster, truth) - 3e-6;
      const bool cached = traffic_of(p).value() < 50e6;  // an H100's L2: half of the traffic stays in it
      measured.push_back({p, {3e-6 + (cached ? 0.5 : 1.0) * streamed}});
    }
  }
  const CalibrationFit fit = fit_calibration(measured, cluster, {});
  EXPECT_NEAR(fit.calibration.memory.share, 0.8, 0.01);
  EXPECT_NEAR(fit.calibration.memory.ramp.value(), 3e-6, 1e-6);
}

TEST(fit, one_bad_kernel_bends_no_other_and_is_named_with_its_share) {
  const ClusterSpec cluster = cluster_of(1, 8);
  Calibration truth;
  truth.memory = {.share = 0.8, .ramp = Seconds{3e-6}};
  std::vector<Measurement> measured;
  for (const MemoryStep step : kLayerKernels) {
    const bool bad = step == MemoryStep::Rope;
    for (const Point& p : sizes_of(step)) {
      const double good = true_seconds(p, cluster, truth);
      measured.push_back({p, {bad ? 130e-6 + 3 * good : good}});
    }
  }
  const CalibrationFit fit = fit_calibration(measured, cluster, {});
  EXPECT_NEAR(fit.calibration.memory.share, 0.8, 0.005);
  EXPECT_NEAR(fit.calibration.memory.ramp.value(), 3e-6, 0.2e-6);
  for (const FitError& error : fit.errors) {
    const double share = error.kind == "memory-bound rope" ? 0.8 / 3 : 0.8;
    EXPECT_NEAR(error.share, share, 0.01) << error.kind;
  }
}

TEST(fit, the_optimizer_takes_the_time_of_its_kernels_after_each_other) {
  const ClusterSpec cluster = cluster_of(1, 8);
  std::vector<Measurement> measured;
  double bytes = 0, seconds = 0;
  for (const MemoryStep step : {MemoryStep::AdamW, MemoryStep::SquaredNorm}) {
    const double rate = (step == MemoryStep::AdamW ? 0.6 : 0.9) * cluster.gpu.memory_bandwidth.value();
    for (const Point& p : sizes_of(step)) measured.push_back({p, {4e-6 + traffic_of(p).value() / rate}});
    bytes += traffic_per_element(step);
    seconds += traffic_per_element(step) / rate;
  }
  const CalibrationFit fit = fit_calibration(measured, cluster, {});
  EXPECT_NEAR(fit.calibration.optimizer.share, bytes / seconds / cluster.gpu.memory_bandwidth.value(), 0.005);
}

TEST(fit, groups_that_the_host_launches_one_by_one_do_not_slow_those_that_compute) {
  const ClusterSpec cluster = cluster_of(1, 8);
  Noise noise{6, 0.01};
  Calibration truth = random_truth(noise);
  truth.grouped = 0.9;
  std::vector<Measurement> measured;
  for (const Point& p : plan(1)) {
    if (p.kind == PointKind::Gemm || p.kind == PointKind::Launch)
      measured.push_back({p, {true_seconds(p, cluster, truth)}});
  }
  constexpr double kLaunch = 8e-6;
  for (const std::int64_t rows : {32, 128, 512, 1024, 2048}) {
    for (const auto& [n, k] : {std::pair<std::int64_t, std::int64_t>{448, 128}, {4096, 4096}, {7168, 4096}}) {
      const Point p{.kind = PointKind::GroupedGemm, .gemm = {.m = rows, .n = n, .k = k, .batch = 8}};
      measured.push_back({p, {std::max(8 * kLaunch, true_seconds(p, cluster, truth))}});
    }
  }
  const CalibrationFit fit = fit_calibration(measured, cluster, {});
  EXPECT_NEAR(fit.calibration.grouped, 0.9, 0.02);
  EXPECT_TRUE(std::any_of(fit.errors.begin(), fit.errors.end(),
                          [](const FitError& e) { return e.kind == "grouped gemm, launches"; }));
}

Point causal_attention(std::int64_t batch, std::int64_t heads, std::int64_t sequence) {
  const auto s = static_cast<double>(sequence);
  return {.kind = PointKind::AttentionForward,
          .attention = {.batch = batch,
                        .heads = heads,
                        .kv_heads = heads,
                        .seq_q = sequence,
                        .seq_kv = sequence,
                        .head_dim = 128,
                        .v_head_dim = 128,
                        .causal = true,
                        .pairs = s * s / 2}};
}

TEST(fit, attention_that_leaves_multiprocessors_idle_does_not_bend_the_curve) {
  const ClusterSpec cluster = cluster_of(1, 8);
  Noise noise{8, 0.01};
  const Calibration truth = random_truth(noise);
  std::vector<Measurement> measured;
  for (std::int64_t sequence = 1024; sequence <= 16384; sequence *= 2) {
    const Point full = causal_attention(32768 / sequence, 32, sequence);
    const Point empty = causal_attention(1, sequence < 8192 ? 4 : 1, sequence);
    measured.push_back({full, {true_seconds(full, cluster, truth)}});
    measured.push_back({empty, {3 * true_seconds(empty, cluster, truth)}});  // slower than the model knows
  }
  const CalibrationFit fit = fit_calibration(measured, cluster, {});
  for (std::int64_t sequence = 1024; sequence <= 16384; sequence *= 2) {
    const Point full = causal_attention(32768 / sequence, 32, sequence);
    EXPECT_NEAR(true_seconds(full, cluster, fit.calibration) / true_seconds(full, cluster, truth), 1, 0.01)
        << sequence;
  }
}

TEST(fit, kernels_that_no_layer_runs_have_a_share_of_their_own_and_bend_no_curve) {
  const ClusterSpec cluster = cluster_of(1, 8);
  const double bandwidth = cluster.gpu.memory_bandwidth.value();
  std::vector<Measurement> measured;
  for (const MemoryStep step : {MemoryStep::Copy, MemoryStep::RmsNorm, MemoryStep::Embedding,
                                MemoryStep::Cast, MemoryStep::GatherRows, MemoryStep::LossGradient}) {
    const bool of_layers = step == MemoryStep::Copy || step == MemoryStep::RmsNorm;
    for (const std::int64_t elements : {1 << 24, 1 << 26, 1 << 28}) {
      const Point p{.kind = PointKind::MemoryBound, .step = step, .elements = elements};
      measured.push_back({p, {traffic_of(p).value() / ((of_layers ? 0.8 : 0.4) * bandwidth)}});
    }
  }
  const CalibrationFit fit = fit_calibration(measured, cluster, {});
  EXPECT_NEAR(fit.calibration.memory.share, 0.8, 0.01);
  int apart = 0;
  for (const FitError& e : fit.errors) {
    if (e.kind == "memory-bound cast" || e.kind == "memory-bound loss-gradient") {
      EXPECT_NEAR(e.share, 0.4, 0.01) << e.kind;
      ++apart;
    }
  }
  EXPECT_EQ(apart, 2);
}

TEST(fit, latent_heads_make_a_curve_of_the_mean_of_their_sizes) {
  const ClusterSpec cluster = cluster_of(1, 8);
  costmodel::AttentionCurve latent{.head_dim = 160, .sequence = {{11, 13}}};
  latent.forward = {0.4, 0.5};
  latent.backward = {0.3, 0.4};
  Calibration truth;
  truth.attention = {latent};
  std::vector<Measurement> measured;
  for (const std::int64_t sequence : {2048, 8192}) {
    Point p = causal_attention(32768 / sequence, 16, sequence);
    p.attention.head_dim = 192;
    measured.push_back({p, {true_seconds(p, cluster, truth)}});
  }
  const CalibrationFit fit = fit_calibration(measured, cluster, {});
  EXPECT_EQ(fit.head_dims, std::vector<std::int64_t>{160});
  for (const Measurement& m : measured)
    EXPECT_NEAR(true_seconds(m.point, cluster, fit.calibration) / m.median(), 1, 0.01);
}

TEST(fit, attention_of_longer_sequences_follows_the_curve_that_was_there) {
  const ClusterSpec cluster = cluster_of(1, 8);
  costmodel::AttentionCurve known{.head_dim = 128, .sequence = {{10, 11, 12, 13}}};
  known.forward = {0.3, 0.4, 0.5, 0.6};
  known.backward = {0.2, 0.3, 0.4, 0.45};
  Calibration before;
  before.attention = {known};
  Calibration truth = before;
  for (double& share : truth.attention.front().forward) share *= 0.9;
  const Point p = causal_attention(16, 32, 2048), longer = causal_attention(4, 32, 8192);
  const Measurement measured[] = {{p, {true_seconds(p, cluster, truth)}}};
  const CalibrationFit fit = fit_calibration(measured, cluster, before);
  EXPECT_NEAR(true_seconds(longer, cluster, fit.calibration) / true_seconds(longer, cluster, truth), 1, 0.02);
}

TEST(fit, the_spread_is_weighed_by_the_time_that_points_take) {
  EXPECT_NEAR(sigma_of_distances({0.5, 0.5, 0.5, 0.02}, {1, 1, 1, 100}), 0.02 / 0.6745, 1e-4);
  EXPECT_NEAR(sigma_of_distances({0.1, 0.2, 0.3}, {1, 1, 1}), 0.2 / 0.6745, 1e-4);
  EXPECT_EQ(sigma_of_distances({}, {}), 0);
}

TEST(fit, few_points_of_the_optimizer_count_with_the_others) {
  const ClusterSpec cluster = cluster_of(1, 8);
  std::vector<Measurement> measured;
  for (const MemoryStep step : {MemoryStep::Copy, MemoryStep::AdamW}) {
    const Point p{.kind = PointKind::MemoryBound, .step = step, .elements = 1 << 24};
    measured.push_back({p, {true_seconds(p, cluster, {})}});
  }
  const CalibrationFit fit = fit_calibration(measured, cluster, {});
  EXPECT_TRUE(fit.measured_memory);
  EXPECT_FALSE(fit.measured_optimizer);
  EXPECT_EQ(fit.calibration.optimizer.share, 0);
}

TEST(fixed_bytes, are_those_of_context_and_modules) {
  const DeviceFact facts[] = {{"CUDA context", 500e6, "bytes", {}, true},
                              {"pool", 9e9, "bytes", {}},
                              {"modules", 60e6, "bytes", {}, true},
                              {"driver", 0, {}, "580"}};
  EXPECT_EQ(fixed_bytes(facts), 560e6);
  EXPECT_EQ(fixed_bytes({}), 0) << "a processor has none";
}

TEST(fit, overlap_is_what_a_gemm_takes_longer_beside_a_collective) {
  const ClusterSpec cluster = cluster_of(1, 8);
  const Point gemm{.kind = PointKind::Gemm, .gemm = {.m = 4096, .n = 4096, .k = 4096}};
  Point beside = gemm;
  beside.kind = PointKind::Overlap;
  beside.ranks = 8;
  const double alone = true_seconds(gemm, cluster, {});
  const Measurement measured[] = {{gemm, {alone}}, {beside, {1.2 * alone}}};
  EXPECT_NEAR(fit_calibration(measured, cluster, {}).overlap_slowdown, 1.2, 0.01);
}

TEST(fit_curves, are_medians_that_never_fall) {
  const auto sample = [](double bytes, double us) {
    return CollectiveSample{CollectiveKind::AllGather, 4, 1, Bytes{bytes}, us * 1e-6};
  };
  const CollectiveSample samples[] = {sample(1024, 10), sample(2048, 9),  sample(4096, 12),
                                      sample(4096, 30), sample(4096, 13), sample(8192, 20)};
  const auto curves = fit_curves(samples);
  ASSERT_EQ(curves.size(), 1U);
  EXPECT_EQ(curves[0].ranks, 4);
  EXPECT_THAT(curves[0].size.log2, testing::ElementsAre(10, 11, 12, 13));
  EXPECT_THAT(curves[0].microseconds, testing::Pointwise(testing::DoubleNear(1e-9), {9.5, 9.5, 13.0, 20.0}));
}

TEST(fit_lines, find_latency_and_rate_beside_outliers) {
  Noise noise{11, 0.01};
  std::vector<CollectiveSample> samples;
  for (double bytes = 1024; bytes < 1e9; bytes *= 2) {
    const double seconds = 12e-6 + bytes / 180e9;
    samples.push_back({CollectiveKind::AllReduce, 8, 1, Bytes{bytes}, noise.around(seconds).front()});
  }
  samples[9].seconds *= 5;
  const auto lines = fit_lines(samples);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_NEAR(lines[0].latency.value(), 12e-6, 0.4e-6);
  EXPECT_NEAR(lines[0].rate.value(), 180e9, 5e9);
  EXPECT_LT(lines[0].rate_error, 0.05);
}

TEST(fit_network, recovers_share_and_latencies_of_a_network) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    Noise noise{seed, 0.03};
    const ClusterSpec cluster = cluster_of(8, 8);
    Calibration truth;
    truth.network.bandwidth_efficiency = noise.between(0.5, 0.95);
    truth.network.base_latency = Seconds{noise.between(10e-6, 60e-6)};
    truth.network.hop_latency = Seconds{noise.between(2e-6, 20e-6)};
    std::vector<CollectiveSample> samples;
    for (const int nodes : {2, 4, 8}) {
      ClusterSpec part = cluster_of(nodes, 8);
      costmodel::Layout layout;
      layout.dp = 8 * nodes;
      const auto place = place_group(layout, costmodel::Group::World, part);
      for (const CollectiveKind kind : {CollectiveKind::AllReduce, CollectiveKind::AllGather}) {
        for (double bytes = 4096; bytes <= 4e9; bytes *= 4) {
          const double t = collective_cost(kind, Bytes{bytes}, place, part, truth).time.value();
          samples.push_back({kind, 8 * nodes, nodes, Bytes{bytes}, noise.around(t).front()});
        }
      }
    }
    const auto fit = fit_network(samples, cluster, {});
    ASSERT_TRUE(fit.has_value());
    EXPECT_NEAR(fit->model.bandwidth_efficiency / truth.network.bandwidth_efficiency, 1, 0.04) << seed;
    EXPECT_NEAR(fit->model.base_latency.value() / truth.network.base_latency.value(), 1, 0.35) << seed;
    EXPECT_NEAR(fit->model.hop_latency.value() / truth.network.hop_latency.value(), 1, 0.35) << seed;
    EXPECT_LT(fit->median_error, 0.05);
  }
  EXPECT_FALSE(fit_network({}, cluster_of(2, 8), {}).has_value());
}

/// Groups as calibrate measures them on 8 nodes of 8.
struct MeasuredGroup {
  int ranks, nodes, stride, groups;
};
constexpr MeasuredGroup kMeasuredGroups[] = {{16, 2, 1, 4}, {64, 8, 1, 1}, {32, 8, 2, 2},
                                             {16, 8, 4, 4}, {2, 2, 8, 32}, {8, 8, 8, 8}};

TEST(fit_network, recovers_what_strided_groups_pairs_and_all_to_alls_attain) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    Noise noise{seed, 0.02};
    Calibration truth;
    truth.network = {.bandwidth_efficiency = noise.between(0.6, 0.95),
                     .base_latency = Seconds{15e-6},
                     .hop_latency = Seconds{5e-6},
                     .contention_per_doubling = noise.between(0.03, 0.2),
                     .pair_share = noise.between(0.5, 0.9),
                     .exchange_share = noise.between(0.5, 0.9)};
    std::vector<CollectiveSample> samples;
    for (const MeasuredGroup& of : kMeasuredGroups) {
      costmodel::Layout layout;
      layout.tp = of.stride;
      layout.dp = of.ranks;
      const ClusterSpec part = cluster_of(of.nodes, 8);
      const auto place = place_group(layout, costmodel::Group::Data, part);
      for (const CollectiveKind kind : {CollectiveKind::AllReduce, CollectiveKind::AllGather,
                                        CollectiveKind::SendRecv, CollectiveKind::AllToAll}) {
        for (double bytes = 1 << 15; bytes <= 2e9; bytes *= 8) {
          const double t = collective_cost(kind, Bytes{bytes}, place, part, truth).time.value();
          samples.push_back(
              {kind, of.ranks, of.nodes, Bytes{bytes}, noise.around(t).front(), of.stride, of.groups});
        }
      }
    }
    const auto fit = fit_network(samples, cluster_of(8, 8), {});
    ASSERT_TRUE(fit && fit->measured_contention && fit->measured_pairs && fit->measured_exchange);
    const costmodel::NetworkModel& found = fit->model;
    EXPECT_NEAR(found.bandwidth_efficiency / truth.network.bandwidth_efficiency, 1, 0.03) << seed;
    EXPECT_NEAR(found.contention_per_doubling, truth.network.contention_per_doubling, 0.01) << seed;
    EXPECT_NEAR(found.pair_share / truth.network.pair_share, 1, 0.03) << seed;
    EXPECT_NEAR(found.exchange_share / truth.network.exchange_share, 1, 0.03) << seed;
  }
}

TEST(fit_network, what_no_sample_speaks_of_stays_as_it_is_known) {
  Calibration known;
  known.network = {.contention_per_doubling = 0.07, .pair_share = 0.6, .exchange_share = 0.9};
  const CollectiveSample samples[] = {{CollectiveKind::AllReduce, 16, 2, Bytes{1e6}, 1e-4},
                                      {CollectiveKind::AllReduce, 16, 2, Bytes{1e9}, 5e-3}};
  const auto fit = fit_network(samples, cluster_of(2, 8), known);
  ASSERT_TRUE(fit.has_value());
  EXPECT_NEAR(fit->model.contention_per_doubling, 0.07, 1e-9);
  EXPECT_NEAR(fit->model.pair_share, 0.6, 1e-9);
  EXPECT_NEAR(fit->model.exchange_share, 0.9, 1e-9);
  EXPECT_FALSE(fit->measured_contention || fit->measured_pairs || fit->measured_exchange);
}

TEST(fit_robust, lines_survive_a_fifth_of_arbitrary_outliers) {
  rc::check([](std::uint32_t seed) {
    std::mt19937 random{seed};
    std::uniform_real_distribution<double> uniform{-1, 1};
    const double a = 10 * uniform(random), b = 10 * uniform(random);
    LinearProblem problem{.columns = 2, .rows = {}, .values = {}, .weights = {}, .penalty = {}};
    for (int i = 0; i < 40; ++i) {
      const double x = uniform(random);
      problem.rows.insert(problem.rows.end(), {1, x});
      const double outlier = i % 5 == 0 ? 20 * uniform(random) : 0.0;
      problem.values.push_back(a + b * x + 0.01 * uniform(random) + outlier);
    }
    const LinearFit fit = fit_robust(problem);
    RC_ASSERT(std::abs(fit.x[0] - a) < 0.05);
    RC_ASSERT(std::abs(fit.x[1] - b) < 0.05);
  });
}

TEST(never_falling, is_sorted_and_keeps_the_sum) {
  rc::check([](const std::vector<std::int16_t>& numbers) {
    std::vector<double> values(numbers.begin(), numbers.end());
    const std::vector<double> result = never_falling(values);
    RC_ASSERT(result.size() == values.size());
    RC_ASSERT(std::is_sorted(result.begin(), result.end()));
    double before = 0, after = 0;
    for (const double v : values) before += v;
    for (const double v : result) after += v;
    RC_ASSERT(std::abs(before - after) < 1e-6 * (1 + std::abs(before)));
    if (std::is_sorted(values.begin(), values.end())) RC_ASSERT(result == values);
  });
}

}  // namespace
}  // namespace hexaplan::validator
