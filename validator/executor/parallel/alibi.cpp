#include "validator/executor/parallel/alibi.h"

#include <bit>
#include <cmath>

namespace hexaplan::validator {

std::vector<double> alibi_slopes(std::int64_t heads) {
  const auto slope = [](double n, double i) { return std::exp2(-8 * i / n); };
  const auto below = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(heads)));
  std::vector<double> out;
  for (std::int64_t i = 1; i <= below; ++i)
    out.push_back(slope(static_cast<double>(below), static_cast<double>(i)));
  for (std::int64_t i = 1; static_cast<std::int64_t>(out.size()) < heads; i += 2)
    out.push_back(slope(2 * static_cast<double>(below), static_cast<double>(i)));
  return out;
}

}  // namespace hexaplan::validator
