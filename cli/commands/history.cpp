#include "cli/commands/history.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <string_view>
#include <utility>

#include "cli/render/execution_json.h"
#include "cli/render/validation_text.h"
#include "cli/version.h"
#include "presets/json/input_error.h"
#include "presets/json/object_reader.h"

namespace hexaplan::cli {

using presets::InputError;
using presets::JsonArray;
using presets::JsonObject;
using presets::JsonValue;
using validator::RunRecord;

namespace {

std::filesystem::path file_of(const StoreOptions& store) {
  return store.file.empty() ? validator::default_store_file() : std::filesystem::path{store.file};
}

/// Puts the record there, or in the place of what it was before. Returns what is in the way.
std::string put(const StoreOptions& store, RunRecord& record) {
  record.version = version_text();
  try {
    validator::Database database{file_of(store)};
    validator::RunStore runs{database};
    if (record.id == 0 || !runs.update(record)) record.id = runs.add(record);
    return {};
  } catch (const validator::StoreError& error) {
    return error.what();
  }
}

void tell_not_kept(const std::string& problem) {
  fmt::print(stderr, "note: not kept in the history: {}\n", problem);
}

/// "list cpu: 3 of 7 scenarios measured, stopped by Ctrl-C".
std::string title_of(const ValidateReport& report) {
  const std::size_t all = report.scenarios.size();
  std::string title = report.asked;
  if (all > 1) title += fmt::format(": {} of {} scenarios measured", report.measured(), all);
  if (report.signal != 0) return title + ", stopped by " + report.stopped_by();
  return report.complete() ? title : title + ", unfinished";
}

double number_in(const JsonValue* value) {
  if (value == nullptr) return 0;
  if (const auto* whole = value->get_if<std::int64_t>()) return static_cast<double>(*whole);
  const auto* real = value->get_if<double>();
  return real == nullptr ? 0 : *real;
}

const JsonValue* find_in(const JsonValue* value, std::initializer_list<std::string_view> path) {
  for (const std::string_view key : path) {
    if (value == nullptr) return nullptr;
    value = value->find(key);
  }
  return value;
}

template <class T>
const T& part_of(const JsonValue* value) {
  static const T kNone;
  const T* part = value == nullptr ? nullptr : value->get_if<T>();
  return part == nullptr ? kNone : *part;
}

std::string spaced(std::string name) {
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

/// The figure of that name, made when there is none.
Figure& figure_named(std::vector<Figure>& figures, const std::string& name, const char* unit) {
  const auto found =
      std::find_if(figures.begin(), figures.end(), [&](const Figure& f) { return f.name == name; });
  return found != figures.end() ? *found : figures.emplace_back(Figure{{}, name, 0, unit});
}

/// Largest over ranks of every member of an object that each has at `path`; `inner` looks into the members.
void add_largest(const JsonValue& report, std::initializer_list<std::string_view> path,
                 std::string_view inner, const std::string& prefix, const char* unit,
                 std::vector<Figure>& out) {
  std::vector<Figure> largest;
  for (const JsonValue& rank : part_of<JsonArray>(report.find("ranks"))) {
    for (const auto& [key, value] : part_of<JsonObject>(find_in(&rank, path))) {
      const double number = number_in(inner.empty() ? &value : value.find(inner));
      Figure& row = figure_named(largest, prefix + spaced(key), unit);
      row.value = std::max(row.value, number);
    }
  }
  std::erase_if(largest, [](const Figure& f) { return f.value == 0; });
  out.insert(out.end(), largest.begin(), largest.end());
}

RecordFigures figures_of_run(const JsonValue& report) {
  std::vector<Figure> out{{{}, "median step", number_in(report.find("median_step_seconds")), "s"}};
  const JsonArray& steps = part_of<JsonArray>(report.find("steps"));
  if (!steps.empty()) {
    for (const auto& [name, key] :
         {std::pair{"last loss", "loss"}, {"last gradient norm", "gradient_norm"}}) {
      const JsonValue* const value = steps.back().find(key);
      if (value != nullptr && !value->is_null())
        out.push_back({{}, name, number_in(value), ""});  // null: NaN
    }
  }
  double peak = 0;
  for (const JsonValue& rank : part_of<JsonArray>(report.find("ranks")))
    peak = std::max(peak, number_in(find_in(&rank, {"memory", "peak_bytes"})));
  out.push_back({{}, "peak of the fullest rank", peak, "bytes"});
  add_largest(report, {"phase_seconds"}, {}, "phase: ", "s", out);
  add_largest(report, {"compute", "by_kind"}, "seconds", "kind: ", "s", out);
  add_largest(report, {"memory", "peak_bytes_by_kind"}, {}, "memory: ", "bytes", out);
  return {std::move(out), {}};
}

/// Mean errors over all scenarios and over held-out ones.
void add_errors(const JsonValue& report, std::vector<Figure>& out) {
  for (const char* use : {"all", "held_out"}) {
    for (const char* figure : {"step", "memory"}) {
      const JsonValue* errors = find_in(&report, {"summary", use, figure});
      if (number_in(find_in(errors, {"scenarios"})) <= 0) continue;
      out.push_back({{},
                     fmt::format("mean error of {}, {}", figure, spaced(use)),
                     number_in(find_in(errors, {"mean_abs_error"})),
                     "share"});
    }
  }
}

/// Figures of a validation's scenario: where they are in its report, and where else.
struct ScenarioFigure {
  const char* name;
  std::array<const char*, 2> path;
  const char* unit;
  const char* otherwise = nullptr;
};
// Of a rank that ran alone the step that was run is not the job's, which the prediction is of.
constexpr ScenarioFigure kScenarioFigures[] = {
    {"measured step", {"step", "measured"}, "s", "measured_step_seconds"},
    {"predicted step", {"step", "predicted"}, "s"},
    {"error of step", {"step", "error"}, "error"},
    {"measured memory", {"memory", "measured"}, "bytes"},
    {"predicted memory", {"memory", "predicted"}, "bytes"},
    {"error of memory", {"memory", "error"}, "error"}};

RecordFigures figures_of_validation(const JsonValue& report) {
  RecordFigures out;
  add_errors(report, out.figures);
  for (const JsonValue& scenario : part_of<JsonArray>(report.find("scenarios"))) {
    const std::string& name = part_of<std::string>(scenario.find("name"));
    for (const ScenarioFigure& figure : kScenarioFigures) {
      const JsonValue* value = find_in(&scenario, {figure.path[0], figure.path[1]});
      if ((value == nullptr || value->is_null()) && figure.otherwise != nullptr)
        value = scenario.find(figure.otherwise);
      if (value == nullptr || value->is_null()) continue;
      out.figures.push_back({name, figure.name, number_in(value), figure.unit});
    }
    const std::string& outcome = part_of<std::string>(scenario.find("outcome"));
    const std::string& reason = part_of<std::string>(scenario.find("reason"));
    if (!reason.empty()) out.unmeasured.push_back({name, fmt::format("{}: {}", outcome, reason)});
  }
  return out;
}

/// Throws InputError when the store has no such run.
RunRecord record_of(validator::RunStore& store, std::int64_t id, const std::string& file) {
  auto record = store.get(id);
  if (record) return std::move(*record);
  throw InputError{{.field = "runs",
                    .value = std::to_string(id),
                    .expected = "the number of a run in " + file,
                    .hint = "'hexaplan runs list' shows them"}};
}

}  // namespace

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown";
}

void remember(const StoreOptions& store, const ExecutionResult& result) {
  if (store.off || !result.speaks || result.rejected || result.report.steps.empty()) return;
  const ExecutionQuestion& question = result.question;
  const JsonValue report = execution_json(question, result.report);
  const std::string layout = presets::to_layout_text({question.scenario.layout, true});
  const JsonValue* scenario = report.find("scenario");
  RunRecord record{
      .kind = "run",
      .title = fmt::format("{}{}, {}, {} ranks ({}){}", question.scenario.model.name,
                           question.shrunk ? " (shrunk)" : "", layout.empty() ? "dp1" : layout,
                           question.scenario.layout.world_size(), question.ranks,
                           result.report.complete ? "" : ", incomplete"),
      .machine = fmt::format(
          "{}, {}", result.report.ranks.empty() ? question.device : result.report.ranks.front().device,
          host_name()),
      .scenario = scenario == nullptr ? std::string{} : presets::to_text(*scenario),
      .report = presets::to_text(report)};
  const std::string problem = put(store, record);
  if (!problem.empty()) tell_not_kept(problem);
}

void ValidationRecord::keep(const ValidateReport& report) {
  if (store_.off || report.measured() == 0) return;
  if (record_.id == 0) {
    record_.kind = "validate";
    record_.at = validator::utc_now();
    const bool told_twice = report.device == report.hardware;
    record_.machine =
        fmt::format("{}{}, {}", report.device, told_twice ? "" : " (" + report.hardware + ")", host_name());
  }
  record_.title = title_of(report);
  record_.report = presets::to_text(validation_json(report));
  const std::string problem = put(store_, record_);
  if (!problem.empty() && problem != told_) tell_not_kept(problem);
  told_ = problem;
}

RecordFigures figures_of(const RunRecord& record) {
  const JsonValue report =
      presets::parse_json(record.report, fmt::format("report of run {}", record.id)).root;
  if (record.kind == "run") return figures_of_run(report);
  if (record.kind == "validate") return figures_of_validation(report);
  return {};
}

HistoryReport run_history(const RunsOptions& options) {
  HistoryReport report{.use = options.use, .file = file_of(options.store).string(), .records = {}};
  std::error_code ignored;
  const bool there = std::filesystem::exists(report.file, ignored);
  if (!there && options.use == HistoryUse::List) return report;
  try {
    validator::Database database{report.file, validator::StoreUse::Read};
    validator::RunStore store{database};
    if (options.ids.empty()) {
      report.records = store.list(options.kind);
      if (options.use == HistoryUse::List) return report;
    }
    std::vector<std::int64_t> ids = options.ids;
    for (const RunRecord& record : report.records) ids.push_back(record.id);
    report.records.clear();
    for (const std::int64_t id : ids) report.records.push_back(record_of(store, id, report.file));
    return report;
  } catch (const validator::StoreError& error) {
    throw InputError{{.field = "--store", .value = error.what(), .expected = "a history of runs"}};
  }
}

}  // namespace hexaplan::cli
