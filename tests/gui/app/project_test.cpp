// A project: everything that a window holds, in one file.
#include "gui/app/document/project.h"

#include <QAction>
#include <QComboBox>
#include <QFileDialog>
#include <QLabel>
#include <QMessageBox>
#include <QPlainTextEdit>
#include <QProcess>
#include <QPushButton>
#include <QSettings>
#include <QTabWidget>
#include <QTableView>
#include <QTimer>

#include "gui/app/document/evaluator.h"
#include "presets/json/input_error.h"
#include "presets/scenario/project_question.h"
#include "presets/scenario/scenario_page.h"
#include "tests/gui/app/window_fixture.h"
#include "tests/gui/support/example_trace.h"

namespace hexaplan::gui {

class ProjectTest : public WindowFixture {
  Q_OBJECT

 private:
  QPlainTextEdit* notes() { return find<QPlainTextEdit>("notes"); }
  ScenarioDocument& document() { return window_->document(); }

  /// Types into the notes, from wherever the keyboard is.
  void note(const QString& words) {
    press(Qt::Key_6, Qt::ControlModifier);
    notes()->setFocus();
    QTest::keyClicks(notes(), words);
  }
  void search() {
    QSignalSpy found{&window_->search(), &SearchJob::found};
    window_->pages().setCurrentIndex(2);
    QTest::mouseClick(find<QPushButton>("startSearch"), Qt::LeftButton);
    QVERIFY(found.wait(kPatience));
  }
  /// Baseline, a pin, notes, two searches, a report and a trace.
  void fill() {
    startWith("llama-3.2-1b", "8xH100");
    choose("layout.tp", "2");
    choose("recipe.global_batch", "8");
    press(Qt::Key_B, Qt::ControlModifier);
    choose("layout.pp", "2");
    press(Qt::Key_K, Qt::ControlModifier);
    choose("recipe.sequence", "4096");
    note("why not tp4? <b>ask</b> & try");
    search();
    find<QLineEdit>("searchLimits")->setText("tp=2");
    search();
    openFile(QStringLiteral(HEXAPLAN_SOURCE_DIR "/tests/golden/reports/validation_cpu.json"));
    drop({QUrl::fromLocalFile(
        written(folder_, "trace.json",
                exampleTrace(answer().scenario, answer().calibration->calibration, 0, 1, 1.5)))});
    QVERIFY(QTest::qWaitFor([&] { return document().traces().size() == 1; }, kPatience));
  }
  QByteArray textOf(const Project& project) {
    return QByteArray::fromStdString(presets::to_text(toJson(project, {}, folder_.path())));
  }
  /// Answers the next question of the window with `button`.
  void answerWith(QMessageBox::StandardButton button) {
    auto* timer = new QTimer{window_.get()};
    connect(timer, &QTimer::timeout, window_.get(), [this, timer, button] {
      auto* box = qobject_cast<QMessageBox*>(QApplication::activeModalWidget());
      if (box == nullptr) return;
      timer->deleteLater();
      asked_ = box->text();
      QTest::mouseClick(box->button(button), Qt::LeftButton);
    });
    timer->start(20);
  }
  /// Types `path` into the next file dialog.
  void nameFile(const QString& path) {
    auto* timer = new QTimer{window_.get()};
    connect(timer, &QTimer::timeout, window_.get(), [this, timer, path] {
      auto* dialog = qobject_cast<QFileDialog*>(QApplication::activeModalWidget());
      if (dialog == nullptr) return;
      timer->deleteLater();
      offered_ = dialog->selectedFiles().value(0);
      auto* name = dialog->findChild<QLineEdit*>("fileNameEdit");
      name->setText(path);
      QTest::keyClick(name, Qt::Key_Return);
    });
    timer->start(20);
  }
  /// Seconds with which the plans of a project's file were listed.
  static QList<double> closedFormsIn(const QByteArray& project) {
    QList<double> rows;
    for (const QString& line : QString::fromUtf8(project).split(u'\n')) {
      if (line.contains("\"closed_form_seconds\""))
        rows.append(line.section(u':', 1).remove(u',').toDouble());
    }
    return rows;
  }
  QString asked_, offered_;

