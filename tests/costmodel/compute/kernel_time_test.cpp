#include "costmodel/compute/kernel_time.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

namespace hexaplan::costmodel {
namespace {

/// 100 SMs of 1 TFLOP/s each, 4 TB/s.
GpuSpec simple_gpu() {
  GpuSpec gpu;
  gpu.peak[static_cast<std::size_t>(Precision::Bf16)] = FlopsPerSecond{100e12};
  gpu.peak[static_cast<std::size_t>(Precision::Fp32)] = FlopsPerSecond{10e12};
  gpu.memory_bandwidth = BytesPerSecond{4e12};
  gpu.sm_count = 100;
  return gpu;
}

/// One tile of 128 × 128, no overheads: every factor of the formula is switched on by its own test.
Calibration ideal() {
  Calibration c;
  for (GemmCurve& curve : c.gemm) {
    curve = {.share = 1.0, .k_half = 0, .quantisation = 1.0};
    curve.tiles.fill({128, 128, 1.0});
  }
  c.sustained = c.grouped = 1.0;
  c.accumulate_exposed = 1.0;
  c.memory = {.share = 1.0, .ramp = Seconds{0}};
  c.launch_floor = Seconds{0};
  return c;
}

double gemm_microseconds(const GemmShape& shape, const Calibration& c,
                         Precision precision = Precision::Bf16) {
  return gemm_time(shape, precision, simple_gpu(), c).value() * 1e6;
}

/// One tile of 128 × 128 × 4096 on one SM: 2·128²·4096 FLOPs at 1 TFLOP/s.
constexpr double kTile = 2.0 * 128 * 128 * 4096 / 1e12 * 1e6;

struct WaveCase {
  std::string name;
  std::int64_t m, n, batch;
  double waves;
};

class GemmWaves : public testing::TestWithParam<WaveCase> {};

TEST_P(GemmWaves, take_whole_tile_times) {
  const WaveCase& row = GetParam();
  EXPECT_NEAR(gemm_microseconds({.m = row.m, .n = row.n, .k = 4096, .batch = row.batch}, ideal()),
              row.waves * kTile, 1e-9 * kTile);
}

INSTANTIATE_TEST_SUITE_P(table, GemmWaves,
                         testing::Values(WaveCase{"one_tile_takes_a_wave", 128, 128, 1, 1},
                                         WaveCase{"one_row_takes_a_tile", 1, 128, 1, 1},
                                         WaveCase{"a_full_wave", 1280, 1280, 1, 1},
                                         WaveCase{"one_tile_more_is_a_second_wave", 1280, 1281, 1, 2},
                                         WaveCase{"rows_and_columns_are_alike", 1281, 1280, 1, 2},
                                         WaveCase{"experts_fill_a_wave_together", 128, 128, 100, 1},
                                         WaveCase{"one_expert_more", 128, 128, 101, 2}),
                         [](const auto& row) { return row.param.name; });

TEST(gemm_time, without_quantisation_an_eighth_of_a_wave_takes_an_eighth) {
  Calibration c = ideal();
  c.gemm[static_cast<std::size_t>(Precision::Bf16)].quantisation = 0;
  EXPECT_NEAR(gemm_microseconds({.m = 640, .n = 1280, .k = 4096}, c), 0.5 * kTile, 1e-9 * kTile);
}

TEST(gemm_time, takes_the_cheapest_tile) {
  Calibration c = ideal();
  c.gemm[static_cast<std::size_t>(Precision::Bf16)].tiles[3] = {64, 64, 1.5};
  EXPECT_NEAR(gemm_microseconds({.m = 64, .n = 64, .k = 4096}, c), 1.5 * kTile / 4, 1e-9 * kTile)
      << "a quarter of the area at 1.5 times the cost";
}

TEST(gemm_time, short_inner_loops_pay_for_prologue_and_epilogue) {
  Calibration c = ideal();
  c.gemm[static_cast<std::size_t>(Precision::Bf16)].k_half = 256;
  EXPECT_NEAR(gemm_microseconds({.m = 1280, .n = 1280, .k = 256}, c) /
                  gemm_microseconds({.m = 1280, .n = 1280, .k = 256}, ideal()),
              2.0, 1e-9);
}

TEST(gemm_time, the_correction_is_interpolated_between_measured_shapes_and_held_beyond_them) {
  Calibration c = ideal();
  GemmCurve& curve = c.gemm[static_cast<std::size_t>(Precision::Bf16)];
  curve.area.log2 = {18, 20};
  curve.depth.log2 = {10, 12};
  curve.correction = {-1.0, 0.0, 0.0, 0.0};
  const auto slowdown = [&](const GemmShape& shape) {
    return gemm_microseconds(shape, c) / gemm_microseconds(shape, ideal());
  };
  curve.quantisation = 0;
  Calibration plain = ideal();
  plain.gemm[static_cast<std::size_t>(Precision::Bf16)].quantisation = 0;
  const auto ratio = [&](const GemmShape& shape) {
    return gemm_microseconds(shape, c) / gemm_microseconds(shape, plain);
  };
  EXPECT_NEAR(ratio({.m = 512, .n = 512, .k = 1024}), 2.0, 1e-9) << "the first corner";
  EXPECT_NEAR(ratio({.m = 512, .n = 512, .k = 2048}), std::sqrt(2.0), 1e-9) << "half-way in log k";
  EXPECT_NEAR(ratio({.m = 512, .n = 1024, .k = 2048}), std::exp2(0.25), 1e-9) << "half-way in both";
  EXPECT_NEAR(ratio({.m = 256, .n = 256, .k = 512}), 2.0, 1e-9) << "below the grid";
  EXPECT_NEAR(slowdown({.m = 12800, .n = 12800, .k = 8192}), 1.0, 1e-9) << "above the grid";
}

TEST(gemm_time, weight_gradients_that_accumulate_move_the_sum_too) {
  const GemmShape written{.m = 1280, .n = 1280, .k = 4096};
  GemmShape added = written;
  added.accumulate_bytes = 8;
  EXPECT_NEAR(gemm_microseconds(added, ideal()) - gemm_microseconds(written, ideal()),
              1280.0 * 1280 * 8 / 4e12 * 1e6, 1e-9);
}

TEST(gemm_time, rows_that_do_not_start_at_16_bytes_are_slow) {
  const GemmShape aligned{.m = 1280, .n = 1280, .k = 4096};
  const GemmShape unaligned{.m = 1280, .n = 1280, .k = 4096, .alignment = 1};
  EXPECT_NEAR(gemm_microseconds(unaligned, ideal()) / gemm_microseconds(aligned, ideal()), 2.0, 1e-9);
}

TEST(gemm_time, skinny_shapes_are_bound_by_memory) {
  Calibration c = ideal();
  c.gemm[static_cast<std::size_t>(Precision::Bf16)].tiles[3] = {16, 128, 1.0};
  const double bytes = 2.0 * (16.0 * 16384 + 16384.0 * 12800 + 16.0 * 12800);
  EXPECT_NEAR(gemm_microseconds({.m = 16, .n = 12800, .k = 16384}, c), bytes / 4e12 * 1e6, 1e-6);
}

TEST(gemm_time, sustained_clocks_and_grouping_scale_the_rate) {
  Calibration c = ideal();
  c.sustained = 0.5;
  c.grouped = 0.5;
  EXPECT_NEAR(gemm_microseconds({.m = 1280, .n = 1280, .k = 4096}, c), 2 * kTile, 1e-9 * kTile);
  EXPECT_NEAR(gemm_microseconds({.m = 128, .n = 128, .k = 4096, .batch = 100}, c), 4 * kTile, 1e-9 * kTile);
}

TEST(gemm_time, precisions_without_a_unit_run_wider) {
  EXPECT_DOUBLE_EQ(gemm_microseconds({.m = 1280, .n = 1280, .k = 4096}, ideal(), Precision::Nvfp4),
                   gemm_microseconds({.m = 1280, .n = 1280, .k = 4096}, ideal(), Precision::Bf16));
  EXPECT_NEAR(gemm_microseconds({.m = 1280, .n = 1280, .k = 4096}, ideal(), Precision::Tf32), 10 * kTile,
              1e-9 * kTile);
}

// --- attention
// -----------------------------------------------------------------------------------------------

Calibration with_attention() {
  Calibration c = ideal();
  const auto curve = [](AttentionLibrary library, std::int64_t head_dim, double share) {
    return AttentionCurve{.library = library,
                          .head_dim = head_dim,
                          .tile_rows_forward = 128,
                          .tile_rows_backward = 128,
                          .sequence = {{10, 12}},
                          .forward = {share, 2 * share},
                          .backward = {share / 2, share}};
  };
  c.attention = {curve(AttentionLibrary::Vendor, 64, 0.2), curve(AttentionLibrary::Vendor, 128, 0.4),
                 curve(AttentionLibrary::FlashAttention2, 128, 0.1)};
  return c;
}

AttentionShape causal(std::int64_t heads, std::int64_t sequence, std::int64_t head_dim = 128) {
  return {.batch = 1,
          .heads = heads,
          .kv_heads = heads,
          .seq_q = sequence,
          .seq_kv = sequence,
          .head_dim = head_dim,
          .v_head_dim = head_dim,
          .pairs = 0.5 * static_cast<double>(sequence) * static_cast<double>(sequence)};
}

double attention_tflops(const AttentionShape& s, Direction direction) {
  const double flops = (direction == Direction::Forward ? 2.0 : 5.0) * s.pairs *
                       static_cast<double>(s.heads * s.batch * (s.head_dim + s.v_head_dim));
  return flops / attention_time(s, direction, Precision::Bf16, simple_gpu(), with_attention()).value() / 1e12;
}

struct AttentionCase {
  std::string name;
  AttentionShape shape;
  Direction direction;
  double tflops;  // with every SM busy
};

class AttentionRate : public testing::TestWithParam<AttentionCase> {};

TEST_P(AttentionRate, follows_the_nearest_curve) {
  EXPECT_NEAR(attention_tflops(GetParam().shape, GetParam().direction), GetParam().tflops,
              0.01 * GetParam().tflops);
}

AttentionShape library(AttentionShape shape, AttentionLibrary which) {
  shape.library = which;
  return shape;
}

INSTANTIATE_TEST_SUITE_P(
    table, AttentionRate,
    testing::Values(
        AttentionCase{"at_a_knot", causal(4096, 1024), Direction::Forward, 40},
        AttentionCase{"between_knots", causal(4096, 2048), Direction::Forward, 60},
        AttentionCase{"beyond_the_last_knot", causal(2048, 16384), Direction::Forward, 80},
        AttentionCase{"backward", causal(4096, 1024), Direction::Backward, 20},
        AttentionCase{"head_size_64", causal(4096, 1024, 64), Direction::Forward, 20},
        AttentionCase{"head_size_96_is_nearer_128", causal(4096, 1024, 96), Direction::Forward, 40},
        AttentionCase{"flash_attention_2", library(causal(4096, 1024), AttentionLibrary::FlashAttention2),
                      Direction::Forward, 10}),
    [](const auto& row) { return row.param.name; });

TEST(attention_time, few_heads_wait_for_the_longest_tile) {
  // Four heads of 1024 queries are 32 tiles on 100 SMs: the last tile of a head takes 128·1024 pairs on one
  // SM.
  const double one_sm = 40e12 / 100;
  const double longest = 2.0 * 256 * 128 * 1024 / one_sm;
  EXPECT_NEAR(
      attention_time(causal(4, 1024), Direction::Forward, Precision::Bf16, simple_gpu(), with_attention())
          .value(),
      longest, 0.02 * longest);
}

TEST(attention_time, masks_have_rates_of_their_own) {
  Calibration c = with_attention();
  const auto seconds = [&](const AttentionShape& shape) {
    return attention_time(shape, Direction::Forward, Precision::Bf16, simple_gpu(), c).value();
  };
  AttentionShape windowed = causal(64, 4096), full = windowed, ring = windowed;
  windowed.window = 1024;
  full.causal = false;
  ring.unmasked = 0.75;
  const double plain = seconds(causal(64, 4096)), narrow = seconds(windowed);
  EXPECT_EQ(seconds(full), plain) << "alike until somebody measured them";
  EXPECT_EQ(seconds(ring), plain);
  c.attention_unmasked = 0.5;
  c.attention_windowed = 0.8;
  EXPECT_EQ(seconds(causal(64, 4096)), plain);
  EXPECT_NEAR(seconds(full), 2 * plain, 1e-3 * plain);
  EXPECT_NEAR(seconds(ring), 1.75 * plain, 1e-3 * plain) << "three of four blocks take twice as long";
  EXPECT_NEAR(seconds(windowed), narrow / 0.8, 1e-3 * narrow);
}

TEST(attention_time, random_numbers_of_dropout_weigh_more_on_the_forward) {
  const auto slowdown = [](Direction direction) {
    AttentionShape plain = causal(64, 4096), dropped = plain;
    dropped.dropout = true;
    const auto time = [&](const AttentionShape& shape) {
      return attention_time(shape, direction, Precision::Bf16, simple_gpu(), with_attention()).value();
    };
    return time(dropped) / time(plain);
  };
  EXPECT_GT(slowdown(Direction::Backward), 1.05);
  EXPECT_GT(slowdown(Direction::Forward), slowdown(Direction::Backward));
}

TEST(attention_time, a_window_shortens_the_longest_tile) {
  AttentionShape full = causal(4, 4096), windowed = full;
  windowed.window = 512;
  windowed.pairs = 4096.0 * 512;
  const auto time = [](const AttentionShape& shape) {
    return attention_time(shape, Direction::Forward, Precision::Bf16, simple_gpu(), with_attention()).value();
  };
  EXPECT_LT(time(windowed), 0.5 * time(full));
}

TEST(attention_time, without_a_curve_the_prior_answers) {
  const Seconds forward =
      attention_time(causal(64, 4096), Direction::Forward, Precision::Bf16, simple_gpu(), ideal());
  EXPECT_TRUE(std::isfinite(forward.value()));
  EXPECT_GT(forward.value(), 0);
}

// --- memory-bound
// --------------------------------------------------------------------------------------------

TEST(memory_bound_time, is_a_ramp_and_a_rate) {
  Calibration c = ideal();
  c.memory = {.share = 0.8, .ramp = Seconds{3e-6}};
  EXPECT_NEAR(memory_bound_time(Bytes{80e6}, simple_gpu(), c).value(), 28e-6, 1e-12);
  c.launch_floor = Seconds{5e-6};
  EXPECT_DOUBLE_EQ(memory_bound_time(Bytes{1}, simple_gpu(), c).value(), 5e-6)
      << "no kernel is shorter than the floor";
}

TEST(optimizer_time, is_that_of_memory_until_it_was_measured_itself) {
  Calibration c = ideal();
  c.memory = {.share = 0.8, .ramp = Seconds{3e-6}};
  EXPECT_EQ(optimizer_time(Bytes{80e6}, simple_gpu(), c), memory_bound_time(Bytes{80e6}, simple_gpu(), c));
  c.optimizer = {.share = 0.5, .ramp = Seconds{10e-6}};
  EXPECT_NEAR(optimizer_time(Bytes{80e6}, simple_gpu(), c).value(), 50e-6, 1e-12);
  EXPECT_NEAR(memory_bound_time(Bytes{80e6}, simple_gpu(), c).value(), 28e-6, 1e-12);
}

}  // namespace
}  // namespace hexaplan::costmodel
