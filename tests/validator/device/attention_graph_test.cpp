// The graphs that are handed to cuDNN, worked off by definition on the host, against the CPU device.
#include "validator/executor/device/cuda/attention_graph.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <unordered_map>
#include <vector>

#include "tests/validator/device/random_numbers.h"
#include "validator/executor/device/cpu/cpu_device.h"

namespace hexaplan::validator::cuda {
namespace {

using Four = std::array<std::int64_t, 4>;

template <class Visit>
void for_each(const Four& dims, const Visit& visit) {
  Four i{};
  for (i[0] = 0; i[0] < dims[0]; ++i[0])
    for (i[1] = 0; i[1] < dims[1]; ++i[1])
      for (i[2] = 0; i[2] < dims[2]; ++i[2])
        for (i[3] = 0; i[3] < dims[3]; ++i[3]) visit(i);
}

std::size_t offset(const Four& index, const Four& strides) {
  std::int64_t at = 0;
  for (std::size_t d = 0; d < 4; ++d) at += index[d] * strides[d];
  return static_cast<std::size_t>(at);
}

/// Every tensor is the memory that its strides span.
class Interpreter {
 public:
  Interpreter(const AttentionGraph& graph, std::map<Port, double*> memory) : graph_{graph} {
    for (const GraphTensor& t : graph.tensors) {
      if (t.place != TensorPlace::Virtual) {
        data_[t.id] = memory.at(static_cast<Port>(t.id));
      } else {
        Four last = t.dims;
        for (std::int64_t& l : last) --l;
        virtual_.emplace_back(offset(last, t.strides) + 1);
        data_[t.id] = virtual_.back().data();
      }
    }
  }

  void run() {
    for (const GraphNode& node : graph_.nodes) run(node);
  }

 private:
  double& at(const GraphTensor& t, const Four& index) { return data_.at(t.id)[offset(index, t.strides)]; }
  /// Dimensions of one element are the same for all; heads of a group share one.
  double broadcast(std::int64_t id, Four index, const Four& dims) {
    const GraphTensor& t = graph_.tensor(id);
    for (std::size_t d = 0; d < 4; ++d)
      if (t.dims[d] != dims[d]) index[d] = index[d] * t.dims[d] / dims[d];
    return at(t, index);
  }

  void run(const GraphNode& node) {
    const GraphTensor& y = graph_.tensor(node.y);
    const GraphTensor& x = graph_.tensor(node.x);
    switch (node.op) {
      case GraphOp::MatMul:
        return for_each(y.dims, [&](const Four& i) {
          const GraphTensor& b = graph_.tensor(node.b);
          double sum = 0;
          for (std::int64_t k = 0; k < x.dims[3]; ++k)
            sum += broadcast(x.id, {i[0], i[1], i[2], k}, {y.dims[0], y.dims[1], y.dims[2], x.dims[3]}) *
                   broadcast(b.id, {i[0], i[1], k, i[3]}, {y.dims[0], y.dims[1], b.dims[2], y.dims[3]});
          at(y, i) = sum;
        });
      case GraphOp::Max:
      case GraphOp::Sum:
        for_each(y.dims, [&](const Four& i) {
          at(y, i) = node.op == GraphOp::Sum ? 0 : -std::numeric_limits<double>::infinity();
        });
        return for_each(x.dims, [&](const Four& i) {
          Four to = i;
          for (std::size_t d = 0; d < 4; ++d) to[d] = i[d] * y.dims[d] / x.dims[d];
          double& out = at(y, to);
          out = node.op == GraphOp::Sum ? out + at(x, i) : std::max(out, at(x, i));
        });
      case GraphOp::Reshape: {
        std::unordered_map<std::size_t, double> memory;
        for_each(x.dims, [&](const Four& i) { memory[offset(i, x.strides)] = at(x, i); });
        return for_each(y.dims, [&](const Four& i) { at(y, i) = memory.at(offset(i, y.strides)); });
      }
      default:
        return for_each(y.dims, [&](const Four& i) { at(y, i) = pointwise(node, i, y.dims); });
    }
  }

