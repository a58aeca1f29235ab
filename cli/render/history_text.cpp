#include "cli/render/history_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

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
  if (figure.unit == "error") return format_signed_percent(figure.value);
  return fmt::format("{:.6g}", figure.value);
}

/// Relative; of what is in per cent already, in its points.
std::string change_text(const Figure& from, const Figure& to) {
  if (from.unit == "share" || from.unit == "error") {
    std::string percent = format_signed_percent(to.value - from.value);
    return percent.substr(0, percent.find(' ')) + " points";
  }
  return from.value > 0 ? format_signed_percent(to.value / from.value - 1) : std::string{};
}

/// What a table of figures has a row or a column for, each once and in the order of their coming.
std::vector<std::string> each_once(const std::vector<Figure>& figures, std::string Figure::*what) {
  std::vector<std::string> names;
  for (const Figure& figure : figures) {
    if (figure.scenario.empty()) continue;
    if (std::find(names.begin(), names.end(), figure.*what) == names.end()) names.push_back(figure.*what);
  }
  return names;
}

const Figure* find(const std::vector<Figure>& figures, const std::string& scenario, const std::string& name) {
  const auto found = std::find_if(figures.begin(), figures.end(),
                                  [&](const Figure& f) { return f.scenario == scenario && f.name == name; });
  return found == figures.end() ? nullptr : &*found;
}

/// What gave no figures, by the reason.
std::string unmeasured_text(const std::vector<Unmeasured>& unmeasured) {
  std::vector<std::pair<std::string, std::string>> lines;
  for (const Unmeasured& u : unmeasured) {
    const auto same =
        std::find_if(lines.begin(), lines.end(), [&](const auto& line) { return line.first == u.why; });
    if (same == lines.end()) {
      lines.emplace_back(u.why, u.scenario);
    } else {
      same->second += ", " + u.scenario;
    }
  }
  std::string text;
  for (const auto& [why, scenarios] : lines) text += fmt::format("\n{}\n  {}\n", why, scenarios);
  return text;
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
  const auto [figures, unmeasured] = figures_of(record);
  Cells whole{{"figure", "value"}};
  for (const Figure& figure : figures) {
    if (figure.scenario.empty()) whole.push_back({figure.name, text_of(figure)});
  }
  std::string text = heading(record, style);
  if (whole.size() > 1) text += "\n" + format_table(whole);
  // A row per scenario, a column per figure.
  const std::vector<std::string> names = each_once(figures, &Figure::name);
  if (names.empty()) return text + unmeasured_text(unmeasured);
  Cells rows{{"scenario"}};
  rows.front().insert(rows.front().end(), names.begin(), names.end());
  for (const std::string& scenario : each_once(figures, &Figure::scenario)) {
    std::vector<std::string>& row = rows.emplace_back(std::vector{scenario});
    for (const std::string& name : names) {
      const Figure* figure = find(figures, scenario, name);
      row.push_back(figure == nullptr ? std::string{} : text_of(*figure));
    }
  }
  return text + "\n" + format_table(rows) + unmeasured_text(unmeasured);
}

/// Figures of two records, one below the other; `label`: what tells them apart in this table.
std::string side_by_side(const std::string& head, std::string Figure::*label, const std::vector<Figure>& left,
                         const std::vector<Figure>& right, const std::pair<std::string, std::string>& runs) {
  Cells rows{{head, runs.first, runs.second, "change"}};
  for (const Figure& figure : left) {
    const Figure* other = find(right, figure.scenario, figure.name);
    rows.push_back({figure.*label, text_of(figure), other == nullptr ? "" : text_of(*other),
                    other == nullptr ? "" : change_text(figure, *other)});
  }
  for (const Figure& figure : right) {
    if (find(left, figure.scenario, figure.name) == nullptr)
      rows.push_back({figure.*label, "", text_of(figure), ""});
  }
  return rows.size() == 1 ? std::string{} : "\n" + format_table(rows);
}

std::string compare_text(const RunRecord& a, const RunRecord& b, const TextStyle& style) {
  const RecordFigures left = figures_of(a), right = figures_of(b);
  const std::pair runs{fmt::format("run {}", a.id), fmt::format("run {}", b.id)};
  const auto only = [](const std::vector<Figure>& from, const auto& wanted) {
    std::vector<Figure> out;
    std::copy_if(from.begin(), from.end(), std::back_inserter(out), wanted);
    return out;
  };
  const auto of_whole = [](const Figure& f) { return f.scenario.empty(); };
  std::string text = heading(a, style) + heading(b, style);
  text += side_by_side("figure", &Figure::name, only(left.figures, of_whole), only(right.figures, of_whole),
                       runs);
  // A table per figure, a row per scenario; in the order of the record that has more of them.
  const std::vector<std::string> names = each_once(left.figures, &Figure::name);
  const std::vector<std::string> others = each_once(right.figures, &Figure::name);
  for (const std::string& name : names.size() < others.size() ? others : names) {
    const auto named = [&](const Figure& f) { return !f.scenario.empty() && f.name == name; };
    text +=
        side_by_side(name, &Figure::scenario, only(left.figures, named), only(right.figures, named), runs);
  }
  for (const auto& [record, figures] : {std::pair{&a, &left}, std::pair{&b, &right}}) {
    if (figures->unmeasured.empty()) continue;
    text += fmt::format("\n{}", style.bold(fmt::format("Run {}", record->id)));
    text += unmeasured_text(figures->unmeasured);
  }
  return text;
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
