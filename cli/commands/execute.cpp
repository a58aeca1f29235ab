#include "cli/commands/execute.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <iterator>
#include <thread>
#include <utility>

#include "cli/commands/host_memory.h"
#include "cli/commands/interrupts.h"
#include "cli/commands/job.h"
#include "cli/commands/machines.h"
#include "cli/commands/question.h"
#include "cli/commands/ready_device.h"
#include "cli/commands/report_file.h"
#include "cli/commands/weight_files.h"
#include "cli/write_file.h"
#include "costmodel/memory/outer_states.h"
#include "costmodel/spec/optimizer_traits.h"
#include "costmodel/spec/rules.h"
#include "costmodel/step/estimate.h"
#include "costmodel/units/format_units.h"
#include "presets/json/input_error.h"
#include "presets/json/spec_names.h"
#include "presets/json/vocabulary.h"
#include "presets/models/model_dimensions.h"
#include "presets/models/model_text.h"
#include "presets/tokens/token_file.h"
#include "validator/executor/backends/backends.h"
#include "validator/executor/checkpoint/sharded_state.h"
#include "validator/executor/communicator/bootstrap/bootstrap_error.h"
#include "validator/executor/communicator/bootstrap/launcher.h"
#include "validator/executor/communicator/mpi/mpi_ranks.h"
#include "validator/executor/device/cpu/thread_team.h"
#include "validator/executor/device/device.h"
#include "validator/executor/step/run_steps.h"
#include "validator/executor/step/shrink.h"

