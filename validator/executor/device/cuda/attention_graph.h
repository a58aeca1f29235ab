#pragma once
#include <array>
#include <compare>
#include <cstdint>
#include <vector>

#include "validator/executor/device/device.h"

namespace hexaplan::validator::cuda {

/// Everything that decides the form of a block's graph. Columns are head after head; `…_row` elements lie
/// between rows, `…_pitch` rows between sequences.
struct AttentionShape {
  std::int64_t batch = 1, heads = 1, kv_heads = 1;
  std::int64_t seq_q = 0, seq_kv = 0, head_dim = 0, v_head_dim = 0;
  std::int64_t q_row = 0, k_row = 0, v_row = 0, o_row = 0;  // o: the output, or its gradient
  std::int64_t q_pitch = 0, kv_pitch = 0;
  /// Elements between rows of gradients, whose sequences lie as those of q, k and v do; 0: packed.
  std::int64_t dq_row = 0, dk_row = 0, dv_row = 0;
  std::int64_t window = 0;  // 0: none
  bool causal = true;
  friend auto operator<=>(const AttentionShape&,
                          const AttentionShape&) = default;  // NOLINT(modernize-use-nullptr)
};
[[nodiscard]] AttentionShape shape_of(const AttentionBlock& block, const View& q, const View& k,
                                      const View& v, const View& o);

/// Tensors that a graph reads from or writes to memory, and numbers that it is given when it runs.
enum class Port : std::uint8_t {
  Query = 1,
  Key,
  Value,
  Output,  // backward: any matrix whose products with d_output sum to delta, packed
  LogSumExp,
  OutputGradient,
  QueryGradient,  // this and the next two: packed, or as their shape says
  KeyGradient,
  ValueGradient,
  Delta,     // fp32 workspace, batch × heads × seq_q
  QuerySum,  // fp32 workspace, batch × heads × seq_q × head_dim
  Scale,
  Masked,  // −∞
  One,
  Window,
};
/// Ids of tensors that exist inside the graph only start here.
inline constexpr std::int64_t kFirstVirtual = 100;

enum class GraphType : std::uint8_t { Bf16, Fp32, Int32, Boolean };
enum class TensorPlace : std::uint8_t { Memory, Virtual, Number };

/// (batch, head, row, column) and where they lie, in elements.
struct GraphTensor {
  std::int64_t id = 0;  // a Port, or ≥ kFirstVirtual
  std::array<std::int64_t, 4> dims{1, 1, 1, 1}, strides{1, 1, 1, 1};
  GraphType type = GraphType::Fp32;
  TensorPlace place = TensorPlace::Virtual;
};

enum class GraphOp : std::uint8_t {
  MatMul,
  Multiply,
  Add,
  Subtract,
  Divide,
  Exp,
  Log,
  Identity,
  RowIndex,     // number of the row
  ColumnIndex,  // number of the column
  GreaterEqual,
  Greater,
  Select,  // x where t, else b
  Max,     // over the dimensions in which y is smaller
  Sum,     // the same; heads of a group are neighbours
  Reshape,
};

/// y = op(x, b, t); 0: no such operand.
struct GraphNode {
  GraphOp op = GraphOp::Identity;
  std::int64_t x = 0, b = 0, t = 0, y = 0;
  GraphType compute = GraphType::Fp32;
};

/// Attention as the chain of operations that cuDNN's fused engines recognise, as plain data.
struct AttentionGraph {
  std::vector<GraphTensor> tensors;
  std::vector<GraphNode> nodes;
  [[nodiscard]] const GraphTensor& tensor(std::int64_t id) const;
};

/// Whether the graphs below can say what the block means: causal blocks are square, because their mask is
/// aligned with the first query, and windows are causal.
[[nodiscard]] bool has_graph(const AttentionShape& shape);
/// O = softmax(scale·QKᵀ)·V and the log-sum-exp of every row.
[[nodiscard]] AttentionGraph forward_graph(const AttentionShape& shape);
/// dQ, dK, dV, overwritten. The engine computes delta = Σ dO·O itself and takes no other; QuerySum is where
/// it adds up dQ.
[[nodiscard]] AttentionGraph backward_graph(const AttentionShape& shape);

/// Bytes of a graph's port when it is packed.
[[nodiscard]] std::size_t packed_bytes(const AttentionGraph& graph, Port port);

}  // namespace hexaplan::validator::cuda
