#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "costmodel/memory/flat_units.h"
#include "costmodel/memory/layer_ledger.h"
#include "costmodel/memory/unit_buffers.h"
#include "costmodel/program/compile.h"
#include "costmodel/program/fold.h"
#include "costmodel/program/replay_memory.h"
#include "costmodel/schedule/schedule.h"
#include "costmodel/spec/chunk_order.h"
#include "costmodel/spec/scenario.h"
#include "costmodel/spec/stage_plan.h"

namespace hexaplan::costmodel::program {

/// Live bytes of a rank around one task of its stage.
struct TaskMemory {
  std::array<MemoryBreakdown, kInstants> at{};  // peaks during the task; zero where it never was
  MemoryBreakdown after;
};

/// Memory of every stage at its peak and at each instant, from the compiled programs and the schedule's order
/// of tasks; exact for the step that the programs describe. Programs are compiled and folded once for all
/// stages and micro-batches; a stage costs some nanoseconds per task.
/// Parameters are gathered and gradients opened as weight events around the passes (ZeRO, arXiv:1910.02054).
/// Of other profiles than the executor's these, states and buffers are the ledger's, and not replayed: what
/// the passes hold is. Preconditions: the rules accept the scenario and first_gap() names nothing.
/// [docs/formulas.md#M8]
class StepReplay {
 public:
  explicit StepReplay(const Scenario& scenario, std::span<const PassRow> passes = all_passes());
  /// What one rank of `stage` has alive when it has most, and the instants' own peaks.
  [[nodiscard]] ReplayedMemory stage(int stage) const;
  /// All tasks of `stage`, in its order.
  [[nodiscard]] std::vector<TaskMemory> tasks(int stage) const;

 private:
  /// A flat unit of parameters in bytes: what a pass gathers (ZeRO-3), what open gradients take (from ZeRO-2
  /// on), what stays.
  struct Unit {
    double gathered = 0, unsharded = 0;
    // Most while its buffers are gathered in fewer bits, and, beside them, while gradients are reduced so: of
    // those that stay open, and of those that are closed one after the other.
    double most_gathering = 0, most_gathering_again = 0, most_reducing = 0, most_closing = 0;
    double update = 0;             // bytes while the optimizer runs
    bool in_backward = false;      // it runs when the unit's gradients are complete
    MemoryBreakdown states, host;  // that stay on the device; that are offloaded
  };
  struct Phases {
    FoldedPhases whole{}, split{};  // split: weight gradients are put off
    [[nodiscard]] const FoldedPhases& of(bool is_split) const { return is_split ? split : whole; }
  };
  struct Layer {
    LayerClass kind;
    bool recomputed = false;
    Phases before;        // of a multi-token-prediction module: the way to its layer
    Phases layer;         // … and its final norm, where that is a program of its own
    double cut_over = 1;  // ranks that cut what it keeps among them
    Unit unit;
  };
  /// What a micro-batch leaves in a layer when it has run, and what of it stays until its backward begins.
  [[nodiscard]] static double left_bytes(const Layer& layer) {
    return layer.before.whole[0].net().activations + layer.layer.whole[0].net().activations;
  }
  [[nodiscard]] static double kept_bytes(const Layer& layer) { return left_bytes(layer) / layer.cut_over; }
  /// What stands in one chunk of a stage.
  struct ChunkPlan {
    bool first = false, last = false;
    bool next_here = false, previous_here = false;  // the neighbour is on this stage: nothing is sent
    std::vector<const Layer*> layers{};
    std::vector<bool> offloaded{};        // by layer: what it keeps waits on the host
    std::vector<const Layer*> modules{};  // multi-token prediction, behind the layers
    std::vector<const Unit*> owned{};     // beside the layers
    std::vector<const Unit*> of_head{};   // what the head reads
    const Unit* words = nullptr;          // what modules look up
    /// Losses that follow one another: of the last layer and, where each is made at once, of every module.
    std::size_t losses = 0;
    friend bool operator==(const ChunkPlan&, const ChunkPlan&) = default;
    [[nodiscard]] bool reads_by_head(const Unit& unit) const {
      return std::ranges::find(of_head, &unit) != of_head.end();
    }
  };
  /// What a task does with buffers of gradients: those of its layers and, beside them, of an end.
  struct Gates {
    bool open = false, close = false;
    bool open_end = true, close_end = true;
  };
  /// Which of a chunk's tasks of one kind it is.
  struct Turn {
    bool first = false, last = false;  // of the step
    bool completes = false;            // no micro-batch's gradients are missing then
    bool open = false;  // weight gradients of another micro-batch wait, so that gradients are open
  };
  struct Progress;
  [[nodiscard]] std::vector<Progress> before_first(int stage) const;
  static constexpr std::size_t kTurns = 8;
  /// Where gradients wait for the last micro-batch they are opened in the first and closed in the last.
  [[nodiscard]] std::size_t index_of_turn(const Turn& turn) const {
    if (!waits_) return turn.open ? 1 : 0;
    return (turn.first ? 1U : 0U) + (turn.last ? 2U : 0U) + (turn.completes ? 4U : 0U);
  }
  [[nodiscard]] Gates gates_at(std::size_t index, bool split) const;
  /// Tasks of one chunk, by index_of_turn.
  struct Chunk {
    /// Up to a loss, and that loss's backward.
    struct ToLoss {
      std::array<Folded, kTurns> forward{}, head_backward{};
    };
    std::vector<ToLoss> losses{};
    Folded loss{}, later{};
    std::array<Folded, kTurns> forward{}, backward{}, backward_input{};  // forward: where no loss follows
    double unsharded = 0;                                                // gradients of all layers
    Folded reduce{};     // … are reduced and stay open, where they do not wait
    Folded close{};      // … are reduced, updated in backward where that is asked for, and freed
    double on_host = 0;  // what a micro-batch's layers keep there between forward and backward
  };
  class Live;

