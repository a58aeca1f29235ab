#pragma once
#include <array>
#include <cstddef>
#include <string_view>

#include "costmodel/memory/tensor_ledger.h"

namespace hexaplan::costmodel {

/// A kind of the ledger in words: the one table that files, tables and charts take them from.
struct MemoryKind {
  TensorKind kind;
  std::string_view key;   // in files and columns
  std::string_view name;  // for people
};

/// By TensorKind, in the order in which everything shows them.
inline constexpr std::array<MemoryKind, kTensorKinds> kMemoryKinds{{
    {TensorKind::Parameter, "parameters", "parameters"},
    {TensorKind::Gradient, "gradients", "gradients"},
    {TensorKind::OptimizerState, "optimizer", "optimizer states"},
    {TensorKind::Activation, "activations", "activations"},
    {TensorKind::Logits, "logits", "logits"},
    {TensorKind::Transient, "transient", "transient"},
    {TensorKind::Communication, "communication", "communication"},
    {TensorKind::Overhead, "overhead", "overhead"},
    {TensorKind::Cached, "cached", "cached"},
}};
static_assert(
    [] {
      for (std::size_t i = 0; i < kMemoryKinds.size(); ++i) {
        if (kMemoryKinds[i].kind != static_cast<TensorKind>(i)) return false;
      }
      return true;
    }(),
    "by TensorKind");

/// "optimizer".
[[nodiscard]] constexpr std::string_view key_of(TensorKind kind) {
  return kMemoryKinds[static_cast<std::size_t>(kind)].key;
}
/// "optimizer states".
[[nodiscard]] constexpr std::string_view name_of(TensorKind kind) {
  return kMemoryKinds[static_cast<std::size_t>(kind)].name;
}

}  // namespace hexaplan::costmodel
