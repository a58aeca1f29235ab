#include "costmodel/program/fold.h"

#include <algorithm>
#include <cstddef>
#include <span>

#include "costmodel/program/lifetimes.h"
#include "costmodel/units/mutation.h"

namespace hexaplan::costmodel::program {
/// Runs a program without sizes.
class Footprint::Recorder {
 public:
  Recorder(const Program& p, const Lifetimes& lives, Footprint& out)
      : p_{p}, lives_{lives}, out_{out}, state_(p.values.size()) {
    for (const ValueId id : {p.input, p.d_output}) {
      if (id != kNone) state_[lives_.buffer(id)].alive = true;
    }
    if (!lives_.keeps_input() || mutant("kept-input-is-a-transient")) return;
    out_.kept_input_ = lives_.buffer(p.input);
    state_[*out_.kept_input_].kind = p.keeps();
  }

  void run() {
    for (std::size_t begin = 0, end = 0; begin < p_.ops.size(); begin = end) {
      end = end_of_repeated(begin);
      const int runs = runs_of(begin, end);
      for (int run = 1; run <= runs; ++run) {
        for (std::size_t at = begin; at < end; ++at) step(at, run == runs);
      }
      const Op& last = p_.ops[end - 1];
      if (end == p_.ops.size() || p_.ops[end].phase != last.phase) release_held(last);
    }
  }

 private:
  struct State {
    TensorKind kind = TensorKind::Transient;
    bool alive = false;
  };

  void move(const Op& op, std::size_t buffer, bool frees) {
    out_.moves_.push_back({op.phase, state_[buffer].kind, frees, static_cast<std::uint16_t>(buffer)});
  }
  [[nodiscard]] bool begins_ring(std::size_t at) const {
    return p_.ops[at].kind == Kind::SendRecv && at + 1 < p_.ops.size() &&
           p_.ops[at + 1].kind == Kind::AttendBlocks;
  }
  /// Behind what runs more than once together with the operation at `begin`: for chunks of tokens, or for the
  /// other ranks of a ring.
  [[nodiscard]] std::size_t end_of_repeated(std::size_t begin) const {
    std::size_t end = begin + (begins_ring(begin) ? 2 : 1);
    while (p_.ops[begin].by_chunk && end < p_.ops.size() && p_.ops[end].by_chunk) ++end;
    return end;
  }
  /// All runs between the first and the last are alike.
  [[nodiscard]] int runs_of(std::size_t begin, std::size_t end) const {
    constexpr int kDifferent = 3;
    if (p_.ops[begin].by_chunk) return std::min(p_.chunks, kDifferent);
    return end > begin + 1 ? std::min(int{p_.ops[begin].times}, kDifferent) : 1;
  }
  /// Before the `last` run only what a run has for itself is freed: values of a chunk, an operation's
  /// workspace.
  void step(std::size_t at, bool last) {
    const Op& op = p_.ops[at];
    for (const ValueId id : op.writes) allocate(op, id);
    for (const ValueId id : op.reads) {
      if (last || p_.is_of_chunk(id)) release_if_last(op, id, at);
    }
    for (std::size_t i = 0; i < op.writes.size(); ++i) {
      const bool workspace = !op.by_chunk && i >= position(op.in_place);
      if (last || workspace || p_.is_of_chunk(op.writes[i])) release_if_last(op, op.writes[i], at);
    }
  }
  void allocate(const Op& op, ValueId id) {
    const std::size_t buffer = lives_.buffer(id);
    State& state = state_[buffer];
    if (state.alive || p_.of(id).storage != Storage::Device) return;
    state.alive = true;
    state.kind = lives_.kind(id, op.phase);
    move(op, buffer, false);
  }
  void release_if_last(const Op& op, ValueId id, std::size_t at) {
    const std::size_t buffer = lives_.buffer(id);
    if (lives_.last(buffer) != static_cast<int>(at)) return;
    if (lives_.held(buffer) || mutant("results-of-a-phase-are-freed-late")) {
      held_.push_back(buffer);
    } else {
      release(op, buffer);
    }
  }
  void release_held(const Op& op) {
    for (const std::size_t buffer : held_) release(op, buffer);
    held_.clear();
  }
  void release(const Op& op, std::size_t buffer) {
    State& state = state_[buffer];
    if (!state.alive || lives_.stays(buffer)) return;
    state.alive = false;
    move(op, buffer, true);
  }

