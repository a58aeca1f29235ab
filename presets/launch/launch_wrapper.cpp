#include "presets/launch/launch_wrapper.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "costmodel/units/ceil_div.h"
#include "presets/frameworks/framework_preset.h"
#include "presets/launch/launch_words.h"
#include "presets/launch/trainer_plan.h"

namespace hexaplan::presets {

using costmodel::Scenario;

namespace {

using S = const Scenario&;

constexpr unsigned one_of_launchers(Launcher launcher) {
  return 1U << static_cast<unsigned>(launcher);
}

/// As validate_args asks of GPUs before Blackwell, Megatron FSDP apart (Megatron-LM core_v0.15.3
/// megatron/training/arguments.py; megatron/core/tensor_parallel/layers.py).
bool wants_one_connection(S s) {
  return (s.layout.tp > 1 || s.layout.cp > 1) && s.layout.sharding.stage < 2 &&
         s.cluster.gpu.architecture != "blackwell";
}

struct EnvironmentRow {
  unsigned launchers;
  bool (*applies)(S);
  EnvironmentVariable variable;
};
constexpr EnvironmentRow kEnvironment[] = {
    {one_of_launchers(Launcher::Megatron) | one_of_launchers(Launcher::Bridge),
     wants_one_connection,
     {"CUDA_DEVICE_MAX_CONNECTIONS", "1"}},
    // nanotron@2411b02 README.md, "Quick Start".
    {one_of_launchers(Launcher::Nanotron), [](S) { return true; }, {"CUDA_DEVICE_MAX_CONNECTIONS", "1"}},
    // torchtitan@v0.2.2 run_train.sh.
    {one_of_launchers(Launcher::Torchtitan),
     [](S) { return true; },
     {"PYTORCH_ALLOC_CONF", "expandable_segments:True"}},
    // Asserted where segments may grow (megatron/core/transformer/cuda_graphs.py).
    {one_of_launchers(Launcher::Megatron) | one_of_launchers(Launcher::Bridge),
     [](S s) { return s.recipe.execution.graphs == costmodel::CudaGraphs::Partial; },
     {"NCCL_GRAPH_REGISTER", "0"}},
};

/// How a framework is started.
struct WrappedProgram {
  Launcher launcher;
  /// Behind torchrun's options; the configuration's file lies in the folder.
  std::string_view words;
  /// One process per node, which finds the others by JAX_COORDINATOR_IP and its kin, without torchrun.
  bool coordinated = false;
  /// A program of a few lines that the framework leaves to its user, and its file.
  std::string_view program = {}, program_file = {};
};
constexpr std::string_view kBridgeProgram =
    "import sys\n"
    "\n"
    "from megatron.bridge.training.config import ConfigContainer\n"
    "from megatron.bridge.training.gpt_step import forward_step\n"
    "from megatron.bridge.training.pretrain import pretrain\n"
    "\n"
    "pretrain(ConfigContainer.from_yaml(sys.argv[1]), forward_step)\n";
constexpr WrappedProgram kWrappedPrograms[] = {
    {Launcher::Megatron, "pretrain_gpt.py \"${arguments[@]}\" \"$@\""},
    {Launcher::Nanotron, "run_train.py --config-file nanotron.yaml \"$@\""},
    {Launcher::Torchtitan, "-m torchtitan.train --job.config_file torchtitan.toml \"$@\""},
    {Launcher::DeepSpeed, "\"${TRAIN_PROGRAM:-train.py}\" --deepspeed_config deepspeed.json \"$@\""},
    {Launcher::Bridge, "train_bridge.py bridge.yaml \"$@\"", false, kBridgeProgram, "train_bridge.py"},
    // src/maxtext/utils/max_utils.py, initialize_jax_for_gpu.
    {Launcher::MaxText, "-m maxtext.trainers.pre_train.train maxtext.yml \"$@\"", true},
    {Launcher::Trl, "-m trl.scripts.sft --config trl.yaml \"$@\""},
    {Launcher::Axolotl, "-m axolotl.cli.train axolotl.yaml \"$@\""},
    // LLaMA-Factory@v0.9.5 src/llamafactory/launcher.py: what its command starts under torchrun.
    {Launcher::LlamaFactory, "-m llamafactory.launcher llamafactory.yaml \"$@\""},
};
const WrappedProgram& program_of(Launcher launcher) {
  return *std::find_if(std::begin(kWrappedPrograms), std::end(kWrappedPrograms),
                       [&](const WrappedProgram& row) { return row.launcher == launcher; });
}

struct WorldSize {
  std::int64_t nodes, per_node;
};
WorldSize world_of(S s) {
  const std::int64_t per_node = std::min<std::int64_t>(s.cluster.gpus_per_node, s.cluster.gpus);
  return {costmodel::ceil_div(s.cluster.gpus, per_node), per_node};
}

/// A file that the script writes. Nothing in it is expanded; the word that ends it stands in no
/// configuration.
std::string written_file(std::string_view name, std::string_view text) {
  return fmt::format("cat > {} <<'END_OF_FILE'\n{}{}END_OF_FILE\n", name, text,
                     text.ends_with('\n') ? "" : "\n");
}

/// The body of a script of Megatron-LM: its arguments, without what starts them.
std::string arguments_of(const std::string& script) {
  const std::size_t begin = script.find("arguments=(\n"), end = script.find("\n)\n");
  return script.substr(begin, end + 3 - begin);
}

std::string torchrun(const WrappedProgram& program, WorldSize world, std::string_view endpoint) {
  return fmt::format(
      "torchrun --nnodes {} --nproc-per-node {} \\\n"
      "  --rdzv-backend c10d --rdzv-endpoint \"{}\" \\\n  {}\n",
      world.nodes, world.per_node, endpoint, program.words);
}

constexpr std::string_view kEndpoint = "${MASTER_ADDR:-localhost}:${MASTER_PORT:-29500}";

/// Of one process per node; a single node needs no coordinator.
std::string coordinated(const WrappedProgram& program, WorldSize world, Starter starter) {
  if (world.nodes == 1) return fmt::format("exec python3 {}\n", program.words);
  const std::string variables = fmt::format(
      "export JAX_COORDINATOR_IP=\"${{MASTER_ADDR:?the address of the first node}}\" "
      "JAX_COORDINATOR_PORT=\"${{MASTER_PORT:-29500}}\" NNODES={}\n",
      world.nodes);
  if (starter == Starter::Torchrun)
    return variables + fmt::format(
                           "export NODE_RANK=\"${{NODE_RANK:?the number of this node, from 0}}\"\n"
                           "exec python3 {}\n",
                           program.words);
  return variables +
         fmt::format("srun bash -c 'NODE_RANK=$SLURM_NODEID exec python3 {}' -- \"$@\"\n", program.words);
}

// --- accelerate: v1.15.0 commands/config/config_args.py, utils/dataclasses.py ---

std::string_view mixed_precision_of(S s) {
  using costmodel::Precision;
  const Precision precision = s.recipe.precision;
  if (precision == Precision::Fp16) return "fp16";
  const bool whole = precision == Precision::Fp32 || precision == Precision::Tf32;
  return whole || (trains_pure_bf16(s) && shards_by_fsdp(s)) ? "no" : "bf16";
}

/// Version 1 has a strategy, version 2 says whether parameters are given back, and hybrid sharding as a mesh.
std::string fsdp_lines(S s) {
  const bool first = is_version_of(s.framework, "fsdp1"), gives_back = s.layout.sharding.stage == 3;
  const bool hybrid = state_replicas(s) > 1;
  std::string text = fmt::format("fsdp_config:\n  fsdp_version: {}\n", first ? 1 : 2);
  if (first) {
    text += fmt::format("  fsdp_sharding_strategy: {}{}\n", hybrid ? "HYBRID_SHARD" : "",
                        gives_back ? (hybrid ? "" : "FULL_SHARD") : (hybrid ? "_ZERO2" : "SHARD_GRAD_OP"));
  } else {
    text += fmt::format("  fsdp_reshard_after_forward: {}\n", gives_back);
  }
  text += fmt::format(
      "  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\n  fsdp_offload_params: {}\n"
      "  fsdp_state_dict_type: SHARDED_STATE_DICT\n",
      (s.recipe.offload & costmodel::kOffloadParameters) != 0);
  if (hybrid && !first)
    text += fmt::format(
        "parallelism_config:\n  parallelism_config_dp_replicate_size: {}\n"
        "  parallelism_config_dp_shard_size: {}\n",
        state_replicas(s), s.layout.shard_ranks());
  return text;
}

std::string accelerate_file(S s, WorldSize world) {
  const bool fsdp = shards_by_fsdp(s);
  const char* const type = fsdp ? "FSDP" : s.cluster.gpus > 1 ? "MULTI_GPU" : "NO";
  std::string text = fmt::format(
      "compute_environment: LOCAL_MACHINE\ndistributed_type: {}\nmixed_precision: {}\nnum_machines: {}\n"
      "num_processes: {}\n",
      type, mixed_precision_of(s), world.nodes, world.nodes * world.per_node);
  if (by_deepspeed(s)) text += "# DeepSpeed's part stands in the trainer's file.\n";
  return fsdp ? text + fsdp_lines(s) : text;
}

std::string accelerate_launch(const WrappedProgram& program, WorldSize world) {
  const std::string_view others =
      world.nodes == 1 ? ""
                       : "  --machine_rank \"${NODE_RANK:?the number of this node, from 0}\" \\\n"
                         "  --main_process_ip \"${MASTER_ADDR:?the address of the first node}\" "
                         "--main_process_port \"${MASTER_PORT:-29500}\" \\\n";
  return fmt::format("exec accelerate launch --config_file accelerate.yaml \\\n{}  {}\n", others,
                     program.words);
}

/// One line of letters that sbatch takes as a job's name.
std::string job_name(const std::string& model) {
  std::string name = model.substr(0, 60);
  std::replace_if(
      name.begin(), name.end(),
      [](unsigned char c) { return std::isalnum(c) == 0 && c != '-' && c != '.' && c != '_'; }, '-');
  return name.empty() ? "hexaplan" : name;
}

std::string batch_lines(S s, WorldSize world) {
  return fmt::format(
      "#SBATCH --job-name={}\n#SBATCH --nodes={}\n#SBATCH --ntasks-per-node=1\n#SBATCH --gpus-per-node={}\n"
      "#SBATCH --exclusive\n",
      job_name(s.model.name), world.nodes, world.per_node);
}

std::string stem(std::string_view file) {
  return std::string{file.substr(0, file.find('.'))};
}

}  // namespace

std::vector<EnvironmentVariable> launch_environment(const Scenario& scenario, Launcher launcher) {
  std::vector<EnvironmentVariable> variables;
  for (const EnvironmentRow& row : kEnvironment) {
    if ((row.launchers & one_of_launchers(launcher)) != 0 && row.applies(scenario))
      variables.push_back(row.variable);
  }
  return variables;
}

LaunchWrapper launch_wrapper(const Scenario& s, const LaunchFormat& format, const LaunchConfig& config,
                             Starter starter) {
  const WrappedProgram& program = program_of(format.launcher);
  const WorldSize world = world_of(s);
  const bool batch = starter == Starter::Sbatch;
  std::string text = "#!/usr/bin/env bash\n";
  if (batch) text += batch_lines(s, world);
  text += fmt::format("# Starts {}, once{}.\n", format.title, batch ? " by sbatch" : " per node");
  if (format.launcher == Launcher::Megatron) {
    const std::size_t begin = config.text.find("\n# ") + 1, end = config.text.find("set -euo pipefail");
    text += config.text.substr(begin, end - begin);
  }
  text += "set -euo pipefail\n";
  for (const EnvironmentVariable& variable : launch_environment(s, format.launcher))
    text += fmt::format("export {}={}\n", variable.name, variable.value);
  if (batch)
    text +=
        "MASTER_ADDR=$(scontrol show hostnames \"$SLURM_JOB_NODELIST\" | head -n 1)\nexport MASTER_ADDR "
        "MASTER_PORT=29500\n";
  text += '\n';
  text += format.launcher == Launcher::Megatron ? arguments_of(config.text)
                                                : written_file(format.file, config.text);
  if (!program.program.empty()) text += written_file(program.program_file, program.program);
  if (starter == Starter::Accelerate) {
    text += written_file("accelerate.yaml", accelerate_file(s, world));
    text += '\n' + accelerate_launch(program, world);
    return {stem(format.file) + ".sh", std::move(text)};
  }
  text += '\n';
  text += program.coordinated ? coordinated(program, world, starter)
                              : (batch ? "srun " : "exec ") +
                                    torchrun(program, world, batch ? "$MASTER_ADDR:$MASTER_PORT" : kEndpoint);
  return {stem(format.file) + (batch ? ".sbatch" : ".sh"), std::move(text)};
}

}  // namespace hexaplan::presets
