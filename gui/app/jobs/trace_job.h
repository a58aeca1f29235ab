#pragma once
#include <QFutureWatcher>
#include <QObject>
#include <QString>
#include <QStringList>
#include <QThreadPool>
#include <deque>
#include <memory>
#include <stop_token>
#include <vector>

#include "gui/app/jobs/latest_job.h"
#include "gui/app/jobs/simulation_job.h"
#include "presets/runs/traced_work.h"
#include "validator/measure/runs/compare_work.h"
#include "validator/measure/runs/lay_over.h"

namespace hexaplan::gui {

/// The trace of one rank, as far as it is kept: one step kernel by kernel, and the sums over all.
struct MeasuredTrace {
  QString path;
  presets::DeviceTrace trace;  // without its kernels
  presets::TraceProfile profile;
  costmodel::MeasuredStep step;
  QStringList notes;  // what is wrong with it
};
using MeasuredTracePtr = std::shared_ptr<const MeasuredTrace>;

/// A trace over the predicted step of its rank.
struct LaidTrace {
  SimulatedStepPtr predicted;
  MeasuredTracePtr trace;
  int stage = 0;
  double matched = 0;            // share of the time of products and messages of known shape
  validator::ComparedWork work;  // the sums
  std::shared_ptr<const TimelineData> timeline;
  QStringList notes;  // about the two together
};
using LaidTracePtr = std::shared_ptr<const LaidTrace>;

/// Reads traces of PyTorch's profiler or Nsight Systems on a worker thread, one after the other, and lays the
/// newest question's step over one.
class TraceJob : public QObject {
  Q_OBJECT
 public:
  explicit TraceJob(QObject* parent = nullptr);
  ~TraceJob() override;

  /// Reads a file once those before it are read.
  void read(const QString& path);
  /// Stops reading; files that wait are forgotten, too.
  void cancel();
  [[nodiscard]] bool reading() const { return reading_; }
  /// The file that is being read.
  [[nodiscard]] QString path() const { return path_; }

  /// Lays `trace` over `predicted`; the answer arrives with `laid`, unless a newer question overtakes it.
  void lay(const SimulatedStepPtr& predicted, const MeasuredTracePtr& trace);

 signals:
  void started();
  void progressed(double share);  // of the file that is being read
  void found(const hexaplan::gui::MeasuredTracePtr& trace);
  void failed(const QString& problem);
  void finished();  // nothing is being read any more
  void laid(const hexaplan::gui::LaidTracePtr& trace);
  void notLaid(const QString& problem);

 private:
  struct Outcome {
    std::vector<MeasuredTracePtr> traces;  // none: cancelled, or `problem`
    QString problem;
  };
  struct Question {
    SimulatedStepPtr predicted;
    MeasuredTracePtr trace;
  };
  [[nodiscard]] static Outcome outcomeOf(const QString& path, const presets::TraceReading& how);
  void next();
  void deliver();

  QThreadPool pool_;
  QFutureWatcher<Outcome> watcher_;
  std::deque<QString> waiting_;
  std::stop_source stop_;
  QString path_;
  bool reading_ = false;
  LatestJob<Question, LaidTracePtr> overlays_;
};

}  // namespace hexaplan::gui
