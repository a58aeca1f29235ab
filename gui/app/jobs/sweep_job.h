#pragma once
#include <QObject>
#include <QString>
#include <QStringList>
#include <QThread>
#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <vector>

#include "gui/app/document/evaluation.h"
#include "planner/search/ranking.h"

namespace hexaplan::gui {

/// A field of the question and the values that it is given one after the other.
struct SweptField {
  std::string field;  // Field::id
  QStringList values;
};

/// The best plan of one pair of values.
struct SweptCell {
  EvaluationPtr evaluation;  // the question with both values; null: it could not be asked
  std::optional<planner::Plan> best;
  QString nothing;  // why there is none
};

/// The best plans over two fields; the last one runs fastest.
struct SweepResult {
  std::array<SweptField, 2> axes;
  std::vector<SweptCell> cells;
  bool stopped = false;
  QString failure;  // not empty: it broke off, and there are no cells
};
using SweepResultPtr = std::shared_ptr<const SweepResult>;

/// Makes the search of a cell from its question.
using ProblemOf = std::function<planner::SearchProblem(const Evaluation&)>;

/// Searches once for each pair of values, in a thread of its own; one sweep at a time.
class SweepJob : public QObject {
  Q_OBJECT
 public:
  explicit SweepJob(QObject* parent = nullptr);
  ~SweepJob() override;

  /// `now`: the question that the values are put into.
  void start(const EvaluationPtr& now, std::array<SweptField, 2> axes, ProblemOf problem);
  /// Cells that are done by then still arrive with `found`.
  void cancel() { stop_.request_stop(); }
  [[nodiscard]] bool running() const { return running_; }
  [[nodiscard]] SweepResultPtr result() const { return result_; }

 signals:
  void progressed(double share);
  void found();

 private:
  void deliver(int number, const SweepResultPtr& result);

  std::vector<std::unique_ptr<QThread>> threads_;
  std::stop_source stop_;
  SweepResultPtr result_;
  int number_ = 0;
  bool running_ = false;
};

}  // namespace hexaplan::gui
