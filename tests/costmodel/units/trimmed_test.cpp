#include "costmodel/units/trimmed.h"

#include <gtest/gtest.h>

namespace hexaplan::costmodel {
namespace {

TEST(trimmed, takes_blanks_off_both_ends_and_none_from_within) {
  EXPECT_EQ(trimmed(" \t80 GiB\r\n"), "80 GiB");
  EXPECT_EQ(trimmed("8"), "8");
  EXPECT_EQ(trimmed(" \t "), "");
  EXPECT_EQ(trimmed(""), "");
}

}  // namespace
}  // namespace hexaplan::costmodel