 private slots:
  void init() {
    QApplication::setAttribute(Qt::AA_DontUseNativeDialogs);
    QSettings{}.clear();
    open();
    asked_.clear();
  }

  void everything_is_saved_and_opened_as_it_was() {
    fill();
    const QString path = folder_.filePath("mine.hexaplan");
    QVERIFY(document().isModified());
    QVERIFY(window_->saveTo(path));
    QVERIFY(!document().isModified());
    QVERIFY2(window_->message().isEmpty(), qPrintable(window_->message()));
    const Project saved = document().project();
    const SearchResultPtr found = saved.searches.back();
    auto first = std::move(window_);
    open();
    openFile(path);
    const Project opened = document().project();
    QVERIFY(opened.request == saved.request);
    QCOMPARE(textOf(opened), textOf(saved));
    QVERIFY(!document().isModified());
    QCOMPARE(document().path(), path);
    QVERIFY(window_->windowTitle().startsWith("mine.hexaplan"));
    QCOMPARE(notes()->toPlainText(), QString{"why not tp4? <b>ask</b> & try"});
    QCOMPARE(document().baseline()->scenario.layout.tp, 2);
    QCOMPARE(document().baseline()->scenario.layout.pp, 1);
    QCOMPARE(document().pins().size(), 1U);
    // The plans are those that were listed, and no search was needed.
    QCOMPARE(opened.searches.size(), 2U);
    QVERIFY(!opened.searches.back()->outdated);
    const auto* plans = find<QTableView>("plans")->model();
    QCOMPARE(plans->rowCount(), static_cast<int>(found->ranking.plans.size()));
    QVERIFY(find<QTableView>("rejections")->model()->rowCount() > 0);
    QCOMPARE(find<QLineEdit>("searchLimits")->text(), QString{"tp=2"});
    QCOMPARE(find<QComboBox>("keptSearches")->count(), 2);
    QVERIFY(find<QComboBox>("validatedScenario")->count() > 1);
    auto* traces = find<QComboBox>("traceView");
    QVERIFY(QTest::qWaitFor([&] { return traces->count() == 2; }, kPatience));
    QVERIFY(!document().isModified());
  }

  void a_plan_of_an_opened_project_is_loaded_by_enter() {
    startWith("llama-3.2-1b", "8xH100");
    search();
    const costmodel::Layout best = document().searches().front()->ranking.plans.front().plan.layout;
    const QString path = folder_.filePath("found.hexaplan");
    QVERIFY(window_->saveTo(path));
    window_.reset();
    open();
    openFile(path);
    window_->pages().setCurrentIndex(2);
    auto* table = find<QTableView>("plans");
    table->setFocus();
    table->setCurrentIndex(table->model()->index(0, 0));
    press(Qt::Key_Return);
    QVERIFY(answer().scenario.layout == best);
    QVERIFY2(!find<QWidget>("staleResults")->isVisible(), "the plans still answer the question");
  }

  void plans_that_are_priced_otherwise_now_say_so() {
    startWith("llama-3.2-1b", "8xH100");
    search();
    const QString path = folder_.filePath("old.hexaplan");
    QVERIFY(window_->saveTo(path));
    QByteArray text = contentOf(path);
    text.replace("\"closed_form_seconds\": ", "\"closed_form_seconds\": 1");
    written(folder_, "old.hexaplan", text);
    window_.reset();
    open();
    openFile(path);
    window_->pages().setCurrentIndex(2);
    auto* says = find<QLabel>("staleResults");
    QVERIFY(says->isVisible());
    QVERIFY2(says->text().contains("earlier version"), qPrintable(says->text()));
    // Saving does not make them new.
    QVERIFY(window_->saveTo(path));
    QCOMPARE(closedFormsIn(contentOf(path)), closedFormsIn(text));
    window_.reset();
    open();
    openFile(path);
    window_->pages().setCurrentIndex(2);
    QVERIFY(find<QLabel>("staleResults")->isVisible());
  }

