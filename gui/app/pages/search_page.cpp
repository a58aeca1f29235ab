#include "gui/app/pages/search_page.h"

#include <QCheckBox>
#include <QComboBox>
#include <QGraphicsOpacityEffect>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QProgressBar>
#include <QPushButton>
#include <QSignalBlocker>
#include <QSortFilterProxyModel>
#include <QSplitter>
#include <QTabBar>
#include <QTabWidget>
#include <QTableView>
#include <QVBoxLayout>
#include <algorithm>
#include <iterator>
#include <utility>

#include "cli/commands/search.h"
#include "gui/app/document/messages.h"
#include "gui/app/jobs/search_limits.h"
#include "gui/app/pages/flow_layout.h"
#include "gui/app/pages/machines_panel.h"
#include "gui/app/pages/plain_label.h"
#include "gui/app/pages/sweep_panel.h"
#include "gui/app/pages/table_tools.h"
#include "gui/models/plan_table_model.h"
#include "gui/models/table_export.h"
#include "gui/plot/scatter_plot.h"
#include "presets/json/input_error.h"

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
/// Highest chance of running out of memory that a plan may have.
constexpr int kRiskPercents[] = {1, 5, 10, 25, 100};
constexpr int kAnyRisk = 100;
constexpr std::size_t kPlans = 100;

/// What the colours of the front can tell. The first is what memory and time do not say.
struct ColourRow {
  const char* label;
  AxisUnit unit;
  double (*of)(const planner::Price& price);
};
constexpr ColourRow kColours[] = {
    {QT_TRANSLATE_NOOP("SearchPage", "risk"), AxisUnit::Percent,
     [](const planner::Price& p) { return p.risk; }},
    {QT_TRANSLATE_NOOP("SearchPage", "MFU"), AxisUnit::Percent,
     [](const planner::Price& p) { return p.mfu; }},
    {QT_TRANSLATE_NOOP("SearchPage", "tokens/s per GPU"), AxisUnit::Plain,
     [](const planner::Price& p) { return p.tokens_per_second_per_gpu; }},
};

/// The price of what the window shows.
planner::Price priceOf(const Evaluation& e) {
  return {.step = e.estimate.time.total(),
          .peak = e.peakStage().needed,
          .capacity = e.estimate.capacity,
          .gpus = e.scenario.cluster.gpus,
          .tokens_per_second_per_gpu = e.estimate.throughput.tokens_per_second_per_gpu,
          .mfu = e.estimate.throughput.mfu,
          .risk = e.estimate.out_of_memory_probability};
}

ScatterPoint pointOf(const planner::Price& price, const ColourRow& colour, const QString& label) {
  return {.x = price.step.value(), .y = price.peak.value(), .color = colour.of(price), .label = label};
}

}  // namespace

SearchPage::SearchPage(ScenarioDocument& document, SearchJob& search, QWidget* parent)
    : Page{document, parent}, search_{search} {
  setObjectName("searchPage");
  auto* layout = new QVBoxLayout{this};
  layout->setContentsMargins(8, 8, 8, 8);
  layout->addWidget(makeControls());
  auto* tabs = new QTabWidget{this};
  tabs->setObjectName("searchTabs");
  tabs->setDocumentMode(true);
  tabs->tabBar()->setAccessibleName(tr("Parts of the search"));
  tabs->addTab(makeResults(), tr("Plans"));
  sweep_ = new SweepPanel{document, [this] { return problemMaker(); }, tabs};
  tabs->addTab(sweep_, tr("Heat map"));
  machines_ = new MachinesPanel{document, [this] { return problemMaker(); }, tabs};
  tabs->addTab(machines_, tr("Other machines"));
  layout->addWidget(tabs, 1);
  connect(&search_, &SearchJob::progressed, this, &SearchPage::showProgress);
  connect(&search_, &SearchJob::found, this, &SearchPage::takeFound);
  connect(&document, &ScenarioDocument::projectOpened, this, &SearchPage::showProject);
  showRunning(false);
}

