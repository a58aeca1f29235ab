#pragma once
#include "costmodel/spec/scenario.h"
#include "costmodel/units/quantity.h"

// What failures and checkpoints leave of a long run.  [docs/formulas.md#U4]
namespace hexaplan::costmodel {

/// A run that is interrupted at random and goes on from its last checkpoint.
struct InterruptedRun {
  Seconds mtbf;      // of the whole job; infinite where nothing fails
  Seconds stall;     // of training, for one checkpoint
  Seconds unusable;  // from a checkpoint's stall until it can be loaded: it is written in the background
  Seconds restart;   // from a failure to the first step after it
};

/// Wall time of one second of progress, checkpoints `interval` apart: M·e^((R + U)/M)·(e^((τ + δ)/M) − 1)/τ,
/// which is exact for failures without memory. Infinite where the run hardly ever comes as far as a
/// checkpoint. Precondition: interval > 0.
[[nodiscard]] double slowdown(const InterruptedRun& run, Seconds interval);

/// The interval that `slowdown` is least for: τ with τ/M = 1 − e^−((τ + δ)/M), of which Young's √(2·δ·M) is
/// the first term. At least as long as writing in the background takes. Infinite where nothing fails.
[[nodiscard]] Seconds best_interval(const InterruptedRun& run);

/// Share of the time in which `spares` nodes more than the job needs are all in repair and one of the job's
/// is, too (Erlang's loss formula); `in_repair`: mean number of nodes in repair.
[[nodiscard]] double waiting_share(double in_repair, int spares);

/// Where the time of a run goes. The shares add up to 1; one that would take a million times as long as
/// without failures has none that is productive.
struct Goodput {
  Seconds mtbf;  // of the whole job; infinite where nothing fails
  Bytes checkpoint;
  Seconds writing;        // of a checkpoint to storage
  Seconds stall;          // … that training waits for
  Seconds interval;       // of training between two checkpoints
  Seconds best_interval;  // the one that costs least
  Seconds restart;        // with loading the checkpoint
  double productive = 1;  // steps that last: the goodput
  double checkpointing = 0;
  double repeating = 0;  // steps that a failure took back
  double restarting = 0;
  double waiting = 0;     // for a repaired node, where spare nodes are counted
  int enough_spares = 0;  // nodes with which the waiting would stay below a thousandth of the time
  /// Standard deviation of the logarithm of the rate of failures; 0 where it was said.
  double rate_sigma = 0;
};

/// What a checkpoint holds: trained parameters and optimizer states in the framework's types, each once.
[[nodiscard]] Bytes checkpoint_bytes(const Scenario& scenario);

/// Goodput of a run of the scenario, with the failures of its GPUs, nodes and links, `rate_factor` times as
/// many as are expected.
[[nodiscard]] Goodput goodput(const Scenario& scenario, double rate_factor = 1);

/// The cluster's reliability, or what the recipe says instead, or what is assumed of any.
[[nodiscard]] Reliability reliability_of(const Scenario& scenario);

/// Standard deviation of ln(failures per GPU and day) over published runs.
[[nodiscard]] double published_rate_sigma();

}  // namespace hexaplan::costmodel
