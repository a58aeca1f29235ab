#pragma once
#include <QObject>
#include <QString>
#include <QStringList>
#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "gui/app/document/evaluation.h"
#include "gui/app/jobs/search_thread.h"
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

  /// `now`: the question that the values are put into.
  void start(const EvaluationPtr& now, std::array<SweptField, 2> axes, const ProblemOf& problem);
  /// Cells that are done by then still arrive with `found`.
  void cancel() { thread_.cancel(); }
  [[nodiscard]] bool running() const { return thread_.running(); }
  [[nodiscard]] SweepResultPtr result() const { return result_; }

 signals:
  void progressed(double share);
  void found();

 private:
  SweepResultPtr result_;
  SearchThread thread_;
};

}  // namespace hexaplan::gui
