// Drives the real window as a person does: keys, mouse, files, drops.
#include <QAbstractItemModel>
#include <QAbstractSlider>
#include <QAbstractSpinBox>
#include <QApplication>
#include <QCheckBox>
#include <QClipboard>
#include <QComboBox>
#include <QDropEvent>
#include <QFile>
#include <QLabel>
#include <QLineEdit>
#include <QMimeData>
#include <QPrinter>
#include <QPushButton>
#include <QSignalSpy>
#include <QSlider>
#include <QStandardPaths>
#include <QTabWidget>
#include <QTableView>
#include <QTemporaryDir>
#include <QTest>
#include <QTreeView>
#include <memory>

#include "gui/app/document/settings.h"
#include "gui/app/main_window/main_window.h"
#include "gui/app/main_window/theme.h"
#include "gui/app/pages/time_page.h"
#include "gui/app/setup/field_row.h"
#include "gui/app/setup/setup_panel.h"
#include "gui/plot/plot_view.h"
#include "gui/plot/stage_memory_bars.h"
#include "gui/plot/timeline.h"

namespace hexaplan::gui {
namespace {

constexpr int kPatience = 30'000;  // milliseconds; a loaded machine is slow

QByteArray contentOf(const QString& path) {
  QFile file{path};
  return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray{};
}

QString written(const QTemporaryDir& folder, const QString& name, const QByteArray& text) {
  QFile file{folder.filePath(name)};
  if (file.open(QIODevice::WriteOnly)) file.write(text);
  return file.fileName();
}

}  // namespace

class WindowTest : public QObject {
  Q_OBJECT

  std::unique_ptr<MainWindow> window_;
  QTemporaryDir folder_;

  template <class W>
  W* find(const char* name) {
    return window_->findChild<W*>(name);
  }
  const Evaluation& answer() { return *window_->document().evaluation(); }
  bool answered() {
    return QTest::qWaitFor([&] { return window_->document().upToDate(); }, kPatience);
  }
  void choose(const char* field, const QString& text) {
    const QString problem = window_->document().edit(*findField(field), text, false);
    QVERIFY2(problem.isEmpty(), qPrintable(problem));
    QVERIFY(answered());
  }
  void startWith(const char* model, const char* cluster) {
    choose("model", model);
    presets::ScenarioRequest request = window_->document().request();
    request.cluster = cluster;
    window_->document().change(std::move(request), "cluster");
    QVERIFY(answered());
  }
  void openFile(const QString& path) {
    QSignalSpy opened{window_.get(), &MainWindow::opened};
    window_->open(path);
    QVERIFY(opened.wait(kPatience));
    QVERIFY(answered());
  }
  void type(const char* editor, const QString& text) {
    auto* combo = find<QComboBox>(editor);
    QVERIFY2(combo != nullptr && combo->isEditable(), editor);
    combo->lineEdit()->setFocus();
    combo->lineEdit()->selectAll();
    QTest::keyClicks(combo->lineEdit(), text);
    QTest::keyClick(combo->lineEdit(), Qt::Key_Return);
    QVERIFY(answered());
  }

 private slots:
  void initTestCase() { QStandardPaths::setTestModeEnabled(true); }
  void init() {
    QFile::remove(recoveryPath());
    window_ = std::make_unique<MainWindow>();
    window_->resize(1280, 800);
    window_->show();
    QVERIFY(QTest::qWaitForWindowExposed(window_.get()));
    QVERIFY(answered());
  }
  void cleanup() { window_.reset(); }

  void an_empty_window_says_what_to_do_first() {
    QVERIFY(find<QWidget>("startPage")->isVisible());
    QVERIFY(!find<QWidget>("verdict")->isVisible());
    QTest::mouseClick(find<QPushButton>("startExample"), Qt::LeftButton);
    QVERIFY(answered());
    QVERIFY(answer().priced());
    QVERIFY(find<QTabWidget>("pages")->isVisible());
  }

