#pragma once
#include "gui/app/jobs/measurements.h"
#include "gui/app/pages/page.h"

class QComboBox;
class QLabel;
class QTabWidget;
class QTableView;

namespace hexaplan::gui {

class CalibrationModel;
class EvidenceModel;
class OperationModel;
class PhaseModel;
class ReportModel;
class ResidualPlot;
class TrafficModel;

/// How right the predictions are: an executed run or validated scenarios term by term, measured rows against
/// their predictions, and the calibration that the present question uses.
class ValidationPage : public Page {
  Q_OBJECT
 public:
  explicit ValidationPage(ScenarioDocument& document, QWidget* parent = nullptr);

 signals:
  void openReportRequested();

 protected:
  void refresh() override;

 private:
  QWidget* makeReport();
  QWidget* makeCalibration();
  QWidget* makeFiles(QWidget* parent);
  /// The project's reports, the newest shown.
  void showFiles();
  void showFile();
  void show(const Measurements& measurements);
  void showNothing(const QString& says);
  /// The published runs nearest to the question: in words, as a table and as points.
  void showEvidence(const Evaluation& evaluation);
  /// Whether their table is what the chart draws.
  [[nodiscard]] bool showsPublished() const;
  void showRun(const MeasuredRun& run);
  void showAccuracy(const MeasuredRows& rows);
  void showScenarios(const ValidatedRuns& runs);
  void showLogs(const MeasuredLogs& logs);
  /// The terms of the scenario that is chosen, or the totals of all.
  void chooseScenario();
  void showResiduals();

  QLabel* title_ = nullptr;
  QTableView* terms_ = nullptr;
  ReportModel* report_ = nullptr;
  QTabWidget* parts_ = nullptr;
  PhaseModel* phases_ = nullptr;
  TrafficModel* traffic_ = nullptr;
  OperationModel* operations_ = nullptr;
  EvidenceModel* published_ = nullptr;
  ResidualPlot* residuals_ = nullptr;
  QWidget* choice_ = nullptr;   // of the project's reports, where there are any
  QComboBox* files_ = nullptr;  // in the order of ScenarioDocument::measured
  QComboBox* figure_ = nullptr;
  QComboBox* scenario_ = nullptr;
  QLabel* origin_ = nullptr;
  QLabel* evidence_ = nullptr;
  QWidget* evidence_box_ = nullptr;  // holds it
  CalibrationModel* calibration_ = nullptr;
  std::shared_ptr<const presets::ClusterCalibration> shown_;
  std::shared_ptr<const MeasuredRows> rows_;
  std::shared_ptr<const ValidatedRuns> validated_;
  MeasuredFilePtr file_;    // that is shown
  MeasuredFilePtr newest_;  // of the project's, as it was last seen
};

}  // namespace hexaplan::gui
