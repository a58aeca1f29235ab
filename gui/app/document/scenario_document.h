#pragma once
#include <QObject>
#include <QString>
#include <QTimer>
#include <QUndoStack>
#include <atomic>
#include <vector>

#include "gui/app/document/evaluation.h"
#include "gui/app/document/evaluator.h"
#include "gui/app/document/project.h"
#include "gui/app/jobs/latest_job.h"

namespace hexaplan::gui {

struct Field;

/// Searches beyond these push out the oldest.
inline constexpr std::size_t kMostSearches = 8;
/// Reports of measurements beyond these push out the oldest.
inline constexpr std::size_t kMostMeasured = 32;
/// Letters of notes: a long chapter. More belongs into a file of its own.
inline constexpr qsizetype kMostNotes = 100'000;

/// The project of the window: its question with everything that follows from it, and what was made of it.
/// Every change of question, comparison and notes is a QUndoCommand; each question is priced on a worker
/// thread, and the whole answer arrives with `evaluated`.
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
  /// Takes a plan that was found for `question`: its recipe and layout, and the rest as `question` said it,
  /// whatever was edited meanwhile, because the plan's figures are those of its own question.
  void loadPlan(const Evaluation& question, const costmodel::Recipe& recipe, const costmodel::Layout& layout,
                const QString& title);

  /// Takes a scenario file, or nothing, with an empty history. What is compared, found and noted stays,
  /// unless it is that of a project's file, which is left.
  void reset(const presets::ScenarioRequest& request, const QString& path);
  /// Takes a whole project, with an empty history.
  void open(const Project& project, const QString& path);
  [[nodiscard]] QString path() const { return path_; }
  /// What the file at `path` holds.
  [[nodiscard]] SavedAs savedAs() const { return saved_as_; }
  /// Whether a person would lose something that the file does not have. Of what a scenario's file cannot
  /// hold, searches, reports and traces do not count: they can be had again.
  [[nodiscard]] bool isModified() const;
  /// Whether the question differs from the one in the file.
  [[nodiscard]] bool isQuestionModified() const { return !saved_ || saved_->request != request_; }
  /// Whether the file lacks anything at all.
  [[nodiscard]] bool isBeyondFile() const;
  /// Marks the present state as that of `path`.
  void markSaved(const QString& path, SavedAs as = SavedAs::Scenario);
  /// The file no longer holds what was saved there.
  void markUnsaved();
  /// The text of a file at `path`: a scenario as the command line reads it, or the project.
  [[nodiscard]] QByteArray toFile(const QString& path, SavedAs as) const;
  [[nodiscard]] Project project() const;
  /// Everything that a crash would lose.
  [[nodiscard]] Session session() const { return {project(), path_, saved_as_}; }
  /// Takes over what a crash left, the question, notes and comparison as one step that can be undone.
  void restore(const Session& session);
  /// Takes what another program put into the project's file: question, notes and comparison as one step that
  /// can be undone.
  void reload(const Project& project, const QString& path);
  /// Files that the question names may have changed: they are read anew with the next answer.
  void rereadFiles() { reread_ = true; }

  [[nodiscard]] const QString& notes() const { return notes_; }
  /// Typing is one step until `settle`. Precondition: at most kMostNotes letters, or no more than there are.
  void writeNotes(const QString& notes);

  [[nodiscard]] const std::vector<SearchResultPtr>& searches() const { return searches_; }
  void keepSearch(SearchResultPtr search);
  void forgetSearch(const SearchResultPtr& search);
  [[nodiscard]] const std::vector<MeasuredFilePtr>& measured() const { return measured_; }
  /// In place of one of the same name.
  void keepMeasured(MeasuredFilePtr file);
  void forgetMeasured(const MeasuredFilePtr& file);
  [[nodiscard]] const QStringList& traces() const { return traces_; }
  void keepTrace(const QString& path);
  void forgetTrace(const QString& path);

  // Comparisons change with undo, too. A state that is kept keeps its global batch: where it followed from
  // the layout, it is said from then on, so that what is compared trains on the same batch.

  /// What everything is compared with; null: nothing.
  [[nodiscard]] EvaluationPtr baseline() const { return compared_.baseline; }
  void pinBaseline();
  void clearBaseline();
  [[nodiscard]] const std::vector<PinnedState>& pins() const { return compared_.pins; }
  void pin(const QString& name = {});
  void unpin(int index);
  void clearPins();

 signals:
  void changed();
  void evaluated();
  void baselineChanged();
  void pinsChanged();
  void pathChanged();
  void notesChanged();
  /// Another project is about to take this one's place: what still runs for this one is not for that.
  void projectLeft();
  /// Searches, reports or traces came or went.
  void keptChanged();
  /// Another project's searches, reports and traces are there.
  void projectOpened();

 private:
  friend class ChangeCommand;
  friend class CompareCommand;
  friend class NotesCommand;
  void apply(const presets::ScenarioRequest& request);
  void apply(const Comparison& compared);
  void apply(const QString& notes);
  void takeKept(const Project& project);
  void takeAsStep(const Project& project, const QString& title);
  void fail(const QString& problem);
  /// Whether the file lacks what nobody can have again: question, notes, comparison.
  [[nodiscard]] bool isWritingModified() const;
  void keepBatch();
  void compare(Comparison compared, const QString& title);

  presets::ScenarioRequest request_;
  std::optional<Project> saved_ = Project{};  // as the file has it; nothing: unknown
  SavedAs saved_as_ = SavedAs::Scenario;
  EvaluationPtr evaluation_;
  Comparison compared_;
  QString notes_;
  std::vector<SearchResultPtr> searches_;
  std::vector<MeasuredFilePtr> measured_;
  QStringList traces_;
  QUndoStack undo_;
  QString path_;
  int step_ = 0;
  std::atomic<bool> reread_ = false;
  Evaluator evaluator_;  // used by the worker of estimates_ alone
  LatestJob<presets::ScenarioRequest, EvaluationPtr> estimates_;
};

/// "llama-3.1-8b · 64 × h100-80-sxm · tp2 pp4 dp8 · sequence 8192 · batch 1 of 128 · full": what a state is
/// called. States that differ in sequence, batch or recompute have different names.
[[nodiscard]] QString titleOf(const Evaluation& evaluation);

}  // namespace hexaplan::gui
