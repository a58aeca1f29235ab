#include "cli/commands/diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "costmodel/spec/rules.h"
#include "costmodel/units/format_units.h"
#include "planner/problem/problem.h"
#include "planner/search/search.h"
#include "presets/launch/launch_fields.h"
#include "presets/scenario/layout_text.h"

namespace hexaplan::cli {

using costmodel::Estimate;
using costmodel::RecomputeMode;
using costmodel::Scenario;
using presets::JsonArray;
using presets::JsonObject;
using presets::JsonValue;

namespace {

constexpr double kWorthSaying = 0.01;  // share of the step
constexpr std::size_t kMostSuggestions = 6;
constexpr std::size_t kPlansAsked = 20;

/// One change on the same machines and the same global batch. False: there is nothing to change.
struct SingleChange {
  const char* what;
  bool (*apply)(Scenario& s);
};
template <class T>
bool put(T& field, const T& value) {
  if (field == value) return false;
  field = value;
  return true;
}
bool recompute(Scenario& s, RecomputeMode mode) {
  if (s.recipe.recompute.mode == mode) return false;
  s.recipe.recompute = {.mode = mode, .layers = 0, .stage_layers = {}, .modules = 0};
  return true;
}
/// Moves a factor of two between data parallelism and another degree.
bool trade(Scenario& s, int& degree, bool more) {
  int& from = more ? s.layout.dp : degree;
  int& to = more ? degree : s.layout.dp;
  if (from % 2 != 0) return false;
  from /= 2;
  to *= 2;
  s.layout.sp = s.layout.sp || s.layout.tp > 1;
  if (s.layout.tp == 1) s.layout.sp = false;
  return true;
}
constexpr SingleChange kSingleChanges[] = {
    {"gradients are reduced and parameters gathered under computation",
     [](Scenario& s) {
       return s.recipe.execution.data_overlap == false && put(s.recipe.execution.data_overlap, {});
     }},
    {"no recomputation", [](Scenario& s) { return recompute(s, RecomputeMode::None); }},
    {"selective recomputation", [](Scenario& s) { return recompute(s, RecomputeMode::Selective); }},
    {"full recomputation", [](Scenario& s) { return recompute(s, RecomputeMode::Full); }},
    {"sequence parallelism", [](Scenario& s) { return s.layout.tp > 1 && put(s.layout.sp, true); }},
    {"optimizer states sharded over data-parallel ranks",
     [](Scenario& s) { return s.layout.sharding.stage == 0 && put(s.layout.sharding.stage, 1); }},
    {"a fused loss",
     [](Scenario& s) {
       return !costmodel::fuses_cross_entropy(s) &&
              put(s.recipe.cross_entropy, costmodel::CrossEntropy::Fused);
     }},
    {"no dropout", [](Scenario& s) { return put(s.recipe.dropout, 0.0); }},
    {"twice the micro-batch",
     [](Scenario& s) {
       s.recipe.micro_batch *= 2;
       return true;
     }},
    {"half the micro-batch",
     [](Scenario& s) {
       if (s.recipe.micro_batch % 2 != 0) return false;
       s.recipe.micro_batch /= 2;
       return true;
     }},
    {"less tensor parallelism", [](Scenario& s) { return trade(s, s.layout.tp, false); }},
    {"more tensor parallelism", [](Scenario& s) { return trade(s, s.layout.tp, true); }},
    {"fewer pipeline stages", [](Scenario& s) { return s.layout.vpp == 1 && trade(s, s.layout.pp, false); }},
    {"two model chunks per pipeline stage",
     [](Scenario& s) {
       if (s.layout.pp == 1 || s.layout.vpp > 1 || s.layout.schedule != costmodel::ScheduleKind::OneFOneB)
         return false;
       s.layout.vpp = 2;
       s.layout.schedule = costmodel::ScheduleKind::Interleaved;
       return true;
     }},
    {"less context parallelism", [](Scenario& s) { return trade(s, s.layout.cp, false); }},
};

bool fits(const Estimate& estimate) {
  return std::holds_alternative<costmodel::Fits>(estimate.verdict) &&
         estimate.out_of_memory_probability <= planner::kDefaultRisk;
}

/// A scenario that can run, fits, and that the framework's file can say as well as it says the present one.
std::optional<Suggestion> suggestion_of(const DiffReport& report, Scenario scenario, std::string what) {
  const presets::Launcher launcher = report.plan.format.launcher;
  if (costmodel::first_rejection(scenario) || presets::launch_rejection(scenario, launcher))
    return std::nullopt;
  const auto said_now = presets::launch_gaps(report.question.scenario, launcher);
  std::vector<std::string> not_said;
  for (const std::string& gap : presets::launch_gaps(scenario, launcher)) {
    if (std::find(said_now.begin(), said_now.end(), gap) == said_now.end()) not_said.push_back(gap);
  }
  if (!not_said.empty()) return std::nullopt;
  Suggestion suggestion{
      .what = std::move(what), .scenario = std::move(scenario), .estimate = {}, .lines = {}, .not_said = {}};
  suggestion.estimate = costmodel::estimate_step(suggestion.scenario, report.question.calibration);
  if (!fits(suggestion.estimate)) return std::nullopt;
  suggestion.lines = presets::lines_to_change(report.plan, report.question.scenario, suggestion.scenario);
  if (suggestion.lines.empty()) return std::nullopt;
  return suggestion;
}

double step_of(const Estimate& estimate) {
  return estimate.time.total().value();
}

/// Faster by more than nothing; or it fits, which the present plan does not.
bool is_worth_saying(const DiffReport& report, Suggestion& suggestion) {
  suggestion.safer = !fits(report.estimate);
  return suggestion.safer || step_of(suggestion.estimate) < step_of(report.estimate) * (1 - kWorthSaying);
}

void add_single_changes(DiffReport& report) {
  for (const SingleChange& change : kSingleChanges) {
    Scenario scenario = report.question.scenario;
    if (!change.apply(scenario)) continue;
    auto suggestion = suggestion_of(report, std::move(scenario), change.what);
    if (suggestion && is_worth_saying(report, *suggestion))
      report.suggestions.push_back(std::move(*suggestion));
  }
  std::stable_sort(
      report.suggestions.begin(), report.suggestions.end(),
      [](const Suggestion& a, const Suggestion& b) { return step_of(a.estimate) < step_of(b.estimate); });
  if (report.suggestions.size() > kMostSuggestions) report.suggestions.resize(kMostSuggestions);
}

/// The best plan of a search that the file can say.
void add_best_plan(DiffReport& report) {
  planner::SearchProblem problem{
      .base = report.question.scenario, .hardware = {}, .space = {}, .constraints = {}};
  problem.hardware.push_back({report.question.scenario.cluster, report.question.calibration});
  problem.space.split = {costmodel::StageSplit::Even};
  problem.top = kPlansAsked;
  problem.refine_winners = false;
  problem.simulate_winners = false;
  for (const planner::RankedPlan& ranked : planner::search(problem).plans) {
    auto suggestion = suggestion_of(
        report, planner::scenario_of(problem, ranked.plan),
        "all at once: " + presets::to_layout_text({.layout = ranked.plan.layout, .dp_given = true}));
    if (!suggestion) continue;
    const bool known = std::any_of(
        report.suggestions.begin(), report.suggestions.end(),
        [&](const Suggestion& other) { return step_of(other.estimate) <= step_of(suggestion->estimate); });
    if (!known && is_worth_saying(report, *suggestion)) report.suggestions.push_back(std::move(*suggestion));
    return;
  }
}

std::string price_text(const Estimate& estimate) {
  if (estimate.stages.empty()) return "cannot run";
  return fmt::format("{} a step, {} of {}, chance of running out {:.1f} %",
                     costmodel::format_duration(estimate.time.total()),
                     costmodel::format_binary(estimate.peak().needed),
                     costmodel::format_binary(estimate.capacity), 100 * estimate.out_of_memory_probability);
}

JsonValue price_json(const Estimate& estimate) {
  if (estimate.stages.empty()) return {};
  return JsonObject{{"step_seconds", step_of(estimate)},
                    {"needed_bytes", estimate.peak().needed.value()},
                    {"out_of_memory_probability", estimate.out_of_memory_probability}};
}

}  // namespace

DiffReport run_diff(const DiffOptions& options) {
  DiffReport report;
  report.plan = presets::import_files(options.files, options.question.cluster);
  ScenarioOptions asked = options.question;
  asked.from = options.files;
  report.question = ask(asked);
  report.estimate = costmodel::estimate_step(report.question.scenario, report.question.calibration);
  add_single_changes(report);
  add_best_plan(report);
  return report;
}

std::string diff_text(const DiffReport& report) {
  const Scenario& now = report.question.scenario;
  std::string text =
      fmt::format("{} on {} x {}, {}: {}\nnow: {}\n", now.model.name, now.cluster.gpus, now.cluster.gpu.name,
                  report.plan.format.title, presets::to_layout_text({.layout = now.layout, .dp_given = true}),
                  price_text(report.estimate));
  if (const auto rejected = costmodel::first_rejection(now))
    text += fmt::format("cannot run: {}; {}\n", rejected->reason, rejected->advice);
  if (report.suggestions.empty())
    text += "\nNothing faster was found that fits and that these files can say.\n";
  for (const Suggestion& suggestion : report.suggestions) {
    const double gain =
        report.estimate.stages.empty() ? 0 : 1 - step_of(suggestion.estimate) / step_of(report.estimate);
    text += fmt::format("\n{}: {:+.1f} % time, {}\n", suggestion.what, -100 * gain,
                        price_text(suggestion.estimate));
    for (const presets::ChangedLine& line : suggestion.lines) {
      if (!line.before.empty()) text += fmt::format("  - {}    ({}:{})\n", line.before, line.file, line.line);
      if (!line.after.empty()) text += fmt::format("  + {}\n", line.after);
    }
  }
  return text;
}

JsonValue diff_json(const DiffReport& report) {
  JsonArray suggestions;
  for (const Suggestion& suggestion : report.suggestions) {
    JsonArray lines;
    for (const presets::ChangedLine& line : suggestion.lines)
      lines.push_back(JsonObject{
          {"file", line.file.empty() ? JsonValue{} : JsonValue{line.file}},
          {"line", line.file.empty() ? JsonValue{} : JsonValue{static_cast<std::int64_t>(line.line)}},
          {"before", line.before},
          {"after", line.after}});
    suggestions.push_back(JsonObject{
        {"what", suggestion.what},
        {"layout", presets::to_layout_text({.layout = suggestion.scenario.layout, .dp_given = true})},
        {"price", price_json(suggestion.estimate)},
        {"lines", std::move(lines)}});
  }
  return JsonObject{
      {"schema", "hexaplan/diff/1"},
      {"framework", report.plan.format.name},
      {"layout", presets::to_layout_text({.layout = report.question.scenario.layout, .dp_given = true})},
      {"price", price_json(report.estimate)},
      {"suggestions", std::move(suggestions)}};
}

}  // namespace hexaplan::cli