void SearchPage::makeBoxes(QWidget* controls) {
  objective_ = new QComboBox{controls};
  objective_->setObjectName("objective");
  objective_->setAccessibleName(tr("What to look for"));
  // The longest words of a language must not widen the window.
  objective_->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
  objective_->setMinimumContentsLength(14);
  for (const ObjectiveRow& row : kObjectives) objective_->addItem(tr(row.label));
  risk_ = new QComboBox{controls};
  risk_->setObjectName("maxRisk");
  risk_->setAccessibleName(tr("Highest chance of running out of memory"));
  risk_->setToolTip(tr("Highest chance of running out of memory that a plan may have"));
  for (const int percent : kRiskPercents)
    risk_->addItem(percent == kAnyRisk ? tr("any") : tr("≤ %1 %").arg(percent), percent);
  risk_->setCurrentIndex(risk_->findData(qRound(100 * planner::kDefaultRisk)));
  headroom_ = new QComboBox{controls};
  headroom_->setObjectName("memoryShare");
  headroom_->setAccessibleName(tr("Memory a plan may take"));
  headroom_->setToolTip(tr("Share of the usable memory that a plan may take as predicted"));
  for (const int percent : kMemoryPercents) headroom_->addItem(tr("≤ %1 %").arg(percent), percent);
  keep_micro_batch_ = new QCheckBox{tr("keep micro-batch"), controls};
  keep_micro_batch_->setObjectName("keepMicroBatch");
  keep_recompute_ = new QCheckBox{tr("keep recompute"), controls};
  keep_recompute_->setObjectName("keepRecompute");
  limits_ = new QLineEdit{controls};
  limits_->setObjectName("searchLimits");
  limits_->setAccessibleName(tr("Limits in the words of the command"));
  limits_->setPlaceholderText(tr("Limits in words: tp=8 cp=1,2 max-hours=72 …"));
  limits_->setClearButtonEnabled(true);
  limits_->setToolTip("<p>" + limitWords().join('\n').toHtmlEscaped().replace('\n', "<br>") + "</p>");
  connect(limits_, &QLineEdit::returnPressed, this, &SearchPage::start);
  for (QCheckBox* box : {keep_micro_batch_, keep_recompute_}) box->setAccessibleName(box->text());
}

QWidget* SearchPage::makeControls() {
  auto* controls = new QWidget{this};
  auto* rows = new QVBoxLayout{controls};
  rows->setContentsMargins(0, 0, 0, 0);
  auto* line = new FlowLayout;
  makeBoxes(controls);
  start_ = new QPushButton{tr("&Search"), controls};
  start_->setObjectName("startSearch");
  cancel_ = new QPushButton{tr("C&ancel"), controls};
  cancel_->setObjectName("cancelSearch");
  connect(start_, &QPushButton::clicked, this, &SearchPage::start);
  connect(cancel_, &QPushButton::clicked, &search_, &SearchJob::cancel);
  // Screen readers take a box's name from its label.
  const auto labelled = [&](const QString& text, QWidget* box) {
    auto* both = new QWidget{controls};
    auto* beside = new QHBoxLayout{both};
    beside->setContentsMargins(0, 0, 0, 0);
    auto* label = new QLabel{text, both};
    label->setBuddy(box);
    beside->addWidget(label);
    beside->addWidget(box);
    line->addWidget(both);
  };
  labelled(tr("Look for"), objective_);
  labelled(tr("risk"), risk_);
  labelled(tr("memory"), headroom_);
  line->addWidget(keep_micro_batch_);
  line->addWidget(keep_recompute_);
  line->addWidget(start_);
  line->addWidget(cancel_);
  rows->addLayout(line);
  rows->addWidget(limits_);
  progress_ = new QProgressBar{controls};
  progress_->setObjectName("searchProgress");
  progress_->setAccessibleName(tr("Progress of the search"));
  progress_->setRange(0, 1000);
  counts_ =
      new QLabel{tr("Every layout of these GPUs is looked at; the window stays usable meanwhile."), controls};
  counts_->setObjectName("searchCounts");
  rows->addWidget(progress_);
  rows->addWidget(makeChoice(controls));
  rows->addWidget(scrolledText(counts_, tr("What the search found")));
  return controls;
}

