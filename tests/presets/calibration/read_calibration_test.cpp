#include "presets/calibration/read_calibration.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/presets/json/error_text.h"
#include "tests/support/temporary_folder.h"

namespace hexaplan::presets {
namespace {

using costmodel::AttentionLibrary;
using costmodel::Calibration;
using costmodel::GemmCurve;
using costmodel::Precision;
using costmodel::Provenance;

constexpr std::string_view kValid = R"({
  "schema": "hexaplan/calibration/1", "name": "mine", "gpu": "h100-80-sxm", "source": "one H100, our lab",
  "date": "2026-11", "provenance": "measured", "launch_floor": "2 us",
  "sustained": {"value": 0.9, "source": "a"}, "grouped": {"value": 0.8, "source": "b"},
  "accumulate_exposed": {"value": 0.5, "source": "c"},
  "memory": {"share": 0.9, "ramp": "3 us", "source": "d"},
  "time_sigma": 0.08, "memory_sigma": 0.03,
  "gemm": {"bf16": {
    "peak": "1000 TFLOP/s", "share": 0.8, "k_half": 100, "quantisation": 0.3,
    "tiles": [[256, 128, 1.0], [128, 256, 1.0], [128, 128, 1.1], [64, 64, 1.5]],
    "area_log2": [18, 20, 22], "k_log2": [10, 12], "correction_log2": [[0, 0.1], [0.2, 0.3], [0.4, 0.5]],
    "holdout": {"points": 10, "median": 0.03, "p90": 0.08}}},
  "attention": [{"library": "flash-attention-2", "head_dim": 128, "tile_rows": [128, 64], "sequence": [1024, 4096],
    "forward_tflops": [300, 400], "backward_tflops": [200, 250], "source": "e"}]
})";

class ReadCalibration : public testing::Test {
 protected:
  [[nodiscard]] std::filesystem::path written(const std::string& text) const {
    return folder_.file("curves.json", text);
  }

 private:
  tests::TemporaryFolder folder_;
};

TEST_F(ReadCalibration, reads_every_field) {
  const Calibration c = read_calibration(written(std::string{kValid}));
  EXPECT_EQ(c.name, "mine");
  EXPECT_EQ(c.gpu, "h100-80-sxm");
  EXPECT_EQ(c.provenance, Provenance::Measured);
  EXPECT_DOUBLE_EQ(c.launch_floor.value(), 2e-6);
  EXPECT_EQ(c.sustained, 0.9);
  EXPECT_EQ(c.grouped, 0.8);
  EXPECT_EQ(c.accumulate_exposed, 0.5);
  EXPECT_EQ(c.memory.share, 0.9);
  EXPECT_DOUBLE_EQ(c.memory.ramp.value(), 3e-6);
  EXPECT_EQ(c.time_sigma, 0.08);

  const GemmCurve& bf16 = c.gemm[static_cast<std::size_t>(Precision::Bf16)];
  EXPECT_EQ(bf16.share, 0.8);
  EXPECT_EQ(bf16.tiles[3].cost, 1.5);
  EXPECT_EQ(bf16.correction, (std::vector<double>{0, 0.1, 0.2, 0.3, 0.4, 0.5}));

  ASSERT_EQ(c.attention.size(), 1u);
  EXPECT_EQ(c.attention[0].library, AttentionLibrary::FlashAttention2);
  EXPECT_EQ(c.attention[0].tile_rows_backward, 64);
  EXPECT_EQ(c.attention[0].sequence.log2, (std::vector<double>{10, 12}));
  EXPECT_DOUBLE_EQ(c.attention[0].forward[1], 0.4) << "a share of the peak that the file states";
}

TEST_F(ReadCalibration, precisions_without_curves_borrow_the_nearest) {
  const Calibration c = read_calibration(written(std::string{kValid}));
  for (const Precision p : {Precision::Fp8, Precision::Mxfp8, Precision::Nvfp4, Precision::Tf32}) {
    EXPECT_EQ(c.gemm[static_cast<std::size_t>(p)].share, 0.8);
    EXPECT_EQ(c.gemm[static_cast<std::size_t>(p)].provenance, Provenance::Borrowed);
  }
  EXPECT_EQ(c.gemm[static_cast<std::size_t>(Precision::Fp16)].provenance, Provenance::Measured)
      << "the same kernels as bf16";
}

struct BadCase {
  std::string name, from, to, error;  // `error`: part of the message
};
void PrintTo(const BadCase& row, std::ostream* out) {
  *out << row.name;
}

class BadCalibration : public ReadCalibration, public testing::WithParamInterface<BadCase> {};

TEST_P(BadCalibration, is_refused_with_place_and_reason) {
  std::string text{kValid};
  const std::size_t at = text.find(GetParam().from);
  ASSERT_NE(at, std::string::npos);
  text.replace(at, GetParam().from.size(), GetParam().to);
  const std::filesystem::path path = written(text);
  const std::string error = error_text([&] { (void)read_calibration(path); });
  EXPECT_NE(error.find(GetParam().error), std::string::npos) << error;
  EXPECT_NE(error.find("curves.json"), std::string::npos) << error;
}

INSTANTIATE_TEST_SUITE_P(
    table, BadCalibration,
    testing::Values(
        BadCase{"another_schema", "calibration/1", "calibration/2", "/schema"},
        BadCase{"unknown_key", "\"grouped\"", "\"gruoped\"", "grouped"},
        BadCase{"a_number_without_source", "\"value\": 0.9, \"source\": \"a\"", "\"value\": 0.9", "source"},
        BadCase{"knots_that_descend", "[18, 20, 22]", "[18, 22, 20]", "each above the one before"},
        BadCase{"a_missing_row", "[[0, 0.1], [0.2, 0.3], [0.4, 0.5]]", "[[0, 0.1], [0.2, 0.3]]", "3 rows"},
        BadCase{"a_short_row", "[0.2, 0.3]", "[0.2]", "2 numbers"},
        BadCase{"time_that_falls_with_k", "[0, 0.1]", "[0, 1.95]", "row 0, column 0"},
        BadCase{"time_that_falls_with_the_area", "[0.4, 0.5]", "[2.4, 2.5]", "row 1, column 0"},
        BadCase{"rates_that_do_not_match_the_knots", "[300, 400]", "[300]", "one per sequence"},
        BadCase{"an_unknown_library", "flash-attention-2", "flash-attention-3", "flash-attention-2"},
        BadCase{"three_tiles", "[64, 64, 1.5]]", "[64, 64, 1.5], [1, 1, 1]]", "4 tiles"},
        BadCase{"no_bf16", "\"bf16\"", "\"fp8\"", "bf16"},
        BadCase{"a_share_of_zero", "0.8, \"k_half\"", "0, \"k_half\"", "share"}),
    [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace hexaplan::presets
