#include "gui/app/setup/field_values.h"

#include <QLocale>
#include <QString>
#include <algorithm>
#include <array>

#include "costmodel/units/parse_units.h"
#include "gui/app/setup/fields.h"
#include "presets/json/input_error.h"

namespace hexaplan::gui {

using presets::InputError;

namespace {

constexpr std::int64_t kSmallDivisor = 128;

std::vector<std::string> texts(std::vector<std::int64_t> values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  std::vector<std::string> result;
  result.reserve(values.size());
  for (const std::int64_t value : values) result.push_back(std::to_string(value));
  return result;
}

}  // namespace

std::int64_t parseWhole(const std::string& text, std::string_view field, std::int64_t low,
                        std::int64_t high) {
  // Groups of digits may be written: "128,256", "128 256".
  std::string digits = text;
  digits.erase(std::remove_if(digits.begin(), digits.end(), [](char c) { return c == ' ' || c == ','; }),
               digits.end());
  const auto value = costmodel::parse_count(digits);
  if (value && *value >= low && *value <= high) return *value;
  throw InputError(
      {.field = std::string{field},
       .value = presets::in_quotes(text),
       .expected = "a whole number from " + std::to_string(low) + " to " + std::to_string(high)});
}

double parseReal(const std::string& text, std::string_view field, double low, double high) {
  bool good = false;
  const double value = QLocale::c().toDouble(QString::fromStdString(text), &good);
  if (good && value >= low && value <= high) return value;
  throw InputError({.field = std::string{field},
                    .value = presets::in_quotes(text),
                    .expected = "a number from " + QLocale::c().toString(low, 'g', 6).toStdString() + " to " +
                                QLocale::c().toString(high, 'g', 6).toStdString()});
}

bool isAuto(const std::string& text) {
  return text.empty() || text == kAuto;
}

const std::vector<std::string>& presetNames(presets::PresetKind kind) {
  static const auto names = [] {
    std::array<std::vector<std::string>, presets::kPresetKinds> lists;
    for (int i = 0; i < presets::kPresetKinds; ++i)
      lists[static_cast<std::size_t>(i)] = presets::list_presets(static_cast<presets::PresetKind>(i));
    return lists;
  }();
  return names[static_cast<std::size_t>(kind)];
}

std::vector<std::string> degrees(std::int64_t whole, std::int64_t most, std::int64_t now) {
  std::vector<std::int64_t> values{now};
  for (std::int64_t value = 1; value <= most; value *= 2) values.push_back(value);
  for (std::int64_t value = 1; value <= std::min({whole, most, kSmallDivisor}); ++value) {
    if (whole % value == 0) values.push_back(value);
  }
  return texts(std::move(values));
}

std::vector<std::string> powersOfTwo(std::int64_t low, std::int64_t high, std::int64_t now) {
  std::vector<std::int64_t> values{now};
  for (std::int64_t value = low; value <= high; value *= 2) values.push_back(value);
  return texts(std::move(values));
}

}  // namespace hexaplan::gui
