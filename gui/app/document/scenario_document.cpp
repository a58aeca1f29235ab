#include "gui/app/document/scenario_document.h"

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

ScenarioDocument::ScenarioDocument(QObject* parent)
    : QObject{parent},
      evaluation_{std::make_shared<const Evaluation>()},
      estimates_{[this](const ScenarioRequest& request) { return evaluator_.evaluate(request); },
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
  undo_.clear();
  path_ = path;
  saved_ = request;
  apply(request);
  emit pathChanged();
}

void ScenarioDocument::markSaved(const QString& path) {
  path_ = path;
  saved_ = request_;
  emit pathChanged();
}

void ScenarioDocument::markUnsaved() {
  saved_.reset();
  emit changed();
}

QByteArray ScenarioDocument::toFile() const {
  return QByteArray::fromStdString(presets::to_text(presets::to_json(request_))) + '\n';
}

Session ScenarioDocument::session() const {
  Session session{.request = request_, .path = path_};
  if (compared_.baseline) session.baseline = compared_.baseline->request;
  for (const PinnedState& pin : compared_.pins) session.pins.push_back({pin.name, pin.evaluation->request});
  return session;
}

void ScenarioDocument::restore(const Session& session) {
  Evaluator evaluator;  // not the worker's
  Comparison compared;
  const auto priced = [&](const ScenarioRequest& request) {
    EvaluationPtr evaluation = evaluator.evaluate(request);
    return evaluation->priced() ? evaluation : nullptr;
  };
  if (session.baseline) compared.baseline = priced(*session.baseline);
  for (const Session::Pin& pin : session.pins) {
    if (EvaluationPtr evaluation = priced(pin.request))
      compared.pins.push_back({pin.name, std::move(evaluation)});
  }
  undo_.beginMacro(tr("Recovered"));
  change(session.request, tr("Recovered"));
  compare(std::move(compared), tr("Recovered"));
  undo_.endMacro();
  path_ = session.path;
  saved_.reset();
  emit pathChanged();
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
