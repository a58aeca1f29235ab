#include "gui/app/pages/oracle_dialog.h"

#include <QFileDialog>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QProgressBar>
#include <QPushButton>
#include <QSettings>
#include <QTableView>
#include <QVBoxLayout>

#include "gui/app/document/write_file.h"
#include "gui/app/pages/plain_label.h"
#include "gui/app/pages/table_tools.h"
#include "gui/models/oracle_model.h"
#include "presets/oracle/ask_framework.h"
#include "presets/oracle/own_profile.h"

namespace hexaplan::gui {
namespace {

constexpr const char* kPython = "python";  // what was typed last

QString versionsOf(const presets::FrameworkStep& step) {
  QStringList texts;
  for (const auto& [package, version] : step.versions)
    texts += QString{"%1 %2"}.arg(QString::fromStdString(package), QString::fromStdString(version));
  return texts.join(", ");
}

}  // namespace

OracleDialog::OracleDialog(ScenarioDocument& document, QWidget* parent)
    : QDialog{parent}, document_{document} {
  setObjectName("oracle");
  setWindowTitle(tr("Check against PyTorch"));
  resize(900, 620);
  auto* column = new QVBoxLayout{this};
  column->addWidget(makeControls());
  says_ = plainLabel(this, "oracleSays");
  says_->setWordWrap(true);
  says_->setText(
      tr("Runs one step of this question in your own PyTorch, without a GPU, and shows tensor by "
         "tensor where it differs from the prediction. Nothing is installed."));
  column->addWidget(says_);
  rows_ = new OracleModel{this};
  QTableView* table = makeTable(this, "oracleTable", tr("Prediction beside PyTorch"));
  table->setModel(rows_);
  table->horizontalHeader()->setSectionResizeMode(QHeaderView::ResizeToContents);
  table->horizontalHeader()->setSectionResizeMode(0, QHeaderView::Stretch);
  addTableTools(*table, "oracle");
  column->addWidget(table, 1);
  connect(&job_, &OracleJob::staged, says_, &QLabel::setText);
  connect(&job_, &OracleJob::checked, this, &OracleDialog::showFound);
  connect(&job_, &OracleJob::failed, this, [this](const QString& problem) {
    showRunning(false);
    says_->setText(problem);
  });
  showRunning(false);
}

QWidget* OracleDialog::makeControls() {
  auto* line = new QWidget{this};
  auto* row = new QHBoxLayout{line};
  row->setContentsMargins(0, 0, 0, 0);
  python_ = new QLineEdit{QSettings{}.value(kPython).toString(), line};
  python_->setObjectName("oraclePython");
  python_->setAccessibleName(tr("Python"));
  python_->setPlaceholderText(QString::fromStdString(presets::python_for({})));
  python_->setToolTip(tr("Python with torch, and with transformers for hf-eager"));
  auto* name = new QLabel{tr("&Python"), line};
  name->setBuddy(python_);
  start_ = new QPushButton{tr("&Check"), line};
  start_->setObjectName("startOracle");
  start_->setDefault(true);
  cancel_ = new QPushButton{tr("C&ancel"), line};
  cancel_->setObjectName("cancelOracle");
  save_ = new QPushButton{tr("&Keep as profile…"), line};
  save_->setObjectName("saveOracle");
  save_->setEnabled(false);
  progress_ = new QProgressBar{line};
  progress_->setRange(0, 0);  // nobody knows how long
  row->addWidget(name);
  row->addWidget(python_, 1);
  for (QWidget* widget : {static_cast<QWidget*>(progress_), static_cast<QWidget*>(start_),
                          static_cast<QWidget*>(cancel_), static_cast<QWidget*>(save_)})
    row->addWidget(widget);
  connect(start_, &QPushButton::clicked, this, &OracleDialog::start);
  connect(cancel_, &QPushButton::clicked, this, [this] {
    job_.cancel();
    showRunning(false);
    says_->setText(tr("Cancelled."));
  });
  connect(save_, &QPushButton::clicked, this, &OracleDialog::saveWithDialog);
  return line;
}

void OracleDialog::start() {
  const EvaluationPtr evaluation = document_.evaluation();
  if (evaluation == nullptr || !evaluation->understood()) {
    says_->setText(tr("Choose a model and GPUs first."));
    return;
  }
  QSettings{}.setValue(kPython, python_->text());
  found_.reset();
  rows_->setRows({});
  showRunning(true);
  says_->setText(tr("Python starts"));
  job_.start(evaluation, python_->text());
}

void OracleDialog::showRunning(bool running) {
  progress_->setVisible(running);
  cancel_->setVisible(running);
  start_->setVisible(!running);
  save_->setEnabled(!running && found_ != nullptr);
}

void OracleDialog::showFound(const CheckedStepPtr& step) {
  found_ = step;
  rows_->setRows(report::oracle_lines(step->scenario, step->numbers));
  says_->setText(QString::fromStdString(report::oracle_verdict(step->numbers)) + "\n" +
                 versionsOf(step->step));
  showRunning(false);
}

bool OracleDialog::saveTo(const QString& path) {
  const presets::OwnProfile own = presets::own_profile(found_->scenario, found_->step, found_->framework);
  if (own.file.is_null()) {
    says_->setText(tr("There is nothing that a profile could say."));
    return false;
  }
  if (presets::would_inherit_itself(found_->framework, path.toStdString())) {
    says_->setText(tr("A profile cannot inherit itself: choose another file."));
    return false;
  }
  const QString problem = writeFile(path, QByteArray::fromStdString(presets::to_text(own.file) + "\n"));
  says_->setText(problem.isEmpty() ? tr("Saved: %1").arg(path) : tr("%1: %2").arg(path, problem));
  return problem.isEmpty();
}

void OracleDialog::saveWithDialog() {
  const QString path = QFileDialog::getSaveFileName(this, tr("Keep as a framework profile"),
                                                    "my-framework.json", tr("Framework profiles (*.json)"));
  if (!path.isEmpty()) saveTo(path);
}

}  // namespace hexaplan::gui