  void plans_that_cannot_be_priced_here_keep_what_they_were_listed_with() {
    startWith("llama-3.2-1b", "8xH100");
    search();
    const QString path = folder_.filePath("hers.hexaplan");
    QVERIFY(window_->saveTo(path));
    QByteArray text = contentOf(path);
    const QList<double> listed = closedFormsIn(text);
    QVERIFY(!listed.isEmpty());
    text.replace("\"model\": \"llama-3.2-1b\"", "\"model\": \"/home/her/config.json\"");
    written(folder_, "hers.hexaplan", text);
    window_.reset();
    open();
    openFile(path);
    QVERIFY2(window_->message().isEmpty(), qPrintable(window_->message()));
    QVERIFY(!document().searches().front()->evaluation->understood());
    QVERIFY(window_->saveTo(path));
    QCOMPARE(closedFormsIn(contentOf(path)), listed);
  }

  void a_search_that_runs_ends_with_its_project() {
    startWith("llama-3.1-70b", "64xH100");
    find<QLineEdit>("searchLimits")->setText("pp=1,2,4");
    window_->pages().setCurrentIndex(2);
    QSignalSpy found{&window_->search(), &SearchJob::found};
    window_->findLayout();
    QTest::mouseClick(find<QPushButton>("startSearch"), Qt::LeftButton);
    QVERIFY(window_->search().running());
    document().open({}, {});
    QVERIFY(!window_->search().running());
    QVERIFY(!found.wait(1000));
    QVERIFY(document().searches().empty());
    QVERIFY(!find<QWidget>("searchProgress")->isVisibleTo(window_.get()));
    QVERIFY2(find<QLineEdit>("searchLimits")->text().isEmpty(), "limits were those of the project before");
    // The next one is not held up by it.
    startWith("llama-3.2-1b", "8xH100");
    search();
    QCOMPARE(document().searches().size(), 1U);
  }

  void the_command_reads_the_question_with_every_gap_filled() {
    startWith("llama-3.2-1b", "8xH100");
    choose("layout.tp", "2");
    const QString path = folder_.filePath("question.hexaplan");
    QVERIFY(window_->saveTo(path));
    const auto inside = presets::read_scenario_document(path.toStdString());
    const presets::ScenarioRequest whole = presets::read_scenario(inside);
    QVERIFY(whole.layout.dp_given);
    QCOMPARE(whole.layout.layout.dp, 4);
    QCOMPARE(whole.recipe.global_batch, answer().scenario.recipe.global_batch);
    QCOMPARE(whole.framework, std::string{"megatron"});
    // In the window, what followed from the rest still does.
    QVERIFY(!document().request().layout.dp_given);
    openFile(path);
    QVERIFY(!document().request().layout.dp_given);
    QCOMPARE(document().request().recipe.global_batch, 0);
  }

  void scenario_files_still_open_and_save_as_such() {
    const QString path = written(
        folder_, "plain.json",
        R"({"schema": "hexaplan/scenario/1", "model": "llama-3.2-1b", "cluster": "8xH100", "layout": "tp2"})");
    openFile(path);
    choose("layout.tp", "4");
    QVERIFY(window_->saveTo(path));
    QVERIFY(contentOf(path).startsWith("{\n  \"schema\": \"hexaplan/scenario/1\""));
    QVERIFY(!document().isModified());
    // Searching takes nothing away from anybody.
    search();
    QVERIFY(!document().isModified());
  }

  void a_scenario_takes_the_place_of_a_whole_project_but_only_of_the_question_beside_no_file() {
    const QString plain =
        written(folder_, "other.json",
                R"({"schema": "hexaplan/scenario/1", "model": "llama-3.2-1b", "cluster": "16xH100"})");
    startWith("llama-3.2-1b", "8xH100");
    choose("recipe.global_batch", "64");
    press(Qt::Key_B, Qt::ControlModifier);
    document().markSaved(document().path());  // the question is nobody's worry
    openFile(plain);
    QVERIFY2(document().baseline() != nullptr, "two files are compared");
    QVERIFY(window_->saveTo(folder_.filePath("both.hexaplan")));
    openFile(plain);
    QVERIFY(document().baseline() == nullptr);
    QCOMPARE(document().savedAs(), SavedAs::Scenario);
    choose("layout.tp", "2");
    QVERIFY(window_->saveTo(plain));
    QVERIFY(contentOf(plain).contains("hexaplan/scenario/1"));
    QVERIFY(contentOf(folder_.filePath("both.hexaplan")).contains("\"baseline\""));
  }

