#pragma once
#include <cstdint>
#include <filesystem>
#include <type_traits>

#include "costmodel/spec/local_dims.h"
#include "costmodel/units/ceil_div.h"
#include "presets/json/object_reader.h"
#include "presets/launch/launch_reading.h"
#include "presets/launch/launch_words.h"

namespace hexaplan::presets {

// What the tables of several kinds of settings ask of a plan, and how they read the same things.

/// Names of PyTorch's types.
inline constexpr FrameworkWord<costmodel::DType> kTorchTypes[] = {{costmodel::DType::Bf16, "bfloat16"},
                                                                  {costmodel::DType::Fp16, "float16"},
                                                                  {costmodel::DType::Fp32, "float32"}};

/// Backends of Megatron-Core's attention, in the order of their numbers (megatron/core/transformer/enums.py,
/// AttnBackend). "flash" is the flash-attn package, "fused" cuDNN (NVIDIA/TransformerEngine
/// transformer_engine/pytorch/attention/dot_product_attention/utils.py, get_attention_backend).
inline constexpr FrameworkWord<costmodel::AttentionKernel> kCoreBackends[] = {
    {costmodel::AttentionKernel::FlashAttention2, "flash"},
    {costmodel::AttentionKernel::Flash, "fused"},
    {costmodel::AttentionKernel::Unfused, "unfused"},
    {costmodel::AttentionKernel::FusedSoftmax, "local"},
    {costmodel::AttentionKernel::Flash, "auto"}};
/// … that runs the attention a plan is priced with.
[[nodiscard]] inline costmodel::AttentionKernel core_backend(const costmodel::Scenario& s) {
  using costmodel::AttentionKernel;
  if (stores_scores(s.recipe.attention)) return s.recipe.attention;
  const bool vendor = attention_library(s) == costmodel::AttentionLibrary::Vendor;
  return vendor ? AttentionKernel::Flash : AttentionKernel::FlashAttention2;
}

/// Layers that no description of a plain decoder has.
[[nodiscard]] inline bool is_hybrid(const costmodel::ModelSpec& m) {
  return m.is_recurrent() || m.single_branches || m.attention.output_gate;
}

/// Of main gradients. A profile's type of 16 bits is that of the computation, and parameters in fp16 beside
/// master copies have gradients like them unless the recipe says otherwise.
[[nodiscard]] inline costmodel::DType gradient_dtype(const costmodel::Scenario& s) {
  using costmodel::bits_per_element, costmodel::DType;
  const DType computed = costmodel::activation_dtype(s.recipe.precision);
  if (!s.recipe.gradient_dtype && s.framework.master_parameters && computed == DType::Fp16) return computed;
  const DType type = s.recipe.gradient_dtype.value_or(s.framework.gradient_dtype);
  return bits_per_element(type) == 16 && bits_per_element(computed) == 16 ? computed : type;
}

[[nodiscard]] inline bool offloads(const costmodel::Scenario& s, costmodel::OffloadTarget target) {
  return (s.recipe.offload & target) != 0;
}
/// Optimizer steps of the plan's budget; null without one.
[[nodiscard]] inline JsonValue optimizer_steps(const costmodel::Scenario& s) {
  return only_if(s.recipe.tokens > 0, costmodel::ceil_div(s.recipe.tokens, tokens_per_step(s.recipe)));
}

template <int costmodel::Layout::*degree>
void read_degree(const ValueReader& value, LaunchReading& into) {
  into.plan.layout.*degree = value.small_integer(kDegreeRange);
}
inline void add_offload(LaunchReading& into, costmodel::OffloadTarget target) {
  into.plan.recipe.offload = static_cast<std::uint8_t>(into.plan.recipe.offload | target);
}
template <costmodel::OffloadTarget target>
void read_offload(const ValueReader& value, LaunchReading& into) {
  if (value.boolean()) add_offload(into, target);
}
template <costmodel::OffloadTarget target>
void read_offload_device(const ValueReader& value, LaunchReading& into) {
  constexpr FrameworkWord<int> kDevices[] = {{0, "none"}, {1, "cpu"}, {2, "nvme"}};
  const int device = meaning_of(kDevices, value);
  if (device == 0) return;
  add_offload(into, target);
  if (device == 2) into.plan.recipe.offload_device = costmodel::OffloadDevice::Nvme;
}
/// How many layers keep their activations in host memory (TransformerConfig.cpu_offloading_num_layers).
inline void read_offloaded_layers(const ValueReader& value, LaunchReading& into) {
  const int layers = value.small_integer({0, 10'000});
  if (layers == 0) return;
  add_offload(into, costmodel::kOffloadActivations);
  into.plan.recipe.offload_layers = layers;
}
/// A flag of the reading, or of what it has of trainers, which may be one that can stay unsaid.
template <auto member>
void read_flag(const ValueReader& value, LaunchReading& into) {
  if constexpr (std::is_invocable_v<decltype(member), LaunchReading&>) {
    into.*member = value.boolean();
  } else {
    into.trainer.*member = value.boolean();
  }
}
/// The folder that a model's files of the hub were copied to: its name is the model's.
inline void read_assets(const ValueReader& value, LaunchReading& into) {
  into.assets = std::filesystem::path{value.text()}.filename().string();
}
/// Megatron-Core's word for which tokens beyond an expert's capacity are dropped: plans have "probs".
inline void read_drop_policy(const ValueReader& value, LaunchReading& into) {
  if (value.text() != "probs")
    into.notes.push_back("tokens that experts drop by " + value.text() +
                         " have no word: the least probable are dropped, as many of them");
}

}  // namespace hexaplan::presets
