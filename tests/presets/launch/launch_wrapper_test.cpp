// Scripts that start exported plans: shell that holds the file, and says what the framework demands.
#include "presets/launch/launch_wrapper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "presets/import/import_plan.h"
#include "presets/scenario/scenario_request.h"
#include "tests/support/temporary_folder.h"

namespace hexaplan::presets {
namespace {

using costmodel::Scenario;
using testing::HasSubstr;
using testing::Not;

Scenario plan(const LaunchFormat& format, const char* layout, const char* cluster = "16xH100") {
  ScenarioRequest request;
  request.model = "llama-3.1-8b";
  request.cluster = cluster;
  request.layout = parse_layout(is_trainer(format.launcher) ? "" : layout, "layout");
  request.framework = format.profile;
  request.recipe.sequence = 4096;
  request.recipe.global_batch = 64;
  if (is_trainer(format.launcher)) request.recipe.fine_tune = costmodel::FineTune::Full;
  return resolve(request).scenario;
}
LaunchWrapper wrapped(const LaunchFormat& format, const Scenario& scenario, Starter starter) {
  return launch_wrapper(scenario, format, launch_config(scenario, format), starter);
}
LaunchWrapper wrapped(const char* framework, const char* layout, Starter starter,
                      const char* cluster = "16xH100") {
  const LaunchFormat& format = find_launch_format(framework);
  return wrapped(format, plan(format, layout, cluster), starter);
}

bool is_shell(const std::string& text) {
  const tests::TemporaryFolder folder;
  return std::system(("bash -n '" + folder.file("wrapper.sh", text).string() + "'").c_str()) == 0;
}

TEST(launch_wrapper, every_target_is_started_and_its_script_read_back) {
  for (const LaunchFormat& format : launch_formats()) {
    for (const Starter starter : {Starter::Torchrun, Starter::Sbatch, Starter::Accelerate}) {
      if (!can_start(starter, format.launcher)) continue;
      SCOPED_TRACE(std::string{format.name});
      const Scenario scenario =
          plan(format, format.launcher == Launcher::Torchtitan ? "tp2 sp zero3" : "tp2 sp zero1");
      const LaunchConfig config = launch_config(scenario, format);
      const LaunchWrapper wrapper = launch_wrapper(scenario, format, config, starter);
      SCOPED_TRACE(wrapper.text);
      EXPECT_TRUE(is_shell(wrapper.text));
      const ImportedPlan script = import_plan({{wrapper.file, wrapper.text}}, "16xH100");
      const ImportedPlan file = import_plan({{std::string{format.file}, config.text}}, "16xH100");
      EXPECT_EQ(script.format.name, file.format.name);
      EXPECT_EQ(to_text(to_json(script.request)), to_text(to_json(file.request)));
    }
  }
}

TEST(launch_wrapper, slurm_is_told_the_nodes_and_their_gpus) {
  const LaunchWrapper wrapper = wrapped("bridge", "tp2 sp zero1", Starter::Sbatch, "32xH100");
  EXPECT_EQ(wrapper.file, "bridge.sbatch");
  for (const char* line :
       {"\n#SBATCH --nodes=4\n", "\n#SBATCH --gpus-per-node=8\n", "\n#SBATCH --ntasks-per-node=1\n",
        "scontrol show hostnames", "\nsrun torchrun --nnodes 4 --nproc-per-node 8 "})
    EXPECT_THAT(wrapper.text, HasSubstr(line));
  EXPECT_THAT(wrapper.text.substr(0, 40), HasSubstr("#!/usr/bin/env bash\n#SBATCH "));
}

TEST(launch_wrapper, the_environment_is_what_the_framework_demands) {
  constexpr char kConnections[] = "\nexport CUDA_DEVICE_MAX_CONNECTIONS=1\n";
  for (const char* framework : {"megatron", "bridge"}) {
    EXPECT_THAT(wrapped(framework, "tp2 sp zero1", Starter::Sbatch).text, HasSubstr(kConnections));
    EXPECT_THAT(wrapped(framework, "zero1", Starter::Sbatch).text, Not(HasSubstr(kConnections)));
    // Megatron FSDP refuses it, and saves in its own format alone.
    const std::string sharded = wrapped(framework, "tp2 sp zero3", Starter::Sbatch).text;
    EXPECT_THAT(sharded, Not(HasSubstr(kConnections)));
    EXPECT_THAT(sharded, HasSubstr("fsdp_dtensor"));
    // Blackwell does without.
    EXPECT_THAT(wrapped(framework, "tp2 sp zero1", Starter::Sbatch, "16xB200").text,
                Not(HasSubstr(kConnections)));
  }
  EXPECT_THAT(wrapped("nanotron", "zero1", Starter::Torchrun).text, HasSubstr(kConnections));
  EXPECT_THAT(wrapped("torchtitan", "zero3", Starter::Torchrun).text,
              HasSubstr("\nexport PYTORCH_ALLOC_CONF=expandable_segments:True\n"));
  const LaunchFormat& bridge = find_launch_format("bridge");
  Scenario captured = plan(bridge, "zero1");
  captured.recipe.execution.graphs = costmodel::CudaGraphs::Partial;
  EXPECT_THAT(wrapped(bridge, captured, Starter::Torchrun).text,
              HasSubstr("\nexport NCCL_GRAPH_REGISTER=0\n"));
}

ScenarioRequest fine_tuning(const char* framework, const char* layout, const char* cluster = "16xH100") {
  ScenarioRequest request;
  request.model = "llama-3.1-8b";
  request.cluster = cluster;
  request.framework = framework;
  request.layout = parse_layout(layout, "layout");
  request.recipe.sequence = 4096;
  request.recipe.global_batch = 64;
  request.recipe.fine_tune = costmodel::FineTune::Full;
  return request;
}

/// FSDP as accelerate has it, both versions and hybrid; its own file alone says of the plan what the script
/// does.
TEST(launch_wrapper, accelerate_is_told_processes_precision_and_fsdp) {
  const LaunchFormat& trl = find_launch_format("trl");
  const auto script = [&](const ScenarioRequest& request) {
    return wrapped(trl, resolve(request).scenario, Starter::Accelerate).text;
  };
  const std::string two = script(fine_tuning("hf-fsdp2", "fsdp"));
  for (const char* line :
       {"\ndistributed_type: FSDP\n", "\nmixed_precision: bf16\n", "\nnum_machines: 2\n",
        "\nnum_processes: 16\n", "\n  fsdp_version: 2\n", "\n  fsdp_reshard_after_forward: true\n",
        "\nexec accelerate launch --config_file accelerate.yaml ", "--machine_rank \"${NODE_RANK:?",
        "  -m trl.scripts.sft --config trl.yaml "})
    EXPECT_THAT(two, HasSubstr(line));
  EXPECT_THAT(script(fine_tuning("hf-fsdp2", "zero2")), HasSubstr("\n  fsdp_reshard_after_forward: false\n"));
  EXPECT_THAT(script(fine_tuning("fsdp1", "fsdp")), HasSubstr("\n  fsdp_sharding_strategy: FULL_SHARD\n"));
  EXPECT_THAT(script(fine_tuning("fsdp1", "zero2")),
              HasSubstr("\n  fsdp_sharding_strategy: SHARD_GRAD_OP\n"));
  EXPECT_THAT(
      script(fine_tuning("hf-fsdp2", "hsdp8")),
      HasSubstr("\n  parallelism_config_dp_replicate_size: 2\n  parallelism_config_dp_shard_size: 8\n"));
  EXPECT_THAT(script(fine_tuning("hf-eager", "")), HasSubstr("\ndistributed_type: MULTI_GPU\n"));
  EXPECT_THAT(script(fine_tuning("hf-deepspeed", "zero3")), HasSubstr("\ndistributed_type: MULTI_GPU\n"));
  const std::string alone = script(fine_tuning("hf-eager", "", "1xH100"));
  EXPECT_THAT(alone, HasSubstr("\ndistributed_type: NO\n"));
  EXPECT_THAT(alone, Not(HasSubstr("machine_rank")));
}

TEST(launch_wrapper, accelerate_starts_trainers_alone) {
  for (const LaunchFormat& format : launch_formats())
    EXPECT_EQ(can_start(Starter::Accelerate, format.launcher), is_trainer(format.launcher)) << format.name;
}

TEST(launch_wrapper, jax_finds_the_other_nodes_by_a_coordinator) {
  const std::string many = wrapped("maxtext", "zero3", Starter::Sbatch).text;
  EXPECT_THAT(many, HasSubstr("JAX_COORDINATOR_IP="));
  EXPECT_THAT(many, HasSubstr("NODE_RANK=$SLURM_NODEID"));
  EXPECT_THAT(many, HasSubstr(" NNODES=2\n"));
  EXPECT_THAT(many, Not(HasSubstr("torchrun")));
  EXPECT_THAT(wrapped("maxtext", "zero3", Starter::Torchrun, "8xH100").text,
              Not(HasSubstr("JAX_COORDINATOR_IP")));
}

}  // namespace
}  // namespace hexaplan::presets
