// Pages of plans and sweeps: one file, well formed, safe, and telling what the estimate tells, to the byte.
#include "report/plan_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include "planner/search/search.h"
#include "planner/search/sensitivity.h"
#include "presets/json/read_json.h"
#include "presets/models/model_dimensions.h"
#include "presets/scenario/scenario_page.h"
#include "report/figures.h"
#include "report/ledger_tree.h"
#include "report/sweep_page.h"
#ifdef HEXAPLAN_HAS_XML_READER
#include <QXmlStreamReader>
#endif

namespace hexaplan::report {
namespace {

using testing::HasSubstr;
using testing::Not;

Answer answer_to(const std::string& scenario, const std::string& name = {}) {
  const auto request = presets::read_scenario(presets::parse_json(scenario, "test"));
  Answer answer{.name = name, .request = request, .resolved = presets::resolve_calibrated(request)};
  answer.estimate = costmodel::estimate_step(answer.resolved.scenario, answer.resolved.calibration);
  return answer;
}

constexpr const char* kEightB =
    R"({"schema": "hexaplan/scenario/1", "model": "llama-3.1-8b", "cluster": "16xH100",
  "layout": "tp2 pp2 sp zero1", "recipe": {"sequence": 4096, "global_batch": 32}})";
constexpr const char* kTwice =
    R"({"schema": "hexaplan/scenario/1", "model": "llama-3.1-8b", "cluster": "16xH100",
  "layout": "tp2 pp2 sp zero1", "recipe": {"sequence": 4096, "global_batch": 64, "tokens": 1000000000}})";

/// Everything that a page can hold.
PlanReport full_report() {
  PlanReport report{.program = "hexaplan <test> & co",
                    .answers = {answer_to(kEightB), answer_to(kTwice, "<b>x</b>")}};
  const Answer& first = report.answers.front();
  report.simulation = costmodel::simulate_step(first.resolved.scenario, first.resolved.calibration);
  planner::SearchProblem problem{.base = first.resolved.scenario,
                                 .hardware = {{first.resolved.scenario.cluster, first.resolved.calibration}}};
  problem.space.tp = {1, 2};
  problem.space.micro_batch = {1};
  report.found = Found{problem, planner::search(problem), planner::sensitivity(problem)};
  return report;
}

/// Words of a page, markup and tips apart.
std::string text_of(const std::string& html) {
  return std::regex_replace(html, std::regex{"<[^>]*>"}, " ");
}

/// What a parser of XML objects to; empty: nothing.
std::string objection(const std::string& page) {
#ifdef HEXAPLAN_HAS_XML_READER
  QXmlStreamReader reader{QByteArray::fromStdString(page)};
  while (!reader.atEnd()) reader.readNext();
  return reader.hasError()
             ? reader.errorString().toStdString() + " in line " + std::to_string(reader.lineNumber())
             : std::string{};
#else
  return page.empty() ? "empty" : "";
#endif
}

TEST(plan_page, is_well_formed_and_has_every_part) {
  const std::string page = plan_page(full_report());
  EXPECT_EQ(objection(page), "");
  for (const char* part :
       {"comparison", "memory", "ledger", "time", "timeline", "plans", "inputs", "evidence", "formulas"}) {
    EXPECT_THAT(page, HasSubstr(std::string{"<section id=\""} + part + "\">"));
    EXPECT_THAT(page, HasSubstr(std::string{"<a href=\"#"} + part + "\">"));
  }
}

TEST(found_part, names_the_best_plan_on_other_machines) {
  Found found = *full_report().found;
  ASSERT_THAT(found.sensitivity, Not(testing::IsEmpty()));
  found.sensitivity.front().best = found.ranking.plans.front();
  found.sensitivity.front().change = "a <change>";
  const std::string said = text_of(found_part(found));
  EXPECT_THAT(said, HasSubstr("Sensitivity: the best plan on other machines"));
  EXPECT_TRUE(std::regex_search(said, std::regex{R"(a &lt;change&gt;\s+the same plan\s[^%]*0\.0 %)"}))
      << said;
  found.sensitivity.front().best.reset();
  EXPECT_THAT(text_of(found_part(found)), HasSubstr("nothing fits"));
  found.sensitivity.clear();
  EXPECT_THAT(found_part(found), Not(HasSubstr("Sensitivity")));
}

