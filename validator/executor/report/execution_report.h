#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "costmodel/compute/operation.h"
#include "validator/executor/communicator/rank_fault.h"
#include "validator/executor/communicator/traffic.h"
#include "validator/executor/memory/tracking_allocator.h"
#include "validator/executor/report/phase_clock.h"

namespace hexaplan::validator {

/// What one rank computed under one operation name: matrix products and attention.
struct OperationReport {
  std::string name;  // of the operation list
  costmodel::Pass pass = costmodel::Pass::Forward;
  costmodel::Flops flops;
  costmodel::Flops timed_flops;  // of the calls that were timed …
  costmodel::Seconds time;       // … and their time on the compute stream
};

/// What one rank communicated under one operation name; conventions of TrafficCount.
struct TrafficReport {
  std::string operation;
  costmodel::Pass pass = costmodel::Pass::Forward;
  costmodel::CollectiveKind kind = costmodel::CollectiveKind::AllReduce;
  costmodel::Group group = costmodel::Group::World;
  TrafficCount count;
};

struct PeakTensor {
  std::string name;
  costmodel::TensorKind kind = costmodel::TensorKind::Transient;
  std::int64_t bytes = 0;
};

/// What one rank kept: bytes in the ledger's storage types.
struct MemoryReport {
  std::int64_t peak_bytes = 0;
  BytesByKind peak_by_kind{};
  std::array<BytesByKind, costmodel::kInstants> peak_at{};  // of every instant, by index_of
  std::vector<PeakTensor> peak_tensors;                     // largest first
  std::vector<MemorySample> timeline;                       // empty unless asked for
};

/// Copies of one name and pass between a rank's device and its host, or the host's disks.
struct CopyReport {
  std::string operation;
  costmodel::Pass pass = costmodel::Pass::Forward;
  std::int64_t copies = 0;
  costmodel::Bytes bytes;
};

/// What a rank's host had of what was offloaded, and what crossed the link to it.
struct HostReport {
  MemoryReport memory, disk;
  std::vector<CopyReport> copies;
  [[nodiscard]] bool is_used() const { return memory.peak_bytes > 0 || disk.peak_bytes > 0; }
};

/// One rank over all measured steps so far.
struct RankReport {
  int rank = 0;
  int stage = 0;  // of the pipeline
  std::string host;
  std::int64_t process = 0;
  std::string device;                          // Device::description
  std::vector<costmodel::Seconds> step_times;  // of every step
  PhaseTimes phases{};
  LayerTimes layers;
  ComputeTimes compute{};        // of the steps whose calls were timed
  std::int64_t timed_steps = 0;  // how many those are
  std::vector<DeviceFact> facts;
  MemoryReport memory;
  HostReport offloaded;  // empty where nothing is offloaded
  std::vector<TrafficReport> traffic;
  std::vector<OperationReport> operations;
};

/// One optimizer step of the whole job.
struct StepReport {
  std::int64_t step = 0;  // counts from 1, over checkpoints
  double loss = 0;        // what is trained: mean cross entropy over the global batch's tokens + balance_loss
  double balance_loss = 0;   // of experts, times its coefficient; 0 in dense models
  double gradient_norm = 0;  // before clipping
  double learning_rate = 0;
  double loss_scale = 1;    // fp16: what the loss was multiplied by for its gradients
  bool skipped = false;     // fp16: gradients overflowed, parameters stayed as they were
  costmodel::Seconds time;  // slowest rank
  bool warm_up = false;     // before anything was measured
  bool profiled = false;    // slowed by timing every call of a device with streams
};

/// What came of a run, complete or not: a rank's fault leaves what was measured before it.
struct ExecutionReport {
  std::vector<StepReport> steps;
  std::vector<RankReport> ranks;  // by rank
  bool complete = false;          // every step asked for was run
  std::optional<Fault> fault;
};

/// Median of the steps that are neither warm-up nor profiled; of all when none is left. 0 without steps.
[[nodiscard]] costmodel::Seconds median_step_time(const std::vector<StepReport>& steps);

[[nodiscard]] MemoryReport memory_report(const TrackingAllocator& memory);
[[nodiscard]] std::vector<TrafficReport> traffic_report(const Traffic& traffic);
/// `samples` thinned to at most `most`: of every run of samples the largest in sum stays.
[[nodiscard]] std::vector<MemorySample> thinned(const std::vector<MemorySample>& samples, std::size_t most);

}  // namespace hexaplan::validator
