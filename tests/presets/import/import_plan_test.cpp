// Launch files of other frameworks as scenarios.
#include "presets/import/import_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <random>
#include <sstream>

#include "presets/import/setting.h"
#include "presets/import/shell_script.h"
#include "presets/json/input_error.h"
#include "presets/scenario/layout_text.h"

namespace hexaplan::presets {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::Not;

std::string file_path(const std::string& name) {
  return HEXAPLAN_SOURCE_DIR "/tests/presets/import/files/" + name;
}
std::string file_text(const std::string& name) {
  std::ostringstream text;
  text << std::ifstream{file_path(name)}.rdbuf();
  return text.str();
}
ImportedPlan imported(const std::string& file, std::string_view cluster = {}) {
  return import_files({file_path(file)}, cluster);
}
std::string layout_of(const ImportedPlan& plan) {
  return to_layout_text(plan.request.layout);
}
auto setting(const char* key, int line, SettingFate fate) {
  return Contains(AllOf(Field(&ImportedSetting::key, key), Field(&ImportedSetting::line, line),
                        Field(&ImportedSetting::fate, fate)));
}

// --- shell ---

std::vector<std::string> words_of(const std::string& script) {
  std::vector<std::string> words;
  for (const ShellCommand& command : read_shell_script(script, "test.sh").commands) {
    for (const ShellWord& word : command.words) words.push_back(word.text);
  }
  return words;
}

TEST(shell_script, follows_what_a_shell_expands) {
  struct Row {
    const char* script;
    std::vector<std::string> words;
  };
  const Row rows[] = {
      {"run a b # c\n", {"run", "a", "b"}},
      {"A=1\nrun $A ${A} \"$A$A\" '$A'", {"run", "1", "1", "11", "$A"}},
      {"run --x \\\n  1 \\\n  2", {"run", "--x", "1", "2"}},
      {"ARGS=(--a 1 # one\n  --b \"2 3\"\n)\nrun \"${ARGS[@]}\"", {"run", "--a", "1", "--b", "2 3"}},
      {"ARGS=(a)\nARGS+=(b c)\nrun ${ARGS[@]}", {"run", "a", "b", "c"}},
      {"A=\"x y\"\nrun $A \"$A\"", {"run", "x", "y", "x y"}},
      {"A=(\"x y\" \"\" z)\nrun ${A[@]} \"${A[@]}\"", {"run", "x", "y", "z", "x y", "", "z"}},
      {"run ${A:-8} ${B:=9}", {"run", "8", "9"}},
      {"N=4\nrun $((N*8)) $(( ($N + 2) / 3 ))", {"run", "32", "2"}},
      {"if [ 1 = 2 ]; then\nrun a\nelif [[ x == x* ]]; then run b\nelse run c\nfi", {"run", "b"}},
      {"A=7B\ncase $A in\n 1B) run a;;\n 7B|8B)\n run b\n ;;\n *) run c;;\nesac", {"run", "b"}},
      {"[ -z \"$X\" ] || run a\n[ 3 -gt 2 ] && run b", {"run", "a", "run", "b"}},
      {"for I in 1 2; do\nrun $I\ndone", {"run", "1"}},
      {"bash -c \"run a\"", {"run", "a"}},
      {"CMD=\"run a\"\neval $CMD", {"run", "a"}},
      {"export A=1 B=2\nrun $A$B \"$@\"", {"run", "12"}},
      {"A=1; A+=2; run $A 2>&1 | tee log", {"run", "12", "tee", "log"}},
      {"run \"\" a", {"run", "", "a"}},
      {"run $HOST_OF_NOBODY", {"run", "…"}},
      // Parameters that are not given are empty where they are asked for, but not in a function.
      {"Z=$1\nif [ \"$Z\" == \"\" ]; then Z=3; fi\nrun $Z", {"run", "3"}},
      {"Z=${2:-4}\n[ -z \"$1\" ] && run $Z", {"run", "4"}},
      {"case $1 in\n 1B) run a;;\n *) run b;;\nesac", {"run", "b"}},
      {"f() {\n  [ -z \"$1\" ] || run a\n}\n", {"run", "a"}},
      {"run --x $1", {"run", "--x", "…"}},
      {"run `date` $(date)", {"run", "…", "…"}},
  };
  for (const Row& row : rows) EXPECT_EQ(words_of(row.script), row.words) << row.script;
}

TEST(shell_script, knows_the_line_on_which_a_variable_was_written) {
  const ShellScript script = read_shell_script("A=\"--x\n  8\"\n\nrun $A", "test.sh");
  ASSERT_EQ(script.commands.size(), 1U);
  EXPECT_EQ(script.commands[0].words[0].line, 4);
  EXPECT_EQ(script.commands[0].words[1].line, 1);
  EXPECT_EQ(script.commands[0].words[2].line, 2);
}

TEST(import_plan, names_the_variable_whose_value_only_the_running_script_knows) {
  const ImportedPlan plan = import_plan({{"run.sh",
                                          "torchrun --nproc_per_node $GPUS run_clm.py --model_name_or_path "
                                          "gpt2 --zero_stage $STAGE --block_size $1 --learning_rate $LR "
                                          "--bf16 $(date) --gradient_accumulation_steps $STEPS\n"}},
                                        "8xH100");
  struct Row {
    const char *key, *value, *why;
    SettingFate fate;
  };
  constexpr Row kRows[] = {
      {"--nproc_per_node", "$GPUS", "its value, $GPUS, is known only when", SettingFate::Unknown},
      {"zero_stage", "$STAGE", "its value, $STAGE, is known only when", SettingFate::Unknown},
      {"block_size", "$1", "its value, $1, is known only when", SettingFate::Unknown},
      {"learning_rate", "$LR", "", SettingFate::Ignored},
      {"bf16", "a command", "its value, a command, is known only when", SettingFate::Unknown},
      {"gradient_accumulation_steps", "$STEPS", "its value, $STEPS, is known", SettingFate::Unknown},
  };
  for (const Row& row : kRows) {
    EXPECT_THAT(plan.settings, Contains(AllOf(Field(&ImportedSetting::key, row.key),
                                              Field(&ImportedSetting::value, row.value),
                                              Field(&ImportedSetting::fate, row.fate),
                                              Field(&ImportedSetting::why, HasSubstr(row.why)))))
        << row.key;
  }
}

TEST(import_plan, a_switch_before_further_options_that_are_not_set_is_on) {
  const ImportedPlan plan = import_plan(
      {{"run.sh", "torchrun run_clm.py --model_name_or_path gpt2 --block_size 512 --bf16 $EXTRA_ARGS\n"}},
      "8xH100");
  EXPECT_EQ(plan.request.recipe.precision, costmodel::Precision::Bf16);
}

TEST(shell_script, keeps_the_files_that_a_script_writes) {
  const ShellScript script =
      read_shell_script("N=2\ncat <<EOF > ds.json\n{\"stage\": $N}\nEOF\nrun ds.json", "test.sh");
  ASSERT_EQ(script.documents.size(), 1U);
  EXPECT_EQ(script.documents[0].file, "ds.json");
  EXPECT_EQ(script.documents[0].text, "{\"stage\": 2}\n");
  EXPECT_EQ(script.documents[0].line, 3);
}

TEST(shell_script, a_quote_that_never_ends_is_named_with_its_line) {
  try {
    (void)read_shell_script("a\nrun \"b", "test.sh");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("test.sh:2"));
  }
}

