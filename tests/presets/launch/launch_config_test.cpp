// Plans in the words of the frameworks: what was asked is read back from what was written.
#include "presets/launch/launch_config.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <set>

#include "presets/json/input_error.h"
#include "presets/json/read_json.h"
#include "presets/launch/launch_fields.h"
#include "presets/scenario/scenario_request.h"
#include "tests/support/temporary_folder.h"

namespace hexaplan::presets {
namespace {

using costmodel::Scenario;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

Scenario scenario(const char* model, const char* cluster, const char* layout, const char* framework) {
  ScenarioRequest request;
  request.model = model;
  request.cluster = cluster;
  request.layout = parse_layout(layout, "layout");
  request.framework = framework;
  request.recipe.sequence = 4096;
  request.recipe.global_batch = 512;
  return resolve(request).scenario;
}
LaunchConfig config(const Scenario& s, const char* framework) {
  return launch_config(s, find_launch_format(framework));
}

struct Line {
  const char* framework;
  const char* layout;
  const char* expected;
};
const Line kLines[] = {
    {"megatron", "tp8 pp4 vpp2 sp zero1 interleaved", "\n  --tensor-model-parallel-size 8\n"},
    {"megatron", "tp8 pp4 vpp2 sp zero1 interleaved", "\n  --num-virtual-stages-per-pipeline-rank 2\n"},
    {"megatron", "tp8 pp4 vpp2 sp zero1 interleaved", "\n  --sequence-parallel\n"},
    {"megatron", "tp8 pp4 vpp2 sp zero1 interleaved", "\n  --use-distributed-optimizer\n"},
    {"megatron", "tp8 pp4 vpp2 sp zero1 interleaved", "\n  --num-query-groups 8\n"},
    {"megatron", "tp8 pp4 vpp2 sp zero1 interleaved", "\n  --hidden-dropout 0.0\n"},
    {"megatron", "tp8 pp4 vpp2 sp zero1 interleaved", " --nnodes 8 --nproc-per-node 8 "},
    {"megatron", "tp8 pp3 dp2 stages=26/27/27",
     "\n  --pipeline-model-parallel-layout 'Etttttttttttttttttttttttttt|ttttttttttttttttttttttttttt|"
     "tttttttttttttttttttttttttttL'\n"},
    {"megatron", "tp8 cp2 alltoall", "\n  --cp-comm-type a2a\n"},
    {"megatron", "tp8 cp2 allgather", "\n  --cp-comm-type all_gather\n"},
    {"bridge", "tp8 cp2 allgather", "\n  cp_comm_type: \"all_gather\"\n"},
    {"megatron", "zero3", "\n  --data-parallel-sharding-strategy optim_grads_params\n"},
    {"nanotron", "tp8 pp4 sp zero1", "\n  dp: 2\n"},
    {"nanotron", "tp8 pp4 sp zero1", "\n  tp_mode: \"REDUCE_SCATTER\"\n"},
    {"nanotron", "tp8 pp4 sp zero1", "\n  batch_accumulation_per_replica: 256\n"},
    {"nanotron", "tp8 pp4 sp zero1", "\n  zero_stage: 1\n"},
    {"torchtitan", "tp8 hsdp4 sp", "\ndata_parallel_shard_degree = 4\n"},
    {"torchtitan", "tp8 hsdp4 sp", "\ndata_parallel_replicate_degree = 2\n"},
    {"torchtitan", "tp8 pp4 fsdp sp", "\n[parallelism]\n"},
    {"torchtitan", "tp8 pp4 fsdp sp", "\nlocal_batch_size = 256\n"},
    {"deepspeed", "zero3", "\"stage\": 3"},
    {"deepspeed", "zero2", "\"gradient_accumulation_steps\": 8"},
};

TEST(launch_config, says_what_the_plan_says) {
  for (const Line& line : kLines) {
    const LaunchFormat& format = find_launch_format(line.framework);
    const char* cluster =
        std::string_view{line.layout}.find("pp3") != std::string_view::npos ? "48xH100" : "64xH100";
    const Scenario s = scenario("llama-3.1-70b", cluster, line.layout, std::string{format.profile}.c_str());
    EXPECT_THAT(launch_config(s, format).text, HasSubstr(line.expected)) << line.layout;
  }
}

TEST(launch_config, says_which_layers_have_experts_and_how_latent_attention_is_cut) {
  const std::string text =
      config(scenario("deepseek-v3", "256xH800", "pp16 ep16 zero1", "megatron"), "megatron").text;
  EXPECT_THAT(text, HasSubstr("\n  --moe-layer-freq '([0]*3+[1]*58)'\n"));
  EXPECT_THAT(text, HasSubstr("\n  --multi-latent-attention\n"));
  EXPECT_THAT(text, HasSubstr("\n  --kv-lora-rank 512\n"));
  EXPECT_THAT(text, HasSubstr("\n  --expert-model-parallel-size 16\n"));
}

TEST(launch_config, deepspeeds_batch_is_the_product_that_deepspeed_checks) {
  const Scenario s = scenario("llama-3.1-8b", "16xA100-80GB", "tp2 zero2 sp", "deepspeed");
  const JsonValue root = parse_json(config(s, "deepspeed").text, "deepspeed.json").root;
  const auto number = [&](const char* key) { return *root.find(key)->get_if<std::int64_t>(); };
  EXPECT_EQ(number("train_batch_size"),
            number("train_micro_batch_size_per_gpu") * number("gradient_accumulation_steps") * s.layout.dp);
  EXPECT_EQ(*root.find("bf16")->find("enabled"), JsonValue{true});
  // AutoTP cuts Hugging Face's models; Megatron's arguments say how its own are cut.
  EXPECT_EQ(root.find("tensor_parallel"), nullptr);
}

/// Gradients of 16 bits have the type of the computation, whatever the profile was measured with.
TEST(launch_config, deepspeed_accumulates_in_the_type_that_it_computes_in) {
  const auto accumulated = [](costmodel::Precision precision) {
    Scenario s = scenario("llama-3.1-8b", "8xH100", "tp2 pp2 zero1", "megatron-deepspeed");
    s.recipe.precision = precision;
    const JsonValue root = parse_json(config(s, "deepspeed").text, "deepspeed.json").root;
    return *root.find("data_types")->find("grad_accum_dtype");
  };
  EXPECT_EQ(accumulated(costmodel::Precision::Bf16), JsonValue{"bf16"});
  EXPECT_EQ(accumulated(costmodel::Precision::Fp16), JsonValue{"fp16"});
}

TEST(launch_config, names_what_the_framework_cannot_say) {
  Scenario s = scenario("llama-3.1-8b", "64xH100", "tp2 pp4 zb-h1", "megatron");
  EXPECT_THAT(config(s, "megatron").gaps,
              Contains("the pipeline schedule: Megatron-LM runs 1f1b and interleaved"));
  EXPECT_THAT(config(s, "nanotron").gaps, Contains("the pipeline schedule: nanotron runs 1f1b and gpipe"));
  s.layout.schedule = costmodel::ScheduleKind::OneFOneB;
  EXPECT_THAT(config(s, "megatron").gaps, Not(Contains(HasSubstr("schedule"))));
  s.recipe.optimizer = costmodel::Optimizer::Adafactor;
  for (const LaunchFormat& format : launch_formats()) {
    if (is_trainer(format.launcher)) s.recipe.optimizer = costmodel::Optimizer::Lamb;
    EXPECT_THAT(launch_config(s, format).gaps, Contains(HasSubstr("the optimizer has no name")))
        << format.name;
  }
}

/// Profiles were measured with one kernel of attention or another, some with compiled layers: a trainer that
/// is told nothing chooses for itself.
TEST(launch_config, trainers_are_told_the_attention_and_the_compilation_that_a_plan_is_priced_with) {
  struct Row {
    const char *profile, *layout, *attention, *factory;
    bool compiles;
  };
  for (const Row& row : {Row{"hf-eager", "zero0", "sdpa", "sdpa", false},
                         {"hf-fsdp2", "zero3", "sdpa", "sdpa", false},
                         {"fsdp1", "zero3", "flash_attention_2", "fa2", false},
                         {"fsdp2", "zero3", "flash_attention_2", "fa2", true},
                         {"deepspeed", "zero3", "flash_attention_2", "fa2", false}}) {
    Scenario s = scenario("llama-3.1-8b", "8xH100", row.layout, row.profile);
    s.recipe.fine_tune = costmodel::FineTune::Full;
    const auto says = [&](const char* trainer, const std::string& line) {
      return config(s, trainer).text.find(line) != std::string::npos;
    };
    for (const char* trainer : {"trl", "axolotl", "llamafactory"}) {
      const bool factory = std::string_view{trainer} == "llamafactory";
      EXPECT_TRUE(says(trainer, factory ? fmt::format("\nflash_attn: \"{}\"", row.factory)
                                        : fmt::format("\nattn_implementation: \"{}\"", row.attention)))
          << config(s, trainer).text;
      EXPECT_EQ(says(trainer, "\ntorch_compile: true"), row.compiles) << config(s, trainer).text;
    }
    s.recipe.execution.compiled = !row.compiles;
    EXPECT_EQ(says("trl", "\ntorch_compile: true"), !row.compiles);
    EXPECT_THAT(config(s, "trl").gaps, Not(Contains(HasSubstr("compilation")))) << "it is said";
    s.recipe.attention = costmodel::AttentionKernel::FlashAttention2;
    EXPECT_TRUE(says("trl", "\nattn_implementation: \"flash_attention_2\""));
  }
}

TEST(launch_config, names_the_profile_that_runs_the_file_where_the_plan_is_priced_as_another) {
  struct Row {
    const char *profile, *layout, *target, *run_by;  // "": the plan's own
  };
  for (const Row& row : {Row{"fsdp2", "zero3", "trl", "hf-fsdp2"},
                         {"hf-fsdp2", "zero3", "axolotl", ""},
                         {"fsdp1", "zero3", "llamafactory", ""},
                         {"deepspeed", "zero2", "trl", "hf-deepspeed"},
                         {"hf-eager", "zero0", "trl", ""},
                         {"megatron-2022", "zero1", "megatron", "megatron"},
                         {"megatron", "zero1", "megatron", ""},
                         {"nanotron-polling", "zero1", "nanotron", "nanotron"},
                         {"megatron-deepspeed", "zero1", "deepspeed", "deepspeed"}}) {
    Scenario s = scenario("llama-3.1-8b", "8xH100", row.layout, row.profile);
    s.recipe.fine_tune = costmodel::FineTune::Full;
    const auto named = Contains(StartsWith("profile "));
    const auto gaps = config(s, row.target).gaps;
    if (*row.run_by == 0) {
      EXPECT_THAT(gaps, Not(named)) << row.profile;
    } else {
      EXPECT_THAT(gaps, Contains(AllOf(StartsWith(fmt::format("profile {},", row.profile)),
                                       HasSubstr(fmt::format("(--framework {})", row.run_by)))));
    }
  }
}

/// megatron/core/transformer/enums.py, AttnBackend.
TEST(launch_config, megatron_is_told_the_backend_of_the_attention_that_a_plan_is_priced_with) {
  using costmodel::AttentionKernel;
  struct Row {
    const char* profile;
    AttentionKernel attention;
    const char* word;
  };
  for (const Row& row : {Row{"megatron", AttentionKernel::Flash, "fused"},
                         {"megatron", AttentionKernel::FlashAttention2, "flash"},
                         {"megatron-2022", AttentionKernel::Flash, "flash"},
                         {"megatron", AttentionKernel::Unfused, "unfused"}}) {
    Scenario s = scenario("llama-3.1-8b", "8xH100", "tp2", row.profile);
    s.recipe.attention = row.attention;
    EXPECT_THAT(config(s, "megatron").text, HasSubstr(fmt::format("--attention-backend {}", row.word)))
        << row.profile;
  }
}

TEST(launch_config, deepspeed_is_told_to_hide_reductions_as_planned) {
  struct Row {
    const char* layout;
    std::optional<bool> asked;
    const char* written;  // "": nothing, where DeepSpeed shards nothing
  };
  const Row rows[] = {{"zero1", std::nullopt, "\"overlap_comm\": true"},
                      {"zero2", std::nullopt, "\"overlap_comm\": true"},
                      {"zero2", false, "\"overlap_comm\": false"},
                      {"zero3", false, "\"overlap_comm\": false"},
                      {"zero0", std::nullopt, ""}};
  for (const Row& row : rows) {
    Scenario s = scenario("llama-3.1-8b", "64xH100", row.layout, "deepspeed");
    s.recipe.execution.data_overlap = row.asked;
    const LaunchConfig written = config(s, "deepspeed");
    const bool none = *row.written == 0;
    EXPECT_THAT(written.text, HasSubstr(none ? "\"stage\": 0" : row.written)) << row.layout;
    const auto says = Contains(HasSubstr("reduces them behind it where it shards nothing"));
    if (none) {
      EXPECT_THAT(written.gaps, says);
    } else {
      EXPECT_THAT(written.gaps, Not(says));
    }
    EXPECT_THAT(written.gaps, Not(Contains(HasSubstr("what runs beside what")))) << row.layout;
  }
}

TEST(launch_config, deepspeed_offloads_a_share_of_the_optimizer_under_zero3_alone) {
  for (const char* layout : {"zero1", "zero2", "zero3"}) {
    Scenario s = scenario("llama-3.1-8b", "64xH100", layout, "deepspeed");
    s.recipe.offload = costmodel::kOffloadOptimizer;
    EXPECT_FALSE(launch_rejection(s, Launcher::DeepSpeed)) << layout;
    s.recipe.offload_fraction = 0.5;
    EXPECT_EQ(launch_rejection(s, Launcher::DeepSpeed).has_value(), s.layout.sharding.stage < 3) << layout;
  }
}

TEST(launch_config, torchtitan_is_told_the_flavor_that_is_the_model) {
  struct Row {
    const char *model, *name, *flavor;  // no name: none is it
  };
  constexpr Row kRows[] = {{"llama-3.1-8b", "llama3", "8B"},     {"llama-3-8b", "llama3", "8B"},
                           {"llama-3.1-405b", "llama3", "405B"}, {"qwen3-30b-a3b", "qwen3", "30B-A3B"},
                           {"gpt-oss-20b", "gpt_oss", "20b"},    {"llama-2-7b", "", ""}};
  for (const Row& row : kRows) {
    const LaunchConfig written = config(scenario(row.model, "64xH100", "zero3", "fsdp2"), "torchtitan");
    const bool known = *row.name != 0;
    const auto gap = Contains(HasSubstr("model.name and model.flavor"));
    if (known) {
      EXPECT_THAT(written.text,
                  HasSubstr(std::string{"\nname = \""} + row.name + "\"\nflavor = \"" + row.flavor + "\"\n"));
      EXPECT_THAT(written.gaps, Not(gap)) << row.model;
    } else {
      EXPECT_THAT(written.gaps, gap) << row.model;
    }
  }
  const auto unscaled = config(scenario("llama-3-8b", "64xH100", "zero3", "fsdp2"), "torchtitan").gaps;
  EXPECT_THAT(unscaled, Contains("RoPE without scaling: the flavor has Llama 3.1's"));
}

TEST(launch_config, models_of_which_torchtitan_has_no_class_are_refused) {
  struct Row {
    const char* model;
    bool refused;
  };
  constexpr Row kRows[] = {{"bloom-7b1", true},    {"gemma-2-9b", true},   {"qwen2.5-7b", true},
                           {"mixtral-8x7b", true}, {"gpt2", true},         {"llama-2-7b", false},
                           {"qwen3-8b", false},    {"deepseek-v3", false}, {"gpt-oss-20b", false}};
  for (const Row& row : kRows) {
    const auto refused =
        launch_rejection(scenario(row.model, "64xH100", "zero3", "fsdp2"), Launcher::Torchtitan);
    EXPECT_EQ(refused.has_value(), row.refused) << row.model;
  }
}

TEST(launch_config, current_scaling_of_fp8_is_said_where_delayed_is_planned_alike) {
  Scenario s = scenario("llama-3.1-8b", "64xH100", "tp2 zero1", "megatron");
  const auto says = Contains(HasSubstr("delayed scaling of fp8"));
  EXPECT_THAT(config(s, "megatron").gaps, Not(says));
  s.recipe.precision = costmodel::Precision::Fp8;
  EXPECT_THAT(config(s, "megatron").gaps, says);
  EXPECT_THAT(config(s, "bridge").gaps, says);
}

TEST(launch_config, a_framework_is_found_by_its_name_and_its_profiles) {
  EXPECT_EQ(find_launch_format("torchtitan").launcher, Launcher::Torchtitan);
  EXPECT_EQ(find_launch_format("fsdp2").launcher, Launcher::Torchtitan);
  EXPECT_EQ(find_launch_format("ddp").launcher, Launcher::Torchtitan);
  EXPECT_EQ(find_launch_format("megatron-deepspeed").launcher, Launcher::DeepSpeed);
  EXPECT_EQ(find_launch_format("nanotron-polling").launcher, Launcher::Nanotron);
  for (const LaunchFormat& format : launch_formats())
    EXPECT_NO_THROW((void)look_up_framework(std::string{format.profile})) << "no such profile";
  try {
    (void)find_launch_format("megatrn");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("did you mean \"megatron\"?"));
  }
}

template <class Act>
std::string error_of(const Act& act) {
  try {
    act();
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

TEST(launch_config, a_target_that_does_not_run_the_plans_profile_names_both) {
  EXPECT_EQ(find_launch_target("axolotl", "fsdp2").launcher, Launcher::Axolotl);
  EXPECT_EQ(find_launch_target("fsdp2", "ddp").launcher, Launcher::Torchtitan);
  const auto error = [](const char* target, const char* profile) {
    return error_of([&] { (void)find_launch_target(target, profile); });
  };
  EXPECT_EQ(error("torchtitan", "megatron"),
            "--target: got \"torchtitan\", expected a framework that runs the plan's profile megatron: "
            "megatron, bridge; torchtitan runs fsdp2, fsdp1, ddp: add --framework fsdp2");
  EXPECT_THAT(error("nemo", "megatron"), HasSubstr("did you mean \"bridge\"?"));
  EXPECT_THAT(error("axolotel", "fsdp2"), HasSubstr("did you mean \"axolotl\"?"));
}

TEST(launch_config, a_framework_to_export_for_is_a_format_or_a_profile) {
  EXPECT_EQ(profile_of_framework("torchtitan"), "fsdp2");
  EXPECT_EQ(profile_of_framework("fsdp1"), "fsdp1");
  EXPECT_EQ(profile_of_framework(""), "");
  const auto error = [](const char* name) { return error_of([&] { (void)profile_of_framework(name); }); };
  EXPECT_THAT(error("torchtitn"),
              AllOf(HasSubstr("--framework: got \"torchtitn\""),
                    HasSubstr("megatron, nanotron, torchtitan, deepspeed, bridge, maxtext, trl, axolotl, "
                              "llamafactory; or a profile"),
                    HasSubstr("did you mean \"torchtitan\"?")));
  EXPECT_THAT(error("fsdp-2-x"), HasSubstr("ddp, fsdp1, fsdp2, hf-deepspeed"));
}

TEST(launch_fields, no_framework_has_a_key_twice) {
  for (int launcher = 0; launcher < kLaunchers; ++launcher) {
    std::set<std::string_view> seen;
    for (const LaunchField& field : launch_fields()) {
      const std::string_view key = field.keys[static_cast<std::size_t>(launcher)];
      EXPECT_TRUE(key.empty() || seen.insert(key).second) << key;
    }
  }
}

TEST(launch_config, scripts_are_shell_and_hold_hostile_names_as_words) {
  Scenario s = scenario("llama-3.1-8b", "64xH100", "tp2", "megatron");
  s.model.name = "x\nrm -rf $(pwd); '";
  const std::string text = config(s, "megatron").text;
  EXPECT_THAT(text, Not(HasSubstr("\nrm")));
  const tests::TemporaryFolder folder;
  EXPECT_EQ(std::system(("bash -n '" + folder.file("script.sh", text).string() + "'").c_str()), 0);
}

// --- What a model computes ---

TEST(launch_config, megatron_is_told_what_the_model_computes) {
  struct Row {
    const char* model;
    std::vector<const char*> said, not_there;
  };
  const Row rows[] = {
      {"llama-3.1-8b",
       {"\n  --rotary-base 500000\n", "\n  --use-rope-scaling\n", "\n  --rope-scaling-factor 8.0\n",
        "\n  --norm-epsilon 1e-05\n", "\n  --swiglu\n", "\n  --position-embedding-type rope\n"},
       {"--rotary-percent", "--window-size", "--qk-layernorm"}},
      {"pythia-6.9b",
       {"\n  --rotary-percent 0.25\n", "\n  --no-bias-gelu-fusion\n"},
       {"--swiglu", "--disable-bias-linear"}},
      {"gpt-oss-20b",
       {"\n  --window-size 127,0\n", "\n  --window-attn-skip-freq 2\n", "\n  --softmax-type learnable\n",
        "\n  --quick-geglu\n", "\n  --activation-func-clamp-value 7.0\n", "\n  --glu-linear-offset 1.0\n"},
       {"--swiglu", "--disable-bias-linear", "--moe-router-pre-softmax"}},
      {"deepseek-v3",
       {"\n  --moe-router-score-function sigmoid\n", "\n  --moe-router-num-groups 8\n",
        "\n  --moe-router-group-topk 4\n", "\n  --moe-router-topk-scaling-factor 2.5\n",
        "\n  --moe-router-enable-expert-bias\n", "\n  --qk-layernorm\n", "\n  --rope-type yarn\n",
        "\n  --rotary-scaling-factor 40.0\n"},
       {"--moe-router-pre-softmax"}},
      {"gemma-2-9b", {"\n  --apply-layernorm-1p\n", "\n  --window-size 4095,0\n"}, {"--swiglu"}},
      {"mistral-7b",
       {"\n  --window-size 4095,0\n", "\n  --rotary-base 10000\n"},
       {"--window-attn-skip-freq"}},
      {"qwen1.5-moe-a2.7b", {"\n  --moe-router-pre-softmax\n", "\n  --moe-aux-loss-coeff 0.001\n"}, {}},
      {"bloom-7b1", {"\n  --position-embedding-type none\n"}, {"--rotary-base"}},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.model);
    const std::string text = config(scenario(row.model, "8xH100", "zero1", "megatron"), "megatron").text;
    for (const char* line : row.said) EXPECT_THAT(text, HasSubstr(line));
    for (const char* line : row.not_there) EXPECT_THAT(text, Not(HasSubstr(line)));
  }
}

TEST(launch_config, what_megatron_cannot_be_told_of_a_model_is_named) {
  struct Row {
    const char* model;
    std::vector<const char*> gaps;
  };
  const Row rows[] = {
      {"gemma-2-9b", {"GeGLU", "soft-capped logits", "soft-capped attention", "norms after", "multiplied"}},
      {"bloom-7b1", {"ALiBi", "the norm after the word embedding"}},
      {"gemma-3-4b", {"the RoPE base of windowed layers"}},
      {"gpt-oss-20b", {"this scaling of RoPE", "the bias of the router"}},
      {"kimi-k2", {"beta_fast"}},
      {"pythia-6.9b", {"parallel residual"}},
      {"opt-6.7b", {"ReLU"}},
      {"qwen1.5-moe-a2.7b", {"the gate of the shared expert"}},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.model);
    const std::vector<std::string> gaps =
        config(scenario(row.model, "8xH100", "zero1", "megatron"), "megatron").gaps;
    for (const char* gap : row.gaps) EXPECT_THAT(gaps, Contains(HasSubstr(gap)));
  }
  EXPECT_THAT(config(scenario("llama-3.1-8b", "8xH100", "zero1", "megatron"), "megatron").gaps,
              testing::SizeIs(1));
}

TEST(launch_config, megatron_scripts_have_what_validate_args_asks_for) {
  const auto text = [](const char* cluster, const char* layout) {
    return config(scenario("llama-3.1-8b", cluster, layout, "megatron"), "megatron").text;
  };
  constexpr const char* kConnections = "\nexport CUDA_DEVICE_MAX_CONNECTIONS=1\n";
  EXPECT_THAT(text("16xH100", "tp2 pp2 zero1 sp"), HasSubstr(kConnections));
  EXPECT_THAT(text("16xH100", "cp2"), HasSubstr(kConnections));
  EXPECT_THAT(text("16xH100", "pp2"), Not(HasSubstr(kConnections)));
  EXPECT_THAT(text("16xB200", "tp2"), Not(HasSubstr(kConnections)));
  EXPECT_THAT(text("16xH100", "tp2 zero3"), Not(HasSubstr(kConnections)));
  EXPECT_THAT(text("16xH100", "zero3"), HasSubstr("\n  --ckpt-format fsdp_dtensor\n"));
  EXPECT_THAT(text("16xH100", "pp4 embedding-counts"),
              HasSubstr("\n  --pipeline-model-parallel-layout 'Ettttttt|"));
  Scenario offloaded = scenario("llama-3.1-8b", "16xH100", "zero1", "megatron");
  offloaded.recipe.offload = costmodel::kOffloadOptimizer;
  EXPECT_THAT(config(offloaded, "megatron").text, HasSubstr("\n  --use-precision-aware-optimizer\n"));
  Scenario moments = scenario("llama-3.1-8b", "16xH100", "zero1", "megatron");
  moments.recipe.moment_dtype = costmodel::DType::Bf16;
  EXPECT_THAT(config(moments, "megatron").text,
              AllOf(HasSubstr("\n  --use-precision-aware-optimizer\n"),
                    HasSubstr("\n  --exp-avg-dtype bf16\n  --exp-avg-sq-dtype bf16\n")));
  Scenario half = scenario("mixtral-8x7b", "16xH100", "zero1", "megatron");
  EXPECT_THAT(config(half, "megatron").text, HasSubstr("\n  --moe-grouped-gemm\n"));
  half.recipe.precision = costmodel::Precision::Fp16;
  EXPECT_THAT(config(half, "megatron").text, Not(HasSubstr("--moe-grouped-gemm")));
}

// --- What readers of the file would refuse ---

TEST(launch_config, megatron_captures_whole_steps_without_looking_for_nans) {
  constexpr const char* kUnchecked = "\n  --no-check-for-nan-in-loss-and-grad\n";
  Scenario s = scenario("llama-3.1-8b", "16xH100", "zero1", "megatron");
  s.recipe.execution.graphs = costmodel::CudaGraphs::FullIteration;
  EXPECT_THAT(config(s, "megatron").text, HasSubstr(kUnchecked));
  s.recipe.execution.graphs = costmodel::CudaGraphs::Partial;
  EXPECT_THAT(config(s, "megatron").text, Not(HasSubstr(kUnchecked)));
}

TEST(launch_config, modules_that_a_model_does_not_have_do_not_run_again) {
  using namespace costmodel;
  struct Row {
    const char* model;
    Precision precision;
    int modules;
    const char* written;  // nullptr: no recomputation at all
    bool gap;
  };
  const Row rows[] = {
      {"llama-3.1-8b", Precision::Bf16, kRecomputeMlp | kRecomputeNorm, " layernorm mlp\n", false},
      {"llama-3.1-8b", Precision::Bf16, kRecomputeMlp | kRecomputeMoeActivation, " mlp\n", true},
      {"llama-3.1-8b", Precision::Bf16, kRecomputeMoeActivation | kRecomputeMoe, nullptr, true},
      {"llama-3.1-8b", Precision::Bf16, kRecomputeMlaUpProjection, nullptr, true},
      {"llama-3.1-8b", Precision::Bf16, kRecomputeActivation, nullptr, true},
      {"mixtral-8x7b", Precision::Bf16, kRecomputeMoeActivation, " moe_act\n", false},
      {"mixtral-8x7b", Precision::Fp16, kRecomputeMoeActivation, nullptr, true},
      {"mixtral-8x7b", Precision::Bf16, kRecomputeSharedExperts, nullptr, true},
      {"deepseek-v3", Precision::Bf16, kRecomputeMlaUpProjection | kRecomputeSharedExperts,
       " mla_up_proj shared_experts\n", false},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(std::string{row.model} + " " + std::to_string(row.modules));
    Scenario s = scenario(row.model, "16xH100", "zero1", "megatron");
    s.recipe.precision = row.precision;
    s.recipe.recompute.mode = RecomputeMode::SelectiveModules;
    s.recipe.recompute.modules = static_cast<std::uint16_t>(row.modules);
    const LaunchConfig written = config(s, "megatron");
    if (row.written == nullptr) {
      EXPECT_THAT(written.text, Not(HasSubstr("\n  --recompute")));
    } else {
      EXPECT_THAT(written.text, HasSubstr(std::string{"\n  --recompute-modules"} + row.written));
    }
    const auto named = Contains(HasSubstr("some of the recomputed modules"));
    if (row.gap) {
      EXPECT_THAT(written.gaps, named);
    } else {
      EXPECT_THAT(written.gaps, Not(named));
    }
  }
}

TEST(launch_config, megatron_recomputes_as_many_layers_of_every_stage_as_the_plan_does_of_one) {
  Scenario s = scenario("llama-3.1-8b", "16xH100", "pp4 zero1", "megatron");
  s.recipe.recompute.mode = costmodel::RecomputeMode::Layers;
  s.recipe.recompute.stage_layers = {3, 1, 0, 0};
  const LaunchConfig written = config(s, "megatron");
  EXPECT_THAT(written.text, HasSubstr("\n  --recompute-num-layers 3\n"));
  EXPECT_THAT(written.gaps, Contains(HasSubstr("the file has the most of them for every stage")));
}

TEST(launch_config, plans_that_megatrons_own_checks_refuse_are_refused) {
  using namespace costmodel;
  struct Row {
    Launcher launcher;
    const char* model;
    Precision precision;
    CudaGraphs graphs;
    RecomputeMode recompute;
    double dropout;
    std::string rule;
  };
  const auto bf16 = Precision::Bf16;
  const auto none = CudaGraphs::None, partial = CudaGraphs::Partial, whole = CudaGraphs::FullIteration;
  const Row rows[] = {
      {Launcher::Megatron, "mixtral-8x7b", Precision::Fp16, none, RecomputeMode::None, 0,
       "megatron-fp16-experts"},
      {Launcher::Megatron, "mixtral-8x7b", bf16, none, RecomputeMode::None, 0, ""},
      {Launcher::Megatron, "llama-3.1-8b", Precision::Fp16, none, RecomputeMode::Full, 0, ""},
      {Launcher::Megatron, "llama-3.1-8b", bf16, partial, RecomputeMode::None, 0.1, ""},
      {Launcher::Megatron, "llama-3.1-8b", bf16, partial, RecomputeMode::Full, 0, "megatron-graphs"},
      {Launcher::Megatron, "llama-3.1-8b", bf16, partial, RecomputeMode::Selective, 0, "megatron-graphs"},
      {Launcher::Megatron, "llama-3.1-8b", bf16, whole, RecomputeMode::Selective, 0, "megatron-graphs"},
      {Launcher::Bridge, "llama-3.1-8b", bf16, partial, RecomputeMode::Selective, 0, ""},
      {Launcher::Bridge, "llama-3.1-8b", bf16, partial, RecomputeMode::Full, 0, "bridge-graphs"},
      {Launcher::Bridge, "llama-3.1-8b", bf16, whole, RecomputeMode::Full, 0.1, ""},
      {Launcher::Bridge, "llama-3.1-8b", bf16, whole, RecomputeMode::Selective, 0.1, "bridge-graphs"},
  };
  for (const Row& row : rows) {
    const bool experts = std::string_view{row.model} == "mixtral-8x7b";
    Scenario s = scenario(row.model, "16xH100", experts ? "ep2 zero1" : "zero1", "megatron");
    s.recipe.precision = row.precision;
    s.recipe.execution.graphs = row.graphs;
    s.recipe.recompute.mode = row.recompute;
    s.recipe.dropout = row.dropout;
    const auto rejected = launch_rejection(s, row.launcher);
    EXPECT_EQ(rejected ? rejected->rule : "", row.rule) << row.model << ", row " << (&row - rows);
  }
}

/// MoELayer.forward raises while it trains.
TEST(launch_config, megatron_core_trains_no_experts_on_several_ranks_without_sequence_parallelism) {
  const auto rule = [](const char* model, const char* layout, Launcher launcher) {
    const auto rejected = launch_rejection(scenario(model, "16xH100", layout, "megatron"), launcher);
    return rejected ? rejected->rule : std::string{};
  };
  for (const Launcher launcher : {Launcher::Megatron, Launcher::Bridge}) {
    EXPECT_EQ(rule("mixtral-8x7b", "tp2 ep2 zero1", launcher), "megatron-experts-want-sp");
    EXPECT_EQ(rule("mixtral-8x7b", "tp2 sp ep2 zero1", launcher), "");
    EXPECT_EQ(rule("mixtral-8x7b", "ep2 zero1", launcher), "");
    EXPECT_EQ(rule("llama-3.1-8b", "tp2 zero1", launcher), "");
  }
}

TEST(launch_config, megatron_has_no_argument_for_offloaded_activations) {
  Scenario s = scenario("llama-3.1-8b", "16xH100", "zero1", "megatron");
  s.recipe.offload = costmodel::kOffloadActivations;
  s.recipe.offload_layers = 2;
  EXPECT_THAT(config(s, "megatron").text, Not(HasSubstr("\n  --cpu-offloading")));
  EXPECT_THAT(config(s, "megatron").gaps, Contains(HasSubstr("activations kept in host memory")));
  EXPECT_THAT(config(s, "bridge").text, HasSubstr("\n  cpu_offloading_num_layers: 2\n"));
}

TEST(launch_config, deepspeed_moves_checkpoints_to_the_host_where_there_are_some) {
  Scenario s = scenario("llama-3.1-8b", "16xH100", "zero3", "deepspeed");
  s.recipe.offload = costmodel::kOffloadActivations;
  EXPECT_THAT(config(s, "deepspeed").text, Not(HasSubstr("cpu_checkpointing")));
  EXPECT_THAT(config(s, "deepspeed").gaps, Contains(HasSubstr("the inputs of checkpointed layers alone")));
  s.recipe.recompute.mode = costmodel::RecomputeMode::Full;
  EXPECT_THAT(config(s, "deepspeed").text, HasSubstr("\"cpu_checkpointing\": true"));
}

TEST(launch_config, deepspeed_is_told_the_sizes_that_a_plan_says) {
  Scenario s = scenario("llama-3.1-8b", "16xH100", "zero3", "deepspeed");
  EXPECT_THAT(config(s, "deepspeed").text, Not(HasSubstr("bucket_size")));
  s.recipe.sizes = {.reduce_bucket = 200'000'000, .prefetch = 0, .update_group = 100'000'000};
  const JsonValue root = parse_json(config(s, "deepspeed").text, "deepspeed.json").root;
  const JsonValue& zero = *root.find("zero_optimization");
  EXPECT_EQ(*zero.find("reduce_bucket_size"), JsonValue{200'000'000});
  EXPECT_EQ(*zero.find("stage3_prefetch_bucket_size"), JsonValue{0});
  EXPECT_EQ(*zero.find("sub_group_size"), JsonValue{100'000'000});
  EXPECT_EQ(zero.find("stage3_max_reuse_distance"), nullptr);
}

TEST(launch_config, deepspeed_is_told_a_folder_on_nvme_that_is_to_be_replaced) {
  Scenario s = scenario("llama-3.1-8b", "16xH100", "zero3", "deepspeed");
  s.recipe.offload = costmodel::kOffloadOptimizer | costmodel::kOffloadParameters;
  EXPECT_THAT(config(s, "deepspeed").text, Not(HasSubstr("nvme")));
  s.recipe.offload_device = costmodel::OffloadDevice::Nvme;
  const JsonValue root = parse_json(config(s, "deepspeed").text, "deepspeed.json").root;
  for (const char* part : {"offload_optimizer", "offload_param"}) {
    const JsonValue& offload = *root.find("zero_optimization")->find(part);
    EXPECT_EQ(*offload.find("device"), JsonValue{"nvme"});
    EXPECT_EQ(*offload.find("nvme_path"), JsonValue{"/local_nvme"});
  }
  const auto placeholder = Contains(HasSubstr("/local_nvme stands there"));
  const auto in_host_memory = Contains(HasSubstr("below ZeRO-3 DeepSpeed keeps them in host memory"));
  EXPECT_THAT(config(s, "deepspeed").gaps, AllOf(placeholder, Not(in_host_memory)));
  s.layout.sharding.stage = 2;
  EXPECT_THAT(config(s, "deepspeed").gaps, in_host_memory);
  s.framework = look_up_framework("megatron");
  EXPECT_THAT(config(s, "megatron").gaps, Contains("NVMe: what is offloaded goes to host memory"));
}

TEST(launch_config, torchtitan_shards_parameters_or_replicates_alone) {
  struct Row {
    const char *layout, *rule;
  };
  constexpr Row kRows[] = {{"zero0", ""},
                           {"zero2", ""},
                           {"tp2 sp zero3", ""},
                           {"zero1", "torchtitan-zero1"},
                           {"tp16 sp zero1", ""},
                           {"tp2 sp zero1", "torchtitan-zero1"},
                           {"cp2 zero0", ""},
                           {"tp2 sp zero0", "torchtitan-ddp"},
                           {"pp2 zero0", "torchtitan-ddp"}};
  for (const Row& row : kRows) {
    const auto rejected =
        launch_rejection(scenario("llama-3.1-8b", "16xH100", row.layout, "fsdp2"), Launcher::Torchtitan);
    EXPECT_EQ(rejected ? rejected->rule : "", row.rule) << row.layout;
  }
}

TEST(launch_config, torchtitan_says_which_engine_runs_instead_of_the_predicted_one) {
  const auto gaps = [](const char* profile, const char* layout) {
    return config(scenario("llama-3.1-8b", "16xH100", layout, profile), "torchtitan").gaps;
  };
  EXPECT_THAT(gaps("fsdp1", "zero3"), Contains(HasSubstr("torchtitan shards with FSDP2")));
  EXPECT_THAT(gaps("ddp", "zero0"), Contains(HasSubstr("torchtitan's has buckets of 100 MB")));
  EXPECT_THAT(gaps("fsdp2", "zero0"), Contains(HasSubstr("torchtitan runs DDP where nothing is sharded")));
  EXPECT_THAT(gaps("fsdp2", "zero3"), Not(Contains(HasSubstr("predicted"))));
}

TEST(launch_config, a_model_of_ones_own_is_named_to_trainers) {
  Scenario own = scenario("llama-3.1-8b", "8xH100", "zero3", "fsdp2");
  own.model.layers = 30;
  own.recipe.fine_tune = costmodel::FineTune::Full;
  const LaunchFormat& format = find_launch_format("trl");
  const auto names_no_model = Contains(HasSubstr("give the folder of its config.json"));
  EXPECT_THAT(launch_config(own, format).gaps, names_no_model);
  const LaunchConfig named = launch_config(own, format, {}, {.config = {}, .load_by = "models/mine"});
  EXPECT_THAT(named.gaps, Not(names_no_model));
  EXPECT_THAT(named.text, HasSubstr("\nmodel_name_or_path: \"models/mine\"\n"));
}

TEST(launch_config, megatron_bridge_is_told_what_the_model_computes) {
  struct Row {
    const char* model;
    std::vector<const char*> lines;
  };
  const Row rows[] = {
      {"deepseek-v3",
       {"multi_latent_attention: true", "mscale: 1.0", "mscale_all_dim: 1.0", "q_lora_rank: 1536"}},
      {"deepseek-v2-lite", {"q_lora_rank:\n"}},  // null: its own default is 512
      {"gpt-oss-20b",
       {"position_embedding_type: \"yarn\"", "window_size: [127,0]", "window_attn_skip_freq: 2",
        "softmax_type: \"learnable\"", "activation_func: \"quick_gelu\"", "glu_linear_offset: 1.0"}},
      {"gemma-2-27b", {"gated_linear_unit: true", "activation_func: \"gelu\"", "softmax_scale: 0.08333"}},
      {"opt-6.7b", {"activation_func: \"relu\"", "add_bias_linear: true"}},
      {"qwen1.5-moe-a2.7b", {"moe_shared_expert_gate: true"}},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.model);
    const std::string text = config(scenario(row.model, "8xH100", "zero1", "megatron"), "bridge").text;
    for (const char* line : row.lines) EXPECT_THAT(text, HasSubstr(line));
  }
  Scenario adapters = scenario("llama-3.1-8b", "8xH100", "zero1", "megatron");
  adapters.recipe.fine_tune = costmodel::FineTune::Lora;
  adapters.recipe.lora_rank = 16;
  const LaunchConfig lora = config(adapters, "bridge");
  EXPECT_THAT(lora.text,
              HasSubstr("target_modules: [\"linear_qkv\",\"linear_proj\",\"linear_fc1\",\"linear_fc2\"]"));
  EXPECT_THAT(lora.text, HasSubstr("alpha: 32\n"));
  EXPECT_THAT(lora.gaps, Contains(HasSubstr("checkpoint.pretrained_checkpoint")));
  adapters.recipe.dora = true;
  EXPECT_THAT(config(adapters, "bridge").text, HasSubstr("_target_: \"megatron.bridge.peft.dora.DoRA\"\n"));
}

