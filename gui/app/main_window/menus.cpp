// The window's menus and tool bar: every action by keyboard.
#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QFileDialog>
#include <QMenu>
#include <QMenuBar>
#include <QMessageBox>
#include <QPainter>
#include <QPrintDialog>
#include <QPrinter>
#include <QSettings>
#include <QStackedWidget>
#include <QTabWidget>
#include <QToolBar>
#include <algorithm>
#include <array>

#include "gui/app/document/command_line.h"
#include "gui/app/document/settings.h"
#include "gui/app/main_window/main_window.h"
#include "gui/app/main_window/theme.h"
#include "gui/app/main_window/verdict_bar.h"
#include "gui/app/main_window/version.h"
#include "gui/app/pages/notes_page.h"
#include "gui/app/pages/oracle_dialog.h"
#include "gui/app/pages/time_page.h"
#include "gui/app/pages/validation_page.h"
#include "gui/app/setup/formula_page.h"
#include "gui/app/setup/setup_panel.h"
#include "gui/models/table_model.h"
#include "gui/models/tree_model.h"
#include "gui/plot/plot_view.h"

namespace hexaplan::gui {

QAction* MainWindow::addAction(QMenu* menu, const QString& text, const char* name, const QKeySequence& keys,
                               const std::function<void()>& run) {
  auto* action = new QAction{text, this};
  action->setObjectName(name);
  action->setShortcut(keys);
  connect(action, &QAction::triggered, this, run);
  menu->addAction(action);
  return action;
}

void MainWindow::makeMenus() {
  makeFileMenu();
  makeEditMenu();
  makeViewMenu();
  makeCompareMenu();
  makeHelpMenu();
  makeToolBar();
}

void MainWindow::makeFileMenu() {
  QMenu* menu = menuBar()->addMenu(tr("&File"));
  addAction(menu, tr("&New"), "actionNew", QKeySequence::New, [this] { newProject(); });
  addAction(menu, tr("&Open…"), "actionOpen", QKeySequence::Open, [this] {
    openWithDialog(
        tr("Open a project, a scenario, a model or an execution report"),
        tr("Hexaplan, models and traces (*.hexaplan *.json *.json.gz *.sqlite *.html);;Launch files (*.sh "
           "*.yaml *.yml *.toml *.py);;All files (*)"));
  });
  addAction(menu, tr("Open a measured &trace…"), "actionOpenTrace", QKeySequence{"Ctrl+Shift+O"}, [this] {
    stack_->setCurrentWidget(pages_);
    pages_->setCurrentWidget(time_page_);
    time_page_->openTracesWithDialog();
  });
  recent_ = menu->addMenu(tr("Open &recent"));
  connect(recent_, &QMenu::aboutToShow, this, &MainWindow::fillRecent);
  addAction(menu, tr("&Save"), "actionSave", QKeySequence::Save, [this] { save(); });
  addAction(menu, tr("Save &as…"), "actionSaveAs", QKeySequence{"Ctrl+Shift+S"}, [this] { saveAs(); });
  menu->addSeparator();
  addAction(menu, tr("&Export charts of this page…"), "actionExport", QKeySequence{"Ctrl+E"},
            [this] { exportPage(); });
  addAction(menu, tr("Export the step for &Perfetto…"), "actionTrace", QKeySequence{"Ctrl+Shift+E"}, [this] {
    pages_->setCurrentWidget(time_page_);
    time_page_->exportTraceWithDialog();
  });
  addAction(menu, tr("Export the answer as &JSON…"), "actionAnswer", QKeySequence{"Ctrl+Shift+J"},
            [this] { chooseAnswerFile(); });
  makeLaunchMenu(menu);
  addAction(menu, tr("Sa&ve a report…"), "actionReport", QKeySequence{"Ctrl+Shift+R"}, [this] {
    chooseReportFile();
  })->setStatusTip(tr("One page that every browser opens, and that this program opens again"));
  addAction(menu, tr("&Print or save as PDF…"), "actionPrint", QKeySequence::Print, [this] { printPage(); });
  menu->addSeparator();
  addAction(menu, tr("&Quit"), "actionQuit", QKeySequence{"Ctrl+Q"}, [this] { close(); });
}

void MainWindow::makeEditMenu() {
  QMenu* menu = menuBar()->addMenu(tr("&Edit"));
  QAction* undo = document_.undoStack().createUndoAction(this, tr("&Undo"));
  QAction* redo = document_.undoStack().createRedoAction(this, tr("&Redo"));
  undo->setShortcut(QKeySequence::Undo);
  redo->setShortcuts({QKeySequence{"Ctrl+Y"}, QKeySequence{"Ctrl+Shift+Z"}});
  // In the tool bar their texts stay: buttons beside them must not move with every edit.
  undo->setIconText(tr("Undo"));
  redo->setIconText(tr("Redo"));
  undo->setObjectName("actionUndo");
  redo->setObjectName("actionRedo");
  menu->addAction(undo);
  menu->addAction(redo);
  menu->addSeparator();
  addAction(menu, tr("Copy as &command line"), "actionCopyCommand", QKeySequence{"Ctrl+Shift+C"}, [this] {
    QApplication::clipboard()->setText(commandLine(document_.request()));
    showMessage(tr("Copied: %1").arg(QApplication::clipboard()->text().section('\n', 0, 0)), false);
  });
  addAction(menu, tr("Copy share &link"), "actionShare", QKeySequence{"Ctrl+Shift+L"},
            [this] { copyShareLink(); });
  addAction(menu, tr("&Paste a link, a config.json or a launch command"), "actionPasteShare",
            QKeySequence{"Ctrl+Shift+V"}, [this] { paste(QApplication::clipboard()->text()); });
  menu->addSeparator();
  struct Jump {
    const char* field;
    const char* text;
    const char* keys;
  };
  static constexpr Jump jumps[] = {{"model", QT_TR_NOOP("Go to the &model"), "Alt+1"},
                                   {"cluster.gpu", QT_TR_NOOP("Go to the c&luster"), "Alt+2"},
                                   {"framework", QT_TR_NOOP("Go to the r&ecipe"), "Alt+3"},
                                   {"layout.dp", QT_TR_NOOP("Go to the la&yout"), "Alt+4"}};
  for (const Jump& jump : jumps) {
    addAction(menu, tr(jump.text), jump.field, QKeySequence{jump.keys},
              [this, field = jump.field] { setup_->focusField(field); });
  }
}

void MainWindow::makeViewMenu() {
  QMenu* menu = menuBar()->addMenu(tr("&View"));
  for (int i = 0; i < pages_->count(); ++i) {
    addAction(menu, pages_->tabText(i), "actionPage", QKeySequence{QString{"Ctrl+%1"}.arg(i + 1)}, [this, i] {
      pages_->setCurrentIndex(i);
      const QWidget* page = pages_->currentWidget();
      if (page == validation_ || page == notes_) stack_->setCurrentWidget(pages_);
    });
  }
  addAction(menu, tr("Next &pane"), "actionNextPane", QKeySequence{"F6"}, [this] { goToPane(1); });
  addAction(menu, tr("P&revious pane"), "actionPreviousPane", QKeySequence{"Shift+F6"},
            [this] { goToPane(-1); });
  menu->addSeparator();
  QAction* dark = addAction(menu, tr("&Dark colours"), "actionDark", QKeySequence{"Ctrl+D"}, [] {});
  dark->setCheckable(true);
  dark->setChecked(isDark(currentTheme()));
  QAction* contrast = addAction(menu, tr("High &contrast"), "actionContrast", {}, [] {});
  contrast->setCheckable(true);
  contrast->setChecked(isHighContrast(currentTheme()));
  const auto show_theme = [this, dark, contrast] {
    applyTheme(themeOf(dark->isChecked(), contrast->isChecked()));
    QSettings{}.setValue("dark", dark->isChecked());
    QSettings{}.setValue("highContrast", contrast->isChecked());
    emit document_.evaluated();  // labels that colour themselves
  };
  connect(dark, &QAction::toggled, this, show_theme);
  connect(contrast, &QAction::toggled, this, show_theme);
  QAction* decimal =
      addAction(menu, tr("&Bytes in GB (10⁹) instead of GiB (2³⁰)"), "actionDecimal", {}, [] {});
  decimal->setCheckable(true);
  decimal->setChecked(QSettings{}.value("decimalBytes", false).toBool());
  showBytesIn(decimal->isChecked() ? ByteUnit::Decimal : ByteUnit::Binary);
  connect(decimal, &QAction::toggled, this, [this](bool on) {
    QSettings{}.setValue("decimalBytes", on);
    showBytesIn(on ? ByteUnit::Decimal : ByteUnit::Binary);
  });
  QAction* full = addAction(menu, tr("&Full screen"), "actionFullScreen", QKeySequence::FullScreen, [] {});
  full->setCheckable(true);
  connect(full, &QAction::toggled, this, [this](bool on) { on ? showFullScreen() : showNormal(); });
}

void MainWindow::showBytesIn(ByteUnit unit) {
  setShownByteUnit(unit);
  for (PlotView* view : findChildren<PlotView*>()) view->setByteUnit(unit);
  for (TableModel* model : findChildren<TableModel*>()) model->setByteUnit(unit);
  for (TreeModel* model : findChildren<TreeModel*>()) model->setByteUnit(unit);
  emit document_.evaluated();  // labels write their numbers anew
}

void MainWindow::makeCompareMenu() {
  QMenu* menu = menuBar()->addMenu(tr("&Compare"));
  addAction(menu, tr("Pin as &baseline"), "actionBaseline", QKeySequence{"Ctrl+B"},
            [this] { document_.pinBaseline(); });
  addAction(menu, tr("&Remove the baseline"), "actionNoBaseline", QKeySequence{"Ctrl+Shift+B"},
            [this] { document_.clearBaseline(); });
  addAction(menu, tr("&Pin this state"), "actionPin", QKeySequence{"Ctrl+K"}, [this] { document_.pin(); });
  addAction(menu, tr("Remove &all pins"), "actionNoPins", {}, [this] { document_.clearPins(); });
  menu->addSeparator();
  addAction(menu, tr("&Find a layout that fits"), "actionFind", QKeySequence{"Ctrl+F"},
            [this] { findLayout(); });
  addAction(menu, tr("Check against Py&Torch…"), "actionOracle", {}, [this] {
    auto* dialog = new OracleDialog{document_, this};
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->show();
  })->setStatusTip(tr("One step in your own PyTorch, without a GPU, beside the prediction"));
}

void MainWindow::makeHelpMenu() {
  QMenu* menu = menuBar()->addMenu(tr("&Help"));
  addAction(menu, tr("&Formulas"), "actionFormulas", QKeySequence::HelpContents, [this] {
    // Of the field that has the keyboard, when there is one.
    QString anchor;
    for (const QWidget* w = QApplication::focusWidget(); w != nullptr && anchor.isEmpty();
         w = w->parentWidget()) {
      if (const Field* field = findField(w->objectName().section(".slider", 0, 0).toStdString()))
        anchor = field->formula;
    }
    showFormulas(this, anchor);
  });
  addAction(menu, tr("&Keyboard"), "actionKeyboard", QKeySequence{"Ctrl+/"}, [this] {
    QStringList rows;
    for (const QAction* action : findChildren<QAction*>()) {
      if (!action->shortcut().isEmpty() && !action->text().isEmpty())
        rows.append(QString{"<tr><td><b>%1</b>&nbsp;&nbsp;</td><td>%2</td></tr>"}.arg(
            action->shortcut().toString(QKeySequence::NativeText).toHtmlEscaped(),
            QString{action->text()}.remove('&').toHtmlEscaped()));
    }
    rows.removeDuplicates();
    QMessageBox::information(this, tr("Keyboard"),
                             "<table>" + rows.join("") + "</table><p>" +
                                 tr("Charts: arrows go from item to item, Enter activates, the context menu "
                                    "exports. Timeline: W and S zoom, A and D move, F shows all.") +
                                 "</p>");
  });
  addAction(menu, tr("&About Hexaplan"), "actionAbout", {}, [this] { showAbout(); });
}

void MainWindow::makeToolBar() {
  QToolBar* bar = addToolBar(tr("Actions"));
  bar->setObjectName("toolBar");
  bar->setMovable(false);
  for (const char* name : {"actionOpen", "actionSave", "", "actionUndo", "actionRedo", "", "actionBaseline",
                           "actionPin", "", "actionFind", "", "actionDark"}) {
    if (*name == '\0') {
      bar->addSeparator();
    } else if (auto* action = findChild<QAction*>(name)) {
      bar->addAction(action);
    }
  }
}

void MainWindow::fillRecent() {
  recent_->clear();
  for (const QString& path : recentFiles())
    connect(recent_->addAction(path), &QAction::triggered, this, [this, path] { open(path); });
  if (recent_->isEmpty()) {
    recent_->addAction(tr("None yet"))->setEnabled(false);
    return;
  }
  recent_->addSeparator();
  connect(recent_->addAction(tr("Forget them")), &QAction::triggered, this, [] { forgetFiles(); });
}

/// The chart that has the keyboard, else the largest that can be seen.
static PlotView* chartOf(QWidget& page) {
  if (auto* focused = qobject_cast<PlotView*>(QApplication::focusWidget())) return focused;
  PlotView* largest = nullptr;
  const auto area = [](const QWidget& w) { return w.width() * w.height(); };
  for (PlotView* view : page.findChildren<PlotView*>()) {
    if (view->isVisible() && (largest == nullptr || area(*view) > area(*largest))) largest = view;
  }
  return largest;
}

/// What a pane gives the keyboard to: its chart, else the first part that takes it.
static QWidget* firstOf(QWidget& pane) {
  if (PlotView* chart = pane.isVisible() ? chartOf(pane) : nullptr;
      chart != nullptr && pane.isAncestorOf(chart))
    return chart;
  for (QWidget* part : pane.findChildren<QWidget*>()) {
    if (part->isVisible() && part->isEnabled() && (part->focusPolicy() & Qt::TabFocus) != 0 &&
        part->focusProxy() == nullptr)
      return part;
  }
  return nullptr;
}

/// Question, verdict with its buttons, page: round and round, past those that take no keyboard now. In the
/// setup the keyboard comes back to where it was.
void MainWindow::goToPane(int step) {
  const std::array<QWidget*, 3> panes{setup_, verdict_, stack_->currentWidget()};
  const QWidget* now = QApplication::focusWidget();
  if (now != nullptr && setup_->isAncestorOf(now)) setup_focus_ = QApplication::focusWidget();
  int at = 0;
  for (int i = 0; i < static_cast<int>(panes.size()); ++i) {
    if (now != nullptr && panes[static_cast<std::size_t>(i)]->isAncestorOf(now)) at = i;
  }
  for (std::size_t i = 0; i < panes.size(); ++i) {
    at = (at + step + static_cast<int>(panes.size())) % static_cast<int>(panes.size());
    QWidget* target =
        at == 0 && setup_focus_ ? setup_focus_.data() : firstOf(*panes[static_cast<std::size_t>(at)]);
    if (target != nullptr && target->isVisible()) return target->setFocus(Qt::ShortcutFocusReason);
  }
}

void MainWindow::exportPage() {
  if (PlotView* chart = chartOf(*pages_->currentWidget())) {
    chart->exportWithDialog();
  } else {
    showMessage(tr("This page has no chart; its tables have a menu of their own."), false);
  }
}

void MainWindow::printPage() {
  QPrinter printer{QPrinter::HighResolution};
  printer.setPageOrientation(QPageLayout::Landscape);
  printer.setDocName(windowTitle());
  QPrintDialog dialog{&printer, this};
  if (dialog.exec() != QDialog::Accepted) return;
  printTo(printer);
}

void MainWindow::printTo(QPrinter& printer) {
  QWidget* content = centralWidget();
  QPainter painter{&printer};
  const QRectF page = printer.pageRect(QPrinter::DevicePixel);
  const double scale = std::min(page.width() / content->width(), page.height() / content->height());
  painter.scale(scale, scale);
  content->render(&painter);
}

void MainWindow::showAbout() {
  QMessageBox::about(this, tr("About Hexaplan"),
                     tr("<h3>Hexaplan %1</h3><p>Memory and step-time planner for training large "
                        "transformers: does it fit, how fast is it, which layout is best.</p>")
                         .arg(QString::fromStdString(versionText())));
}

}  // namespace hexaplan::gui
