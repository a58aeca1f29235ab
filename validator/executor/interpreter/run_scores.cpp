// Core attention that stores its scores, and dropout.
#include <algorithm>
#include <string_view>

#include "costmodel/units/mutation.h"
#include "validator/executor/interpreter/operation.h"
#include "validator/executor/parallel/context.h"
#include "validator/executor/parallel/dropout.h"

namespace hexaplan::validator {
namespace {

namespace program = costmodel::program;
using costmodel::Pass;
using Name = program::Tensor;
using program::Type;

const std::string_view kScores = program::row_of(program::Site::ScoreProducts).name;
const std::string_view kValues = program::row_of(program::Site::ValueProducts).name;

/// The value of `tensor` and `type` among those of an operation, as it lies between exchanges of heads; empty
/// where there is none.
template <class Ids>
View value_of(const Operation& o, const Ids& ids, Name tensor, Type type = Type::Activation) {
  const auto is_wanted = [&](program::ValueId id) {
    const program::Value& value = o.program().of(id);
    return value.tensor == tensor && value.shape.type == type && value.role != program::Role::Workspace;
  };
  const auto found = std::find_if(ids.begin(), ids.end(), is_wanted);
  return found == ids.end() ? View{} : of_own_heads(o.rank, o.frame.view(*found));
}

/// Products of one sequence and head after the other.
class HeadProducts {
 public:
  HeadProducts(const Operation& o, const AttentionBlock& block, Pass pass)
      : device_{o.rank.device}, block_{block}, pass_{pass} {}

  /// Rows of tokens by rows of tokens: queries and keys, or gradients of outputs and values. `width`: of a
  /// head's columns in `of_queries`.
  void score(std::string_view name, const View& of_queries, const View& of_keys, std::int64_t width,
             const View& scores) const {
    for_each([&](std::int64_t b, std::int64_t h, std::int64_t kv, bool /*first*/) {
      device_.gemm({name, pass_}, {.a = part(of_queries, b, h, width),
                                   .b = part(of_keys, b, kv, width),
                                   .c = part(scores, b, h, block_.seq_kv),
                                   .transpose_b = true});
    });
  }
  /// Scores times what belongs to their keys.
  void sum_keys(std::string_view name, const View& scores, const View& of_keys, std::int64_t width,
                const View& of_queries) const {
    for_each([&](std::int64_t b, std::int64_t h, std::int64_t kv, bool /*first*/) {
      device_.gemm({name, pass_}, {.a = part(scores, b, h, block_.seq_kv),
                                   .b = part(of_keys, b, kv, width),
                                   .c = part(of_queries, b, h, width)});
    });
  }
  /// … times what belongs to their queries, of all heads that share the keys.
  void sum_queries(std::string_view name, const View& scores, const View& of_queries, std::int64_t width,
                   const View& of_keys) const {
    for_each([&](std::int64_t b, std::int64_t h, std::int64_t kv, bool first) {
      device_.gemm({name, pass_}, {.a = part(scores, b, h, block_.seq_kv),
                                   .b = part(of_queries, b, h, width),
                                   .c = part(of_keys, b, kv, width),
                                   .transpose_a = true,
                                   .accumulate = !first && !costmodel::mutant("shared-keys-overwrite")});
    });
  }

 private:
  /// Calls visit(sequence, head, head of its keys, whether it is the first that reads them).
  template <class Visitor>
  void for_each(const Visitor& visit) const {
    const std::int64_t group = block_.heads / block_.kv_heads;
    for (std::int64_t b = 0; b < block_.batch; ++b) {
      for (std::int64_t h = 0; h < block_.heads; ++h) visit(b, h, h / group, h % group == 0);
    }
  }
  [[nodiscard]] View part(const View& of, std::int64_t sequence, std::int64_t head,
                          std::int64_t width) const {
    return of.row_range(sequence * block_.seq_q, block_.seq_q).column_range(head * width, width);
  }

  Device& device_;
  const AttentionBlock& block_;
  Pass pass_;
};

/// What the softmax is told: unfused attention scales the products first, in a kernel of its own.
AttentionBlock block_of(const Rank& rank) {
  AttentionBlock block = own_block(rank);
  if (rank.scenario.recipe.attention == costmodel::AttentionKernel::Unfused) block.scale = 1;
  return block;
}
void scale_apart(const Rank& rank, const View& scores) {
  if (rank.scenario.recipe.attention == costmodel::AttentionKernel::Unfused)
    rank.device.scale(scores, own_block(rank).scale);
}

}  // namespace

void attend_with_scores(const Operation& o, const QueryKeyValue& in) {
  const AttentionBlock block = block_of(o.rank);
  const HeadProducts products{o, block, Pass::Forward};
  const View output = of_own_heads(o.rank, o.out(0)), p = value_of(o, o.op.writes, Name::Scores);
  products.score(kScores, in.query, in.key, block.head_dim, p);
  scale_apart(o.rank, p);
  o.rank.device.score_softmax(block, p, value_of(o, o.op.writes, Name::CappedScores));
  View kept = p;
  if (const View mask = value_of(o, o.op.writes, Name::ScoresDropout, Type::Byte); mask.data != nullptr) {
    kept = value_of(o, o.op.writes, Name::ScoresDropout);
    o.rank.device.dropout(dropout_of_scores(o.rank), p, kept, mask);
  }
  products.sum_keys(kValues, kept, in.value, block.v_head_dim, output);
}

/// Of the workspace one half takes the probabilities' gradient, the other that of the products.
void attend_with_scores_back(const Operation& o, const QueryKeyValue& in, const View& d_output,
                             const QueryKeyValue& d, const View& workspace) {
  const AttentionBlock block = block_of(o.rank);
  const HeadProducts products{o, block, Pass::BackwardData};
  const View p = value_of(o, o.op.reads, Name::Scores);
  const View halves = workspace.reshaped(2 * p.rows, p.cols);
  const View d_p = halves.row_range(0, p.rows), d_scores = halves.row_range(p.rows, p.rows);
  products.score(kValues, d_output, in.value, block.v_head_dim, d_p);
  View kept = p;
  if (const View mask = value_of(o, o.op.reads, Name::ScoresDropout, Type::Byte); mask.data != nullptr) {
    kept = value_of(o, o.op.reads, Name::ScoresDropout);
    o.rank.device.dropout_backward(dropout_of_scores(o.rank), d_p, mask, d_p);
  }
  products.sum_queries(kValues, kept, d_output, block.v_head_dim, d.value);
  o.rank.device.score_softmax_backward(block, p, value_of(o, o.op.reads, Name::CappedScores), d_p, d_scores);
  scale_apart(o.rank, d_scores);
  products.sum_keys(kScores, d_scores, in.key, block.head_dim, d.query);
  products.sum_queries(kScores, d_scores, in.query, block.head_dim, d.key);
}

void run_dropout(const Operation& o) {
  const View x = o.in(0);
  o.rank.device.dropout(dropout_of_hidden(o.rank, o.op.site, o.batch.positions, x.rows), x, o.out(0),
                        o.out(1));
}
void run_dropout_back(const Operation& o) {
  const View d = o.in(0);
  o.rank.device.dropout_backward(dropout_of_hidden(o.rank, o.op.site, o.batch.positions, d.rows), d, o.in(1),
                                 o.out(0));
}

}  // namespace hexaplan::validator