TEST(plan_page, names_the_published_runs_nearest_to_the_question) {
  const Answer answer = full_report().answers.front();
  const std::string part = evidence_part(answer);
  EXPECT_THAT(part, HasSubstr("<h3>Published runs nearest to this one</h3>"));
  EXPECT_THAT(part, HasSubstr(" measured, "));
}

TEST(plan_page, needs_nothing_from_elsewhere_and_runs_nothing) {
  std::string page = plan_page(full_report());
  const std::string name_space = "http://www.w3.org/2000/svg";
  for (std::size_t at = page.find(name_space); at != std::string::npos; at = page.find(name_space))
    page.erase(at, name_space.size());
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
  for (const char* word : {" src=", "url(", "@import", "<link", "<iframe", "<img", "<script>",
                           "javascript:", " onload", " onclick"})
    EXPECT_THAT(page, Not(HasSubstr(word)));
  const std::regex reference{"href=\"([^#\"][^\"]*)\""};
  EXPECT_FALSE(std::regex_search(page, reference));
  const std::regex script{"<script (?!type=\"application/json\")"};
  EXPECT_FALSE(std::regex_search(page, script));
}

TEST(plan_page, every_link_inside_leads_somewhere) {
  const std::string page = plan_page(full_report());
  const std::regex link{"href=\"#([^\"]+)\""};
  for (std::sregex_iterator it{page.begin(), page.end(), link}, end; it != end; ++it)
    EXPECT_THAT(page, HasSubstr("id=\"" + (*it)[1].str() + "\"")) << (*it)[1];
}

TEST(plan_page, is_a_scenario_file_that_asks_the_same) {
  const PlanReport report = full_report();
  const auto document = presets::parse_scenario_document(plan_page(report), "plan.html");
  EXPECT_EQ(presets::read_scenario(document), report.answers.front().request);
}

TEST(plan_page, text_of_users_is_never_markup) {
  PlanReport report{.program = "p", .answers = {answer_to(kEightB)}};
  Answer& answer = report.answers.front();
  const std::string evil = "</script><script>alert(1)</script><b>&\"'";
  answer.name = evil;
  answer.resolved.scenario.model.name = evil;
  answer.resolved.scenario.cluster.gpu.name = evil;
  answer.resolved.notes.push_back(evil);
  answer.resolved.calibration.source = evil;
  presets::JsonValue config = presets::model_config("llama-3.1-8b");
  config.get_if<presets::JsonObject>()->emplace_back("note_of_mine", evil);
  answer.request.model = config;
  report.answers.push_back(answer);
  const std::string page = plan_page(report);
  EXPECT_EQ(objection(page), "");
  EXPECT_THAT(page, Not(HasSubstr("<script>alert")));
  EXPECT_THAT(page, Not(HasSubstr("<b>&")));
  const auto document = presets::parse_scenario_document(page, "plan.html");
  EXPECT_EQ(*document.root.find("model")->find("note_of_mine")->get_if<std::string>(), evil);
}

/// "84,031,071,846" as a number.
std::int64_t number_of(std::string text) {
  std::erase(text, ',');
  return std::stoll(text);
}

// "147" here beside "148" everywhere else.
TEST(summary_part, rounds_tokens_per_second_as_the_other_outputs_do) {
  Answer answer = answer_to(kEightB);
  answer.estimate.throughput.tokens_per_second_per_gpu = 147.6;
  EXPECT_THAT(text_of(summary_part(answer)), HasSubstr("148"));
  EXPECT_THAT(text_of(summary_part(answer)), Not(HasSubstr("147")));
}

