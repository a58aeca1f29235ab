#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string_view>

#include "cli/options/command_row.h"
#include "costmodel/units/parse_number.h"
#include "costmodel/units/parse_units.h"
#include "presets/scenario/recipe_fields.h"

namespace hexaplan::cli {
namespace {

/// A recipe field that has a flag of its own (presets::RecipeField::flag).
struct RecipeFlagInfo {
  const char* key;
  const char* value;
  const char* help;
  const char* choices = "";  // words that completion offers, blank between them
};
constexpr RecipeFlagInfo kRecipeFlags[] = {
    {"sequence", "TOKENS",
     "Sequence length: 4096, 8k (= 8192). Default: 4096, or the model's context length if shorter"},
    {"micro_batch", "N", "Sequences per data-parallel rank and pass. Default: 1"},
    {"global_batch", "N",
     "Sequences per optimizer step. Default: enough to run 4 micro-batches per pipeline stage (1 without "
     "pipeline)"},
    {"precision", "TYPE",
     "Type of the matrix products: fp32 tf32 fp16 bf16 fp8 fp8-block mxfp8 nvfp4. Default: bf16",
     "fp32 tf32 fp16 bf16 fp8 fp8-block mxfp8 nvfp4"},
    {"recompute", "POLICY",
     "none, selective, selective-op, full, layers=4, modules=core_attn,norm. Default: none",
     "none selective selective-op full"},
    {"optimizer", "NAME", "adamw adamw-8bit adafactor lion sgd muon lamb. Default: adamw",
     "adamw adamw-8bit adafactor lion sgd muon lamb"},
    {"attention", "KERNEL", "flash, fused-softmax, unfused. Default: flash", "flash fused-softmax unfused"},
    {"cross_entropy", "KIND", "default (what the framework does), unfused, fused, chunked",
     "default unfused fused chunked"},
    {"parameter_dtype", "TYPE", "Type in which parameters are kept for compute. Default: the framework's"},
    {"gradient_dtype", "TYPE", "Type in which gradients are accumulated. Default: the framework's"},
    {"dropout", "P", "Dropout probability; above 0 masks are saved. Default: 0"},
    {"fine_tune", "KIND", "pretrain, full, lora, qlora, ia3. Default: pretrain",
     "pretrain full lora qlora ia3"},
    {"lora_rank", "N", "Rank of LoRA adapters. Default: the framework's, 8 or 32"},
    {"lora_targets", "WHICH",
     "Layers with LoRA adapters: all-linear, attention, qkv, qv, mlp. Default: all-linear",
     "all-linear attention qkv"},
    {"offload", "WHAT", "Kept in host memory: optimizer, params, activations, or several with commas"},
    {"offload_device", "WHERE", "Where offloaded states are: cpu or nvme. Default: cpu", "cpu nvme"},
    {"offload_layers", "N", "Layers per stage whose activations are offloaded. Default: all"},
    {"offload_fraction", "X", "Share of the optimizer's states to offload. Default: 1, all"},
    {"capacity_factor", "X", "Tokens beyond X times the mean per expert are dropped. Default: 0, none are"},
    {"routing_imbalance", "X", "Tokens of the busiest expert rank over the mean. Default: 1"},
    {"tp_comm_overlap", "BOOL",
     "Tensor-parallel messages run under the products beside them: true, false. Default: the framework's",
     "true false"},
    {"pipeline_overlap", "BOOL",
     "Messages between stages run under computation: true, false. Default: interleaved schedules only",
     "true false"},
    {"dp_overlap", "BOOL",
     "Gradients are reduced and parameters gathered under computation: true, false. Default: the framework's",
     "true false"},
    {"reduce_gradients", "WHEN",
     "FSDP: in every micro-batch, replicas-once (between replicas of hsdp in the last) or once (no_sync: "
     "whole "
     "gradients wait). Default: every",
     "every replicas-once once"},
    {"ep_overlap", "BOOL",
     "Tokens travel to the experts under another micro-batch: true, false. Default: the framework's",
     "true false"},
    {"moe_dispatcher", "KERNEL", "alltoall, allgather, deepep, hybridep. Default: the framework's",
     "alltoall allgather deepep hybridep"},
    {"cuda_graphs", "WHICH", "Launches that graphs replay: none, partial, full_iteration. Default: none",
     "none partial full_iteration"},
    {"compile", "BOOL", "torch.compile or XLA: true, false. Default: false", "true false"},
    {"tokens", "N", "Training budget, for days, GPU-hours, cost and energy: 15T, 300B"},
    {"checkpoint", "HOW", "Checkpoints: sync, or async (written beside the steps that follow). Default: sync",
     "sync async"},
    {"checkpoint_interval", "TIME", "Training between two checkpoints: 30min. Default: what costs least"},
    {"gpu_mtbf", "TIME", "Mean time between failures of one GPU: 50000h. Default: the cluster's, or 65536h"},
    {"node_mtbf", "TIME", "... of what else is in a node. Default: the cluster's, or 57700h"},
    {"link_mtbf", "TIME", "... of one GPU's link to other nodes. Default: the cluster's, or 433340h"},
    {"storage_bandwidth", "RATE",
     "Rate at which the whole job writes checkpoints: 200GB/s. Default: the cluster's, or 0.7GB/s per node"},
    {"restart_time", "TIME",
     "From a failure until training goes on, without loading. Default: the cluster's, or 10min"},
    {"repair_time", "TIME", "Until a node that failed is back. Default: the cluster's, or 1d"},
    {"spare_nodes", "N", "Nodes that wait to replace others. Default: the cluster's, or always enough"},
    {"pue", "X", "Energy of the site over that of its GPUs. Default: the cluster's, or the GPUs alone"},
};

constexpr const char* kSchedules = "gpipe 1f1b interleaved zb-h1 zb-2p zb-v vhalf dualpipe dualpipev";

}  // namespace

// No stream: the Python module makes these rows for every estimate.
std::vector<std::string> words_in(std::string_view text) {
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    words.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

void append_scenario_options(std::vector<OptionRow>& rows, ScenarioOptions& question) {
  const OptionRow first[] = {
      {"--model", "MODEL",
       "Preset, a Hugging Face config.json, its folder, its name on the hub, - for stdin, or dimensions "
       "(layers=8 hidden=512 heads=8 ffn=1376 vocab=32000)",
       &question.model},
      {"--cluster", "CLUSTER", "GPUs and network: 8xH100, 64xA100-80GB, 16x8xH200+ib400, 8x./my-gpu.json",
       &question.cluster},
      {"--layout", "LAYOUT",
       "\"tp8 pp4 dp16 zero1 sp vpp2 cp2 ep8 etp1 fsdp hsdp8 …\"; dp follows from the cluster when left out",
       &question.layout},
  };
  rows.insert(rows.end(), std::begin(first), std::end(first));
  // What was typed stays, for rows that are made again over a question.
  if (question.recipe.size() != std::size(kRecipeFlags)) {
    question.recipe.clear();
    for (const RecipeFlagInfo& info : kRecipeFlags)
      question.recipe.push_back({info.key, std::string{presets::recipe_field(info.key).flag}, ""});
  }
  for (std::size_t i = 0; i < std::size(kRecipeFlags); ++i) {
    const RecipeFlagInfo& info = kRecipeFlags[i];
    rows.push_back(
        {question.recipe[i].flag, info.value, info.help, &question.recipe[i].text, words_in(info.choices)});
  }
  const OptionRow last[] = {
      {"--schedule", "NAME", "Pipeline schedule, as in the layout: 1f1b, interleaved, zb-h1, zb-v, …",
       &question.schedule, words_in(kSchedules)},
      {"--framework", "NAME", "Framework profile. Default: megatron", &question.framework},
      {"--calibration", "FILE", "Measured curves: preset or FILE. Default: those of the GPU type",
       &question.calibration},
      {"--fabric", "FILE", "Measured links, as calibrate writes them. Default: those of the cluster",
       &question.fabric},
      {"--price", "DOLLARS", "US dollars per GPU-hour. Default: the GPU preset's", &question.price},
      {"--scenario", "FILE", "Read the question from a file (- for stdin); flags override it",
       &question.scenario},
      {"--from", "FILE",
       "Read the question from launch files, as import does (again for each); flags override them. With it, "
       "--cluster may be a "
       "GPU type alone",
       &question.from},
      {"--save-scenario", "FILE", "Write the question to a file", &question.save_scenario},
  };
  rows.insert(rows.end(), std::begin(last), std::end(last));
}

void remove_options(std::vector<OptionRow>& rows, std::initializer_list<std::string_view> flags) {
  std::erase_if(rows, [&](const OptionRow& row) {
    return std::find(flags.begin(), flags.end(), row.flags) != flags.end();
  });
}

int whole_number(const std::string& text, const std::string& flag, int most) {
  const auto value = costmodel::parse_number<std::uint32_t>(text);
  if (!value || *value > static_cast<std::uint32_t>(most))
    throw UsageError{fmt::format("{}: got \"{}\", expected a whole number from 0 to {}", flag, text, most)};
  return static_cast<int>(*value);
}

int step_count(const std::string& text, int most) {
  const int steps = whole_number(text, "--steps", most);
  if (steps < 1) throw UsageError{"--steps: got \"0\", expected a whole number >= 1"};
  return steps;
}

std::int64_t memory_limit(const std::string& text) {
  const auto limit = costmodel::parse_bytes(text);
  if (!limit || limit->value() < 1) {
    throw UsageError{
        fmt::format("--memory-limit: got \"{}\", expected a size with its unit, such as 80GiB", text)};
  }
  return costmodel::whole(*limit);
}

}  // namespace hexaplan::cli
