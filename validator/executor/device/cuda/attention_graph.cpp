#include "validator/executor/device/cuda/attention_graph.h"

#include <algorithm>
#include <cassert>
#include <cstddef>

namespace hexaplan::validator::cuda {
namespace {

using Four = std::array<std::int64_t, 4>;

Four packed(const Four& dims) {
  return {dims[1] * dims[2] * dims[3], dims[2] * dims[3], dims[3], 1};
}

/// Heads × width columns, `row` elements between rows, `pitch` rows between sequences.
Four head_after_head(std::int64_t pitch, std::int64_t row, std::int64_t width) {
  return {pitch * row, width, row, 1};
}

Four swapped(Four four) {
  std::swap(four[2], four[3]);
  return four;
}

/// Writes a graph down operation by operation. The order of operations and of operands is the one that
/// cuDNN's pattern matching knows (NVIDIA/cudnn-frontend@3929da2, node/scaled_dot_product_flash_attention.h,
/// utils/attn_score_modifiers.h); other ways of writing the same formula are refused.
class Builder {
 public:
  explicit Builder(const AttentionShape& shape)
      : s_{shape},
        q_dims_{s_.batch, s_.heads, s_.seq_q, s_.head_dim},
        o_dims_{s_.batch, s_.heads, s_.seq_q, s_.v_head_dim},
        k_dims_{s_.batch, s_.kv_heads, s_.seq_kv, s_.head_dim},
        v_dims_{s_.batch, s_.kv_heads, s_.seq_kv, s_.v_head_dim},
        scores_{s_.batch, s_.heads, s_.seq_q, s_.seq_kv},
        per_row_{s_.batch, s_.heads, s_.seq_q, 1} {}

  AttentionGraph forward() {
    const auto q = memory(Port::Query, q_dims_, query_strides());
    const auto kt = memory(Port::Key, swapped(k_dims_), swapped(key_strides()));
    const auto v = memory(Port::Value, v_dims_, value_strides());
    const auto o = memory(Port::Output, o_dims_, output_strides());
    const auto lse = memory(Port::LogSumExp, per_row_, packed(per_row_), GraphType::Fp32);
    const auto scores = masked(scaled(node(GraphOp::MatMul, q, kt, scores_)));
    const auto largest = node(GraphOp::Max, scores, 0, per_row_);
    const auto exponents = node(GraphOp::Exp, node(GraphOp::Subtract, scores, largest, scores_), 0, scores_);
    const auto sum = node(GraphOp::Sum, exponents, 0, per_row_);
    const auto log = node(GraphOp::Log, sum, 0, per_row_);
    node_into(lse, GraphOp::Add, largest, log);
    const auto probabilities = node(GraphOp::Divide, exponents, sum, scores_, GraphType::Bf16);
    node_into(o, GraphOp::MatMul, probabilities, v);
    return std::move(graph_);
  }

  AttentionGraph backward() {
    const auto q = memory(Port::Query, q_dims_, query_strides());
    const auto kt = memory(Port::Key, swapped(k_dims_), swapped(key_strides()));
    const auto vt = memory(Port::Value, swapped(v_dims_), swapped(value_strides()));
    const auto d_o = memory(Port::OutputGradient, o_dims_, output_strides());
    const auto lse = memory(Port::LogSumExp, per_row_, packed(per_row_), GraphType::Fp32);
    const auto delta = output_dot_gradient(d_o);
    const auto shifted = node(GraphOp::Subtract, scaled(node(GraphOp::MatMul, q, kt, scores_)), lse, scores_);
    const auto probabilities = node(GraphOp::Exp, masked(shifted), 0, scores_);
    gradient_of_keys(Port::ValueGradient, probabilities, d_o, v_dims_, s_.dv_row);
    const auto d_probabilities =
        node(GraphOp::Subtract, node(GraphOp::MatMul, d_o, vt, scores_), delta, scores_);
    const auto d_scores = scaled(node(GraphOp::Multiply, d_probabilities, probabilities, scores_));
    gradient_of_keys(Port::KeyGradient, d_scores, q, k_dims_, s_.dk_row);
    const auto k = add({.id = next_++,
                        .dims = k_dims_,
                        .strides = key_strides(),
                        .type = GraphType::Bf16,
                        .place = TensorPlace::Virtual});
    node_into(k, GraphOp::Reshape, kt, 0);
    const auto sum = memory(Port::QuerySum, q_dims_, packed(q_dims_), GraphType::Fp32);
    node_into(sum, GraphOp::MatMul, d_scores, k);
    node_into(memory(Port::QueryGradient, q_dims_,
                     gradient_strides(s_.dq_row, s_.q_pitch, s_.head_dim, s_.heads, s_.seq_q)),
              GraphOp::Identity, sum, 0);
    return std::move(graph_);
  }

