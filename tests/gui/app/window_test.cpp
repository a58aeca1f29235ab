// Drives the real window as a person does: keys, mouse, menus.
#include <QAbstractItemModel>
#include <QAbstractSlider>
#include <QAction>
#include <QCheckBox>
#include <QClipboard>
#include <QElapsedTimer>
#include <QLabel>
#include <QPushButton>
#include <QSlider>
#include <QTabWidget>
#include <QTableView>
#include <QTreeView>

#include "gui/app/main_window/theme.h"
#include "gui/app/setup/field_row.h"
#include "gui/app/setup/setup_panel.h"
#include "gui/plot/plot_view.h"
#include "gui/plot/stage_memory_bars.h"
#include "window_fixture.h"

namespace hexaplan::gui {

class WindowTest : public WindowFixture {
  Q_OBJECT

 private slots:
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

  // What a new user does: no manual, well under a minute.
  void from_an_empty_start_to_a_plan_that_fits() {
    QElapsedTimer clock;
    clock.start();
    QVERIFY(find<QWidget>("startPage")->isVisible());
    drop({QUrl::fromLocalFile(kConfig)});
    QVERIFY(answered());
    QVERIFY(answer().has_model);
    QVERIFY2(find<QWidget>("startPage")->isVisible(), "the GPUs are still to be chosen");
    QTest::mouseClick(find<QPushButton>("startCluster.64xH100"), Qt::LeftButton);
    QVERIFY(answered());
    QVERIFY(answer().priced());
    // An engineer wants more: 128k tokens do not fit in the layout that was not chosen.
    type("recipe.sequence", "128k");
    QVERIFY(!answer().fits());
    QCOMPARE(find<QLabel>("badge")->text(), "Does not fit");
    QVERIFY(!find<QLabel>("reason")->text().isEmpty());
    QTest::keyClick(window_.get(), Qt::Key_3, Qt::ControlModifier);
    QSignalSpy found{&window_->search(), &SearchJob::found};
    QTest::mouseClick(find<QPushButton>("startSearch"), Qt::LeftButton);
    QVERIFY(found.wait(kPatience));
    auto* plans = find<QTableView>("plans");
    QVERIFY(plans->model()->rowCount() > 0);
    // A click on the first plan, then Enter.
    const QRect row = plans->visualRect(plans->model()->index(0, 1));
    QTest::mouseClick(plans->viewport(), Qt::LeftButton, Qt::NoModifier, row.center());
    QTest::keyClick(plans, Qt::Key_Return);
    QVERIFY(answered());
    QVERIFY(answer().fits());
    QCOMPARE(find<QLabel>("badge")->text(), "Fits");
    QCOMPARE(answer().scenario.recipe.sequence, 131072);
    QCOMPARE(answer().scenario.cluster.gpus, 64);
    QVERIFY2(clock.elapsed() < 60'000, qPrintable(QString::number(clock.elapsed())));
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

  void every_page_is_reached_by_keyboard() {
    startWith("llama-3.1-8b", "8xH100");
    for (int i = window_->pages().count() - 1; i >= 0; --i) {
      QTest::keyClick(window_.get(), static_cast<Qt::Key>(Qt::Key_1 + i), Qt::ControlModifier);
      QCOMPARE(window_->pages().currentIndex(), i);
    }
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

  void one_switch_turns_every_byte_count_to_gb() {
    startWith("llama-3.1-8b", "8xH100");
    const auto shown = [&] {
      QStringList texts{find<QLabel>("value.memory")->text(), find<QLabel>("stageCaption")->text(),
                        find<StageMemoryBars>("stageBars")->textAlternative()};
      const auto* ledger = find<QTreeView>("ledger")->model();
      texts.append(ledger->index(0, 1).data().toString());
      return texts;
    };
    for (const QString& text : shown()) QVERIFY2(text.contains("GiB"), qPrintable(text));
    find<QAction>("actionDecimal")->setChecked(true);
    for (const QString& text : shown())
      QVERIFY2(text.contains(" GB") && !text.contains("GiB"), qPrintable(text));
    find<QAction>("actionDecimal")->setChecked(false);
  }

  void selected_rows_are_copied_for_spreadsheets() {
    startWith("llama-3.1-8b", "8xH100");
    window_->document().pinBaseline();
    window_->pages().setCurrentIndex(3);
    auto* table = find<QTableView>("comparison");
    QTRY_VERIFY(table->model()->rowCount() > 3);
    table->selectRow(2);
    table->findChild<QAction*>("copyRows")->trigger();
    const QStringList lines = QApplication::clipboard()->text().split('\n', Qt::SkipEmptyParts);
    QCOMPARE(lines.size(), 2);
    QCOMPARE(lines[0].count('\t'), table->model()->columnCount() - 1);
    QVERIFY(lines[1].contains(table->model()->index(2, 1).data().toString()));
    table->clearSelection();
    table->findChild<QAction*>("copyRows")->trigger();
    QCOMPARE(QApplication::clipboard()->text().count('\n'), table->model()->rowCount() + 1);
  }
};

}  // namespace hexaplan::gui

QTEST_MAIN(hexaplan::gui::WindowTest)
#include "window_test.moc"
