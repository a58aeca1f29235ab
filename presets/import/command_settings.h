#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "presets/import/setting.h"
#include "presets/import/shell_script.h"

namespace hexaplan::presets {

/// The command of a script that starts the training, taken apart.
struct LaunchCommand {
  ShellWord program;               // as written: "pretrain_gpt.py"
  std::vector<ShellWord> words;    // behind it that are no flag's: "train", "base.yml", "steps=30"
  std::vector<Setting> arguments;  // of the program, keys as written ("--seq-length", "--training.seq_len")
  std::vector<Setting> launcher;   // the launcher's options that count no processes
  std::vector<Setting> world;      // nodes and processes, of torchrun, srun, accelerate, deepspeed and sbatch
  std::vector<Setting> files;      // configurations that it names
  std::int64_t gpus = 0, gpus_per_node = 0;  // 0: not said
  std::string gpu;                           // type, where sbatch names one: "h100"
};

/// Every command that runs a program with arguments; the likeliest training command has the most.
[[nodiscard]] std::vector<LaunchCommand> launch_commands(const ShellScript& script, const std::string& file);

}  // namespace hexaplan::presets
