// What is lost when a process is killed: nothing. Real processes of hexaplan-gui are started and killed with
// SIGKILL; the windows that then open are those of this process.
#include "gui/app/document/recovery.h"

#include <QApplication>
#include <QDir>
#include <QFileInfo>
#include <QLabel>
#include <QProcess>
#include <QTemporaryDir>
#include <QTest>
#include <QUrl>
#include <algorithm>
#include <memory>
#include <vector>

#include "gui/app/document/evaluator.h"
#include "gui/app/document/share_text.h"
#include "gui/app/main_window/main_window.h"
#include "gui/app/main_window/start.h"
#include "gui/app/setup/fields.h"
#include "planner/search/search.h"
#include "presets/json/input_error.h"

namespace hexaplan::gui {

using presets::ScenarioRequest;

namespace {

constexpr int kPatience = 30'000;  // milliseconds; a loaded machine is slow

ScenarioRequest question(const char* model, const char* layout) {
  ScenarioRequest request;
  request.model = model;
  request.cluster = "64xH100";
  request.layout = presets::parse_layout(layout, "layout");
  return request;
}

QStringList filesIn(const QString& folder, const char* pattern) {
  return QDir{folder}.entryList({pattern}, QDir::Files);
}
QStringList kept() {
  return filesIn(RecoveryFile::folder(), "window-*.json");
}

void writeFile(const QString& path, const QByteArray& text) {
  QDir{}.mkpath(QFileInfo{path}.path());
  QFile file{path};
  QVERIFY(file.open(QIODevice::WriteOnly) && file.write(text) == text.size());
}

QByteArray contentOf(const QString& path) {
  QFile file{path};
  return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray{};
}

/// hexaplan-gui as a process of its own, in the same home.
std::unique_ptr<QProcess> started(const QStringList& words) {
  auto process = std::make_unique<QProcess>();
  process->setProcessChannelMode(QProcess::ForwardedErrorChannel);
  process->start(QStringLiteral(HEXAPLAN_GUI), words);
  return process->waitForStarted(kPatience) ? std::move(process) : nullptr;
}

void killed(std::unique_ptr<QProcess>& process) {
  process->kill();  // SIGKILL: nothing of the program runs any more
  QVERIFY(process->waitForFinished(kPatience));
  process.reset();
}

std::vector<MainWindow*> windows() {
  std::vector<MainWindow*> open;
  for (QWidget* widget : QApplication::topLevelWidgets()) {
    if (auto* window = qobject_cast<MainWindow*>(widget)) open.push_back(window);
  }
  return open;
}

MainWindow* windowAbout(const ScenarioRequest& request) {
  for (MainWindow* window : windows()) {
    if (window->document().request() == request) return window;
  }
  return nullptr;
}

}  // namespace

class RecoveryTest : public QObject {
  Q_OBJECT
  std::unique_ptr<QTemporaryDir> home_;

  /// A process with an unsaved question, killed as soon as that is kept.
  void crash(const ScenarioRequest& asked) {
    const qsizetype before = kept().size();
    auto process = started({shareText(asked, {})});
    QVERIFY(process != nullptr);
    QVERIFY(QTest::qWaitFor([&] { return kept().size() > before; }, kPatience));
    killed(process);
  }

 private slots:
  void init() {
    home_ = std::make_unique<QTemporaryDir>();
    // For this process and its children alike.
    qputenv("XDG_DATA_HOME", home_->filePath("data").toUtf8());
    qputenv("XDG_CONFIG_HOME", home_->filePath("config").toUtf8());
    QCoreApplication::setOrganizationName("hexaplan");
    QCoreApplication::setApplicationName("hexaplan");
    QVERIFY(RecoveryFile::folder().startsWith(home_->path()));
  }
  void cleanup() { qDeleteAll(windows()); }

