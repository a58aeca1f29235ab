#include "gui/app/pages/trace_bar.h"

#include <QComboBox>
#include <QFileDialog>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QLabel>
#include <QProgressBar>
#include <QPushButton>
#include <QSettings>
#include <QVBoxLayout>
#include <algorithm>

#include "gui/app/pages/plain_label.h"

namespace hexaplan::gui {
namespace {

/// Traces beyond these push out the ones that were opened first.
constexpr std::size_t kMostTraces = 64;

/// "rank 3: trace.json.gz".
QString traceName(const MeasuredTrace& trace) {
  const QString file = QFileInfo{trace.path}.fileName();
  if (trace.trace.rank) return TraceBar::tr("rank %1: %2").arg(*trace.trace.rank).arg(file);
  return trace.trace.part.empty()
             ? file
             : QStringLiteral("%1: %2").arg(QString::fromStdString(trace.trace.part), file);
}

bool sameTrace(const MeasuredTrace& a, const MeasuredTrace& b) {
  return a.path == b.path && a.trace.part == b.trace.part;
}

}  // namespace

TraceBar::TraceBar(ScenarioDocument& document, TraceJob& traces, QWidget* parent)
    : QWidget{parent}, document_{document}, traces_{traces} {
  open_ = new QPushButton{tr("Open a measured trace…"), this};
  open_->setObjectName("openTrace");
  open_->setToolTip(
      tr("A trace that torch.profiler wrote (export_chrome_trace), plain or gzip'ed, one file per "
         "rank; or a report of Nsight Systems (nsys export --type sqlite). It is laid over the "
         "predicted step of its rank."));
  view_ = new QComboBox{this};
  view_->setObjectName("traceView");
  nameBox(*view_, tr("What the timeline shows"));
  view_->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
  view_->setMinimumContentsLength(24);
  remove_ = new QPushButton{tr("Close it"), this};
  remove_->setObjectName("closeTrace");
  remove_->setToolTip(tr("Forgets the trace that is shown; the file stays"));
  progress_ = new QProgressBar{this};
  progress_->setObjectName("traceProgress");
  progress_->setAccessibleName(tr("Progress of reading the trace"));
  progress_->setRange(0, 1000);
  cancel_ = new QPushButton{tr("Cancel reading"), this};
  cancel_->setObjectName("cancelTrace");
  problem_ = plainLabel(this, "traceProblem");
  problem_->setWordWrap(true);
  forget_ = new QPushButton{tr("Take them out of the project"), this};
  forget_->setObjectName("forgetTraces");
  auto* column = new QVBoxLayout{this};
  column->setContentsMargins(0, 0, 0, 0);
  auto* line = new QHBoxLayout;
  line->addWidget(open_);
  line->addWidget(view_, 1);
  line->addWidget(remove_);
  line->addWidget(progress_, 1);
  line->addWidget(cancel_);
  line->addStretch(0);
  column->addLayout(line);
  auto* problems = new QHBoxLayout;
  problems->addWidget(problem_, 1);
  problems->addWidget(forget_);
  column->addLayout(problems);
  problem_->hide();
  forget_->hide();
  connect(forget_, &QPushButton::clicked, this, &TraceBar::forgetFailed);
  connect(open_, &QPushButton::clicked, this, &TraceBar::openWithDialog);
  connect(remove_, &QPushButton::clicked, this, &TraceBar::removeChosen);
  connect(cancel_, &QPushButton::clicked, &traces_, &TraceJob::cancel);
  connect(view_, &QComboBox::currentIndexChanged, this, &TraceBar::chosenChanged);
  connect(&traces_, &TraceJob::started, this, [this] { showReading(true); });
  connect(&traces_, &TraceJob::finished, this, [this] { showReading(false); });
  connect(&traces_, &TraceJob::progressed, this,
          [this](double share) { progress_->setValue(static_cast<int>(share * progress_->maximum())); });
  connect(&traces_, &TraceJob::found, this, &TraceBar::take);
  connect(&traces_, &TraceJob::failed, this, &TraceBar::tellFailed);
  connect(&document_, &ScenarioDocument::projectOpened, this, &TraceBar::openProject);
  connect(this, &TraceBar::chosenChanged, this, [this] { remove_->setVisible(chosen() != nullptr); });
  refill(0);
  showReading(false);
}

MeasuredTracePtr TraceBar::chosen() const {
  const int index = view_->currentIndex() - 1;
  return index >= 0 && index < static_cast<int>(opened_.size()) ? opened_[static_cast<std::size_t>(index)]
                                                                : nullptr;
}

void TraceBar::openWithDialog() {
  const QString folder = QSettings{}.value("folder", QString{}).toString();
  const QStringList paths =
      QFileDialog::getOpenFileNames(this, tr("Open traces of a run"), folder,
                                    tr("Traces (*.json *.json.gz *.gz *.trace *.sqlite);;All files (*)"));
  for (const QString& path : paths) traces_.read(path);
}

/// Those of the window's project alone. Of names alone nothing is known yet.
void TraceBar::openProject() {
  traces_.cancel();
  opened_.clear();
  failed_.clear();
  say({});
  refill(0);
  for (const QString& path : document_.traces()) traces_.read(path);
}

/// A project's trace that is not here stays in it, by its name.
void TraceBar::tellFailed(const QString& problem) {
  const QString before = failed_.isEmpty() ? QString{} : problem_->text() + u'\n';
  say(before + tr("Not opened: %1").arg(problem));
  if (document_.traces().contains(QFileInfo{traces_.path()}.absoluteFilePath()))
    failed_.append(traces_.path());
  forget_->setVisible(!failed_.isEmpty());
}

void TraceBar::forgetFailed() {
  for (const QString& path : failed_) forgetUnlessOpen(path);
  failed_.clear();
  say({});
  open_->setFocus();
}

/// A file may hold several ranks: the project forgets it with the last of them.
void TraceBar::forgetUnlessOpen(const QString& path) {
  if (std::none_of(opened_.begin(), opened_.end(), [&](const auto& trace) { return trace->path == path; }))
    document_.forgetTrace(path);
}

/// In the order of their ranks; the newest is shown.
void TraceBar::take(const MeasuredTracePtr& trace) {
  std::erase_if(opened_, [&](const MeasuredTracePtr& other) { return sameTrace(*other, *trace); });
  if (failed_.removeAll(trace->path) > 0 && failed_.isEmpty()) say({});
  if (opened_.size() >= kMostTraces) {
    const QString path = opened_.front()->path;
    opened_.erase(opened_.begin());
    forgetUnlessOpen(path);
  }
  const auto rank = [](const MeasuredTracePtr& t) { return t->trace.rank.value_or(-1); };
  const auto behind = std::upper_bound(opened_.begin(), opened_.end(), trace,
                                       [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
  const auto at = opened_.insert(behind, trace);
  refill(static_cast<int>(at - opened_.begin()) + 1);
  document_.keepTrace(trace->path);
}

void TraceBar::removeChosen() {
  const bool by_key = remove_->hasFocus();
  const QString path = chosen()->path;
  std::erase(opened_, chosen());
  forgetUnlessOpen(path);
  refill(0);
  if (by_key) open_->setFocus();
}

void TraceBar::refill(int current) {
  {
    const QSignalBlocker quiet{view_};
    view_->clear();
    view_->addItem(tr("the whole pipeline, predicted"));
    for (const MeasuredTracePtr& trace : opened_) view_->addItem(traceName(*trace));
    view_->setCurrentIndex(current);
  }
  emit chosenChanged();
  view_->setVisible(!opened_.empty());
}

void TraceBar::say(const QString& problem) {
  problem_->setText(problem);
  problem_->setVisible(!problem.isEmpty());
  forget_->setVisible(!problem.isEmpty() && !failed_.isEmpty());
}

void TraceBar::showReading(bool reading) {
  const bool by_key = cancel_->hasFocus();
  progress_->setVisible(reading);
  cancel_->setVisible(reading);
  if (!reading) {
    if (by_key) open_->setFocus();
    return;
  }
  if (failed_.isEmpty()) say({});
  progress_->setValue(0);
  progress_->setFormat(tr("Reading %1: %p %").arg(QFileInfo{traces_.path()}.fileName()));
}

}  // namespace hexaplan::gui
