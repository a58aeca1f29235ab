#include "gui/app/pages/validation_page.h"

#include <QComboBox>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QPushButton>
#include <QSignalBlocker>
#include <QSplitter>
#include <QStringList>
#include <QTabBar>
#include <QTabWidget>
#include <QTableView>
#include <QVBoxLayout>
#include <algorithm>
#include <cstddef>
#include <string>

#include "gui/app/pages/plain_label.h"
#include "gui/app/pages/table_tools.h"
#include "gui/models/calibration_model.h"
#include "gui/models/evidence_model.h"
#include "gui/models/report_model.h"
#include "gui/models/run_models.h"
#include "gui/plot/residual_plot.h"
#include "presets/published/published_runs.h"

namespace hexaplan::gui {
namespace {

/// Published runs that are listed.
constexpr std::size_t kPublishedRuns = 30;

QString useName(validator::ScenarioUse use) {
  switch (use) {
    case validator::ScenarioUse::Fitted:
      return ValidationPage::tr("fitted");
    case validator::ScenarioUse::HeldOut:
      return ValidationPage::tr("held out");
    case validator::ScenarioUse::Unknown:
      break;
  }
  return ValidationPage::tr("scenarios");
}

/// More terms than that share the mark of what they are of.
constexpr std::size_t kTermsWithMarks = 12;

/// A run has few points; the plot shows each term.
ResidualData residualsOf(const std::vector<ReportRow>& rows, CellUnit unit) {
  ResidualData data;
  data.unit = unit == CellUnit::Seconds ? AxisUnit::Seconds : AxisUnit::BinaryBytes;
  for (const ReportRow& row : rows) {
    if (row.unit != unit || !row.measured || *row.measured <= 0 || row.predicted <= 0) continue;
    const QString& group = rows.size() > kTermsWithMarks ? row.part : row.term;
    if (data.groups.empty() || data.groups.back() != group) data.groups.push_back(group);
    data.points.push_back({row.predicted, *row.measured, static_cast<int>(data.groups.size()) - 1, row.term});
  }
  return data;
}

/// Every validated scenario is a point, by whether its measurement may have been fitted.
ResidualData residualsOf(const ValidatedRuns& runs, bool memory) {
  using validator::ScenarioUse;
  ResidualData data;
  data.unit = memory ? AxisUnit::BinaryBytes : AxisUnit::Seconds;
  for (const ScenarioUse use : {ScenarioUse::Unknown, ScenarioUse::Fitted, ScenarioUse::HeldOut}) {
    const std::size_t before = data.points.size();
    for (const validator::ValidatedScenario& scenario : runs.scenarios) {
      const auto& total = memory ? scenario.memory : scenario.step;
      if (scenario.use != use || !total || total->predicted <= 0 || total->measured <= 0) continue;
      data.points.push_back({total->predicted, total->measured, static_cast<int>(data.groups.size()),
                             QString::fromStdString(scenario.name)});
    }
    if (data.points.size() > before) data.groups.push_back(useName(use));
  }
  return data;
}

/// Published runs by the framework that they ran.
ResidualData residualsOf(const std::vector<presets::PublishedRun>& runs) {
  ResidualData data;
  for (const presets::PublishedRun& run : runs) {
    const QString framework = QString::fromStdString(run.framework);
    const auto known = std::find(data.groups.begin(), data.groups.end(), framework);
    const auto group = static_cast<int>(known - data.groups.begin());
    if (known == data.groups.end()) data.groups.push_back(framework);
    data.points.push_back(
        {run.predicted.value(), run.measured.value(), group, QString::fromStdString(run.id)});
  }
  return data;
}

QTableView* makeTableOf(QAbstractItemModel& model, const char* name, const QString& accessible) {
  QTableView* table = makeTable(nullptr, name, accessible);
  table->setModel(&model);
  table->horizontalHeader()->setStretchLastSection(true);
  QObject::connect(&model, &QAbstractItemModel::modelReset, table, &QTableView::resizeColumnsToContents);
  addTableTools(*table, name);
  return table;
}

}  // namespace

ValidationPage::ValidationPage(ScenarioDocument& document, QWidget* parent) : Page{document, parent} {
  setObjectName("validationPage");
  auto* split = new QSplitter{Qt::Vertical, this};
  split->setChildrenCollapsible(false);
  split->addWidget(makeReport());
  split->addWidget(makeCalibration());
  auto* layout = new QVBoxLayout{this};
  layout->setContentsMargins(8, 8, 8, 8);
  layout->addWidget(split);
}

QWidget* ValidationPage::makeReport() {
  auto* upper = new QWidget{this};
  auto* column = new QVBoxLayout{upper};
  column->setContentsMargins(0, 0, 0, 0);
  auto* line = new QHBoxLayout;
  title_ = new QLabel{upper};
  title_->setObjectName("reportTitle");
  title_->setWordWrap(true);
  auto* open = new QPushButton{tr("Open a &report…"), upper};
  open->setObjectName("openReport");
  connect(open, &QPushButton::clicked, this, &ValidationPage::openReportRequested);
  figure_ = new QComboBox{upper};
  figure_->setObjectName("residualFigure");
  nameBox(*figure_, tr("What is compared"));
  figure_->addItems({tr("step time"), tr("memory")});
  connect(figure_, &QComboBox::currentIndexChanged, this, &ValidationPage::showResiduals);
  scenario_ = new QComboBox{upper};
  scenario_->setObjectName("validatedScenario");
  nameBox(*scenario_, tr("Scenario"));
  scenario_->hide();
  connect(scenario_, &QComboBox::activated, this, &ValidationPage::chooseScenario);
  line->addWidget(title_, 1);
  line->addWidget(scenario_);
  line->addWidget(figure_);
  line->addWidget(open);
  column->addLayout(line);
  column->addWidget(makeFiles(upper));
  report_ = new ReportModel{this};
  terms_ = makeTableOf(*report_, "terms", tr("Predicted and measured"));
  residuals_ = new ResidualPlot{upper};
  residuals_->setObjectName("residuals");
  residuals_->setEmptyText(tr("Predictions over measurements appear here."));
  parts_ = new QTabWidget{upper};
  parts_->setObjectName("runParts");
  parts_->setDocumentMode(true);
  parts_->tabBar()->setAccessibleName(tr("Parts of the report"));
  parts_->addTab(terms_, tr("&Terms"));
  phases_ = new PhaseModel{this};
  traffic_ = new TrafficModel{this};
  operations_ = new OperationModel{this};
  parts_->addTab(makeTableOf(*phases_, "phases", tr("Time by phase")), tr("P&hases"));
  parts_->addTab(makeTableOf(*traffic_, "traffic", tr("Collectives")), tr("&Collectives"));
  parts_->addTab(makeTableOf(*operations_, "operations", tr("Operations")), tr("Oper&ations"));
  published_ = new EvidenceModel{this};
  parts_->addTab(makeTableOf(*published_, "published", tr("Published runs nearest to the question")),
                 tr("P&ublished runs"));
  connect(parts_, &QTabWidget::currentChanged, this, &ValidationPage::showResiduals);
  auto* split = new QSplitter{upper};
  split->addWidget(parts_);
  split->addWidget(residuals_);
  split->setSizes({560, 340});
  column->addWidget(split, 1);
  showNothing(
      tr("Open the log of a run of this question, a CUDA memory snapshot, a table of nccl-tests, a log of "
         "nvidia-smi, or what 'hexaplan validate --json', 'hexaplan run --json' or 'hexaplan accuracy --rows "
         "--json' wrote: every term of the prediction then "
         "stands beside its measurement."));
  return upper;
}

/// Which of the project's reports is shown.
QWidget* ValidationPage::makeFiles(QWidget* parent) {
  choice_ = new QWidget{parent};
  auto* line = new QHBoxLayout{choice_};
  line->setContentsMargins(0, 0, 0, 0);
  files_ = new QComboBox{choice_};
  files_->setObjectName("measuredFiles");
  nameBox(*files_, tr("Report that is shown"));
  files_->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
  files_->setMinimumContentsLength(24);
  auto* forget = new QPushButton{tr("Remove it"), choice_};
  forget->setObjectName("forgetMeasured");
  forget->setToolTip(tr("Takes the report out of the project; its file stays"));
  forget->setAccessibleName(tr("Remove the report that is shown"));
  connect(files_, &QComboBox::currentIndexChanged, this, &ValidationPage::showFile);
  connect(forget, &QPushButton::clicked, this, [this] { document().forgetMeasured(file_); });
  connect(&document(), &ScenarioDocument::keptChanged, this, &ValidationPage::showFiles);
  line->addWidget(files_);
  line->addWidget(forget);
  line->addStretch(1);
  choice_->hide();
  return choice_;
}

void ValidationPage::showFiles() {
  const auto& measured = document().measured();
  {
    const QSignalBlocker quiet{files_};
    files_->clear();
    for (const MeasuredFilePtr& file : measured) files_->addItem(file->name);
    const auto at = std::find(measured.begin(), measured.end(), file_);
    const bool added = !measured.empty() && newest_ != measured.back();
    files_->setCurrentIndex(at == measured.end() || added ? files_->count() - 1
                                                          : static_cast<int>(at - measured.begin()));
  }
  newest_ = measured.empty() ? nullptr : measured.back();
  choice_->setVisible(!measured.empty());
  showFile();
}

void ValidationPage::showFile() {
  const int index = files_->currentIndex();
  const MeasuredFilePtr file = index < 0 ? nullptr : document().measured()[static_cast<std::size_t>(index)];
  if (file == file_) return;
  file_ = file;
  if (!file) return showNothing(tr("No report is open."));
  if (!file->measured) return showNothing(tr("Not understood here: %1").arg(file->problem));
  show(*file->measured);
}

void ValidationPage::showNothing(const QString& says) {
  rows_.reset();
  validated_.reset();
  report_->setRows({});
  phases_->setRows({});
  traffic_->setRows({});
  operations_->setRows({});
  scenario_->hide();
  title_->setText("<p>" + says.toHtmlEscaped() + "</p>");
  parts_->show();
  for (int tab = 0; tab + 1 < parts_->count(); ++tab) parts_->setTabVisible(tab, false);
  showResiduals();
}

QWidget* ValidationPage::makeCalibration() {
  auto* lower = new QWidget{this};
  auto* column = new QVBoxLayout{lower};
  column->setContentsMargins(0, 0, 0, 0);
  origin_ = new QLabel{lower};
  origin_->setObjectName("calibrationOrigin");
  origin_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  calibration_ = new CalibrationModel{this};
  evidence_ = new QLabel{lower};
  evidence_->setObjectName("evidence");
  evidence_->setTextFormat(Qt::PlainText);
  evidence_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  column->addWidget(scrolledText(origin_, tr("Origin of the calibration")));
  evidence_box_ = scrolledText(evidence_, tr("Published runs"));
  column->addWidget(evidence_box_);
  column->addWidget(makeTableOf(*calibration_, "calibrationTable", tr("Calibration in use")), 1);
  return lower;
}

void ValidationPage::refresh() {
  const EvaluationPtr e = document().evaluation();
  showEvidence(*e);
  if (!e->calibration || e->calibration == shown_) return;
  shown_ = e->calibration;
  const costmodel::Calibration& curves = e->calibration->calibration;
  calibration_->setCalibration(curves);
  origin_->setText(tr("<b>Calibration in use: %1</b> %2")
                       .arg(QString::fromStdString(curves.name).toHtmlEscaped(),
                            QString::fromStdString(curves.source).toHtmlEscaped()));
}

void ValidationPage::showEvidence(const Evaluation& evaluation) {
  QStringList lines;
  if (evaluation.priced()) {
    const costmodel::Scenario& scenario = evaluation.scenario;
    const presets::Evidence evidence = presets::evidence_for(scenario, kPublishedRuns);
    for (const std::string& line : presets::evidence_lines(evidence, scenario))
      lines += QString::fromStdString(line);
    published_->setRows(evidence.nearest);
  } else {
    published_->setRows({});
  }
  if (showsPublished()) showResiduals();
  evidence_->setText(lines.join('\n'));
  evidence_box_->setVisible(!lines.isEmpty());
}

void ValidationPage::show(const Measurements& measurements) {
  showNothing({});
  if (const auto* run = std::get_if<std::shared_ptr<const MeasuredRun>>(&measurements)) {
    showRun(**run);
  } else if (const auto* rows = std::get_if<std::shared_ptr<const MeasuredRows>>(&measurements)) {
    rows_ = *rows;
    showAccuracy(**rows);
  } else if (const auto* logs = std::get_if<std::shared_ptr<const MeasuredLogs>>(&measurements)) {
    showLogs(**logs);
  } else {
    validated_ = std::get<std::shared_ptr<const ValidatedRuns>>(measurements);
    showScenarios(*validated_);
  }
  parts_->setVisible(!rows_);
  // The other parts are those of an executed run; validations and logs have terms alone.
  const bool executed = std::holds_alternative<std::shared_ptr<const MeasuredRun>>(measurements);
  for (int tab = 0; tab + 1 < parts_->count(); ++tab) parts_->setTabVisible(tab, tab == 0 || executed);
  parts_->setCurrentIndex(0);
  scenario_->setVisible(validated_ != nullptr);
  showResiduals();
}

void ValidationPage::showAccuracy(const MeasuredRows& rows) {
  title_->setText(tr("<b>%1</b>: %2 step times and %3 memory figures beside their predictions")
                      .arg(QFileInfo{rows.path}.fileName().toHtmlEscaped())
                      .arg(rows.times.points.size())
                      .arg(rows.memories.points.size()));
}

void ValidationPage::showRun(const MeasuredRun& run) {
  const Evaluation& e = *run.predicted;
  title_->setText(
      tr("<b>%1</b>: %2 on %3%4")
          .arg(QFileInfo{run.path}.fileName().toHtmlEscaped(), titleOf(e).toHtmlEscaped(),
               run.report.ranks.empty() ? QString{} : QString::fromStdString(run.report.ranks.front().device),
               run.report.complete ? QString{} : tr(" (the run did not complete)")));
  report_->setRows(reportRows(e.scenario, e.estimate, run.report));
  phases_->setRows(validator::summarize_phases(run.report.ranks));
  traffic_->setRows(validator::summarize_traffic(run.report.ranks));
  operations_->setRows(validator::summarize_operations(run.report.ranks));
  figure_->setCurrentIndex(1);
}

void ValidationPage::showScenarios(const ValidatedRuns& runs) {
  const QSignalBlocker quiet{scenario_};
  scenario_->clear();
  scenario_->addItem(tr("all scenarios"));
  for (const validator::ValidatedScenario& scenario : runs.scenarios)
    scenario_->addItem(QString::fromStdString(scenario.name));
  const bool timed = std::any_of(runs.scenarios.begin(), runs.scenarios.end(),
                                 [](const auto& s) { return s.step.has_value(); });
  figure_->setCurrentIndex(timed ? 0 : 1);
  chooseScenario();
}

void ValidationPage::showLogs(const MeasuredLogs& logs) {
  QString text =
      tr("<b>%1</b>: %2")
          .arg(QFileInfo{logs.path}.fileName().toHtmlEscaped(), logs.titles.join("; ").toHtmlEscaped());
  if (!logs.notes.isEmpty()) text += "<br>" + logs.notes.join("; ").toHtmlEscaped();
  title_->setText(text);
  report_->setRows(logs.rows);
  const bool timed = std::any_of(logs.rows.begin(), logs.rows.end(),
                                 [](const ReportRow& row) { return row.unit == CellUnit::Seconds; });
  figure_->setCurrentIndex(timed ? 0 : 1);
}

void ValidationPage::chooseScenario() {
  const int chosen = scenario_->currentIndex() - 1;
  const QString file = QFileInfo{validated_->path}.fileName().toHtmlEscaped();
  std::vector<ReportRow> rows;
  if (chosen < 0) {
    const auto measured =
        std::count_if(validated_->scenarios.begin(), validated_->scenarios.end(),
                      [](const auto& s) { return s.outcome == validator::Outcome::Measured; });
    title_->setText(tr("<b>%1</b>: %2 of %3 scenarios measured on %4")
                        .arg(file)
                        .arg(measured)
                        .arg(validated_->scenarios.size())
                        .arg(validated_->device.toHtmlEscaped()));
    for (const validator::ValidatedScenario& scenario : validated_->scenarios) {
      const std::vector<ReportRow> totals = totalRows(scenario);
      rows.insert(rows.end(), totals.begin(), totals.end());
    }
  } else {
    const validator::ValidatedScenario& scenario = validated_->scenarios[static_cast<std::size_t>(chosen)];
    const QString what = QString::fromStdString(scenario.reason.empty() ? scenario.title : scenario.reason);
    title_->setText(tr("<b>%1</b>: %2").arg(file, what.toHtmlEscaped()));
    rows = reportRows(scenario);
  }
  report_->setRows(std::move(rows));
  showResiduals();
}

bool ValidationPage::showsPublished() const {
  return parts_->isVisibleTo(this) && parts_->currentIndex() == parts_->count() - 1;
}

void ValidationPage::showResiduals() {
  const bool memory = figure_->currentIndex() == 1;
  figure_->setEnabled(!showsPublished());  // published are step times
  if (showsPublished()) {
    residuals_->setResiduals(residualsOf(published_->rows()));
  } else if (rows_) {
    residuals_->setResiduals(memory ? rows_->memories : rows_->times);
  } else if (validated_ && scenario_->currentIndex() <= 0) {
    residuals_->setResiduals(residualsOf(*validated_, memory));
  } else {
    residuals_->setResiduals(residualsOf(report_->rows(), memory ? CellUnit::Bytes : CellUnit::Seconds));
  }
}

}  // namespace hexaplan::gui