TEST(shell_script, variables_that_double_forever_are_refused) {
  std::string script = "A=xxxxxxxxxxxxxxxx\n";
  for (int i = 0; i < 40; ++i) script += "A=$A$A\n";
  EXPECT_THROW((void)read_shell_script(script, "test.sh"), InputError);
}

// --- formats ---

TEST(settings, know_their_lines_in_every_format) {
  const auto lines = [](const std::vector<Setting>& settings) {
    std::vector<std::string> result;
    for (const Setting& s : settings) result.push_back(s.key + "@" + std::to_string(s.line));
    return result;
  };
  EXPECT_THAT(lines(settings_of_json("{\n \"a\": {\"b\": 1,\n \"c\": [1, 2]},\n \"d\": \"x\\\"y\"\n}", "f")),
              ElementsAre("a.b@2", "a.c@3", "d@4"));
  EXPECT_THAT(lines(settings_of_yaml("a:\n  b: 1\n  c: [1, 2]\nd: x\n", "f")),
              ElementsAre("a.b@2", "a.c@3", "d@4"));
  EXPECT_THAT(lines(settings_of_toml("d = 'x'\n[a]\nb = 1\nc = [1, 2]\n", "f")),
              ElementsAre("a.b@3", "a.c@4", "d@1"));
}

TEST(settings, quoted_numbers_are_text) {
  EXPECT_EQ(settings_of_yaml("a: '8'", "f")[0].value, JsonValue{"8"});
  EXPECT_EQ(settings_of_yaml("a: 8", "f")[0].value, JsonValue{8});
  EXPECT_EQ(settings_of_yaml("a: 1.0e-5", "f")[0].value, JsonValue{1e-5});
  EXPECT_TRUE(settings_of_yaml("a:", "f")[0].value.is_null());
}

TEST(settings, aliases_that_multiply_are_refused) {
  std::string text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 9; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + before;
    for (int k = 0; k < 9; ++k) text += ", " + before;
    text += "]\n";
  }
  EXPECT_THROW((void)settings_of_yaml(text, "f"), InputError);
}

// --- plans ---

TEST(import_plan, a_megatron_job_becomes_a_scenario) {
  const ImportedPlan plan = imported("megatron_llama.sbatch");
  EXPECT_EQ(plan.format.name, "megatron");
  EXPECT_EQ(plan.request.model, JsonValue{"llama-3.1-8b"});
  EXPECT_EQ(plan.request.cluster, JsonValue{"64xh100"});
  EXPECT_EQ(layout_of(plan), "tp2 pp2 sp zero1");
  EXPECT_EQ(plan.request.recipe.sequence, 8192);
  EXPECT_EQ(plan.request.recipe.global_batch, 256);
  EXPECT_EQ(plan.request.recipe.tokens, 5000LL * 256 * 8192);
  EXPECT_EQ(plan.request.recipe.recompute.mode, costmodel::RecomputeMode::Selective);
  EXPECT_EQ(plan.request.recipe.dropout, 0);
  EXPECT_EQ(plan.request.recipe.execution.tensor_overlap, true);
  EXPECT_EQ(plan.request.recipe.execution.data_overlap, std::nullopt) << "as the profile does";
}

TEST(import_plan, every_setting_is_listed_with_its_line_and_fate) {
  const ImportedPlan plan = imported("megatron_llama.sbatch");
  EXPECT_THAT(plan.settings, setting("--num-layers", 31, SettingFate::Understood));
  EXPECT_THAT(plan.settings, setting("--lr", 54, SettingFate::Ignored));
  EXPECT_THAT(plan.settings, setting("--my-own-flag", 75, SettingFate::Unknown));
  EXPECT_THAT(plan.settings, setting("--tp-comm-overlap", 75, SettingFate::Understood));
}

/// Megatron-LM says it by type, Bridge's file by class, torchtitan by the name of an implementation.
TEST(import_plan, types_of_moments_are_read) {
  using costmodel::DType;
  const auto megatron = [](const std::string& flags) {
    return import_plan({{"run.sh",
                         "torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 4 --hidden-size 128 "
                         "--num-attention-heads 4 --micro-batch-size 2 --seq-length 1024 --bf16 "
                         "--use-distributed-optimizer --use-precision-aware-optimizer " +
                             flags + "\n"}},
                       "8xH100");
  };
  const auto moments = [](const ImportedPlan& plan) { return plan.request.recipe.moment_dtype; };
  EXPECT_EQ(moments(megatron("")), std::nullopt);
  EXPECT_EQ(moments(megatron("--exp-avg-dtype fp32 --exp-avg-sq-dtype fp32")), std::nullopt);
  EXPECT_EQ(moments(megatron("--exp-avg-dtype bf16 --exp-avg-sq-dtype bf16")), DType::Bf16);
  const ImportedPlan mixed = megatron("--exp-avg-dtype fp8 --exp-avg-sq-dtype fp16");
  EXPECT_EQ(moments(mixed), DType::Fp16);
  EXPECT_THAT(mixed.notes, Contains(HasSubstr("moments of two types")));

  std::string bridge = file_text("bridge_run_config.yaml");
  for (std::size_t at = 0;
       (at = bridge.find("dtype:\n    _call_: false\n    _target_: torch.float32", at)) != std::string::npos;)
    bridge.replace(bridge.find("float32", at), 7, "bfloat16");
  EXPECT_EQ(moments(import_plan({{"run_config.yaml", bridge}}, {})), DType::Bf16);
}

