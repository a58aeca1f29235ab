#include "gui/app/pages/time_page.h"

#include <QEvent>
#include <QFileDialog>
#include <QLabel>
#include <QLineEdit>
#include <QMessageBox>
#include <QPushButton>
#include <QResizeEvent>
#include <QScrollArea>
#include <QScrollBar>
#include <QSortFilterProxyModel>
#include <QSplitter>
#include <QStackedWidget>
#include <QTableView>
#include <QVBoxLayout>
#include <algorithm>

#include "gui/app/document/write_file.h"
#include "gui/app/pages/flow_layout.h"
#include "gui/app/pages/plain_label.h"
#include "gui/app/pages/table_tools.h"
#include "gui/app/pages/trace_bar.h"
#include "gui/models/figures.h"
#include "gui/models/number_text.h"
#include "gui/models/table_export.h"
#include "gui/models/traced_model.h"
#include "gui/plot/figure_list.h"
#include "gui/plot/memory_curve.h"
#include "gui/plot/simulation_views.h"
#include "gui/plot/time_breakdown.h"
#include "gui/plot/timeline.h"
#include "presets/trace/allocation_snapshot.h"
#include "presets/trace/trace_writer.h"

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

QScrollArea* makeScrolled(QWidget* content) {
  auto* area = new QScrollArea{content->parentWidget()};
  area->setFrameShape(QFrame::NoFrame);
  area->setWidgetResizable(true);
  area->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  area->setFocusPolicy(Qt::NoFocus);
  area->setWidget(content);
  return area;
}

/// At least as high as its parts with the lines that their texts take at its width: layouts count one line.
class FilledPane : public QWidget {
 public:
  using QWidget::QWidget;
  [[nodiscard]] QSize minimumSizeHint() const override {
    const QSize least = layout()->totalMinimumSize();
    if (!layout()->hasHeightForWidth()) return least;
    return {least.width(), layout()->totalMinimumHeightForWidth(std::max(width(), least.width()))};
  }

 protected:
  void resizeEvent(QResizeEvent* event) override {
    QWidget::resizeEvent(event);
    if (event->size().width() != event->oldSize().width()) updateGeometry();
  }
};

/// Scrolls up and down what is higher than the page; as wide as that needs.
class TallArea : public QScrollArea {
 public:
  explicit TallArea(QWidget* content) : QScrollArea{content->parentWidget()} {
    setFrameShape(QFrame::NoFrame);
    setWidgetResizable(true);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    setFocusPolicy(Qt::NoFocus);
    setObjectName("timeArea");
    setWidget(content);
  }
  [[nodiscard]] QSize minimumSizeHint() const override {
    const int bar = verticalScrollBar()->isVisible() ? verticalScrollBar()->sizeHint().width() : 0;
    return {widget()->minimumSizeHint().width() + bar, QScrollArea::minimumSizeHint().height()};
  }

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override {
    const bool done = QScrollArea::eventFilter(watched, event);
    if (watched == widget() && event->type() == QEvent::LayoutRequest) updateGeometry();
    return done;
  }
};

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
  line->addWidget(scrolled_ = makeScrolled(numbers_));
  QWidget* pipeline = makePipeline();
  auto* split = new QSplitter{Qt::Vertical, this};
  split->setChildrenCollapsible(false);
  split->addWidget(upper);
  split->addWidget(pipeline);
  split->setStretchFactor(0, 4);
  split->setStretchFactor(1, 5);
  auto* layout = new QVBoxLayout{this};
  layout->setContentsMargins(8, 8, 8, 8);
  layout->addWidget(new TallArea{split});
  followSimulations();
  followTraces();
}