namespace hexaplan::cli {

using costmodel::Bytes;
using presets::InputError;
using validator::ExecutionReport;
using validator::RankFault;

namespace {

constexpr std::chrono::seconds kLinger{10};
constexpr std::int64_t kShrunkRanks = 64;  // threads that a laptop runs

/// Where the device computes in another type than the plan stores: it rounds to none of the plan's, or, in 16
/// bits on the CPU, to the plan's after every operation.
std::string other_arithmetic(const ExecutionQuestion& question) {
  const costmodel::DType planned = costmodel::activation_dtype(question.scenario.recipe.precision);
  constexpr std::pair<std::string_view, std::string_view> kWords[] = {
      {"f64", "float64"}, {"f32", "float32"}, {"bf16", "bfloat16"}, {"f16", "float16"}};
  const auto* const words = std::find_if(std::begin(kWords), std::end(kWords),
                                         [&](const auto& row) { return row.first == question.dtype; });
  if (words == std::end(kWords)) return {};  // of an unknown device the run says so
  if (question.dtype == name_of(validator::planned_element(planned))) {
    const bool rounds = question.device == kHostDevice && costmodel::bits_per_element(planned) == 16;
    if (!rounds) return {};
    return fmt::format("computed in float32 on the CPU; every operation rounds its result to {}",
                       words->second);
  }
  return fmt::format("computed in {} on the {}; bytes are counted as {}", words->second,
                     question.device == "cpu" ? "CPU" : "GPU",
                     presets::name_in(presets::kDTypeNames, planned));
}

/// The scenario as the executor runs it: with its own profile, on as many stand-in GPUs as the layout needs
/// when no cluster is named (rules ask for one; nothing is priced).
ExecutionQuestion ask_for_execution(const ExecuteOptions& options, presets::ScenarioRequest asked) {
  ExecutionQuestion question{.device = options.device, .dtype = options.dtype, .ranks = options.ranks};
  question.seed = options.seed;
  question.shrunk = options.shrink;
  presets::ScenarioRequest& request = question.request;
  request = std::move(asked);
  if (!request.framework.empty() && request.framework != kExecutor) {
    question.notes.push_back(
        fmt::format("executed as Hexaplan's own executor does it; {} is not imitated", request.framework));
  }
  request.framework = kExecutor;
  if (request.cluster.is_null()) {
    request.cluster = stand_in_cluster(request.layout.layout.world_size());
    question.notes.push_back("no cluster was named: one GPU per rank stands for it");
  }
  auto [scenario, notes] = resolve_request(request, options.question);
  question.scenario = std::move(scenario);
  const costmodel::DType stored = costmodel::activation_dtype(question.scenario.recipe.precision);
  const std::optional<validator::Element> element = validator::default_element(question.device, stored);
  if (question.dtype.empty() && element) question.dtype = name_of(*element);
  question.arithmetic = other_arithmetic(question);
  question.notes.insert(question.notes.end(), notes.begin(), notes.end());
  return question;
}

validator::TokenSource read_tokens(const ExecuteOptions& options, const costmodel::Scenario& scenario) {
  const std::string& path = options.token_file;
  std::vector<std::int32_t> tokens = presets::read_token_file(path, scenario.model.vocab);
  if (static_cast<std::int64_t>(tokens.size()) <= scenario.recipe.sequence) {
    throw InputError{{.file = path,
                      .value = fmt::format("{} tokens", tokens.size()),
                      .expected = fmt::format("more than one sequence ({})", scenario.recipe.sequence)}};
  }
  return validator::TokenSource::from_tokens(std::move(tokens), scenario.recipe.sequence,
                                             options.shuffle ? std::optional{options.seed} : std::nullopt);
}

costmodel::Estimate predicted(const costmodel::Scenario& scenario) {
  return costmodel::estimate_step(scenario, {});
}

/// Which of the ranks that mpirun has started are on this host. Where no launcher says it, other hosts may
/// hold all but one.
HostRanks ranks_here() {
  const auto here = validator::find_local_processes(validator::process_environment());
  return here ? HostRanks{here->first, here->count} : HostRanks{};
}

bool all_ranks_are_here(std::int64_t ranks) {
  return ranks_here().count == ranks;
}

bool is_solo(const ExecuteOptions& options) {
  return options.ranks == "solo";
}

[[noreturn]] void refuse_job(const ExecuteOptions& options, const validator::BootstrapError& error) {
  throw InputError{
      {.field = "--ranks", .value = options.ranks, .expected = "a job that can begin", .hint = error.what()}};
}

/// Hugging Face's layout of a model has no place for what stands beside it.
void refuse_to_save_adapters(const ExecuteOptions& options, const costmodel::Scenario& scenario) {
  if (options.save_weights.empty() || !costmodel::trains_adapters(scenario.recipe)) return;
  throw InputError{{.field = "--save-weights",
                    .value = presets::in_quotes(options.save_weights),
                    .expected = "a model that is trained in full",
                    .hint = "adapters are kept in a checkpoint: --save FOLDER"}};
}

/// Checkpoints hold states per parameter, and a number per row and column.
void refuse_to_save_subspaces(const ExecuteOptions& options, const costmodel::Scenario& scenario) {
  const bool saves = !options.save.empty();
  const costmodel::OptimizerTraits& traits = costmodel::traits_of(scenario.recipe.optimizer);
  if ((!saves && options.load.empty()) || (!traits.projects() && !traits.preconditions())) return;
  throw InputError{{.field = saves ? "--save" : "--load",
                    .value = presets::in_quotes(saves ? options.save : options.load),
                    .expected = "an optimizer whose states a checkpoint holds",
                    .hint = "subspaces of GaLore and APOLLO with the moments in them, and second moments of "
                            "rows and columns of Shampoo and SOAP, are not kept: use another optimizer, or "
                            "--save-weights and --weights"}};
}

/// Checkpoints hold one state of everything; replicas that train apart have one each, and outer steps two
/// more.
void refuse_to_save_replicas(const ExecuteOptions& options, const costmodel::Scenario& scenario) {
  const bool saves = !options.save.empty();
  if ((!saves && options.load.empty()) || !scenario.recipe.outer.taken()) return;
  throw InputError{{.field = saves ? "--save" : "--load",
                    .value = presets::in_quotes(saves ? options.save : options.load),
                    .expected = "a run without outer steps",
                    .hint =
                        "every replica has moments of its own, and outer steps have a copy and a momentum, "
                        "which a checkpoint does not hold: use --save-weights and --weights"}};
}

/// Between outer steps every replica has weights of its own.
void refuse_weights_of_one_replica(const ExecuteOptions& options, const costmodel::Scenario& scenario) {
  const std::int64_t every = scenario.recipe.outer.every, steps = options.warm_up + options.steps;
  if (options.save_weights.empty() || every == 0 || steps % every == 0) return;
  throw InputError{{.field = "--save-weights",
                    .value = presets::in_quotes(options.save_weights),
                    .expected = fmt::format("a number of steps that {} divides", every),
                    .hint = "replicas have weights of their own until their next outer step: --steps"}};
}

/// What --save-weights writes as config.json; a model of dimensions alone has none.
presets::JsonValue config_to_save(const ExecuteOptions& options, const presets::JsonValue& model) {
  if (options.save_weights.empty()) return {};
  const auto* text = model.get_if<std::string>();
  if (text != nullptr && presets::is_model_text(*text)) {
    throw InputError{{.field = "--save-weights",
                      .value = presets::in_quotes(options.save_weights),
                      .expected = "a model with a config.json: a preset, a file or a folder",
                      .hint = "a model of dimensions is kept in a checkpoint: --save FOLDER"}};
  }
  return presets::model_config(model);
}

/// Which optimizers ask for a number. Muon steps with AdamW where there is nothing to orthogonalise.
struct OptimizerNumber {
  std::string_view flag;
  bool (*asked)(costmodel::Optimizer optimizer);
};
bool has_momentum(costmodel::Optimizer optimizer) {
  return optimizer == costmodel::Optimizer::Sgd || optimizer == costmodel::Optimizer::Muon;
}
/// Adafactor's decay follows from the step, and its epsilon is a constant.
bool has_betas(costmodel::Optimizer optimizer) {
  return optimizer != costmodel::Optimizer::Sgd && optimizer != costmodel::Optimizer::Adafactor;
}
constexpr OptimizerNumber kOptimizerNumbers[] = {
    {"--beta1", has_betas},
    {"--beta2", has_betas},
    {"--epsilon",
     [](costmodel::Optimizer optimizer) {
       return has_betas(optimizer) && optimizer != costmodel::Optimizer::Lion;
     }},
    {"--momentum", has_momentum},
    {"--projection-scale",
     [](costmodel::Optimizer optimizer) { return costmodel::traits_of(optimizer).projects(); }},
};

void refuse_idle_numbers(const ExecuteOptions& options, const costmodel::Recipe& recipe) {
  const auto typed = [&](std::string_view flag) {
    return std::ranges::find(options.optimizer_flags, flag) != options.optimizer_flags.end();
  };
  if (recipe.optimizer_in_backward && typed("--clip") && options.optimizer.clip_norm > 0)
    throw InputError{{.field = "--clip",
                      .value = fmt::format("{}", options.optimizer.clip_norm),
                      .expected = "0",
                      .hint = "updates in backward come before the norm of all gradients is known: leave the "
                              "flag out, or say --optimizer-in-backward false"}};
  for (const std::string_view flag : {"--outer-lr", "--outer-momentum"}) {
    if (!typed(flag) || recipe.outer.taken()) continue;
    throw InputError{{.field = std::string{flag},
                      .value = "a value",
                      .expected = "none",
                      .hint = "it would change nothing: no outer steps are taken (--outer-steps)"}};
  }
  for (const OptimizerNumber& number : kOptimizerNumbers) {
    if (!typed(number.flag) || number.asked(recipe.optimizer)) continue;
    throw InputError{{.field = std::string{number.flag},
                      .value = "a value",
                      .expected = "none",
                      .hint = fmt::format("it would change nothing: {} has no such number",
                                          presets::name_in(presets::kOptimizerNames, recipe.optimizer))}};
  }
}

/// A GPU's rank has threads for what it keeps on the host.
void refuse_idle_threads(const ExecuteOptions& options, const costmodel::Recipe& recipe) {
  const bool offloads = recipe.offload != 0 || costmodel::outer_states_on_host(recipe.outer) > 0;
  if (options.threads == 0 || options.device == kHostDevice || offloads) return;
  throw InputError{{.field = "--threads",
                    .value = std::to_string(options.threads),
                    .expected = "none",
                    .hint = fmt::format("it would change nothing: {} computes, and nothing is offloaded",
                                        options.device)}};
}

void check_solo(const ExecuteOptions& options, std::int64_t ranks) {
  if (options.solo_rank >= ranks) {
    throw InputError{{.field = "--solo-rank",
                      .value = std::to_string(options.solo_rank),
                      .expected = fmt::format("a rank of the layout, 0 to {}", ranks - 1)}};
  }
  const bool checkpoint = !options.save.empty();
  if (checkpoint || !options.save_weights.empty()) {
    throw InputError{{.field = checkpoint ? "--save" : "--save-weights",
                      .value = presets::in_quotes(checkpoint ? options.save : options.save_weights),
                      .expected = "a run with all of its ranks",
                      .hint = "--ranks solo has one rank's shard only"}};
  }
}

std::unique_ptr<validator::RankBackend> make_ranks(const ExecuteOptions& options) {
  try {
    return validator::make_rank_backend(
        options.ranks,
        {.solo_rank = options.solo_rank, .gpus = options.gpus, .launch = launch_flags(options.job)});
  } catch (const validator::BootstrapError& error) {
    refuse_job(options, error);
  }
}

std::unique_ptr<validator::RankBackend> rank_backend(const ExecuteOptions& options, std::int64_t ranks) {
  if (options.ranks == "mpi" && ranks > 1 && !validator::launched_by_mpi()) {
    throw InputError{{.field = "--ranks",
                      .value = "mpi",
                      .expected = "to be started by mpirun",
                      .hint = fmt::format("mpirun -np {} hexaplan run …", ranks)}};
  }
  auto backend = make_ranks(options);
  if (backend != nullptr) return backend;
  std::vector<std::string> known;
  for (const validator::BackendState& state : validator::list_backends()) {
    if (state.role != validator::BackendRole::Ranks) continue;
    if (state.name == options.ranks) {
      throw InputError{
          {.field = "--ranks", .value = state.name, .expected = state.detail, .hint = state.remedy}};
    }
    known.push_back(state.name);
  }
  throw InputError{{.field = "--ranks",
                    .value = presets::in_quotes(options.ranks),
                    .expected = fmt::format("{}", fmt::join(known, " or "))}};
}

/// What of a fault somebody can act on: an out-of-memory error against the prediction.
std::string advice_for(const RankFault& fault, const ExecutionQuestion& question) {
  if (!fault.original) return {};
  try {
    std::rethrow_exception(fault.original);
  } catch (const validator::OutOfMemory& error) {
    const costmodel::Estimate estimate = predicted(question.scenario);
    const auto at = costmodel::coordinates_of(question.scenario.layout, fault.fault.rank);
    const auto stage = static_cast<std::size_t>(at[static_cast<std::size_t>(costmodel::Axis::Pipeline)]);
    const Bytes peak = estimate.stages.at(stage).allocated;
    const Bytes limit{static_cast<double>(error.limit_bytes())};
    return fmt::format(
        "predicted peak of stage {}: {} bytes; the limit is {} ({}), {} free when {} was asked for", stage,
        costmodel::whole(peak), error.limit_bytes(),
        peak > limit ? "as predicted, it does not fit" : "it was predicted to fit",
        error.limit_bytes() - error.live_bytes(), error.requested_bytes());
  } catch (...) {
    return {};
  }
}

bool ran_out_of_memory(const RankFault& fault) {
  if (!fault.original) return false;
  try {
    std::rethrow_exception(fault.original);
  } catch (const validator::OutOfMemory&) {
    return true;
  } catch (...) {
    return false;
  }
}

/// The rank that speaks for all after a fault: the one that knows best, of those that live.
int speaker_after(const validator::Fault& fault) {
  const bool lives =
      fault.cause == validator::FaultCause::Threw || fault.cause == validator::FaultCause::Mismatch;
  if (lives) return fault.rank;
  return fault.rank == 0 ? 1 : 0;
}

/// One run: its hooks and what they keep.
class Execution {
 public:
  Execution(const ExecuteOptions& options, presets::ScenarioRequest request, std::string output, bool quiet)
      : options_{options},
        request_{std::move(request)},
        output_{std::move(output)},
        shows_progress_{!quiet && isatty(STDERR_FILENO) != 0},
        file_{options.report} {}

