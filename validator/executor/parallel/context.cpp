#include "validator/executor/parallel/context.h"

namespace hexaplan::validator {
namespace {

using costmodel::ContextKind;
using costmodel::Layout;

/// How many of `columns` of packed keys and values, of all heads of the rank or a share of them, are keys'.
/// Latent attention makes keys and values of every head.
std::int64_t key_columns(const Rank& rank, std::int64_t columns) {
  const costmodel::LocalDims& d = rank.dims;
  const bool latent = rank.scenario.model.attention.kind == costmodel::AttentionKind::Latent;
  const std::int64_t keys = latent ? d.q : d.k, values = latent ? d.o : d.v;
  return columns * keys / (keys + values);
}

/// Rows that a rank's part of a micro-batch's sequence `b` has, in what is exchanged.
struct TokenPart {
  std::int64_t own = 0, whole = 0;  // first row among the rank's tokens, and among all of them
};
TokenPart token_part(const Rank& rank, std::int64_t sequence, int source) {
  const std::int64_t rows = rank.dims.local_sequence;
  return {sequence * rows, (sequence * rank.groups.context->size() + source) * rows};
}

/// Calls visit(part of `of_tokens` that goes to rank r, where it lies in the message) for all ranks and
/// column blocks.
template <class Visitor>
void for_each_share(const Rank& rank, std::span<const std::int64_t> widths, const View& message,
                    const View& of_tokens, const Visitor& visit) {
  const int ranks = rank.groups.context->size();
  for (int r = 0; r < ranks; ++r) {
    const View rows = message.row_range(r * rank.dims.tokens, rank.dims.tokens);
    std::int64_t first = 0, packed = 0;
    for (const std::int64_t width : widths) {
      const std::int64_t share = width / ranks;
      visit(of_tokens.column_range(first + r * share, share), rows.column_range(packed, share));
      first += width;
      packed += share;
    }
  }
}

/// Calls visit(rows of `of_heads`, where they lie in the message) for the tokens of every rank.
template <class Visitor>
void for_each_token_part(const Rank& rank, const View& message, const View& of_heads, const Visitor& visit) {
  const std::int64_t rows = rank.dims.local_sequence;
  for (int r = 0; r < rank.groups.context->size(); ++r) {
    for (std::int64_t b = 0; b < rank.dims.micro_batch; ++b) {
      const TokenPart part = token_part(rank, b, r);
      visit(of_heads.row_range(part.whole, rows), message.row_range(r * rank.dims.tokens + part.own, rows));
    }
  }
}

/// Two messages' room: what leaves and what arrives, c·N × columns/c each.
struct Exchange {
  Exchange(const Rank& rank, const View& value)
      : leaving{rank.device.allocate_message(value.element, value.elements())},
        arriving{rank.device.allocate_message(value.element, value.elements())},
        ranks{rank.groups.context->size()},
        rows{value.rows * ranks} {}
  [[nodiscard]] View sent() const { return leaving.view().reshaped(rows, leaving.view().elements() / rows); }
  [[nodiscard]] View received() const {
    return arriving.view().reshaped(rows, arriving.view().elements() / rows);
  }
  Tensor leaving, arriving;
  int ranks;
  std::int64_t rows;
};

}  // namespace

int head_shares(const Rank& rank) {
  const Layout& layout = rank.scenario.layout;
  return layout.context == ContextKind::AllToAll ? layout.cp : 1;
}

View of_own_heads(const Rank& rank, const View& value) {
  const int shares = head_shares(rank);
  return shares == 1 ? value : value.reshaped(value.rows * shares, value.cols / shares);
}

void gather_tokens(const Rank& rank, std::span<const std::int64_t> widths, const View& of_tokens,
                   const View& of_heads, const Call& call) {
  const Exchange exchange{rank, of_tokens};
  for_each_share(rank, widths, exchange.sent(), of_tokens,
                 [&](const View& own, const View& packed) { rank.device.copy(packed, own); });
  rank.groups.context->all_to_all(wire(exchange.sent()), wire(exchange.received()), call).wait();
  for_each_token_part(rank, exchange.received(), of_own_heads(rank, of_heads),
                      [&](const View& whole, const View& packed) { rank.device.copy(whole, packed); });
}

void gather_heads(const Rank& rank, std::span<const std::int64_t> widths, const View& of_heads,
                  const View& of_tokens, const Call& call) {
  const Exchange exchange{rank, of_tokens};
  for_each_token_part(rank, exchange.sent(), of_own_heads(rank, of_heads),
                      [&](const View& whole, const View& packed) { rank.device.copy(packed, whole); });
  rank.groups.context->all_to_all(wire(exchange.sent()), wire(exchange.received()), call).wait();
  for_each_share(rank, widths, exchange.received(), of_tokens,
                 [&](const View& own, const View& packed) { rank.device.copy(own, packed); });
}

std::vector<std::int32_t> positions_of(const Layout& layout, std::int64_t sequence, int place) {
  const bool whole_pieces = layout.cp == 1 || layout.context == ContextKind::AllToAll;
  const auto chunks = static_cast<std::int32_t>(whole_pieces ? layout.cp : 2 * layout.cp);
  const auto length = static_cast<std::int32_t>(sequence / chunks);
  std::vector<std::int32_t> positions;
  const auto add_chunk = [&](std::int32_t chunk) {
    for (std::int32_t i = 0; i < length; ++i) positions.push_back(chunk * length + i);
  };
  add_chunk(place);
  if (!whole_pieces) add_chunk(chunks - 1 - place);
  return positions;
}

std::vector<std::int32_t> local_positions(const Rank& rank) {
  return positions_of(rank.scenario.layout, rank.dims.sequence, rank.groups.context->rank());
}

QueryKeyValue projections(const Rank& rank, const View& joint) {
  const View heads = of_own_heads(rank, joint);
  const int shares = head_shares(rank);
  const std::int64_t q = rank.dims.q / shares, k = rank.dims.k / shares, v = rank.dims.v / shares;
  return {heads.column_range(0, q), heads.column_range(q, k), heads.column_range(q + k, v)};
}

QueryKeyValue projections(const Rank& rank, const View& query, const View& key_value) {
  const KeyValue parts = unpacked(rank, of_own_heads(rank, key_value));
  return {of_own_heads(rank, query), parts.key, parts.value};
}

KeyValue unpacked(const Rank& rank, const View& packed) {
  const std::int64_t keys = key_columns(rank, packed.cols);
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
