#pragma once
#include <QModelIndexList>
#include <QString>
#include <cstdint>

class QAbstractItemModel;
class QSortFilterProxyModel;
class QObject;

namespace hexaplan::gui {

enum class TableFormat : std::uint8_t { Csv, Tsv, Markdown };

/// Every row of a table or tree, in the order and filter of the model given, as text: CSV (RFC 4180) and TSV
/// with exact numbers in base units named by the head, or Markdown with numbers as people read them. Rows of
/// a tree have the names of their ancestors before their own: "parameters / layers / attention.qkv.weight".
[[nodiscard]] QString exportTable(const QAbstractItemModel& model, TableFormat format);
/// The same of some rows, in the order given; of each any cell.
[[nodiscard]] QString exportRows(const QAbstractItemModel& model, const QModelIndexList& rows,
                                 TableFormat format);

/// Sorts by bare numbers, filters by what any column shows, keeps the ancestors of what matches.
[[nodiscard]] QSortFilterProxyModel* sortedAndFiltered(QAbstractItemModel* model, QObject* parent);

}  // namespace hexaplan::gui
