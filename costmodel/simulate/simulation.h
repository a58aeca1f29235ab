#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string_view>
#include <vector>

#include "costmodel/spec/verdict.h"
#include "costmodel/units/quantity.h"

namespace hexaplan::costmodel {

struct Calibration;
struct Scenario;

/// Queues of one device: what lies on one of them runs one after the other, different ones run side by side.
enum class Stream : std::uint8_t {
  Compute,
  Collectives,  // of tensor, context and expert parallelism, as far as compute waits for them
  Messages,     // between pipeline stages, at the sender
  Data,         // gradients and parameters, between data-parallel ranks
};
inline constexpr int kStreams = 4;

enum class SpanKind : std::uint8_t {
  Forward,
  Backward,        // inputs' and weights' gradients
  BackwardInput,   // inputs' gradients alone; the weights' follow later
  BackwardWeight,  // weights' gradients alone
  Recompute,       // forward run again for a backward
  Collective,
  SendForward,   // activations to the next chunk of the model
  SendBackward,  // gradients to the previous one
  GradientReduce,
  ParameterGather,
  Optimizer,
  Host,         // device waits for the host: per micro-batch and per step
  OuterReduce,  // between replicas that train apart: a step's share
};
inline constexpr int kSpanKinds = 13;
/// "forward", "backward input", "gradient reduction" …
[[nodiscard]] std::string_view name_of(SpanKind kind);
/// "compute", "collectives", "messages", "data parallel".
[[nodiscard]] std::string_view name_of(Stream stream);

/// Something that occupies a stream. Spans of one stream are sorted and do not overlap.
struct Span {
  Seconds begin, end;
  std::int32_t microbatch = -1;  // -1: of the step
  std::int16_t chunk = 0;        // of the stage (docs/formulas.md#S5), -1: of all
  SpanKind kind = SpanKind::Forward;
  friend bool operator==(const Span&, const Span&) = default;
};

/// Live tensors from `at` until the next point.
struct MemoryPoint {
  Seconds at;
  Bytes allocated;    // parameters, gradients, optimizer, activations, logits, working sets
  Bytes activations;  // thereof kept for backward
};

/// What one rank of a stage does with the step; the parts add up to its total.
struct SimulatedTimes {
  Seconds compute;        // kernels, recomputation included
  Seconds collectives;    // tensor, context and expert parallelism: waited for
  Seconds messages;       // waited for at the sender, while they cannot run beside compute
  Seconds data_parallel;  // gradients, parameters: waited for, or by how much they slow compute down
  Seconds optimizer;
  Seconds host;
  Seconds bubble;  // everything else: another stage has not delivered yet
  [[nodiscard]] constexpr Seconds exposed() const { return collectives + messages + data_parallel; }
  [[nodiscard]] constexpr Seconds total() const { return compute + exposed() + optimizer + host + bubble; }
};

struct StageTimeline {
  /// By Stream; empty without SimulationOptions::keep_spans.
  std::array<std::vector<Span>, kStreams> streams;
  /// A step function over the whole step; empty without SimulationOptions::keep_memory.
  std::vector<MemoryPoint> memory;
  SimulatedTimes times;
  Seconds begin;                      // of the stage's step: 0 unless stages drift (ZB-2p)
  Bytes peak;                         // most live tensors
  Bytes outside;                      // on the device beside them: allocator's slack, communicators, context
  double microbatches_in_flight = 0;  // most kept at once, in units of the stage's layers
};

struct Simulation {
  std::vector<StageTimeline> stages;
  Seconds total;       // one optimizer step
  int slowest = 0;     // the stage that computes longest
  int peak_stage = 0;  // with most device memory
  int microbatches = 0;
  int chunks = 1;        // per stage
  bool stopped = false;  // by SimulationOptions::stop: there are no stages
  /// Waiting for other stages, as a share of the ranks' time.
  [[nodiscard]] double bubble_share() const;
  /// Waiting for communication, as a share of the ranks' time.
  [[nodiscard]] double exposed_share() const;
};

/// Takes the next spans and memory points of a stage, on each stream in their order; nothing else of the
/// timeline counts. They are gone when it returns.
using TakePiece = std::function<void(int stage, const StageTimeline& piece)>;

struct SimulationOptions {
  bool keep_spans = true;      // false: totals only, several times as fast
  bool keep_memory = true;     // false: no curve; peaks are there all the same
  bool times_alone = false;    // nothing of memory, peaks neither: half as long
  bool free_messages = false;  // between stages, as the closed form of the bubble has it
  std::stop_token stop;        // looked at every few thousand tasks
  /// Takes what is to be kept every few thousand tasks, stage by stage, instead: the simulation then ends
  /// without spans and curves, and its memory does not grow with them. What it throws ends the simulation.
  TakePiece take;
};

/// Most tasks of a simulation (a micro-batch crosses a chunk of a stage in one direction): 24 bytes and some
/// 50 ns each. With spans or memory curves that are kept, 100 bytes a task more, a tenth of them.
inline constexpr std::int64_t kMostSimulatedTasks = 50'000'000;
inline constexpr std::int64_t kMostDrawnTasks = kMostSimulatedTasks / 10;
/// Tasks of the scenario's schedule, without making it: stages x chunks x micro-batches x passes (forward and
/// backward, or forward, dgrad and wgrad; DualPipe splits some backwards only and has fewer). At most the
/// largest int64.
[[nodiscard]] std::int64_t tasks_of_step(const Scenario& scenario);
/// Why `simulate_step` would take more memory and time than anybody wants, with the numbers and what to do;
/// nothing when the simulation is small enough. Rule: "simulation-size".
[[nodiscard]] std::optional<Rejected> too_large_to_simulate(const Scenario& scenario,
                                                            const SimulationOptions& options = {});

/// One optimizer step as events over the compute and communication streams of every stage, from the same
/// schedule, operation list and ledger as `estimate_step`.  [docs/formulas.md#S5]  Precondition: the rules
/// accept the scenario (`first_rejection`), and `too_large_to_simulate` names nothing. Pure; 64 stages × 512
/// micro-batches × 4 chunks in 50 ms.
[[nodiscard]] Simulation simulate_step(const Scenario& scenario, const Calibration& calibration,
                                       const SimulationOptions& options = {});

}  // namespace hexaplan::costmodel
