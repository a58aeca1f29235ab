#include "gui/app/pages/notes_page.h"

#include <QEvent>
#include <QKeyEvent>
#include <QLabel>
#include <QPlainTextEdit>
#include <QSignalBlocker>
#include <QVBoxLayout>
#include <algorithm>

#include "gui/app/pages/plain_label.h"
#include "gui/app/setup/window_keys.h"
#include "gui/models/number_text.h"

namespace hexaplan::gui {

NotesPage::NotesPage(ScenarioDocument& document, QWidget* parent) : Page{document, parent} {
  setObjectName("notesPage");
  auto* column = new QVBoxLayout{this};
  column->setContentsMargins(8, 8, 8, 8);
  auto* says = new QLabel{tr("What you want to remember of this project. It is saved with it."), this};
  says->setWordWrap(true);
  column->addWidget(says);
  text_ = new QPlainTextEdit{this};
  text_->setObjectName("notes");
  text_->setAccessibleName(tr("Notes"));
  text_->setPlaceholderText(tr("Why this layout, what was tried, what to ask …"));
  text_->setTabChangesFocus(true);
  text_->setUndoRedoEnabled(false);
  text_->installEventFilter(this);
  column->addWidget(text_, 1);
  problem_ = plainLabel(this, "notesProblem");
  problem_->setWordWrap(true);
  problem_->hide();
  column->addWidget(problem_);
  constexpr int kPause = 1500;  // milliseconds
  pause_.setSingleShot(true);
  pause_.setInterval(kPause);
  connect(&pause_, &QTimer::timeout, this, [this] { this->document().settle(); });
  connect(text_, &QPlainTextEdit::textChanged, this, &NotesPage::write);
  connect(&document, &ScenarioDocument::notesChanged, this, [this] { show(this->document().notes()); });
}

void NotesPage::write() {
  const QString notes = text_->toPlainText();
  // Longer ones, of a file, can still be made shorter.
  const bool fits = notes.size() <= std::max(kMostNotes, document().notes().size());
  problem_->setVisible(!fits);
  if (!fits) {
    problem_->setText(tr("Notes have at most %1 letters: nothing was added.").arg(countText(kMostNotes)));
    return show(document().notes());
  }
  pause_.start();
  document().writeNotes(notes);
}

/// The cursor stays near where it was.
void NotesPage::show(const QString& notes) {
  if (text_->toPlainText() == notes) return;
  const QSignalBlocker quiet{text_};
  const int at = text_->textCursor().position();
  text_->setPlainText(notes);
  QTextCursor cursor = text_->textCursor();
  cursor.setPosition(qMin(at, static_cast<int>(notes.size())));
  text_->setTextCursor(cursor);
}

/// The text's own undo would know nothing of the project's other steps.
bool NotesPage::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() == QEvent::FocusOut) document().settle();
  if (event->type() == QEvent::ShortcutOverride) {
    const auto& key = static_cast<const QKeyEvent&>(*event);
    if (isUndo(key) || isRedo(key)) {
      event->ignore();
      return true;
    }
  }
  return Page::eventFilter(watched, event);
}

}  // namespace hexaplan::gui
