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
constexpr int kMostGivenRanks = 1 << 20;
constexpr int kMostThreadsOfRank = 1024;

struct RunWords {
  std::string steps, warm_up, save_every, weights_type, memory_limit, seed, solo_rank, gpus, threads;
  JobWords job;
  std::string learning_rate, lr_schedule, lr_warm_up, lr_steps, lr_min;
  std::string beta1, beta2, epsilon, momentum, projection_scale, weight_decay, clip;
  std::string outer_rate, outer_momentum;
  ExecuteOptions options;
};

/// A number of the optimizer as typed: what it may be, and where it goes.
struct TypedNumber {
  const std::string& text;
  const char* flag;
  double least, most;  // `most` itself is too large
  const char* expected;
  double& to;
};
void read_optimizer(const RunWords& words, ExecuteOptions& options) {
  validator::OptimizerOptions& optimizer = options.optimizer;
  const TypedNumber numbers[] = {
      {words.beta1, "--beta1", 0, 1, "a number from 0 to below 1, such as 0.9", optimizer.beta1},
      {words.beta2, "--beta2", 0, 1, "a number from 0 to below 1, such as 0.95", optimizer.beta2},
      {words.epsilon, "--epsilon", 1e-30, 1, "a number above 0 and below 1, such as 1e-8", optimizer.epsilon},
      {words.momentum, "--momentum", 0, 1, "a number from 0 to below 1, such as 0.9", optimizer.momentum},
      {words.projection_scale, "--projection-scale", 1e-30, 1e6, "a number above 0, such as 0.25",
       optimizer.projection_scale},
      {words.outer_rate, "--outer-lr", 1e-30, 1e3, "a number above 0, such as 0.7",
       optimizer.outer_learning_rate},
      {words.outer_momentum, "--outer-momentum", 0, 1, "a number from 0 to below 1, such as 0.9",
       optimizer.outer_momentum},
      {words.weight_decay, "--weight-decay", 0, 1e3, "a number from 0, such as 0.1", optimizer.weight_decay},
      {words.clip, "--clip", 0, 1e30, "a number from 0 (never), such as 1", optimizer.clip_norm},
  };
  for (const TypedNumber& number : numbers) {
    if (number.text.empty()) continue;
    const auto value = costmodel::parse_number<double>(number.text);
    if (!value || !(*value >= number.least && *value < number.most))
      throw UsageError{fmt::format("{}: got \"{}\", expected {}", number.flag, number.text, number.expected)};
    number.to = *value;
    options.optimizer_flags.emplace_back(number.flag);
  }
}

constexpr const char* kDecayWords = "constant, cosine or linear";

/// The learning rate over the steps.
void read_schedule(const RunWords& words, validator::LearningRate& rate) {
  if (!words.learning_rate.empty()) {
    rate.peak = positive_number(words.learning_rate, "--learning-rate", 1e3,
                                "a number above 0 and below 1000, such as 3e-4");
  }
  if (!words.lr_schedule.empty()) {
    const auto decay = validator::decay_named(words.lr_schedule);
    if (!decay)
      throw UsageError{fmt::format("--lr-schedule: got \"{}\", expected {}", words.lr_schedule, kDecayWords)};
    rate.decay = *decay;
  }
  const bool decays = rate.decay != validator::Decay::Constant;
  if (!decays && !(words.lr_steps.empty() && words.lr_min.empty()))
    throw UsageError{fmt::format("{}: needs --lr-schedule cosine or linear",
                                 words.lr_steps.empty() ? "--lr-min" : "--lr-steps")};
  if (!words.lr_warm_up.empty())
    rate.warm_up_steps = whole_number(words.lr_warm_up, "--lr-warmup", kMostSteps);
  if (!words.lr_steps.empty()) {
    rate.total_steps = whole_number(words.lr_steps, "--lr-steps", kMostSteps);
    if (rate.total_steps <= rate.warm_up_steps)
      throw UsageError{fmt::format("--lr-steps: got {}, expected more than the {} of --lr-warmup",
                                   rate.total_steps, rate.warm_up_steps)};
  }
  constexpr double kLowest = 0.1;  // of the peak (arXiv:2307.09288 §2.2)
  rate.lowest = words.lr_min.empty() ? kLowest * rate.peak
                                     : positive_number(words.lr_min, "--lr-min", rate.peak,
                                                       "a number above 0, at most the learning rate");
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
void read_weights(const std::string& type, ExecuteOptions& options) {
  if (!type.empty()) {
    if (options.save_weights.empty()) throw UsageError{"--weights-type: needs --save-weights FOLDER"};
    options.weights_type = presets::stored_type_named(type);
    if (!options.weights_type)
      throw UsageError{fmt::format("--weights-type: got \"{}\", expected {}", type,
                                   fmt::join(presets::stored_type_names(), ", "))};
  }
  if (options.weights.empty() && options.save_weights.empty()) return;
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
  read_weights(words.weights_type, options);
  if (!words.steps.empty()) options.steps = step_count(words.steps, kMostSteps);
  if (!words.warm_up.empty()) options.warm_up = whole_number(words.warm_up, "--warmup", kMostSteps);
  if (!words.save_every.empty()) {
    options.save_every = whole_number(words.save_every, "--save-every", kMostSteps);
    if (options.save.empty()) throw UsageError{"--save-every: needs --save FOLDER"};
  }
  check_dtype(options);
  if (!words.memory_limit.empty()) options.memory_limit = memory_limit(words.memory_limit);
  read_job(words.job, options.job);
  read_schedule(words, options.learning_rate);
  read_optimizer(words, options);
  if (options.shuffle && options.token_file.empty()) throw UsageError{"--shuffle: needs --token-file FILE"};
  if (!words.seed.empty()) {
    const auto seed = costmodel::parse_count(words.seed);
    if (!seed) throw UsageError{fmt::format("--seed: got \"{}\", expected a whole number >= 0", words.seed)};
    options.seed = static_cast<std::uint64_t>(*seed);
  }
  if (!words.solo_rank.empty())
    options.solo_rank = whole_number(words.solo_rank, "--solo-rank", kMostGivenRanks);
  if (!words.gpus.empty()) options.gpus = whole_number(words.gpus, "--gpus", kMostGivenRanks);
  if (!words.threads.empty()) {
    options.threads = whole_number(words.threads, "--threads", kMostThreadsOfRank);
    if (options.threads == 0) throw UsageError{"--threads: got 0, expected at least 1"};
  }
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
      {"--threads", "N",
       "Of each rank's operations on the host, which give the same numbers on any number. Default: the "
       "processors that this process may use, dealt out to the host's ranks",
       &words.threads},
      {"--shrink", "", "Scale the model down, same layout and ratios, so that a laptop can run it",
       &options.shrink},
      {"--report", "FILE", "Keep everything that is measured in FILE (JSON), rewritten after steps",
       &options.report},
      {"--timeline", "", "Bytes by kind over time in the report", &options.timeline},
      {"--memory-limit", "SIZE", "Refuse allocations above SIZE per rank, as a GPU would: 80GiB",
       &words.memory_limit},
  };
  rows.insert(rows.end(), std::begin(own), std::end(own));
  append_job_options(rows, words.job, options.job);
}

