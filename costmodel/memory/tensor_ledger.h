#pragma once
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "costmodel/spec/dtype.h"
#include "costmodel/units/quantity.h"

namespace hexaplan::costmodel {

enum class TensorKind : std::uint8_t {
  Parameter,
  Gradient,
  OptimizerState,
  Activation,
  Logits,
  Transient,
  Communication,
  Overhead,
  Cached,  // reserved by the caching allocator, no tensor: of a peak, never of a ledger
};
inline constexpr int kTensorKinds = 9;

/// Instants of a step at which a rank's memory can peak. A tensor is alive at a set of them.
enum Instant : std::uint8_t {
  kForward = 1 << 0,       // most micro-batches in flight, a forward running
  kLoss = 1 << 1,          // cross-entropy over the logits, last stage
  kHeadBackward = 1 << 2,  // gradient of the output layer, last stage
  kBackward = 1 << 3,      // most micro-batches in flight, the first backward of a layer running
  kOptimizer = 1 << 4,     // after the last backward: gradients complete, optimizer step
  kIdle = 1 << 5,          // between steps
};
inline constexpr int kInstants = 6;
/// Position of `instant` among the kInstants.
[[nodiscard]] constexpr std::size_t index_of(Instant instant) {
  return static_cast<std::size_t>(std::countr_zero(static_cast<unsigned>(instant)));
}
inline constexpr std::uint8_t kInPasses = kForward | kLoss | kHeadBackward | kBackward;
inline constexpr std::uint8_t kAlways = kInPasses | kOptimizer | kIdle;
[[nodiscard]] constexpr Instant instant_at(int index) {
  return static_cast<Instant>(1 << index);
}
/// "forward", "loss", "head backward", "backward", "optimizer step", "between steps".
[[nodiscard]] std::string_view name_of(Instant instant);

/// One kind of allocation on one rank: `count` equal tensors. The estimator sums the ledger, the validator
/// allocates it, the GUI shows it as a tree.
struct TensorEntry {
  std::string_view name;     // "attention.qkv.weight"; static storage
  std::string_view formula;  // docs/formulas.md anchor: where the size comes from
  TensorKind kind = TensorKind::Parameter;
  DType dtype = DType::Bf16;
  std::uint8_t alive = kAlways;  // Instant bits
  std::int8_t layer_class = -1;  // index_of(LayerClass); -1: not of a layer
  double elements = 0;           // whole numbers unless a framework's rule is a share (bucket fractions)
  double count = 1;              // layers × micro-batches in flight × copies
  [[nodiscard]] Bytes size() const { return Bytes{elements * count * bytes_per_element(dtype)}; }
};
using TensorLedger = std::vector<TensorEntry>;
/// Of all entries, whenever they are alive.
[[nodiscard]] Bytes size_of(const TensorLedger& ledger);

struct MemoryBreakdown {
  Bytes parameters, gradients, optimizer, activations, logits, transient, communication, overhead, cached;
  friend bool operator==(const MemoryBreakdown&, const MemoryBreakdown&) = default;

  [[nodiscard]] constexpr Bytes& of(TensorKind kind);
  [[nodiscard]] constexpr Bytes of(TensorKind kind) const;
  /// Live tensors of the framework's allocator (torch.cuda.max_memory_allocated): no overhead, no
  /// communicators.
  [[nodiscard]] constexpr Bytes allocated() const {
    return parameters + gradients + optimizer + activations + logits + transient;
  }
  [[nodiscard]] constexpr Bytes total() const { return allocated() + communication + overhead + cached; }
};
inline constexpr std::array<Bytes MemoryBreakdown::*, kTensorKinds> kBreakdownMembers = {
    &MemoryBreakdown::parameters,    &MemoryBreakdown::gradients, &MemoryBreakdown::optimizer,
    &MemoryBreakdown::activations,   &MemoryBreakdown::logits,    &MemoryBreakdown::transient,
    &MemoryBreakdown::communication, &MemoryBreakdown::overhead,  &MemoryBreakdown::cached};  // by TensorKind
constexpr Bytes& MemoryBreakdown::of(TensorKind kind) {
  return this->*kBreakdownMembers[static_cast<std::size_t>(kind)];
}
constexpr Bytes MemoryBreakdown::of(TensorKind kind) const {
  return this->*kBreakdownMembers[static_cast<std::size_t>(kind)];
}

/// Sum of the entries alive at `instant`, by kind.
[[nodiscard]] MemoryBreakdown sum_alive(const TensorLedger& ledger, Instant instant);

}  // namespace hexaplan::costmodel
