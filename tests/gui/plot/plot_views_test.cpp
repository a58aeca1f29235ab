#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <QAccessible>
#include <QApplication>
#include <QFontMetricsF>
#include <QPainter>
#include <QScrollBar>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>
#include <QWhatsThis>
#include <QWheelEvent>
#include <algorithm>
#include <memory>

#include "costmodel/simulate/simulation.h"
#include "gui/models/ledger_tree.h"
#include "gui/plot/axes.h"
#include "gui/plot/memory_curve.h"
#include "gui/plot/residual_plot.h"
#include "gui/plot/scatter_plot.h"
#include "gui/plot/simulation_views.h"
#include "gui/plot/stage_memory_bars.h"
#include "gui/plot/time_breakdown.h"
#include "gui/plot/timeline.h"
#include "gui/plot/treemap.h"
#include "tests/gui/support/example_views.h"

namespace hexaplan::gui {
namespace {

std::unique_ptr<StageMemoryBars> memoryBars(const Example& example) {
  auto view = std::make_unique<StageMemoryBars>();
  view->setEstimate(example.estimate, example.scenario.cluster.gpu.memory);
  view->resize(800, 400);
  return view;
}
std::unique_ptr<Treemap> treemap(const Example& example) {
  auto view = std::make_unique<Treemap>();
  view->setTree(ledgerTree(costmodel::build_ledger(example.scenario, 0), example.estimate.stages[0].instant,
                           example.estimate.stages[0]));
  view->resize(800, 400);
  return view;
}
std::unique_ptr<Timeline> timeline() {
  auto view = std::make_unique<Timeline>();
  view->setTimeline(madeUpTimeline(4, 400));
  view->resize(800, 400);
  return view;
}
std::unique_ptr<ScatterPlot> scatter() {
  ScatterData data{.x_title = "step time", .y_title = "peak memory"};
  data.points = {{.x = 3, .y = 5e9, .label = "c"},
                 {.x = 1, .y = 9e9, .on_front = true, .label = "a"},
                 {.x = 2, .y = 4e9, .on_front = true, .label = "b"}};
  auto view = std::make_unique<ScatterPlot>();
  view->setPoints(data);
  view->resize(600, 400);
  return view;
}

/// One of each, filled.
std::vector<std::unique_ptr<PlotView>> everyView() {
  const Example large = largeExample(4);
  std::vector<std::unique_ptr<PlotView>> views;
  views.push_back(memoryBars(large));
  views.push_back(treemap(large));
  views.push_back(timeline());
  views.push_back(scatter());
  auto time = std::make_unique<TimeBreakdown>();
  time->setTime(large.estimate.time, large.estimate.step_seconds);
  time->setBaseline(largeExample(8).estimate.time);
  views.push_back(std::move(time));
  auto curve = std::make_unique<MemoryCurve>();
  curve->setCurve({.stage = "stage 0",
                   .samples = {{0, 0, 20e9}, {1, 30e9, 20e9}, {2, 0, 20e9}},
                   .outside = 2e9,
                   .end = 3,
                   .usable = 79e9,
                   .device = 85e9});
  views.push_back(std::move(curve));
  auto residuals = std::make_unique<ResidualPlot>();
  residuals->setResiduals({.points = {{1.0, 1.1, 0, "a"}, {3.0, 2.0, 1, "b"}, {0, 1, 0, "unusable"}},
                           .groups = {"megatron", "nanotron"}});
  views.push_back(std::move(residuals));
  return views;
}

TEST(views, every_view_has_a_name_help_and_a_description_in_words) {
  for (const auto& view : everyView()) {
    EXPECT_FALSE(view->accessibleName().isEmpty());
    EXPECT_FALSE(view->whatsThis().isEmpty());
    QAccessibleInterface* accessible = QAccessible::queryAccessibleInterface(view.get());
    ASSERT_NE(accessible, nullptr);
    EXPECT_EQ(accessible->text(QAccessible::Name), view->accessibleName());
    EXPECT_EQ(accessible->text(QAccessible::Description), view->textAlternative());
    EXPECT_GT(view->textAlternative().size(), 40);
    EXPECT_EQ(view->focusPolicy(), Qt::StrongFocus);
    for (int i = 0; i < view->itemCount(); ++i) EXPECT_FALSE(view->describe(i).isEmpty());
  }
}

TEST(views, arrows_reach_every_item_and_enter_activates_it) {
  for (const auto& view : everyView()) {
    if (qobject_cast<Treemap*>(view.get()) != nullptr) continue;  // Enter drills: below
    view->resize(700, 400);
    view->show();
    QTest::keyClick(view.get(), Qt::Key_Home);
    EXPECT_EQ(view->currentItem(), 0);
    QSignalSpy activated(view.get(), &PlotView::itemActivated);
    QTest::keyClick(view.get(), Qt::Key_Return);
    EXPECT_EQ(activated.count(), 1) << view->accessibleName().toStdString();
    QTest::keyClick(view.get(), Qt::Key_End);
    EXPECT_EQ(view->currentItem(), view->itemCount() - 1);
    QTest::keyClick(view.get(), Qt::Key_Escape);
    EXPECT_EQ(view->currentItem(), -1);
  }
}

TEST(views, a_question_mark_says_what_they_show_and_their_keys) {
  const auto said = [] {
    const auto tops = QApplication::topLevelWidgets();
    const auto help = std::find_if(tops.begin(), tops.end(), [](const QWidget* top) {
      return top->inherits("QWhatsThat") && top->isVisible();
    });
    return help != tops.end();
  };
  for (const auto& view : everyView()) {
    view->resize(400, 300);
    view->show();
    EXPECT_FALSE(said());
    QTest::keyClick(view.get(), Qt::Key_Question, Qt::ShiftModifier);
    EXPECT_TRUE(said()) << view->accessibleName().toStdString();
    QWhatsThis::hideText();
    QCoreApplication::processEvents();
  }
}

TEST(views, paint_something_else_in_the_dark_and_nothing_breaks_at_the_smallest_size) {
  for (const auto& view : everyView()) {
    for (const QSize& size : {QSize(900, 500), view->minimumSizeHint(), QSize(3, 3)}) {
      QImage light(size, QImage::Format_RGB32), dark(size, QImage::Format_RGB32);
      QPainter on_light(&light), on_dark(&dark);
      view->resize(size);
      view->paintTo(on_light, size, PlotTheme::lightTheme());
      view->paintTo(on_dark, size, PlotTheme::darkTheme());
      EXPECT_NE(light, dark) << view->accessibleName().toStdString();
    }
  }
}

TEST(views, look_the_same_at_every_resolution_that_a_device_claims) {
  for (const auto& view : everyView()) {
    const QSize size(700, 400);
    view->resize(size);
    QImage screen(size, QImage::Format_RGB32), paper(size, QImage::Format_RGB32);
    paper.setDotsPerMeterX(screen.dotsPerMeterX() * 8);
    paper.setDotsPerMeterY(screen.dotsPerMeterY() * 8);
    QPainter on_screen(&screen), on_paper(&paper);
    view->paintTo(on_screen, size, PlotTheme::lightTheme());
    view->paintTo(on_paper, size, PlotTheme::lightTheme());
    paper.setDotsPerMeterX(screen.dotsPerMeterX());
    paper.setDotsPerMeterY(screen.dotsPerMeterY());
    EXPECT_EQ(screen, paper) << view->accessibleName().toStdString();
  }
}

TEST(views, export_themselves_as_png_svg_and_pdf) {
  const QTemporaryDir folder;
  for (const auto& view : everyView()) {
    view->resize(600, 320);
    QString problem;
    const QString base = folder.filePath(view->accessibleName());
    ASSERT_TRUE(view->exportTo(base + ".png", &problem)) << problem.toStdString();
    EXPECT_EQ(QImage(base + ".png").size(), QSize(1200, 640));
    ASSERT_TRUE(view->exportTo(base + ".svg", &problem)) << problem.toStdString();
    ASSERT_TRUE(view->exportTo(base + ".pdf", &problem)) << problem.toStdString();
    QFile svg(base + ".svg"), pdf(base + ".pdf");
    ASSERT_TRUE(svg.open(QIODevice::ReadOnly) && pdf.open(QIODevice::ReadOnly));
    EXPECT_TRUE(svg.readAll().contains("</svg>"));
    EXPECT_TRUE(pdf.readAll().startsWith("%PDF-"));
  }
}

TEST(views, say_why_an_export_failed) {
  const auto view = scatter();
  QString problem;
  EXPECT_FALSE(view->exportTo("/chart.jpeg", &problem));
  EXPECT_EQ(problem, "/chart.jpeg: charts are written as .png, .svg or .pdf");
  EXPECT_FALSE(view->exportTo("/no/such/folder/chart.svg", &problem));
  EXPECT_TRUE(problem.startsWith("/no/such/folder/chart.svg: ")) << problem.toStdString();
}

TEST(stage_memory_bars, words_say_what_fits_and_by_how_much_the_baseline_differs) {
  const Example fits = example("llama-3.1-8b", "8xH100", "tp2 dp4 zero1 sp", 8192, 128);
  const auto view = memoryBars(fits);
  EXPECT_TRUE(view->textAlternative().contains("All fit."));
  EXPECT_TRUE(view->describe(0).contains("to spare"));
  const Example over = example("llama-3.1-8b", "8xH100", "dp8", 8192, 128);
  view->setEstimate(over.estimate, over.scenario.cluster.gpu.memory);
  view->setBaseline(fits.estimate.stages);
  EXPECT_TRUE(view->describe(0).contains("does not fit"));
  EXPECT_TRUE(view->describe(0).contains("baseline: " + bytesText(fits.estimate.stages[0].device)));
  view->setByteUnit(ByteUnit::Decimal);
  EXPECT_TRUE(view->describe(0).contains(" GB"));
  EXPECT_FALSE(view->describe(0).contains("GiB"));
}

TEST(stage_memory_bars, the_mouse_finds_the_stage_below_it) {
  const auto view = memoryBars(largeExample(16));
  view->show();
  QSignalSpy activated(view.get(), &PlotView::itemActivated);
  QTest::mouseMove(view.get(), QPoint(400, 200));
  QTest::mouseClick(view.get(), Qt::LeftButton, {}, QPoint(400, 200));
  ASSERT_EQ(activated.count(), 1);
  const int stage = activated.front().front().toInt();
  EXPECT_GT(stage, 4);
  EXPECT_LT(stage, 12);
}

TEST(treemap, enter_goes_into_a_kind_and_backspace_back) {
  const auto view = treemap(largeExample(4));
  view->show();
  QSignalSpy path(view.get(), &Treemap::pathChanged);
  QTest::keyClick(view.get(), Qt::Key_Home);
  QTest::keyClick(view.get(), Qt::Key_Return);
  ASSERT_FALSE(view->path().isEmpty());
  EXPECT_EQ(path.count(), 1);
  const int inside = view->itemCount();
  QTest::keyClick(view.get(), Qt::Key_Backspace);
  EXPECT_TRUE(view->path().isEmpty());
  EXPECT_GT(view->itemCount(), inside);
}

TEST(treemap, a_new_ledger_keeps_the_path_where_it_still_leads_somewhere) {
  const Example large = largeExample(4);
  const auto view = treemap(large);
  view->setPath({"activations"});
  ASSERT_EQ(view->path(), QStringList{"activations"});
  view->setTree(
      ledgerTree(costmodel::build_ledger(large.scenario, 1), costmodel::kBackward, large.estimate.stages[1]));
  EXPECT_EQ(view->path(), QStringList{"activations"});
  view->setTree(
      ledgerTree(costmodel::build_ledger(large.scenario, 1), costmodel::kIdle, large.estimate.stages[1]));
  EXPECT_TRUE(view->path().isEmpty()) << "between steps there are no activations";
}

TEST(timeline, keys_zoom_move_and_fit) {
  const auto view = timeline();
  view->show();
  const TimeWindow whole = view->window();
  QSignalSpy changed(view.get(), &Timeline::windowChanged);
  QTest::keyClick(view.get(), Qt::Key_W);
  EXPECT_LT(view->window().width(), whole.width());
  const double low = view->window().low();
  QTest::keyClick(view.get(), Qt::Key_D);
  EXPECT_GT(view->window().low(), low);
  QTest::keyClick(view.get(), Qt::Key_A);
  EXPECT_NEAR(view->window().low(), low, 1e-9);
  QTest::keyClick(view.get(), Qt::Key_S);
  QTest::keyClick(view.get(), Qt::Key_F);
  EXPECT_EQ(view->window(), whole);
  EXPECT_GE(changed.count(), 4);
}

TEST(timeline, wheel_zooms_where_the_mouse_is_and_dragging_moves) {
  const auto view = timeline();
  view->show();
  const TimeWindow whole = view->window();
  QWheelEvent wheel(QPointF(400, 200), view->mapToGlobal(QPointF(400, 200)), {}, {0, 480}, {}, {}, {}, false);
  QCoreApplication::sendEvent(view.get(), &wheel);
  const TimeWindow zoomed = view->window();
  EXPECT_LT(zoomed.width(), 0.5 * whole.width());
  EXPECT_GT(zoomed.low(), 0);
  QTest::mousePress(view.get(), Qt::LeftButton, {}, QPoint(400, 200));
  QMouseEvent move(QEvent::MouseMove, QPointF(300, 200), view->mapToGlobal(QPointF(300, 200)), Qt::NoButton,
                   Qt::LeftButton, {});
  QCoreApplication::sendEvent(view.get(), &move);
  QTest::mouseRelease(view.get(), Qt::LeftButton, {}, QPoint(300, 200));
  EXPECT_GT(view->window().low(), zoomed.low()) << "dragged to the left, later times come in";
  EXPECT_NEAR(view->window().width(), zoomed.width(), 1e-9);
}

TEST(timeline, columns_become_spans_with_labels_when_zoomed_in) {
  Timeline view;
  view.resize(800, 400);
  view.setTimeline(madeUpTimeline(16, 100'000));
  EXPECT_FALSE(view.showsSpans(0));
  view.setWindow(TimeWindow(100, 130, view.window().whole().high()));
  EXPECT_TRUE(view.showsSpans(0));
  view.setCurrentItem(3);
  EXPECT_TRUE(view.describe(3).contains("micro-batch")) << view.describe(3).toStdString();
}

TEST(timeline, lanes_of_many_stages_are_scrolled_through_and_ctrl_zooms) {
  Timeline view;
  view.resize(800, 400);
  view.setTimeline(madeUpTimeline(128, 10'000));
  view.show();
  EXPECT_LE(view.minimumSizeHint().height(), 200) << "however many lanes there are";
  ASSERT_FALSE(view.lanesBar().isHidden());
  const TimeWindow whole = view.window();
  const auto turn = [&](Qt::KeyboardModifiers keys, int by) {
    QWheelEvent wheel(QPointF(400, 200), view.mapToGlobal(QPointF(400, 200)), {}, {0, by}, {}, keys, {},
                      false);
    QCoreApplication::sendEvent(&view, &wheel);
  };
  turn({}, -240);
  EXPECT_GT(view.lanesBar().value(), 0);
  EXPECT_EQ(view.window(), whole);
  turn(Qt::ControlModifier, 240);
  EXPECT_LT(view.window().width(), whole.width());
  // Keys bring lanes into view as well: the last stage lies below at first.
  view.lanesBar().setValue(0);
  for (int i = 0; i < 255; ++i) QTest::keyClick(&view, Qt::Key_Down);
  EXPECT_GE(view.lanesBar().value(), view.lanesBar().maximum() - 10);
  view.setTimeline(madeUpTimeline(4, 400));
  EXPECT_TRUE(view.lanesBar().isHidden());
}

TEST(timeline, dragging_with_shift_sums_up_what_it_covers) {
  const auto view = timeline();
  view->show();
  QSignalSpy changed(view.get(), &Timeline::selectionChanged);
  // Of the last of four stages: its wait for the third second, a forward pass and most of a backward pass.
  view->select(2, 5.5, 6, 6);
  EXPECT_EQ(view->selectedText().toStdString(),
            "Selected: 3.5 s from 2 s in 1 lane(s): backward 1.5 s, forward 1 s, waiting 1 s.");
  view->clearSelection();
  EXPECT_EQ(view->selectedText(), "");
  EXPECT_EQ(changed.count(), 2);
  const TimeWindow window = view->window();
  QTest::mousePress(view.get(), Qt::LeftButton, Qt::ShiftModifier, QPoint(300, 100));
  QMouseEvent move(QEvent::MouseMove, QPointF(500, 300), view->mapToGlobal(QPointF(500, 300)), Qt::NoButton,
                   Qt::LeftButton, Qt::ShiftModifier);
  QCoreApplication::sendEvent(view.get(), &move);
  QTest::mouseRelease(view.get(), Qt::LeftButton, Qt::ShiftModifier, QPoint(500, 300));
  EXPECT_EQ(view->window(), window) << "nothing is moved";
  EXPECT_TRUE(view->selectedText().contains("backward ")) << view->selectedText().toStdString();
  QTest::keyClick(view.get(), Qt::Key_Escape);
  EXPECT_EQ(view->selectedText(), "");
}

TEST(timeline, words_and_numbers_leave_the_spans_that_answer_them) {
  const auto view = timeline();
  const int all = view->itemCount();
  view->setFilter("BACKWARD  2..3");
  EXPECT_EQ(view->itemCount(), 8) << "two of four stages each";
  EXPECT_TRUE(view->describe(0).startsWith("backward, stage 0")) << view->describe(0).toStdString();
  EXPECT_EQ(view->filterText(), QString("Filter: 8 of %1 spans: backward 16 s.").arg(countText(all)))
      << view->filterText().toStdString();
  view->setFilter("7");
  EXPECT_TRUE(view->describe(0).contains("micro-batch 7")) << view->describe(0).toStdString();
  view->setFilter("nobody");
  EXPECT_EQ(view->itemCount(), 0);
  EXPECT_EQ(view->spokenText(), "No span is called so.");
  view->setFilter("");
  EXPECT_EQ(view->itemCount(), all);
  EXPECT_EQ(view->filterText(), "");
}

TEST(timeline, lanes_of_a_stage_are_folded_into_its_first_by_key_and_by_the_triangle) {
  const auto view = timeline();
  view->show();
  ASSERT_FALSE(view->laneRect(1).isEmpty());
  const double height = view->laneRect(0).height();
  QTest::mouseClick(view.get(), Qt::LeftButton, {},
                    QPoint(4, static_cast<int>(view->laneRect(0).center().y())));
  EXPECT_TRUE(view->isFolded(0));
  EXPECT_TRUE(view->laneRect(1).isEmpty());
  EXPECT_FALSE(view->laneRect(3).isEmpty()) << "of the next stage";
  EXPECT_GT(view->laneRect(0).height(), height) << "there is more room";
  QTest::keyClick(view.get(), Qt::Key_C);
  EXPECT_FALSE(view->isFolded(0));
  QTest::keyClick(view.get(), Qt::Key_C, Qt::ShiftModifier);
  for (int lane = 0; lane < 8; ++lane) EXPECT_EQ(view->laneRect(lane).isEmpty(), lane % 2 == 1) << lane;
  QTest::keyClick(view.get(), Qt::Key_Home);
  QTest::keyClick(view.get(), Qt::Key_Down);
  EXPECT_TRUE(view->describe(view->currentItem()).contains("stage 1, compute"))
      << view->describe(view->currentItem()).toStdString();
  QTest::keyClick(view.get(), Qt::Key_C, Qt::ShiftModifier);
  EXPECT_FALSE(view->laneRect(1).isEmpty());
}

TEST(timeline, a_pinned_stage_stays_above_those_that_are_scrolled) {
  Timeline view;
  view.resize(800, 400);
  view.setTimeline(madeUpTimeline(128, 10'000));
  view.show();
  EXPECT_TRUE(view.laneRect(200).isEmpty()) << "stage 100 lies below";
  view.setPinned(100, true);
  const QRectF pinned = view.laneRect(200);
  ASSERT_FALSE(pinned.isEmpty());
  EXPECT_LT(pinned.top(), view.laneRect(0).top());
  view.lanesBar().setValue(view.lanesBar().maximum());
  EXPECT_EQ(view.laneRect(200), pinned);
  EXPECT_TRUE(view.laneRect(0).isEmpty());
  EXPECT_FALSE(view.laneRect(255).isEmpty()) << "the last stage's end is reached";
  QTest::mouseClick(&view, Qt::LeftButton, {}, pinned.center().toPoint());
  QTest::keyClick(&view, Qt::Key_P);
  EXPECT_TRUE(view.isPinned(100)) << "no span was chosen: P is for the first stage that is scrolled";
  // More pins than there is room for are scrolled like all.
  for (int stage = 0; stage < 128; ++stage) view.setPinned(stage, true);
  EXPECT_FALSE(view.lanesBar().isHidden());
}

TEST(timeline, the_critical_path_is_drawn_and_said) {
  auto data = std::make_shared<TimelineData>();
  data->names = {"forward", "sent"};
  data->end = 4;
  data->lanes = {{"compute", 0, 2, true, {{0, 1, 0, 0, Ink::Forward, 0}}},
                 {"messages", 0, 1, false, {{1, 1.5, 0, 0, Ink::ExposedCommunication, 1}}},
                 {"compute", 1, 2, true, {{2, 4, 0, 0, Ink::Forward, 0}}}};
  data->path = {{0, 0, 1, 0}, {1, 1, 1.5, 1}, {2, 1.5, 2, -1}, {2, 2, 4, 0}};
  data->path_times = {.kinds = {costmodel::Seconds{3}, costmodel::Seconds{0.5}},
                      .waiting = costmodel::Seconds{0.5},
                      .stages = 2};
  Timeline view;
  view.resize(600, 300);
  view.setTimeline(data);
  view.show();
  EXPECT_EQ(
      view.pathText().toStdString(),
      "Critical path, over 2 stage(s): forward 3 s (75.0 %), sent 500 ms (12.5 %), waiting 500 ms (12.5 %).");
  EXPECT_TRUE(view.textAlternative().endsWith(view.pathText()));
  const QImage before = view.grab().toImage();
  QTest::keyClick(&view, Qt::Key_X);
  EXPECT_TRUE(view.showsPath());
  EXPECT_NE(view.grab().toImage(), before);
  view.setAllFolded(true);  // what runs in folded lanes is drawn in the one that stands for them
  EXPECT_FALSE(view.grab().toImage().isNull());
  view.setAllFolded(false);
  QTest::keyClick(&view, Qt::Key_X);
  EXPECT_EQ(view.grab().toImage(), before);
}

TEST(timeline, of_a_simulation_has_its_critical_path) {
  const Example asked = example("llama-3.1-8b", "8xH100", "tp2 dp2 pp2 sp zero1", 4096, 16);
  const auto data = timelineOf(costmodel::simulate_step(asked.scenario, asked.calibration));
  ASSERT_FALSE(data->path.empty());
  EXPECT_NEAR(data->path.back().end, data->end, 1e-9 * data->end);
  EXPECT_NEAR(data->path_times.total().value(), data->end, 1e-9 * data->end);
  EXPECT_EQ(data->path_times.stages, 2);
  for (const TimelineData::PathBox& box : data->path) {
    if (box.what < 0) continue;
    const TimelineLane& lane = data->lanes[static_cast<std::size_t>(box.lane)];
    const std::size_t span = firstEndingAfter(lane, box.begin + 1e-9 * data->end);
    ASSERT_LT(span, lane.spans.size());
    EXPECT_EQ(lane.spans[span].what, box.what) << "at " << box.begin << " s in " << lane.label.toStdString();
  }
}

TEST(axes, of_charts_below_each_other_have_the_same_ticks) {
  const QFontMetricsF metrics{QFont{}};
  const AxisSpec seconds{.low = 0, .high = 3.7, .unit = AxisUnit::Seconds};
  for (const double width : {500.0, 733.0, 901.0}) {
    const Axes below = layoutAxes({0, 0, width, 200}, seconds, {.low = 0, .high = 1}, metrics);
    const AxisTicks above =
        placeTicks(below.x, AxisUnit::Seconds, metrics.horizontalAdvance(u'0') * kTickLetters);
    EXPECT_EQ(below.x_ticks.ticks.size(), above.ticks.size()) << width;
  }
}

TEST(timeline, arrows_bring_what_they_reach_into_view) {
  const auto view = timeline();
  view->show();
  QTest::keyClick(view.get(), Qt::Key_Home);
  view->setWindow(TimeWindow(50, 55, view->window().whole().high()));
  QTest::keyClick(view.get(), Qt::Key_Right);
  EXPECT_LT(view->window().low(), 20) << "the first spans lie at the step's beginning";
  QTest::keyClick(view.get(), Qt::Key_M);
  EXPECT_LT(view->window().width(), 20);
}

TEST(scatter_plot, arrows_go_from_left_to_right) {
  const auto view = scatter();
  view->show();
  QTest::keyClick(view.get(), Qt::Key_Right);
  EXPECT_EQ(view->currentItem(), 1) << "the quickest plan";
  QTest::keyClick(view.get(), Qt::Key_Right);
  EXPECT_EQ(view->currentItem(), 2);
  QTest::keyClick(view.get(), Qt::Key_Right);
  EXPECT_EQ(view->currentItem(), 0);
  EXPECT_FALSE(view->textAlternative().contains("c;")) << "words tell the front";
}

TEST(residual_plot, puts_the_worst_first_and_leaves_out_what_has_no_error) {
  ResidualPlot view;
  view.setResiduals({.points = {{1.0, 1.1, 0, "good"}, {3.0, 2.0, 0, "bad"}, {0, 1, 0, "unusable"}},
                     .groups = {"megatron"}});
  ASSERT_EQ(view.itemCount(), 2);
  EXPECT_TRUE(view.describe(0).startsWith("bad"));
  EXPECT_TRUE(view.describe(0).contains("+50.0 %")) << view.describe(0).toStdString();
}

TEST(time_breakdown, rows_are_the_causes_that_take_time) {
  const Example large = largeExample(4);
  TimeBreakdown view;
  view.setTime(large.estimate.time, large.estimate.step_seconds);
  EXPECT_TRUE(view.describe(0).startsWith("one step: " + secondsText(large.estimate.time.total())));
  const QString words = view.textAlternative();
  EXPECT_TRUE(words.contains("matrix products: " + secondsText(large.estimate.time.gemm)));
  EXPECT_FALSE(words.contains("expert-parallel")) << "a dense model has no experts";
}

TEST(time_breakdown, differences_are_never_cut_on_a_narrow_page) {
  const Example now = largeExample(4), before = largeExample(16);
  TimeBreakdown view;
  view.setTime(now.estimate.time, now.estimate.step_seconds);
  view.setBaseline(before.estimate.time);
  const PlotTheme& theme = PlotTheme::lightTheme();
  for (const int width : {330, 900}) {
    QImage picture(width, 240, QImage::Format_RGB32);
    QPainter painter(&picture);
    view.paintTo(painter, picture.size(), theme);
    painter.end();
    for (int x = width - 4; x < width; ++x) {
      for (int y = 0; y < picture.height(); ++y)
        ASSERT_EQ(picture.pixel(x, y), theme.background.rgb()) << width << ": " << x << ", " << y;
    }
  }
}

TEST(memory_curve, follows_the_window_of_the_timeline_and_reports_its_cursor) {
  MemoryCurve view;
  view.resize(600, 300);
  view.setCurve({.stage = "stage 1", .samples = {{0, 0, 20e9}, {1, 30e9, 20e9}}, .outside = 1e9, .end = 2});
  view.show();
  QSignalSpy cursor(&view, &MemoryCurve::cursorTimeChanged);
  view.setWindow(0.5, 1.5);
  QTest::mouseMove(&view, QPoint(300, 150));
  QCoreApplication::processEvents();
  ASSERT_GE(cursor.count(), 1);
  EXPECT_NEAR(cursor.back().front().toDouble(), 1.0, 0.1);
  EXPECT_TRUE(view.describe(1).contains("activations: " + bytesText(costmodel::Bytes{30e9})));
}

}  // namespace
}  // namespace hexaplan::gui
