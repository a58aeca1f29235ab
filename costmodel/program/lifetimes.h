#pragma once
#include <optional>
#include <vector>

#include "costmodel/memory/tensor_ledger.h"
#include "costmodel/program/ops.h"

namespace hexaplan::costmodel::program {

/// When every buffer of a program is made and freed, and what the ledger calls it meanwhile: the one rule
/// that both the replay of memory and the executor follow. A buffer is allocated by the operation that first
/// writes it and freed behind the last that touches it; the program's output and the gradient of its input
/// are handed on, and so are not freed. Buffers are named by the value that stands for them.
class Lifetimes {
 public:
  explicit Lifetimes(const Program& program);

  [[nodiscard]] std::size_t buffer(ValueId id) const { return position(buffers_[position(id)]); }
  /// Position of the last operation that touches the buffer; -1: none does.
  [[nodiscard]] int last(std::size_t buffer) const { return last_[buffer]; }
  /// True when something behind the forward pass touches the buffer.
  [[nodiscard]] bool outlives_forward(std::size_t buffer) const { return outlives_[buffer]; }
  /// True when the buffer is handed on to whoever runs next.
  [[nodiscard]] bool stays(std::size_t buffer) const { return stays_[buffer]; }
  /// True when the buffer is freed at the end of the phase instead of behind its last reader.
  [[nodiscard]] bool held(std::size_t buffer) const { return held_[buffer]; }
  /// The ledger's kind of the buffer when `id`, written in `phase`, is the first to take it.
  [[nodiscard]] TensorKind kind(ValueId id, Phase phase) const {
    const bool kept = phase == Phase::Forward && outlives_[buffer(id)];
    return kinds_[position(id)].value_or(kept ? keeps_ : TensorKind::Transient);
  }
  /// True when the program's input, a transient of whoever made it, becomes what the program keeps.
  [[nodiscard]] bool keeps_input() const { return keeps_input_; }

 private:
  std::vector<ValueId> buffers_;
  std::vector<int> last_;
  std::vector<bool> outlives_, stays_, held_;     // by buffer
  std::vector<std::optional<TensorKind>> kinds_;  // by value
  TensorKind keeps_ = TensorKind::Activation;
  bool keeps_input_ = false;
};

}  // namespace hexaplan::costmodel::program
