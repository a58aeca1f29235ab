// Files of Hugging Face's Trainer, TRL, accelerate, Axolotl and LLaMA-Factory as scenarios.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "presets/import/import_plan.h"
#include "presets/scenario/layout_text.h"

namespace hexaplan::presets {
namespace {

using costmodel::AdapterTargets;
using costmodel::CrossEntropy;
using costmodel::DType;
using costmodel::FineTune;
using costmodel::Optimizer;
using costmodel::Precision;
using costmodel::RecomputeMode;
using testing::AnyOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

using Files = std::map<std::string, std::string>;

/// The first file's plan on 8 H100; the others lie beside it.
ImportedPlan imported(const std::string& name, const std::string& text, const Files& beside = {}) {
  return import_plan({{name, text}}, "8xH100", [&](const std::string& file) -> std::optional<std::string> {
    const auto found = beside.find(file);
    return found == beside.end() ? std::nullopt : std::optional{found->second};
  });
}
std::string layout_of(const ImportedPlan& plan) {
  return to_layout_text(plan.request.layout);
}
SettingFate fate_of(const ImportedPlan& plan, const std::string& key) {
  for (const ImportedSetting& setting : plan.settings) {
    if (setting.key == key) return setting.fate;
  }
  ADD_FAILURE() << "no setting " << key;
  return SettingFate::Unknown;
}

constexpr const char* kZero3 = R"({
  "bf16": {"enabled": "auto"},
  "train_batch_size": "auto",
  "train_micro_batch_size_per_gpu": "auto",
  "zero_optimization": {"stage": 3, "offload_optimizer": {"device": "cpu", "pin_memory": true}}
})";

TEST(axolotl, qlora_under_fsdp_is_a_plan) {
  const ImportedPlan plan = imported("qlora.yml", R"(
base_model: meta-llama/Llama-3.1-70B
load_in_4bit: true
adapter: qlora
lora_r: 32
lora_alpha: 16
lora_target_linear: true
lora_dropout: 0.05
peft_use_dora: true
sequence_len: 4096
micro_batch_size: 1
gradient_accumulation_steps: 2
optimizer: adamw_torch_fused
bf16: auto
gradient_checkpointing: true
flash_attention: true
num_epochs: 2
fsdp:
  - full_shard
  - auto_wrap
fsdp_config:
  fsdp_offload_params: true
  fsdp_transformer_layer_cls_to_wrap: LlamaDecoderLayer
)");
  EXPECT_EQ(plan.format.name, "axolotl");
  EXPECT_EQ(plan.request.model, JsonValue{"llama-3.1-70b"});
  EXPECT_EQ(plan.request.framework, "hf-fsdp2");
  EXPECT_EQ(layout_of(plan), "zero3");
  const costmodel::Recipe& recipe = plan.request.recipe;
  EXPECT_EQ(recipe.fine_tune, FineTune::Qlora);
  EXPECT_EQ(recipe.lora_rank, 32);
  EXPECT_EQ(recipe.lora_alpha, 16);
  EXPECT_TRUE(recipe.dora);
  EXPECT_EQ(recipe.lora_targets, AdapterTargets::AllLinear);
  EXPECT_EQ(recipe.sequence, 4096);
  EXPECT_EQ(recipe.global_batch, 16);
  EXPECT_EQ(recipe.recompute.mode, RecomputeMode::Full);
  EXPECT_EQ(recipe.offload, costmodel::kOffloadParameters);
  EXPECT_EQ(fate_of(plan, "num_epochs"), SettingFate::Ignored);
  EXPECT_THAT(plan.notes, Contains(HasSubstr("dropout in front of the adapters")));
}

/// PEFT's modules_to_save under the names of the three trainers; a table that is the output layer, too, has
/// no copy to plan, and neither has another module.
TEST(trainers, modules_train_as_a_whole_beside_the_adapters) {
  using costmodel::SavedModules;
  const std::string axolotl =
      "base_model: meta-llama/Llama-3.1-8B\nadapter: lora\nlora_r: 16\nlora_alpha: 32\n"
      "lora_target_linear: true\nbf16: true\nmicro_batch_size: 1\n"
      "lora_modules_to_save:\n  - embed_tokens\n  - lm_head\n";
  EXPECT_EQ(imported("a.yml", axolotl).request.recipe.saved_modules, SavedModules::Both);
  const std::string factory =
      "model_name_or_path: meta-llama/Llama-3.1-8B\nstage: sft\nfinetuning_type: lora\n"
      "lora_target: all\nbf16: true\n";
  EXPECT_EQ(imported("f.yaml", factory + "additional_target: embed_tokens\n").request.recipe.saved_modules,
            SavedModules::Embedding);
  const ImportedPlan other = imported("f.yaml", factory + "additional_target: lm_head,visual\n");
  EXPECT_EQ(other.request.recipe.saved_modules, SavedModules::Head);
  EXPECT_THAT(other.notes, Contains(HasSubstr("module visual")));
  std::string tied = axolotl;
  tied.replace(tied.find("Llama-3.1-8B"), 12, "Llama-3.2-1B");
  const ImportedPlan parted = imported("a.yml", tied);
  EXPECT_EQ(parted.request.recipe.saved_modules, SavedModules::None);
  EXPECT_THAT(parted.notes, Contains(HasSubstr("a copy of embed_tokens, lm_head that")));
  const ImportedPlan scored = imported("a.yml", tied + "  - score\n");
  EXPECT_THAT(scored.notes, Contains(HasSubstr("a copy of embed_tokens, lm_head that")));
  EXPECT_THAT(scored.notes, Contains(HasSubstr("module score that trains beside")));
}

