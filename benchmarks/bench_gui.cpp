#include <benchmark/benchmark.h>

#include <QApplication>
#include <QImage>
#include <QPainter>
#include <memory>
#include <string>

#include "costmodel/simulate/simulation.h"
#include "costmodel/step/estimate.h"
#include "gui/models/comparison_model.h"
#include "gui/models/ledger_tree_model.h"
#include "gui/plot/memory_curve.h"
#include "gui/plot/simulation_views.h"
#include "gui/plot/stage_memory_bars.h"
#include "gui/plot/time_breakdown.h"
#include "gui/plot/timeline.h"
#include "gui/plot/treemap.h"
#include "presets/calibration/find_calibration.h"
#include "presets/clusters/cluster_preset.h"
#include "presets/frameworks/framework_preset.h"
#include "presets/models/find_model.h"

// What one frame of the playground costs: painted by the raster engine into an image, as on a screen.
namespace hexaplan::gui {
namespace {

struct Question {
  costmodel::Scenario scenario;
  costmodel::Calibration calibration;
};

Question question(const char* model, const char* cluster, const costmodel::Layout& layout,
                  std::int64_t batch) {
  Question q;
  q.scenario.model = presets::find_model(model);
  q.scenario.cluster = presets::parse_cluster(cluster);
  q.scenario.framework = presets::find_framework("megatron");
  q.scenario.layout = layout;
  q.scenario.recipe.sequence = 8192;
  q.scenario.recipe.global_batch = batch;
  q.calibration = presets::find_calibration(q.scenario.cluster.gpu);
  return q;
}

Question large_question() {
  return question("llama-3.1-405b", "2048x8xH100",
                  {.dp = 32, .tp = 8, .pp = 64, .sp = true, .sharding = {.stage = 1}}, 2048);
}

void paint(const PlotView& view, QImage& image) {
  QPainter painter(&image);
  view.paintTo(painter, view.size(), PlotTheme::lightTheme());
}

/// A slider moves: the estimate, every number and every chart of a page for 64 stages.
void estimate_and_charts(benchmark::State& state) {
  Question q = large_question();
  StageMemoryBars bars;
  TimeBreakdown time;
  Treemap map;
  LedgerTreeModel tree;
  ComparisonModel comparison;
  const costmodel::Estimate baseline = costmodel::estimate_step(q.scenario, q.calibration);
  const ComparedState pinned{"baseline", figuresOf(q.scenario, baseline)};
  bars.setBaseline(baseline.stages);
  time.setBaseline(baseline.time);
  for (PlotView* view :
       {static_cast<PlotView*>(&bars), static_cast<PlotView*>(&time), static_cast<PlotView*>(&map)}) {
    view->resize(1200, 500);
  }
  QImage image(1200, 500, QImage::Format_RGB32);
  for (auto _ : state) {
    q.scenario.recipe.global_batch = q.scenario.recipe.global_batch == 2048 ? 4096 : 2048;
    const costmodel::Estimate estimate = costmodel::estimate_step(q.scenario, q.calibration);
    const LedgerNode ledger = ledgerTree(costmodel::build_ledger(q.scenario, estimate.peak_stage),
                                         estimate.peak().instant, estimate.peak());
    bars.setEstimate(estimate, q.scenario.cluster.gpu.memory);
    time.setTime(estimate.time, estimate.step_seconds);
    map.setTree(ledger);
    tree.setTree(ledger);
    comparison.setStates({pinned, {"now", figuresOf(q.scenario, estimate)}});
    paint(bars, image);
    paint(time, image);
    paint(map, image);
  }
}
BENCHMARK(estimate_and_charts)->Unit(benchmark::kMillisecond);

/// A simulated step of 16 stages with at least `spans` boxes.
std::shared_ptr<const TimelineData> simulated(std::int64_t spans) {
  constexpr std::int64_t stages = 16;
  std::int64_t microbatches = spans / stages / 8;
  while (true) {
    const Question q = question("llama-3.1-8b", "4x8xH100", {.tp = 2, .pp = 16, .sp = true}, microbatches);
    auto data = timelineOf(costmodel::simulate_step(q.scenario, q.calibration, {.keep_memory = false}));
    if (static_cast<std::int64_t>(data->spanCount()) >= spans) return data;
    microbatches += microbatches / 4 + 1;
  }
}

/// One frame of the Gantt chart, all of it or a hundredth.
void timeline_frame(benchmark::State& state) {
  const auto data = simulated(state.range(0));
  Timeline view;
  view.resize(1200, 500);
  view.setTimeline(data);
  const double end = data->end;
  if (state.range(1) > 1)
    view.setWindow({end * 0.5, end * (0.5 + 1.0 / static_cast<double>(state.range(1))), end});
  QImage image(1200, 500, QImage::Format_RGB32);
  for (auto _ : state) paint(view, image);
  state.counters["spans"] = static_cast<double>(data->spanCount());
}
BENCHMARK(timeline_frame)
    ->ArgNames({"spans", "zoom"})
    ->ArgsProduct({{100'000, 1'000'000}, {1, 100, 1000}})
    ->Unit(benchmark::kMillisecond);

/// Making the picture's data out of a simulation; outside the GUI's thread.
void timeline_data(benchmark::State& state) {
  const Question q = question("llama-3.1-8b", "4x8xH100", {.tp = 2, .pp = 16, .sp = true}, 1024);
  const costmodel::Simulation simulation = costmodel::simulate_step(q.scenario, q.calibration);
  for (auto _ : state) benchmark::DoNotOptimize(timelineOf(simulation));
}
BENCHMARK(timeline_data)->Unit(benchmark::kMillisecond);

void memory_curve_frame(benchmark::State& state) {
  const Question q = question("llama-3.1-8b", "4x8xH100", {.tp = 2, .pp = 16, .sp = true}, 4096);
  const costmodel::Simulation simulation = costmodel::simulate_step(q.scenario, q.calibration);
  MemoryCurve view;
  view.resize(1200, 300);
  view.setCurve(memoryCurveOf(simulation, 0, q.scenario.cluster.gpu.memory, q.scenario.cluster.gpu.memory));
  QImage image(1200, 300, QImage::Format_RGB32);
  for (auto _ : state) paint(view, image);
  state.counters["samples"] = view.itemCount();
}
BENCHMARK(memory_curve_frame)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace hexaplan::gui

int main(int argc, char** argv) {
  if (!qEnvironmentVariableIsSet("QT_QPA_PLATFORM")) qputenv("QT_QPA_PLATFORM", "offscreen");
  const QApplication application(argc, argv);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
