#include "gui/app/pages/search_page.h"

#include <QCheckBox>
#include <QComboBox>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QProgressBar>
#include <QPushButton>
#include <QSortFilterProxyModel>
#include <QSplitter>
#include <QTableView>
#include <QVBoxLayout>
#include <iterator>
#include <utility>

#include "gui/app/pages/table_tools.h"
#include "gui/models/plan_table_model.h"
#include "gui/models/table_export.h"
#include "gui/plot/scatter_plot.h"

namespace hexaplan::gui {

using planner::Objective;

namespace {

struct ObjectiveRow {
  Objective objective;
  const char* label;
};
constexpr ObjectiveRow kObjectives[] = {
    {Objective::StepTime, QT_TRANSLATE_NOOP("SearchPage", "shortest step")},
    {Objective::TokensPerGpu, QT_TRANSLATE_NOOP("SearchPage", "most tokens/s per GPU")},
    {Objective::Cost, QT_TRANSLATE_NOOP("SearchPage", "lowest cost per token")},
    {Objective::MemoryHeadroom, QT_TRANSLATE_NOOP("SearchPage", "most free memory")},
};
/// Share of the usable memory that a plan may take.
constexpr int kMemoryPercents[] = {100, 95, 90, 80};
constexpr std::size_t kPlans = 100;

QTableView* makeTable(QWidget* parent, const char* name, const QString& accessible) {
  auto* table = new QTableView{parent};
  table->setObjectName(name);
  table->setAccessibleName(accessible);
  table->setAlternatingRowColors(true);
  table->setSortingEnabled(true);
  table->setShowGrid(false);
  table->setTabKeyNavigation(false);
  table->setWordWrap(false);
  table->verticalHeader()->hide();
  table->verticalHeader()->setDefaultSectionSize(table->fontMetrics().height() + 8);
  table->horizontalHeader()->setStretchLastSection(true);
  return table;
}

ScatterPoint pointOf(const planner::Plan& plan, const QString& label) {
  return {.x = plan.price.step.value(),
          .y = plan.price.peak.value(),
          .color = plan.price.mfu,
          .on_front = true,
          .label = label};
}

}  // namespace

SearchPage::SearchPage(ScenarioDocument& document, SearchJob& search, QWidget* parent)
    : Page{document, parent}, search_{search} {
  setObjectName("searchPage");
  auto* layout = new QVBoxLayout{this};
  layout->setContentsMargins(8, 8, 8, 8);
  layout->addWidget(makeControls());
  layout->addWidget(makeResults(), 1);
  connect(&search_, &SearchJob::progressed, this, &SearchPage::showProgress);
  connect(&search_, &SearchJob::found, this, &SearchPage::showFound);
  showRunning(false);
}

QWidget* SearchPage::makeControls() {
  auto* controls = new QWidget{this};
  auto* rows = new QVBoxLayout{controls};
  rows->setContentsMargins(0, 0, 0, 0);
  auto* line = new QHBoxLayout;
  objective_ = new QComboBox{controls};
  objective_->setObjectName("objective");
  objective_->setAccessibleName(tr("What to look for"));
  // The longest words of a language must not widen the window.
  objective_->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
  objective_->setMinimumContentsLength(14);
  for (const ObjectiveRow& row : kObjectives) objective_->addItem(tr(row.label));
  headroom_ = new QComboBox{controls};
  headroom_->setObjectName("memoryShare");
  headroom_->setAccessibleName(tr("Memory a plan may take"));
  for (const int percent : kMemoryPercents) headroom_->addItem(tr("≤ %1 % of memory").arg(percent), percent);
  keep_micro_batch_ = new QCheckBox{tr("keep micro-batch"), controls};
  keep_micro_batch_->setObjectName("keepMicroBatch");
  keep_recompute_ = new QCheckBox{tr("keep recompute"), controls};
  keep_recompute_->setObjectName("keepRecompute");
  for (QCheckBox* box : {keep_micro_batch_, keep_recompute_}) box->setAccessibleName(box->text());
  start_ = new QPushButton{tr("&Search"), controls};
  start_->setObjectName("startSearch");
  cancel_ = new QPushButton{tr("C&ancel"), controls};
  cancel_->setObjectName("cancelSearch");
  connect(start_, &QPushButton::clicked, this, &SearchPage::start);
  connect(cancel_, &QPushButton::clicked, &search_, &SearchJob::cancel);
  line->addWidget(new QLabel{tr("Look for"), controls});
  for (QWidget* widget :
       std::initializer_list<QWidget*>{objective_, headroom_, keep_micro_batch_, keep_recompute_})
    line->addWidget(widget);
  line->addStretch(1);
  line->addWidget(start_);
  line->addWidget(cancel_);
  rows->addLayout(line);
  progress_ = new QProgressBar{controls};
  progress_->setObjectName("searchProgress");
  progress_->setAccessibleName(tr("Progress of the search"));
  progress_->setRange(0, 1000);
  counts_ =
      new QLabel{tr("Every layout of these GPUs is looked at; the window stays usable meanwhile."), controls};
  counts_->setObjectName("searchCounts");
  counts_->setWordWrap(true);
  rows->addWidget(progress_);
  rows->addWidget(counts_);
  return controls;
}

QWidget* SearchPage::makeResults() {
  auto* upper = new QWidget{this};
  auto* column = new QVBoxLayout{upper};
  column->setContentsMargins(0, 0, 0, 0);
  filter_ = new QLineEdit{upper};
  filter_->setObjectName("planFilter");
  filter_->setAccessibleName(tr("Filter plans"));
  filter_->setPlaceholderText(tr("Filter: tp8, full, interleaved …"));
  filter_->setClearButtonEnabled(true);
  plans_ = new PlanTableModel{this};
  sorted_ = sortedAndFiltered(plans_, this);
  connect(filter_, &QLineEdit::textChanged, sorted_, &QSortFilterProxyModel::setFilterFixedString);
  table_ = makeTable(upper, "plans", tr("Plans"));
  table_->setModel(sorted_);
  table_->setToolTip(tr("Double-click or Enter loads a plan; the header's menu shows more columns"));
  for (int i = 0; i < plans_->columnCount(); ++i)
    table_->setColumnHidden(i, !PlanTableModel::shownAtFirst(i));
  table_->sortByColumn(0, Qt::AscendingOrder);
  table_->resizeColumnsToContents();
  addTableTools(*table_, "plans");
  connect(table_, &QAbstractItemView::activated, this, [this](const QModelIndex& index) {
    loadRefined(plans_->row(sorted_->mapToSource(index).row()).plan);
  });
  column->addWidget(filter_);
  column->addWidget(table_, 1);
  scatter_ = new ScatterPlot{this};
  scatter_->setObjectName("pareto");
  scatter_->setEmptyText(
      tr("Plans that no other beats in both step time and memory appear here; a click loads one."));
  connect(scatter_, &PlotView::itemActivated, this, [this](int item) {
    const auto& front = search_.result()->ranking.pareto;
    if (item >= 0 && item < static_cast<int>(front.size())) load(front[static_cast<std::size_t>(item)]);
  });
  rejections_ = new RejectionModel{this};
  rejected_ = makeTable(this, "rejections", tr("Rejections by rule"));
  rejected_->setModel(sortedAndFiltered(rejections_, this));
  rejected_->resizeColumnsToContents();
  addTableTools(*rejected_, "rejections");
  auto* lower = new QSplitter{this};
  lower->addWidget(scatter_);
  lower->addWidget(rejected_);
  lower->setSizes({500, 400});
  auto* split = new QSplitter{Qt::Vertical, this};
  split->setChildrenCollapsible(false);
  split->addWidget(upper);
  split->addWidget(lower);
  split->setSizes({270, 330});
  return split;
}

planner::SearchProblem SearchPage::problem(const Evaluation& e) const {
  planner::SearchProblem result = problemOf(e);
  result.objective = kObjectives[objective_->currentIndex()].objective;
  result.constraints.memory_share = headroom_->currentData().toInt() / 100.0;
  result.top = kPlans;
  if (keep_micro_batch_->isChecked()) result.space.micro_batch = {e.scenario.recipe.micro_batch};
  if (keep_recompute_->isChecked()) result.space.recompute = {e.scenario.recipe.recompute};
  return result;
}

void SearchPage::start() {
  const EvaluationPtr e = document().evaluation();
  if (!e->has_model || !e->has_cluster || !e->calibration) return;
  showRunning(true);
  search_.start(e, problem(*e));
}

void SearchPage::showRunning(bool running) {
  progress_->setVisible(running);
  if (running) progress_->setValue(0);
  start_->setEnabled(!running);
  cancel_->setEnabled(running);
}

void SearchPage::showProgress(double share, qint64 priced) {
  showRunning(true);
  progress_->setValue(static_cast<int>(share * progress_->maximum()));
  counts_->setText(tr("%1 layouts priced …").arg(countText(priced)));
}

void SearchPage::showFound() {
  showRunning(false);
  const SearchResultPtr result = search_.result();
  const planner::Ranking& ranking = result->ranking;
  const planner::SearchCounts& counts = ranking.counts;
  counts_->setText(tr("%1%2 candidates: %3 broke a rule, %4 could not be among the best, %5 priced, %6 fit.")
                       .arg(ranking.stopped ? tr("Cancelled: ") : QString{}, countText(counts.enumerated),
                            countText(counts.rejected), countText(counts.pruned), countText(counts.priced),
                            countText(counts.feasible)));
  plans_->setRanking(ranking);
  rejections_->setRanking(ranking);
  table_->resizeColumnsToContents();
  rejected_->resizeColumnsToContents();
  ScatterData scatter{.x_unit = AxisUnit::Seconds,
                      .y_unit = AxisUnit::BinaryBytes,
                      .color_unit = AxisUnit::Percent,
                      .x_title = tr("step time"),
                      .y_title = tr("peak memory per GPU"),
                      .color_title = tr("MFU")};
  for (const planner::Plan& plan : ranking.pareto)
    scatter.points.push_back(pointOf(plan, layoutText(plan.layout)));
  if (result->evaluation->priced()) {
    scatter.y_limit = result->evaluation->estimate.capacity.value();
    scatter.y_limit_name = tr("usable memory");
  }
  scatter_->setPoints(std::move(scatter));
}

void SearchPage::load(const planner::Plan& plan) {
  presets::ScenarioRequest request = document().request();
  request.recipe = plan.recipe;
  request.layout.layout = plan.layout;
  request.layout.dp_given = false;
  document().change(std::move(request), tr("Plan %1").arg(layoutText(plan.layout)));
}

/// The uneven split where the search found one that is faster.
void SearchPage::loadRefined(const planner::RankedPlan& ranked) {
  planner::Plan plan = ranked.plan;
  if (ranked.refinement) {
    plan.layout = ranked.refinement->layout;
    plan.recipe = ranked.refinement->recipe;
  }
  load(plan);
}

void SearchPage::refresh() {
  const EvaluationPtr e = document().evaluation();
  start_->setEnabled(e->has_model && e->has_cluster && !search_.running());
}

}  // namespace hexaplan::gui
