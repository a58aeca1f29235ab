#include "presets/launch/launch_config.h"

#include <algorithm>

#include "costmodel/units/nearest_name.h"
#include "presets/json/input_error.h"
#include "presets/launch/launch_fields.h"

namespace hexaplan::presets {
namespace {

constexpr LaunchFormat kFormats[] = {
    {Launcher::Megatron, "megatron", "Megatron-LM", "megatron", "megatron-2022", "megatron.sh",
     "arguments of pretrain_gpt.py, as a script",
     "NVIDIA/Megatron-LM@core_v0.15.3 megatron/training/arguments.py"},
    {Launcher::Nanotron, "nanotron", "nanotron", "nanotron", "nanotron-polling", "nanotron.yaml",
     "sections of the configuration of run_train.py",
     "huggingface/nanotron@19f88fb src/nanotron/config/parallelism_config.py, models_config.py, config.py"},
    {Launcher::Torchtitan, "torchtitan", "torchtitan", "fsdp2", "fsdp1 ddp", "torchtitan.toml",
     "job configuration of torchtitan v0.2.2 (pip install torchtitan==0.2.2): CONFIG_FILE=torchtitan.toml "
     "./run_train.sh; what came after 2026-02-23 (#2386) has recipes in Python and does not read it",
     "pytorch/torchtitan@v0.2.2 torchtitan/config/job_config.py"},
    {Launcher::DeepSpeed, "deepspeed", "DeepSpeed", "deepspeed", "megatron-deepspeed", "deepspeed.json",
     "configuration of deepspeed.initialize",
     "deepspeedai/DeepSpeed@v0.19.6 deepspeed/runtime/config.py, runtime/zero/config.py"},
    {Launcher::Bridge, "bridge", "Megatron-Bridge", "megatron", "", "bridge.yaml",
     "configuration for ConfigContainer.from_yaml and pretrain of megatron.bridge.training",
     "NVIDIA-NeMo/Megatron-Bridge@v0.6.0 src/megatron/bridge/training/config.py, models/gpt_provider.py; "
     "NVIDIA/Megatron-LM@cd4afff megatron/core/transformer/transformer_config.py"},
    {Launcher::MaxText, "maxtext", "MaxText", "maxtext", "", "maxtext.yml",
     "configuration: python3 -m maxtext.trainers.pre_train.train maxtext.yml",
     "AI-Hypercomputer/maxtext@e591f30 src/maxtext/configs/base.yml, types.py"},
    {Launcher::Trl, "trl", "Hugging Face TRL", "hf-eager", "fsdp2 fsdp1 deepspeed", "trl.yaml",
     "configuration of supervised fine-tuning: accelerate launch -m trl.scripts.sft --config trl.yaml",
     "huggingface/trl@v1.16.0 trl/trainer/sft_config.py, model_config.py; huggingface/transformers@v5.23.0 "
     "src/transformers/training_args.py"},
    {Launcher::Axolotl, "axolotl", "Axolotl", "hf-eager", "fsdp2 fsdp1 deepspeed", "axolotl.yaml",
     "configuration: accelerate launch -m axolotl.cli.train axolotl.yaml",
     "axolotl-ai-cloud/axolotl@v0.19.0 src/axolotl/utils/schemas"},
    {Launcher::LlamaFactory, "llamafactory", "LLaMA-Factory", "hf-eager", "fsdp2 fsdp1 deepspeed",
     "llamafactory.yaml", "configuration: FORCE_TORCHRUN=1 llamafactory-cli train llamafactory.yaml",
     "hiyouga/LLaMA-Factory@v0.9.5 src/llamafactory/hparams"},
};

}  // namespace

bool runs_profile(const LaunchFormat& format, std::string_view profile) {
  for (std::string_view rest = format.profiles; !rest.empty();) {
    const std::string_view word = rest.substr(0, rest.find(' '));
    if (word == profile) return true;
    rest.remove_prefix(std::min(rest.size(), word.size() + 1));
  }
  return profile == format.profile;
}

std::span<const LaunchFormat> launch_formats() {
  return kFormats;
}

const LaunchFormat& find_launch_format(std::string_view framework) {
  std::vector<std::string> names;
  std::string list;
  for (const LaunchFormat& format : kFormats) {
    if (framework == format.name || runs_profile(format, framework)) return format;
    names.emplace_back(format.name);
    list += (list.empty() ? "" : ", ") + names.back();
  }
  throw InputError({.field = "framework",
                    .value = in_quotes(framework),
                    .expected = "a framework whose configuration can be written: " + list,
                    .hint = did_you_mean(costmodel::nearest_name(framework, names))});
}

LaunchConfig launch_config(const costmodel::Scenario& scenario, const LaunchFormat& format,
                           const std::string& remark, const ModelOrigin& origin) {
  LaunchConfig config;
  config.gaps = launch_gaps(scenario, format.launcher, origin);
  config.text = launch_text(scenario, format, config.gaps, remark, origin);
  return config;
}

}  // namespace hexaplan::presets
