#include "gui/app/pages/compare_page.h"

#include <QCoreApplication>
#include <QHBoxLayout>
#include <QIdentityProxyModel>
#include <QLabel>
#include <QLocale>
#include <QPushButton>
#include <QTableView>
#include <QVBoxLayout>
#include <iterator>

#include "gui/app/document/messages.h"
#include "gui/app/pages/flow_layout.h"
#include "gui/app/pages/plain_label.h"
#include "gui/app/pages/table_tools.h"
#include "gui/app/setup/fields.h"
#include "gui/models/comparison_model.h"
#include "gui/models/figures.h"
#include "gui/models/number_text.h"

namespace hexaplan::gui {
namespace {

/// Colours differences by whether they are good.
class ColoredComparison : public QIdentityProxyModel {
 public:
  explicit ColoredComparison(ComparisonModel& model, QWidget* view)
      : QIdentityProxyModel{view}, model_{model}, view_{view} {
    setSourceModel(&model);
  }
  [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override {
    if (role != Qt::ForegroundRole) return QIdentityProxyModel::data(index, role);
    const bool dark = view_->palette().color(QPalette::Base).lightness() < 128;
    switch (model_.verdict(mapToSource(index))) {
      case ComparisonModel::Verdict::Better:
        return QColor{dark ? "#56d364" : "#1a7f37"};
      case ComparisonModel::Verdict::Worse:
        return QColor{dark ? "#ff7b72" : "#b42318"};
      case ComparisonModel::Verdict::Same:
        return {};
    }
    return {};
  }

 private:
  ComparisonModel& model_;
  QWidget* view_;
};

/// What was asked, field by field of the setup: the rows of inputs, the same for every state.
std::vector<Figure> inputsOf(const Evaluation& e) {
  std::vector<Figure> inputs;
  for (const Field& field : fields()) {
    inputs.push_back({.group = titleOf(field.section),
                      .name = labelOf(field),
                      .meaning = QCoreApplication::translate("Field", field.tip),
                      .unit = CellUnit::Text,
                      .text = QString::fromStdString(field.read(e))});
  }
  return inputs;
}

std::vector<Figure> rowsOf(const Evaluation& e) {
  std::vector<Figure> rows = inputsOf(e);
  std::vector<Figure> figures = figuresOf(e.scenario, e.estimate);
  rows.insert(rows.end(), std::make_move_iterator(figures.begin()), std::make_move_iterator(figures.end()));
  return rows;
}

/// Why a state of a file cannot be priced on this machine.
QString whyNot(const Evaluation& e) {
  if (e.problem) return problemText(*e.problem);
  const auto* rejected = std::get_if<costmodel::Rejected>(&e.estimate.verdict);
  return rejected == nullptr ? ComparePage::tr("model or GPUs are missing")
                             : QString::fromStdString(rejected->reason);
}

}  // namespace

ComparePage::ComparePage(ScenarioDocument& document, QWidget* parent) : Page{document, parent} {
  setObjectName("comparePage");
  auto* layout = new QVBoxLayout{this};
  layout->setContentsMargins(8, 8, 8, 8);
  headline_ = plainLabel(this, "compareHeadline");
  headline_->setWordWrap(true);
  layout->addWidget(headline_);
  auto* line = new FlowLayout;
  const auto button = [&](const QString& text, const char* name, auto run) {
    auto* push = new QPushButton{text, this};
    push->setObjectName(name);
    connect(push, &QPushButton::clicked, this, run);
    line->addWidget(push);
  };
  button(tr("Pin as baseline"), "pinBaseline", [this] { this->document().pinBaseline(); });
  button(tr("Pin this state"), "pinState", [this] { this->document().pin(); });
  button(tr("Remove last pin"), "unpin",
         [this] { this->document().unpin(static_cast<int>(this->document().pins().size()) - 1); });
  layout->addLayout(line);
  questions_ = plainLabel(this, "compareQuestions");
  questions_->setWordWrap(true);
  QFont bold = questions_->font();
  bold.setBold(true);
  questions_->setFont(bold);
  layout->addWidget(questions_);
  states_ = plainLabel(this, "compareStates");
  states_->setWordWrap(true);
  QSizePolicy narrow{QSizePolicy::Ignored, QSizePolicy::Preferred};  // long names must not widen the window
  narrow.setHeightForWidth(true);
  states_->setSizePolicy(narrow);
  layout->addWidget(states_);
  table_ = makeTable(this, "comparison", tr("Comparison"));
  model_ = new ComparisonModel{this};
  table_->setModel(new ColoredComparison{*model_, table_});
  // Measuring every cell is dear: not while only numbers change.
  connect(model_, &QAbstractItemModel::modelReset, table_, &QTableView::resizeColumnsToContents);
  addTableTools(*table_, "comparison");
  layout->addWidget(table_, 1);
}

void ComparePage::refresh() {
  const EvaluationPtr now = document().evaluation();
  std::vector<ComparedState> states;
  QStringList names;
  const auto add = [&](const QString& short_name, const Evaluation& e) {
    states.push_back({short_name, rowsOf(e)});
    names.append(short_name + ": " + titleOf(e));
  };
  if (const EvaluationPtr baseline = document().baseline()) add(tr("Baseline"), *baseline);
  int number = 0;
  for (const PinnedState& pin : document().pins()) {
    const QString short_name = tr("Pin %1").arg(++number);
    if (pin.evaluation->priced()) {
      add(short_name, *pin.evaluation);
    } else {
      names.append(tr("%1: %2 has no numbers here: %3").arg(short_name, pin.name, whyNot(*pin.evaluation)));
    }
  }
  if (now->priced()) add(tr("Now"), *now);
  model_->setStates(std::move(states));
  states_->setText(names.join('\n'));
  const EvaluationPtr first = document().baseline();
  questions_->hide();
  if (first && now->priced()) {
    showHeadline(*first, *now);
    showQuestions(*first, *now);
  } else {
    headline_->setText(
        tr("Pin the present state as baseline (Ctrl+B): from then on every number of the window "
           "shows its difference. Pin further states (Ctrl+K) to see them side by side."));
  }
}

/// Two answers compare layouts only when the rest of the question is the same.
void ComparePage::showQuestions(const Evaluation& before, const Evaluation& after) {
  QStringList differences;
  for (const Field& field : fields()) {
    if (field.section == Section::Layout) continue;
    const std::string was = field.read(before), is = field.read(after);
    if (was != is)
      differences.append(
          QString{"%1 %2 → %3"}.arg(labelOf(field), QString::fromStdString(was), QString::fromStdString(is)));
  }
  questions_->setVisible(!differences.isEmpty());
  questions_->setText(tr("Not the same question: %1.").arg(differences.join("; ")));
}

void ComparePage::showHeadline(const Evaluation& before, const Evaluation& after) {
  const double step_before = before.estimate.time.total().value(), step = after.estimate.time.total().value();
  const double rate_before = before.estimate.throughput.tokens_per_second_per_gpu;
  const double rate = after.estimate.throughput.tokens_per_second_per_gpu;
  headline_->setText(tr("%1× the tokens per GPU, step %2 → %3, peak memory %4 → %5")
                         .arg(QLocale{}.toString(rate / rate_before, 'f', 2),
                              secondsText(costmodel::Seconds{step_before}),
                              secondsText(costmodel::Seconds{step}), bytesText(before.peakStage().needed),
                              bytesText(after.peakStage().needed)));
}

}  // namespace hexaplan::gui