/// huggingface/trl trl/trainer/model_config.py, axolotl-ai-cloud/axolotl src/axolotl/utils/schemas/peft.py,
/// hiyouga/LLaMA-Factory src/llamafactory/hparams/finetuning_args.py. None of them passes LoraConfig a bias.
TEST(launch_config, trainers_train_modules_beside_adapters) {
  Scenario s = scenario("llama-3.1-8b", "8xH100", "zero0", "hf-eager");
  s.recipe.fine_tune = costmodel::FineTune::Lora;
  s.recipe.lora_rank = 16;
  s.recipe.saved_modules = costmodel::SavedModules::Both;
  const std::string list = "\nlora_modules_to_save: [\"embed_tokens\",\"lm_head\"]\n";
  EXPECT_THAT(config(s, "trl").text, HasSubstr(list));
  EXPECT_THAT(config(s, "axolotl").text, HasSubstr(list));
  EXPECT_THAT(config(s, "llamafactory").text, HasSubstr("\nadditional_target: \"embed_tokens,lm_head\"\n"));
  s.recipe.saved_modules = costmodel::SavedModules::Head;
  EXPECT_THAT(config(s, "llamafactory").text, HasSubstr("\nadditional_target: \"lm_head\"\n"));
  for (const char* trainer : {"trl", "axolotl", "llamafactory"}) {
    EXPECT_THAT(config(s, trainer).gaps, Not(Contains(HasSubstr("biases that train"))));
    s.recipe.lora_bias = costmodel::TrainedBiases::All;
    EXPECT_THAT(config(s, trainer).gaps, Contains(HasSubstr("biases that train")));
    s.recipe.lora_bias = costmodel::TrainedBiases::None;
  }
}

