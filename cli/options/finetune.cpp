#include <algorithm>
#include <cassert>
#include <cstddef>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options/command_row.h"

namespace hexaplan::cli {
namespace {

constexpr int kMostGpusOfCards = 100'000;
/// Options of the question whose defaults are not those of other commands.
struct OwnDefault {
  std::string_view flag, value;
};
constexpr OwnDefault kOwnDefaults[] = {
    {"--seq", "2048, or the model's context length if shorter"},
    {"--global-batch", "16, or the next multiple of the GPUs"},
    {"--precision", "bf16, or fp16 on GPUs without it"},
    {"--cross-entropy", "what the framework does, chunked where a method fits no other way"},
    {"--double-quantization", "tried as a method of its own"},
    {"--framework",
     "transformers' layers, their states whole (hf-eager), or sharded and offloaded by FSDP (hf-fsdp2) or "
     "DeepSpeed (hf-deepspeed)"},
};

void say_own_defaults(std::vector<OptionRow>& rows) {
  constexpr std::string_view kWord = "Default: ";
  for (OptionRow& row : rows) {
    const auto* own = std::find_if(std::begin(kOwnDefaults), std::end(kOwnDefaults),
                                   [&](const OwnDefault& each) { return each.flag == row.flags; });
    if (own == std::end(kOwnDefaults)) continue;
    const std::size_t word = row.help.find(kWord);
    assert(word != std::string::npos);
    row.help.replace(word + kWord.size(), std::string::npos, own->value);
  }
}

}  // namespace

CommandRow finetune_row() {
  const auto options = std::make_shared<FinetuneOptions>();
  CommandRow row{.name = "finetune",
                 .help = "What fits on these GPUs: full, LoRA, QLoRA, with offloading, and how fast"};
  append_scenario_options(row.options, options->question);
  remove_options(row.options,
                 {"--layout", "--schedule", "--fine-tune", "--optimizer", "--offload", "--micro-batch",
                  "--recompute", "--save-scenario", "--precondition-frequency", "--max-precondition-dim"});
  say_own_defaults(row.options);
  row.options.push_back({"--gpu", "NAME", "GPU type, in its usual machine: rtx4090", &options->gpu});
  row.options.push_back({"--gpus", "N", "GPUs of --gpu. Default: 1", &options->gpus});
  row.options.push_back(
      {"--max-risk", "SHARE", "Highest chance of running out of memory. Default: 5%", &options->max_risk});
  row.finish = [options]() -> Command {
    if (!options->gpu.empty() && !options->question.cluster.empty())
      throw UsageError{"finetune: expected --gpu or --cluster, not both"};
    if (options->gpu.empty() && !options->gpus.empty())
      throw UsageError{"--gpus: expected with --gpu, as in --gpu rtx4090 --gpus 2"};
    if (!options->gpus.empty() && whole_number(options->gpus, "--gpus", kMostGpusOfCards) == 0)
      throw UsageError{"--gpus: got \"0\", expected at least one"};
    return *options;
  };
  return row;
}

}  // namespace hexaplan::cli
