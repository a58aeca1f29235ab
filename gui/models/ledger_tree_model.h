#pragma once
#include "gui/models/ledger_tree.h"
#include "gui/models/tree_model.h"

namespace hexaplan::gui {

/// The ledger of one rank as a tree: kind → layer class → tensor, with bytes, share and where the formula
/// stands. Answers kKindRole.
class LedgerTreeModel : public TreeModel {
  Q_OBJECT
 public:
  enum ColumnIndex : int { kName, kBytes, kShare, kCopies, kElements, kType, kFormula, kColumns };

  explicit LedgerTreeModel(QObject* parent = nullptr);
  void setTree(LedgerNode root);
  /// First tensor of that name; invalid when there is none.
  [[nodiscard]] QModelIndex find(const QString& tensor) const;

  [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;

 protected:
  [[nodiscard]] QVariant value(int node, int column) const override;
  [[nodiscard]] ColumnHead head(int column) const override;
  [[nodiscard]] QString translated(const char* text) const override { return tr(text); }
  [[nodiscard]] QVariant extra(int node, int column, int role) const override;

 private:
  LedgerNode root_;
  std::vector<const LedgerNode*> nodes_;  // into root_
};

}  // namespace hexaplan::gui
