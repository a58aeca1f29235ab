#include "validator/executor/parallel/attention_blocks.h"

#include <cassert>
#include <cmath>

namespace hexaplan::validator {
namespace {

using costmodel::DType;
using costmodel::Pass;
using costmodel::TensorKind;

constexpr std::string_view kCore = "attention.core";

AttentionBlock block_of(const Rank& rank, const RowsOfSequence& queries, const RowsOfSequence& keys) {
  const costmodel::LocalDims& d = rank.dims;
  const costmodel::AttentionSpec& a = rank.scenario.model.attention;
  return {.batch = d.micro_batch,
          .heads = d.heads,
          .kv_heads = d.kv_heads,
          .seq_q = queries.count,
          .seq_kv = keys.count,
          .q_pitch = d.local_sequence,
          .kv_pitch = d.local_sequence,
          .head_dim = a.head_dim,
          .v_head_dim = a.v_head_dim,
          .window = 0,
          .causal = false,
          .scale = 1 / std::sqrt(a.score_width > 0 ? a.score_width : static_cast<double>(a.head_dim)),
          .pairs = static_cast<double>(queries.count * keys.count)};
}

/// Local order is order of position, so that a rank's own positions need an ordinary causal mask.
AttentionBlock own_block(const Rank& rank) {
  const bool windowed = costmodel::class_of_layer(rank.scenario.model, rank.layer).windowed;
  const costmodel::LocalDims& d = rank.dims;
  const RowsOfSequence all{0, d.local_sequence};
  AttentionBlock block = block_of(rank, all, all);
  block.causal = true;
  block.window = windowed ? rank.scenario.model.attention.window : 0;
  const auto s = static_cast<double>(d.local_sequence);
  block.pairs = windowed ? d.windowed_pairs : s * s / 2;
  // Every rank has the same share of a causal mask, but not of a window.
  assert(!windowed || rank.scenario.layout.cp == 1);
  return block;
}

/// From row `first` of the first sequence on; the pitch of the block finds the other sequences.
View from_row(const View& v, std::int64_t first) {
  return v.row_range(first, v.rows - first);
}

}  // namespace

VisibleBlock visible_block(int rank, int other, std::int64_t local_sequence) {
  assert(rank != other);
  const RowsOfSequence all{0, local_sequence};
  const std::int64_t chunk = local_sequence / 2;
  if (other < rank) return {.queries = all, .keys = {0, chunk}};
  return {.queries = {chunk, chunk}, .keys = all};
}

void BlockwiseForward::own() const {
  rank_.device.attention_forward({kCore, Pass::Forward}, own_block(rank_), in_.query, in_.key, in_.value,
                                 output_, log_sum_exp_);
}

void BlockwiseForward::add(int other, const KeyValue& keys) const {
  const costmodel::LocalDims& d = rank_.dims;
  const VisibleBlock seen = visible_block(rank_.groups.context->rank(), other, d.local_sequence);
  const Tensor piece = rank_.transient("attention.piece", output_.rows, output_.cols);
  const Tensor piece_lse = rank_.device.allocate(
      {"attention.piece_log_sum_exp", TensorKind::Transient, DType::Fp32}, d.tokens, d.heads);
  rank_.device.attention_forward({kCore, Pass::Forward}, block_of(rank_, seen.queries, seen.keys),
                                 from_row(in_.query, seen.queries.first), from_row(keys.key, seen.keys.first),
                                 from_row(keys.value, seen.keys.first),
                                 from_row(piece.view(), seen.queries.first),
                                 from_row(piece_lse.view(), seen.queries.first));
  for (std::int64_t b = 0; b < d.micro_batch; ++b) {
    const auto rows = [&](const View& v) {
      return v.row_range(b * d.local_sequence + seen.queries.first, seen.queries.count);
    };
    rank_.device.attention_merge(rows(output_), rows(log_sum_exp_), rows(piece), rows(piece_lse), d.heads);
  }
}

void BlockwiseBackward::own() const {
  rank_.device.attention_backward({kCore, Pass::BackwardData}, own_block(rank_), in_.query, in_.key,
                                  in_.value, d_output_, log_sum_exp_, delta_, d_.query, d_.key, d_.value);
}

void BlockwiseBackward::add(int other, const KeyValue& keys, const KeyValue& d_keys) const {
  const VisibleBlock seen = visible_block(rank_.groups.context->rank(), other, rank_.dims.local_sequence);
  const std::int64_t q = seen.queries.first, k = seen.keys.first;
  rank_.device.attention_backward({kCore, Pass::BackwardData}, block_of(rank_, seen.queries, seen.keys),
                                  from_row(in_.query, q), from_row(keys.key, k), from_row(keys.value, k),
                                  from_row(d_output_, q), from_row(log_sum_exp_, q), from_row(delta_, q),
                                  from_row(d_.query, q), from_row(d_keys.key, k), from_row(d_keys.value, k));
}

}  // namespace hexaplan::validator
