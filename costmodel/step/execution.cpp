#include "costmodel/step/execution.h"

#include <algorithm>

#include "costmodel/memory/saved_rule.h"

namespace hexaplan::costmodel {

double tensor_overlap(const Scenario& sc) {
  const FrameworkProfile& f = sc.framework;
  const auto asked = sc.recipe.execution.tensor_overlap;
  if (!asked) return f.tensor_overlap;
  // NVIDIA/Megatron-LM megatron/training/arguments.py, validate_args: only with sequence parallelism.
  return *asked && sc.layout.sp ? f.tensor_overlap_asked : 0.0;
}

bool tensor_backward_overlap(const Scenario& sc) {
  // A collective runs beside a product only where it reaches the SMs first. One hardware queue
  // (CUDA_DEVICE_MAX_CONNECTIONS=1) makes sure of it up to Hopper; Blackwell runs with 32 (NVIDIA-NeMo/
  // Megatron-Bridge scripts/performance: environment by GPU), and measured runs there hide nothing.
  const bool one_queue = sc.cluster.gpu.architecture != "blackwell";
  return sc.layout.sp && sc.recipe.execution.tensor_backward_overlap.value_or(
                             sc.framework.tensor_backward_overlap && one_queue);
}

double pipeline_overlap(const Scenario& sc) {
  const auto asked = sc.recipe.execution.pipeline_overlap;
  if (asked) return *asked ? 1.0 : 0.0;
  return sc.layout.vpp > 1
             ? std::max(sc.framework.pipeline_overlap, sc.framework.pipeline_overlap_interleaved)
             : sc.framework.pipeline_overlap;
}

bool overlaps_parameter_gather(const Scenario& sc) {
  return sc.recipe.execution.data_overlap.value_or(sc.framework.parameter_gather_overlap);
}

double expert_overlap(const Scenario& sc) {
  const FrameworkProfile& f = sc.framework;
  const auto asked = sc.recipe.execution.expert_overlap;
  return asked ? (*asked ? f.expert_overlap_asked : 0.0) : f.expert_overlap;
}

bool merges_expert_copies(const Scenario& sc) {
  const ExpertDispatcher dispatcher = sc.recipe.execution.dispatcher;
  if (dispatcher == ExpertDispatcher::Default) return sc.framework.expert_dispatch_merges_copies;
  return dispatcher == ExpertDispatcher::DeepEp || dispatcher == ExpertDispatcher::HybridEp;
}

double host_share(const Scenario& sc) {
  const Execution& e = sc.recipe.execution;
  const double compiled = compiles_layers(sc) ? sc.framework.compiled_host : 1.0;
  switch (e.graphs) {
    case CudaGraphs::FullIteration:
      return 0;
    case CudaGraphs::Partial:
      return compiled * sc.framework.partial_graph_host;
    case CudaGraphs::Default:
    case CudaGraphs::None:
      break;
  }
  return compiled;
}

}  // namespace hexaplan::costmodel