/// Which of the project's searches is shown.
QWidget* SearchPage::makeChoice(QWidget* controls) {
  choice_ = new QWidget{controls};
  auto* line = new QHBoxLayout{choice_};
  line->setContentsMargins(0, 0, 0, 0);
  kept_ = new QComboBox{choice_};
  kept_->setObjectName("keptSearches");
  nameBox(*kept_, tr("Search that is shown"));
  kept_->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
  kept_->setMinimumContentsLength(30);
  auto* forget = new QPushButton{tr("Forget it"), choice_};
  forget->setObjectName("forgetSearch");
  forget->setAccessibleName(tr("Forget the search that is shown"));
  connect(kept_, &QComboBox::currentIndexChanged, this, &SearchPage::showChosen);
  connect(forget, &QPushButton::clicked, this, [this] {
    document().forgetSearch(shown_);
    showNewest();
  });
  line->addWidget(kept_, 1);
  line->addWidget(forget);
  choice_->hide();
  return choice_;
}

/// What says that the results answer another question.
void SearchPage::makeStale(QWidget* upper) {
  stale_ = new QWidget{upper};
  auto* says = new QHBoxLayout{stale_};
  says->setContentsMargins(0, 0, 0, 0);
  stale_text_ = plainLabel(stale_, "staleResults");
  stale_text_->setWordWrap(true);
  says->addWidget(stale_text_, 1);
  auto* again = new QPushButton{tr("Search again"), stale_};
  again->setObjectName("searchAgain");
  connect(again, &QPushButton::clicked, this, &SearchPage::start);
  says->addWidget(again);
  stale_->hide();
}

/// The filter and the table of plans.
QWidget* SearchPage::makePlans() {
  auto* upper = new QWidget{this};
  auto* column = new QVBoxLayout{upper};
  column->setContentsMargins(0, 0, 0, 0);
  makeStale(upper);
  column->addWidget(stale_);
  filter_ = new QLineEdit{upper};
  filter_->setObjectName("planFilter");
  filter_->setAccessibleName(tr("Filter plans"));
  filter_->setPlaceholderText(tr("Filter: tp8, full, interleaved …"));
  filter_->setClearButtonEnabled(true);
  plans_ = new PlanTableModel{this};
  sorted_ = sortedAndFiltered(plans_, this);
  connect(filter_, &QLineEdit::textChanged, sorted_, &QSortFilterProxyModel::setFilterFixedString);
  table_ = makeSortedTable(upper, "plans", tr("Plans"));
  table_->setModel(sorted_);
  table_->setToolTip(tr("Double-click or Enter loads a plan; the header's menu shows more columns"));
  for (int i = 0; i < plans_->columnCount(); ++i)
    table_->setColumnHidden(i, !PlanTableModel::shownAtFirst(i));
  // By what plans differ in stands before what follows from it.
  constexpr int kMicroBatch = 7, kRecompute = 8, kAfterRisk = 5;
  table_->horizontalHeader()->moveSection(kMicroBatch, kAfterRisk);
  table_->horizontalHeader()->moveSection(kRecompute, kAfterRisk + 1);
  constexpr int kClosedForm = 13, kAfterStep = 3;
  table_->horizontalHeader()->moveSection(kClosedForm, kAfterStep);
  constexpr int kLeastPlans = 48;
  table_->setMinimumHeight(kLeastPlans);
  table_->sortByColumn(0, Qt::AscendingOrder);
  table_->resizeColumnsToContents();
  addTableTools(*table_, "plans");
  connect(table_, &QAbstractItemView::activated, this, [this](const QModelIndex& index) {
    load(plans_->row(sorted_->mapToSource(index).row()).plan.plan);
  });
  column->addWidget(filter_);
  column->addWidget(table_, 1);
  return upper;
}

/// The chart of the front with the choice of what its colours tell.
QWidget* SearchPage::withColours(QWidget* chart) {
  auto* whole = new QWidget{this};
  auto* column = new QVBoxLayout{whole};
  column->setContentsMargins(0, 0, 0, 0);
  colour_ = new QComboBox{whole};
  colour_->setObjectName("frontColour");
  nameBox(*colour_, tr("What the colours of the chart tell"));
  for (const ColourRow& row : kColours) colour_->addItem(tr(row.label));
  connect(colour_, &QComboBox::currentIndexChanged, this, &SearchPage::showFront);
  auto* line = new QHBoxLayout;
  line->addWidget(new QLabel{tr("Colour"), whole});
  line->addWidget(colour_);
  line->addStretch(1);
  column->addLayout(line);
  column->addWidget(chart, 1);
  return whole;
}

