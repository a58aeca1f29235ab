#include "validator/executor/parallel/context.h"

namespace hexaplan::validator {
namespace {

using costmodel::ContextKind;
using costmodel::Layout;

/// Elements per token of the rank's keys. Latent attention makes keys and values of every head.
std::int64_t key_width(const Rank& rank) {
  const bool latent = rank.scenario.model.attention.kind == costmodel::AttentionKind::Latent;
  return latent ? rank.dims.q : rank.dims.k;
}

}  // namespace

std::vector<std::int32_t> local_positions(const Rank& rank) {
  const Layout& layout = rank.scenario.layout;
  const bool whole_pieces = layout.cp == 1 || layout.context == ContextKind::AllToAll;
  const auto chunks = static_cast<std::int32_t>(whole_pieces ? layout.cp : 2 * layout.cp);
  const auto length = static_cast<std::int32_t>(rank.dims.sequence / chunks);
  std::vector<std::int32_t> positions;
  const auto add_chunk = [&](std::int32_t chunk) {
    for (std::int32_t i = 0; i < length; ++i) positions.push_back(chunk * length + i);
  };
  const auto place = static_cast<std::int32_t>(rank.groups.context->rank());
  add_chunk(place);
  if (!whole_pieces) add_chunk(chunks - 1 - place);
  return positions;
}

QueryKeyValue projections(const Rank& rank, const View& joint) {
  const costmodel::LocalDims& d = rank.dims;
  return {joint.column_range(0, d.q), joint.column_range(d.q, d.k), joint.column_range(d.q + d.k, d.v)};
}

QueryKeyValue projections(const Rank& rank, const View& query, const View& key_value) {
  const KeyValue parts = unpacked(rank, key_value);
  return {query, parts.key, parts.value};
}

KeyValue unpacked(const Rank& rank, const View& packed) {
  const std::int64_t keys = key_width(rank);
  return {packed.column_range(0, keys), packed.column_range(keys, packed.cols - keys)};
}

void pack(const Rank& rank, const KeyValue& in, const View& packed) {
  const KeyValue parts = unpacked(rank, packed);
  rank.device.copy(parts.key, in.key);
  rank.device.copy(parts.value, in.value);
}

void add_unpacked(const Rank& rank, const View& packed, const KeyValue& d) {
  const KeyValue parts = unpacked(rank, packed);
  rank.device.add(d.key, parts.key);
  rank.device.add(d.value, parts.value);
}

void Ring::pass_on(std::initializer_list<Passed> buffers, const Call& call) const {
  const int next = (group.rank() + 1) % size();
  std::vector<Outgoing> sends;
  std::vector<Incoming> receives;
  for (const Passed& buffer : buffers) {
    sends.push_back({next, wire(buffer.leaving)});
    receives.push_back({source(1), wire(buffer.arriving)});
  }
  group.exchange(sends, receives, call).wait();
}

}  // namespace hexaplan::validator
