#include <memory>

#include "cli/options/command_row.h"

namespace hexaplan::cli {

CommandRow finetune_row() {
  const auto options = std::make_shared<FinetuneOptions>();
  CommandRow row{.name = "finetune",
                 .help = "What fits on these GPUs: full, LoRA, QLoRA, with offloading, and how fast"};
  append_scenario_options(row.options, options->question);
  remove_options(row.options, {"--layout", "--schedule", "--fine-tune", "--optimizer", "--offload",
                               "--micro-batch", "--recompute", "--save-scenario"});
  row.options.push_back({"--gpu", "NAME", "GPU type, in its usual machine: rtx4090", &options->gpu});
  row.options.push_back({"--gpus", "N", "GPUs of --gpu. Default: 1", &options->gpus});
  row.options.push_back(
      {"--max-risk", "SHARE", "Highest chance of running out of memory. Default: 5%", &options->max_risk});
  row.finish = [options]() -> Command {
    if (!options->gpu.empty() && !options->question.cluster.empty())
      throw UsageError{"finetune: expected --gpu or --cluster, not both"};
    if (options->gpu.empty() && !options->gpus.empty())
      throw UsageError{"--gpus: expected with --gpu, as in --gpu rtx4090 --gpus 2"};
    return *options;
  };
  return row;
}

}  // namespace hexaplan::cli
