#include <fmt/format.h>

#include <iterator>
#include <memory>

#include "cli/options/command_row.h"
#include "planner/problem/problem.h"
#include "presets/json/spec_names.h"

namespace hexaplan::cli {
namespace {

struct DimensionInfo {
  const char* flag;
  const char* value;
  const char* help;
  std::vector<std::string> choices = {};
};

/// Dimensions that a search varies; cli/commands/search_space.cpp reads them.
std::vector<DimensionInfo> dimensions() {
  return {
      {"--tp", "LIST",
       "Tensor parallel sizes: 8, 1,2,4,8 or 1..8. Default: every size that can divide the world"},
      {"--pp", "LIST", "Pipeline parallel sizes"},
      {"--dp", "LIST", "Data parallel sizes; they follow from the others, so this only restricts"},
      {"--cp", "LIST", "Context parallel sizes"},
      {"--ep", "LIST", "Expert parallel sizes"},
      {"--etp", "LIST", "Tensor parallel sizes of the experts; 0 = as --tp"},
      {"--vpp", "LIST", "Model chunks per stage (virtual pipeline)"},
      {"--sp", "LIST", "Megatron sequence parallelism: on, off or on,off", {"on", "off"}},
      {"--zero", "LIST", "ZeRO stages 0..3; 3 = FSDP", {"0", "1", "2", "3"}},
      {"--shard-group", "LIST", "Ranks per shard group (HSDP); 0 = all"},
      {"--micro-batch", "LIST", "Sequences per data-parallel rank and pass"},
      {"--recompute",
       "LIST",
       "none, selective, selective-op, full, layers=4 (the first of every model chunk), layers (every "
       "count), "
       "modules=core_attn+norm",
       {"none", "selective", "full", "layers"}},
      {"--schedule",
       "LIST",
       "Pipeline schedules",
       {"gpipe", "1f1b", "interleaved", "zb-h1", "zb-2p", "zb-v", "vhalf", "dualpipe", "dualpipev"}},
      {"--context", "LIST", "Kinds of context parallelism", {"ring", "allgather", "alltoall"}},
      {"--order", "LIST", "Rank orders, innermost axis first: tp/cp/dp/pp,tp/cp/pp/dp"},
      {"--offload",
       "LIST",
       "Kept in host memory: none, optimizer, params, activations, or several with '+': "
       "none,activations,optimizer+activations. Default: none, as the framework has it",
       {"none", "optimizer", "params", "activations"}},
      {"--offload-fraction", "LIST",
       "Shares of the optimizer's states that are kept there: 0.25,0.5,1. Varied where the optimizer is "
       "offloaded. Default: 1"},
      {"--precision", "LIST", "Types of the matrix products. Default: bf16",
       presets::names_in(presets::kPrecisionNames)},
  };
}

void append_limits(std::vector<OptionRow>& rows, SearchOptions& o) {
  const OptionRow limits[] = {
      {"--gpus", "LIST", "GPU counts to try on this cluster's machines: 64,128 or 64..1024 (doubling)",
       &o.gpus},
      {"--gpu", "LIST", "GPU types to try: h100,h200. Each in its own reference machines", &o.gpu_types},
      {"--network", "KIND",
       "Network between the nodes, as after '+' of a cluster: ib400, efa3200/node. Default: the cluster's",
       &o.network},
      {"--diloco", "N",
       "Replicas that train apart between outer steps (--outer-steps), N in every plan. Default: one",
       &o.replicas},
      {"--sweep", "AXES",
       "The best plan for each value of one or two options: seq=4k..128k,gpus=64..4096 (a..b doubles), "
       "gpu=h100,h200",
       &o.sweep},
      {"--sensitivity", "", "How the best plan changes with more memory, faster links and another price",
       &o.sensitivity},
      {"--batch-tolerance", "SHARE",
       "How far the global batch may be off: 2%. Batches that divide over more data-parallel sizes are "
       "tried; "
       "plans are ranked by their time per token. Default: 0%",
       &o.batch_tolerance},
      {"--idle-gpus", "SHARE",
       "Share of the GPUs, in whole nodes, that a plan may leave idle: 10%. Default: 0%", &o.idle_gpus},
      {"--objective",
       "GOAL",
       "time, tokens-per-gpu, cost, gpus or headroom. Default: time",
       &o.objective,
       {"time", "tokens-per-gpu", "cost", "gpus", "headroom"}},
      {"--rank-by",
       "TIME",
       "expected, or p90: what nine of ten such predictions stay below, so that few published runs count "
       "against a plan. Default: expected",
       &o.rank_by,
       {"expected", "p90"}},
      {"--max-memory", "SHARE", "Device memory that the peak may take: 90%. Default: 100%", &o.max_memory},
      {"--max-risk", "SHARE",
       fmt::format(
           "Highest chance of running out of memory that a plan may have: 1%, or any. Default: {:.0f}%",
           100 * planner::kDefaultRisk),
       &o.max_risk},
      {"--max-hours", "HOURS", "Longest training of --tokens: 72, or with units: \"3 d\", \"63 d 21 h\"",
       &o.max_hours},
      {"--max-cost", "DOLLARS", "Most that training on --tokens may cost: 250000, 2M", &o.max_cost},
      {"--min-mfu", "SHARE", "Least model FLOP/s utilisation: 40%", &o.min_mfu},
      {"--top", "N", fmt::format("Plans to list. Default: {}", planner::kDefaultTop), &o.top},
      {"--explain", "N", "Why plan N is not the first (for 1: why it is): the terms that differ", &o.explain},
      {"--no-refine", "", "No uneven stage splits: every plan as the space has it", &o.no_refine},
      {"--no-simulate", "", "Rank by the closed form alone, not by discrete events", &o.no_simulate},
      {"--threads", "N", "Threads. Default: one per core; the answer does not depend on it", &o.threads},
      {"--html", "FILE",
       "Writes a page of the first plan and all that were found, or of a sweep as heat maps", &o.html},
      {"--csv", "", "Plans as comma-separated values", &o.csv},
      {"--markdown", "", "Plans as a Markdown table", &o.markdown},
  };
  rows.insert(rows.end(), std::begin(limits), std::end(limits));
}

}  // namespace

std::vector<OptionRow> search_options(SearchOptions& options) {
  std::vector<OptionRow> rows;
  append_scenario_options(rows, options.question);
  remove_options(rows, {"--layout", "--micro-batch", "--recompute", "--schedule", "--precision", "--offload",
                        "--offload-fraction"});
  const std::vector<DimensionInfo> infos = dimensions();
  if (options.dimensions.empty()) {
    for (const DimensionInfo& info : infos) options.dimensions.push_back({info.flag, ""});
  }
  for (std::size_t i = 0; i < infos.size(); ++i) {
    rows.push_back(
        {infos[i].flag, infos[i].value, infos[i].help, &options.dimensions[i].text, infos[i].choices});
  }
  append_limits(rows, options);
  return rows;
}

CommandRow search_row() {
  const auto options = std::make_shared<SearchOptions>();
  CommandRow row{.name = "search", .help = "The best layouts of the whole space, exactly"};
  row.options = search_options(*options);
  row.finish = [options] { return *options; };
  return row;
}

}  // namespace hexaplan::cli
