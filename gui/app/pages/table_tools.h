#pragma once
#include <QSet>
#include <QString>

class QAbstractItemView;
class QTableView;
class QTreeView;

namespace hexaplan::gui {

/// What every table and tree of the window can do: rows are selected and copied for spreadsheets (Ctrl+C,
/// tabs between cells); a menu copies it as CSV or Markdown and saves it as CSV, and a menu of the header
/// that shows and hides columns. `name` is that of the file.
void addTableTools(QAbstractItemView& view, const QString& name);

/// A table as the window's pages have them, still without a model. `name`: its object's.
[[nodiscard]] QTableView* makeTable(QWidget* parent, const QString& name, const QString& accessible);
/// … that is sorted by a click, whose rows are one line high and whose last column takes what is left.
[[nodiscard]] QTableView* makeSortedTable(QWidget* parent, const QString& name, const QString& accessible);

/// Which rows of a tree are open and where the current one is, by the texts of the first column: kept while
/// the model is filled anew.
class TreeState {
 public:
  explicit TreeState(const QTreeView& tree);
  void restore(QTreeView& tree) const;

 private:
  QSet<QString> open_;
  QString current_;
  int scroll_ = 0;
};

}  // namespace hexaplan::gui
