// Routing, and rows that travel between tokens and experts.
#include "tests/validator/conformance/operations.h"

namespace hexaplan::tests {
namespace {

using validator::View;

/// cols: experts, of which each token takes a third.
void routes(Bench& b, Size s, bool given, bool renormalise) {
  const std::int64_t k = 1 + s.cols / 3;
  std::vector<std::int32_t> choices;
  for (std::int64_t t = 0; t < s.rows; ++t) {
    for (std::int64_t i = 0; i < k; ++i) choices.push_back(static_cast<std::int32_t>((t + 2 * i) % s.cols));
  }
  const View logits = b.fp32(s.rows, s.cols), weights = b.new_fp32(s.rows, k);
  const View chosen = given ? b.ids(s.rows, k, choices) : b.new_ids(s.rows, k);
  b.device.route(logits, given, renormalise, logits, chosen, weights);
  b.result("probabilities", logits);
  b.result("chosen", chosen);
  b.result("weights", weights);
  const View d_weights = b.fp32(s.rows, k), d_mean = b.fp32(1, s.cols);
  const View with_loss = b.new_fp32(s.rows, s.cols), without = b.new_fp32(s.rows, s.cols);
  b.device.route_backward(logits, chosen, weights, renormalise, d_weights, d_mean, with_loss);
  b.device.route_backward(logits, chosen, weights, renormalise, d_weights, {}, without);
  b.result("gradient", with_loss);
  b.result("gradient without a balance loss", without);
}

void rows(Bench& b, Size s) {
  const std::int64_t targets = 1 + s.rows / 3;
  std::vector<std::int32_t> picked;
  std::vector<double> numbers;
  for (std::int64_t i = 0; i < s.rows; ++i) {
    picked.push_back(i % 7 == 3 ? -1 : b.pick(targets));
    numbers.push_back(0.25 * static_cast<double>(i % 9));
  }
  const View list = b.ids(picked), factors = b.column(numbers);
  const View few = b.data(targets, s.cols), many = b.new_data(s.rows, s.cols);
  b.device.gather_rows(few, list, many);
  b.result("gathered", many);
  const View x = b.data(s.rows, s.cols), weighted = b.data(targets, s.cols), plain = b.fp32(targets, s.cols);
  b.device.scatter_rows(x, list, factors, weighted);
  b.device.scatter_rows(x, list, {}, plain);
  b.result("scattered by factors", weighted);
  b.result("scattered", plain);
  const View other = b.data(s.rows, s.cols), dots = b.new_column(s.rows), sums = b.fp32(1, s.cols);
  b.device.row_dots(x, other, dots);
  b.device.column_sums(x, sums);
  b.result("dots", dots);
  b.result("sums", sums);
}

}  // namespace

std::vector<Operation> expert_operations() {
  const std::vector<Size> experts{{0, 4}, {1, 1}, {5, 4}, {20, 9}, {9, 64}, {3, 130}};
  std::vector<Operation> all{{"rows", {{0, 8}, {1, 1}, {7, 13}, {70, 40}, {1300, 16}, {9, 2056}}, rows}};
  for (const bool given : {false, true}) {
    for (const bool renormalise : {false, true}) {
      all.push_back({std::string{"route"} + (given ? "_given" : "") + (renormalise ? "_renormalised" : ""),
                     experts, [given, renormalise](Bench& b, Size s) { routes(b, s, given, renormalise); }});
    }
  }
  return all;
}

}  // namespace hexaplan::tests
