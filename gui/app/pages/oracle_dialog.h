#pragma once
#include <QDialog>

#include "gui/app/document/scenario_document.h"
#include "gui/app/jobs/oracle_job.h"

class QLabel;
class QLineEdit;
class QProgressBar;
class QPushButton;

namespace hexaplan::gui {

class OracleModel;

/// "Check against PyTorch": the document's step in the user's own PyTorch, without a GPU, and a table of
/// where it differs from the prediction. What is found can be kept as a framework profile.
class OracleDialog : public QDialog {
  Q_OBJECT
 public:
  explicit OracleDialog(ScenarioDocument& document, QWidget* parent = nullptr);

  /// Writes what was found as a profile; false when there is nothing that it could say, or nowhere to write
  /// it.
  bool saveTo(const QString& path);

 private:
  QWidget* makeControls();
  void start();
  void showRunning(bool running);
  void showFound(const CheckedStepPtr& step);
  void saveWithDialog();

  ScenarioDocument& document_;
  OracleJob job_;
  CheckedStepPtr found_;
  OracleModel* rows_ = nullptr;
  QLineEdit* python_ = nullptr;
  QPushButton* start_ = nullptr;
  QPushButton* cancel_ = nullptr;
  QPushButton* save_ = nullptr;
  QProgressBar* progress_ = nullptr;
  QLabel* says_ = nullptr;
};

}  // namespace hexaplan::gui
