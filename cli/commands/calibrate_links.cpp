#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "cli/commands/calibrate.h"
#include "cli/commands/nccl_samples.h"
#include "cli/version.h"
#include "cli/write_file.h"
#include "presets/calibration/fabric/collective_names.h"
#include "presets/calibration/find_calibration.h"
#include "presets/clusters/cluster_preset.h"
#include "presets/json/input_error.h"
#include "presets/json/spec_names.h"
#include "validator/measure/store/database.h"

namespace hexaplan::cli {
namespace {

using presets::InputError;
using presets::JsonArray;
using presets::JsonObject;
using presets::JsonValue;
using presets::NcclTest;
using validator::CollectiveSample;

JsonValue lines_json(const std::vector<validator::CollectiveLine>& lines) {
  JsonArray rows;
  for (const validator::CollectiveLine& line : lines) {
    rows.push_back(JsonObject{{"kind", presets::name_in(presets::kCollectiveNames, line.kind)},
                              {"ranks", line.ranks},
                              {"nodes", line.nodes},
                              {"points", line.points},
                              {"latency_us", std::round(line.latency.value() * 1e8) / 100},
                              {"GBps", std::min(std::round(line.rate.value() / 1e7) / 100, 1e9)},
                              {"median_log_error", std::round(line.median_error * 1e4) / 1e4}});
  }
  return rows;
}

}  // namespace

std::string today() {
  return validator::utc_now().substr(0, 10);
}

presets::LinksToWrite links_to_write(const validator::CalibrationFit& fit,
                                     const costmodel::ClusterSpec& cluster, std::string source) {
  const std::string& level = cards_or_links(cluster).name;
  presets::LinksToWrite links{.gpus = {cluster.gpu.name}, .source = std::move(source), .date = today()};
  links.collectives =
      fit.lines.empty() ? std::vector<costmodel::CollectiveCurve>{} : fit.calibration.collectives;
  if (fit.network) links.network = fit.network->model;
  links.network_kind = level.substr(0, level.find_first_of("0123456789"));
  links.overlap_slowdown = fit.overlap_slowdown;
  JsonObject quality{{"lines", lines_json(fit.lines)}};
  if (fit.network) {
    quality.emplace_back("network_log_ratio",
                         JsonObject{{"points", fit.network->points},
                                    {"median", std::round(fit.network->median_error * 1e4) / 1e4},
                                    {"p90", std::round(fit.network->p90_error * 1e4) / 1e4}});
  }
  links.fit = std::move(quality);
  return links;
}

CalibrateReport run_calibrate_links(const CalibrateOptions& options) {
  const costmodel::ClusterSpec cluster = presets::parse_cluster(options.cluster);
  CalibrateReport report;
  report.logs = options.from;
  report.gpu = cluster.gpu.name;
  std::vector<CollectiveSample> samples;
  std::set<std::string> devices, versions;
  for (const std::string& file : options.from) {
    for (const NcclTest& test : presets::read_nccl_tests(file)) {
      if (const NcclMismatch other = mismatch_of(test, cluster); other.any())
        throw InputError(
            {.file = file, .field = "--cluster", .value = other.value, .expected = other.expected});
      const std::vector<CollectiveSample> rows = samples_of(test, cluster);
      samples.insert(samples.end(), rows.begin(), rows.end());
      devices.insert(test.device);
      if (!test.version.empty()) versions.insert("NCCL " + test.version);
    }
  }
  report.device = fmt::format("{}", fmt::join(devices, ", "));
  report.measured = static_cast<int>(samples.size());
  // Measured inside the node where there is something, else what is known of the GPU type.
  costmodel::Calibration before = presets::find_calibration(cluster).calibration;
  validator::CalibrationFit& fit = report.fit;
  fit.lines = validator::fit_lines(samples);
  fit.calibration.collectives = validator::fit_curves(samples);
  if (!fit.calibration.collectives.empty()) before.collectives = fit.calibration.collectives;
  fit.network = validator::fit_network(samples, cluster, before);
  const std::string source =
      fmt::format("nccl-tests on {} ({}{}{}), read by hexaplan {}", options.cluster, report.device,
                  versions.empty() ? "" : ", ", fmt::join(versions, ", "), version_text());
  report.out = options.out.empty() ? fmt::format("fabric-{}.json", report.gpu) : options.out;
  write_file(report.out, presets::to_text(fabric_json(links_to_write(fit, cluster, source), true)) + "\n");
  return report;
}

}  // namespace hexaplan::cli