/// GPT-NeoX's output layer was embed_out before transformers called it lm_head.
TEST(trainers, modules_to_save_are_known_by_the_names_of_every_family) {
  using costmodel::SavedModules;
  const std::pair<const char*, SavedModules> cases[] = {
      {"embed_in", SavedModules::Embedding},
      {"gpt_neox.embed_in", SavedModules::Embedding},
      {"embed_out", SavedModules::Head},
      {"lm_head", SavedModules::Head},
      {"embed_in,lm_head", SavedModules::Both},
      {"embed_in,embed_out", SavedModules::Both},
      {"dense", SavedModules::None},
  };
  for (const auto& [names, saved] : cases) {
    const ImportedPlan plan =
        imported("f.yaml", std::string{"model_name_or_path: EleutherAI/pythia-6.9b\nstage: sft\n"
                                       "finetuning_type: lora\nlora_target: all\nbf16: true\n"
                                       "additional_target: "} +
                               names + "\n");
    EXPECT_EQ(plan.request.recipe.saved_modules, saved) << names;
  }
}

/// What PEFT saves beside its adapters says biases, too, which no trainer's file does.
TEST(peft, adapter_config_is_a_plan_of_its_adapters) {
  const std::string config = R"({"peft_type": "LORA", "base_model_name_or_path": "Qwen/Qwen2.5-7B", "r": 24,
  "lora_alpha": 16, "lora_dropout": 0.0, "bias": "lora_only", "use_dora": false, "task_type": "CAUSAL_LM",
  "target_modules": ["q_proj", "k_proj", "v_proj", "o_proj"], "modules_to_save": ["lm_head"],
  "rank_pattern": {}, "layers_to_transform": null, "inference_mode": true})";
  const ImportedPlan plan = imported("adapter_config.json", config);
  const costmodel::Recipe& recipe = plan.request.recipe;
  EXPECT_EQ(plan.request.model, JsonValue{"qwen2.5-7b"});
  EXPECT_EQ(recipe.fine_tune, FineTune::Lora);
  EXPECT_EQ(recipe.lora_rank, 24);
  EXPECT_EQ(recipe.lora_alpha, 16);
  EXPECT_EQ(recipe.lora_targets, AdapterTargets::Attention);
  EXPECT_EQ(recipe.lora_bias, costmodel::TrainedBiases::Adapted);
  EXPECT_EQ(recipe.saved_modules, costmodel::SavedModules::Head);
  EXPECT_EQ(fate_of(plan, "layers_to_transform"), SettingFate::Ignored);
  std::string text = config;
  const std::string list = R"(["q_proj", "k_proj", "v_proj", "o_proj"])";
  text.replace(text.find(list), list.size(), R"("q_proj,v_proj")");
  EXPECT_EQ(imported("adapter_config.json", text).request.recipe.lora_targets, AdapterTargets::QueryValue);
  std::string other = config;
  other.replace(other.find("LORA"), 4, "VERA");
  EXPECT_EQ(fate_of(imported("adapter_config.json", other), "peft_type"), SettingFate::Unknown);
}

TEST(axolotl, trains_the_weights_in_the_type_that_it_loads) {
  const std::string text =
      "base_model: Qwen/Qwen2.5-7B\nsequence_len: 2048\nmicro_batch_size: 2\n"
      "gradient_accumulation_steps: 4\noptimizer: paged_adamw_8bit\n";
  const costmodel::Recipe full = imported("full.yml", text + "bf16: true\n").request.recipe;
  EXPECT_EQ(full.parameter_dtype, DType::Bf16);
  EXPECT_EQ(full.optimizer, Optimizer::AdamW8bit);
  EXPECT_EQ(full.fine_tune, FineTune::Full);
  const costmodel::Recipe half = imported("full.yml", text + "bf16: false\nfp16: true\n").request.recipe;
  EXPECT_EQ(half.precision, Precision::Fp16);
  EXPECT_EQ(half.parameter_dtype, std::nullopt);
}

TEST(llamafactory, reads_the_deepspeed_configuration_that_its_file_names) {
  const std::string text = R"(
model_name_or_path: meta-llama/Meta-Llama-3-8B-Instruct
stage: sft
do_train: true
finetuning_type: full
deepspeed: examples/deepspeed/ds_z3_config.json
cutoff_len: 2048
per_device_train_batch_size: 1
gradient_accumulation_steps: 2
bf16: true
)";
  const ImportedPlan plan = imported("full.yaml", text, {{"examples/deepspeed/ds_z3_config.json", kZero3}});
  EXPECT_EQ(plan.format.name, "llamafactory");
  EXPECT_EQ(plan.request.framework, "hf-deepspeed");
  EXPECT_EQ(layout_of(plan), "zero3");
  EXPECT_EQ(plan.request.recipe.offload, costmodel::kOffloadOptimizer);
  EXPECT_EQ(plan.request.recipe.recompute.mode, RecomputeMode::Full) << "checkpoints unless told otherwise";
  EXPECT_EQ(plan.request.recipe.global_batch, 16);
  const ImportedPlan alone = imported("full.yaml", text);
  EXPECT_EQ(alone.request.framework, "hf-eager");
  EXPECT_THAT(alone.notes,
              Contains(HasSubstr("names examples/deepspeed/ds_z3_config.json, which is not here")));
}

