#include "gui/app/jobs/file_reader.h"

#include <QFileInfo>
#include <QFutureWatcher>
#include <QtConcurrent/QtConcurrentRun>
#include <exception>
#include <utility>

#include "gui/app/document/evaluator.h"
#include "gui/app/document/messages.h"
#include "gui/models/number_text.h"
#include "presets/clusters/cluster_preset.h"
#include "presets/import/import_plan.h"
#include "presets/json/input_error.h"
#include "presets/json/object_reader.h"
#include "presets/json/read_text_file.h"
#include "presets/machines/imported_cluster.h"
#include "presets/models/model_dimensions.h"
#include "presets/runs/device_trace.h"
#include "presets/runs/file_kind.h"
#include "presets/runs/gpu_log.h"
#include "presets/runs/pickle_data.h"
#include "presets/runs/run_log.h"
#include "presets/scenario/project_question.h"
#include "presets/scenario/scenario_page.h"

namespace hexaplan::gui {

using presets::InputError;
using presets::JsonDocument;

namespace {

std::string schemaOf(const JsonDocument& document) {
  const presets::JsonValue* schema = document.root.find("schema");
  const auto* text = schema == nullptr ? nullptr : schema->get_if<std::string>();
  return text == nullptr ? std::string{} : *text;
}

/// What is no JSON, or JSON of a framework: a launch script, a configuration.
FileContent launchPlan(const presets::ImportFile& file) {
  const presets::ImportedPlan plan = presets::import_plan({file}, "");
  QStringList notes;
  for (const std::string& note : plan.notes) {
    // What the command asks for with flags, the window asks for in its own way.
    if (!note.starts_with("the files do not say the ")) notes.append(QString::fromStdString(note));
  }
  LaunchPlan read{plan.request, utf8Text(plan.format.title), notes, plan.gpus};
  if (plan.gpus > 0)
    read.machines_of = [file](const std::string& gpu) {
      return presets::import_plan({file}, gpu).request.cluster;
    };
  return read;
}

/// What stands in a scenario for a cluster's file.
std::string clusterText(const presets::ImportedCluster& imported) {
  static const std::string name = "cluster";
  presets::ObjectReader file{name, "", imported.cluster, presets::Reading::Lenient};
  presets::ClusterRequest request;
  request.gpu = file.required("gpu").text();
  request.nodes = file.required("nodes").integer(presets::kCount);
  request.per_node = file.required("gpus_per_node").integer(presets::kCount);
  request.network = file.required("network").text();
  request.gbps_per_node = file.required("network_gbps").number(presets::kNotNegative);
  if (const auto memory = file.optional("host_memory")) request.host_memory = memory->bytes();
  return presets::to_cluster_text(request);
}

/// Whether a tool of the machines wrote the text.
bool speaksOfMachines(const presets::ImportFile& file) {
  try {
    static_cast<void>(presets::tool_of(file.text, file.name));
    return true;
  } catch (const InputError&) {
    return false;
  }
}

/// Whether its lines speak of a run's steps.
bool isLog(const presets::ImportFile& file) {
  try {
    return !presets::parse_run_log(file.text, file.name).steps.empty();
  } catch (const InputError&) {
    return false;
  }
}

MachineText machineText(const presets::ImportFile& file) {
  MachineText machines;
  machines.of_gpu = [file](const std::string& gpu) {
    const presets::ImportedCluster imported =
        presets::import_cluster({{file.name, file.text}}, {.title = {}, .gpu = gpu});
    MachineText::Cluster cluster{clusterText(imported), {}};
    for (const std::string& line : imported.said) cluster.notes.append(QString::fromStdString(line));
    for (const std::string& note : imported.notes) {
      // What the command asks for with flags, the window asks for in its own way.
      if (!note.starts_with("the files are one node's")) cluster.notes.append(QString::fromStdString(note));
    }
    return cluster;
  };
  try {
    static_cast<void>(machines.of_gpu({}));
    machines.names_gpu = true;
  } catch (const InputError& error) {
    if (error.problem.expected != "the type of the GPUs") throw;
  }
  return machines;
}

bool isJson(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
  return first != std::string::npos && (text[first] == '{' || text[first] == '[');
}

/// A document that no schema of ours names: a model, else a framework's settings.
/// `model`: what looking the model up takes.
FileContent foreign(const presets::ImportFile& file, const JsonDocument& document,
                    const presets::JsonValue& model) {
  if (document.root.find("model_type") == nullptr && document.root.find("config") == nullptr) {
    try {
      return launchPlan(file);
    } catch (const InputError&) {  // NOLINT(bugprone-empty-catch): what it lacks as a model is said below
    }
  }
  const std::string name = presets::look_up_model(model).name;
  return ModelFile{presets::model_config(model), QString::fromStdString(name)};
}

ReportPage reportPage(const std::vector<presets::PageScenario>& scenarios) {
  ReportPage page{.project = {.request = presets::read_scenario(scenarios.front().document)}};
  Evaluator evaluator;
  for (std::size_t i = 1; i < scenarios.size(); ++i)
    page.project.compared.pins.push_back(
        {QString::fromStdString(scenarios[i].name),
         evaluator.evaluate(presets::read_scenario(scenarios[i].document), Detail::Priced)});
  return page;
}

/// `model`: null for a text that stands in no file.
FileContent understand(const presets::ImportFile& file, const presets::JsonValue& model) {
  if (const auto inside = presets::scenarios_in_page(file.text, file.name); !inside.empty())
    return reportPage(inside);
  if (!file.name.ends_with(".json")) {
    // Lines of logs may begin as JSON does: "[rank0] step: 1 …".
    if (!model.is_null() && (presets::is_nccl_text(file.text) || isLog(file)))
      return RunFile{QString::fromStdString(file.name)};
    if (!isJson(file.text)) {
      if (speaksOfMachines(file)) return machineText(file);
      return launchPlan(file);
    }
  }
  const JsonDocument document = presets::parse_json(file.text, file.name, presets::JsonDialect::Python);
  const std::string schema = schemaOf(document);
  if (!model.is_null() && document.root.find("log_history") != nullptr)
    return RunFile{QString::fromStdString(file.name)};
  if (schema == presets::kScenarioSchema) return presets::read_scenario(document);
  if (presets::is_project(document))
    return readProject(document, QFileInfo{QString::fromStdString(file.name)}.absolutePath());
  if (holdsMeasurements(schema)) {
    MeasuredFilePtr measured =
        readMeasuredFile(QFileInfo{QString::fromStdString(file.name)}.fileName(), document);
    if (!measured->measured) return UnusableFile{measured->problem};
    return measured;
  }
  if (!schema.empty()) {
    throw InputError(
        {.file = document.file,
         .field = "/schema",
         .value = presets::in_quotes(schema),
         .expected = "a project, a scenario, a model, or what 'hexaplan run' and 'hexaplan accuracy' write"});
  }
  return foreign(file, document, model.is_null() ? document.root : model);
}

/// `read` gives a file's content, and what names it as a model.
template <class Read>
FileContent understood(const QString& name, const Read& read) {
  try {
    return read();
  } catch (const InputError& error) {
    return UnusableFile{problemText(error.problem)};
  } catch (const std::exception& error) {
    return UnusableFile{name + ": " + error.what()};
  }
}

}  // namespace

FileContent readAnyFile(const QString& path) {
  return understood(path, [&]() -> FileContent {
    if (QFileInfo::exists(path) && presets::is_pickle(path.toStdString())) return RunFile{path};
    if (presets::is_trace(path.toStdString())) return TraceFile{path};
    if (QFileInfo{path}.isFile() && presets::is_gpu_log(path.toStdString())) return RunFile{path};
    // The path is absolute, so that no preset's name is meant.
    return understand({path.toStdString(), presets::read_text_file(path.toStdString())},
                      presets::JsonValue{QFileInfo{path}.absoluteFilePath().toStdString()});
  });
}

FileContent readAnyText(const QString& text, const QString& name) {
  return understood(name, [&] { return understand({name.toStdString(), text.toStdString()}, {}); });
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
