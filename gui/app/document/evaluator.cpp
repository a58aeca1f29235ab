#include "gui/app/document/evaluator.h"

#include <exception>
#include <utility>

#include "gui/app/setup/fields.h"
#include "presets/json/input_error.h"
#include "presets/models/model_dimensions.h"

namespace hexaplan::gui {

using costmodel::ClusterSpec;
using presets::InputError;
using presets::JsonValue;
using presets::ScenarioRequest;

namespace {

constexpr std::size_t kSuggested = 3;
/// More presets than anybody plays with at once; edited models leave a trail.
constexpr std::size_t kMostRemembered = 500;

std::string keyOf(const JsonValue& value) {
  return presets::to_text(value, presets::JsonStyle::Compact);
}

/// The value under `key`, made by `make` the first time.
template <class Value, class Make>
Value& remembered(std::map<std::string, Value>& cache, const std::string& key, const Make& make) {
  const auto found = cache.find(key);
  if (found != cache.end()) return found->second;
  Value value = make();
  if (cache.size() >= kMostRemembered) cache.clear();
  return cache.emplace(key, std::move(value)).first->second;
}

/// The reason a rule gives, empty when all accept.
std::string rejectionOf(const costmodel::Scenario& scenario) {
  const auto rejected = costmodel::first_rejection(scenario);
  return rejected ? rejected->reason : std::string{};
}

}  // namespace

void Evaluator::forget() {
  models_.clear();
  clusters_.clear();
  frameworks_.clear();
  calibrations_.clear();
}

const Evaluator::Looked& Evaluator::model(const JsonValue& model) {
  return remembered(models_, keyOf(model), [&] {
    return Looked{presets::look_up_model(model), presets::model_config(model)};
  });
}

const ClusterSpec& Evaluator::cluster(const JsonValue& cluster) {
  return remembered(clusters_, keyOf(cluster), [&] { return presets::look_up_cluster(cluster); });
}

const costmodel::FrameworkProfile& Evaluator::framework(const std::string& name) {
  return remembered(frameworks_, name, [&] { return presets::look_up_framework(name); });
}

std::shared_ptr<const presets::ClusterCalibration> Evaluator::calibration(const ScenarioRequest& request,
                                                                          const ClusterSpec& cluster) {
  return remembered(calibrations_,
                    request.calibration + '\n' + request.fabric + '\n' + keyOf(request.cluster), [&] {
                      return std::make_shared<const presets::ClusterCalibration>(
                          presets::calibration_for(request, cluster));
                    });
}

presets::ResolvedScenario Evaluator::resolve(const ScenarioRequest& request) {
  return presets::resolve(request, model(request.model).model, cluster(request.cluster),
                          framework(request.framework));
}

std::string Evaluator::reasonAgainst(const ScenarioRequest& request) {
  try {
    return rejectionOf(resolve(request).scenario);
  } catch (const InputError& error) {
    return error.problem.expected.empty() ? error.what() : "needs " + error.problem.expected;
  }
}

EvaluationPtr Evaluator::evaluate(const ScenarioRequest& request) {
  auto result = std::make_shared<Evaluation>();
  result->request = request;
  try {
    // What was said is shown, even while the rest is missing.
    if (!request.model.is_null()) {
      const Looked& looked = model(request.model);
      result->scenario.model = looked.model;
      result->model_config = looked.config;
      result->has_model = true;
    }
    result->scenario.recipe = request.recipe;
    result->scenario.layout = request.layout.layout;
    if (!request.cluster.is_null()) {
      result->scenario.cluster = cluster(request.cluster);
      result->has_cluster = true;
    }
    auto [scenario, notes] = resolve(request);
    result->scenario = std::move(scenario);
    result->notes = std::move(notes);
    price(*result);
  } catch (const InputError& error) {
    result->problem = error.problem;
    prepareSearch(*result);
  } catch (const std::exception& error) {
    result->problem = presets::InputProblem{.field = "internal", .value = error.what()};
  }
  offer(*result);
  return result;
}

/// A layout that does not even divide the GPUs must not keep anybody from searching for one that does.
void Evaluator::prepareSearch(Evaluation& result) {
  if (!result.has_model || !result.has_cluster) return;
  try {
    ScenarioRequest without_layout = result.request;
    without_layout.layout = {};
    auto [scenario, notes] = resolve(without_layout);
    auto curves = calibration(result.request, scenario.cluster);
    scenario.layout = result.request.layout.layout;
    result.scenario = std::move(scenario);
    result.calibration = std::move(curves);
  } catch (const InputError&) {
    // Something else is wrong too: the problem says it.
  }
}

void Evaluator::price(Evaluation& result) {
  result.calibration = calibration(result.request, result.scenario.cluster);
  const costmodel::Calibration& curves = result.calibration->calibration;
  result.calibration->apply_to(result.scenario.framework);
  result.estimate = costmodel::estimate_step(result.scenario, curves);
  if (!result.priced()) return;
  if (result.scenario.recipe.tokens > 0)
    result.training = costmodel::training_cost(result.scenario, result.estimate);
  if (!result.fits()) result.changes = planner::fitting_changes(result.scenario, curves, kSuggested);
}

/// Tries every value that a field offers. While the question itself breaks a rule, only what would break
/// another one is refused: whoever opened such a file must find a way out.
void Evaluator::offer(Evaluation& result) {
  if (!result.has_model || !result.has_cluster) {
    for (const Field& field : fields()) {
      if (field.values == nullptr) continue;
      for (std::string& value : field.values(result))
        result.options[field.id].push_back({std::move(value), {}});
    }
    return;
  }
  const std::string now = reasonAgainst(result.request);
  const auto against = [&](const Field& field, const std::string& value) -> std::string {
    if (!field.tried) return {};
    try {
      ScenarioRequest changed = result.request;
      field.write(changed, value, result);
      std::string reason = reasonAgainst(changed);
      return reason == now ? std::string{} : reason;
    } catch (const InputError& error) {
      return error.problem.expected.empty() ? error.what() : "needs " + error.problem.expected;
    }
  };
  for (const Field& field : fields()) {
    if (field.values == nullptr) continue;
    auto& offered = result.options[field.id];
    for (std::string& value : field.values(result)) {
      std::string reason = against(field, value);
      offered.push_back({std::move(value), std::move(reason)});
    }
  }
}

}  // namespace hexaplan::gui
