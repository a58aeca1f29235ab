#include "gui/models/table_model.h"

namespace hexaplan::gui {

void TableModel::setByteUnit(ByteUnit unit) {
  if (unit == byte_unit_) return;
  byte_unit_ = unit;
  if (rowCount({}) == 0) return;
  emit dataChanged(index(0, 0), index(rowCount({}) - 1, columnCount({}) - 1), {Qt::DisplayRole});
}

QString TableModel::toolTip(int /*row*/, int column) const {
  return meaning(column);
}

QString TableModel::text(int row, int column) const {
  return cellText(value(row, column), unit(row, column), byte_unit_);
}

QVariant TableModel::data(const QModelIndex& index, int role) const {
  if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return {};
  const int row = index.row(), column = index.column();
  if (role == Qt::ToolTipRole) return toolTip(row, column);
  if (role == Qt::DisplayRole) return text(row, column);
  const CellUnit cell = unit(row, column);
  QVariant answer = cellData(value(row, column), cell, byte_unit_, role);
  // Where units differ from row to row, the head cannot name them.
  if (role != kExportRole || cell == columnUnit(column) || answer.toString().isEmpty()) return answer;
  return QStringLiteral("%1 %2").arg(answer.toString(), baseUnit(cell)).trimmed();
}

QVariant TableModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || section < 0 || section >= columnCount({})) return {};
  return headData(title(section), meaning(section), columnUnit(section), role);
}

}  // namespace hexaplan::gui
