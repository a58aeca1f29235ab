#include "presets/calibration/write_calibration.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

#include "costmodel/units/parse_number.h"
#include "presets/calibration/fabric/collective_names.h"
#include "presets/json/spec_names.h"

namespace hexaplan::presets {
namespace {

using costmodel::AttentionCurve;
using costmodel::Calibration;
using costmodel::GemmCurve;
using costmodel::GpuSpec;
using costmodel::Precision;
using costmodel::Seconds;

/// Five digits: measurements are good for three.
double rounded(double value) {
  return costmodel::parse_number<double>(fmt::format("{:.5g}", value)).value();
}

template <class Range, class Function>
JsonArray array_of(const Range& range, const Function& element) {
  JsonArray array;
  for (const auto& value : range) array.emplace_back(element(value));
  return array;
}

std::string microseconds_text(Seconds time) {
  return fmt::format("{:.5g} us", time.value() * 1e6);
}

JsonValue sourced(double value, const std::string& source) {
  return JsonObject{{"value", rounded(value)}, {"source", source}};
}

JsonValue memory_json(const costmodel::MemoryCurve& curve, const std::string& source) {
  return JsonObject{
      {"share", rounded(curve.share)}, {"ramp", microseconds_text(curve.ramp)}, {"source", source}};
}

double peak_teraflops(Precision precision, const GpuSpec& gpu) {
  const double peak = gpu.peak_of(precision).value();
  return (peak > 0 ? peak : gpu.peak_vector.value()) / 1e12;
}

JsonValue correction_rows(const GemmCurve& curve) {
  const std::size_t columns = curve.depth.log2.size();
  JsonArray rows;
  for (std::size_t i = 0; i + columns <= curve.correction.size(); i += columns) {
    const auto first = curve.correction.begin() + static_cast<std::ptrdiff_t>(i);
    rows.emplace_back(
        array_of(std::vector<double>(first, first + static_cast<std::ptrdiff_t>(columns)), rounded));
  }
  return rows;
}

JsonValue gemm_json(const GemmCurve& curve, Precision precision, const GpuSpec& gpu,
                    const std::string& source) {
  JsonObject object{{"peak", fmt::format("{:.6g} TFLOP/s", peak_teraflops(precision, gpu))},
                    {"share", rounded(curve.share)}};
  if (curve.sustained != 1.0) object.emplace_back("sustained_ratio", rounded(curve.sustained));
  object.emplace_back("k_half", curve.k_half);
  object.emplace_back("quantisation", curve.quantisation);
  object.emplace_back("tiles", array_of(curve.tiles, [](const costmodel::GemmTile& tile) {
                        return JsonArray{tile.m, tile.n, tile.cost};
                      }));
  // A curve without corrections has a grid of none.
  GemmCurve grid = curve;
  if (grid.correction.empty()) {
    grid.area.log2 = grid.depth.log2 = {10, 20};
    grid.correction.assign(4, 0.0);
  }
  object.emplace_back("area_log2", array_of(grid.area.log2, rounded));
  object.emplace_back("k_log2", array_of(grid.depth.log2, rounded));
  object.emplace_back("correction_log2", correction_rows(grid));
  if (!source.empty()) object.emplace_back("source", source);
  return object;
}

std::string_view name_of(costmodel::AttentionLibrary library) {
  switch (library) {
    case costmodel::AttentionLibrary::FlashAttention2:
      return "flash-attention-2";
    case costmodel::AttentionLibrary::FlashAttention1:
      return "flash-attention-1";
    default:
      return "vendor";
  }
}

JsonValue attention_json(const AttentionCurve& curve, double peak, const std::string& source) {
  const auto rates = [peak](const std::vector<double>& shares) {
    return array_of(shares, [peak](double share) { return rounded(share * peak); });
  };
  return JsonObject{
      {"library", name_of(curve.library)},
      {"head_dim", curve.head_dim},
      {"tile_rows", JsonArray{curve.tile_rows_forward, curve.tile_rows_backward}},
      {"sequence", array_of(curve.sequence.log2, [](double x) { return rounded(std::exp2(x)); })},
      {"forward_tflops", rates(curve.forward)},
      {"backward_tflops", rates(curve.backward)},
      {"source", source}};
}

JsonValue curve_json(const costmodel::CollectiveCurve& curve) {
  // Rounding may not let times fall.
  std::vector<double> times = curve.microseconds;
  for (double& time : times) time = rounded(time);
  return JsonObject{{"kind", name_in(kCollectiveNames, curve.kind)},
                    {"ranks", curve.ranks},
                    {"size_bytes", array_of(curve.size.log2,
                                            [](double x) {
                                              return static_cast<std::int64_t>(std::llround(std::exp2(x)));
                                            })},
                    {"microseconds", array_of(times, [](double t) { return t; })}};
}

JsonValue network_json(const costmodel::NetworkModel& network, const LinksToWrite& links) {
  JsonObject object{{"name", "measured"},
                    {"kinds", JsonArray{links.network_kind}},
                    {"provenance", "measured"},
                    {"bandwidth_efficiency", rounded(network.bandwidth_efficiency)}};
  if (network.ceiling.value() > 0)
    object.emplace_back("ceiling", fmt::format("{:.5g} GB/s", network.ceiling.value() / 1e9));
  object.emplace_back("base_latency", microseconds_text(network.base_latency));
  object.emplace_back("hop_latency", microseconds_text(network.hop_latency));
  object.emplace_back("congestion_per_doubling", rounded(network.congestion_per_doubling));
  object.emplace_back("congestion_free_nodes", network.congestion_free_nodes);
  if (network.contention_per_doubling != 0)
    object.emplace_back("contention_per_doubling", rounded(network.contention_per_doubling));
  if (network.pair_share != 1) object.emplace_back("pair_share", rounded(network.pair_share));
  if (network.exchange_share != 1) object.emplace_back("exchange_share", rounded(network.exchange_share));
  object.emplace_back("source", links.source);
  return object;
}

}  // namespace

JsonValue fabric_json(const LinksToWrite& links, bool with_schema) {
  JsonObject object;
  if (with_schema) object.emplace_back("schema", "hexaplan/fabric/1");
  object.emplace_back("gpus", array_of(links.gpus, [](const std::string& gpu) { return gpu; }));
  object.emplace_back("date", links.date);
  object.emplace_back("source", links.source);
  if (!links.fit.is_null()) object.emplace_back("fit", links.fit);
  if (links.overlap_slowdown > 0) object.emplace_back("overlap_slowdown", rounded(links.overlap_slowdown));
  if (links.network) object.emplace_back("network", network_json(*links.network, links));
  object.emplace_back("collectives", array_of(links.collectives, curve_json));
  return object;
}

JsonValue calibration_json(const Calibration& c, const GpuSpec& gpu, const CalibrationOrigin& origin,
                           const LinksToWrite* links) {
  JsonObject gemm;
  double peak = 0;
  for (const CalibrationOrigin::GemmOrigin& row : origin.gemm) {
    const GemmCurve& curve = c.gemm[static_cast<std::size_t>(row.precision)];
    gemm.emplace_back(name_in(kPrecisionNames, row.precision),
                      gemm_json(curve, row.precision, gpu, row.source));
    // As read_calibration: bf16 wherever there is one.
    if (row.precision == Precision::Bf16 || (row.precision == Precision::Fp32 && peak == 0))
      peak = peak_teraflops(row.precision, gpu);
  }
  assert(peak > 0 && origin.attention.size() == c.attention.size());
  JsonArray attention;
  for (std::size_t i = 0; i < c.attention.size(); ++i)
    attention.push_back(attention_json(c.attention[i], peak, origin.attention[i]));
  JsonObject object{{"schema", "hexaplan/calibration/1"},
                    {"name", c.name},
                    {"gpu", c.gpu},
                    {"source", c.source},
                    {"date", c.date},
                    {"provenance", "measured"}};
  if (!origin.machine.is_null()) object.emplace_back("machine", origin.machine);
  if (!origin.fit.is_null()) object.emplace_back("fit", origin.fit);
  object.emplace_back("launch_floor", microseconds_text(c.launch_floor));
  object.emplace_back("sustained", sourced(c.sustained, origin.sustained));
  object.emplace_back("grouped", sourced(c.grouped, origin.grouped));
  object.emplace_back("accumulate_exposed", sourced(c.accumulate_exposed, origin.accumulate_exposed));
  object.emplace_back("memory", memory_json(c.memory, origin.memory));
  if (c.optimizer.share > 0) object.emplace_back("optimizer", memory_json(c.optimizer, origin.optimizer));
  if (c.attention_unmasked != 1)
    object.emplace_back("attention_unmasked", sourced(c.attention_unmasked, origin.attention_unmasked));
  if (c.attention_windowed != 1)
    object.emplace_back("attention_windowed", sourced(c.attention_windowed, origin.attention_windowed));
  object.emplace_back("time_sigma", rounded(c.time_sigma));
  object.emplace_back("memory_sigma", rounded(c.memory_sigma));
  if (c.context.value() > 0)
    object.emplace_back("context", fmt::format("{:.6g} MiB", c.context.value() / 1048576));
  object.emplace_back("gemm", std::move(gemm));
  object.emplace_back("attention", std::move(attention));
  if (links != nullptr) object.emplace_back("fabric", fabric_json(*links, false));
  return object;
}

}  // namespace hexaplan::presets
