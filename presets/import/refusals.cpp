#include "presets/import/refusals.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <span>
#include <string_view>

#include "presets/import/shell_expression.h"
#include "presets/json/input_error.h"
#include "presets/launch/launch_config.h"

namespace hexaplan::presets {
namespace {

bool has_key(const std::vector<Setting>& settings, std::string_view pattern) {
  return std::any_of(settings.begin(), settings.end(),
                     [&](const Setting& setting) { return matches_pattern(setting.key, pattern); });
}

/// A program, by the last part of its path, and the word behind it.
struct OtherProgram {
  std::string_view program, command;  // patterns; command "": whatever follows
  std::string_view expected, why;
};
constexpr std::string_view kDecoder = "a program that trains a decoder, such as pretrain_gpt.py",
                           kTraining = "a command that trains";
constexpr OtherProgram kOtherPrograms[] = {
    // Megatron-LM, root of the repository.
    {"pretrain_bert.py", "", kDecoder, "BERT is an encoder, which is not modelled"},
    {"pretrain_ict.py", "", kDecoder, "its two BERTs are encoders, which are not modelled"},
    {"pretrain_t5.py", "", kDecoder, "T5 has attention between encoder and decoder, which is not modelled"},
    {"pretrain_hybrid.py", "", kDecoder, "state-space layers are not modelled"},
    {"pretrain_mamba.py", "", kDecoder, "state-space layers are not modelled"},
    {"pretrain_retro.py", "", kDecoder, "attention to retrieved chunks is not modelled"},
    {"pretrain_vision_classify.py", "", kDecoder, "vision models are not modelled"},
    {"pretrain_vision_dino.py", "", kDecoder, "vision models are not modelled"},
    {"pretrain_vision_inpaint.py", "", kDecoder, "vision models are not modelled"},
    // hiyouga/LLaMA-Factory@v0.9.5 src/llamafactory/cli.py.
    {"llamafactory-cli", "export", kTraining, "it merges adapters into the weights"},
    {"llamafactory-cli", "chat", kTraining, "it generates text"},
    {"llamafactory-cli", "webchat", kTraining, "it generates text"},
    {"llamafactory-cli", "api", kTraining, "it generates text"},
    // axolotl-ai-cloud/axolotl@v0.19.0 src/axolotl/cli/main.py.
    {"axolotl", "merge*", kTraining, "it merges adapters or shards into the weights"},
    {"axolotl", "inference", kTraining, "it generates text"},
    {"axolotl", "preprocess", kTraining, "it prepares data"},
    {"axolotl", "evaluate", kTraining, "it runs no backward"},
    // huggingface/trl@1383220 trl/cli/commands/__init__.py.
    {"trl", "vllm-serve", kTraining, "it generates text"},
    {"trl", "env", kTraining, "it prints versions"},
};

/// A configuration: some of the keys stand in it, and none of the others.
struct OtherConfiguration {
  std::span<const std::string_view> all, any, none;  // patterns
  const char *what, *expected, *hint;
};
constexpr std::string_view kPlain[] = {"model"};
constexpr std::string_view kNewFactory[] = {"peft_config.*", "dist_config.*", "kernel_config.*",
                                            "model_class"};
constexpr std::string_view kServed[] = {"server_host", "server_port"};
constexpr std::string_view kInference[] = {"infer_backend"};
constexpr std::string_view kMerge[] = {"export_dir"};
constexpr std::string_view kTrains[] = {
    "stage", "do_train", "finetuning_type_*", "per_device_train_batch_size", "num_train_epochs", "max_steps"};
constexpr OtherConfiguration kOtherConfigurations[] = {
    // hiyouga/LLaMA-Factory@v0.9.5 examples/v1, src/llamafactory/v1.
    {kPlain,
     kNewFactory,
     {},
     "a configuration of LLaMA-Factory's v1 trainer",
     "one of its hparams (model_name_or_path, finetuning_type): v1's is not read",
     "say the plan with --model, --framework, --layout, --seq and --micro-batch"},
    // AI-Hypercomputer/maxtext@e591f30 src/maxtext/eval/configs/base_eval.yml.
    {kServed,
     {},
     {},
     "a configuration that evaluates a model behind a server",
     "a launch script or configuration of a training",
     ""},
    // hiyouga/LLaMA-Factory@v0.9.5 src/llamafactory/hparams/model_args.py.
    {kInference,
     {},
     kTrains,
     "a configuration of inference",
     "a launch script or configuration of a training",
     ""},
    {kMerge,
     {},
     kTrains,
     "a configuration that exports merged weights",
     "a launch script or configuration of a training",
     ""},
};

/// config.json of a model on the hub (huggingface/transformers src/transformers/configuration_utils.py): what
/// class it is, and dimensions, but nothing about training.
bool is_model_config(const std::vector<Setting>& settings) {
  return has_key(settings, "architectures") ||
         (has_key(settings, "model_type") && has_key(settings, "vocab_size"));
}

/// NeMo 1 (NVIDIA/NeMo@000763d examples/nlp/language_modeling/conf/megatron_gpt_config.yaml): the
/// degrees have Megatron-Bridge's names, and what stands around them another framework's, with other
/// defaults.
constexpr std::string_view kNemoSettings[] = {"trainer.devices", "trainer.num_nodes", "trainer.precision",
                                              "trainer.accelerator", "trainer.max_steps"};

std::string framework_titles() {
  std::string names;
  for (const LaunchFormat& format : launch_formats())
    names += (names.empty() ? "" : ", ") + std::string{format.title};
  return names;
}

/// Of so few settings that are understood, and that many times more that nobody has, the names say nothing.
/// Chosen looking at the example files of nine repositories, where it takes out BERT, images and RLHF.
constexpr std::size_t kFew = 5, kTimes = 3;

}  // namespace

void refuse_other_programs(const LaunchCommand& command, const std::string& file) {
  const std::string& path = command.program.text;
  const std::string_view name = std::string_view{path}.substr(path.find_last_of('/') + 1);
  const std::string_view word = command.words.empty() ? std::string_view{} : command.words.front().text;
  for (const OtherProgram& row : kOtherPrograms) {
    if (row.program != name || (!row.command.empty() && !matches_pattern(word, row.command))) continue;
    throw InputError({.file = fmt::format("{}:{}", file, command.program.line),
                      .value = in_quotes(row.command.empty() ? path : fmt::format("{} {}", path, word)),
                      .expected = std::string{row.expected},
                      .hint = std::string{row.why}});
  }
}

void refuse_other_configurations(const std::string& file, const std::vector<Setting>& settings) {
  const auto here = [&](std::string_view pattern) { return has_key(settings, pattern); };
  for (const OtherConfiguration& row : kOtherConfigurations) {
    if (!std::all_of(row.all.begin(), row.all.end(), here)) continue;
    if (!row.any.empty() && std::none_of(row.any.begin(), row.any.end(), here)) continue;
    if (std::any_of(row.none.begin(), row.none.end(), here)) continue;
    throw InputError({.file = file, .value = row.what, .expected = row.expected, .hint = row.hint});
  }
}

void refuse_model_config(const std::string& file, const std::vector<Setting>& settings) {
  if (is_model_config(settings))
    throw InputError({.file = file,
                      .value = "a model's config.json",
                      .expected = "a launch script or configuration, which says how a model is trained",
                      .hint = "give it as --model " + file});
}

void refuse_nemo(const std::vector<Setting>& settings) {
  for (const Setting& setting : settings) {
    if (std::find(std::begin(kNemoSettings), std::end(kNemoSettings), setting.key) == std::end(kNemoSettings))
      continue;
    throw InputError({.file = fmt::format("{}:{}", setting.file, setting.line),
                      .value = in_quotes(setting.key),
                      .expected = "settings of Megatron-Bridge, not of NeMo 1, which are not read",
                      .hint = "say the plan with --layout, --seq, --micro-batch and --precision"});
  }
}

void refuse_strangers(const std::string& file, const std::vector<ImportedSetting>& settings,
                      std::string_view title) {
  std::size_t known = 0, strange = 0;
  for (const ImportedSetting& setting : settings) {
    known += setting.fate == SettingFate::Understood ? 1U : 0U;
    strange += setting.fate == SettingFate::Unknown && setting.why.empty() ? 1U : 0U;
  }
  if (known >= kFew || strange <= kTimes * std::max<std::size_t>(1, known)) return;
  throw InputError(
      {.file = file,
       .value = fmt::format("{} of {} and {} that no framework known here has",
                            known == 1 ? "one setting" : fmt::format("{} settings", known), title, strange),
       .expected = "a launch script or configuration of " + framework_titles(),
       .hint = "say the plan with --model, --framework, --layout, --seq and --micro-batch"});
}

void refuse_all(const std::string& file, const std::string& why) {
  throw InputError({.file = file,
                    .value = "nothing that a framework known here reads",
                    .expected = "a launch script or configuration of " + framework_titles(),
                    .hint = why});
}

}  // namespace hexaplan::presets
