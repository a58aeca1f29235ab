#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "costmodel/compute/operation.h"
#include "costmodel/spec/local_dims.h"
#include "costmodel/spec/rank_grid.h"
#include "costmodel/spec/scenario.h"
#include "validator/executor/communicator/communicator.h"
#include "validator/executor/device/device.h"
#include "validator/executor/optimizer/optimizer_step.h"
#include "validator/executor/parallel/host_memory.h"
#include "validator/executor/parameters/local_tensor.h"
#include "validator/executor/report/phase_clock.h"

namespace hexaplan::validator {

/// A rank's process groups. Groups of one rank copy and count nothing.
struct Groups {
  std::unique_ptr<Communicator> tensor, context, data, pipeline, expert, expert_tensor, expert_data;
  std::unique_ptr<Communicator> shard, replica;                // ZeRO's shard group and across
  std::unique_ptr<Communicator> expert_shard, expert_replica;  // the same of experts
  std::unique_ptr<Communicator> shard_node, shard_across;      // qgZ: the shard group in a node, and across
  std::unique_ptr<Communicator> secondary;  // neighbours in the shard group; none without hpZ
  std::unique_ptr<Communicator> alone;      // this rank
  std::unique_ptr<Communicator> key_value;  // tensor-parallel neighbours with the same kv heads
  std::unique_ptr<Communicator> tied_ends;  // first and last stage of a tied model
  std::unique_ptr<Communicator> mirror;     // stages that hold the same layers (DualPipe)
  std::unique_ptr<Communicator> outer;      // replicas that train apart
  std::unique_ptr<Communicator> inside;     // ranks of one of them; none where there is one
  Communicator* world = nullptr;
  /// Who adds up losses and gradients' norms.
  [[nodiscard]] Communicator& together() const { return inside ? *inside : *world; }
};
/// Collective over `world`.
[[nodiscard]] Groups make_groups(Communicator& world, const costmodel::Scenario& scenario);

/// How tokens find their experts.
enum class Routing : std::uint8_t {
  Learned,  // the router's most probable ones
  InTurn,   // by position, so that all experts get equally many: what the cost model counts without imbalance
};

/// Where parameters come from.
enum class InitialValues : std::uint8_t {
  Model,  // initial_values: the same model under every layout
  Begun,  // … whose adapters are no longer zero: gradients of their first matrices are not, either
  Noise,  // the device's noise, made where it is needed: as good for times and bytes, and at once
};

class FirstNotFinite;

/// What one rank's step runs on: the question, sizes, device, groups and where the rank stands. Layers read
/// it; `layer` and `microbatch` say for fault reports what is running.
struct Rank {
  Rank(const costmodel::Scenario& scenario, Device& device, Communicator& world,
       InitialValues initial = InitialValues::Model, int host_threads = 1);

  const costmodel::Scenario& scenario;
  costmodel::LocalDims dims;
  Device& device;
  std::unique_ptr<HostMemory> host;  // where something is offloaded
  Groups groups;
  std::array<std::int64_t, costmodel::kAxisCount> at{};
  costmodel::DType activation;           // the ledger's type of activations
  Rotation rotation, windowed_rotation;  // of queries and keys, in layers without and with a window
  Tensor alibi_slopes;                   // 1 × heads; empty where positions are none of ALiBi's
  int layer = -1;
  int microbatch = -1;
  Routing routing = Routing::Learned;
  InitialValues initial;
  /// Whose ranks' experts have capacities of their own (RunOptions::drops_as); unset: this rank's.
  std::optional<costmodel::Layout> drops_as;
  std::uint64_t dropout_key = 0;  // of the running step
  double loss_scale = 1;          // of the running step: what gradients are larger than they should be
  /// In-backward updates: the running step's, and where squares of gradients add up; none otherwise.
  const OptimizerStep* update = nullptr;
  View squares;
  View balance_loss;  // 1 × 1, of the running step: what routers add to the loss of this rank
  PhaseClock clock{device};
  FirstNotFinite* watch = nullptr;  // looks at every result, where a step is run to find out

  /// What follows belongs to this instant of the step.
  void enter(costmodel::Instant instant) {
    device.memory().enter(instant);
    if (host) host->enter(instant);
  }
  /// What follows belongs to `index`, a layer of the model; −1: to none.
  void enter_layer(int index) {
    layer = index;
    clock.enter_layer(index);
  }
  /// First sequence, and how many, of the global batch that this rank's replica sees.
  [[nodiscard]] std::int64_t sequences_of_replica() const {
    return scenario.recipe.global_batch / scenario.layout.outer_replicas;
  }
  [[nodiscard]] std::int64_t first_sequence() const { return groups.outer->rank() * sequences_of_replica(); }
  [[nodiscard]] int position(costmodel::Axis axis) const {
    return static_cast<int>(at[static_cast<std::size_t>(axis)]);
  }
  [[nodiscard]] ParameterPlace parameter_place() const;
  /// True in a layer that sees a window.
  [[nodiscard]] bool in_window() const { return costmodel::class_of_layer(scenario.model, layer).windowed; }
  [[nodiscard]] Call call(std::string_view operation, costmodel::Pass pass) const {
    return call(operation, pass, activation);
  }
  [[nodiscard]] Call call(std::string_view operation, costmodel::Pass pass, costmodel::DType dtype) const {
    return {.operation = operation, .dtype = dtype, .layer = layer, .microbatch = microbatch, .pass = pass};
  }
  /// Something of the running pass that goes with it.
  [[nodiscard]] Tensor transient(std::string_view name, std::int64_t rows, std::int64_t cols) const {
    return device.allocate({name, costmodel::TensorKind::Transient, activation}, rows, cols);
  }
};

/// A contiguous view as communicators read and write it.
[[nodiscard]] Buffer wire(const View& view);

/// A tensor of one's own, or somebody else's.
class MaybeOwned {
 public:
  MaybeOwned(Tensor owned) : owned_{std::move(owned)} {}  // NOLINT(*-explicit-*)
  MaybeOwned(const View& other) : other_{other} {}        // NOLINT(*-explicit-*)
  [[nodiscard]] const View& view() const { return owned_.empty() ? other_ : owned_.view(); }
  operator const View&() const { return view(); }  // NOLINT(*-explicit-*)
  [[nodiscard]] bool owned() const { return !owned_.empty(); }

 private:
  Tensor owned_;
  View other_;
};

}  // namespace hexaplan::validator
