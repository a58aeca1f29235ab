#include "gui/models/table_export.h"

#include <QAbstractItemModel>
#include <QSortFilterProxyModel>
#include <QStringList>
#include <functional>

#include "gui/models/cell.h"

namespace hexaplan::gui {
namespace {

QString csvField(const QString& text) {
  static const QString special = QStringLiteral(",\"\r\n");
  for (const QChar c : text) {
    if (special.contains(c)) return u'"' + QString(text).replace(u'"', QStringLiteral("\"\"")) + u'"';
  }
  return text;
}

QString markdownField(const QString& text) {
  return QString(text).replace(u'|', QStringLiteral("\\|")).replace(u'\n', u' ');
}

QString line(const QStringList& fields, TableFormat format) {
  QStringList out;
  for (const QString& field : fields) {
    out.append(format == TableFormat::Csv ? csvField(field) : markdownField(field));
  }
  return format == TableFormat::Csv
             ? out.join(u',') + QStringLiteral("\r\n")
             : QStringLiteral("| ") + out.join(QStringLiteral(" | ")) + QStringLiteral(" |\n");
}

/// Head, and in Markdown the rule below it: numbers to the right.
QString headLines(const QAbstractItemModel& model, TableFormat format) {
  const int role =
      format == TableFormat::Csv ? static_cast<int>(kExportHeadRole) : static_cast<int>(Qt::DisplayRole);
  QStringList heads, rules;
  for (int column = 0; column < model.columnCount(); ++column) {
    heads.append(model.headerData(column, Qt::Horizontal, role).toString());
    const auto alignment =
        model.headerData(column, Qt::Horizontal, Qt::TextAlignmentRole).value<Qt::Alignment>();
    rules.append(alignment.testFlag(Qt::AlignRight) ? QStringLiteral("---:") : QStringLiteral("---"));
  }
  return line(heads, format) + (format == TableFormat::Markdown ? line(rules, format) : QString{});
}

}  // namespace

QString exportTable(const QAbstractItemModel& model, TableFormat format) {
  if (model.columnCount() == 0) return {};
  const int role =
      format == TableFormat::Csv ? static_cast<int>(kExportRole) : static_cast<int>(Qt::DisplayRole);
  QString out = headLines(model, format);
  const std::function<void(const QModelIndex&, const QString&)> add = [&](const QModelIndex& parent,
                                                                          const QString& path) {
    for (int row = 0; row < model.rowCount(parent); ++row) {
      QStringList fields;
      for (int column = 0; column < model.columnCount(parent); ++column) {
        fields.append(model.index(row, column, parent).data(role).toString());
      }
      fields.front().prepend(path);
      out += line(fields, format);
      add(model.index(row, 0, parent), fields.front() + QStringLiteral(" / "));
    }
  };
  add({}, {});
  return out;
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
