#pragma once
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "costmodel/step/estimate.h"
#include "planner/problem/problem.h"
#include "planner/search/ranking.h"

namespace hexaplan::planner {

/// One complete candidate, as plain nested loops find it.
struct Leaf {
  std::size_t hardware = 0;
  costmodel::Scenario scenario;
};

/// Every candidate of the space, priced by plain estimate_step: what a search must agree with.
struct Exhaustive {
  std::map<std::string, std::int64_t> rejected;  // by rule
  std::int64_t enumerated = 0;
  std::int64_t too_large = 0;  // break the memory constraint
  std::int64_t too_much_for_the_host = 0;
  std::int64_t too_risky = 0;  // fit, but are too likely to run out of memory
  struct Priced {
    Leaf leaf;
    costmodel::Seconds step;
    costmodel::Bytes peak;
    bool fits_on_host = true;
    double risk = 0;  // estimate_step's chance of running out of memory
  };
  std::vector<Priced> priced;  // that the rules accept
};
[[nodiscard]] Exhaustive enumerate_all(const SearchProblem& problem);

/// A small space around a random scenario: a few thousand candidates at most.
[[nodiscard]] SearchProblem random_problem(std::uint64_t seed);

}  // namespace hexaplan::planner