QWidget* SearchPage::makeResults() {
  scatter_ = new ScatterPlot{this};
  scatter_->setObjectName("pareto");
  scatter_->setEmptyText(
      tr("Plans that no other beats in both step time and memory appear here; a click loads one."));
  connect(scatter_, &PlotView::itemActivated, this, [this](int item) {
    const auto& front = shown_->ranking.pareto;
    if (item >= 0 && item < static_cast<int>(front.size())) load(front[static_cast<std::size_t>(item)]);
  });
  rejections_ = new RejectionModel{this};
  rejected_ = makeSortedTable(this, "rejections", tr("Rejections by rule"));
  rejected_->setModel(sortedAndFiltered(rejections_, this));
  rejected_->resizeColumnsToContents();
  addTableTools(*rejected_, "rejections");
  // With large letters on a low screen, what is said above needs the room.
  constexpr int kLeast = 24;
  for (QWidget* part : {static_cast<QWidget*>(scatter_), static_cast<QWidget*>(rejected_)})
    part->setMinimumHeight(kLeast);
  auto* lower = new QSplitter{this};
  lower->addWidget(withColours(scatter_));
  lower->addWidget(rejected_);
  lower->setSizes({500, 400});
  auto* split = new QSplitter{Qt::Vertical, this};
  split->setChildrenCollapsible(false);
  split->addWidget(makePlans());
  split->addWidget(lower);
  split->setSizes({270, 330});
  return split;
}

SearchTerms SearchPage::terms() const {
  return {.objective = kObjectives[objective_->currentIndex()].objective,
          .max_risk = allowedRisk(),
          .memory_share = headroom_->currentData().toInt() / 100.0,
          .keep_micro_batch = keep_micro_batch_->isChecked(),
          .keep_recompute = keep_recompute_->isChecked(),
          .limits = limits_->text().simplified(),
          .top = kPlans};
}

/// What a box does not offer leaves it as it is.
void SearchPage::showTerms(const SearchTerms& terms) {
  for (int i = 0; i < static_cast<int>(std::size(kObjectives)); ++i) {
    if (kObjectives[i].objective == terms.objective) objective_->setCurrentIndex(i);
  }
  const auto choose = [](QComboBox& box, double share) {
    if (const int at = box.findData(qRound(100 * share)); at >= 0) box.setCurrentIndex(at);
  };
  choose(*risk_, terms.max_risk);
  choose(*headroom_, terms.memory_share);
  keep_micro_batch_->setChecked(terms.keep_micro_batch);
  keep_recompute_->setChecked(terms.keep_recompute);
  limits_->setText(terms.limits);
}

ProblemOf SearchPage::problemMaker() const {
  return [terms = terms()](const Evaluation& e) { return problemOf(e, terms); };
}

double SearchPage::allowedRisk() const {
  return risk_->currentData().toInt() / 100.0;
}

