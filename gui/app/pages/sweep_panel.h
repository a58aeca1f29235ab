#pragma once
#include <QWidget>
#include <array>
#include <functional>

#include "gui/app/document/scenario_document.h"
#include "gui/app/jobs/sweep_job.h"

class QComboBox;
class QLabel;
class QLineEdit;
class QProgressBar;
class QPushButton;
class QTableView;

namespace hexaplan::gui {

class HeatMap;
class SweepModel;

/// The best plan over two fields of the question: a heat map of one of its figures, and a table of all. A
/// click or Enter loads a cell's plan with the question of the cell.
class SweepPanel : public QWidget {
  Q_OBJECT
 public:
  /// `problem`: makes the searches of a sweep, with the limits that the page asks for when it begins.
  SweepPanel(ScenarioDocument& document, std::function<ProblemOf()> problem, QWidget* parent = nullptr);

  void showQuestion();  // the document has another one

 private:
  QWidget* makeControls();
  QWidget* makeAxes(QWidget* controls);
  void start();
  void showRunning(bool running);
  void showFound();
  void showMap();
  void fillTable();
  void load(int cell);

  ScenarioDocument& document_;
  std::function<ProblemOf()> problem_;
  SweepJob job_;
  EvaluationPtr asked_;  // what the sweep began from
  std::array<QComboBox*, 2> fields_{};
  std::array<QLineEdit*, 2> values_{};
  QComboBox* metric_ = nullptr;
  QPushButton* start_ = nullptr;
  QPushButton* cancel_ = nullptr;
  QProgressBar* progress_ = nullptr;
  QLabel* says_ = nullptr;
  HeatMap* map_ = nullptr;
  QTableView* table_ = nullptr;
  SweepModel* rows_ = nullptr;
};

}  // namespace hexaplan::gui
