#include "gui/app/document/messages.h"

#include <QCoreApplication>
#include <QStringList>
#include <new>
#include <string>

namespace hexaplan::gui {

QString problemText(const presets::InputProblem& problem) {
  const auto say = [](const char* text) { return QCoreApplication::translate("Messages", text); };
  QStringList what;
  if (!problem.value.empty())
    what.append(say(QT_TRANSLATE_NOOP("Messages", "got %1")).arg(QString::fromStdString(problem.value)));
  if (!problem.expected.empty()) {
    what.append(
        say(QT_TRANSLATE_NOOP("Messages", "expected %1")).arg(QString::fromStdString(problem.expected)));
  }
  QStringList sentence;
  if (!what.isEmpty()) sentence.append(what.join(", "));
  if (!problem.hint.empty()) sentence.append(QString::fromStdString(problem.hint));
  QStringList parts;
  for (const std::string& where : {problem.file, problem.field}) {
    if (!where.empty()) parts.append(QString::fromStdString(where));
  }
  parts.append(sentence.join("; "));
  return parts.join(": ");
}

QString problemText(const std::exception& error) {
  if (const auto* input = dynamic_cast<const presets::InputError*>(&error))
    return problemText(input->problem);
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr)
    return QCoreApplication::translate("Messages", "out of memory");
  return QString::fromUtf8(error.what());
}

}  // namespace hexaplan::gui
