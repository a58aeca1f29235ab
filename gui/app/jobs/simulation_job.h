#pragma once
#include <QObject>
#include <memory>

#include "costmodel/simulate/simulation.h"
#include "gui/app/document/evaluation.h"
#include "gui/app/jobs/latest_job.h"
#include "gui/plot/timeline_geometry.h"

namespace hexaplan::gui {

/// A simulated step with the question it answers and the timeline drawn from it.
struct SimulatedStep {
  EvaluationPtr evaluation;
  costmodel::Simulation simulation;
  std::shared_ptr<const TimelineData> timeline;
};
using SimulatedStepPtr = std::shared_ptr<const SimulatedStep>;

/// Simulates the step of the newest question on a worker thread. A step that was overtaken is not delivered.
class SimulationJob : public QObject {
  Q_OBJECT
 public:
  explicit SimulationJob(QObject* parent = nullptr);

  /// Asks for the step of `evaluation`, which is priced; nothing to do when it is there already.
  void ask(const EvaluationPtr& evaluation);
  void clear();
  /// The last step; null before the first.
  [[nodiscard]] SimulatedStepPtr step() const { return step_; }
  [[nodiscard]] bool busy() const { return job_.busy(); }

 signals:
  void simulated();

 private:
  SimulatedStepPtr step_;
  EvaluationPtr asked_;
  LatestJob<EvaluationPtr, SimulatedStepPtr> job_;
};

}  // namespace hexaplan::gui
