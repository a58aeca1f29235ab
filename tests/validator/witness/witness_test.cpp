// The executor's step as it was before it interpreted the step program: allocations of every rank by kind and
// instant, messages and bytes by collective, FLOPs by operation, loss and gradient norm, recorded for
// hundreds of layouts in presets/validation. What runs today must do the same. 143 of them were recorded
// again when the N layers that are recomputed came to be those of every chunk of a stage, as Megatron-Core
// counts.
//
// HEXAPLAN_RECORD=again records the file's layouts anew, HEXAPLAN_RECORD=600 draws that many others first.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cstdlib>
#include <set>
#include <string>

#include "presets/scenario/scenario_words.h"
#include "tests/validator/step/tiny_scenario.h"
#include "validator/executor/communicator/threads/thread_ranks.h"
#include "validator/executor/device/cpu/cpu_device.h"
#include "validator/executor/verify/layout_space.h"
#include "validator/executor/verify/step_record.h"

namespace hexaplan::tests {
namespace {

using costmodel::Scenario;
using validator::StepRecord;

constexpr const char* kFile = HEXAPLAN_SOURCE_DIR "/presets/validation/recorded.steps";
constexpr int kParts = 12;  // so that several processors share the work

const std::vector<StepRecord>& recorded() {
  static const std::vector<StepRecord> records = validator::read_records(kFile);
  return records;
}

validator::VerifyOptions options() {
  validator::VerifyOptions how;
  how.make_device = [](int /*rank*/) { return validator::make_cpu_device(validator::Element::F64); };
  return how;
}

/// What differs, a line each; empty when nothing does.
std::string differences(const StepRecord& step) {
  validator::ThreadRanks ranks;
  const Scenario sc = presets::read_command_words(step.words, tiny_scenario());
  const validator::Verification v = validator::verify_record(sc, step, options(), ranks);
  EXPECT_GT(v.compared, 20) << step.words;
  std::string text = v.fault;
  for (const validator::Mismatch& m : v.mismatches)
    text += fmt::format("\n  rank {}, {}: {}, now {}", m.rank, m.what, m.predicted, m.executed);
  return text;
}

class StepWitness : public testing::TestWithParam<int> {};

TEST_P(StepWitness, allocates_sends_and_computes_what_was_recorded) {
  const std::vector<StepRecord>& steps = recorded();
  for (std::size_t i = static_cast<std::size_t>(GetParam()); i < steps.size(); i += kParts) {
    EXPECT_EQ(differences(steps[i]), "") << "hexaplan verify --whole " << steps[i].words
                                         << (steps[i].learned ? "  (experts as the router chose)" : "");
  }
}
INSTANTIATE_TEST_SUITE_P(validator, StepWitness, testing::Range(0, kParts));

TEST(step_witness, names_what_differs_from_the_record) {
  validator::ThreadRanks ranks;
  StepRecord step = recorded().front();
  const Scenario sc = presets::read_command_words(step.words, tiny_scenario());
  step.loss *= 1 + 1e-9;
  validator::RankRecord& rank = step.ranks.front().record;
  rank.peak[0] += 1;
  rank.at[1][0] += 1;
  rank.counts["attention.qkv forward FLOPs"] += 2;
  rank.counts["attention.gone forward FLOPs"] = 3;
  std::vector<std::string> what;
  for (const validator::Mismatch& m : validator::verify_record(sc, step, options(), ranks).mismatches)
    what.push_back(m.what);
  EXPECT_THAT(what, testing::UnorderedElementsAre("recorded loss", "recorded bytes of parameters at the peak",
                                                  "recorded bytes of parameters at instant \"loss\"",
                                                  "recorded attention.qkv forward FLOPs",
                                                  "recorded attention.gone forward FLOPs"));
}

TEST(step_witness, was_recorded_for_five_hundred_layouts_of_every_schedule_and_technique) {
  std::set<std::string> layouts;
  std::set<costmodel::ScheduleKind> schedules;
  int experts = 0, learned = 0, hybrid = 0, uneven = 0;
  for (const StepRecord& step : recorded()) {
    layouts.insert(step.words);
    const Scenario sc = presets::read_command_words(step.words, tiny_scenario());
    schedules.insert(sc.layout.schedule);
    experts += sc.model.is_moe() ? 1 : 0;
    learned += step.learned ? 1 : 0;
    hybrid += sc.layout.sharding.stage == 3 && sc.layout.sharding.group > 0 ? 1 : 0;
    uneven += sc.layout.split != costmodel::StageSplit::Even ? 1 : 0;
    EXPECT_EQ(presets::to_command_words(sc), step.words);
  }
  EXPECT_GE(layouts.size(), 500U);
  EXPECT_EQ(schedules.size(), 8U);  // all but DualPipe, which the hand-written step did not run
  EXPECT_GE(experts, 150);
  EXPECT_GE(learned, 30);
  EXPECT_GE(hybrid, 10);
  EXPECT_GE(uneven, 50);
}

/// Every other mixture of experts on few ranks is also recorded as its router chooses: every rank differs.
void record(const std::vector<std::string>& layouts) {
  constexpr std::int64_t kFewRanks = 4;
  std::vector<StepRecord> records;
  std::set<std::string> done;
  for (const std::string& words : layouts) {
    if (!done.insert(words).second) continue;
    const Scenario sc = presets::read_command_words(words, tiny_scenario());
    const auto executed = [&](bool learned) {
      validator::ThreadRanks ranks;
      return validator::executed_step(sc, words, learned, options(), ranks);
    };
    records.push_back(executed(false));
    if (sc.model.is_moe() && sc.layout.world_size() <= kFewRanks) records.push_back(executed(true));
  }
  validator::write_records(kFile, records);
}

TEST(step_witness, records_itself_anew_when_it_is_asked_to) {
  const char* asked = std::getenv("HEXAPLAN_RECORD");
  if (asked == nullptr) GTEST_SKIP() << "HEXAPLAN_RECORD=again or a number of layouts";
  std::vector<std::string> layouts;
  if (std::string{asked} == "again") {
    for (const StepRecord& step : recorded()) layouts.push_back(step.words);
  } else {
    for (const Scenario& sc : validator::random_scenarios(tiny_scenario(), std::atoi(asked), 2026))
      layouts.push_back(presets::to_command_words(sc));
  }
  record(layouts);
}

}  // namespace
}  // namespace hexaplan::tests
