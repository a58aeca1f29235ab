#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "costmodel/memory/layer_ledger.h"
#include "validator/executor/parallel/nf4_matrices.h"
#include "validator/executor/parallel/optimizer_shard.h"
#include "validator/executor/parallel/outer_shard.h"
#include "validator/executor/parallel/rank.h"
#include "validator/executor/parameters/local_tensor.h"

namespace hexaplan::validator {

/// A run of consecutive elements of one parameter that this rank owns, as every checkpoint and comparison
/// needs it: elements [first, first + view.elements()) of the rank's rows × cols matrix of `tensor`; of a
/// state per row or column `tensor` is what they make: rows × 1, or one row per matrix.
struct OwnedPart {
  int unit = 0;
  const LocalTensor* tensor = nullptr;
  State state = State::Parameter;
  std::int64_t first = 0;
  View view;                                  // 1 × elements
  Device* device = nullptr;                   // whose memory that is
  const LocalTensor* rounded_with = nullptr;  // qwZ: of what shares its blocks; nothing is rounded: nullptr
  bool duplicate = false;  // another rank owns the same elements and is the one that counts
};

/// Parameters of one unit that are cut over the same data-parallel ranks, one behind the other in flat
/// buffers, with their gradients and optimizer states. ZeRO (arXiv:1910.02054): stage 1 cuts the optimizer's
/// states over the shard group, 2 also gradients, 3 also parameters; hybrid shards are replicated across
/// groups. Stage 0 is one shard replicated over all data-parallel ranks. The last shard is padded.
/// Offloaded (arXiv:2101.06840, arXiv:2104.07857): the host has the states of a shard's first elements, all
/// or some, adds up their sharded gradients and updates them; parameters that it has come when they are
/// gathered.
class FlatParameters {
 public:
  /// Over whom a buffer is cut and copied.
  struct Ranks {
    Communicator *shard, *replica;
    Communicator* tensor;         // those that hold other parts of the same tensors
    Communicator *node, *across;  // the shard group in a node, and across (qgZ), or nobody
    Communicator* secondary;      // those that cut the copy which backward gathers (hpZ), or nobody
    bool by_matrix = false;       // ShardPlace
    bool trained = true;          // frozen parameters have neither gradients nor states
    bool mirrored = false;        // another stage's copy of them counts
  };
  FlatParameters(const Rank& rank, std::vector<LocalTensor> tensors, int unit, const Ranks& ranks,
                 std::uint64_t seed);

  [[nodiscard]] const std::vector<LocalTensor>& tensors() const { return tensors_; }
  /// Rows of `first` … `last` (neighbours with equal columns) as one matrix; vectors one behind the other as
  /// one row. Parameters: between gather and release under stage 3. Gradients: between open and close from
  /// stage 2 on.
  [[nodiscard]] View parameters(std::string_view first, std::string_view last) const;
  /// What is added to; empty where parameters are frozen. Gradients that nobody has written since they were
  /// cleared become zeros here, not before: most are made by one product, which writes them (take_zeros).
  [[nodiscard]] View gradients(const Rank& rank, std::string_view first, std::string_view last) const;
  /// True where all of them count as zeros and hold anything: the caller overwrites them.
  [[nodiscard]] bool take_zeros(std::string_view first, std::string_view last) const;
  [[nodiscard]] bool holds(std::string_view name) const;

  /// Stage 3, or parameters that the host has: all of them on every rank until release().
  void gather(const Rank& rank, costmodel::Pass pass);
  void release();
  /// From stage 2 on: a buffer for gradients before they are cut, of zeros; calls nest. Also where
  /// they are updated in backward; then it stays until they are closed.
  void open_gradients(const Rank& rank);
  /// Adds gradients up over data-parallel ranks, each keeping its shard, and closes what was opened. What
  /// stays whole until the step's end may still be under way until finish_reduction. `last`: nothing is added
  /// to them afterwards.
  void reduce(const Rank& rank, bool last);
  void finish_reduction() { reduction_.wait(); }
  /// Updated in backward: gradients are no longer needed.
  void close_gradients() { unsharded_.free(); }
  void clear_gradients(const Rank& rank);
  /// Sum over another stage's copy of the same parameters.
  void add_across(const Rank& rank, Communicator& copies, std::string_view name);

