#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "gui/app/document/evaluation.h"

namespace hexaplan::gui {

struct Field;

/// How much of an answer is needed. Each has what those before it have.
enum class Detail : std::uint8_t {
  Question,  // looked up, with its calibration: what a search starts from
  Priced,    // memory and time
  Window,    // changes that help, and what every field offers: what the window shows of its question
};

/// Looks questions up and prices them. Remembers presets, so that a file is read once. For one thread at a
/// time.
class Evaluator {
 public:
  /// Never throws: what cannot be used becomes Evaluation::problem.
  [[nodiscard]] EvaluationPtr evaluate(const presets::ScenarioRequest& request,
                                       Detail detail = Detail::Window);
  /// Why `request`, a variation of the question that `question` answers, cannot run; empty when it can.
  [[nodiscard]] std::string reasonAgainst(const presets::ScenarioRequest& request);
  /// Files may have changed.
  void forget();

 private:
  struct Looked {
    costmodel::ModelSpec model;
    presets::JsonValue config;
  };
  const Looked& model(const presets::JsonValue& model);
  const costmodel::ClusterSpec& cluster(const presets::JsonValue& cluster);
  const costmodel::FrameworkProfile& framework(const std::string& name);
  std::shared_ptr<const presets::ClusterCalibration> calibration(const presets::ScenarioRequest& request,
                                                                 const costmodel::ClusterSpec& cluster);
  presets::ResolvedScenario resolve(const presets::ScenarioRequest& request);
  void lookUp(Evaluation& result);
  void answer(Evaluation& result, Detail detail);
  void calibrate(Evaluation& result);
  static void price(Evaluation& result);
  static void suggest(Evaluation& result);
  void prepareSearch(Evaluation& result);
  void offer(Evaluation& result);
  /// What choosing `value` for a field of the question that `now` answers comes to.
  [[nodiscard]] FieldOption optionOf(const Field& field, std::string value, const Evaluation& now,
                                     const std::string& reason_now);

  /// Evaluation::launch_keys of a field whose values are tried; empty where files have no word for it.
  [[nodiscard]] std::string launchKeys(const Field& field, const Evaluation& now);

  std::map<std::string, Looked> models_;
  std::map<std::string, std::string> launch_keys_;  // by field and framework
  std::map<std::string, costmodel::ClusterSpec> clusters_;
  std::map<std::string, costmodel::FrameworkProfile> frameworks_;
  std::map<std::string, std::shared_ptr<const presets::ClusterCalibration>> calibrations_;
};

}  // namespace hexaplan::gui
