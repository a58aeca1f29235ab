// Numbers in 4 bits by bitsandbytes (tests/golden/nf4_oracle.py), code by code and bit by bit.
#include "validator/executor/device/nf4.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "presets/json/read_json.h"
#include "tests/validator/proofs/hf_steps.h"

namespace hexaplan::tests {
namespace {

using presets::JsonValue;
using validator::Nf4Numbers;

std::vector<std::uint8_t> bytes_in(const JsonValue& text) {
  const std::string& digits = *text.get_if<std::string>();
  std::vector<std::uint8_t> out;
  for (std::size_t i = 0; i < digits.size(); i += 2)
    out.push_back(static_cast<std::uint8_t>(std::stoi(digits.substr(i, 2), nullptr, 16)));
  return out;
}
std::vector<float> floats_in(const JsonValue& text) {
  const std::vector<std::uint8_t> bytes = bytes_in(text);
  std::vector<float> out;
  for (std::size_t i = 0; i < bytes.size(); i += 4) {
    std::uint32_t bits = 0;
    for (std::size_t k = 4; k-- > 0;) bits = bits << 8U | bytes[i + k];
    out.push_back(std::bit_cast<float>(bits));
  }
  return out;
}

class Nf4Golden {
 public:
  explicit Nf4Golden(const std::string& name)
      : file_{presets::read_json_file(std::string{HEXAPLAN_SOURCE_DIR} + "/tests/golden/quantised/nf4.json")
                  .root},
        case_{file_.find("cases")->find(name)} {
    const auto seed = static_cast<std::uint64_t>(number_in(*file_.find("seed")));
    const double scale = number((*this)["scale"]), zeros = number((*this)["zeros"]);
    numbers_.resize(static_cast<std::size_t>(number((*this)["count"])));
    for (std::size_t i = 0; i < numbers_.size(); ++i) {
      const double u = uniform(seed, stream_of_name(name), i);
      numbers_[i] = static_cast<double>(i) < zeros ? 0 : static_cast<float>(u * u * u * scale);
    }
  }
  [[nodiscard]] const JsonValue& operator[](std::string_view key) const { return *case_->find(key); }
  [[nodiscard]] const std::vector<double>& numbers() const { return numbers_; }

 private:
  static double number(const JsonValue& value) { return number_in(value); }
  JsonValue file_;
  const JsonValue* case_;
  std::vector<double> numbers_;
};

void expect_same_bits(const std::vector<double>& computed, const std::vector<float>& golden) {
  ASSERT_EQ(computed.size(), golden.size());
  for (std::size_t i = 0; i < golden.size(); ++i)
    ASSERT_EQ(std::bit_cast<std::uint32_t>(static_cast<float>(computed[i])),
              std::bit_cast<std::uint32_t>(golden[i]))
        << i << ": " << computed[i] << ", not " << golden[i];
}

class nf4_of_bitsandbytes : public testing::TestWithParam<std::string> {};

TEST_P(nf4_of_bitsandbytes, has_the_same_codes_scales_and_numbers) {
  const Nf4Golden golden{GetParam()};
  const Nf4Numbers mine = validator::nf4_quantised(golden.numbers());
  EXPECT_EQ(mine.codes, bytes_in(golden["codes"]));
  EXPECT_EQ(mine.scales, floats_in(golden["scales"]));
  std::vector<double> numbers = nf4_dequantised(mine, std::ssize(golden.numbers()));
  numbers.resize(std::min<std::size_t>(numbers.size(), 512));
  expect_same_bits(numbers, floats_in(golden["numbers"]));
}

/// The order in which the mean adds scales up is not defined, and is taken from there.
TEST_P(nf4_of_bitsandbytes, has_the_same_scales_of_scales) {
  const Nf4Golden golden{GetParam()};
  Nf4Numbers mine = validator::nf4_quantised(golden.numbers());
  const float mean = floats_in(golden["mean"]).at(0);
  EXPECT_NEAR(validator::nf4_mean(mine.scales), mean, 2e-7 * mean);
  nf4_quantise_scales(mean, mine);
  EXPECT_EQ(mine.scale_codes, bytes_in(golden["scale_codes"]));
  EXPECT_EQ(mine.scales_of_scales, floats_in(golden["scales_of_scales"]));
  std::vector<double> numbers = nf4_dequantised(mine, std::ssize(golden.numbers()));
  if (numbers.size() > 512) numbers.erase(numbers.begin(), numbers.end() - 512);
  expect_same_bits(numbers, floats_in(golden["numbers_of_scale_codes"]));
}

INSTANTIATE_TEST_SUITE_P(numbers, nf4_of_bitsandbytes,
                         testing::Values("one_block", "weights", "zeros", "remainder", "large", "small",
                                         "scales_of_scales"),
                         [](const testing::TestParamInfo<std::string>& test) { return test.param; });

}  // namespace
}  // namespace hexaplan::tests
