#pragma once
#include <QKeyEvent>

namespace hexaplan::gui {

// Keys that are the window's, which boxes of text would take for themselves.

[[nodiscard]] inline bool isUndo(const QKeyEvent& key) {
  return key.matches(QKeySequence::Undo);
}

/// As the window's menu has it, whatever the desktop's habit is.
[[nodiscard]] inline bool isRedo(const QKeyEvent& key) {
  const auto keys = key.keyCombination();
  return key.matches(QKeySequence::Redo) || keys == (Qt::CTRL | Qt::Key_Y) ||
         keys == (Qt::CTRL | Qt::SHIFT | Qt::Key_Z);
}

}  // namespace hexaplan::gui
