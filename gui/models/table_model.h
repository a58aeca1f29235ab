#pragma once
#include <QAbstractTableModel>

#include "gui/models/cell.h"

namespace hexaplan::gui {

/// A table of rows of one type with columns from a table of heads. A model says what its columns are and
/// gives the bare value of a cell; texts, sorting, alignment, tool-tips and export follow.
class TableModel : public QAbstractTableModel {
  Q_OBJECT
 public:
  explicit TableModel(QObject* parent = nullptr) : QAbstractTableModel(parent) {}

  void setByteUnit(ByteUnit unit);
  [[nodiscard]] ByteUnit byteUnit() const { return byte_unit_; }

  [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
  [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 protected:
  /// Of a cell; the unit may differ from row to row.
  [[nodiscard]] virtual QVariant value(int row, int column) const = 0;
  [[nodiscard]] virtual CellUnit unit(int row, int column) const = 0;
  [[nodiscard]] virtual QString title(int column) const = 0;
  [[nodiscard]] virtual QString meaning(int column) const = 0;
  /// Unit of a whole column, for its head; Text where it differs from row to row.
  [[nodiscard]] virtual CellUnit columnUnit(int column) const = 0;
  [[nodiscard]] virtual QString toolTip(int row, int column) const;
  /// Text for the eye; differences override it to show their sign.
  [[nodiscard]] virtual QString text(int row, int column) const;

 private:
  ByteUnit byte_unit_ = shownByteUnit();
};

}  // namespace hexaplan::gui