  /// Calls `part(folded, instant, host)` for whatever the tasks of a stage do, `done()` behind each task;
  /// `host`: bytes that go to the host meanwhile, below zero those that come back.
  template <class OnPart, class OnTask>
  void walk(int stage, const OnPart& part, const OnTask& done) const;
  template <class OnPart>
  static void walk_forward(const Chunk& chunk, std::size_t turn, const OnPart& part);
  Layer& layer_of(LayerClass kind, bool recomputed);
  [[nodiscard]] Phases folded_both(Part part, LayerClass kind, Techniques techniques) const;
  void prepare_ends();
  [[nodiscard]] FoldedPhases ruled_head() const;
  [[nodiscard]] FoldedPhases folded(Part part, LayerClass kind, const Techniques& techniques) const;
  [[nodiscard]] Unit unit_of(const UnitSizes& sizes) const;
  /// True where gradients of all uses of a unit go to one buffer.
  [[nodiscard]] bool collects(const Unit& unit) const { return unit.in_backward || waits_; }
  /// True of a table that is output layer as well, and looked up: its gradients are complete behind the
  /// look-ups'.
  [[nodiscard]] bool waits_for_look_ups(const Unit& unit) const {
    return collects(unit) && (&unit == &embedding_ || (&unit == &tied_copy_ && mtp_modules(sc_) > 0));
  }
  static void add_passing(const FlatSizes& flat, double gathered, double unsharded, Unit& unit);
  /// The unit's parameters are made whole; `again`: by backward.
  static void gather(const Unit& unit, bool again, Folded& out);
  /// Its gradients are reduced while another micro-batch still adds to them.
  static void reduce(const Unit& unit, Folded& out);
  /// Gradients of the unit are complete: reduced, updated in backward where that is asked for, and closed.
  static void close(const Unit& unit, double unsharded, Folded& out);
  /// Adds a unit to what the last stage holds.
  void hold(const Unit& unit);
  /// The chunk's first `recomputed` layers are recomputed. `offloaded`: how many of the stage's layers, from
  /// this chunk's first on, keep their activations on the host; counted down.
  [[nodiscard]] ChunkPlan plan_chunk(StageChunk at, int recomputed, std::int64_t& offloaded);
  [[nodiscard]] Chunk fold_chunk(const ChunkPlan& plan) const;
  [[nodiscard]] Folded fold_forward(const ChunkPlan& plan) const;
  [[nodiscard]] Folded fold_module_forward(const ChunkPlan& plan, const Layer& module) const;
  void fold_layer_forward(const Layer& layer, bool offloaded, const Folded& before, Folded& out) const;
  void open_for_loss(const ChunkPlan& plan, std::size_t loss, const Gates& gates, Folded& out) const;
  [[nodiscard]] Chunk::ToLoss fold_to_loss(const ChunkPlan& plan, std::size_t loss) const;
  [[nodiscard]] Folded fold_head(const ChunkPlan& plan, std::size_t loss, const Gates& gates) const;
  [[nodiscard]] Folded fold_backward(const ChunkPlan& plan, bool split, const Gates& gates) const;
  void fold_layer_backward(const Layer& layer, bool offloaded, bool split, const Gates& gates,
                           const Folded& before, Folded& out) const;
  [[nodiscard]] Folded fold_look_up_backward(const ChunkPlan& plan, std::size_t module, bool split,
                                             const Gates& gates) const;
  void fold_modules_backward(const ChunkPlan& plan, bool split, const Gates& gates, Folded& out) const;
  void fold_embedding_backward(const Gates& gates, Folded& out) const;

  Scenario sc_;
  LocalDims dims_;
  Sizes sizes_;
  StateTypes types_;
  std::span<const PassRow> passes_;
  bool waits_;                // whole gradients, for the last micro-batch
  std::deque<Layer> layers_;  // of every class, recomputed or not, that was asked for
  FoldedPhases embedding_phases_{}, final_norm_phases_{}, head_phases_{};
  bool norm_apart_;  // runs_final_norm_apart
  Unit embedding_, final_norm_, head_, tied_copy_;
  double hidden_states_;  // bytes
  std::vector<int> chunk_layers_;
  std::vector<std::vector<Chunk>> chunks_;  // by stage
  std::vector<MemoryBreakdown> states_;     // by stage
  std::vector<MemoryBreakdown> host_;       // offloaded states, by stage
  std::vector<double> updates_;             // bytes while the optimizer runs, by stage
  std::shared_ptr<const Schedule> schedule_;
};

}  // namespace hexaplan::costmodel::program