  ExecutionResult run() {
    static_cast<void>(ready_device(options_.device));
    result_.question = ask_for_execution(options_, request_);
    costmodel::Scenario& scenario = result_.question.scenario;
    result_.rejected = costmodel::first_rejection(scenario);
    if (options_.shrink && !result_.rejected)
      scenario = validator::shrink(scenario, is_solo(options_) ? scenario.layout.world_size() : kShrunkRanks);
    if (!result_.rejected) result_.rejected = validator::first_not_executable(scenario);
    if (result_.rejected) return result_;
    if (is_solo(options_)) check_solo(options_, scenario.layout.world_size());
    refuse_idle_threads(options_, scenario.recipe);
    if (options_.device == kHostDevice) result_.rejected = refused_by_host(scenario);
    if (result_.rejected) return result_;
    backend_ = rank_backend(options_, scenario.layout.world_size());
    speaks_ = first_rank() == 0;
    check_ranks();
    check_one_host(scenario.layout.world_size());
    check_outputs();
    const validator::RunOptions run_options = make_run_options();
    if (first_rank() == 0) file_.begin(result_.question, result_.report);
    try {
      result_.report = validator::run_steps(scenario, run_options, *backend_);
      result_.speaks = first_rank() == 0;
      ended();
    } catch (const RankFault& fault) {
      failed(fault);
    } catch (const validator::BootstrapError& error) {
      refuse_job(options_, error);
    }
    return result_;
  }

