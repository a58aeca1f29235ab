#pragma once
#include <QTimer>

#include "gui/app/jobs/simulation_job.h"
#include "gui/app/jobs/trace_job.h"
#include "gui/app/pages/page.h"
#include "gui/models/figures.h"

class QBoxLayout;
class QLabel;
class QPushButton;
class QScrollArea;
class QStackedWidget;
class QTableView;

namespace hexaplan::gui {

class FigureList;
class MemoryCurve;
class TimeBreakdown;
class Timeline;
class TraceBar;
class TracedModel;

/// Where a step's time goes: causes, throughput and cost, and the pipeline as a Gantt chart with the memory
/// of a stage under it; or one rank under the trace that a profiler took of it, operation by operation.
class TimePage : public Page {
  Q_OBJECT
 public:
  TimePage(ScenarioDocument& document, SimulationJob& simulations, QWidget* parent = nullptr);

  [[nodiscard]] Timeline& timeline() const { return *timeline_; }
  /// Writes the simulated step as a Chrome trace, which Perfetto opens; false with `problem` when that fails.
  [[nodiscard]] bool exportTrace(const QString& path, QString* problem);
  void exportTraceWithDialog();
  /// Reads a measured trace and lays it over the step.
  void openTrace(const QString& path) { traces_.read(path); }
  void openTracesWithDialog();
  /// A trace is shown, or on its way.
  [[nodiscard]] bool hasTrace() const;

 protected:
  void refresh() override;

 private:
  QWidget* makePipeline();
  QWidget* makeTools(QWidget* parent);
  QWidget* makeTraced();
  void followSimulations();
  void followTraces();
  void layOver();
  void showLaid(const LaidTracePtr& laid);
  void showTimeline();
  void showNumbers(const Evaluation& evaluation);
  void showFigures(const std::vector<Figure>& figures, const std::vector<Figure>& baseline);
  void showStep();
  void showState();
  void showCurve(int stage);

  SimulationJob& simulations_;
  TimeBreakdown* causes_ = nullptr;
  FigureList* numbers_ = nullptr;
  QScrollArea* scrolled_ = nullptr;  // holds it
  QLabel* summary_ = nullptr;
  QPushButton* cancel_ = nullptr;  // or begins again
  QTimer patience_;                // quick steps need no announcement
  Timeline* timeline_ = nullptr;
  MemoryCurve* curve_ = nullptr;
  int stage_ = 0;
  TraceJob traces_;
  TraceBar* bar_ = nullptr;
  QBoxLayout* tools_ = nullptr;      // the bar, and which spans and lanes are shown
  LaidTracePtr laid_;                // the last answer; may be of another trace or question
  QStackedWidget* below_ = nullptr;  // memory over time, or what a trace says of the operations
  QTableView* table_ = nullptr;
  TracedModel* traced_ = nullptr;
};

}  // namespace hexaplan::gui
