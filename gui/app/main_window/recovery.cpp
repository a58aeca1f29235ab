// What a crash leaves behind: kept while a window lives, taken over by the next start.
#include <QStringList>
#include <QUrl>
#include <exception>
#include <utility>

#include "gui/app/document/messages.h"
#include "gui/app/main_window/main_window.h"
#include "gui/app/main_window/start.h"

namespace hexaplan::gui {
namespace {

MainWindow* newWindow() {
  auto* window = new MainWindow;
  window->setAttribute(Qt::WA_DeleteOnClose);
  window->show();
  return window;
}

/// Moved aside, with the sentence that says so.
QString setAside(RecoveryFile& file, const std::exception& error) {
  return MainWindow::tr(
             "A program that ended without saving left behind what cannot be read (%1); it is kept as %2.")
      .arg(problemText(error), file.setAside());
}

}  // namespace

void MainWindow::recover(const Session& session, RecoveryFile file) {
  document_.restore(session);
  recovery_ = std::move(file);  // the same file from now on: nothing is deleted before this window ends
  showMessage(tr("The program ended without saving: its work is back. Undo takes question, comparison and "
                 "notes away."),
              false);
}

/// Not only what a person is asked about: a scenario's file has no searches either.
void MainWindow::autosave() {
  if (!document_.isBeyondFile()) return recovery_.remove();
  const QString problem = recovery_.write(toText(document_.session()));
  if (!problem.isEmpty() && !autosave_failed_)
    tell(tr("If the program ends without saving, what was changed is lost: %1").arg(problem));
  autosave_failed_ = !problem.isEmpty();
}

void MainWindow::tell(const QString& problem) {
  const QString before = message();
  showMessage(before.isEmpty() ? problem : before + '\n' + problem, true);
}

void openWindows(const QString& word) {
  MainWindow* window = newWindow();
  // What is recovered takes the first window when nothing else is to be opened in it.
  MainWindow* free = word.isEmpty() ? window : nullptr;
  QStringList problems;
  for (RecoveryFile& file : RecoveryFile::orphans()) {
    try {
      const Session session = readSession(file.path());
      MainWindow* target = free != nullptr ? std::exchange(free, nullptr) : newWindow();
      target->recover(session, std::move(file));
    } catch (const std::exception& error) {
      problems.append(setAside(file, error));
    }
  }
  const auto tell = [window, problems] {
    for (const QString& problem : problems) window->tell(problem);
  };
  if (word.isEmpty()) return tell();
  // After the answer about the file, which takes the place of what was said before.
  QObject::connect(window, &MainWindow::opened, window, tell, Qt::SingleShotConnection);
  // Desktops hand over links and files alike as URLs.
  const QUrl url{word};
  window->open(url.isLocalFile() ? url.toLocalFile() : word);
  window->raise();
  window->activateWindow();
}

}  // namespace hexaplan::gui
