#pragma once
#include <QObject>
#include <QString>
#include <memory>
#include <vector>

#include "gui/app/document/evaluation.h"
#include "gui/app/jobs/search_thread.h"

namespace hexaplan::gui {

/// What a search is asked for beside its question.
struct SearchTerms {
  planner::Objective objective = planner::Objective::StepTime;
  double max_risk = planner::kDefaultRisk;  // as planner::Constraints
  double memory_share = 1;
  bool keep_micro_batch = false;
  bool keep_recompute = false;
  QString limits;  // in the words of the command: search_limits.h
  std::size_t top = planner::kDefaultTop;
  friend bool operator==(const SearchTerms&, const SearchTerms&) = default;
};

/// What a search found, with the question it began from.
struct SearchResult {
  EvaluationPtr evaluation;
  SearchTerms terms;
  planner::SearchProblem problem;
  planner::Ranking ranking;
  /// Of the ranking's plans as the file has them; empty: the search ran here, and their estimates say it.
  std::vector<costmodel::Seconds> closed_forms;
  QString failure;        // not empty: the search broke off, and there is no ranking
  bool outdated = false;  // it was read from a file, and this program prices its plans otherwise
};
using SearchResultPtr = std::shared_ptr<const SearchResult>;

/// Runs one search at a time in a thread of its own.
class SearchJob : public QObject {
  Q_OBJECT
 public:
  explicit SearchJob(QObject* parent = nullptr);

  /// Starts searching; a search that runs is cancelled and its answer dropped. InputError when the terms
  /// cannot be understood; then nothing has changed.
  void start(const EvaluationPtr& evaluation, const SearchTerms& terms);
  /// What was found until then still arrives with `found`.
  void cancel() { thread_.cancel(); }
  /// Cancels, and `found` never tells.
  void drop() { thread_.drop(); }
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

/// Whether plans that were found for `asked` over `space` answer the question that `now` asks: the same but
/// for what the search varied, so that it stays so when one of them is loaded.
[[nodiscard]] bool stillAsked(const Evaluation& asked, const planner::SearchSpace& space,
                              const Evaluation& now);
[[nodiscard]] bool stillAsked(const SearchResult& result, const Evaluation& now);

/// The search around a question: same model, recipe and machines, every sensible layout. InputError for
/// limits that cannot be understood. Precondition: the question has a calibration.
[[nodiscard]] planner::SearchProblem problemOf(const Evaluation& evaluation, const SearchTerms& terms = {});

}  // namespace hexaplan::gui
