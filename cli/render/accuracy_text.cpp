#include "cli/render/accuracy_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <map>
#include <utility>

#include "cli/render/accuracy_rows.h"
#include "cli/render/estimate_rows.h"
#include "cli/render/numbers.h"

namespace hexaplan::cli {

using costmodel::format_binary;
using costmodel::format_duration;
using costmodel::format_percent;
using validator::AccuracyReport;
using validator::ComparedCase;
using validator::ErrorSummary;
using validator::FamilyErrors;
using validator::Scores;

namespace {

using Row = std::vector<std::string>;

Row error_row(const std::string& name, const ErrorSummary& e) {
  if (e.rows == 0) return {name, "0", std::to_string(e.skipped), "–", "–", "–", "–"};
  return {name,
          std::to_string(e.rows),
          std::to_string(e.skipped),
          format_percent(e.macro_mean_abs_error),
          format_percent(e.median_abs_error),
          format_signed_percent(e.bias),
          format_percent(e.worst)};
}

/// One line per source and one for all of them; nothing when nothing was measured.
std::string error_table(const std::string& title, const AccuracyReport& report, const TextStyle& style,
                        const std::function<const ErrorSummary&(const Scores&)>& figure) {
  const ErrorSummary& all = figure(report.all);
  if (all.rows + all.skipped == 0) return {};
  std::vector<Row> rows{{title, "rows", "skipped", "mean |error|", "median", "bias", "worst"}};
  for (const auto& [source, scores] : report.sources) {
    const ErrorSummary& e = figure(scores);
    if (e.rows + e.skipped > 0) rows.push_back(error_row("  " + source, e));
  }
  rows.push_back(error_row(style.bold("  all sources, equally"), all));
  return format_table(rows) + "\n";
}

Row family_row(const std::string& name, const Scores& s) {
  const FamilyErrors& f = s.families;
  const bool disturbed = s.with_disturbed.rows > f.rows;
  return {name,
          std::to_string(f.rows),
          std::to_string(f.families),
          format_percent(f.typical_error),
          disturbed ? format_percent(s.with_disturbed.typical_error) : "",
          f.repeated > 0 ? fmt::format("{} ({})", format_percent(f.noise_floor), f.repeated) : "",
          format_percent(f.within_10_percent),
          format_percent(f.within_25_percent),
          format_percent(f.covered),
          std::to_string(f.beyond_double.size())};
}

/// Every configuration once, halves and doubles alike; and which runs are farther off than that.
std::string family_table(const AccuracyReport& report, const TextStyle& style) {
  if (report.all.families.rows == 0) return {};
  std::vector<Row> rows{{"Step time, every configuration once", "rows", "families", "T", "T with excluded",
                         "noise floor", "<= 10 %", "<= 25 %", "in 90 % interval", "beyond x2"}};
  for (const auto& [source, scores] : report.sources) {
    if (scores.families.rows > 0) rows.push_back(family_row("  " + source, scores));
  }
  rows.push_back(family_row(style.bold("  all sources, by root of families"), report.all));
  std::string text = format_table(rows);
  if (const auto& ids = report.all.families.beyond_double; !ids.empty())
    text += fmt::format("  Beyond x2: {}\n", fmt::join(ids, ", "));
  return text + "\n";
}

/// T before and after learning; nothing where nobody asked.
std::string few_shot_table(const AccuracyResult& result, const TextStyle& style) {
  if (!result.few_shot) return {};
  Row head{"T after learning from"};
  for (const std::size_t shots : validator::kShots) {
    const std::string runs = fmt::format("{} run{}", shots, shots == 1 ? "" : "s");
    head.insert(head.end(), {"configurations", "before", runs});
  }
  std::vector<Row> rows{head};
  const auto add = [&](const std::string& name, const validator::FewShotScores& scores) {
    if (scores.front().configurations == 0) return;
    Row row{name};
    for (const validator::FewShotScore& s : scores) {
      const bool scored = s.configurations > 0;
      row.insert(row.end(), {scored ? std::to_string(s.configurations) : "",
                             scored ? format_percent(s.before) : "", scored ? format_percent(s.after) : ""});
    }
    rows.push_back(std::move(row));
  };
  for (const auto& [source, scores] : result.few_shot->sources) add("  " + source, scores);
  add(style.bold("  all sources, by root of configurations"), result.few_shot->all);
  return format_table(rows) + "\n";
}

std::string out_of_memory_table(const AccuracyReport& report, const TextStyle& style) {
  std::vector<Row> rows{
      {"Out of memory", "rows", "skipped", "right", "false fit", "false OOM", "Brier", "reliability gap"}};
  const auto add = [&](const std::string& name, const Scores& scores) {
    const validator::OutOfMemorySummary& o = scores.out_of_memory;
    if (o.rows + o.skipped == 0) return;
    rows.push_back({name, std::to_string(o.rows), std::to_string(o.skipped), format_percent(o.accuracy),
                    std::to_string(o.false_fit), std::to_string(o.false_oom),
                    fmt::format("{:.3f}", scores.chance_of_running_out.brier),
                    format_percent(scores.chance_of_running_out.reliability_gap)});
  };
  for (const auto& [source, scores] : report.sources) add("  " + source, scores);
  add(style.bold("  all rows"), report.all);
  return rows.size() == 1 ? std::string{} : format_table(rows) + "\n";
}

std::string ranking_table(const AccuracyReport& report, const TextStyle& style) {
  std::vector<Row> rows{{"Ranking of layouts", "groups", "mean regret", "median regret", "worst regret",
                         "regret <= 5 %", "mean Spearman"}};
  const auto add = [&](const std::string& name, const validator::RankingSummary& r) {
    if (r.groups == 0) return;
    rows.push_back({name, std::to_string(r.groups), format_percent(r.mean_regret),
                    format_percent(r.median_regret), format_percent(r.worst_regret),
                    std::to_string(r.groups_within_5_percent), fmt::format("{:.3f}", r.mean_spearman)});
  };
  for (const auto& [source, scores] : report.sources) add("  " + source, scores.ranking);
  add(style.bold("  all groups"), report.all.ranking);
  return rows.size() == 1 ? std::string{} : format_table(rows) + "\n";
}

/// One comparison of one case, ready to be listed.
struct Line {
  double error = 0;
  Row cells;
};

std::string largest_causes(const costmodel::StepTime& time) {
  std::vector<std::pair<double, std::string_view>> shares;
  shares.reserve(std::size(costmodel::kTimeCauses));
  for (const costmodel::TimeCause& cause : costmodel::kTimeCauses)
    shares.emplace_back(time.*cause.member / time.total(), cause.key);
  std::sort(shares.rbegin(), shares.rend());
  return fmt::format("{} {:.0f} %, {} {:.0f} %, {} {:.0f} %", shares[0].second, shares[0].first * 100,
                     shares[1].second, shares[1].first * 100, shares[2].second, shares[2].first * 100);
}

std::map<std::string, std::vector<Line>> lines_by_figure(const std::vector<ComparedCase>& cases) {
  std::map<std::string, std::vector<Line>> lines;
  for (const ComparedCase& c : cases) {
    if (c.time) {
      const auto predicted = costmodel::Seconds{c.time->predicted},
                 measured = costmodel::Seconds{c.time->measured};
      lines["Step time"].push_back(
          {c.time->error(),
           {"  " + c.id, c.source, format_duration(predicted), format_duration(measured),
            format_signed_percent(c.time->error()), largest_causes(c.by_cause)}});
    }
    for (const auto& m : c.memory) {
      lines[fmt::format("Memory, {}", name_of_memory(m.kind))].push_back(
          {m.error,
           {"  " + c.id, c.source, format_binary(costmodel::Bytes{m.predicted}),
            format_binary(costmodel::Bytes{m.measured}), format_signed_percent(m.error)}});
    }
  }
  return lines;
}

void keep_worst(std::vector<Line>& lines, std::size_t worst) {
  std::stable_sort(lines.begin(), lines.end(),
                   [](const Line& a, const Line& b) { return std::abs(a.error) > std::abs(b.error); });
  lines.resize(std::min(worst, lines.size()));
}

std::string listed_cases(const AccuracyResult& result, bool all, std::size_t worst) {
  std::string text;
  for (auto& [figure, lines] : lines_by_figure(result.cases)) {
    if (!all) keep_worst(lines, worst);
    if (lines.empty()) continue;
    std::vector<Row> rows{{fmt::format("{}{}", figure, all ? "" : ", worst rows"), "source", "predicted",
                           "measured", "error", ""}};
    for (Line& line : lines) rows.push_back(std::move(line.cells));
    text += format_table(rows, 2) + "\n";
  }
  return text;
}

/// Reasons why rows were skipped, most frequent first, with one row each as an example.
std::string skipped_reasons(const AccuracyResult& result) {
  std::map<std::pair<std::string, std::string>, std::pair<int, std::string>>
      reasons;  // source, reason → count, example
  for (const ComparedCase& c : result.cases) {
    if (c.reason.empty()) continue;
    auto& [count, example] = reasons[{c.source, c.reason}];
    if (count++ == 0) example = c.id;
  }
  if (reasons.empty()) return {};
  std::vector<Row> rows{{"Not scored", "reason", "rows", "first"}};
  for (const auto& [key, value] : reasons)
    rows.push_back({"  " + key.first, key.second, std::to_string(value.first), value.second});
  return format_table(rows, 2) + "\n";
}

}  // namespace

std::string accuracy_text(const AccuracyResult& result, bool rows, int worst, const TextStyle& style) {
  const AccuracyReport& report = result.report;
  std::string text =
      family_table(report, style) + few_shot_table(result, style) +
      error_table("Step time", report, style, [](const Scores& s) -> const ErrorSummary& { return s.time; });
  for (const auto& [kind, name] : kMemoryFigureNames) {
    const auto index = static_cast<std::size_t>(kind);
    text += error_table(fmt::format("Memory, {}", name), report, style,
                        [index](const Scores& s) -> const ErrorSummary& { return s.memory[index]; });
  }
  text += out_of_memory_table(report, style) + ranking_table(report, style);
  text += listed_cases(result, rows, static_cast<std::size_t>(worst)) + skipped_reasons(result);
  return text.empty() ? "Nothing to score: no row is marked scoreable.\n" : text;
}

}  // namespace hexaplan::cli