  void more_tensor_parallelism_makes_every_bar_smaller() {
    startWith("llama-3.1-8b", "8xH100");
    auto* bars = find<StageMemoryBars>("stageBars");
    const QString before = bars->textAlternative();
    const double peak = answer().peakStage().device.value();
    type("layout.tp", "2");
    QCOMPARE(answer().scenario.layout.tp, 2);
    QCOMPARE(answer().scenario.layout.dp, 4);
    QVERIFY(answer().peakStage().device.value() < peak);
    QVERIFY(bars->textAlternative() != before);
  }

  void fields_understand_what_people_write() {
    startWith("llama-3.1-8b", "8xH100");
    type("recipe.sequence", "8k");
    QCOMPARE(answer().scenario.recipe.sequence, 8192);
    type("recipe.tokens", "1.5T");
    QCOMPARE(answer().scenario.recipe.tokens, 1'500'000'000'000);
    QVERIFY(answer().training.has_value());
  }

  void what_cannot_be_understood_changes_nothing_and_says_so() {
    startWith("llama-3.1-8b", "8xH100");
    const auto before = window_->document().request();
    type("recipe.sequence", "lots");
    QVERIFY(window_->document().request() == before);
    const QString problem = window_->setup().row("recipe.sequence")->problem();
    QVERIFY2(problem.contains("8192 or 8k"), qPrintable(problem));
  }

  void values_that_cannot_run_are_offered_grey_with_the_reason() {
    startWith("llama-3.1-8b", "96xH100");  // 32 heads
    auto* combo = find<QComboBox>("layout.tp");
    const int three = combo->findData("3"), four = combo->findData("4");
    QVERIFY(three >= 0 && four >= 0);
    const auto enabled = [&](int row) {
      return (combo->model()->flags(combo->model()->index(row, 0)) & Qt::ItemIsEnabled) != 0;
    };
    QVERIFY(!enabled(three));
    QVERIFY(enabled(four));
    QVERIFY2(combo->itemText(three).contains("32 attention heads do not split over tp=3"),
             qPrintable(combo->itemText(three)));
  }

  void a_slider_drag_is_one_step_back() {
    startWith("llama-3.1-8b", "64xH100");
    const int steps = window_->document().undoStack().count();
    auto* slider = find<QSlider>("layout.tp.slider");
    slider->setFocus();
    for (int i = 0; i < 3; ++i) {
      QTest::keyClick(slider, Qt::Key_Right);
      QVERIFY(answered());
    }
    QCOMPARE(answer().scenario.layout.tp, 8);
    QCOMPARE(window_->document().undoStack().count(), steps + 1);
    window_->document().undoStack().undo();
    QVERIFY(answered());
    QCOMPARE(answer().scenario.layout.tp, 1);
    QCOMPARE(find<QComboBox>("layout.tp")->currentText(), "1");
    window_->document().undoStack().redo();
    QVERIFY(answered());
    QCOMPARE(find<QComboBox>("layout.tp")->currentText(), "8");
  }

  void data_parallelism_and_the_number_of_gpus_are_one_thing() {
    startWith("llama-3.1-8b", "64xH100");
    type("layout.tp", "8");
    QCOMPARE(answer().scenario.layout.dp, 8);
    type("layout.dp", "4");
    QCOMPARE(answer().scenario.cluster.gpus, 32);
    QVERIFY(answer().priced());
  }

  void dimensions_of_a_published_model_can_be_changed() {
    startWith("llama-3.1-8b", "8xH100");
    auto* line = find<QLineEdit>("model.layers");
    line->setFocus();
    line->selectAll();
    QTest::keyClicks(line, "16");
    QTest::keyClick(line, Qt::Key_Return);
    QVERIFY(answered());
    QCOMPARE(answer().scenario.model.layers, 16);
    QCOMPARE(answer().scenario.model.hidden, 4096);
    QCOMPARE(find<QComboBox>("model")->currentText(), "llama-3.1-8b");
  }

