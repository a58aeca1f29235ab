#include "gui/app/pages/flow_layout.h"

#include <algorithm>

namespace hexaplan::gui {

FlowLayout::~FlowLayout() {
  for (QLayoutItem* item : items_) delete item;
}

QLayoutItem* FlowLayout::itemAt(int index) const {
  return index >= 0 && index < count() ? items_[static_cast<std::size_t>(index)] : nullptr;
}

QLayoutItem* FlowLayout::takeAt(int index) {
  QLayoutItem* item = itemAt(index);
  if (item != nullptr) items_.erase(items_.begin() + index);
  return item;
}

int FlowLayout::heightForWidth(int width) const {
  return arrange({0, 0, width, 0}, false);
}

QSize FlowLayout::sizeHint() const {
  QSize size;
  for (const QLayoutItem* item : items_) {
    if (item->isEmpty()) continue;
    const QSize wanted = item->sizeHint();
    size = {size.width() + wanted.width() + (size.isEmpty() ? 0 : gap()),
            std::max(size.height(), wanted.height())};
  }
  return size;
}

QSize FlowLayout::minimumSize() const {
  QSize size;
  for (const QLayoutItem* item : items_) {
    if (!item->isEmpty()) size = size.expandedTo(item->minimumSize());
  }
  return size;
}

void FlowLayout::setGeometry(const QRect& rect) {
  QLayout::setGeometry(rect);
  arrange(rect, true);
}

int FlowLayout::arrange(const QRect& rect, bool place) const {
  int x = rect.x(), y = rect.y(), row = 0;
  for (QLayoutItem* item : items_) {
    if (item->isEmpty()) continue;
    // What is wider than the whole row is cut to it, as far as it lets itself.
    const QSize wanted = item->sizeHint();
    const QSize size{std::max(item->minimumSize().width(), std::min(wanted.width(), rect.width())),
                     wanted.height()};
    if (x > rect.x() && x + size.width() > rect.x() + rect.width()) {
      x = rect.x();
      y += row + gap();
      row = 0;
    }
    if (place) item->setGeometry({QPoint{x, y}, size});
    x += size.width() + gap();
    row = std::max(row, size.height());
  }
  return y + row - rect.y();
}

}  // namespace hexaplan::gui
