#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "charts/table_text.h"
#include "cli/commands/accuracy.h"
#include "cli/commands/compare.h"
#include "cli/commands/estimate.h"
#include "cli/commands/search.h"
#include "cli/commands/simulate.h"
#include "presets/json/json_value.h"
#include "report/plan_page.h"

namespace hexaplan::python {

// What the module's functions answer: the command's own answers (cli/commands), kept whole, so that what
// nobody looks at is never written out. Knows nothing of Python.

/// A call's question: options of the command by flag (cli::command_of_values), and a scenario in memory,
/// "hexaplan/scenario/1"; null: none.
struct Asked {
  presets::JsonValue options, scenario;
};

class EstimateAnswer {
 public:
  explicit EstimateAnswer(cli::EstimateReport report) : report_{std::move(report)} {}
  [[nodiscard]] bool fits() const { return report_.fits(); }
  /// Of one optimizer step; NaN when a rule rejected the layout.
  [[nodiscard]] double step_seconds() const;
  /// Device memory of the worst rank; 0 when a rule rejected the layout.
  [[nodiscard]] std::int64_t peak_bytes() const;
  /// Chance of running out of memory; NaN when a rule rejected the layout.
  [[nodiscard]] double risk() const;
  /// "hexaplan/estimate/1".
  [[nodiscard]] presets::JsonValue json() const;
  /// A picture: "memory" or "time". InputError for another name and when a rule rejected the layout.
  [[nodiscard]] std::string svg(std::string_view picture) const;
  /// Markup that can stand inside another page.
  [[nodiscard]] std::string display() const;
  /// The page of `hexaplan report`.
  [[nodiscard]] std::string page() const;
  /// With what would make it fit, which is looked for when something shows it.
  [[nodiscard]] cli::EstimateReport whole_report() const;

 private:
  cli::EstimateReport report_;  // perhaps without its suggested changes
};

class SimulationAnswer {
 public:
  explicit SimulationAnswer(cli::SimulateReport report) : report_{std::move(report)} {}
  [[nodiscard]] presets::JsonValue json() const;
  /// "timeline" or "memory"; simulates again, with spans and curves. InputError as above, and when that is
  /// too large.
  [[nodiscard]] std::string svg(std::string_view picture) const;
  [[nodiscard]] std::string display() const;
  [[nodiscard]] std::string page() const;

 private:
  [[nodiscard]] report::Answer answer() const;
  cli::SimulateReport report_;
};

class SearchAnswer {
 public:
  explicit SearchAnswer(cli::SearchReport report) : report_{std::move(report)} {}
  [[nodiscard]] presets::JsonValue json() const;
  [[nodiscard]] std::string display() const;
  [[nodiscard]] std::string page() const;

 private:
  cli::SearchReport report_;
};

class CompareAnswer {
 public:
  explicit CompareAnswer(cli::CompareReport report) : report_{std::move(report)} {}
  [[nodiscard]] presets::JsonValue json() const;
  /// Every term of every side; the heads are "term", "unit" and the sides' names.
  [[nodiscard]] charts::Cells cells() const;
  [[nodiscard]] std::vector<EstimateAnswer> sides() const;
  [[nodiscard]] std::string display() const;
  [[nodiscard]] std::string page() const;

 private:
  [[nodiscard]] std::vector<report::Answer> answers() const;
  cli::CompareReport report_;
};

class AccuracyAnswer {
 public:
  explicit AccuracyAnswer(cli::AccuracyResult result) : result_{std::move(result)} {}
  /// "hexaplan/accuracy/1" with every row.
  [[nodiscard]] presets::JsonValue json() const;

 private:
  cli::AccuracyResult result_;
};

// One function per command. UsageError or InputError when the question cannot be used.
[[nodiscard]] EstimateAnswer estimate(const Asked& asked);
[[nodiscard]] SimulationAnswer simulate(const Asked& asked);
/// `interrupted` is asked from time to time on the calling thread; true ends the search.
[[nodiscard]] SearchAnswer search(const Asked& asked, const std::function<bool()>& interrupted);
[[nodiscard]] CompareAnswer compare(const Asked& asked);
/// Answers side by side under `names`. Precondition: as many names as answers, and at least one.
[[nodiscard]] CompareAnswer compare(const std::vector<std::string>& names,
                                    const std::vector<EstimateAnswer>& answers);
[[nodiscard]] AccuracyAnswer accuracy(const Asked& asked);
/// "hexaplan/import/1".
[[nodiscard]] presets::JsonValue import_config(const Asked& asked);
/// The scenario in a file, or inside a report.
[[nodiscard]] presets::JsonValue read_scenario(const std::string& path);

/// Options of a function: {"flag", "value", "help", "choices", "kind": "switch", "text" or "texts"}.
[[nodiscard]] presets::JsonValue options_of(std::string_view function);

}  // namespace hexaplan::python