  /// sum += squares of the gradients that this rank counts; of those that the host has, HostMemory::squares.
  void add_squares(const Rank& rank, const View& sum) const;
  void update(const Rank& rank, const OptimizerStep& step);
  /// Outer steps go out from the parameters as they are.
  void begin_outer_steps(const Rank& rank) const;
  void take_outer_step(const Rank& rank, const OptimizerOptions& options);
  /// The compute copy becomes the master's values, everywhere. After a state was loaded.
  void follow_master(const Rank& rank);
  /// Stages 1 and 2: every rank collects what the others updated.
  void collect_updated(const Rank& rank);

  /// What this rank's shard has of a state, parameter by parameter; nothing of states that the optimizer
  /// does not keep. Without a master of its own a parameter is its own.
  void visit(const Rank& rank, State state, const std::function<void(const OwnedPart&)>& visitor) const;
  /// True where gradients are reduced in every micro-batch.
  [[nodiscard]] bool reduces_at_once() const { return stage_ >= 2 && !opened_for_step(); }

 private:
  /// Consecutive elements of the shard whose states lie in one memory.
  struct Part {
    bool on_host = false;
    std::int64_t begin = 0, elements = 0;  // in the shard
    std::vector<Piece> pieces;
    Tensor gradient;  // on the host
    OptimizerShard optimizer;
    OuterShard outer;  // where outer steps are taken
  };
  [[nodiscard]] static Device& memory(const Rank& rank, bool on_host) {
    return on_host ? rank.host->states() : rank.device;
  }
  [[nodiscard]] View matrix(const View& flat, std::string_view first, std::string_view last) const;
  /// Places in tensors_ of `first` and behind `last`.
  struct Range {
    std::size_t begin, end;
  };
  [[nodiscard]] Range range(std::string_view first, std::string_view last) const;
  /// Unsharded gradients count as zeros from now on.
  void clear_unsharded(const Rank& rank);
  /// Writes the zeros that were not taken.
  void write_zeros(const Rank& rank, const Range& of) const;
  void write_zeros(const Rank& rank) const { write_zeros(rank, {0, tensors_.size()}); }
  [[nodiscard]] View own(const View& flat) const { return flat.slice(first_, shard_elements_); }
  [[nodiscard]] View own_gradients() const {
    return stage_ >= 2 && !in_backward_ ? gradient_.view() : own(unsharded_gradients());
  }
  [[nodiscard]] View part_of(const View& shard, const Part& part) const {
    return shard.slice(part.begin, part.elements);
  }
  [[nodiscard]] View own_parameters() const { return stage_ >= 3 ? parameter_.view() : own(parameter_); }
  [[nodiscard]] View unsharded_gradients() const {
    return stage_ >= 2 || in_backward_ ? unsharded_.view() : gradient_.view();
  }
  [[nodiscard]] std::vector<Piece> pieces_in(std::int64_t begin, std::int64_t end) const;
  [[nodiscard]] Tensor allocate(Device& device, costmodel::TensorKind kind, costmodel::DType dtype,
                                std::int64_t begin, std::int64_t end) const;
  void make_parts(const Rank& rank);
  /// True where one buffer takes the gradients of all micro-batches before they are cut.
  [[nodiscard]] bool opened_for_step() const {
    return in_backward_ || reduction_time_ == costmodel::GradientReduction::Once;
  }
  /// Shards of all ranks into the gathered buffer, in 8 bits.
  void gather_quantised(const Rank& rank, costmodel::Pass pass, const View& mine);
  /// This rank's shard becomes the sum over the shard group, by exchanges in 4 bits.
  void exchange_quantised(const Rank& rank, const View& whole);
  [[nodiscard]] Work add_up(const Rank& rank, const View& whole, bool over_replicas);
  void add_gradients(const Rank& rank, Part& part, const View& reduced);
  void copy_master(const Rank& rank, const Part& part, bool to_parameters);
  void update_part(const Rank& rank, const OptimizerStep& step, Part& part);
  /// What the optimizer updates: the master, or the parameters themselves.
  [[nodiscard]] View updated(const Part& part) const {
    return part.optimizer.has_master() ? part.optimizer.master() : part_of(own_parameters(), part);
  }
  void visit_factored(const Rank& rank, State state,
                      const std::function<void(const OwnedPart&)>& visitor) const;
  /// Another rank holds the same and is the one that counts: of replicas that train apart, the first one's.
  [[nodiscard]] bool is_copy(const Rank& rank) const {
    return ranks_.mirrored || ranks_.replica->rank() != 0 || rank.groups.outer->rank() != 0;
  }
  void initialise(const Rank& rank, std::uint64_t seed);
  void fill_with_noise(const Rank& rank, std::uint64_t seed);
  void upload_initial_values(const Rank& rank, std::uint64_t seed);
  void reduce_over_tensor_ranks(const Rank& rank);
  [[nodiscard]] ShardPlace place(const Rank& rank, const Part& part) const;

