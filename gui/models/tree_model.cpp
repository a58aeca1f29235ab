#include "gui/models/tree_model.h"

#include <cassert>

namespace hexaplan::gui {

void TreeModel::setParents(const std::vector<int>& parents) {
  nodes_.assign(parents.size(), {});
  top_.clear();
  for (std::size_t i = 0; i < parents.size(); ++i) {
    assert(parents[i] < static_cast<int>(i));
    std::vector<int>& siblings =
        parents[i] == kRoot ? top_ : nodes_[static_cast<std::size_t>(parents[i])].children;
    nodes_[i].parent = parents[i];
    nodes_[i].row = static_cast<int>(siblings.size());
    siblings.push_back(static_cast<int>(i));
  }
}

void TreeModel::setByteUnit(ByteUnit unit) {
  if (unit == byte_unit_) return;
  byte_unit_ = unit;
  const auto changed = [this](const std::vector<int>& siblings) {
    if (siblings.empty()) return;
    emit dataChanged(indexOf(siblings.front()), indexOf(siblings.back(), columnCount({}) - 1),
                     {Qt::DisplayRole});
  };
  changed(top_);
  for (const Node& node : nodes_) changed(node.children);
}

int TreeModel::nodeOf(const QModelIndex& index) const {
  return index.isValid() ? static_cast<int>(index.internalId()) : kRoot;
}

QModelIndex TreeModel::indexOf(int node, int column) const {
  if (node == kRoot) return {};
  return createIndex(nodes_[static_cast<std::size_t>(node)].row, column, static_cast<quintptr>(node));
}

QModelIndex TreeModel::index(int row, int column, const QModelIndex& parent) const {
  if (!hasIndex(row, column, parent)) return {};
  const int above = nodeOf(parent);
  const std::vector<int>& siblings = above == kRoot ? top_ : nodes_[static_cast<std::size_t>(above)].children;
  return indexOf(siblings[static_cast<std::size_t>(row)], column);
}

QModelIndex TreeModel::parent(const QModelIndex& index) const {
  if (!index.isValid()) return {};
  return indexOf(nodes_[static_cast<std::size_t>(nodeOf(index))].parent);
}

int TreeModel::rowCount(const QModelIndex& parent) const {
  if (parent.column() > 0) return 0;
  const int node = nodeOf(parent);
  return static_cast<int>(node == kRoot ? top_.size()
                                        : nodes_[static_cast<std::size_t>(node)].children.size());
}

QVariant TreeModel::extra(int /*node*/, int column, int role) const {
  return role == Qt::ToolTipRole ? QVariant(translated(head(column).meaning)) : QVariant();
}

QVariant TreeModel::data(const QModelIndex& index, int role) const {
  if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return {};
  const int node = nodeOf(index), column = index.column();
  const QVariant further = extra(node, column, role);
  return further.isValid() ? further : cellData(value(node, column), head(column).unit, byte_unit_, role);
}

QVariant TreeModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || section < 0 || section >= columnCount({})) return {};
  const ColumnHead column = head(section);
  return headData(translated(column.title), translated(column.meaning), column.unit, role);
}

}  // namespace hexaplan::gui
