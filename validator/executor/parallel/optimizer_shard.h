#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "costmodel/memory/optimizer_states.h"
#include "validator/executor/optimizer/optimizer_step.h"
#include "validator/executor/parallel/rank.h"
#include "validator/executor/parameters/local_tensor.h"

namespace hexaplan::validator {

/// What is kept per parameter: it, and what costmodel::OptimizerTensor names, in its order.
enum class State : std::uint8_t { Parameter, Master, FirstMoment, SecondMoment, FirstScale, SecondScale };

/// Consecutive elements of a tensor inside a rank's shard of a flat buffer.
struct Piece {
  std::size_t tensor;
  std::int64_t begin, end;  // in the flat buffer
};

/// Where a flat buffer is cut, and over whom.
struct ShardPlace {
  std::span<const LocalTensor> tensors;
  std::span<const Piece> pieces;
  std::int64_t first = 0, elements = 0;  // of this rank's shard, in the flat buffer
  Communicator* shard = nullptr;
  Communicator* tensor = nullptr;  // ranks that hold other parts of the same tensors
  Device* device = nullptr;        // where the states are, and what updates them
  /// Matrices that the optimizer orthogonalises; else nothing of this buffer is.
  bool orthogonalised = false;
};

/// The optimizer's states of a rank's shard of a flat buffer, and the steps that it takes with them.
class OptimizerShard {
 public:
  OptimizerShard() = default;
  /// States are zero, and the master, where there is one, is not written.
  OptimizerShard(const Rank& rank, const ShardPlace& place);

  /// True where an fp32 copy stands beside the parameters.
  [[nodiscard]] bool has_master() const { return !state(State::Master).empty(); }
  [[nodiscard]] const View& master() const { return state(State::Master).view(); }

  /// Parameters and gradients: of the shard, in its memory.
  void update(const Rank& rank, const OptimizerStep& step, const ShardPlace& place, const View& parameters,
              const View& gradients);

  /// Calls the visitor with the shard's values of a state, one per parameter; nothing where the optimizer
  /// keeps none. What the visitor changes is kept: 8-bit moments as the nearest codes under the scales of
  /// their blocks, which are to be set first; a block's scale as the largest that its elements were given.
  void visit(State which, const std::function<void(const View&)>& visitor) const;

 private:
  struct Updated;  // of one step

  [[nodiscard]] const Tensor& state(State which) const { return states_[static_cast<std::size_t>(which)]; }
  [[nodiscard]] View part(State which, std::int64_t at, std::int64_t count) const;
  void visit_codes(State which, const std::function<void(const View&)>& visitor) const;
  void visit_scales(State which, const std::function<void(const View&)>& visitor) const;

  void update_elements(const Updated& u) const;
  void update_8bit(const Updated& u) const;
  void update_lamb(const Updated& u) const;
  void update_muon(const Updated& u) const;
  void add_norms(const Updated& u, const View& directions, const View& norms) const;

  costmodel::Optimizer optimizer_ = costmodel::Optimizer::AdamW;
  Device* device_ = nullptr;
  std::array<Tensor, 6> states_;  // by State; the parameter's is elsewhere
};

}  // namespace hexaplan::validator