  /// What comes after the first signal: a checkpoint, where one was asked for.
  [[nodiscard]] AfterSignal after_signal() const {
    return options_.save.empty() ? AfterSignal::End : AfterSignal::GoOn;
  }

  /// On a thread of its own; where nothing is to be saved the process ends right after it.
  void interrupted(int signal) {
    if (fails_ || !speaks_) return;
    if (after_signal() == AfterSignal::GoOn) {
      signal_ = signal;
      fmt::print(stderr, "\nhexaplan: {}: a checkpoint is saved after this step; a second one ends at once\n",
                 name_of_signal(signal));
      return;
    }
    file_.add_fault("interrupted", -1, fmt::format("ended by signal {}", signal));
    fmt::print(stderr, "\nhexaplan: interrupted by signal {}{}\n", signal,
               options_.report.empty() ? "" : "; what was measured is in " + options_.report);
  }

 private:
  [[nodiscard]] int first_rank() const { return backend_->first_local_rank(); }

  [[nodiscard]] HostRanks ranks_on_host() const {
    const std::int64_t world = result_.question.scenario.layout.world_size();
    if (is_solo(options_)) return {options_.solo_rank, 1};
    if (options_.ranks == "mpi") return ranks_here();
    // Processes that a launcher started have a GPU each, or the ranks are this process's.
    return backend_ != nullptr && backend_->fixed_ranks() != 0 ? ranks_here() : HostRanks{0, world};
  }

