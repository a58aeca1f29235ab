// `hexaplan report`: a page that anybody can open, and that the program opens again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "run_hexaplan.h"

namespace hexaplan::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::string kQuestion = "--model llama-3.1-8b --cluster 16xH100 --seq 4096 --quiet ";

TEST(report_command, writes_a_page_that_every_command_reads_as_a_scenario) {
  const TemporaryFile page{"", ".html"};
  const Finished run =
      run_hexaplan("report --html " + page.path() + " --layout 'tp2 pp2 sp zero1' " + kQuestion);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.out, "");
  const auto asked = json_of("estimate --json --layout 'tp2 pp2 sp zero1' " + kQuestion);
  EXPECT_EQ(json_of("estimate --json --scenario " + page.path()), asked);
  EXPECT_EQ(json_of("estimate --json --from " + page.path()), asked);
  EXPECT_EQ(at(json_of("simulate --json --scenario " + page.path()), "schema"),
            presets::JsonValue{"hexaplan/simulation/1"});
  const auto sides = json_of("compare --json " + page.path() + " " + page.path());
  EXPECT_EQ(at(sides.find("sides")->get_if<presets::JsonArray>()->back(), "estimate"), asked);
  EXPECT_EQ(run_hexaplan("estimate --scenario -", content_of(page.path())).exit_code, 0);
  EXPECT_THAT(content_of(page.path()), HasSubstr("<section id=\"timeline\">"));
}

TEST(report_command, flags_count_on_top_of_a_page) {
  const TemporaryFile page{"", ".html"};
  ASSERT_EQ(
      run_hexaplan("report --no-simulate --html " + page.path() + " --layout tp2 " + kQuestion).exit_code, 0);
  EXPECT_THAT(content_of(page.path()), Not(HasSubstr("<section id=\"timeline\">")));
  const auto changed = json_of("estimate --json --seq 8192 --from " + page.path());
  EXPECT_EQ(number_at(changed, "scenario.recipe.sequence"), 8192);
}

TEST(report_command, sets_layouts_and_files_side_by_side_on_one_batch) {
  const TemporaryFile page{"", ".html"};
  const Finished run =
      run_hexaplan("report 'tp2 pp2' 'tp4 pp4' --no-simulate --html " + page.path() + " " + kQuestion);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  const std::string html = content_of(page.path());
  EXPECT_THAT(html, HasSubstr("<section id=\"comparison\">"));
  EXPECT_THAT(html, HasSubstr("id=\"hexaplan-scenario-2\""));
  const std::string comparison = html.substr(html.find("Inputs that differ"), 600);
  EXPECT_THAT(comparison, HasSubstr("layout"));
  EXPECT_THAT(comparison, Not(HasSubstr("global batch"))) << "both train on the same";
}

TEST(report_command, a_search_keeps_the_batch_of_the_plan_that_it_stands_beside) {
  const TemporaryFile page{"", ".html"};
  const Finished run = run_hexaplan("report --search --top 3 --max-risk 1% --html " + page.path() +
                                    " --layout 'tp2 pp4' " + kQuestion);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  const std::string html = content_of(page.path());
  const std::string plans = html.substr(html.find("<section id=\"plans\">"));
  EXPECT_THAT(plans, HasSubstr("at most 1.0 %"));
  EXPECT_THAT(plans, HasSubstr("<td class=\"l\">3</td>"));
  EXPECT_THAT(plans, Not(HasSubstr("<td class=\"l\">4</td>")));
}

TEST(report_command, a_search_writes_the_page_of_its_best_plan) {
  const TemporaryFile page{"", ".html"};
  const auto found = json_of("search --json --top 2 --html " + page.path() + " " + kQuestion);
  const auto& first = found.find("plans")->get_if<presets::JsonArray>()->front();
  const auto again = json_of("estimate --json --scenario " + page.path());
  EXPECT_EQ(number_at(again, "time.step_seconds"), number_at(first, "closed_form_seconds"));
  EXPECT_THAT(content_of(page.path()), HasSubstr("<section id=\"plans\">"));
}

TEST(report_command, a_model_of_a_file_travels_inside) {
  const TemporaryFile page{"", ".html"};
  const TemporaryFile model{R"({"model_type": "llama", "hidden_size": 1024, "num_hidden_layers": 4,
    "num_attention_heads": 16, "num_key_value_heads": 4, "intermediate_size": 4096, "vocab_size": 32000})",
                            ".json"};
  ASSERT_EQ(run_hexaplan("report --quiet --html " + page.path() + " --cluster 8xH100 --model " + model.path())
                .exit_code,
            0);
  const auto again = json_of("estimate --json --scenario " + page.path());
  EXPECT_EQ(number_at(again, "scenario.model.hidden_size"), 1024);
}

TEST(report_command, takes_a_model_of_dimensions) {
  const TemporaryFile page{"", ".html"};
  const std::string question =
      "--quiet --cluster 8xH100 --model 'layers=8 hidden=512 heads=8 ffn=1376 vocab=32000' ";
  ASSERT_EQ(run_hexaplan("report --html " + page.path() + " " + question).exit_code, 0);
  EXPECT_EQ(json_of("estimate --json --scenario " + page.path()), json_of("estimate --json " + question));
}

TEST(report_command, says_what_it_cannot_use) {
  struct Case {
    std::string arguments;
    int code;
    const char* says;
  };
  const TemporaryFile empty_page{"<!DOCTYPE html><html></html>", ".html"};
  const Case cases[] = {
      {"report " + kQuestion, 2, "--html FILE"},
      {"report --html /proc/none/p.html " + kQuestion, 4, "/proc/none/p.html"},
      {"search --html /proc/none/p.html " + kQuestion, 4, "/proc/none/p.html"},
      {"estimate --scenario " + empty_page.path(), 4, "a page that 'hexaplan report' wrote"},
      {"estimate --from " + empty_page.path(), 4, "a page that 'hexaplan report' wrote"},
  };
  for (const Case& row : cases) {
    const Finished run = run_hexaplan(row.arguments);
    EXPECT_EQ(run.exit_code, row.code) << row.arguments << run.err;
    EXPECT_THAT(run.err, HasSubstr(row.says)) << row.arguments;
  }
}

}  // namespace
}  // namespace hexaplan::cli
