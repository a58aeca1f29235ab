#include "gui/models/table_export.h"

#include <QAbstractItemModel>
#include <QSortFilterProxyModel>
#include <functional>

#include "charts/table_text.h"
#include "gui/models/cell.h"

namespace hexaplan::gui {
namespace {

int roleOf(TableFormat format) {
  return format == TableFormat::Markdown ? static_cast<int>(Qt::DisplayRole) : static_cast<int>(kExportRole);
}

std::vector<std::string> headsOf(const QAbstractItemModel& model, TableFormat format) {
  const int role =
      format == TableFormat::Markdown ? static_cast<int>(Qt::DisplayRole) : static_cast<int>(kExportHeadRole);
  std::vector<std::string> heads;
  for (int column = 0; column < model.columnCount(); ++column)
    heads.push_back(model.headerData(column, Qt::Horizontal, role).toString().toStdString());
  return heads;
}

/// Numbers stand at the right.
std::vector<bool> flushRight(const QAbstractItemModel& model) {
  std::vector<bool> right;
  for (int column = 0; column < model.columnCount(); ++column) {
    const QVariant alignment = model.headerData(column, Qt::Horizontal, Qt::TextAlignmentRole);
    right.push_back(alignment.value<Qt::Alignment>().testFlag(Qt::AlignRight));
  }
  return right;
}

/// The names of a row's ancestors: "parameters / layers / ".
QString pathTo(const QModelIndex& row, int role) {
  QString path;
  for (QModelIndex parent = row.parent(); parent.isValid(); parent = parent.parent())
    path.prepend(parent.siblingAtColumn(0).data(role).toString() + QStringLiteral(" / "));
  return path;
}

std::vector<std::string> cellsOf(const QAbstractItemModel& model, const QModelIndex& row, int role) {
  std::vector<std::string> cells;
  for (int column = 0; column < model.columnCount(row.parent()); ++column)
    cells.push_back(row.siblingAtColumn(column).data(role).toString().toStdString());
  cells.front().insert(0, pathTo(row, role).toStdString());
  return cells;
}

QString written(const charts::Cells& cells, const QAbstractItemModel& model, TableFormat format) {
  switch (format) {
    case TableFormat::Csv:
      return QString::fromStdString(charts::csv_table(cells));
    case TableFormat::Tsv:
      return QString::fromStdString(charts::tsv_table(cells));
    case TableFormat::Markdown:
      break;
  }
  return QString::fromStdString(charts::markdown_table(cells, flushRight(model)));
}

}  // namespace

QString exportTable(const QAbstractItemModel& model, TableFormat format) {
  if (model.columnCount() == 0) return {};
  charts::Cells cells{headsOf(model, format)};
  const std::function<void(const QModelIndex&)> add = [&](const QModelIndex& parent) {
    for (int row = 0; row < model.rowCount(parent); ++row) {
      const QModelIndex index = model.index(row, 0, parent);
      cells.push_back(cellsOf(model, index, roleOf(format)));
      add(index);
    }
  };
  add({});
  return written(cells, model, format);
}

QString exportRows(const QAbstractItemModel& model, const QModelIndexList& rows, TableFormat format) {
  charts::Cells cells{headsOf(model, format)};
  for (const QModelIndex& row : rows) cells.push_back(cellsOf(model, row, roleOf(format)));
  return written(cells, model, format);
}

QSortFilterProxyModel* sortedAndFiltered(QAbstractItemModel* model, QObject* parent) {
  auto* proxy = new QSortFilterProxyModel(parent);
  proxy->setSourceModel(model);
  proxy->setSortRole(kSortRole);
  proxy->setFilterKeyColumn(-1);
  proxy->setFilterCaseSensitivity(Qt::CaseInsensitive);
  proxy->setRecursiveFilteringEnabled(true);
  proxy->setAutoAcceptChildRows(true);
  return proxy;
}

}  // namespace hexaplan::gui