  [[nodiscard]] std::optional<costmodel::Rejected> refused_by_host(
      const costmodel::Scenario& scenario) const {
    const std::optional<validator::Element> element = validator::element_named(result_.question.dtype);
    return too_large_for_host(scenario, element.value_or(validator::Element::F32), ranks_on_host(),
                              free_host_memory());
  }

  [[nodiscard]] int threads() const {
    return options_.threads > 0 ? options_.threads : validator::threads_per_rank(ranks_on_host().count);
  }

  void check_ranks() const {
    const std::int64_t wanted = result_.question.scenario.layout.world_size();
    const int there = backend_->fixed_ranks();
    if (there == 0 || there == wanted) return;
    throw InputError{{.field = "--ranks",
                      .value = fmt::format("{} rank{} of {}", there, there == 1 ? "" : "s", options_.ranks),
                      .expected = fmt::format("the {} of the layout", wanted),
                      .hint = options_.ranks == "mpi"
                                  ? fmt::format("mpirun -np {} hexaplan run …", wanted)
                                  : fmt::format("start {} processes, or give each --gpus N", wanted)}};
  }

  /// Processes put their elements into the same mapped files.
  void check_one_host(std::int64_t ranks) const {
    if (options_.save_weights.empty() || options_.ranks != "mpi" || all_ranks_are_here(ranks)) return;
    throw InputError{{.field = "--save-weights",
                      .value = presets::in_quotes(options_.save_weights),
                      .expected = "a run with all of its ranks on one host",
                      .hint = "save a checkpoint (--save) and load it there"}};
  }

