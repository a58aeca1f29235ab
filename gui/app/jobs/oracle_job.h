#pragma once
#include <QObject>
#include <QString>
#include <memory>
#include <stop_token>
#include <string>

#include "gui/app/document/evaluation.h"
#include "gui/app/jobs/latest_job.h"
#include "presets/oracle/compare_step.h"
#include "presets/oracle/framework_step.h"

namespace hexaplan::gui {

/// A step of the framework itself beside its prediction.
struct CheckedStep {
  std::string framework;  // as the question names it
  costmodel::Scenario scenario;
  presets::FrameworkStep step;
  presets::ComparedNumbers numbers;
};
using CheckedStepPtr = std::shared_ptr<const CheckedStep>;

/// Runs the step of a question in the user's own PyTorch, on a worker thread (presets/oracle).
class OracleJob : public QObject {
  Q_OBJECT
 public:
  explicit OracleJob(QObject* parent = nullptr);
  ~OracleJob() override;

  /// `python`: empty for that of $VIRTUAL_ENV, else python3. What runs is stopped.
  void start(const EvaluationPtr& evaluation, const QString& python);
  /// Ends Python; nothing is delivered.
  void cancel();

 signals:
  void staged(const QString& stage);  // what PyTorch is doing
  void checked(const hexaplan::gui::CheckedStepPtr& step);
  void failed(const QString& problem);

 private:
  struct Question {
    EvaluationPtr evaluation;
    std::string python;
    std::stop_token stop;
  };
  [[nodiscard]] CheckedStepPtr check(const Question& question);

  std::stop_source stop_;
  LatestJob<Question, CheckedStepPtr> job_;
};

}  // namespace hexaplan::gui