/// How Megatron-Core says it on the command line and in Bridge's file, and MaxText.
TEST(import_plan, capacities_of_experts_are_read_with_and_without_padding) {
  const auto megatron = [](const std::string& flags) {
    return import_plan(
        {{"run.sh",
          "torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 4 --hidden-size 128 "
          "--num-attention-heads 4 --micro-batch-size 2 --seq-length 1024 --bf16 --num-experts 8 "
          "--moe-router-topk 2 " +
              flags + "\n"}},
        "8xH100");
  };
  const auto routing = [](const ImportedPlan& plan) { return plan.request.recipe.routing; };
  EXPECT_EQ(routing(megatron("--moe-expert-capacity-factor 1.25")),
            costmodel::MoeRouting{.capacity_factor = 1.25});
  EXPECT_EQ(routing(megatron("--moe-expert-capacity-factor 1.25 --moe-pad-expert-input-to-capacity")),
            (costmodel::MoeRouting{.capacity_factor = 1.25, .pad_to_capacity = true}));
  EXPECT_EQ(routing(megatron("--moe-expert-capacity-factor -1.0")), costmodel::MoeRouting{});
  EXPECT_THAT(megatron("--moe-expert-capacity-factor 1 --moe-token-drop-policy position").notes,
              Contains(HasSubstr("drop by position have no word")));
  EXPECT_THAT(megatron("--moe-expert-capacity-factor 1 --moe-token-drop-policy probs").notes,
              testing::Not(Contains(HasSubstr("drop by"))));
  const ImportedPlan maxtext =
      import_plan({{"x.yml",
                    "base_config: base.yml\nmodel_name: mixtral-8x7b\nici_fsdp_parallelism: 8\n"
                    "capacity_factor: 1.5\n"}},
                  "8xH100");
  EXPECT_EQ(routing(maxtext), (costmodel::MoeRouting{.capacity_factor = 1.5, .pad_to_capacity = true}));
}

