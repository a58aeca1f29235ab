#include "gui/app/pages/sweep_panel.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QProgressBar>
#include <QPushButton>
#include <QSortFilterProxyModel>
#include <QSplitter>
#include <QTableView>
#include <QVBoxLayout>
#include <algorithm>
#include <string_view>
#include <utility>

#include "gui/app/document/messages.h"
#include "gui/app/pages/plain_label.h"
#include "gui/app/pages/table_tools.h"
#include "gui/app/setup/fields.h"
#include "gui/models/plan_table_model.h"
#include "gui/models/sweep_model.h"
#include "gui/models/table_export.h"
#include "gui/plot/heat_map.h"
#include "presets/json/input_error.h"
#include "presets/scenario/swept_values.h"

namespace hexaplan::gui {
namespace {

/// Fields that a sweep may vary, and what is offered first.
struct SweepableField {
  const char* id;
  const char* values;
  bool lengths = false;  // k is 1024
};
constexpr std::string_view kMicroBatch = "recipe.micro_batch";
constexpr SweepableField kSweepable[] = {{"recipe.sequence", "4k..32k", true},
                                         {"cluster.gpus", "64..512"},
                                         {"recipe.global_batch", "128..1024"},
                                         {kMicroBatch.data(), "1..8"},
                                         {"cluster.gpu", "a100-80-sxm, h100-80-sxm, h200, b200"},
                                         {"cluster.network", "ib400, ib800"},
                                         {"recipe.precision", "bf16, fp8"}};

struct Metric {
  const char* title;
  CellUnit unit;
  std::optional<double> (*value)(const SweepRow& row);
};
constexpr Metric kMetrics[] = {
    {QT_TRANSLATE_NOOP("SweepPanel", "tokens/s per GPU"), CellUnit::Count,
     [](const SweepRow& r) -> std::optional<double> { return r.best->price.tokens_per_second_per_gpu; }},
    {QT_TRANSLATE_NOOP("SweepPanel", "step time"), CellUnit::Seconds,
     [](const SweepRow& r) -> std::optional<double> { return r.best->price.step.value(); }},
    {QT_TRANSLATE_NOOP("SweepPanel", "MFU"), CellUnit::Percent,
     [](const SweepRow& r) -> std::optional<double> { return r.best->price.mfu; }},
    {QT_TRANSLATE_NOOP("SweepPanel", "free memory per GPU"), CellUnit::Bytes,
     [](const SweepRow& r) -> std::optional<double> { return r.best->price.headroom().value(); }},
    {QT_TRANSLATE_NOOP("SweepPanel", "cost per million tokens"), CellUnit::Dollars,
     [](const SweepRow& r) { return costOfTokens(*r.best, r.tokens_per_step); }}};

/// "4k..32k, 100000": the values that it stands for.
QStringList valuesOf(const QString& text, bool lengths) {
  std::vector<std::string> values;
  for (const QString& part : text.split(',', Qt::SkipEmptyParts))
    presets::append_swept_values(part.trimmed().toStdString(), text.toStdString(), lengths, values);
  QStringList out;
  for (const std::string& value : values) out.append(QString::fromStdString(value));
  out.removeDuplicates();
  return out;
}

SweepRow rowOfCell(const SweepResult& sweep, std::size_t index) {
  const SweptCell& cell = sweep.cells[index];
  const auto across = static_cast<std::size_t>(sweep.axes[1].values.size());
  SweepRow row{.first = sweep.axes[0].values[static_cast<qsizetype>(index / across)],
               .second = sweep.axes[1].values[static_cast<qsizetype>(index % across)],
               .best = cell.best,
               .nothing = cell.nothing};
  if (cell.best) {
    const costmodel::Recipe& recipe = cell.best->recipe;
    row.tokens_per_step = static_cast<double>(recipe.global_batch) * static_cast<double>(recipe.sequence);
  }
  return row;
}

QString nameOf(const std::string& field) {
  return labelOf(*findField(field));
}

}  // namespace

SweepPanel::SweepPanel(ScenarioDocument& document, std::function<ProblemOf()> problem, QWidget* parent)
    : QWidget{parent}, document_{document}, problem_{std::move(problem)} {
  auto* column = new QVBoxLayout{this};
  column->setContentsMargins(0, 4, 0, 0);
  column->addWidget(makeControls());
  map_ = new HeatMap{this};
  map_->setObjectName("heatMap");
  map_->setEmptyText(
      tr("The best plan for every pair of values of two fields appears here; a click loads one."));
  connect(map_, &PlotView::itemActivated, this, &SweepPanel::load);
  rows_ = new SweepModel{this};
  table_ = makeSortedTable(this, "sweptPlans", tr("Best plan of each pair of values"));
  auto* sorted = sortedAndFiltered(rows_, this);
  table_->setModel(sorted);
  table_->sortByColumn(-1, Qt::AscendingOrder);
  addTableTools(*table_, "sweep");
  connect(table_, &QAbstractItemView::activated, this,
          [this, sorted](const QModelIndex& index) { load(sorted->mapToSource(index).row()); });
  auto* split = new QSplitter{Qt::Vertical, this};
  split->setChildrenCollapsible(false);
  split->addWidget(map_);
  split->addWidget(table_);
  split->setSizes({340, 160});
  column->addWidget(split, 1);
  connect(&job_, &SweepJob::progressed, this,
          [this](double share) { progress_->setValue(static_cast<int>(share * progress_->maximum())); });
  connect(&job_, &SweepJob::found, this, &SweepPanel::showFound);
  showRunning(false);
}

QWidget* SweepPanel::makeAxes(QWidget* controls) {
  auto* line = new QWidget{controls};
  auto* row = new QHBoxLayout{line};
  row->setContentsMargins(0, 0, 0, 0);
  for (std::size_t axis = 0; axis < fields_.size(); ++axis) {
    auto* field = new QComboBox{line};
    field->setObjectName(axis == 0 ? "sweepRows" : "sweepColumns");
    nameBox(*field, axis == 0 ? tr("Field of the rows") : tr("Field of the columns"));
    field->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    field->setMinimumContentsLength(10);
    for (const SweepableField& sweepable : kSweepable) field->addItem(nameOf(sweepable.id));
    auto* values = new QLineEdit{line};
    values->setObjectName(axis == 0 ? "sweepRowValues" : "sweepColumnValues");
    values->setAccessibleName(axis == 0 ? tr("Values of the rows") : tr("Values of the columns"));
    values->setToolTip(tr("Values between commas; a range such as 64..512 doubles from one to the next"));
    connect(field, &QComboBox::currentIndexChanged, values,
            [values](int index) { values->setText(kSweepable[index].values); });
    connect(values, &QLineEdit::returnPressed, this, &SweepPanel::start);
    field->setCurrentIndex(static_cast<int>(axis));
    values->setText(kSweepable[axis].values);
    row->addWidget(field);
    row->addWidget(values, 1);
    fields_[axis] = field;
    values_[axis] = values;
  }
  return line;
}

QWidget* SweepPanel::makeControls() {
  auto* controls = new QWidget{this};
  auto* rows = new QVBoxLayout{controls};
  rows->setContentsMargins(0, 0, 0, 0);
  rows->addWidget(makeAxes(controls));
  metric_ = new QComboBox{controls};
  metric_->setObjectName("sweepMetric");
  nameBox(*metric_, tr("What the colours say"));
  for (const Metric& metric : kMetrics) metric_->addItem(tr(metric.title));
  connect(metric_, &QComboBox::currentIndexChanged, this, &SweepPanel::showMap);
  start_ = new QPushButton{tr("Search every pair"), controls};
  start_->setObjectName("startSweep");
  connect(start_, &QPushButton::clicked, this, &SweepPanel::start);
  cancel_ = new QPushButton{tr("Cancel the sweep"), controls};
  cancel_->setObjectName("cancelSweep");
  connect(cancel_, &QPushButton::clicked, &job_, &SweepJob::cancel);
  progress_ = new QProgressBar{controls};
  progress_->setObjectName("sweepProgress");
  progress_->setAccessibleName(tr("Progress of the sweep"));
  progress_->setRange(0, 1000);
  auto* line = new QHBoxLayout;
  line->addWidget(metric_);
  line->addWidget(progress_, 1);
  line->addStretch(0);
  line->addWidget(start_);
  line->addWidget(cancel_);
  rows->addLayout(line);
  says_ = plainLabel(controls, "sweepSays");
  says_->setWordWrap(true);
  rows->addWidget(says_);
  return controls;
}

void SweepPanel::start() {
  const EvaluationPtr now = document_.evaluation();
  if (!now->calibration || job_.running()) return;
  std::array<SweptField, 2> axes;
  std::size_t cells = 1;
  ProblemOf make;
  try {
    for (std::size_t axis = 0; axis < axes.size(); ++axis) {
      const SweepableField& field = kSweepable[fields_[axis]->currentIndex()];
      axes[axis] = {field.id, valuesOf(values_[axis]->text(), field.lengths)};
      cells *= static_cast<std::size_t>(axes[axis].values.size());
    }
    make = problem_();
    (void)make(*now);  // limits that cannot be read are said before anything runs
  } catch (const presets::InputError& error) {
    return says_->setText(tr("Not searched: %1").arg(problemText(error.problem)));
  }
  if (axes[0].field == axes[1].field) return says_->setText(tr("Not searched: choose two different fields."));
  if (cells == 0 || cells > presets::kMostSweptCells)
    return says_->setText(
        tr("Not searched: %1 pairs; there may be 1 to %2.").arg(cells).arg(presets::kMostSweptCells));
  const bool by_key = start_->hasFocus();
  asked_ = now;
  showRunning(true);
  if (by_key) cancel_->setFocus();
  says_->setText(tr("Searching %1 pairs …").arg(cells));
  const bool micro_batch = axes[0].field == kMicroBatch || axes[1].field == kMicroBatch;
  job_.start(now, std::move(axes), [make = std::move(make), micro_batch](const Evaluation& e) {
    planner::SearchProblem problem = make(e);
    // The search varies it unless it is told to stay.
    if (micro_batch) problem.space.micro_batch = {e.scenario.recipe.micro_batch};
    return problem;
  });
}

void SweepPanel::showRunning(bool running) {
  progress_->setVisible(running);
  cancel_->setVisible(running);
  start_->setEnabled(!running);
  if (running) progress_->setValue(0);
}

void SweepPanel::showFound() {
  const bool by_key = cancel_->hasFocus();
  showRunning(false);
  const SweepResult& sweep = *job_.result();
  if (!sweep.failure.isEmpty()) return says_->setText(tr("The sweep broke off: %1.").arg(sweep.failure));
  fillTable();
  showMap();
  showQuestion();
  if (by_key && isVisible()) map_->setFocus();
}

/// What the map answers, and whether that is the present question.
void SweepPanel::showQuestion() {
  start_->setEnabled(document_.evaluation()->calibration != nullptr && !job_.running());
  if (!job_.result() || job_.running() || !job_.result()->failure.isEmpty()) return;
  const SweepResult& sweep = *job_.result();
  const auto found = std::count_if(sweep.cells.begin(), sweep.cells.end(),
                                   [](const SweptCell& cell) { return cell.best.has_value(); });
  QString text = tr("%1%2 of %3 pairs have a plan.")
                     .arg(sweep.stopped ? tr("Cancelled: ") : QString{})
                     .arg(found)
                     .arg(sweep.cells.size());
  if (asked_->request.model != document_.request().model)
    text += ' ' + tr("They are of another model than the present one; loading one brings it back.");
  says_->setText(text);
}

void SweepPanel::fillTable() {
  const SweepResult& sweep = *job_.result();
  std::vector<SweepRow> rows;
  for (std::size_t i = 0; i < sweep.cells.size(); ++i) rows.push_back(rowOfCell(sweep, i));
  rows_->setSweep(nameOf(sweep.axes[0].field), nameOf(sweep.axes[1].field), std::move(rows));
  table_->resizeColumnsToContents();
  constexpr int kPlan = 2, kWidest = 260;
  table_->setColumnWidth(kPlan, std::min(kWidest, table_->columnWidth(kPlan)));
}

void SweepPanel::showMap() {
  if (!job_.result() || !job_.result()->failure.isEmpty()) return;
  const SweepResult& sweep = *job_.result();
  const Metric& metric = kMetrics[metric_->currentIndex()];
  HeatMapData map{.row_title = nameOf(sweep.axes[0].field),
                  .column_title = nameOf(sweep.axes[1].field),
                  .value_title = tr(metric.title),
                  .rows = sweep.axes[0].values,
                  .columns = sweep.axes[1].values,
                  .cells = {},
                  .unit = metric.unit,
                  .nothing = tr("no plan")};
  for (const SweepRow& row : rows_->rows()) {
    HeatMapCell cell;
    if (row.best) {
      cell.value = metric.value(row);
      cell.words = layoutText(row.best->layout) + u'\n' +
                   tr("step %1, MFU %2, risk %3")
                       .arg(secondsText(row.best->price.step), percentText(row.best->price.mfu),
                            percentText(row.best->price.risk));
    } else {
      cell.words = row.nothing;
    }
    map.cells.push_back(std::move(cell));
  }
  map_->setCells(std::move(map));
}

void SweepPanel::load(int cell) {
  const SweptCell& chosen = job_.result()->cells[static_cast<std::size_t>(cell)];
  if (!chosen.best) return says_->setText(tr("Nothing to load there: %1").arg(chosen.nothing));
  document_.loadPlan(*chosen.evaluation, chosen.best->recipe, chosen.best->layout,
                     tr("Plan %1").arg(layoutText(chosen.best->layout)));
}

}  // namespace hexaplan::gui
