#include "gui/app/jobs/search_limits.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "cli/commands/search.h"
#include "cli/options/command_row.h"
#include "costmodel/units/nearest_name.h"
#include "presets/json/input_error.h"

namespace hexaplan::gui {
namespace {

using cli::OptionRow;
using presets::InputError;

/// Limits of `hexaplan search` beside the dimensions of its space. The page's boxes have the others, the
/// setup the question, and the heat map varies machines.
constexpr std::string_view kLimits[] = {"--max-hours", "--max-cost", "--min-mfu", "--rank-by"};

/// The command's options that narrow a search.
std::vector<OptionRow> narrowingRows(cli::SearchOptions& options) {
  std::vector<OptionRow> rows = cli::search_options(options);
  const auto narrows = [&](const OptionRow& row) {
    const bool dimension = std::any_of(options.dimensions.begin(), options.dimensions.end(),
                                       [&](const cli::DimensionText& one) { return one.flag == row.flags; });
    return dimension || std::find(std::begin(kLimits), std::end(kLimits), row.flags) != std::end(kLimits);
  };
  std::erase_if(rows, [&](const OptionRow& row) { return !narrows(row); });
  return rows;
}

[[noreturn]] void refuse(const std::string& word, const std::vector<OptionRow>& rows) {
  std::vector<std::string> names;
  names.reserve(rows.size());
  for (const OptionRow& row : rows) names.push_back(row.flags.substr(2));
  cli::SearchOptions all;
  const std::vector<OptionRow> known = cli::search_options(all);
  const bool elsewhere =
      std::any_of(known.begin(), known.end(), [&](const OptionRow& row) { return row.flags == "--" + word; });
  std::string expected;
  for (const std::string& name : names) expected += (expected.empty() ? "" : ", ") + name;
  throw InputError(
      {.field = "limits",
       .value = presets::in_quotes(word),
       .expected = "one of " + expected,
       .hint = elsewhere ? "this is said in the setup or in the boxes above; the heat map varies machines"
                         : presets::did_you_mean(costmodel::nearest_name(word, names))});
}

/// Puts "tp=8" where the command has the value of --tp.
void readWord(const std::string& word, const std::vector<OptionRow>& rows) {
  const std::size_t sign = word.find('=');
  const std::string flag = "--" + word.substr(0, sign);
  const auto row =
      std::find_if(rows.begin(), rows.end(), [&](const OptionRow& one) { return one.flags == flag; });
  if (row == rows.end()) refuse(word.substr(0, sign), rows);
  std::string& target = **std::get_if<std::string*>(&row->target);
  const bool twice = !target.empty();
  if (sign == std::string::npos || sign + 1 == word.size() || twice) {
    throw InputError({.field = "limits",
                      .value = presets::in_quotes(word),
                      .expected = twice ? word.substr(0, sign) + " only once, several values between commas"
                                        : word.substr(0, sign) + "=" + row->value,
                      .hint = row->help});
  }
  target = word.substr(sign + 1);
}

}  // namespace

void narrow(planner::SearchProblem& problem, const Evaluation& asked, const QString& words) {
  const QStringList typed = words.simplified().split(u' ', Qt::SkipEmptyParts);
  if (typed.isEmpty()) return;
  cli::SearchOptions options;
  const std::vector<OptionRow> rows = narrowingRows(options);
  for (const QString& word : typed) readWord(word.toStdString(), rows);
  options.question.request = asked.request;
  const planner::SearchProblem read = cli::read_search(options).problem;
  problem.space = read.space;
  problem.rank_by = read.rank_by;
  problem.constraints.hours = read.constraints.hours;
  problem.constraints.dollars = read.constraints.dollars;
  problem.constraints.mfu = read.constraints.mfu;
}

QStringList limitWords() {
  cli::SearchOptions options;
  QStringList words;
  for (const OptionRow& row : narrowingRows(options)) {
    words.append(QString::fromStdString(row.flags.substr(2) + "=" + row.value + ": " + row.help));
  }
  return words;
}

}  // namespace hexaplan::gui
