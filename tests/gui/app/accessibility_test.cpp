// What a screen reader finds: every part of the window through Qt's accessibility interfaces, from which
// AT-SPI, UI Automation and NSAccessibility are served.
#include <QAbstractButton>
#include <QAbstractScrollArea>
#include <QAbstractSlider>
#include <QAccessible>
#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QMap>
#include <QMenu>
#include <QPushButton>
#include <QScrollArea>
#include <QScrollBar>
#include <QSet>
#include <QTabBar>
#include <QTabWidget>
#include <QTableView>
#include <QToolButton>
#include <algorithm>
#include <vector>

#include "gui/app/main_window/verdict_bar.h"
#include "gui/app/setup/setup_panel.h"
#include "gui/plot/plot_view.h"
#include "tests/gui/app/window_fixture.h"
#include "tests/gui/support/example_trace.h"

namespace hexaplan::gui {

class AccessibilityTest : public WindowFixture {
  Q_OBJECT

 private:
  struct Heard {
    QAccessible::Role role;
    QString name, value, description;
  };

  /// Part of another control that has the keyboard for it: the line of a box, the scroll bar of a list.
  static bool insideAnother(const QWidget& widget) {
    if (qobject_cast<const QTabBar*>(&widget) != nullptr)
      return false;  // of a QTabWidget, which gives it the keyboard
    if (widget.objectName().startsWith("qt_")) return true;
    for (const QWidget* w = widget.parentWidget(); w != nullptr; w = w->parentWidget()) {
      if (qobject_cast<const QComboBox*>(w) != nullptr || qobject_cast<const QLineEdit*>(w) != nullptr ||
          qobject_cast<const QTabBar*>(w) != nullptr)
        return true;
      const auto* area = qobject_cast<const QAbstractScrollArea*>(w);
      if (area != nullptr && area->inherits("QAbstractItemView")) return true;
    }
    return false;
  }
  static bool takesKeyboard(const QWidget& widget) {
    return (widget.focusPolicy() & Qt::TabFocus) != 0 && widget.focusProxy() == nullptr &&
           !insideAnother(widget);
  }
  static Heard heard(QWidget& widget) {
    QAccessibleInterface* part = QAccessible::queryAccessibleInterface(&widget);
    if (part == nullptr) return {};
    Heard said{part->role(), part->text(QAccessible::Name), part->text(QAccessible::Value),
               part->text(QAccessible::Description)};
    if (part->valueInterface() != nullptr) said.value = part->valueInterface()->currentValue().toString();
    if (said.role != QAccessible::ComboBox) return said;
    // Qt 6.4 says a box's value where Linux asks for its name: readers take the label's.
    const auto labels = part->relations(QAccessible::Label);
    said.name = labels.isEmpty() ? QString{} : labels.front().first->text(QAccessible::Name);
    return said;
  }
  /// Setup, verdict, a page or a tab in it: where a name must be enough to know a part.
  const QWidget* paneOf(const QWidget& widget) {
    for (const QWidget* w = &widget; w != nullptr; w = w->parentWidget()) {
      const QWidget* parent = w->parentWidget();
      if (w->objectName() == "setup" || w->objectName() == "verdict" || w->objectName() == "startPage")
        return w;
      if (parent != nullptr && parent->inherits("QStackedWidget") && parent->parentWidget() != nullptr &&
          parent->parentWidget()->inherits("QTabWidget"))
        return w;
    }
    return window_.get();
  }
  /// Everything that the window can show is there: two searches, a comparison, a report, a trace.
  void fill() {
    startWith("llama-3.2-1b", "8xH100");
    choose("recipe.sequence", "4096");
    choose("recipe.global_batch", "8");
    choose("recipe.tokens", "1T");
    press(Qt::Key_B, Qt::ControlModifier);
    press(Qt::Key_K, Qt::ControlModifier);
    choose("layout.tp", "2");
    choose("layout.pp", "2");
    for (QToolButton* more : window_->setup().findChildren<QToolButton*>()) {
      if (more->isCheckable()) more->setChecked(true);
    }
    window_->pages().setCurrentIndex(2);
    for (int i = 0; i < 2; ++i) {
      QSignalSpy found{&window_->search(), &SearchJob::found};
      QTest::mouseClick(find<QPushButton>("startSearch"), Qt::LeftButton);
      QVERIFY(found.wait(kPatience));
    }
    openFile(QStringLiteral(HEXAPLAN_SOURCE_DIR "/tests/golden/reports/validation_cpu.json"));
    drop({QUrl::fromLocalFile(
        written(folder_, "trace.json",
                exampleTrace(answer().scenario, answer().calibration->calibration, 0, 1, 1.5)))});
    QVERIFY(QTest::qWaitFor([&] { return window_->document().traces().size() == 1; }, kPatience));
  }

