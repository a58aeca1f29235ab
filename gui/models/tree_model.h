#pragma once
#include <QAbstractItemModel>
#include <vector>

#include "gui/models/cell.h"

namespace hexaplan::gui {

/// Tree plumbing, once: nodes are numbers, a tree is the parent of each. Models say what stands in a node's
/// columns.
class TreeModel : public QAbstractItemModel {
  Q_OBJECT
 public:
  explicit TreeModel(QObject* parent = nullptr) : QAbstractItemModel(parent) {}

  void setByteUnit(ByteUnit unit);
  [[nodiscard]] ByteUnit byteUnit() const { return byte_unit_; }
  [[nodiscard]] int nodeOf(const QModelIndex& index) const;
  [[nodiscard]] QModelIndex indexOf(int node, int column = 0) const;

  [[nodiscard]] QModelIndex index(int row, int column, const QModelIndex& parent = {}) const override;
  [[nodiscard]] QModelIndex parent(const QModelIndex& index) const override;
  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
  [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 protected:
  static constexpr int kRoot = -1;  // not shown
  /// Rebuilds the tree between beginResetModel and endResetModel: parents[i] is the parent of node i, smaller
  /// than i, or kRoot.
  void setParents(const std::vector<int>& parents);
  [[nodiscard]] int nodeCount() const { return static_cast<int>(nodes_.size()); }

  [[nodiscard]] virtual QVariant value(int node, int column) const = 0;
  [[nodiscard]] virtual ColumnHead head(int column) const = 0;
  /// In the context of the model.
  [[nodiscard]] virtual QString translated(const char* text) const = 0;
  /// Further roles of a cell, tool-tips among them.
  [[nodiscard]] virtual QVariant extra(int node, int column, int role) const;

 private:
  struct Node {
    int parent = kRoot;
    int row = 0;
    std::vector<int> children;
  };
  std::vector<Node> nodes_;
  std::vector<int> top_;
  ByteUnit byte_unit_ = shownByteUnit();
};

}  // namespace hexaplan::gui
