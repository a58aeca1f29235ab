#include "gui/app/document/evaluator.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "costmodel/spec/rules.h"
#include "gui/app/setup/fields.h"
#include "presets/json/input_error.h"
#include "presets/launch/launch_fields.h"
#include "presets/models/model_dimensions.h"

namespace hexaplan::gui {

using costmodel::ClusterSpec;
using presets::InputError;
using presets::JsonValue;
using presets::ScenarioRequest;

namespace {

constexpr std::size_t kSuggested = 3;
/// Of one field: what else changes with it is left to the export.
constexpr std::size_t kMostLaunchKeys = 2;
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

/// Why a value cannot even be looked up.
std::string needOf(const InputError& error) {
  return error.problem.expected.empty() ? error.what() : "needs " + error.problem.expected;
}

/// The reason a rule gives, empty when all accept.
std::string rejectionOf(const costmodel::Scenario& scenario) {
  const auto rejected = costmodel::first_rejection(scenario);
  return rejected ? rejected->reason : std::string{};
}

/// What the numbers of `changed` leave out and those of `now` do not.
std::string noteOf(const costmodel::Scenario& now, const costmodel::Scenario& changed) {
  const auto notes = costmodel::newly_not_modelled(now, changed);
  if (!notes.empty()) return "not modelled: " + notes.front().effect;
  const auto before = costmodel::words_without_effect(now);
  for (const costmodel::KnobNote& word : costmodel::words_without_effect(changed)) {
    if (std::find(before.begin(), before.end(), word) == before.end()) return "no effect: " + word.effect;
  }
  return {};
}

/// Settings of a launch file that differ between two scenarios.
std::vector<std::string_view> changedKeys(const costmodel::Scenario& now, const costmodel::Scenario& changed,
                                          presets::Launcher launcher) {
  std::vector<std::string_view> keys;
  for (const presets::LaunchField& row : presets::launch_fields()) {
    const std::string_view key = row.keys[static_cast<std::size_t>(launcher)];
    if (key.empty() || row.value == nullptr || row.value(now) == row.value(changed)) continue;
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
  }
  return keys;
}

}  // namespace

void Evaluator::forget() {
  models_.clear();
  clusters_.clear();
  frameworks_.clear();
  calibrations_.clear();
  launch_keys_.clear();
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
                          framework(presets::framework_of(request)));
}

std::string Evaluator::reasonAgainst(const ScenarioRequest& request) {
  try {
    return rejectionOf(resolve(request).scenario);
  } catch (const InputError& error) {
    return needOf(error);
  }
}

/// What was said is shown, even while the rest is missing or cannot be read: each part by itself.
void Evaluator::lookUp(Evaluation& result) {
  const auto attempt = [&](const JsonValue& said, bool& there, const auto& look) {
    if (said.is_null()) return;
    try {
      look();
      there = true;
    } catch (const InputError& error) {
      if (!result.problem) result.problem = error.problem;
    }
  };
  const ScenarioRequest& request = result.request;
  result.scenario.recipe = request.recipe;
  result.scenario.layout = request.layout.layout;
  attempt(request.model, result.has_model, [&] {
    const Looked& looked = model(request.model);
    result.scenario.model = looked.model;
    result.model_config = looked.config;
  });
  attempt(request.cluster, result.has_cluster, [&] { result.scenario.cluster = cluster(request.cluster); });
  costmodel::Layout& layout = result.scenario.layout;
  const std::int64_t replica = layout.ranks_per_dp();
  if (result.has_cluster && !request.layout.dp_given && result.scenario.cluster.gpus % replica == 0)
    layout.dp = static_cast<int>(result.scenario.cluster.gpus / replica);
}

void Evaluator::answer(Evaluation& result, Detail detail) {
  lookUp(result);
  if (!result.problem) {
    try {
      auto [scenario, notes] = resolve(result.request);
      result.scenario = std::move(scenario);
      result.notes = std::move(notes);
      calibrate(result);
      if (detail != Detail::Question) price(result);
      if (detail == Detail::Window && result.priced()) suggest(result);
    } catch (const InputError& error) {
      result.problem = error.problem;
    }
  }
  if (result.problem) prepareSearch(result);
  if (detail == Detail::Window) offer(result);
}

