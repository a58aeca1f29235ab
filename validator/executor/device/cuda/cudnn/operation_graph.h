#pragma once
#include <cudnn.h>

#include <string_view>
#include <vector>

#include "validator/executor/device/cuda/attention_graph.h"
#include "validator/executor/device/cuda/cudnn/descriptor.h"

namespace hexaplan::validator::cudnn {

/// An AttentionGraph in cuDNN's descriptors, and the engine configurations that its heuristics offer, best
/// first. Keeps everything alive that plans of it refer to.
class OperationGraph {
 public:
  /// For the GPU of `handle`, or for the one that `gpu` (a finalised device-properties descriptor) describes.
  OperationGraph(const cuda::AttentionGraph& graph, cudnnHandle_t handle, const Descriptor* gpu);
  [[nodiscard]] const std::vector<Descriptor>& configurations() const { return configurations_; }

 private:
  void add_tensor(const cuda::GraphTensor& tensor);
  void add_node(const cuda::GraphNode& node);
  void add_pointwise(const cuda::GraphNode& node);
  void add_reduction(const cuda::GraphNode& node);
  void ask_heuristics(const Descriptor* gpu);
  [[nodiscard]] const Descriptor& tensor(std::int64_t id) const;
  Descriptor& keep(Descriptor descriptor);

  struct Tensor {
    std::int64_t id = 0;
    Descriptor descriptor;
  };
  std::vector<Tensor> tensors_;
  std::vector<Descriptor> kept_;  // what operations are made of
  std::vector<Descriptor> operations_;
  Descriptor graph_;
  std::vector<Descriptor> configurations_;
};

/// Properties of a GPU that need not be here.
[[nodiscard]] Descriptor described_gpu(std::string_view json);

}  // namespace hexaplan::validator::cudnn
