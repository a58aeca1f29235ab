#include <fmt/format.h>

#include <memory>

#include "cli/options/command_row.h"

namespace hexaplan::cli {
namespace {

struct MeasureWords {
  std::string action;
  MeasureOptions options;
};

Command checked_measure(const MeasureWords& words) {
  if (words.action != "import")
    throw UsageError{
        fmt::format("measure: got \"{}\", expected import, as in 'hexaplan measure import run.log "
                    "--scenario plan.json'",
                    words.action)};
  if (words.options.files.empty())
    throw UsageError{"measure import: expected what a run left, as in 'hexaplan measure import run.log'"};
  return words.options;
}

}  // namespace

CommandRow measure_row() {
  const auto words = std::make_shared<MeasureWords>();
  CommandRow row{.name = "measure",
                 .help = "Runs of one's own beside their prediction: logs, traces, snapshots"};
  row.options.push_back({"action", "ACTION", "import", &words->action, {"import"}});
  row.options.push_back(
      {"files", "FILE ...",
       "Logs of Megatron-LM, NeMo, torchtitan, DeepSpeed, nanotron or Hugging Face's Trainer; traces of "
       "PyTorch's profiler, one per rank, or of Nsight Systems (nsys export --type sqlite); CUDA memory "
       "snapshots; logs of nvidia-smi --query-gpu … --format=csv; what nccl-tests print",
       &words->options.files});
  row.options.push_back({"--as-row", "", "A CSV table of the measurements that 'hexaplan accuracy' scores",
                         &words->options.as_row});
  append_scenario_options(row.options, words->options.question);
  row.finish = [words] { return checked_measure(*words); };
  return row;
}

}  // namespace hexaplan::cli
