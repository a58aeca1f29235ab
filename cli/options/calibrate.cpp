#include <fmt/format.h>

#include <memory>
#include <string_view>
#include <utility>

#include "cli/options/command_row.h"

namespace hexaplan::cli {
namespace {

constexpr int kMostGpus = 100000;
constexpr int kLongestBudget = 1'000'000;

struct CalibrateWords {
  std::string gpus, budget;
  JobWords job;
  CalibrateOptions options;
};

/// What `reader` names is read, nothing is measured.
void refuse_measuring(const CalibrateWords& words, std::string_view reader) {
  const CalibrateOptions& options = words.options;
  const std::pair<std::string_view, bool> given[] = {
      {"--from", !options.from.empty() && !options.from_runs.empty()},
      {"--quick", options.quick},
      {"--budget", !words.budget.empty()},
      {"--again", options.again},
      {"--gpus", !words.gpus.empty()},
      {"--gpu", !options.gpu.empty()},
      {"--ranks", !options.ranks.empty()},
      {"--store", !options.store.empty()},
      {"--device", options.device != CalibrateOptions{}.device}};
  for (const auto& [flag, said] : given) {
    if (said)
      throw UsageError{
          fmt::format("calibrate: {} reads what was measured, {} measures; give one", reader, flag)};
  }
}

Command checked_calibrate(CalibrateWords words) {
  CalibrateOptions& options = words.options;
  if (!words.gpus.empty()) options.gpus = whole_number(words.gpus, "--gpus", kMostGpus);
  if (!words.budget.empty()) {
    const int seconds = whole_number(words.budget, "--budget", kLongestBudget);
    if (seconds < 1) throw UsageError{"--budget: got \"0\", expected whole seconds from 1"};
    options.budget = costmodel::Seconds{static_cast<double>(seconds)};
  }
  if (!options.from_runs.empty()) refuse_measuring(words, "--from-runs");
  if (!options.from.empty()) refuse_measuring(words, "--from");
  if (options.from_runs.empty() && !options.calibration.empty())
    throw UsageError{"calibrate: --calibration says what --from-runs is held against; give both"};
  if (!options.from.empty() && options.cluster.empty())
    throw UsageError{"calibrate: --from LOG and --cluster belong together: on what did nccl-tests run?"};
  read_job(words.job, options.job);
  return options;
}

}  // namespace

CommandRow calibrate_row() {
  const auto words = std::make_shared<CalibrateWords>();
  CalibrateOptions& options = words->options;
  CommandRow row{
      .name = "calibrate",
      .help =
          "Measure this machine or the GPUs of a job, or read nccl-tests or runs, and write the curves that "
          "predictions use",
      .options =
          {{"--quick", "", "At most 100 s instead of half an hour", &options.quick},
           {"--budget", "SECONDS", "Begin no measurement after that many seconds", &words->budget},
           {"--device", "NAME", "What to measure: see 'hexaplan backends'. Default: cpu", &options.device},
           {"--gpu", "NAME", "GPU preset that it is. Default: by the device's own name", &options.gpu},
           {"--ranks", "KIND", "Ranks that collectives run over. Default: threads on cpu, nccl on cuda",
            &options.ranks},
           {"--gpus", "N",
            "How many of them this process has, 1 alone for no collectives. Default: 2 on cpu, else 1",
            &words->gpus},
           {"--again", "", "Measure what is in the store, too", &options.again},
           {"--from", "LOG", "Read what nccl-tests printed instead of measuring; may be given several times",
            &options.from},
           {"--from-runs", "FILE",
            "Learn from runs of one GPU type and framework: tables of rows, or logs that list their "
            "arguments "
            "with --cluster; may be given several times",
            &options.from_runs},
           {"--calibration", "NAME", "Curves that --from-runs is held against. Default: the GPU type's",
            &options.calibration},
           {"--cluster", "CLUSTER",
            "What is measured or what the logs ran on: 2x8xH100+ib400. Default: nodes as the job has them, "
            "with the "
            "network of the GPU's reference node",
            &options.cluster},
           {"--out", "FILE",
            "Where the result goes. Default: calibration-GPU.json, fabric-GPU.json or "
            "runs-GPU-FRAMEWORK.json",
            &options.out},
           {"--store", "FILE", "Where measurements are kept. Default: in XDG_DATA_HOME", &options.store}},
      .finish = [words] { return checked_calibrate(*words); }};
  append_job_options(row.options, words->job, options.job);
  return row;
}

}  // namespace hexaplan::cli
