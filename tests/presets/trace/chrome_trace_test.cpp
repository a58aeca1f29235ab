// What is written is read back and checked against the Trace Event Format, and the pictures against their
// simulation.
#include "presets/trace/chrome_trace.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "charts/gantt_svg.h"
#include "charts/memory_svg.h"
#include "costmodel/calibrate/calibration.h"
#include "presets/json/read_json.h"
#include "tests/costmodel/step/example_scenario.h"

namespace hexaplan::presets {
namespace {

using costmodel::Scenario;
using costmodel::ScheduleKind;
using costmodel::Seconds;
using costmodel::Simulation;

Simulation example(ScheduleKind schedule = ScheduleKind::Zbv) {
  Scenario sc = costmodel::example_scenario();
  sc.layout.pp = 4;
  sc.layout.dp = 2;
  sc.layout.schedule = schedule;
  return simulate_step(sc, costmodel::Calibration{});
}

std::string chrome_trace(const Simulation& simulation, const std::string& title) {
  std::string text;
  ChromeTraceWriter writer{title, [&](std::string_view piece) { text += piece; }};
  write_trace(simulation, writer);
  return text;
}

const std::string& text_of(const JsonValue& event, std::string_view key) {
  return *event.find(key)->get_if<std::string>();
}
std::int64_t whole(const JsonValue& event, std::string_view key) {
  return *event.find(key)->get_if<std::int64_t>();
}
double number(const JsonValue& event, std::string_view key) {
  return *event.find(key)->get_if<double>();
}

/// Spans of a thread do not overlap. Returns how many there are.
std::size_t expect_in_order(const JsonArray& events) {
  std::map<std::pair<std::int64_t, std::int64_t>, double> end;
  std::size_t spans = 0;
  for (const JsonValue& event : events) {
    if (text_of(event, "ph") != "X") continue;
    double& last = end[{whole(event, "pid"), whole(event, "tid")}];
    EXPECT_GE(number(event, "ts"), last - 1e-3) << "a nanosecond of rounding; span " << spans;
    last = number(event, "ts") + number(event, "dur");
    ++spans;
  }
  return spans;
}
std::size_t spans_of(const Simulation& simulation) {
  std::size_t spans = 0;
  for (const auto& stage : simulation.stages) {
    for (const auto& stream : stage.streams) spans += stream.size();
  }
  return spans;
}

class Trace : public testing::Test {
 protected:
  Simulation simulation = example();
  JsonDocument document = parse_json(chrome_trace(simulation, "a \"quoted\" title"), "trace");
  const JsonArray& events = *document.root.find("traceEvents")->get_if<JsonArray>();
};

TEST_F(Trace, every_event_has_the_fields_that_its_phase_asks_for) {
  for (const JsonValue& event : events) {
    const std::string& phase = text_of(event, "ph");
    ASSERT_TRUE(phase == "X" || phase == "C" || phase == "M") << phase;
    ASSERT_FALSE(text_of(event, "name").empty());
    ASSERT_NE(event.find("pid")->get_if<std::int64_t>(), nullptr);
    ASSERT_NE(event.find("args")->get_if<JsonObject>(), nullptr);
    if (phase == "M") continue;
    ASSERT_TRUE(std::isfinite(number(event, "ts")) && number(event, "ts") >= 0);
    if (phase == "X") {
      ASSERT_NE(event.find("tid")->get_if<std::int64_t>(), nullptr);
      ASSERT_GT(number(event, "dur"), 0);
    }
  }
}

/// Durations are looked up among those that were written last: 0 must not be what an unused place has.
TEST(chrome_trace, a_duration_of_zero_is_written_as_one) {
  Simulation simulation;
  simulation.stages.resize(1);
  simulation.stages[0].streams[0] = {{.begin = Seconds{1}, .end = Seconds{1}},
                                     {.begin = Seconds{1}, .end = Seconds{2}},
                                     {.begin = Seconds{2}, .end = Seconds{2}}};
  std::vector<double> durations;
  const JsonDocument document = parse_json(chrome_trace(simulation, "a test"), "trace");
  for (const JsonValue& event : *document.root.find("traceEvents")->get_if<JsonArray>()) {
    if (text_of(event, "ph") == "X") durations.push_back(number(event, "dur"));
  }
  EXPECT_EQ(durations, (std::vector<double>{0, 1e6, 0}));
}

TEST_F(Trace, every_process_and_thread_with_events_has_a_name) {
  std::set<std::int64_t> processes;
  std::set<std::pair<std::int64_t, std::int64_t>> threads, used;
  for (const JsonValue& event : events) {
    if (text_of(event, "name") == "process_name") processes.insert(whole(event, "pid"));
    if (text_of(event, "name") == "thread_name") threads.emplace(whole(event, "pid"), whole(event, "tid"));
    if (text_of(event, "ph") == "X") used.emplace(whole(event, "pid"), whole(event, "tid"));
  }
  EXPECT_EQ(processes.size(), 4U);
  EXPECT_EQ(threads, used);
}

TEST_F(Trace, events_of_a_thread_follow_one_another) {
  EXPECT_EQ(expect_in_order(events), spans_of(simulation));
}

TEST_F(Trace, counters_are_the_memory_points) {
  std::map<std::int64_t, std::size_t> next;
  for (const JsonValue& event : events) {
    if (text_of(event, "ph") != "C") continue;
    const std::int64_t stage = whole(event, "pid");
    const auto& point = simulation.stages[static_cast<std::size_t>(stage)].memory[next[stage]++];
    EXPECT_NEAR(number(event, "ts"), point.at.value() * 1e6, 1e-3);
    const JsonValue& args = *event.find("args");
    EXPECT_EQ(whole(args, "activations") + whole(args, "everything else"), costmodel::whole(point.allocated));
    EXPECT_EQ(whole(args, "activations"), costmodel::whole(point.activations));
  }
  for (std::size_t s = 0; s < simulation.stages.size(); ++s)
    EXPECT_EQ(next[static_cast<std::int64_t>(s)], simulation.stages[s].memory.size());
}

std::vector<std::string> sorted_lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream{text};
  for (std::string line; std::getline(stream, line);) {
    if (line.ends_with(',')) line.pop_back();
    lines.push_back(line);
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

TEST(chrome_trace, has_the_same_events_when_it_is_written_while_the_step_runs) {
  Scenario sc = costmodel::example_scenario();
  sc.layout.pp = 4;
  sc.layout.dp = 2;
  sc.recipe.global_batch = 1000 * sc.layout.dp * sc.recipe.micro_batch;
  std::string text;
  std::size_t largest = 0;
  ChromeTraceWriter writer{"long", [&](std::string_view piece) {
                             largest = std::max(largest, piece.size());
                             text += piece;
                           }};
  const Simulation taken = simulate_step(
      sc, {}, {.take = [&](int stage, const costmodel::StageTimeline& piece) { writer.add(stage, piece); }});
  writer.finish(taken);
  const Simulation whole_step = simulate_step(sc, {});
  EXPECT_EQ(sorted_lines(text), sorted_lines(chrome_trace(whole_step, "long")));
  EXPECT_GT(text.size(), largest) << "in pieces";
  EXPECT_LE(largest, 1U << 20U);
  const JsonDocument document = parse_json(text, "trace");
  EXPECT_EQ(expect_in_order(*document.root.find("traceEvents")->get_if<JsonArray>()), spans_of(whole_step));
}

TEST(chrome_trace, a_name_may_be_longer_than_a_piece) {
  const std::string title(std::size_t{3} << 20U, 'x');
  const JsonDocument document = parse_json(chrome_trace(example(), title), "trace");
  EXPECT_EQ(text_of(*document.root.find("otherData"), "title"), title);
}

TEST(chrome_trace, says_that_it_is_a_prediction) {
  const JsonDocument document = parse_json(chrome_trace(example(), "x"), "trace");
  EXPECT_NE(text_of(*document.root.find("otherData"), "made_by").find("not measured"), std::string::npos);
}

std::size_t count(const std::string& text, const std::string& word) {
  std::size_t n = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++n;
  return n;
}

TEST(gantt_svg, draws_every_span_that_is_wide_enough_with_its_name) {
  const Simulation simulation = example(ScheduleKind::OneFOneB);
  const std::string svg = charts::gantt_svg(simulation, "1F1B & co");
  EXPECT_EQ(svg.compare(0, 4, "<svg"), 0);
  EXPECT_NE(svg.find("1F1B &amp; co"), std::string::npos);
  EXPECT_EQ(count(svg, "<title>forward "), 4U * 32U);
  EXPECT_EQ(count(svg, "<title>backward "), 4U * 32U);
  EXPECT_NE(svg.find(">stage 3<"), std::string::npos);
  EXPECT_NE(svg.find("time [s]"), std::string::npos);
  EXPECT_EQ(count(svg, "<rect"),
            count(svg, "/>\n") - count(svg, "<line") - count(svg, "<path") + count(svg, "</rect>"))
      << "every element is closed";
}

TEST(gantt_svg, stays_small_when_spans_are_narrower_than_pixels) {
  Scenario sc = costmodel::example_scenario();
  sc.recipe.global_batch = 64 * 256;
  const std::string svg = charts::gantt_svg(simulate_step(sc, costmodel::Calibration{}), "many");
  EXPECT_LT(svg.size(), 2'000'000U);
}

TEST(memory_svg, shows_the_peak_of_every_stage_and_what_does_not_fit) {
  const Simulation simulation = example(ScheduleKind::OneFOneB);
  const std::string fits = charts::memory_svg(simulation, costmodel::Bytes{200e9}, "fits");
  EXPECT_EQ(count(fits, "peak "), 4U);
  EXPECT_EQ(count(fits, "does not fit"), 0U);
  EXPECT_EQ(count(charts::memory_svg(simulation, costmodel::Bytes{20e9}, "tight"), "does not fit"), 4U);
}

}  // namespace
}  // namespace hexaplan::presets
