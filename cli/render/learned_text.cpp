#include "cli/render/learned_text.h"

#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "cli/render/numbers.h"

namespace hexaplan::cli {
namespace {

using costmodel::RunConstantRow;
using presets::JsonArray;
using presets::JsonObject;
using presets::JsonValue;
using validator::LearnedFigure;
using validator::RunLearning;

/// Lessons smaller than this are none.
constexpr double kLittle = 0.005;

double percent_of(double log_factor) {
  return std::expm1(log_factor);
}

std::string interval_of_90(double value, double sigma) {
  return fmt::format("{} to {}", format_signed_percent(percent_of(value - presets::kHalf90 * sigma)),
                     format_signed_percent(percent_of(value + presets::kHalf90 * sigma)));
}

/// The constant that a figure moved most, against the width of its prior.
std::string lesson(const LearnedFigure& figure) {
  const RunConstantRow* most = nullptr;
  double furthest = 0;
  for (const RunConstantRow& row : costmodel::run_constants()) {
    const double moved = correction_of(figure.taught, row.constant);
    if (std::abs(moved) < kLittle || std::abs(moved) / row.prior <= furthest) continue;
    furthest = std::abs(moved) / row.prior;
    most = &row;
  }
  if (most == nullptr) return "nothing new";
  return fmt::format("{} {}", most->name,
                     format_signed_percent(percent_of(correction_of(figure.taught, most->constant))));
}

std::string figure_text(const LearnedFigure& figure, double value) {
  return figure.memory ? costmodel::format_binary(costmodel::Bytes{value})
                       : costmodel::format_duration(costmodel::Seconds{value});
}

/// exp of the mean |ln| less 1.
double typical_error(const RunLearning& learning, double LearnedFigure::*predicted) {
  double sum = 0;
  for (const LearnedFigure& f : learning.figures) sum += std::abs(std::log(f.*predicted / f.measured));
  return std::expm1(sum / static_cast<double>(learning.figures.size()));
}

std::string constants_table(const RunLearning& learning) {
  std::vector<std::vector<std::string>> rows{{"constant", "presets, 90 %", "now", "90 %"}};
  std::string untold;
  for (const RunConstantRow& row : costmodel::run_constants()) {
    const auto at = static_cast<std::size_t>(row.constant);
    if (!learning.constants.told[at]) {
      untold += fmt::format("{}{}", untold.empty() ? "" : ", ", row.name);
      continue;
    }
    rows.push_back({std::string{row.name}, interval_of_90(0, row.prior),
                    format_signed_percent(percent_of(learning.constants.value[at])),
                    interval_of_90(learning.constants.value[at], learning.constants.sigma[at])});
  }
  std::string text = rows.size() > 1 ? format_table(rows) : std::string{};
  if (!untold.empty()) text += fmt::format("The runs do not tell, as the presets have it: {}\n", untold);
  return text;
}

}  // namespace

std::string learned_text(const RunCalibrateReport& report, const TextStyle& style) {
  const RunLearning& learning = report.learning;
  std::string text = fmt::format("{}: {}\n", style.bold("Learned from " + report.learned.source),
                                 fmt::format("{}, {}", report.learned.gpu, report.learned.framework));
  for (const std::string& note : report.notes) text += fmt::format("{}\n", note);
  text += "\n" + constants_table(learning) + "\n";
  std::vector<std::vector<std::string>> rows{{"run", "measured", "predicted", "off", "now", "off", "taught"}};
  for (const LearnedFigure& f : learning.figures) {
    rows.push_back({f.id + (f.memory ? " (reserved)" : ""), figure_text(f, f.measured),
                    figure_text(f, f.before), format_signed_percent(f.before / f.measured - 1),
                    figure_text(f, f.after), format_signed_percent(f.after / f.measured - 1),
                    f.disturbed() ? "looks disturbed, counts little" : lesson(f)});
  }
  text += format_table(rows);
  text += fmt::format("\nTypical error {} before, {} now\n",
                      costmodel::format_percent(typical_error(learning, &LearnedFigure::before)),
                      costmodel::format_percent(typical_error(learning, &LearnedFigure::after)));
  return text + fmt::format("Written to {}; predictions take it with --calibration {}\n",
                            style.bold(report.out), report.out);
}

JsonValue learned_json(const RunCalibrateReport& report) {
  const RunLearning& learning = report.learning;
  JsonArray constants, figures, notes;
  const auto factors = [](double value, double sigma) {
    return JsonArray{std::exp(value - presets::kHalf90 * sigma), std::exp(value + presets::kHalf90 * sigma)};
  };
  for (const RunConstantRow& row : costmodel::run_constants()) {
    const auto at = static_cast<std::size_t>(row.constant);
    const double value = learning.constants.value[at];
    constants.push_back(JsonObject{{"constant", row.key},
                                   {"name", row.name},
                                   {"told", learning.constants.told[at]},
                                   {"factor", std::exp(value)},
                                   {"interval_90", factors(value, learning.constants.sigma[at])},
                                   {"prior_interval_90", factors(0, row.prior)}});
  }
  for (const LearnedFigure& f : learning.figures) {
    JsonObject taught;
    for (const RunConstantRow& row : costmodel::run_constants())
      taught.emplace_back(std::string{row.key}, std::exp(correction_of(f.taught, row.constant)));
    figures.push_back(JsonObject{{"run", f.id},
                                 {"figure", f.memory ? "reserved_bytes" : "step_seconds"},
                                 {"measured", f.measured},
                                 {"predicted_before", f.before},
                                 {"predicted_now", f.after},
                                 {"trust", f.trust},
                                 {"disturbed", f.disturbed()},
                                 {"taught", std::move(taught)}});
  }
  for (const std::string& note : report.notes) notes.emplace_back(note);
  return JsonObject{{"schema", "hexaplan/learned/1"},
                    {"gpu", report.learned.gpu},
                    {"framework", report.learned.framework},
                    {"file", report.out},
                    {"source", report.learned.source},
                    {"typical_error_before", typical_error(learning, &LearnedFigure::before)},
                    {"scale_of_rest", learning.constants.scale},
                    {"typical_error_now", typical_error(learning, &LearnedFigure::after)},
                    {"constants", std::move(constants)},
                    {"runs", std::move(figures)},
                    {"notes", std::move(notes)}};
}

}  // namespace hexaplan::cli
