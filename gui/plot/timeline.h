#pragma once
#include <memory>
#include <optional>
#include <set>

#include "gui/plot/legend.h"
#include "gui/plot/plot_view.h"
#include "gui/plot/timeline_geometry.h"

class QScrollBar;

namespace hexaplan::gui {

/// The pipeline as a Gantt chart: a lane per stage and stream. Wheel or W/S zooms, dragging or A/D moves,
/// F fits everything, M zooms to the current span; arrows go from span to span. Lanes are never lower than
/// can be seen: more of them than fit are scrolled through, by the wheel too, and Ctrl+wheel zooms. Dragging
/// with Shift selects a part, whose sums `selectedText` tells; Escape lets go of it. Lanes of a stage are
/// folded into its first one (C, or the triangle beside its name) and pinned above those that are scrolled
/// (P); spans are filtered by words, and the critical path is drawn over all (X). 10^6 spans stay fluid:
/// columns show what covers them once single spans are too narrow to see.
class Timeline : public PlotView {
  Q_OBJECT
 public:
  explicit Timeline(QWidget* parent = nullptr);

  void setTimeline(std::shared_ptr<const TimelineData> timeline);
  void clear() { setTimeline({}); }
  [[nodiscard]] const TimeWindow& window() const { return window_; }
  void setWindow(const TimeWindow& window);
  void fit();
  /// A vertical line, linked with the memory curve; negative: none.
  void setCursorTime(double seconds);
  /// True where single spans are drawn with their edges, false where columns show coverage.
  [[nodiscard]] bool showsSpans(int lane) const;

  [[nodiscard]] QString textAlternative() const override;
  [[nodiscard]] int itemCount() const override;
  [[nodiscard]] QString describe(int item) const override;
  /// Room for a few stages' lanes beside legend and axis, however many lines the legend takes.
  [[nodiscard]] QSize minimumSizeHint() const override;

  /// Where the time axis begins and ends, in pixels from the left edge of the widget.
  [[nodiscard]] double plotLeft() const;
  [[nodiscard]] double plotRight() const;
  /// The time axis begins there at the least: charts below each other share one.
  void setLeastLeft(double pixels);

  /// Selects what lies between two moments in some lanes, as dragging does.
  void select(double low_seconds, double high_seconds, int first_lane, int last_lane);
  void clearSelection();
  /// Time by kind of what is selected; empty without a selection.
  [[nodiscard]] QString selectedText() const;
  /// Only spans that the words name (filteredBy); empty: all.
  void setFilter(const QString& words);
  /// How many spans the filter leaves, and their time by kind; empty without a filter.
  [[nodiscard]] QString filterText() const;
  /// Draws the chain of spans that the step's length follows from.
  void showPath(bool shown);
  [[nodiscard]] bool showsPath() const { return shows_path_; }
  /// Time by kind on that chain; empty where it is not known.
  [[nodiscard]] QString pathText() const;
  /// The stage has one lane, its first.
  void setFolded(int stage, bool folded);
  void setAllFolded(bool folded);
  [[nodiscard]] bool isFolded(int stage) const { return folded_.contains(stage); }
  [[nodiscard]] bool foldsLanes() const { return !folded_.empty(); }
  /// The stage's lanes stay above those that are scrolled through.
  void setPinned(int stage, bool pinned);
  [[nodiscard]] bool isPinned(int stage) const { return pinned_.contains(stage); }
  [[nodiscard]] int laneCount() const;
  /// Where a lane is seen, in the widget's pixels; empty: folded, or scrolled away.
  [[nodiscard]] QRectF laneRect(int lane) const;

  /// Lanes that cannot be seen at once are scrolled through.
  [[nodiscard]] QScrollBar& lanesBar() const { return *lanes_bar_; }

 signals:
  void selectionChanged();
  /// Filter, path, folded or pinned lanes are others.
  void shownChanged();
  /// The key for the filter's box was pressed.
  void filterRequested();
  void windowChanged(double low_seconds, double high_seconds);
  void cursorTimeChanged(double seconds);  // negative: the mouse left
  void stageActivated(int stage);