 private slots:
  void every_part_that_takes_the_keyboard_has_a_name_and_a_role() {
    fill();
    int parts = 0;
    QStringList problems;
    for (QWidget* widget : window_->findChildren<QWidget*>()) {
      if (!takesKeyboard(*widget)) continue;
      ++parts;
      const Heard said = heard(*widget);
      const QString what = widget->metaObject()->className() + (" " + widget->objectName());
      if (said.name.trimmed().isEmpty()) problems.append(what + " has no name");
      // Qt has no role for a frame that only scrolls.
      const bool scrolls = qobject_cast<QScrollArea*>(widget) != nullptr;
      if (said.role == QAccessible::NoRole || (said.role == QAccessible::Client && !scrolls))
        problems.append(what + " has no role");
    }
    QVERIFY2(problems.isEmpty(), qPrintable(problems.join('\n')));
    QVERIFY2(parts > 100, qPrintable(QString::number(parts)));
  }

  void no_two_parts_of_a_pane_have_the_same_name() {
    fill();
    QMap<QString, QStringList> seen;
    for (QWidget* widget : window_->findChildren<QWidget*>()) {
      if (!takesKeyboard(*widget)) continue;
      const Heard said = heard(*widget);
      const QString where = QString::number(reinterpret_cast<quintptr>(paneOf(*widget)), 16);
      seen[where + ": " + said.name].append(widget->metaObject()->className() + (" " + widget->objectName()));
    }
    QStringList problems;
    for (auto it = seen.cbegin(); it != seen.cend(); ++it) {
      if (it.value().size() > 1) problems.append(it.key() + " is " + it.value().join(", "));
    }
    QVERIFY2(problems.isEmpty(), qPrintable(problems.join('\n')));
  }

  void inputs_of_the_setup_say_their_value_and_what_it_is() {
    fill();
    QStringList problems;
    int values = 0;
    for (QWidget* widget : window_->setup().findChildren<QWidget*>()) {
      if (!takesKeyboard(*widget) || !widget->isVisible()) continue;
      const Heard said = heard(*widget);
      const auto* button = qobject_cast<QAbstractButton*>(widget);
      if (button != nullptr && !button->objectName().contains('.')) continue;
      if (said.description.isEmpty() && button == nullptr)
        problems.append(widget->objectName() + ": what is it?");
      QString shown;
      if (const auto* box = qobject_cast<QComboBox*>(widget)) shown = box->currentText();
      if (const auto* line = qobject_cast<QLineEdit*>(widget)) shown = line->text();
      if (const auto* slider = qobject_cast<QAbstractSlider*>(widget))
        shown = QString::number(slider->value());
      if (shown.isEmpty()) continue;
      ++values;
      if (said.value != shown)
        problems.append(QString{"%1 shows %2, says %3"}.arg(widget->objectName(), shown, said.value));
    }
    QVERIFY2(problems.isEmpty(), qPrintable(problems.join('\n')));
    QVERIFY2(values > 30, qPrintable(QString::number(values)));
  }

  void every_chart_is_said_in_words() {
    fill();
    int filled = 0;
    QStringList problems;
    for (PlotView* plot : window_->findChildren<PlotView*>()) {
      const Heard said = heard(*plot);
      if (said.role != QAccessible::Chart) problems.append(plot->objectName() + " is no chart");
      if (said.description != plot->spokenText())
        problems.append(plot->objectName() + " says something else");
      if (said.description.trimmed().isEmpty()) problems.append(plot->objectName() + " says nothing");
      if (plot->itemCount() == 0) continue;
      ++filled;
      // More than a title: numbers, as many as a reader needs.
      const auto digits = std::count_if(said.description.begin(), said.description.end(),
                                        [](QChar letter) { return letter.isDigit(); });
      if (digits < 3) problems.append(plot->objectName() + " has no numbers: " + said.description);
      for (int item = 0; item < std::min(plot->itemCount(), 20); ++item) {
        if (plot->describe(item).trimmed().isEmpty())
          problems.append(QString{"%1: item %2 has no words"}.arg(plot->objectName()).arg(item));
      }
    }
    QVERIFY2(problems.isEmpty(), qPrintable(problems.join('\n')));
    QVERIFY2(filled >= 6, qPrintable(QString::number(filled)));
  }

