#include "python/objects.h"

#include <cstdint>
#include <string>
#include <utility>

#include "presets/json/input_error.h"
#include "presets/json/read_json.h"

namespace hexaplan::python {

namespace nb = nanobind;
using presets::InputError;
using presets::JsonArray;
using presets::JsonObject;
using presets::JsonValue;

namespace {

nb::list list_of(const JsonArray& array) {
  nb::list list;
  for (const JsonValue& each : array) list.append(to_python(each));
  return list;
}

nb::dict dict_of(const JsonObject& object) {
  nb::dict dict;
  for (const auto& [key, value] : object) dict[nb::str(key.data(), key.size())] = to_python(value);
  return dict;
}

InputError wrong(const std::string& where, std::string value, std::string expected) {
  return InputError({.field = where, .value = std::move(value), .expected = std::move(expected)});
}

std::string text_of(nb::handle text) {
  Py_ssize_t size = 0;
  const char* begin = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
  if (begin == nullptr) throw nb::python_error();
  return {begin, static_cast<std::size_t>(size)};
}

std::int64_t whole_of(nb::handle number, const std::string& where) {
  const nb::object whole = nb::steal(PyNumber_Index(number.ptr()));
  if (!whole.is_valid()) throw nb::python_error();
  int beyond = 0;
  const long long value = PyLong_AsLongLongAndOverflow(whole.ptr(), &beyond);
  if (beyond != 0) throw wrong(where, text_of(nb::str(whole)), "a whole number of at most 64 bits");
  return value;
}

JsonValue read(nb::handle object, const std::string& where, int depth);

JsonArray array_of(nb::handle sequence, const std::string& where, int depth) {
  JsonArray array;
  for (const nb::handle each : nb::borrow(sequence)) array.push_back(read(each, where, depth));
  return array;
}

JsonObject object_of(nb::handle mapping, const std::string& where, int depth) {
  JsonObject object;
  for (const auto& [key, value] : nb::borrow<nb::dict>(mapping)) {
    if (!nb::isinstance<nb::str>(key))
      throw wrong(where, "the key " + text_of(nb::repr(key)), "keys that are text");
    std::string name = text_of(key);
    JsonValue inside = read(value, std::string{where}.append("/").append(name), depth);
    object.emplace_back(std::move(name), std::move(inside));
  }
  return object;
}

JsonValue read(nb::handle object, const std::string& where, int depth) {
  if (depth > presets::kDeepestJson)
    throw wrong(where, "deeper nesting", "at most 64 levels of lists and dictionaries");
  if (object.is_none()) return {};
  if (nb::isinstance<nb::bool_>(object)) return PyObject_IsTrue(object.ptr()) != 0;
  if (nb::isinstance<nb::str>(object)) return text_of(object);
  if (nb::isinstance<nb::float_>(object)) return PyFloat_AsDouble(object.ptr());
  if (PyIndex_Check(object.ptr()) != 0) return whole_of(object, where);
  if (nb::isinstance<nb::dict>(object)) return object_of(object, where, depth + 1);
  if (nb::isinstance<nb::list>(object) || nb::isinstance<nb::tuple>(object))
    return array_of(object, where, depth + 1);
  throw wrong(where, "a " + text_of(nb::inst_name(object)),
              "text, numbers, True, False, None, lists or dictionaries");
}

}  // namespace

nb::object to_python(const JsonValue& value) {
  if (const auto* truth = value.get_if<bool>()) return nb::bool_(*truth);
  if (const auto* whole = value.get_if<std::int64_t>()) return nb::int_(*whole);
  if (const auto* number = value.get_if<double>()) return nb::float_(*number);
  if (const auto* text = value.get_if<std::string>()) return nb::str(text->data(), text->size());
  if (const auto* array = value.get_if<JsonArray>()) return list_of(*array);
  if (const auto* object = value.get_if<JsonObject>()) return dict_of(*object);
  return nb::none();
}

JsonValue from_python(nb::handle object, const std::string& where) {
  return read(object, where, 0);
}

}  // namespace hexaplan::python
