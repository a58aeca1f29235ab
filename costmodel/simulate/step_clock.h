#pragma once
#include <cstdint>
#include <stop_token>
#include <utility>
#include <vector>

#include "costmodel/schedule/schedule.h"
#include "costmodel/simulate/stage_clock.h"
#include "costmodel/simulate/step_pieces.h"

namespace hexaplan::costmodel {

/// What a framework lets run side by side.
struct OverlapRules {
  double slowdown = 1;         // of compute while parameters or gradients travel
  double messages_waited = 1;  // share of a message that its sender waits for
  Seconds message_host;        // at either end of every message
  Seconds microbatch_host;     // per micro-batch and stage
  bool gathers_beside_forward = false;
  bool reduces_beside_backward = false;
  bool reduces_every_pass = false;
  friend bool operator==(const OverlapRules&, const OverlapRules&) = default;
};
[[nodiscard]] OverlapRules overlap_rules(const Scenario& scenario);

/// Runs a schedule: the Clock of `replay`. Everything handed in outlives it.
class StepClock {
 public:
  StepClock(const Schedule& schedule, const StepPieces& pieces, const OverlapRules& rules,
            std::vector<StageClock> stages, std::stop_token stop, const TakePiece& take);

  Seconds run(const Task& task, Seconds arrived);
  std::pair<Seconds, Seconds> run_pair(const Task& forward, const Task& backward, Seconds arrived);
  /// Every kPause calls: hands over what was drawn, and looks at the stop token.
  [[nodiscard]] bool stopped() {
    if (++looked_ % kPause != 0) return false;
    hand_over(Piece::Next);
    return stop_.stop_requested();
  }
  /// Reduction that is left, optimizer, gathering: after the last task.
  void finish(bool together);
  /// What every stage has drawn, to whoever takes it.
  void hand_over(Piece piece);
  static constexpr std::uint32_t kPause = 4096;

  [[nodiscard]] std::vector<StageClock>& stages() { return stages_; }

 private:
  struct ChunkState {
    bool sends_forward = false, sends_backward = false;  // to another stage
    int forwards = 0, weights = 0;                       // passes run
    int passes = 0;                                      // … of so many
    Seconds gathering_since;
  };
  /// Where a task runs.
  struct Place {
    StageClock& clock;
    const ChunkPieces& pieces;
    ChunkState& chunk;
  };
  [[nodiscard]] std::size_t index_of(const Task& task) const;
  [[nodiscard]] Place place_of(const Task& task);
  void gather_parameters(std::size_t stage);
  void receive(const Task& task, const Place& at, Seconds arrived) const;
  void before(const Task& task, const Place& at) const;
  /// Compute of a task with everything that runs beside it.
  void work(const Task& task, const Place& at, const PassTime& recomputed, const PassTime& pass,
            SpanKind kind) const;
  void after(const Task& task, const Place& at) const;
  [[nodiscard]] Seconds deliver(const Task& task, const Place& at) const;
  void reduce_the_rest(std::size_t stage);
  void update(std::size_t stage);

  const Schedule& schedule_;
  const StepPieces& pieces_;
  OverlapRules rules_;
  std::vector<StageClock> stages_;
  std::vector<ChunkState> chunks_;  // [stage · chunks + chunk]
  std::stop_token stop_;
  const TakePiece& take_;
  std::uint32_t looked_ = 0;
};

}  // namespace hexaplan::costmodel