  void a_downloaded_config_opens_by_menu_and_by_drop() {
    const QString path = QString{HEXAPLAN_SOURCE_DIR} + "/examples/llama-3.1-8b/config.json";
    openFile(path);
    QCOMPARE(answer().scenario.model.layers, 32);
    QVERIFY2(recentFiles().contains(path), "an opened file is remembered");
    window_->document().undoStack().undo();
    QVERIFY(answered());
    QVERIFY(!answer().has_model);
    QMimeData mime;
    mime.setUrls({QUrl::fromLocalFile(path)});
    QSignalSpy opened{window_.get(), &MainWindow::opened};
    QDragEnterEvent enter{QPoint{400, 400}, Qt::CopyAction, &mime, Qt::LeftButton, Qt::NoModifier};
    QApplication::sendEvent(window_.get(), &enter);
    QVERIFY(enter.isAccepted());
    QDropEvent drop{QPointF{400, 400}, Qt::CopyAction, &mime, Qt::LeftButton, Qt::NoModifier};
    QApplication::sendEvent(window_.get(), &drop);
    QVERIFY(opened.wait(kPatience));
    QVERIFY(answered());
    QCOMPARE(answer().scenario.model.layers, 32);
  }

  void unusable_files_are_told_in_one_line_and_change_nothing_data() {
    QTest::addColumn<QByteArray>("text");
    QTest::addColumn<QString>("said");
    QTest::newRow("no json") << QByteArray{"hello"} << ":1:";
    QTest::newRow("unknown model") << QByteArray{R"({"model_type": "lama"})"} << "llama";
    QTest::newRow("misspelt key") << QByteArray{R"({"schema": "hexaplan/scenario/1", "modle": "x"})"}
                                  << "model";
    QTest::newRow("other schema") << QByteArray{R"({"schema": "hexaplan/nothing/1"})"}
                                  << "hexaplan/nothing/1";
    QTest::newRow("empty") << QByteArray{} << ":1:";
  }
  void unusable_files_are_told_in_one_line_and_change_nothing() {
    QFETCH(QByteArray, text);
    QFETCH(QString, said);
    startWith("llama-3.1-8b", "8xH100");
    const auto before = window_->document().request();
    openFile(written(folder_, "broken.json", text));
    QVERIFY2(window_->message().startsWith("Not opened: "), qPrintable(window_->message()));
    QVERIFY2(window_->message().contains(said), qPrintable(window_->message()));
    QVERIFY(window_->document().request() == before);
    openFile(folder_.filePath("missing.json"));
    QVERIFY(window_->message().contains("missing.json"));
  }

  void a_scenario_is_saved_and_opened_as_it_was() {
    startWith("mixtral-8x7b", "64xH100");
    choose("layout.tp", "2");
    choose("layout.ep", "8");
    choose("recipe.recompute", "full");
    const auto saved = window_->document().request();
    const QString path = folder_.filePath("run.json");
    QVERIFY(window_->saveTo(path));
    QVERIFY(!window_->document().isModified());
    choose("recipe.recompute", "none");
    window_->document().markSaved(path);  // nobody is asked whether to save
    openFile(path);
    QVERIFY(window_->document().request() == saved);
    QVERIFY(contentOf(path).contains("hexaplan/scenario/1"));
  }

  void files_are_written_alike_in_every_locale() {
    startWith("llama-3.1-8b", "8xH100");
    choose("cluster.price", "2.5");
    const QByteArray usual = window_->document().toFile();
    const QLocale before;
    QLocale::setDefault(QLocale{QLocale::German});
    const QByteArray german = window_->document().toFile();
    QLocale::setDefault(before);
    QCOMPARE(german, usual);
    QVERIFY(usual.contains("2.5"));
  }

  void what_does_not_fit_says_why_and_offers_changes_that_fit() {
    startWith("llama-3.1-70b", "64xH100");
    QVERIFY(!answer().fits());
    QVERIFY(find<QLabel>("reason")->isVisible());
    choose("layout.tp", "8");
    QVERIFY(!answer().fits());
    auto* change = find<QPushButton>("change.0");
    QVERIFY(change->isVisible());
    QTest::mouseClick(change, Qt::LeftButton);
    QVERIFY(answered());
    QVERIFY(answer().fits());
  }

