#pragma once
#include <QObject>
#include <QString>
#include <functional>
#include <memory>
#include <variant>

#include "gui/app/jobs/measurements.h"
#include "presets/json/json_value.h"
#include "presets/scenario/scenario_request.h"

namespace hexaplan::gui {

/// A model as a file says it: what stands in a scenario as "model".
struct ModelFile {
  presets::JsonValue config;
  QString name;
};
struct UnusableFile {
  QString problem;
};
/// What a file turned out to be.
using FileContent = std::variant<presets::ScenarioRequest, ModelFile, Measurements, UnusableFile>;

/// Reads and understands a file by what is in it; never throws.
[[nodiscard]] FileContent readAnyFile(const QString& path);

/// Reads on a worker thread, then calls `deliver` in the thread of `owner`, unless that is gone.
void readInBackground(QObject* owner, const QString& path, std::function<void(const FileContent&)> deliver);

}  // namespace hexaplan::gui
