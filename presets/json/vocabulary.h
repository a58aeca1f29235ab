#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "costmodel/spec/dtype.h"
#include "costmodel/spec/layout.h"
#include "costmodel/spec/recipe.h"
#include "presets/json/object_reader.h"
#include "presets/json/spec_names.h"

namespace hexaplan::presets {

// Words that scenario files, command-line flags and layout strings use for the enums of the cost model. The
// first name of a value is the one that is written; later ones are further spellings that are read.

inline constexpr Named<costmodel::DType> kStateDTypeNames[] = {
    {"fp32", costmodel::DType::Fp32}, {"bf16", costmodel::DType::Bf16}, {"fp16", costmodel::DType::Fp16},
    {"fp8", costmodel::DType::Fp8},   {"nf4", costmodel::DType::Nf4},
};
/// In which outer gradients travel.
inline constexpr Named<costmodel::DType> kOuterDTypeNames[] = {
    {"fp32", costmodel::DType::Fp32},
    {"bf16", costmodel::DType::Bf16},
    {"fp8", costmodel::DType::Fp8},
    {"fp4", costmodel::DType::Fp4},
};
inline constexpr Named<costmodel::OuterStates> kOuterStatesNames[] = {
    {"gpu", costmodel::OuterStates::Gpu},
    {"copy-on-host", costmodel::OuterStates::CopyOnHost},
    {"host", costmodel::OuterStates::Host},
};
inline constexpr Named<costmodel::Optimizer> kOptimizerNames[] = {
    {"adamw", costmodel::Optimizer::AdamW},
    {"adamw-8bit", costmodel::Optimizer::AdamW8bit},
    {"adafactor", costmodel::Optimizer::Adafactor},
    {"lion", costmodel::Optimizer::Lion},
    {"sgd", costmodel::Optimizer::Sgd},
    {"muon", costmodel::Optimizer::Muon},
    {"lamb", costmodel::Optimizer::Lamb},
    {"galore", costmodel::Optimizer::Galore},
    {"galore-8bit", costmodel::Optimizer::Galore8bit},
    {"apollo", costmodel::Optimizer::Apollo},
    {"apollo-mini", costmodel::Optimizer::ApolloMini},
    {"soap", costmodel::Optimizer::Soap},
    {"shampoo", costmodel::Optimizer::Shampoo},
    {"adam", costmodel::Optimizer::AdamW},
};
inline constexpr Named<costmodel::AttentionKernel> kAttentionNames[] = {
    {"flash", costmodel::AttentionKernel::Flash},
    {"flash-attention-2", costmodel::AttentionKernel::FlashAttention2},
    {"fused-softmax", costmodel::AttentionKernel::FusedSoftmax},
    {"unfused", costmodel::AttentionKernel::Unfused},
};
inline constexpr Named<costmodel::CrossEntropy> kCrossEntropyNames[] = {
    {"default", costmodel::CrossEntropy::Default},
    {"unfused", costmodel::CrossEntropy::Unfused},
    {"fused", costmodel::CrossEntropy::Fused},
    {"chunked", costmodel::CrossEntropy::Chunked},
};
inline constexpr Named<costmodel::FineTune> kFineTuneNames[] = {
    {"pretrain", costmodel::FineTune::Pretrain}, {"full", costmodel::FineTune::Full},
    {"lora", costmodel::FineTune::Lora},         {"qlora", costmodel::FineTune::Qlora},
    {"ia3", costmodel::FineTune::Ia3},           {"lora-8bit", costmodel::FineTune::Lora8bit},
};
inline constexpr Named<costmodel::BatchPadding> kPaddingNames[] = {
    {"max_length", costmodel::BatchPadding::MaxLength},
    {"longest", costmodel::BatchPadding::Longest},
};
inline constexpr Named<costmodel::AdapterTargets> kAdapterTargetNames[] = {
    {"all-linear", costmodel::AdapterTargets::AllLinear},
    {"attention", costmodel::AdapterTargets::Attention},
    {"qkv", costmodel::AdapterTargets::QueryKeyValue},
    {"qv", costmodel::AdapterTargets::QueryValue},
    {"mlp", costmodel::AdapterTargets::Mlp},
};
inline constexpr Named<costmodel::TrainedBiases> kLoraBiasNames[] = {
    {"none", costmodel::TrainedBiases::None},
    {"all", costmodel::TrainedBiases::All},
    {"lora-only", costmodel::TrainedBiases::Adapted},
};
inline constexpr Named<costmodel::SavedModules> kSavedModulesNames[] = {
    {"none", costmodel::SavedModules::None},
    {"embedding", costmodel::SavedModules::Embedding},
    {"head", costmodel::SavedModules::Head},
    {"both", costmodel::SavedModules::Both},
};
inline constexpr Named<costmodel::RecomputeMode> kRecomputeNames[] = {
    {"none", costmodel::RecomputeMode::None},
    {"selective", costmodel::RecomputeMode::Selective},
    {"selective-op", costmodel::RecomputeMode::SelectiveOperators},
    {"full", costmodel::RecomputeMode::Full},
};
inline constexpr Named<std::uint16_t> kRecomputeModuleNames[] = {
    {"core_attn", costmodel::kRecomputeCoreAttention},
    {"layernorm", costmodel::kRecomputeNorm},
    {"mla_up_proj", costmodel::kRecomputeMlaUpProjection},
    {"mlp", costmodel::kRecomputeMlp},
    {"moe", costmodel::kRecomputeMoe},
    {"moe_act", costmodel::kRecomputeMoeActivation},
    {"shared_experts", costmodel::kRecomputeSharedExperts},
    {"act", costmodel::kRecomputeActivation},
    {"norm", costmodel::kRecomputeNorm},
};
inline constexpr Named<std::uint8_t> kOffloadNames[] = {
    {"optimizer", costmodel::kOffloadOptimizer},
    {"params", costmodel::kOffloadParameters},
    {"activations", costmodel::kOffloadActivations},
};
inline constexpr Named<costmodel::OffloadDevice> kOffloadDeviceNames[] = {
    {"cpu", costmodel::OffloadDevice::Cpu},
    {"nvme", costmodel::OffloadDevice::Nvme},
};
inline constexpr Named<costmodel::ScheduleKind> kScheduleNames[] = {
    {"gpipe", costmodel::ScheduleKind::GPipe},
    {"1f1b", costmodel::ScheduleKind::OneFOneB},
    {"interleaved", costmodel::ScheduleKind::Interleaved},
    {"zb-h1", costmodel::ScheduleKind::ZbH1},
    {"zb-2p", costmodel::ScheduleKind::Zb2p},
    {"zb-v", costmodel::ScheduleKind::Zbv},
    {"vhalf", costmodel::ScheduleKind::VHalf},
    {"dualpipe", costmodel::ScheduleKind::DualPipe},
    {"dualpipev", costmodel::ScheduleKind::DualPipeV},
    {"zb1p", costmodel::ScheduleKind::ZbH1},
    {"zb2p", costmodel::ScheduleKind::Zb2p},
    {"zbv", costmodel::ScheduleKind::Zbv},
};
inline constexpr Named<costmodel::ContextKind> kContextNames[] = {
    {"ring", costmodel::ContextKind::Ring},
    {"allgather", costmodel::ContextKind::AllGather},
    {"alltoall", costmodel::ContextKind::AllToAll},
    {"ulysses", costmodel::ContextKind::AllToAll},
};
inline constexpr Named<costmodel::StageSplit> kSplitNames[] = {
    {"even", costmodel::StageSplit::Even},
    {"compute-cost", costmodel::StageSplit::ComputeCost},
    {"ends-minus-one", costmodel::StageSplit::EndsMinusOne},
    {"embedding-counts", costmodel::StageSplit::EmbeddingCounts},
};
inline constexpr Named<costmodel::VocabParallel> kVocabNames[] = {
    {"vocab-last", costmodel::VocabParallel::LastStage},
    {"vocab-1", costmodel::VocabParallel::AllStagesOneBarrier},
    {"vocab-2", costmodel::VocabParallel::AllStagesTwoBarriers},
    {"vocab-interlaced", costmodel::VocabParallel::Interlaced},
};
inline constexpr Named<costmodel::Axis> kOrderNames[] = {
    {"tp", costmodel::Axis::Tensor},
    {"cp", costmodel::Axis::Context},
    {"dp", costmodel::Axis::Data},
    {"pp", costmodel::Axis::Pipeline},
};

}  // namespace hexaplan::presets
