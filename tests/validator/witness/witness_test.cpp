// The executor's step as it was before it interpreted the step program: allocations of every rank by kind and
// instant, messages and bytes by collective, FLOPs by operation, loss and gradient norm, recorded for
// hundreds of layouts in tests/golden/witness. What runs today must do the same. 143 of them were recorded
// again when the N layers that are recomputed came to be those of every chunk of a stage, as Megatron-Core
// counts.
//
// HEXAPLAN_RECORD=again records the file's layouts anew, HEXAPLAN_RECORD=600 draws that many others first.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>
#include <string>

#include "costmodel/memory/memory_kinds.h"
#include "presets/scenario/scenario_words.h"
#include "tests/validator/step/command_words.h"
#include "tests/validator/step/tiny_scenario.h"
#include "tests/validator/witness/step_record.h"
#include "validator/executor/verify/layout_space.h"

namespace hexaplan::tests {
namespace {

constexpr const char* kFile = HEXAPLAN_SOURCE_DIR "/tests/golden/witness/steps.txt";
constexpr int kParts = 12;  // so that several processors share the work
/// Sums may be taken in another order; nothing else may move.
constexpr double kSameSum = 1e-10;

const std::vector<StepRecord>& recorded() {
  static const std::vector<StepRecord> records = read_records(kFile);
  return records;
}

/// Lines of "what: recorded, now" for everything that differs.
class Differences {
 public:
  void compare(const std::string& what, double then, double now) {
    if (then != now) lines_.push_back(fmt::format("{}: recorded {}, now {}", what, then, now));
  }
  void compare_sums(const std::string& what, double then, double now) {
    if (!(std::abs(then - now) <= kSameSum * std::abs(then)))
      lines_.push_back(fmt::format("{}: recorded {:.13g}, now {:.13g}", what, then, now));
  }
  void compare(const std::string& where, const validator::BytesByKind& then,
               const validator::BytesByKind& now) {
    for (const costmodel::MemoryKind& kind : costmodel::kMemoryKinds) {
      const auto i = static_cast<std::size_t>(kind.kind);
      compare(fmt::format("{} at {}", kind.name, where), static_cast<double>(then[i]),
              static_cast<double>(now[i]));
    }
  }
  void compare(const RankRecord& then, const RankRecord& now) {
    compare("stage", then.stage, now.stage);
    compare("the peak", then.peak, now.peak);
    for (std::size_t i = 0; i < then.at.size(); ++i) {
      compare(std::string{costmodel::name_of(costmodel::instant_at(static_cast<int>(i)))}, then.at[i],
              now.at[i]);
    }
    std::set<std::string> names;
    for (const RankRecord* record : {&then, &now}) {
      for (const auto& [name, ignored] : record->counts) names.insert(name);
    }
    const auto value = [](const RankRecord& record, const std::string& name) {
      const auto found = record.counts.find(name);
      return found == record.counts.end() ? 0 : found->second;
    };
    for (const std::string& name : names) compare(name, value(then, name), value(now, name));
  }
  /// The first few, and how many more there are.
  [[nodiscard]] std::string text() const {
    constexpr std::size_t kShown = 12;
    std::string out;
    for (std::size_t i = 0; i < std::min(kShown, lines_.size()); ++i) out += "\n    " + lines_[i];
    if (lines_.size() > kShown) out += fmt::format("\n    and {} more", lines_.size() - kShown);
    return out;
  }

 private:
  std::vector<std::string> lines_;
};

const RankRecord& record_of_rank(const StepRecord& step, int rank) {
  for (const StepRecord::Ranks& kind : step.ranks) {
    if (std::find(kind.ranks.begin(), kind.ranks.end(), rank) != kind.ranks.end()) return kind.record;
  }
  throw std::runtime_error{fmt::format("nothing is known of rank {}", rank)};
}

/// What differs in one rank of every recorded kind; empty when nothing does.
std::string differences(const StepRecord& then, const StepRecord& now) {
  std::string out;
  Differences job;
  job.compare_sums("loss", then.loss, now.loss);
  job.compare_sums("gradient norm", then.gradient_norm, now.gradient_norm);
  out += job.text();
  for (const StepRecord::Ranks& kind : then.ranks) {
    for (const int rank : kind.ranks) {
      Differences of_rank;
      of_rank.compare(kind.record, record_of_rank(now, rank));
      if (of_rank.text().empty()) continue;
      out += fmt::format("\n  rank {} (stage {}):{}", rank, kind.record.stage, of_rank.text());
      break;  // its neighbours differ alike
    }
  }
  return out;
}

class StepWitness : public testing::TestWithParam<int> {};

TEST_P(StepWitness, allocates_sends_and_computes_what_was_recorded) {
  const std::vector<StepRecord>& steps = recorded();
  for (std::size_t i = static_cast<std::size_t>(GetParam()); i < steps.size(); i += kParts) {
    const std::string different = differences(steps[i], executed_step(steps[i].words, steps[i].learned));
    EXPECT_EQ(different, "") << "hexaplan verify --whole " << steps[i].words
                             << (steps[i].learned ? "  (experts as the router chose)" : "");
  }
}
INSTANTIATE_TEST_SUITE_P(validator, StepWitness, testing::Range(0, kParts));

TEST(step_witness, was_recorded_for_five_hundred_layouts_of_every_schedule_and_technique) {
  std::set<std::string> layouts;
  std::set<costmodel::ScheduleKind> schedules;
  int experts = 0, learned = 0, hybrid = 0, uneven = 0;
  for (const StepRecord& step : recorded()) {
    layouts.insert(step.words);
    const costmodel::Scenario sc = scenario_from_words(step.words, tiny_scenario());
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
    const costmodel::Scenario sc = scenario_from_words(words, tiny_scenario());
    records.push_back(executed_step(words, false));
    if (sc.model.is_moe() && sc.layout.world_size() <= kFewRanks)
      records.push_back(executed_step(words, true));
  }
  write_records(kFile, records);
}

TEST(step_witness, records_itself_anew_when_it_is_asked_to) {
  const char* asked = std::getenv("HEXAPLAN_RECORD");
  if (asked == nullptr) GTEST_SKIP() << "HEXAPLAN_RECORD=again or a number of layouts";
  std::vector<std::string> layouts;
  if (std::string{asked} == "again") {
    for (const StepRecord& step : recorded()) layouts.push_back(step.words);
  } else {
    for (const costmodel::Scenario& sc : validator::random_scenarios(tiny_scenario(), std::atoi(asked), 2026))
      layouts.push_back(presets::to_command_words(sc));
  }
  record(layouts);
}

}  // namespace
}  // namespace hexaplan::tests
