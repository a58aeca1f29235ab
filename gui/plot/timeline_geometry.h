#pragma once
#include <QString>
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "costmodel/simulate/critical_path.h"
#include "gui/plot/plot_theme.h"

namespace hexaplan::gui {

/// One box of the timeline.
struct TimelineSpan {
  double begin = 0, end = 0;  // seconds
  std::int32_t microbatch = -1;
  std::int16_t chunk = 0;
  Ink ink = Ink::Forward;
  std::uint8_t what = 0;  // index into TimelineData::names
};

struct TimelineLane {
  QString label;  // "compute"
  int stage = 0;
  double weight = 1;                // of its height
  bool idle_is_bubble = false;      // gaps between spans are waiting, and drawn so
  std::vector<TimelineSpan> spans;  // sorted, not overlapping
};

/// What the Timeline shows; immutable once given to it.
struct TimelineData {
  struct LegendRow {
    Ink ink;
    QString text;
  };
  /// A stretch of the chain that the step's length follows from.
  struct PathBox {
    int lane = 0;
    double begin = 0, end = 0;  // seconds
    int what = -1;              // index into `names`; -1: waiting, where nothing is drawn
  };
  std::vector<QString> names;  // of kinds of spans
  std::vector<LegendRow> legend;
  std::vector<TimelineLane> lanes;
  std::vector<PathBox> path;          // in its order; empty where it is not known
  costmodel::PathTimes path_times{};  // of it; kinds are indices into `names`
  double end = 0;                     // seconds
  /// What stands in a span, and what its tool-tip says; unset: the name of its kind and its micro-batch.
  std::function<QString(std::size_t lane, std::size_t span)> label, words;
  /// Lanes are those of stages, whose numbers stand before their names. Else `stage` keeps lanes together
  /// that belong together, and names stand alone.
  bool of_stages = true;
  QString title;  // what the lanes are of, for those who do not see them; empty: the step
  [[nodiscard]] std::size_t spanCount() const;
};
struct InkName {
  Ink ink;
  const char* text;  // marked for translation
};
/// The legend of what lies in the lanes, in the order of `names`; `context`: that of their translations.
void nameInks(TimelineData& data, std::span<const InkName> names, const char* context);

/// The spans of `all` that the words name, in the lanes that they stand in: a kind by a part of its name, or
/// of what stands in the span, a micro-batch by its number, several by "2..5". Where there are more words,
/// spans have to answer all of them. Waiting is left out.
[[nodiscard]] std::shared_ptr<const TimelineData> filteredBy(const QString& words,
                                                             const std::shared_ptr<const TimelineData>& all);

/// The part of the step that is seen. A value: every change gives a new one, never outside [0, end] and never
/// narrower than a billionth of the whole.
class TimeWindow {
 public:
  TimeWindow() = default;
  explicit TimeWindow(double end) : high_{end}, end_{end} {}
  TimeWindow(double low, double high, double end);

  [[nodiscard]] double low() const { return low_; }
  [[nodiscard]] double high() const { return high_; }
  [[nodiscard]] double width() const { return high_ - low_; }
  /// `factor` < 1 zooms in; the moment `around` stays where it is.
  [[nodiscard]] TimeWindow zoomed(double factor, double around) const;
  /// Moved by a share of its width.
  [[nodiscard]] TimeWindow moved(double share) const;
  [[nodiscard]] TimeWindow whole() const { return TimeWindow(end_); }
  friend bool operator==(const TimeWindow&, const TimeWindow&) = default;

 private:
  double low_ = 0, high_ = 1, end_ = 1;
};

/// Share of each pixel column that each kind covers, for `columns` columns over the window: what a picture
/// that is zoomed out must show so that proportions stay true.
class Coverage {
 public:
  explicit Coverage(int columns);
  /// Adds the lane's spans that lie in the window; O(spans seen + columns).
  void add(const TimelineLane& lane, const TimeWindow& window);
  void clear();
  [[nodiscard]] int columns() const { return columns_; }
  /// Whether anything was added in this ink since clear().
  [[nodiscard]] bool uses(Ink ink) const { return used_[static_cast<std::size_t>(ink)]; }
  /// Shares of all columns in this ink.
  [[nodiscard]] const float* of(Ink ink) const;

 private:
  [[nodiscard]] float* start(Ink ink);

  int columns_;
  std::array<bool, kInks> used_{};
  std::vector<float> shares_;  // kInks × columns
};

/// First span of the lane that ends after `time`.
[[nodiscard]] std::size_t firstEndingAfter(const TimelineLane& lane, double time);
/// Index of the span of `lane` at `time`, or nothing (spans().size()).
[[nodiscard]] std::size_t spanAt(const TimelineLane& lane, double time);

}  // namespace hexaplan::gui