  void a_scenario_s_file_says_what_it_cannot_hold() {
    startWith("llama-3.2-1b", "8xH100");
    press(Qt::Key_B, Qt::ControlModifier);
    QVERIFY(window_->saveTo(folder_.filePath("half.json")));
    QVERIFY2(window_->message().contains("half.json holds the question"), qPrintable(window_->message()));
    QVERIFY(document().isModified());
    QVERIFY(window_->isWindowModified());
    nameFile(folder_.filePath("whole"));
    QTest::mouseClick(find<QPushButton>("offer.0"), Qt::LeftButton);
    QCOMPARE(offered_, QFileInfo{folder_.filePath("half.hexaplan")}.absoluteFilePath());
    QVERIFY(contentOf(folder_.filePath("whole.hexaplan")).contains("\"baseline\""));
    QVERIFY(!document().isModified());
  }

  void a_second_scenario_loses_no_more_than_the_first() {
    startWith("llama-3.2-1b", "8xH100");
    QVERIFY(window_->saveTo(folder_.filePath("kept.json")));
    note("worth keeping");
    answerWith(QMessageBox::Save);
    nameFile(folder_.filePath("again.json"));
    press(Qt::Key_N, Qt::ControlModifier);
    QVERIFY(contentOf(folder_.filePath("again.json")).contains("hexaplan/scenario/1"));
    QCOMPARE(document().notes(), QString{"worth keeping"});
    answerWith(QMessageBox::Save);
    nameFile(folder_.filePath("kept.hexaplan"));
    press(Qt::Key_N, Qt::ControlModifier);
    QVERIFY(document().notes().isEmpty());
    QVERIFY(contentOf(folder_.filePath("kept.hexaplan")).contains("worth keeping"));
  }

  void a_scenario_of_a_project_s_name_becomes_a_project_where_it_is() {
    const QString path = written(
        folder_, "scenario.hexaplan",
        R"({"schema": "hexaplan/scenario/1", "model": "llama-3.2-1b", "cluster": "8xH100", "layout": "tp2"})");
    openFile(path);
    note("worth keeping");
    QVERIFY(window_->saveTo(path));
    QVERIFY(document().isModified());
    nameFile(path);
    answerWith(QMessageBox::Yes);  // the dialog's own question
    QTest::mouseClick(find<QPushButton>("offer.0"), Qt::LeftButton);
    QCOMPARE(offered_, QFileInfo{path}.absoluteFilePath());
    QVERIFY(!document().isModified());
    QVERIFY(contentOf(path).contains("worth keeping"));
  }

  void a_name_with_dots_gets_its_ending_and_replaces_nothing_unasked() {
    startWith("llama-3.2-1b", "8xH100");
    const QString path = folder_.filePath("Llama-3.1-8B.hexaplan");
    written(folder_, "Llama-3.1-8B.hexaplan", "somebody's");
    nameFile(folder_.filePath("Llama-3.1-8B"));
    answerWith(QMessageBox::No);
    press(Qt::Key_S, Qt::ControlModifier);
    QVERIFY2(asked_.contains("Llama-3.1-8B.hexaplan exists already"), qPrintable(asked_));
    QCOMPARE(contentOf(path), QByteArray{"somebody's"});
    QVERIFY(document().path().isEmpty());
    nameFile(folder_.filePath("Llama-3.1-8B"));
    answerWith(QMessageBox::Yes);
    press(Qt::Key_S, Qt::ControlModifier);
    QVERIFY(contentOf(path).contains("hexaplan/project/1"));
    QCOMPARE(document().path(), path);
  }

