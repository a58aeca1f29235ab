#pragma once
#include <cmath>
#include <cstdint>

#include "costmodel/spec/dtype.h"

namespace hexaplan::costmodel {

// How ZeRO++ (arXiv:2306.10209) sends numbers in fewer bits: those of a shard in blocks, of each of which the
// largest magnitude becomes half of the codes' range. DeepSpeed's symmetric format (csrc/includes/
// quantization_utils.h): scale = 2^(bits − 1) / largest, 1 of zeros; a code is the product with it rounded to
// nearest and cut to what bits hold; 1 / scale goes along in fp32. Two 4-bit codes share a byte.

/// Numbers of a block. "The optimal size is 4k" (DeepSpeed runtime/zero/partition_parameters.py,
/// CUDAQuantizer); a gradient's blocks are as long as its matrix is wide (runtime/comm/
/// coalesced_collectives.py, all_to_all_quant_reduce), which a flat buffer does not know.
inline constexpr int kQuantisedBlock = 4096;

/// Sizes of numbers that are sent in `bits`, for shards of `elements` numbers. A shard begins a byte and a
/// block.
struct QuantisedShards {
  int bits = 8;
  double elements = 0;
  double shards = 1;

  /// Of the codes and, one per block, of the scales.
  [[nodiscard]] double code_bytes() const { return shards * std::ceil(elements * bits / 8); }
  [[nodiscard]] double scale_bytes() const {
    return shards * std::ceil(elements / kQuantisedBlock) * bytes_per_element(DType::Fp32);
  }
  [[nodiscard]] double bytes() const { return code_bytes() + scale_bytes(); }
};
inline constexpr int kGatheredBits = 8;  // of parameters: qwZ, section 4.1
inline constexpr int kReducedBits = 4;   // of gradients: qgZ, section 4.3

}  // namespace hexaplan::costmodel