  void from_nothing_to_a_plan_that_fits() {
    openFile(QString{HEXAPLAN_SOURCE_DIR} + "/examples/llama-3.1-8b/config.json");
    QTest::mouseClick(find<QPushButton>("startCluster.64xH100"), Qt::LeftButton);
    QVERIFY(answered());
    QVERIFY(answer().priced());
    if (!answer().fits()) {
      QSignalSpy found{&window_->search(), &SearchJob::found};
      QTest::mouseClick(find<QPushButton>("findLayout"), Qt::LeftButton);
      QVERIFY(found.wait(kPatience));
      QVERIFY(answered());
    }
    QVERIFY(answer().fits());
  }

  void a_layout_that_does_not_divide_the_gpus_leads_to_one_that_fits() {
    window_->findLayout();  // nothing is chosen yet: said, not crashed
    QVERIFY(!window_->message().isEmpty());
    startWith("llama-3.1-8b", "64xH100");
    auto request = window_->document().request();
    request.layout = presets::parse_layout("tp3", "layout");
    window_->document().change(std::move(request), "tp3");
    QVERIFY(answered());
    QVERIFY(answer().problem.has_value());
    QSignalSpy found{&window_->search(), &SearchJob::found};
    QTest::mouseClick(find<QPushButton>("findLayout"), Qt::LeftButton);
    QVERIFY(found.wait(kPatience));
    QVERIFY(answered());
    QVERIFY(answer().fits());
  }

  void a_search_fills_table_and_scatter_and_enter_loads_a_plan() {
    startWith("llama-3.1-8b", "16xH100");
    window_->pages().setCurrentIndex(2);
    QSignalSpy found{&window_->search(), &SearchJob::found};
    QTest::mouseClick(find<QPushButton>("startSearch"), Qt::LeftButton);
    QVERIFY(found.wait(kPatience));
    auto* plans = find<QTableView>("plans");
    QVERIFY(plans->model()->rowCount() > 1);
    QVERIFY(find<PlotView>("pareto")->itemCount() > 0);
    QVERIFY(find<QTableView>("rejections")->model()->rowCount() > 0);
    plans->setCurrentIndex(plans->model()->index(1, 0));
    emit plans->activated(plans->currentIndex());
    QVERIFY(answered());
    QVERIFY(answer().fits());
    QVERIFY(window_->document().request().layout.layout ==
                window_->search().result()->ranking.plans[1].plan.layout ||
            window_->search().result()->ranking.plans[1].refinement);
    find<QLineEdit>("planFilter")->setText("no such plan");
    QCOMPARE(plans->model()->rowCount(), 0);
  }

  void a_search_can_be_cancelled() {
    startWith("llama-3.1-405b", "16384xH100");
    window_->pages().setCurrentIndex(2);
    QSignalSpy found{&window_->search(), &SearchJob::found};
    QTest::mouseClick(find<QPushButton>("startSearch"), Qt::LeftButton);
    QVERIFY(find<QPushButton>("cancelSearch")->isEnabled());
    QTest::mouseClick(find<QPushButton>("cancelSearch"), Qt::LeftButton);
    QVERIFY(found.wait(kPatience));
    QVERIFY(!window_->search().running());
    QVERIFY(find<QPushButton>("startSearch")->isEnabled());
  }

  void a_baseline_shows_differences_everywhere() {
    startWith("llama-3.1-8b", "8xH100");
    window_->document().pinBaseline();
    choose("layout.tp", "2");
    QVERIFY(find<QLabel>("note.memory")->text().contains('%'));
    window_->document().pin();
    choose("layout.tp", "4");
    window_->pages().setCurrentIndex(3);
    auto* table = find<QTableView>("comparison");
    // group, figure, baseline, then three columns each for the pin and the present state
    QVERIFY(table->model()->columnCount() >= 8);
    QVERIFY(table->model()->rowCount() > 10);
    QVERIFY(find<QLabel>("compareHeadline")->text().contains("→"));
    window_->document().clearBaseline();
    QVERIFY(!find<QLabel>("note.memory")->text().contains("→"));
  }

