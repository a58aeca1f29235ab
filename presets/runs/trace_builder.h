#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "presets/runs/device_trace.h"

namespace hexaplan::presets {

/// A kernel, a copy or a message on the device, as a file has it; microseconds.
struct DeviceEvent {
  std::string_view name;
  double start = 0, duration = 0;
  KernelKind kind = KernelKind::Other;
  std::int64_t stream = 0;
  std::int64_t operation = -1;    // operator that launched it; -1: not said
  std::int64_t correlation = -1;  // with its launch
};

/// From where something was launched: a thread of the host, and when.
struct TraceLaunch {
  std::int64_t correlation = -1, thread = 0;
  double start = 0;
};

/// The product that an operator of PyTorch computes ("aten::addmm"), by the dimensions of its inputs; nothing
/// where it is none, or its dimensions are none of a product.
[[nodiscard]] std::optional<TraceGemm> product_of_operator(
    std::string_view name, const std::vector<std::vector<std::int64_t>>& input_dims);
/// Kind of a collective from its kernel: "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(…)" → "AllReduce".
[[nodiscard]] std::string message_of_kernel(std::string_view name);

/// Puts what a file has of one device where it belongs.
class TraceBuilder {
 public:
  explicit TraceBuilder(DeviceTrace& trace) : trace_{trace} {}

  /// InputError when there are more than kMostTraceKernels.
  void add(const DeviceEvent& event);
  void add_message(const DeviceEvent& event, TraceMessage message);
  void add_launch(const TraceLaunch& launch);
  /// What `thread` launches from `start` to `end` is this product.
  void add_product(std::int64_t operation, TraceGemm gemm, std::int64_t thread, double start, double end);
  void add_step(const TraceStep& step);

  /// Sorts what was added. Kernels of products that do not name their operator find it by the thread and the
  /// time of their launch.
  void finish();

 private:
  /// An operator of a product: what lies between its start and its end on its thread, it launched.
  struct ProductSpan {
    std::int64_t thread;
    double start, end;
    std::int64_t operation;
  };
  TraceKernel& keep(const DeviceEvent& event);
  [[nodiscard]] std::int32_t name_index(std::string_view name);
  [[nodiscard]] std::int32_t stream_index(std::int64_t stream);
  void find_operators();
  [[nodiscard]] std::optional<std::int64_t> operator_of(std::int64_t correlation) const;

  DeviceTrace& trace_;
  std::map<TraceMessage, std::size_t> message_indices_;
  std::unordered_map<std::string, std::int32_t> name_indices_;
  std::map<std::int64_t, std::int32_t> stream_indices_;
  std::vector<TraceLaunch> launches_;
  std::vector<ProductSpan> spans_;
  std::vector<std::pair<std::size_t, std::int64_t>> correlations_;  // of kernels of products
};

}  // namespace hexaplan::presets
