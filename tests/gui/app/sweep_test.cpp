// A heat map of the best plans over two fields, in the window's search page.
#include <QAbstractItemModel>
#include <QAccessible>
#include <QClipboard>
#include <QComboBox>
#include <QLabel>
#include <QProgressBar>
#include <QPushButton>
#include <QTabWidget>
#include <QTableView>

#include "gui/models/cell.h"
#include "gui/plot/heat_map.h"
#include "planner/search/search.h"
#include "tests/gui/app/window_fixture.h"

namespace hexaplan::gui {

class SweepTest : public WindowFixture {
  Q_OBJECT

 private:
  HeatMap* map() { return find<HeatMap>("heatMap"); }
  QString says() { return find<QLabel>("sweepSays")->text(); }
  void openHeatMap() {
    window_->pages().setCurrentIndex(2);
    find<QTabWidget>("searchTabs")->setCurrentIndex(1);
  }
  /// A sweep as a person asks for one: types the values and presses Enter.
  void sweep(const QString& rows, const QString& columns) {
    openHeatMap();
    for (const auto& [box, values] : {std::pair{"sweepRowValues", rows}, {"sweepColumnValues", columns}}) {
      auto* edit = find<QLineEdit>(box);
      edit->setFocus();
      edit->selectAll();
      QTest::keyClicks(edit, values);
    }
    press(Qt::Key_Return);
    QVERIFY(QTest::qWaitFor([&] { return !find<QPushButton>("cancelSweep")->isVisible(); }, kPatience));
  }

 private slots:
  void every_pair_has_the_plan_that_a_search_lists_first() {
    startWith("llama-3.1-8b", "8xH100");
    choose("recipe.global_batch", "64");
    sweep("4k..16k", "8,16");
    QVERIFY2(says().contains("6 of 6 pairs"), qPrintable(says()));
    QCOMPARE(map()->itemCount(), 6);
    QCOMPARE(map()->cells().rows, (QStringList{"4096", "8192", "16384"}));
    // The same by hand: the question of a cell, and its search.
    choose("recipe.sequence", "8192");
    choose("cluster.gpus", "16");
    planner::SearchProblem problem = problemOf(answer());
    problem.constraints.max_risk = planner::kDefaultRisk;
    const planner::Ranking alone = planner::search(problem);
    QVERIFY(!alone.plans.empty());
    const double listed = alone.plans.front().plan.price.tokens_per_second_per_gpu;
    QVERIFY(std::abs(*map()->cells().cells[3].value / listed - 1) < 1e-9);
  }

  void metrics_change_the_colours_and_their_unit() {
    startWith("llama-3.1-8b", "8xH100");
    sweep("4k,8k", "8,16");
    auto* metric = find<QComboBox>("sweepMetric");
    QVERIFY(map()->describe(0).contains("tokens/s per GPU"));
    const QPixmap before = map()->grab();
    metric->setFocus();
    press(Qt::Key_Down);
    QVERIFY(map()->describe(0).contains("step time"));
    QVERIFY(map()->describe(0).contains(" s\n") || map()->describe(0).contains(" ms\n"));
    QVERIFY(map()->grab().toImage() != before.toImage());
    for (const char* title : {"MFU", "free memory per GPU", "cost per million tokens"}) {
      press(Qt::Key_Down);
      QVERIFY2(map()->describe(0).contains(title), qPrintable(map()->describe(0)));
    }
  }

  void a_pair_that_nothing_fits_is_hatched_and_says_why() {
    startWith("llama-3.1-70b", "64xH100");
    sweep("4k", "4, 64");
    QVERIFY2(says().contains("1 of 2 pairs"), qPrintable(says()));
    QVERIFY(!map()->cells().cells[0].value.has_value());
    const QString words = map()->describe(0);
    QVERIFY2(words.contains("no plan") && words.contains("memory"), qPrintable(words));
    map()->setCurrentItem(0);
    map()->setFocus();
    press(Qt::Key_Return);
    QVERIFY2(says().contains("Nothing to load"), qPrintable(says()));
  }

  void arrows_go_over_cells_and_enter_loads_the_plan_with_its_question() {
    startWith("llama-3.1-8b", "8xH100");
    choose("recipe.global_batch", "64");
    sweep("4k,8k", "8,16");
    map()->setFocus();
    press(Qt::Key_Home);
    press(Qt::Key_Right);
    press(Qt::Key_Down);
    QCOMPARE(map()->currentItem(), 3);
    const auto* spoken = QAccessible::queryAccessibleInterface(map());
    const QString words = spoken->text(QAccessible::Description);
    QVERIFY2(words.contains("8k") && words.contains("16"), qPrintable(words));
    press(Qt::Key_Return);
    QCOMPARE(answer().scenario.recipe.sequence, 8192);
    QCOMPARE(answer().scenario.cluster.gpus, 16);
    QVERIFY(answer().fits());
    press(Qt::Key_Z, Qt::ControlModifier);
    QCOMPARE(answer().scenario.cluster.gpus, 8);
  }

