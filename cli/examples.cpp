#include "cli/examples.h"

namespace hexaplan::cli {
namespace {

constexpr Example kExamples[] = {
    {"estimate", "estimate --model llama-3.1-8b --cluster 16xH100 --layout \"tp2 zero1 sp\" --seq 8k",
     "Does it fit, and how fast is it?", true},
    {"estimate", "estimate --from train.sh --cluster 64xH100", "The plan of a launch script", true},
    {"simulate", "simulate --model llama-3.1-70b --cluster 64xH100 --layout \"tp8 pp4 sp\" --trace step.json",
     "Who waits for whom? A timeline for Perfetto"},
    {"search", "search --model llama-3.1-8b --cluster 64xH100 --global-batch 512 --tokens 1T",
     "The best layouts, with days and cost", true},
    {"search", "search --model llama-3.1-8b --cluster 8xH100 --tp 1,2 --zero 1 --recompute none,full",
     "… of a part of the space"},
    {"finetune", "finetune --model llama-3.1-8b --gpu rtx4090", "What fits on this card?", true},
    {"posttrain", "posttrain --model llama-3.1-8b --cluster 16xH100 --algorithm grpo --layout fsdp",
     "Reinforcement learning: does everything fit beside each other?"},
    {"compare", "compare --model llama-3.1-8b --cluster 16xH100 \"tp2 zero1 sp\" fsdp",
     "Two layouts side by side"},
    {"import", "import train.sh --cluster 64xH100 --save-scenario plan.json",
     "A launch script as a scenario"},
    {"diff", "diff train.sh --cluster 64xH100 --suggest", "What would make this script faster or safer?"},
    {"export", "export --model llama-3.1-8b --cluster 16xH100 --layout \"tp2 zero1 sp\"",
     "The plan as its framework's configuration"},
    {"report", "report --model llama-3.1-8b --cluster 16xH100 --layout \"tp2 zero1 sp\" --html plan.html",
     "A page to send around"},
    {"run",
     "run --model \"layers=2 hidden=64 heads=4 ffn=128 vocab=256\" --cluster 2xcpu --layout tp2 --seq 32",
     "A real step, here"},
    {"verify", "verify --model llama-3.1-8b --cluster 8xH100 --layout \"tp2 pp2\"",
     "Is the prediction what a real step does, to the byte?"},
    {"validate", "validate --list cpu", "Predictions beside measurements on this machine"},
    {"oracle", "oracle --model config.json --framework hf-eager --seq 4096",
     "Does PyTorch's own memory tracker agree?"},
    {"measure", "measure import run.log --scenario plan.json", "How far off was the prediction?"},
    {"runs", "runs list", "What was run and validated here"},
    {"accuracy", "accuracy table.csv", "How good are predictions of these measurements?"},
    {"calibrate", "calibrate --device cuda --quick", "Curves of this GPU"},
    {"calibrate", "calibrate --from all_reduce.log --cluster 2x8xH100+ib400",
     "Links, as nccl-tests measured them"},
    {"cluster", "cluster import topo.txt ibstat.txt -o cluster.json", "A cluster's file from its own words"},
    {"presets", "presets list gpus", "GPUs that are known"},
    {"presets", "presets show models llama-3.1-8b", "What a preset says, with sources"},
    {"backends", "backends", "What can execute here?"},
};

}  // namespace

std::span<const Example> examples() {
  return kExamples;
}

}  // namespace hexaplan::cli
