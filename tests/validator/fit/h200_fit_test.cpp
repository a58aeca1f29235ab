// The fit held against what one H200 measured in a quick sweep: medians of every point, as its store has them
// (h200_points.csv; cuBLASLt 13.1, cuDNN 9.19, driver 580, 2026-11-26).
#include <gmock/gmock.h>

#include <cmath>
#include <fstream>
#include <map>

#include "presets/calibration/find_calibration.h"
#include "presets/clusters/cluster_preset.h"
#include "validator/measure/fit/fit_calibration.h"

namespace hexaplan::validator {
namespace {

using costmodel::Calibration;
using costmodel::Pass;
using costmodel::Precision;

/// The number behind ` word `, or `otherwise`.
double number_behind(const std::string& name, const std::string& word, double otherwise) {
  const std::size_t at = name.find(" " + word + " ");
  return at == std::string::npos ? otherwise : std::stod(name.substr(at + word.size() + 2));
}

Point attention_point(const std::string& name) {
  const bool forward = name.starts_with("attention forward");
  Point p{.kind = forward ? PointKind::AttentionForward : PointKind::AttentionBackward};
  const auto whole = [&](const char* word) {
    return static_cast<std::int64_t>(number_behind(name, word, 0));
  };
  const auto behind_slash = [&](const char* word) {
    return std::stoll(name.substr(name.find('/', name.find(word)) + 1));
  };
  p.attention = {.batch = whole("batch"),
                 .heads = whole("heads"),
                 .kv_heads = behind_slash("heads"),
                 .seq_q = whole("queries"),
                 .seq_kv = whole("keys"),
                 .head_dim = whole("dim"),
                 .v_head_dim = behind_slash("dim"),
                 .window = whole("window"),
                 .causal = name.find(" causal") != std::string::npos};
  const double queries = number_behind(name, "queries", 0), keys = number_behind(name, "keys", 0);
  const double window = number_behind(name, "window", 0);
  p.attention.pairs = window > 0           ? queries * window - window * window / 2
                      : p.attention.causal ? queries * queries / 2
                                           : queries * keys;
  return p;
}

Point memory_point(const std::string& name) {
  Point p{.kind = PointKind::MemoryBound};
  for (int step = 0; step < kMemorySteps; ++step) {
    const auto candidate = static_cast<MemoryStep>(step);
    const std::string word{name_of(candidate)};
    const double elements = number_behind(name, word, 0);
    if (elements > 0) p.step = candidate, p.elements = static_cast<std::int64_t>(elements);
  }
  return p;
}

Point gemm_point(const std::string& name) {
  Point p{.kind = name.starts_with("grouped")     ? PointKind::GroupedGemm
                  : name.starts_with("sustained") ? PointKind::SustainedGemm
                                                  : PointKind::Gemm};
  p.precision = name.find(" fp8 ") != std::string::npos ? Precision::Fp8 : Precision::Bf16;
  p.pass = name.find(" data ") != std::string::npos     ? Pass::BackwardData
           : name.find(" weight ") != std::string::npos ? Pass::BackwardWeight
                                                        : Pass::Forward;
  const std::size_t n = name.find('x') + 1, k = name.find('x', n) + 1;
  p.gemm = {.m = std::stoll(name.substr(name.rfind(' ', n) + 1)),
            .n = std::stoll(name.substr(n)),
            .k = std::stoll(name.substr(k)),
            .batch = static_cast<std::int64_t>(number_behind(name, "batch", 1)),
            .accumulate_bytes = number_behind(name, "accumulate", 0)};
  return p;
}

Point point_named(const std::string& name) {
  if (name == "launch") return {.kind = PointKind::Launch};
  if (name.starts_with("attention")) return attention_point(name);
  return name.starts_with("memory-bound") ? memory_point(name) : gemm_point(name);
}

class H200 : public testing::Test {
 protected:
  static std::vector<Measurement> measurements() {
    std::ifstream file{HEXAPLAN_SOURCE_DIR "/tests/validator/fit/h200_points.csv"};
    std::vector<Measurement> result;
    std::string line;
    std::getline(file, line);  // the head
    while (std::getline(file, line)) {
      const std::size_t comma = line.rfind(',');
      const std::string name = line.substr(0, comma);
      result.push_back({point_named(name), {std::stod(line.substr(comma + 1))}});
      EXPECT_EQ(name_of(result.back().point), name);
    }
    return result;
  }
  static const CalibrationFit& fit() {
    static const CalibrationFit kFit = [] {
      const costmodel::ClusterSpec cluster = presets::make_cluster("h200", 1);
      return fit_calibration(measurements(), cluster, presets::find_calibration(cluster).calibration);
    }();
    return kFit;
  }
  static FitError error_of(const std::string& kind) {
    for (const FitError& e : fit().errors) {
      if (e.kind == kind) return e;
    }
    ADD_FAILURE() << "no " << kind;
    return {};
  }
  static double value_of(const std::string& name) {
    for (const FittedNumber& n : fit().numbers) {
      if (n.name == name) return n.value;
    }
    ADD_FAILURE() << "no " << name;
    return 0;
  }
};

TEST_F(H200, has_every_point_of_the_sweep) {
  EXPECT_EQ(measurements().size(), 723U);
}

TEST_F(H200, products_that_no_launch_hides_are_within_a_few_percent) {
  // The host launches a product per 7 to 12 us: half of the sweep's are that long whatever they compute.
  EXPECT_GT(error_of("gemm, launches").points, 150);
  EXPECT_GT(error_of("gemm").points, 150);
  EXPECT_LT(error_of("gemm").median, 0.13);
  EXPECT_LT(error_of("gemm").held_out_median, 0.12);
  EXPECT_LT(error_of("gemm fp8").median, 0.13);
  std::map<std::string, double> off;
  for (const PointResidual& r : fit().residuals) off[r.point] = std::log(r.predicted / r.measured);
  for (const char* name : {"gemm bf16 forward 4096x4096x4096", "gemm bf16 data 4096x2048x8192",
                           "gemm bf16 data 4096x8192x2560", "gemm bf16 weight 4096x4096x4096",
                           "gemm bf16 data 4096x4096x1536", "gemm bf16 weight 4096x1024x8192"})
    EXPECT_NEAR(off.at(name), 0, 0.04) << name;
}

TEST_F(H200, attention_that_fills_the_machine_is_within_a_few_percent) {
  EXPECT_LT(error_of("attention forward").median, 0.08);
  EXPECT_LT(error_of("attention backward").median, 0.05);
}

TEST_F(H200, attention_of_longer_sequences_than_were_swept_keeps_getting_faster) {
  const Calibration& calibration = fit().calibration;
  for (const costmodel::AttentionCurve& curve : calibration.attention) {
    if (curve.head_dim != 128 || curve.library != costmodel::AttentionLibrary::Vendor) continue;
    EXPECT_EQ(curve.sequence.log2.back(), 15) << "2048 tokens were swept";
    EXPECT_GT(curve.forward.back(), 1.2 * curve.forward.at(5));
    EXPECT_NEAR(curve.forward.back() * 989.4, 640, 40) << "TFLOP/s";
  }
}

TEST_F(H200, kernels_have_shares_of_their_own_and_the_curve_is_the_median_kernel) {
  // Copies reach 4.2 TB/s of 4.8; this RMSNorm's backward, of the same bytes, a seventh.
  EXPECT_NEAR(error_of("memory-bound copy").share, 0.88, 0.02);
  EXPECT_NEAR(error_of("memory-bound add").share, 0.80, 0.02);
  EXPECT_LT(error_of("memory-bound rms-norm-backward").share, 0.2);
  EXPECT_NEAR(value_of("memory.share"), error_of("memory-bound swiglu").share, 1e-12);
  EXPECT_LT(value_of("memory.ramp"), 10e-6) << "not the 130 us that rotation waits";
}

TEST_F(H200, the_optimizer_runs_at_the_rate_of_what_does_not_fit_caches) {
  // 503 MB in 129 us.
  EXPECT_NEAR(error_of("memory-bound adamw").share, 0.82, 0.02);
  EXPECT_NEAR(value_of("optimizer.share"), 0.83, 0.02);
}

TEST_F(H200, groups_tell_a_rate_where_they_compute_longer_than_they_are_launched) {
  EXPECT_GE(error_of("grouped gemm, launches").points, 5) << "61 to 82 us for any small eight";
  EXPECT_GT(value_of("grouped"), 0.65);
  EXPECT_LT(error_of("grouped gemm").median, 0.2);
}

TEST_F(H200, the_spread_is_that_of_what_takes_time) {
  EXPECT_LT(fit().calibration.time_sigma, 0.18);
}

}  // namespace
}  // namespace hexaplan::validator