  void a_click_loads_too() {
    startWith("llama-3.1-8b", "8xH100");
    sweep("4k,8k", "8,16");
    const QPoint first{map()->width() / 3, map()->height() / 3};
    QTest::mouseClick(map(), Qt::LeftButton, {}, first);
    QVERIFY(answered());
    QCOMPARE(answer().scenario.recipe.sequence, 4096);
  }

  void the_table_has_every_pair_for_spreadsheets() {
    startWith("llama-3.1-8b", "8xH100");
    sweep("4k,8k", "8,16");
    auto* table = find<QTableView>("sweptPlans");
    QCOMPARE(table->model()->rowCount(), 4);
    table->setFocus();
    press(Qt::Key_X, Qt::ControlModifier | Qt::ShiftModifier);
    const QStringList lines = QApplication::clipboard()->text().split('\n', Qt::SkipEmptyParts);
    QCOMPARE(lines.size(), 5);
    QVERIFY2(lines[0].contains("step time (s)") && lines[0].contains("free memory (B)"),
             qPrintable(lines[0]));
    QVERIFY2(lines[0].startsWith("Sequence,GPUs"), qPrintable(lines[0]));
  }

  void what_cannot_be_swept_is_refused_in_a_sentence() {
    startWith("llama-3.1-8b", "8xH100");
    sweep("32k..4k", "8");
    QVERIFY2(says().startsWith("Not searched") && says().contains("doubles"), qPrintable(says()));
    const QString many{"1..900000000,3..900000000,5..900000000"};
    sweep(many, many);
    QVERIFY2(says().contains("there may be 1 to 4096"), qPrintable(says()));
    find<QComboBox>("sweepColumns")->setCurrentIndex(0);
    sweep("4k", "8k");
    QVERIFY2(says().contains("two different fields"), qPrintable(says()));
    find<QComboBox>("sweepColumns")->setCurrentIndex(1);
    sweep("4k, seven", "8");
    QVERIFY2(says().contains("1 of 2 pairs"), qPrintable(says()));
    QVERIFY2(map()->describe(1).contains("seven"), qPrintable(map()->describe(1)));
  }

  void every_field_that_is_offered_can_be_swept() {
    startWith("llama-3.1-8b", "8xH100");
    auto* rows = find<QComboBox>("sweepRows");
    openHeatMap();
    for (int field = 2; field < rows->count(); ++field) {
      rows->setCurrentIndex(field);
      sweep(find<QLineEdit>("sweepRowValues")->text(), "8");
      for (int cell = 0; cell < map()->itemCount(); ++cell) {
        const QString words = map()->describe(cell);
        QVERIFY2(!words.contains("expected"), qPrintable(words));  // of bad input
      }
    }
  }

  void nothing_is_swept_without_measured_rates() {
    QTemporaryDir folder;
    openFile(written(folder, "plan.json",
                     R"({"schema": "hexaplan/scenario/1", "model": "llama-3.1-8b", "cluster": "8xH100",
                         "calibration": "nosuch"})"));
    sweep("4k..16k", "8,16");
    QVERIFY(!find<QPushButton>("startSweep")->isEnabled());
    QCOMPARE(map()->itemCount(), 0);
  }

  void a_sweep_can_be_cancelled_and_keeps_what_is_done() {
    startWith("deepseek-v3", "2048xH800");
    openHeatMap();
    find<QLineEdit>("sweepRowValues")->setText("2k..64k");
    find<QLineEdit>("sweepColumnValues")->setText("512..8192");
    auto* start = find<QPushButton>("startSweep");
    start->setFocus();
    press(Qt::Key_Space);
    auto* cancel = find<QPushButton>("cancelSweep");
    QVERIFY(QTest::qWaitFor([&] { return cancel->isVisible(); }, kPatience));
    QVERIFY(cancel->hasFocus());
    press(Qt::Key_Space);
    QVERIFY(QTest::qWaitFor([&] { return !cancel->isVisible(); }, kPatience));
    QVERIFY2(says().startsWith("Cancelled"), qPrintable(says()));
    QCOMPARE(map()->itemCount(), 30);
  }
};

}  // namespace hexaplan::gui

QTEST_MAIN(hexaplan::gui::SweepTest)
#include "sweep_test.moc"