  void the_step_is_exported_for_perfetto() {
    startWith("llama-3.1-8b", "8xH100");
    window_->pages().setCurrentIndex(1);
    auto* page = find<TimePage>("timePage");
    QTRY_VERIFY_WITH_TIMEOUT(page->timeline().itemCount() > 0, kPatience);
    const QString path = folder_.filePath("trace.json");
    QString problem;
    QVERIFY2(page->exportTrace(path, &problem), qPrintable(problem));
    QVERIFY(contentOf(path).contains("traceEvents"));
    QVERIFY(!page->exportTrace(folder_.filePath("no/such/folder/trace.json"), &problem));
    QVERIFY(!problem.isEmpty());
  }

  void the_ledger_is_filtered_and_follows_the_selected_stage() {
    startWith("llama-3.1-8b", "8xH100");
    choose("layout.pp", "2");
    auto* tree = find<QTreeView>("ledger");
    QVERIFY(tree->model()->rowCount() >= 4);
    const int all = tree->model()->rowCount();
    find<QLineEdit>("ledgerFilter")->setText("qkv");
    QVERIFY(tree->model()->rowCount() < all);
    find<QLineEdit>("ledgerFilter")->clear();
    const QString first = find<QLabel>("stageCaption")->text();
    emit find<PlotView>("stageBars")->itemActivated(answer().estimate.peak_stage == 0 ? 1 : 0);
    QVERIFY(find<QLabel>("stageCaption")->text() != first);
  }

