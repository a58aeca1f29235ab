#include "presets/weights/stored_type.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "presets/json/utf8.h"

namespace hexaplan::presets {
namespace {

/// By StoredType.
constexpr std::array kStoredTypes{
    StoredTypeRow{StoredType::F64, "F64", 8, 52, 11},
    StoredTypeRow{StoredType::F32, "F32", 4, 23, 8},
    StoredTypeRow{StoredType::F16, "F16", 2, 10, 5},
    StoredTypeRow{StoredType::Bf16, "BF16", 2, 7, 8},
};

static_assert(std::endian::native == std::endian::little, "safetensors files are little-endian");

template <class T>
T bits_at(const std::byte* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}

/// A two-byte format as a number.
double widened(const StoredTypeRow& row, std::uint16_t bits) {
  const int fraction = bits & ((1 << row.fraction_bits) - 1);
  const int exponent = bits >> row.fraction_bits & ((1 << row.exponent_bits) - 1);
  const int largest = (1 << row.exponent_bits) - 1, bias = largest / 2;
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  if (exponent == largest)
    return fraction != 0 ? std::numeric_limits<double>::quiet_NaN()
                         : sign * std::numeric_limits<double>::infinity();
  const int significand = exponent == 0 ? fraction : fraction | 1 << row.fraction_bits;
  return sign * std::ldexp(significand, (exponent == 0 ? 1 : exponent) - bias - row.fraction_bits);
}

/// The nearest number of a two-byte format.
std::uint16_t narrowed(const StoredTypeRow& row, double value) {
  const int largest = (1 << row.exponent_bits) - 1, bias = largest / 2;
  const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const auto infinity = static_cast<std::uint16_t>(largest << row.fraction_bits);
  if (std::isnan(value)) return static_cast<std::uint16_t>(sign | infinity | 1 << (row.fraction_bits - 1));
  if (std::isinf(value)) return sign | infinity;
  if (value == 0) return sign;
  // Units of the last place of its binade, or of the smallest one for what lies below. Carries run into the
  // exponent by themselves, up to infinity.
  const int exponent = std::max(std::ilogb(value) + bias, 1);
  const double units = std::nearbyint(std::ldexp(std::abs(value), row.fraction_bits + bias - exponent));
  const double encoded = units + std::ldexp(exponent - 1, row.fraction_bits);
  return static_cast<std::uint16_t>(sign |
                                    (encoded >= infinity ? infinity : static_cast<std::uint16_t>(encoded)));
}

}  // namespace

const StoredTypeRow& row_of(StoredType type) {
  return kStoredTypes[static_cast<std::size_t>(type)];
}

std::optional<StoredType> stored_type_named(std::string_view name) {
  for (const StoredTypeRow& row : kStoredTypes) {
    if (lower(row.name) == lower(name)) return row.type;
  }
  return std::nullopt;
}

std::vector<std::string> stored_type_names() {
  std::vector<std::string> names;
  names.reserve(kStoredTypes.size());
  for (const StoredTypeRow& row : kStoredTypes) names.emplace_back(row.name);
  return names;
}

double load_element(StoredType type, const std::byte* bytes) {
  switch (type) {
    case StoredType::F64:
      return bits_at<double>(bytes);
    case StoredType::F32:
      return static_cast<double>(bits_at<float>(bytes));
    case StoredType::F16:
    case StoredType::Bf16:
      return widened(row_of(type), bits_at<std::uint16_t>(bytes));
  }
  return 0;
}

void store_element(StoredType type, double value, std::byte* bytes) {
  if (type == StoredType::F64) {
    std::memcpy(bytes, &value, sizeof value);
  } else if (type == StoredType::F32) {
    const auto narrow = static_cast<float>(value);
    std::memcpy(bytes, &narrow, sizeof narrow);
  } else {
    const std::uint16_t bits = narrowed(row_of(type), value);
    std::memcpy(bytes, &bits, sizeof bits);
  }
}

}  // namespace hexaplan::presets
