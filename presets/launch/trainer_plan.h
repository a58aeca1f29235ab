#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "costmodel/spec/scenario.h"
#include "presets/json/object_reader.h"
#include "presets/launch/launch_reading.h"
#include "presets/launch/launch_words.h"

namespace hexaplan::presets {

// What plans and files of the trainers above Hugging Face's Trainer have in common.

[[nodiscard]] bool by_deepspeed(const costmodel::Scenario& scenario);
[[nodiscard]] bool shards_by_fsdp(const costmodel::Scenario& scenario);
/// DeepSpeed's own AdamW, on the host where its states are there.
[[nodiscard]] bool leaves_optimizer_to_deepspeed(const costmodel::Scenario& scenario);
/// Sizes that DeepSpeed's file leaves to the Trainer ("auto") follow from the model's hidden size: puts them
/// into the plan, and takes their keys out of what is left to the trainer.
void fill_automatic_sizes(LaunchReading& reading);
/// Leaves out sizes that are the profile's, and those that the plan's ZeRO stage does not ask for.
void take_zero_sizes(LaunchReading& reading);
/// Whether DeepSpeed reduces gradients beside the backward: where it is not said from ZeRO-3 on
/// (deepspeedai/DeepSpeed@1b88ac3 deepspeed/runtime/zero/config.py, overlap_comm_valid), and never where it
/// shards nothing (runtime/engine.py, allreduce_gradients).
void take_deepspeed_overlap(LaunchReading& reading);
/// All parameters are trained in 16 bits, without copies in fp32: a plain trainer's, and those that FSDP2
/// shards where nothing is mixed (huggingface/accelerate@16cb6eb8 src/accelerate/utils/fsdp_utils.py,
/// fsdp2_prepare_model: mixed precision widens them).
[[nodiscard]] bool trains_pure_bf16(const costmodel::Scenario& scenario);
/// The type in which the trainer loads the model: what is frozen in it stays so.
[[nodiscard]] costmodel::DType loaded_weights(const costmodel::Scenario& scenario);

/// The modules of Llama-like models that adapters stand beside (huggingface/transformers, modeling_llama.py).
struct AdaptedModules {
  costmodel::AdapterTargets targets;
  std::span<const std::string_view> modules;
};
/// Without AllLinear, which has a word.
[[nodiscard]] std::span<const AdaptedModules> adapted_modules();
/// Names of modules: a list, or one text with commas.
[[nodiscard]] std::vector<std::string> module_names_in(const ValueReader& value);
/// PEFT's modules_to_save: what the code of the model's family calls what trains beside the adapters. Empty
/// where the plan has none, and where nobody wrote down one of the names.
[[nodiscard]] std::vector<std::string> saved_module_names(const costmodel::Scenario& scenario);
/// What a name in modules_to_save means in the code of some family; None: another module.
[[nodiscard]] costmodel::SavedModules saved_module_named(std::string_view name);

/// LoraConfig's bias (huggingface/peft src/peft/tuners/lora/config.py).
inline constexpr FrameworkWord<costmodel::TrainedBiases> kPeftBiases[] = {
    {costmodel::TrainedBiases::None, "none"},
    {costmodel::TrainedBiases::All, "all"},
    {costmodel::TrainedBiases::Adapted, "lora_only"}};

/// `fsdp`: true, or the Trainer's older words ("full_shard auto_wrap offload").
void read_fsdp(const ValueReader& value, LaunchReading& into);
/// The version says that FSDP shards, too.
void read_fsdp_version(const ValueReader& value, LaunchReading& into);
/// reshard_after_forward: a boolean, or FSDP1's strategy.
void read_reshard(const ValueReader& value, LaunchReading& into);

/// Kernels that compute the loss in chunks: one of several settings is enough.
void read_chunked_loss(const ValueReader& value, LaunchReading& into);

/// What each trainer does when its file says nothing.
void begin_trl(LaunchReading& reading);
void begin_axolotl(LaunchReading& reading);
void begin_llamafactory(LaunchReading& reading);
/// Puts together what settings said in parts; the profile follows from what shards.
void settle_trl(LaunchReading& reading);
void settle_axolotl(LaunchReading& reading);
void settle_llamafactory(LaunchReading& reading);

}  // namespace hexaplan::presets
