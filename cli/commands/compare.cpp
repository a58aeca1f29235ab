#include "cli/commands/compare.h"

#include <filesystem>
#include <numeric>
#include <optional>

namespace hexaplan::cli {
namespace {

bool is_scenario_file(const std::string& side) {
  return side.ends_with(".json") || side == "-" || std::filesystem::is_regular_file(side);
}

EstimateOptions question_of(const CompareOptions& options, const std::string& side) {
  EstimateOptions asked{.question = options.question};
  (is_scenario_file(side) ? asked.question.scenario : asked.question.layout) = side;
  return asked;
}

/// Layouts of one question that leaves the global batch open get the same one: the least that suits what
/// each would get alone.
std::optional<std::int64_t> common_batch(const CompareOptions& options) {
  std::int64_t batch = 1;
  for (const std::string& side : options.sides) {
    if (is_scenario_file(side)) return std::nullopt;
    const ScenarioOptions question = question_of(options, side).question;
    const presets::ScenarioRequest request = read_request(question);
    if (request.recipe.global_batch > 0) return std::nullopt;
    batch = std::lcm(batch, resolve_request(request, question).scenario.recipe.global_batch);
  }
  return batch;
}

}  // namespace

CompareReport run_compare(const CompareOptions& options) {
  const std::optional<std::int64_t> batch = common_batch(options);
  CompareReport report;
  for (const std::string& side : options.sides) {
    EstimateOptions asked = question_of(options, side);
    if (batch) asked.question.recipe.push_back({"global_batch", "--global-batch", std::to_string(*batch)});
    report.sides.push_back({side, run_estimate(asked)});
  }
  return report;
}

}  // namespace hexaplan::cli
