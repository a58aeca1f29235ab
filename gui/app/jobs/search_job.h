#pragma once
#include <QObject>
#include <QString>
#include <memory>

#include "gui/app/document/evaluation.h"
#include "gui/app/jobs/search_thread.h"

namespace hexaplan::gui {

/// What a search found, with the question it began from.
struct SearchResult {
  EvaluationPtr evaluation;
  planner::SearchProblem problem;
  planner::Ranking ranking;
  QString failure;  // not empty: the search broke off, and there is no ranking
};
using SearchResultPtr = std::shared_ptr<const SearchResult>;

/// Runs one search at a time in a thread of its own.
class SearchJob : public QObject {
  Q_OBJECT
 public:
  explicit SearchJob(QObject* parent = nullptr);

  /// Starts searching; a search that runs is cancelled and its answer dropped.
  void start(EvaluationPtr evaluation, planner::SearchProblem problem);
  /// What was found until then still arrives with `found`.
  void cancel() { thread_.cancel(); }
  [[nodiscard]] bool running() const { return thread_.running(); }
  [[nodiscard]] SearchResultPtr result() const { return result_; }

 signals:
  /// How far it is: 0..1 and candidates priced so far. Delivered in this object's thread.
  void progressed(double share, qint64 priced);
  void found();

 private:
  SearchResultPtr result_;
  SearchThread thread_;
};

/// Whether the plans of `result` answer the question that `now` asks: the same but for what the search
/// varied, so that it stays so when one of them is loaded.
[[nodiscard]] bool stillAsked(const SearchResult& result, const Evaluation& now);

/// The search around a question: same model, recipe and machines, every sensible layout.
[[nodiscard]] planner::SearchProblem problemOf(const Evaluation& evaluation);

}  // namespace hexaplan::gui
