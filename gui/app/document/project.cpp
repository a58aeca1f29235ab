#include "gui/app/document/project.h"

#include <QCoreApplication>
#include <QDir>
#include <QFileInfo>
#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "gui/app/document/evaluator.h"
#include "gui/app/document/scenario_json.h"
#include "gui/app/jobs/search_file.h"
#include "presets/json/object_reader.h"
#include "presets/scenario/project_question.h"

namespace hexaplan::gui {

using presets::InputError;
using presets::JsonArray;
using presets::JsonDocument;
using presets::JsonObject;
using presets::JsonValue;
using presets::ObjectReader;
using presets::ScenarioRequest;
using presets::ValueReader;

namespace {

constexpr const char* kRecovery = "hexaplan/recovery/2";
/// Question, path, baseline and pins.
constexpr const char* kOldRecovery = "hexaplan/recovery/1";
constexpr presets::Named<SavedAs> kSavedAs[] = {{"scenario", SavedAs::Scenario},
                                                {"project", SavedAs::Project}};

/// A name from the folder where that is below it, so that both can be moved together.
std::string tracePath(const QString& path, const QString& folder) {
  const QString near = folder.isEmpty() ? path : QDir{folder}.relativeFilePath(path);
  return (near.startsWith("..") ? path : near).toStdString();
}

JsonArray pinsJson(const std::vector<PinnedState>& pins) {
  JsonArray rows;
  for (const PinnedState& pin : pins)
    rows.emplace_back(
        JsonObject{{"name", pin.name.toStdString()}, {"scenario", scenarioJson(*pin.evaluation)}});
  return rows;
}

JsonArray measuredJson(const std::vector<MeasuredFilePtr>& files) {
  JsonArray rows;
  for (const MeasuredFilePtr& file : files)
    rows.emplace_back(JsonObject{{"name", file->name.toStdString()}, {"report", file->document}});
  return rows;
}

/// A baseline must have numbers; without, it stays a pin.
void readComparison(ObjectReader& root, Evaluator& evaluator, Comparison& compared) {
  const auto evaluated = [&](const ValueReader& scenario) {
    return evaluator.evaluate(readScenarioAsAsked(scenario), Detail::Priced);
  };
  if (const auto said = root.optional("baseline")) {
    EvaluationPtr baseline = evaluated(*said);
    if (baseline->priced()) {
      compared.baseline = std::move(baseline);
    } else {
      compared.pins.push_back({QCoreApplication::translate("Project", "baseline"), std::move(baseline)});
    }
  }
  const auto pins = root.optional("pins");
  if (!pins) return;
  for (const ValueReader& row : pins->elements()) {
    ObjectReader pin = row.object();
    QString name = QString::fromStdString(pin.required("name").text());
    compared.pins.push_back({std::move(name), evaluated(pin.required("scenario"))});
    pin.finish();
  }
}

std::vector<MeasuredFilePtr> readMeasured(const ValueReader& rows) {
  std::vector<MeasuredFilePtr> files;
  for (const ValueReader& row : rows.elements()) {
    ObjectReader file = row.object();
    const QString name = QString::fromStdString(file.required("name").text());
    files.push_back(readMeasuredFile(name, {.file = row.file(), .root = file.required("report").json()}));
    file.finish();
  }
  return files;
}

/// What stands in a project beside its schema, and stood in old recovery files.
Project readParts(ObjectReader& root, const QString& folder) {
  Evaluator evaluator;
  Project project{.request = readScenarioAsAsked(root.required("scenario"))};
  if (const auto notes = root.optional("notes")) project.notes = QString::fromStdString(notes->text());
  readComparison(root, evaluator, project.compared);
  if (const auto searches = root.optional("searches")) {
    for (const ValueReader& row : searches->elements())
      project.searches.push_back(readSearch(row, evaluator));
  }
  if (const auto measured = root.optional("measured")) project.measured = readMeasured(*measured);
  if (const auto traces = root.optional("traces")) {
    for (const ValueReader& trace : traces->elements())
      project.traces.append(
          QDir::cleanPath(QDir{folder}.absoluteFilePath(QString::fromStdString(trace.text()))));
  }
  return project;
}

Session oldSession(const JsonDocument& document) {
  ObjectReader root{document};
  root.skip("schema");
  Session session;
  if (const auto path = root.optional("path")) session.path = QString::fromStdString(path->text());
  session.project = readParts(root, {});
  root.finish();
  return session;
}

Session sessionOf(const JsonDocument& document) {
  ObjectReader root{document};
  root.skip("schema");
  Session session{.project = readProject({document.file, root.required("project").json()}, {})};
  if (const auto path = root.optional("path")) session.path = QString::fromStdString(path->text());
  session.saved_as = root.required("saved_as").choice(kSavedAs);
  root.finish();
  return session;
}

/// `scenario`: the project's question.
JsonValue projectJson(const Project& project, JsonValue scenario, const QString& folder) {
  JsonObject root{{"schema", presets::kProjectSchema}, {"scenario", std::move(scenario)}};
  if (!project.notes.isEmpty()) root.emplace_back("notes", project.notes.toStdString());
  if (project.compared.baseline) root.emplace_back("baseline", scenarioJson(*project.compared.baseline));
  JsonArray searches, traces;
  for (const SearchResultPtr& search : project.searches) searches.push_back(toJson(*search));
  for (const QString& trace : project.traces) traces.emplace_back(tracePath(trace, folder));
  const auto add = [&](const char* key, JsonArray rows) {
    if (!rows.empty()) root.emplace_back(key, std::move(rows));
  };
  add("pins", pinsJson(project.compared.pins));
  add("searches", std::move(searches));
  add("measured", measuredJson(project.measured));
  add("traces", std::move(traces));
  return root;
}

bool sameQuestion(const EvaluationPtr& a, const EvaluationPtr& b) {
  return a == b || (a && b && a->request == b->request);
}

}  // namespace

bool operator==(const Comparison& a, const Comparison& b) {
  return sameQuestion(a.baseline, b.baseline) &&
         std::equal(a.pins.begin(), a.pins.end(), b.pins.begin(), b.pins.end(),
                    [](const PinnedState& one, const PinnedState& other) {
                      return one.name == other.name && sameQuestion(one.evaluation, other.evaluation);
                    });
}

JsonValue toJson(const Project& project, const Evaluation& answer, const QString& folder) {
  const EvaluationPtr asked =
      answer.request == project.request ? nullptr : Evaluator{}.evaluate(project.request, Detail::Question);
  return projectJson(project, scenarioJson(asked ? *asked : answer), folder);
}

Project readProject(const JsonDocument& document, const QString& folder) {
  presets::check_project_version(document);
  ObjectReader root{document};
  root.skip("schema");
  Project project = readParts(root, folder);
  root.finish();
  return project;
}

QByteArray toText(const Session& session) {
  const Project& project = session.project;
  JsonObject root{{"schema", kRecovery},
                  {"saved_as", kSavedAs[static_cast<std::size_t>(session.saved_as)].name},
                  {"project", projectJson(project, presets::to_json(project.request), {})}};
  if (!session.path.isEmpty()) root.emplace_back("path", session.path.toStdString());
  return QByteArray::fromStdString(presets::to_text(root, presets::JsonStyle::Compact)) + '\n';
}

Session readSession(const QString& path) {
  const JsonDocument document = presets::read_json_file(path.toStdString());
  const JsonValue* schema = document.root.find("schema");
  const auto* name = schema == nullptr ? nullptr : schema->get_if<std::string>();
  if (name != nullptr && *name == presets::kScenarioSchema)
    return {.project = {.request = presets::read_scenario(document)}};
  if (name != nullptr && *name == kRecovery) return sessionOf(document);
  if (name != nullptr && *name == kOldRecovery) return oldSession(document);
  throw InputError{{.file = document.file,
                    .field = "/schema",
                    .value = name == nullptr ? std::string{"none"} : presets::in_quotes(*name),
                    .expected = presets::in_quotes(kRecovery),
                    .hint = "a newer hexaplan-gui may have written it"}};
}

}  // namespace hexaplan::gui
