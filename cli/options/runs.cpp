#include <fmt/format.h>

#include <memory>

#include "cli/options/command_row.h"

namespace hexaplan::cli {
namespace {

constexpr int kMostRuns = 999'999'999;

struct RunsWords {
  std::string action;
  std::vector<std::string> ids;
  RunsOptions options;
};

/// What each action does and how many runs it takes; −1: any number.
struct Action {
  const char* name;
  HistoryUse use;
  int runs;
};
constexpr Action kActions[] = {{"list", HistoryUse::List, 0},
                               {"show", HistoryUse::Show, 1},
                               {"compare", HistoryUse::Compare, 2},
                               {"export", HistoryUse::Export, -1}};

Command checked_runs(RunsWords words) {
  for (const Action& action : kActions) {
    if (words.action != action.name) continue;
    words.options.use = action.use;
    if (action.runs >= 0 && static_cast<int>(words.ids.size()) != action.runs) {
      throw UsageError{fmt::format("runs {}: got {} numbers of runs, expected {}", action.name,
                                   words.ids.size(), action.runs)};
    }
    for (const std::string& id : words.ids) words.options.ids.push_back(whole_number(id, "runs", kMostRuns));
    return words.options;
  }
  throw UsageError{fmt::format("runs: got \"{}\", expected list, show, compare or export", words.action)};
}

}  // namespace

CommandRow runs_row() {
  const auto words = std::make_shared<RunsWords>();
  return {.name = "runs",
          .help = "The history of runs and validations: list, show one, compare two, export",
          .options = {{"action",
                       "WHAT",
                       "list, show N, compare N M, or export [N ...] (JSON)",
                       &words->action,
                       {"list", "show", "compare", "export"}},
                      {"ids", "N ...", "Numbers of runs, as 'runs list' shows them", &words->ids},
                      {"--kind", "KIND", "Only run or validate", &words->options.kind, {"run", "validate"}},
                      {"--store", "FILE", "The history. Default: the user's", &words->options.store.file}},
          .finish = [words] { return checked_runs(*words); }};
}

}  // namespace hexaplan::cli
