#include "gui/app/jobs/measurements.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include "costmodel/memory/memory_kinds.h"
#include "gui/app/document/evaluator.h"
#include "gui/app/document/messages.h"
#include "presets/json/object_reader.h"

namespace hexaplan::gui {

using presets::InputError;
using presets::JsonDocument;
using presets::JsonObject;
using presets::JsonValue;
using presets::ObjectReader;
using presets::Reading;
using presets::ValueReader;

namespace {

constexpr const char* kRun = "hexaplan/run/1";
constexpr const char* kAccuracy = "hexaplan/accuracy/1";
constexpr const char* kValidation = "hexaplan/validation/1";
/// Ranks of the largest job that a file may speak of.
constexpr int kMostRanks = 1'000'000;

validator::StepReport readStep(const ValueReader& value) {
  ObjectReader step = value.object();
  const auto flag = [&](const char* key) {
    const auto found = step.optional(key);
    return found && found->boolean();
  };
  return {.step = step.required("step").integer(presets::kCount),
          .loss = step.required("loss").number(),
          .time = costmodel::Seconds{step.required("seconds").number(presets::kNotNegative)},
          .warm_up = flag("warm_up"),
          .profiled = flag("profiled")};
}

/// The names of an enum as the report's keys: "gradient reduction" is "gradient_reduction".
template <class E>
std::string keyOf(E value) {
  using validator::name_of;
  std::string key{name_of(value)};
  std::replace_if(
      key.begin(), key.end(), [](char c) { return c == ' ' || c == '-' || c == '/'; }, '_');
  return key;
}
/// The value with this key; nothing when there is none.
template <class E>
std::optional<E> valueOf(const std::string& key, int count) {
  for (int i = 0; i < count; ++i) {
    if (keyOf(static_cast<E>(i)) == key) return static_cast<E>(i);
  }
  return std::nullopt;
}

void readPhases(ObjectReader phases, validator::RankReport& rank) {
  for (int i = 0; i < validator::kPhases; ++i) {
    if (const auto seconds = phases.optional(keyOf(static_cast<validator::Phase>(i))))
      rank.phases[static_cast<std::size_t>(i)] = costmodel::Seconds{seconds->number(presets::kNotNegative)};
  }
}

/// Rows of kinds that this program does not know are left out: reports grow.
void readTraffic(const ValueReader& rows, validator::RankReport& rank) {
  for (const ValueReader& element : rows.elements()) {
    ObjectReader row = element.object();
    const auto kind =
        valueOf<costmodel::CollectiveKind>(row.required("collective").text(), validator::kCollectiveKinds);
    const auto group = valueOf<costmodel::Group>(row.required("group").text(), costmodel::kGroupCount);
    if (!kind || !group) continue;
    rank.traffic.push_back(
        {.operation = row.required("operation").text(),
         .kind = *kind,
         .group = *group,
         .count = {row.required("messages").integer(presets::kCount),
                   costmodel::Bytes{row.required("bytes").number(presets::kNotNegative)},
                   costmodel::Seconds{row.required("seconds").number(presets::kNotNegative)}}});
  }
}

void readOperations(const ValueReader& rows, validator::RankReport& rank) {
  for (const ValueReader& element : rows.elements()) {
    ObjectReader row = element.object();
    const costmodel::Flops flops{row.required("flops").number(presets::kNotNegative)};
    const auto timed = row.optional("timed_flops");
    rank.operations.push_back(
        {.name = row.required("operation").text(),
         .flops = flops,
         .timed_flops = timed ? costmodel::Flops{timed->number(presets::kNotNegative)} : flops,
         .time = costmodel::Seconds{row.required("seconds").number(presets::kNotNegative)}});
  }
}

validator::RankReport readRank(const ValueReader& value) {
  ObjectReader object = value.object();
  validator::RankReport rank;
  rank.rank = object.required("rank").small_integer({0, kMostRanks});
  rank.stage = object.required("stage").small_integer({0, kMostRanks});
  if (const auto device = object.optional("device")) rank.device = device->text();
  ObjectReader memory = object.required("memory").object();
  rank.memory.peak_bytes = memory.required("peak_bytes").integer(presets::kCount);
  ObjectReader kinds = memory.required("peak_bytes_by_kind").object();
  for (const costmodel::MemoryKind& row : costmodel::kMemoryKinds) {
    if (const auto bytes = kinds.optional(row.key))
      rank.memory.peak_by_kind[static_cast<std::size_t>(row.kind)] = bytes->integer(presets::kCount);
  }
  if (const auto phases = object.optional("phase_seconds")) readPhases(phases->object(), rank);
  if (const auto traffic = object.optional("collectives")) readTraffic(*traffic, rank);
  if (const auto operations = object.optional("operations")) readOperations(*operations, rank);
  return rank;
}

std::shared_ptr<const MeasuredRun> readRun(const QString& path, const JsonDocument& document) {
  // Lenient: a report holds more than is shown here, and grows.
  ObjectReader root{document, Reading::Lenient};
  const auto scenario = root.optional("scenario");
  if (!scenario)
    throw root.error("scenario", "a run that was executed; this one was rejected before it began");
  auto run = std::make_shared<MeasuredRun>();
  run->path = path;
  const JsonDocument question{document.file, scenario->json()};
  run->predicted = Evaluator{}.evaluate(presets::read_scenario(question), Detail::Priced);
  if (run->predicted->problem) throw InputError{*run->predicted->problem};
  run->report.complete = root.required("complete").boolean();
  for (const ValueReader& step : root.required("steps").elements())
    run->report.steps.push_back(readStep(step));
  for (const ValueReader& rank : root.required("ranks").elements())
    run->report.ranks.push_back(readRank(rank));
  return run;
}

/// Collects points whose source gets a colour.
class Residuals {
 public:
  void add(const QString& source, const QString& label, ObjectReader pair) {
    const auto found = groups_.emplace(source, static_cast<int>(groups_.size())).first;
    if (found->second == static_cast<int>(data.groups.size())) data.groups.push_back(source);
    const double predicted = pair.required("predicted").number(),
                 measured = pair.required("measured").number();
    if (predicted > 0 && measured > 0) data.points.push_back({predicted, measured, found->second, label});
  }
  ResidualData data;

