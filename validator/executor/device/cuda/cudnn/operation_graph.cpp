#include "validator/executor/device/cuda/cudnn/operation_graph.h"

#include <algorithm>
#include <iterator>
#include <string>

namespace hexaplan::validator::cudnn {
namespace {

using cuda::GraphNode;
using cuda::GraphOp;
using cuda::GraphType;
using cuda::TensorPlace;

/// cuDNN's engines ask for 16 bytes.
constexpr std::int64_t kAlignment = 16;

cudnnDataType_t data_type(GraphType type) {
  switch (type) {
    case GraphType::Bf16:
      return CUDNN_DATA_BFLOAT16;
    case GraphType::Int32:
      return CUDNN_DATA_INT32;
    case GraphType::Boolean:
      return CUDNN_DATA_BOOLEAN;
    case GraphType::Fp32:
      break;
  }
  return CUDNN_DATA_FLOAT;
}

struct PointwiseRow {
  GraphOp op;
  cudnnPointwiseMode_t mode;
  std::int64_t axis = -1;  // of GEN_INDEX
};
constexpr PointwiseRow kPointwise[] = {
    {GraphOp::Multiply, CUDNN_POINTWISE_MUL},
    {GraphOp::Add, CUDNN_POINTWISE_ADD},
    {GraphOp::Subtract, CUDNN_POINTWISE_SUB},
    {GraphOp::Divide, CUDNN_POINTWISE_DIV},
    {GraphOp::Exp, CUDNN_POINTWISE_EXP},
    {GraphOp::Log, CUDNN_POINTWISE_LOG},
    {GraphOp::Identity, CUDNN_POINTWISE_IDENTITY},
    {GraphOp::RowIndex, CUDNN_POINTWISE_GEN_INDEX, 2},
    {GraphOp::ColumnIndex, CUDNN_POINTWISE_GEN_INDEX, 3},
    {GraphOp::GreaterEqual, CUDNN_POINTWISE_CMP_GE},
    {GraphOp::Greater, CUDNN_POINTWISE_CMP_GT},
    {GraphOp::Select, CUDNN_POINTWISE_BINARY_SELECT},
};

}  // namespace

OperationGraph::OperationGraph(const cuda::AttentionGraph& graph, cudnnHandle_t handle, const Descriptor* gpu)
    : graph_{CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR} {
  for (const cuda::GraphTensor& tensor : graph.tensors) add_tensor(tensor);
  for (const GraphNode& node : graph.nodes) add_node(node);
  std::vector<cudnnBackendDescriptor_t> raw;
  std::transform(operations_.begin(), operations_.end(), std::back_inserter(raw),
                 [](const Descriptor& operation) { return operation.raw(); });
  if (handle != nullptr) graph_.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, handle);
  graph_.set_all(CUDNN_ATTR_OPERATIONGRAPH_OPS, raw).finalise();
  ask_heuristics(gpu);
}

void OperationGraph::add_tensor(const cuda::GraphTensor& tensor) {
  Descriptor d{CUDNN_BACKEND_TENSOR_DESCRIPTOR};
  d.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, tensor.id)
      .set(CUDNN_ATTR_TENSOR_DATA_TYPE, data_type(tensor.type))
      .set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, kAlignment)
      .set(CUDNN_ATTR_TENSOR_DIMENSIONS, tensor.dims.data(), std::ssize(tensor.dims))
      .set(CUDNN_ATTR_TENSOR_STRIDES, tensor.strides.data(), std::ssize(tensor.strides));
  if (tensor.place == TensorPlace::Virtual) d.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, true);
  if (tensor.place == TensorPlace::Number) d.set(CUDNN_ATTR_TENSOR_IS_BY_VALUE, true);
  d.finalise();
  tensors_.push_back({tensor.id, std::move(d)});
}