  void the_keyboard_goes_through_panes_one_after_the_other_and_down_the_setup() {
    fill();
    window_->pages().setCurrentIndex(0);
    QTest::qWait(50);
    std::vector<QWidget*> chain;
    QWidget* const first = find<QWidget>("model");
    QWidget* widget = first;
    do {
      if (takesKeyboard(*widget) && widget->isVisible() && widget->isEnabled() &&
          widget->focusProxy() == nullptr)
        chain.push_back(widget);
      widget = widget->nextInFocusChain();
    } while (widget != first && chain.size() < 1000);
    QStringList panes;
    int row = -1;
    for (QWidget* part : chain) {
      const bool setup = window_->setup().isAncestorOf(part);
      const QString pane = setup                                          ? "setup"
                           : find<QWidget>("verdict")->isAncestorOf(part) ? "verdict"
                           : window_->pages().isAncestorOf(part)          ? "page"
                                                                          : "window";
      if (panes.isEmpty() || panes.back() != pane) panes.append(pane);
      if (!setup) continue;
      QWidget* line = part;
      while (line->parentWidget() != nullptr && !line->objectName().startsWith("row:"))
        line = line->parentWidget();
      if (!line->objectName().startsWith("row:")) continue;
      const int y = line->mapTo(&window_->setup(), QPoint{}).y();
      QVERIFY2(y >= row, qPrintable(part->objectName() + " comes before what stands above it"));
      row = y;
    }
    panes.removeAll("window");
    // From the first field down; what stands above it in the setup comes last.
    if (panes.size() > 1 && panes.back() == "setup") panes.removeLast();
    QCOMPARE(panes, (QStringList{"setup", "verdict", "page"}));
  }

  void tab_and_back_tab_lead_to_the_same_place() {
    startWith("llama-3.2-1b", "8xH100");
    find<QWidget>("model")->setFocus();
    QStringList there;
    for (int i = 0; i < 12; ++i) {
      there.append(QApplication::focusWidget()->accessibleName());
      press(Qt::Key_Tab);
    }
    QStringList back;
    for (int i = 0; i < 12; ++i) {
      press(Qt::Key_Backtab, Qt::ShiftModifier);
      back.prepend(QApplication::focusWidget()->accessibleName());
    }
    QCOMPARE(back, there);
    QCOMPARE(QSet<QString>(there.begin(), there.end()).size(), there.size());
  }

  void the_badge_has_the_verdict_as_its_name() {
    startWith("llama-3.1-70b", "64xH100");
    for (const char* stages : {"1", "4", "8"}) {
      choose("layout.pp", stages);
      auto* badge = find<QLabel>("badge");
      const Heard said = heard(*badge);
      QCOMPARE(said.name, badge->text());
      QVERIFY(!said.name.isEmpty());
      if (!answer().fits()) QVERIFY2(!said.description.isEmpty(), "why");
    }
  }

  void every_entry_of_a_menu_has_words_and_no_two_share_a_key() {
    fill();
    QMap<QString, QString> keys;
    int entries = 0;
    for (const QAction* action : window_->findChildren<QAction*>()) {
      const QString own = action->objectName();
      if (action->isSeparator() || own.isEmpty() || own.startsWith("_q_")) continue;  // Qt's
      if (action->shortcutContext() != Qt::WindowShortcut) continue;                  // a table's own
      ++entries;
      QVERIFY2(!action->text().isEmpty(), qPrintable(action->objectName()));
      for (const QKeySequence& key : action->shortcuts()) {
        const QString name = key.toString();
        QVERIFY2(!keys.contains(name), qPrintable(name + ": " + action->text() + ", " + keys.value(name)));
        keys.insert(name, action->text());
      }
    }
    QVERIFY(entries > 30);
    for (const char* name :
         {"actionNew", "actionOpen", "actionSave", "actionSaveAs", "actionUndo", "actionQuit"})
      QVERIFY2(!find<QAction>(name)->shortcut().isEmpty(), name);
  }
};

}  // namespace hexaplan::gui

QTEST_MAIN(hexaplan::gui::AccessibilityTest)
#include "accessibility_test.moc"
