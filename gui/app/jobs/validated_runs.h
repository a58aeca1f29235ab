#pragma once
#include <QString>
#include <vector>

#include "presets/json/read_json.h"
#include "validator/measure/compare/validation.h"

namespace hexaplan::gui {

/// Scenarios that were run beside their predictions: what 'hexaplan validate --json' writes.
struct ValidatedRuns {
  QString path;
  QString device;
  std::vector<validator::ValidatedScenario> scenarios;
};

/// Reads hexaplan/validation/1. InputError when a field is missing or is something else.
[[nodiscard]] ValidatedRuns readValidatedRuns(const QString& path, const presets::JsonDocument& document);

}  // namespace hexaplan::gui