  std::vector<LocalTensor> tensors_;
  std::vector<Piece> pieces_;
  int unit_, stage_;
  bool parameters_on_host_, in_backward_, quantised_gathers_;
  costmodel::GradientReduction reduction_time_;  // in which micro-batches, under stage 3
  Ranks ranks_;
  costmodel::StateTypes types_;
  std::int64_t padded_ = 0, shard_elements_ = 0, first_ = 0;
  int opened_ = 0;
  mutable std::vector<bool> counts_as_zeros_;  // unsharded gradients, by tensor
  Work reduction_;
  Tensor parameter_, secondary_, gathered_, gradient_, unsharded_;
  std::vector<Part> parts_;
};

/// A layer's or an end's parameters: dense ones and experts, which have other replicas; frozen matrices in 4
/// bits.
class Unit {
 public:
  struct Uses {
    std::int64_t gradients = 0;  // that a step makes of it
    bool mirrored = false;       // another stage's copy of it counts (DualPipe)
  };
  Unit(const Rank& rank, UnitPlan plan, const Uses& uses, std::uint64_t seed);
  [[nodiscard]] int index() const { return index_; }
  /// Of what is not in 4 bits.
  [[nodiscard]] View weight(std::string_view name) const { return weight(name, name); }
  [[nodiscard]] View weight(std::string_view first, std::string_view last) const;
  [[nodiscard]] bool holds(std::string_view name) const;
  /// FlatParameters::gradients, take_zeros.
  [[nodiscard]] View gradient(const Rank& rank, std::string_view first, std::string_view last) const {
    return holder(first).gradients(rank, first, last);
  }
  [[nodiscard]] bool take_zeros(std::string_view first, std::string_view last) const {
    return holder(first).take_zeros(first, last);
  }
  /// Shape and place of a parameter, whether or not its values are there.
  [[nodiscard]] const LocalTensor& tensor(std::string_view name) const;
  [[nodiscard]] std::vector<FlatParameters>& flats() { return flats_; }
  /// Nf4Matrices::dequantise.
  void dequantise(const Rank& rank, std::string_view first, std::string_view last, const View& out) const {
    in_4_bits_->dequantise(rank, first, last, out);
  }
  /// What this rank has of a state of all parameters.
  void visit(const Rank& rank, State state, const std::function<void(const OwnedPart&)>& visitor);

  void gather(Rank& rank, costmodel::Pass pass);
  void release();
  void open_gradients(const Rank& rank);
  /// Gradients of one pass of one micro-batch are complete. They are reduced at once from ZeRO stage 2 on,
  /// else when all that the step makes are; and updated then, where that is asked for.
  void finish_gradients(Rank& rank);
  void begin_step(const Rank& rank);

 private:
  [[nodiscard]] const FlatParameters& holder(std::string_view name) const;
  void update_in_backward(Rank& rank);
  int index_;
  std::int64_t expected_, finished_ = 0;  // gradients per step
  std::vector<FlatParameters> flats_;
  std::optional<Nf4Matrices> in_4_bits_;
};

}  // namespace hexaplan::validator