  void a_killed_question_is_back_at_the_next_start() {
    const ScenarioRequest asked = question("llama-3.1-8b", "tp2");
    crash(asked);
    openWindows({});
    QCOMPARE(windows().size(), std::size_t{1});
    QVERIFY(windows()[0]->document().request() == asked);
    QVERIFY(windows()[0]->document().isModified());
    QVERIFY(windows()[0]->message().contains("is back"));
    QCOMPARE(kept().size(), 1);  // until this window ends by itself
    windows()[0]->document().undoStack().undo();
    QVERIFY(windows()[0]->document().request() == ScenarioRequest{});
  }

  void a_start_with_a_file_opens_what_was_lost_in_a_window_of_its_own() {
    const ScenarioRequest asked = question("llama-3.1-8b", "tp2"), other = question("mixtral-8x7b", "ep8");
    crash(asked);
    const QString path = home_->filePath("other.json");
    writeFile(path, QByteArray::fromStdString(presets::to_text(presets::to_json(other))));
    openWindows(path);
    QVERIFY(QTest::qWaitFor([&] { return windowAbout(other) != nullptr; }, kPatience));
    QCOMPARE(windows().size(), std::size_t{2});
    QVERIFY(windowAbout(asked) != nullptr);
    QVERIFY(windowAbout(asked)->message().contains("is back"));
    QCOMPARE(windowAbout(other)->document().path(), path);
    // Edits of the one never write over the other.
    QVERIFY(windowAbout(other)->document().edit(*findField("layout.tp"), "2", false).isEmpty());
    QVERIFY(QTest::qWaitFor([] { return kept().size() == 2; }, kPatience));
  }

  void a_second_process_leaves_a_living_one_its_file() {
    const ScenarioRequest asked = question("llama-3.1-8b", "tp4");
    auto first = started({shareText(asked, {})});
    QVERIFY(first != nullptr);
    QVERIFY(QTest::qWaitFor([] { return kept().size() == 1; }, kPatience));
    const QByteArray before = contentOf(RecoveryFile::folder() + '/' + kept().front());
    auto second = started({shareText(question("mixtral-8x7b", "ep8"), {})});
    QVERIFY(second != nullptr);
    QVERIFY(QTest::qWaitFor([] { return kept().size() == 2; }, kPatience));
    killed(second);
    killed(first);
    QCOMPARE(kept().size(), 2);
    const QStringList files = kept();
    QVERIFY(std::any_of(files.begin(), files.end(), [&](const QString& name) {
      return contentOf(RecoveryFile::folder() + '/' + name) == before;
    }));
    openWindows({});
    QCOMPARE(windows().size(), std::size_t{2});
    QVERIFY(windowAbout(asked) != nullptr);
    QVERIFY(windowAbout(question("mixtral-8x7b", "ep8")) != nullptr);
  }

  void a_window_that_is_closed_takes_only_its_own_file_along() {
    crash(question("llama-3.1-8b", "tp2"));
    crash(question("mixtral-8x7b", "ep8"));
    openWindows({});
    QCOMPARE(windows().size(), std::size_t{2});
    MainWindow* first = windowAbout(question("llama-3.1-8b", "tp2"));
    first->document().markSaved(home_->filePath("saved.json"));  // nobody is asked whether to save
    first->close();
    QCOMPARE(kept().size(), 1);
  }

  void baseline_and_pins_are_back_too() {
    const ScenarioRequest asked = question("llama-3.1-8b", "tp2");
    Evaluator evaluator;
    Session session{.project = {.request = asked}, .path = home_->filePath("mine.json")};
    session.project.compared.baseline = evaluator.evaluate(question("llama-3.1-8b", "tp4"));
    session.project.compared.pins = {{"before lunch", evaluator.evaluate(question("llama-3.1-8b", "tp8"))}};
    writeFile(home_->filePath("session.json"), toText(session));
    const Session read = readSession(home_->filePath("session.json"));
    QVERIFY(read.project == session.project);
    QCOMPARE(read.path, session.path);
    writeFile(RecoveryFile::folder() + "/window-1.json", toText(session));
    openWindows({});
    const ScenarioDocument& document = windows()[0]->document();
    QVERIFY(document.baseline() != nullptr && document.baseline()->priced());
    QCOMPARE(document.baseline()->scenario.layout.tp, 4);
    QCOMPARE(document.pins().size(), std::size_t{1});
    QCOMPARE(document.pins()[0].name, "before lunch");
    QCOMPARE(document.path(), home_->filePath("mine.json"));
    QVERIFY(document.isModified());
  }