  void an_executed_run_stands_beside_its_prediction() {
    const QByteArray report = R"({"schema": "hexaplan/run/1", "complete": true, "device": "cpu",
      "scenario": {"schema": "hexaplan/scenario/1", "model": "llama-3.2-1b", "cluster": "2xH100", "layout": "tp2",
                   "framework": "hexaplan", "recipe": {"sequence": 128, "micro_batch": 1, "global_batch": 1}},
      "steps": [{"step": 1, "loss": 11.7, "gradient_norm": 1.0, "learning_rate": 0.001, "seconds": 0.25}],
      "ranks": [{"rank": 0, "stage": 0, "device": "cpu, float32",
                 "memory": {"peak_bytes": 9000000000, "peak_bytes_by_kind": {"parameters": 3000000000}}}]})";
    openFile(written(folder_, "run.json", report));
    QVERIFY2(window_->message().isEmpty(), qPrintable(window_->message()));
    QVERIFY(find<QWidget>("validationPage")->isVisible());
    const auto* terms = find<QTableView>("terms")->model();
    QVERIFY(terms->rowCount() >= 3);
    QCOMPARE(terms->index(0, 2).data(Qt::UserRole).toDouble(), 0.25);
    QVERIFY(find<PlotView>("residuals")->itemCount() >= 1);
    // What was rejected before it began has nothing to show.
    openFile(written(folder_, "rejected.json", R"({"schema": "hexaplan/run/1", "complete": false})"));
    QVERIFY2(window_->message().contains("rejected before it began"), qPrintable(window_->message()));
  }

  void measured_rows_are_plotted_against_their_predictions() {
    const QByteArray rows = R"({"schema": "hexaplan/accuracy/1", "rows": [
      {"case_id": "a", "source": "x", "time": {"predicted": 1.1, "measured": 1.0, "error": 0.1},
       "memory": {"allocated": {"predicted": 5e9, "measured": 6e9, "error": -0.17}}},
      {"case_id": "b", "source": "y", "skipped": "no such model"}]})";
    openFile(written(folder_, "accuracy.json", rows));
    QVERIFY2(window_->message().isEmpty(), qPrintable(window_->message()));
    QCOMPARE(find<PlotView>("residuals")->itemCount(), 1);
    find<QComboBox>("residualFigure")->setCurrentIndex(1);
    QCOMPARE(find<PlotView>("residuals")->itemCount(), 1);
  }

  void every_page_is_reached_by_keyboard() {
    startWith("llama-3.1-8b", "8xH100");
    for (int i = window_->pages().count() - 1; i >= 0; --i) {
      QTest::keyClick(window_.get(), static_cast<Qt::Key>(Qt::Key_1 + i), Qt::ControlModifier);
      QCOMPARE(window_->pages().currentIndex(), i);
    }
  }

  void the_command_line_asks_the_same() {
    startWith("llama-3.1-8b", "64xH100");
    choose("layout.tp", "4");
    choose("recipe.sequence", "8k");
    find<QAction>("actionCopyCommand")->trigger();
    const QString command = QApplication::clipboard()->text();
    QCOMPARE(command, "hexaplan estimate --model llama-3.1-8b --cluster 64xH100 --layout tp4 --seq 8192");
    choose("model.layers", "16");
    find<QAction>("actionCopyCommand")->trigger();
    QVERIFY(QApplication::clipboard()->text().startsWith("hexaplan estimate --scenario - <<'END'\n{"));
  }

  void a_crash_loses_nothing() {
    startWith("llama-3.1-8b", "8xH100");
    const auto request = window_->document().request();
    QTRY_VERIFY_WITH_TIMEOUT(QFile::exists(recoveryPath()), kPatience);
    QFile::copy(recoveryPath(), folder_.filePath("kept.json"));
    window_ = std::make_unique<MainWindow>();
    QFile::copy(folder_.filePath("kept.json"), recoveryPath());
    window_->recover();
    QVERIFY(window_->document().request() == request);
    QVERIFY(!QFile::exists(recoveryPath()));
  }

  void every_input_has_a_name_for_those_who_do_not_see_it() {
    startWith("mixtral-8x7b", "64xH100");
    int inputs = 0;
    for (const QWidget* widget : window_->findChildren<QWidget*>()) {
      const bool input = qobject_cast<const QComboBox*>(widget) != nullptr ||
                         qobject_cast<const QAbstractSlider*>(widget) != nullptr ||
                         qobject_cast<const QLineEdit*>(widget) != nullptr ||
                         qobject_cast<const QCheckBox*>(widget) != nullptr ||
                         qobject_cast<const QAbstractItemView*>(widget) != nullptr ||
                         qobject_cast<const PlotView*>(widget) != nullptr;
      // Parts that Qt makes by itself: scroll bars, lists of combo boxes, the search line of a list.
      const bool own = !widget->objectName().isEmpty() && !widget->objectName().startsWith("qt_");
      if (!input || !own) continue;
      ++inputs;
      QVERIFY2(!widget->accessibleName().isEmpty(), qPrintable(widget->objectName()));
    }
    QVERIFY(inputs > 60);
  }

  void a_page_is_printed_as_pdf() {
    startWith("llama-3.1-8b", "8xH100");
    const QString path = folder_.filePath("page.pdf");
    QPrinter printer;
    printer.setOutputFormat(QPrinter::PdfFormat);
    printer.setOutputFileName(path);
    window_->printTo(printer);
    QVERIFY(contentOf(path).startsWith("%PDF"));
    QVERIFY(contentOf(path).size() > 5000);
  }

  void light_and_dark_change_what_is_painted() {
    startWith("llama-3.1-8b", "8xH100");
    applyTheme(Theme::Light);
    const QImage light = window_->grab().toImage();
    find<QAction>("actionDark")->setChecked(true);
    QCOMPARE(currentTheme(), Theme::Dark);
    QTest::qWait(50);
    const QImage dark = window_->grab().toImage();
    QVERIFY(light.pixelColor(640, 400) != dark.pixelColor(640, 400));
    find<QAction>("actionDark")->setChecked(false);
  }
};

}  // namespace hexaplan::gui

QTEST_MAIN(hexaplan::gui::WindowTest)
#include "window_test.moc"
