#pragma once
#include <QCoreApplication>
#include <span>
#include <vector>

#include "gui/models/table_model.h"

namespace hexaplan::gui {

/// One column of a table of `Row`: its head and how a row fills it.
template <class Row>
struct Column {
  ColumnHead head;
  QVariant (*value)(const Row&);
};

/// A table whose columns are rows of a constant table of Column<Row>.
template <class Row>
class ColumnTableModel : public TableModel {
 public:
  /// `context`: in which the heads are translated.
  ColumnTableModel(std::span<const Column<Row>> columns, const char* context, QObject* parent)
      : TableModel(parent), columns_{columns}, context_{context} {}

  void setRows(std::vector<Row> rows) {
    beginResetModel();
    rows_ = std::move(rows);
    endResetModel();
  }
  [[nodiscard]] const Row& row(int index) const { return rows_[static_cast<std::size_t>(index)]; }
  [[nodiscard]] const std::vector<Row>& rows() const { return rows_; }

  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override {
    return parent.isValid() ? 0 : static_cast<int>(rows_.size());
  }
  [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override {
    return parent.isValid() ? 0 : static_cast<int>(columns_.size());
  }

 protected:
  [[nodiscard]] QVariant value(int index, int column) const override { return of(column).value(row(index)); }
  [[nodiscard]] CellUnit unit(int /*row*/, int column) const override { return of(column).head.unit; }
  [[nodiscard]] CellUnit columnUnit(int column) const override { return of(column).head.unit; }
  [[nodiscard]] QString title(int column) const override {
    return QCoreApplication::translate(context_, of(column).head.title);
  }
  [[nodiscard]] QString meaning(int column) const override {
    return QCoreApplication::translate(context_, of(column).head.meaning);
  }

 private:
  [[nodiscard]] const Column<Row>& of(int column) const { return columns_[static_cast<std::size_t>(column)]; }

  std::span<const Column<Row>> columns_;
  const char* context_;
  std::vector<Row> rows_;
};

}  // namespace hexaplan::gui
