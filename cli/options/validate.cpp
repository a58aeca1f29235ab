#include <fmt/format.h>

#include <memory>

#include "cli/options/command_row.h"

namespace hexaplan::cli {
namespace {

constexpr int kMostMeasuredPlans = 100;
constexpr int kMostMeasuredSteps = 10000;
constexpr int kMostGpusOfPlan = 1'000'000;
constexpr int kLongestValidation = 86400;

struct ValidateWords {
  std::string top, gpus, steps, warm_up, budget, memory_limit;
  JobWords job;
  ValidateOptions options;
};

/// Exactly one way of saying what to run.
void check_sources(const ValidateOptions& o) {
  const bool asked = !o.question.model.empty();
  const int ways = (o.scenarios.empty() ? 0 : 1) + (o.list.empty() ? 0 : 1) + (o.top > 0 || asked ? 1 : 0);
  if (ways == 1) return;
  throw UsageError{
      "validate: needs one of --list NAME, --scenario FILE (several if you like), or --model with a --layout "
      "or with --top N"};
}

Command checked_validate(ValidateWords words) {
  ValidateOptions& o = words.options;
  if (!words.top.empty()) o.top = whole_number(words.top, "--top", kMostMeasuredPlans);
  if (!words.steps.empty()) o.steps = step_count(words.steps, kMostMeasuredSteps);
  if (!words.warm_up.empty()) o.warm_up = whole_number(words.warm_up, "--warmup", kMostMeasuredSteps);
  if (!words.budget.empty()) o.budget = whole_number(words.budget, "--budget", kLongestValidation);
  if (!words.memory_limit.empty()) o.memory_limit = memory_limit(words.memory_limit);
  if (!words.gpus.empty()) o.gpus = whole_number(words.gpus, "--gpus", kMostGpusOfPlan);
  read_job(words.job, o.job);
  check_sources(o);
  if (o.gpus > 0 && o.top == 0)
    throw UsageError{"validate: --gpus says what --top plans for; a layout says itself how many GPUs it has"};
  return o;
}

}  // namespace

CommandRow validate_row() {
  const auto words = std::make_shared<ValidateWords>();
  ValidateOptions& options = words->options;
  CommandRow row{.name = "validate",
                 .help = "Run plans or scenarios on this machine and hold them against their predictions"};
  append_scenario_options(row.options, options.question);
  remove_options(row.options, {"--scenario", "--save-scenario", "--framework"});
  const OptionRow own[] = {
      {"--framework", "NAME",
       "Plans of --top are those for this framework; what it is predicted to take stands beside what the "
       "executor took",
       &options.question.framework},
      {"--scenario", "FILE", "A scenario to run; may be given several times", &options.scenarios},
      {"--list", "NAME", "A list of scenarios: gpu, cpu, or a file", &options.list, {"gpu", "cpu"}},
      {"--top", "N", "The planner's N best plans for --model on this machine", &words->top},
      {"--gpus", "N",
       "With --top: plan for N of them. Default: all that NCCL reaches, in a job its ranks; on cpu one",
       &words->gpus},
      {"--solo", "", "One rank of each kind of pipeline stage alone; messages are imitated", &options.solo},
      {"--device", "NAME", "Where ranks compute. Default: cpu", &options.device, {"cpu", "cuda"}},
      {"--dtype", "TYPE", "What the device computes in. Default: its own", &options.dtype},
      {"--ranks", "KIND",
       "What ranks are where a scenario has several. Default: nccl with a GPU for each, else threads",
       &options.ranks},
      {"--gpu", "NAME", "The GPU preset that the device is. Default: found out", &options.gpu},
      {"--steps", "N", "Measured steps, of which the median counts. Default: 10", &words->steps},
      {"--warmup", "N", "Steps before them. Default: 3", &words->warm_up},
      {"--budget", "SECONDS", "Start no further scenario after that time", &words->budget},
      {"--memory-limit", "SIZE", "Refuse allocations above SIZE per rank: 80GiB", &words->memory_limit},
      {"--terms", "", "Every scenario term by term, not only where there are few", &options.terms},
      {"--html", "FILE", "A page of its own with tables and plots", &options.html},
      {"--csv", "", "The table of scenarios as comma-separated values", &options.csv},
      {"--markdown", "", "The table of scenarios in Markdown", &options.markdown},
      {"--store", "FILE", "Keep the result in this history ('hexaplan runs'). Default: the user's",
       &options.store.file},
      {"--no-store", "", "Keep nothing", &options.store.off},
  };
  row.options.insert(row.options.end(), std::begin(own), std::end(own));
  append_job_options(row.options, words->job, options.job);
  row.finish = [words] { return checked_validate(*words); };
  return row;
}

}  // namespace hexaplan::cli
