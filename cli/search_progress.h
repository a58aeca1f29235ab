#pragma once
#include <stop_token>

#include "planner/search/search.h"

namespace hexaplan::cli {

/// While it lives, Ctrl-C asks the search to stop instead of ending the program (a second one ends it), and a
/// line on stderr shows how far the search is where that is a terminal. One at a time.
class SearchProgressBar {
 public:
  /// Sets `options`' progress and stop.
  SearchProgressBar(planner::SearchOptions& options, bool quiet);
  SearchProgressBar(const SearchProgressBar&) = delete;
  SearchProgressBar& operator=(const SearchProgressBar&) = delete;
  /// Clears the line and gives Ctrl-C back.
  ~SearchProgressBar();

 private:
  void show(const planner::SearchProgress& progress);

  std::stop_source stop_;
  bool terminal_;
  bool drawn_ = false;
  double shown_at_ = 0;  // share of the last drawing
  void (*previous_)(int);
};

}  // namespace hexaplan::cli
