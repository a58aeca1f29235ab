#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "cli/options/command_row.h"
#include "costmodel/units/parse_number.h"
#include "costmodel/units/parse_units.h"
#include "validator/executor/backends/backends.h"

namespace hexaplan::cli {
namespace {

constexpr int kMostSteps = 1'000'000;
constexpr double kLongestTimeout = 86400;
constexpr int kMostGivenRanks = 1 << 20;

struct RunWords {
  std::string steps, warm_up, save_every, memory_limit, timeout, seed, learning_rate, solo_rank, gpus, rank,
      world;
  ExecuteOptions options;
};

double positive_number(const std::string& text, const std::string& flag, double most, const char* expected) {
  const auto value = costmodel::parse_number<double>(text);
  if (!value || !(*value > 0 && *value <= most))
    throw UsageError{fmt::format("{}: got \"{}\", expected {}", flag, text, expected)};
  return *value;
}

/// A device computes in what its row of the table has. Nothing given: as the plan stores activations.
void check_dtype(ExecuteOptions& options) {
  std::vector<std::string_view> known;
  for (const validator::Element element : validator::elements_of_device(options.device))
    known.push_back(validator::name_of(element));
  if (known.empty() || options.dtype.empty()) return;  // of an unknown device the run says so
  if (std::find(known.begin(), known.end(), options.dtype) != known.end()) return;
  throw UsageError{fmt::format("--dtype: got \"{}\", expected {} (what {} computes in)", options.dtype,
                               fmt::join(known, " or "), options.device)};
}

/// A folder of weights has its own config.json, and belongs to the model as that says it.
void check_weights(ExecuteOptions& options) {
  if (options.weights.empty() && options.save_weights.empty()) {
    if (!options.weights_type.empty()) throw UsageError{"--weights-type: needs --save-weights FOLDER"};
    return;
  }
  const char* const flag = options.weights.empty() ? "--save-weights" : "--weights";
  if (options.shrink)
    throw UsageError{fmt::format("{}: holds the model as it is, not what --shrink makes", flag)};
  if (options.noise) throw UsageError{fmt::format("{}: has parameters of its own, --noise none", flag)};
  if (!options.weights.empty() && !options.load.empty())
    throw UsageError{"--weights: --load has parameters already"};
  const bool named = !options.question.model.empty() || !options.question.scenario.empty();
  if (!options.weights.empty() && !named) options.question.model = options.weights;
}

Command checked_run(RunWords words) {
  ExecuteOptions& options = words.options;
  check_weights(options);
  if (!words.steps.empty()) options.steps = step_count(words.steps, kMostSteps);
  if (!words.warm_up.empty()) options.warm_up = whole_number(words.warm_up, "--warmup", kMostSteps);
  if (!words.save_every.empty()) {
    options.save_every = whole_number(words.save_every, "--save-every", kMostSteps);
    if (options.save.empty()) throw UsageError{"--save-every: needs --save FOLDER"};
  }
  check_dtype(options);
  if (!words.memory_limit.empty()) options.memory_limit = memory_limit(words.memory_limit);
  if (!words.timeout.empty()) {
    options.timeout = costmodel::Seconds{
        positive_number(words.timeout, "--timeout", kLongestTimeout, "seconds above 0, at most 86400")};
  }
  if (!words.learning_rate.empty()) {
    options.learning_rate =
        positive_number(words.learning_rate, "--learning-rate", 1e3, "a number above 0, such as 3e-4");
  }
  if (!words.seed.empty()) {
    const auto seed = costmodel::parse_count(words.seed);
    if (!seed) throw UsageError{fmt::format("--seed: got \"{}\", expected a whole number >= 0", words.seed)};
    options.seed = static_cast<std::uint64_t>(*seed);
  }
  if (!words.solo_rank.empty())
    options.solo_rank = whole_number(words.solo_rank, "--solo-rank", kMostGivenRanks);
  if (!words.gpus.empty()) options.gpus = whole_number(words.gpus, "--gpus", kMostGivenRanks);
  if (!words.rank.empty()) options.rank = whole_number(words.rank, "--rank", kMostGivenRanks);
  if (!words.world.empty()) options.world = whole_number(words.world, "--world", kMostGivenRanks);
  return options;
}

/// How many steps, and what they run on.
void append_rank_options(std::vector<OptionRow>& rows, RunWords& words) {
  ExecuteOptions& options = words.options;
  const OptionRow own[] = {
      {"--steps", "N", "Optimizer steps. Default: 1", &words.steps},
      {"--warmup", "N", "Steps before them whose times do not count. Default: 0", &words.warm_up},
      {"--device", "NAME", "Where ranks compute: see 'hexaplan backends'. Default: cpu", &options.device,
       validator::backend_names(validator::BackendRole::Device)},
      {"--dtype",
       "TYPE",
       "What the device computes in: bf16, f16, f32 or f64 (cpu), bf16 or f32 (cuda). Default: as the plan "
       "stores",
       &options.dtype,
       {"f32", "f64", "bf16", "f16"}},
      {"--ranks", "KIND", "What a rank is: see 'hexaplan backends'. Default: threads of this process",
       &options.ranks, validator::backend_names(validator::BackendRole::Ranks)},
      {"--solo-rank", "R", "With --ranks solo: the rank that is real. Default: 0", &words.solo_rank},
      {"--gpus", "N", "With --ranks nccl: GPUs of this process. Default: 1 under a launcher, else all ranks",
       &words.gpus},
      {"--rank", "R", "With --ranks nccl and no launcher: number of this process", &words.rank},
      {"--world", "N", "How many processes there are", &words.world},
      {"--master", "ADDRESS", "Where process 0 listens: host:port", &options.master},
      {"--shrink", "", "Scale the model down, same layout and ratios, so that a laptop can run it",
       &options.shrink},
      {"--report", "FILE", "Keep everything that is measured in FILE (JSON), rewritten after steps",
       &options.report},
      {"--timeline", "", "Bytes by kind over time in the report", &options.timeline},
      {"--memory-limit", "SIZE", "Refuse allocations above SIZE per rank, as a GPU would: 80GiB",
       &words.memory_limit},
      {"--timeout", "SECONDS", "How long a rank waits for another before the run is given up. Default: 120",
       &words.timeout},
  };
  rows.insert(rows.end(), std::begin(own), std::end(own));
}

/// Where training begins, and what is kept of it.
void append_state_options(std::vector<OptionRow>& rows, RunWords& words) {
  ExecuteOptions& options = words.options;
  const OptionRow own[] = {
      {"--save", "FOLDER",
       "Save a checkpoint there after the last step, and after the step in which Ctrl-C or SIGTERM came",
       &options.save},
      {"--save-every", "N", "With --save: a checkpoint after every N steps, too; each is kept",
       &words.save_every},
      {"--load", "FOLDER", "Go on from a checkpoint, under any layout of the same model", &options.load},
      {"--weights", "FOLDER",
       "Begin with the weights of a Hugging Face checkpoint (config.json, safetensors), under any layout",
       &options.weights},
      {"--save-weights", "FOLDER", "Write such a checkpoint after the last step", &options.save_weights},
      {"--weights-type",
       "TYPE",
       "Of the elements that --save-weights writes. Default: F32, or F64 where it computes in f64",
       &options.weights_type,
       {"F64", "F32", "F16", "BF16"}},
      {"--token-file", "FILE",
       "Train on these tokens: whole numbers with blanks between them, or 16 or 32 bits each (FILE.bin, with "
       "the FILE.idx of Megatron-LM if there is one). Default: random",
       &options.token_file},
      {"--seed", "N", "Of initial parameters and random tokens. Default: 1", &words.seed},
      {"--learning-rate", "X", "Of AdamW. Default: 3e-4", &words.learning_rate},
      {"--noise", "",
       "Parameters of noise, made on the device, and experts filled in turn: for times and bytes alone",
       &options.noise},
      {"--store", "FILE", "Keep the report in this history ('hexaplan runs'). Default: the user's",
       &options.store.file},
      {"--no-store", "", "Keep nothing", &options.store.off},
  };
  rows.insert(rows.end(), std::begin(own), std::end(own));
}

}  // namespace

CommandRow run_row() {
  const auto words = std::make_shared<RunWords>();
  CommandRow row{.name = "run", .help = "Execute real training steps of a layout on this machine's ranks"};
  append_scenario_options(row.options, words->options.question);
  append_rank_options(row.options, *words);
  append_state_options(row.options, *words);
  row.finish = [words] { return checked_run(*words); };
  return row;
}

CommandRow backends_row() {
  return {.name = "backends",
          .help = "Devices and kinds of ranks that can execute here, and what the others lack",
          .finish = [] { return BackendsOptions{}; }};
}

}  // namespace hexaplan::cli
