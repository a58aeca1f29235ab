#pragma once
#include <QWidget>
#include <vector>

#include "gui/app/document/scenario_document.h"
#include "gui/app/jobs/trace_job.h"

class QComboBox;
class QLabel;
class QProgressBar;
class QPushButton;

namespace hexaplan::gui {

/// The line above the timeline: opens measured traces, says how far reading one is, and chooses between the
/// whole pipeline and one rank under its trace. The project keeps the files' names.
class TraceBar : public QWidget {
  Q_OBJECT
 public:
  TraceBar(ScenarioDocument& document, TraceJob& traces, QWidget* parent = nullptr);

  /// Null: the whole pipeline.
  [[nodiscard]] MeasuredTracePtr chosen() const;
  void openWithDialog();

 signals:
  void chosenChanged();

 private:
  void openProject();
  void take(const MeasuredTracePtr& trace);
  void tellFailed(const QString& problem);
  void forgetFailed();
  void forgetUnlessOpen(const QString& path);
  void say(const QString& problem);
  void removeChosen();
  void showReading(bool reading);
  void refill(int current);

  ScenarioDocument& document_;
  TraceJob& traces_;
  QStringList failed_;  // of the project's traces
  std::vector<MeasuredTracePtr> opened_;
  QPushButton* open_ = nullptr;
  QComboBox* view_ = nullptr;
  QPushButton* remove_ = nullptr;
  QProgressBar* progress_ = nullptr;
  QPushButton* cancel_ = nullptr;
  QLabel* problem_ = nullptr;
  QPushButton* forget_ = nullptr;  // what failed
};

}  // namespace hexaplan::gui
