#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "costmodel/memory/tensor_ledger.h"
#include "costmodel/units/quantity.h"
#include "presets/json/object_reader.h"

namespace hexaplan::presets {

/// Equal tensors that a framework holds when the first forward pass of a step has ended, beside its states.
struct KeptTensor {
  std::optional<std::int64_t> layer;  // counted from 0; none: outside of the layers, or not said
  std::string module;                 // "model.layers.*.mlp.up_proj": paths have * for the layer's number
  std::string operation;              // that made it: "mm", "cast of a parameter"
  std::string dtype;                  // "bf16"
  std::int64_t elements = 0, count = 0;
  [[nodiscard]] costmodel::Bytes size() const;
};

/// Collectives of one kind and type over groups of one size in one pass of a rank's step.
struct SentMessages {
  std::string phase;  // "forward", "backward": what is recomputed belongs to backward
  std::string kind;   // "all_gather"
  std::int64_t group = 0;
  std::string dtype;
  std::optional<std::int64_t> calls;  // none: the script does not see how they are cut
  std::int64_t bytes = 0;
};

/// Most bytes that were alive at each instant of a step, by index_of(Instant); none where nothing was seen.
using InstantPeaks = std::array<std::optional<costmodel::Bytes>, costmodel::kInstants>;

/// What one rank of a framework was seen to keep, send and compute in a step, without a GPU
/// (scripts/oracle/live_bytes.py says what is not seen).
struct FrameworkStep {
  std::vector<std::pair<std::string, std::string>> versions;  // "torch", "2.15.0"
  std::int64_t parameters = 0;                                // of the model
  std::int64_t trained_parameters = 0;
  costmodel::Bytes parameter_bytes, gradient_bytes, optimizer_bytes;  // of the rank, at the end of backward
  std::vector<KeptTensor> kept;
  InstantPeaks peaks;
  std::vector<SentMessages> messages;
  std::optional<costmodel::Flops> flops;  // attention in full, recomputation excluded
};

/// Bytes of one element of PyTorch's `dtype`; none for a word that the scripts do not write.
[[nodiscard]] std::optional<double> bytes_of_torch_type(std::string_view dtype);

/// Parts of an answer, which the recorded ones in tests/golden/oracle have as well.
[[nodiscard]] KeptTensor read_kept_tensor(ObjectReader row);
[[nodiscard]] InstantPeaks read_instant_peaks(ObjectReader phases);
[[nodiscard]] SentMessages read_messages(ObjectReader row);

/// An answer of scripts/oracle/answer.py: hexaplan/oracle-answer/1. InputError for anything else, and for
/// what the script found missing.
[[nodiscard]] FrameworkStep read_framework_step(const JsonDocument& document);

}  // namespace hexaplan::presets
