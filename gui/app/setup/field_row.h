#pragma once
#include <QWidget>
#include <vector>

#include "gui/app/setup/fields.h"

class QCheckBox;
class QComboBox;
class QLabel;
class QLineEdit;
class QSlider;
class QToolButton;

namespace hexaplan::gui {

/// One field of the setup: label, editor, what follows from it, and what is wrong with it.
class FieldRow : public QWidget {
  Q_OBJECT
 public:
  explicit FieldRow(const Field& field, QWidget* parent = nullptr);

  [[nodiscard]] const Field& field() const { return field_; }
  /// Shows the question as it stands; sends no signal.
  void show(const Evaluation& evaluation);
  /// Says why the last edit was not taken.
  void showProblem(const QString& problem);
  [[nodiscard]] QString problem() const;
  void focusEditor();

 signals:
  /// A person entered `text`. `continuous`: more may follow at once, as while a slider is dragged.
  void edited(const QString& text, bool continuous);
  /// The last of a row of continuous edits has been sent.
  void settled();

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void makeEditors();
  void makeCombo(bool editable);
  void makeSlider();
  void makeLine();
  void makeCheck();
  void makeReset();
  void describeEditor(QWidget* editor, const QString& suffix = {});
  void tellAbout(QWidget* editor);
  /// What launch files call the field, in its tip.
  void showLaunchKeys(const Evaluation& evaluation);
  void offer(const std::vector<FieldOption>& options);
  void showText(const QString& text);
  void showAutomatic(bool automatic);
  void commit(const QString& text, bool continuous = false);
  /// The box that text is typed into; null when there is none.
  [[nodiscard]] QLineEdit* typingLine() const;
  /// Whether the box holds text that is not the plan's: being typed, or refused.
  [[nodiscard]] bool holdsOwnText() const;
  void dropOwnText();
  bool filterKey(QObject* watched, QEvent& event);
  void showTextMenu(const QPoint& at);

  const Field& field_;
  QLabel* label_ = nullptr;
  QLabel* note_ = nullptr;     // what follows
  QLabel* problem_ = nullptr;  // what is wrong
  QComboBox* combo_ = nullptr;
  QSlider* slider_ = nullptr;
  QLineEdit* line_ = nullptr;
  QCheckBox* check_ = nullptr;
  QToolButton* reset_ = nullptr;  // lets the value follow from the rest again
  QString tip_;                   // what the field is
  std::vector<QWidget*> tipped_;  // editors that show it
  std::string launch_keys_;       // in it
  QString plan_;                  // the plan's value
  QString shown_;                 // that, or what was sent last
  std::vector<FieldOption> offered_;
  std::vector<QString> steps_;  // of the slider: the values that can be chosen
};

}  // namespace hexaplan::gui
