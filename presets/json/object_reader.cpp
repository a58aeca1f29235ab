#include "presets/json/object_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "costmodel/units/nearest_name.h"
#include "costmodel/units/parse_units.h"
#include "presets/json/json_pointer.h"

namespace hexaplan::presets {
namespace {

constexpr double kExact = 9007199254740992.0;  // 2^53
constexpr std::size_t kMost = 30;              // names in one message
constexpr std::int64_t kLowestInt = std::numeric_limits<int>::min();
constexpr std::int64_t kHighestInt = std::numeric_limits<int>::max();

/// The value as it stands in the file, for messages; containers by their kind.
std::string shown(const JsonValue& value) {
  if (const auto* text = value.get_if<std::string>()) {
    return in_quotes(*text);
  }
  const bool container = value.get_if<JsonArray>() != nullptr || value.get_if<JsonObject>() != nullptr;
  return container ? std::string{value.type_name()} : to_text(value, JsonStyle::Compact);
}

template <class Range>
std::string bounds_of(Range range) {
  constexpr Range any{};
  const bool low = range.low != any.low;
  const bool high = range.high != any.high;
  if (low && high && static_cast<double>(range.high) < 1e9) {
    return fmt::format(" from {} to {}", range.low, range.high);
  }
  return low ? fmt::format(" >= {}", range.low) : high ? fmt::format(" <= {}", range.high) : std::string{};
}
template <class Range, class T>
std::string bounds_for(Range range, T value) {  // names the bound that was broken
  return value > range.high ? fmt::format(" <= {}", range.high) : bounds_of(range);
}

/// "8" → 8: what the user may have meant by quoting a number.
std::string unquote_hint(const JsonValue& value) {
  const auto* text = value.get_if<std::string>();
  const bool digits = text != nullptr && !text->empty() && text->size() < 16 &&
                      text->find_first_not_of("0123456789.-") == std::string::npos;
  return digits ? fmt::format("write {} without quotes", *text) : std::string{};
}

std::optional<double> real_of(const JsonValue& value) {
  if (const auto* real = value.get_if<double>()) {
    return *real;
  }
  if (const auto* integer = value.get_if<std::int64_t>()) {
    return static_cast<double>(*integer);
  }
  return std::nullopt;
}

std::optional<std::int64_t> integer_of(const JsonValue& value, Reading reading) {
  if (const auto* integer = value.get_if<std::int64_t>()) {
    return *integer;
  }
  const auto* real = value.get_if<double>();
  if (reading == Reading::Lenient && real != nullptr && std::trunc(*real) == *real &&
      std::abs(*real) <= kExact) {
    return static_cast<std::int64_t>(*real);
  }
  return std::nullopt;
}

template <class Q>
Q quantity_of(const ValueReader& reader, std::optional<Q> (*parse)(std::string_view),
              std::string_view expected) {
  if (const auto* text = reader.json().get_if<std::string>()) {
    if (const std::optional<Q> value = parse(*text)) {
      return *value;
    }
  }
  throw reader.error(std::string{expected});
}

}  // namespace

std::string listed(std::span<const std::string_view> names) {
  std::string result = fmt::format("{}", fmt::join(names.first(std::min(names.size(), kMost)), ", "));
  return names.size() > kMost ? fmt::format("{} and {} more", result, names.size() - kMost) : result;
}

InputError ValueReader::error(std::string expected, std::string hint) const {
  return InputError({.file = *file_,
                     .field = pointer_,
                     .value = shown(*value_),
                     .expected = std::move(expected),
                     .hint = std::move(hint)});
}

bool ValueReader::boolean() const {
  if (const auto* value = value_->get_if<bool>()) {
    return *value;
  }
  throw error("true or false");
}

std::int64_t ValueReader::integer(IntegerRange range) const {
  const std::optional<std::int64_t> value = integer_of(*value_, reading_);
  if (!value) {
    throw error("a whole number" + bounds_of(range), unquote_hint(*value_));
  }
  if (*value < range.low || *value > range.high) {
    throw error("a whole number" + bounds_for(range, *value));
  }
  return *value;
}

int ValueReader::small_integer(IntegerRange range) const {
  return static_cast<int>(integer({std::max(range.low, kLowestInt), std::min(range.high, kHighestInt)}));
}

double ValueReader::number(RealRange range) const {
  const std::optional<double> value = real_of(*value_);
  if (!value) {
    throw error("a number" + bounds_of(range), unquote_hint(*value_));
  }
  if (*value < range.low || *value > range.high) {
    throw error("a number" + bounds_for(range, *value));
  }
  return *value;
}

const std::string& ValueReader::text() const {
  if (const auto* value = value_->get_if<std::string>()) {
    return *value;
  }
  throw error("a string");
}

costmodel::Bytes ValueReader::bytes() const {
  return quantity_of(*this, costmodel::parse_bytes, "a size with its unit, such as \"80 GiB\"");
}
costmodel::BytesPerSecond ValueReader::bandwidth() const {
  return quantity_of(*this, costmodel::parse_bandwidth, "a bandwidth with its unit, such as \"3.35 TB/s\"");
}
costmodel::FlopsPerSecond ValueReader::flops_rate() const {
  return quantity_of(*this, costmodel::parse_flops_rate, "a rate with its unit, such as \"989 TFLOP/s\"");
}
costmodel::Seconds ValueReader::seconds() const {
  return quantity_of(*this, costmodel::parse_seconds, "a time with its unit, such as \"10 us\"");
}

std::size_t ValueReader::choice_index(std::span<const std::string_view> names) const {
  if (const auto* name = value_->get_if<std::string>()) {
    const auto found = std::find(names.begin(), names.end(), *name);
    if (found != names.end()) {
      return static_cast<std::size_t>(found - names.begin());
    }
    throw error("one of " + listed(names), did_you_mean(costmodel::nearest_name(*name, names)));
  }
  throw error("one of " + listed(names));
}

ObjectReader ValueReader::object() const {
  if (const auto* object = value_->get_if<JsonObject>()) {
    return {*file_, pointer_, *object, reading_};
  }
  throw error("an object");
}

const JsonArray& ValueReader::array() const {
  if (const auto* array = value_->get_if<JsonArray>()) {
    return *array;
  }
  throw error("an array");
}

ValueReader ValueReader::element(std::size_t index, const JsonValue& value) const {
  return {*file_, pointer_to(pointer_, index), value, reading_};
}

std::vector<ValueReader> ValueReader::elements() const {
  std::vector<ValueReader> result;
  for (const JsonValue& value : array()) {
    result.push_back(element(result.size(), value));
  }
  return result;
}

std::vector<double> ValueReader::numbers(RealRange range) const {
  std::vector<double> result;
  result.reserve(array().size());
  for (const JsonValue& value : array()) {
    const std::optional<double> number = real_of(value);
    const bool good = number && *number >= range.low && *number <= range.high;
    result.push_back(good ? *number : element(result.size(), value).number(range));
  }
  return result;
}

std::vector<std::int64_t> ValueReader::integers(IntegerRange range) const {
  std::vector<std::int64_t> result;
  result.reserve(array().size());
  for (const JsonValue& value : array()) {
    const std::optional<std::int64_t> number = integer_of(value, reading_);
    const bool good = number && *number >= range.low && *number <= range.high;
    result.push_back(good ? *number : element(result.size(), value).integer(range));
  }
  return result;
}

ObjectReader::ObjectReader(const JsonDocument& document, Reading reading)
    : ObjectReader{ValueReader{document.file, "", document.root, reading}.object()} {}

const JsonValue* ObjectReader::find(std::string_view key) const {
  const auto member =
      std::find_if(object_->begin(), object_->end(), [&](const auto& m) { return m.first == key; });
  return member == object_->end() ? nullptr : &member->second;
}

std::optional<ValueReader> ObjectReader::optional(std::string_view key) {
  known_.emplace_back(key);
  const JsonValue* value = find(key);
  if (value == nullptr || (reading_ == Reading::Lenient && value->is_null())) {
    return std::nullopt;
  }
  return ValueReader{*file_, pointer_to(pointer_, key), *value, reading_};
}

ValueReader ObjectReader::required(std::string_view key) {
  if (std::optional<ValueReader> value = optional(key)) {
    return *std::move(value);
  }
  // A misspelt key is both unknown and missing: say so once.
  std::vector<std::string_view> present;
  for (const JsonMember& member : *object_) {
    present.emplace_back(member.first);
  }
  const std::string_view near = costmodel::nearest_name(key, present);
  const bool unclaimed = std::find(known_.begin(), known_.end(), near) == known_.end();
  throw InputError(
      {.file = *file_,
       .field = pointer_to(pointer_, key),
       .value = "nothing",
       .expected = "this key",
       .hint = near.empty() || !unclaimed ? "" : fmt::format("is {} a misspelling of it?", in_quotes(near))});
}

std::vector<std::pair<std::string_view, ValueReader>> ObjectReader::members() {
  std::vector<std::pair<std::string_view, ValueReader>> result;
  for (const JsonMember& member : *object_) {
    known_.push_back(member.first);
    result.emplace_back(member.first,
                        ValueReader{*file_, pointer_to(pointer_, member.first), member.second, reading_});
  }
  return result;
}

void ObjectReader::finish() const {
  if (reading_ == Reading::Lenient) {
    return;
  }
  for (const JsonMember& member : *object_) {
    if (std::find(known_.begin(), known_.end(), member.first) == known_.end()) {
      std::vector<std::string_view> names{known_.begin(), known_.end()};
      const std::string_view near = costmodel::nearest_name(member.first, names);
      throw InputError({.file = *file_,
                        .field = pointer_to(pointer_, member.first),
                        .value = "an unknown key",
                        .expected = "one of " + listed(names),
                        .hint = did_you_mean(near)});
    }
  }
}

InputError ObjectReader::error(std::string_view key, std::string expected, std::string hint) const {
  const JsonValue* value = key.empty() ? nullptr : find(key);
  return InputError({.file = *file_,
                     .field = key.empty() ? pointer_ : pointer_to(pointer_, key),
                     .value = value == nullptr ? (key.empty() ? "" : "nothing") : shown(*value),
                     .expected = std::move(expected),
                     .hint = std::move(hint)});
}

}  // namespace hexaplan::presets
