#pragma once
#include <cstdint>

namespace hexaplan::costmodel {

/// Whose fused attention kernels run, fastest first.
enum class AttentionLibrary : std::uint8_t {
  Vendor,           // the fastest for the GPU: cuDNN 9, FlashAttention-3
  FlashAttention2,  // portable: FlashAttention-2, PyTorch's flash backend
  FlashAttention1,  // the first generation and its Triton version (2022-2023)
};

}  // namespace hexaplan::costmodel