 protected:
  void draw(QPainter& painter, const QSizeF& size, const PlotTheme& theme) const override;
  void drawOnTop(QPainter& painter, const QSizeF& size, const PlotTheme& theme) const override;
  [[nodiscard]] bool marksItemOnTop() const override { return true; }
  [[nodiscard]] int itemAt(const QPointF& point) const override;
  [[nodiscard]] QRectF itemRect(int item) const override;
  [[nodiscard]] int neighbour(int item, int key) const override;
  void wheelEvent(QWheelEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void leaveEvent(QEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void fillMenu(QMenu& menu, const QPointF& place) override;
  [[nodiscard]] QString emptyText() const override;

 private:
  /// Where lanes, axis and legend lie.
  struct Layout {
    QRectF plot;                // lanes × time
    QRectF scrolled;            // of it, below pinned lanes
    double hidden = 0;          // height of the lanes beyond `scrolled`
    std::vector<QRectF> lanes;  // boxes over the whole width; null: folded away
    std::vector<bool> pinned;   // by lane
    std::vector<LegendEntry> legend_entries;
    LegendLayout legend;
    /// What can be seen of a lane.
    [[nodiscard]] QRectF seen(std::size_t lane) const {
      return lanes[lane].intersected(pinned[lane] ? plot : scrolled);
    }
  };
  struct Place {
    int lane = -1;
    std::size_t span = 0;
  };
  [[nodiscard]] Layout layout(const QSizeF& size, const PlotTheme& theme) const;
  /// Puts the lanes that are shown below each other.
  void placeLanes(Layout& out) const;
  [[nodiscard]] bool isFirstOfStage(std::size_t lane) const;
  /// Of this stage there is more than one lane.
  [[nodiscard]] bool canFold(std::size_t first_lane) const;
  /// The lane at a height of the widget, or -1.
  [[nodiscard]] int laneAt(double y, const Layout& at) const;
  /// Of the current span, else the first that is seen.
  [[nodiscard]] int currentStage() const;
  [[nodiscard]] Layout here() const;
  [[nodiscard]] Place place(int item) const;
  [[nodiscard]] double timeAt(double x) const;
  [[nodiscard]] double ownLeft() const;
  void drawLanes(QPainter& painter, const Layout& at, bool pinned, const PlotTheme& theme) const;
  void drawPath(QPainter& painter, const Layout& at, const PlotTheme& theme) const;
  void drawSpans(QPainter& painter, const QRectF& box, std::size_t lane, const PlotTheme& theme) const;
  void drawLabels(QPainter& painter, const Layout& at, const PlotTheme& theme) const;
  void drawTimeAxis(QPainter& painter, const Layout& at, const PlotTheme& theme) const;
  [[nodiscard]] QString spanLabel(std::size_t lane, std::size_t span) const;
  /// "3 compute", or what the lane is called where lanes are not those of stages.
  [[nodiscard]] QString laneName(const TimelineLane& lane, bool with_stage, bool roomy) const;
  struct Selection {
    double low = 0, high = 0;        // seconds
    std::vector<std::size_t> lanes;  // from above
  };
  [[nodiscard]] QRectF boxOf(const Selection& selection, std::size_t lane, const Layout& at) const;
  /// What lies between two points of the widget.
  [[nodiscard]] Selection between(const QPointF& a, const QPointF& b) const;
  void setSelection(Selection selection);
  /// "backward 2 s, forward 1 s", the longest first; `waiting` seconds last.
  [[nodiscard]] QString sumsText(const std::vector<double>& seconds, double waiting, double whole = 0) const;
  /// Lays the lanes out anew.
  void lanesChanged();
  void showOnly(std::shared_ptr<const TimelineData> spans);
  void placeLanesBar();
  void zoomTo(int item);
  void bringIntoView(int item);

  std::shared_ptr<const TimelineData> all_, data_;  // given; what the filter leaves of it
  QString filter_;
  std::set<int> folded_, pinned_;  // stages
  bool shows_path_ = false;
  std::vector<std::size_t> first_item_;  // of each lane: items are spans counted through
  TimeWindow window_;
  double cursor_ = -1;
  double least_left_ = 0;            // pixels
  QScrollBar* lanes_bar_ = nullptr;  // hidden while all lanes can be seen
  std::optional<Selection> selection_;
  bool selecting_ = false;
  std::optional<QPointF> drag_from_;
  TimeWindow drag_window_;
  bool dragged_ = false;
};

}  // namespace hexaplan::gui
