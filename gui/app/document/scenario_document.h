#pragma once
#include <QObject>
#include <QString>
#include <QTimer>
#include <QUndoStack>
#include <vector>

#include "gui/app/document/evaluation.h"
#include "gui/app/document/evaluator.h"
#include "gui/app/jobs/latest_job.h"

namespace hexaplan::gui {

struct Field;

/// A state that was kept for comparison.
struct PinnedState {
  QString name;
  EvaluationPtr evaluation;
};

/// The question of the window and everything that follows from it. Every change is a QUndoCommand; each is
/// priced on a worker thread, and the whole answer arrives with `evaluated`.
class ScenarioDocument : public QObject {
  Q_OBJECT
 public:
  explicit ScenarioDocument(QObject* parent = nullptr);

  [[nodiscard]] const presets::ScenarioRequest& request() const { return request_; }
  /// The last answer; never null. May lag behind `request` for as long as an estimate takes.
  [[nodiscard]] EvaluationPtr evaluation() const { return evaluation_; }
  [[nodiscard]] bool upToDate() const { return !estimates_.busy(); }
  [[nodiscard]] QUndoStack& undoStack() { return undo_; }

  /// Changes one field. Returns what is wrong with the text, and then nothing has changed; empty when taken.
  QString edit(const Field& field, const QString& text, bool continuous);
  /// Replaces the question as one step that can be undone, called `title`. Continuous changes of one `topic`
  /// become one step until `settle`.
  void change(presets::ScenarioRequest request, const QString& title, const QString& topic = {});
  /// What follows is another step, even about the same topic.
  void settle() { ++step_; }

  /// A file, or nothing. Starts with an empty history.
  void reset(const presets::ScenarioRequest& request, const QString& path);
  [[nodiscard]] QString path() const { return path_; }
  [[nodiscard]] bool isModified() const { return !undo_.isClean(); }
  /// Marks the present state as that of `path`.
  void markSaved(const QString& path);
  /// The scenario file as the command line reads it.
  [[nodiscard]] QByteArray toFile() const;

  /// What everything is compared with; null: nothing.
  [[nodiscard]] EvaluationPtr baseline() const { return baseline_; }
  void pinBaseline();
  void clearBaseline();
  [[nodiscard]] const std::vector<PinnedState>& pins() const { return pins_; }
  void pin(const QString& name = {});
  void unpin(int index);
  void clearPins();

 signals:
  void changed();
  void evaluated();
  void baselineChanged();
  void pinsChanged();
  void pathChanged();

 private:
  friend class ChangeCommand;
  void apply(const presets::ScenarioRequest& request);

  presets::ScenarioRequest request_;
  EvaluationPtr evaluation_;
  EvaluationPtr baseline_;
  std::vector<PinnedState> pins_;
  QUndoStack undo_;
  QString path_;
  int step_ = 0;
  Evaluator evaluator_;  // used by the worker of estimates_ alone
  LatestJob<presets::ScenarioRequest, EvaluationPtr> estimates_;
};

/// "llama-3.1-8b · 64 × h100-80-sxm · tp2 pp4 dp8": what a state is called.
[[nodiscard]] QString titleOf(const Evaluation& evaluation);

}  // namespace hexaplan::gui
