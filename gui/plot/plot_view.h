#pragma once
#include <QPixmap>
#include <QString>
#include <QWidget>

#include "gui/models/number_text.h"
#include "gui/plot/plot_theme.h"

class QMenu;

namespace hexaplan::gui {

/// A chart: what all of them share. Follows the widget's palette (light or dark), has one current item that
/// mouse and arrow keys move, a tool-tip for each item, a text alternative for those who do not see it, and
/// exports itself as PNG, SVG or PDF.
///
/// Keys: arrows go from item to item, Home and End to the first and last, Enter and Space activate, Escape
/// leaves, a question mark says what a chart shows and its keys. Each chart adds its own and names them in
/// its `whatsThis`.
class PlotView : public QWidget {
  Q_OBJECT
 public:
  explicit PlotView(QWidget* parent = nullptr);

  /// The chart in words: what it shows and every number that a reader needs.
  [[nodiscard]] virtual QString textAlternative() const = 0;
  /// Number of items, and of each the words of its tool-tip.
  [[nodiscard]] virtual int itemCount() const = 0;
  [[nodiscard]] virtual QString describe(int item) const = 0;

  /// What a screen reader says: the current item under keyboard focus, else the whole chart.
  [[nodiscard]] QString spokenText() const;

  void setByteUnit(ByteUnit unit);
  [[nodiscard]] ByteUnit byteUnit() const { return byte_unit_; }
  /// Shown instead of an empty chart: what to do to fill it.
  void setEmptyText(const QString& text);

  /// The item under the mouse or reached by keys; -1: none.
  [[nodiscard]] int currentItem() const { return current_; }
  void setCurrentItem(int item);

  /// Paints the chart at any size, on any device.
  void paintTo(QPainter& painter, const QSizeF& size, const PlotTheme& theme) const;
  /// Writes the chart as it stands; ".png", ".svg" or ".pdf" decides the format. False with `problem` filled
  /// when the file cannot be written or the ending is another.
  [[nodiscard]] bool exportTo(const QString& path, QString* problem = nullptr) const;
  /// Asks for a name, then exportTo; says what went wrong.
  void exportWithDialog();

  [[nodiscard]] QSize sizeHint() const override { return {640, 320}; }
  [[nodiscard]] QSize minimumSizeHint() const override { return {240, 100}; }

 signals:
  void currentItemChanged(int item);
  /// Clicked, or Enter pressed.
  void itemActivated(int item);

 protected:
  /// Everything but what drawOnTop adds. On the screen the picture is kept until `redraw`.
  virtual void draw(QPainter& painter, const QSizeF& size, const PlotTheme& theme) const = 0;
  /// Cursor and marks that follow the mouse: drawn over the picture each time.
  virtual void drawOnTop(QPainter& painter, const QSizeF& size, const PlotTheme& theme) const;
  /// Whether drawOnTop, not draw, marks the current item.
  [[nodiscard]] virtual bool marksItemOnTop() const { return false; }
  /// Item at a point of the widget, or -1.
  [[nodiscard]] virtual int itemAt(const QPointF& point) const = 0;
  /// Where the item lies: for the focus frame and keyboard tool-tips.
  [[nodiscard]] virtual QRectF itemRect(int item) const = 0;
  /// The item that `key` (an arrow) leads to.
  [[nodiscard]] virtual int neighbour(int item, int key) const;

  /// An item's words without line breaks.
  [[nodiscard]] QString inOneLine(int item) const;
  /// `opening`, where there is one, and every item in a line of its own: the text alternative of most charts.
  [[nodiscard]] QString everyItem(const QString& opening = {}) const;

  /// To be called after the data changed.
  void dataChanged();
  /// To be called when what `draw` draws changed.
  void redraw();
  [[nodiscard]] QString bytesOf(costmodel::Bytes bytes) const { return bytesText(bytes, byte_unit_); }
  [[nodiscard]] QFont smallFont() const;

  void paintEvent(QPaintEvent* event) override;
  bool event(QEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void leaveEvent(QEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void changeEvent(QEvent* event) override;
  void contextMenuEvent(QContextMenuEvent* event) override;
  /// Adds to the menu of a place in the chart what can be done there.
  virtual void fillMenu(QMenu& menu, const QPointF& place);
  /// Instead of an empty chart.
  [[nodiscard]] virtual QString emptyText() const { return empty_text_; }

 private:
  /// The widget's font measured in pixels: it scales with the painter, whatever resolution a printer or PDF
  /// has.
  [[nodiscard]] QFont plotFont(double scale) const;
  void showTipFor(int item);
  void drawPicture(QPainter& painter, const QSizeF& size, const PlotTheme& theme) const;

  QPixmap picture_;  // null: to be drawn
  ByteUnit byte_unit_ = shownByteUnit();
  QString empty_text_;
  int current_ = -1;
};

}  // namespace hexaplan::gui
