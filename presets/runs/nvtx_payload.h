#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "presets/runs/sqlite_file.h"

namespace hexaplan::presets {

/// What NCCL says of a call in the payload of its NVTX range (NVIDIA/nccl
/// src/include/nvtx_payload_schemas.h).
struct NcclPayload {
  std::uint64_t communicator = 0;
  std::optional<double> bytes;              // "Message size": of one rank's input, or what it receives
  std::optional<std::int64_t> ranks, rank;  // of calls that make a communicator
  std::optional<std::int64_t> peer;         // of sends and receives
};

/// How an export of Nsight Systems lays the payloads of NVTX ranges out: a header of four little-endian
/// 64-bit words (domain, schema, size and one more), then the fields at the offsets of
/// NVTX_PAYLOAD_SCHEMA_ENTRIES. Programs of others that read the same blobs agree on it
/// (nsys_ai/skills/builtins/nccl_payload_breakdown.py, nsys_ai/nccl_communicator.py).
class NvtxPayloads {
 public:
  /// Without the table, and for schemas without a communicator, nothing is ever decoded.
  explicit NvtxPayloads(SqliteFile& file);

  /// Nothing where the bytes are too few, or of another schema.
  [[nodiscard]] std::optional<NcclPayload> decode(std::string_view bytes) const;

 private:
  struct Field {
    std::uint64_t offset = 0;
    int bytes = 0;
  };
  struct Schema {
    std::optional<Field> communicator, bytes, ranks, rank, peer;
  };
  std::map<std::pair<std::uint64_t, std::uint64_t>, Schema> schemas_;  // by domain and schema
};

}  // namespace hexaplan::presets
