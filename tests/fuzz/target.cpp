// libFuzzer's entry: HEXAPLAN_READER names the reader of this program (cmake --preset fuzz, scripts/fuzz.sh).
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "tests/fuzz/readers.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using hexaplan::fuzz::Reader;
  static const Reader& reader = *std::ranges::find(hexaplan::fuzz::readers(), HEXAPLAN_READER, &Reader::name);
  hexaplan::fuzz::read_or_refuse(reader, {reinterpret_cast<const char*>(data), size});
  return 0;
}
