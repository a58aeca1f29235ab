#include "presets/import/python_framework.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace hexaplan::presets {
namespace {

// --- Megatron-Bridge@067f987 ---

/// src/megatron/bridge/recipes/common.py; what no plan has a word for is left out.
constexpr KnownSetting kPretrainCommon[] = {
    {"mixed_precision", "'bf16_mixed'"},      {"train.global_batch_size", "32"},
    {"train.micro_batch_size", "2"},          {"optimizer.use_distributed_optimizer", "True"},
    {"ddp.grad_reduce_in_fp32", "True"},      {"ddp.overlap_grad_reduce", "True"},
    {"ddp.overlap_param_gather", "True"},     {"ddp.data_parallel_sharding_strategy", "'optim_grads_params'"},
    {"ddp.use_distributed_optimizer", "True"}};
constexpr KnownSetting kSftCommon[] = {{"mixed_precision", "'bf16_mixed'"},
                                       {"train.global_batch_size", "128"},
                                       {"train.micro_batch_size", "1"},
                                       {"optimizer.use_distributed_optimizer", "True"},
                                       {"ddp.grad_reduce_in_fp32", "True"}};
/// src/megatron/bridge/peft/lora.py: the class's own defaults, and those of _peft_common.
constexpr KnownSetting kLora[] = {
    {"_target_", "'megatron.bridge.peft.lora.LoRA'"},
    {"dim", "32"},
    {"alpha", "32"},
    {"target_modules", "['linear_qkv', 'linear_proj', 'linear_fc1', 'linear_fc2']"}};
/// src/megatron/bridge/peft/dora.py.
constexpr KnownSetting kDora[] = {
    {"_target_", "'megatron.bridge.peft.dora.DoRA'"},
    {"dim", "32"},
    {"alpha", "64"},
    {"target_modules", "['linear_qkv', 'linear_proj', 'linear_fc1', 'linear_fc2']"}};
constexpr KnownSetting kPeftCommon[] = {
    {"mixed_precision", "'bf16_mixed'"},
    {"train.global_batch_size", "128"},
    {"train.micro_batch_size", "1"},
    {"optimizer.use_distributed_optimizer", "True"},
    {"ddp.grad_reduce_in_fp32", "True"},
    {"peft._target_", "'megatron.bridge.peft.lora.LoRA'"},
    {"peft.dim", "32"},
    {"peft.alpha", "32"},
    {"peft.target_modules", "['linear_qkv', 'linear_proj', 'linear_fc1', 'linear_fc2']"}};
/// perf_recipes/_common.py.
constexpr KnownSetting kBenchmarkCommon[] = {{"train.train_iters", "50"},
                                             {"ddp.grad_reduce_in_fp32", "False"},
                                             {"model.apply_rope_fusion", "True"},
                                             {"model.cross_entropy_fusion_impl", "'te'"}};
constexpr KnownFunction kBridgeFunctions[] = {
    {"_pretrain_common", KnownRole::Base, kPretrainCommon},
    {"_sft_common", KnownRole::Base, kSftCommon},
    {"_peft_common", KnownRole::Base, kPeftCommon},
    {"_benchmark_common", KnownRole::Helper, kBenchmarkCommon},
    {"_llama_benchmark_common", KnownRole::Helper, kBenchmarkCommon}};
constexpr KnownCall kBridgeCalls[] = {{"LoRA", kLora}, {"DoRA", kDora}};
constexpr std::string_view kBridgeSigns[] = {"ConfigContainer", "AutoBridge", "megatron.bridge"};
constexpr std::string_view kBridgeContainers[] = {"ConfigContainer"};

// --- torchtitan@b5bcd76, and back to 9810191 (2026-02), where functions replaced its TOML files ---

/// torchtitan/distributed/activation_checkpoint.py.
constexpr KnownSetting kFullCheckpoints[] = {{"mode", "'full'"}};
constexpr KnownSetting kOperatorCheckpoints[] = {{"mode", "'selective'"}, {"selective_ac_option", "'op'"}};
constexpr KnownSetting kBudgetCheckpoints[] = {{"mode", "'memory_budget'"}};
/// torchtitan/components/loss.py.
constexpr KnownSetting kChunkedLoss[] = {{"num_chunks", "8"}};
/// torchtitan/components/optimizer.py; of Muon, models/kimi_k2_7/config_registry.py.
constexpr KnownSetting kAdamW[] = {{"name", "'AdamW'"}};
constexpr KnownSetting kInBackward[] = {{"early_step_in_backward", "True"}};
constexpr KnownSetting kMuon[] = {{"name", "'Muon'"}};
constexpr KnownCall kTitanCalls[] = {{"FullAC", kFullCheckpoints},
                                     {"SelectiveAC", kOperatorCheckpoints},
                                     {"MemoryBudgetAC", kBudgetCheckpoints},
                                     {"ChunkedLossWrapper", kChunkedLoss},
                                     {"ChunkedCELoss", kChunkedLoss},
                                     {"default_adamw", kAdamW},
                                     {"OptimizersInBackwardContainer", kInBackward},
                                     {"_dist_muon_optimizer", kMuon},
                                     {"model_registry", {}, "flavor"}};
constexpr KnownNone kTitanNones[] = {{"activation_checkpoint", {"mode", "'none'"}}};
constexpr KeyRename kTitanRenames[] = {{"model_spec.flavor", "model.flavor"},
                                       {"model_spec.converters.", "converters."},
                                       {"model_converters.converters.", "converters."}};
constexpr std::string_view kTitanSigns[] = {"torchtitan", "Trainer.Config"};
constexpr std::string_view kTitanContainers[] = {"Trainer.Config", "TrainerConfig"};

constexpr PythonFramework kPythonFrameworks[] = {{.launcher = Launcher::Torchtitan,
                                                  .signs = kTitanSigns,
                                                  .containers = kTitanContainers,
                                                  .recipe_ending = {},
                                                  .functions = {},
                                                  .calls = kTitanCalls,
                                                  .nones = kTitanNones,
                                                  .renames = kTitanRenames,
                                                  .folder_key = "model.name"},
                                                 {.launcher = Launcher::Bridge,
                                                  .signs = kBridgeSigns,
                                                  .containers = kBridgeContainers,
                                                  .recipe_ending = "_config",
                                                  .functions = kBridgeFunctions,
                                                  .calls = kBridgeCalls,
                                                  .nones = {},
                                                  .renames = {},
                                                  .folder_key = {}}};

template <class Row>
const Row* named(std::span<const Row> rows, std::string_view name) {
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const Row& row) { return row.name == name; });
  return found == rows.end() ? nullptr : &*found;
}

}  // namespace

