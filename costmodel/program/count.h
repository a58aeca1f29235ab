#pragma once
#include <array>
#include <vector>

#include "costmodel/program/ops.h"
#include "costmodel/program/sizes.h"

namespace hexaplan::costmodel::program {

/// Messages of one operation; `payload` of each as CollectiveKind counts it.
struct CountedMessage {
  Site site = Site::Gradients;
  Pass pass = Pass::Forward;
  bool recomputed = false;
  CollectiveKind kind = CollectiveKind::AllReduce;
  Group group = Group::Tensor;
  Bytes payload;
  int times = 1;
  friend bool operator==(const CountedMessage&, const CountedMessage&) = default;
};

/// What a program does for one micro-batch.
struct Counts {
  struct OfSite {
    std::array<Flops, 3> passes;  // forward, input gradients, weight gradients
    Flops recomputed;             // recomputation, beside them
  };
  std::array<OfSite, position(Site::Count)> sites{};
  std::array<OfSite, kAdapterSides> adapters{};  // products beside those of the sites, by AdapterSide
  std::vector<CountedMessage> messages;          // in order of execution
  Bytes kept;  // alive between forward and backward, without the program's output
  [[nodiscard]] Flops flops(Pass pass) const;
};
/// `windowed`: of a layer with a sliding window.
[[nodiscard]] Counts count(const Program& program, const Sizes& sizes, bool windowed = false);
/// Of one operation.
[[nodiscard]] Flops flops_of(const Program& program, const Op& op, const Sizes& sizes, bool windowed);
/// Bytes that the operation reads and writes when nothing stays in a cache: operands, results, its matrix
/// in the activation's type.
[[nodiscard]] Bytes traffic_of(const Program& program, const Op& op, const Sizes& sizes);

}  // namespace hexaplan::costmodel::program