/// The optimizer's numbers and its learning rate.
void append_optimizer_options(std::vector<OptionRow>& rows, RunWords& words) {
  const OptionRow own[] = {
      {"--learning-rate", "X", "Of the optimizer. Default: 3e-4", &words.learning_rate},
      {"--lr-schedule",
       "WORD",
       "How it falls after its warm-up: constant, cosine or linear. Default: constant",
       &words.lr_schedule,
       {"constant", "cosine", "linear"}},
      {"--lr-warmup", "N", "Steps in which it rises from 0. Default: 0", &words.lr_warm_up},
      {"--lr-steps", "N", "Step at which it has fallen, counted over checkpoints. Default: the last",
       &words.lr_steps},
      {"--lr-min", "X", "What it falls to. Default: a tenth of the learning rate", &words.lr_min},
      {"--beta1", "X", "Of all but SGD and Adafactor. Default: 0.9", &words.beta1},
      {"--beta2", "X", "Of all but SGD and Adafactor. Default: 0.95", &words.beta2},
      {"--epsilon", "X", "Of all but SGD, Lion and Adafactor. Default: 1e-5", &words.epsilon},
      {"--momentum", "X", "Of SGD and Muon. Default: 0.95", &words.momentum},
      {"--projection-scale", "X",
       "What GaLore's steps, and the squares of APOLLO's, are multiplied by. Default: 0.25; apollo 1; "
       "apollo-mini 128",
       &words.projection_scale},
      {"--outer-lr", "X", "Learning rate of outer steps. Default: 0.7", &words.outer_rate},
      {"--outer-momentum", "X", "Nesterov's momentum of outer steps. Default: 0.9", &words.outer_momentum},
      {"--weight-decay", "X", "On matrices. Default: 0.1", &words.weight_decay},
      {"--clip", "X", "Norm that gradients are clipped to, 0 for never. Default: 1", &words.clip},
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
      {"--weights-type", "TYPE",
       "Of the elements that --save-weights writes. Default: F32, or F64 where it computes in f64",
       &words.weights_type, presets::stored_type_names()},
      {"--token-file", "FILE",
       "Train on these tokens: whole numbers with blanks between them, or 16 or 32 bits each (FILE.bin, with "
       "the FILE.idx of Megatron-LM if there is one). Default: random",
       &options.token_file},
      {"--shuffle", "", "Take the token file's sequences in a random order, another one every time round",
       &options.shuffle},
      {"--seed", "N", "Of initial parameters and random tokens. Default: 1", &words.seed},
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
  append_optimizer_options(row.options, *words);
  row.finish = [words] { return checked_run(*words); };
  return row;
}

CommandRow backends_row() {
  return {.name = "backends",
          .help = "Devices and kinds of ranks that can execute here, and what the others lack",
          .finish = [] { return BackendsOptions{}; }};
}

}  // namespace hexaplan::cli