  void every_change_is_marked_and_asked_about_data() {
    QTest::addColumn<QString>("what");
    for (const char* what : {"question", "baseline", "pin", "notes", "search", "report"})
      QTest::newRow(what) << QString{what};
  }
  void every_change_is_marked_and_asked_about() {
    QFETCH(QString, what);
    startWith("llama-3.2-1b", "8xH100");
    choose("recipe.global_batch", "64");
    const QString path = folder_.filePath("asked.hexaplan");
    QVERIFY(window_->saveTo(path));
    QVERIFY(!window_->isWindowModified());
    if (what == "question") choose("layout.tp", "2");
    if (what == "baseline") press(Qt::Key_B, Qt::ControlModifier);
    if (what == "pin") press(Qt::Key_K, Qt::ControlModifier);
    if (what == "notes") note("x");
    if (what == "search") search();
    if (what == "report")
      openFile(QStringLiteral(HEXAPLAN_SOURCE_DIR "/tests/golden/reports/validation_cpu.json"));
    QVERIFY(window_->isWindowModified());
    const Project before = document().project();
    answerWith(QMessageBox::Cancel);
    press(Qt::Key_N, Qt::ControlModifier);
    QVERIFY(!asked_.isEmpty());
    QVERIFY(document().project() == before);
    answerWith(QMessageBox::Save);
    press(Qt::Key_N, Qt::ControlModifier);
    QVERIFY(document().project() == Project{});
    QVERIFY(!window_->isWindowModified());
    openFile(path);
    QCOMPARE(textOf(document().project()), textOf(before));
  }

  void new_leaves_nothing_of_the_old() {
    fill();
    answerWith(QMessageBox::Discard);
    press(Qt::Key_N, Qt::ControlModifier);
    QVERIFY(document().project() == Project{});
    QVERIFY(notes()->toPlainText().isEmpty());
    QCOMPARE(find<QTableView>("plans")->model()->rowCount(), 0);
    QCOMPARE(find<QTableView>("terms")->model()->rowCount(), 0);
    QCOMPARE(find<QComboBox>("traceView")->count(), 1);
  }

  void save_as_offers_a_project_and_the_recent_files_have_it() {
    startWith("llama-3.2-1b", "8xH100");
    nameFile(folder_.filePath("first"));
    press(Qt::Key_S, Qt::ControlModifier);
    const QString path = folder_.filePath("first.hexaplan");
    QCOMPARE(document().path(), path);
    QVERIFY(recentFiles().contains(path));
    choose("layout.tp", "2");
    nameFile(folder_.filePath("second.json"));
    press(Qt::Key_S, Qt::ControlModifier | Qt::ShiftModifier);
    QVERIFY(contentOf(folder_.filePath("second.json")).contains("hexaplan/scenario/1"));
    QCOMPARE(document().savedAs(), SavedAs::Scenario);
  }

  void undo_covers_notes_baseline_and_pins() {
    startWith("llama-3.2-1b", "8xH100");
    choose("recipe.global_batch", "64");
    note("first");
    press(Qt::Key_B, Qt::ControlModifier);
    press(Qt::Key_K, Qt::ControlModifier);
    notes()->setFocus();
    QTest::keyClicks(notes(), " second");
    QCOMPARE(document().notes(), QString{"first second"});
    press(Qt::Key_Z, Qt::ControlModifier);
    QCOMPARE(notes()->toPlainText(), QString{"first"});
    press(Qt::Key_Z, Qt::ControlModifier);
    QVERIFY(document().pins().empty());
    press(Qt::Key_Z, Qt::ControlModifier);
    QVERIFY(document().baseline() == nullptr);
    press(Qt::Key_Z, Qt::ControlModifier);
    QVERIFY(notes()->toPlainText().isEmpty());
    QCOMPARE(document().request().recipe.global_batch, 64);
    for (int i = 0; i < 4; ++i) press(Qt::Key_Y, Qt::ControlModifier);
    QCOMPARE(notes()->toPlainText(), QString{"first second"});
    QVERIFY(document().baseline() != nullptr);
    QCOMPARE(document().pins().size(), 1U);
  }

  void notes_need_no_question() {
    note("first the words");
    QVERIFY(notes()->isVisible());
    QCOMPARE(document().notes(), QString{"first the words"});
    QVERIFY(document().isModified());
  }

  void notes_have_an_end() {
    startWith("llama-3.2-1b", "8xH100");
    note("kept");
    notes()->insertPlainText(QString{kMostNotes, u'x'});
    QCOMPARE(document().notes(), QString{"kept"});
    QCOMPARE(notes()->toPlainText(), QString{"kept"});
    QVERIFY(find<QLabel>("notesProblem")->isVisible());
  }

