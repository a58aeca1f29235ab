#include "python/answers.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <memory>
#include <stop_token>
#include <thread>
#include <variant>

#include "charts/estimate_svg.h"
#include "charts/gantt_svg.h"
#include "charts/memory_svg.h"
#include "charts/svg.h"
#include "cli/commands/import.h"
#include "cli/commands/question.h"
#include "cli/commands/report.h"
#include "cli/options/command_of_values.h"
#include "cli/render/accuracy_json.h"
#include "cli/render/compare_text.h"
#include "cli/render/estimate_json.h"
#include "cli/render/search_text.h"
#include "cli/render/simulate_json.h"
#include "presets/json/input_error.h"
#include "presets/scenario/scenario_page.h"

namespace hexaplan::python {

using presets::InputError;
using presets::JsonArray;
using presets::JsonObject;
using presets::JsonValue;

namespace {

/// A function of the module: the command that it is, without what only a terminal shows.
struct FunctionRow {
  std::string_view name;
  cli::CommandRow (*command)();
  std::initializer_list<std::string_view> without;
};
const FunctionRow kFunctions[] = {{"estimate", cli::estimate_row, {"--require-fit"}},
                                  {"simulate", cli::simulate_row, {}},
                                  {"search", cli::search_row, {"--html", "--csv", "--markdown"}},
                                  {"compare", cli::compare_row, {"--csv", "--markdown"}},
                                  {"import_config", cli::import_row, {}},
                                  {"accuracy", cli::accuracy_row, {"--rows", "--worst", "--few-shot"}}};

cli::CommandRow row_of(std::string_view function) {
  const auto* found = std::find_if(std::begin(kFunctions), std::end(kFunctions),
                                   [&](const FunctionRow& row) { return row.name == function; });
  if (found == std::end(kFunctions))
    throw InputError({.field = "function",
                      .value = presets::in_quotes(function),
                      .expected = "estimate, simulate, search, compare, import_config or accuracy"});
  cli::CommandRow row = found->command();
  row.name = found->name;
  cli::remove_options(row.options, found->without);
  return row;
}

/// Presets of all calls: a notebook asks about the same ones again and again.
const std::shared_ptr<presets::PresetMemory>& preset_memory() {
  static const auto memory = std::make_shared<presets::PresetMemory>();
  return memory;
}

template <class Options>
Options options_of(std::string_view function, const Asked& asked) {
  auto options = std::get<Options>(cli::command_of_values(row_of(function), asked.options));
  if constexpr (requires { options.question; }) {
    options.question.memory = preset_memory();
    if (!asked.scenario.is_null())
      options.question.request = presets::read_scenario({"scenario", asked.scenario});
  }
  return options;
}

/// The parts of a report stand on any page: the colours that they take from theirs are given here.
std::string framed(const std::string& parts) {
  return "<div class=\"hexaplan\" style=\"--ink:#1a1a1a;--soft-ink:#595959;--rule:#8c8c8c;--lane:#f5f5f5;"
         "--dark-mark:#000000;background:#ffffff;color:#1a1a1a;padding:8px;max-width:1100px;overflow:auto\">"
         "\n" +
         parts + "</div>\n";
}

InputError no_picture(std::string_view picture, std::string expected) {
  return InputError(
      {.field = "picture", .value = presets::in_quotes(picture), .expected = std::move(expected)});
}

InputError not_priced(const costmodel::Estimate& estimate) {
  const auto* rejected = std::get_if<costmodel::Rejected>(&estimate.verdict);
  return InputError({.field = "picture",
                     .hint = rejected == nullptr
                                 ? "nothing was priced"
                                 : "the layout cannot run: " + rejected->reason + "; " + rejected->advice});
}

}  // namespace

// ---- estimate ----

double EstimateAnswer::step_seconds() const {
  return report_.priced() ? report_.estimate.time.total().value() : std::numeric_limits<double>::quiet_NaN();
}

std::int64_t EstimateAnswer::peak_bytes() const {
  return report_.priced() ? costmodel::whole(report_.estimate.peak().device) : 0;
}

double EstimateAnswer::risk() const {
  return report_.priced() ? report_.estimate.out_of_memory_probability
                          : std::numeric_limits<double>::quiet_NaN();
}

cli::EstimateReport EstimateAnswer::whole_report() const {
  cli::EstimateReport report = report_;
  if (report.changes.empty()) suggest_changes(report);
  return report;
}

JsonValue EstimateAnswer::json() const {
  return estimate_json(whole_report());
}

std::string EstimateAnswer::svg(std::string_view picture) const {
  if (picture != "memory" && picture != "time") throw no_picture(picture, "\"memory\" or \"time\"");
  if (!report_.priced()) throw not_priced(report_.estimate);
  const std::string title = title_of(cli::answer_of(report_, {}));
  return picture == "memory" ? charts::stage_memory_svg(report_.estimate, title)
                             : charts::step_time_svg(report_.estimate, title);
}

std::string EstimateAnswer::display() const {
  const report::Answer answer = cli::answer_of(whole_report(), {});
  return framed(summary_part(answer) + (answer.priced() ? memory_part(answer) + time_part(answer) : ""));
}

std::string EstimateAnswer::page() const {
  return report::plan_page(cli::page_of({cli::answer_of(whole_report(), {})}));
}

EstimateAnswer estimate(const Asked& asked) {
  auto options = options_of<cli::EstimateOptions>("estimate", asked);
  options.suggest = false;
  return EstimateAnswer{run_estimate(options)};
}

// ---- simulate ----

JsonValue SimulationAnswer::json() const {
  return simulate_json(report_);
}

report::Answer SimulationAnswer::answer() const {
  return cli::answer_of(
      {.question = report_.question, .parameters = report_.parameters, .estimate = report_.estimate}, {});
}

namespace {

/// Why a simulation keeps no spans and curves; empty where it can.
std::string too_large(const cli::SimulateReport& report) {
  const auto refused = costmodel::too_large_to_simulate(report.question.scenario);
  return refused ? refused->reason + "; " + refused->advice : std::string{};
}

/// With everything that pictures show.
costmodel::Simulation simulate_whole(const cli::SimulateReport& report) {
  if (!report.simulation) throw not_priced(report.estimate);
  if (std::string reason = too_large(report); !reason.empty())
    throw InputError({.field = "picture", .hint = std::move(reason)});
  return costmodel::simulate_step(report.question.scenario, report.question.calibration);
}

}  // namespace

std::string SimulationAnswer::svg(std::string_view picture) const {
  if (picture != "timeline" && picture != "memory") throw no_picture(picture, "\"timeline\" or \"memory\"");
  const costmodel::Simulation simulation = simulate_whole(report_);
  const std::string title = title_of(answer());
  return picture == "timeline" ? charts::gantt_svg(simulation, title)
                               : charts::memory_svg(simulation, report_.estimate.capacity, title);
}

std::string SimulationAnswer::display() const {
  const report::Answer told = answer();
  const std::string summary = summary_part(told);
  if (!report_.simulation) return framed(summary);
  const std::string reason = too_large(report_);
  return framed(summary + (reason.empty() ? timeline_part(told, simulate_whole(report_))
                                          : "<p>" + charts::escaped_markup(reason) + "</p>\n"));
}

std::string SimulationAnswer::page() const {
  return report::plan_page(cli::page_of({answer()}));
}

SimulationAnswer simulate(const Asked& asked) {
  return SimulationAnswer{run_simulate(options_of<cli::SimulateOptions>("simulate", asked), true)};
}

// ---- search ----

JsonValue SearchAnswer::json() const {
  return search_json(report_);
}

std::string SearchAnswer::display() const {
  return framed(report::found_part({report_.problem, report_.ranking}));
}

std::string SearchAnswer::page() const {
  return report::plan_page(report_of(report_));
}

SearchAnswer search(const Asked& asked, const std::function<bool()>& interrupted) {
  const auto options = options_of<cli::SearchOptions>("search", asked);
  std::stop_source stop;
  const std::thread::id caller = std::this_thread::get_id();
  const planner::SearchOptions how{.progress =
                                       [&](const planner::SearchProgress& /*progress*/) {
                                         if (std::this_thread::get_id() == caller && interrupted())
                                           stop.request_stop();
                                       },
                                   .stop = stop.get_token()};
  return SearchAnswer{run_search(options, how)};
}

// ---- compare ----

JsonValue CompareAnswer::json() const {
  return compare_json(report_);
}

charts::Cells CompareAnswer::cells() const {
  return compare_cells(report_);
}

std::vector<EstimateAnswer> CompareAnswer::sides() const {
  std::vector<EstimateAnswer> sides;
  for (const cli::Side& side : report_.sides) sides.emplace_back(side.report);
  return sides;
}

std::vector<report::Answer> CompareAnswer::answers() const {
  std::vector<report::Answer> answers;
  for (const cli::Side& side : report_.sides) answers.push_back(cli::answer_of(side.report, side.name));
  return answers;
}

std::string CompareAnswer::display() const {
  return framed(comparison_part(answers()));
}

std::string CompareAnswer::page() const {
  return report::plan_page(cli::page_of(answers()));
}

CompareAnswer compare(const Asked& asked) {
  return CompareAnswer{run_compare(options_of<cli::CompareOptions>("compare", asked))};
}

CompareAnswer compare(const std::vector<std::string>& names, const std::vector<EstimateAnswer>& answers) {
  cli::CompareReport report;
  for (std::size_t i = 0; i < answers.size(); ++i)
    report.sides.push_back({names[i], answers[i].whole_report()});
  return CompareAnswer{std::move(report)};
}

// ---- accuracy, import ----

JsonValue AccuracyAnswer::json() const {
  return accuracy_json(result_, true);
}

AccuracyAnswer accuracy(const Asked& asked) {
  return AccuracyAnswer{run_accuracy(options_of<cli::AccuracyOptions>("accuracy", asked))};
}

JsonValue import_config(const Asked& asked) {
  return cli::import_json(run_import(options_of<cli::ImportOptions>("import_config", asked)));
}

JsonValue read_scenario(const std::string& path) {
  presets::JsonDocument document = presets::read_scenario_document(path);
  cli::ask_anew(document.root);  // the call puts something on top
  return to_json(presets::read_scenario(document));
}

// ---- words ----

namespace {

std::string_view kind_of(const cli::OptionRow& row) {
  constexpr std::string_view kKinds[] = {"switch", "text",
                                         "texts"};  // by the alternatives of OptionRow::target
  return kKinds[row.target.index()];
}

}  // namespace

JsonValue options_of(std::string_view function) {
  JsonArray rows;
  for (const cli::OptionRow& row : row_of(function).options) {
    JsonArray choices;
    for (const std::string& choice : row.choices) choices.emplace_back(choice);
    rows.push_back(JsonObject{{"flag", row.flags},
                              {"value", row.value},
                              {"help", row.help},
                              {"choices", std::move(choices)},
                              {"kind", kind_of(row)}});
  }
  return rows;
}

}  // namespace hexaplan::python
