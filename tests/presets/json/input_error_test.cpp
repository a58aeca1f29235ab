#include "presets/json/input_error.h"

#include <gtest/gtest.h>

namespace hexaplan::presets {
namespace {

TEST(input_error, says_where_what_expected_and_what_to_do_in_one_line) {
  const InputError error{{.file = "run.json",
                          .field = "/layout/tp",
                          .value = "\"eight\"",
                          .expected = "a whole number >= 1",
                          .hint = "write 8"}};
  EXPECT_STREQ(error.what(), "run.json: /layout/tp: got \"eight\", expected a whole number >= 1; write 8");
}

TEST(input_error, leaves_out_the_parts_it_does_not_have) {
  EXPECT_STREQ(InputError({.field = "--seq", .value = "0", .expected = "a length"}).what(),
               "--seq: got 0, expected a length");
  EXPECT_STREQ(InputError({.file = "a.json", .hint = "cannot be read"}).what(), "a.json: cannot be read");
  EXPECT_STREQ(InputError({.file = "a.json", .expected = "an object"}).what(), "a.json: expected an object");
}

TEST(input_error, stays_one_printable_line_whatever_the_input_holds) {
  EXPECT_STREQ(InputError({.file = "a\nb", .value = in_quotes("\x1b[31m\xff\t")}).what(),
               "a\\nb: got \"\\x1B[31m\\xFF\\t\"");
  EXPECT_EQ(in_quotes(std::string(100, 'x')), "\"" + std::string(60, 'x') + "…\"");
  EXPECT_EQ(in_quotes("µs – ok"), "\"µs – ok\"");
  EXPECT_EQ(in_quotes("\xe2\x82"), "\"\\xE2\\x82\"");  // cut in the middle of a character
}

}  // namespace
}  // namespace hexaplan::presets
