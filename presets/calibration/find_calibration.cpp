#include "presets/calibration/find_calibration.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <system_error>

#include "presets/calibration/read_calibration.h"
#include "presets/catalog/catalog.h"
#include "presets/json/object_reader.h"

namespace hexaplan::presets {
namespace {

namespace fs = std::filesystem;
using costmodel::Calibration;
using costmodel::Provenance;

// One standard deviation of log(measured/predicted) of a kernel, where no curve of the device itself exists.
constexpr double kBorrowedSigma = 0.15;
constexpr double kPriorSigma = 0.25;
constexpr std::string_view kSiblingsSchema[] = {"hexaplan/calibration-siblings/1"};

struct Sibling {
  std::string like;      // whose curves
  double rate = 1;       // share of their GEMM rates over the peak
  double attention = 1;  // … and of their attention rates; the same unless given
  std::string source;
};

std::optional<fs::path> file_in_roots(const fs::path& relative) {
  for (const fs::path& root : preset_roots()) {
    std::error_code ignored;
    if (fs::path file = root / "calibration" / relative; fs::is_regular_file(file, ignored)) {
      return file;
    }
  }
  return std::nullopt;
}

std::optional<Sibling> find_sibling(std::string_view gpu) {
  const std::optional<fs::path> path = file_in_roots("borrowed/siblings.json");
  if (!path) {
    return std::nullopt;
  }
  const JsonDocument document = read_json_file(*path);
  ObjectReader reader{document};
  (void)reader.required("schema").choice_index(kSiblingsSchema);
  std::optional<Sibling> found;
  for (const ValueReader& element : reader.required("siblings").elements()) {
    ObjectReader row = element.object();
    const bool wanted = row.required("gpu").text() == gpu;
    Sibling sibling;
    sibling.like = row.required("like").text();
    sibling.rate = row.required("rate").number({0.01, 2});
    const auto attention = row.optional("attention");
    sibling.attention = attention ? attention->number({0.01, 2}) : sibling.rate;
    sibling.source = row.required("source").text();
    row.finish();
    if (wanted) {
      found = std::move(sibling);
    }
  }
  reader.finish();
  return found;
}

void scale(std::vector<double>& shares, double rate) {
  std::transform(shares.begin(), shares.end(), shares.begin(), [rate](double share) { return share * rate; });
}

void scale(Calibration& calibration, const Sibling& sibling) {
  calibration.sustained *= sibling.rate;
  for (costmodel::AttentionCurve& curve : calibration.attention) {
    scale(curve.forward, sibling.attention);
    scale(curve.backward, sibling.attention);
  }
}

/// Every curve of a borrowed calibration is at best borrowed.
void mark_borrowed(Calibration& calibration) {
  const auto mark = [](Provenance& provenance) { provenance = std::max(provenance, Provenance::Borrowed); };
  mark(calibration.provenance);
  mark(calibration.memory.provenance);
  std::for_each(calibration.gemm.begin(), calibration.gemm.end(),
                [&](auto& curve) { mark(curve.provenance); });
  std::for_each(calibration.attention.begin(), calibration.attention.end(),
                [&](auto& curve) { mark(curve.provenance); });
}

Calibration borrowed(const costmodel::GpuSpec& gpu, const Sibling& sibling, const fs::path& path) {
  Calibration calibration = read_calibration(path);
  scale(calibration, sibling);
  mark_borrowed(calibration);
  calibration.source =
      fmt::format("curves of {}, rates × {}: {}", sibling.like, sibling.rate, sibling.source);
  calibration.name = fmt::format("{} (as {})", gpu.name, sibling.like);
  calibration.time_sigma = std::max(calibration.time_sigma, kBorrowedSigma);
  return calibration;
}

Calibration prior(const costmodel::GpuSpec& gpu) {
  Calibration calibration;
  calibration.name = "prior";
  calibration.gpu = gpu.name;
  calibration.source =
      "no measurements: 0.76 of the peak for large GEMMs, 0.30 for attention, 0.80 of the bandwidth";
  calibration.time_sigma = kPriorSigma;
  return calibration;
}

}  // namespace

Calibration find_calibration(const costmodel::GpuSpec& gpu) {
  if (const auto own = file_in_roots(gpu.name + ".json")) {
    return read_calibration(*own);
  }
  if (const auto sibling = find_sibling(gpu.name)) {
    if (const auto path = file_in_roots(sibling->like + ".json")) {
      return borrowed(gpu, *sibling, *path);
    }
  }
  return prior(gpu);
}

ClusterCalibration find_calibration(const costmodel::ClusterSpec& cluster) {
  ClusterCalibration result{.calibration = find_calibration(cluster.gpu), .fabric = {}};
  if (const auto networks = file_in_roots("fabric/networks.json")) {
    result.fabric = read_fabric(networks->parent_path(), cluster, result.calibration);
  }
  return result;
}

}  // namespace hexaplan::presets