void OperationGraph::add_node(const GraphNode& node) {
  if (node.op == GraphOp::Max || node.op == GraphOp::Sum) return add_reduction(node);
  if (node.op == GraphOp::MatMul) {
    Descriptor& product = keep(Descriptor{CUDNN_BACKEND_MATMUL_DESCRIPTOR});
    product.set(CUDNN_ATTR_MATMUL_COMP_TYPE, data_type(node.compute)).finalise();
    Descriptor operation{CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR};
    operation.set(CUDNN_ATTR_OPERATION_MATMUL_ADESC, tensor(node.x))
        .set(CUDNN_ATTR_OPERATION_MATMUL_BDESC, tensor(node.b))
        .set(CUDNN_ATTR_OPERATION_MATMUL_CDESC, tensor(node.y))
        .set(CUDNN_ATTR_OPERATION_MATMUL_DESC, product);
    operations_.push_back(std::move(operation.finalise()));
  } else if (node.op == GraphOp::Reshape) {
    Descriptor operation{CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR};
    operation.set(CUDNN_ATTR_OPERATION_RESHAPE_XDESC, tensor(node.x))
        .set(CUDNN_ATTR_OPERATION_RESHAPE_YDESC, tensor(node.y));
    operations_.push_back(std::move(operation.finalise()));
  } else {
    add_pointwise(node);
  }
}

void OperationGraph::add_pointwise(const GraphNode& node) {
  const auto* row = std::find_if(std::begin(kPointwise), std::end(kPointwise),
                                 [&](const PointwiseRow& candidate) { return candidate.op == node.op; });
  Descriptor& how = keep(Descriptor{CUDNN_BACKEND_POINTWISE_DESCRIPTOR});
  how.set(CUDNN_ATTR_POINTWISE_MODE, row->mode).set(CUDNN_ATTR_POINTWISE_MATH_PREC, data_type(node.compute));
  if (row->axis >= 0) how.set(CUDNN_ATTR_POINTWISE_AXIS, row->axis);
  how.finalise();
  Descriptor operation{CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR};
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, how)
      .set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, tensor(node.x));
  if (node.b != 0) operation.set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, tensor(node.b));
  if (node.t != 0) operation.set(CUDNN_ATTR_OPERATION_POINTWISE_TDESC, tensor(node.t));
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, tensor(node.y));
  operations_.push_back(std::move(operation.finalise()));
}

void OperationGraph::add_reduction(const GraphNode& node) {
  const cudnnReduceTensorOp_t op =
      node.op == GraphOp::Max ? CUDNN_REDUCE_TENSOR_MAX : CUDNN_REDUCE_TENSOR_ADD;
  Descriptor& how = keep(Descriptor{CUDNN_BACKEND_REDUCTION_DESCRIPTOR});
  how.set(CUDNN_ATTR_REDUCTION_OPERATOR, op)
      .set(CUDNN_ATTR_REDUCTION_COMP_TYPE, data_type(node.compute))
      .finalise();
  Descriptor operation{CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR};
  operation.set(CUDNN_ATTR_OPERATION_REDUCTION_XDESC, tensor(node.x))
      .set(CUDNN_ATTR_OPERATION_REDUCTION_YDESC, tensor(node.y))
      .set(CUDNN_ATTR_OPERATION_REDUCTION_DESC, how);
  operations_.push_back(std::move(operation.finalise()));
}

void OperationGraph::ask_heuristics(const Descriptor* gpu) {
  Descriptor heuristics{CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR};
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph_)
      .set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_HEUR_MODE_A);
  if (gpu != nullptr) heuristics.set(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, *gpu);
  heuristics.finalise();
  std::int64_t count = 0;
  HEXAPLAN_CUDNN(cudnnBackendGetAttribute(heuristics.raw(), CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                          CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, &count, nullptr));
  std::vector<cudnnBackendDescriptor_t> raw;
  for (std::int64_t i = 0; i < count; ++i) {
    configurations_.emplace_back(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    raw.push_back(configurations_.back().raw());
  }
  if (count == 0) return;
  HEXAPLAN_CUDNN(cudnnBackendGetAttribute(heuristics.raw(), CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                          CUDNN_TYPE_BACKEND_DESCRIPTOR, count, &count, raw.data()));
  configurations_.resize(static_cast<std::size_t>(count));
}

const Descriptor& OperationGraph::tensor(std::int64_t id) const {
  return std::find_if(tensors_.begin(), tensors_.end(), [&](const Tensor& t) { return t.id == id; })
      ->descriptor;
}

Descriptor& OperationGraph::keep(Descriptor descriptor) {
  return kept_.emplace_back(std::move(descriptor));
}

Descriptor described_gpu(std::string_view json) {
  const std::string text{json};  // cuDNN wants the terminating zero counted
  Descriptor gpu{CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR};
  gpu.set(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, text.c_str(),
          static_cast<std::int64_t>(text.size()) + 1);
  gpu.finalise();
  return gpu;
}

}  // namespace hexaplan::validator::cudnn
