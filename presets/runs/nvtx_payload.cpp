#include "presets/runs/nvtx_payload.h"

#include <algorithm>
#include <iterator>

namespace hexaplan::presets {
namespace {

constexpr std::string_view kTable = "NVTX_PAYLOAD_SCHEMA_ENTRIES";
constexpr std::size_t kHeader = 32;

/// Whole numbers of a payload, by NVTX_PAYLOAD_ENTRY_TYPE_* (nvtx3/nvToolsExtPayload.h), on 64-bit Linux.
struct WholeType {
  std::int64_t type;
  int bytes;
};
constexpr WholeType kWholeTypes[] = {{5, 4},  {6, 4},  {7, 8},  {8, 8},  {9, 8}, {10, 8},
                                     {15, 4}, {16, 4}, {17, 8}, {18, 8}, {22, 8}};

int bytes_of_entry(std::int64_t type) {
  const auto found = std::find_if(std::begin(kWholeTypes), std::end(kWholeTypes),
                                  [&](const WholeType& row) { return row.type == type; });
  return found == std::end(kWholeTypes) ? 0 : found->bytes;
}

/// `count` bytes from `offset`, the least significant first; nothing beyond the end.
std::optional<std::uint64_t> little_endian(std::string_view bytes, std::uint64_t offset, int count) {
  const auto size = static_cast<std::uint64_t>(count);
  if (offset > bytes.size() || bytes.size() - offset < size) return std::nullopt;
  std::uint64_t value = 0;
  for (std::uint64_t i = size; i-- > 0;) value = value << 8U | static_cast<unsigned char>(bytes[offset + i]);
  return value;
}

}  // namespace

NvtxPayloads::NvtxPayloads(SqliteFile& file) {
  if (!file.has_table(kTable)) return;
  struct Label {
    std::string_view name;
    std::optional<Field> Schema::*field;
  };
  constexpr Label kLabels[] = {{"NCCL communicator ID", &Schema::communicator},
                               {"Message size [bytes]", &Schema::bytes},
                               {"No. of ranks", &Schema::ranks},
                               {"Rank", &Schema::rank},
                               {"Peer rank", &Schema::peer}};
  SqliteRows rows{file, "SELECT domainId, schemaId, type, name, \"offset\" FROM NVTX_PAYLOAD_SCHEMA_ENTRIES"};
  while (rows.next()) {
    const int bytes = bytes_of_entry(rows.integer(2));
    const std::string_view name = rows.text(3);
    const auto label = std::find_if(std::begin(kLabels), std::end(kLabels),
                                    [&](const Label& row) { return row.name == name; });
    if (label == std::end(kLabels) || bytes == 0 || rows.integer(4) < 0) continue;
    const std::pair key{static_cast<std::uint64_t>(rows.integer(0)),
                        static_cast<std::uint64_t>(rows.integer(1))};
    // The first field's offset is null in the table.
    schemas_[key].*(label->field) = Field{static_cast<std::uint64_t>(rows.integer(4)), bytes};
  }
}

std::optional<NcclPayload> NvtxPayloads::decode(std::string_view bytes) const {
  const auto domain = little_endian(bytes, 0, 8), id = little_endian(bytes, 8, 8);
  if (!domain || !id || bytes.size() < kHeader) return std::nullopt;
  const auto schema = schemas_.find({*domain, *id});
  if (schema == schemas_.end() || !schema->second.communicator) return std::nullopt;
  const std::string_view payload = bytes.substr(kHeader);
  const auto value = [&](const std::optional<Field>& field) {
    return field ? little_endian(payload, field->offset, field->bytes) : std::nullopt;
  };
  constexpr std::uint64_t kLargestGroup = 1'000'000'000, kLargestMessage = 1ULL << 50U;
  const auto small = [&](const std::optional<Field>& field) {
    const auto number = value(field);
    return number && *number < kLargestGroup ? std::optional{static_cast<std::int64_t>(*number)}
                                             : std::nullopt;
  };
  const auto communicator = value(schema->second.communicator), size = value(schema->second.bytes);
  if (!communicator) return std::nullopt;
  NcclPayload out{.communicator = *communicator,
                  .bytes = {},
                  .ranks = small(schema->second.ranks),
                  .rank = small(schema->second.rank),
                  .peer = small(schema->second.peer)};
  if (size && *size <= kLargestMessage) out.bytes = static_cast<double>(*size);
  return out;
}

}  // namespace hexaplan::presets
