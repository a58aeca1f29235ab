// What mouse, wheel and keys do to the timeline.
#include <QKeyEvent>
#include <QMenu>
#include <QScrollBar>
#include <QWheelEvent>
#include <cmath>

#include "gui/plot/timeline.h"

namespace hexaplan::gui {
namespace {

/// The triangle beside a stage's name is clicked within so many pixels of the left edge.
constexpr double kFoldWidth = 12;

}  // namespace

void Timeline::zoomTo(int item) {
  const Place where = place(item);
  const TimelineSpan& span = data_->lanes[static_cast<std::size_t>(where.lane)].spans[where.span];
  const double width = span.end - span.begin;
  setWindow({span.begin - 2 * width, span.end + 2 * width, data_->end});
}

void Timeline::bringIntoView(int item) {
  if (item < 0) return;
  const Place where = place(item);
  const TimelineSpan& span = data_->lanes[static_cast<std::size_t>(where.lane)].spans[where.span];
  const Layout at = here();
  const QRectF& lane = at.lanes[static_cast<std::size_t>(where.lane)];
  if (at.pinned[static_cast<std::size_t>(where.lane)]) {
    // It is always seen.
  } else if (lane.top() < at.scrolled.top()) {
    lanes_bar_->setValue(lanes_bar_->value() - static_cast<int>(std::ceil(at.scrolled.top() - lane.top())));
  } else if (lane.bottom() > at.plot.bottom()) {
    lanes_bar_->setValue(lanes_bar_->value() + static_cast<int>(std::ceil(lane.bottom() - at.plot.bottom())));
  }
  if (span.end > window_.low() && span.begin < window_.high()) return;
  const double middle = (span.begin + span.end) / 2;
  setWindow({middle - window_.width() / 2, middle + window_.width() / 2, data_->end});
}

void Timeline::wheelEvent(QWheelEvent* event) {
  if (!data_) return;
  const QPoint turned = event->angleDelta();
  constexpr double notch = 120;
  if (event->modifiers().testFlag(Qt::ShiftModifier) || std::abs(turned.x()) > std::abs(turned.y())) {
    const int along = turned.x() != 0 ? turned.x() : turned.y();
    setWindow(window_.moved(-0.1 * along / notch));
  } else if (!lanes_bar_->isHidden() && !event->modifiers().testFlag(Qt::ControlModifier)) {
    lanes_bar_->setValue(lanes_bar_->value() -
                         static_cast<int>(3 * lanes_bar_->singleStep() * turned.y() / notch));
  } else {
    setWindow(window_.zoomed(std::pow(0.8, turned.y() / notch), timeAt(event->position().x())));
  }
  event->accept();
}

void Timeline::mousePressEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton || !data_) return PlotView::mousePressEvent(event);
  drag_from_ = event->position();
  drag_window_ = window_;
  dragged_ = false;
  selecting_ = event->modifiers().testFlag(Qt::ShiftModifier) && !data_->lanes.empty();
}

void Timeline::mouseMoveEvent(QMouseEvent* event) {
  if (!data_) return;
  if (drag_from_ && event->buttons().testFlag(Qt::LeftButton)) {
    const double by = event->position().x() - drag_from_->x();
    constexpr double slack = 4;  // pixels: a click may tremble
    dragged_ = dragged_ || std::abs(by) > slack;
    if (dragged_ && selecting_) {
      setSelection(between(*drag_from_, event->position()));
    } else if (dragged_) {
      setCursor(Qt::ClosedHandCursor);
      setWindow(drag_window_.moved(-by / here().plot.width()));
    }
    return;
  }
  PlotView::mouseMoveEvent(event);
  const bool inside = here().plot.contains(event->position());
  setCursorTime(inside ? timeAt(event->position().x()) : -1);
  emit cursorTimeChanged(cursor_);
}

void Timeline::mouseReleaseEvent(QMouseEvent* event) {
  unsetCursor();
  const bool click = !dragged_;
  selecting_ = false;
  drag_from_.reset();
  dragged_ = false;
  if (!click || !data_) return;
  PlotView::mouseReleaseEvent(event);
  if (event->button() != Qt::LeftButton) return;
  const int lane = laneAt(event->position().y(), here());
  if (lane < 0) return;
  const int stage = data_->lanes[static_cast<std::size_t>(lane)].stage;
  if (event->position().x() < kFoldWidth) return setFolded(stage, !isFolded(stage));
  emit stageActivated(stage);
}

void Timeline::fillMenu(QMenu& menu, const QPointF& place) {
  const int lane = data_ ? laneAt(place.y(), here()) : -1;
  if (lane < 0) return;
  const int stage = data_->lanes[static_cast<std::size_t>(lane)].stage;
  menu.addAction(isFolded(stage) ? tr("&Unfold the lanes") : tr("&Fold the lanes into one"), this,
                 [this, stage] { setFolded(stage, !isFolded(stage)); });
  menu.addAction(isPinned(stage) ? tr("Un&pin the lanes") : tr("&Pin the lanes above the others"), this,
                 [this, stage] { setPinned(stage, !isPinned(stage)); });
  menu.addSeparator();
}

void Timeline::leaveEvent(QEvent* event) {
  setCursorTime(-1);
  emit cursorTimeChanged(-1);
  PlotView::leaveEvent(event);
}

void Timeline::keyPressEvent(QKeyEvent* event) {
  if (!data_) return PlotView::keyPressEvent(event);
  const double middle = (window_.low() + window_.high()) / 2;
  const double around = cursor_ >= 0 ? cursor_ : middle;
  switch (event->key()) {
    case Qt::Key_W:
    case Qt::Key_Plus:
      return setWindow(window_.zoomed(0.7, around));
    case Qt::Key_S:
    case Qt::Key_Minus:
      return setWindow(window_.zoomed(1 / 0.7, around));
    case Qt::Key_A:
      return setWindow(window_.moved(-0.15));
    case Qt::Key_D:
      return setWindow(window_.moved(0.15));
    case Qt::Key_F:
    case Qt::Key_0:
      return fit();
    case Qt::Key_Escape:
      if (!selection_) break;
      return clearSelection();
    case Qt::Key_C: {
      const int stage = currentStage();
      if (event->modifiers().testFlag(Qt::ShiftModifier)) return setAllFolded(folded_.empty());
      return setFolded(stage, !isFolded(stage));
    }
    case Qt::Key_P: {
      const int stage = currentStage();
      return setPinned(stage, !isPinned(stage));
    }
    case Qt::Key_X:
      return showPath(!shows_path_ && !data_->path.empty());
    case Qt::Key_Slash:
      return emit filterRequested();
    case Qt::Key_M:
      if (currentItem() >= 0) zoomTo(currentItem());
      return;
    case Qt::Key_Left:
    case Qt::Key_Right:
    case Qt::Key_Up:
    case Qt::Key_Down:
      if (itemCount() > 0) bringIntoView(neighbour(currentItem(), event->key()));
      break;
    default:
      break;
  }
  PlotView::keyPressEvent(event);
}

}  // namespace hexaplan::gui