/// As wide as its rows, and a bar beside them where the page is low.
void TimePage::showFigures(const std::vector<Figure>& figures, const std::vector<Figure>& baseline) {
  numbers_->setFigures(figures, baseline);
  scrolled_->setFixedWidth(numbers_->sizeHint().width() + scrolled_->verticalScrollBar()->sizeHint().width());
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
  auto* pipeline = new FilledPane{this};
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
  bar_ = new TraceBar{document(), traces_, pipeline};
  tools_ = new QBoxLayout{QBoxLayout::LeftToRight};
  tools_->addWidget(bar_);
  tools_->addWidget(makeTools(pipeline), 1);
  column->addLayout(tools_);
  column->addLayout(says);
  below_ = new QStackedWidget{pipeline};
  below_->addWidget(curve_);
  below_->addWidget(makeTraced());
  auto* charts = new QSplitter{Qt::Vertical, pipeline};
  charts->addWidget(timeline_);
  charts->addWidget(below_);
  charts->setStretchFactor(0, 5);
  charts->setStretchFactor(1, 2);
  charts->setSizes({300, 180});  // the curve's axis needs room for more than its zero
  column->addWidget(charts, 1);
  auto* selected = plainLabel(pipeline, "selectedPart");
  selected->setWordWrap(true);
  selected->hide();
  const auto say = [this, selected] {
    QStringList lines{timeline_->filterText(), timeline_->showsPath() ? timeline_->pathText() : QString{},
                      timeline_->selectedText()};
    lines.removeAll(QString{});
    selected->setText(lines.join(u'\n'));
    selected->setVisible(!lines.isEmpty());
  };
  connect(timeline_, &Timeline::selectionChanged, selected, say);
  connect(timeline_, &Timeline::shownChanged, selected, say);
  column->addWidget(selected);
  return pipeline;
}

/// Which spans and lanes the timeline shows.
QWidget* TimePage::makeTools(QWidget* parent) {
  auto* tools = new QWidget{parent};
  auto* line = new FlowLayout{tools};
  auto* filter = new QLineEdit{tools};
  filter->setObjectName("timelineFilter");
  filter->setAccessibleName(tr("Spans that are shown"));
  filter->setPlaceholderText(tr("Filter: backward 2..5"));
  filter->setToolTip(tr(
      "Shows the spans that the words name, and sums them up: a part of a kind's name, a micro-batch by its "
      "number, several by 2..5. Key: /"));
  filter->setClearButtonEnabled(true);
  filter->setMinimumWidth(filter->fontMetrics().horizontalAdvance(filter->placeholderText() + "00000"));
  auto* path = new QPushButton{tr("Critical path"), tools};
  path->setObjectName("criticalPath");
  path->setCheckable(true);
  path->setToolTip(
      tr("The chain of passes, messages and transfers that the step's length follows from: whatever is not "
         "on it "
         "could take a little longer. Key: X"));
  auto* fold = new QPushButton{tr("Fold lanes"), tools};
  fold->setObjectName("foldLanes");
  fold->setCheckable(true);
  fold->setToolTip(
      tr("One lane for every stage. A triangle beside its name, or C, folds one stage, P pins one above the "
         "others. Key: Shift+C"));
  line->addWidget(filter);
  line->addWidget(path);
  line->addWidget(fold);
  connect(filter, &QLineEdit::textChanged, timeline_, &Timeline::setFilter);
  connect(path, &QPushButton::clicked, timeline_, &Timeline::showPath);
  connect(fold, &QPushButton::clicked, timeline_, &Timeline::setAllFolded);
  connect(timeline_, &Timeline::filterRequested, filter,
          [filter] { filter->setFocus(Qt::ShortcutFocusReason); });
  connect(timeline_, &Timeline::shownChanged, path, [this, path, fold] {
    path->setEnabled(!timeline_->pathText().isEmpty());
    path->setChecked(timeline_->showsPath() && path->isEnabled());
    fold->setChecked(timeline_->foldsLanes());
  });
  path->setEnabled(false);
  return tools;
}

/// What a trace says of the operations, those that differ most first.
QWidget* TimePage::makeTraced() {
  traced_ = new TracedModel{this};
  table_ = makeSortedTable(this, "tracedOperations", tr("Operations, predicted and measured"));
  table_->setModel(sortedAndFiltered(traced_, this));
  constexpr int kLost = 5;
  table_->sortByColumn(kLost, Qt::DescendingOrder);
  addTableTools(*table_, "traced-operations");
  return table_;
}

void TimePage::followTraces() {
  connect(bar_, &TraceBar::chosenChanged, this, &TimePage::showTimeline);
  connect(&traces_, &TraceJob::laid, this, &TimePage::showLaid);
  connect(&traces_, &TraceJob::notLaid, this, [this](const QString& problem) {
    summary_->setText(tr("Not laid over the prediction: %1.").arg(problem));
  });
  showTimeline();
}

bool TimePage::hasTrace() const {
  return traces_.reading() || bar_->chosen();
}

void TimePage::openTracesWithDialog() {
  bar_->openWithDialog();
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
    showFigures({}, {});
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
  showFigures(figuresBelowTheChart(e), baseline ? figuresBelowTheChart(*baseline) : std::vector<Figure>{});
}