void SearchPage::start() {
  const EvaluationPtr e = document().evaluation();
  if (!e->has_model || !e->has_cluster || !e->calibration) return;
  const bool by_key = start_->hasFocus();
  try {
    search_.start(e, terms());
    showRunning(true);
    if (by_key) cancel_->setFocus();  // what has the keyboard is disabled
  } catch (const presets::InputError& error) {
    counts_->setText(tr("Not searched: %1").arg(problemText(error.problem)));
  }
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

/// "Shortest step, risk ≤ 5 %, tp=8; llama-3.1-8b on 256 × h100-80-sxm, sequence 8192, global batch 128".
static QString questionText(const SearchResult& result) {
  const auto& scenario = result.evaluation->scenario;
  QString text;
  for (const ObjectiveRow& row : kObjectives) {
    if (row.objective == result.problem.objective) text = SearchPage::tr(row.label);
  }
  if (!text.isEmpty()) text[0] = text[0].toUpper();
  if (result.problem.constraints.max_risk < 1)
    text += SearchPage::tr(", risk ≤ %1").arg(percentText(result.problem.constraints.max_risk));
  if (result.terms.memory_share < 1)
    text += SearchPage::tr(", memory ≤ %1").arg(percentText(result.terms.memory_share));
  if (result.terms.keep_micro_batch) text += ", " + SearchPage::tr("keep micro-batch");
  if (result.terms.keep_recompute) text += ", " + SearchPage::tr("keep recompute");
  if (!result.terms.limits.isEmpty()) text += ", " + result.terms.limits;
  return text + SearchPage::tr("; %1 on %2 × %3, sequence %4, global batch %5")
                    .arg(QString::fromStdString(scenario.model.name), countText(scenario.cluster.gpus),
                         QString::fromStdString(scenario.cluster.gpu.name))
                    .arg(scenario.recipe.sequence)
                    .arg(scenario.recipe.global_batch);
}

static QString countsText(const SearchResult& result) {
  const planner::Ranking& ranking = result.ranking;
  if (!result.failure.isEmpty()) return SearchPage::tr("The search broke off: %1.").arg(result.failure);
  const planner::SearchCounts& counts = ranking.counts;
  QString text =
      SearchPage::tr(
          "%1%2 candidates: %3 break a rule, %4 could not be among the best, %5 priced (%6 of them keep "
          "every limit).")
          .arg(ranking.stopped ? SearchPage::tr("Cancelled: ") : QString{}, countText(counts.enumerated),
               countText(counts.rejected), countText(counts.pruned + counts.outclassed),
               countText(counts.priced), countText(counts.feasible));
  if (ranking.contest.simulated > 0)
    text += ' ' + SearchPage::tr(
                      "Step times of the table are simulated; the chart and the tile above have the closed "
                      "form.");
  if (ranking.plans.empty() && ranking.best_at_any_risk) {
    const planner::Price& price = ranking.best_at_any_risk->price;
    text += ' ' + SearchPage::tr("None keeps the risk; with %1 there is one of %2 per step.")
                      .arg(percentText(price.risk), secondsText(price.step));
  }
  for (const std::string& note : cli::notes_of_search(result.problem, "tp=1,2,4,8 among the limits"))
    text += "\n" + QString::fromStdString(note) + '.';
  return text;
}

/// What was found stays with the project; what broke off is only told.
void SearchPage::takeFound() {
  const bool by_key = cancel_->hasFocus();
  showRunning(false);
  const SearchResultPtr result = search_.result();
  if (!result->failure.isEmpty()) return counts_->setText(countsText(*result));
  document().keepSearch(result);
  offerSearches(result);
  if (by_key && isVisible()) {
    table_->setFocus();
    table_->setCurrentIndex(sorted_->index(0, 0));
  }
}

void SearchPage::offerSearches(const SearchResultPtr& result) {
  const auto& searches = document().searches();
  {
    const QSignalBlocker quiet{kept_};
    kept_->clear();
    for (const SearchResultPtr& search : searches) kept_->addItem(questionText(*search));
    const auto at = std::find(searches.begin(), searches.end(), result);
    kept_->setCurrentIndex(at == searches.end() ? -1 : static_cast<int>(at - searches.begin()));
  }
  constexpr std::size_t kSeveral = 2;
  choice_->setVisible(searches.size() >= kSeveral);
  shown_ = result;
  showResult();
}

/// Nothing that was typed for the project before stays.
void SearchPage::showProject() {
  if (!search_.running()) showRunning(false);
  if (document().searches().empty()) showTerms({});
  showNewest();
}

void SearchPage::showNewest() {
  const auto& searches = document().searches();
  if (!searches.empty()) showTerms(searches.back()->terms);
  offerSearches(searches.empty() ? nullptr : searches.back());
}

/// The boxes then say what that search was asked for.
void SearchPage::showChosen() {
  const int index = kept_->currentIndex();
  if (index < 0) return;
  shown_ = document().searches()[static_cast<std::size_t>(index)];
  showTerms(shown_->terms);
  showResult();
}

void SearchPage::showResult() {
  counts_->setText(shown_
                       ? questionText(*shown_) + ". " + countsText(*shown_)
                       : tr("Every layout of these GPUs is looked at; the window stays usable meanwhile."));
  const planner::Ranking& ranking = shown_ ? shown_->ranking : planner::Ranking{};
  plans_->setRanking(ranking);
  rejections_->setRanking(ranking);
  table_->resizeColumnsToContents();
  constexpr int kLayout = 1, kWidestLayout = 290;  // one long name must not push the rest out of sight
  table_->setColumnWidth(kLayout, std::min(kWidestLayout, table_->columnWidth(kLayout)));
  rejected_->resizeColumnsToContents();
  showFront();
  showStale();
}

/// The front of the search that is shown, with the present plan marked where it answers the same question.
void SearchPage::showFront() {
  const SearchResultPtr result = shown_;
  if (!result) return scatter_->setPoints({});
  const ColourRow& colour = kColours[colour_->currentIndex()];
  ScatterData scatter{.x_unit = AxisUnit::Seconds,
                      .y_unit = AxisUnit::BinaryBytes,
                      .color_unit = colour.unit,
                      .x_title = tr("step time, closed form"),
                      .y_title = tr("peak memory per GPU"),
                      .color_title = tr(colour.label)};
  const EvaluationPtr now = document().evaluation();
  bool on_front = false;
  for (const planner::Plan& plan : result->ranking.pareto) {
    ScatterPoint point = pointOf(plan.price, colour, layoutText(plan.layout));
    point.on_front = true;
    point.marked =
        now->priced() && plan.layout == now->scenario.layout && plan.recipe == now->scenario.recipe;
    on_front = on_front || point.marked;
    scatter.points.push_back(point);
  }
  if (!scatter.points.empty() && !on_front && now->priced() && stillAsked(*result, *now)) {
    scatter.points.push_back(
        pointOf(priceOf(*now), colour, tr("the present plan: %1").arg(layoutText(now->scenario.layout))));
    scatter.points.back().marked = true;
  }
  if (result->evaluation->priced()) {
    scatter.y_limit = result->evaluation->estimate.capacity.value();
    scatter.y_limit_name = tr("usable memory");
  }
  scatter_->setPoints(std::move(scatter));
}

/// Results of another question are grey, and say so; what they load brings that question back.
void SearchPage::showStale() {
  const bool other = shown_ && !stillAsked(*shown_, *document().evaluation());
  const bool stale = other || (shown_ && shown_->outdated);
  stale_->setVisible(stale);
  if (other) {
    stale_text_->setText(
        tr("These plans answer the question above, not the present one. Loading one brings it back."));
  } else if (stale) {
    stale_text_->setText(
        tr("The file has these plans as an earlier version priced them; this one prices them otherwise."));
  }
  QPalette colors = palette();
  if (stale) colors.setColor(QPalette::Text, colors.color(QPalette::PlaceholderText));
  for (QTableView* table : {table_, rejected_}) {
    if (table->palette().color(QPalette::Text) != colors.color(QPalette::Text)) table->setPalette(colors);
  }
  constexpr double kFaded = 0.4;
  if (stale == (scatter_->graphicsEffect() != nullptr)) return;
  auto* faded = stale ? new QGraphicsOpacityEffect{scatter_} : nullptr;
  if (faded != nullptr) faded->setOpacity(kFaded);
  scatter_->setGraphicsEffect(faded);
}

void SearchPage::load(const planner::Plan& plan) {
  const EvaluationPtr question = shown_->evaluation;
  const bool stale = !stillAsked(*shown_, *document().evaluation());
  document().loadPlan(*question, plan.recipe, plan.layout, tr("Plan %1").arg(layoutText(plan.layout)));
  if (stale) emit questionReturned();
}

void SearchPage::refresh() {
  const EvaluationPtr e = document().evaluation();
  start_->setEnabled(e->has_model && e->has_cluster && !search_.running());
  sweep_->showQuestion();
  machines_->showQuestion();
  showFront();
  showStale();
}

}  // namespace hexaplan::gui
