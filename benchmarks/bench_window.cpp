#include <benchmark/benchmark.h>

#include <QApplication>
#include <QEventLoop>
#include <QStandardPaths>
#include <QTabWidget>
#include <array>

#include "gui/app/document/evaluator.h"
#include "gui/app/main_window/main_window.h"
#include "presets/scenario/layout_text.h"

// What a slider's move costs in the real window, with a plan of 64 stages: the target is one frame, 16 ms.
namespace hexaplan::gui {
namespace {

/// Two questions to go to and fro between.
std::array<presets::ScenarioRequest, 2> questions() {
  presets::ScenarioRequest request;
  request.model = "llama-3.1-405b";
  request.cluster = "4096xH100";
  request.layout = presets::parse_layout("tp8 pp64 sp zero1", "layout");
  request.recipe.global_batch = 2048;
  presets::ScenarioRequest other = request;
  other.recipe.micro_batch = 2;
  return {request, other};
}

/// On the worker thread: the estimate, changes that fit, and every value that the setup offers tried.
void evaluate(benchmark::State& state) {
  Evaluator evaluator;
  const auto both = questions();
  for (const auto& request : both) benchmark::DoNotOptimize(evaluator.evaluate(request));
  std::size_t i = 0;
  for (auto _ : state) benchmark::DoNotOptimize(evaluator.evaluate(both[++i % 2]));
}
BENCHMARK(evaluate)->Unit(benchmark::kMillisecond);

/// From the change to the painted window, both threads and the way between them. Argument: the page.
void window_update(benchmark::State& state) {
  MainWindow window;
  window.resize(1280, 800);
  window.show();
  const auto both = questions();
  const auto ask = [&](const presets::ScenarioRequest& request) {
    QEventLoop loop;
    const auto done =
        QObject::connect(&window.document(), &ScenarioDocument::evaluated, &loop, &QEventLoop::quit);
    window.document().change(request, "benchmark");
    loop.exec();
    QObject::disconnect(done);
  };
  for (const auto& request : both) ask(request);
  window.pages().setCurrentIndex(static_cast<int>(state.range(0)));
  std::size_t i = 0;
  for (auto _ : state) {
    ask(both[++i % 2]);
    QCoreApplication::processEvents();  // paints what the answer changed
  }
}
BENCHMARK(window_update)->ArgName("page")->Arg(0)->Arg(1)->Arg(3)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace hexaplan::gui

int main(int argc, char** argv) {
  if (qEnvironmentVariableIsEmpty("QT_QPA_PLATFORM")) qputenv("QT_QPA_PLATFORM", "offscreen");
  QApplication app{argc, argv};
  QStandardPaths::setTestModeEnabled(true);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
