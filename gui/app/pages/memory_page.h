#pragma once
#include "gui/app/jobs/simulation_job.h"
#include "gui/app/pages/page.h"

class QComboBox;
class QLabel;
class QLineEdit;
class QSortFilterProxyModel;
class QTabWidget;
class QTreeView;

namespace hexaplan::gui {

class LedgerTreeModel;
class MemoryCurve;
class StageMemoryBars;
class Treemap;

/// Where the memory goes: every stage as a bar, and of the selected one the ledger as tree, as treemap and
/// over the time of a step.
class MemoryPage : public Page {
  Q_OBJECT
 public:
  MemoryPage(ScenarioDocument& document, SimulationJob& simulations, QWidget* parent = nullptr);

  [[nodiscard]] int stage() const { return stage_; }
  void selectStage(int stage);
  [[nodiscard]] MemoryCurve& curve() const { return *curve_; }

 protected:
  void refresh() override;

 private:
  void makeDetails();
  void showStage();
  void showCurve();
  void filter(const QString& text);

  SimulationJob& simulations_;
  StageMemoryBars* bars_ = nullptr;
  QLabel* caption_ = nullptr;
  QComboBox* instant_ = nullptr;
  QTabWidget* details_ = nullptr;
  QLineEdit* filter_ = nullptr;
  QTreeView* tree_ = nullptr;
  LedgerTreeModel* ledger_ = nullptr;
  QSortFilterProxyModel* sorted_ = nullptr;
  Treemap* treemap_ = nullptr;
  MemoryCurve* curve_ = nullptr;
  int stage_ = 0;
  bool follows_peak_ = true;  // until a person chooses a stage
};

}  // namespace hexaplan::gui
