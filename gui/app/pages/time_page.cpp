#include "gui/app/pages/time_page.h"

#include <QFileDialog>
#include <QGridLayout>
#include <QLabel>
#include <QMessageBox>
#include <QSaveFile>
#include <QSplitter>
#include <QVBoxLayout>
#include <algorithm>

#include "gui/app/pages/plain_label.h"
#include "gui/models/figures.h"
#include "gui/models/number_text.h"
#include "gui/plot/figure_list.h"
#include "gui/plot/memory_curve.h"
#include "gui/plot/simulation_views.h"
#include "gui/plot/time_breakdown.h"
#include "gui/plot/timeline.h"
#include "presets/trace/chrome_trace.h"

namespace hexaplan::gui {
TimePage::TimePage(ScenarioDocument& document, SimulationJob& simulations, QWidget* parent)
    : Page{document, parent}, simulations_{simulations} {
  setObjectName("timePage");
  causes_ = new TimeBreakdown{this};
  causes_->setObjectName("timeCauses");
  causes_->setEmptyText(tr("Where the time of a step goes appears here."));
  numbers_ = new FigureList{this};
  numbers_->setObjectName("timeNumbers");
  numbers_->setAccessibleName(tr("Throughput and cost"));
  numbers_->setEmptyText(QString{});
  auto* upper = new QWidget{this};
  auto* line = new QHBoxLayout{upper};
  line->setContentsMargins(0, 0, 0, 0);
  line->addWidget(causes_, 1);
  line->addWidget(numbers_);
  summary_ = plainLabel(this, "stepSummary");
  summary_->setWordWrap(true);
  timeline_ = new Timeline{this};
  timeline_->setObjectName("timeline");
  timeline_->setEmptyText(tr("The simulated step appears here."));
  curve_ = new MemoryCurve{this};
  curve_->setObjectName("timelineMemory");
  curve_->setEmptyText(QString{});
  auto* pipeline = new QWidget{this};
  auto* column = new QVBoxLayout{pipeline};
  column->setContentsMargins(0, 0, 0, 0);
  column->addWidget(summary_);
  auto* charts = new QSplitter{Qt::Vertical, pipeline};
  charts->addWidget(timeline_);
  charts->addWidget(curve_);
  charts->setStretchFactor(0, 5);
  charts->setStretchFactor(1, 2);
  column->addWidget(charts, 1);
  auto* split = new QSplitter{Qt::Vertical, this};
  split->setChildrenCollapsible(false);
  split->addWidget(upper);
  split->addWidget(pipeline);
  split->setStretchFactor(0, 4);
  split->setStretchFactor(1, 5);
  auto* layout = new QVBoxLayout{this};
  layout->setContentsMargins(8, 8, 8, 8);
  layout->addWidget(split);
  connect(&simulations_, &SimulationJob::simulated, this, &TimePage::showStep);
  connect(timeline_, &Timeline::windowChanged, curve_, &MemoryCurve::setWindow);
  connect(timeline_, &Timeline::cursorTimeChanged, curve_, &MemoryCurve::setCursorTime);
  connect(curve_, &MemoryCurve::cursorTimeChanged, timeline_, &Timeline::setCursorTime);
  connect(timeline_, &Timeline::stageActivated, this, &TimePage::showCurve);
}

void TimePage::refresh() {
  const EvaluationPtr e = document().evaluation();
  if (!e->priced()) {
    causes_->clear();
    timeline_->clear();
    curve_->clear();
    numbers_->setFigures({}, {});
    summary_->clear();
    return;
  }
  causes_->setTime(e->estimate.time, e->estimate.step_seconds);
  const EvaluationPtr baseline = document().baseline();
  causes_->setBaseline(baseline ? std::optional{baseline->estimate.time} : std::nullopt);
  showNumbers(*e);
  simulations_.ask(e);
  showStep();
}

void TimePage::showNumbers(const Evaluation& e) {
  const EvaluationPtr baseline = document().baseline();
  const auto relevant = [](const Evaluation& state) {
    auto figures = figuresOf(state.scenario, state.estimate);
    // Memory has a page of its own, causes of the step their chart: both stand first.
    std::erase_if(figures, [](const Figure& f) { return f.unit == CellUnit::Bytes; });
    const QString causes = figures.front().group;
    std::erase_if(figures, [&](const Figure& f) { return f.group == causes; });
    return figures;
  };
  numbers_->setFigures(relevant(e), baseline ? relevant(*baseline) : std::vector<Figure>{});
}

void TimePage::showStep() {
  const SimulatedStepPtr step = simulations_.step();
  if (!step || !isVisible()) return;
  if (step->evaluation != document().evaluation()) return;  // the newer one is on its way
  const auto& simulation = step->simulation;
  timeline_->setTimeline(step->timeline);
  summary_->setText(
      tr("Simulated step: %1; waiting for other stages %2, for communication %3; %4 micro-batches, "
         "%5 stages")
          .arg(secondsText(simulation.total), percentText(simulation.bubble_share()),
               percentText(simulation.exposed_share()), countText(simulation.microbatches),
               countText(static_cast<std::int64_t>(simulation.stages.size()))));
  if (stage_ >= static_cast<int>(simulation.stages.size())) stage_ = simulation.peak_stage;
  showCurve(stage_);
}

bool TimePage::exportTrace(const QString& path, QString* problem) {
  const SimulatedStepPtr step = simulations_.step();
  if (!step) {
    *problem = tr("no step has been simulated yet");
    return false;
  }
  const std::string trace = presets::chrome_trace(step->simulation, titleOf(*step->evaluation).toStdString());
  QSaveFile file{path};
  const auto size = static_cast<qint64>(trace.size());
  if (file.open(QIODevice::WriteOnly) && file.write(trace.data(), size) == size && file.commit()) return true;
  *problem = file.errorString();
  return false;
}

void TimePage::exportTraceWithDialog() {
  const QString path =
      QFileDialog::getSaveFileName(this, tr("Export the step"), "step.json", tr("Chrome trace (*.json)"));
  QString problem;
  if (path.isEmpty() || exportTrace(path, &problem)) return;
  QMessageBox::warning(this, tr("Not exported"), path + ": " + problem);
}

void TimePage::showCurve(int stage) {
  const SimulatedStepPtr step = simulations_.step();
  if (!step || stage >= static_cast<int>(step->simulation.stages.size())) return;
  stage_ = stage;
  curve_->setCurve(memoryCurveOf(step->simulation, stage, step->evaluation->estimate.capacity,
                                 step->evaluation->scenario.cluster.gpu.memory));
  curve_->setWindow(timeline_->window().low(), timeline_->window().high());
}

}  // namespace hexaplan::gui
