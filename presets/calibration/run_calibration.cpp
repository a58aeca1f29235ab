#include "presets/calibration/run_calibration.h"

#include <cmath>
#include <utility>
#include <vector>

#include "presets/json/object_reader.h"

namespace hexaplan::presets {
namespace {

constexpr std::string_view kRunSchema = "hexaplan/run-calibration/1";
/// Beyond that a run was of something else than was said.
constexpr RealRange kFactorRange{0.01, 100};

double five_digits(double value) {
  constexpr double kDigits = 1e5;
  return std::round(value * kDigits) / kDigits;
}

/// {"factor": 0.97, "interval_90": [0.93, 1.01]}
void read_constant(ObjectReader reader, RunCalibration& learned, std::size_t at) {
  learned.told[at] = true;
  learned.value[at] = std::log(reader.required("factor").number(kFactorRange));
  const ValueReader interval = reader.required("interval_90");
  const std::vector<double> ends = interval.numbers(kFactorRange);
  if (ends.size() != 2 || ends[0] > ends[1]) throw interval.error("two factors, the lower one first");
  learned.sigma[at] = std::log(ends[1] / ends[0]) / (2 * kHalf90);
  reader.finish();
}

}  // namespace

std::optional<RunCalibration> read_run_calibration(const std::filesystem::path& path) {
  const JsonDocument document = read_json_file(path);
  ObjectReader reader{document};
  if (reader.required("schema").text() != kRunSchema) return std::nullopt;
  RunCalibration learned;
  learned.gpu = reader.required("gpu").text();
  learned.framework = reader.required("framework").text();
  if (const auto curves = reader.optional("curves")) learned.curves = curves->text();
  learned.source = reader.required("source").text();
  learned.date = reader.required("date").text();
  ObjectReader constants = reader.required("constants").object();
  for (const costmodel::RunConstantRow& row : costmodel::run_constants()) {
    const auto given = constants.optional(row.key);
    if (given) read_constant(given->object(), learned, static_cast<std::size_t>(row.constant));
  }
  constants.finish();
  reader.finish();
  return learned;
}

JsonValue run_calibration_json(const RunCalibration& learned) {
  JsonObject constants;
  for (const costmodel::RunConstantRow& row : costmodel::run_constants()) {
    const auto at = static_cast<std::size_t>(row.constant);
    if (!learned.told[at]) continue;
    const auto factor = [&](double sigmas) {
      return five_digits(std::exp(learned.value[at] + sigmas * learned.sigma[at]));
    };
    constants.emplace_back(
        std::string{row.key},
        JsonObject{{"factor", factor(0)}, {"interval_90", JsonArray{factor(-kHalf90), factor(kHalf90)}}});
  }
  JsonObject object{{"schema", kRunSchema}, {"gpu", learned.gpu}, {"framework", learned.framework}};
  if (!learned.curves.empty()) object.emplace_back("curves", learned.curves);
  object.emplace_back("date", learned.date);
  object.emplace_back("source", learned.source);
  object.emplace_back("constants", std::move(constants));
  return object;
}

}  // namespace hexaplan::presets
