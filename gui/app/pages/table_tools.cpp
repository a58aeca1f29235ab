#include "gui/app/pages/table_tools.h"

#include <QAbstractItemView>
#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QCoreApplication>
#include <QFileDialog>
#include <QHeaderView>
#include <QItemSelectionModel>
#include <QMenu>
#include <QMessageBox>
#include <QScrollBar>
#include <QTableView>
#include <QTreeView>
#include <algorithm>
#include <functional>

#include "gui/app/document/write_file.h"
#include "gui/models/table_export.h"

namespace hexaplan::gui {
namespace {

QString say(const char* text) {
  return QCoreApplication::translate("TableTools", text);
}

void copy(const QAbstractItemView& view, TableFormat format) {
  QApplication::clipboard()->setText(exportTable(*view.model(), format));
}

/// For spreadsheets: what is selected, else everything.
void copyRows(const QAbstractItemView& view) {
  QModelIndexList rows = view.selectionModel()->selectedRows();
  std::sort(rows.begin(), rows.end());
  QApplication::clipboard()->setText(rows.isEmpty() ? exportTable(*view.model(), TableFormat::Tsv)
                                                    : exportRows(*view.model(), rows, TableFormat::Tsv));
}

void save(QAbstractItemView& view, const QString& name) {
  const QString path =
      QFileDialog::getSaveFileName(&view, say(QT_TRANSLATE_NOOP("TableTools", "Save the table")),
                                   name + ".csv", say(QT_TRANSLATE_NOOP("TableTools", "CSV (*.csv)")));
  if (path.isEmpty()) return;
  const QString problem = writeFile(path, exportTable(*view.model(), TableFormat::Csv).toUtf8());
  if (!problem.isEmpty())
    QMessageBox::warning(&view, say(QT_TRANSLATE_NOOP("TableTools", "Not saved")), path + ": " + problem);
}

QAction* addAction(QAbstractItemView& view, const QString& text, const QKeySequence& keys,
                   const std::function<void()>& run) {
  auto* action = new QAction{text, &view};
  action->setShortcut(keys);
  action->setShortcutContext(Qt::WidgetShortcut);
  QObject::connect(action, &QAction::triggered, &view, run);
  view.addAction(action);
  return action;
}

QHeaderView* headerOf(QAbstractItemView& view) {
  if (auto* tree = qobject_cast<QTreeView*>(&view)) return tree->header();
  if (auto* table = qobject_cast<QTableView*>(&view)) return table->horizontalHeader();
  return nullptr;
}

/// A menu with a check mark for every column but the first.
void showColumnMenu(QHeaderView& header, const QPoint& at) {
  QMenu menu;
  for (int column = 1; column < header.count(); ++column) {
    QAction* action = menu.addAction(header.model()->headerData(column, Qt::Horizontal).toString());
    action->setCheckable(true);
    action->setChecked(!header.isSectionHidden(column));
    QObject::connect(action, &QAction::toggled, &header,
                     [&header, column](bool on) { header.setSectionHidden(column, !on); });
  }
  menu.exec(header.mapToGlobal(at));
}

void offerColumns(QHeaderView& header) {
  header.setContextMenuPolicy(Qt::CustomContextMenu);
  QObject::connect(&header, &QHeaderView::customContextMenuRequested, &header,
                   [&header](const QPoint& at) { showColumnMenu(header, at); });
}

QString pathOf(QModelIndex index) {
  QString path;
  for (; index.isValid(); index = index.parent())
    path.prepend('/' + index.siblingAtColumn(0).data().toString());
  return path;
}

/// Calls `visit(index)` for every row; children of those for which it returns true.
void visitRows(const QAbstractItemModel& model, const QModelIndex& parent,
               const std::function<bool(const QModelIndex&)>& visit) {
  for (int row = 0; row < model.rowCount(parent); ++row) {
    const QModelIndex index = model.index(row, 0, parent);
    if (visit(index)) visitRows(model, index, visit);
  }
}

}  // namespace

QTableView* makeTable(QWidget* parent, const QString& name, const QString& accessible) {
  auto* table = new QTableView{parent};
  table->setObjectName(name);
  table->setAccessibleName(accessible);
  table->setAlternatingRowColors(true);
  table->setShowGrid(false);
  table->setTabKeyNavigation(false);
  table->verticalHeader()->hide();
  table->verticalHeader()->setDefaultSectionSize(table->fontMetrics().height() + 8);
  return table;
}

QTableView* makeSortedTable(QWidget* parent, const QString& name, const QString& accessible) {
  QTableView* table = makeTable(parent, name, accessible);
  table->setSortingEnabled(true);
  table->setWordWrap(false);
  table->horizontalHeader()->setStretchLastSection(true);
  return table;
}

void addTableTools(QAbstractItemView& view, const QString& name) {
  view.setContextMenuPolicy(Qt::ActionsContextMenu);
  view.setSelectionBehavior(QAbstractItemView::SelectRows);
  view.setSelectionMode(QAbstractItemView::ExtendedSelection);
  addAction(view, say(QT_TRANSLATE_NOOP("TableTools", "Copy selected rows")), QKeySequence::Copy, [&view] {
    copyRows(view);
  })->setObjectName("copyRows");
  addAction(view, say(QT_TRANSLATE_NOOP("TableTools", "Copy as CSV")), QKeySequence{"Ctrl+Shift+X"},
            [&view] { copy(view, TableFormat::Csv); });
  addAction(view, say(QT_TRANSLATE_NOOP("TableTools", "Copy as Markdown")), QKeySequence{"Ctrl+Shift+M"},
            [&view] { copy(view, TableFormat::Markdown); });
  addAction(view, say(QT_TRANSLATE_NOOP("TableTools", "Save as CSV…")), {},
            [&view, name] { save(view, name); });
  if (QHeaderView* header = headerOf(view)) offerColumns(*header);
}

TreeState::TreeState(const QTreeView& tree) : scroll_{tree.verticalScrollBar()->value()} {
  if (tree.model() == nullptr) return;
  visitRows(*tree.model(), {}, [&](const QModelIndex& index) {
    const bool open = tree.isExpanded(index);
    if (open) open_.insert(pathOf(index));
    return open;
  });
  current_ = pathOf(tree.currentIndex());
}

void TreeState::restore(QTreeView& tree) const {
  visitRows(*tree.model(), {}, [&](const QModelIndex& index) {
    const QString path = pathOf(index);
    if (path == current_) tree.setCurrentIndex(index);
    const bool open = open_.contains(path);
    if (open) tree.expand(index);
    return open;
  });
  tree.verticalScrollBar()->setValue(scroll_);
}

}  // namespace hexaplan::gui
