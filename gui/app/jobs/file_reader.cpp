#include "gui/app/jobs/file_reader.h"

#include <QFileInfo>
#include <QFutureWatcher>
#include <QtConcurrent/QtConcurrentRun>
#include <exception>
#include <utility>

#include "gui/app/document/messages.h"
#include "presets/json/input_error.h"
#include "presets/models/model_dimensions.h"

namespace hexaplan::gui {

using presets::InputError;
using presets::JsonDocument;

namespace {

std::string schemaOf(const JsonDocument& document) {
  const presets::JsonValue* schema = document.root.find("schema");
  const auto* text = schema == nullptr ? nullptr : schema->get_if<std::string>();
  return text == nullptr ? std::string{} : *text;
}

FileContent understand(const QString& path) {
  const JsonDocument document = presets::read_json_file(path.toStdString());
  const std::string schema = schemaOf(document);
  if (schema == presets::kScenarioSchema) return presets::read_scenario(document);
  if (holdsMeasurements(schema)) return readMeasurements(path, document);
  if (!schema.empty()) {
    throw InputError(
        {.file = document.file,
         .field = "/schema",
         .value = presets::in_quotes(schema),
         .expected = "a scenario, a model, or what 'hexaplan run' and 'hexaplan accuracy' write"});
  }
  // Not ours: a config.json, or a preset file that wraps one. The path is absolute, so that no preset's name
  // is meant; looking it up says what is wrong with it.
  const presets::JsonValue model{QFileInfo{path}.absoluteFilePath().toStdString()};
  const std::string name = presets::look_up_model(model).name;
  return ModelFile{presets::model_config(model), QString::fromStdString(name)};
}

}  // namespace

FileContent readAnyFile(const QString& path) {
  try {
    return understand(path);
  } catch (const InputError& error) {
    return UnusableFile{problemText(error.problem)};
  } catch (const std::exception& error) {
    return UnusableFile{path + ": " + error.what()};
  }
}

void readInBackground(QObject* owner, const QString& path, std::function<void(const FileContent&)> deliver) {
  auto* watcher = new QFutureWatcher<FileContent>{owner};
  QObject::connect(watcher, &QFutureWatcherBase::finished, owner, [watcher, deliver = std::move(deliver)] {
    deliver(watcher->result());
    watcher->deleteLater();
  });
  watcher->setFuture(QtConcurrent::run([path] { return readAnyFile(path); }));
}

}  // namespace hexaplan::gui
