// Writes a picture of every page, light and dark, into the folder given: for README, docs, and people's eyes.
// WIDTH and HEIGHT are the window's; QT_SCALE_FACTOR=2 makes them for displays of twice the density.
#include <QApplication>
#include <QComboBox>
#include <QDir>
#include <QElapsedTimer>
#include <QFile>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QScrollBar>
#include <QTabWidget>
#include <QTableView>
#include <QTest>
#include <cstdio>
#include <cstdlib>
#include <functional>

#include "gui/app/main_window/main_window.h"
#include "gui/app/main_window/theme.h"
#include "gui/plot/heat_map.h"
#include "gui/plot/timeline.h"
#include "tests/gui/support/example_trace.h"

namespace {

using hexaplan::gui::MainWindow;
using hexaplan::gui::ScenarioDocument;
using hexaplan::gui::Theme;
using hexaplan::presets::ScenarioRequest;

constexpr int kPatience = 20'000;  // milliseconds

ScenarioRequest request(const char* model, const char* cluster, const char* layout) {
  ScenarioRequest result;
  result.model = model;
  result.cluster = cluster;
  result.layout = hexaplan::presets::parse_layout(layout, "layout");
  return result;
}

void settle(
    MainWindow& window, const std::function<bool()>& done = [] { return true; }) {
  static_cast<void>(QTest::qWaitFor([&] { return window.document().upToDate() && done(); }, kPatience));
  QTest::qWait(150);
}

void ask(MainWindow& window, ScenarioRequest next) {
  window.document().change(std::move(next), "example");
  settle(window);
}

struct Camera {
  MainWindow& window;
  QString folder, suffix;
  void shoot(const QString& name) const {
    settle(window);
    const QString path = folder + "/gui-" + name + suffix + ".png";
    if (!window.grab().save(path)) std::fprintf(stderr, "cannot write %s\n", qPrintable(path));
  }
};

/// A rank whose products took 1.4 times their prediction, as a profiler would have seen it.
void shootTrace(const Camera& camera) {
  MainWindow& window = camera.window;
  ScenarioRequest run = request("llama-3.1-8b", "8xH100", "tp2 dp2 pp2 sp zero1");
  run.recipe.sequence = 4096;
  run.recipe.global_batch = 16;
  ask(window, run);
  const auto& asked = *window.document().evaluation();
  QFile file{QDir::tempPath() + "/rank5.json"};
  if (!file.open(QIODevice::WriteOnly)) return;
  file.write(hexaplan::gui::exampleTrace(asked.scenario, asked.calibration->calibration, 5, 0.97, 1.4));
  file.close();
  window.open(file.fileName());
  auto* table = window.findChild<QTableView*>("tracedOperations");
  settle(window, [&] { return table->isVisible() && table->model()->rowCount() > 0; });
  camera.shoot("trace");
  auto* timeline = window.findChild<hexaplan::gui::Timeline*>("timeline");
  timeline->setWindow({0.2, 0.212, timeline->window().whole().high()});
  camera.shoot("trace-zoomed");
  QTest::mouseClick(window.findChild<QWidget*>("closeTrace"), Qt::LeftButton);
  file.remove();
}

/// What lanes and spans can be looked at by: a pipeline of sixteen, folded, one stage pinned, one kind of
/// span, and the chain that the step's length follows from.
void shootLanes(const Camera& camera) {
  MainWindow& window = camera.window;
  const ScenarioRequest before = window.document().request();
  ScenarioRequest deep = request("llama-3.1-405b", "1024xH100", "tp8 pp16 sp zero1");
  deep.recipe.global_batch = 512;
  ask(window, deep);
  auto* timeline = window.findChild<hexaplan::gui::Timeline*>("timeline");
  settle(window, [&] { return timeline->itemCount() > 0; });
  QTest::mouseClick(window.findChild<QWidget*>("criticalPath"), Qt::LeftButton);
  QTest::mouseClick(window.findChild<QWidget*>("foldLanes"), Qt::LeftButton);
  timeline->setPinned(15, true);
  camera.shoot("critical-path");
  timeline->setFolded(15, false);
  window.findChild<QLineEdit*>("timelineFilter")->setText("backward 2..5");
  camera.shoot("timeline-filter");
  window.findChild<QLineEdit*>("timelineFilter")->clear();
  timeline->setPinned(15, false);
  timeline->setAllFolded(false);
  timeline->showPath(false);
  ask(window, before);
}

/// The best plans over two fields, some of which have none.
void shootSweep(const Camera& camera) {
  MainWindow& window = camera.window;
  auto* tabs = window.findChild<QTabWidget*>("searchTabs");
  tabs->setCurrentIndex(1);
  window.findChild<QLineEdit*>("sweepRowValues")->setText("8k..64k");
  window.findChild<QLineEdit*>("sweepColumnValues")->setText("16..128");
  QTest::mouseClick(window.findChild<QWidget*>("startSweep"), Qt::LeftButton);
  auto* cancel = window.findChild<QWidget*>("cancelSweep");
  settle(window, [&] { return !cancel->isVisible(); });
  auto* map = window.findChild<hexaplan::gui::HeatMap*>("heatMap");
  map->setCurrentItem(map->itemCount() / 2);
  camera.shoot("heat-map");
  tabs->setCurrentIndex(0);
}

void shootAll(const Camera& camera) {
  MainWindow& window = camera.window;
  camera.shoot("start");
  // Before: one copy per GPU, nothing shared. It does not fit.
  ask(window, request("llama-3.1-70b", "64xH100", "tp4"));
  camera.shoot("does-not-fit");
  ScenarioRequest plan = request("llama-3.1-70b", "64xH100", "tp4 pp4 sp zero1");
  plan.recipe.sequence = 8192;
  plan.recipe.global_batch = 128;
  plan.recipe.recompute = {.mode = hexaplan::costmodel::RecomputeMode::Selective};
  plan.recipe.tokens = 1'000'000'000'000;
  ask(window, plan);
  window.document().pinBaseline();
  plan.layout = hexaplan::presets::parse_layout("tp8 pp4 sp zero1", "layout");
  ask(window, plan);
  window.pages().setCurrentIndex(0);
  auto* details = window.findChild<QTabWidget*>("memoryDetails");
  const char* names[] = {"memory", "treemap", "memory-over-time"};
  for (int i = 0; i < details->count(); ++i) {
    details->setCurrentIndex(i);
    camera.shoot(names[i]);
  }
  details->setCurrentIndex(0);
  window.pages().setCurrentIndex(1);
  camera.shoot("time");
  shootLanes(camera);
  shootTrace(camera);
  ask(window, plan);
  window.pages().setCurrentIndex(2);
  camera.shoot("search-empty");
  QTest::mouseClick(window.findChild<QWidget*>("startSearch"), Qt::LeftButton);
  settle(window, [&] { return !window.search().running(); });
  camera.shoot("search");
  shootSweep(camera);
  ask(window, plan);
  window.pages().setCurrentIndex(3);
  window.document().pin();
  camera.shoot("compare");
  window.pages().setCurrentIndex(4);
  camera.shoot("validation-empty");
  window.open(QStringLiteral(HEXAPLAN_SOURCE_DIR "/tests/golden/reports/validation_cpu.json"));
  auto* scenario = window.findChild<QComboBox*>("validatedScenario");
  settle(window, [&] { return scenario->count() > 0; });
  camera.shoot("validation-scenarios");
  scenario->setCurrentIndex(scenario->findText("tp2 sp"));
  emit scenario->activated(scenario->currentIndex());
  camera.shoot("validation");
  window.pages().setCurrentIndex(5);
  auto* notes = window.findChild<QPlainTextEdit*>();
  notes->setPlainText(
      "tp8 keeps activations below 21 GiB; tp4 is 8 % faster per token but does not fit at 8k.\n"
      "Ask for InfiniBand of 800 Gbit/s: `hexaplan search --sensitivity`.");
  camera.shoot("notes");
  ask(window, request("llama-3.1-405b", "4096xH100", "tp8 pp64 sp zero1"));
  window.pages().setCurrentIndex(0);
  camera.shoot("many-stages");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 && argc != 4) {
    std::fprintf(stderr, "usage: %s FOLDER [WIDTH HEIGHT]\n", argv[0]);
    return 2;
  }
  const QSize size = argc == 4 ? QSize{std::atoi(argv[2]), std::atoi(argv[3])} : QSize{1280, 800};
  QApplication app{argc, argv};
  QCoreApplication::setApplicationName("hexaplan-screenshots");
  QDir{}.mkpath(argv[1]);
  const double scale = qEnvironmentVariable("QT_SCALE_FACTOR", "1").toDouble();
  const QString density = scale > 1 ? QString{"@%1x"}.arg(scale) : QString{};
  for (const Theme theme : {Theme::Light, Theme::Dark}) {
    hexaplan::gui::applyTheme(theme);
    MainWindow window;
    window.resize(size);
    window.show();
    shootAll({window, argv[1], (theme == Theme::Dark ? "-dark" : "") + density});
  }
  return 0;
}