/// What is refused, in one line.
std::string refusal_of(const std::string& file, const std::string& text, std::string_view cluster = {}) {
  try {
    static_cast<void>(import_plan({{file, text}}, cluster));
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

ImportedPlan megatron_job(const std::string& flags, std::string_view cluster = "128xH100") {
  return import_plan({{"run.sh",
                       "torchrun pretrain_gpt.py --hidden-size 1024 --num-attention-heads 16 "
                       "--micro-batch-size 1 --seq-length 1024 --bf16 --vocab-size 5000 "
                       "--max-position-embeddings 1024 " +
                           flags + "\n"}},
                     cluster);
}

/// Megatron-LM (core_v0.15.3 megatron/training/arguments.py, validate_args): layers and counted ends over
/// stages over layers per chunk.
TEST(import_plan, chunks_of_so_many_layers_count_embedding_and_loss_where_they_are_asked_to) {
  constexpr const char* kEnds =
      " --account-for-embedding-in-pipeline-split --account-for-loss-in-pipeline-split";
  struct Row {
    int layers;
    std::string flags;
    int chunks;
    bool noted;
  };
  const Row rows[] = {
      {126, std::string{" --num-layers-per-virtual-pipeline-stage 2"} + kEnds, 4, false},  // 128 / 16 / 2
      {128, " --num-layers-per-virtual-pipeline-stage 2", 4, false},
      {128, " --num-layers-per-virtual-pipeline-stage 8", 1, false},
      {126, " --num-layers-per-virtual-pipeline-stage 2", 1, true},
      {128, std::string{" --num-layers-per-virtual-pipeline-stage 2"} + kEnds, 1, true},
      {126, std::string{" --num-layers-per-virtual-pipeline-stage 3"} + kEnds, 1, true},
      {128, " --num-virtual-stages-per-pipeline-rank 2", 2, false},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(std::to_string(row.layers) + row.flags);
    const ImportedPlan plan = megatron_job("--pipeline-model-parallel-size 16 --num-layers " +
                                           std::to_string(row.layers) + row.flags);
    const costmodel::Layout& layout = plan.request.layout.layout;
    EXPECT_EQ(layout.vpp, row.chunks);
    EXPECT_EQ(layout.schedule == costmodel::ScheduleKind::Interleaved, row.chunks > 1);
    const auto note = Contains(HasSubstr("which Megatron-LM refuses: one chunk is planned"));
    if (row.noted) {
      EXPECT_THAT(plan.notes, note);
    } else {
      EXPECT_THAT(plan.notes, Not(note));
    }
  }
  EXPECT_THAT(
      megatron_job("--pipeline-model-parallel-size 16 --num-layers-per-virtual-pipeline-stage 2").notes,
      Contains(HasSubstr("need the model's number of layers: one is planned")));
}

TEST(import_plan, all_gathers_of_context_parallelism_are_read_in_both_spellings) {
  for (const char* word : {"all_gather", "allgather"}) {
    const ImportedPlan plan =
        megatron_job(std::string{"--num-layers 4 --context-parallel-size 2 --cp-comm-type "} + word);
    EXPECT_EQ(plan.request.layout.layout.context, costmodel::ContextKind::AllGather) << word;
    EXPECT_THAT(plan.settings, setting("--cp-comm-type", 1, SettingFate::Understood));
  }
}

TEST(import_plan, megatrons_backends_of_attention_are_the_kernels_that_they_run) {
  using costmodel::AttentionKernel;
  struct Row {
    const char* word;
    AttentionKernel attention;
    bool noted;
  };
  for (const Row& row : {Row{"flash", AttentionKernel::FlashAttention2, true},
                         {"fused", AttentionKernel::Flash, false},
                         {"auto", AttentionKernel::Flash, false},
                         {"unfused", AttentionKernel::Unfused, false},
                         {"local", AttentionKernel::FusedSoftmax, false}}) {
    const std::string text =
        "torchrun pretrain_gpt.py --num-layers 32 --attention-backend " + std::string{row.word} + "\n";
    const ImportedPlan plan = import_plan({{"run.sh", text}}, "8xH100");
    EXPECT_EQ(plan.request.recipe.attention, row.attention) << row.word;
    const auto says = Contains(HasSubstr("planned as FlashAttention-2"));
    if (row.noted) {
      EXPECT_THAT(plan.notes, says);
    } else {
      EXPECT_THAT(plan.notes, Not(says)) << row.word;
    }
  }
}

TEST(import_plan, layers_of_offloaded_activations_are_read_from_later_megatrons_argument) {
  const costmodel::Recipe recipe =
      megatron_job("--num-layers 4 --cpu-offloading-num-layers 2").request.recipe;
  EXPECT_EQ(recipe.offload, costmodel::kOffloadActivations);
  EXPECT_EQ(recipe.offload_layers, 2);
}

TEST(import_plan, deepspeed_moves_checkpoints_to_the_host_where_the_files_say_of_some) {
  const ImportFile engine{"ds.json",
                          R"({"train_micro_batch_size_per_gpu": 1, "zero_optimization": {"stage": 1},
  "activation_checkpointing": {"cpu_checkpointing": true}})"};
  const ImportedPlan alone = import_plan({engine}, "8xH100");
  EXPECT_EQ(alone.request.recipe.offload, 0);
  EXPECT_THAT(alone.notes, Contains(HasSubstr("add --recompute full --offload activations")));
  const ImportedPlan beside = import_plan(
      {engine,
       {"run.sh",
        "deepspeed pretrain_gpt.py --num-layers 4 --hidden-size 128 --num-attention-heads 4 "
        "--micro-batch-size 1 --seq-length 1024 --bf16 --vocab-size 5000 --max-position-embeddings 1024 "
        "--checkpoint-activations\n"}},
      "8xH100");
  EXPECT_EQ(beside.format.name, "megatron");
  EXPECT_EQ(beside.request.recipe.recompute.mode, costmodel::RecomputeMode::Full);
  EXPECT_EQ(beside.request.recipe.offload, costmodel::kOffloadActivations);
  EXPECT_THAT(beside.notes, Not(Contains(HasSubstr("cpu_checkpointing"))));
}

TEST(import_plan, a_type_of_gpu_alone_is_the_fewest_gpus_where_the_files_say_no_number) {
  const ImportedPlan one =
      import_plan({{"ax.yml",
                    "base_model: meta-llama/Llama-3.1-8B\nadapter: qlora\nload_in_4bit: true\nlora_r: 8\n"
                    "sequence_len: 4096\nmicro_batch_size: 2\ngradient_accumulation_steps: 4\nbf16: auto\n"}},
                  "RTX4090");
  EXPECT_EQ(one.request.cluster, JsonValue{"1xRTX4090"});
  EXPECT_EQ(one.gpus, 1);
  EXPECT_EQ(one.request.recipe.global_batch, 8);  // 2 × 4 on one rank
  EXPECT_THAT(one.notes, Contains("the files do not say how many GPUs: one is planned, --cluster "
                                  "8xRTX4090 plans another number"));
  const ImportedPlan four =
      megatron_job("--num-layers 4 --tensor-model-parallel-size 2 --pipeline-model-parallel-size 2", "H100");
  EXPECT_EQ(four.request.cluster, JsonValue{"4xH100"});
  EXPECT_THAT(four.notes, Contains(HasSubstr("how many GPUs: 4 are planned")));
  const std::string file = HEXAPLAN_SOURCE_DIR "/presets/gpus/rtx4090.json";
  const ImportedPlan asked = megatron_job("--num-layers 4", "8x" + file);
  EXPECT_EQ(asked.request.cluster, JsonValue{"8x" + file});
  EXPECT_EQ(asked.gpus, 8);
  const ImportedPlan none =
      megatron_job("--num-layers 4 --tensor-model-parallel-size 2 --pipeline-model-parallel-size 2", "");
  EXPECT_TRUE(none.request.cluster.is_null());
  EXPECT_THAT(none.notes, Contains(HasSubstr("add --cluster 64xH100")));
}

TEST(import_plan, configurations_of_nemo_1_are_not_taken_for_megatron_bridges) {
  EXPECT_EQ(
      refusal_of("nemo.yaml",
                 "trainer:\n  devices: 8\n  precision: bf16\nmodel:\n  micro_batch_size: 1\n"
                 "  tensor_model_parallel_size: 4\n  num_layers: 80\n"),
      "nemo.yaml:2: got \"trainer.devices\", expected settings of Megatron-Bridge, not of NeMo 1, which "
      "are not read; say the plan with --layout, --seq, --micro-batch and --precision");
  EXPECT_EQ(refusal_of("bridge.yaml", "model:\n  tensor_model_parallel_size: 4\n  num_layers: 80\n"),
            "no error");
}

TEST(import_plan, a_models_configuration_is_not_a_launch_file) {
  EXPECT_EQ(
      refusal_of("config.json",
                 R"({"architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": 32000,
  "hidden_size": 2048})"),
      "config.json: got a model's config.json, expected a launch script or configuration, which says how "
      "a model is trained; give it as --model config.json");
  EXPECT_THAT(refusal_of("config.json", R"({"model_type": "gpt2", "vocab_size": 50257, "n_embd": 768})"),
              HasSubstr("--model config.json"));
  EXPECT_EQ(refusal_of("ds.json", R"({"zero_optimization": {"stage": 2}})"), "no error");
}

