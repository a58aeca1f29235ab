#include "cli/render/search_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "cli/render/changes.h"
#include "cli/render/estimate_rows.h"
#include "cli/render/not_modelled.h"
#include "cli/render/numbers.h"
#include "planner/problem/plan.h"
#include "presets/json/vocabulary.h"
#include "presets/published/published_runs.h"
#include "presets/scenario/recipe_fields.h"
#include "presets/scenario/recompute_text.h"

namespace hexaplan::cli {

using charts::Cells;
using costmodel::Bytes;
using costmodel::format_binary;
using costmodel::format_count;
using costmodel::format_duration;
using costmodel::format_percent;
using costmodel::format_short;
using costmodel::Seconds;
using planner::Plan;
using planner::RankedPlan;

namespace {

constexpr std::size_t kParetoShown = 12;
constexpr std::size_t kRejectionsShown = 8;
constexpr std::size_t kTermsShown = 8;
constexpr int kThinEvidence = 20;       // configurations: techniques with less are named
constexpr double kSmallestTerm = 1e-3;  // of the total: smaller differences are not told

std::int64_t whole(double value) {
  return static_cast<std::int64_t>(std::llround(value));
}

const costmodel::ClusterSpec& cluster_of(const SearchReport& report, const Plan& plan) {
  return report.problem.hardware[plan.hardware].cluster;
}

std::string heading(const SearchReport& report, const TextStyle& style) {
  const costmodel::Scenario& s = report.question.scenario;
  std::set<std::string_view> clusters;
  std::set<std::int64_t> batches;
  for (const planner::HardwareOption& option : report.problem.hardware) {
    clusters.insert(option.cluster.name);
    batches.insert(option.global_batch);
  }
  const std::string hardware = report.varies_hardware()
                                   ? fmt::format("{} clusters", clusters.size())
                                   : fmt::format("{} x {}", format_count(s.cluster.gpus), s.cluster.gpu.name);
  const std::string parts[] = {
      style.bold(s.model.name), hardware, s.framework.name,
      fmt::format("sequence {} tokens", format_count(s.recipe.sequence)),
      fmt::format("global batch {}{}", format_count(s.recipe.global_batch),
                  batches.size() > 1 ? fmt::format(" and {} near it", batches.size() - 1) : "")};
  return fmt::format("{}\n", fmt::join(parts, fmt::format(" {} ", style.dot())));
}

std::int64_t rejected_by(const planner::Ranking& ranking, std::string_view rule) {
  for (const planner::RejectionCount& row : ranking.rejections) {
    if (row.rule == rule) return row.candidates;
  }
  return 0;
}

/// What bounds left unpriced: candidates that break a limit, and candidates that others beat.
std::string ruled_out(const planner::SearchCounts& c) {
  std::string text;
  if (c.pruned > 0) text += fmt::format(", {} ruled out by a bound", format_count(c.pruned));
  if (c.outclassed > 0) text += fmt::format(", {} slower than others by a bound", format_count(c.outclassed));
  return text;
}

std::string counts_line(const SearchReport& report) {
  const planner::SearchCounts& c = report.ranking.counts;
  std::string text =
      fmt::format("{} candidates{}: {} break a rule, {} priced ({} of them keep every limit){} in {}\n",
                  format_count(c.enumerated), report.ranking.stopped ? " before the search was stopped" : "",
                  format_count(c.rejected), format_count(c.priced), format_count(c.feasible), ruled_out(c),
                  format_duration(report.elapsed));
  const std::int64_t full = rejected_by(report.ranking, "fits-in-memory");
  if (full > 0) text += fmt::format("{} would not fit in memory\n", format_count(full));
  const std::int64_t risky = rejected_by(report.ranking, "max-risk");
  if (risky > 0)
    text += fmt::format("{} fit, but their chance of running out of memory is above {}\n",
                        format_count(risky), format_percent(report.problem.constraints.max_risk));
  return text;
}

/// "in 89 d 21 h ($13.2 M)".
std::string time_and_money(const SearchReport& report, const RankedPlan& ranked) {
  const costmodel::TrainingCost cost = training_of(report, ranked);
  return format_duration(cost.wall) + (cost.dollars > 0 ? " ($" + format_short(cost.dollars) + ")" : "");
}

/// The answer to how many GPUs a deadline takes, in one line.
std::string fewest_line(const SearchReport& report) {
  const planner::SearchProblem& problem = report.problem;
  if (problem.objective != planner::Objective::Gpus || !problem.constraints.hours ||
      report.ranking.plans.empty())
    return {};
  const RankedPlan& first = report.ranking.plans.front();
  std::string text = fmt::format("{} {} do it in {}", format_count(first.plan.price.gpus),
                                 cluster_of(report, first.plan).gpu.name, time_and_money(report, first));
  if (report.fewer)
    text += report.fewer->best
                ? fmt::format("; {} would take {}", format_count(report.fewer->gpus),
                              time_and_money(report, *report.fewer->best))
                : fmt::format("; on {} nothing keeps the other limits", format_count(report.fewer->gpus));
  return text + "\n";
}

std::string recompute_of(const Plan& plan) {
  return presets::to_recompute_text(plan.recipe.recompute);
}

/// "none" or "optimizer+activations".
std::string offload_of(const Plan& plan) {
  std::vector<std::string_view> targets;
  for (const auto& row : presets::kOffloadNames) {
    if ((plan.recipe.offload & row.value) != 0) targets.push_back(row.name);
  }
  std::string text = targets.empty() ? "none" : fmt::format("{}", fmt::join(targets, "+"));
  if (costmodel::offloaded_update(plan.recipe) > 0 && plan.recipe.offload_fraction < 1)
    text += fmt::format(" ({:g} of the states)", plan.recipe.offload_fraction);
  return text;
}

/// How far the closed form, which `estimate` prints, is off the simulated step that the row shows.
std::string closed_form_cell(const RankedPlan& ranked) {
  if (!ranked.simulated) return "as shown";
  return format_signed_percent(ranked.estimate.time.total() / *ranked.simulated - 1);
}

/// Columns that a narrow terminal does without.
constexpr std::string_view kExpendable[] = {"closed form",  "free", "goodput",    "MFU",
                                            "tokens/s/GPU", "risk", "micro-batch"};

std::string plan_table(const SearchReport& report, const TextStyle& style) {
  const bool hardware = report.varies_hardware();
  const bool money = report.question.scenario.recipe.tokens > 0;
  const bool precision = report.problem.space.precision.size() > 1;
  const planner::SearchSpace& space = report.problem.space;
  const bool offload = space.offload.size() > 1 || space.offload_fraction.size() > 1;
  Cells rows{{"#", "layout", "recompute"}};
  if (precision) rows[0].emplace_back("type");
  if (offload) rows[0].emplace_back("offload");
  if (hardware) rows[0].emplace_back("cluster");
  if (report.varies_batch()) rows[0].emplace_back("batch");
  for (const char* head : {"micro-batch", "step", "tokens/s/GPU", "MFU", "GiB", "free", "risk"})
    rows[0].emplace_back(head);
  const bool cautious = report.problem.rank_by == planner::RankBy::P90;
  if (cautious) rows[0].emplace_back("p90");
  if (money) rows[0].insert(rows[0].end(), {"training", "goodput", "cost"});
  if (report.problem.simulate_winners) rows[0].emplace_back("closed form");
  const bool batch = report.varies_batch();
  const std::size_t left = 3 + (precision ? 1 : 0) + (offload ? 1 : 0) + (hardware ? 1 : 0);
  for (std::size_t i = 0; i < report.ranking.plans.size(); ++i) {
    const RankedPlan& ranked = report.ranking.plans[i];
    const Plan& plan = ranked.plan;
    std::vector<std::string> row{fmt::format("{}", i + 1), presets::to_layout_text(plan.layout),
                                 recompute_of(plan)};
    if (precision) row.emplace_back(presets::name_in(presets::kPrecisionNames, plan.recipe.precision));
    if (offload) row.push_back(offload_of(plan));
    if (hardware) row.push_back(cluster_of(report, plan).name);
    if (batch) row.push_back(format_count(plan.recipe.global_batch));
    row.push_back(format_count(plan.recipe.micro_batch));
    row.push_back(step_text(plan.price.step));
    row.push_back(format_count(whole(plan.price.tokens_per_second_per_gpu)));
    row.push_back(format_percent(plan.price.mfu));
    row.push_back(gib_digits(plan.price.peak));
    row.push_back(format_percent(plan.price.headroom() / plan.price.capacity));
    row.push_back(format_percent(plan.price.risk));
    if (cautious) row.push_back(step_text(ranked.ninth_decile));
    if (money) {
      const costmodel::TrainingCost cost = training_of(report, ranked);
      row.push_back(format_duration(cost.wall));
      row.push_back(format_percent(cost.goodput.productive));
      row.push_back(cost.dollars > 0 ? "$" + format_short(cost.dollars) : "");
    }
    if (report.problem.simulate_winners) row.push_back(closed_form_cell(ranked));
    rows.push_back(std::move(row));
  }
  return fitted_table(std::move(rows), style, {left, {std::begin(kExpendable), std::end(kExpendable)}});
}

/// What few published runs can tell of, and which of the plans use it.
std::string thin_evidence(const SearchReport& report) {
  const auto& plans = report.ranking.plans;
  std::string text;
  for (const costmodel::TechniqueEvidence& row : costmodel::technique_evidence()) {
    if (row.configurations >= kThinEvidence) continue;
    std::vector<std::size_t> users;
    for (std::size_t i = 0; i < plans.size(); ++i) {
      if (contains(plans[i].techniques, row.technique)) users.push_back(i + 1);
    }
    if (users.empty()) continue;
    const std::string whose =
        users.size() == plans.size()
            ? "all plans"
            : fmt::format("plan{} {}", users.size() == 1 ? "" : "s", fmt::join(users, ", "));
    const std::string known =
        row.configurations == 0
            ? "no published run"
            : fmt::format("{} published configuration{}, predicted to within {}", row.configurations,
                          row.configurations == 1 ? "" : "s", format_percent(row.spread));
    text += fmt::format("Little evidence for {} ({}): {}\n", row.name, whose, known);
  }
  if (!text.empty())
    text += report.problem.rank_by == planner::RankBy::P90
                ? "Plans are ranked by the step that nine of ten such predictions stay below (p90)\n"
                : "--rank-by p90 ranks plans by what nine of ten such predictions stay below\n";
  return text;
}

/// The published run nearest to the first plan.
std::string published(const SearchReport& report) {
  const costmodel::Scenario scenario = scenario_of(report, report.ranking.plans.front().plan);
  const std::vector<std::string> lines =
      presets::evidence_lines(presets::evidence_for(scenario, 1), scenario);
  return lines.empty() ? std::string{} : fmt::format("Plan 1, {}\n", lines.front());
}

/// "with --ep-overlap true: 28.2 s (-6 %)": what the space does not vary.
std::string techniques(const SearchReport& report) {
  std::string text;
  for (const planner::UnusedTechnique& row : report.techniques) {
    const RankedPlan& first = report.ranking.plans.front();
    const std::string plan =
        row.plan == 0 ? "Plan 1" : fmt::format("Plan {}, the fastest with it,", row.plan + 1);
    const std::string without = row.setting == "offload" ? " and --recompute none" : "";
    text += fmt::format("{} with --{} {}{}: {} ({})\n", plan, row.setting, row.value, without,
                        step_text(row.step), format_signed_percent(row.step / first.plan.price.step - 1));
  }
  return text;
}

std::string unsettled(const SearchReport& report) {
  if (report.ranking.contest.settled || report.ranking.stopped) return {};
  return "Not every candidate that could be faster by its bound was refined: a plan that is not "
         "listed may be better\n";
}

/// How the rows came about, and what their steps are.
std::string footnotes(const SearchReport& report) {
  const planner::Contest& contest = report.ranking.contest;
  std::string text;
  if (contest.simulated > 0)
    text += fmt::format(
        "Steps are simulated, of {} plans; the last column is the closed form that `estimate` prints\n",
        format_count(contest.simulated));
  if (report.varies_batch()) text += "Plans are ranked by their time per token: batches differ\n";
  if (contest.refined > 0)
    text += fmt::format("Stages are uneven where that is faster: it is for {} candidates\n",
                        format_count(contest.refined));
  text += techniques(report) + unsettled(report) + thin_evidence(report) + published(report);
  return text.empty() ? text : "\n" + text;
}

std::string terms_table(const std::vector<planner::Term>& terms, double total_a, double total_b,
                        const auto& format, const std::string& head_a, const std::string& head_b) {
  Cells rows{{"", head_a, head_b, "difference"}};
  const auto add = [&](std::string_view name, double a, double b) {
    rows.push_back(
        {fmt::format("  {}", name), format(a), format(b), (b < a ? "-" : "+") + format(std::abs(b - a))});
  };
  std::size_t shown = 0;
  for (const planner::Term& term : terms) {
    if (shown == kTermsShown || std::abs(term.difference()) < kSmallestTerm * total_a) break;
    add(term.name, term.a, term.b);
    ++shown;
  }
  add("in all", total_a, total_b);
  return format_table(rows);
}

std::string explanation(const SearchReport& report, const TextStyle& style) {
  if (!report.explanation) return {};
  const auto& [a, b, terms] = *report.explanation;
  const RankedPlan &ranked_a = report.ranking.plans[a], &ranked_b = report.ranking.plans[b];
  const Plan &plan_a = ranked_a.plan, &plan_b = ranked_b.plan;
  const std::string head_a = fmt::format("plan {}", a + 1), head_b = fmt::format("plan {}", b + 1);
  const auto seconds = [](double value) { return format_duration(Seconds{value}); };
  const auto bytes = [](double value) { return format_binary(Bytes{value}); };
  return fmt::format("\n{}\n",
                     style.bold(fmt::format("Plan {} beside plan {}: the terms that differ", a + 1, b + 1))) +
         fmt::format("  {} = {}\n  {} = {}\n", head_a, presets::to_layout_text(plan_a.layout), head_b,
                     presets::to_layout_text(plan_b.layout)) +
         "  step time, in closed form\n" +
         terms_table(terms.time, ranked_a.estimate.time.total().value(),
                     ranked_b.estimate.time.total().value(), seconds, head_a, head_b) +
         "  memory of the fullest stage\n" +
         terms_table(terms.memory, plan_a.price.peak.value(), plan_b.price.peak.value(), bytes, head_a,
                     head_b);
}

/// The best plan on other machines, beside that on these.
std::string sensitivity(const SearchReport& report, const TextStyle& style) {
  if (report.sensitivity.empty() || report.ranking.plans.empty()) return {};
  const Plan& now = report.ranking.plans.front().plan;
  Cells rows{{"  change", "layout", "recompute", "step", "tokens/s", "dollars per step", "risk"}};
  for (const planner::ChangedMachines& changed : report.sensitivity) {
    if (!changed.best) {
      rows.push_back({"  " + changed.change, "nothing fits", "", "", "", "", ""});
      continue;
    }
    const Plan& plan = changed.best->plan;
    const planner::PlanShift shift = planner::shift_of(now, plan);
    rows.push_back(
        {"  " + changed.change, shift.same_plan ? "the same plan" : presets::to_layout_text(plan.layout),
         recompute_of(plan), step_text(plan.price.step), format_signed_percent(shift.throughput),
         plan.price.dollars_per_step > 0 ? fmt::format("${:.4g}", plan.price.dollars_per_step) : "",
         format_percent(plan.price.risk)});
  }
  return fmt::format("\n{}\n", style.bold("Sensitivity of the first plan: the best one on other machines")) +
         fitted_table(std::move(rows), style, {.left = 3, .expendable = {"dollars per step", "risk"}});
}

std::string pareto(const SearchReport& report, const TextStyle& style) {
  const auto& front = report.ranking.pareto;
  if (front.size() < 2) return {};
  Cells rows{{"  step", "GiB", "risk", "GPUs", "layout", "micro-batch", "recompute"}};
  const std::size_t shown = std::min(front.size(), kParetoShown);
  for (std::size_t i = 0; i < shown; ++i) {
    // The ends and an even choice between them.
    const Plan& plan = front[shown == 1 ? 0 : i * (front.size() - 1) / (shown - 1)];
    rows.push_back({"  " + step_text(plan.price.step), gib_digits(plan.price.peak),
                    format_percent(plan.price.risk), format_count(plan.price.gpus),
                    presets::to_layout_text(plan.layout), format_count(plan.recipe.micro_batch),
                    recompute_of(plan)});
  }
  return fmt::format("\n{} ({} plans that none beats in time, memory, GPUs and cost{})\n",
                     style.bold("Pareto front, in closed form"),
                     format_count(static_cast<std::int64_t>(front.size())),
                     shown < front.size() ? fmt::format("; {} of them", shown) : "") +
         fitted_table(std::move(rows), style, {.left = 7, .expendable = {"GPUs", "risk"}});
}

/// Of the whole job: batches may differ, so what counts is the time per token.
double rate_of(const planner::Price& p) {
  return p.tokens_per_second_per_gpu * static_cast<double>(p.gpus);
}

/// What the limit of the risk keeps out: the best plan that fits whatever its chance of running out of
/// memory.
std::string at_any_risk(const SearchReport& report, const TextStyle& style) {
  const auto& risky = report.ranking.best_at_any_risk;
  if (!risky) return {};
  const planner::Price& price = risky->price;
  std::string gain;
  if (!report.ranking.plans.empty()) {
    const planner::Price& best = report.ranking.plans.front().plan.price;
    const double time = rate_of(best) / rate_of(price);
    const bool by_gpus = report.problem.objective == planner::Objective::Gpus;
    const bool better = by_gpus && price.gpus != best.gpus ? price.gpus < best.gpus : time < 1;
    if (!better) return {};
    gain = fmt::format(" ({})", format_signed_percent(time - 1));
  }
  const std::string where = report.varies_hardware() ? " on " + cluster_of(report, *risky).name : "";
  return fmt::format(
      "\n{}: {}{} recompute {}, {} per step{}, {} of {}; its chance of running out of memory is {}, {} is "
      "allowed (--max-risk)\n",
      style.bold("Fits at a higher risk"), presets::to_layout_text(risky->layout), where,
      recompute_of(*risky), step_text(price.step), gain, format_binary(price.peak),
      format_binary(price.capacity), format_percent(price.risk),
      format_percent(report.problem.constraints.max_risk));
}

std::string help(const SearchReport& report) {
  if (!report.help) return {};
  return fmt::format("  {}, which comes closest,\n{}", presets::to_layout_text(report.help->layout),
                     changes_lines(report.help->changes, "would fit"));
}

std::string rejections(const SearchReport& report, const TextStyle& style) {
  const auto& all = report.ranking.rejections;
  if (all.empty()) return {};
  std::string text = fmt::format("\n{}\n", style.bold("Left out, by rule"));
  std::size_t left_out = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const planner::RejectionCount& row = all[i];
    if (i >= kRejectionsShown && !row.constraint) {  // limits are told however few they reject
      ++left_out;
      continue;
    }
    text += fmt::format("  {:>12} {}: {}{}{}\n", format_count(row.candidates), row.rule, row.reason,
                        row.advice.empty() ? "" : "; ", row.advice);
    for (const costmodel::Layout& layout : row.nearest)
      text += fmt::format("  {:>12} nearest that passes: {}\n", "", presets::to_layout_text(layout));
  }
  if (left_out > 0) text += fmt::format("  ({} more rules: --json has all)\n", left_out);
  return text;
}

/// A word that listed plans ask for and their numbers leave out, and which of them do.
struct LeftOut {
  costmodel::KnobNote word;
  std::vector<std::size_t> plans;  // counted from 1
};

void add(std::vector<LeftOut>& rows, const costmodel::KnobNote& word, std::size_t plan) {
  auto row = std::find_if(rows.begin(), rows.end(), [&](const LeftOut& r) { return r.word == word; });
  if (row == rows.end()) row = rows.insert(rows.end(), LeftOut{word, {}});
  row->plans.push_back(plan);
}

/// Where not all plans ask for a word, with those that do.
std::string not_modelled_footer(const SearchReport& report, const TextStyle& style) {
  const auto& plans = report.ranking.plans;
  std::vector<LeftOut> rows;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    for (const auto& word : not_modelled_of(report, plans[i].plan)) add(rows, word, i + 1);
  }
  std::vector<costmodel::KnobNote> words;
  for (const auto& [word, numbers] : rows) {
    words.push_back(word);
    if (numbers.size() < plans.size())
      words.back().knob +=
          fmt::format(" (plan{} {})", numbers.size() == 1 ? "" : "s", fmt::join(numbers, ", "));
  }
  return not_modelled_text(words, style);
}

