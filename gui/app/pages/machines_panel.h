#pragma once
#include <QWidget>
#include <functional>
#include <memory>
#include <vector>

#include "gui/app/document/scenario_document.h"
#include "gui/app/jobs/search_job.h"
#include "gui/app/jobs/search_thread.h"
#include "gui/app/jobs/sweep_job.h"
#include "planner/search/sensitivity.h"

class QLabel;
class QProgressBar;
class QPushButton;

namespace hexaplan::gui {

class ShiftBars;

/// What the best plan becomes on slightly other machines (planner::sensitivity): more memory, faster links,
/// another price; one bar each.
class MachinesPanel : public QWidget {
  Q_OBJECT
 public:
  /// `problem`: makes the search, with the limits that the page asks for when it begins.
  MachinesPanel(ScenarioDocument& document, std::function<ProblemOf()> problem, QWidget* parent = nullptr);

  void showQuestion();  // the document has another one

 private:
  struct Answer {
    EvaluationPtr asked;
    planner::SearchSpace space;               // that was searched
    std::optional<planner::RankedPlan> best;  // on the present machines; nothing: none keeps the limits
    std::vector<planner::ChangedMachines> changed;
    bool stopped = false;
  };
  void start();
  void showRunning(bool running);
  void showFound(const Answer& answer, const QString& failure);

  ScenarioDocument& document_;
  std::function<ProblemOf()> problem_;
  std::shared_ptr<const Answer> answer_;  // the last one; null: none yet
  QPushButton* start_ = nullptr;
  QPushButton* cancel_ = nullptr;
  QProgressBar* progress_ = nullptr;
  QLabel* says_ = nullptr;
  ShiftBars* bars_ = nullptr;
  SearchThread thread_;
};

}  // namespace hexaplan::gui