/// As named_modules() of transformers 5.23.0 has get_input_embeddings() and get_output_embeddings(). PEFT
/// trains a module under no other name.
TEST(launch_config, trainers_call_saved_modules_what_the_models_code_does) {
  const std::pair<const char*, const char*> cases[] = {
      {"pythia-6.9b", R"(["embed_in","lm_head"])"},      {"gpt2-xl", R"(["wte","lm_head"])"},
      {"bloom-7b1", R"(["word_embeddings","lm_head"])"}, {"opt-6.7b", R"(["embed_tokens","lm_head"])"},
      {"mixtral-8x7b", R"(["embed_tokens","lm_head"])"},
  };
  const auto no_name = Contains(HasSubstr("what the model's code calls them is not known"));
  for (const auto& [model, names] : cases) {
    Scenario s = scenario(model, "8xH100", "zero0", "hf-eager");
    s.recipe.fine_tune = costmodel::FineTune::Lora;
    s.recipe.lora_rank = 16;
    s.recipe.saved_modules = costmodel::SavedModules::Both;
    EXPECT_THAT(config(s, "trl").text, HasSubstr(std::string{"lora_modules_to_save: "} + names + "\n"))
        << model;
    EXPECT_THAT(config(s, "trl").gaps, Not(no_name)) << model;
    s.model.family = "a family whose names nobody wrote down";
    for (const char* trainer : {"trl", "axolotl", "llamafactory"}) {
      EXPECT_THAT(config(s, trainer).gaps, no_name) << trainer;
      EXPECT_THAT(config(s, trainer).text, Not(HasSubstr("modules_to_save"))) << trainer;
      EXPECT_THAT(config(s, trainer).text, Not(HasSubstr("additional_target"))) << trainer;
    }
  }
}