/// A whole number as people write it: 15000000000000 is 15T.
std::string count_text(std::int64_t count) {
  constexpr std::pair<std::int64_t, char> units[] = {
      {1'000'000'000'000, 'T'}, {1'000'000'000, 'B'}, {1'000'000, 'M'}};
  for (const auto& [unit, letter] : units) {
    if (count >= unit && count % unit == 0) return fmt::format("{}{}", count / unit, letter);
  }
  return fmt::format("{}", count);
}

/// As a flag takes it: a list with commas, words without quotes.
std::string flag_text(const presets::JsonValue& value) {
  if (const auto* text = value.get_if<std::string>()) return *text;
  const auto* list = value.get_if<presets::JsonArray>();
  if (list == nullptr) return to_text(value, presets::JsonStyle::Compact);
  std::string words;
  for (const presets::JsonValue& element : *list) words += (words.empty() ? "" : ",") + flag_text(element);
  return words;
}

/// How the first plan is looked at closer.
std::string next_step(const SearchReport& report) {
  return "\nCloser: hexaplan estimate " + words_of_plan(report, report.ranking.plans.front().plan) + "\n";
}

}  // namespace

std::string words_of_plan(const SearchReport& report, const Plan& plan) {
  const auto* model = report.question.request.model.get_if<std::string>();
  std::string words =
      fmt::format("--model {} --cluster {} --layout \"{}\"", model == nullptr ? "MODEL" : *model,
                  cluster_of(report, plan).name, presets::to_layout_text(plan.layout));
  const std::string& framework = report.question.scenario.framework.name;
  if (framework != "megatron") words += " --framework " + framework;
  const presets::ScenarioRequest& asked = report.question.request;
  if (!asked.calibration.empty()) words += " --calibration " + asked.calibration;
  if (!asked.fabric.empty()) words += " --fabric " + asked.fabric;
  for (const presets::RecipeField& field : presets::recipe_fields()) {
    const presets::JsonValue value = field.write(plan.recipe);
    if (field.flag.empty() || value == field.write({})) continue;
    words += fmt::format(" {} {}", field.flag,
                         field.flag == "--tokens" ? count_text(plan.recipe.tokens) : flag_text(value));
  }
  return words;
}

costmodel::Interval interval_of(const RankedPlan& ranked) {
  const costmodel::Interval& closed = ranked.estimate.step_seconds;
  const double off = ranked.plan.price.step / ranked.estimate.time.total();
  return {closed.low * off, closed.high * off};
}

costmodel::TrainingCost training_of(const SearchReport& report, const RankedPlan& ranked) {
  return training_cost(scenario_of(report, ranked.plan), ranked.plan.price.step, interval_of(ranked));
}

costmodel::Scenario scenario_of(const SearchReport& report, const Plan& plan) {
  return planner::scenario_of(report.problem, plan);
}

std::vector<costmodel::KnobNote> not_modelled_of(const SearchReport& report, const Plan& plan) {
  return costmodel::not_modelled(scenario_of(report, plan));
}

std::string search_text(const SearchReport& report, const TextStyle& style) {
  std::string text = fewest_line(report) + heading(report, style) + counts_line(report) + "\n";
  if (report.ranking.plans.empty()) {
    text += fmt::format("{}: {}\n", style.bad("Nothing found"), planner::reason_for_nothing(report.ranking));
    return text + unsettled(report) + help(report) + at_any_risk(report, style) + rejections(report, style);
  }
  return text + plan_table(report, style) + footnotes(report) + at_any_risk(report, style) +
         explanation(report, style) + sensitivity(report, style) + pareto(report, style) +
         rejections(report, style) + not_modelled_footer(report, style) + next_step(report);
}

std::vector<std::string> plan_heads() {
  return {"cluster",
          "gpus",
          "layout",
          "micro_batch",
          "recompute",
          "precision",
          "step_seconds",
          "tokens_per_second_per_gpu",
          "mfu",
          "peak_bytes",
          "capacity_bytes",
          "dollars_per_step",
          "out_of_memory_probability",
          "simulated_seconds",
          "p90_seconds",
          "offload"};
}

std::vector<std::string> plan_row(const SearchReport& report, const RankedPlan& ranked) {
  const Plan& p = ranked.plan;
  return {cluster_of(report, p).name,
          fmt::format("{}", p.price.gpus),
          presets::to_layout_text(p.layout),
          fmt::format("{}", p.recipe.micro_batch),
          recompute_of(p),
          std::string{presets::name_in(presets::kPrecisionNames, p.recipe.precision)},
          fmt::format("{}", p.price.step.value()),
          fmt::format("{}", p.price.tokens_per_second_per_gpu),
          fmt::format("{}", p.price.mfu),
          fmt::format("{}", costmodel::whole(p.price.peak)),
          fmt::format("{}", costmodel::whole(p.price.capacity)),
          fmt::format("{}", p.price.dollars_per_step),
          fmt::format("{}", p.price.risk),
          ranked.simulated ? fmt::format("{}", ranked.simulated->value()) : "",
          fmt::format("{}", ranked.ninth_decile.value()),
          offload_of(p)};
}

std::string step_text(Seconds step) {
  constexpr double minute = 60, most = 600;
  return step.value() >= minute && step.value() < most ? fmt::format("{:.1f} s", step.value())
                                                       : format_duration(step);
}

Cells plan_cells(const SearchReport& report) {
  Cells rows{plan_heads()};
  rows[0].insert(rows[0].begin(), "rank");
  for (std::size_t i = 0; i < report.ranking.plans.size(); ++i) {
    rows.push_back(plan_row(report, report.ranking.plans[i]));
    rows.back().insert(rows.back().begin(), fmt::format("{}", i + 1));
  }
  return rows;
}

}  // namespace hexaplan::cli
