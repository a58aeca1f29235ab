#include "gui/app/setup/fields.h"

#include <gmock/gmock.h>

#include <set>
#include <string>

#include "gui/app/document/evaluator.h"
#include "gui/app/setup/formula_page.h"
#include "presets/json/input_error.h"
#include "presets/scenario/recipe_fields.h"

namespace hexaplan::gui {
namespace {

presets::ScenarioRequest request(const char* model, const char* cluster, const char* layout) {
  presets::ScenarioRequest result;
  result.model = model;
  result.cluster = cluster;
  result.layout = presets::parse_layout(layout, "layout");
  return result;
}

TEST(fields, every_value_offered_is_read_back_once_it_is_chosen) {
  Evaluator evaluator;
  const auto question = request("mixtral-8x7b", "64xH100", "tp2 pp2 vpp2 interleaved sp zero1");
  const EvaluationPtr now = evaluator.evaluate(question);
  ASSERT_TRUE(now->understood());
  int tried = 0;
  for (const Field& field : fields()) {
    if (field.values == nullptr || (field.shown && !field.shown(*now))) continue;
    for (const std::string& value : field.values(*now)) {
      if (value == kAuto || value == "-") continue;
      auto changed = question;
      field.write(changed, value, *now);
      const Evaluation then = *evaluator.evaluate(changed);
      const auto& reasons = now->options.at(field.id);
      // Values that no rule accepts need not resolve to anything.
      bool blocked = false;
      for (const FieldOption& option : reasons)
        blocked = blocked || (option.value == value && !option.reason.empty());
      if (blocked) continue;
      ++tried;
      EXPECT_EQ(field.read(then), value) << field.id;
    }
  }
  EXPECT_GT(tried, 300);
}

TEST(fields, auto_takes_back_what_was_said) {
  Evaluator evaluator;
  auto question = request("llama-3.1-8b", "64xH100", "tp2");
  question.recipe.sequence = 8192;
  question.recipe.global_batch = 256;
  question.recipe.optimizer = costmodel::Optimizer::Lion;
  const EvaluationPtr now = evaluator.evaluate(question);
  findField("recipe.sequence")->write(question, kAuto, *now);
  EXPECT_EQ(question.recipe.sequence, 0);
  EXPECT_EQ(question.recipe.global_batch, 256);
  EXPECT_EQ(question.recipe.optimizer, costmodel::Optimizer::Lion);
}

TEST(fields, every_recipe_field_of_a_scenario_file_is_there) {
  std::set<std::string> ids;
  for (const Field& field : fields()) EXPECT_TRUE(ids.emplace(field.id).second) << field.id << " twice";
  for (const auto& recipe : presets::recipe_fields()) {
    if (recipe.key == "trainable_parameters" || recipe.key == "offload")
      continue;  // rank, and three switches
    EXPECT_TRUE(ids.contains("recipe." + std::string{recipe.key})) << recipe.key;
  }
}

TEST(fields, tips_name_formulas_that_the_page_has) {
  for (const Field& field : fields()) {
    if (*field.formula == '\0') continue;
    EXPECT_FALSE(formulaSection(field.formula).title.isEmpty()) << field.id << " " << field.formula;
  }
}

TEST(evaluator, says_why_a_value_cannot_be_chosen) {
  Evaluator evaluator;
  const EvaluationPtr now = evaluator.evaluate(request("llama-2-13b", "64xH100", ""));  // 40 heads
  std::string sixteen;
  for (const FieldOption& option : now->options.at("layout.tp")) {
    if (option.value == "16") sixteen = option.reason;
  }
  EXPECT_EQ(sixteen, "40 attention heads do not split over tp=16");
}

TEST(evaluator, leaves_a_way_out_of_a_question_that_breaks_a_rule) {
  Evaluator evaluator;
  const EvaluationPtr now = evaluator.evaluate(request("llama-2-13b", "64xH100", "tp16"));
  EXPECT_FALSE(now->priced());
  int open = 0;
  for (const FieldOption& option : now->options.at("layout.tp")) open += option.reason.empty() ? 1 : 0;
  EXPECT_GE(open, 4);
}

// A heat map asks for many: what nobody sees of an answer is not computed.
TEST(evaluator, answers_no_more_than_is_asked_for) {
  Evaluator evaluator;
  const auto question = request("llama-3.1-8b", "64xH100", "tp2 zero1");
  const EvaluationPtr asked = evaluator.evaluate(question, Detail::Question);
  EXPECT_TRUE(asked->understood());
  EXPECT_TRUE(asked->calibration);
  EXPECT_FALSE(asked->priced());
  const EvaluationPtr priced = evaluator.evaluate(question, Detail::Priced);
  EXPECT_TRUE(priced->priced());
  EXPECT_TRUE(priced->faster.empty() && priced->changes.empty());
  const EvaluationPtr shown = evaluator.evaluate(question, Detail::Window);
  EXPECT_TRUE(!shown->faster.empty() || !shown->changes.empty());
  EXPECT_FALSE(shown->launch_keys.empty());
  for (const EvaluationPtr& less : {asked, priced}) {
    EXPECT_TRUE(less->options.empty());
    EXPECT_TRUE(less->launch_keys.empty());
    EXPECT_EQ(less->scenario.recipe, shown->scenario.recipe);
    EXPECT_EQ(less->scenario.layout, shown->scenario.layout);
  }
  EXPECT_EQ(priced->estimate.time.total(), shown->estimate.time.total());
  evaluator.forget();  // what was remembered comes out the same
  EXPECT_EQ(evaluator.evaluate(question)->launch_keys, shown->launch_keys);
}

TEST(evaluator, answers_what_is_missing_with_a_problem) {
  Evaluator evaluator;
  const EvaluationPtr nothing = evaluator.evaluate({});
  EXPECT_TRUE(nothing->problem);
  presets::ScenarioRequest half;
  half.model = "llama-3.1-8b";
  const EvaluationPtr model = evaluator.evaluate(half);
  EXPECT_TRUE(model->has_model);
  EXPECT_FALSE(model->has_cluster);
  EXPECT_TRUE(model->problem);
}

}  // namespace
}  // namespace hexaplan::gui