TEST(import_plan, programs_of_other_models_are_refused_although_their_flags_are_known) {
  const auto refusal = [](const std::string& program) -> std::string {
    const std::string script =
        "torchrun --nproc_per_node 8 " + program + " --num-layers 24 --hidden-size 1024\n";
    try {
      static_cast<void>(
          import_plan({{"run.sh", script}}, {}, [](const std::string&) { return std::nullopt; }));
    } catch (const InputError& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_EQ(refusal("pretrain_gpt.py"), "no error");
  EXPECT_EQ(refusal("Megatron-LM/pretrain_t5.py"),
            "run.sh:1: got \"Megatron-LM/pretrain_t5.py\", expected a program that trains a decoder, such as "
            "pretrain_gpt.py; T5 has attention between encoder and decoder, which is not modelled");
  EXPECT_THAT(refusal("pretrain_bert.py"), HasSubstr("BERT is an encoder"));
}

/// What would be read from these would be another run than they are of.
TEST(import_plan, files_of_something_else_are_refused_with_what_they_are) {
  struct Row {
    const char *name, *text, *error;
  };
  constexpr Row kRows[] = {
      {"v1.yaml", "model: Qwen/Qwen3-4B\npeft_config:\n  name: lora\n  r: 16\nmicro_batch_size: 1\n",
       "v1.yaml: got a configuration of LLaMA-Factory's v1 trainer, expected one of its hparams"},
      {"infer.yaml", "model_name_or_path: Qwen/Qwen3-4B\ntemplate: qwen3\ninfer_backend: vllm\n",
       "got a configuration of inference, expected"},
      {"merge.yaml", "model_name_or_path: Qwen/Qwen3-4B\ntemplate: qwen3\nexport_dir: saves\n",
       "got a configuration that exports merged weights, expected"},
      {"base_eval.yml",
       "temperature: 0.0\nserver_host: localhost\nserver_port: 80\ntensor_parallel_size: 4\n",
       "got a configuration that evaluates a model behind a server, expected"},
      {"export.sh", "llamafactory-cli export merge.yaml\n",
       "export.sh:1: got \"llamafactory-cli export\", expected a command that trains; it merges adapters"},
      {"bert.sh",
       "deepspeed deepspeed_train.py --max_seq_length 512 --cf bert.json --print_steps 1 --job_name x "
       "--corpus y\n",
       "got one setting of Hugging Face TRL and 4 that no framework known here has, expected a launch"},
      {"nothing.sh", "python3 serve.py\n",
       "nothing.sh: got nothing that a framework known here reads, expected a launch script"},
  };
  for (const Row& row : kRows) {
    try {
      (void)import_plan({{row.name, row.text}}, "8xH100");
      ADD_FAILURE() << row.name << " is read";
    } catch (const InputError& error) {
      EXPECT_THAT(error.what(), HasSubstr(row.error));
    }
  }
}

/// Its settings are key=value: a flag of that name is some other program's.
TEST(import_plan, a_program_with_flags_of_maxtexts_names_is_not_maxtext) {
  const ImportedPlan plan = import_plan({{"run.sh",
                                          "deepspeed finetune_llama.py --deepspeed_config=zf.json "
                                          "--model_name meta-llama/Llama-2-7b-hf --steps 30\n"}},
                                        "8xH100", [](const std::string&) -> std::optional<std::string> {
                                          return R"({"train_batch_size": 64, "bf16": {"enabled": true},
                                                     "zero_optimization": {"stage": 2}})";
                                        });
  EXPECT_EQ(plan.format.name, "deepspeed");
  EXPECT_EQ(layout_of(plan), "zero2");
}

ImportedPlan deepspeed_plan(const std::string& more) {
  return import_plan(
      {{"ds.json", R"({"train_batch_size": 64, "train_micro_batch_size_per_gpu": 4)" + more + "}"}},
      "8xH100");
}

TEST(deepspeed, optimizers_are_called_as_people_write_them) {
  using costmodel::Optimizer;
  struct Row {
    const char* name;
    Optimizer optimizer;
    const char* note;
  };
  constexpr Row kRows[] = {
      {"Adam", Optimizer::AdamW, ""},
      {"adamw", Optimizer::AdamW, ""},
      {"FusedAdam", Optimizer::AdamW, ""},
      {"DeepSpeedCPUAdam", Optimizer::AdamW, ""},
      {"OneBitAdam", Optimizer::AdamW, "OneBitAdam sends compressed gradients after its warm-up"},
      {"Muon", Optimizer::Muon, ""},
      {"LAMB", Optimizer::Lamb, ""},
  };
  for (const Row& row : kRows) {
    const ImportedPlan plan =
        deepspeed_plan(std::string{R"(, "optimizer": {"type": ")"} + row.name + R"("})");
    EXPECT_EQ(plan.request.recipe.optimizer, row.optimizer) << row.name;
    EXPECT_THAT(plan.settings, setting("optimizer.type", 1, SettingFate::Understood)) << row.name;
    if (*row.note != 0) {
      EXPECT_THAT(plan.notes, Contains(HasSubstr(row.note)));
    }
  }
  const ImportedPlan other = deepspeed_plan(R"(, "optimizer": {"type": "Adagrad"})");
  EXPECT_THAT(other.settings, setting("optimizer.type", 1, SettingFate::Unknown));
  EXPECT_THAT(other.settings, Contains(Field(&ImportedSetting::why, HasSubstr("AdamW is planned"))));
}

/// deepspeedai/DeepSpeed deepspeed/runtime/zero/config.py, overlap_comm_valid.
TEST(deepspeed, reduces_gradients_beside_the_backward_from_zero3_on_unless_it_is_told) {
  struct Row {
    const char* zero;
    std::optional<bool> overlap;  // nothing: as the profile has it, beside
  };
  const Row rows[] = {{R"("stage": 1)", false},
                      {R"("stage": 2)", false},
                      {R"("stage": 2, "overlap_comm": true)", std::nullopt},
                      {R"("stage": 3)", std::nullopt},
                      {R"("stage": 3, "overlap_comm": false)", false}};
  for (const Row& row : rows) {
    const ImportedPlan plan = deepspeed_plan(
        std::string{R"(, "bf16": {"enabled": true}, "zero_optimization": {)"} + row.zero + "}");
    EXPECT_EQ(plan.request.recipe.execution.data_overlap, row.overlap) << row.zero;
  }
}

TEST(deepspeed, switches_that_are_off_and_not_modelled_are_said) {
  const auto plan = [](const char* value) {
    return deepspeed_plan(R"(, "zero_optimization": {"stage": 2, "contiguous_gradients": )" +
                          std::string{value} + R"(, "reduce_scatter": )" + value +
                          R"(, "offload_optimizer": {"device": "cpu", "pin_memory": )" + value + "}}");
  };
  for (const char* key : {"zero_optimization.contiguous_gradients", "zero_optimization.reduce_scatter",
                          "zero_optimization.offload_optimizer.pin_memory"}) {
    EXPECT_THAT(plan("false").settings, setting(key, 1, SettingFate::Unknown)) << key;
    EXPECT_THAT(plan("true").settings, setting(key, 1, SettingFate::Ignored)) << key;
  }
}

/// deepspeedai/DeepSpeed deepspeed/runtime/zero/config.py: what has an effect, under the stages where it has.
TEST(deepspeed, sizes_of_buckets_gathers_and_updates_are_planned) {
  const auto plan = [](int stage) {
    return deepspeed_plan(
        R"(, "bf16": {"enabled": true}, "zero_optimization": {"stage": )" + std::to_string(stage) +
        R"(, "reduce_bucket_size": 2e8, "stage3_prefetch_bucket_size": 0, "stage3_max_live_parameters": 3e8,
             "stage3_max_reuse_distance": 1e9, "stage3_param_persistence_threshold": 1000000,
             "sub_group_size": 100000000, "allgather_bucket_size": 2e8, "round_robin_gradients": true,
             "stage3_gather_16bit_weights_on_model_save": true})");
  };
  // What is the default needs no word.
  EXPECT_EQ(plan(3).request.recipe.sizes, (costmodel::ZeroSizes{.reduce_bucket = 200'000'000,
                                                                .prefetch = 0,
                                                                .live = 300'000'000,
                                                                .persistent = 1'000'000,
                                                                .update_group = 100'000'000}));
  EXPECT_EQ(plan(2).request.recipe.sizes, (costmodel::ZeroSizes{.reduce_bucket = 200'000'000}));
  EXPECT_EQ(plan(0).request.recipe.sizes, costmodel::ZeroSizes{});
  for (const char* key : {"reduce_bucket_size", "stage3_max_reuse_distance", "sub_group_size"})
    EXPECT_THAT(plan(3).settings,
                Contains(AllOf(Field(&ImportedSetting::key, std::string{"zero_optimization."} + key),
                               Field(&ImportedSetting::fate, SettingFate::Understood))));
  const auto fate = [&](const char* key, SettingFate fate) {
    return Contains(AllOf(Field(&ImportedSetting::key, std::string{"zero_optimization."} + key),
                          Field(&ImportedSetting::fate, fate)));
  };
  EXPECT_THAT(plan(3).settings, fate("allgather_bucket_size", SettingFate::Ignored));
  EXPECT_THAT(plan(3).settings, fate("stage3_gather_16bit_weights_on_model_save", SettingFate::Ignored));
  EXPECT_THAT(plan(3).settings, fate("round_robin_gradients", SettingFate::Unknown));
}

