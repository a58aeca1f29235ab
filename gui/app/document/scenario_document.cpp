#include "gui/app/document/scenario_document.h"

#include <QFileInfo>
#include <QUndoCommand>
#include <utility>

#include "gui/app/document/messages.h"
#include "gui/app/setup/fields.h"
#include "gui/models/number_text.h"
#include "presets/json/input_error.h"
#include "presets/scenario/recompute_text.h"

namespace hexaplan::gui {

using presets::ScenarioRequest;

/// From one question to another.
class ChangeCommand : public QUndoCommand {
 public:
  ChangeCommand(ScenarioDocument& document, ScenarioRequest after, const QString& title, QString topic,
                int step)
      : QUndoCommand{title},
        document_{document},
        before_{document.request_},
        after_{std::move(after)},
        topic_{std::move(topic)},
        step_{step} {}

  void undo() override { document_.apply(before_); }
  void redo() override { document_.apply(after_); }
  [[nodiscard]] int id() const override { return topic_.isEmpty() ? -1 : 1; }
  bool mergeWith(const QUndoCommand* other) override {
    const auto* next = static_cast<const ChangeCommand*>(other);
    if (next->topic_ != topic_ || next->step_ != step_) return false;
    after_ = next->after_;
    setText(next->text());
    setObsolete(before_ == after_);
    return true;
  }

 private:
  ScenarioDocument& document_;
  ScenarioRequest before_, after_;
  QString topic_;
  int step_;
};

/// From one comparison to another.
class CompareCommand : public QUndoCommand {
 public:
  CompareCommand(ScenarioDocument& document, Comparison after, const QString& title)
      : QUndoCommand{title}, document_{document}, before_{document.compared_}, after_{std::move(after)} {}

  void undo() override { document_.apply(before_); }
  void redo() override { document_.apply(after_); }

 private:
  ScenarioDocument& document_;
  Comparison before_, after_;
};

/// From some notes to others.
class NotesCommand : public QUndoCommand {
 public:
  NotesCommand(ScenarioDocument& document, QString after, int step)
      : QUndoCommand{ScenarioDocument::tr("Notes")},
        document_{document},
        before_{document.notes_},
        after_{std::move(after)},
        step_{step} {}

  void undo() override { document_.apply(before_); }
  void redo() override { document_.apply(after_); }
  [[nodiscard]] int id() const override { return 2; }
  bool mergeWith(const QUndoCommand* other) override {
    const auto* next = static_cast<const NotesCommand*>(other);
    if (next->step_ != step_) return false;
    after_ = next->after_;
    setObsolete(before_ == after_);
    return true;
  }

