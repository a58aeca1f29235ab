#include "validator/executor/parallel/context.h"

#include <array>
#include <cassert>
#include <utility>

#include "validator/executor/parallel/attention_blocks.h"

namespace hexaplan::validator {
namespace {

using costmodel::ContextKind;
using costmodel::DType;
using costmodel::Layout;
using costmodel::Pass;
using costmodel::TensorKind;

/// Keys and values side by side, as they travel: N × (k + v).
KeyValue unpacked(const Rank& rank, const View& packed) {
  return {packed.column_range(0, rank.dims.k), packed.column_range(rank.dims.k, rank.dims.v)};
}
Tensor packed(const Rank& rank, std::string_view name, const QueryKeyValue& in) {
  Tensor buffer = rank.transient(name, rank.dims.tokens, rank.dims.k + rank.dims.v);
  const KeyValue parts = unpacked(rank, buffer);
  rank.device.copy(parts.key, in.key);
  rank.device.copy(parts.value, in.value);
  return buffer;
}
void add_packed(const Rank& rank, const View& gradient, const QueryKeyValue& d) {
  const KeyValue parts = unpacked(rank, gradient);
  rank.device.add(d.key, parts.key);
  rank.device.add(d.value, parts.value);
}

// --- ring: step i works on the keys of the rank i places before; buffers move to the next rank ---

constexpr std::string_view kRing = "attention.ring";
constexpr std::string_view kRingBuffers = "attention.ring_buffers";

/// The context group as a ring.
struct Ring {
  explicit Ring(const Rank& of) : rank{of}, group{*of.groups.context} {}
  const Rank& rank;
  Communicator& group;