TEST(deepspeed, types_that_are_left_to_a_trainer_are_bf16) {
  const ImportedPlan plan =
      deepspeed_plan(R"(, "bf16": {"enabled": "auto"}, "gradient_accumulation_steps": "auto")");
  EXPECT_EQ(plan.request.recipe.precision, costmodel::Precision::Bf16);
  EXPECT_THAT(plan.notes,
              Contains(HasSubstr("(bf16.enabled, gradient_accumulation_steps): bf16 is planned")));
  EXPECT_THAT(deepspeed_plan(R"(, "bf16": {"enabled": true})").notes, Not(Contains(HasSubstr("auto"))))
      << "nothing is left to a trainer";
  const ImportedPlan half = deepspeed_plan(R"(, "bf16": {"enabled": "auto"}, "fp16": {"enabled": true})");
  EXPECT_EQ(half.request.recipe.precision, costmodel::Precision::Fp16);
}

TEST(import_plan, two_dropouts_are_planned_as_the_larger_and_said) {
  const auto plan = [](const char* more) {
    return import_plan({{"run.sh", std::string{"torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 32 "
                                               "--hidden-size 4096 --num-attention-heads 32 --bf16 "} +
                                       more + "\n"}},
                       "8xH100");
  };
  const ImportedPlan two = plan("--attention-dropout 0.0");
  EXPECT_EQ(two.request.recipe.dropout, 0.1);
  EXPECT_THAT(two.notes, Contains(HasSubstr("dropout is 0 in attention and 0.1 behind it")));
  EXPECT_THAT(plan("--attention-dropout 0.0 --hidden-dropout 0.0").notes,
              Not(Contains(HasSubstr("dropout"))));
}

/// The base of RoPE moves neither memory nor time, and an export has to say the files' own.
TEST(import_plan, a_model_that_is_a_presets_but_for_its_rope_base_keeps_it) {
  const std::string script =
      "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 --ffn-hidden-size "
      "14336 "
      "--num-attention-heads 32 --group-query-attention --num-query-groups 8 --seq-length 8192 "
      "--max-position-embeddings 8192 --position-embedding-type rope --swiglu --normalization RMSNorm "
      "--untie-embeddings-and-output-weights --disable-bias-linear --bf16 --vocab-size 128256 ";
  const ImportedPlan preset = import_plan({{"run.sh", script + "--rotary-base 500000\n"}}, "8xH100");
  EXPECT_EQ(preset.request.model, JsonValue{"llama-3-8b"});
  const ImportedPlan own = import_plan({{"run.sh", script + "\n"}}, "8xH100");
  ASSERT_NE(own.request.model.find("rope_theta"), nullptr);
  EXPECT_EQ(*own.request.model.find("rope_theta"), JsonValue{10000.0});
  EXPECT_THAT(own.notes, Contains(HasSubstr("the model is llama-3-8b's but for --rotary-base is 10000")));
  EXPECT_EQ(own.request.model.find("_name_or_path")->get_if<std::string>() != nullptr, true);
}

/// A recipe that stands in no file begins as such recipes do; what the command says comes after.
TEST(import_plan, a_recipe_of_megatron_bridge_that_a_command_names_has_its_base) {
  const ImportedPlan plan =
      import_plan({{"run.sh",
                    "torchrun --nproc-per-node=8 scripts/training/run_recipe.py --recipe "
                    "llama3_8b_pretrain_config train.global_batch_size=512\n"}},
                  "8xH100");
  EXPECT_EQ(plan.request.recipe.precision, costmodel::Precision::Bf16);
  EXPECT_EQ(plan.request.recipe.micro_batch, 2) << "_pretrain_common's";
  EXPECT_EQ(plan.request.recipe.global_batch, 512) << "the command's own";
  EXPECT_EQ(layout_of(plan), "zero1") << "_pretrain_common's distributed optimizer";
}

TEST(torchtitan, the_folder_of_another_size_is_there_for_its_tokenizer) {
  const auto model = [](const char* flavor, const char* folder) {
    return import_plan({{"train.toml", std::string{"[model]\nname = \"llama3\"\nflavor = \""} + flavor +
                                           "\"\nhf_assets_path = \"./assets/hf/" + folder +
                                           "\"\n[training]\nseq_len = 8192\n"}},
                       "8xH100")
        .request.model;
  };
  EXPECT_EQ(model("8B", "Llama-3.1-8B"), JsonValue{"llama-3.1-8b"});
  EXPECT_EQ(model("70B", "Llama-3.1-8B"), JsonValue{"llama-3-70b"});
}

TEST(torchtitan, compiles_the_model_only_where_it_is_asked_to) {
  struct Row {
    const char* lines;
    bool compiles;
  };
  for (const Row& row : {Row{"", false},
                         {"[compile]\nenable = true\n", true},
                         {"[compile]\nenable = false\n", false},
                         {"[compile]\nenable = true\ncomponents = [\"loss\"]\n", false}}) {
    const std::string text = "[model]\nname = \"llama3\"\nflavor = \"8B\"\n" + std::string{row.lines};
    EXPECT_EQ(import_plan({{"train.toml", text}}, "8xH100").request.recipe.execution.compiled, row.compiles)
        << row.lines;
  }
}

