#include "gui/plot/treemap.h"

#include <QFontMetricsF>
#include <QKeyEvent>
#include <QPainter>
#include <algorithm>

#include "gui/plot/fill_rect.h"
#include "gui/plot/treemap_geometry.h"

namespace hexaplan::gui {
namespace {

/// Letters that an elided name must keep.
constexpr qsizetype kShortestName = 7;

constexpr double kTreemapMargin = 8;
constexpr double kTreemapGap = 2;  // between groups

void appendLeaves(const LedgerNode& node, std::vector<const LedgerNode*>& out) {
  if (node.children.empty()) return out.push_back(&node);
  for (const LedgerNode& child : node.children) appendLeaves(child, out);
}

std::vector<const LedgerNode*> leavesOf(const LedgerNode& node) {
  std::vector<const LedgerNode*> out;
  appendLeaves(node, out);
  std::stable_sort(out.begin(), out.end(),
                   [](const LedgerNode* a, const LedgerNode* b) { return a->bytes > b->bytes; });
  return out;
}

}  // namespace

Treemap::Treemap(QWidget* parent) : PlotView(parent) {
  setAccessibleName(tr("Tensors by size"));
  setWhatsThis(
      tr("Every tensor of one GPU at its peak, as large as its memory. Click or Enter goes into a "
         "group, Backspace back, arrows move."));
}

void Treemap::setTree(LedgerNode root) {
  const QStringList before = path();
  root_ = std::move(root);
  path_.clear();
  setPath(before);
  dataChanged();
}

const LedgerNode& Treemap::shown() const {
  const LedgerNode* node = &root_;
  for (const std::size_t child : path_) node = &node->children[child];
  return *node;
}

QStringList Treemap::path() const {
  QStringList names;
  const LedgerNode* node = &root_;
  for (const std::size_t child : path_) {
    node = &node->children[child];
    names.append(node->name);
  }
  return names;
}

void Treemap::setPath(const QStringList& names) {
  const QStringList before = path();
  path_.clear();
  const LedgerNode* node = &root_;
  for (const QString& name : names) {
    const auto found =
        std::find_if(node->children.begin(), node->children.end(),
                     [&](const LedgerNode& child) { return child.name == name && !child.children.empty(); });
    if (found == node->children.end()) break;
    path_.push_back(static_cast<std::size_t>(found - node->children.begin()));
    node = &*found;
  }
  if (path() == before) return;
  setCurrentItem(-1);
  dataChanged();
  emit pathChanged(path());
}

std::vector<const LedgerNode*> Treemap::items() const {
  std::vector<const LedgerNode*> out;
  for (const LedgerNode& group : shown().children) {
    for (const LedgerNode* leaf : leavesOf(group)) out.push_back(leaf);
  }
  return out;
}

int Treemap::itemCount() const {
  return static_cast<int>(items().size());
}

Treemap::Layout Treemap::layout(const QSizeF& size) const {
  Layout out;
  const double line = QFontMetricsF(smallFont()).height();
  out.crumbs = QRectF(kTreemapMargin, kTreemapMargin, size.width() - 2 * kTreemapMargin, line + 4);
  const QRectF area(kTreemapMargin, out.crumbs.bottom() + 2, size.width() - 2 * kTreemapMargin,
                    size.height() - out.crumbs.bottom() - 2 - kTreemapMargin);
  std::vector<double> sizes;
  sizes.reserve(shown().children.size());
  for (const LedgerNode& group : shown().children) sizes.push_back(std::max(0.0, group.bytes));
  const std::vector<QRectF> boxes = squarify(sizes, area);
  for (std::size_t g = 0; g < boxes.size(); ++g) {
    const LedgerNode& group = shown().children[g];
    const QRectF box =
        boxes[g].adjusted(kTreemapGap / 2, kTreemapGap / 2, -kTreemapGap / 2, -kTreemapGap / 2);
    out.groups.push_back({box, &group, &group});
    QRectF inside = box;
    if (!group.children.empty() && box.height() > 3 * line) inside.setTop(box.top() + line + 3);
    const std::vector<const LedgerNode*> leaves = leavesOf(group);
    std::vector<double> leaf_sizes;
    leaf_sizes.reserve(leaves.size());
    for (const LedgerNode* leaf : leaves) leaf_sizes.push_back(std::max(0.0, leaf->bytes));
    const std::vector<QRectF> leaf_boxes = squarify(leaf_sizes, inside);
    for (std::size_t i = 0; i < leaves.size(); ++i) out.tiles.push_back({leaf_boxes[i], leaves[i], &group});
  }
  return out;
}

int Treemap::itemAt(const QPointF& point) const {
  const Layout at = layout(size());
  for (std::size_t i = 0; i < at.tiles.size(); ++i) {
    if (at.tiles[i].box.contains(point)) return static_cast<int>(i);
  }
  return -1;
}

QRectF Treemap::itemRect(int item) const {
  return layout(size()).tiles[static_cast<std::size_t>(item)].box;
}

QString Treemap::describe(int item) const {
  const LedgerNode& leaf = *items()[static_cast<std::size_t>(item)];
  return tr("%1\n%2, %3 of all\n%4 × %5 elements of %6\nformula %7")
      .arg(leaf.name, bytesOf(costmodel::Bytes{leaf.bytes}), percentText(leaf.bytes / root_.bytes),
           plainText(leaf.count), countText(static_cast<std::int64_t>(leaf.elements)), leaf.dtype,
           leaf.formula);
}

QString Treemap::textAlternative() const {
  const LedgerNode& node = shown();
  QString out = tr("%1: %2").arg(node.name, bytesOf(costmodel::Bytes{node.bytes}));
  for (const LedgerNode& group : node.children) {
    out +=
        tr("\n%1: %2, %3")
            .arg(group.name, bytesOf(costmodel::Bytes{group.bytes}), percentText(group.bytes / node.bytes));
    int named = 0;
    for (const LedgerNode* leaf : leavesOf(group)) {
      if (group.children.empty() || ++named > 3) break;
      out += tr("; %1 %2").arg(leaf->name, bytesOf(costmodel::Bytes{leaf->bytes}));
    }
  }
  return out;
}

void Treemap::drawTile(QPainter& painter, const Tile& tile, const PlotTheme& theme) const {
  const Fill& ink = theme.of(inkOf(tile.node->kind));
  const QRectF box = tile.box;
  // Patterns would fight with the names: they stand in the group's heading, tiles are plain.
  painter.fillRect(box, ink.color);
  painter.setPen(QPen(theme.background, 1));
  painter.setBrush(Qt::NoBrush);
  painter.drawRect(box);
  const QFontMetricsF metrics(painter.font());
  const QRectF text = box.adjusted(4, 2, -4, -2);
  if (text.width() < metrics.averageCharWidth() * 6 || text.height() < metrics.height()) return;
  painter.setPen(ink.text());
  const QString name = metrics.elidedText(tile.node->name, Qt::ElideMiddle, text.width());
  // "e…t" names nothing.
  if (name.size() < std::min<qsizetype>(tile.node->name.size(), kShortestName)) return;
  painter.drawText(text, Qt::AlignLeft | Qt::AlignTop, name);
  const QString bytes = bytesOf(costmodel::Bytes{tile.node->bytes});
  if (text.height() < 2 * metrics.height() || metrics.horizontalAdvance(bytes) > text.width()) return;
  painter.drawText(text.translated(0, metrics.height()), Qt::AlignLeft | Qt::AlignTop, bytes);
}

void Treemap::draw(QPainter& painter, const QSizeF& size, const PlotTheme& theme) const {
  painter.setFont(smallFont());
  const QFontMetricsF metrics(painter.font());
  const Layout at = layout(size);
  painter.setPen(theme.faint);
  const QString crumbs = QStringList{QStringList{root_.name} + path()}.join(QStringLiteral("  ›  "));
  painter.drawText(at.crumbs, Qt::AlignLeft | Qt::AlignTop,
                   tr("%1: %2").arg(crumbs, bytesOf(costmodel::Bytes{shown().bytes})));
  for (const Tile& tile : at.tiles) drawTile(painter, tile, theme);
  for (const Tile& group : at.groups) {
    const double head = metrics.height() + 3;
    if (group.node->children.empty() || group.box.height() <= 3 * metrics.height()) continue;
    const Fill& ink = theme.of(inkOf(group.node->kind));
    const QRectF band(group.box.left(), group.box.top(), group.box.width(), head);
    fillRect(painter, QRectF(band.left(), band.top() + 2, std::min(16.0, band.width()), head - 5), ink);
    painter.setPen(theme.text);
    const QString name = tr("%1  %2").arg(group.node->name, bytesOf(costmodel::Bytes{group.node->bytes}));
    const QRectF text = band.adjusted(21, 0, 0, 0);
    if (text.width() < metrics.averageCharWidth() * 4) continue;
    painter.drawText(text, Qt::AlignLeft | Qt::AlignVCenter,
                     metrics.elidedText(name, Qt::ElideRight, text.width()));
  }
  if (currentItem() >= 0) {
    painter.setPen(QPen(theme.focus, 2));
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(at.tiles[static_cast<std::size_t>(currentItem())].box.adjusted(1, 1, -1, -1));
  }
}

void Treemap::enter(int item) {
  const auto all = items();
  const LedgerNode* leaf = all[static_cast<std::size_t>(item)];
  const LedgerNode* node = &shown();
  std::vector<std::size_t> deeper = path_;
  // Down to the first level that has more than one thing to show.
  do {
    std::size_t child = 0;
    for (; child < node->children.size(); ++child) {
      const auto leaves = leavesOf(node->children[child]);
      if (std::find(leaves.begin(), leaves.end(), leaf) != leaves.end()) break;
    }
    node = &node->children[child];
    if (node->children.empty()) break;
    deeper.push_back(child);
  } while (node->children.size() == 1);
  if (deeper == path_) {
    emit tensorActivated(leaf->name);
    return;
  }
  path_ = deeper;
  setCurrentItem(-1);
  dataChanged();
  emit pathChanged(path());
}

void Treemap::leaveOne() {
  if (path_.empty()) return;
  do {
    path_.pop_back();
  } while (!path_.empty() && shown().children.size() == 1);
  setCurrentItem(-1);
  dataChanged();
  emit pathChanged(path());
}

void Treemap::keyPressEvent(QKeyEvent* event) {
  switch (event->key()) {
    case Qt::Key_Return:
    case Qt::Key_Enter:
    case Qt::Key_Space:
      if (currentItem() >= 0) enter(currentItem());
      return;
    case Qt::Key_Backspace:
      leaveOne();
      return;
    default:
      PlotView::keyPressEvent(event);
  }
}

void Treemap::mouseReleaseEvent(QMouseEvent* event) {
  if (event->button() == Qt::BackButton) return leaveOne();
  if (event->button() != Qt::LeftButton || itemCount() == 0) return;
  if (layout(size()).crumbs.contains(event->position())) return leaveOne();
  const int item = itemAt(event->position());
  if (item < 0) return;
  emit itemActivated(item);
  enter(item);
}

}  // namespace hexaplan::gui
