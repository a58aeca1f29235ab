#include "cli/render/history_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "charts/table_text.h"
#include "cli/render/numbers.h"
#include "costmodel/units/format_units.h"
#include "presets/json/read_json.h"

namespace hexaplan::cli {

using charts::Cells;
using presets::JsonArray;
using presets::JsonObject;
using presets::JsonValue;
using validator::RunRecord;

namespace {

std::string text_of(const Figure& figure) {
  if (figure.unit == "s") return costmodel::format_duration(costmodel::Seconds{figure.value});
  if (figure.unit == "bytes") return costmodel::format_binary(costmodel::Bytes{figure.value});
  if (figure.unit == "share") return costmodel::format_percent(figure.value);
  return fmt::format("{:.6g}", figure.value);
}

std::string list_text(const HistoryReport& report) {
  if (report.records.empty()) return fmt::format("No runs are kept in {}.\n", report.file);
  Cells rows{{"run", "when (UTC)", "kind", "what", "where"}};
  for (const RunRecord& r : report.records)
    rows.push_back({std::to_string(r.id), r.at, r.kind, r.title, r.machine});
  return format_table(rows, 5);
}

std::string heading(const RunRecord& r, const TextStyle& style) {
  return fmt::format("{} {} {} {} {}\n  {}\n  {}, {}\n", style.bold(fmt::format("Run {}", r.id)), style.dot(),
                     r.kind, style.dot(), r.at, r.title, r.machine, r.version);
}

std::string show_text(const RunRecord& record, const TextStyle& style) {
  Cells rows{{"figure", "value"}};
  for (const Figure& figure : figures_of(record)) rows.push_back({figure.name, text_of(figure)});
  return heading(record, style) + "\n" + format_table(rows);
}

std::string compare_text(const RunRecord& a, const RunRecord& b, const TextStyle& style) {
  Cells rows{{"figure", fmt::format("run {}", a.id), fmt::format("run {}", b.id), "change"}};
  const std::vector<Figure> left = figures_of(a), right = figures_of(b);
  const auto in = [](const std::vector<Figure>& figures, const std::string& name) {
    return std::find_if(figures.begin(), figures.end(), [&](const Figure& f) { return f.name == name; });
  };
  for (const Figure& figure : left) {
    const auto other = in(right, figure.name);
    const bool both = other != right.end();
    rows.push_back({figure.name, text_of(figure), both ? text_of(*other) : "",
                    both && figure.value > 0 ? format_signed_percent(other->value / figure.value - 1) : ""});
  }
  for (const Figure& figure : right) {
    if (in(left, figure.name) == left.end()) rows.push_back({figure.name, "", text_of(figure), ""});
  }
  return heading(a, style) + heading(b, style) + "\n" + format_table(rows);
}

JsonValue record_json(const RunRecord& r, bool whole) {
  JsonObject object{{"id", r.id},       {"at", r.at},           {"kind", r.kind},
                    {"title", r.title}, {"machine", r.machine}, {"version", r.version}};
  if (!whole) return object;
  const auto document = [](const std::string& text) {
    return text.empty() ? JsonValue{} : presets::parse_json(text, "history").root;
  };
  object.emplace_back("scenario", document(r.scenario));
  object.emplace_back("report", document(r.report));
  return object;
}

}  // namespace

std::string history_text(const HistoryReport& report, const TextStyle& style) {
  switch (report.use) {
    case HistoryUse::List:
      return list_text(report);
    case HistoryUse::Show:
      return show_text(report.records.front(), style);
    case HistoryUse::Compare:
      return compare_text(report.records.at(0), report.records.at(1), style);
    case HistoryUse::Export:
      break;
  }
  return presets::to_text(history_json(report)) + "\n";
}

JsonValue history_json(const HistoryReport& report) {
  JsonArray rows;
  for (const RunRecord& record : report.records)
    rows.push_back(record_json(record, report.use != HistoryUse::List));
  return JsonObject{{"schema", "hexaplan/runs/1"}, {"file", report.file}, {"runs", std::move(rows)}};
}

}  // namespace hexaplan::cli
