#pragma once
#include <array>
#include <cstdint>
#include <string_view>

#include "costmodel/units/quantity.h"

namespace hexaplan::validator {

/// What a device's calls are told apart by when their time is added up: every call belongs to one.
enum class ComputeKind : std::uint8_t {
  Gemm,
  GroupedGemm,
  Attention,
  Norm,
  Rope,
  Activation,
  Embedding,
  Loss,
  Routing,
  Elementwise,
  Optimizer,
  GradientNorm,
  Copy,
  Messages,  // on the communication stream: what ranks send, or what stands for it
};
inline constexpr int kComputeKinds = 14;
/// "matrix products", "norm", …
[[nodiscard]] std::string_view name_of(ComputeKind kind);

struct ComputeTime {
  std::int64_t calls = 0;
  costmodel::Seconds time;  // on the compute stream; Messages: on their own
};
using ComputeTimes = std::array<ComputeTime, kComputeKinds>;  // by ComputeKind

}  // namespace hexaplan::validator