 private:
  std::map<QString, int> groups_;
};

std::shared_ptr<const MeasuredRows> readRows(const QString& path, const JsonDocument& document) {
  ObjectReader root{document, Reading::Lenient};
  Residuals times, memories;
  times.data.unit = AxisUnit::Seconds;
  memories.data.unit = AxisUnit::BinaryBytes;
  const auto rows = root.optional("rows");
  if (!rows)
    throw root.error("rows", "measured rows", "write the file with 'hexaplan accuracy --rows --json'");
  for (const ValueReader& element : rows->elements()) {
    ObjectReader row = element.object();
    const QString id = QString::fromStdString(row.required("case_id").text());
    const QString source = QString::fromStdString(row.required("source").text());
    if (const auto time = row.optional("time")) times.add(source, id, time->object());
    if (const auto memory = row.optional("memory")) {
      for (auto& [kind, value] : memory->object().members()) memories.add(source, id, value.object());
    }
  }
  auto result = std::make_shared<MeasuredRows>();
  result->path = path;
  result->times = std::move(times.data);
  result->memories = std::move(memories.data);
  return result;
}

}  // namespace

bool holdsMeasurements(const std::string& schema) {
  return schema == kRun || schema == kAccuracy || schema == kValidation || schema == kMeasureSchema;
}

Measurements readMeasurements(const QString& path, const JsonDocument& document) {
  const JsonValue* schema = document.root.find("schema");
  if (schema != nullptr && *schema == JsonValue{kAccuracy}) return readRows(path, document);
  if (schema != nullptr && *schema == JsonValue{kValidation})
    return std::make_shared<const ValidatedRuns>(readValidatedRuns(path, document));
  if (schema != nullptr && *schema == JsonValue{kMeasureSchema})
    return std::make_shared<const MeasuredLogs>(readMeasuredLogs(path, document));
  return readRun(path, document);
}

MeasuredFilePtr readMeasuredFile(const QString& name, const JsonDocument& document) {
  auto file = std::make_shared<MeasuredFile>();
  file->name = name;
  file->document = document.root;
  try {
    const JsonValue* schema = document.root.find("schema");
    const auto* known = schema == nullptr ? nullptr : schema->get_if<std::string>();
    if (known == nullptr || !holdsMeasurements(*known)) {
      throw InputError({.file = document.file,
                        .field = "/schema",
                        .value = known == nullptr ? "none" : presets::in_quotes(*known),
                        .expected = "a report that this version reads",
                        .hint = "a newer one may have written it"});
    }
    file->measured = readMeasurements(name, document);
  } catch (const InputError& error) {
    file->problem = problemText(error.problem);
  }
  return file;
}

}  // namespace hexaplan::gui