  [[nodiscard]] int size() const { return group.size(); }
  [[nodiscard]] int source(int step) const { return (group.rank() - step + size()) % size(); }
  [[nodiscard]] Tensor buffer() const {
    return rank.transient(kRingBuffers, rank.dims.tokens, rank.dims.k + rank.dims.v);
  }
  /// Hands every given buffer to the next rank and takes the previous rank's, in one message.
  void pass_on(std::initializer_list<Tensor*> buffers, std::string_view operation, Pass pass) const {
    const int next = (group.rank() + 1) % size();
    std::vector<Tensor> arrived;
    std::vector<Outgoing> sends;
    std::vector<Incoming> receives;
    for (Tensor* held : buffers) {
      arrived.push_back(buffer());
      sends.push_back({next, wire(held->view())});
      receives.push_back({source(1), wire(arrived.back().view())});
    }
    group.exchange(sends, receives, rank.call(operation, pass)).wait();
    std::size_t i = 0;
    for (Tensor* held : buffers) *held = std::move(arrived[i++]);
  }
};

void ring_forward(const Rank& rank, const QueryKeyValue& in, const BlockwiseForward& blocks) {
  const Ring ring{rank};
  Tensor held = packed(rank, kRingBuffers, in);
  for (int step = 1; step < ring.size(); ++step) {
    ring.pass_on({&held}, kRing, Pass::Forward);
    blocks.add(ring.source(step), unpacked(rank, held));
  }
}

/// Gradients of keys travel behind the keys and gain a share on every rank; from the last one they go home,
/// where the rank's own share waits. So keys are sent c − 1 times and gradients c − 1 times, in c messages:
/// the first has no gradients, the last nothing else (as in Transformer Engine's context_parallel.py).
void ring_backward(const Rank& rank, const QueryKeyValue& in, const QueryKeyValue& d,
                   const BlockwiseBackward& blocks) {
  const Ring ring{rank};
  Tensor keys = packed(rank, kRingBuffers, in);
  ring.pass_on({&keys}, kRing, Pass::BackwardData);
  Tensor gradients = ring.buffer();
  rank.device.fill(gradients, 0);
  for (int step = 1; step < ring.size(); ++step) {
    blocks.add(ring.source(step), unpacked(rank, keys), unpacked(rank, gradients));
    if (step + 1 < ring.size()) {
      ring.pass_on({&keys, &gradients}, kRing, Pass::BackwardData);
    } else {
      keys.free();
      ring.pass_on({&gradients}, kRing, Pass::BackwardData);
    }
  }
  add_packed(rank, gradients, d);
}

// --- all-gather: everybody's keys and values at once, rank after rank ---

constexpr std::string_view kGather = "attention.gather_kv";

Tensor gather(const Rank& rank, const QueryKeyValue& in, Pass pass) {
  Communicator& group = *rank.groups.context;
  const std::int64_t width = rank.dims.k + rank.dims.v;
  Tensor all = rank.transient("attention.gathered_kv", rank.dims.tokens * group.size(), width);
  const View own = all.view().row_range(rank.dims.tokens * group.rank(), rank.dims.tokens);
  rank.device.copy(own.column_range(0, rank.dims.k), in.key);
  rank.device.copy(own.column_range(rank.dims.k, rank.dims.v), in.value);
  group.all_gather(wire(own), wire(all), rank.call(kGather, pass)).wait();
  return all;
}
/// Part of rank `other` of everybody's.
KeyValue part(const Rank& rank, const View& all, int other) {
  return unpacked(rank, all.row_range(rank.dims.tokens * other, rank.dims.tokens));
}

void gathered_forward(const Rank& rank, const QueryKeyValue& in, const BlockwiseForward& blocks) {
  const Communicator& group = *rank.groups.context;
  const Tensor all = gather(rank, in, Pass::Forward);
  for (int other = 0; other < group.size(); ++other) {
    if (other != group.rank()) blocks.add(other, part(rank, all, other));
  }
}

/// Gathers again what forward did not keep; every rank's share of everybody's gradient is summed where the
/// keys are at home.
void gathered_backward(const Rank& rank, const QueryKeyValue& in, const QueryKeyValue& d,
                       const BlockwiseBackward& blocks) {
  Communicator& group = *rank.groups.context;
  Tensor all = gather(rank, in, Pass::BackwardData);
  const Tensor gradients = rank.transient("attention.gathered_kv_gradient", all.view().rows, all.view().cols);
  rank.device.fill(gradients, 0);
  for (int other = 0; other < group.size(); ++other) {
    if (other != group.rank()) blocks.add(other, part(rank, all, other), part(rank, gradients, other));
  }
  all.free();
  const Tensor own = rank.transient("attention.own_kv_gradient", rank.dims.tokens, gradients.view().cols);
  group.reduce_scatter(wire(gradients), wire(own), Reduction::Sum, rank.call(kGather, Pass::BackwardData))
      .wait();
  add_packed(rank, own, d);
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

void attend(const Rank& rank, const View& query, const View& key, const View& value, const View& output,
            const View& log_sum_exp) {
  const QueryKeyValue in{query, key, value};
  const BlockwiseForward blocks{rank, in, output, log_sum_exp};
  blocks.own();
  if (rank.scenario.layout.cp == 1) return;
  const bool ring = rank.scenario.layout.context == ContextKind::Ring;
  assert(ring || rank.scenario.layout.context == ContextKind::AllGather);
  ring ? ring_forward(rank, in, blocks) : gathered_forward(rank, in, blocks);
}

void attend_backward(const Rank& rank, const View& query, const View& key, const View& value,
                     const View& d_output, const View& log_sum_exp, const View& delta, const View& d_query,
                     const View& d_key, const View& d_value) {
  // Kernels add up the queries' gradient over blocks of keys in fp32.
  const Tensor sum = rank.device.allocate(
      {"attention.query_gradient_sum", TensorKind::Transient, DType::Fp32}, query.rows, query.cols);
  const QueryKeyValue in{query, key, value}, d{sum, d_key, d_value};
  for (const View& gradient : {d.query, d.key, d.value}) rank.device.fill(gradient, 0);
  const BlockwiseBackward blocks{rank, in, d_output, log_sum_exp, delta, d};
  blocks.own();
  if (rank.scenario.layout.cp > 1) {
    const bool ring = rank.scenario.layout.context == ContextKind::Ring;
    assert(ring || rank.scenario.layout.context == ContextKind::AllGather);
    ring ? ring_backward(rank, in, d, blocks) : gathered_backward(rank, in, d, blocks);
  }
  rank.device.copy(d_query, sum);
}

}  // namespace hexaplan::validator