  double pointwise(const GraphNode& node, const Four& i, const Four& dims) {
    const double x = broadcast(node.x, i, dims), b = node.b == 0 ? 0 : broadcast(node.b, i, dims);
    switch (node.op) {
      case GraphOp::Multiply:
        return x * b;
      case GraphOp::Add:
        return x + b;
      case GraphOp::Subtract:
        return x - b;
      case GraphOp::Divide:
        return x / b;
      case GraphOp::Exp:
        return std::exp(x);
      case GraphOp::Log:
        return std::log(x);
      case GraphOp::RowIndex:
        return static_cast<double>(i[2]);
      case GraphOp::ColumnIndex:
        return static_cast<double>(i[3]);
      case GraphOp::GreaterEqual:
        return x >= b ? 1 : 0;
      case GraphOp::Greater:
        return x > b ? 1 : 0;
      case GraphOp::Select:
        return broadcast(node.t, i, dims) != 0 ? x : b;
      default:
        return x;
    }
  }

  const AttentionGraph& graph_;
  std::map<std::int64_t, double*> data_;
  std::vector<std::vector<double>> virtual_;
};

struct Case {
  const char* name;
  AttentionBlock block;
  std::size_t forward_operations, backward_operations;  // as cuDNN's engines know them
};

AttentionBlock block(std::int64_t heads, std::int64_t kv_heads, std::int64_t seq_q, std::int64_t seq_kv,
                     bool causal, std::int64_t window = 0, std::int64_t batch = 1) {
  return {.batch = batch,
          .heads = heads,
          .kv_heads = kv_heads,
          .seq_q = seq_q,
          .seq_kv = seq_kv,
          .q_pitch = 6,
          .kv_pitch = 6,
          .head_dim = 4,
          .v_head_dim = 4,
          .window = window,
          .causal = causal,
          .scale = 0.5};
}

class AttentionGraphs : public testing::TestWithParam<Case> {};

/// A matrix of `extra` more columns than are used, as a part of the joint projection is.
struct Matrix {
  Matrix(std::int64_t rows, std::int64_t cols, std::int64_t extra, unsigned seed)
      : data(random_numbers(static_cast<std::size_t>(rows * (cols + extra)), seed)),
        view{reinterpret_cast<std::byte*>(data.data()), Element::F64, rows, cols, cols + extra} {}
  std::vector<double> data;
  View view;
  [[nodiscard]] double at(std::int64_t r, std::int64_t c) const {
    return data[static_cast<std::size_t>(r * view.stride + c)];
  }
};

/// One block with its forward on the CPU device.
struct Problem {
  explicit Problem(const AttentionBlock& of)
      : block{of},
        q{rows, of.heads * of.head_dim, 3, 1},
        k{rows, of.kv_heads * of.head_dim, 2, 2},
        v{rows, of.kv_heads * of.v_head_dim, 1, 3},
        o{rows, of.heads * of.v_head_dim, 5, 4},
        lse{rows, of.heads, 0, 5},
        d_o{rows, of.heads * of.v_head_dim, 5, 6} {
    device->attention_forward({}, block, q.view, k.view, v.view, o.view, lse.view);
  }
  std::unique_ptr<Device> device = make_cpu_device(Element::F64);
  AttentionBlock block;
  std::int64_t rows = block.batch * 6;
  Matrix q, k, v, o, lse, d_o;
  double scale = block.scale, masked = -std::numeric_limits<double>::infinity(), one = 1;
  double window = static_cast<double>(block.window);

