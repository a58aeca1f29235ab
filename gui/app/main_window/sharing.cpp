// How scenarios come in and go out beside files of their own: links, launch configurations, changes on disk.
#include <QApplication>
#include <QClipboard>
#include <QFileDialog>
#include <QFileInfo>
#include <QFutureWatcher>
#include <QMenu>
#include <QtConcurrent/QtConcurrentRun>
#include <exception>
#include <memory>

#include "cli/commands/estimate.h"
#include "cli/render/estimate_json.h"
#include "gui/app/document/messages.h"
#include "gui/app/document/share_text.h"
#include "gui/app/document/write_file.h"
#include "gui/app/main_window/main_window.h"
#include "gui/app/main_window/message_bar.h"
#include "gui/app/main_window/version.h"
#include "gui/models/number_text.h"
#include "planner/problem/memory_warning.h"
#include "presets/json/input_error.h"
#include "presets/launch/launch_config.h"
#include "presets/scenario/scenario_page.h"
#include "report/plan_page.h"

namespace hexaplan::gui {
namespace {

report::Answer answerOf(const Evaluation& e, const QString& name) {
  report::Answer answer{.name = name.toStdString(), .request = presets::portable(e.request, e.model_config)};
  answer.resolved.scenario = e.scenario;
  answer.resolved.notes = e.notes;
  if (e.calibration) {
    answer.resolved.calibration = e.calibration->calibration;
    answer.resolved.fabric = e.calibration->fabric;
  }
  answer.estimate = e.estimate;
  answer.changes = e.changes;
  return answer;
}

/// On a worker thread: simulates, writes; returns what went wrong.
QString writtenReport(const QString& path, report::PlanReport& report) {
  try {
    const report::Answer& first = report.answers.front();
    const costmodel::Scenario& scenario = first.resolved.scenario;
    if (const auto refused = first.priced() ? costmodel::too_large_to_simulate(scenario) : std::nullopt) {
      report.not_simulated = refused->reason + "; " + refused->advice;
    } else if (first.priced()) {
      report.simulation = costmodel::simulate_step(scenario, first.resolved.calibration);
    }
    return writeFile(path, QByteArray::fromStdString(report::plan_page(report)));
  } catch (const std::exception& error) {
    return problemText(error);
  }
}

}  // namespace

void MainWindow::copyShareLink() {
  QApplication::clipboard()->setText(shareText(document_.request(), document_.evaluation()->model_config));
  showMessage(tr("The link holds the whole scenario; 'Paste share link' of another window opens it."), false);
}

void MainWindow::openShareLink(const QString& text) {
  const QString word = findShareText(text);
  if (word.isEmpty()) {
    showMessage(tr("There is no share link in: %1").arg(text.simplified().left(60)), true);
    return;
  }
  try {
    document_.change(readShareText(word), tr("Share link"));
    message_->hide();
  } catch (const presets::InputError& error) {
    showMessage(tr("Not opened: %1").arg(problemText(error.problem)), true);
  }
}

void MainWindow::paste(const QString& text) {
  if (!findShareText(text).isEmpty()) return openShareLink(text);
  const QString before = text.trimmed();
  if (before.isEmpty()) return showMessage(tr("There is nothing to paste."), true);
  take({}, readAnyText(before, tr("pasted text")));
}

void MainWindow::chooseAnswerFile() {
  if (!document_.evaluation()->understood()) {
    showMessage(tr("Choose a model and GPUs first."), true);
    return;
  }
  const QString path = QFileDialog::getSaveFileName(this, tr("Export the answer"), "answer.json",
                                                    tr("Answer (*.json);;All files (*)"));
  if (!path.isEmpty()) exportAnswer(path);
}

bool MainWindow::exportAnswer(const QString& path) {
  QString problem;
  try {
    cli::EstimateOptions options;
    options.question.request = document_.request();
    const std::string text = presets::to_text(cli::estimate_json(cli::run_estimate(options))) + '\n';
    problem = writeFile(path, QByteArray::fromStdString(text));
  } catch (const std::exception& error) {
    problem = problemText(error);
  }
  showMessage(
      problem.isEmpty()
          ? tr("Written: %1. It is what 'hexaplan estimate --json' answers.").arg(QFileInfo{path}.fileName())
          : tr("Not saved: %1: %2").arg(path, problem),
      !problem.isEmpty());
  return problem.isEmpty();
}

void MainWindow::chooseReportFile() {
  if (!document_.evaluation()->understood()) {
    showMessage(tr("Choose a model and GPUs first."), true);
    return;
  }
  const QString named =
      QFileDialog::getSaveFileName(this, tr("Save a report"), "plan.html", tr("Page (*.html)"));
  if (named.isEmpty()) return;
  const QString path = withEnding(named, {"html", "htm"}, "html");
  if (!path.isEmpty()) writeReport(path);
}

/// The present plan first; then what it is compared with.
static report::PlanReport reportOf(const ScenarioDocument& document) {
  report::PlanReport report{.program = "hexaplan " + versionText()};
  report.answers.push_back(answerOf(*document.evaluation(), MainWindow::tr("present plan")));
  if (document.baseline())
    report.answers.push_back(answerOf(*document.baseline(), MainWindow::tr("baseline")));
  for (const PinnedState& pin : document.pins()) {
    if (pin.evaluation->priced()) report.answers.push_back(answerOf(*pin.evaluation, pin.name));
  }
  for (const SearchResultPtr& found : document.searches()) {  // the newest that answers it
    if (!found->outdated && stillAsked(*found, *document.evaluation()))
      report.found = report::Found{found->problem, found->ranking};
  }
  return report;
}

void MainWindow::writeReport(const QString& path) {
  const EvaluationPtr answer = document_.evaluation();
  if (!answer->understood()) {
    const auto& asked = document_.request();
    const bool gap = asked.model.is_null() || asked.cluster.is_null() || !answer->problem;
    const QString problem = gap ? tr("Choose a model and GPUs first.") : problemText(*answer->problem);
    showMessage(tr("Not saved: %1: %2").arg(path, problem), true);
    emit reportWritten(path, problem);
    return;
  }
  auto* watcher = new QFutureWatcher<QString>{this};
  connect(watcher, &QFutureWatcherBase::finished, this, [this, watcher, path] {
    const QString problem = watcher->result();
    watcher->deleteLater();
    showMessage(problem.isEmpty() ? tr("Written: %1. Every browser opens it, and so does this program.")
                                        .arg(QFileInfo{path}.fileName())
                                  : tr("Not saved: %1: %2").arg(path, problem),
                !problem.isEmpty());
    emit reportWritten(path, problem);
  });
  watcher->setFuture(QtConcurrent::run([path, report = std::make_shared<report::PlanReport>(reportOf(
                                                  document_))] { return writtenReport(path, *report); }));
}

void MainWindow::makeLaunchMenu(QMenu* into) {
  QMenu* menu = into->addMenu(tr("Export &launch configuration"));
  for (const presets::LaunchFormat& format : presets::launch_formats()) {
    QAction* action =
        addAction(menu, utf8Text(format.title) + u'…', "", {}, [this, &format] { chooseLaunchFile(format); });
    action->setObjectName("actionLaunch." + utf8Text(format.name));
    action->setStatusTip(utf8Text(format.what));
  }
}

void MainWindow::chooseLaunchFile(const presets::LaunchFormat& format) {
  if (!document_.evaluation()->priced()) {
    showMessage(tr("Only a plan that can run has a launch configuration."), true);
    return;
  }
  const QString path =
      QFileDialog::getSaveFileName(this, tr("Export launch configuration"), utf8Text(format.file));
  if (!path.isEmpty()) exportLaunch(path, format);
}

bool MainWindow::exportLaunch(const QString& path, const presets::LaunchFormat& format) {
  const costmodel::Scenario& scenario = document_.evaluation()->scenario;
  if (const auto refused = presets::launch_rejection(scenario, format.launcher)) {
    showMessage(tr("Not saved: %1: %2").arg(path, QString::fromStdString(refused->reason)), true);
    return false;
  }
  const std::string warning = planner::memory_warning(document_.evaluation()->estimate);
  const presets::LaunchConfig config = presets::launch_config(scenario, format, warning);
  const QString problem = writeFile(path, QByteArray::fromStdString(config.text));
  if (!problem.isEmpty()) {
    showMessage(tr("Not saved: %1: %2").arg(path, problem), true);
    return false;
  }
  QStringList gaps;
  for (const std::string& gap : config.gaps) gaps.append(QString::fromStdString(gap));
  QString message = tr("Written: %1. Not said there: %2.").arg(QFileInfo{path}.fileName(), gaps.join("; "));
  if (!warning.empty()) message.prepend(QString::fromStdString(warning) + ". ");
  showMessage(message, false);
  return true;
}

void MainWindow::takeAgain(const QString& path, const FileContent& content) {
  document_.rereadFiles();
  if (const auto* scenario = std::get_if<presets::ScenarioRequest>(&content)) {
    document_.change(*scenario, tr("Reloaded"));
    document_.markSaved(path);
  } else if (const auto* project = std::get_if<Project>(&content)) {
    document_.reload(*project, path);
  } else {
    take(path, content);
  }
}

void MainWindow::fileChanged() {
  const QString path = document_.path();
  const QString name = QFileInfo{path}.fileName();
  const auto keep = [this] { document_.markUnsaved(); };
  if (!QFileInfo::exists(path)) {
    keep();
    message_->say(tr("%1 is no longer on the disk; what you see is not saved.").arg(name), true);
    return;
  }
  const auto reload = [this, path] {
    readInBackground(this, path, [this, path](const FileContent& content) { takeAgain(path, content); });
  };
  message_->say(tr("Another program changed %1.").arg(name), false,
                {{tr("&Reload"), reload}, {tr("&Keep mine"), keep}}, MessageBar::never);
}

}  // namespace hexaplan::gui