// Whoever reads a page may have no program that says more.
TEST(memory_part, of_many_stages_folds_those_in_the_middle_and_leaves_none_out) {
  const Answer answer = answer_to(
      R"({"schema": "hexaplan/scenario/1", "model": "llama-3.1-70b", "cluster": "64xH100",
    "layout": "tp4 pp16 sp zero1", "recipe": {"sequence": 4096, "global_batch": 64}})");
  const std::string memory = memory_part(answer);
  const std::string ledger = ledger_part(answer);
  for (const std::string& part : {memory, ledger}) {
    EXPECT_TRUE(std::regex_search(part, std::regex{R"(<summary>\d more stages</summary>)"}));
    EXPECT_THAT(part, Not(HasSubstr("--json")));
  }
  for (int stage = 0; stage < 16; ++stage) {
    EXPECT_TRUE(
        std::regex_search(memory, std::regex{"<td[^>]*>" + std::to_string(stage) + "(, fullest)?</td>"}))
        << stage;
    EXPECT_THAT(ledger, HasSubstr("<b>Stage " + std::to_string(stage) + "</b>"));
  }
}

// A context as a count of bytes: "context int8 966367641.6".
TEST(ledger_part, counts_elements_whole_and_in_groups_of_three) {
  const std::string ledger = ledger_part(answer_to(kEightB));
  EXPECT_FALSE(std::regex_search(ledger, std::regex{R"(<td>\d+\.\d+</td>)"}));
  EXPECT_FALSE(std::regex_search(ledger, std::regex{R"(<td>\d{5,}</td>)"}));
}

TEST(ledger_part, adds_up_to_the_byte_on_every_level) {
  for (
      const char* scenario :
      {kEightB, R"({"schema": "hexaplan/scenario/1", "model": "mixtral-8x7b", "cluster": "64xH100",
                    "layout": "tp2 pp4 ep4 zero2", "recipe": {"recompute": "selective"}})",
       R"({"schema": "hexaplan/scenario/1", "model": "llama-3.1-70b", "cluster": "64xH100", "framework": "fsdp2",
            "layout": "tp8 zero3"})"}) {
    const Answer answer = answer_to(scenario);
    ASSERT_TRUE(answer.priced());
    const std::string html = ledger_part(answer);
    // Summaries open a level, </details> close it; leaves are rows with seven cells.
    struct Level {
      std::int64_t said, sum = 0;
    };
    std::vector<Level> open;
    std::size_t leaves = 0, stage = 0;
    const std::regex piece{
        "<summary>[^\\n]*bytes\">([0-9,]+) B|<tr>(?:<td[^>]*>[^<]*</td>){5}<td>(-?[0-9,]+)</td>|</details>"};
    for (std::sregex_iterator it{html.begin(), html.end(), piece}, end; it != end; ++it) {
      const std::smatch& m = *it;
      if (m[1].matched) {
        open.push_back({number_of(m[1])});
        if (open.size() == 1) {
          EXPECT_EQ(open.back().said, std::llround(answer.estimate.stages[stage++].device.value()));
        }
      } else if (m[2].matched) {
        ++leaves;
        open.back().sum += number_of(m[2]);
      } else {
        EXPECT_EQ(open.back().sum, open.back().said);
        const std::int64_t said = open.back().said;
        open.pop_back();
        if (!open.empty()) open.back().sum += said;
      }
    }
    EXPECT_TRUE(open.empty());
    EXPECT_GT(leaves, 20U);
    EXPECT_EQ(stage, answer.estimate.stages.size());
  }
}

TEST(summary_part, has_three_verdicts_and_says_the_chance) {
  const auto verdict = [](const char* layout) {
    return text_of(summary_part(answer_to(
        std::string{
            R"({"schema": "hexaplan/scenario/1", "model": "llama-3.1-70b", "cluster": "64xH100", "layout": ")"} +
        layout + "\"}")));
  };
  EXPECT_THAT(verdict("tp8 pp4 sp zero1"), HasSubstr(" Fits "));
  EXPECT_THAT(verdict("tp8 pp4"), testing::ContainsRegex(" At risk: 4[0-9]\\.[0-9] % "));
  EXPECT_THAT(verdict("tp2 pp4"), HasSubstr(" Does not fit "));
  EXPECT_THAT(verdict("tp8 ep3"), HasSubstr(" Cannot run "));
}

TEST(plan_page, of_a_layout_that_cannot_run_says_why_and_what_was_asked) {
  const Answer answer = answer_to(
      R"({"schema": "hexaplan/scenario/1", "model": "llama-3.1-70b", "cluster": "64xH100", "layout": "tp8 ep3"})");
  ASSERT_FALSE(answer.priced());
  const std::string page = plan_page({.program = "p", .answers = {answer, answer_to(kEightB)}});
  EXPECT_EQ(objection(page), "");
  EXPECT_THAT(
      page,
      HasSubstr(std::get<costmodel::Rejected>(answer.estimate.verdict).rule.empty() ? "?" : "Cannot run"));
  EXPECT_THAT(page, HasSubstr("<section id=\"inputs\">"));
}