TEST(torchtitan, a_flavor_of_the_command_stands_in_place_of_the_files) {
  const ImportedPlan plan =
      import_plan({{"run.sh", "CONFIG_FILE=train.toml NGPU=8 ./run_train.sh --model.flavor 70B\n"}}, "8xH100",
                  [](const std::string&) -> std::optional<std::string> {
                    return "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nseq_len = 8192\n";
                  });
  EXPECT_EQ(plan.request.model, JsonValue{"llama-3-70b"});
}

TEST(torchtitan, flags_say_converters_as_words_and_checkpoints_of_every_nth_layer) {
  const ImportedPlan plan = import_plan(
      {{"run.sh",
        "CONFIG_FILE=train.toml NGPU=8 ./run_train.sh --model.converters=float8 "
        "--activation_checkpoint.mode=selective --activation_checkpoint.selective_ac_option=2\n"}},
      "8xH100", [](const std::string&) -> std::optional<std::string> {
        return "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nseq_len = 8192\n";
      });
  EXPECT_EQ(plan.request.recipe.precision, costmodel::Precision::Fp8);
  EXPECT_EQ(plan.request.recipe.recompute.mode, costmodel::RecomputeMode::Layers);
  EXPECT_EQ(plan.request.recipe.recompute.layers, 16);
}

TEST(import_plan, says_what_is_missing) {
  const ImportedPlan plan =
      import_plan({{"run.sh",
                    "torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 4 --hidden-size 128 "
                    "--num-attention-heads 4 --micro-batch-size 2 --seq-length 1024 --fp16\n"}},
                  {});
  EXPECT_EQ(plan.gpus, 8);
  EXPECT_TRUE(plan.request.cluster.is_null());
  EXPECT_THAT(plan.notes, Contains(HasSubstr("the vocabulary is the tokenizer's")));
  EXPECT_THAT(plan.notes, Contains(HasSubstr("--cluster 8xH100")));
}

/// codellama-70b-instruct is Llama-2 70B with 16 tokens more.
TEST(import_plan, a_vocabulary_that_is_not_said_is_the_one_that_others_extend) {
  const auto plan = [](const char* more) {
    return import_plan(
        {{"run.sh",
          std::string{"torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 80 --hidden-size 8192 "
                      "--ffn-hidden-size 28672 --num-attention-heads 64 --group-query-attention "
                      "--num-query-groups 8 --max-position-embeddings 4096 --swiglu "
                      "--position-embedding-type rope --normalization RMSNorm --disable-bias-linear "
                      "--untie-embeddings-and-output-weights --attention-dropout 0 "
                      "--hidden-dropout 0 --bf16 "} +
              more + "\n"}},
        "64xH100");
  };
  EXPECT_EQ(plan("").request.model, JsonValue{"llama-2-70b"});
  EXPECT_EQ(plan("--vocab-size 32016").request.model, JsonValue{"codellama-70b-instruct"});
}

TEST(import_plan, dimensions_of_no_preset_are_written_out) {
  const ImportedPlan plan =
      import_plan({{"run.sh",
                    "torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 4 --hidden-size 128 "
                    "--num-attention-heads 4 --micro-batch-size 2 --seq-length 1024 --fp16 "
                    "--max-position-embeddings 1024 --vocab-size 5000\n"}},
                  "H100");
  EXPECT_EQ(plan.request.model, JsonValue{"layers=4 hidden=128 heads=4 ffn=512 vocab=5000 max_positions=1024 "
                                          "tied qkv_bias output_bias mlp_bias layer_norm "
                                          "norm_bias gelu learned_positions"});
  EXPECT_EQ(plan.request.cluster, JsonValue{"8xH100"});
}

TEST(import_plan, a_value_that_is_none_is_listed_and_the_rest_is_read) {
  const ImportedPlan plan = import_plan(
      {{"run.sh", "torchrun pretrain_gpt.py --num-layers many --seq-length 1024 --micro-batch-size 2\n"}},
      "8xH100");
  EXPECT_THAT(plan.settings, setting("--num-layers", 1, SettingFate::Unknown));
  EXPECT_EQ(plan.request.recipe.sequence, 1024);
}

TEST(import_plan, files_that_no_framework_reads_are_refused) {
  for (const char* text : {"", "ls -l\n", "{}", "a: b"}) {
    EXPECT_THROW((void)import_plan({{"x.sh", text}}, {}), InputError) << text;
  }
  EXPECT_THROW((void)import_plan({{"x.yaml", "a: [b"}}, {}), InputError);
}

TEST(import_plan, mutated_files_never_crash) {
  std::mt19937 random{11};
  const char* snippets[] = {"\"", "'",  "$(",        "${", "((", "[",     "]",
                            "{",  "}",  "\n",        "--", "$X", "`",     "\\",
                            "&a", "*a", "- ",        ": ", "=",  "<<E\n", "9999999999999999999",
                            "-1", ";;", "case x in", "\0"};
  for (const char* name : {"megatron_llama.sbatch"}) {
    const std::string original = file_text(name);
    ASSERT_FALSE(original.empty()) << name;
    for (int run = 0; run < 400; ++run) {
      std::string text = original;
      for (int change = 0; change < 4; ++change) {
        const std::size_t at = random() % text.size();
        switch (random() % 3) {
          case 0:
            text.erase(at, random() % 20);
            break;
          case 1:
            text.insert(at, snippets[random() % std::size(snippets)]);
            break;
          default:
            text[at] = static_cast<char>(random() % 256);
        }
        if (text.empty()) text = " ";
      }
      try {
        (void)import_plan({{name, text}}, "64xH100");
      } catch (const InputError&) {  // that is an answer
      }
    }
  }
}

// What Megatron-Bridge v0.6.0 writes (ConfigContainer.to_yaml) of a plan that was exported to it: every
// field, most at their defaults.
TEST(import_plan, a_configuration_that_megatron_bridge_wrote_is_the_plan_that_it_was_given) {
  const ImportedPlan plan = imported("bridge_run_config.yaml", "64xH100");
  EXPECT_EQ(plan.format.name, "bridge");
  EXPECT_EQ(plan.request.model, JsonValue{"deepseek-v2"});
  EXPECT_EQ(layout_of(plan), "pp8 etp1 zero2 embedding-counts");
  EXPECT_EQ(plan.request.recipe.sequence, 2048);
  EXPECT_EQ(plan.request.recipe.global_batch, 64);
  EXPECT_EQ(plan.request.recipe.tokens, 10 * 64 * 2048);
  EXPECT_EQ(plan.request.recipe.offload_fraction, 1);
  for (const ImportedSetting& each : plan.settings) EXPECT_NE(each.fate, SettingFate::Unknown) << each.key;
  EXPECT_GT(plan.settings.size(), 800U);
}

