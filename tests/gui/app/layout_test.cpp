// What stands on every page has room: no text is cut, nothing lies over something else, nothing hangs over an
// edge. On any machine, with any font: what is compared is structure, not pixels.
#include <QAbstractButton>
#include <QCheckBox>
#include <QComboBox>
#include <QImage>
#include <QLabel>
#include <QPushButton>
#include <QScrollArea>
#include <QTabBar>
#include <QTabWidget>
#include <QToolBar>
#include <QToolButton>
#include <cmath>

#include "gui/plot/plot_view.h"
#include "tests/gui/app/window_fixture.h"

namespace hexaplan::gui {

class LayoutTest : public WindowFixture {
  Q_OBJECT

 private:
  static QString nameOf(const QWidget& widget) {
    QString text = widget.objectName();
    if (const auto* label = qobject_cast<const QLabel*>(&widget))
      text += " \"" + label->text().left(60) + '"';
    if (const auto* button = qobject_cast<const QAbstractButton*>(&widget))
      text += " \"" + button->text() + '"';
    return QString{"%1 %2"}.arg(widget.metaObject()->className(), text);
  }
  /// Text that its own words say is cut, and whose tool-tip has the rest.
  static bool maybeCut(const QLabel& label) {
    return label.minimumSizeHint().width() < label.sizeHint().width() || label.toolTip() == label.text();
  }
  static QString problemOf(const QLabel& label) {
    if (label.text().isEmpty() || !label.pixmap(Qt::ReturnByValue).isNull()) return {};
    if (label.wordWrap()) {
      const int needed = label.heightForWidth(label.width());
      return needed > label.height() + 1
                 ? QString{"needs %1 px of height, has %2"}.arg(needed).arg(label.height())
                 : QString{};
    }
    const int needed = label.sizeHint().width();
    if (needed <= label.width() + 1 || maybeCut(label)) return {};
    return QString{"needs %1 px of width, has %2"}.arg(needed).arg(label.width());
  }
  static QString problemOf(const QAbstractButton& button) {
    if (button.text().isEmpty() || qobject_cast<const QTabBar*>(button.parentWidget()) != nullptr) return {};
    // A style asks for more around a text than the text needs.
    const bool bare = qobject_cast<const QToolButton*>(&button) != nullptr && button.icon().isNull();
    const int needed =
        bare ? button.fontMetrics().horizontalAdvance(button.text()) : button.minimumSizeHint().width();
    if (needed <= button.width() + 1) return {};
    return QString{"needs %1 px of width, has %2"}.arg(needed).arg(button.width());
  }
  /// Inside its parent, unless that scrolls.
  static QString placeProblem(const QWidget& widget) {
    const QWidget* parent = widget.parentWidget();
    if (parent == nullptr || widget.isWindow() || parent->objectName() == "qt_scrollarea_viewport") return {};
    if (parent->rect().contains(widget.geometry()) || widget.width() == 0 || widget.height() == 0) return {};
    return "hangs over the edge of " + nameOf(*parent);
  }
  static bool counts(const QWidget& widget) {
    for (const QWidget* w = &widget; w != nullptr; w = w->parentWidget()) {
      if (w->objectName().startsWith("qt_") && w->objectName() != "qt_scrollarea_viewport" &&
          !w->objectName().startsWith("qt_tabwidget_stackedwidget"))
        return false;  // Qt's own parts
      if (w->inherits("QAbstractItemView") || w->inherits("QHeaderView") || w->inherits("QSplitterHandle") ||
          w->inherits("QScrollBar"))
        return false;
    }
    return true;
  }
  QStringList problems() {
    QStringList found;
    for (QWidget* widget : window_->findChildren<QWidget*>()) {
      if (!widget->isVisible() || !counts(*widget)) continue;
      QString problem = placeProblem(*widget);
      if (const auto* label = qobject_cast<QLabel*>(widget); label != nullptr && problem.isEmpty())
        problem = problemOf(*label);
      if (const auto* button = qobject_cast<QAbstractButton*>(widget); button != nullptr && problem.isEmpty())
        problem = problemOf(*button);
      if (!problem.isEmpty()) found.append(nameOf(*widget) + ' ' + problem);
      found += overlaps(*widget);
    }
    return found;
  }
  /// Children that lie over each other.
  static QStringList overlaps(const QWidget& parent) {
    QStringList found;
    const auto children = parent.findChildren<QWidget*>(Qt::FindDirectChildrenOnly);
    for (qsizetype i = 0; i < children.size(); ++i) {
      for (qsizetype k = i + 1; k < children.size(); ++k) {
        const QWidget &a = *children[i], &b = *children[k];
        if (!a.isVisible() || !b.isVisible() || a.isWindow() || b.isWindow() || !counts(a) || !counts(b))
          continue;
        if (a.inherits("QRubberBand") || a.inherits("QTabBar") || b.inherits("QTabBar")) continue;
        const QRect common = a.geometry() & b.geometry();
        if (common.width() > 1 && common.height() > 1) found.append(nameOf(a) + " lies over " + nameOf(b));
      }
    }
    return found;
  }
  /// Something other than one colour.
  static bool isPainted(QWidget& widget) {
    const QImage picture = widget.grab().toImage();
    for (int y = 0; y < picture.height(); y += 3) {
      for (int x = 0; x < picture.width(); x += 3) {
        if (picture.pixel(x, y) != picture.pixel(0, 0)) return true;
      }
    }
    return false;
  }
  void search() {
    QSignalSpy found{&window_->search(), &SearchJob::found};
    window_->pages().setCurrentIndex(2);
    QTest::mouseClick(find<QPushButton>("startSearch"), Qt::LeftButton);
    QVERIFY(found.wait(kPatience));
  }