  void notes_of_a_file_beyond_that_end_can_be_shortened() {
    const QString longer{kMostNotes + 10, u'x'};
    document().open({.notes = longer}, {});
    press(Qt::Key_6, Qt::ControlModifier);
    notes()->setFocus();
    press(Qt::Key_Delete);
    QCOMPARE(document().notes().size(), longer.size() - 1);
    notes()->insertPlainText("yy");
    QCOMPARE(document().notes().size(), longer.size() - 1);
    QVERIFY(find<QLabel>("notesProblem")->isVisible());
  }

  void what_is_no_project_of_this_version_is_refused_data() {
    QTest::addColumn<QByteArray>("text");
    QTest::addColumn<QString>("said");
    QTest::newRow("of a newer version")
        << QByteArray{R"({"schema": "hexaplan/project/2", "scenes": []})"} << "a newer hexaplan-gui wrote it";
    QTest::newRow("without a question") << QByteArray{R"({"schema": "hexaplan/project/1"})"} << "scenario";
    QTest::newRow("misspelt")
        << QByteArray{R"({"schema": "hexaplan/project/1", "scenario": {"schema": "hexaplan/scenario/1"}, "note": "x"})"}
        << "notes";
    QTest::newRow("a pin of a newer version")
        << QByteArray{R"({"schema": "hexaplan/project/1", "scenario": {"schema": "hexaplan/scenario/1"},
                          "pins": [{"name": "a", "scenario": {"schema": "hexaplan/scenario/2"}}]})"}
        << "/pins/0/scenario";
    QTest::newRow("cut off") << QByteArray{R"({"schema": "hexaplan/project/1", "scenario": {)"} << ":1:";
  }
  void what_is_no_project_of_this_version_is_refused() {
    QFETCH(QByteArray, text);
    QFETCH(QString, said);
    startWith("llama-3.2-1b", "8xH100");
    const Project before = document().project();
    openFile(written(folder_, "refused.hexaplan", text));
    QVERIFY2(window_->message().startsWith("Not opened: "), qPrintable(window_->message()));
    QVERIFY2(window_->message().contains(said), qPrintable(window_->message()));
    QVERIFY(document().project() == before);
  }

