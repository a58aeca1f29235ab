#include "gui/app/document/scenario_document.h"

#include <QCoreApplication>
#include <QUndoCommand>
#include <utility>

#include "gui/app/document/messages.h"
#include "gui/app/setup/fields.h"
#include "presets/json/input_error.h"

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

ScenarioDocument::ScenarioDocument(QObject* parent)
    : QObject{parent},
      evaluation_{std::make_shared<const Evaluation>()},
      estimates_{[this](const ScenarioRequest& request) { return evaluator_.evaluate(request); },
                 [this](EvaluationPtr evaluation) {
                   evaluation_ = std::move(evaluation);
                   emit evaluated();
                 }} {
  undo_.setUndoLimit(1000);
  estimates_.ask(request_);
}

void ScenarioDocument::apply(const ScenarioRequest& request) {
  request_ = request;
  estimates_.ask(request_);
  emit changed();
}

QString ScenarioDocument::edit(const Field& field, const QString& text, bool continuous) {
  ScenarioRequest next = request_;
  try {
    field.write(next, text.toStdString(), *evaluation_);
    if (field.check != nullptr) field.check(next);
  } catch (const presets::InputError& error) {
    return problemText(error.problem);
  }
  const QString label = QCoreApplication::translate("Field", field.label);
  const QString id = QString::fromUtf8(field.id.data(), static_cast<int>(field.id.size()));
  change(std::move(next), QString{"%1: %2"}.arg(label, text), continuous ? id : QString{});
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

void ScenarioDocument::reset(const ScenarioRequest& request, const QString& path) {
  undo_.clear();
  path_ = path;
  apply(request);
  emit pathChanged();
}

void ScenarioDocument::markSaved(const QString& path) {
  path_ = path;
  undo_.setClean();
  emit pathChanged();
}

QByteArray ScenarioDocument::toFile() const {
  return QByteArray::fromStdString(presets::to_text(presets::to_json(request_))) + '\n';
}

void ScenarioDocument::pinBaseline() {
  if (!evaluation_->priced()) return;
  baseline_ = evaluation_;
  emit baselineChanged();
}

void ScenarioDocument::clearBaseline() {
  baseline_.reset();
  emit baselineChanged();
}

void ScenarioDocument::pin(const QString& name) {
  if (!evaluation_->priced()) return;
  pins_.push_back({name.isEmpty() ? titleOf(*evaluation_) : name, evaluation_});
  emit pinsChanged();
}

void ScenarioDocument::unpin(int index) {
  if (index < 0 || index >= static_cast<int>(pins_.size())) return;
  pins_.erase(pins_.begin() + index);
  emit pinsChanged();
}

void ScenarioDocument::clearPins() {
  pins_.clear();
  emit pinsChanged();
}

QString titleOf(const Evaluation& e) {
  if (!e.understood()) return {};
  presets::LayoutRequest layout{.layout = e.scenario.layout, .dp_given = true};
  return QString{"%1 · %2 × %3 · %4"}
      .arg(QString::fromStdString(e.scenario.model.name))
      .arg(e.scenario.cluster.gpus)
      .arg(QString::fromStdString(e.scenario.cluster.gpu.name),
           QString::fromStdString(presets::to_layout_text(layout)));
}

}  // namespace hexaplan::gui
