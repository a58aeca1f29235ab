#include "gui/app/pages/time_page.h"

#include <QFileDialog>
#include <QGridLayout>
#include <QLabel>
#include <QMessageBox>
#include <QPushButton>
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
namespace {

/// Memory has a page of its own, causes of the step their chart: both stand first.
std::vector<Figure> figuresBelowTheChart(const Evaluation& state) {
  std::vector<Figure> figures = figuresOf(state.scenario, state.estimate);
  for (int group = 0; group < 2 && !figures.empty(); ++group) {
    const QString first = figures.front().group;
    std::erase_if(figures, [&](const Figure& f) { return f.group == first; });
  }
  return figures;
}

}  // namespace

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
  QWidget* pipeline = makePipeline();
  auto* split = new QSplitter{Qt::Vertical, this};
  split->setChildrenCollapsible(false);
  split->addWidget(upper);
  split->addWidget(pipeline);
  split->setStretchFactor(0, 4);
  split->setStretchFactor(1, 5);
  auto* layout = new QVBoxLayout{this};
  layout->setContentsMargins(8, 8, 8, 8);
  layout->addWidget(split);
  followSimulations();
}

/// The simulated step: what is said of it, and its charts.
QWidget* TimePage::makePipeline() {
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
  cancel_ = new QPushButton{this};
  cancel_->setObjectName("cancelSimulation");
  cancel_->hide();
  connect(cancel_, &QPushButton::clicked, this, [this] {
    simulations_.state() == SimulationJob::State::Running ? simulations_.cancel() : simulations_.again();
  });
  auto* says = new QHBoxLayout;
  says->addWidget(summary_, 1);
  says->addWidget(cancel_);
  column->addLayout(says);
  auto* charts = new QSplitter{Qt::Vertical, pipeline};
  charts->addWidget(timeline_);
  charts->addWidget(curve_);
  charts->setStretchFactor(0, 5);
  charts->setStretchFactor(1, 2);
  column->addWidget(charts, 1);
  return pipeline;
}

void TimePage::followSimulations() {
  connect(&simulations_, &SimulationJob::simulated, this, &TimePage::showStep);
  constexpr int kNoticed = 300;  // milliseconds
  patience_.setInterval(kNoticed);
  patience_.setSingleShot(true);
  connect(&patience_, &QTimer::timeout, this, &TimePage::showState);
  connect(&simulations_, &SimulationJob::stateChanged, this, [this] {
    if (simulations_.state() == SimulationJob::State::Running) return patience_.start();
    patience_.stop();
    showState();
  });
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
    cancel_->hide();
    return;
  }
  causes_->setTime(e->estimate.time, e->estimate.step_seconds);
  const EvaluationPtr baseline = document().baseline();
  causes_->setBaseline(baseline ? std::optional{baseline->estimate.time} : std::nullopt);
  showNumbers(*e);
  simulations_.ask(e);
  showState();
  showStep();
}

/// What the simulation is about while there is no chart of the present question.
void TimePage::showState() {
  using State = SimulationJob::State;
  const State state = simulations_.state();
  const bool announced = state == State::Running && !patience_.isActive();
  cancel_->setVisible(announced || state == State::Cancelled);
  cancel_->setText(announced ? tr("Cancel the simulation") : tr("Simulate"));
  if (announced) {
    summary_->setText(timeline_->itemCount() > 0 ? tr("Simulating … (below: the question before)")
                                                 : tr("Simulating …"));
  } else if (state == State::Cancelled || state == State::Refused) {
    summary_->setText(state == State::Refused ? tr("Not simulated: %1").arg(simulations_.problem())
                                              : tr("Not simulated: cancelled."));
    timeline_->clear();
    curve_->clear();
  }
}

void TimePage::showNumbers(const Evaluation& e) {
  const EvaluationPtr baseline = document().baseline();
  numbers_->setFigures(figuresBelowTheChart(e),
                       baseline ? figuresBelowTheChart(*baseline) : std::vector<Figure>{});
}

void TimePage::showStep() {
  const SimulatedStepPtr step = simulations_.step();
  if (!step || !isVisible()) return;
  if (step->evaluation != document().evaluation()) return;  // the newer one is on its way
  const auto& simulation = step->simulation;
  timeline_->setTimeline(step->timeline);
  const costmodel::Seconds closed = step->evaluation->estimate.time.total();
  summary_->setText(
      tr("Simulated step: %1 (the closed form above says %2: %3); waiting for other stages %4, for "
         "communication %5; %6 micro-batches, %7 stages")
          .arg(secondsText(simulation.total), secondsText(closed),
               changeText(simulation.total.value(), closed.value()), percentText(simulation.bubble_share()),
               percentText(simulation.exposed_share()), countText(simulation.microbatches),
               countText(static_cast<std::int64_t>(simulation.stages.size()))));
  if (stage_ >= static_cast<int>(simulation.stages.size())) stage_ = simulation.peak_stage;
  showCurve(stage_);
}

bool TimePage::exportTrace(const QString& path, QString* problem) {
  const SimulatedStepPtr step = simulations_.step();
  if (!step || step->evaluation != document().evaluation()) {
    *problem = tr("the step of this question has not been simulated");
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
  // One axis for both: their cursor stands at one place.
  const double left = std::max(timeline_->plotLeft(), curve_->plotLeft());
  timeline_->setLeastLeft(left);
  curve_->setLeastLeft(left);
}

}  // namespace hexaplan::gui
