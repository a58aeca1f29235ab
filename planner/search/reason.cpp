#include "planner/search/reason.h"

#include <array>
#include <string_view>

namespace hexaplan::planner {

std::string reason_for_nothing(const Ranking& ranking) {
  if (ranking.stopped) return "the search was stopped";
  // The limit that was reached last: those before it are kept. They are checked in this order.
  constexpr std::array kNamesOfLimits{
      "max-risk", "min-mfu", "max-cost", "max-hours", "fits-in-host-memory", "fits-in-memory"};
  for (const std::string_view limit : kNamesOfLimits) {
    for (const RejectionCount& row : ranking.rejections) {
      if (row.rule == limit) return row.rule + ": " + row.reason;
    }
  }
  if (ranking.rejections.empty()) return "the space is empty";
  return ranking.rejections.front().rule + ": " + ranking.rejections.front().reason;
}

}  // namespace hexaplan::planner
