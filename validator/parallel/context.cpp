#include "validator/parallel/context.h"

#include <cassert>
#include <cmath>
#include <numeric>

namespace hexaplan::validator {
namespace {

using costmodel::DType;
using costmodel::Pass;
using costmodel::TensorKind;

/// All queries of the rank against all keys of whole sequences.
AttentionBlock whole_sequences(const Rank& rank) {
  const costmodel::LocalDims& d = rank.dims;
  const costmodel::AttentionSpec& a = rank.scenario.model.attention;
  return {.batch = d.micro_batch,
          .heads = d.heads,
          .kv_heads = d.kv_heads,
          .seq_q = d.local_sequence,
          .seq_kv = d.sequence,
          .q_pitch = d.local_sequence,
          .kv_pitch = d.sequence,
          .head_dim = a.head_dim,
          .v_head_dim = a.v_head_dim,
          .scale = 1 / std::sqrt(static_cast<double>(a.head_dim)),
          .pairs = d.attention_pairs};
}

}  // namespace

std::vector<std::int32_t> local_positions(const Rank& rank) {
  std::vector<std::int32_t> positions(static_cast<std::size_t>(rank.dims.local_sequence));
  std::iota(positions.begin(), positions.end(), 0);
  return positions;
}

void attend(const Rank& rank, const View& q, const View& k, const View& v, const View& o,
            const View& log_sum_exp) {
  assert(rank.scenario.layout.cp == 1);
  rank.device.attention_forward({"attention.core", Pass::Forward}, whole_sequences(rank), q, k, v, o,
                                log_sum_exp);
}

void attend_backward(const Rank& rank, const View& q, const View& k, const View& v, const View& d_o,
                     const View& log_sum_exp, const View& delta, const View& dq, const View& dk,
                     const View& dv) {
  assert(rank.scenario.layout.cp == 1);
  Device& device = rank.device;
  // Kernels add up the queries' gradient over blocks of keys in fp32.
  const Tensor sum =
      device.allocate({"attention.query_gradient_sum", TensorKind::Transient, DType::Fp32}, q.rows, q.cols);
  device.fill(sum, 0);
  device.fill(dk, 0);
  device.fill(dv, 0);
  device.attention_backward({"attention.core", Pass::BackwardData}, whole_sequences(rank), q, k, v, d_o,
                            log_sum_exp, delta, sum, dk, dv);
  device.copy(dq, sum);
}

}  // namespace hexaplan::validator
