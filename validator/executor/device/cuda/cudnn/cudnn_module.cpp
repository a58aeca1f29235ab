#include <cuda_runtime_api.h>
#include <cudnn.h>

#include <array>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include "validator/executor/device/cuda/attention_library.h"
#include "validator/executor/device/cuda/cudnn/operation_graph.h"

namespace hexaplan::validator {
namespace {

using cuda::Port;
using cudnn::Descriptor;
using cudnn::OperationGraph;

/// Versions before 9.10 prefer the lowest number to −∞ (NVIDIA/cudnn-frontend@3929da2,
/// utils/attn_score_modifiers.h).
constexpr std::size_t kTakesInfinity = 91000;
/// Versions before 9.6 add to the workspace of dQ (NVIDIA/cudnn-frontend@3929da2,
/// node/scaled_dot_product_flash_attention.h).
constexpr std::size_t kClearsQuerySum = 90600;

/// A graph with the first engine that takes it on this GPU.
struct Plan {
  OperationGraph graph;
  Descriptor plan;
  std::int64_t scratch_bytes = 0;
};

class CudnnEngine final : public AttentionEngine {
 public:
  explicit CudnnEngine(void* stream) {
    HEXAPLAN_CUDNN(cudnnCreate(&handle_));
    HEXAPLAN_CUDNN(cudnnSetStream(handle_, static_cast<cudaStream_t>(stream)));
  }
  CudnnEngine(const CudnnEngine&) = delete;
  CudnnEngine& operator=(const CudnnEngine&) = delete;
  ~CudnnEngine() override {
    plans_.clear();
    cudnnDestroy(handle_);
  }

  [[nodiscard]] std::optional<std::size_t> scratch_bytes(Direction direction,
                                                         const cuda::AttentionShape& shape) override {
    const Plan* plan = plan_for(direction, shape);
    if (plan == nullptr) return std::nullopt;
    return static_cast<std::size_t>(plan->scratch_bytes);
  }

  [[nodiscard]] bool adds_to_query_sum() const override { return cudnnGetVersion() < kClearsQuerySum; }

  void run(Direction direction, const cuda::AttentionShape& shape, double scale,
           std::span<const Binding> bindings, std::byte* scratch) override {
    const Plan* plan = plan_for(direction, shape);
    // Numbers are read while the call lasts.
    auto factor = static_cast<float>(scale), one = 1.F, window = static_cast<float>(shape.window);
    float masked = cudnnGetVersion() < kTakesInfinity ? std::numeric_limits<float>::lowest()
                                                      : -std::numeric_limits<float>::infinity();
    std::vector<std::int64_t> ids;
    std::vector<void*> data;
    const auto bind = [&](Port port, void* at) {
      ids.push_back(static_cast<std::int64_t>(port));
      data.push_back(at);
    };
    for (const Binding& binding : bindings) bind(binding.port, binding.data);
    bind(Port::Scale, &factor);
    if (shape.causal) bind(Port::Masked, &masked);
    if (shape.window > 0) bind(Port::Window, &window);
    if (direction == Direction::Backward) bind(Port::One, &one);
    void* workspace = scratch;
    Descriptor pack{CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR};
    pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, ids.data(), std::ssize(ids))
        .set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, data.data(), std::ssize(data))
        .set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, &workspace, 1)
        .finalise();
    HEXAPLAN_CUDNN(cudnnBackendExecute(handle_, plan->plan.raw(), pack.raw()));
  }

 private:
  /// nullptr where no engine takes the shape.
  const Plan* plan_for(Direction direction, const cuda::AttentionShape& shape) {
    const auto [found, is_new] = plans_.try_emplace({direction, shape});
    if (is_new && has_graph(shape)) {
      try {
        found->second = make_plan(direction, shape);
      } catch (const GpuError& error) {
        // Some forms are refused while the graph is built.
        if (!error.call().code.starts_with("CUDNN_STATUS_NOT_SUPPORTED")) throw;
      }
    }
    return found->second.get();
  }

  std::unique_ptr<Plan> make_plan(Direction direction, const cuda::AttentionShape& shape) {
    const cuda::AttentionGraph graph =
        direction == Direction::Forward ? forward_graph(shape) : backward_graph(shape);
    auto plan = std::make_unique<Plan>(Plan{OperationGraph{graph, handle_, nullptr}, {}, 0});
    for (const Descriptor& configuration : plan->graph.configurations()) {
      Descriptor candidate{CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR};
      candidate.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, handle_)
          .set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration);
      if (cudnnBackendFinalize(candidate.raw()) != CUDNN_STATUS_SUCCESS) continue;
      std::int64_t count = 0;
      HEXAPLAN_CUDNN(cudnnBackendGetAttribute(candidate.raw(), CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                                              CUDNN_TYPE_INT64, 1, &count, &plan->scratch_bytes));
      plan->plan = std::move(candidate);
      return plan;
    }
    return nullptr;
  }

  cudnnHandle_t handle_ = nullptr;
  std::map<std::pair<Direction, cuda::AttentionShape>, std::unique_ptr<Plan>> plans_;
};

class Cudnn final : public AttentionLibrary {
 public:
  [[nodiscard]] std::string name() const override {
    const std::size_t version = cudnnGetVersion();
    return "cuDNN " + std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
           std::to_string(version % 100);
  }
  [[nodiscard]] std::unique_ptr<AttentionEngine> make_engine(void* stream) override {
    return std::make_unique<CudnnEngine>(stream);
  }
  [[nodiscard]] std::vector<EngineOffer> offers(const cuda::AttentionGraph& graph,
                                                std::string_view gpu_json) override {
    const Descriptor gpu = cudnn::described_gpu(gpu_json);
    const OperationGraph operations{graph, nullptr, &gpu};
    std::vector<EngineOffer> offers;
    for (const Descriptor& configuration : operations.configurations()) {
      std::int64_t count = 0;
      HEXAPLAN_CUDNN(cudnnBackendGetAttribute(configuration.raw(), CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE,
                                              CUDNN_TYPE_INT64, 1, &count,
                                              &offers.emplace_back().workspace_bytes));
    }
    return offers;
  }
};

}  // namespace
}  // namespace hexaplan::validator

const hexaplan::validator::CudnnModule* hexaplan_cudnn() {
  using namespace hexaplan::validator;
  static Cudnn library;
  static const CudnnModule module{.library = [] { return static_cast<AttentionLibrary*>(&library); }};
  return &module;
}
