#include <fmt/format.h>

#include <memory>

#include "cli/options/command_row.h"

namespace hexaplan::cli {
namespace {

constexpr int kMostGpus = 100000;
constexpr int kLongestBudget = 1'000'000;

struct CalibrateWords {
  std::string gpus, budget;
  CalibrateOptions options;
};

Command checked_calibrate(CalibrateWords words) {
  CalibrateOptions& options = words.options;
  if (!words.gpus.empty()) options.gpus = whole_number(words.gpus, "--gpus", kMostGpus);
  if (!words.budget.empty()) {
    const int seconds = whole_number(words.budget, "--budget", kLongestBudget);
    if (seconds < 1) throw UsageError{"--budget: got \"0\", expected whole seconds from 1"};
    options.budget = costmodel::Seconds{static_cast<double>(seconds)};
  }
  if (options.from.empty() != options.cluster.empty())
    throw UsageError{"calibrate: --from LOG and --cluster belong together: on what did nccl-tests run?"};
  return options;
}

}  // namespace

CommandRow calibrate_row() {
  const auto words = std::make_shared<CalibrateWords>();
  CalibrateOptions& options = words->options;
  return {
      .name = "calibrate",
      .help = "Measure this machine, or read nccl-tests, and write the curves that predictions use",
      .options =
          {{"--quick", "", "At most 100 s instead of half an hour", &options.quick},
           {"--budget", "SECONDS", "Begin no measurement after that many seconds", &words->budget},
           {"--device", "NAME", "What to measure: see 'hexaplan backends'. Default: cpu", &options.device},
           {"--gpu", "NAME", "GPU preset that it is. Default: by the device's own name", &options.gpu},
           {"--ranks", "KIND", "Ranks that collectives run over. Default: threads on cpu, nccl on cuda",
            &options.ranks},
           {"--gpus", "N", "How many of them, 1 for no collectives. Default: 2 on cpu, else 1", &words->gpus},
           {"--again", "", "Measure what is in the store, too", &options.again},
           {"--from", "LOG", "Read what nccl-tests printed instead of measuring; may be given several times",
            &options.from},
           {"--cluster", "CLUSTER", "What those logs ran on, such as 2x8xH100+ib400", &options.cluster},
           {"--out", "FILE", "Where the curves go. Default: calibration-GPU.json, or fabric-GPU.json",
            &options.out},
           {"--store", "FILE", "Where measurements are kept. Default: in XDG_DATA_HOME", &options.store}},
      .finish = [words] { return checked_calibrate(*words); }};
}

}  // namespace hexaplan::cli