 private:
  ScenarioDocument& document_;
  QString before_, after_;
  int step_;
};

ScenarioDocument::ScenarioDocument(QObject* parent)
    : QObject{parent},
      evaluation_{std::make_shared<const Evaluation>()},
      estimates_{[this](const ScenarioRequest& request) {
                   if (reread_.exchange(false)) evaluator_.forget();
                   return evaluator_.evaluate(request);
                 },
                 [this](EvaluationPtr evaluation) {
                   evaluation_ = std::move(evaluation);
                   emit evaluated();
                 },
                 [this](const QString& problem) { fail(problem); }} {
  undo_.setUndoLimit(1000);
  estimates_.ask(request_);
}

void ScenarioDocument::apply(const ScenarioRequest& request) {
  request_ = request;
  estimates_.ask(request_);
  emit changed();
}

/// Not even the problem could be told apart: what was asked stays, and nothing is claimed about it.
void ScenarioDocument::fail(const QString& problem) {
  auto failed = std::make_shared<Evaluation>();
  failed->request = request_;
  failed->problem = presets::InputProblem{.field = "internal", .value = problem.toStdString()};
  evaluation_ = std::move(failed);
  emit evaluated();
}

void ScenarioDocument::apply(const Comparison& compared) {
  compared_ = compared;
  emit baselineChanged();
  emit pinsChanged();
}

void ScenarioDocument::apply(const QString& notes) {
  notes_ = notes;
  emit notesChanged();
}

void ScenarioDocument::writeNotes(const QString& notes) {
  if (notes != notes_) undo_.push(new NotesCommand{*this, notes, step_});
}

QString ScenarioDocument::edit(const Field& field, const QString& text, bool continuous) {
  ScenarioRequest next = request_;
  try {
    field.write(next, text.toStdString(), *evaluation_);
    if (field.check != nullptr) field.check(next);
  } catch (const presets::InputError& error) {
    return problemText(error.problem);
  }
  const QString id = utf8Text(field.id);
  change(std::move(next), QString{"%1: %2"}.arg(labelOf(field), text), continuous ? id : QString{});
  if (!continuous) settle();
  return {};
}

void ScenarioDocument::change(ScenarioRequest request, const QString& title, const QString& topic) {
  if (request == request_) {
    emit evaluated();  // whatever was typed shows the value again
    return;
  }
  undo_.push(new ChangeCommand{*this, std::move(request), title, topic, step_});
}

void ScenarioDocument::loadPlan(const Evaluation& question, const costmodel::Recipe& recipe,
                                const costmodel::Layout& layout, const QString& title) {
  ScenarioRequest request = question.request;
  const costmodel::Recipe& was = question.scenario.recipe;
  request.recipe = recipe;
  if (recipe.sequence == was.sequence) request.recipe.sequence = question.request.recipe.sequence;
  // The batch stays automatic only where it comes out the same.
  const bool same_batch = layout.dp == question.scenario.layout.dp &&
                          layout.pp == question.scenario.layout.pp && recipe.micro_batch == was.micro_batch &&
                          recipe.global_batch == was.global_batch;
  if (same_batch) request.recipe.global_batch = question.request.recipe.global_batch;
  request.layout.layout = layout;
  request.layout.dp_given = false;
  change(std::move(request), title);
}

void ScenarioDocument::reset(const ScenarioRequest& request, const QString& path) {
  if (saved_as_ == SavedAs::Project) open({}, {});
  undo_.clear();
  path_ = path;
  saved_ = Project{.request = request};
  rereadFiles();
  apply(request);
  emit pathChanged();
}

void ScenarioDocument::open(const Project& project, const QString& path) {
  emit projectLeft();
  undo_.clear();
  path_ = path;
  saved_as_ = path.isEmpty() ? SavedAs::Scenario : SavedAs::Project;
  rereadFiles();
  apply(project.request);
  apply(project.compared);
  apply(project.notes);
  takeKept(project);
  saved_ = this->project();
  emit pathChanged();
}

void ScenarioDocument::takeKept(const Project& project) {
  searches_ = project.searches;
  measured_ = project.measured;
  traces_ = project.traces;
  emit projectOpened();
  emit keptChanged();
}

bool ScenarioDocument::isModified() const {
  if (!saved_) return true;
  if (saved_as_ == SavedAs::Project) return isBeyondFile();
  return isWritingModified();
}

bool ScenarioDocument::isWritingModified() const {
  return isQuestionModified() || notes_ != saved_->notes || !(compared_ == saved_->compared);
}

bool ScenarioDocument::isBeyondFile() const {
  return isWritingModified() || searches_ != saved_->searches || measured_ != saved_->measured ||
         traces_ != saved_->traces;
}

void ScenarioDocument::markSaved(const QString& path, SavedAs as) {
  path_ = path;
  saved_as_ = as;
  saved_ = as == SavedAs::Project ? project() : Project{.request = request_};
  emit pathChanged();
}

void ScenarioDocument::markUnsaved() {
  saved_.reset();
  emit changed();
}

QByteArray ScenarioDocument::toFile(const QString& path, SavedAs as) const {
  const presets::JsonValue json = as == SavedAs::Scenario
                                      ? presets::to_json(request_)
                                      : toJson(project(), *evaluation_, QFileInfo{path}.absolutePath());
  return QByteArray::fromStdString(presets::to_text(json)) + '\n';
}

Project ScenarioDocument::project() const {
  return {request_, notes_, compared_, searches_, measured_, traces_};
}

/// Searches, reports and traces are no step.
void ScenarioDocument::takeAsStep(const Project& project, const QString& title) {
  undo_.beginMacro(title);
  change(project.request, title);
  compare(project.compared, title);
  writeNotes(project.notes);
  undo_.endMacro();
  takeKept(project);
}

void ScenarioDocument::restore(const Session& session) {
  takeAsStep(session.project, tr("Recovered"));
  path_ = session.path;
  saved_as_ = session.saved_as;
  saved_.reset();
  emit pathChanged();
}

void ScenarioDocument::reload(const Project& project, const QString& path) {
  takeAsStep(project, tr("Reloaded"));
  markSaved(path, SavedAs::Project);
}

void ScenarioDocument::keepSearch(SearchResultPtr search) {
  searches_.push_back(std::move(search));
  if (searches_.size() > kMostSearches) searches_.erase(searches_.begin());
  emit keptChanged();
}

void ScenarioDocument::forgetSearch(const SearchResultPtr& search) {
  if (std::erase(searches_, search) > 0) emit keptChanged();
}

void ScenarioDocument::keepMeasured(MeasuredFilePtr file) {
  std::erase_if(measured_, [&](const MeasuredFilePtr& other) { return other->name == file->name; });
  measured_.push_back(std::move(file));
  if (measured_.size() > kMostMeasured) measured_.erase(measured_.begin());
  emit keptChanged();
}

void ScenarioDocument::forgetMeasured(const MeasuredFilePtr& file) {
  if (std::erase(measured_, file) > 0) emit keptChanged();
}

void ScenarioDocument::keepTrace(const QString& path) {
  const QString whole = QFileInfo{path}.absoluteFilePath();
  if (traces_.contains(whole)) return;
  traces_.append(whole);
  emit keptChanged();
}

void ScenarioDocument::forgetTrace(const QString& path) {
  if (traces_.removeAll(QFileInfo{path}.absoluteFilePath()) > 0) emit keptChanged();
}

/// The batch that follows from the layout now, said.
void ScenarioDocument::keepBatch() {
  if (request_.recipe.global_batch > 0) return;
  ScenarioRequest request = request_;
  request.recipe.global_batch = evaluation_->scenario.recipe.global_batch;
  change(std::move(request), tr("Keep the global batch"));
}

void ScenarioDocument::compare(Comparison compared, const QString& title) {
  undo_.push(new CompareCommand{*this, std::move(compared), title});
}

void ScenarioDocument::pinBaseline() {
  if (!evaluation_->priced()) return;
  const QString title = tr("Baseline");
  undo_.beginMacro(title);
  compare({evaluation_, compared_.pins}, title);
  keepBatch();
  undo_.endMacro();
}

void ScenarioDocument::clearBaseline() {
  if (compared_.baseline) compare({nullptr, compared_.pins}, tr("No baseline"));
}

void ScenarioDocument::pin(const QString& name) {
  if (!evaluation_->priced()) return;
  Comparison compared = compared_;
  compared.pins.push_back({name.isEmpty() ? titleOf(*evaluation_) : name, evaluation_});
  const QString title = tr("Pin");
  undo_.beginMacro(title);
  compare(std::move(compared), title);
  keepBatch();
  undo_.endMacro();
}

void ScenarioDocument::unpin(int index) {
  if (index < 0 || index >= static_cast<int>(compared_.pins.size())) return;
  Comparison compared = compared_;
  compared.pins.erase(compared.pins.begin() + index);
  compare(std::move(compared), tr("Remove a pin"));
}

void ScenarioDocument::clearPins() {
  if (!compared_.pins.empty()) compare({compared_.baseline, {}}, tr("Remove all pins"));
}

QString titleOf(const Evaluation& e) {
  if (!e.understood()) return {};
  const presets::LayoutRequest layout{.layout = e.scenario.layout, .dp_given = true};
  const costmodel::Recipe& recipe = e.scenario.recipe;
  QString title = QString{"%1 · %2 × %3 · %4"}
                      .arg(QString::fromStdString(e.scenario.model.name))
                      .arg(e.scenario.cluster.gpus)
                      .arg(QString::fromStdString(e.scenario.cluster.gpu.name),
                           QString::fromStdString(presets::to_layout_text(layout)));
  title += " · " + ScenarioDocument::tr("sequence %1 · batch %2 of %3")
                       .arg(recipe.sequence)
                       .arg(recipe.micro_batch)
                       .arg(recipe.global_batch);
  if (recipe.recompute != costmodel::Recompute{})
    title += " · " + ScenarioDocument::tr("recompute %1")
                         .arg(QString::fromStdString(presets::to_recompute_text(recipe.recompute)));
  return title;
}

}  // namespace hexaplan::gui
