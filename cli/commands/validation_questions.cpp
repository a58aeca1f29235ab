#include "cli/commands/validation_questions.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "cli/commands/execute.h"
#include "cli/commands/host_memory.h"
#include "cli/commands/job.h"
#include "cli/commands/question.h"
#include "cli/commands/ready_device.h"
#include "cli/commands/search.h"
#include "costmodel/spec/rules.h"
#include "presets/gpus/gpu_preset.h"
#include "presets/json/input_error.h"
#include "presets/json/json_value.h"
#include "presets/json/read_json.h"
#include "presets/scenario/recompute_text.h"
#include "presets/validation/validation_list.h"
#include "validator/executor/backends/backends.h"
#include "validator/executor/step/run_steps.h"

namespace hexaplan::cli {

using presets::InputError;
using presets::JsonArray;
using presets::JsonObject;
using presets::JsonValue;
using presets::ScenarioRequest;
using validator::ScenarioUse;

namespace {

constexpr const char* kStandIn = "cpu";  // preset that the curves of a calibrated host refer to

constexpr const char* kThreads = "threads";
constexpr const char* kNccl = "nccl";

/// How many GPUs plans are for, and why so many.
void count_gpus(const ValidateOptions& options, Hardware& hardware) {
  const bool host = options.device == kHostDevice;
  const validator::BackendState nccl = validator::find_backend(kNccl).value_or(validator::BackendState{});
  if (!host) hardware.linked = nccl.gpus;
  if (!host) hardware.job = job_of_several(options.job);
  if (hardware.job) {
    hardware.speaks = hardware.job->process == 0;
    hardware.linked = hardware.job->processes;
  }
  const bool links = options.ranks.empty() || options.ranks == kNccl;
  std::string why = "; --gpus N or --cluster for more";
  if (options.gpus > 0) {
    hardware.count = options.gpus;
    why = ", as --gpus says";
  } else if (!host && links && hardware.linked > 0) {
    hardware.count = hardware.linked;
    why = hardware.job ? ", the ranks of the job"
                       : fmt::format(", all that {} here", hardware.linked == 1 ? "is" : "are");
  } else if (!host && links) {
    why = fmt::format(": several GPUs need {} ({})", kNccl, nccl.detail);
  }
  const bool asked = options.question.cluster.empty() && options.question.scenario.empty() && options.top > 0;
  if (asked) hardware.notes.push_back(fmt::format("planned for {}x{}{}", hardware.count, hardware.gpu, why));
}

/// The profile that `framework` names, unless it is the executor's own.
std::string other_framework(const std::string& framework) {
  return framework == kExecutor ? std::string{} : framework;
}

/// A scenario on the hardware that is here, in the executor's own profile.
ScenarioRequest here(ScenarioRequest request, const Hardware& hardware) {
  request.framework = kExecutor;
  if (request.cluster.is_null())
    request.cluster = fmt::format("{}x{}", request.layout.layout.world_size(), hardware.gpu);
  return request;
}

std::string layout_name(const ScenarioRequest& request) {
  const std::string layout = presets::to_layout_text({request.layout.layout, true});
  return layout.empty() ? "dp1" : layout;
}

std::vector<AskedScenario> from_files(const ValidateOptions& options, const Hardware& hardware) {
  std::vector<AskedScenario> out;
  for (const std::string& file : options.scenarios) {
    ScenarioOptions question = options.question;
    question.scenario = file;
    ScenarioRequest request = read_request(question);
    out.push_back({.name = std::filesystem::path{file}.stem().string(),
                   .framework = other_framework(request.framework),
                   .request = here(std::move(request), hardware)});
  }
  return out;
}

std::vector<AskedScenario> from_list(const ValidateOptions& options, const Hardware& hardware) {
  std::vector<AskedScenario> out;
  for (presets::ListedScenario& row : presets::find_validation_list(options.list).scenarios) {
    out.push_back({.name = row.name,
                   .use = row.held_out ? ScenarioUse::HeldOut : ScenarioUse::Fitted,
                   .solo = row.solo,
                   .framework = other_framework(options.question.framework),
                   .request = here(std::move(row.request), hardware)});
  }
  return out;
}

/// "plan 2: dp4 zero3, micro-batch 1, recompute full": what tells plans of one question apart.
std::string plan_name(std::size_t number, const ScenarioRequest& request) {
  const costmodel::Recipe& recipe = request.recipe;
  std::string name =
      fmt::format("plan {}: {}, micro-batch {}", number, layout_name(request), recipe.micro_batch);
  if (recipe.recompute != costmodel::Recompute{})
    name += ", recompute " + presets::to_recompute_text(recipe.recompute);
  return name;
}

/// Why the planner has nothing to run, in the words of the rule that rejects most.
InputError no_plan(const ValidateOptions& options, const SearchReport& report) {
  std::string why = "none of the ranked plans is one that the executor has code for";
  if (report.ranking.plans.empty() && !report.ranking.rejections.empty()) {
    const planner::RejectionCount& most = report.ranking.rejections.front();
    why = fmt::format("{} of {} candidates are rejected as this one is: {}", most.candidates,
                      report.ranking.counts.enumerated, most.reason);
  }
  return InputError{
      {.field = "--top",
       .value = std::to_string(options.top),
       .expected = fmt::format("a plan of {} that runs on {}: {}", report.problem.base.model.name,
                               report.problem.hardware.front().cluster.gpu.name, why),
       .hint = "name other machines with --cluster (with --solo, of any number of GPUs), or a "
               "smaller model; 'hexaplan search' says more"}};
}

/// The planner's best plans, for the executor or the framework that was named, that the executor has code
/// for.
std::vector<AskedScenario> from_search(const ValidateOptions& options, const Hardware& hardware) {
  constexpr int kLookedAt = 10;  // plans ranked for each one wanted: some are not executable
  SearchOptions search{.question = options.question};
  const std::string other = other_framework(options.question.framework);
  if (other.empty()) search.question.framework = kExecutor;
  if (search.question.cluster.empty() && search.question.scenario.empty())
    search.question.cluster = fmt::format("{}x{}", hardware.count, hardware.gpu);
  search.top = std::to_string(options.top * kLookedAt);
  search.no_refine = true;
  const SearchReport report = run_search(search, true);
  std::vector<AskedScenario> out;
  for (const planner::RankedPlan& plan : report.ranking.plans) {
    if (static_cast<int>(out.size()) == options.top) break;
    ScenarioRequest request = request_of(report, plan.plan);
    request.framework = kExecutor;
    const costmodel::Scenario scenario = other.empty() ? planner::scenario_of(report.problem, plan.plan)
                                                       : resolve_request(request, search.question).scenario;
    if (costmodel::first_rejection(scenario) || validator::first_not_executable(scenario)) continue;
    out.push_back({.name = plan_name(out.size() + 1, request), .framework = other, .request = request});
  }
  if (out.empty()) throw no_plan(options, report);
  return out;
}

}  // namespace

Hardware find_hardware(const ValidateOptions& options) {
  Hardware hardware;
  const validator::BackendState device = ready_device(options.device);
  const bool host = options.device == kHostDevice;
  if (!options.gpu.empty()) {
    hardware.gpu = presets::find_gpu(options.gpu).name;
  } else {
    hardware.gpu = host ? kStandIn : presets::gpu_of_device(device.detail).value_or("");
  }
  if (hardware.gpu.empty()) {
    throw InputError{{.field = "--device",
                      .value = device.detail,
                      .expected = "a GPU that is a preset",
                      .hint = "name the nearest one with --gpu ('hexaplan presets list gpus')"}};
  }
  hardware.known = !options.gpu.empty() || !host || !options.question.calibration.empty();
  if (!hardware.known) {
    hardware.notes.emplace_back(
        "the host is no calibrated hardware: memory is compared, time is not; --calibration FILE compares "
        "it");
  }
  count_gpus(options, hardware);
  return hardware;
}

std::string ranks_of(const ValidateOptions& options, const Hardware& hardware,
                     const costmodel::Scenario& scenario) {
  if (!options.ranks.empty()) return options.ranks;
  const std::int64_t ranks = scenario.layout.world_size();
  return hardware.job || (ranks > 1 && ranks <= hardware.linked) ? kNccl : kThreads;
}

namespace {

std::vector<AskedScenario> scenarios_asked_for(const ValidateOptions& options, const Hardware& hardware) {
  std::vector<AskedScenario> asked;
  if (!options.list.empty()) {
    asked = from_list(options, hardware);
  } else if (!options.scenarios.empty()) {
    asked = from_files(options, hardware);
  } else if (options.top > 0) {
    asked = from_search(options, hardware);
  } else {
    ScenarioRequest request = read_request(options.question);
    asked.push_back({.name = {},
                     .framework = other_framework(request.framework),
                     .request = here(std::move(request), hardware)});
    asked.back().name = layout_name(asked.back().request);
  }
  if (options.ranks == "mpi" && asked.size() > 1) {
    throw InputError{{.field = "--ranks",
                      .value = options.ranks,
                      .expected = "one scenario: MPI begins once in a process",
                      .hint = "validate them one by one, or --ranks threads"}};
  }
  for (AskedScenario& scenario : asked) {
    scenario.solo = scenario.solo || options.solo;
    if (!options.question.calibration.empty()) scenario.request.calibration = options.question.calibration;
  }
  return asked;
}

std::string text_of(const std::vector<AskedScenario>& scenarios) {
  JsonArray rows;
  for (const AskedScenario& asked : scenarios) {
    rows.push_back(JsonObject{{"name", asked.name},
                              {"use", static_cast<std::int64_t>(asked.use)},
                              {"solo", asked.solo},
                              {"framework", asked.framework},
                              {"request", to_json(asked.request)}});
  }
  return presets::to_text(JsonValue{std::move(rows)});
}

std::vector<AskedScenario> scenarios_in(const std::string& text) {
  constexpr const char* kFrom = "the scenarios of process 0";
  const JsonValue root = presets::parse_json(text, kFrom).root;
  std::vector<AskedScenario> scenarios;
  for (const JsonValue& row : *root.get_if<JsonArray>()) {
    scenarios.push_back({.name = *row.find("name")->get_if<std::string>(),
                         .use = static_cast<ScenarioUse>(*row.find("use")->get_if<std::int64_t>()),
                         .solo = *row.find("solo")->get_if<bool>(),
                         .framework = *row.find("framework")->get_if<std::string>(),
                         .request = presets::read_scenario({kFrom, *row.find("request")})});
  }
  return scenarios;
}

}  // namespace

std::vector<AskedScenario> scenarios_to_validate(const ValidateOptions& options, const Hardware& hardware) {
  if (!hardware.job) return scenarios_asked_for(options, hardware);
  // Files that others do not see, or see late, and a search of their own may give them other scenarios.
  return scenarios_in(decided_by_process_0(*hardware.job, options.job.timeout, "the scenarios of validate",
                                           [&] { return text_of(scenarios_asked_for(options, hardware)); }));
}

}  // namespace hexaplan::cli
