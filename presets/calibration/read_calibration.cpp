#include "presets/calibration/read_calibration.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "presets/json/object_reader.h"
#include "presets/json/spec_names.h"

namespace hexaplan::presets {
namespace {

using costmodel::AttentionCurve;
using costmodel::Axis1d;
using costmodel::Calibration;
using costmodel::GemmCurve;
using costmodel::Precision;
using costmodel::Provenance;

constexpr std::string_view kCalibrationSchemas[] = {"hexaplan/calibration/1"};
constexpr Named<Provenance> kProvenanceNames[] = {
    {"measured", Provenance::Measured}, {"borrowed", Provenance::Borrowed}, {"prior", Provenance::Prior}};

/// Whose curve a precision takes when it has none; in this order, so that borrowing can go on.
struct Lender {
  Precision borrower, lender;
};
constexpr Lender kLenders[] = {{Precision::Fp16, Precision::Bf16},    {Precision::Tf32, Precision::Bf16},
                               {Precision::Fp32, Precision::Bf16},    {Precision::Fp8, Precision::Bf16},
                               {Precision::Fp8Block, Precision::Fp8}, {Precision::Mxfp8, Precision::Fp8Block},
                               {Precision::Nvfp4, Precision::Mxfp8}};

/// Knots must ascend: they are searched.
Axis1d read_axis(const ValueReader& value, bool as_log2) {
  Axis1d axis{value.numbers(as_log2 ? RealRange{-60, 120} : RealRange{1, 1e15})};
  if (!as_log2) {
    std::transform(axis.log2.begin(), axis.log2.end(), axis.log2.begin(),
                   [](double x) { return std::log2(x); });
  }
  const bool ascending =
      std::adjacent_find(axis.log2.begin(), axis.log2.end(), std::greater_equal<>{}) == axis.log2.end();
  if (axis.log2.size() < 2 || !ascending) {
    throw value.error("at least two numbers, each above the one before");
  }
  return axis;
}

std::array<costmodel::GemmTile, 4> read_tiles(const ValueReader& value) {
  std::array<costmodel::GemmTile, 4> tiles;
  const std::vector<ValueReader> rows = value.elements();
  if (rows.size() != tiles.size()) {
    throw value.error(fmt::format("{} tiles", tiles.size()));
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::vector<double> row = rows[i].numbers({0.1, 4096});
    if (row.size() != 3) {
      throw rows[i].error("three numbers: rows, columns, cost");
    }
    tiles[i] = {row[0], row[1], row[2]};
  }
  return tiles;
}

/// Time grows with area·(k + k_half)/2^correction, so the correction must rise more slowly than those do.
bool lets_time_fall(const GemmCurve& curve, std::size_t row, std::size_t column) {
  const std::vector<double>&area = curve.area.log2, &depth = curve.depth.log2;
  const double* here = curve.correction.data() + row * depth.size() + column;
  if (row + 1 < area.size() && here[depth.size()] - here[0] > area[row + 1] - area[row]) {
    return true;
  }
  const double k = std::exp2(depth[column]);
  return column + 1 < depth.size() &&
         here[1] - here[0] > (depth[column + 1] - depth[column]) * k / (k + curve.k_half);
}

void require_growing_time(const GemmCurve& curve, const ValueReader& value) {
  const std::size_t columns = curve.depth.log2.size();
  for (std::size_t cell = 0; cell < curve.correction.size(); ++cell) {
    if (lets_time_fall(curve, cell / columns, cell % columns)) {
      throw value.error(
          fmt::format("corrections that let no time fall as a shape grows; row {}, column {} does",
                      cell / columns, cell % columns));
    }
  }
}

GemmCurve read_gemm(ObjectReader reader) {
  GemmCurve curve;
  curve.provenance = Provenance::Measured;
  (void)reader.required("peak").flops_rate();  // what `share` refers to; for people
  curve.share = reader.required("share").number({1e-6, 1.5});
  if (const auto sustained = reader.optional("sustained_ratio")) {
    curve.sustained = sustained->number({0.01, 10});
  }
  curve.k_half = reader.required("k_half").number({0, 1e6});
  curve.quantisation = reader.required("quantisation").number(kShare);
  curve.tiles = read_tiles(reader.required("tiles"));
  curve.area = read_axis(reader.required("area_log2"), true);
  curve.depth = read_axis(reader.required("k_log2"), true);
  const ValueReader grid = reader.required("correction_log2");
  for (const ValueReader& row : grid.elements()) {
    const std::vector<double> values = row.numbers({-10, 10});
    if (values.size() != curve.depth.log2.size()) {
      throw row.error(fmt::format("{} numbers, one per k_log2", curve.depth.log2.size()));
    }
    curve.correction.insert(curve.correction.end(), values.begin(), values.end());
  }
  if (curve.correction.size() != curve.area.log2.size() * curve.depth.log2.size()) {
    throw grid.error(fmt::format("{} rows, one per area_log2", curve.area.log2.size()));
  }
  require_growing_time(curve, grid);
  reader.skip("holdout");
  reader.skip("source");
  reader.finish();
  return curve;
}

std::vector<double> read_rates(const ValueReader& value, std::size_t knots, double peak_tflops) {
  std::vector<double> rates = value.numbers({1e-6, 1e6});
  if (rates.size() != knots) {
    throw value.error(fmt::format("{} numbers, one per sequence", knots));
  }
  for (double& rate : rates) {
    rate /= peak_tflops;
  }
  return rates;
}

AttentionCurve read_attention(ObjectReader reader, double peak_tflops) {
  AttentionCurve curve;
  curve.provenance = Provenance::Measured;
  curve.library = reader.required("library").choice(kLibraryNames);
  curve.head_dim = reader.required("head_dim").integer({1, 4096});
  const ValueReader rows = reader.required("tile_rows");
  const std::vector<double> tile_rows = rows.numbers({1, 4096});
  if (tile_rows.size() != 2) {
    throw rows.error("two numbers: forward, backward");
  }
  curve.tile_rows_forward = tile_rows[0];
  curve.tile_rows_backward = tile_rows[1];
  curve.sequence = read_axis(reader.required("sequence"), false);
  const std::size_t knots = curve.sequence.log2.size();
  curve.forward = read_rates(reader.required("forward_tflops"), knots, peak_tflops);
  curve.backward = read_rates(reader.required("backward_tflops"), knots, peak_tflops);
  reader.skip("source");
  reader.finish();
  return curve;
}

/// {"value": 0.94, "source": "…"}: a number that nobody can add without saying where it is from.
double read_sourced(ObjectReader reader, RealRange range) {
  const double value = reader.required("value").number(range);
  (void)reader.required("source").text();
  reader.finish();
  return value;
}

costmodel::MemoryCurve read_memory(ObjectReader reader) {
  costmodel::MemoryCurve curve;
  curve.provenance = Provenance::Measured;
  curve.share = reader.required("share").number({1e-3, 1.0});
  curve.ramp = reader.required("ramp").seconds();
  (void)reader.required("source").text();
  reader.finish();
  return curve;
}

/// Optional: 1 where nobody measured them.
constexpr std::pair<const char*, double Calibration::*> kMaskRates[] = {
    {"attention_unmasked", &Calibration::attention_unmasked},
    {"attention_windowed", &Calibration::attention_windowed}};

void lend(Calibration& calibration, const std::array<bool, costmodel::kPrecisionCount>& measured) {
  for (const auto& [borrower, lender] : kLenders) {
    if (!measured[static_cast<std::size_t>(borrower)]) {
      GemmCurve& curve = calibration.gemm[static_cast<std::size_t>(borrower)];
      curve = calibration.gemm[static_cast<std::size_t>(lender)];
      // fp16 and bf16 run the same kernels at the same rate.
      curve.provenance =
          borrower == Precision::Fp16 ? curve.provenance : std::max(curve.provenance, Provenance::Borrowed);
    }
  }
}

}  // namespace

Calibration read_calibration(const std::filesystem::path& path) {
  const JsonDocument document = read_json_file(path);
  ObjectReader reader{document};
  (void)reader.required("schema").choice_index(kCalibrationSchemas);
  Calibration calibration;
  calibration.name = reader.required("name").text();
  calibration.gpu = reader.required("gpu").text();
  calibration.source = reader.required("source").text();
  calibration.date = reader.required("date").text();
  calibration.provenance = reader.required("provenance").choice(kProvenanceNames);
  calibration.launch_floor = reader.required("launch_floor").seconds();
  calibration.sustained = read_sourced(reader.required("sustained").object(), {0.01, 1.5});
  calibration.grouped = read_sourced(reader.required("grouped").object(), {0.01, 1.5});
  calibration.accumulate_exposed = read_sourced(reader.required("accumulate_exposed").object(), {0.0, 2.0});
  calibration.memory = read_memory(reader.required("memory").object());
  if (const auto optimizer = reader.optional("optimizer"))
    calibration.optimizer = read_memory(optimizer->object());
  for (const auto& [name, member] : kMaskRates) {
    if (const auto rate = reader.optional(name))
      calibration.*member = read_sourced(rate->object(), {0.05, 20});
  }
  calibration.time_sigma = reader.required("time_sigma").number({0, 10});
  calibration.memory_sigma = reader.required("memory_sigma").number({0, 10});
  if (const auto context = reader.optional("context")) {
    calibration.context = context->bytes();
  }

  for (const char* for_others : {"machine", "fit", "fabric"}) reader.skip(for_others);

  ObjectReader gemm = reader.required("gemm").object();
  // Devices without bf16 (processors) have fp32.
  const auto fp32 = gemm.optional("bf16") ? std::nullopt : gemm.optional("fp32");
  const ValueReader reference = fp32 ? *fp32 : gemm.required("bf16");
  const costmodel::FlopsPerSecond peak = reference.object().required("peak").flops_rate();
  std::array<bool, costmodel::kPrecisionCount> measured{};
  for (const auto& row : kPrecisionNames) {
    if (const auto value = gemm.optional(row.name)) {
      calibration.gemm[static_cast<std::size_t>(row.value)] = read_gemm(value->object());
      measured[static_cast<std::size_t>(row.value)] = true;
    }
  }
  gemm.finish();
  lend(calibration, measured);
  for (const ValueReader& curve : reader.required("attention").elements()) {
    calibration.attention.push_back(read_attention(curve.object(), peak.value() / 1e12));
  }
  reader.finish();
  return calibration;
}

}  // namespace hexaplan::presets
