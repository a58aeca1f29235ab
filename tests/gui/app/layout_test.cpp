// What stands on every page has room: no text is cut, nothing lies over something else, nothing hangs over an
// edge. On any machine, with any font: what is compared is structure, not pixels.
#include <QAbstractButton>
#include <QCheckBox>
#include <QComboBox>
#include <QImage>
#include <QLabel>
#include <QMap>
#include <QPushButton>
#include <QScrollArea>
#include <QScrollBar>
#include <QTabBar>
#include <QTabWidget>
#include <QToolBar>
#include <QToolButton>
#include <cmath>

#include "gui/plot/plot_view.h"
#include "gui/plot/timeline.h"
#include "tests/gui/app/window_fixture.h"

namespace hexaplan::gui {

class LayoutTest : public WindowFixture {
  Q_OBJECT

 private:
  static constexpr double kUsualPixels = 12;  // of letters

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
    const Look look{*this, language, letters * kUsualPixels};
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

  void on_a_small_screen_lanes_and_memory_can_be_read_under_a_banner_data() {
    QTest::addColumn<QString>("language");
    for (const char* language : {"en", "de"}) QTest::addRow("%s", language) << QString{language};
  }
  void on_a_small_screen_lanes_and_memory_can_be_read_under_a_banner() {
    QFETCH(QString, language);
    const Look look{*this, language, kUsualPixels};
    if (!look.isBuilt()) QSKIP("built without translations");
    window_.reset();
    open();
    window_->resize(1024, 700);
    startWith("llama-3.1-70b", "64xH100");
    choose("layout.tp", "8");
    // A question whose banner warns of memory, however memory is predicted: fewer stages hold more each.
    for (const char* stages : {"4", "2", "1"}) {
      choose("layout.pp", stages);
      if (answer().estimate.out_of_memory_probability > 0.05) break;
    }
    QVERIFY(answer().estimate.out_of_memory_probability > 0.05);
    window_->pages().setCurrentIndex(1);
    auto* timeline = find<Timeline>("timeline");
    QTRY_VERIFY_WITH_TIMEOUT(timeline->itemCount() > 0, kPatience);
    QTest::qWait(80);
    QTest::mouseClick(find<QPushButton>("criticalPath"), Qt::LeftButton);  // some lines of text more
    QTest::qWait(80);
    QCOMPARE(window_->size(), QSize(1024, 700));
    QRectF lanes;
    for (int lane = 0; !timeline->laneRect(lane).isEmpty(); ++lane) {
      lanes |= timeline->laneRect(lane);
      if (lane + 1 == timeline->laneCount()) break;
    }
    constexpr double kReadable = 100;  // pixels
    QVERIFY2(lanes.height() >= kReadable, qPrintable(QString::number(lanes.height())));
    QVERIFY(timeline->lanesBar().isHidden());  // all of them
    QVERIFY(find<PlotView>("timelineMemory")->height() >= kReadable);
    // What does not fit the page is scrolled to.
    auto* area = find<QScrollArea>("timeArea");
    area->ensureWidgetVisible(timeline, 0, 0);
    const QRect seen{timeline->mapTo(area->viewport(), QPoint{}), timeline->size()};
    QVERIFY2(
        area->viewport()->rect().contains(seen) || seen.height() > area->viewport()->height(),
        qPrintable(
            QString{"%1 to %2 of %3"}.arg(seen.top()).arg(seen.bottom()).arg(area->viewport()->height())));
    QVERIFY(seen.left() >= 0 && seen.right() <= area->viewport()->width());
  }

  void toolbar_and_pages_stay_where_they_are_while_values_change() {
    window_->resize(1280, 800);
    startWith("llama-3.1-8b", "64xH100");
    const auto places = [&] {
      QMap<QString, QPoint> found;
      for (QToolButton* button : window_->findChildren<QToolButton*>()) {
        if (button->isVisible() && qobject_cast<QToolBar*>(button->parentWidget()) != nullptr)
          found[nameOf(*button)] = button->mapTo(window_.get(), QPoint{});
      }
      found["pages"] = window_->pages().mapTo(window_.get(), QPoint{});
      return found;
    };
    const auto before = places();
    QVERIFY(before.size() > 5);
    const auto unmoved = [&](const char* after) {
      QTest::qWait(50);
      const auto now = places();
      for (auto it = before.begin(); it != before.end(); ++it)
        QVERIFY2(now.value(it.key()) == it.value(),
                 qPrintable(QString{"%1 moved after %2: %3, %4"}
                                .arg(it.key(), after)
                                .arg(now.value(it.key()).x() - it.value().x())
                                .arg(now.value(it.key()).y() - it.value().y())));
    };
    choose("layout.tp", "4");
    unmoved("tp 4");
    choose("layout.pp", "2");
    choose("layout.cp", "2");
    unmoved("a long text of what would be undone");
    choose("recipe.sequence", "32k");
    unmoved("another sequence");
    choose("recipe.global_batch", "512");
    unmoved("a batch that was said");
    window_->document().undoStack().undo();
    QVERIFY(answered());
    unmoved("undo");
    choose("recipe.sequence", "64k");
    QVERIFY(!answer().fits());
    unmoved("a verdict that it does not fit");
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
