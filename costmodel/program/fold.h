#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "costmodel/program/lifetimes.h"
#include "costmodel/program/ops.h"
#include "costmodel/program/sizes.h"

namespace hexaplan::costmodel::program {

/// Device bytes that passes allocate, by the ledger's kinds; everything else of a rank stays the whole step.
struct PassBytes {
  double activations = 0, logits = 0, transient = 0;
  [[nodiscard]] double total() const { return activations + logits + transient; }
  [[nodiscard]] double& of(TensorKind kind) {
    return kind == TensorKind::Activation ? activations : kind == TensorKind::Logits ? logits : transient;
  }
  friend PassBytes operator+(const PassBytes& a, const PassBytes& b) {
    return {a.activations + b.activations, a.logits + b.logits, a.transient + b.transient};
  }
};

/// What a run of allocations does to memory: its net change, and the highest point above where it began
/// (the first of equals). Runs compose, so a stage is a walk over folded tasks.
class Folded {
 public:
  [[nodiscard]] const PassBytes& net() const { return net_; }
  [[nodiscard]] const PassBytes& highest() const { return highest_; }
  [[nodiscard]] double rise() const { return rise_; }      // total of highest()
  [[nodiscard]] double change() const { return change_; }  // total of net()

  /// Allocates, or frees where `bytes` is negative.
  Folded& move(TensorKind kind, double bytes) {
    net_.of(kind) += bytes;
    change_ += bytes;
    if (change_ > rise_) {
      highest_ = net_;
      rise_ = change_;
    }
    return *this;
  }
  /// The same bytes under another kind.
  Folded& relabel(TensorKind from, TensorKind to, double bytes) {
    net_.of(from) -= bytes;
    net_.of(to) += bytes;
    return *this;
  }
  Folded& then(const Folded& next) {
    if (change_ + next.rise_ > rise_) {
      highest_ = net_ + next.highest_;
      rise_ = change_ + next.rise_;
    }
    net_ = net_ + next.net_;
    change_ += next.change_;
    return *this;
  }

 private:
  PassBytes net_, highest_;
  double rise_ = 0, change_ = 0;
};

/// By Phase. Before and after: a layer's hidden states, and their gradients, are alive as transients.
using FoldedPhases = std::array<Folded, kPhases>;

/// A forward value that backward still needs.
struct KeptValue {
  Tensor tensor = Tensor::LayerInput;
  Site made_at = Site::Count;  // Count: the program's input
  Bytes bytes;
  Type type = Type::Activation;
};

/// Every allocation and release of a program in order, whatever the sizes: made once, and asked for as many
/// shapes as a search has.
class Footprint {
 public:
  explicit Footprint(const Program& program) : Footprint{program, Lifetimes{program}} {}

  [[nodiscard]] FoldedPhases fold(const Sizes& sizes) const;
  /// Calls `visit(phase, buffer, bytes, frees)` for every allocation and release in order; buffers as
  /// `Lifetimes` numbers them.
  template <class Visitor>
  void visit(const Sizes& sizes, const Visitor& visitor) const {
    const std::vector<double> bytes = buffer_bytes(sizes);
    for (const Move& m : moves_) visitor(m.phase, std::size_t{m.buffer}, bytes[m.buffer], m.frees);
  }
  /// What stays between forward and backward, one row per buffer in the order in which they are made, named
  /// by what the forward pass leaves in them; without the program's output, which is the next one's input.
  [[nodiscard]] std::vector<KeptValue> kept(const Sizes& sizes) const;
  [[nodiscard]] Bytes kept_bytes(const Sizes& sizes) const;

 private:
  /// Of one or more values that a buffer takes.
  struct Extent {
    Shape shape;
    double copies;
    friend bool operator==(const Extent&, const Extent&) = default;
  };
  struct Move {
    Phase phase;
    TensorKind kind;
    bool frees;
    std::uint16_t buffer;
  };
  struct Kept {
    Tensor tensor;
    Site made_at;
    Type type;
    std::uint16_t buffer;
  };
  class Recorder;
  Footprint(const Program& program, const Lifetimes& lives);
  void list_extents(const Program& program, const Lifetimes& lives);
  void list_kept(const Program& program, const Lifetimes& lives);
  /// By buffer: of the largest value that it takes.
  [[nodiscard]] std::vector<double> buffer_bytes(const Sizes& sizes) const;

  std::size_t buffers_;                                         // as many as values; most stand for nothing
  std::vector<Extent> extents_;                                 // all different
  std::vector<std::pair<std::uint16_t, std::uint16_t>> takes_;  // buffer and extent
  std::vector<Move> moves_;
  std::vector<Kept> kept_;
  std::optional<std::size_t> kept_input_;  // a transient of whoever made it, which the program keeps
  TensorKind keeps_;
};

}  // namespace hexaplan::costmodel::program