TEST(plan_page, of_what_nobody_priced_says_so) {
  Answer answer = answer_to(kEightB);
  answer.estimate = {};
  const std::string page = plan_page({.program = "p", .answers = {answer}});
  EXPECT_EQ(objection(page), "");
  EXPECT_THAT(page, HasSubstr(">No answer</span>"));
}

TEST(comparison_part, lists_inputs_that_differ_first_and_only_those) {
  const std::string html = comparison_part({answer_to(kEightB), answer_to(kTwice)});
  const std::string words = text_of(html);
  const std::size_t inputs = words.find("Inputs that differ"), answers = words.find("Answers");
  ASSERT_LT(inputs, answers);
  const std::string differing = words.substr(inputs, answers - inputs);
  EXPECT_THAT(differing, testing::ContainsRegex("global batch +32 +64"));
  EXPECT_THAT(differing, HasSubstr("tokens"));
  EXPECT_THAT(differing, Not(HasSubstr("sequence")));
  EXPECT_THAT(differing, Not(HasSubstr("model")));
}

TEST(figures, have_one_order_and_say_the_difference_from_the_first) {
  const Answer a = answer_to(kEightB), b = answer_to(kTwice);
  const auto first = figures_of(a.resolved.scenario, a.estimate),
             second = figures_of(b.resolved.scenario, b.estimate);
  ASSERT_EQ(first.size(), second.size());
  for (std::size_t i = 0; i < first.size(); ++i) EXPECT_EQ(first[i].label, second[i].label);
  EXPECT_EQ(first.front().label, "step time");
  EXPECT_THAT(figure_text(second.front(), first.front().value),
              testing::ContainsRegex("\\(\\+[0-9]+\\.[0-9] %\\)$"));
  EXPECT_EQ(figure_text(first.front(), first.front().value), figure_text(first.front()));
  // Nobody said a number of tokens in the first, so its training has no figure; in the second it has.
  EXPECT_FALSE(first.back().value);
  EXPECT_TRUE(second.back().value);
}

TEST(scenario_page, a_page_without_a_scenario_is_refused_and_other_text_is_json) {
  EXPECT_THROW((void)presets::parse_scenario_document("<!DOCTYPE html><html><p>hello</p></html>", "a.html"),
               std::exception);
  EXPECT_FALSE(presets::scenario_in_page(kEightB, "a.json"));
  EXPECT_TRUE(presets::parse_scenario_document(kEightB, "a.json").root.find("model"));
  try {
    (void)presets::parse_scenario_document(
        "<html><script type=\"application/json\" id=\"hexaplan-scenario\">{</script>", "a.html");
    ADD_FAILURE();
  } catch (const std::exception& error) {
    EXPECT_THAT(error.what(), HasSubstr("a.html (scenario in the page)"));
  }
}

TEST(scenario_page, what_a_page_compares_comes_back_with_its_name) {
  const PlanReport report = full_report();
  const auto inside = presets::scenarios_in_page(plan_page(report), "plan.html");
  ASSERT_EQ(inside.size(), 2U);
  EXPECT_EQ(inside[1].name, "<b>x</b>");
  EXPECT_EQ(presets::read_scenario(inside[1].document), report.answers[1].request);
  for (const char* name : {"a & b", "&lt;", "\"quoted\" 'too'", ""}) {
    const std::string page = "<html>" + presets::scenario_script({}, 1, name) + "</html>";
    EXPECT_EQ(presets::scenarios_in_page(page, "p").front().name, name);
  }
}

TEST(scenario_page, what_lies_in_files_of_this_machine_travels_or_stays) {
  presets::ScenarioRequest request;
  request.model = "/home/alice/config.json";
  request.calibration = "/home/alice/mine.json";
  request.fabric = "links/mine.json";
  const presets::ScenarioRequest sent = presets::portable(request, presets::JsonObject{{"hidden_size", 64}});
  EXPECT_TRUE(sent.model.find("hidden_size"));
  EXPECT_EQ(sent.calibration + sent.fabric, "");
  request.model = "llama-3.1-8b";
  EXPECT_EQ(*presets::portable(request, presets::JsonObject{}).model.get_if<std::string>(), "llama-3.1-8b");
}

