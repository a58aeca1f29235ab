#include "gui/app/main_window/verdict_bar.h"

#include <QAccessible>
#include <QCoreApplication>
#include <QHBoxLayout>
#include <QLabel>
#include <QLocale>
#include <QPushButton>
#include <QVBoxLayout>
#include <algorithm>

#include "costmodel/units/format_units.h"
#include "gui/app/document/messages.h"
#include "gui/app/document/scenario_document.h"
#include "gui/app/pages/flow_layout.h"
#include "gui/app/pages/plain_label.h"
#include "gui/app/setup/formula_page.h"
#include "gui/models/number_text.h"
#include "gui/plot/plot_theme.h"

namespace hexaplan::gui {
namespace {

constexpr int kMostChanges = 3;

void shrink(QLabel* label, double factor) {
  QFont font = label->font();
  font.setPointSizeF(font.pointSizeF() * factor);
  label->setFont(font);
}

/// A style sheet that is set is read and applied anew, even the same one.
void restyle(QWidget& widget, const QString& style) {
  if (widget.styleSheet() != style) widget.setStyleSheet(style);
}

/// "+2.4 GiB (+3 %)" against the baseline; empty without one.
QString difference(const Evaluation* baseline, double before, double now, const QString& magnitude) {
  if (baseline == nullptr) return {};
  const QString change = changeText(before, now);
  const QString sign = signedText(now - before, magnitude);
  return change.isEmpty() ? sign : sign + " (" + change + ")";
}

/// White letters are readable on each (contrast of 4.5 at least).
QColor badgeColor(Standing standing, const PlotTheme& theme) {
  switch (standing) {
    case Standing::Fits:
      return {theme.dark ? "#238636" : "#1a7f37"};
    case Standing::AtRisk:
      return {"#946200"};
    case Standing::DoesNotFit:
    case Standing::None:
      break;
  }
  return theme.alarm;
}

QString intervalText(const costmodel::Interval& bytes) {
  return VerdictBar::tr("%1 to %2")
      .arg(bytesText(costmodel::Bytes{bytes.low}), bytesText(costmodel::Bytes{bytes.high}));
}

struct Verdict {
  QString badge, reason;
};

/// Screen readers say `words`, wherever the keyboard is.
void announce(QLabel& badge, [[maybe_unused]] const QString& words) {
#if QT_VERSION >= QT_VERSION_CHECK(6, 8, 0)
  QAccessibleAnnouncementEvent announced{&badge, words};
#else
  QAccessibleEvent announced{&badge, QAccessible::Alert};  // what it says is the badge's name
#endif
  QAccessible::updateAccessibility(&announced);
}

Verdict refusalOf(const Evaluation& e) {
  const auto& rejected = std::get<costmodel::Rejected>(e.estimate.verdict);
  if (!e.priced() || rejected.rule != "fits-in-memory") {
    QString reason = QString::fromStdString(rejected.reason);
    if (!rejected.advice.empty()) reason += "; " + QString::fromStdString(rejected.advice);
    return {e.priced() ? VerdictBar::tr("Does not fit") : VerdictBar::tr("Cannot run"), reason};
  }
  // In the unit that the window shows.
  const costmodel::StageMemory& peak = e.peakStage();
  return {VerdictBar::tr("Does not fit"),
          VerdictBar::tr("Stage %1 needs %2, %3 more than the usable %4 of the GPU.")
              .arg(peak.stage)
              .arg(bytesText(peak.needed), bytesText(peak.needed - e.estimate.capacity),
                   bytesText(e.estimate.capacity))};
}

Verdict verdictOf(const Evaluation& e) {
  const QString chance = percentText(e.estimate.out_of_memory_probability);
  switch (e.standing()) {
    case Standing::Fits:
      // A line as all verdicts have one: what stands below does not move when another is reached.
      return {VerdictBar::tr("Fits"),
              VerdictBar::tr("The chance of running out of memory is %1.").arg(chance)};
    case Standing::AtRisk:
      return {VerdictBar::tr("At risk: %1").arg(chance),
              VerdictBar::tr("As predicted it needs %1 of the usable %2, but predictions err: the chance of "
                             "running out of memory is %3.")
                  .arg(bytesText(e.peakStage().needed), bytesText(e.estimate.capacity), chance)};
    case Standing::DoesNotFit:
      return refusalOf(e);
    case Standing::None:
      break;
  }
  if (!e.problem && e.understood()) return refusalOf(e);
  if (!e.problem || !e.has_model || !e.has_cluster) return {VerdictBar::tr("Not asked yet"), {}};
  return {VerdictBar::tr("Cannot run"), problemText(*e.problem)};
}

QString wordsOf(const std::vector<planner::ChangedSetting>& settings) {
  QStringList words;
  for (const planner::ChangedSetting& setting : settings) {
    const QString value = QString::fromStdString(setting.value);
    const QString name = utf8Text(setting.name);
    words.append(name == "layout" ? value : name + ' ' + value);
  }
  return words.join(" + ");
}

}  // namespace

VerdictBar::VerdictBar(ScenarioDocument& document, QWidget* parent) : QFrame{parent}, document_{document} {
  setObjectName("verdict");
  auto* rows = new QVBoxLayout{this};
  rows->setContentsMargins(12, 8, 12, 6);
  rows->setSpacing(6);
  auto* line = new QHBoxLayout;
  line->setSpacing(18);
  badge_ = new QLabel{this};
  badge_->setObjectName("badge");
  badge_->setAlignment(Qt::AlignCenter);
  badge_->setWordWrap(true);  // "At risk:" and the chance, where a line is too long for a small screen
  badge_->setMargin(6);
  line->addWidget(badge_);
  memory_ =
      addTile(line, "memory", tr("Peak memory per GPU"),
              fieldTip(tr("Peak memory per GPU"),
                       tr("What the fullest rank cannot do without, of what is usable. Below: what its "
                          "device will show, which "
                          "includes what the allocator could give back, as 90 % interval of the estimate."),
                       "M7"));
  step_ =
      addTile(line, "step", tr("Step"),
              fieldTip(tr("Step"),
                       tr("Time of one optimizer step in closed form, with its 90 % interval. The plans of a "
                          "search are ranked by simulated steps, a few percent off; the Time page simulates "
                          "the present one."),
                       "T8"));
  tokens_ = addTile(line, "tokens", tr("Tokens/s per GPU"),
                    fieldTip(tr("Tokens/s per GPU"), tr("Throughput of the job over its GPUs."), "U1"));
  mfu_ = addTile(
      line, "mfu", tr("MFU"),
      fieldTip(
          tr("MFU"),
          tr("Model FLOPs over the dense peak of the precision; attention causal, input embedding excluded."),
          "U2"));
  cost_ = addTile(line, "cost", tr("Training"),
                  fieldTip(tr("Training"), tr("Wall time and cost of the token budget."), "U3"));
  line->addStretch(1);
  rows->addLayout(line);
  makeHelp();
  rows->addWidget(help_);
  left_out_ = plainLabel(this, "notModelled");
  left_out_->setWordWrap(true);
  shrink(left_out_, 0.9);
  rows->addWidget(left_out_);
  connect(&document_, &ScenarioDocument::evaluated, this, &VerdictBar::refresh);
  connect(&document_, &ScenarioDocument::baselineChanged, this, &VerdictBar::refresh);
  refresh();
}

/// Why it does not fit, or may not, and what can be done about it; what makes a plan that fits faster.
void VerdictBar::makeHelp() {
  help_ = new QWidget{this};
  auto* lines = new QVBoxLayout{help_};
  lines->setContentsMargins(0, 0, 0, 0);
  lines->setSpacing(4);
  reason_ = plainLabel(help_, "reason");
  reason_->setWordWrap(true);
  lines->addWidget(reason_);
  auto* help = new FlowLayout;
  lines->addLayout(help);
  help_title_ = new QLabel{tr("Faster:"), help_};
  help_title_->setObjectName("faster");
  help_title_->setToolTip(
      tr("Single changes with which a step is at least 1 % shorter and the plan still fits safely"));
  help->addWidget(help_title_);
  for (int i = 0; i < kMostChanges; ++i) {
    auto* button = new QPushButton{help_};
    button->setObjectName(QString{"change.%1"}.arg(i));
    help->addWidget(button);
    changes_.push_back(button);
  }
  find_ = new QPushButton{help_};
  find_->setObjectName("findLayout");
  help->addWidget(find_);
  help_title_->setMinimumHeight(find_->sizeHint().height());  // its words beside those of the buttons
  connect(find_, &QPushButton::clicked, this,
          [this] { searching_ ? emit cancelSearchRequested() : emit findLayoutRequested(); });
}

VerdictBar::Tile VerdictBar::addTile(QHBoxLayout* into, const QString& name, const QString& title,
                                     const QString& tip) {
  Tile tile;
  tile.box = new QWidget{this};
  tile.box->setToolTip(tip);
  auto* column = new QVBoxLayout{tile.box};
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  tile.title = new QLabel{title, tile.box};
  tile.value = plainLabel(tile.box, qPrintable("value." + name));
  tile.note = elidingLabel(tile.box, qPrintable("note." + name));
  shrink(tile.title, 0.85);
  shrink(tile.note, 0.85);
  shrink(tile.value, 1.35);
  tile.title->setForegroundRole(QPalette::PlaceholderText);
  tile.note->setForegroundRole(QPalette::PlaceholderText);
  for (QLabel* label : {tile.title, tile.value, tile.note}) column->addWidget(label);
  into->addWidget(tile.box);
  return tile;
}

void VerdictBar::refresh() {
  const EvaluationPtr evaluation = document_.evaluation();
  showVerdict(*evaluation);
  showNumbers(*evaluation, document_.baseline().get());
  showChanges(*evaluation);
  showLeftOut(*evaluation);
}

/// Words of the question that the numbers do not contain: with what is missing where there is room for it.
void VerdictBar::showLeftOut(const Evaluation& e) {
  constexpr qsizetype kRoom = 240;  // letters
  const auto said = [](const std::vector<costmodel::KnobNote>& words, bool whole) {
    QStringList list;
    for (const costmodel::KnobNote& word : words) {
      const QString knob = QString::fromStdString(word.knob);
      list.append(whole ? QString{"%1 (%2)"}.arg(knob, QString::fromStdString(word.effect)) : knob);
    }
    return list.join("; ");
  };
  const auto lines = [&](bool whole) {
    QStringList text;
    if (!e.not_modelled.empty()) text.append(tr("Not modelled: %1.").arg(said(e.not_modelled, whole)));
    if (!e.without_effect.empty()) text.append(tr("Without effect: %1.").arg(said(e.without_effect, whole)));
    return text.join('\n');
  };
  const QString whole = e.priced() ? lines(true) : QString{};
  left_out_->setVisible(!whole.isEmpty());
  left_out_->setText(whole.size() > kRoom ? lines(false) : whole);
  left_out_->setToolTip("<p>" + whole.toHtmlEscaped().replace('\n', "<br>") + "</p>");
  left_out_->setAccessibleDescription(whole);
}

void VerdictBar::showVerdict(const Evaluation& e) {
  const PlotTheme& theme = PlotTheme::suiting(palette());
  const bool asked = e.has_model && e.has_cluster;
  const Verdict verdict = verdictOf(e);
  const bool changed = badge_->text() != verdict.badge;
  badge_->setText(verdict.badge);
  constexpr int kUsualBadge = 118;  // short words do not move what stands beside them
  badge_->setMinimumWidth(std::max(kUsualBadge, badge_->minimumSizeHint().width()));
  badge_->setAccessibleName(verdict.badge);
  badge_->setAccessibleDescription(verdict.reason);
  if (changed) {
    announce(*badge_, verdict.badge);
    emit verdictChanged(verdict.badge);
  }
  badge_->setToolTip(
      e.priced()
          ? tr("Chance of running out of memory: %1").arg(percentText(e.estimate.out_of_memory_probability))
          : QString{});
  const QColor back = asked ? badgeColor(e.standing(), theme) : theme.faint;
  restyle(*badge_,
          QString{"background:%1; color:white; border-radius:4px; font-weight:bold;"}.arg(back.name()));
  reason_->setText(verdict.reason);
  reason_->setVisible(!verdict.reason.isEmpty());
  const bool calm = e.standing() == Standing::AtRisk || e.standing() == Standing::Fits;
  const QColor said = calm ? theme.text : theme.danger;
  restyle(*reason_, "color:" + said.name());
}

void VerdictBar::showNumbers(const Evaluation& e, const Evaluation* baseline) {
  const bool priced = e.priced();
  for (const Tile* tile : {&memory_, &step_, &tokens_, &mfu_}) tile->box->setVisible(priced);
  cost_.box->setVisible(priced && e.training.has_value());
  if (!priced) return;
  const auto& now = e.estimate;
  const costmodel::Bytes peak = e.peakStage().needed;
  const costmodel::Seconds step = now.time.total();
  memory_.value->setText(tr("%1 of %2").arg(bytesText(peak), bytesText(now.capacity)));
  const QString on_device = tr("on the device %1").arg(intervalText(now.memory_bytes));
  memory_.note->setText(on_device);
  step_.value->setText(secondsText(step));
  step_.note->setText(tr("%1 to %2")
                          .arg(secondsText(costmodel::Seconds{now.step_seconds.low}),
                               secondsText(costmodel::Seconds{now.step_seconds.high})));
  tokens_.value->setText(plainText(now.throughput.tokens_per_second_per_gpu));
  tokens_.note->setText(
      tr("%1 tokens/s in all")
          .arg(localized(QString::fromStdString(costmodel::format_short(now.throughput.tokens_per_second)))));
  mfu_.value->setText(percentText(now.throughput.mfu));
  mfu_.note->setText(tr("HFU %1").arg(percentText(now.throughput.hfu)));
  if (e.training) {
    cost_.value->setText(secondsText(e.training->wall));
    cost_.note->setText(
        e.training->dollars > 0
            ? tr("US$ %1").arg(
                  localized(QString::fromStdString(costmodel::format_short(e.training->dollars))))
            : tr("%1 GPU-hours")
                  .arg(localized(QString::fromStdString(costmodel::format_short(e.training->gpu_hours)))));
  }
  if (baseline == nullptr) return;
  const auto& was = baseline->estimate;
  const costmodel::Bytes peak_was = baseline->peakStage().needed;
  const costmodel::Seconds step_was = was.time.total();
  const auto magnitude = [](double d) { return d < 0 ? -d : d; };
  memory_.note->setText(tr("%1; %2").arg(
      on_device, difference(baseline, peak_was.value(), peak.value(),
                            bytesText(costmodel::Bytes{magnitude(peak.value() - peak_was.value())}))));
  const QString step_change =
      difference(baseline, step_was.value(), step.value(),
                 secondsText(costmodel::Seconds{magnitude(step.value() - step_was.value())}));
  // Steps of different batches are not the same work.
  const double work = static_cast<double>(costmodel::tokens_per_step(e.scenario.recipe)) /
                      static_cast<double>(costmodel::tokens_per_step(baseline->scenario.recipe));
  step_.note->setText(work == 1
                          ? step_change
                          : tr("%1 at %2× the tokens").arg(step_change, QLocale{}.toString(work, 'g', 3)));
  const double rate = now.throughput.tokens_per_second_per_gpu,
               rate_was = was.throughput.tokens_per_second_per_gpu;
  tokens_.note->setText(difference(baseline, rate_was, rate, plainText(magnitude(rate - rate_was))));
  // Differences of shares are percentage points.
  QString points = percentText(magnitude(now.throughput.mfu - was.throughput.mfu));
  points.replace(u'%', tr("points"));
  mfu_.note->setText(signedText(now.throughput.mfu - was.throughput.mfu, points));
}

/// A change of the plan as a button says it.
struct VerdictBar::Change {
  QString words;
  const costmodel::Recipe* recipe;
  const costmodel::Layout* layout;
  costmodel::Seconds step;
  costmodel::Bytes peak;
  double risk;
  QString gain;  // of the step; empty where the plan does not fit anyhow
};

std::vector<VerdictBar::Change> VerdictBar::changesFor(const Evaluation& e) {
  std::vector<Change> changes;
  for (const planner::FittingChange& change : e.changes) {
    changes.push_back({wordsOf(change.settings),
                       &change.recipe,
                       &change.layout,
                       change.step,
                       change.peak,
                       change.risk,
                       {}});
  }
  const double now = e.priced() ? e.estimate.time.total().value() : 0;
  for (const planner::FasterChange& change : e.faster) {
    const costmodel::Seconds step = change.estimate.time.total();
    changes.push_back({wordsOf(change.settings), &change.scenario.recipe, &change.scenario.layout, step,
                       change.estimate.peak().needed, change.estimate.out_of_memory_probability,
                       changeText(now, step.value())});
  }
  return changes;
}

void VerdictBar::showChanges(const Evaluation& e) {
  const bool asked = e.has_model && e.has_cluster;
  const bool trouble = asked && e.standing() != Standing::Fits;
  const std::vector<Change> changes = searching_ || !asked ? std::vector<Change>{} : changesFor(e);
  help_->setVisible(asked || searching_);
  help_title_->setVisible(!trouble && !searching_);
  help_title_->setText(changes.empty() ? tr("No single change saves 1 % and fits safely.") : tr("Faster:"));
  find_->setVisible(trouble || searching_);
  for (std::size_t i = 0; i < changes_.size(); ++i) {
    QPushButton* button = changes_[i];
    button->disconnect(this);
    button->setVisible(i < changes.size());
    if (i >= changes.size()) continue;
    const Change& change = changes[i];
    const QString price = tr("%1: %2/step").arg(change.words, secondsText(change.step));
    if (!change.gain.isEmpty()) {
      button->setText(QString{"%1 (%2)"}.arg(price, change.gain));
    } else if (change.risk > planner::kDefaultRisk) {
      button->setText(
          tr("%1: %2/step, risk %3").arg(change.words, secondsText(change.step), percentText(change.risk)));
    } else {
      button->setText(price);
    }
    button->setToolTip(
        tr("With %1: %2 per GPU, %3 per step, chance of running out of memory %4. Click to apply.")
            .arg(change.words, bytesText(change.peak), secondsText(change.step), percentText(change.risk)));
    button->setAccessibleName(button->toolTip());
    connect(button, &QPushButton::clicked, this,
            [this, words = change.words, question = document_.evaluation(), recipe = *change.recipe,
             layout = *change.layout] { document_.loadPlan(*question, recipe, layout, words); });
  }
  find_->setText(searching_ ? tr("Cancel the search") : tr("Find a layout that fits"));
  find_->setToolTip(tr("Searches all layouts on these GPUs and loads the fastest that fits safely"));
  find_->setDefault(true);
}

void VerdictBar::setSearching(bool searching) {
  searching_ = searching;
  showChanges(*document_.evaluation());
}

QString VerdictBar::reason() const {
  return reason_->text();
}

}  // namespace hexaplan::gui
