#include "gui/app/pages/machines_panel.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QProgressBar>
#include <QPushButton>
#include <QVBoxLayout>
#include <utility>

#include "gui/app/document/messages.h"
#include "gui/app/pages/plain_label.h"
#include "gui/models/number_text.h"
#include "gui/models/plan_table_model.h"
#include "gui/plot/shift_bars.h"
#include "presets/json/input_error.h"

namespace hexaplan::gui {

namespace {

/// What `changed` makes of the plan that is the best now.
Shift shiftOf(const planner::Plan& now, const planner::ChangedMachines& changed) {
  Shift shift{.change = QString::fromStdString(changed.change), .share = {}, .result = {}, .words = {}};
  if (!changed.best) {
    shift.result = MachinesPanel::tr("nothing keeps the limits");
    return shift;
  }
  const planner::Plan& then = changed.best->plan;
  const planner::PlanShift moved = planner::shift_of(now, then);
  shift.share = moved.throughput;
  shift.result = moved.same_plan ? MachinesPanel::tr("the same plan") : layoutText(then.layout);
  QStringList words{MachinesPanel::tr("step %1, risk %2, recompute %3")
                        .arg(secondsText(then.price.step), percentText(then.price.risk),
                             recomputeText(then.recipe.recompute))};
  if (then.price.dollars_per_step > 0) {
    words.append(MachinesPanel::tr("a step costs US$ %1 (%2)")
                     .arg(plainText(then.price.dollars_per_step),
                          changeText(now.price.dollars_per_step, then.price.dollars_per_step)));
    if (moved.throughput == 0 && then.price.dollars_per_step != now.price.dollars_per_step)
      shift.result += ", " + MachinesPanel::tr("cost %1").arg(
                                 changeText(now.price.dollars_per_step, then.price.dollars_per_step));
  }
  shift.words = words.join(u'\n');
  return shift;
}

}  // namespace

MachinesPanel::MachinesPanel(ScenarioDocument& document, std::function<ProblemOf()> problem, QWidget* parent)
    : QWidget{parent}, document_{document}, problem_{std::move(problem)}, thread_{*this} {
  auto* column = new QVBoxLayout{this};
  column->setContentsMargins(0, 4, 0, 0);
  start_ = new QPushButton{tr("Search on other machines"), this};
  start_->setObjectName("startMachines");
  start_->setToolTip(tr("One search each with more memory, faster links and another price"));
  connect(start_, &QPushButton::clicked, this, &MachinesPanel::start);
  cancel_ = new QPushButton{tr("Cancel"), this};
  cancel_->setObjectName("cancelMachines");
  connect(cancel_, &QPushButton::clicked, this, [this] { thread_.cancel(); });
  progress_ = new QProgressBar{this};
  progress_->setObjectName("machinesProgress");
  progress_->setAccessibleName(tr("Progress of the searches on other machines"));
  progress_->setRange(0, 1000);
  auto* line = new QHBoxLayout;
  line->addWidget(start_);
  line->addWidget(cancel_);
  line->addWidget(progress_, 1);
  line->addStretch(0);
  column->addLayout(line);
  says_ = plainLabel(this, "machinesSay");
  says_->setWordWrap(true);
  column->addWidget(says_);
  bars_ = new ShiftBars{this};
  bars_->setObjectName("machines");
  bars_->setEmptyText(
      tr("What one more GiB, a faster network and another price would make of the best plan appears here."));
  column->addWidget(bars_, 1);
  showRunning(false);
}

void MachinesPanel::start() {
  const EvaluationPtr now = document_.evaluation();
  if (!now->has_model || !now->has_cluster || !now->calibration || thread_.running()) return;
  auto answer = std::make_shared<Answer>();
  answer->asked = now;
  planner::SearchProblem problem;
  try {
    problem = problem_()(*now);
  } catch (const presets::InputError& error) {
    return says_->setText(tr("Not searched: %1").arg(problemText(error.problem)));
  }
  problem.top = 1;
  answer->space = problem.space;
  const bool by_key = start_->hasFocus();
  showRunning(true);
  if (by_key) cancel_->setFocus();
  thread_.start(
      [answer, problem](const planner::SearchOptions& how) {
        planner::Ranking ranking =
            planner::search(problem, {.threads = how.threads, .progress = {}, .stop = how.stop});
        if (!ranking.plans.empty()) answer->best = std::move(ranking.plans.front());
        if (answer->best) answer->changed = planner::sensitivity(problem, how);
        answer->stopped = how.stop.stop_requested();
      },
      [this](const planner::SearchProgress& progress) {
        progress_->setValue(static_cast<int>(progress.share * progress_->maximum()));
      },
      [this, answer](const QString& failure) {
        answer_ = failure.isEmpty() && !answer->stopped ? answer : nullptr;  // what broke off answers nothing
        showFound(*answer, failure);
      });
}

void MachinesPanel::showRunning(bool running) {
  progress_->setVisible(running);
  cancel_->setVisible(running);
  start_->setEnabled(!running && document_.evaluation()->calibration != nullptr);
  if (running) progress_->setValue(0);
}

void MachinesPanel::showFound(const Answer& answer, const QString& failure) {
  showRunning(false);
  std::vector<Shift> shifts;
  // Of a search that was cut off nobody knows what it would have found.
  if (failure.isEmpty() && !answer.stopped && answer.best) {
    for (const planner::ChangedMachines& changed : answer.changed)
      shifts.push_back(shiftOf(answer.best->plan, changed));
  }
  bars_->setShifts(tr("tokens per second"), std::move(shifts));
  if (!failure.isEmpty()) return says_->setText(tr("The search broke off: %1.").arg(failure));
  if (answer.stopped) return says_->setText(tr("The search was cancelled."));
  showQuestion();
}

/// What the bars answer, and whether that is the present question.
void MachinesPanel::showQuestion() {
  if (!thread_.running()) start_->setEnabled(document_.evaluation()->calibration != nullptr);
  if (!answer_ || thread_.running()) return;
  if (!answer_->best) return says_->setText(tr("No layout keeps the limits on the present machines."));
  const planner::Plan& best = answer_->best->plan;
  QString text =
      tr("Tokens per second of the best plan on other machines, beside the best on these: %1, %2 per step.")
          .arg(layoutText(best.layout), secondsText(best.price.step));
  if (!stillAsked(*answer_->asked, answer_->space, *document_.evaluation()))
    text += ' ' + tr("It answers another question than the present one.");
  says_->setText(text);
}

}  // namespace hexaplan::gui
