#pragma once
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <span>
#include <string>
#include <vector>

#include "tests/validator/conformance/bench.h"

namespace hexaplan::tests {

/// What a size of an operation means is the operation's: mostly tokens and columns.
struct Size {
  std::int64_t rows = 1, cols = 1;
};

/// One operation of `Device` in some way of calling it, at several sizes.
struct Operation {
  std::string name;
  std::vector<Size> sizes;
  std::function<void(Bench&, Size)> run;
};
/// What GoogleTest prints of it.
void PrintTo(const Operation& operation, std::ostream* out);

// All of them.
[[nodiscard]] std::vector<Operation> memory_operations();
[[nodiscard]] std::vector<Operation> matrix_operations();
[[nodiscard]] std::vector<Operation> layer_operations();
[[nodiscard]] std::vector<Operation> attention_operations();
[[nodiscard]] std::vector<Operation> vocabulary_operations();
[[nodiscard]] std::vector<Operation> expert_operations();
[[nodiscard]] std::vector<Operation> all_operations();

/// What `operation` wrote on `device`.
[[nodiscard]] std::vector<Result> results_of(const Operation& operation, validator::Device& device, Size size,
                                             Placement placement);
/// Expects ‖Δ‖/‖float64's‖ ≤ bound of everything that `operation` writes on `device`, at all sizes and
/// `placements`; integers equal.
void expect_like_float64(const Operation& operation, validator::Device& device, double bound,
                         std::span<const Placement> placements = kPlacements);

}  // namespace hexaplan::tests
