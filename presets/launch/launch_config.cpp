#include "presets/launch/launch_config.h"

#include <fmt/format.h>

#include <algorithm>

#include "costmodel/units/nearest_name.h"
#include "presets/catalog/catalog.h"
#include "presets/frameworks/framework_preset.h"
#include "presets/json/input_error.h"
#include "presets/launch/launch_fields.h"

namespace hexaplan::presets {
namespace {

constexpr LaunchFormat kFormats[] = {
    {Launcher::Megatron, "megatron", "Megatron-LM", "megatron", "megatron-2022 megatron-2023", "megatron.sh",
     "arguments of pretrain_gpt.py, as a script",
     "NVIDIA/Megatron-LM@core_v0.15.3 megatron/training/arguments.py"},
    {Launcher::Nanotron, "nanotron", "nanotron", "nanotron", "nanotron-polling", "nanotron.yaml",
     "sections of the configuration of run_train.py",
     "huggingface/nanotron@2411b02 src/nanotron/config/parallelism_config.py, models_config.py, config.py"},
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
    {Launcher::Trl, "trl", "Hugging Face TRL", "hf-eager", "fsdp2 fsdp1 deepspeed hf-fsdp2 hf-deepspeed",
     "trl.yaml",
     "configuration of supervised fine-tuning: accelerate launch -m trl.scripts.sft --config trl.yaml",
     "huggingface/trl@v1.16.0 trl/trainer/sft_config.py, model_config.py; huggingface/transformers@v5.23.0 "
     "src/transformers/training_args.py"},
    {Launcher::Axolotl, "axolotl", "Axolotl", "hf-eager", "fsdp2 fsdp1 deepspeed hf-fsdp2 hf-deepspeed",
     "axolotl.yaml", "configuration: accelerate launch -m axolotl.cli.train axolotl.yaml",
     "axolotl-ai-cloud/axolotl@v0.19.0 src/axolotl/utils/schemas"},
    {Launcher::LlamaFactory, "llamafactory", "LLaMA-Factory", "hf-eager",
     "fsdp2 fsdp1 deepspeed hf-fsdp2 hf-deepspeed", "llamafactory.yaml",
     "configuration: FORCE_TORCHRUN=1 llamafactory-cli train llamafactory.yaml",
     "hiyouga/LLaMA-Factory@v0.9.5 src/llamafactory/hparams"},
};

/// What people call a format, where no spelling comes near it.
struct OtherName {
  std::string_view word, name;
};
constexpr OtherName kOtherNames[] = {
    {"nemo", "bridge"},  // NVIDIA-NeMo/Megatron-Bridge@v0.6.0 docs/nemo2-migration-guide.md
    {"megatron-bridge", "bridge"},
    {"megatron-lm", "megatron"},
    {"mcore", "megatron"},
    {"huggingface", "trl"},
    {"transformers", "trl"},
    {"accelerate", "trl"},
};

std::string meant_by(std::string_view word, const std::vector<std::string>& names) {
  for (const OtherName& row : kOtherNames) {
    if (row.word == word) return did_you_mean(row.name);
  }
  return did_you_mean(costmodel::nearest_name(word, names));
}

std::vector<std::string> format_names() {
  std::vector<std::string> names;
  for (const LaunchFormat& format : kFormats) names.emplace_back(format.name);
  return names;
}

std::vector<std::string> profiles_of(const LaunchFormat& format) {
  std::vector<std::string> profiles{std::string{format.profile}};
  for (std::string_view rest = format.profiles; !rest.empty();) {
    const std::string_view word = rest.substr(0, rest.find(' '));
    profiles.emplace_back(word);
    rest.remove_prefix(std::min(rest.size(), word.size() + 1));
  }
  return profiles;
}

/// By its name or by one of its profiles.
const LaunchFormat& format_called(std::string_view name, std::string_view field) {
  const auto found = std::find_if(std::begin(kFormats), std::end(kFormats), [&](const LaunchFormat& format) {
    return format.name == name || runs_profile(format, name);
  });
  if (found != std::end(kFormats)) return *found;
  const std::vector<std::string> names = format_names();
  throw InputError(
      {.field = std::string{field},
       .value = in_quotes(name),
       .expected = fmt::format("a framework whose configuration can be written: {}", fmt::join(names, ", ")),
       .hint = meant_by(name, names)});
}

InputError unknown_framework(std::string_view framework) {
  const std::vector<std::string> formats = format_names();
  std::vector<std::string> profiles;
  for (const LaunchFormat& format : kFormats) {
    for (std::string& profile : profiles_of(format)) profiles.push_back(std::move(profile));
  }
  std::erase_if(profiles, [&](const std::string& profile) {
    return std::find(formats.begin(), formats.end(), profile) != formats.end();
  });
  std::sort(profiles.begin(), profiles.end());
  profiles.erase(std::unique(profiles.begin(), profiles.end()), profiles.end());
  std::vector<std::string> names = formats;
  names.insert(names.end(), profiles.begin(), profiles.end());
  return InputError(
      {.field = "--framework",
       .value = in_quotes(framework),
       .expected = fmt::format(
           "a framework whose configuration can be written: {}; or a profile that one of them runs: {}",
           fmt::join(formats, ", "), fmt::join(profiles, ", ")),
       .hint = meant_by(framework, names)});
}

}  // namespace

bool runs_profile(const LaunchFormat& format, std::string_view profile) {
  const std::vector<std::string> profiles = profiles_of(format);
  return std::find(profiles.begin(), profiles.end(), without_version(profile)) != profiles.end();
}

std::span<const LaunchFormat> launch_formats() {
  return kFormats;
}

const LaunchFormat& find_launch_format(std::string_view framework) {
  return format_called(framework, "framework");
}

const LaunchFormat& find_launch_target(std::string_view target, std::string_view profile) {
  const LaunchFormat& format = format_called(target, "--target");
  if (runs_profile(format, profile)) return format;
  std::vector<std::string_view> others;
  for (const LaunchFormat& each : kFormats) {
    if (runs_profile(each, profile)) others.push_back(each.name);
  }
  const std::string list = others.empty() ? "none does" : fmt::format("{}", fmt::join(others, ", "));
  throw InputError({.field = "--target",
                    .value = in_quotes(target),
                    .expected = fmt::format("a framework that runs the plan's profile {}: {}", profile, list),
                    .hint = fmt::format("{} runs {}: add --framework {}", format.name,
                                        fmt::join(profiles_of(format), ", "), format.profile)});
}

std::string profile_of_framework(std::string_view framework) {
  for (const LaunchFormat& format : kFormats) {
    if (format.name == framework) return std::string{format.profile};
  }
  if (framework.empty()) return {};
  try {
    (void)find_preset(PresetKind::Framework, framework);
  } catch (const InputError&) {
    throw unknown_framework(framework);
  }
  return std::string{framework};
}

LaunchConfig launch_config(const costmodel::Scenario& scenario, const LaunchFormat& format,
                           const std::string& remark, const ModelOrigin& origin) {
  LaunchConfig config;
  config.gaps = launch_gaps(scenario, format.launcher, origin);
  config.text = launch_text(scenario, format, config.gaps, remark, origin);
  return config;
}

}  // namespace hexaplan::presets
