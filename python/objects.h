#pragma once
#include <nanobind/nanobind.h>

#include "presets/json/json_value.h"

namespace hexaplan::python {

/// None, bool, int, float, str, list, dict.
[[nodiscard]] nanobind::object to_python(const presets::JsonValue& value);
/// The same the other way; tuples are lists, whatever has __index__ is a whole number. InputError that names
/// `where` for other types, whole numbers beyond 64 bits, keys that are no text, and what is nested deeper
/// than JSON may be.
[[nodiscard]] presets::JsonValue from_python(nanobind::handle object, const std::string& where);

}  // namespace hexaplan::python
