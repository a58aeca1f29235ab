#include "costmodel/program/fold.h"

#include <algorithm>

#include "costmodel/program/lifetimes.h"
#include "costmodel/units/mutation.h"

namespace hexaplan::costmodel::program {
namespace {

/// By buffer: of the largest value that it takes.
std::vector<double> buffer_bytes(const Program& p, const Lifetimes& lives, const Sizes& sizes) {
  std::vector<double> bytes(p.values.size(), 0.0);
  for (std::size_t i = 0; i < p.values.size(); ++i) {
    double& size = bytes[lives.buffer(static_cast<ValueId>(i))];
    if (size == 0 || !mutant("buffers-take-their-first-value"))
      size = std::max(size, sizes.bytes(p.values[i]));
  }
  return bytes;
}

class Fold {
 public:
  Fold(const Program& p, const Lifetimes& lives, const Sizes& sizes)
      : p_{p}, lives_{lives}, bytes_{buffer_bytes(p, lives_, sizes)}, state_(p.values.size()) {
    for (const ValueId id : {p.input, p.d_output}) {
      if (id != kNone) state_[lives_.buffer(id)].alive = true;
    }
    if (!lives_.keeps_input() || mutant("kept-input-is-a-transient")) return;
    const std::size_t buffer = lives_.buffer(p.input);
    state_[buffer].kind = p.keeps();
    phases_[0].relabel(TensorKind::Transient, p.keeps(), bytes_[buffer]);
  }

  FoldedPhases run() {
    for (std::size_t begin = 0, end = 0; begin < p_.ops.size(); begin = end) {
      end = end_of_repeated(begin);
      const int runs = runs_of(begin, end);
      for (int run = 1; run <= runs; ++run) {
        for (std::size_t at = begin; at < end; ++at) step(at, run == runs);
      }
      const Op& last = p_.ops[end - 1];
      if (end == p_.ops.size() || p_.ops[end].phase != last.phase) release_held(last);
    }
    return phases_;
  }

 private:
  struct State {
    TensorKind kind = TensorKind::Transient;
    bool alive = false;
  };

  [[nodiscard]] Folded& phase_of(const Op& op) { return phases_[position(op.phase)]; }

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
    phase_of(op).move(state.kind, bytes_[buffer]);
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
    phase_of(op).move(state.kind, -bytes_[buffer]);
  }

  const Program& p_;
  const Lifetimes& lives_;
  std::vector<double> bytes_;      // by buffer
  std::vector<State> state_;       // by buffer
  std::vector<std::size_t> held_;  // buffers to free at the end of the phase
  FoldedPhases phases_{};
};

}  // namespace

FoldedPhases fold(const Program& program, const Lifetimes& lives, const Sizes& sizes) {
  return Fold{program, lives, sizes}.run();
}
FoldedPhases fold(const Program& program, const Sizes& sizes) {
  return fold(program, Lifetimes{program}, sizes);
}

std::vector<KeptValue> kept_values(const Program& p, const Sizes& sizes) {
  return kept_values(p, Lifetimes{p}, sizes);
}
std::vector<KeptValue> kept_values(const Program& p, const Lifetimes& lives, const Sizes& sizes) {
  const std::vector<double> bytes = buffer_bytes(p, lives, sizes);
  const std::size_t output = p.output == kNone ? p.values.size() : lives.buffer(p.output);
  constexpr int kUnlisted = -1;
  std::vector<int> rows(p.values.size(), kUnlisted);  // by buffer
  std::vector<KeptValue> out;
  const auto keep = [&](ValueId id, Site site) {
    const std::size_t buffer = lives.buffer(id);
    if (buffer == output || !lives.outlives_forward(buffer)) return;
    const KeptValue value{p.of(id).tensor, site, Bytes{bytes[buffer]}, p.of(id).shape.type};
    if (rows[buffer] == kUnlisted) {
      rows[buffer] = static_cast<int>(out.size());
      out.push_back(value);
    } else {
      out[static_cast<std::size_t>(rows[buffer])] = value;  // written over what stood there
    }
  };
  if (p.input != kNone) keep(p.input, Site::Count);
  for (const Op& op : p.ops) {
    if (op.phase != Phase::Forward) break;
    for (const ValueId id : op.writes) keep(id, op.site);
  }
  return out;
}

Bytes kept_bytes(const Program& p, const Sizes& sizes) {
  Bytes sum;
  for (const KeptValue& value : kept_values(p, sizes)) sum += value.bytes;
  return sum;
}

}  // namespace hexaplan::costmodel::program
