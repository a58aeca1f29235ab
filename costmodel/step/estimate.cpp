#include "costmodel/step/estimate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "costmodel/compute/operations.h"
#include "costmodel/parameters/parameter_tensors.h"
#include "costmodel/schedule/in_flight.h"
#include "costmodel/spec/rules.h"
#include "costmodel/spec/stage_plan.h"
#include "costmodel/step/host_memory.h"
#include "costmodel/step/memory_risk.h"
#include "costmodel/step/model_flops.h"
#include "costmodel/step/offload_operations.h"
#include "costmodel/step/stage_memory.h"
#include "costmodel/step/step_model.h"
#include "costmodel/step/technique_evidence.h"

namespace hexaplan::costmodel {
namespace {

Interval interval_around(double value, double sigma) {
  return {value * std::exp(-kNinetyPercent * sigma), value * std::exp(kNinetyPercent * sigma)};
}

/// Device memory, which the allocator keeps within the capacity as long as it can.
Interval device_interval(const StageMemory& stage, Bytes capacity, double sigma) {
  Interval device = interval_around(stage.device.value(), sigma);
  const double most_needed = interval_around(stage.needed.value(), sigma).high;
  device.high = std::min(device.high, std::max(capacity.value(), most_needed));
  return device;
}

/// As if all ranks of a node were of the stage that offloads most.
HostLoad host_of_node(const Scenario& sc, const Estimate& estimate) {
  HostLoad most;
  for (const StageMemory& stage : estimate.stages) most = larger_of(most, {stage.host, stage.disk});
  return of_node(most, sc.cluster);
}

void fill_memory(const Scenario& sc, const Calibration& calibration, const std::vector<StagePlan>& plan,
                 Estimate& out) {
  const MemoryModel model{sc, calibration, plan};
  out.stages = model.peaks(plan, microbatches_in_flight(sc));
  for (const StageMemory& stage : out.stages)
    if (out.peak().needed < stage.needed) out.peak_stage = stage.stage;
  const StageMemory& peak = out.peak();
  out.capacity = sc.cluster.gpu.memory;
  const double sigma = memory_sigma(sc.framework, calibration);
  out.memory_bytes = device_interval(peak, out.capacity, sigma);
  out.out_of_memory_probability = out_of_memory_probability(peak.needed, out.capacity, sigma);
  const HostLoad host = host_of_node(sc, out);
  out.host_memory = host.memory;
  out.disk = host.disk;
  if (peak.needed <= out.capacity) {
    out.verdict = Fits{out.capacity - peak.needed};
  } else {
    out.verdict = Rejected{"fits-in-memory",
                           fmt::format("stage {} needs {:.2f} GiB at its peak ({}), the GPU has {:.2f} GiB",
                                       out.peak_stage, peak.needed.value() / 1073741824.0,
                                       name_of(peak.instant), out.capacity.value() / 1073741824.0),
                           ""};
    return;
  }
  if (auto rejected = host_rejection(host, sc.cluster.host)) out.verdict = std::move(*rejected);
}

/// Bytes are printed as 64-bit integers.
constexpr double kMostBytes = 4e18;

Estimate beyond_all_memory(Estimate estimate) {
  const double bytes = estimate.peak().device.value();
  Estimate out;
  out.microbatches = estimate.microbatches;
  out.parameters = estimate.parameters;
  out.verdict = Rejected{
      "counts-stay-in-range",
      fmt::format("stage {} needs {:.2g} bytes; more than 4e18 are not counted", estimate.peak_stage, bytes),
      "use a smaller micro-batch or sequence, or smaller adapters"};
  return out;
}

void fill_throughput(const Scenario& sc, Estimate& out) {
  const double seconds = out.time.total().value();
  const auto gpus = static_cast<double>(sc.cluster.gpus);
  const double peak = sc.cluster.gpu.peak_of(sc.recipe.precision).value();
  Throughput& t = out.throughput;
  t.tokens_per_second = static_cast<double>(tokens_per_step(sc.recipe)) / seconds;
  t.tokens_per_second_per_gpu = t.tokens_per_second / gpus;
  const double rate = out.model_flops_per_step.value() / seconds / gpus;
  t.model_tflops_per_gpu = rate / 1e12;
  t.mfu = rate / peak;
  t.hfu = out.hardware_flops_per_step.value() / seconds / gpus / peak;
  t.mfu_full_attention = model_flops_per_step(sc, AttentionFlops::Full).value() / seconds / gpus / peak;
}

}  // namespace

Estimate estimate_step(const Scenario& sc, const Calibration& calibration) {
  Estimate out;
  if (auto rejected = first_rejection(sc)) {
    out.verdict = std::move(*rejected);
    return out;
  }
  out.microbatches = microbatches_per_step(sc);
  out.parameters = static_cast<double>(count_parameters(sc.model).total);
  const std::vector<StagePlan> plan = plan_stages(sc);
  fill_memory(sc, calibration, plan, out);
  if (!(out.peak().device.value() < kMostBytes)) return beyond_all_memory(std::move(out));
  const StepModel step{sc, calibration, plan};
  out.time = step.time();
  out.step_seconds = interval_around(
      out.time.total().value(), time_sigma(sc.framework, calibration, added_variance(techniques_used(sc))));
  out.model_flops_per_step = model_flops_per_step(sc, AttentionFlops::CausalHalved);
  out.hardware_flops_per_step = step.hardware_flops();
  fill_throughput(sc, out);
  return out;
}

TensorLedger build_ledger(const Scenario& sc, int stage) {
  const Calibration none;
  const std::vector<StagePlan> stages = plan_stages(sc);
  return MemoryModel{sc, none, stages}.printed_ledger(
      stages[static_cast<std::size_t>(stage)], stage,
      microbatches_in_flight(sc)[static_cast<std::size_t>(stage)]);
}

std::vector<Operation> layer_operations(const Scenario& sc, LayerClass kind) {
  std::vector<Operation> out;
  append_layer_operations(sc, local_dims(sc), kind, out);
  append_activation_copies(sc, local_dims(sc), kind, out);
  return out;
}

std::vector<Operation> embedding_operations(const Scenario& sc) {
  std::vector<Operation> out;
  append_embedding_operations(sc, local_dims(sc), out);
  return out;
}

std::vector<Operation> head_operations(const Scenario& sc) {
  std::vector<Operation> out;
  append_head_operations(sc, local_dims(sc), out);
  return out;
}

}  // namespace hexaplan::costmodel
