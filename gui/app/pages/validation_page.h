#pragma once
#include "gui/app/jobs/measurements.h"
#include "gui/app/pages/page.h"

class QComboBox;
class QLabel;
class QTabWidget;
class QTableView;

namespace hexaplan::gui {

class CalibrationModel;
class OperationModel;
class PhaseModel;
class ReportModel;
class ResidualPlot;
class TrafficModel;

/// How right the predictions are: an executed run term by term, measured rows against their predictions, and
/// the calibration that the present question uses.
class ValidationPage : public Page {
  Q_OBJECT
 public:
  explicit ValidationPage(ScenarioDocument& document, QWidget* parent = nullptr);

  void show(const Measurements& measurements);

 signals:
  void openReportRequested();

 protected:
  void refresh() override;

 private:
  QWidget* makeReport();
  QWidget* makeCalibration();
  void showRun(const MeasuredRun& run);
  void showRows();

  QLabel* title_ = nullptr;
  QTableView* terms_ = nullptr;
  ReportModel* report_ = nullptr;
  QTabWidget* parts_ = nullptr;
  PhaseModel* phases_ = nullptr;
  TrafficModel* traffic_ = nullptr;
  OperationModel* operations_ = nullptr;
  ResidualPlot* residuals_ = nullptr;
  QComboBox* figure_ = nullptr;
  QLabel* origin_ = nullptr;
  CalibrationModel* calibration_ = nullptr;
  std::shared_ptr<const presets::ClusterCalibration> shown_;
  std::shared_ptr<const MeasuredRows> rows_;
};

}  // namespace hexaplan::gui
