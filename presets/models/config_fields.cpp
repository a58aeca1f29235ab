#include "presets/models/config_fields.h"

#include <fmt/format.h>

#include <algorithm>

#include "presets/json/json_pointer.h"

namespace hexaplan::presets {

const JsonMember* ConfigFields::member(Key key) const {
  for (const std::string_view name : {key.name, key.alias}) {
    const auto found =
        std::find_if(object_->begin(), object_->end(), [&](const JsonMember& m) { return m.first == name; });
    if (found != object_->end() && !name.empty()) {
      return &*found;
    }
  }
  return nullptr;
}

std::optional<ValueReader> ConfigFields::value(Key key) {
  const JsonMember* found = member(key);
  return found == nullptr ? std::nullopt : reader_.optional(found->first);
}

bool ConfigFields::is_null(Key key) const {
  const JsonMember* found = member(key);
  return found != nullptr && found->second.is_null();
}

std::int64_t ConfigFields::size(Key key, std::int64_t absent, IntegerRange range) {
  const std::optional<ValueReader> found = value(key);
  return found ? found->integer(range) : absent;
}

std::int64_t ConfigFields::integer(Key key, std::int64_t absent, IntegerRange range) {
  return is_null(key) ? 0 : size(key, absent, range);
}

std::int64_t ConfigFields::required(Key key, IntegerRange range) {
  const JsonMember* found = member(key);
  return reader_.required(found == nullptr ? key.name : std::string_view{found->first}).integer(range);
}

bool ConfigFields::flag(Key key, bool absent) {
  const std::optional<ValueReader> found = value(key);
  return found ? found->boolean() : absent;
}

double ConfigFields::number(Key key, double absent, RealRange range) {
  const std::optional<ValueReader> found = value(key);
  return found ? found->number(range) : absent;
}

std::vector<std::int64_t> ConfigFields::integers(Key key, IntegerRange range) {
  const std::optional<ValueReader> found = value(key);
  return found ? found->integers(range) : std::vector<std::int64_t>{};
}

ConfigFields ConfigFields::within(Key key) {
  const ValueReader inner = *value(key);
  static_cast<void>(inner.object());  // InputError unless it is one
  return {inner.file(), inner.pointer(), *inner.json().get_if<JsonObject>()};
}

InputError ConfigFields::error(Key key, std::int64_t value, std::string expected) const {
  if (const JsonMember* found = member(key); found != nullptr && !found->second.is_null()) {
    return reader_.error(found->first, std::move(expected));
  }
  return InputError({.file = reader_.file(),
                     .field = pointer_to(reader_.pointer(), key.name),
                     .value = fmt::format("{} by default", value),
                     .expected = std::move(expected)});
}

}  // namespace hexaplan::presets
