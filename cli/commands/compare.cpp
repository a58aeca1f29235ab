#include "cli/commands/compare.h"

#include <filesystem>
#include <numeric>
#include <optional>

namespace hexaplan::cli {
namespace {

bool is_scenario_file(const std::string& side) {
  return side.ends_with(".json") || side == "-" || std::filesystem::is_regular_file(side);
}

EstimateOptions question_of(const ScenarioOptions& question, const std::string& side) {
  EstimateOptions asked{.question = question};
  (is_scenario_file(side) ? asked.question.scenario : asked.question.layout) = side;
  return asked;
}

/// Layouts of one question that leaves the global batch open get the same one: the least that suits what
/// each would get alone.
std::optional<std::int64_t> common_batch(const ScenarioOptions& asked,
                                         const std::vector<std::string>& sides) {
  std::int64_t batch = 1;
  for (const std::string& side : sides) {
    if (is_scenario_file(side)) return std::nullopt;
    const ScenarioOptions question = question_of(asked, side).question;
    const presets::ScenarioRequest request = read_request(question);
    if (request.recipe.global_batch > 0) return std::nullopt;
    batch = std::lcm(batch, resolve_request(request, question).scenario.recipe.global_batch);
  }
  return batch;
}

}  // namespace

std::vector<EstimateOptions> questions_of_sides(const ScenarioOptions& question,
                                                const std::vector<std::string>& sides) {
  const std::optional<std::int64_t> batch = common_batch(question, sides);
  std::vector<EstimateOptions> questions;
  for (const std::string& side : sides) {
    EstimateOptions& asked = questions.emplace_back(question_of(question, side));
    if (batch) asked.question.recipe.push_back({"global_batch", "--global-batch", std::to_string(*batch)});
  }
  return questions;
}

CompareReport run_compare(const CompareOptions& options) {
  CompareReport report;
  const std::vector<EstimateOptions> questions = questions_of_sides(options.question, options.sides);
  for (std::size_t i = 0; i < questions.size(); ++i)
    report.sides.push_back({options.sides[i], run_estimate(questions[i])});
  return report;
}

}  // namespace hexaplan::cli