/// Two plans and a cell without one.
SweepReport small_sweep() {
  const Answer answer = answer_to(kEightB);
  planner::Plan plan{.hardware = 0,
                     .layout = answer.resolved.scenario.layout,
                     .recipe = answer.resolved.scenario.recipe,
                     .price = {.step = costmodel::Seconds{2.5},
                               .peak = costmodel::Bytes{40e9},
                               .capacity = costmodel::Bytes{80e9},
                               .gpus = 16,
                               .dollars_per_step = 0,
                               .tokens_per_second_per_gpu = 9000,
                               .mfu = 0.5,
                               .risk = 0.01}};
  SweepReport sweep{
      .program = "hexaplan test",
      .asked = "a <model>",
      .fields = {{"seq", {"4096", "8192"}}, {"gpus", {"8", "16"}}},
      .cells = {{.best = {}, .nothing = "no <layout> fits"}, {plan, {}}, {plan, {}}, {plan, {}}},
      .fastest = answer.request};
  sweep.cells[2].best->price.tokens_per_second_per_gpu = 4500;
  return sweep;
}

TEST(sweep_page, is_one_file_with_a_map_for_each_figure) {
  const std::string page = sweep_page(small_sweep());
  EXPECT_EQ(objection(page), "");
  EXPECT_THAT(page, HasSubstr("a &lt;model&gt;: the best plan over seq and gpus"));
  EXPECT_THAT(page, HasSubstr("3 of 4 searches found a plan."));
  for (const char* figure :
       {"Tokens per second and GPU", "Step time", "Model FLOP/s utilisation", "Memory of the fullest GPU"})
    EXPECT_THAT(page, HasSubstr("<title>" + std::string{figure} + "</title>"));
  EXPECT_THAT(page, Not(HasSubstr("Cost of a million tokens"))) << "nobody knows a price";
  EXPECT_THAT(page, HasSubstr(">9,000<"));
  EXPECT_THAT(page, HasSubstr("#fee838")) << "the most is the lightest";
  EXPECT_THAT(page, HasSubstr("#00306f")) << "the least is the darkest";
  EXPECT_THAT(page, HasSubstr("no &lt;layout&gt; fits"));
}

TEST(sweep_page, names_costs_where_machines_have_a_price) {
  SweepReport sweep = small_sweep();
  for (SweptCell& cell : sweep.cells) {
    if (cell.best) cell.best->price.dollars_per_step = 0.5;
  }
  // 32 sequences of 4,096 tokens for 50 cents.
  EXPECT_THAT(sweep_page(sweep), HasSubstr(">$3.81<"));
}

TEST(sweep_page, carries_the_plan_with_most_tokens_per_second_and_gpu) {
  const SweepReport sweep = small_sweep();
  const auto document = presets::parse_scenario_document(sweep_page(sweep), "sweep.html");
  EXPECT_EQ(presets::read_scenario(document), *sweep.fastest);
}

TEST(sweep_page, of_nothing_says_why_and_draws_nothing) {
  SweepReport sweep = small_sweep();
  for (SweptCell& cell : sweep.cells) cell = {.best = {}, .nothing = "too few GPUs"};
  sweep.fastest.reset();
  sweep.stopped = true;
  const std::string page = sweep_page(sweep);
  EXPECT_EQ(objection(page), "");
  EXPECT_THAT(page, Not(HasSubstr("<svg")));
  EXPECT_THAT(page, HasSubstr("Stopped before the end: 0 of 4 searches"));
  EXPECT_THAT(page, HasSubstr("too few GPUs"));
}

TEST(sweep_page, over_one_field_is_a_row) {
  SweepReport sweep = small_sweep();
  sweep.fields.erase(sweep.fields.begin());
  sweep.cells.resize(2);
  EXPECT_EQ(objection(sweep_page(sweep)), "");
}

}  // namespace
}  // namespace hexaplan::report