  const Program& p_;
  const Lifetimes& lives_;
  Footprint& out_;
  std::vector<State> state_;       // by buffer
  std::vector<std::size_t> held_;  // buffers to free at the end of the phase
};

Footprint::Footprint(const Program& p, const Lifetimes& lives)
    : buffers_{p.values.size()}, keeps_{p.keeps()} {
  list_extents(p, lives);
  list_kept(p, lives);
  Recorder{p, lives, *this}.run();
}

void Footprint::list_extents(const Program& p, const Lifetimes& lives) {
  std::vector<bool> listed(p.values.size());
  for (std::size_t i = 0; i < p.values.size(); ++i) {
    const std::size_t buffer = lives.buffer(static_cast<ValueId>(i));
    if (listed[buffer] && mutant("buffers-take-their-first-value")) continue;
    listed[buffer] = true;
    const Extent extent{p.values[i].shape, p.values[i].copies};
    const auto place = std::find(extents_.begin(), extents_.end(), extent) - extents_.begin();
    if (std::cmp_equal(place, extents_.size())) extents_.push_back(extent);
    takes_.emplace_back(static_cast<std::uint16_t>(buffer), static_cast<std::uint16_t>(place));
  }
  std::sort(takes_.begin(), takes_.end());
  takes_.erase(std::unique(takes_.begin(), takes_.end()), takes_.end());
}

void Footprint::list_kept(const Program& p, const Lifetimes& lives) {
  const std::size_t output = p.output == kNone ? p.values.size() : lives.buffer(p.output);
  const auto keep = [&](ValueId id, Site site) {
    const std::size_t buffer = lives.buffer(id);
    if (buffer == output || !lives.outlives_forward(buffer)) return;
    const Kept value{p.of(id).tensor, site, p.of(id).shape.type, static_cast<std::uint16_t>(buffer)};
    const auto row =
        std::find_if(kept_.begin(), kept_.end(), [&](const Kept& k) { return k.buffer == buffer; });
    if (row == kept_.end()) {
      kept_.push_back(value);
    } else {
      *row = value;  // written over what stood there
    }
  };
  if (p.input != kNone) keep(p.input, Site::Count);
  for (const Op& op : p.ops) {
    if (op.phase != Phase::Forward) break;
    for (const ValueId id : op.writes) keep(id, op.site);
  }
}

std::vector<double> Footprint::buffer_bytes(const Sizes& sizes) const {
  std::vector<double> bytes(buffers_ + extents_.size(), 0.0);
  const std::span<double> extents = std::span{bytes}.subspan(buffers_);
  for (std::size_t i = 0; i < extents_.size(); ++i)
    extents[i] = sizes.bytes(extents_[i].shape) * extents_[i].copies;
  for (const auto& [buffer, extent] : takes_) bytes[buffer] = std::max(bytes[buffer], extents[extent]);
  return bytes;
}

FoldedPhases Footprint::fold(const Sizes& sizes) const {
  const std::vector<double> bytes = buffer_bytes(sizes);
  FoldedPhases phases{};
  if (kept_input_) phases[0].relabel(TensorKind::Transient, keeps_, bytes[*kept_input_]);
  for (const Move& m : moves_)
    phases[position(m.phase)].move(m.kind, m.frees ? -bytes[m.buffer] : bytes[m.buffer]);
  return phases;
}

std::vector<KeptValue> Footprint::kept(const Sizes& sizes) const {
  const std::vector<double> bytes = buffer_bytes(sizes);
  std::vector<KeptValue> out;
  out.reserve(kept_.size());
  for (const Kept& k : kept_) out.push_back({k.tensor, k.made_at, Bytes{bytes[k.buffer]}, k.type});
  return out;
}

Bytes Footprint::kept_bytes(const Sizes& sizes) const {
  Bytes sum;
  for (const KeptValue& value : kept(sizes)) sum += value.bytes;
  return sum;
}

}  // namespace hexaplan::costmodel::program
