#include "cli/commands/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "cli/commands/machines.h"
#include "cli/commands/search_space.h"
#include "cli/options/command_row.h"
#include "cli/search_progress.h"
#include "cli/write_file.h"
#include "costmodel/program/not_modelled.h"
#include "costmodel/units/nearest_name.h"
#include "costmodel/units/parse_number.h"
#include "costmodel/units/parse_units.h"
#include "costmodel/units/trimmed.h"
#include "planner/problem/nearby_batches.h"
#include "planner/problem/plan.h"
#include "presets/json/input_error.h"
#include "presets/json/vocabulary.h"

namespace hexaplan::cli {

using planner::Objective;
using planner::SearchProblem;
using presets::InputError;
using presets::ScenarioRequest;

namespace {

constexpr int kMostPlans = 10000;
constexpr int kMostReplicas = 1'000'000;
constexpr int kMostThreads = 4096;
constexpr double kSecondsPerHour = 3600;
constexpr double kMostTolerance = 0.25;  // of the batch
constexpr std::int64_t kMostSmallerClusters = 64;

constexpr presets::Named<Objective> kObjectives[] = {
    {"time", Objective::StepTime}, {"tokens-per-gpu", Objective::TokensPerGpu}, {"cost", Objective::Cost},
    {"gpus", Objective::Gpus},     {"headroom", Objective::MemoryHeadroom},
};

constexpr presets::Named<planner::RankBy> kRankBy[] = {{"expected", planner::RankBy::Expected},
                                                       {"p90", planner::RankBy::P90}};

template <class E, std::size_t N>
E read_choice(const std::string& text, const char* flag, const presets::Named<E> (&table)[N]) {
  std::vector<std::string> names;
  for (const auto& row : table) {
    if (row.name == text) return row.value;
    names.emplace_back(row.name);
  }
  throw InputError({.field = flag,
                    .value = presets::in_quotes(text),
                    .expected = fmt::format("{}", fmt::join(names, ", ")),
                    .hint = presets::did_you_mean(costmodel::nearest_name(text, names))});
}

/// "63 d 21 h": times with their units, as answers write them.
std::optional<double> read_times(std::string_view text) {
  double seconds = 0;
  for (std::string_view rest = costmodel::trimmed(text); !rest.empty();) {
    const std::size_t unit = std::min(rest.find_first_not_of("0123456789. "), rest.size());
    const std::size_t end = std::min(rest.find_first_of("0123456789 ", unit), rest.size());
    const auto time = costmodel::parse_seconds(rest.substr(0, end));
    if (!time) return std::nullopt;
    seconds += time->value();
    rest = costmodel::trimmed(rest.substr(end));
  }
  return seconds;
}

/// "72" hours, or times with their units.
double read_hours(const std::string& text) {
  if (const auto time = costmodel::parse_seconds(text)) return time->value() / kSecondsPerHour;
  if (const auto times = read_times(text); times && *times > 0) return *times / kSecondsPerHour;
  return read_amount(text, "--max-hours",
                     "hours such as 72, or a time with its units: \"3 d\", \"63 d 21 h\"");
}

/// "250000", "2M" or, as answers write it, "$13.2 M".
double read_dollars(const std::string& text) {
  std::string digits{costmodel::trimmed(text)};
  if (digits.starts_with('$')) digits.erase(0, 1);
  std::erase(digits, ' ');
  if (const auto count = costmodel::parse_count(digits)) return static_cast<double>(*count);
  return read_amount(costmodel::parse_number<double>(digits) ? digits : text, "--max-cost",
                     "US dollars such as 250000, 2M or \"$13.2 M\"");
}

/// Limits that only a token budget gives a meaning.
void need_tokens(const SearchOptions& options, const ScenarioRequest& request) {
  if (request.recipe.tokens > 0) return;
  const std::pair<const std::string&, const char*> limits[] = {{options.max_hours, "--max-hours"},
                                                               {options.max_cost, "--max-cost"}};
  for (const auto& [text, flag] : limits) {
    if (!text.empty())
      throw InputError({.field = flag,
                        .value = presets::in_quotes(text),
                        .expected = "a training budget to hold it against",
                        .hint = "add --tokens, as in --tokens 1T"});
  }
}

planner::Constraints read_constraints(const SearchOptions& options) {
  planner::Constraints limits;
  if (!options.max_memory.empty()) limits.memory_share = read_share(options.max_memory, "--max-memory");
  if (!options.max_risk.empty())
    limits.max_risk = options.max_risk == "any" ? 1.0 : read_share(options.max_risk, "--max-risk");
  if (!options.max_hours.empty()) limits.hours = read_hours(options.max_hours);
  if (!options.max_cost.empty()) limits.dollars = read_dollars(options.max_cost);
  if (!options.min_mfu.empty()) limits.mfu = read_share(options.min_mfu, "--min-mfu");
  return limits;
}

/// The request as a search reads it: no degree of its layout counts.
ScenarioRequest searchable(const SearchOptions& options) {
  ScenarioRequest request = read_request(options.question);
  costmodel::Layout& layout = request.layout.layout;
  layout.dp = layout.tp = layout.cp = layout.pp = layout.vpp = layout.ep = 1;
  layout.etp = 0;
  if (!options.replicas.empty()) {
    layout.outer_replicas = whole_number(options.replicas, "--diloco", kMostReplicas);
    if (layout.outer_replicas < 1)
      throw InputError({.field = "--diloco", .value = "0", .expected = "at least one replica"});
  }
  layout.split = costmodel::StageSplit::Even;
  layout.stage_layers.clear();
  request.layout.dp_given = false;
  return request;
}

/// One hardware option for each global batch to try on a cluster.
void add_batches(const SearchOptions& options, const presets::CalibratedScenario& on,
                 SearchProblem& problem) {
  std::vector<std::int64_t> batches{0};
  if (!options.batch_tolerance.empty()) {
    const double tolerance = read_share(options.batch_tolerance, "--batch-tolerance");
    if (tolerance > kMostTolerance)
      throw InputError({.field = "--batch-tolerance",
                        .value = presets::in_quotes(options.batch_tolerance),
                        .expected = "at most 25%: a batch further off trains another model"});
    batches = planner::nearby_batches(on.scenario.recipe.global_batch, tolerance, on.scenario.cluster.gpus);
  }
  for (const std::int64_t batch : batches)
    problem.hardware.push_back({on.scenario.cluster, on.calibration, batch});
}

/// The cluster with one node less, two nodes less … as long as the share of idle GPUs is allowed.
std::vector<presets::JsonValue> smaller_clusters(const SearchOptions& options,
                                                 const presets::CalibratedScenario& whole,
                                                 const presets::JsonValue& cluster) {
  std::vector<presets::JsonValue> out;
  if (options.idle_gpus.empty()) return out;
  const double share = read_share(options.idle_gpus, "--idle-gpus");
  const auto [gpus, per_node] = std::pair{whole.scenario.cluster.gpus, whole.scenario.cluster.gpus_per_node};
  const auto most = static_cast<std::int64_t>(share * static_cast<double>(gpus) + 1e-9);
  if (most / per_node > kMostSmallerClusters)
    throw InputError(
        {.field = "--idle-gpus",
         .value = presets::in_quotes(options.idle_gpus),
         .expected = fmt::format("at most {} nodes, {} GPUs; {} are {} nodes", kMostSmallerClusters,
                                 kMostSmallerClusters * per_node, options.idle_gpus, most / per_node),
         .hint = "name the counts with --gpus, as in --gpus 1024,960"});
  for (std::int64_t idle = per_node; idle <= most && idle < gpus; idle += per_node)
    out.push_back(with_gpus(cluster, gpus - idle, "--idle-gpus"));
  return out;
}

/// The cluster with --network between its nodes.
presets::JsonValue with_network(const SearchOptions& options, const presets::JsonValue& cluster) {
  if (options.network.empty()) return cluster;
  const auto* text = cluster.get_if<std::string>();
  const std::string words = text != nullptr ? *text : to_cluster_text(presets::cluster_request(cluster));
  return words + "+" + options.network;
}

/// The question on every cluster to try; on the first of them it is the report's.
void add_machines(const SearchOptions& options, SearchReport& report) {
  Question& question = report.question;
  std::vector<presets::JsonValue> clusters = clusters_to_try(options, question.request);
  if (options.gpu_types.empty() && !(options.gpus.empty() && options.idle_gpus.empty())) {
    // Other counts of a cluster's machines are no longer its file, and fail as its do.
    costmodel::Reliability& said = question.request.recipe.reliability;
    said = overlaid(said, presets::cluster_request(question.request.cluster).reliability);
  }
  if (!options.idle_gpus.empty() && clusters.size() > 1)
    throw InputError({.field = "--idle-gpus",
                      .value = presets::in_quotes(options.idle_gpus),
                      .expected = "one cluster; --gpus and --gpu name what to try"});
  for (std::size_t i = 0; i < clusters.size(); ++i) {
    ScenarioRequest request = question.request;
    request.cluster = with_network(options, clusters[i]);
    presets::CalibratedScenario found = calibrate_request(request, options.question);
    add_batches(options, found, report.problem);
    if (i > 0) continue;
    const auto smaller = smaller_clusters(options, found, clusters[i]);
    clusters.insert(clusters.end(), smaller.begin(), smaller.end());
    question = {std::move(request), std::move(found.scenario), std::move(found.notes),
                std::move(found.calibration), std::move(found.fabric)};
  }
}

/// Plans without a price cannot be ranked by it.
void need_prices(const SearchProblem& problem) {
  if (problem.objective != Objective::Cost) return;
  for (const planner::HardwareOption& option : problem.hardware) {
    const costmodel::GpuSpec& gpu = option.cluster.gpu;
    if (gpu.price_per_hour > 0) continue;
    throw InputError({.field = "--objective",
                      .value = "cost",
                      .expected = fmt::format("GPUs that have a price; {} has none", gpu.name),
                      .hint = "say it with --price, in dollars per GPU-hour"});
  }
}

SearchReport read_problem(const SearchOptions& options) {
  SearchReport report;
  report.question.request = searchable(options);
  need_tokens(options, report.question.request);
  SearchProblem& problem = report.problem;
  problem.space = read_space(options.dimensions);
  problem.constraints = read_constraints(options);
  if (!options.objective.empty())
    problem.objective = read_choice(options.objective, "--objective", kObjectives);
  if (!options.rank_by.empty()) problem.rank_by = read_choice(options.rank_by, "--rank-by", kRankBy);
  if (!options.top.empty())
    problem.top = static_cast<std::size_t>(whole_number(options.top, "--top", kMostPlans));
  problem.refine_winners = !options.no_refine;
  problem.simulate_winners = !options.no_simulate;
  add_machines(options, report);
  need_prices(problem);
  if (!options.question.save_scenario.empty())
    write_file(options.question.save_scenario, presets::to_text(to_json(report.question.request)) + "\n");
  problem.base = report.question.scenario;
  for (std::string& note : notes_of_search(problem, "--tp 1,2,4,8"))
    report.question.notes.push_back(std::move(note));
  return report;
}

/// Callers of one search, whose answer has no place for more.
void refuse_sweep(const SearchOptions& options) {
  if (!options.sweep.empty())
    throw InputError({.field = "--sweep",
                      .value = presets::in_quotes(options.sweep),
                      .expected = "one search for each call here; the command 'hexaplan search' sweeps"});
}

/// Plan N against the first; the first against the second.
std::optional<PlanExplanation> explain_plan(const SearchOptions& options, const planner::Ranking& ranking) {
  if (options.explain.empty()) return std::nullopt;
  const int number = whole_number(options.explain, "--explain", kMostPlans);
  if (ranking.plans.size() < 2) return std::nullopt;
  if (number < 1 || static_cast<std::size_t>(number) > ranking.plans.size())
    throw InputError({.field = "--explain",
                      .value = options.explain,
                      .expected = fmt::format("the number of a listed plan, 1 to {}", ranking.plans.size()),
                      .hint = "list more with --top"});
  const std::size_t plan = static_cast<std::size_t>(number) - 1;
  const std::size_t other = plan == 0 ? 1 : 0;
  return PlanExplanation{plan, other,
                         planner::explain(ranking.plans[plan].estimate, ranking.plans[other].estimate)};
}

}  // namespace

std::vector<std::string> notes_of_search(const SearchProblem& problem, std::string_view ask_for_tensor) {
  std::vector<std::string> notes = words_beyond(problem.space, problem.base.framework);
  if (problem.base.cluster.gpus > 1) {
    for (std::string& note : axes_left_out(problem.space, problem.base.framework, ask_for_tensor))
      notes.push_back(std::move(note));
  }
  return notes;
}

namespace {

/// What changes nothing in the layout that the question begins with may matter in a plan that was found.
void drop_refuted_notes(SearchReport& report) {
  for (const costmodel::KnobNote& word : words_without_effect(report.question.scenario)) {
    const bool matters = std::ranges::any_of(report.ranking.plans, [&](const planner::RankedPlan& ranked) {
      const auto words = words_without_effect(planner::scenario_of(report.problem, ranked.plan));
      return std::ranges::find(words, word) == words.end();
    });
    if (matters) std::erase(report.question.notes, presets::note_without_effect(word));
  }
}

/// Changes outside of the space that was searched: offloading, other optimizers, other layouts. They free
/// memory, which helps where that is what lacks.
void suggest_changes(SearchReport& report) {
  if (!report.ranking.plans.empty() || report.ranking.stopped) return;
  const planner::RejectionCount* row = planner::last_limit(report.ranking);
  if (row == nullptr || !row->closest || (row->rule != "max-risk" && row->rule != "fits-in-memory")) return;
  const auto& [scenario, hardware] = *row->closest;
  auto changes = planner::fitting_changes(scenario, report.problem.hardware[hardware].calibration,
                                          kSuggestedChanges, report.problem.constraints.max_risk);
  if (!changes.empty()) report.help = {scenario.layout, std::move(changes)};
}

/// What the next smaller number of the same GPUs would take where the fewest that meet a deadline were asked
/// for.
void look_at_fewer_gpus(const planner::SearchOptions& how, SearchReport& report) {
  const SearchProblem& problem = report.problem;
  if (problem.objective != Objective::Gpus || !problem.constraints.hours || report.ranking.plans.empty())
    return;
  const costmodel::ClusterSpec& found = problem.hardware[report.ranking.plans.front().plan.hardware].cluster;
  std::int64_t most = 0;
  const auto is_smaller = [&](const planner::HardwareOption& option) {
    return option.cluster.gpu.name == found.gpu.name && option.cluster.gpus < found.gpus;
  };
  for (const planner::HardwareOption& option : problem.hardware) {
    if (is_smaller(option)) most = std::max(most, option.cluster.gpus);
  }
  if (most == 0) return;
  SearchProblem fewer = problem;
  std::vector<std::size_t> places;  // in the problem
  fewer.hardware.clear();
  for (std::size_t i = 0; i < problem.hardware.size(); ++i) {
    const planner::HardwareOption& option = problem.hardware[i];
    if (!is_smaller(option) || option.cluster.gpus != most) continue;
    fewer.hardware.push_back(option);
    places.push_back(i);
  }
  fewer.constraints.hours.reset();
  fewer.objective = Objective::StepTime;
  fewer.top = 1;
  planner::SearchOptions quiet = how;
  quiet.progress = {};
  planner::Ranking ranking = planner::search(fewer, quiet);
  if (ranking.stopped) return;
  report.fewer = {.gpus = most, .best = std::nullopt};
  if (ranking.plans.empty()) return;
  report.fewer->best = std::move(ranking.plans.front());
  report.fewer->best->plan.hardware = places[report.fewer->best->plan.hardware];
}

void search_problem(const SearchOptions& options, const planner::SearchOptions& how, SearchReport& report) {
  const auto begin = std::chrono::steady_clock::now();
  report.ranking = planner::search(report.problem, how);
  report.elapsed =
      costmodel::Seconds{std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count()};
  drop_refuted_notes(report);
  suggest_changes(report);
  look_at_fewer_gpus(how, report);
  report.techniques = planner::unused_techniques(report.problem, report.ranking.plans);
  report.explanation = explain_plan(options, report.ranking);
  if (options.sensitivity) report.sensitivity = planner::sensitivity(report.problem, how);
}

}  // namespace

int threads_of(const SearchOptions& options) {
  return options.threads.empty() ? 0 : whole_number(options.threads, "--threads", kMostThreads);
}

std::span<const presets::Named<planner::Objective>> objective_names() {
  return kObjectives;
}

SearchReport read_search(const SearchOptions& options) {
  return read_problem(options);
}

SearchReport run_search(const SearchOptions& options, planner::SearchOptions how) {
  refuse_sweep(options);
  SearchReport report = read_problem(options);
  how.threads = threads_of(options);
  search_problem(options, how, report);
  return report;
}

SearchReport run_search(const SearchOptions& options, bool quiet) {
  refuse_sweep(options);
  SearchReport report = read_problem(options);
  planner::SearchOptions how{.threads = threads_of(options)};
  const SearchProgressBar bar{how, quiet};
  search_problem(options, how, report);
  return report;
}

ScenarioRequest request_of(const SearchReport& report, const planner::Plan& plan) {
  ScenarioRequest request = report.question.request;
  if (report.varies_hardware()) request.cluster = report.problem.hardware[plan.hardware].cluster.name;
  request.layout = {plan.layout, true};
  request.recipe = plan.recipe;
  request.framework = report.question.scenario.framework.name;
  return request;
}

}  // namespace hexaplan::cli
