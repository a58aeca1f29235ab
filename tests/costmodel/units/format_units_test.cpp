#include "costmodel/units/format_units.h"

#include <gtest/gtest.h>

#include <limits>

#include "costmodel/units/parse_units.h"

namespace hexaplan::costmodel {
namespace {

using namespace literals;

struct Text {
  std::string got;
  std::string expected;
};
void expect_all(const std::vector<Text>& rows) {
  for (const Text& row : rows) {
    EXPECT_EQ(row.got, row.expected);
  }
}

TEST(format_units, says_whether_a_size_is_binary_or_decimal) {
  expect_all({{format_binary(Bytes{0}), "0 B"},
              {format_binary(512_B), "512 B"},
              {format_binary(1536_B), "1.5 KiB"},
              {format_binary(80_GiB), "80 GiB"},
              {format_binary(Bytes{79.18 * 1073741824}), "79.2 GiB"},
              {format_binary(1234_GiB), "1.21 TiB"},
              {format_binary(1000_MiB), "1000 MiB"},
              {format_binary(Bytes{1023.7 * 1048576}), "1 GiB"},
              {format_binary(Bytes{-1.5 * 1073741824}), "-1.5 GiB"},
              {format_decimal(80_GiB), "85.9 GB"},
              {format_decimal(Bytes{85e9}), "85 GB"},
              {format_decimal(Bytes{999.9e6}), "1 GB"}});
}

TEST(format_units, writes_rates_and_work) {
  expect_all({{format_rate(BytesPerSecond{3.352e12}), "3.35 TB/s"},
              {format_rate(450_GBps), "450 GB/s"},
              {format_rate(989_TFLOPS), "989 TFLOP/s"},
              {format_rate(FlopsPerSecond{2.25e15}), "2.25 PFLOP/s"},
              {format_flops(Flops{3.8e25}), "38 YFLOP"}});
}

TEST(format_units, writes_times_a_person_can_picture) {
  expect_all({{format_duration(Seconds{0}), "0 s"},
              {format_duration(Seconds{850e-9}), "850 ns"},
              {format_duration(Seconds{12.34e-6}), "12.3 us"},
              {format_duration(Seconds{4.56e-3}), "4.56 ms"},
              {format_duration(Seconds{1.234}), "1.23 s"},
              {format_duration(Seconds{59.9}), "59.9 s"},
              {format_duration(Seconds{59.98}), "1 min"},
              {format_duration(Seconds{125}), "2 min 5 s"},
              {format_duration(Seconds{3599.8}), "1 h"},
              {format_duration(Seconds{12000}), "3 h 20 min"},
              {format_duration(Seconds{86399}), "1 d"},
              {format_duration(Seconds{12 * 86400.0 + 4 * 3600}), "12 d 4 h"},
              {format_duration(Seconds{1e30}), "1.16e+25 d"},
              {format_duration(Seconds{std::numeric_limits<double>::infinity()}), "inf s"}});
}

TEST(format_units, groups_and_shortens_counts) {
  expect_all({{format_count(0), "0"},
              {format_count(999), "999"},
              {format_count(1000), "1,000"},
              {format_count(16384), "16,384"},
              {format_count(-123456), "-123,456"},
              {format_count(std::numeric_limits<std::int64_t>::min()), "-9,223,372,036,854,775,808"},
              {format_short(8192), "8192"},
              {format_short(12345), "12.3 k"},
              {format_short(8.03e9), "8.03 B"},
              {format_short(405.8e9), "406 B"},
              {format_short(15e12), "15 T"},
              {format_percent(0.4123), "41.2 %"},
              {format_signed_percent(0.4123), "+41.2 %"},
              {format_signed_percent(-0.004), "-0.4 %"},
              {format_signed_percent(0.0004), "0.0 %"},
              {format_signed_percent(-0.0004), "0.0 %"}});
}

TEST(format_units, is_read_back_within_rounding) {
  for (double bytes = 1; bytes < 1e15; bytes *= 1.7) {
    EXPECT_NEAR(parse_bytes(format_binary(Bytes{bytes}))->value() / bytes, 1.0, 0.006);
    EXPECT_NEAR(parse_bytes(format_decimal(Bytes{bytes}))->value() / bytes, 1.0, 0.006);
  }
}

}  // namespace
}  // namespace hexaplan::costmodel