  void a_comparison_that_no_file_has_is_kept() {
    openWindows({});
    MainWindow* window = windows()[0];
    window->document().change(question("llama-3.1-8b", "tp2"), "asked");
    QVERIFY(QTest::qWaitFor([&] { return window->document().upToDate(); }, kPatience));
    QTest::keyClick(window, Qt::Key_B, Qt::ControlModifier);
    QVERIFY(window->document().baseline() != nullptr);
    QVERIFY(window->saveTo(home_->filePath("run.json")));
    QVERIFY(!window->document().isQuestionModified());
    QCOMPARE(kept().size(), 1);
    QVERIFY(readSession(RecoveryFile::folder() + '/' + kept().front()).project.compared.baseline != nullptr);
    QVERIFY(window->saveTo(home_->filePath("run.hexaplan")));
    QVERIFY2(kept().isEmpty(), "the project's file has everything");
  }

  void a_killed_process_leaves_the_whole_project() {
    // What a process recovered is its own from then on; killed in turn, it leaves all of it.
    Evaluator evaluator;
    Session session{.project = {.request = question("llama-3.1-8b", "tp2"), .notes = "ask again on Monday"},
                    .path = home_->filePath("mine.hexaplan"),
                    .saved_as = SavedAs::Project};
    Project& project = session.project;
    project.compared.baseline = evaluator.evaluate(question("llama-3.1-8b", "tp4"));
    project.traces = {home_->filePath("trace.json.gz")};
    project.measured = {readMeasuredFile(
        "rows.json", presets::parse_json(R"({"schema": "hexaplan/accuracy/1", "rows": []})", "rows.json"))};
    auto search = std::make_shared<SearchResult>();
    search->evaluation = evaluator.evaluate(question("llama-3.1-8b", ""), Detail::Priced);
    search->terms.limits = "tp=2 pp=1";
    search->problem = problemOf(*search->evaluation, search->terms);
    search->ranking = planner::search(search->problem);
    QVERIFY(!search->ranking.plans.empty());
    project.searches = {search};
    const QByteArray text = toText(session);
    const QString file = RecoveryFile::folder() + "/window-1.json";
    writeFile(file, text);
    auto process = started({});
    QVERIFY(process != nullptr);
    QVERIFY(QTest::qWaitFor([&] { return QFile::exists(file + ".lock"); }, kPatience));
    QVERIFY2(QTest::qWaitFor([&] { return RecoveryFile::orphans().empty(); }, kPatience),
             "it is the process's");
    QTest::qWait(3000);  // until the process has written it itself
    killed(process);
    openWindows({});
    QCOMPARE(windows().size(), std::size_t{1});
    const ScenarioDocument& document = windows()[0]->document();
    QCOMPARE(toText(document.session()), text);
    QCOMPARE(document.notes(), QString{"ask again on Monday"});
    QCOMPARE(document.searches().size(), std::size_t{1});
    QCOMPARE(document.savedAs(), SavedAs::Project);
    QCOMPARE(document.path(), home_->filePath("mine.hexaplan"));
    QVERIFY(document.isModified());
  }

  void a_project_is_opened_by_the_word_of_the_command_line() {
    const QString path = home_->filePath("mine.hexaplan");
    writeFile(path, R"({"schema": "hexaplan/project/1", "notes": "hello",
      "scenario": {"schema": "hexaplan/scenario/1", "model": "llama-3.1-8b", "cluster": "8xH100"}})");
    openWindows(QUrl::fromLocalFile(path).toString());  // as desktops hand over what was double-clicked
    QVERIFY(QTest::qWaitFor([&] { return windows()[0]->document().notes() == "hello"; }, kPatience));
    QVERIFY(!windows()[0]->document().isModified());
  }

