#include "gui/app/main_window/main_window.h"

#include <QApplication>
#include <QCloseEvent>
#include <QDir>
#include <QDragEnterEvent>
#include <QDropEvent>
#include <QFile>
#include <QFileDialog>
#include <QFileInfo>
#include <QFutureWatcher>
#include <QMessageBox>
#include <QMimeData>
#include <QScreen>
#include <QSettings>
#include <QSplitter>
#include <QStackedWidget>
#include <QTabBar>
#include <QTabWidget>
#include <QUrl>
#include <QVBoxLayout>
#include <QtConcurrent/QtConcurrentRun>
#include <exception>
#include <memory>

#include "gui/app/document/messages.h"
#include "gui/app/document/settings.h"
#include "gui/app/document/share_text.h"
#include "gui/app/document/write_file.h"
#include "gui/app/main_window/start_page.h"
#include "gui/app/main_window/verdict_bar.h"
#include "gui/app/pages/compare_page.h"
#include "gui/app/pages/memory_page.h"
#include "gui/app/pages/notes_page.h"
#include "gui/app/pages/search_page.h"
#include "gui/app/pages/time_page.h"
#include "gui/app/pages/validation_page.h"
#include "gui/app/setup/fields.h"
#include "gui/app/setup/setup_panel.h"
#include "gui/models/number_text.h"
#include "gui/models/plan_table_model.h"
#include "presets/json/input_error.h"