/// huggingface/transformers src/transformers/integrations/deepspeed.py, trainer_config_finalize: hidden size
/// 4096.
TEST(llamafactory, sizes_that_deepspeed_s_file_leaves_to_the_trainer_follow_from_the_hidden_size) {
  const auto plan = [](const char* model) {
    return imported("full.yaml",
                    std::string{"model_name_or_path: "} + model +
                        "\nstage: sft\nfinetuning_type: full\ndeepspeed: ds.json\nbf16: true\n",
                    {{"ds.json", R"({"zero_optimization": {"stage": 3, "reduce_bucket_size": "auto",
                        "stage3_prefetch_bucket_size": "auto", "stage3_param_persistence_threshold": "auto",
                        "sub_group_size": 1e9, "stage3_max_reuse_distance": 1e9}})"}});
  };
  EXPECT_EQ(
      plan("Qwen/Qwen3-8B").request.recipe.sizes,
      (costmodel::ZeroSizes{.reduce_bucket = 16'777'216, .prefetch = 15'099'494, .persistent = 40'960}));
  const ImportedPlan unknown = plan("somebody/else");
  EXPECT_EQ(unknown.request.recipe.sizes, costmodel::ZeroSizes{});
  EXPECT_THAT(unknown.notes, Contains(HasSubstr("the model's hidden size, which the files do not say")));
}

TEST(import_plan, sizes_that_deepspeed_s_file_leaves_to_the_trainer_follow_from_the_model_that_is_asked_for) {
  const ImportFile engine{"ds.json", R"({"zero_optimization": {"stage": 3, "reduce_bucket_size": "auto",
      "stage3_prefetch_bucket_size": "auto", "stage3_param_persistence_threshold": "auto"},
      "bf16": {"enabled": true}, "train_micro_batch_size_per_gpu": 1})"};
  const ImportFile trainer{"full.yaml",
                           "model_name_or_path: Qwen/Qwen3-8B\nstage: sft\nfinetuning_type: full\n"
                           "deepspeed: ds.json\nbf16: true\n"};
  const auto asked = [](const std::vector<ImportFile>& files, const JsonValue& model) {
    return import_plan(files, "8xH100", {}, model);
  };
  // Hidden size 5120, whatever model the files name.
  const costmodel::ZeroSizes wide{.reduce_bucket = 26'214'400, .prefetch = 23'592'960, .persistent = 51'200};
  for (const std::vector<ImportFile>& files : {std::vector{engine}, std::vector{trainer, engine}}) {
    const ImportedPlan plan = asked(files, "qwen3-32b");
    EXPECT_EQ(plan.request.model, JsonValue{"qwen3-32b"});
    EXPECT_EQ(plan.request.recipe.sizes, wide) << plan.format.name;
    EXPECT_THAT(plan.notes, Not(Contains(AnyOf(HasSubstr("add --model"), HasSubstr("auto")))));
  }
  const ImportedPlan in_words = asked({engine}, "layers=8 hidden=512 heads=8 ffn=1376 vocab=32000");
  EXPECT_EQ(in_words.request.recipe.sizes.reduce_bucket, 262'144);
  const ImportedPlan open = asked({engine}, {});
  EXPECT_EQ(open.request.recipe.sizes, costmodel::ZeroSizes{});
  EXPECT_THAT(open.notes, Contains(HasSubstr("which the files do not say: add --model; DeepSpeed's own")));
  EXPECT_THAT(open.notes, Contains("the files do not say the model: add --model"));
}

TEST(llamafactory, trains_adapters_of_rank_8_everywhere_unless_told_otherwise) {
  const std::string text =
      "model_name_or_path: Qwen/Qwen3-8B\nstage: sft\ncutoff_len: 1024\nper_device_train_batch_size: "
      "4\nbf16: true\n";
  const costmodel::Recipe plain = imported("lora.yaml", text).request.recipe;
  EXPECT_EQ(plain.fine_tune, FineTune::Lora);
  EXPECT_EQ(plain.lora_rank, 8);
  EXPECT_EQ(plain.lora_alpha, 0) << "twice the rank, as LLaMA-Factory has it";
  EXPECT_EQ(plain.lora_targets, AdapterTargets::AllLinear);
  EXPECT_EQ(plain.parameter_dtype, std::nullopt);
  const costmodel::Recipe other =
      imported("lora.yaml",
               text +
                   "lora_target: q_proj,v_proj\nlora_rank: 64\nquantization_bit: 4\nuse_dora: true\n"
                   "disable_gradient_checkpointing: true\nflash_attn: disabled\n")
          .request.recipe;
  EXPECT_EQ(other.fine_tune, FineTune::Qlora);
  EXPECT_EQ(other.lora_targets, AdapterTargets::QueryValue);
  EXPECT_TRUE(other.dora);
  EXPECT_EQ(other.lora_rank, 64);
  EXPECT_EQ(other.recompute.mode, RecomputeMode::None);
  EXPECT_EQ(other.attention, costmodel::AttentionKernel::Unfused);
}

struct SubspaceFile {
  const char* text;
  costmodel::Optimizer optimizer;
  std::int64_t rank, interval;  // 0: the optimizer's
  bool layerwise = false;
};
constexpr const char* kFullTuning =
    "model_name_or_path: Qwen/Qwen3-8B\nmax_length: 1024\nper_device_train_batch_size: 4\n"
    "gradient_accumulation_steps: 1\nbf16: true\n";

/// huggingface/transformers@v5.24.0 src/transformers/trainer_optimizer.py.
TEST(trl, subspaces_are_said_by_the_optimizers_name_and_its_arguments) {
  for (const SubspaceFile& c :
       {SubspaceFile{"optim: galore_adamw\n", Optimizer::Galore, 0, 0},
        SubspaceFile{"optim: galore_adamw_8bit_layerwise\noptim_args: rank=64, update_proj_gap=100, "
                     "scale=0.10\n",
                     Optimizer::Galore8bit, 64, 100, true},
        SubspaceFile{"optim_args: rank=256\noptim: apollo_adamw\n", Optimizer::Apollo, 256, 0},
        SubspaceFile{"optim: apollo_adamw\noptim_args: proj=random,rank=1,scale=128.0,scale_type=tensor,"
                     "update_proj_gap=200\n",
                     Optimizer::ApolloMini, 0, 0},
        SubspaceFile{"optim: adafactor\noptim_args: rank=256\n", Optimizer::Adafactor, 0, 0}}) {
    const costmodel::Recipe recipe = imported("sft.yaml", kFullTuning + std::string{c.text}).request.recipe;
    EXPECT_EQ(recipe.optimizer, c.optimizer) << c.text;
    EXPECT_EQ(recipe.projection_rank, c.rank) << c.text;
    EXPECT_EQ(recipe.projection_interval, c.interval) << c.text;
    EXPECT_EQ(recipe.optimizer_in_backward, c.layerwise) << c.text;
  }
}

TEST(trl, layers_of_subspaces_are_all_that_are_planned) {
  const auto notes = [](const std::string& targets) {
    return imported("sft.yaml",
                    kFullTuning + std::string{"optim: galore_adamw\noptim_target_modules: "} + targets)
        .notes;
  };
  EXPECT_THAT(notes("all-linear\n"), Contains(HasSubstr("the output layer")));
  EXPECT_THAT(notes("[\"attn\"]\n"), Contains(HasSubstr("all matrices of the layers are planned")));
  EXPECT_THAT(notes("[\".*\\\\.\\\\d+\\\\..*\"]\n"), Not(Contains(HasSubstr("matrices of the layers"))));
}

/// hiyouga/LLaMA-Factory@ff6d4d1 examples/extras/galore, examples/extras/apollo; ranks of 16 unless told
/// otherwise (src/llamafactory/hparams/finetuning_args.py).
TEST(llamafactory, subspaces_are_a_switch_beside_the_optimizers_name) {
  const std::string text =
      "model_name_or_path: Qwen/Qwen3-8B\nstage: sft\nfinetuning_type: full\ncutoff_len: 1024\n"
      "gradient_accumulation_steps: 1\npure_bf16: true\n";
  for (const SubspaceFile& c :
       {SubspaceFile{"use_galore: true\n", Optimizer::Galore, 16, 0},
        SubspaceFile{"use_galore: true\noptim: adamw_8bit\ngalore_layerwise: true\ngalore_target: all\n"
                     "galore_rank: 128\ngalore_scale: 2.0\n",
                     Optimizer::Galore8bit, 0, 0, true},
        SubspaceFile{"use_apollo: true\napollo_rank: 1\napollo_scale: 32.0\napollo_scale_type: tensor\n"
                     "apollo_update_interval: 50\n",
                     Optimizer::ApolloMini, 0, 50},
        SubspaceFile{"use_apollo: false\n", Optimizer::AdamW, 0, 0}}) {
    const costmodel::Recipe recipe = imported("full.yaml", text + c.text).request.recipe;
    EXPECT_EQ(recipe.optimizer, c.optimizer) << c.text;
    EXPECT_EQ(recipe.projection_rank, c.rank) << c.text;
    EXPECT_EQ(recipe.projection_interval, c.interval) << c.text;
    EXPECT_EQ(recipe.optimizer_in_backward, c.layerwise) << c.text;
  }
  EXPECT_THAT(imported("full.yaml", text + "use_galore: true\ngalore_proj_type: right\n").notes,
              Contains(HasSubstr("planned as std")));
}

TEST(trl, a_command_and_what_accelerate_is_told_are_one_plan) {
  const ImportedPlan plan = imported("run.sh", R"(#!/bin/bash
accelerate launch --config_file zero2.yaml --num_processes 8 trl/scripts/sft.py \
  --model_name_or_path Qwen/Qwen2.5-7B --dataset_name some/data --learning_rate 2e-4 --packing \
  --per_device_train_batch_size 2 --gradient_accumulation_steps 8 --use_peft --lora_r 32 --max_length 4096
)",
                                     {{"zero2.yaml", R"(compute_environment: LOCAL_MACHINE
distributed_type: DEEPSPEED
deepspeed_config:
  zero_stage: 2
  offload_optimizer_device: none
mixed_precision: bf16
num_machines: 1
num_processes: 8
)"}});
  EXPECT_EQ(plan.format.name, "trl");
  EXPECT_EQ(plan.request.framework, "hf-deepspeed");
  EXPECT_EQ(layout_of(plan), "zero2");
  const costmodel::Recipe& recipe = plan.request.recipe;
  EXPECT_EQ(recipe.fine_tune, FineTune::Lora);
  EXPECT_EQ(recipe.lora_targets, AdapterTargets::QueryValue) << "PEFT's own for Llama's kin";
  EXPECT_THAT(plan.notes, Contains(HasSubstr("q_proj and v_proj")));
  EXPECT_EQ(recipe.recompute.mode, RecomputeMode::Full) << "SFTConfig checkpoints";
  EXPECT_EQ(recipe.cross_entropy, CrossEntropy::Chunked);
  EXPECT_EQ(recipe.precision, Precision::Bf16);
  EXPECT_EQ(recipe.global_batch, 128);
  EXPECT_EQ(plan.gpus, 8);
}

TEST(trl, loads_in_fp32_unless_told_otherwise) {
  const std::string text =
      "model_name_or_path: Qwen/Qwen3-8B\nmax_length: 2048\nuse_peft: true\nlora_target_modules: "
      "[all-linear]\n";
  EXPECT_EQ(imported("sft.yaml", text).request.recipe.parameter_dtype, DType::Fp32);
  EXPECT_EQ(imported("sft.yaml", text + "dtype: bfloat16\n").request.recipe.parameter_dtype, std::nullopt);
  const std::string full = "model_name_or_path: Qwen/Qwen3-8B\nmax_length: 2048\n";
  EXPECT_EQ(imported("sft.yaml", full).request.recipe.parameter_dtype, std::nullopt);
  EXPECT_EQ(imported("sft.yaml", full + "dtype: bfloat16\n").request.recipe.parameter_dtype, DType::Bf16);
}

/// Its commands and scripts do what TRL does unasked, whatever else is said.
TEST(trl, is_known_by_its_program) {
  struct Row {
    const char* program;
    bool is_trl;
    const char* note;  // "": none of another loss
  };
  constexpr Row kRows[] = {
      {"trl sft", true, ""},
      {"trl dpo", true, "hexaplan posttrain --algorithm dpo plans all of it"},
      {"accelerate launch -m trl.scripts.grpo", true, "hexaplan posttrain --algorithm grpo plans all of it"},
      {"accelerate launch trl/scripts/sft.py", true, ""},
      {"accelerate launch examples/scripts/dpo.py", true, "dpo.py is read as TRL's dpo"},
      {"accelerate launch trl/examples/scripts/dpo_vlm.py", true, "dpo compares pairs of answers"},
      {"trl reward", true, "trains a reward model on pairs of answers: a step of supervised"},
      {"accelerate launch my_dpo.py", false, ""},
      {"torchrun run_clm.py", false, ""},
  };
  for (const Row& row : kRows) {
    const ImportedPlan plan =
        imported("run.sh", std::string{row.program} +
                               " --model_name_or_path Qwen/Qwen2.5-7B --per_device_train_batch_size 2\n");
    EXPECT_EQ(plan.format.name, "trl") << row.program;
    const costmodel::Recipe& recipe = plan.request.recipe;
    EXPECT_EQ(recipe.precision, row.is_trl ? Precision::Bf16 : Precision::Fp32) << row.program;
    EXPECT_EQ(recipe.recompute.mode, row.is_trl ? RecomputeMode::Full : RecomputeMode::None) << row.program;
    const bool supervised = std::string_view{row.program}.find("sft") != std::string_view::npos;
    EXPECT_EQ(recipe.cross_entropy, supervised ? CrossEntropy::Chunked : CrossEntropy::Default)
        << row.program;
    if (*row.note != 0) {
      EXPECT_THAT(plan.notes, Contains(HasSubstr(row.note))) << row.program;
    } else {
      EXPECT_THAT(plan.notes, Not(Contains(HasSubstr("supervised fine-tuning")))) << row.program;
    }
  }
}

TEST(trl, computes_as_its_command_says_with_the_file_that_it_names) {
  const ImportedPlan plan = imported("run.sh", "trl sft --config x.yaml\n",
                                     {{"x.yaml", "model_name_or_path: Qwen/Qwen3-8B\nbf16: true\n"}});
  EXPECT_EQ(plan.request.recipe.recompute.mode, RecomputeMode::Full);
  EXPECT_EQ(plan.request.recipe.cross_entropy, CrossEntropy::Chunked);
}

/// A script of one's own: no checkpoints, no bf16, and all logits, unless it says so.
TEST(trainer, keeps_whole_gradients_under_fsdp_until_the_last_micro_batch) {
  // huggingface/transformers src/transformers/trainer.py: no_sync, unless sync_each_batch.
  const auto reduction = [](const std::string& more) {
    const std::string text = "model_name_or_path: Qwen/Qwen3-8B\nmax_length: 2048\nfsdp: full_shard\n" + more;
    return import_plan({{"sft.yaml", text}}, "8xH100").request.recipe.execution.reduction;
  };
  using costmodel::GradientReduction;
  EXPECT_EQ(reduction("gradient_accumulation_steps: 4\n"), GradientReduction::Once);
  EXPECT_EQ(reduction("gradient_accumulation_steps: 1\n"), GradientReduction::Default);
  EXPECT_EQ(reduction("gradient_accumulation_steps: 4\naccelerator_config:\n  gradient_accumulation_kwargs:\n"
                      "    sync_each_batch: true\n"),
            GradientReduction::Default);
}

TEST(trainer, alone_does_nothing_that_trl_adds) {
  const std::string command =
      "torchrun --nproc_per_node 8 run_clm.py --model_name_or_path meta-llama/Llama-3.1-8B --block_size 4096 "
      "--per_device_train_batch_size 1 --gradient_accumulation_steps 4 ";
  const costmodel::Recipe plain = imported("run.sh", command + "\n").request.recipe;
  EXPECT_EQ(plain.precision, Precision::Fp32);
  EXPECT_EQ(plain.recompute.mode, RecomputeMode::None);
  EXPECT_EQ(plain.cross_entropy, CrossEntropy::Default);
  const ImportedPlan sharded =
      imported("run.sh", command + "--bf16 --gradient_checkpointing --fsdp 'shard_grad_op auto_wrap'\n");
  EXPECT_EQ(sharded.request.framework, "hf-fsdp2");
  EXPECT_EQ(layout_of(sharded), "zero2");
  EXPECT_EQ(sharded.request.recipe.recompute.mode, RecomputeMode::Full);
}

TEST(accelerate, is_told_by_flags_as_by_its_file) {
  const std::string program =
      " train.py --model_name_or_path Qwen/Qwen2.5-7B --per_device_train_batch_size 1 --block_size 2048\n";
  const ImportedPlan flags = imported("run.sh",
                                      "accelerate launch --num_processes 8 --mixed_precision bf16 --use_fsdp "
                                      "--fsdp_sharding_strategy SHARD_GRAD_OP "
                                      "--fsdp_version 1" +
                                          program);
  EXPECT_EQ(flags.request.framework, "fsdp1");
  EXPECT_EQ(layout_of(flags), "zero2");
  EXPECT_EQ(flags.request.recipe.precision, Precision::Bf16);
  const ImportedPlan engine = imported("run.sh",
                                       "accelerate launch --num_processes 8 --use_deepspeed --zero_stage 3 "
                                       "--offload_param_device cpu" +
                                           program);
  EXPECT_EQ(engine.request.framework, "hf-deepspeed");
  EXPECT_EQ(engine.request.recipe.offload, costmodel::kOffloadParameters);
}

TEST(accelerate, shards_as_its_strategy_says) {
  struct Row {
    const char* strategy;
    const char *framework, *layout;
  };
  constexpr Row kRows[] = {{"FULL_SHARD", "fsdp1", "zero3"}, {"SHARD_GRAD_OP", "fsdp1", "zero2"},
                           {"1", "fsdp1", "zero3"},          {"2", "fsdp1", "zero2"},
                           {"NO_SHARD", "hf-eager", ""},     {"3", "hf-eager", ""}};
  const std::string trainer = "model_name_or_path: Qwen/Qwen3-8B\nmax_length: 2048\n";
  for (const Row& row : kRows) {
    const std::string text = std::string{"distributed_type: FSDP\nmixed_precision: bf16\nfsdp_config:\n"} +
                             "  fsdp_sharding_strategy: " + row.strategy + "\n";
    const ImportedPlan plan = import_plan({{"sft.yaml", trainer}, {"fsdp.yaml", text}}, "8xH100");
    EXPECT_EQ(plan.request.framework, row.framework) << row.strategy;
    EXPECT_EQ(layout_of(plan), row.layout) << row.strategy;
  }
  const ImportedPlan plain =
      imported("run.sh",
               "torchrun --nproc_per_node 8 run_clm.py --model_name_or_path Qwen/Qwen3-8B "
               "--block_size 2048 --fsdp no_shard\n");
  EXPECT_EQ(plain.request.framework, "hf-eager");
}

/// huggingface/accelerate src/accelerate/commands/launch.py: version 1 unless it is said.
TEST(accelerate, shards_with_fsdp1_unless_a_version_is_said) {
  const auto plan = [](const std::string& more) {
    return import_plan({{"sft.yaml", "model_name_or_path: Qwen/Qwen3-8B\nmax_length: 2048\n"},
                        {"fsdp.yaml",
                         "distributed_type: FSDP\nmixed_precision: bf16\nfsdp_config:\n"
                         "  fsdp_offload_params: false\n" +
                             more}},
                       "8xH100");
  };
  EXPECT_EQ(plan("").request.framework, "fsdp1");
  EXPECT_THAT(plan("").notes, Contains(HasSubstr("no profile has the Trainer's layers on FSDP1")));
  EXPECT_EQ(plan("  fsdp_version: 2\n").request.framework, "hf-fsdp2");
  EXPECT_THAT(plan("  fsdp_version: 2\n").notes, Not(Contains(HasSubstr("FSDP1"))));
}

TEST(accelerate, shards_within_a_node_where_it_says_hybrid) {
  const std::string text =
      "distributed_type: FSDP\nnum_machines: 2\nnum_processes: 16\nfsdp_config:\n  fsdp_sharding_strategy: "
      "HYBRID_SHARD\n";
  const std::string trainer = "model_name_or_path: Qwen/Qwen3-8B\nmax_length: 2048\n";
  for (const char* cluster : {"H100", "16xH100", ""}) {
    const ImportedPlan plan = import_plan({{"sft.yaml", trainer}, {"fsdp.yaml", text}}, cluster);
    EXPECT_EQ(layout_of(plan), "hsdp8") << cluster;
  }
  const ImportedPlan one = import_plan({{"sft.yaml", trainer},
                                        {"fsdp.yaml",
                                         "distributed_type: FSDP\nnum_processes: 16\nfsdp_config:\n"
                                         "  fsdp_sharding_strategy: HYBRID_SHARD\n"}},
                                       "");
  EXPECT_THAT(one.notes, Contains(HasSubstr("groups of hybrid sharding are nodes")));
}

TEST(accelerate, compiles_with_the_backend_that_it_names) {
  const std::string trainer = "model_name_or_path: Qwen/Qwen3-8B\nmax_length: 2048\n";
  const auto compiled = [&](const std::string& backend) {
    const std::string text =
        "compute_environment: LOCAL_MACHINE\ndynamo_config:\n  dynamo_backend: " + backend + "\n";
    return import_plan({{"sft.yaml", trainer}, {"a.yaml", text}}, "8xH100").request.recipe.execution.compiled;
  };
  EXPECT_EQ(compiled("INDUCTOR"), true);
  EXPECT_EQ(compiled("'NO'"), std::nullopt);
}

TEST(trainer, flash_attention_2_is_told_from_what_pytorch_chooses) {
  using costmodel::AttentionKernel;
  struct Case {
    const char *file, *setting;
    AttentionKernel expected;
  };
  const std::string axolotl =
      "base_model: meta-llama/Llama-3.1-8B\nsequence_len: 4096\nmicro_batch_size: 1\n";
  const std::string factory =
      "model_name_or_path: meta-llama/Llama-3.1-8B\nstage: sft\nfinetuning_type: full\n";
  for (const Case& c :
       {Case{"axolotl", "", AttentionKernel::Flash},
        {"axolotl", "attn_implementation: flash_attention_2", AttentionKernel::FlashAttention2},
        {"axolotl", "flash_attention: true", AttentionKernel::FlashAttention2},
        {"axolotl", "flash_attention: false", AttentionKernel::Flash},
        {"axolotl", "attn_implementation: flash_attention_3", AttentionKernel::Flash},
        {"axolotl", "attn_implementation: sdpa", AttentionKernel::Flash},
        {"axolotl", "attn_implementation: eager", AttentionKernel::Unfused},
        {"llamafactory", "flash_attn: fa2", AttentionKernel::FlashAttention2},
        {"llamafactory", "flash_attn: auto", AttentionKernel::Flash},
        {"llamafactory", "flash_attn: sdpa", AttentionKernel::Flash}}) {
    const std::string& text = std::string{c.file} == "axolotl" ? axolotl : factory;
    const ImportedPlan plan = imported("run.yaml", text + c.setting + "\n");
    EXPECT_EQ(plan.request.recipe.attention, c.expected) << c.file << ' ' << c.setting;
  }
}

TEST(trl, computes_other_losses_from_all_logits_unless_a_kernel_chunks_them) {
  const std::string text = "model_name_or_path: Qwen/Qwen3-8B\nmax_length: 2048\n";
  const auto loss = [&](const std::string& more) {
    return imported("sft.yaml", text + more).request.recipe.cross_entropy;
  };
  EXPECT_EQ(loss(""), CrossEntropy::Chunked);
  EXPECT_EQ(loss("use_liger_kernel: false\n"), CrossEntropy::Chunked);
  EXPECT_EQ(loss("loss_type: dft\n"), CrossEntropy::Default);
  EXPECT_EQ(loss("loss_type: dft\nuse_liger_kernel: true\n"), CrossEntropy::Chunked);
  const std::string axolotl = "base_model: Qwen/Qwen3-8B\nsequence_len: 2048\nmicro_batch_size: 1\n";
  EXPECT_EQ(imported("a.yml", axolotl + "liger_fused_linear_cross_entropy: true\ncut_cross_entropy: false\n")
                .request.recipe.cross_entropy,
            CrossEntropy::Chunked);
}

/// axolotl-ai-cloud/axolotl src/axolotl/integrations/cut_cross_entropy/args.py.
TEST(axolotl, cuts_its_loss_where_the_plugin_is_named) {
  const std::string text =
      "base_model: Qwen/Qwen3-8B\nsequence_len: 2048\nmicro_batch_size: 1\nplugins:\n"
      "  - axolotl.integrations.";
  const auto loss = [&](const std::string& more) {
    return imported("a.yml", text + more).request.recipe.cross_entropy;
  };
  EXPECT_EQ(loss("cut_cross_entropy.CutCrossEntropyPlugin\n"), CrossEntropy::Chunked);
  EXPECT_EQ(loss("cut_cross_entropy.CutCrossEntropyPlugin\ncut_cross_entropy: false\n"),
            CrossEntropy::Default);
  EXPECT_EQ(loss("liger.LigerPlugin\n"), CrossEntropy::Default);
  EXPECT_THAT(imported("a.yml", text + "spectrum.SpectrumPlugin\n").notes,
              Contains(HasSubstr("the plugin SpectrumPlugin has no word here")));
}

/// axolotl-ai-cloud/axolotl src/axolotl/utils/schemas/quantization.py.
TEST(axolotl, plans_quantised_experts_in_16_bits_and_says_so) {
  const std::string text =
      "base_model: Qwen/Qwen3-30B-A3B\nsequence_len: 2048\nmicro_batch_size: 1\nadapter: qlora\n"
      "load_in_4bit: true\nquantize_moe_experts: ";
  const auto reasons = [](const ImportedPlan& plan) {
    std::vector<std::string> why;
    for (const ImportedSetting& setting : plan.settings) {
      if (setting.key == "quantize_moe_experts") why.push_back(setting.why);
    }
    return why;
  };
  EXPECT_THAT(reasons(imported("a.yml", text + "true\n")), ElementsAre(HasSubstr("planned in 16 bits")));
}

TEST(adapters, on_weights_in_8_bits_are_a_plan) {
  const ImportedPlan plan =
      imported("sft.yaml",
               "model_name_or_path: Qwen/Qwen3-8B\nmax_length: 2048\nuse_peft: true\nload_in_8bit: true\n");
  EXPECT_EQ(plan.request.recipe.fine_tune, FineTune::Lora8bit);
  EXPECT_EQ(plan.request.recipe.parameter_dtype, std::nullopt) << "of what is not quantised: the framework's";
  EXPECT_THAT(plan.notes, Not(Contains(HasSubstr("8 bits"))));
  EXPECT_EQ(imported("lora.yml",
                     "base_model: Qwen/Qwen3-8B\nsequence_len: 2048\nadapter: lora\nlora_r: 8\n"
                     "load_in_8bit: true\n")
                .request.recipe.fine_tune,
            FineTune::Lora8bit);
  EXPECT_EQ(imported("sft.yaml",
                     "model_name_or_path: Qwen/Qwen3-8B\nstage: sft\nfinetuning_type: lora\n"
                     "cutoff_len: 2048\ntemplate: qwen\nquantization_bit: 8\n")
                .request.recipe.fine_tune,
            FineTune::Lora8bit);
}

TEST(adapters, beside_other_modules_are_planned_beside_the_smallest_set_that_has_them) {
  struct Row {
    const char* modules;
    AdapterTargets targets;
    bool noted;
  };
  constexpr Row kRows[] = {
      {"[q_proj, v_proj]", AdapterTargets::QueryValue, false},
      {"[v_proj, q_proj, k_proj]", AdapterTargets::QueryKeyValue, false},
      {"[q_proj, k_proj, v_proj, o_proj]", AdapterTargets::Attention, false},
      {"[gate_proj, down_proj, up_proj]", AdapterTargets::Mlp, false},
      {"[gate_proj, down_proj, up_proj, q_proj, k_proj, v_proj, o_proj]", AdapterTargets::AllLinear, false},
      {"all-linear", AdapterTargets::AllLinear, false},
      {"[q_proj, o_proj]", AdapterTargets::Attention, true},
      {"[down_proj]", AdapterTargets::Mlp, true},
      {"[q_proj, down_proj]", AdapterTargets::AllLinear, true},
  };
  for (const Row& row : kRows) {
    const ImportedPlan plan = imported(
        "lora.yml", std::string{"base_model: Qwen/Qwen2.5-7B\nsequence_len: 2048\nmicro_batch_size: 1\n"
                                "adapter: lora\nlora_r: 8\nlora_target_modules: "} +
                        row.modules + "\n");
    EXPECT_EQ(plan.request.recipe.lora_targets, row.targets) << row.modules;
    const bool noted = std::any_of(plan.notes.begin(), plan.notes.end(), [](const std::string& note) {
      return note.find("are planned as beside") != std::string::npos;
    });
    EXPECT_EQ(noted, row.noted) << row.modules;
  }
}

TEST(trainer, checkpoints_with_pytorch_whatever_deepspeed_is_told_of_its_own) {
  const ImportedPlan plan = imported(
      "full.yaml",
      "model_name_or_path: meta-llama/Meta-Llama-3-8B\nstage: sft\nfinetuning_type: full\ncutoff_len: 2048\n"
      "per_device_train_batch_size: 1\nbf16: true\ndeepspeed: ds.json\n",
      {{"ds.json",
        R"({"zero_optimization": {"stage": 3}, "activation_checkpointing": {"cpu_checkpointing": true}})"}});
  EXPECT_EQ(plan.request.recipe.recompute.mode, RecomputeMode::Full);
  EXPECT_EQ(plan.request.recipe.offload, 0);
  EXPECT_THAT(plan.notes, Contains(HasSubstr("cpu_checkpointing changes nothing")));
}

TEST(import_plan, an_engines_configuration_beside_a_trainers_is_not_the_one_that_is_run) {
  const ImportedPlan plan = import_plan(
      {{"ds.json", kZero3}, {"sft.yaml", "model_name_or_path: Qwen/Qwen3-8B\nmax_length: 2048\n"}}, "8xH100");
  EXPECT_EQ(plan.format.name, "trl");
  EXPECT_EQ(plan.request.framework, "hf-deepspeed");
  EXPECT_EQ(import_plan({{"ds.json", kZero3}}, "8xH100").format.name, "deepspeed");
}

}  // namespace
}  // namespace hexaplan::presets