  void two_processes_keep_two_projects_apart() {
    const QString path = home_->filePath("mine.hexaplan");
    writeFile(path, R"({"schema": "hexaplan/project/1", "notes": "hello",
      "scenario": {"schema": "hexaplan/scenario/1", "model": "llama-3.1-8b", "cluster": "8xH100"}})");
    const QByteArray before = contentOf(path);
    auto first = started({path});
    auto second = started({shareText(question("mixtral-8x7b", "ep8"), {})});
    QVERIFY(first != nullptr && second != nullptr);
    QVERIFY(QTest::qWaitFor([] { return kept().size() == 1; }, kPatience));
    QTest::qWait(2500);
    QCOMPARE(kept().size(), 1);  // the project has nothing unsaved
    killed(first);
    killed(second);
    QCOMPARE(contentOf(path), before);
    openWindows(path);
    QVERIFY(QTest::qWaitFor([] { return windows().size() == 2; }, kPatience));
    QVERIFY(windowAbout(question("mixtral-8x7b", "ep8")) != nullptr);
  }

  void what_cannot_be_read_is_moved_aside_and_told_data() {
    QTest::addColumn<QByteArray>("text");
    QTest::newRow("cut off") << toText({}).left(40);
    QTest::newRow("of a newer version") << QByteArray{R"({"schema": "hexaplan/recovery/3", "tabs": []})"};
    QTest::newRow("empty") << QByteArray{};
  }
  void what_cannot_be_read_is_moved_aside_and_told() {
    QFETCH(QByteArray, text);
    writeFile(RecoveryFile::folder() + "/window-1.json", text);
    const QString path = home_->filePath("other.json");
    writeFile(path, R"({"schema": "hexaplan/scenario/1", "model": "llama-3.1-8b", "cluster": "8xH100"})");
    openWindows(path);
    const QString aside = RecoveryFile::folder() + "/window-1.json.unreadable";
    QCOMPARE(windows().size(), std::size_t{1});
    QVERIFY(QTest::qWaitFor([&] { return windows()[0]->message().contains(aside); }, kPatience));
    QCOMPARE(contentOf(aside), text);
    QVERIFY(kept().isEmpty());
  }

  void what_earlier_versions_left_is_taken_over() {
    writeFile(RecoveryFile::folder() + "/window-1.json",
              R"({"schema": "hexaplan/recovery/1", "path": "/a/b.json",
      "scenario": {"schema": "hexaplan/scenario/1", "model": "llama-3.1-8b", "cluster": "8xH100"},
      "baseline": {"schema": "hexaplan/scenario/1", "model": "llama-3.1-8b", "cluster": "16xH100"},
      "pins": [{"name": "x", "scenario": {"schema": "hexaplan/scenario/1", "model": "llama-3.1-8b", "cluster": "32xH100"}}]})");
    openWindows({});
    const ScenarioDocument& document = windows()[0]->document();
    QCOMPARE(document.path(), QString{"/a/b.json"});
    QCOMPARE(document.baseline()->scenario.cluster.gpus, 16);
    QCOMPARE(document.pins().size(), std::size_t{1});
  }

  void the_one_file_of_earlier_versions_is_taken_over() {
    const ScenarioRequest asked = question("llama-3.1-8b", "tp2");
    writeFile(QFileInfo{RecoveryFile::folder()}.path() + "/recovery.json",
              QByteArray::fromStdString(presets::to_text(presets::to_json(asked))));
    openWindows({});
    QVERIFY(windowAbout(asked) != nullptr);
  }

  void a_folder_that_cannot_be_written_is_told_once() {
    writeFile(home_->filePath("data/hexaplan"), "a file where the folder should be");
    openWindows({});
    MainWindow* window = windows()[0];
    window->document().change(question("llama-3.1-8b", "tp2"), "asked");
    QVERIFY(QTest::qWaitFor([&] { return window->message().contains("is lost"); }, kPatience));
  }
};

}  // namespace hexaplan::gui

QTEST_MAIN(hexaplan::gui::RecoveryTest)
#include "recovery_test.moc"