TEST(launch_config, maxtexts_mesh_is_cut_at_the_nodes) {
  const auto text = [](const char* cluster, const char* layout) {
    return config(scenario("llama-3.1-8b", cluster, layout, "maxtext"), "maxtext").text;
  };
  const std::string hybrid = text("32xH100", "tp4 sp hsdp4");
  for (const char* line :
       {"\nici_tensor_sequence_parallelism: 4\n", "\nici_fsdp_parallelism: 2\n",
        "\ndcn_fsdp_parallelism: 2\n", "\ndcn_data_parallelism: 2\n", "\nrope_type: \"llama3.1\"\n",
        "\nper_device_batch_size: 0.25\n", "\ngradient_accumulation_steps: 64\n"})
    EXPECT_THAT(hybrid, HasSubstr(line));
  const Scenario gemma = scenario("gemma-2-9b", "8xH100", "zero3", "maxtext");
  EXPECT_EQ(launch_rejection(gemma, Launcher::MaxText)->rule, "maxtext-model");
  EXPECT_FALSE(
      launch_rejection(scenario("deepseek-v3", "64xH100", "ep8 zero3", "maxtext"), Launcher::MaxText));
}

TEST(launch_config, models_that_a_framework_does_not_have_are_refused) {
  const auto refused = [](const char* model, const char* layout, Launcher launcher) {
    return launch_rejection(scenario(model, "16xH100", layout, "megatron"), launcher).has_value();
  };
  for (const char* model : {"gpt2", "gemma-2-9b", "qwen3-8b", "mixtral-8x7b", "deepseek-v2-lite"})
    EXPECT_TRUE(refused(model, "zero1", Launcher::Nanotron)) << model;
  for (const char* model : {"llama-3.1-8b", "mistral-7b", "qwen2.5-7b"})
    EXPECT_FALSE(refused(model, "zero1", Launcher::Nanotron)) << model;
  EXPECT_TRUE(refused("llama-3.1-8b", "tp16", Launcher::Megatron));
  EXPECT_FALSE(refused("llama-3.1-8b", "tp8", Launcher::Megatron));
  for (const char* model : {"qwen3-next-80b-a3b", "nemotron-h-8b"}) {
    for (const Launcher launcher :
         {Launcher::Megatron, Launcher::Bridge, Launcher::Nanotron, Launcher::Torchtitan, Launcher::MaxText})
      EXPECT_TRUE(refused(model, "zero1", launcher)) << model;
  }
}