EvaluationPtr Evaluator::evaluate(const ScenarioRequest& request, Detail detail) {
  auto result = std::make_shared<Evaluation>();
  result->request = request;
  try {
    answer(*result, detail);
  } catch (const std::exception& error) {
    result->problem = presets::InputProblem{.field = "internal", .value = error.what()};
  }
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

void Evaluator::calibrate(Evaluation& result) {
  result.calibration = calibration(result.request, result.scenario.cluster);
  result.calibration->apply_to(result.scenario.framework);
}

void Evaluator::price(Evaluation& result) {
  result.estimate = costmodel::estimate_step(result.scenario, result.calibration->calibration);
  if (!result.priced()) return;
  result.not_modelled = costmodel::not_modelled(result.scenario);
  result.without_effect = costmodel::words_without_effect(result.scenario);
  if (result.scenario.recipe.tokens > 0)
    result.training = costmodel::training_cost(result.scenario, result.estimate);
}

/// Single changes that make it fit, or make it faster where it does.
void Evaluator::suggest(Evaluation& result) {
  const costmodel::Calibration& curves = result.calibration->calibration;
  if (result.standing() == Standing::Fits) {
    result.faster = planner::faster_changes(result.scenario, result.estimate, curves, kSuggested);
    return;
  }
  result.changes = planner::fitting_changes(result.scenario, curves, kSuggested);
  // Better a change that may run out of memory, and says so, than none.
  constexpr double kAnyRisk = 1;
  if (result.changes.empty() && !result.fits())
    result.changes = planner::fitting_changes(result.scenario, curves, kSuggested, kAnyRisk);
}

FieldOption Evaluator::optionOf(const Field& field, std::string value, const Evaluation& now,
                                const std::string& reason_now) {
  FieldOption option{.value = std::move(value), .reason = {}};
  if (!field.tried) return option;
  try {
    ScenarioRequest changed = now.request;
    field.write(changed, option.value, now);
    const costmodel::Scenario scenario = resolve(changed).scenario;
    const std::string reason = rejectionOf(scenario);
    if (reason != reason_now) option.reason = reason;
    option.note = noteOf(now.scenario, scenario);
  } catch (const InputError& error) {
    option.reason = needOf(error);
  }
  return option;
}

/// Found by turning the knob: the settings of a launch file that change with the field.
std::string Evaluator::launchKeys(const Field& field, const Evaluation& now) {
  const std::string& profile = now.scenario.framework.name;
  const auto formats = presets::launch_formats();
  const auto format = std::find_if(formats.begin(), formats.end(),
                                   [&](const auto& one) { return presets::runs_profile(one, profile); });
  if (format == formats.end()) return {};
  const std::string name = field.id + '\n' + profile;
  const auto known = launch_keys_.find(name);
  if (known != launch_keys_.end()) return known->second;
  for (const FieldOption& option : now.options.at(field.id)) {
    if (!option.reason.empty()) continue;
    std::vector<std::string_view> keys;
    try {
      ScenarioRequest changed = now.request;
      changed.recipe.global_batch = now.scenario.recipe.global_batch;  // does not follow from the layout
      field.write(changed, option.value, now);
      keys = changedKeys(now.scenario, resolve(changed).scenario, format->launcher);
    } catch (const InputError&) {
      continue;
    }
    if (keys.empty()) continue;
    std::string text = std::string{format->title} + ": " + std::string{keys.front()};
    for (std::size_t i = 1; i < std::min(keys.size(), kMostLaunchKeys); ++i)
      text += ", " + std::string{keys[i]};
    return launch_keys_.emplace(name, std::move(text)).first->second;
  }
  return {};  // perhaps of other values, another time
}

/// Tries every value that a field offers. While the question itself breaks a rule, only what would break
/// another one is refused: whoever opened such a file must find a way out.
void Evaluator::offer(Evaluation& result) {
  const bool asked = result.has_model && result.has_cluster;
  const std::string now = asked ? reasonAgainst(result.request) : std::string{};
  for (const Field& field : fields()) {
    if (field.values == nullptr) continue;
    auto& offered = result.options[field.id];
    for (std::string& value : field.values(result)) {
      offered.push_back(asked ? optionOf(field, std::move(value), result, now)
                              : FieldOption{.value = std::move(value), .reason = {}});
    }
    if (!result.priced() || !field.tried || !now.empty()) continue;
    if (std::string keys = launchKeys(field, result); !keys.empty())
      result.launch_keys[field.id] = std::move(keys);
  }
}

}  // namespace hexaplan::gui
