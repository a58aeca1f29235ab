#include <fmt/format.h>

#include <memory>

#include "cli/options/command_row.h"

namespace hexaplan::cli {
namespace {

struct ClusterWords {
  std::string action;
  ClusterOptions options;
};

Command checked_cluster(const ClusterWords& words) {
  if (words.action != "import")
    throw UsageError{fmt::format(
        "cluster: got \"{}\", expected import, as in 'hexaplan cluster import topo.txt ibstat.txt'",
        words.action)};
  if (words.options.files.empty())
    throw UsageError{
        "cluster import: expected what machines say, as in 'hexaplan cluster import topo.txt ibstat.txt'"};
  if (!words.options.nodes.empty())
    (void)positive_number(words.options.nodes, "--nodes", 1e7, "a number of nodes");
  return words.options;
}

}  // namespace

CommandRow cluster_row() {
  const auto words = std::make_shared<ClusterWords>();
  CommandRow row{.name = "cluster", .help = "A cluster's file from what its machines say of themselves"};
  row.options.push_back({"action", "ACTION", "import", &words->action, {"import"}});
  row.options.push_back({"files", "FILE ...",
                         "Outputs of nvidia-smi topo -m, nvidia-smi -q -x, ibstat and scontrol show node",
                         &words->options.files});
  row.options.push_back(
      {"--gpu", "NAME", "The type of the GPUs. Default: as the files say", &words->options.gpu});
  row.options.push_back(
      {"--nodes", "N", "Nodes like this one. Default: as scontrol says, or 1", &words->options.nodes});
  row.options.push_back({"--title", "TEXT", "What the cluster is called", &words->options.title});
  row.finish = [words] { return checked_cluster(*words); };
  return row;
}

}  // namespace hexaplan::cli
