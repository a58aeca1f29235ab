#include "presets/weights/safetensors.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include "presets/json/input_error.h"
#include "tests/support/temporary_folder.h"

namespace hexaplan::tests {
namespace {

using presets::load_element;
using presets::SafetensorsEntry;
using presets::SafetensorsFile;
using presets::store_element;
using presets::StoredType;

std::string bytes_of_file(const std::string& path) {
  std::ifstream file{path, std::ios::binary};
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

const std::string kTypes = HEXAPLAN_SOURCE_DIR "/tests/golden/weights/types.safetensors";

/// As tests/golden/safetensors_golden.py fills tensors.
double golden_value(const std::string& name, std::int64_t i) {
  return static_cast<double>((7 * i + std::ssize(name)) % 64 - 32) / 32;
}

double narrowed(StoredType type, double value) {
  std::array<std::byte, 8> bytes{};
  store_element(type, value, bytes.data());
  return load_element(type, bytes.data());
}

TEST(stored_type, every_two_byte_number_is_stored_as_it_was_loaded) {
  for (const StoredType type : {StoredType::F16, StoredType::Bf16}) {
    for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
      const auto before = static_cast<std::uint16_t>(bits);
      std::array<std::byte, 2> bytes{};
      std::memcpy(bytes.data(), &before, 2);
      const double value = load_element(type, bytes.data());
      if (std::isnan(value)) continue;
      store_element(type, value, bytes.data());
      ASSERT_EQ(std::memcmp(bytes.data(), &before, 2), 0) << bits;
    }
  }
}

TEST(stored_type, bf16_is_the_upper_half_of_a_float) {
  for (std::uint32_t bits = 0; bits < 0x10000; bits += 7) {
    const auto narrow = static_cast<std::uint16_t>(bits);
    std::array<std::byte, 2> bytes{};
    std::memcpy(bytes.data(), &narrow, 2);
    const float wide = std::bit_cast<float>(bits << 16);
    const double value = load_element(StoredType::Bf16, bytes.data());
    if (std::isnan(wide)) continue;
    ASSERT_EQ(value, static_cast<double>(wide)) << bits;
  }
}

TEST(stored_type, numbers_between_are_rounded_to_the_nearest_and_ties_to_even) {
  // IEEE 754-2019 binary16: 11 significant bits; largest 65504, smallest 2^-24. bfloat16: 8 bits.
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(narrowed(StoredType::F16, 2049), 2048);
  EXPECT_EQ(narrowed(StoredType::F16, 2051), 2052);
  EXPECT_EQ(narrowed(StoredType::F16, 65519.9), 65504);
  EXPECT_EQ(narrowed(StoredType::F16, 65520), kInfinity);
  EXPECT_EQ(narrowed(StoredType::F16, 0x1p-25), 0);
  EXPECT_EQ(narrowed(StoredType::F16, 0x1.8p-25), 0x1p-24);
  EXPECT_EQ(narrowed(StoredType::F16, 0x1.ffcp-15 + 0x1p-26), 0x1p-14);
  EXPECT_EQ(narrowed(StoredType::Bf16, 257), 256);
  EXPECT_EQ(narrowed(StoredType::Bf16, -259), -260);
  EXPECT_EQ(narrowed(StoredType::Bf16, 1e39), kInfinity);
  EXPECT_TRUE(std::isnan(narrowed(StoredType::F16, std::nan(""))));
  EXPECT_EQ(narrowed(StoredType::F32, 0.1), static_cast<double>(0.1F));
  EXPECT_EQ(narrowed(StoredType::F64, 0.1), 0.1);
}

TEST(safetensors, a_file_of_the_python_library_is_read_in_all_types_from_any_place) {
  const SafetensorsFile file{kTypes};
  ASSERT_EQ(file.entries().size(), 6U);
  for (const auto& [name, entry] : file.entries()) {
    std::vector<double> all(static_cast<std::size_t>(entry.elements()));
    file.read(entry, 0, 1, all);
    for (std::size_t i = 0; i < all.size(); ++i)
      EXPECT_EQ(all[i], golden_value(name, static_cast<std::int64_t>(i))) << name;
  }
  const SafetensorsEntry& alpha = file.entries().at("alpha");
  std::vector<double> every_third(5);
  file.read(alpha, 40, 3, every_third);
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(every_third[static_cast<std::size_t>(i)], golden_value("alpha", 40 + 3 * i));
}

TEST(safetensors, what_we_write_is_the_file_of_the_python_library_to_the_byte) {
  std::vector<SafetensorsEntry> entries;
  const SafetensorsFile golden{kTypes};
  for (const auto& [name, entry] : golden.entries())
    entries.push_back({.name = name, .type = entry.type, .shape = entry.shape});
  std::string written = safetensors_header(entries);
  const std::size_t header = written.size();
  for (const SafetensorsEntry& e : entries) {
    EXPECT_EQ(e.begin, std::ssize(written) - static_cast<std::int64_t>(header));
    std::vector<std::byte> bytes(static_cast<std::size_t>(e.bytes()));
    for (std::int64_t i = 0; i < e.elements(); ++i)
      store_element(e.type, golden_value(e.name, i), bytes.data() + i * row_of(e.type).bytes);
    written.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  EXPECT_EQ(written, bytes_of_file(kTypes));
}

std::string with_header(const std::string& json, std::size_t data_bytes) {
  const std::uint64_t length = json.size();
  std::string out(8, '\0');
  std::memcpy(out.data(), &length, 8);
  return out + json + std::string(data_bytes, 'x');
}

TEST(safetensors, a_damaged_file_is_an_input_error_that_says_where) {
  struct Row {
    std::string content, says;
  };
  const Row rows[] = {
      {"", "no header's length"},
      {std::string(8, '\xff'), "no header's length"},
      {with_header("[1]", 0), "no JSON object"},
      {with_header(R"({"a":{"dtype":"F32","shape":[2]}})", 8), "data_offsets"},
      {with_header(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", 8), "8 bytes"},
      {with_header(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})", 8), "the file's 8 bytes"},
      {with_header(R"({"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})", 8), "/a/shape"},
  };
  const TemporaryFolder folder;
  for (const Row& row : rows) {
    try {
      const SafetensorsFile opened{folder.file("damaged.safetensors", row.content)};
      ADD_FAILURE() << row.says;
    } catch (const presets::InputError& error) {
      EXPECT_NE(std::string{error.what()}.find(row.says), std::string::npos) << error.what();
    }
  }
}

TEST(safetensors, tensors_of_types_that_no_weight_has_are_left_out) {
  const TemporaryFolder folder;
  const SafetensorsFile opened{folder.file(
      "integers.safetensors",
      with_header(
          R"({"ids":{"dtype":"I64","shape":[1],"data_offsets":[0,8]},"w":{"dtype":"F16","shape":[1],"data_offsets":[8,10]}})",
          10))};
  EXPECT_EQ(opened.entries().size(), 1U);
  EXPECT_TRUE(opened.entries().contains("w"));
}

}  // namespace
}  // namespace hexaplan::tests
