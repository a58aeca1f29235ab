#include <memory>

#include "cli/options/command_row.h"

namespace hexaplan::cli {

CommandRow estimate_row() {
  const auto options = std::make_shared<EstimateOptions>();
  CommandRow row{.name = "estimate", .help = "Memory and step time of one layout"};
  append_scenario_options(row.options, options->question);
  row.options.push_back({"--explain", "", "Largest tensors and operations, with formula, function and source",
                         &options->explain});
  row.options.push_back({"--allocator",
                         "CONF",
                         "PyTorch's caching allocator, simulated: what it reserves. CONF: words of "
                         "PYTORCH_CUDA_ALLOC_CONF, or default",
                         &options->allocator,
                         {"default"}});
  row.options.push_back({"--memory-snapshot", "FILE",
                         "Write what the simulated allocator does as a snapshot for "
                         "https://pytorch.org/memory_viz, stage n as device n; with --allocator's settings",
                         &options->memory_snapshot});
  row.options.push_back(
      {"--require-fit", "", "Exit with 3 when the layout does not fit", &options->require_fit});
  row.finish = [options] { return *options; };
  return row;
}

}  // namespace hexaplan::cli