 private:
  using Id = std::int64_t;

  [[nodiscard]] Four query_strides() const { return head_after_head(s_.q_pitch, s_.q_row, s_.head_dim); }
  [[nodiscard]] Four key_strides() const { return head_after_head(s_.kv_pitch, s_.k_row, s_.head_dim); }
  [[nodiscard]] Four value_strides() const { return head_after_head(s_.kv_pitch, s_.v_row, s_.v_head_dim); }
  [[nodiscard]] Four output_strides() const { return head_after_head(s_.q_pitch, s_.o_row, s_.v_head_dim); }
  /// The layout of a matrix of tokens of its own.
  static Four packed_rows(std::int64_t width, std::int64_t heads, std::int64_t rows) {
    return head_after_head(rows, heads * width, width);
  }

  static Four gradient_strides(std::int64_t row, std::int64_t pitch, std::int64_t width, std::int64_t heads,
                               std::int64_t rows) {
    return row > 0 ? head_after_head(pitch, row, width) : packed_rows(width, heads, rows);
  }

  Id add(const GraphTensor& tensor) {
    graph_.tensors.push_back(tensor);
    return tensor.id;
  }
  Id memory(Port port, const Four& dims, const Four& strides, GraphType type = GraphType::Bf16) {
    return add({static_cast<Id>(port), dims, strides, type, TensorPlace::Memory});
  }
  Id number(Port port) {
    const Id id = static_cast<Id>(port);
    const auto known = [&](const GraphTensor& t) { return t.id == id; };
    if (std::none_of(graph_.tensors.begin(), graph_.tensors.end(), known))
      add({.id = id, .place = TensorPlace::Number});
    return id;
  }
  Id node(GraphOp op, Id x, Id b, const Four& dims, GraphType type = GraphType::Fp32,
          GraphType compute = GraphType::Fp32, Id t = 0) {
    const Id y = add({next_++, dims, packed(dims), type, TensorPlace::Virtual});
    graph_.nodes.push_back({op, x, b, t, y, compute});
    return y;
  }
  void node_into(Id y, GraphOp op, Id x, Id b) { graph_.nodes.push_back({.op = op, .x = x, .b = b, .y = y}); }

  Id scaled(Id x) { return node(GraphOp::Multiply, x, number(Port::Scale), scores_); }

  Id index(GraphOp op, Id x) { return node(op, x, 0, scores_, GraphType::Int32, GraphType::Int32); }
  Id select(Id x, Id keep) {
    return node(GraphOp::Select, x, number(Port::Masked), scores_, GraphType::Fp32, GraphType::Fp32, keep);
  }
  /// Keeps row ≥ column, and of those column + window > row.
  Id masked(Id x) {
    if (!s_.causal) return x;
    const Id row = index(GraphOp::RowIndex, x), column = index(GraphOp::ColumnIndex, x);
    const Id past = node(GraphOp::GreaterEqual, row, column, scores_, GraphType::Boolean, GraphType::Boolean);
    const Id causal = select(x, past);
    if (s_.window == 0) return causal;
    const Id row_again = index(GraphOp::RowIndex, causal), column_again = index(GraphOp::ColumnIndex, causal);
    const Id reach = node(GraphOp::Add, column_again, number(Port::Window), scores_, GraphType::Fp32);
    const Id near = node(GraphOp::Greater, reach, row_again, scores_, GraphType::Boolean, GraphType::Boolean);
    return select(causal, near);
  }

