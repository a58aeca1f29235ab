#include "gui/app/jobs/trace_job.h"

#include <QFileInfo>
#include <QtConcurrent/QtConcurrentRun>
#include <algorithm>
#include <new>
#include <stdexcept>
#include <utility>

#include "costmodel/simulate/stage_operations.h"
#include "gui/app/document/messages.h"
#include "gui/plot/overlay_views.h"
#include "presets/json/input_error.h"

namespace hexaplan::gui {
namespace {

/// Below this share of recognised work the trace is of another model or layout: siblings of one family share
/// some shapes.
constexpr double kSamePlan = 0.5;

MeasuredTracePtr measured(const QString& path, presets::DeviceTrace trace) {
  if (!trace.on_device) {
    throw presets::InputError({.file = path.toStdString(),
                               .value = "a trace without a device",
                               .expected = "kernels of a GPU: profile with ProfilerActivity.CUDA"});
  }
  auto measured = std::make_shared<MeasuredTrace>();
  measured->path = path;
  measured->trace = std::move(trace);
  measured->profile = presets::profile_of(measured->trace);
  measured->step = presets::typical_step(measured->trace);
  for (const std::string& note : presets::notes_of(measured->trace, measured->profile))
    measured->notes.append(QString::fromStdString(note));
  measured->trace.kernels = {};
  measured->trace.gemms = {};
  return measured;
}

/// One for every device of the file; none when somebody gave up.
std::vector<MeasuredTracePtr> readTraces(const QString& path, const presets::TraceReading& how) {
  std::vector<MeasuredTracePtr> found;
  for (presets::DeviceTrace& trace : presets::read_traces(path.toStdString(), how)) {
    if (trace.stopped) return {};
    found.push_back(measured(path, std::move(trace)));
  }
  return found;
}

/// The largest operation that only the trace has: what tells a person which model it is of.
QString foreignOperation(const validator::ComparedWork& work) {
  const validator::ComparedOperation* largest = nullptr;
  for (const validator::ComparedOperation& op : work.operations) {
    if (op.predicted_runs <= 0 && (largest == nullptr || op.measured > largest->measured)) largest = &op;
  }
  return largest == nullptr ? QString{} : QString::fromStdString(largest->shape);
}

/// What a reader of the overlay must know of it.
QStringList notesOf(const LaidTrace& laid) {
  QStringList notes;
  const presets::DeviceTrace& trace = laid.trace->trace;
  const costmodel::Scenario& scenario = laid.predicted->evaluation->scenario;
  if (const QString foreign = foreignOperation(laid.work); laid.matched < kSamePlan && !foreign.isEmpty()) {
    notes.append(TraceJob::tr("This trace is of another model, layout, micro-batch or sequence: "
                              "the plan has nothing like its %1.")
                     .arg(foreign));
  }
  if (trace.world_size && *trace.world_size != scenario.cluster.gpus) {
    notes.append(TraceJob::tr("The trace says %1 processes, the plan has %2 GPUs.")
                     .arg(*trace.world_size)
                     .arg(scenario.cluster.gpus));
  }
  if (!validator::stage_of_rank(scenario, trace.rank)) {
    notes.append(trace.rank ? TraceJob::tr("The plan has no rank %1: laid over stage 0.").arg(*trace.rank)
                            : TraceJob::tr("It says no rank: laid over stage 0."));
  }
  return notes + laid.trace->notes;
}

}  // namespace

TraceJob::Outcome TraceJob::outcomeOf(const QString& path, const presets::TraceReading& how) {
  try {
    return {readTraces(path, how), {}};
  } catch (const presets::InputError& error) {
    return {{}, problemText(error.problem)};
  } catch (const std::bad_alloc&) {
    return {{}, path + ": " + TraceJob::tr("out of memory")};
  } catch (const std::exception& error) {
    return {{}, path + ": " + QString::fromUtf8(error.what())};
  }
}

TraceJob::TraceJob(QObject* parent)
    : QObject{parent},
      overlays_{
          [](const Question& question) -> LaidTracePtr {
            auto laid = std::make_shared<LaidTrace>();
            laid->predicted = question.predicted;
            laid->trace = question.trace;
            const Evaluation& asked = *question.predicted->evaluation;
            const costmodel::Calibration& curves = asked.calibration->calibration;
            laid->stage = validator::stage_of_rank(asked.scenario, question.trace->trace.rank).value_or(0);
            auto placed = costmodel::place_operations(asked.scenario, curves, question.predicted->simulation,
                                                      laid->stage);
            if (!placed) {
              throw std::length_error{
                  TraceJob::tr("the step has too many operations to be drawn one by one").toStdString()};
            }
            const auto overlay = std::make_shared<const validator::Overlay>(
                validator::lay_over(asked.scenario, std::move(*placed),
                                    question.predicted->simulation.total.value(), question.trace->step));
            laid->matched = overlay->matched;
            laid->work = validator::compare_work(asked.scenario, curves, laid->stage,
                                                 presets::work_of(question.trace->profile));
            laid->timeline = timelineOf(overlay);
            laid->notes = notesOf(*laid);
            return laid;
          },
          [this](const LaidTracePtr& trace) { emit laid(trace); },
          [this](const QString& problem) { emit notLaid(problem); }} {
  pool_.setMaxThreadCount(1);
  connect(&watcher_, &QFutureWatcherBase::finished, this, &TraceJob::deliver);
}

TraceJob::~TraceJob() {
  stop_.request_stop();
  watcher_.disconnect();
  pool_.waitForDone();
}

void TraceJob::read(const QString& path) {
  waiting_.push_back(path);
  if (!reading_) next();
}

void TraceJob::next() {
  path_ = waiting_.front();
  waiting_.pop_front();
  stop_ = {};
  reading_ = true;
  const auto tell = [this](double share) {
    QMetaObject::invokeMethod(
        this, [this, share] { emit progressed(share); }, Qt::QueuedConnection);
  };
  watcher_.setFuture(QtConcurrent::run(&pool_, [path = path_, tell, stop = stop_.get_token()] {
    return outcomeOf(path, {.progress = tell, .stop = stop});
  }));
  emit started();
}

void TraceJob::cancel() {
  waiting_.clear();
  stop_.request_stop();
}

void TraceJob::deliver() {
  const Outcome outcome = watcher_.result();
  reading_ = false;
  for (const MeasuredTracePtr& trace : outcome.traces) emit found(trace);
  if (!outcome.problem.isEmpty()) emit failed(outcome.problem);
  if (waiting_.empty()) return emit finished();
  if (!reading_) next();
}

void TraceJob::lay(const SimulatedStepPtr& predicted, const MeasuredTracePtr& trace) {
  overlays_.ask({predicted, trace});
}

}  // namespace hexaplan::gui