  /// Before hours of work. Other processes may run on hosts that do not have these folders.
  void check_outputs() const {
    for (const std::string& folder : {options_.save, options_.save_weights})
      if (!folder.empty()) check_output_folder(folder);
    if (first_rank() == 0) check_output(output_);
  }

  /// All ranks have returned.
  void ended() {
    if (!result_.report.complete) result_.signal = signal_;
    if (!result_.speaks) return;
    file_.finish(result_.report);
    if (result_.signal != 0) {
      file_.add_fault(
          "interrupted", -1,
          fmt::format("ended by {} after step {}; its checkpoint is in {}", name_of_signal(result_.signal),
                      result_.report.steps.back().step, options_.save));
    }
    result_.report_problem = file_.problem();
  }

  [[nodiscard]] bool saves_after(const validator::RankView& rank) const {
    const std::int64_t every = options_.save_every;
    return rank.last || (every > 0 && (rank.step - result_.question.first_step) % every == 0);
  }

  validator::RunOptions make_run_options() {
    const costmodel::Scenario& scenario = result_.question.scenario;
    validator::RunOptions run{.steps = options_.steps, .warm_up = options_.warm_up, .seed = options_.seed};
    if (options_.noise) {
      run.initial = validator::InitialValues::Noise;
      run.profile = true;
      run.checks_numbers = false;
      run.routing = validator::Routing::InTurn;  // sizes that a prediction knows
    }
    run.optimizer = options_.optimizer;
    run.ranks.timeout = options_.job.timeout;
    run.ranks.run = options_.job.run;
    if (is_solo(options_)) {
      run.routing = validator::Routing::InTurn;  // experts evenly filled: nobody else's choice is known
      run.checks_numbers = false;
      result_.question.notes.push_back(fmt::format(
          "rank {} of {} is real; what the others would send is made up, so that loss and gradient norm "
          "mean nothing, while sizes, order and counts are those of the whole job",
          options_.solo_rank, scenario.layout.world_size()));
    }
    run.host_threads = threads();
    run.memory_limit = options_.memory_limit;
    run.keep_timeline = options_.timeline;
    const validator::Element element = validator::element_named(result_.question.dtype).value();
    run.make_device = [this, element, count = run.host_threads](int rank) {
      return validator::make_device(options_.device, element,
                                    {.gpu = backend_->gpu_of(rank), .threads = count});
    };
    if (!options_.token_file.empty()) run.tokens = read_tokens(options_, scenario);
    if (!options_.load.empty()) {
      checkpoint_ = std::make_unique<validator::CheckpointReader>(validator::find_checkpoint(options_.load));
      run.first_step = result_.question.first_step = checkpoint_->header().step;
      run.loaded = [this](const validator::RankView& rank) { load_checkpoint(*checkpoint_, rank); };
    }
    refuse_to_save_adapters(options_, scenario);
    refuse_to_save_subspaces(options_, scenario);
    refuse_to_save_replicas(options_, scenario);
    refuse_weights_of_one_replica(options_, scenario);
    refuse_idle_numbers(options_, scenario.recipe);
    weights_ = std::make_unique<WeightFiles>(options_, scenario.model,
                                             config_to_save(options_, result_.question.request.model));
    if (weights_->loads()) run.loaded = [this](const validator::RankView& rank) { weights_->load(rank); };
    run.learning_rate = options_.learning_rate;
    if (run.learning_rate.total_steps == 0)
      run.learning_rate.total_steps = run.first_step + run.warm_up + run.steps;
    run.stepped = [this](const validator::RankView& rank) {
      if (!options_.save.empty() && saves_after(rank)) save_checkpoint(options_.save, rank);
      if (weights_->saves() && rank.last) weights_->save(rank);
    };
    if (!options_.save.empty()) run.stop = [this] { return signal_ != 0; };
    run.progress = [this](const ExecutionReport& so_far) { progressed(so_far); };
    return run;
  }