void TimePage::showStep() {
  const SimulatedStepPtr step = simulations_.step();
  if (!step || !isVisible()) return;
  if (step->evaluation != document().evaluation()) return;  // the newer one is on its way
  if (bar_->chosen()) return layOver();
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

/// The whole pipeline with the memory of a stage, or one rank under its trace with its operations.
void TimePage::showTimeline() {
  below_->setCurrentWidget(bar_->chosen() ? static_cast<QWidget*>(table_) : curve_);
  // The names of traces take the width of a small screen.
  tools_->setDirection(bar_->chosen() ? QBoxLayout::TopToBottom : QBoxLayout::LeftToRight);
  timeline_->setAccessibleName(bar_->chosen() ? tr("Measured and predicted timeline of a rank")
                                              : tr("Pipeline timeline"));
  if (document().evaluation()->priced()) {
    showState();
    showStep();
  } else if (bar_->chosen()) {
    summary_->setText(
        tr("Choose the model, machines and layout of the run: a trace is laid over their prediction."));
  }
}

/// Asks for the chosen trace over the present step, unless that is what is shown.
void TimePage::layOver() {
  const MeasuredTracePtr trace = bar_->chosen();
  const SimulatedStepPtr step = simulations_.step();
  if (laid_ && laid_->trace == trace && laid_->predicted == step) return showLaid(laid_);
  traces_.lay(step, trace);
}

void TimePage::showLaid(const LaidTracePtr& laid) {
  laid_ = laid;
  if (laid->trace != bar_->chosen() || laid->predicted->evaluation != document().evaluation()) return;
  timeline_->setTimeline(laid->timeline);
  const MeasuredTrace& trace = *laid->trace;
  const costmodel::Seconds predicted = laid->predicted->simulation.total, measured{trace.step.seconds};
  QString text =
      tr("Step %1 of the trace: %2; predicted %3 (%4 of the measured), stage %5. %6 of the time of "
         "products and messages is recognised.")
          .arg(trace.step.iteration)
          .arg(secondsText(measured), secondsText(predicted),
               percentText(measured.value() > 0 ? predicted / measured : 0))
          .arg(laid->stage)
          .arg(percentText(laid->matched));
  if (!trace.trace.device.empty()) {
    text += ' ' + tr("Measured on %1, predicted for %2.")
                      .arg(QString::fromStdString(trace.trace.device),
                           QString::fromStdString(laid->predicted->evaluation->scenario.cluster.gpu.name));
  }
  for (const QString& note : laid->notes) text += u' ' + note;
  summary_->setText(text);
  traced_->setRows(tracedRows(laid->work, trace.profile.step));
  table_->resizeColumnsToContents();
  constexpr int kWidest = 260;  // long names must not push the numbers out of sight
  for (int column = 0; column < 2; ++column)
    table_->setColumnWidth(column, std::min(kWidest, table_->columnWidth(column)));
}

bool TimePage::exportTrace(const QString& path, QString* problem) {
  const SimulatedStepPtr step = simulations_.step();
  if (!step || step->evaluation != document().evaluation()) {
    *problem = tr("the step of this question has not been simulated");
    return false;
  }
  QByteArray trace;
  const auto append = [&](std::string_view piece) {
    trace.append(piece.data(), static_cast<qsizetype>(piece.size()));
  };
  const Evaluation& of = *step->evaluation;
  if (path.endsWith(".pickle")) {
    if (const auto refused = presets::write_allocation_snapshot(of.scenario, of.estimate, {}, append)) {
      *problem = tr("the allocator is not simulated: %1").arg(QString::fromStdString(*refused));
      return false;
    }
  } else {
    const auto writer =
        presets::trace_writer(path.toStdString(), of.scenario.layout, titleOf(of).toStdString(), append);
    presets::write_trace(step->simulation, *writer);
  }
  *problem = writeFile(path, trace);
  return problem->isEmpty();
}

void TimePage::exportTraceWithDialog() {
  const QString path =
      QFileDialog::getSaveFileName(this, tr("Export the step"), "step.json",
                                   tr("Chrome trace (*.json)") + ";;" + tr("Perfetto trace (*.pftrace)") +
                                       ";;" + tr("PyTorch memory snapshot (*.pickle)"));
  QString problem;
  if (path.isEmpty() || exportTrace(path, &problem)) return;
  QMessageBox::warning(this, tr("Not exported"), path + ": " + problem);
}

void TimePage::showCurve(int stage) {
  const SimulatedStepPtr step = simulations_.step();
  if (bar_->chosen()) return;  // its lanes are of one rank
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
