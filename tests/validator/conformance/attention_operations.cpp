#include <cmath>
#include <limits>

#include "tests/validator/conformance/operations.h"

namespace hexaplan::tests {
namespace {

using costmodel::Pass;
using validator::AttentionBlock;
using validator::View;

constexpr double kNothing = -std::numeric_limits<double>::infinity();

struct Block {
  std::string name;
  AttentionBlock block;
  bool slopes = false, sinks = false, query_sum = false;
};
const std::vector<Block>& blocks() {
  static const std::vector<Block> kBlocks{
      {"causal", {.seq_q = 37, .seq_kv = 37, .head_dim = 8, .v_head_dim = 8}},
      {"overwriting",
       {.batch = 2,
        .heads = 4,
        .kv_heads = 2,
        .seq_q = 21,
        .seq_kv = 21,
        .head_dim = 16,
        .v_head_dim = 16,
        .overwrites = true}},
      {"overwriting_by_a_sum_apart",
       {.batch = 2,
        .heads = 4,
        .kv_heads = 2,
        .seq_q = 21,
        .seq_kv = 21,
        .head_dim = 16,
        .v_head_dim = 16,
        .overwrites = true},
       false,
       false,
       true},
      {"one_query", {.seq_q = 1, .seq_kv = 5, .head_dim = 4, .v_head_dim = 4}},
      {"grouped_queries",
       {.batch = 2, .heads = 6, .kv_heads = 2, .seq_q = 21, .seq_kv = 21, .head_dim = 16, .v_head_dim = 16}},
      {"several_tiles", {.heads = 2, .seq_q = 150, .seq_kv = 150, .head_dim = 24, .v_head_dim = 24}},
      {"not_causal",
       {.batch = 2, .heads = 2, .seq_q = 30, .seq_kv = 75, .head_dim = 10, .v_head_dim = 6, .causal = false}},
      {"fewer_queries", {.seq_q = 20, .seq_kv = 70, .head_dim = 8, .v_head_dim = 8}},
      {"queries_without_keys", {.seq_q = 80, .seq_kv = 11, .head_dim = 8, .v_head_dim = 8}},
      {"window",
       {.heads = 2, .kv_heads = 2, .seq_q = 140, .seq_kv = 140, .head_dim = 8, .v_head_dim = 8, .window = 9}},
      {"window_and_earlier_keys", {.seq_q = 70, .seq_kv = 100, .head_dim = 8, .v_head_dim = 8, .window = 66}},
      {"latent", {.heads = 2, .kv_heads = 2, .seq_q = 9, .seq_kv = 9, .head_dim = 192, .v_head_dim = 128}},
      {"wide_heads", {.heads = 2, .seq_q = 70, .seq_kv = 70, .head_dim = 256, .v_head_dim = 256}},
      {"head_of_128", {.heads = 2, .seq_q = 66, .seq_kv = 66, .head_dim = 128, .v_head_dim = 128}},
      {"soft_capped",
       {.heads = 2, .seq_q = 40, .seq_kv = 40, .head_dim = 8, .v_head_dim = 8, .softcap = 1.5}},
      {"soft_capped_tiles", {.seq_q = 70, .seq_kv = 70, .head_dim = 8, .v_head_dim = 8, .softcap = 0.7}},
      {"with_slopes", {.heads = 3, .seq_q = 70, .seq_kv = 75, .head_dim = 8, .v_head_dim = 8}, true},
      {"with_slopes_of_earlier_keys",
       {.heads = 2,
        .seq_q = 20,
        .seq_kv = 30,
        .head_dim = 8,
        .v_head_dim = 8,
        .causal = false,
        .distance = 12},
       true},
      {"with_sinks",
       {.heads = 4, .kv_heads = 2, .seq_q = 70, .seq_kv = 70, .head_dim = 8, .v_head_dim = 8},
       false,
       true},
      {"sinks_without_keys",
       {.heads = 2, .seq_q = 80, .seq_kv = 11, .head_dim = 8, .v_head_dim = 8},
       false,
       true},
      {"with_dropout",
       {.batch = 2,
        .heads = 4,
        .kv_heads = 2,
        .seq_q = 70,
        .seq_kv = 70,
        .head_dim = 8,
        .v_head_dim = 8,
        .dropout = {.key = 5, .dropped = 1U << 30, .factor = 4.0 / 3, .place = 2}}},
      {"window_of_earlier_keys",
       {.seq_q = 70, .seq_kv = 70, .head_dim = 8, .v_head_dim = 8, .window = 50, .distance = 35}},
      {"all_of_it",
       {.heads = 2, .seq_q = 40, .seq_kv = 40, .head_dim = 8, .v_head_dim = 8, .window = 30, .softcap = 2},
       true,
       true},
  };
  return kBlocks;
}

/// Rows of every sequence lie `gap` further apart than the block reads: zig-zag ring steps see parts of them.
void attend(Bench& b, const Block& which, std::int64_t gap) {
  AttentionBlock block = which.block;
  block.q_pitch = block.seq_q + gap;
  block.kv_pitch = block.seq_kv + gap;
  block.scale = 1 / std::sqrt(static_cast<double>(block.head_dim));
  block.pairs = static_cast<double>(block.seq_q * block.seq_kv);
  const std::int64_t queries = block.batch * block.q_pitch, keys = block.batch * block.kv_pitch;
  const std::int64_t d = block.head_dim, d_v = block.v_head_dim, heads = block.heads, kv = block.kv_heads;
  const View q = b.data(queries, heads * d), k = b.data(keys, kv * d), v = b.data(keys, kv * d_v);
  if (which.slopes) block.slopes = b.fp32(1, heads, 0.1);
  if (which.sinks) block.sinks = b.data(1, heads);
  const View o = b.data(queries, heads * d_v), lse = b.fp32(queries, heads);
  b.device.attention_forward({"attention.core", Pass::Forward}, block, q, k, v, o, lse);
  b.result("output", o);
  b.result("log-sum-exp", lse);
  const View d_o = b.data(queries, heads * d_v), delta = b.new_fp32(queries, heads);
  b.device.attention_delta(d_o, o, delta);
  b.result("delta", delta);
  if (which.query_sum) block.query_sum = b.fp32(queries, heads * d);
  const View dq = which.query_sum ? b.data(queries, heads * d) : b.fp32(queries, heads * d);
  const View dk = b.data(keys, kv * d), dv = b.data(keys, kv * d_v);
  b.device.attention_backward({"attention.core", Pass::BackwardData}, block, q, k, v, d_o, lse, delta, dq, dk,
                              dv);
  b.result("gradient of queries", dq);
  b.result("gradient of keys", dk);
  b.result("gradient of values", dv);
  if (!which.sinks) return;
  const View d_sinks = b.fp32(1, heads);
  // Rows of one sequence: those between sequences have no log-sum-exp.
  b.device.sink_gradient(block.sinks, lse.row_range(0, block.seq_q), delta.row_range(0, block.seq_q),
                         d_sinks);
  b.result("gradient of sinks", d_sinks);
}

/// The same block with its scores stored.
void soften(Bench& b, const Block& which, std::int64_t /*gap*/) {
  AttentionBlock block = which.block;
  block.q_pitch = block.seq_q;
  block.scale = 1 / std::sqrt(static_cast<double>(block.head_dim));
  const std::int64_t rows = block.batch * block.seq_q, cols = block.heads * block.seq_kv;
  if (which.slopes) block.slopes = b.fp32(1, block.heads, 0.1);
  const View scores = b.data(rows, cols, 3), capped = block.softcap > 0 ? b.new_data(rows, cols) : View{};
  b.device.score_softmax(block, scores, capped);
  b.result("probabilities", scores);
  if (block.softcap > 0) b.result("capped scores", capped);
  // Probabilities and capped scores that are the same numbers on every device.
  const View p = b.data(rows, cols, 0.1), caps = block.softcap > 0 ? b.data(rows, cols, 0.5) : View{};
  const View d_p = b.data(rows, cols), d_scores = b.new_data(rows, cols);
  b.device.score_softmax_backward(block, p, caps, d_p, d_scores);
  b.result("gradient of scores", d_scores);
}

/// rows of hidden states, or of scores of three heads.
void drop(Bench& b, Size s, std::int64_t heads) {
  validator::DropoutForm form;
  form.key = 0x123456789abcdef;
  form.dropped = 1U << 30;
  form.factor = 4.0 / 3;
  form.place = 7;
  form.first_sequence = 11;
  form.first_row = 3;
  form.sequence_rows = 5;
  form.width = heads > 1 ? s.cols : 0;
  form.first_head = 2;
  std::vector<std::int32_t> positions;
  for (std::int64_t r = 0; r < s.rows; ++r) positions.push_back(static_cast<std::int32_t>(17 * r % 100));
  if (heads == 1) form.positions = b.ids(positions);
  const View x = b.data(s.rows, heads * s.cols), out = b.new_data(s.rows, heads * s.cols);
  const View mask = b.new_bytes(s.rows, heads * s.cols);
  b.device.dropout(form, x, out, mask);
  b.result("output", out);
  b.result("mask", mask);
  const View d = b.data(s.rows, heads * s.cols);
  b.device.dropout_backward(form, d, mask, d);
  b.result("gradient", d);
}

/// cols: of a head. Among the rows such as neither, one or the other block gave anything.
void merges(Bench& b, Size s) {
  constexpr std::int64_t kHeads = 3;
  const View o = b.data(s.rows, kHeads * s.cols), piece = b.data(s.rows, kHeads * s.cols);
  const View lse = b.fp32(s.rows, kHeads, 2), piece_lse = b.fp32(s.rows, kHeads, 2);
  for (std::int64_t r = 0; r < s.rows; ++r) {
    if (r % 4 == 1 || r % 4 == 3) {
      b.device.fill(lse.row_range(r, 1), kNothing);
      b.device.fill(o.row_range(r, 1), 0);
    }
    if (r % 4 == 2 || r % 4 == 3) b.device.fill(piece_lse.row_range(r, 1), kNothing);
  }
  b.device.attention_merge(o, lse, piece, piece_lse, kHeads);
  b.result("output", o);
  b.result("log-sum-exp", lse);
}

}  // namespace

std::vector<Operation> attention_operations() {
  std::vector<Operation> all{{"attention_merge", {{0, 8}, {1, 1}, {5, 6}, {9, 16}, {40, 128}}, merges}};
  const std::vector<Size> sizes{{1, 1}, {5, 6}, {9, 16}, {40, 130}};
  all.push_back({"dropout", sizes, [](Bench& b, Size s) { drop(b, s, 1); }});
  all.push_back({"dropout_of_heads", sizes, [](Bench& b, Size s) { drop(b, s, 3); }});
  for (const Block& block : blocks()) {
    if (!block.sinks)
      all.push_back(
          {"scores_of_" + block.name, {{1, 0}}, [block](Bench& b, Size s) { soften(b, block, s.cols); }});
    all.push_back({"attention_" + block.name, {{1, 0}, {1, 3}}, [block](Bench& b, Size s) {
                     attend(b, block, s.cols);
                   }});
  }
  return all;
}

}  // namespace hexaplan::tests
