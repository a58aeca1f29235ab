#pragma once
#include <QTimer>

#include "gui/app/pages/page.h"

class QLabel;
class QPlainTextEdit;

namespace hexaplan::gui {

/// The user's own words about the project. Undo is the window's.
class NotesPage : public Page {
  Q_OBJECT
 public:
  explicit NotesPage(ScenarioDocument& document, QWidget* parent = nullptr);

  bool eventFilter(QObject* watched, QEvent* event) override;

 protected:
  void refresh() override {}  // notes have a signal of their own

 private:
  void write();
  void show(const QString& notes);

  QPlainTextEdit* text_ = nullptr;
  QLabel* problem_ = nullptr;
  QTimer pause_;  // after which typing is another step
};

}  // namespace hexaplan::gui
