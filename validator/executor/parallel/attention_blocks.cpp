#include "validator/executor/parallel/attention_blocks.h"

#include <cassert>
#include <cmath>

#include "costmodel/program/names.h"
#include "validator/executor/parallel/context.h"
#include "validator/executor/parallel/dropout.h"

namespace hexaplan::validator {
namespace {

using costmodel::Pass;

const std::string_view kCore = costmodel::program::row_of(costmodel::program::Site::Core).name;

AttentionBlock block_of(const Rank& rank, const RowsOfSequence& queries, const RowsOfSequence& keys) {
  const costmodel::LocalDims& d = rank.dims;
  const costmodel::AttentionSpec& a = rank.scenario.model.attention;
  const double width = a.score_width > 0 ? a.score_width : static_cast<double>(a.head_dim);
  return {.batch = d.micro_batch,
          .heads = d.heads / head_shares(rank),
          .kv_heads = d.kv_heads / head_shares(rank),
          .seq_q = queries.count,
          .seq_kv = keys.count,
          .q_pitch = d.local_sequence * head_shares(rank),
          .kv_pitch = d.local_sequence * head_shares(rank),
          .head_dim = a.head_dim,
          .v_head_dim = a.v_head_dim,
          .window = 0,
          .causal = false,
          .scale = rank.scenario.model.rotary.score_factor / std::sqrt(width),
          .pairs = static_cast<double>(queries.count * keys.count),
          .softcap = a.softcap,
          .slopes = rank.alibi_slopes.view()};
}

/// From row `first` of the first sequence on; the pitch of the block finds the other sequences.
View from_row(const View& v, std::int64_t first) {
  return v.row_range(first, v.rows - first);
}

}  // namespace

/// Local order is order of position, so that a rank's own positions need an ordinary causal mask.
AttentionBlock own_block(const Rank& rank) {
  const bool windowed = rank.in_window();
  const costmodel::LocalDims& d = rank.dims;
  const RowsOfSequence all{0, d.local_sequence * head_shares(rank)};
  AttentionBlock block = block_of(rank, all, all);
  block.causal = true;
  block.dropout = dropout_of_scores(rank);
  block.window = windowed ? rank.scenario.model.attention.window : 0;
  const auto s = static_cast<double>(all.count);
  block.pairs = windowed ? d.windowed_pairs * head_shares(rank) : s * s / 2;
  // Every rank has the same share of a causal mask, but not of a window.
  assert(!windowed || rank.scenario.layout.cp == head_shares(rank));
  return block;
}

VisibleBlock visible_block(int rank, int other, std::int64_t local_sequence) {
  assert(rank != other);
  const RowsOfSequence all{0, local_sequence};
  const std::int64_t chunk = local_sequence / 2;
  if (other < rank) return {.queries = all, .keys = {0, chunk}};
  return {.queries = {chunk, chunk}, .keys = all};
}

void attend_to_own(const Rank& rank, const QueryKeyValue& in, const View& sinks, const Attended& out) {
  AttentionBlock block = own_block(rank);
  block.sinks = sinks;
  rank.device.attention_forward({kCore, Pass::Forward}, block, in.query, in.key, in.value, out.output,
                                out.log_sum_exp);
}

void attend_to_other(const Rank& rank, const QueryKeyValue& in, int other, const KeyValue& keys,
                     const Attended& piece, const Attended& out) {
  const costmodel::LocalDims& d = rank.dims;
  const VisibleBlock seen = visible_block(rank.groups.context->rank(), other, d.local_sequence);
  rank.device.attention_forward(
      {kCore, Pass::Forward}, block_of(rank, seen.queries, seen.keys), from_row(in.query, seen.queries.first),
      from_row(keys.key, seen.keys.first), from_row(keys.value, seen.keys.first),
      from_row(piece.output, seen.queries.first), from_row(piece.log_sum_exp, seen.queries.first));
  for (std::int64_t b = 0; b < d.micro_batch; ++b) {
    const auto rows = [&](const View& v) {
      return v.row_range(b * d.local_sequence + seen.queries.first, seen.queries.count);
    };
    rank.device.attention_merge(rows(out.output), rows(out.log_sum_exp), rows(piece.output),
                                rows(piece.log_sum_exp), d.heads);
  }
}

void attend_to_own_back(const Rank& rank, const AttentionGradient& of, const View& query_sum,
                        const QueryKeyValue& d) {
  AttentionBlock block = own_block(rank);
  block.overwrites = true;
  block.query_sum = query_sum;
  rank.device.attention_backward({kCore, Pass::BackwardData}, block, of.in.query, of.in.key, of.in.value,
                                 of.d_output, of.log_sum_exp, of.delta, d.query, d.key, d.value);
}

void attend_to_other_back(const Rank& rank, const AttentionGradient& of, int other, const KeyValue& keys,
                          const View& d_query, const KeyValue& d_keys) {
  const VisibleBlock seen = visible_block(rank.groups.context->rank(), other, rank.dims.local_sequence);
  const std::int64_t q = seen.queries.first, k = seen.keys.first;
  rank.device.attention_backward({kCore, Pass::BackwardData}, block_of(rank, seen.queries, seen.keys),
                                 from_row(of.in.query, q), from_row(keys.key, k), from_row(keys.value, k),
                                 from_row(of.d_output, q), from_row(of.log_sum_exp, q), from_row(of.delta, q),
                                 from_row(d_query, q), from_row(d_keys.key, k), from_row(d_keys.value, k));
}

}  // namespace hexaplan::validator
