#pragma once
// Included before all sources: algorithms of ranges, and further things, that Emscripten's libc++ lacks.
#include <algorithm>
#include <cstring>
#include <functional>
#include <iterator>

namespace std::ranges {

template <class Range, class Value>
auto find(Range&& range, const Value& value) {
  return std::find(std::begin(range), std::end(range), value);
}
template <class Range, class Value, class Projection>
auto find(Range&& range, const Value& value, Projection projection) {
  return std::find_if(std::begin(range), std::end(range),
                      [&](const auto& each) { return std::invoke(projection, each) == value; });
}
template <class Range, class Holds>
auto find_if(Range&& range, Holds holds) {
  return std::find_if(std::begin(range), std::end(range), holds);
}
template <class Range, class Holds>
bool any_of(Range&& range, Holds holds) {
  return std::any_of(std::begin(range), std::end(range), holds);
}

template <class Range, class Holds>
bool all_of(Range&& range, Holds holds) {
  return std::all_of(std::begin(range), std::end(range), holds);
}
template <class Range, class Holds>
bool none_of(Range&& range, Holds holds) {
  return std::none_of(std::begin(range), std::end(range), holds);
}

}  // namespace std::ranges

namespace std {

template <class To, class From>
To bit_cast(const From& from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof to);
  return to;
}

}  // namespace std
