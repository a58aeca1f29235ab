#include "gui/app/jobs/oracle_job.h"

#include <utility>

#include "presets/oracle/ask_framework.h"
#include "presets/oracle/oracle_question.h"

namespace hexaplan::gui {

OracleJob::OracleJob(QObject* parent)
    : QObject{parent},
      job_{[this](const Question& question) { return check(question); },
           [this](const CheckedStepPtr& step) { emit checked(step); },
           [this](const QString& problem) { emit failed(problem); }} {}

OracleJob::~OracleJob() {
  stop_.request_stop();
}

void OracleJob::start(const EvaluationPtr& evaluation, const QString& python) {
  cancel();
  stop_ = {};
  job_.ask({evaluation, python.toStdString(), stop_.get_token()});
}

void OracleJob::cancel() {
  stop_.request_stop();
  job_.forget();
}

/// In the worker's thread; signals are delivered in the window's.
CheckedStepPtr OracleJob::check(const Question& question) {
  auto result = std::make_shared<CheckedStep>();
  presets::ScenarioRequest request = question.evaluation->request;
  // What the window shows where nothing was chosen.
  if (request.framework.empty()) request.framework = question.evaluation->scenario.framework.name;
  request = presets::with_oracle_defaults(std::move(request));
  result->framework = request.framework;
  result->scenario = presets::resolve(request).scenario;
  result->step = presets::ask_framework(
      presets::oracle_question(request, result->scenario),
      {.python = question.python, .stop = question.stop, .stage = [this](std::string_view stage) {
         emit staged(QString::fromUtf8(stage.data(), static_cast<qsizetype>(stage.size())));
       }});
  result->numbers = presets::compare_step(result->scenario, result->step);
  return result;
}

}  // namespace hexaplan::gui
