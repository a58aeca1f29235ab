#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "presets/runs/run_log.h"

namespace hexaplan::presets {
namespace {

/// Arguments whose flag is another than their name. `value`: the one with which the flag stands; empty: any,
/// which follows the flag.
struct ArgumentFlag {
  std::string_view name, value, flag;
};
constexpr ArgumentFlag kArgumentFlags[] = {
    {"add_bias_linear", "False", "--disable-bias-linear"},
    {"gradient_accumulation_fusion", "False", "--no-gradient-accumulation-fusion"},
    {"overlap_p2p_comm", "True", "--overlap-p2p-communication"},
    {"padded_vocab_size", "", "--vocab-size"},
};
/// Printed for every run, whatever its command line was: Megatron-LM fills them in itself, or a switch turns
/// its opposite on.
constexpr std::string_view kFilledIn[] = {"add_bias_linear",
                                          "gradient_accumulation_fusion",
                                          "overlap_p2p_comm",
                                          "padded_vocab_size",
                                          "world_size",
                                          "rank",
                                          "local_rank",
                                          "data_parallel_size",
                                          "params_dtype",
                                          "vocab_size",
                                          "encoder_seq_length",
                                          "encoder_num_layers",
                                          "transformer_pipeline_model_parallel_size"};

/// Arguments that mean nothing unless another is on: Megatron-LM prints 1 query group for models without.
constexpr std::pair<std::string_view, std::string_view> kNeeds[] = {
    {"num_query_groups", "group_query_attention"}};

bool means_nothing(const RunLog& log, std::string_view name) {
  return std::any_of(std::begin(kNeeds), std::end(kNeeds), [&](const auto& row) {
    return row.first == name && argument_of(log, row.second) != "True";
  });
}

bool needs_no_quotes(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.' || c == '+';
  });
}

std::string flag_text(const std::string& name, const std::string& value) {
  for (const ArgumentFlag& row : kArgumentFlags) {
    if (row.name != name) continue;
    if (row.value.empty()) return fmt::format(" {} {}", row.flag, value);
    if (row.value == value) return fmt::format(" {}", row.flag);
  }
  const bool filled_in = std::find(std::begin(kFilledIn), std::end(kFilledIn), name) != std::end(kFilledIn);
  if (filled_in || value == "False") return {};
  std::string flag = name;
  std::replace(flag.begin(), flag.end(), '_', '-');
  return value == "True" ? fmt::format(" --{}", flag) : fmt::format(" --{} {}", flag, value);
}

}  // namespace

std::string_view argument_of(const RunLog& log, std::string_view name) {
  const auto found = std::find_if(log.arguments.begin(), log.arguments.end(),
                                  [&](const auto& argument) { return argument.first == name; });
  return found == log.arguments.end() ? std::string_view{} : std::string_view{found->second};
}

std::string launch_script_of(const RunLog& log) {
  if (log.arguments.empty()) return {};
  const std::int64_t world = log.world_size.value_or(1);
  constexpr std::int64_t kPerNode = 8;
  const std::int64_t nodes = world > kPerNode && world % kPerNode == 0 ? world / kPerNode : 1;
  std::string text =
      fmt::format("torchrun --nnodes {} --nproc_per_node {} pretrain_gpt.py", nodes, world / nodes);
  for (const auto& [name, value] : log.arguments) {
    if (needs_no_quotes(name) && needs_no_quotes(value) && !means_nothing(log, name))
      text += flag_text(name, value);
  }
  return text + "\n";
}

}  // namespace hexaplan::presets
