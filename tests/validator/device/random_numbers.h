#pragma once
#include <cstddef>
#include <random>
#include <vector>

namespace hexaplan::validator {

/// `count` normally distributed numbers, the same for the same seed.
inline std::vector<double> random_numbers(std::size_t count, unsigned seed) {
  std::mt19937 bits{seed};
  std::normal_distribution<double> normal;
  std::vector<double> numbers(count);
  for (double& x : numbers) x = normal(bits);
  return numbers;
}

}  // namespace hexaplan::validator
