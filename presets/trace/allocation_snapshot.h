#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "costmodel/memory/caching_allocator.h"
#include "costmodel/spec/scenario.h"
#include "costmodel/step/estimate.h"
#include "presets/trace/trace_writer.h"

namespace hexaplan::presets {

/// What the driver can give the framework's allocator on a rank of the stage.
[[nodiscard]] std::int64_t allocator_capacity(const costmodel::Estimate& estimate,
                                              const costmodel::StageMemory& stage);

/// Writes what one rank of every stage allocates and frees, run through the simulated caching allocator
/// (costmodel/program/step_allocations.h), as torch.cuda.memory._dump_snapshot would: PyTorch's viewer
/// (https://pytorch.org/memory_viz) opens it, and so does `hexaplan measure import`. Device n is a rank of
/// stage n; frames say tensor, layer, micro-batch, instant and step; times are the numbers of the calls,
/// since an allocator knows no others. `settings.capacity` is taken from the estimate. Format:
/// pytorch/pytorch torch/cuda/_memory_viz.py and torch/utils/viz/MemoryViz.js, v2.9. Returns why nothing was
/// written: the allocator of the scenario is not simulated.
[[nodiscard]] std::optional<std::string> write_allocation_snapshot(const costmodel::Scenario& scenario,
                                                                   const costmodel::Estimate& estimate,
                                                                   costmodel::AllocatorSettings settings,
                                                                   const TraceSink& sink);

}  // namespace hexaplan::presets
