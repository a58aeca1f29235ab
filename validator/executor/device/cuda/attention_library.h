#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "validator/executor/device/cuda/attention_graph.h"

namespace hexaplan::validator {

/// One way of running a graph: nothing is known of it without a GPU but that it exists.
struct EngineOffer {
  std::int64_t workspace_bytes = 0;
};

/// Fused attention on one GPU and one stream. One thread uses it.
class AttentionEngine {
 public:
  AttentionEngine() = default;
  AttentionEngine(const AttentionEngine&) = delete;
  AttentionEngine& operator=(const AttentionEngine&) = delete;
  virtual ~AttentionEngine() = default;

  struct Binding {
    cuda::Port port = cuda::Port::Query;
    void* data = nullptr;
  };
  enum class Direction : std::uint8_t { Forward, Backward };

  /// Bytes of scratch, aligned to 256, that a block of this form takes; nothing where no engine of the
  /// library takes it. Plans are made once per form and kept.
  [[nodiscard]] virtual std::optional<std::size_t> scratch_bytes(Direction direction,
                                                                 const cuda::AttentionShape& shape) = 0;
  /// Whether backward adds to what is in Port::QuerySum, which then has to be zeros.
  [[nodiscard]] virtual bool adds_to_query_sum() const = 0;
  /// Puts the block on the stream. `bindings`: every port in memory of the direction's graph. Precondition:
  /// scratch_bytes gave a size. Throws GpuError.
  virtual void run(Direction direction, const cuda::AttentionShape& shape, double scale,
                   std::span<const Binding> bindings, std::byte* scratch) = 0;
};

/// cuDNN, as the module hexaplan_cudnn offers it.
class AttentionLibrary {
 public:
  virtual ~AttentionLibrary() = default;
  [[nodiscard]] virtual std::string name() const = 0;  // "cuDNN 9.19.0"
  /// On the calling thread's current GPU. Throws GpuError.
  [[nodiscard]] virtual std::unique_ptr<AttentionEngine> make_engine(void* stream) = 0;
  /// What the library offers for the graph on a GPU that need not be here, described by its JSON properties.
  /// Empty: it is not supported. Throws GpuError when the library cannot answer.
  [[nodiscard]] virtual std::vector<EngineOffer> offers(const cuda::AttentionGraph& graph,
                                                        std::string_view gpu_json) = 0;
};

/// What the program takes from the module hexaplan_cudnn, the only code compiled against cudnn.h.
struct CudnnModule {
  std::size_t size_of_graph = sizeof(cuda::AttentionGraph);  // guards against a module of another build
  AttentionLibrary* (*library)();                            // lives as long as the process
};

}  // namespace hexaplan::validator

/// The module's only symbol.
extern "C" const hexaplan::validator::CudnnModule* hexaplan_cudnn();
