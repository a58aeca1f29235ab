#include "costmodel/calibrate/run_constants.h"

#include <algorithm>
#include <cmath>

namespace hexaplan::costmodel {
namespace {

// Standard deviations of the first six: somewhat wider than what makes the residuals of 37 kinds of published
// runs (a source, a GPU type, a framework) likeliest, with and without each source
// (tests/golden/run_constant_priors.py). Of reserved memory: an estimate, five sources have such figures.
constexpr std::array<RunConstantRow, kRunConstantCount> kConstants{{
    {RunConstant::Products, "products", "rate of products and attention", false, 0.09},
    {RunConstant::Memory, "memory", "rate of memory-bound kernels", false, 0.13},
    {RunConstant::NodeLinks, "node_links", "rate of links inside a node", false, 0.25},
    {RunConstant::Network, "network", "rate of the network", false, 0.4},
    {RunConstant::Host, "host", "host time", true, 0.25},
    {RunConstant::Exposed, "exposed", "exposed communication", true, 0.4},
    {RunConstant::Reserved, "reserved", "reserved beyond live tensors", true, 0.5},
}};

double factor(const RunCorrections& corrections, RunConstant constant) {
  return std::exp(correction_of(corrections, constant));
}

/// Every time that the host takes.
constexpr Seconds FrameworkProfile::*kHostTimes[] = {
    &FrameworkProfile::expert_layer_overhead, &FrameworkProfile::expert_overhead,
    &FrameworkProfile::kernel_launch,         &FrameworkProfile::layer_host_forward,
    &FrameworkProfile::layer_host_backward,   &FrameworkProfile::pipeline_collective_host,
    &FrameworkProfile::step_overhead,         &FrameworkProfile::microbatch_overhead,
    &FrameworkProfile::gather_slice_host,     &FrameworkProfile::pipeline_wait};

/// Every share of communication that hides behind something.
constexpr double FrameworkProfile::*kOverlaps[] = {&FrameworkProfile::tensor_overlap,
                                                   &FrameworkProfile::tensor_overlap_asked,
                                                   &FrameworkProfile::context_overlap,
                                                   &FrameworkProfile::pipeline_overlap,
                                                   &FrameworkProfile::pipeline_overlap_interleaved,
                                                   &FrameworkProfile::expert_overlap,
                                                   &FrameworkProfile::expert_overlap_asked};

}  // namespace

const std::array<RunConstantRow, kRunConstantCount>& run_constants() {
  return kConstants;
}

void correct(Calibration& calibration, const RunCorrections& corrections) {
  const double products = factor(corrections, RunConstant::Products);
  calibration.sustained *= products;
  calibration.attention_rate *= products;
  const double memory = factor(corrections, RunConstant::Memory);
  calibration.memory.share *= memory;
  calibration.optimizer.share *= memory;
  calibration.node_links *= factor(corrections, RunConstant::NodeLinks);
  const double network = factor(corrections, RunConstant::Network);
  NetworkModel& between = calibration.network;
  between.bandwidth_efficiency *= network;
  between.ceiling = network * between.ceiling;
  between.base_latency = between.base_latency / network;
  between.hop_latency = between.hop_latency / network;
}

void correct(FrameworkProfile& profile, const RunCorrections& corrections) {
  if (corrections == RunCorrections{}) return;
  const double host = factor(corrections, RunConstant::Host);
  for (const auto time : kHostTimes) profile.*time = host * (profile.*time);
  const double exposed = factor(corrections, RunConstant::Exposed);
  for (const auto share : kOverlaps) profile.*share = 1 - std::min(1.0, exposed * (1 - profile.*share));
  profile.overlap_slowdown = 1 + exposed * (profile.overlap_slowdown - 1);
  const double reserved = factor(corrections, RunConstant::Reserved);
  profile.reserved_ratio = 1 + reserved * (profile.reserved_ratio - 1);
  if (profile.varying_reserved_ratio > 0)
    profile.varying_reserved_ratio = 1 + reserved * (profile.varying_reserved_ratio - 1);
  profile.unreclaimed_streams *= reserved;
}

}  // namespace hexaplan::costmodel