TEST(import_plan, overrides_of_megatron_bridge_are_read_from_its_command) {
  const ImportedPlan plan = import_plan(
      {{"run.sh",
        "torchrun --nnodes 4 --nproc-per-node 8 scripts/training/run_recipe.py --recipe "
        "llama3_8b_pretrain_config \\\n"
        "  -sl 8192 --mock model.tensor_model_parallel_size=2 model.sequence_parallel=true \\\n"
        "  train.micro_batch_size=1 ++train.global_batch_size=128 ddp.use_distributed_optimizer=true \\\n"
        "  mixed_precision=bf16_with_fp8_current_scaling_mixed model.activation_func=silu\n"}},
      "H100");
  EXPECT_EQ(plan.format.name, "bridge");
  EXPECT_EQ(plan.request.model, JsonValue{"llama-3-8b"});
  EXPECT_EQ(layout_of(plan), "tp2 sp zero1");
  EXPECT_EQ(plan.request.recipe.sequence, 8192);
  EXPECT_EQ(plan.request.recipe.global_batch, 128);
  EXPECT_EQ(plan.request.recipe.precision, costmodel::Precision::Fp8);
  EXPECT_THAT(plan.notes,
              Contains(HasSubstr("of llama3_8b_pretrain_config only what such recipes begin with is read")));
  EXPECT_THAT(plan.settings, setting("model.tensor_model_parallel_size", 2, SettingFate::Understood));
}

TEST(import_plan, maxtexts_command_is_a_plan) {
  const ImportedPlan plan = import_plan(
      {{"run.sh",
        "python3 -m maxtext.trainers.pre_train.train maxtext/configs/base.yml run_name=x "
        "model_name=llama3-8b \\\n"
        "  hardware=gpu per_device_batch_size=2 max_target_length=8192 ici_fsdp_parallelism=4 \\\n"
        "  ici_tensor_sequence_parallelism=2 dcn_data_parallelism=-1 remat_policy=full "
        "num_vocab_tiling=8\n"}},
      "16xH100");
  EXPECT_EQ(plan.format.name, "maxtext");
  EXPECT_EQ(plan.request.model, JsonValue{"llama-3-8b"});
  EXPECT_EQ(plan.request.framework, "maxtext");
  EXPECT_EQ(layout_of(plan), "dp8 tp2 sp hsdp4");
  EXPECT_EQ(plan.request.recipe.micro_batch, 4);  // 2 × 16 devices over dp8
  EXPECT_EQ(plan.request.recipe.global_batch, 32);
  EXPECT_EQ(plan.request.recipe.recompute.mode, costmodel::RecomputeMode::Full);
  EXPECT_EQ(plan.request.recipe.cross_entropy, costmodel::CrossEntropy::Chunked);
}

TEST(import_plan, what_maxtext_cannot_be_planned_as_is_said) {
  const ImportedPlan offloaded =
      import_plan({{"x.yml",
                    "base_config: base.yml\nmodel_name: gemma2-9b\nremat_policy: minimal_offloaded\n"
                    "ici_fsdp_parallelism: 8\nuse_indexer: true\n"}},
                  "8xH100");
  EXPECT_EQ(offloaded.request.model, JsonValue{"gemma-2-9b"});
  EXPECT_THAT(offloaded.notes,
              Contains(HasSubstr("remat_policy \"minimal_offloaded\" has no word of its own")));
  EXPECT_THAT(offloaded.settings, setting("use_indexer", 5, SettingFate::Unknown));
  const ImportedPlan mesh = import_plan(
      {{"x.yml", "model_name: llama3-8b\nici_fsdp_parallelism: 3\nici_tensor_parallelism: 2\n"}}, "8xH100");
  EXPECT_THAT(mesh.notes, Contains(HasSubstr("do not fill 1 nodes of 8 GPUs")));
  const ImportedPlan unknown = import_plan(
      {{"x.yml", "decoder_block: llama4\nbase_emb_dim: 4096\nvocab_size: 1000\nici_fsdp_parallelism: -1\n"}},
      "8xH100");
  EXPECT_THAT(unknown.notes, Contains(HasSubstr("decoder_block \"llama4\" is not described here")));
}

/// Cut off and garbled configurations: a plan, or one error of one line.
TEST(import_plan, garbled_configurations_of_bridge_and_maxtext_are_one_error) {
  const std::string texts[] = {
      file_text("bridge_run_config.yaml").substr(0, 4000),
      "base_config: base.yml\nmodel_name: default\ndecoder_block: deepseek\nbase_emb_dim: 2048\n"
      "base_num_query_heads: 16\nbase_num_kv_heads: 16\nbase_mlp_dim: 10944\nbase_moe_mlp_dim: 1408\n"
      "base_num_decoder_layers: 27\nfirst_num_dense_layers: 1\nvocab_size: 102400\nnum_experts: 64\n"
      "num_experts_per_tok: 6\nshared_experts: 2\nattention_type: mla\nper_device_batch_size: 1.5\n"
      "ici_fsdp_parallelism: -1\nici_expert_parallelism: 4\nmlp_activations: [\"silu\",\"linear\"]\n"};
  std::mt19937 random{5};
  int read = 0;
  for (int draw = 0; draw < 400; ++draw) {
    std::string text = texts[random() % 2];
    if (random() % 2 == 0) text.resize(random() % text.size());
    for (auto n = random() % 8; n > 0 && !text.empty(); --n) {
      const std::size_t at = random() % text.size();
      if (random() % 2 == 0) {
        text[at] = static_cast<char>(random() % 256);
      } else {
        text.insert(at, std::to_string(random() % 3 == 0 ? -1 : static_cast<long>(random())));
      }
    }
    try {
      (void)import_plan({{"x.yaml", text}}, "16xH100");
      ++read;
    } catch (const InputError& error) {
      EXPECT_EQ(std::string{error.what()}.find('\n'), std::string::npos);
    }
  }
  EXPECT_GT(read, 50);
}

}  // namespace
}  // namespace hexaplan::presets
