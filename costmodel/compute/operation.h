#pragma once
#include <cstdint>
#include <string_view>

#include "costmodel/program/collective_kind.h"
#include "costmodel/program/pass.h"
#include "costmodel/spec/attention_library.h"
#include "costmodel/spec/dtype.h"
#include "costmodel/spec/rank_grid.h"
#include "costmodel/units/quantity.h"

namespace hexaplan::costmodel {

enum class OpKind : std::uint8_t {
  Gemm,
  GroupedGemm,
  Attention,
  MemoryBound,
  Scan,  // of a recurrence, chunk by chunk: products as small as a chunk, and what they read and write
  Collective,
  Copy,        // between the GPU and its host: `payload` over the host link
  HostUpdate,  // by the CPU: `bytes` of host memory (or of the node's disks) read and written
};

/// C[m,n] (+)= A[m,k]·B[k,n], `batch` times (grouped GEMM: one per local expert).
struct GemmShape {
  std::int64_t m = 0, n = 0, k = 0, batch = 1;
  /// Bytes per element of C that adding into it reads and writes: 8 for a weight gradient kept in fp32, 4 in
  /// bf16. 0: C is written only.
  double accumulate_bytes = 0;
  /// Largest power of two, up to 8, that divides the contiguous dimensions: tensor cores load 16 bytes at
  /// once.
  std::int64_t alignment = 8;
  /// Bytes per element of B where it is kept in fewer bits than the product runs in, whose kernel widens it
  /// as it reads (weight-only quantisation); 0: B has the product's type.
  double narrow_bytes = 0;
  [[nodiscard]] Flops flops() const {
    return Flops{2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k) *
                 static_cast<double>(batch)};
  }
};

/// softmax(QKᵀ)V of one rank. FLOPs count 2·(d_qk + d_v) per (query, key) pair that the mask keeps.
struct AttentionShape {
  std::int64_t batch = 1, heads = 0, kv_heads = 0;
  std::int64_t seq_q = 0, seq_kv = 0;  // local queries × keys they may see in all
  std::int64_t head_dim = 0, v_head_dim = 0;
  std::int64_t window = 0;  // 0 = full
  bool causal = true;
  bool dropout = false;  // of the scores
  /// (query, key) pairs per head and sequence. Zig-zag CP gives every rank s·s/(2c).
  double pairs = 0;
  double unmasked = 0;  // share of the pairs that lie in blocks without a mask, where `causal`
  AttentionLibrary library = AttentionLibrary::Vendor;
};

/// One step of a layer on one rank: what runs, how large, and over which group it talks. The estimator prices
/// it, the simulator schedules it, the validator executes it.
struct Operation {
  std::string_view name;  // "attention.qkv"; static storage
  OpKind kind = OpKind::MemoryBound;
  Pass pass = Pass::Forward;
  bool recomputed = false;  // runs again in backward under the recipe's recompute policy
  Precision precision = Precision::Bf16;
  GemmShape gemm;            // Gemm, GroupedGemm
  bool integers = false;     // … of signed 8-bit integers, whatever `precision` says
  AttentionShape attention;  // Attention
  Flops flops;               // model FLOPs as executed on this rank
  Bytes bytes;               // memory traffic
  bool update = false;       // MemoryBound: of the optimizer, whose rate is its own
  bool by_elements = false;  // Scan: numbers one by one rather than products of matrices
  double kernels = 1;        // launches
  double count = 1;          // times it runs (ring steps)
  CollectiveKind collective = CollectiveKind::AllReduce;
  Group group = Group::Tensor;
  bool on_disk = false;  // Copy, HostUpdate: the host's end is the node's disks
  double copies = 0;     // AllToAll of tokens: those of each that travel; 0 = not tokens
  Bytes payload;  // Collective: size of the full tensor, nccl-tests convention; SendRecv, Copy: bytes sent
  std::string_view formula;  // docs/formulas.md anchor, e.g. "C2"
};

}  // namespace hexaplan::costmodel
