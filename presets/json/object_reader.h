#pragma once
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "costmodel/units/enum_table.h"
#include "costmodel/units/quantity.h"
#include "presets/json/input_error.h"
#include "presets/json/json_value.h"
#include "presets/json/read_json.h"

namespace hexaplan::presets {

/// Strict: our own files; nothing is converted, unknown keys are errors. Lenient: other people's files;
/// unknown keys are skipped, null counts as absent, 4096.0 is a whole number.
enum class Reading : std::uint8_t { Strict, Lenient };

struct IntegerRange {
  std::int64_t low = std::numeric_limits<std::int64_t>::min();
  std::int64_t high = std::numeric_limits<std::int64_t>::max();
};
struct RealRange {
  double low = std::numeric_limits<double>::lowest();
  double high = std::numeric_limits<double>::max();
};
/// Sizes and counts of models and machines: anything larger is a mistake and would overflow products.
inline constexpr IntegerRange kCount{0, 1'000'000'000'000'000};
inline constexpr IntegerRange kPositive{1, 1'000'000'000'000'000};
inline constexpr RealRange kNotNegative{0.0, 1e300};
inline constexpr RealRange kShare{0.0, 1.0};

using costmodel::Named;

class ObjectReader;

/// One value of a document, and where it stands. Every getter throws InputError when the value is something
/// else. Refers to the document, which must outlive it.
class ValueReader {
 public:
  ValueReader(const std::string& file, std::string pointer, const JsonValue& value, Reading reading)
      : file_{&file}, pointer_{std::move(pointer)}, value_{&value}, reading_{reading} {}

  [[nodiscard]] bool boolean() const;
  [[nodiscard]] std::int64_t integer(IntegerRange range = {}) const;
  [[nodiscard]] int small_integer(IntegerRange range = {}) const;  // range cut to int
  [[nodiscard]] double number(RealRange range = {}) const;         // whole numbers too
  [[nodiscard]] const std::string& text() const;

  // Numbers with units, as strings: "80 GiB", "3.35 TB/s", "989 TFLOP/s", "10 us".
  [[nodiscard]] costmodel::Bytes bytes() const;
  [[nodiscard]] costmodel::BytesPerSecond bandwidth() const;
  [[nodiscard]] costmodel::FlopsPerSecond flops_rate() const;
  [[nodiscard]] costmodel::Seconds seconds() const;

  template <class E>
  [[nodiscard]] E choice(std::span<const Named<E>> table) const {
    std::vector<std::string_view> names;
    for (const Named<E>& row : table) {
      names.push_back(row.name);
    }
    return table[choice_index(names)].value;
  }
  template <class E, std::size_t N>
  [[nodiscard]] E choice(const Named<E> (&table)[N]) const {
    return choice(std::span<const Named<E>>{table});
  }
  /// Index into `names`.
  [[nodiscard]] std::size_t choice_index(std::span<const std::string_view> names) const;

  [[nodiscard]] ObjectReader object() const;
  [[nodiscard]] std::vector<ValueReader> elements() const;
  /// Array of numbers; quicker than elements() for long ones.
  [[nodiscard]] std::vector<double> numbers(RealRange range = {}) const;
  [[nodiscard]] std::vector<std::int64_t> integers(IntegerRange range = {}) const;

  [[nodiscard]] const JsonValue& json() const { return *value_; }
  [[nodiscard]] const std::string& file() const { return *file_; }
  [[nodiscard]] const std::string& pointer() const { return pointer_; }
  /// The error to throw when this value breaks a rule of the caller's.
  [[nodiscard]] InputError error(std::string expected, std::string hint = {}) const;

 private:
  [[nodiscard]] ValueReader element(std::size_t index, const JsonValue& value) const;
  [[nodiscard]] const JsonArray& array() const;

  const std::string* file_;
  std::string pointer_;
  const JsonValue* value_;
  Reading reading_;
};

/// Members of one object. Remembers which keys were asked for, so that `finish` can reject the others.
class ObjectReader {
 public:
  /// The root of a document, which must outlive the reader.
  explicit ObjectReader(const JsonDocument& document, Reading reading = Reading::Strict);
  ObjectReader(const std::string& file, std::string pointer, const JsonObject& object, Reading reading)
      : file_{&file}, pointer_{std::move(pointer)}, object_{&object}, reading_{reading} {}

  /// The member, or InputError when it is missing.
  [[nodiscard]] ValueReader required(std::string_view key);
  /// The member, or nothing when it is absent (Lenient: or null).
  [[nodiscard]] std::optional<ValueReader> optional(std::string_view key);
  /// Marks a key as known without reading it.
  void skip(std::string_view key) { known_.emplace_back(key); }
  /// All members in file order, marked as known: for maps whose keys are data.
  [[nodiscard]] std::vector<std::pair<std::string_view, ValueReader>> members();

  /// Strict: InputError for the first key that was never asked for, naming the nearest known one. Call it
  /// last.
  void finish() const;

  [[nodiscard]] const std::string& file() const { return *file_; }
  [[nodiscard]] const std::string& pointer() const { return pointer_; }
  [[nodiscard]] Reading reading() const { return reading_; }
  /// The error to throw when the object as a whole, or the member `key`, breaks a rule of the caller's.
  [[nodiscard]] InputError error(std::string_view key, std::string expected, std::string hint = {}) const;

 private:
  [[nodiscard]] const JsonValue* find(std::string_view key) const;

  const std::string* file_;
  std::string pointer_;
  const JsonObject* object_;
  Reading reading_;
  std::vector<std::string> known_;
};

/// Names in a list for messages: "a, b, c"; at most 30, then how many more.
[[nodiscard]] std::string listed(std::span<const std::string_view> names);

}  // namespace hexaplan::presets
