// Routing, and rows that travel between tokens and experts.
#include "tests/validator/conformance/operations.h"

namespace hexaplan::tests {
namespace {

using validator::RouterForm;
using validator::View;

/// cols: experts, of which each token takes a third.
void routes(Bench& b, Size s, const RouterForm& form, bool corrected) {
  const std::int64_t k = 1 + s.cols / 3;
  std::vector<std::int32_t> choices;
  for (std::int64_t t = 0; t < s.rows; ++t) {
    for (std::int64_t i = 0; i < k; ++i) choices.push_back(static_cast<std::int32_t>((t + 2 * i) % s.cols));
  }
  const View logits = b.fp32(s.rows, s.cols), weights = b.new_fp32(s.rows, k);
  const View correction = corrected ? b.fp32(1, s.cols, 0.5) : View{};
  const View chosen = form.given ? b.ids(s.rows, k, choices) : b.new_ids(s.rows, k);
  b.device.route(form, logits, correction, logits, chosen, weights);
  b.result("scores", logits);
  b.result("chosen", chosen);
  b.result("weights", weights);
  const View d_weights = b.fp32(s.rows, k), d_mean = b.fp32(1, s.cols);
  const View with_loss = b.new_fp32(s.rows, s.cols), without = b.new_fp32(s.rows, s.cols);
  b.device.route_backward(form, logits, chosen, weights, d_weights, d_mean, with_loss);
  b.device.route_backward(form, logits, chosen, weights, d_weights, {}, without);
  b.result("gradient", with_loss);
  b.result("gradient without a balance loss", without);
}

void gates(Bench& b, Size s) {
  std::vector<double> numbers;
  for (std::int64_t i = 0; i < s.rows; ++i) numbers.push_back(0.5 * static_cast<double>(i % 9) - 2);
  const View gate = b.column(numbers), x = b.data(s.rows, s.cols), out = b.new_data(s.rows, s.cols);
  b.device.gate_rows(gate, x, out);
  b.result("gated", out);
  const View d = b.data(s.rows, s.cols), d_gate = b.new_column(s.rows);
  b.device.gate_rows_backward(d, gate, x, d, d_gate);
  b.result("gradient", d);
  b.result("gradient of the gate", d_gate);
}

void scaled_columns(Bench& b, Size s) {
  const View x = b.data(s.rows, s.cols), factors = b.data(1, s.cols), d = b.data(s.rows, s.cols),
             sums = b.fp32(1, s.cols);
  b.device.column_dots(d, x, sums);
  b.device.scale_columns(x, factors);
  b.result("scaled", x);
  b.result("gradient of the scales", sums);
}

void repetitions(Bench& b, Size s) {
  constexpr std::int64_t kTimes = 3;
  const View x = b.data(s.rows, s.cols), all = b.new_data(kTimes * s.rows, s.cols);
  b.device.repeat_rows(x, all);
  b.result("repeated", all);
  const View d = b.data(kTimes * s.rows, s.cols), data = b.data(s.rows, s.cols),
             fp32 = b.fp32(s.rows, s.cols);
  b.device.add_repeated_rows(d, data);
  b.device.add_repeated_rows(d, fp32);
  b.result("added", data);
  b.result("added in fp32", fp32);
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
  using costmodel::RouterScore;
  const std::vector<Size> experts{{0, 4}, {1, 1}, {5, 4}, {20, 9}, {9, 64}, {3, 130}};
  const std::vector<Size> in_groups{{0, 8}, {5, 8}, {20, 24}, {9, 64}, {3, 160}};
  const std::vector<Size> any{{0, 8}, {1, 1}, {7, 13}, {70, 40}, {9, 2056}};
  std::vector<Operation> all{{"rows", {{0, 8}, {1, 1}, {7, 13}, {70, 40}, {1300, 16}, {9, 2056}}, rows},
                             {"gate_rows", any, gates},
                             {"scale_columns", any, scaled_columns},
                             {"repeat_rows", any, repetitions}};
  struct Case {
    std::string name;
    RouterForm form;
    bool corrected = false;
  };
  const auto sigmoid = RouterScore::Sigmoid;
  const Case cases[] = {
      {"", {}},
      {"_renormalised", {.renormalise = true}},
      {"_given", {.given = true}},
      {"_given_renormalised", {.given = true, .renormalise = true}},
      {"_sigmoid", {.score = sigmoid, .renormalise = true, .epsilon = 1e-20, .factor = 2.5}, true},
      {"_sigmoid_given", {.score = sigmoid, .given = true, .renormalise = true, .factor = 2.5}, true},
      {"_best_of_groups", {.factor = 16, .groups = 8, .top_groups = 3}},
      {"_two_best_of_groups",
       {.score = sigmoid,
        .renormalise = true,
        .factor = 2.5,
        .groups = 4,
        .top_groups = 2,
        .best_of_group = 2},
       true},
  };
  for (const Case& c : cases) {
    all.push_back({"route" + c.name, c.form.groups > 1 ? in_groups : experts,
                   [c](Bench& b, Size s) { routes(b, s, c.form, c.corrected); }});
  }
  return all;
}

}  // namespace hexaplan::tests