 private slots:
  void every_page_has_room_for_what_it_says_data() {
    QTest::addColumn<QString>("language");
    QTest::addColumn<double>("letters");
    QTest::addColumn<bool>("fits");
    for (const char* language : {"en", "de"}) {
      for (const double letters : {1.0, 1.5}) {
        for (const bool fits : {true, false})
          QTest::addRow("%s, %.0f %%, %s", language, 100 * letters, fits ? "fits" : "does not fit")
              << QString{language} << letters << fits;
      }
    }
  }
  void every_page_has_room_for_what_it_says() {
    QFETCH(QString, language);
    QFETCH(double, letters);
    QFETCH(bool, fits);
    constexpr double kPixels = 12;  // of usual letters
    const Look look{*this, language, letters * kPixels};
    if (!look.isBuilt()) QSKIP("built without translations");
    window_.reset();
    open();
    window_->resize(1024, 700);
    startWith("llama-3.1-8b", fits ? "64xH100" : "2xH100");
    press(Qt::Key_B, Qt::ControlModifier);
    if (fits) choose("layout.tp", "2");
    search();
    search();
    openFile(QStringLiteral(HEXAPLAN_SOURCE_DIR "/tests/golden/reports/validation_cpu.json"));
    QStringList found;
    for (int page = 0; page < window_->pages().count(); ++page) {
      window_->pages().setCurrentIndex(page);
      window_->resize(1024, 700);
      QTest::qWait(80);
      const auto inner = window_->pages().currentWidget()->findChildren<QTabWidget*>();
      for (int tab = 0; tab < (inner.isEmpty() ? 1 : inner.front()->count()); ++tab) {
        if (!inner.isEmpty()) inner.front()->setCurrentIndex(tab);
        QTest::qWait(20);
        for (const QString& problem : problems()) {
          const QString line = window_->pages().currentWidget()->objectName() + ": " + problem;
          if (!found.contains(line)) found.append(line);
        }
        QVERIFY(isPainted(*window_));
        for (PlotView* plot : window_->pages().currentWidget()->findChildren<PlotView*>()) {
          if (plot->isVisible() && plot->width() > 8 && plot->height() > 8)
            QVERIFY2(isPainted(*plot), qPrintable(plot->objectName()));
        }
      }
    }
    for (const QString& problem : found) qWarning("%s", qPrintable(problem));
    QVERIFY2(found.isEmpty(), "see the warnings");
  }

  void a_message_with_offers_has_room() {
    window_->resize(1024, 700);
    openFile(written(folder_, "train.sh",
                     "torchrun --nnodes 8 --nproc-per-node 8 pretrain_gpt.py --num-layers 32\n"));
    const QStringList found = problems();
    QVERIFY2(found.isEmpty(), qPrintable(found.join('\n')));
  }
};

}  // namespace hexaplan::gui

QTEST_MAIN(hexaplan::gui::LayoutTest)
#include "layout_test.moc"
