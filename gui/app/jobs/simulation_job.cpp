#include "gui/app/jobs/simulation_job.h"

#include <utility>

#include "gui/plot/simulation_views.h"

namespace hexaplan::gui {
namespace {

SimulatedStepPtr simulate(const EvaluationPtr& evaluation) {
  auto step = std::make_shared<SimulatedStep>();
  step->evaluation = evaluation;
  step->simulation = costmodel::simulate_step(evaluation->scenario, evaluation->calibration->calibration);
  step->timeline = timelineOf(step->simulation);
  return step;
}

}  // namespace

SimulationJob::SimulationJob(QObject* parent)
    : QObject{parent}, job_{simulate, [this](SimulatedStepPtr step) {
                              if (step->evaluation != asked_) return;
                              step_ = std::move(step);
                              emit simulated();
                            }} {}

void SimulationJob::ask(const EvaluationPtr& evaluation) {
  if (evaluation == asked_) return;
  asked_ = evaluation;
  job_.ask(evaluation);
}

void SimulationJob::clear() {
  job_.forget();
  asked_.reset();
  step_.reset();
}

}  // namespace hexaplan::gui
