#pragma once
#include "gui/app/jobs/search_job.h"
#include "gui/app/jobs/sweep_job.h"
#include "gui/app/pages/page.h"

class QCheckBox;
class QComboBox;
class QLabel;
class QLineEdit;
class QProgressBar;
class QPushButton;
class QSortFilterProxyModel;
class QTableView;

namespace hexaplan::gui {

class PlanTableModel;
class RejectionModel;
class ScatterPlot;
class MachinesPanel;
class SweepPanel;

/// The search for the best layout: run in the background, its plans as a table and as a scatter of step time
/// and memory, and what was rejected and why.
class SearchPage : public Page {
  Q_OBJECT
 public:
  SearchPage(ScenarioDocument& document, SearchJob& search, QWidget* parent = nullptr);

  /// Searches with what the page's controls say.
  void start();
  /// Highest chance of running out of memory that the controls allow, 0..1.
  [[nodiscard]] double allowedRisk() const;

 signals:
  /// A plan was loaded that answers another question than the present one: that question came back with it.
  void questionReturned();

 protected:
  void refresh() override;

 private:
  void makeBoxes(QWidget* controls);
  QWidget* makeControls();
  void makeStale(QWidget* upper);
  QWidget* makePlans();
  QWidget* withColours(QWidget* chart);
  QWidget* makeResults();
  QWidget* makeChoice(QWidget* controls);
  /// What the boxes say, and puts it there.
  [[nodiscard]] SearchTerms terms() const;
  void showTerms(const SearchTerms& terms);
  /// The boxes as they stand now; what it returns may run on any thread.
  [[nodiscard]] ProblemOf problemMaker() const;
  void showProgress(double share, qint64 priced);
  void takeFound();
  /// The project's searches; `result` is shown.
  void offerSearches(const SearchResultPtr& result);
  void showProject();
  void showNewest();
  void showChosen();
  void showResult();
  void showFront();
  void showRunning(bool running);
  void load(const planner::Plan& plan);
  void showStale();

  SearchJob& search_;
  SearchResultPtr shown_;      // null: nothing was searched yet
  QWidget* choice_ = nullptr;  // of the project's searches, where there are several
  QComboBox* kept_ = nullptr;  // in the order of ScenarioDocument::searches
  QComboBox* objective_ = nullptr;
  QComboBox* risk_ = nullptr;
  QComboBox* headroom_ = nullptr;
  QCheckBox* keep_micro_batch_ = nullptr;
  QCheckBox* keep_recompute_ = nullptr;
  QLineEdit* limits_ = nullptr;  // in the command's words
  QPushButton* start_ = nullptr;
  QPushButton* cancel_ = nullptr;
  QProgressBar* progress_ = nullptr;
  QLabel* counts_ = nullptr;
  QWidget* stale_ = nullptr;  // says that the results answer another question
  QLabel* stale_text_ = nullptr;
  QLineEdit* filter_ = nullptr;
  QTableView* table_ = nullptr;
  PlanTableModel* plans_ = nullptr;
  QSortFilterProxyModel* sorted_ = nullptr;
  ScatterPlot* scatter_ = nullptr;
  QComboBox* colour_ = nullptr;  // what the chart's colours tell
  SweepPanel* sweep_ = nullptr;
  MachinesPanel* machines_ = nullptr;
  QTableView* rejected_ = nullptr;
  RejectionModel* rejections_ = nullptr;
};

}  // namespace hexaplan::gui
