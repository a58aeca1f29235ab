#include <memory>

#include "cli/options/command_row.h"

namespace hexaplan::cli {

CommandRow simulate_row() {
  const auto options = std::make_shared<SimulateOptions>();
  CommandRow row{.name = "simulate",
                 .help = "One step as a timeline: who waits for whom, memory over time on every stage"};
  append_scenario_options(row.options, options->question);
  row.options.push_back({"--trace", "FILE",
                         "Write a trace for https://ui.perfetto.dev: binary and with arrows between stages "
                         "as x.pftrace, a Chrome "
                         "trace otherwise",
                         &options->trace});
  row.options.push_back({"--gantt-svg", "FILE", "Write the timeline as a picture", &options->gantt_svg});
  row.options.push_back(
      {"--memory-svg", "FILE", "Write memory over time as a picture", &options->memory_svg});
  row.finish = [options] { return *options; };
  return row;
}

}  // namespace hexaplan::cli