TEST(launch_config, nanotron_is_told_the_base_of_rope_and_the_epsilon) {
  const std::string text = config(scenario("llama-3-8b", "8xH100", "zero1", "nanotron"), "nanotron").text;
  EXPECT_THAT(text, HasSubstr("\n    rope_theta: 500000.0\n"));
  EXPECT_THAT(text, HasSubstr("\n    rms_norm_eps: 1.0e-05\n"));
  EXPECT_THAT(text, HasSubstr("\n    is_llama_config: true\n"));
  EXPECT_THAT(config(scenario("qwen2.5-7b", "8xH100", "zero1", "nanotron"), "nanotron").text,
              HasSubstr("\n    is_qwen2_config: true\n    attention_bias: true\n"));
}

TEST(launch_config, nanotron_has_windows_in_its_class_of_qwen2_alone) {
  const std::string text = config(scenario("phi-3-mini", "8xH100", "zero1", "nanotron"), "nanotron").text;
  EXPECT_THAT(text, HasSubstr("\n    is_qwen2_config: true\n    attention_bias: false\n"));
  EXPECT_THAT(text, HasSubstr("\n    sliding_window_size: 2047\n"));
  EXPECT_THAT(text, Not(HasSubstr("is_llama_config")));
}

TEST(launch_config, megatron_is_told_the_width_of_heads_that_do_not_divide_the_hidden_size) {
  EXPECT_THAT(config(scenario("glm-4.7-flash", "8xH100", "zero1", "megatron"), "megatron").text,
              HasSubstr("--kv-channels 256"));
  EXPECT_THAT(config(scenario("deepseek-v2-lite", "8xH100", "zero1", "megatron"), "megatron").text,
              Not(HasSubstr("--kv-channels")));
}

TEST(launch_config, a_remark_stands_at_the_top_of_files_that_have_comments) {
  const Scenario s = scenario("llama-3.1-8b", "8xH100", "zero1", "megatron");
  EXPECT_THAT(launch_config(s, find_launch_format("megatron"), "Does not fit").text,
              HasSubstr("\n# Does not fit\n"));
}

}  // namespace
}  // namespace hexaplan::presets
