#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "presets/json/object_reader.h"

namespace hexaplan::presets {

/// A field of config.json, under the name the class uses and the one its attribute_map also accepts.
struct Key {
  std::string_view name;
  std::string_view alias = {};
};

/// Sizes fit the 32-bit integers of GPU libraries, and products of two of them fit 64 bits.
inline constexpr IntegerRange kSize{1, 2'147'483'647};
inline constexpr IntegerRange kLayers{1, 10'000};
inline constexpr IntegerRange kExperts{1, 1'000'000};

/// The fields of a Hugging Face config object. An absent key takes the default of the model_type's class.
class ConfigFields {
 public:
  ConfigFields(const std::string& file, std::string pointer, const JsonObject& object)
      : reader_{file, std::move(pointer), object, Reading::Lenient}, object_{&object} {}

  /// null counts as absent.
  [[nodiscard]] std::int64_t size(Key key, std::int64_t absent, IntegerRange range = kSize);
  /// null means "none", which is 0 here and not the default (Mistral: sliding_window).
  [[nodiscard]] std::int64_t integer(Key key, std::int64_t absent, IntegerRange range = kSize);
  [[nodiscard]] std::int64_t required(Key key, IntegerRange range = kSize);
  [[nodiscard]] bool flag(Key key, bool absent);
  /// null counts as absent.
  [[nodiscard]] double number(Key key, double absent, RealRange range);
  [[nodiscard]] bool is_null(Key key) const;
  [[nodiscard]] std::vector<std::int64_t> integers(Key key, IntegerRange range);
  /// The value under whichever name it has; nothing when absent or null.
  [[nodiscard]] std::optional<ValueReader> value(Key key);

  /// The fields of the object under `key`. Precondition: there is a value.
  [[nodiscard]] ConfigFields within(Key key);

  /// The error to throw when `key`, which is or defaults to `value`, breaks a rule between fields.
  [[nodiscard]] InputError error(Key key, std::int64_t value, std::string expected) const;

 private:
  [[nodiscard]] const JsonMember* member(Key key) const;

  ObjectReader reader_;
  const JsonObject* object_;
};

}  // namespace hexaplan::presets
