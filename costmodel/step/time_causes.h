#pragma once
#include <array>
#include <string_view>

#include "costmodel/step/estimate.h"

namespace hexaplan::costmodel {

/// A cause of the step time in words: the one table that files, tables and charts take them from.
struct TimeCause {
  Seconds StepTime::*member;
  std::string_view key;   // in files
  std::string_view name;  // for people
};

/// In the order of StepTime.
inline constexpr std::array<TimeCause, 14> kTimeCauses{{
    {&StepTime::gemm, "gemm", "matrix products"},
    {&StepTime::attention, "attention", "attention"},
    {&StepTime::memory_bound, "memory_bound", "memory-bound kernels"},
    {&StepTime::recompute, "recompute", "recomputation"},
    {&StepTime::launch, "launch", "kernel launches"},
    {&StepTime::tensor_parallel, "tensor_parallel", "tensor-parallel comm"},
    {&StepTime::context_parallel, "context_parallel", "context-parallel comm"},
    {&StepTime::expert_parallel, "expert_parallel", "expert-parallel comm"},
    {&StepTime::pipeline_p2p, "pipeline_p2p", "pipeline messages"},
    {&StepTime::bubble, "bubble", "pipeline bubble"},
    {&StepTime::data_parallel, "data_parallel", "data-parallel comm"},
    {&StepTime::offload, "offload", "copies to and from the host"},
    {&StepTime::optimizer, "optimizer", "optimizer"},
    {&StepTime::host, "host", "host"},
}};
static_assert(sizeof(StepTime) == kTimeCauses.size() * sizeof(Seconds), "every cause is listed");

}  // namespace hexaplan::costmodel
