// What is written is read back by the numbers of Perfetto's schema. scripts/check_perfetto.py reads it with
// the schema itself.
#include "presets/trace/perfetto_trace.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <protozero/pbf_reader.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "costmodel/calibrate/calibration.h"
#include "tests/costmodel/step/example_scenario.h"

namespace hexaplan::presets {
namespace {

using costmodel::Scenario;
using costmodel::ScheduleKind;
using costmodel::Seconds;
using costmodel::Simulation;

struct Track {
  std::uint64_t parent = 0;
  std::string name;
  bool counts = false;
  std::int64_t unit = 0;
};
struct Event {
  std::uint64_t at = 0, track = 0;
  std::int64_t type = 0, value = 0;
  std::string name;
  std::vector<std::uint64_t> flows, ending;
};
struct Trace {
  std::map<std::uint64_t, Track> tracks;
  std::vector<Event> events;
  std::vector<std::string> interned;

  /// "stage 1/compute".
  [[nodiscard]] std::string place_of(const Event& event) const {
    const Track& track = tracks.at(event.track);
    return tracks.at(track.parent).name + "/" + track.name;
  }
};

std::pair<std::uint64_t, Track> read_track(protozero::pbf_reader message) {
  std::uint64_t number = 0;
  Track track;
  while (message.next()) {
    switch (message.tag()) {
      case 1:
        number = message.get_uint64();
        break;
      case 2:
        track.name = message.get_string();
        break;
      case 5:
        track.parent = message.get_uint64();
        break;
      case 8: {
        track.counts = true;
        protozero::pbf_reader counter = message.get_message();
        if (counter.next(3)) track.unit = counter.get_enum();
        break;
      }
      default:
        message.skip();
    }
  }
  return {number, track};
}

Event read_event(protozero::pbf_reader message) {
  Event event;
  while (message.next()) {
    switch (message.tag()) {
      case 9:
        event.type = message.get_enum();
        break;
      case 11:
        event.track = message.get_uint64();
        break;
      case 23:
        event.name = message.get_string();
        break;
      case 30:
        event.value = message.get_int64();
        break;
      case 47:
        event.flows.push_back(message.get_fixed64());
        break;
      case 48:
        event.ending.push_back(message.get_fixed64());
        break;
      default:
        message.skip();
    }
  }
  return event;
}

void read_interned(protozero::pbf_reader message, std::vector<std::string>& names) {
  while (message.next()) {
    protozero::pbf_reader entry = message.get_message();
    if (entry.next(2)) names.push_back(entry.get_string());
  }
}

Trace read(const std::string& text) {
  Trace trace;
  protozero::pbf_reader file{text};
  while (file.next(1)) {
    protozero::pbf_reader packet = file.get_message();
    std::uint64_t at = 0;
    while (packet.next()) {
      switch (packet.tag()) {
        case 8:
          at = packet.get_uint64();
          break;
        case 11:
          trace.events.push_back(read_event(packet.get_message()));
          trace.events.back().at = at;
          break;
        case 12:
          read_interned(packet.get_message(), trace.interned);
          break;
        case 60:
          trace.tracks.insert(read_track(packet.get_message()));
          break;
        default:
          packet.skip();
      }
    }
  }
  return trace;
}

constexpr std::int64_t kBegin = 1, kEnd = 2, kCounter = 4;

Scenario scenario_of(ScheduleKind schedule, int vpp = 1) {
  Scenario sc = costmodel::example_scenario();
  sc.layout.pp = 4;
  sc.layout.dp = 2;
  sc.layout.vpp = vpp;
  sc.layout.schedule = schedule;
  return sc;
}

std::string written(const Simulation& simulation, const Scenario& sc) {
  std::string text;
  const auto writer =
      trace_writer("step.pftrace", sc.layout, "a title", [&](std::string_view piece) { text += piece; });
  write_trace(simulation, *writer);
  return text;
}

class PerfettoTrace : public testing::Test {
 protected:
  Scenario scenario = scenario_of(ScheduleKind::Zbv);
  Simulation simulation = simulate_step(scenario, {});
  Trace trace = read(written(simulation, scenario));
};

TEST_F(PerfettoTrace, has_a_track_for_every_stream_that_is_used_under_its_stage) {
  std::vector<std::string> names;
  for (const auto& [number, track] : trace.tracks)
    if (track.parent != 0) names.push_back(trace.tracks.at(track.parent).name + "/" + track.name);
  for (const char* name : {"a title/stage 0", "stage 0/compute", "stage 3/messages", "stage 2/live memory"})
    EXPECT_NE(std::find(names.begin(), names.end(), name), names.end()) << name;
  for (const auto& [number, track] : trace.tracks) EXPECT_EQ(track.unit, track.counts ? 3 : 0) << "bytes";
}

TEST_F(PerfettoTrace, has_every_span_from_its_begin_to_its_end) {
  std::map<std::uint64_t, std::vector<std::pair<std::uint64_t, std::uint64_t>>> slices;
  std::map<std::uint64_t, std::uint64_t> open;
  for (const Event& event : trace.events) {
    if (event.type == kBegin) {
      ASSERT_TRUE(open.emplace(event.track, event.at).second) << "slices of a track do not overlap";
    } else if (event.type == kEnd) {
      slices[event.track].emplace_back(open.at(event.track), event.at);
      open.erase(event.track);
    }
  }
  EXPECT_TRUE(open.empty());
  const auto nanoseconds = [](Seconds time) { return static_cast<std::uint64_t>(time.value() * 1e9 + 0.5); };
  std::size_t spans = 1;  // the step's own
  for (std::size_t s = 0; s < simulation.stages.size(); ++s) {
    for (std::size_t stream = 0; stream < costmodel::kStreams; ++stream) {
      const auto& expected = simulation.stages[s].streams[stream];
      spans += expected.size();
      const auto& found = slices[2 + s * 7 + 1 + stream];
      ASSERT_EQ(found.size(), expected.size());
      for (std::size_t i = 0; i < found.size(); ++i) {
        EXPECT_EQ(found[i].first, nanoseconds(expected[i].begin));
        EXPECT_EQ(found[i].second, nanoseconds(expected[i].end));
      }
    }
  }
  std::size_t all = 0;
  for (const auto& [track, of_track] : slices) all += of_track.size();
  EXPECT_EQ(all, spans);
}

TEST_F(PerfettoTrace, counters_are_the_memory_points) {
  std::map<std::string, std::vector<std::int64_t>> values;
  for (const Event& event : trace.events)
    if (event.type == kCounter) values[trace.place_of(event)].push_back(event.value);
  for (std::size_t s = 0; s < simulation.stages.size(); ++s) {
    std::vector<std::int64_t> allocated, activations;
    for (const auto& point : simulation.stages[s].memory) {
      allocated.push_back(costmodel::whole(point.allocated));
      activations.push_back(costmodel::whole(point.activations));
    }
    const std::string stage = "stage " + std::to_string(s);
    EXPECT_EQ(values[stage + "/live memory"], allocated);
    EXPECT_EQ(values[stage + "/activations kept"], activations);
  }
}

TEST_F(PerfettoTrace, says_that_it_is_a_prediction) {
  EXPECT_NE(written(simulation, scenario).find("predicted, not measured"), std::string::npos);
}

struct Crossing {
  std::vector<Event> steps;  // in the order of time
};
std::map<std::uint64_t, Crossing> crossings_of(const Trace& trace) {
  std::map<std::uint64_t, Crossing> crossings;
  for (const Event& event : trace.events) {
    for (const std::uint64_t flow : event.flows) crossings[flow].steps.push_back(event);
    for (const std::uint64_t flow : event.ending) crossings[flow].steps.push_back(event);
  }
  for (auto& [flow, crossing] : crossings)
    std::stable_sort(crossing.steps.begin(), crossing.steps.end(),
                     [](const Event& a, const Event& b) { return a.at < b.at; });
  return crossings;
}

struct ScheduleCase {
  ScheduleKind schedule;
  int vpp;
  std::size_t crossings;  // of a micro-batch, from one stage to another
};
class Arrows : public testing::TestWithParam<ScheduleCase> {};

TEST_P(Arrows, lead_from_a_pass_over_its_message_to_the_pass_of_another_stage_that_waits) {
  const auto [schedule, vpp, of_microbatch] = GetParam();
  const Scenario sc = scenario_of(schedule, vpp);
  const Simulation simulation = simulate_step(sc, {});
  const Trace trace = read(written(simulation, sc));
  const auto crossings = crossings_of(trace);
  EXPECT_EQ(crossings.size(), of_microbatch * static_cast<std::size_t>(simulation.microbatches));
  for (const auto& [flow, crossing] : crossings) {
    ASSERT_EQ(crossing.steps.size(), 3U);
    const Event &sender = crossing.steps[0], &message = crossing.steps[1], &receiver = crossing.steps[2];
    const bool forward = sender.name.starts_with("forward");
    const std::string number = sender.name.substr(sender.name.rfind(' '));
    EXPECT_EQ(message.name, (forward ? "send forward" : "send backward") + number);
    EXPECT_TRUE(receiver.name.starts_with(forward ? "forward" : "backward")) << receiver.name;
    EXPECT_TRUE(receiver.name.ends_with(number)) << receiver.name;
    EXPECT_EQ(receiver.ending.size(), 1U);
    EXPECT_EQ(trace.tracks.at(sender.track).parent, trace.tracks.at(message.track).parent);
    EXPECT_NE(trace.tracks.at(sender.track).parent, trace.tracks.at(receiver.track).parent);
  }
}

// Four stages: three crossings each way; with two chunks each one more from the last stage to the first, in a
// V none at its turn.
INSTANTIATE_TEST_SUITE_P(
    of, Arrows,
    testing::Values(ScheduleCase{ScheduleKind::OneFOneB, 1, 6}, ScheduleCase{ScheduleKind::GPipe, 1, 6},
                    ScheduleCase{ScheduleKind::Interleaved, 2, 14}, ScheduleCase{ScheduleKind::ZbH1, 1, 6},
                    ScheduleCase{ScheduleKind::Zbv, 1, 12}, ScheduleCase{ScheduleKind::DualPipe, 1, 6},
                    ScheduleCase{ScheduleKind::DualPipeV, 1, 12}),
    [](const auto& info) { return "schedule_" + std::to_string(static_cast<int>(info.param.schedule)); });

TEST(perfetto_trace, is_handed_on_in_pieces_while_the_step_runs) {
  Scenario sc = scenario_of(ScheduleKind::OneFOneB);
  sc.recipe.global_batch = 4000 * sc.layout.dp * sc.recipe.micro_batch;
  std::string text;
  std::size_t largest = 0;
  PerfettoTraceWriter writer{sc.layout, "long", [&](std::string_view piece) {
                               largest = std::max(largest, piece.size());
                               text += piece;
                             }};
  const Simulation taken = simulate_step(
      sc, {}, {.take = [&](int stage, const costmodel::StageTimeline& piece) { writer.add(stage, piece); }});
  writer.finish(taken);
  EXPECT_GT(text.size(), largest) << "in pieces";
  EXPECT_LE(largest, kTracePiece);
  EXPECT_EQ(read(text).events.size(), read(written(simulate_step(sc, {}), sc)).events.size());
}

}  // namespace
}  // namespace hexaplan::presets
