#include <array>

#include "tests/validator/conformance/operations.h"

namespace hexaplan::tests {
namespace {

using costmodel::Pass;
using validator::Gemm;
using validator::IssuedFlops;
using validator::View;

constexpr IssuedFlops kIssue{"matrix", Pass::Forward};

/// Every transposition, new and added to; rows × cols results over an inner dimension that is neither.
void products(Bench& b, Size s) {
  const std::int64_t inner = s.rows + s.cols / 2;
  for (int which = 0; which < 8; ++which) {
    const bool ta = (which & 1) != 0, tb = (which & 2) != 0, accumulate = (which & 4) != 0;
    const View a = ta ? b.data(inner, s.rows) : b.data(s.rows, inner);
    const View right = tb ? b.data(s.cols, inner) : b.data(inner, s.cols);
    const View c = accumulate ? b.fp32(s.rows, s.cols) : b.new_data(s.rows, s.cols);
    b.device.gemm(
        kIssue, {.a = a, .b = right, .c = c, .transpose_a = ta, .transpose_b = tb, .accumulate = accumulate});
    b.result("product " + std::to_string(which), c);
  }
}

/// As the router needs them: fp32 logits of narrow tokens, and back.
void mixed(Bench& b, Size s) {
  const View tokens = b.data(s.rows, 24), matrix = b.data(s.cols, 24), logits = b.new_fp32(s.rows, s.cols);
  b.device.gemm(kIssue, {.a = tokens, .b = matrix, .c = logits, .transpose_b = true});
  b.result("logits", logits);
  const View d_logits = b.fp32(s.rows, s.cols), d_tokens = b.new_data(s.rows, 24),
             d_matrix = b.fp32(s.cols, 24);
  b.device.gemm(kIssue, {.a = d_logits, .b = matrix, .c = d_tokens});
  b.device.gemm(kIssue, {.a = d_logits, .b = tokens, .c = d_matrix, .transpose_a = true, .accumulate = true});
  b.result("gradient of the tokens", d_tokens);
  b.result("gradient of the matrix", d_matrix);
}

/// Groups of 0, a few, many and 0 rows.
void grouped(Bench& b, Size s) {
  const std::array<std::int64_t, 5> offsets{0, 0, 3, s.rows + 3, s.rows + 3};
  const std::int64_t groups = 4, tokens = offsets.back(), out = s.cols, in = s.cols + 5;
  const View x = b.data(tokens, in), weights = b.data(groups * out, in), y = b.new_data(tokens, out);
  b.device.grouped_gemm(kIssue, {.a = x, .b = weights, .c = y, .transpose_b = true}, offsets);
  b.result("forward", y);
  const View dy = b.data(tokens, out), dx = b.new_data(tokens, in);
  b.device.grouped_gemm(kIssue, {.a = dy, .b = weights, .c = dx}, offsets);
  b.result("backward data", dx);
  const View dw = b.fp32(groups * out, in), fresh = b.new_fp32(groups * out, in);
  b.device.grouped_gemm(kIssue, {.a = dy, .b = x, .c = dw, .transpose_a = true, .accumulate = true}, offsets);
  b.device.grouped_gemm(kIssue, {.a = dy, .b = x, .c = fresh, .transpose_a = true}, offsets);
  b.result("backward weight, added", dw);
  b.result("backward weight", fresh);
}

}  // namespace

std::vector<Operation> matrix_operations() {
  return {{"gemm", {{1, 1}, {3, 5}, {8, 16}, {65, 24}, {33, 130}}, products},
          {"gemm_mixed", {{1, 4}, {7, 8}, {70, 5}}, mixed},
          {"grouped_gemm", {{1, 3}, {8, 16}, {70, 24}}, grouped}};
}

}  // namespace hexaplan::tests
