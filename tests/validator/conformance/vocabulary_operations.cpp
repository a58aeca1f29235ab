// Embedding and cross-entropy, of a rank that has some rows of the vocabulary.
#include "tests/validator/conformance/operations.h"

namespace hexaplan::tests {
namespace {

using validator::View;

constexpr std::int64_t kFirst = 100;

/// Ids of which some are other ranks' or nobody's, and one stands again and again.
View ids_around(Bench& b, std::int64_t count, std::int64_t rows) {
  std::vector<std::int32_t> ids;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int32_t around = b.pick(rows + 40) + static_cast<std::int32_t>(kFirst) - 20;
    ids.push_back(i % 5 == 2 ? static_cast<std::int32_t>(kFirst) : i % 7 == 4 ? -1 : around);
  }
  return b.ids(ids);
}

void embeddings(Bench& b, Size s) {
  constexpr std::int64_t kRows = 50;
  const View ids = ids_around(b, s.rows, kRows), table = b.data(kRows, s.cols),
             out = b.new_data(s.rows, s.cols);
  b.device.embedding_lookup(ids, table, kFirst, out);
  b.result("rows", out);
  const View d_out = b.data(s.rows, s.cols), d_table = b.fp32(kRows, s.cols), narrow = b.data(kRows, s.cols);
  b.device.embedding_backward(ids, d_out, kFirst, d_table);
  b.device.embedding_backward(ids, d_out, kFirst, narrow);
  b.result("gradient", d_table);
  b.result("narrow gradient", narrow);
}

/// The last `padding` columns are no words.
void cross_entropy(Bench& b, Size s, std::int64_t padding) {
  const std::int64_t valid = s.cols - padding;
  const View logits = b.data(s.rows, s.cols, 4), targets = ids_around(b, s.rows, s.cols);
  const View maxima = b.new_column(s.rows), sums = b.new_fp32(s.rows, 2), loss = b.column({1.5});
  b.device.row_max(logits, valid, maxima);
  b.result("maxima", maxima);
  if (valid == 0) b.device.fill(maxima, 1);  // another rank's
  b.device.cross_entropy_sums(logits, valid, maxima, targets, kFirst, sums);
  b.result("sums", sums);
  if (valid == 0) b.device.fill(sums, 2);
  const View gradient = b.new_data(s.rows, s.cols);
  b.device.cross_entropy_gradient(logits, valid, maxima, sums, targets, kFirst, 0.125, gradient, loss);
  b.device.cross_entropy_gradient(logits, valid, maxima, sums, targets, kFirst, 0.125, logits, loss);
  b.result("gradient", gradient);
  b.result("gradient in place", logits);
  b.result("loss", loss);
}

}  // namespace

std::vector<Operation> vocabulary_operations() {
  return {{"embedding", {{0, 8}, {1, 1}, {7, 13}, {70, 40}, {1100, 16}, {2500, 8}}, embeddings},
          {"cross_entropy",
           {{0, 4}, {1, 4}, {7, 13}, {20, 272}, {3, 5003}},
           [](Bench& b, Size s) { cross_entropy(b, s, 0); }},
          {"cross_entropy_padded",
           {{1, 4}, {7, 13}, {20, 272}},
           [](Bench& b, Size s) { cross_entropy(b, s, 3); }},
          {"cross_entropy_of_padding", {{7, 16}}, [](Bench& b, Size s) { cross_entropy(b, s, s.cols); }}};
}

}  // namespace hexaplan::tests
