#pragma once
#include "costmodel/spec/recipe.h"
#include "presets/json/spec_names.h"

namespace hexaplan::presets {

/// Words of Execution, the same in scenarios, on the command line and in tables of measurements.
inline constexpr Named<costmodel::CudaGraphs> kCudaGraphNames[] = {
    {"default", costmodel::CudaGraphs::Default},
    {"none", costmodel::CudaGraphs::None},
    {"partial", costmodel::CudaGraphs::Partial},
    {"full_iteration", costmodel::CudaGraphs::FullIteration},
};
inline constexpr Named<costmodel::ExpertDispatcher> kDispatcherNames[] = {
    {"default", costmodel::ExpertDispatcher::Default},
    {"alltoall", costmodel::ExpertDispatcher::AllToAll},
    {"allgather", costmodel::ExpertDispatcher::AllGather},
    {"deepep", costmodel::ExpertDispatcher::DeepEp},
    {"hybridep", costmodel::ExpertDispatcher::HybridEp},
};
inline constexpr Named<costmodel::GradientReduction> kReductionNames[] = {
    {"default", costmodel::GradientReduction::Default},
    {"every", costmodel::GradientReduction::Every},
    {"replicas-once", costmodel::GradientReduction::ReplicasOnce},
    {"once", costmodel::GradientReduction::Once},
};

}  // namespace hexaplan::presets