  void what_this_machine_cannot_price_stays_in_the_project() {
    const QByteArray text = R"({"schema": "hexaplan/project/1",
      "scenario": {"schema": "hexaplan/scenario/1", "model": "llama-3.2-1b", "cluster": "8xH100"},
      "pins": [{"name": "hers", "scenario": {"schema": "hexaplan/scenario/1", "model": "/home/her/config.json",
                                             "cluster": "8xH100"}}],
      "measured": [{"name": "run.json", "report": {"schema": "hexaplan/run/2", "complete": true}},
                   {"name": "hers.json", "report": {"schema": "hexaplan/run/1", "complete": true, "ranks": [], "steps": [],
                    "scenario": {"schema": "hexaplan/scenario/1", "model": "/home/her/config.json", "cluster": "8xH100"}}}],
      "traces": ["not-here.json.gz"]})";
    const QString path = written(folder_, "hers.hexaplan", text);
    openFile(path);
    QVERIFY2(window_->message().isEmpty(), qPrintable(window_->message()));
    window_->pages().setCurrentIndex(3);
    const QString states = find<QLabel>("compareStates")->text();
    QVERIFY2(states.contains("hers has no numbers here") && states.contains("/home/her/config.json"),
             qPrintable(states));
    QVERIFY(QTest::qWaitFor([&] { return find<QLabel>("traceProblem")->text().contains("not-here"); },
                            kPatience));
    choose("layout.tp", "2");
    QVERIFY(window_->saveTo(path));
    const QByteArray saved = contentOf(path);
    for (const char* kept : {"/home/her/config.json", "\"not-here.json.gz\"", "hers.json", "hexaplan/run/2"})
      QVERIFY2(saved.contains(kept), kept);
    window_->pages().setCurrentIndex(1);
    QTest::mouseClick(find<QPushButton>("forgetTraces"), Qt::LeftButton);
    QVERIFY(document().traces().isEmpty());
    QVERIFY(document().isModified());
  }

  void searches_are_chosen_between_and_forgotten() {
    startWith("llama-3.2-1b", "8xH100");
    search();
    find<QLineEdit>("searchLimits")->setText("tp=8");
    search();
    auto* kept = find<QComboBox>("keptSearches");
    const auto* plans = find<QTableView>("plans")->model();
    const auto& searches = document().searches();
    QCOMPARE(plans->rowCount(), static_cast<int>(searches[1]->ranking.plans.size()));
    kept->setCurrentIndex(0);
    QCOMPARE(plans->rowCount(), static_cast<int>(searches[0]->ranking.plans.size()));
    QVERIFY2(find<QLineEdit>("searchLimits")->text().isEmpty(), "the boxes say what it was asked for");
    QTest::mouseClick(find<QPushButton>("forgetSearch"), Qt::LeftButton);
    QCOMPARE(searches.size(), 1U);
    QCOMPARE(find<QLineEdit>("searchLimits")->text(), QString{"tp=8"});
    QVERIFY2(kept->currentText().contains("tp=8; llama-3.2-1b on 8 ×"), qPrintable(kept->currentText()));
    for (std::size_t i = 0; i < kMostSearches + 1; ++i) document().keepSearch(searches.back());
    QCOMPARE(searches.size(), kMostSearches);
  }

  void reports_are_chosen_between_and_removed() {
    openFile(QStringLiteral(HEXAPLAN_SOURCE_DIR "/tests/golden/reports/validation_cpu.json"));
    openFile(written(folder_, "accuracy.json", R"({"schema": "hexaplan/accuracy/1", "rows": [
      {"case_id": "a", "source": "x", "time": {"predicted": 1.1, "measured": 1.0, "error": 0.1}}]})"));
    auto* files = find<QComboBox>("measuredFiles");
    QCOMPARE(files->count(), 2);
    QCOMPARE(files->currentText(), QString{"accuracy.json"});
    files->setCurrentIndex(0);
    QVERIFY(find<QTableView>("terms")->model()->rowCount() > 0);
    QTest::mouseClick(find<QPushButton>("forgetMeasured"), Qt::LeftButton);
    QCOMPARE(files->currentText(), QString{"accuracy.json"});
    QCOMPARE(document().measured().size(), 1U);
  }

  void a_project_is_dropped_onto_the_window() {
    const QString path = written(folder_, "dropped.hexaplan", R"({"schema": "hexaplan/project/1",
      "scenario": {"schema": "hexaplan/scenario/1", "model": "llama-3.2-1b", "cluster": "8xH100"}, "notes": "hello"})");
    drop({QUrl::fromLocalFile(path)});
    QVERIFY(answered());
    QCOMPARE(document().notes(), QString{"hello"});
    QCOMPARE(document().path(), path);
  }

  void what_another_program_put_into_the_file_is_reloaded() {
    startWith("llama-3.2-1b", "8xH100");
    note("mine");
    const QString path = folder_.filePath("shared.hexaplan");
    QVERIFY(window_->saveTo(path));
    QTest::qWait(20);
    QByteArray text = contentOf(path);
    text.replace("mine", "theirs!");
    written(folder_, "shared.hexaplan", text);
    QVERIFY(
        QTest::qWaitFor([&] { return window_->message().contains("Another program changed"); }, kPatience));
    QTest::mouseClick(find<QPushButton>("offer.0"), Qt::LeftButton);
    QTRY_COMPARE_WITH_TIMEOUT(document().notes(), QString{"theirs!"}, kPatience);
    QVERIFY(!document().isModified());
    press(Qt::Key_Z, Qt::ControlModifier);
    QCOMPARE(document().notes(), QString{"mine"});
  }

  void what_the_disk_refuses_is_told_and_stays_unsaved() {
    startWith("llama-3.2-1b", "8xH100");
    QVERIFY(!window_->saveTo(folder_.filePath("no/such/folder/x.hexaplan")));
    QVERIFY2(window_->message().startsWith("Not saved: "), qPrintable(window_->message()));
    QVERIFY(document().isModified());
  }
};

}  // namespace hexaplan::gui

QTEST_MAIN(hexaplan::gui::ProjectTest)
#include "project_test.moc"
