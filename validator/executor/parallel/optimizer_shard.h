#pragma once
#include <cstdint>
#include <functional>

#include "costmodel/memory/optimizer_states.h"
#include "validator/executor/optimizer/optimizer_step.h"
#include "validator/executor/parallel/factored_moments.h"
#include "validator/executor/parallel/preconditioners.h"
#include "validator/executor/parallel/rank.h"
#include "validator/executor/parallel/shard_place.h"
#include "validator/executor/parallel/subspaces.h"

namespace hexaplan::validator {

/// What is kept per parameter: it, and what costmodel::OptimizerTensor names, in its order; behind them what
/// is kept per row and column of a matrix.
enum class State : std::uint8_t {
  Parameter,
  Master,
  FirstMoment,
  SecondMoment,
  FirstScale,
  SecondScale,
  RowMoment,
  ColumnMoment
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
  /// States per parameter alone.
  void visit(State which, const std::function<void(const View&)>& visitor) const;
  /// RowMoment and ColumnMoment, of every tensor of the flat buffer, alike on all ranks that share it.
  void visit_factored(State which, const FactoredMoments::Visitor& visitor) const {
    factored_.visit(which == State::RowMoment, visitor);
  }

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
  void update_adafactor(const Updated& u) const;
  void update_projected(const Updated& u) const;
  void update_preconditioned(const Updated& u) const;
  void add_norms(const Updated& u, const View& directions, const View& norms) const;
  void sum_norms(const Updated& u, const View& norms) const;

  costmodel::Optimizer optimizer_ = costmodel::Optimizer::AdamW;
  Device* device_ = nullptr;
  std::array<Tensor, 6> states_;  // per parameter, by State; the parameter's is elsewhere
  FactoredMoments factored_;
  Subspaces subspaces_;
  Preconditioners preconditioners_;
};

}  // namespace hexaplan::validator
