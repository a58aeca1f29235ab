// Recipes of Megatron-Bridge and configurations of torchtitan as scenarios: Python that is read, not run.
#include "presets/import/python_recipe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "presets/import/import_plan.h"
#include "presets/import/python_lines.h"
#include "presets/json/input_error.h"
#include "presets/scenario/layout_text.h"

namespace hexaplan::presets {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> statements(std::string_view text) {
  std::vector<std::string> found;
  for (const PythonLine& line : python_lines(text))
    found.push_back(std::to_string(line.line) + ": " + line.text);
  return found;
}

TEST(python_lines, join_what_brackets_and_backslashes_continue_and_leave_comments_out) {
  EXPECT_THAT(statements("a = 1  # one\n"
                         "\n"
                         "b = f(2,  # two\n"
                         "      3)\n"
                         "c = 4 + \\\n"
                         "    5\n"
                         "\"\"\"A text\n"
                         "of two lines.\"\"\"\n"
                         "d = '# no comment'; e = 6\n"),
              ElementsAre("1: a = 1", "3: b = f(2,  \n      3)", "5: c = 4 + \n    5",
                          "9: d = '# no comment'", "9: e = 6"));
  EXPECT_EQ(python_lines("def f():\n    x = 1\n").back().indent, 4U);
}

std::string kind_and_text(std::string_view expression) {
  const PythonValue value = python_value(expression);
  switch (value.kind) {
    case PythonValue::Kind::Plain:
      return to_text(value.plain, JsonStyle::Compact);
    case PythonValue::Kind::Name:
      return "name " + value.name;
    case PythonValue::Kind::Call:
      return "call " + value.name;
    case PythonValue::Kind::Dict:
      return "dict " + std::to_string(value.members.size());
    case PythonValue::Kind::List:
      return "list " + std::to_string(value.positional.size());
    case PythonValue::Kind::Unknown:
      break;
  }
  return "unknown";
}

TEST(python_value, knows_what_recipes_write_and_nothing_else) {
  struct Row {
    const char *expression, *value;
  };
  const Row rows[] = {
      {"8", "8"},
      {"1_048_576", "1048576"},
      {"-3", "-3"},
      {"1e-4", "0.0001"},
      {".5", "0.5"},
      {"True", "true"},
      {"None", "null"},
      {"'a' \"b\"", "\"ab\""},
      {"[1, 'x', None,]", "[1,\"x\",null]"},
      {"(4)", "4"},
      {"(4,)", "[4]"},
      {"torch.bfloat16", "name torch.bfloat16"},
      {"LoRA(dim=8, alpha=2 * 8)", "call LoRA"},
      {"AutoBridge.from_hf_pretrained('a/b').get_model_config()", "call get_model_config"},
      {"{'a': 1, **OTHERS, 'b': [2]}", "dict 2"},
      {"2 * 4", "8"},
      {"1 + 8 * 2048 // 4 - 1", "4096"},
      {"2 ** 4", "unknown"},
      {"9223372036854775807 * 2", "unknown"},
      {"7 // 0", "unknown"},
      {"n * 4", "unknown"},
      {"[a, f(1)]", "list 2"},
      {"f'{x}'", "unknown"},
      {"a if b else c", "unknown"},
      {"lambda x: x", "unknown"},
      {"[x for x in y]", "unknown"},
      {"'not closed", "unknown"},
      {"", "unknown"},
  };
  for (const Row& row : rows) EXPECT_EQ(kind_and_text(row.expression), row.value) << row.expression;
}

TEST(python_value, ends_on_any_text) {
  std::mt19937 random{11};  // NOLINT(cert-msc32-c,cert-msc51-cpp): the same texts every time
  const std::string letters = "a1.,()[]{}'\"=:*-# \n\\_fr";
  for (int i = 0; i < 20'000; ++i) {
    std::string text;
    for (std::size_t k = random() % 30; k > 0; --k) text += letters[random() % letters.size()];
    (void)python_value(text);
    (void)python_lines(text);
    (void)python_assignment(text);
  }
  EXPECT_EQ(kind_and_text(std::string(100'000, '[')), "unknown");
}

TEST(python_assignment, tells_all_targets_and_no_comparison) {
  const auto both = python_assignment("cfg.a = cfg.model.b = f(x=1)");
  ASSERT_TRUE(both);
  EXPECT_THAT(both->targets, ElementsAre("cfg.a", "cfg.model.b"));
  EXPECT_EQ(both->value, "f(x=1)");
  EXPECT_THAT(python_assignment("N: int = 4")->targets, ElementsAre("N"));
  for (const char* other : {"a == b", "a += 1", "f(x=1)", "a, b = 1, 2", "a[0] = 1", "assert a"})
    EXPECT_FALSE(python_assignment(other)) << other;
}

constexpr const char* kRecipes = R"(
import torch
from megatron.bridge import AutoBridge
from megatron.bridge.recipes.common import _pretrain_common, _peft_common

LONG: int = 16384


def llama_long_16gpu_h100_bf16_config() -> ConfigContainer:
    """Not read: cfg.model.tensor_model_parallel_size = 7"""
    cfg = _pretrain_common()
    cfg.model = AutoBridge.from_hf_pretrained("meta-llama/Meta-Llama-3-8B").to_megatron_provider(load_weights=False)
    cfg.model.seq_length = LONG
    cfg.model.tensor_model_parallel_size = 2
    cfg.model.pipeline_model_parallel_size = 1
    cfg.model.context_parallel_size = 4
    cfg.model.sequence_parallel = True
    cfg.model.virtual_pipeline_model_parallel_size = 5
    cfg.model.virtual_pipeline_model_parallel_size = None
    cfg.train.global_batch_size = 64
    cfg.train.micro_batch_size = 1
    cfg.optimizer.exp_avg_dtype = torch.float32
    if torch.cuda.device_count() > 8:
        cfg.model.expert_model_parallel_size = 8
    cfg.model.recompute_granularity, x = "full", 1
    _shared(cfg)
    return cfg


def _shared(config):
    config.mixed_precision = bf16_mixed()
    config.model.recompute_num_layers = int(LONG / 2)


def llama_tuned_config(scheme: str = "lora"):
    cfg = _peft_common()
    path = "meta-llama/Meta-Llama-3-8B"
    cfg.model = AutoBridge.from_hf_pretrained(path).get_model_config()
    cfg.model.seq_length = 2048
    adapters = default_peft_config(scheme)
    adapters.target_modules = ["linear_qkv"]
    cfg.peft = adapters
    adapters.dim = 8
    if scheme == "lora":
        adapters.alpha = 4
    return cfg


def llama_large_config():
    cfg = _with_batch(llama_long_16gpu_h100_bf16_config(), 1024)
    return cfg


def _with_batch(cfg: ConfigContainer, sequences: int):
    cfg.train.global_batch_size = sequences
    return cfg


def llama_short_config():
    base = llama_long_16gpu_h100_bf16_config()
    base.model.seq_length = 4096
    base.model.context_parallel_size = 1
    return base
)";

ImportedPlan planned(const std::string& name, const std::string& text, std::string_view cluster = {}) {
  return import_plan({{name, text}}, cluster, {});
}

TEST(python_recipe, is_planned_with_what_its_name_says_of_the_machines) {
  const ImportedPlan plan = planned("llama.py:llama_long_16gpu_h100_bf16_config", kRecipes);
  EXPECT_EQ(plan.request.model, JsonValue{"llama-3-8b"});
  EXPECT_EQ(plan.request.cluster, JsonValue{"16xh100"});
  EXPECT_EQ(to_layout_text(plan.request.layout), "tp2 cp4 sp zero1");
  EXPECT_EQ(plan.request.recipe.sequence, 16384);
  EXPECT_EQ(plan.request.recipe.global_batch, 64);
  EXPECT_EQ(plan.request.recipe.micro_batch, 1);
}

TEST(python_recipe, says_what_only_a_run_knows_and_what_stands_under_a_condition) {
  const ImportedPlan plan = planned("llama.py:llama_long_16gpu_h100_bf16_config", kRecipes);
  EXPECT_THAT(plan.notes, Contains("llama.py:24 model.expert_model_parallel_size: set under a condition"));
  EXPECT_THAT(plan.notes,
              Contains("llama.py:32 model.recompute_num_layers: known only when the recipe runs"));
}

TEST(python_recipe, builds_on_others_and_the_last_assignment_wins) {
  const ImportedPlan plan = planned("llama.py:llama_short_config", kRecipes, "8xH100");
  EXPECT_EQ(plan.request.recipe.sequence, 4096);
  EXPECT_EQ(to_layout_text(plan.request.layout), "tp2 sp zero1");
  EXPECT_EQ(plan.request.recipe.global_batch, 64);
}

TEST(python_recipe, is_what_a_helper_makes_of_another) {
  EXPECT_EQ(planned("llama.py:llama_large_config", kRecipes, "16xH100").request.recipe.global_batch, 1024);
}

TEST(python_recipe, trains_the_adapters_of_its_common_base_or_its_own) {
  const ImportedPlan plan = planned("llama.py:llama_tuned_config", kRecipes, "1xH100");
  EXPECT_EQ(plan.request.recipe.fine_tune, costmodel::FineTune::Lora);
  EXPECT_EQ(plan.request.recipe.lora_rank, 8);
  EXPECT_THAT(plan.notes, Contains(HasSubstr(" peft.alpha: set under a condition")));
  EXPECT_EQ(plan.request.recipe.global_batch, 128);
}

TEST(python_recipe, is_chosen_by_name_where_a_file_has_several) {
  const auto error = [](const std::string& name) {
    try {
      (void)planned(name, kRecipes);
    } catch (const InputError& problem) {
      return std::string{problem.what()};
    }
    return std::string{};
  };
  EXPECT_EQ(error("llama.py"),
            "llama.py: got 4 recipes, expected one of llama_long_16gpu_h100_bf16_config, llama_tuned_config, "
            "llama_large_config, llama_short_config; write llama.py:llama_long_16gpu_h100_bf16_config");
  EXPECT_THAT(error("llama.py:llama_longer_config"),
              HasSubstr("got \"llama_longer_config\", expected one of"));
  EXPECT_THAT(error("llama.py:_shared"), IsEmpty());  // a helper is read as it stands
}

TEST(python_recipe, of_a_base_elsewhere_says_so_and_reads_it_when_it_is_given) {
  const std::string own =
      "from megatron.bridge.recipes.llama import llama_long_16gpu_h100_bf16_config as long_config\n"
      "cfg = long_config()\n"
      "cfg.train.global_batch_size = 32\n"
      "pretrain(config=cfg)\n";
  const ImportedPlan alone = planned("run.py", own, "16xH100");
  EXPECT_THAT(alone.notes,
              Contains(HasSubstr("run.py:2 starts from long_config, which is not in the files")));
  const ImportedPlan both = import_plan({{"run.py", own}, {"llama.py", kRecipes}}, "16xH100", {});
  EXPECT_EQ(to_layout_text(both.request.layout), "tp2 cp4 sp zero1");
  EXPECT_EQ(both.request.recipe.global_batch, 32);
}

TEST(python_recipe, is_told_from_a_shell_script_also_without_a_name) {
  EXPECT_TRUE(is_python_recipe(kRecipes));
  EXPECT_FALSE(is_python_recipe("#!/bin/bash\npython - <<EOF\ndef f(): import megatron.bridge\nEOF\n"));
  EXPECT_EQ(planned("pasted text",
                    "from megatron.bridge import AutoBridge\ndef f():\n    cfg = _pretrain_common()\n    "
                    "cfg.model.tensor_model_parallel_size = 4\n    return cfg\n",
                    "8xH100")
                .request.layout.layout.tp,
            4);
}

constexpr const char* kTorchtitan = R"(
from torchtitan.trainer import Trainer
from . import model_registry


def enable_fusion(config: Trainer.Config) -> None:
    config.override.imports.append("fused")


def llama3_small() -> Trainer.Config:
    model_spec = model_registry("8B")
    parallelism = ParallelismConfig(tensor_parallel_degree=2, pipeline_parallel_schedule="Interleaved1F1B")
    return Trainer.Config(
        loss=ChunkedLossWrapper.Config(loss_fn=CrossEntropyLoss.Config(size=decoder_vocab_size(model_spec))),
        hf_assets_path="./assets/hf/Llama-3.1-8B",
        model_spec=model_spec,
        optimizer=default_adamw(lr=8e-4),
        training=TrainingConfig(num_tokens_per_microbatch_per_dp_rank=2 * 8192, max_context_length=8192),
        parallelism=parallelism,
        activation_checkpoint=SelectiveAC.Config(),
        compile=CompileConfig(enable=True, components=["loss"]),
    )


def llama3_in_8_bits() -> Trainer.Config:
    config = llama3_small()
    enable_fusion(config)
    config.model_spec = model_registry(
        "8B", converters=[Float8LinearConverter.Config(filter_fqns=["output"]), LoRAConverter.Config(rank=4, alpha=16.0)])
    config.training.disable_cuda_graphs = True
    config.activation_checkpoint = None
    config.parallelism.enable_sequence_parallel = False
    return config


def llama3_of_old() -> Trainer.Config:
    return Trainer.Config(
        hf_assets_path="./tests/assets/tokenizer",
        model_spec=model_registry("8B"),
        training=TrainingConfig(local_batch_size=4, seq_len=4096),
        activation_checkpoint=ActivationCheckpointConfig(mode="full"),
        compile=CompileConfig(enable=True, enable_async_tensor_parallel=True),
    )
)";

TEST(torchtitan_configuration, is_read_from_the_calls_that_make_it) {
  const ImportedPlan plan =
      planned("torchtitan/models/llama3/config_registry.py:llama3_small", kTorchtitan, "8xH100");
  EXPECT_EQ(plan.format.launcher, Launcher::Torchtitan);
  EXPECT_EQ(plan.request.model, JsonValue{"llama-3.1-8b"});
  EXPECT_EQ(to_layout_text(plan.request.layout), "tp2 sp zero3");  // no pipeline, so no schedule of one
  const costmodel::Recipe& recipe = plan.request.recipe;
  EXPECT_EQ(recipe.sequence, 8192);
  EXPECT_EQ(recipe.micro_batch, 2);
  EXPECT_EQ(recipe.global_batch, 8);
  EXPECT_EQ(recipe.cross_entropy, costmodel::CrossEntropy::Chunked);
  EXPECT_EQ(recipe.recompute.mode, costmodel::RecomputeMode::SelectiveOperators);
  EXPECT_EQ(recipe.execution.graphs, costmodel::CudaGraphs::FullIteration);
  EXPECT_EQ(recipe.execution.compiled, false) << "only the loss is";
}

TEST(torchtitan_configuration, has_every_setting_at_its_own_line) {
  const ImportedPlan plan =
      planned("torchtitan/models/llama3/config_registry.py:llama3_in_8_bits", kTorchtitan, "8xH100");
  std::istringstream text{kTorchtitan};
  std::vector<std::string> source{""};
  for (std::string line; std::getline(text, line);) source.push_back(line);
  for (const auto& [key, word] :
       std::map<std::string, std::string>{{"training.max_context_length", "max_context_length=8192"},
                                          {"hf_assets_path", "hf_assets_path="},
                                          {"parallelism.tensor_parallel_degree", "tensor_parallel_degree=2"},
                                          {"compile.enable", "compile="},
                                          {"converters.LoRAConverter.rank", "LoRAConverter"},
                                          {"training.disable_cuda_graphs", "disable_cuda_graphs"},
                                          {"activation_checkpoint.mode", "activation_checkpoint = None"}}) {
    const auto setting =
        std::find_if(plan.settings.begin(), plan.settings.end(),
                     [&wanted = key](const ImportedSetting& each) { return each.key == wanted; });
    ASSERT_NE(setting, plan.settings.end()) << key;
    EXPECT_THAT(source.at(static_cast<std::size_t>(setting->line)), HasSubstr(word)) << key;
  }
}

TEST(torchtitan_configuration, takes_over_what_the_one_it_builds_on_has) {
  const ImportedPlan plan =
      planned("torchtitan/models/llama3/config_registry.py:llama3_in_8_bits", kTorchtitan, "8xH100");
  EXPECT_EQ(to_layout_text(plan.request.layout), "tp2 zero3");
  const costmodel::Recipe& recipe = plan.request.recipe;
  EXPECT_EQ(recipe.precision, costmodel::Precision::Fp8);
  EXPECT_EQ(recipe.fine_tune, costmodel::FineTune::Lora);
  EXPECT_EQ(recipe.lora_rank, 4);
  EXPECT_EQ(recipe.lora_alpha, 16);
  EXPECT_EQ(recipe.recompute.mode, costmodel::RecomputeMode::None);
  EXPECT_EQ(recipe.execution.graphs, costmodel::CudaGraphs::Default);
}

TEST(torchtitan_configuration, of_an_earlier_version_has_sequences_for_tokens) {
  const ImportedPlan plan =
      planned("torchtitan/models/llama3/config_registry.py:llama3_of_old", kTorchtitan, "8xH100");
  EXPECT_EQ(plan.request.model, JsonValue{"llama-3-8b"});  // by its folder and flavor
  EXPECT_EQ(plan.request.recipe.micro_batch, 4);
  EXPECT_EQ(plan.request.recipe.sequence, 4096);
  EXPECT_EQ(plan.request.recipe.recompute.mode, costmodel::RecomputeMode::Full);
  EXPECT_EQ(plan.request.recipe.execution.graphs, costmodel::CudaGraphs::Default);
  EXPECT_EQ(plan.request.recipe.execution.compiled, true);
  EXPECT_EQ(plan.request.recipe.execution.tensor_overlap, true);
}

TEST(torchtitan_configuration, in_toml_is_named_by_the_environment_of_its_script) {
  const FindFile find = [](const std::string& name) -> std::optional<std::string> {
    return name == "train.toml" ? std::optional<std::string>{"[training]\nseq_len = 4096\n"} : std::nullopt;
  };
  const ImportedPlan plan = import_plan(
      {{"run.sh", "export CONFIG_FILE=train.toml\nNGPU=8 ./run_train.sh --training.local_batch_size 2\n"}},
      "H100", find);
  EXPECT_EQ(plan.request.recipe.sequence, 4096);
  EXPECT_EQ(plan.request.recipe.micro_batch, 2);
  EXPECT_EQ(plan.gpus, 8);
}

TEST(torchtitan_configuration, is_found_by_the_command_that_names_it) {
  struct Row {
    const char* command;
    int tp, gpus;
  };
  const Row rows[] = {
      {"torchrun --nproc_per_node=8 --nnodes 2 -m torchtitan.train --module llama3 --config llama3_small", 2,
       16},
      {"MODULE=llama3 CONFIG=llama3_small NGPU=4 ./run_train.sh --parallelism.tensor_parallel_degree 4", 4,
       4},
      {"CONFIG=llama3_small NGPU=8 ./run_train.sh --training.steps 10", 2, 8},
  };
  for (const Row& row : rows) {
    const FindFile find = [](const std::string& name) -> std::optional<std::string> {
      return name == "torchtitan/models/llama3/config_registry.py" ? std::optional<std::string>{kTorchtitan}
                                                                   : std::nullopt;
    };
    const ImportedPlan plan = import_plan({{"run.sh", row.command}}, "H100", find);
    EXPECT_EQ(plan.request.layout.layout.tp, row.tp) << row.command;
    EXPECT_EQ(plan.gpus, row.gpus) << row.command;
    EXPECT_EQ(plan.request.recipe.sequence, 8192) << row.command;
  }
  const ImportedPlan alone =
      import_plan({{"run.sh", "CONFIG=llama3_small ./run_train.sh --parallelism.tensor_parallel_degree 4"}},
                  "8xH100", {});
  EXPECT_THAT(alone.notes,
              Contains("run.sh:1 names torchtitan/models/llama3/config_registry.py:llama3_small, which is "
                       "not here: give it, too"));
}

}  // namespace
}  // namespace hexaplan::presets