const PythonFramework* python_framework_of(std::string_view text) {
  const auto signs_in = [&](const PythonFramework& framework) {
    return std::any_of(framework.signs.begin(), framework.signs.end(),
                       [&](std::string_view sign) { return text.find(sign) != std::string_view::npos; });
  };
  const auto found = std::find_if(std::begin(kPythonFrameworks), std::end(kPythonFrameworks), signs_in);
  return found == std::end(kPythonFrameworks) ? nullptr : &*found;
}

const PythonFramework* python_framework_of(Launcher launcher) {
  const auto found = std::find_if(std::begin(kPythonFrameworks), std::end(kPythonFrameworks),
                                  [&](const PythonFramework& each) { return each.launcher == launcher; });
  return found == std::end(kPythonFrameworks) ? nullptr : &*found;
}

bool is_called_a_recipe(const PythonFramework& framework, std::string_view function) {
  constexpr std::string_view kOthers[] = {"_", "default_", "get_", "build_", "create_"};
  return !framework.recipe_ending.empty() && function.ends_with(framework.recipe_ending) &&
         std::none_of(std::begin(kOthers), std::end(kOthers),
                      [&](std::string_view start) { return function.starts_with(start); });
}

bool is_container(const PythonFramework& framework, std::string_view name) {
  return std::any_of(framework.containers.begin(), framework.containers.end(),
                     [&](std::string_view ending) { return name.ends_with(ending); });
}

const KnownFunction* find_function(const PythonFramework& framework, std::string_view name) {
  return named(framework.functions, name);
}
const KnownFunction* find_base_of_recipe(const PythonFramework& framework, std::string_view recipe) {
  constexpr std::pair<std::string_view, std::string_view> kKinds[] = {
      {"peft", "_peft_common"}, {"sft", "_sft_common"}, {"pretrain", "_pretrain_common"}};
  for (const auto& [kind, base] : kKinds) {
    if (recipe.find(kind) != std::string_view::npos) return find_function(framework, base);
  }
  return nullptr;
}
const KnownCall* find_call(const PythonFramework& framework, std::string_view name) {
  return named(framework.calls, name);
}

}  // namespace hexaplan::presets
