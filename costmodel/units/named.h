#pragma once
#include <string_view>

namespace hexaplan::costmodel {

/// A value of an enumeration and a word for it: a row of the tables that readers, writers, options and help
/// share. A value with several words is written with its first.
template <class E>
struct Named {
  std::string_view name;
  E value;
};

}  // namespace hexaplan::costmodel