  std::vector<double> by_head(const Matrix& m) const {
    std::vector<double> out;
    for (std::int64_t b = 0; b < block.batch; ++b)
      for (std::int64_t h = 0; h < block.heads; ++h)
        for (std::int64_t r = 0; r < block.seq_q; ++r) out.push_back(m.at(b * block.q_pitch + r, h));
    return out;
  }
  std::map<Port, double*> numbers() {
    return {{Port::Scale, &scale}, {Port::Masked, &masked}, {Port::One, &one}, {Port::Window, &window}};
  }
};

TEST_P(AttentionGraphs, forward_is_attention) {
  Problem p{GetParam().block};
  const AttentionShape shape = shape_of(p.block, p.q.view, p.k.view, p.v.view, p.o.view);
  ASSERT_TRUE(has_graph(shape));
  const AttentionGraph graph = forward_graph(shape);
  EXPECT_EQ(graph.nodes.size(), GetParam().forward_operations);
  std::vector<double> o(p.o.data.size());
  std::vector<double> lse(static_cast<std::size_t>(p.block.batch * p.block.heads * p.block.seq_q));
  auto memory = p.numbers();
  memory.insert({{Port::Query, p.q.data.data()},
                 {Port::Key, p.k.data.data()},
                 {Port::Value, p.v.data.data()},
                 {Port::Output, o.data()},
                 {Port::LogSumExp, lse.data()}});
  Interpreter{graph, memory}.run();
  const std::vector<double> expected_lse = p.by_head(p.lse);
  for (std::size_t i = 0; i < lse.size(); ++i) EXPECT_NEAR(lse[i], expected_lse[i], 1e-12);
  for (std::int64_t b = 0; b < p.block.batch; ++b) {
    for (std::int64_t r = b * p.block.q_pitch; r < b * p.block.q_pitch + p.block.seq_q; ++r) {
      for (std::int64_t c = 0; c < p.o.view.cols; ++c)
        EXPECT_NEAR(o[static_cast<std::size_t>(r * p.o.view.stride + c)], p.o.at(r, c), 1e-12);
    }
  }
}

/// As the device's kernel of that name makes it.
std::vector<double> stand_in_output(const Problem& p, const Matrix& delta) {
  std::vector<double> out;
  for (std::int64_t b = 0; b < p.block.batch; ++b) {
    for (std::int64_t r = b * p.block.q_pitch; r < b * p.block.q_pitch + p.block.seq_q; ++r) {
      for (std::int64_t h = 0; h < p.block.heads; ++h) {
        double squares = 0;
        for (std::int64_t c = 0; c < p.block.v_head_dim; ++c)
          squares += std::pow(p.d_o.at(r, h * p.block.v_head_dim + c), 2);
        for (std::int64_t c = 0; c < p.block.v_head_dim; ++c)
          out.push_back(p.d_o.at(r, h * p.block.v_head_dim + c) * delta.at(r, h) / squares);
      }
    }
  }
  return out;
}

TEST_P(AttentionGraphs, backward_is_its_gradient_with_any_matrix_that_has_the_outputs_delta) {
  Problem p{GetParam().block};
  Matrix delta{p.rows, p.block.heads, 0, 7};
  p.device->attention_delta(p.d_o.view, p.o.view, delta.view);
  Matrix dq{p.rows, p.q.view.cols, 0, 8}, dk{p.rows, p.k.view.cols, 0, 9}, dv{p.rows, p.v.view.cols, 0, 10};
  for (Matrix* m : {&dq, &dk, &dv}) std::fill(m->data.begin(), m->data.end(), 0);
  p.device->attention_backward({}, p.block, p.q.view, p.k.view, p.v.view, p.d_o.view, p.lse.view, delta.view,
                               dq.view, dk.view, dv.view);
  const AttentionShape shape = shape_of(p.block, p.q.view, p.k.view, p.v.view, p.d_o.view);
  const AttentionGraph graph = backward_graph(shape);
  EXPECT_EQ(graph.nodes.size(), GetParam().backward_operations);
  std::vector<double> lse = p.by_head(p.lse), output = stand_in_output(p, delta);
  const auto elements = [&](std::int64_t seq, std::int64_t heads) {
    return std::vector<double>(static_cast<std::size_t>(p.block.batch * seq * heads * p.block.head_dim));
  };
  std::vector<double> sum = elements(p.block.seq_q, p.block.heads), d_query = sum,
                      d_key = elements(p.block.seq_kv, p.block.kv_heads), d_value = d_key, workspace = lse;
  auto memory = p.numbers();
  memory.insert({{Port::Query, p.q.data.data()},
                 {Port::Key, p.k.data.data()},
                 {Port::Value, p.v.data.data()},
                 {Port::Output, output.data()},
                 {Port::OutputGradient, p.d_o.data.data()},
                 {Port::LogSumExp, lse.data()},
                 {Port::Delta, workspace.data()},
                 {Port::QuerySum, sum.data()},
                 {Port::QueryGradient, d_query.data()},
                 {Port::KeyGradient, d_key.data()},
                 {Port::ValueGradient, d_value.data()}});
  Interpreter{graph, memory}.run();
  const auto expect_rows = [&](const std::vector<double>& packed, const Matrix& expected, std::int64_t seq,
                               std::int64_t pitch, const char* what) {
    for (std::int64_t b = 0; b < p.block.batch; ++b)
      for (std::int64_t r = 0; r < seq; ++r)
        for (std::int64_t c = 0; c < expected.view.cols; ++c)
          EXPECT_NEAR(packed[static_cast<std::size_t>((b * seq + r) * expected.view.cols + c)],
                      expected.at(b * pitch + r, c), 1e-12)
              << what;
  };
  expect_rows(d_query, dq, p.block.seq_q, p.block.q_pitch, "query");
  expect_rows(d_key, dk, p.block.seq_kv, p.block.kv_pitch, "key");
  expect_rows(d_value, dv, p.block.seq_kv, p.block.kv_pitch, "value");

  // The same, put where the rows of other matrices are.
  Matrix placed_q{p.rows, dq.view.cols, 3, 11}, placed_k{p.rows, dk.view.cols, 1, 12},
      placed_v{p.rows, dv.view.cols, 2, 13};
  const Matrix before = placed_q;
  AttentionShape placed = shape;
  placed.dq_row = placed_q.view.stride, placed.dk_row = placed_k.view.stride,
  placed.dv_row = placed_v.view.stride;
  memory[Port::QueryGradient] = placed_q.data.data(), memory[Port::KeyGradient] = placed_k.data.data(),
  memory[Port::ValueGradient] = placed_v.data.data();
  const AttentionGraph to_rows = backward_graph(placed);
  Interpreter{to_rows, memory}.run();
  const auto expect_placed = [&](const Matrix& found, const Matrix& expected, std::int64_t seq,
                                 std::int64_t pitch, const char* what) {
    for (std::int64_t b = 0; b < p.block.batch; ++b)
      for (std::int64_t r = b * pitch; r < b * pitch + seq; ++r)
        for (std::int64_t c = 0; c < expected.view.cols; ++c)
          EXPECT_NEAR(found.at(r, c), expected.at(r, c), 1e-12) << what;
  };
  expect_placed(placed_q, dq, p.block.seq_q, p.block.q_pitch, "query");
  expect_placed(placed_k, dk, p.block.seq_kv, p.block.kv_pitch, "key");
  expect_placed(placed_v, dv, p.block.seq_kv, p.block.kv_pitch, "value");
  for (std::int64_t c = dq.view.cols; c < placed_q.view.stride; ++c)
    EXPECT_EQ(placed_q.at(0, c), before.at(0, c)) << "columns beside it are left alone";
}

INSTANTIATE_TEST_SUITE_P(blocks, AttentionGraphs,
                         testing::Values(Case{"causal_grouped", block(4, 2, 6, 6, true), 14, 24},
                                         Case{"causal_one_key_per_query", block(3, 3, 6, 6, true), 14, 22},
                                         Case{"causal_two_sequences", block(4, 1, 5, 5, true, 0, 2), 14, 24},
                                         Case{"ring_step_of_short_keys", block(4, 2, 6, 3, false), 10, 20},
                                         Case{"ring_step_of_short_queries", block(2, 2, 3, 6, false, 0, 2),
                                              10, 18},
                                         Case{"window", block(4, 2, 6, 6, true, 2), 19, 29}),
                         [](const auto& tested) { return tested.param.name; });

TEST(attention_graph, there_is_none_for_masks_that_the_graph_cannot_say) {
  AttentionShape shape{.seq_q = 4, .seq_kv = 8};
  EXPECT_FALSE(has_graph(shape)) << "causal, aligned with the last key";
  shape.causal = false;
  EXPECT_TRUE(has_graph(shape));
  shape.window = 2;
  EXPECT_FALSE(has_graph(shape)) << "a window without a causal mask";
}

TEST(attention_graph, a_window_as_long_as_the_sequence_is_no_window) {
  const View any;
  EXPECT_EQ(shape_of(block(2, 2, 6, 6, true, 6), any, any, any, any).window, 0);
  EXPECT_EQ(shape_of(block(2, 2, 6, 6, true, 5), any, any, any, any).window, 5);
}

}  // namespace
}  // namespace hexaplan::validator::cuda