  Id output_dot_gradient(Id d_o) {
    const Id o = memory(Port::Output, o_dims_, packed_rows(s_.v_head_dim, s_.heads, s_.seq_q));
    const Id products = node(GraphOp::Multiply, d_o, o, o_dims_);
    const Id sums = node(GraphOp::Sum, products, 0, per_row_);
    const Id delta = memory(Port::Delta, per_row_, packed(per_row_), GraphType::Fp32);
    node_into(delta, GraphOp::Multiply, sums, number(Port::One));
    return delta;
  }

  /// leftᵀ·right per query head, then summed over the heads that share a key.
  void gradient_of_keys(Port port, Id left, Id right, const Four& dims, std::int64_t row) {
    const Four turned{s_.batch, s_.heads, s_.seq_kv, s_.seq_q};
    const Id transposed =
        add({next_++, turned, swapped(packed(scores_)), GraphType::Bf16, TensorPlace::Virtual});
    node_into(transposed, GraphOp::Reshape, left, 0);
    const Id gradient =
        memory(port, dims, gradient_strides(row, s_.kv_pitch, dims[3], s_.kv_heads, s_.seq_kv));
    if (s_.heads == s_.kv_heads) return node_into(gradient, GraphOp::MatMul, transposed, right);
    const Four all_heads{s_.batch, s_.heads, s_.seq_kv, dims[3]};
    node_into(gradient, GraphOp::Sum, node(GraphOp::MatMul, transposed, right, all_heads, GraphType::Bf16),
              0);
  }

  AttentionShape s_;
  Four q_dims_, o_dims_, k_dims_, v_dims_, scores_, per_row_;
  AttentionGraph graph_;
  Id next_ = kFirstVirtual;
};

std::size_t bytes_of(GraphType type) {
  return type == GraphType::Bf16 ? 2 : type == GraphType::Boolean ? 1 : 4;
}

}  // namespace

AttentionShape shape_of(const AttentionBlock& block, const View& q, const View& k, const View& v,
                        const View& o) {
  return {.batch = block.batch,
          .heads = block.heads,
          .kv_heads = block.kv_heads,
          .seq_q = block.seq_q,
          .seq_kv = block.seq_kv,
          .head_dim = block.head_dim,
          .v_head_dim = block.v_head_dim,
          .q_row = q.stride,
          .k_row = k.stride,
          .v_row = v.stride,
          .o_row = o.stride,
          .q_pitch = block.q_pitch,
          .kv_pitch = block.kv_pitch,
          // A window of the whole sequence hides nothing.
          .window = block.window >= block.seq_kv ? 0 : block.window,
          .causal = block.causal};
}

const GraphTensor& AttentionGraph::tensor(std::int64_t id) const {
  const auto found =
      std::find_if(tensors.begin(), tensors.end(), [&](const GraphTensor& t) { return t.id == id; });
  assert(found != tensors.end());
  return *found;
}

bool has_graph(const AttentionShape& shape) {
  return shape.causal ? shape.seq_q == shape.seq_kv : shape.window == 0;
}

AttentionGraph forward_graph(const AttentionShape& shape) {
  return Builder{shape}.forward();
}

AttentionGraph backward_graph(const AttentionShape& shape) {
  return Builder{shape}.backward();
}

std::size_t packed_bytes(const AttentionGraph& graph, Port port) {
  const GraphTensor& t = graph.tensor(static_cast<std::int64_t>(port));
  return static_cast<std::size_t>(t.dims[0] * t.dims[1] * t.dims[2] * t.dims[3]) * bytes_of(t.type);
}

}  // namespace hexaplan::validator::cuda