  void progressed(const ExecutionReport& so_far) {
    result_.report = so_far;
    file_.keep(so_far);
    if (!shows_progress_) return;
    const validator::StepReport& step = so_far.steps.back();
    const std::int64_t steps = options_.warm_up + options_.steps;
    const auto left = static_cast<double>(steps) - static_cast<double>(so_far.steps.size());
    fmt::print(stderr, "\rstep {} of {}: loss {:.4f}, gradient norm {:.3f}, {}; {} left   ", step.step,
               result_.question.first_step + steps, step.loss, step.gradient_norm,
               costmodel::format_duration(step.time), costmodel::format_duration(step.time * left));
    if (left == 0) fmt::print(stderr, "\n");
    std::fflush(stderr);
  }

  void failed(const RankFault& fault) {
    fails_ = true;
    result_.report.complete = false;
    result_.report.fault = fault.fault;
    result_.out_of_memory = ran_out_of_memory(fault);
    result_.advice = advice_for(fault, result_.question);
    result_.must_end = fault.ranks_left_behind;
    result_.speaks = backend_->holds(speaker_after(fault.fault));
    if (first_rank() == 0) {
      file_.finish(result_.report);
      result_.report_problem = file_.problem();
    } else if (result_.speaks) {
      file_.add_fault(name_of(fault.fault.cause), fault.fault.rank, fault.what());
    }
    // The first to leave takes the others with it: mpirun ends them. Let the one that speaks come first.
    if (!result_.speaks) std::this_thread::sleep_for(kLinger);
  }

  const ExecuteOptions& options_;
  presets::ScenarioRequest request_;
  std::string output_;
  bool shows_progress_;
  ReportFile file_;
  std::unique_ptr<validator::RankBackend> backend_;
  std::unique_ptr<validator::CheckpointReader> checkpoint_;
  std::unique_ptr<WeightFiles> weights_;
  ExecutionResult result_;
  std::atomic<bool> fails_{false}, speaks_{true};
  std::atomic<int> signal_{0};  // that asked for a checkpoint and the end
};

ExecutionResult result_of(std::unique_ptr<Execution>& execution) {
  try {
    ExecutionResult result = execution->run();
    // Ranks that could not be stopped may still look at it.
    if (result.must_end) (void)execution.release();
    return result;
  } catch (const validator::CheckpointError& error) {
    throw InputError{{.field = "--load", .value = error.what(), .expected = "a checkpoint of this model"}};
  }
}

}  // namespace

ExecutionResult run_execution(const ExecuteOptions& options, const std::string& output, bool quiet) {
  auto execution = std::make_unique<Execution>(options, read_request(options.question), output, quiet);
  // Before MPI starts threads of its own, which would take the signals.
  const Interrupts interrupts{[&run = *execution](int signal) { run.interrupted(signal); },
                              execution->after_signal()};
  return result_of(execution);
}

ExecutionResult run_execution(const ExecuteOptions& options, const presets::ScenarioRequest& request,
                              bool quiet) {
  auto execution = std::make_unique<Execution>(options, request, std::string{}, quiet);
  return result_of(execution);
}

bool wants_supervisor(const ExecuteOptions& options) {
  return options.ranks == "mpi" && validator::launched_by_mpi();
}

void report_death(const ExecuteOptions& options, const validator::RankDeath& death) {
  ReportFile{options.report}.add_fault("died", death.rank, death.text());
  fmt::print(stderr, "hexaplan: {}; the other ranks end\n", death.text());
  if (!options.report.empty()) fmt::print(stderr, "  what was measured is in {}\n", options.report);
}

}  // namespace hexaplan::cli
