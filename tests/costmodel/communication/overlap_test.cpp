#include "costmodel/units/overlap.h"

#include <gtest/gtest.h>

#include <string>

namespace hexaplan::costmodel {
namespace {

struct OverlapCase {
  std::string name;
  double compute, communication, share, slowdown, total;
};
TEST(overlap, table) {
  const OverlapCase cases[] = {
      {"nothing may hide", 10, 4, 0.0, 1.2, 14},
      {"all hides for free without contention", 10, 4, 1.0, 1.0, 10},
      {"contention stretches what runs beside it", 10, 6, 1.0, 1.2, 11},
      {"half may hide", 10, 6, 0.5, 1.2, 10 + 0.5 + 3},
      {"communication outlasts compute", 10, 40, 1.0, 1.2, 40},
      {"no compute", 0, 5, 1.0, 1.2, 5},
  };
  for (const OverlapCase& row : cases) {
    const Overlap result = overlap(Seconds{row.compute}, Seconds{row.communication}, row.share, row.slowdown);
    EXPECT_NEAR(result.total.value(), row.total, 1e-12) << row.name;
    EXPECT_NEAR(result.exposed.value(), row.total - row.compute, 1e-12) << row.name;
  }
}

}  // namespace
}  // namespace hexaplan::costmodel
