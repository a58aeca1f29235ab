#include "costmodel/units/parse_number.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>

namespace hexaplan::costmodel {
namespace {

TEST(parse_number, takes_the_whole_text_or_nothing) {
  struct Case {
    std::string_view text;
    std::optional<int> whole;
    std::optional<double> real;
  };
  const Case cases[] = {
      {"8", 8, 8.0},
      {"-3", -3, -3.0},
      {"007", 7, 7.0},
      {"2.50", std::nullopt, 2.5},
      {"1e3", std::nullopt, 1000.0},
      {".5", std::nullopt, 0.5},
      {"2147483648", std::nullopt, 2147483648.0},
      {"1e400", std::nullopt, std::nullopt},
      {"", std::nullopt, std::nullopt},
      {"+8", std::nullopt, std::nullopt},
      {" 8", std::nullopt, std::nullopt},
      {"8 ", std::nullopt, std::nullopt},
      {"8x", std::nullopt, std::nullopt},
      {"0x10", std::nullopt, std::nullopt},
      {"1,5", std::nullopt, std::nullopt},
      {"eight", std::nullopt, std::nullopt},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(parse_number<int>(c.text), c.whole) << c.text;
    EXPECT_EQ(parse_number<double>(c.text), c.real) << c.text;
  }
  EXPECT_FALSE(parse_number<int>({}).has_value());
  EXPECT_FALSE(parse_number<double>({}).has_value());
}

TEST(parse_number, holds_to_the_type) {
  EXPECT_EQ(parse_number<std::int64_t>("2147483648"), 2147483648);
  EXPECT_FALSE(parse_number<std::uint32_t>("-1").has_value());
  EXPECT_FALSE(parse_number<std::uint32_t>("-0").has_value());
  EXPECT_TRUE(std::isinf(parse_number<double>("inf").value()));
  EXPECT_TRUE(std::isnan(parse_number<double>("nan").value()));
}

TEST(parse_number, leaves_what_follows_a_number_and_all_where_there_is_none) {
  struct Case {
    std::string_view text;
    std::optional<int> number;
    std::string_view rest;
  };
  const Case cases[] = {{"8(x2)", 8, "(x2)"},
                        {"8", 8, ""},
                        {"-4 5", -4, " 5"},
                        {"(8)", std::nullopt, "(8)"},
                        {"2147483648 B", std::nullopt, "2147483648 B"},
                        {"", std::nullopt, ""}};
  for (const Case& c : cases) {
    std::string_view rest = c.text;
    EXPECT_EQ(take_number<int>(rest), c.number) << c.text;
    EXPECT_EQ(rest, c.rest) << c.text;
  }
}

}  // namespace
}  // namespace hexaplan::costmodel
