#include "gui/app/document/messages.h"

#include <QCoreApplication>

namespace hexaplan::gui {

QString problemText(const presets::InputProblem& problem) {
  const auto say = [](const char* text) { return QCoreApplication::translate("Messages", text); };
  QString text;
  if (!problem.file.empty()) text += QString::fromStdString(problem.file) + ": ";
  if (!problem.field.empty()) text += QString::fromStdString(problem.field) + ": ";
  if (!problem.value.empty())
    text += say(QT_TRANSLATE_NOOP("Messages", "got %1")).arg(QString::fromStdString(problem.value));
  if (!problem.expected.empty()) {
    if (!problem.value.empty()) text += ", ";
    text += say(QT_TRANSLATE_NOOP("Messages", "expected %1")).arg(QString::fromStdString(problem.expected));
  }
  if (!problem.hint.empty()) text += "; " + QString::fromStdString(problem.hint);
  return text;
}

}  // namespace hexaplan::gui
