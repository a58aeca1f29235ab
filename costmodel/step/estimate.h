#pragma once
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "costmodel/calibrate/calibration.h"
#include "costmodel/compute/operation.h"
#include "costmodel/memory/tensor_ledger.h"
#include "costmodel/spec/scenario.h"
#include "costmodel/spec/verdict.h"

namespace hexaplan::costmodel {

struct Interval {
  double low = 0, high = 0;
};
/// Half the width of a 90 % interval in standard deviations of a normal distribution.
inline constexpr double kNinetyPercent = 1.645;

/// Memory of one rank of one pipeline stage.
struct StageMemory {
  int stage = 0;
  double layers = 0;
  double microbatches_in_flight = 0;  // in units of the stage's layers
  MemoryBreakdown at_peak;            // at the instant below
  Instant instant = kBackward;        // at which device memory is fullest
  Bytes allocated;                    // peak of live tensors, at whichever instant
  Bytes reserved;                     // peak of the caching allocator
  Bytes device;                       // reserved + context + communicators: what nvidia-smi shows
  Bytes needed;  // … after the allocator has given back what it can: what runs out; at most `device`
  Bytes update;  // peak of live tensors after the last backward: clipping, optimizer, gathering
  Bytes idle;    // live tensors between steps
  Bytes host;    // offloaded tensors of the rank, in host memory
  Bytes disk;    // … on the node's disks
  /// The peak by kind with what the allocator has reserved beside the tensors as cached, so that the kinds
  /// add up to `device`.
  [[nodiscard]] MemoryBreakdown on_device() const {
    MemoryBreakdown kinds = at_peak;
    // One kind alone has a fraction of a byte, so that rounded kinds add up to the rounded sum.
    kinds.overhead = Bytes{std::round(at_peak.overhead.value())};
    kinds.cached += device - kinds.total();
    return kinds;
  }
};

/// Where a step's time goes on the critical path, seconds per optimizer step; the causes add up to `total`.
struct StepTime {
  Seconds gemm, attention, memory_bound, recompute, launch;
  Seconds tensor_parallel, context_parallel, expert_parallel, pipeline_p2p;  // exposed
  Seconds bubble;
  Seconds data_parallel;  // exposed gradient reduction and parameter gathering
  Seconds offload;        // exposed copies between the GPU and its host
  Seconds optimizer, host;
  [[nodiscard]] constexpr Seconds total() const {
    return gemm + attention + memory_bound + recompute + launch + tensor_parallel + context_parallel +
           expert_parallel + pipeline_p2p + bubble + data_parallel + offload + optimizer + host;
  }
};

struct Throughput {
  double tokens_per_second = 0;  // whole job
  double tokens_per_second_per_gpu = 0;
  double model_tflops_per_gpu = 0;  // TFLOP/s, convention below
  double mfu = 0;  // model FLOPs: causal attention halved, input embedding excluded (Megatron-Bridge)
  double hfu = 0;  // + recomputed forward
  double mfu_full_attention = 0;  // alternative: attention not halved (PaLM appendix B)
};

struct Estimate {
  Verdict verdict;
  std::vector<StageMemory> stages;
  int peak_stage = 0;     // that needs most
  Bytes capacity;         // usable device memory
  Bytes host_memory;      // of one node, that its ranks' offloaded tensors take
  Bytes disk;             // … of its disks
  Interval memory_bytes;  // 90 % interval of the peak stage's device bytes
  double out_of_memory_probability = 0;
  StepTime time;
  Interval step_seconds;  // 90 %
  Throughput throughput;
  Flops model_flops_per_step;     // whole job
  Flops hardware_flops_per_step;  // with recompute
  std::int64_t microbatches = 0;
  double parameters = 0;  // total
  /// The stage that needs most memory. Precondition: no rule rejected the layout.
  [[nodiscard]] const StageMemory& peak() const { return stages[static_cast<std::size_t>(peak_stage)]; }
};

/// Memory and step time of a scenario. Rejected layouts (rules) carry a verdict and nothing else; layouts
/// that do not fit carry everything. Pure; ≤ 50 µs.
[[nodiscard]] Estimate estimate_step(const Scenario& scenario, const Calibration& calibration);

/// The ledger of one rank of `stage`, every entry that the memory estimate sums.
[[nodiscard]] TensorLedger build_ledger(const Scenario& scenario, int stage);

/// Operations of one layer of class `kind` on one rank for one micro-batch, forward and backward.
[[nodiscard]] std::vector<Operation> layer_operations(const Scenario& scenario, LayerClass kind);
/// Embedding (first stage) and head with loss (last stage) for one micro-batch.
[[nodiscard]] std::vector<Operation> embedding_operations(const Scenario& scenario);
[[nodiscard]] std::vector<Operation> head_operations(const Scenario& scenario);
/// Once per step: gradient reduction, norm, optimizer, parameter gathering.
[[nodiscard]] std::vector<Operation> step_operations(const Scenario& scenario, int stage);

}  // namespace hexaplan::costmodel
