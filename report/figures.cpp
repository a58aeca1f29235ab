#include "report/figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "costmodel/memory/memory_kinds.h"
#include "costmodel/step/time_causes.h"
#include "costmodel/step/training_cost.h"
#include "costmodel/units/format_units.h"

namespace hexaplan::report {

using costmodel::Bytes;
using costmodel::Estimate;
using costmodel::format_percent;
using costmodel::format_short;
using costmodel::Seconds;

namespace {

std::string as_duration(double seconds) {
  return costmodel::format_duration(Seconds{seconds});
}
std::string as_bytes(double bytes) {
  return costmodel::format_binary(Bytes{bytes});
}
std::string as_count(double count) {
  return costmodel::format_count(std::llround(count));
}

/// The figures of one estimate; `priced`: false gives rows without values.
class Figures {
 public:
  explicit Figures(bool priced) : priced_{priced} {}
  /// `value` is called only where there are numbers.
  template <class Value>
  void add(std::string_view label, std::string_view unit, const Value& value, std::string (*format)(double),
           bool part = false) {
    rows_.push_back({std::string{label}, std::string{unit},
                     priced_ ? std::optional<double>{value()} : std::nullopt, format, part});
  }
  [[nodiscard]] std::vector<Figure> take() { return std::move(rows_); }

 private:
  bool priced_;
  std::vector<Figure> rows_;
};

void append_time(const Estimate& e, Figures& rows) {
  rows.add(
      "step time", "s", [&] { return e.time.total().value(); }, as_duration);
  for (const costmodel::TimeCause& cause : costmodel::kTimeCauses)
    rows.add(
        cause.name, "s", [&] { return (e.time.*cause.member).value(); }, as_duration, true);
  rows.add(
      "tokens/s per GPU", "1/s", [&] { return e.throughput.tokens_per_second_per_gpu; }, as_count);
  rows.add(
      "MFU", "1", [&] { return e.throughput.mfu; }, format_percent);
}

void append_memory(const Estimate& e, Figures& rows) {
  rows.add(
      "memory of the fullest GPU", "B", [&] { return e.peak().device.value(); }, as_bytes);
  for (const costmodel::MemoryKind& kind : costmodel::kMemoryKinds)
    rows.add(
        kind.key, "B", [&] { return e.peak().on_device().of(kind.kind).value(); }, as_bytes, true);
  rows.add(
      "memory free", "B", [&] { return (e.capacity - e.peak().device).value(); }, as_bytes);
  rows.add(
      "chance of running out", "1", [&] { return e.out_of_memory_probability; }, format_percent);
}

}  // namespace

std::vector<Figure> figures_of(const costmodel::Scenario& scenario, const Estimate& estimate) {
  const bool priced = !estimate.stages.empty();
  Figures rows{priced};
  append_time(estimate, rows);
  append_memory(estimate, rows);
  std::vector<Figure> figures = rows.take();
  Figures cost{priced && scenario.recipe.tokens > 0};
  const auto training = [&] { return costmodel::training_cost(scenario, estimate); };
  cost.add(
      "training", "s", [&] { return training().wall.value(); }, as_duration);
  cost.add(
      "GPU-hours", "h", [&] { return training().gpu_hours; }, format_short);
  cost.add(
      "cost", "USD", [&] { return training().dollars; }, format_short);
  cost.add(
      "energy", "kWh", [&] { return training().kilowatt_hours; }, format_short);
  cost.add(
      "goodput", "1", [&] { return training().goodput.productive; }, format_percent);
  cost.add(
      "checkpoint interval", "s", [&] { return training().goodput.interval.value(); }, as_duration);
  for (Figure& figure : cost.take()) figures.push_back(std::move(figure));
  return figures;
}

std::string figure_text(const Figure& figure, std::optional<double> first) {
  if (!figure.value) return {};
  const double value = *figure.value;
  std::string text = fmt::format("{}{}", value < 0 ? "-" : "", figure.format(std::abs(value)));
  if (!first || *first <= 0 || value == *first) return text;
  return fmt::format("{} ({})", text, costmodel::format_signed_percent((value - *first) / *first));
}

bool says_nothing(const std::vector<std::vector<Figure>>& answers, std::size_t index) {
  return std::all_of(answers.begin(), answers.end(), [&](const std::vector<Figure>& figures) {
    const Figure& figure = figures[index];
    return !figure.value || (figure.part && *figure.value == 0);
  });
}

}  // namespace hexaplan::report
