#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "costmodel/spec/verdict.h"
#include "presets/scenario/scenario_request.h"

// Every word of layouts and recipes, turned in a scenario where it must matter.
namespace hexaplan::tests {

/// Every number that an answer prints, by what it says.
struct AnswerNumbers {
  std::vector<double> memory;    // by kind, on every stage
  std::vector<double> messages;  // count and bytes of every collective
  std::vector<double> time;      // by cause
  std::vector<double> bill;      // hours, dollars, energy of a training
  friend bool operator==(const AnswerNumbers&, const AnswerNumbers&) = default;
};
struct Answer {
  costmodel::Scenario scenario;
  std::optional<costmodel::Rejected> rejected;  // by a rule: an answer with a reason
  AnswerNumbers numbers;
};
[[nodiscard]] Answer answer_to(const presets::CalibratedScenario& found);
[[nodiscard]] Answer answer_to(const presets::ScenarioRequest& request);

/// Empty when turning `from` into `to` moves a number, breaks a rule, or is named as not modelled.
[[nodiscard]] std::string silence(const presets::ScenarioRequest& from, const presets::ScenarioRequest& to);

/// A scenario in which words matter.
struct Stage {
  const char *model, *cluster, *framework, *layout;
  void (*recipe)(costmodel::Recipe&);
};
/// Dense Llama under Megatron, on a pipeline, with a budget, sharded by DeepSpeed, by FSDP2 in groups;
/// mixtures of experts.
extern const Stage kDense, kPiped, kBudgeted, kSharded, kHybrid, kOneMicroBatch, kExperts, kLatent,
    kLatentLite;
[[nodiscard]] presets::ScenarioRequest request_of(const Stage& stage, const std::string& layout);
[[nodiscard]] presets::ScenarioRequest request_of(const Stage& stage);

struct RecipeTurn {
  std::string key;
  const Stage& stage;
  std::vector<std::string> values;
  std::string from;  // what the base has of it; empty: nothing
};
[[nodiscard]] std::span<const RecipeTurn> recipe_turns();
/// What `turn` begins with, and the same with `value`.
[[nodiscard]] presets::ScenarioRequest before(const RecipeTurn& turn);
[[nodiscard]] presets::ScenarioRequest with(const RecipeTurn& turn, const std::string& value);

struct LayoutTurn {
  std::string_view word;
  const Stage& stage;
  std::string from, to;  // layouts
};
[[nodiscard]] std::span<const LayoutTurn> layout_turns();

}  // namespace hexaplan::tests
