#include "gui/app/pages/memory_page.h"

#include <QComboBox>
#include <QCoreApplication>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QSignalBlocker>
#include <QSortFilterProxyModel>
#include <QSplitter>
#include <QTabBar>
#include <QTabWidget>
#include <QTreeView>
#include <QVBoxLayout>
#include <algorithm>
#include <iterator>

#include "gui/app/pages/plain_label.h"
#include "gui/app/pages/table_tools.h"
#include "gui/models/ledger_tree_model.h"
#include "gui/models/number_text.h"
#include "gui/models/table_export.h"
#include "gui/plot/memory_curve.h"
#include "gui/plot/simulation_views.h"
#include "gui/plot/stage_memory_bars.h"
#include "gui/plot/treemap.h"

namespace hexaplan::gui {
namespace {

/// Instants as the box offers them; those of a stage at which it can peak.
QString nameOfInstant(costmodel::Instant instant) {
  // As costmodel::name_of says them.
  static constexpr const char* names[] = {
      QT_TRANSLATE_NOOP("Instant", "forward"),        QT_TRANSLATE_NOOP("Instant", "loss"),
      QT_TRANSLATE_NOOP("Instant", "head backward"),  QT_TRANSLATE_NOOP("Instant", "backward"),
      QT_TRANSLATE_NOOP("Instant", "optimizer step"), QT_TRANSLATE_NOOP("Instant", "between steps")};
  static_assert(std::size(names) == costmodel::kInstants);
  return QCoreApplication::translate("Instant", names[costmodel::index_of(instant)]);
}

}  // namespace

MemoryPage::MemoryPage(ScenarioDocument& document, SimulationJob& simulations, QWidget* parent)
    : Page{document, parent}, simulations_{simulations} {
  setObjectName("memoryPage");
  bars_ = new StageMemoryBars{this};
  bars_->setObjectName("stageBars");
  bars_->setEmptyText(tr("Memory of every pipeline stage appears here."));
  connect(bars_, &PlotView::itemActivated, this, &MemoryPage::selectStage);
  auto* lower = new QWidget{this};
  auto* column = new QVBoxLayout{lower};
  column->setContentsMargins(0, 4, 0, 0);
  auto* line = new QHBoxLayout;
  caption_ = plainLabel(lower, "stageCaption");
  caption_->setWordWrap(true);
  instant_ = new QComboBox{lower};
  instant_->setObjectName("instant");
  instant_->setAccessibleName(tr("Instant of the step"));
  instant_->setToolTip(tr("The moment of the step at which the ledger is shown"));
  instant_->addItem(tr("at the peak"), -1);
  for (int i = 0; i < costmodel::kInstants; ++i)
    instant_->addItem(nameOfInstant(costmodel::instant_at(i)), i);
  connect(instant_, &QComboBox::currentIndexChanged, this, &MemoryPage::showStage);
  line->addWidget(caption_, 1);
  auto* moment = new QLabel{tr("shown"), lower};
  moment->setBuddy(instant_);  // screen readers take a box's name from its label
  line->addWidget(moment);
  line->addWidget(instant_);
  column->addLayout(line);
  makeDetails();
  column->addWidget(details_, 1);
  auto* split = new QSplitter{Qt::Vertical, this};
  split->setChildrenCollapsible(false);
  split->addWidget(bars_);
  split->addWidget(lower);
  split->setStretchFactor(0, 5);
  split->setStretchFactor(1, 6);
  auto* layout = new QVBoxLayout{this};
  layout->setContentsMargins(8, 8, 8, 8);
  layout->addWidget(split);
  connect(&simulations_, &SimulationJob::simulated, this, &MemoryPage::showCurve);
  connect(&simulations_, &SimulationJob::stateChanged, this, &MemoryPage::showCurve);
}

void MemoryPage::makeDetails() {
  details_ = new QTabWidget{this};
  details_->setObjectName("memoryDetails");
  details_->tabBar()->setAccessibleName(tr("Views of the stage"));
  auto* ledger = new QWidget{details_};
  auto* column = new QVBoxLayout{ledger};
  column->setContentsMargins(4, 6, 4, 4);
  filter_ = new QLineEdit{ledger};
  filter_->setObjectName("ledgerFilter");
  filter_->setAccessibleName(tr("Filter tensors"));
  filter_->setPlaceholderText(tr("Filter: qkv, bf16, gradient …"));
  filter_->setClearButtonEnabled(true);
  connect(filter_, &QLineEdit::textChanged, this, &MemoryPage::filter);
  ledger_ = new LedgerTreeModel{this};
  sorted_ = sortedAndFiltered(ledger_, this);
  tree_ = new QTreeView{ledger};
  tree_->setObjectName("ledger");
  tree_->setAccessibleName(tr("Tensors of the stage"));
  tree_->setModel(sorted_);
  tree_->setUniformRowHeights(true);
  tree_->setAlternatingRowColors(true);
  tree_->setSortingEnabled(true);
  tree_->sortByColumn(LedgerTreeModel::kBytes, Qt::DescendingOrder);
  tree_->setColumnWidth(0, 290);
  addTableTools(*tree_, "ledger");
  column->addWidget(filter_);
  column->addWidget(tree_, 1);
  details_->addTab(ledger, tr("&Ledger"));
  treemap_ = new Treemap{details_};
  treemap_->setObjectName("treemap");
  details_->addTab(treemap_, tr("&Treemap"));
  connect(treemap_, &Treemap::tensorActivated, this, [this](const QString& tensor) {
    details_->setCurrentIndex(0);
    const QModelIndex found = sorted_->mapFromSource(ledger_->find(tensor));
    if (!found.isValid()) return;
    tree_->setCurrentIndex(found);
    tree_->scrollTo(found);
  });
  curve_ = new MemoryCurve{details_};
  curve_->setObjectName("memoryCurve");
  curve_->setEmptyText(tr("The simulated step appears here."));
  details_->addTab(curve_, tr("&Over time"));
  connect(details_, &QTabWidget::currentChanged, this, &MemoryPage::showStage);
}

void MemoryPage::selectStage(int stage) {
  stage_ = stage;
  follows_peak_ = false;
  showStage();
}

void MemoryPage::refresh() {
  const EvaluationPtr e = document().evaluation();
  if (!e->priced()) {
    bars_->clear();
    caption_->clear();
    ledger_->setTree({});
    treemap_->clear();
    curve_->clear();
    return;
  }
  const int stages = static_cast<int>(e->estimate.stages.size());
  if (follows_peak_ || stage_ >= stages) {
    stage_ = e->estimate.peak_stage;
    follows_peak_ = true;
  }
  bars_->setEstimate(e->estimate, e->scenario.cluster.gpu.memory);
  const EvaluationPtr baseline = document().baseline();
  bars_->setBaseline(baseline ? baseline->estimate.stages : std::vector<costmodel::StageMemory>{});
  showStage();
}

/// Only what can be seen is computed: the ledger of one stage, and the simulation when its tab is open.
void MemoryPage::showStage() {
  const EvaluationPtr e = document().evaluation();
  if (!e->priced() || stage_ >= static_cast<int>(e->estimate.stages.size())) return;
  bars_->setSelectedStage(stage_);
  const costmodel::StageMemory& memory = e->estimate.stages[static_cast<std::size_t>(stage_)];
  const int chosen = instant_->currentData().toInt();
  const costmodel::Instant instant = chosen < 0 ? memory.instant : costmodel::instant_at(chosen);
  caption_->setText(tr("Stage %1: %2 on the device, %3 allocated, %4 reserved; peak in: %5; %6 layers")
                        .arg(stage_)
                        .arg(bytesText(memory.device), bytesText(memory.allocated),
                             bytesText(memory.reserved), nameOfInstant(memory.instant),
                             plainText(memory.layers)));
  if (details_->currentWidget() == curve_) {
    simulations_.ask(e);
    showCurve();
    return;
  }
  LedgerNode root = ledgerTree(costmodel::build_ledger(e->scenario, stage_), instant, memory);
  if (details_->currentWidget() == treemap_) {
    const QStringList path = treemap_->path();
    treemap_->setTree(std::move(root));
    treemap_->setPath(path);
    return;
  }
  const TreeState before{*tree_};
  ledger_->setTree(std::move(root));
  before.restore(*tree_);
}

void MemoryPage::showCurve() {
  using State = SimulationJob::State;
  const State state = simulations_.state();
  if (state == State::Cancelled || state == State::Refused) {
    curve_->setEmptyText(state == State::Refused ? tr("Not simulated: %1").arg(simulations_.problem())
                                                 : tr("Not simulated: cancelled."));
    return curve_->clear();
  }
  curve_->setEmptyText(state == State::Running ? tr("Simulating …") : tr("The simulated step appears here."));
  const SimulatedStepPtr step = simulations_.step();
  if (!step || step->evaluation != document().evaluation() || !isVisible()) return;
  const int stage = std::min(stage_, static_cast<int>(step->simulation.stages.size()) - 1);
  curve_->setCurve(memoryCurveOf(step->simulation, stage, step->evaluation->estimate.capacity,
                                 step->evaluation->scenario.cluster.gpu.memory));
}

void MemoryPage::filter(const QString& text) {
  sorted_->setFilterFixedString(text);
  if (text.isEmpty()) {
    tree_->collapseAll();
  } else {
    tree_->expandAll();
  }
}

}  // namespace hexaplan::gui