namespace hexaplan::gui {

using presets::ScenarioRequest;

namespace {

constexpr int kAutosaveMilliseconds = 2000;
const QString kProjectSuffix = QStringLiteral("hexaplan");
/// GPUs that most launch files are written for; any other is chosen at the left.
constexpr const char* kUsualGpus[] = {"H100", "A100-80GB", "H200", "B200"};

/// The machines of `request`, as many as `gpus`.
presets::JsonValue withGpus(const ScenarioRequest& request, std::int64_t gpus) {
  ScenarioRequest changed = request;
  try {
    findField("cluster.gpus")->write(changed, std::to_string(gpus), {});
  } catch (const presets::InputError&) {
    return request.cluster;  // not understood as it is: the panel says so
  }
  return changed.cluster;
}

}  // namespace

MainWindow::MainWindow(QWidget* parent) : QMainWindow{parent} {
  setObjectName("hexaplan");
  setAcceptDrops(true);
  constexpr QSize kUsual{1280, 800};
  resize(kUsual.boundedTo(screen()->availableSize()));
  setup_ = new SetupPanel{document_, this};
  verdict_ = new VerdictBar{document_, this};
  auto* right = new QWidget{this};
  auto* column = new QVBoxLayout{right};
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  message_ = new MessageBar{right};
  makePages();
  column->addWidget(message_);
  column->addWidget(verdict_);
  column->addWidget(stack_, 1);
  auto* split = new QSplitter{this};
  split->setObjectName("mainSplit");
  split->setChildrenCollapsible(false);
  split->addWidget(setup_);
  split->addWidget(right);
  split->setStretchFactor(1, 1);
  setCentralWidget(split);
  makeMenus();
  connect(setup_, &SetupPanel::openModelRequested, this,
          [this] { openWithDialog(tr("Open a config.json"), tr("Model (*.json);;All files (*)")); });
  connect(verdict_, &VerdictBar::findLayoutRequested, this, &MainWindow::findLayout);
  connect(verdict_, &VerdictBar::cancelSearchRequested, &search_, &SearchJob::cancel);
  connect(&search_, &SearchJob::found, this, [this] {
    verdict_->setSearching(false);
    if (load_fastest_) loadFastest();
  });
  connect(&document_, &ScenarioDocument::evaluated, this, &MainWindow::showPagesOrStart);
  connect(&document_, &ScenarioDocument::projectLeft, this, [this] {
    search_.drop();
    load_fastest_ = false;
    verdict_->setSearching(false);
  });
  connect(&document_, &ScenarioDocument::pathChanged, this, &MainWindow::updateTitle);
  connect(&document_, &ScenarioDocument::pathChanged, this, [this] { file_watch_.watch(document_.path()); });
  connect(&file_watch_, &FileWatch::changed, this, &MainWindow::fileChanged);
  connect(&document_, &ScenarioDocument::changed, message_, &MessageBar::questionChanged);
  connect(pages_, &QTabWidget::currentChanged, message_, &MessageBar::pageChanged);
  // A row of changes must not put it off for ever.
  const auto save_soon = [this] {
    if (!autosave_.isActive()) autosave_.start();
  };
  for (const auto signal : {&ScenarioDocument::changed, &ScenarioDocument::pinsChanged,
                            &ScenarioDocument::notesChanged, &ScenarioDocument::keptChanged}) {
    connect(&document_, signal, this, save_soon);
    connect(&document_, signal, this, &MainWindow::updateTitle);
  }
  autosave_.setSingleShot(true);
  autosave_.setInterval(kAutosaveMilliseconds);
  connect(&autosave_, &QTimer::timeout, this, &MainWindow::autosave);
  restoreGeometry(QSettings{}.value("geometry").toByteArray());
  updateTitle();
  showPagesOrStart();
}

MainWindow::~MainWindow() {
  delete takeCentralWidget();  // its parts speak to the document, which goes before QWidget's children do
}

void MainWindow::makePages() {
  stack_ = new QStackedWidget{this};
  start_ = new StartPage{document_, stack_};
  pages_ = new QTabWidget{stack_};
  pages_->setObjectName("pages");
  pages_->setDocumentMode(true);
  pages_->tabBar()->setAccessibleName(tr("Pages"));
  pages_->addTab(new MemoryPage{document_, simulations_, pages_}, tr("Memory"));
  time_page_ = new TimePage{document_, simulations_, pages_};
  pages_->addTab(time_page_, tr("Time"));
  search_page_ = new SearchPage{document_, search_, pages_};
  pages_->addTab(search_page_, tr("Search"));
  connect(search_page_, &SearchPage::questionReturned, this, [this] {
    showMessage(tr("The question that the plan answers is back with it. Undo takes both away."), false);
  });
  pages_->addTab(new ComparePage{document_, pages_}, tr("Compare"));
  validation_ = new ValidationPage{document_, pages_};
  pages_->addTab(validation_, tr("Validation"));
  connect(validation_, &ValidationPage::openReportRequested, this, [this] {
    openWithDialog(
        tr("Open a report, a log or a memory snapshot"),
        tr("Reports, logs and snapshots (*.json *.log *.txt *.out *.pickle *.pkl *.gz);;All files (*)"));
  });
  notes_ = new NotesPage{document_, pages_};
  pages_->addTab(notes_, tr("Notes"));
  stack_->addWidget(start_);
  stack_->addWidget(pages_);
  connect(start_, &StartPage::openModelRequested, setup_, &SetupPanel::openModelRequested);
  connect(start_, &StartPage::openScenarioRequested, this, [this] {
    openWithDialog(tr("Open"), tr("Hexaplan and models (*.hexaplan *.json *.html);;All files (*)"));
  });
  connect(start_, &StartPage::exampleRequested, this, &MainWindow::showExample);
  connect(start_, &StartPage::clusterRequested, this, [this](const QString& cluster) {
    ScenarioRequest request = document_.request();
    request.cluster = cluster.toStdString();
    document_.change(std::move(request), tr("Cluster: %1").arg(cluster));
  });
}

/// Pages as soon as something was asked; they keep their last answer while the question has a gap.
void MainWindow::showPagesOrStart() {
  const EvaluationPtr e = document_.evaluation();
  const bool asked = e->has_model && e->has_cluster;
  // Measured rows can be looked at without a question of one's own, and a trace that waits for its question.
  const QWidget* page = pages_->currentWidget();
  const bool looking = stack_->currentWidget() == pages_ && (page == validation_ || page == notes_ ||
                                                             (page == time_page_ && time_page_->hasTrace()));
  stack_->setCurrentWidget(asked || looking ? static_cast<QWidget*>(pages_) : start_);
  verdict_->setVisible(asked);
}

void MainWindow::showMessage(const QString& text, bool problem) {
  message_->say(text, problem);
}

QString MainWindow::message() const {
  return message_->text();
}

void MainWindow::open(const QString& path) {
  if (path.startsWith("hexaplan:")) {
    openShareLink(path);
    emit opened(path);
  } else {
    openAll({path}, {});
  }
}

/// One after the other, in their order: a model and the script that launches it, the traces of all ranks.
void MainWindow::openAll(QStringList paths, const QStringList& problems) {
  const QString path = paths.takeFirst();
  readInBackground(this, path, [=, this, reading = beginReading(path)](const FileContent& content) {
    QStringList unread = problems;
    if (!endReading(*reading)) {
      // Given up: as if it had not been asked for.
    } else if (const auto* unusable = std::get_if<UnusableFile>(&content)) {
      unread.append(unusable->problem);
    } else {
      take(path, content);
    }
    if (paths.isEmpty() && !unread.isEmpty()) showMessage(tr("Not opened: %1").arg(unread.join(u'\n')), true);
    emit opened(path);
    if (!paths.isEmpty()) openAll(paths, unread);
  });
}

std::shared_ptr<MainWindow::Reading> MainWindow::beginReading(const QString& path) {
  auto reading = std::make_shared<Reading>();
  constexpr int kNoticed = 300;  // milliseconds
  QTimer::singleShot(kNoticed, this, [this, reading, name = QFileInfo{path}.fileName()] {
    if (reading->done) return;
    reading->said = tr("Reading %1 …").arg(name);
    message_->say(reading->said, false, {{tr("Cancel"), [reading] { reading->given_up = true; }}},
                  MessageBar::never);
  });
  return reading;
}

bool MainWindow::endReading(Reading& reading) {
  reading.done = true;
  if (!reading.said.isEmpty() && message_->text() == reading.said) message_->hide();
  return !reading.given_up;
}

void MainWindow::take(const QString& path, const FileContent& content) {
  if (const auto* unusable = std::get_if<UnusableFile>(&content)) {
    showMessage(tr("Not opened: %1").arg(unusable->problem), true);
    return;
  }
  message_->hide();
  if (const auto* scenario = std::get_if<ScenarioRequest>(&content)) {
    takeScenario(path, *scenario);
  } else if (const auto* project = std::get_if<Project>(&content)) {
    takeProject(path, *project);
  } else if (const auto* page = std::get_if<ReportPage>(&content)) {
    takeProject({}, page->project);  // no path: saving must not replace the page
  } else if (const auto* model = std::get_if<ModelFile>(&content)) {
    takeModel(*model);
  } else if (const auto* launch = std::get_if<LaunchPlan>(&content)) {
    takeLaunchPlan(*launch);
  } else if (const auto* machines = std::get_if<MachineText>(&content)) {
    takeMachines(*machines);
  } else if (const auto* measured = std::get_if<MeasuredFilePtr>(&content)) {
    takeMeasurements(*measured);
  } else if (const auto* trace = std::get_if<TraceFile>(&content)) {
    takeTrace(trace->path);
  } else if (const auto* run = std::get_if<RunFile>(&content)) {
    takeRunFile(run->path);
  }
  if (!path.isEmpty()) rememberFile(path);
}

/// Comparison and notes stay, unless they are those of another file.
void MainWindow::takeScenario(const QString& path, const ScenarioRequest& request) {
  const bool loses =
      document_.savedAs() == SavedAs::Project ? document_.isModified() : document_.isQuestionModified();
  if (loses && !mayDiscard()) return;
  document_.reset(request, path);
}

void MainWindow::takeProject(const QString& path, const Project& project) {
  if (mayDiscard()) document_.open(project, path);
}

void MainWindow::takeModel(const ModelFile& model) {
  ScenarioRequest request = document_.request();
  request.model = model.config;
  document_.change(std::move(request), tr("Model: %1").arg(model.name));
}

/// Buttons for the types of GPU that a launch file's number may be of.
std::vector<MessageBar::Offer> MainWindow::machinesFor(const LaunchPlan& plan) {
  std::vector<MessageBar::Offer> offers;
  for (const char* gpu : kUsualGpus) {
    const QString text = tr("%1 × %2").arg(countText(plan.gpus), gpu);
    offers.push_back({text, [this, text, gpu, plan] {
                        ScenarioRequest request = document_.request();
                        request.cluster = plan.machines_of(gpu);
                        document_.change(std::move(request), tr("Cluster: %1").arg(text));
                      }});
  }
  return offers;
}

/// What the files leave open stays as it was: the type of the GPUs, where they say the number alone.
void MainWindow::takeLaunchPlan(const LaunchPlan& plan) {
  ScenarioRequest request = plan.request;
  QStringList said = plan.notes;
  if (request.model.is_null()) request.model = document_.request().model;
  if (request.model.is_null()) said.append(tr("the files do not say the model: choose it at the left"));
  const bool type_open = request.cluster.is_null() && plan.gpus > 0;
  const bool gpus_open = request.cluster.is_null() && plan.gpus == 0;
  if (request.cluster.is_null()) request.cluster = document_.request().cluster;
  const bool no_machines = request.cluster.is_null();
  if (gpus_open) {
    said.append(no_machines ? tr("the files do not say the GPUs: choose them at the left")
                            : tr("the files do not say the GPUs: they stay as they were"));
  }
  if (type_open && no_machines) {
    said.append(tr("the files start %1 GPUs and do not say their type").arg(countText(plan.gpus)));
  } else if (type_open) {
    request.cluster = withGpus(request, plan.gpus);
    said.append(tr("the files start %1 GPUs and do not say their type: it stays as it was")
                    .arg(countText(plan.gpus)));
  }
  document_.change(std::move(request), tr("Settings of %1").arg(plan.format));
  const QString text = tr("Read as %1. %2").arg(plan.format, said.join("; ")).trimmed();
  if (type_open && no_machines) {
    message_->say(text, false, machinesFor(plan), [this] { return !document_.request().cluster.is_null(); });
  } else {
    showMessage(text, false);
  }
}

void MainWindow::takeCluster(const MachineText::Cluster& cluster) {
  ScenarioRequest request = document_.request();
  request.cluster = cluster.text;
  document_.change(std::move(request), tr("Cluster: %1").arg(utf8Text(cluster.text)));
  showMessage(tr("Read as the machines %1. %2. More nodes are chosen at the left.")
                  .arg(utf8Text(cluster.text), cluster.notes.join("; ")),
              false);
}

/// Where the text does not say the type of the GPUs, it is that of the question, or one of the usual ones.
void MainWindow::takeMachines(const MachineText& machines) {
  const Evaluation& now = *document_.evaluation();
  try {
    if (machines.names_gpu) return takeCluster(machines.of_gpu({}));
    if (now.has_cluster) return takeCluster(machines.of_gpu(now.scenario.cluster.gpu.name));
  } catch (const presets::InputError& error) {
    return showMessage(tr("Not opened: %1").arg(problemText(error.problem)), true);
  }
  std::vector<MessageBar::Offer> offers;
  for (const char* gpu : kUsualGpus)
    offers.push_back({gpu, [this, gpu, machines] { takeCluster(machines.of_gpu(gpu)); }});
  message_->say(tr("The text does not say the type of the GPUs:"), false, offers,
                [this] { return !document_.request().cluster.is_null(); });
}

/// A run is shown beside its prediction, and its question becomes the window's when there is none yet.
void MainWindow::takeMeasurements(const MeasuredFilePtr& file) {
  const auto* run = std::get_if<std::shared_ptr<const MeasuredRun>>(&*file->measured);
  if (run != nullptr && !document_.evaluation()->understood())
    document_.change((*run)->predicted->request, tr("Executed run"));
  document_.keepMeasured(file);
  stack_->setCurrentWidget(pages_);
  pages_->setCurrentWidget(validation_);
}

/// The timeline's page reads it: it says how far it is, and is where the trace is then seen.
void MainWindow::takeTrace(const QString& path) {
  stack_->setCurrentWidget(pages_);
  pages_->setCurrentWidget(time_page_);
  time_page_->openTrace(path);
}

/// A run is measured against the present question, beside everything else.
void MainWindow::takeRunFile(const QString& path) {
  if (!document_.evaluation()->priced()) {
    showMessage(
        tr("Choose the model, GPUs and layout of the run first: %1 then stands beside their prediction.")
            .arg(QFileInfo{path}.fileName()),
        true);
    return;
  }
  auto* watcher = new QFutureWatcher<MeasuredFilePtr>{this};
  connect(watcher, &QFutureWatcherBase::finished, this, [this, watcher, reading = beginReading(path)] {
    const MeasuredFilePtr file = watcher->result();
    watcher->deleteLater();
    if (!endReading(*reading)) return;
    if (file->measured) return takeMeasurements(file);
    showMessage(tr("Not opened: %1").arg(file->problem), true);
  });
  watcher->setFuture(QtConcurrent::run([path, question = document_.request()] {
    const QString name = QFileInfo{path}.fileName();
    try {
      return readMeasuredFile(name, measureFile(path, question));
    } catch (const std::exception& error) {
      auto failed = std::make_shared<MeasuredFile>();
      failed->name = name;
      failed->problem = problemText(error);
      return MeasuredFilePtr{failed};
    }
  }));
}

bool MainWindow::saveTo(const QString& path) {
  const bool again = !path.isEmpty() && path == document_.path();
  const bool project = QFileInfo{path}.suffix() == kProjectSuffix;
  return write(path, again ? document_.savedAs() : project ? SavedAs::Project : SavedAs::Scenario);
}

bool MainWindow::write(const QString& path, SavedAs as) {
  const QString problem = writeFile(path, document_.toFile(path, as));
  if (!problem.isEmpty()) {
    showMessage(tr("Not saved: %1: %2").arg(path, problem), true);
    return false;
  }
  document_.markSaved(path, as);
  rememberFile(path);
  autosave();
  if (document_.isModified()) sayWhatStaysUnsaved();
  return true;
}

/// A scenario's file has the question alone.
void MainWindow::sayWhatStaysUnsaved() {
  message_->say(tr("%1 holds the question. Baseline, pins and notes are saved with a project.")
                    .arg(QFileInfo{document_.path()}.fileName()),
                false, {{tr("Save a project…"), [this] { saveAs(); }}});
}

bool MainWindow::save() {
  return document_.path().isEmpty() ? saveAs() : saveTo(document_.path());
}

/// Where to save it is asked first, as a project. The name decides: what ends with ".hexaplan" is one, even
/// in place of a scenario of that name.
bool MainWindow::saveAs() {
  const QString project = tr("Hexaplan project (*.hexaplan)"), scenario = tr("Hexaplan scenario (*.json)");
  const QString json = QStringLiteral("json"), now = document_.path();
  const QFileInfo file{now.isEmpty() ? QDir{QSettings{}.value("folder").toString()}.filePath(tr("Untitled"))
                                     : now};
  const bool known = file.suffix() == kProjectSuffix || file.suffix() == json;
  const QString offered =
      now.isEmpty() || document_.savedAs() != SavedAs::Project
          ? file.dir().filePath((known ? file.completeBaseName() : file.fileName()) + u'.' + kProjectSuffix)
          : now;
  QString chosen = project;
  const QString named =
      QFileDialog::getSaveFileName(this, tr("Save as"), offered, project + ";;" + scenario, &chosen);
  if (named.isEmpty()) return false;
  const QString ending = chosen == scenario ? json : kProjectSuffix;
  const QString path = named == now ? named : withEnding(named, {kProjectSuffix, json}, ending);
  if (path.isEmpty()) return false;
  const bool whole =
      QFileInfo{path}.suffix() == kProjectSuffix || (path == now && document_.savedAs() == SavedAs::Project);
  return write(path, whole ? SavedAs::Project : SavedAs::Scenario);
}

/// `path` with `ending` where it has none of `known`. The dialog asked about the name as it was typed; empty
/// where the whole name is a file's that is to stay.
QString MainWindow::withEnding(const QString& path, const QStringList& known, const QString& ending) {
  if (known.contains(QFileInfo{path}.suffix())) return path;
  QString whole = path + u'.' + ending;
  if (!QFileInfo::exists(whole)) return whole;
  const auto answer = QMessageBox::question(
      this, tr("Save as"), tr("%1 exists already. Replace it?").arg(QFileInfo{whole}.fileName()));
  return answer == QMessageBox::Yes ? whole : QString{};
}

bool MainWindow::mayDiscard() {
  if (!document_.isModified()) return true;
  const QString lost = document_.isQuestionModified()
                           ? tr("There are changes that are not saved.")
                           : tr("Baseline, pins, notes or what was found are not saved.");
  const auto answer = QMessageBox::question(this, tr("Unsaved changes"), lost,
                                            QMessageBox::Save | QMessageBox::Discard | QMessageBox::Cancel,
                                            QMessageBox::Save);
  if (answer != QMessageBox::Save) return answer == QMessageBox::Discard;
  // A scenario's file takes no more than the question; neither does a second one.
  return save() && (!document_.isModified() || (saveAs() && !document_.isModified()));
}

void MainWindow::openWithDialog(const QString& title, const QString& filter) {
  const QString folder = QSettings{}.value("folder", QDir::homePath()).toString();
  const QString path = QFileDialog::getOpenFileName(this, title, folder, filter);
  if (path.isEmpty()) return;
  QSettings{}.setValue("folder", QFileInfo{path}.absolutePath());
  open(path);
}

void MainWindow::newProject() {
  if (mayDiscard()) document_.open({}, {});
}

void MainWindow::showExample() {
  ScenarioRequest request = document_.request();
  request.model = "llama-3.1-8b";
  request.cluster = "64xH100";
  document_.change(std::move(request), tr("Example"));
}

void MainWindow::findLayout() {
  const EvaluationPtr e = document_.evaluation();
  if (!e->calibration) {
    showMessage(tr("Choose a model and GPUs first."), true);
    return;
  }
  load_fastest_ = true;
  verdict_->setSearching(true);
  search_.start(e, {.max_risk = search_page_->allowedRisk(), .limits = {}});
}

void MainWindow::loadFound(const SearchResult& result, const planner::Plan& plan, const QString& title) {
  document_.loadPlan(*result.evaluation, plan.recipe, plan.layout, title);
}

/// Nothing was found: why, and what comes nearest.
void MainWindow::showNothingFound(const SearchResultPtr& result) {
  const auto& ranking = result->ranking;
  if (!result->failure.isEmpty())
    return showMessage(tr("The search broke off: %1.").arg(result->failure), true);
  if (ranking.stopped)
    return showMessage(tr("The search was cancelled before it found a layout that fits."), true);
  if (!ranking.best_at_any_risk)
    return showMessage(tr("No layout fits on these GPUs: use more of them, or larger ones."), true);
  const planner::Plan& plan = *ranking.best_at_any_risk;
  message_->say(
      tr("No layout fits with a chance of running out of memory of at most %1; the fastest that fits "
         "as predicted has %2.")
          .arg(percentText(result->problem.constraints.max_risk), percentText(plan.price.risk)),
      true, {{tr("Load that one"), [this, result, plan] {
                loadFound(*result, plan, tr("Fastest layout at any risk"));
              }}});
}

void MainWindow::loadFastest() {
  load_fastest_ = false;
  const SearchResultPtr result = search_.result();
  const auto& ranking = result->ranking;
  if (ranking.plans.empty()) return showNothingFound(result);
  const auto load = [this, result] {
    const auto& counts = result->ranking.counts;
    loadFound(*result, result->ranking.plans.front().plan, tr("Fastest layout that fits"));
    const auto& best = result->ranking.plans.front();
    QString text =
        tr("Loaded the fastest layout that keeps every limit: %1 candidates, %2 priced, %3 of them keep "
           "every limit.")
            .arg(countText(counts.enumerated), countText(counts.priced), countText(counts.feasible));
    if (best.simulated)
      text +=
          ' ' +
          tr("Simulated, its step takes %1; the tile has the closed form.").arg(secondsText(*best.simulated));
    showMessage(text + ' ' + tr("Undo takes it back."), false);
  };
  if (stillAsked(*result, *document_.evaluation()) && document_.upToDate()) return load();
  message_->say(
      tr("The question changed while the search ran: its layout was not loaded."), false,
      {{tr("Search again"), [this] { findLayout(); }}, {tr("Load it with the question it answers"), load}},
      MessageBar::never);
}

/// Typing works at once.
void MainWindow::showEvent(QShowEvent* event) {
  QMainWindow::showEvent(event);
  if (focusWidget() == nullptr) setup_->focusField("model");
}

void MainWindow::closeEvent(QCloseEvent* event) {
  if (!mayDiscard()) {
    event->ignore();
    return;
  }
  QSettings{}.setValue("geometry", saveGeometry());
  autosave_.stop();
  recovery_.remove();
  event->accept();
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event) {
  if (event->mimeData()->hasUrls() || !findShareText(event->mimeData()->text()).isEmpty())
    event->acceptProposedAction();
}

void MainWindow::dropEvent(QDropEvent* event) {
  if (const QString link = findShareText(event->mimeData()->text()); !link.isEmpty()) {
    event->acceptProposedAction();
    return openShareLink(link);
  }
  QStringList paths;
  for (const QUrl& url : event->mimeData()->urls()) {
    if (url.isLocalFile()) paths.append(url.toLocalFile());
  }
  if (paths.isEmpty()) return showMessage(tr("Only files of this machine can be dropped here."), true);
  event->acceptProposedAction();
  openAll(paths, {});
}

void MainWindow::updateTitle() {
  const QString name = document_.path().isEmpty() ? tr("Untitled") : QFileInfo{document_.path()}.fileName();
  setWindowTitle(tr("%1[*] – Hexaplan").arg(name));
  setWindowModified(document_.isModified());
}

}  // namespace hexaplan::gui
