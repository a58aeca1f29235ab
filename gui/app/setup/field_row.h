#pragma once
#include <QWidget>
#include <vector>

#include "gui/app/setup/fields.h"

class QCheckBox;
class QComboBox;
class QLabel;
class QLineEdit;
class QSlider;

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
  void describeEditor(QWidget* editor, const QString& suffix = {});
  void offer(const std::vector<FieldOption>& options);
  void showText(const QString& text);
  void commit(const QString& text, bool continuous = false);

  const Field& field_;
  QLabel* label_ = nullptr;
  QLabel* note_ = nullptr;     // what follows
  QLabel* problem_ = nullptr;  // what is wrong
  QComboBox* combo_ = nullptr;
  QSlider* slider_ = nullptr;
  QLineEdit* line_ = nullptr;
  QCheckBox* check_ = nullptr;
  QString shown_;
  std::vector<FieldOption> offered_;
  std::vector<QString> steps_;  // of the slider: the values that can be chosen
};

}  // namespace hexaplan::gui
