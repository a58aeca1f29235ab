#include "gui/plot/plot_view.h"

#include <QAccessible>
#include <QAccessibleWidget>
#include <QApplication>
#include <QClipboard>
#include <QContextMenuEvent>
#include <QFileDialog>
#include <QFontInfo>
#include <QHelpEvent>
#include <QImage>
#include <QMenu>
#include <QMessageBox>
#include <QPainter>
#include <QPdfWriter>
#include <QSaveFile>
#include <QSvgGenerator>
#include <QToolTip>
#include <QWhatsThis>
#include <algorithm>
#include <cmath>

namespace hexaplan::gui {
namespace {

/// Describes a chart when somebody asks, not whenever it changes.
class PlotAccessible : public QAccessibleWidget {
 public:
  explicit PlotAccessible(PlotView* view) : QAccessibleWidget(view, QAccessible::Chart) {}
  [[nodiscard]] QString text(QAccessible::Text what) const override {
    if (what != QAccessible::Description) return QAccessibleWidget::text(what);
    return static_cast<const PlotView*>(widget())->spokenText();
  }
};

QAccessibleInterface* plotInterface(const QString& /*key*/, QObject* object) {
  auto* view = qobject_cast<PlotView*>(object);
  return view != nullptr ? new PlotAccessible(view) : nullptr;
}

}  // namespace

PlotView::PlotView(QWidget* parent) : QWidget(parent), empty_text_(tr("Nothing to show yet")) {
  static const bool installed = [] {
    QAccessible::installFactory(plotInterface);
    return true;
  }();
  Q_UNUSED(installed);
  setMouseTracking(true);
  setFocusPolicy(Qt::StrongFocus);
  setAttribute(Qt::WA_OpaquePaintEvent);
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Expanding);
}

void PlotView::setByteUnit(ByteUnit unit) {
  byte_unit_ = unit;
  dataChanged();
}

void PlotView::setEmptyText(const QString& text) {
  if (text == empty_text_) return;
  empty_text_ = text;
  dataChanged();
}

void PlotView::setCurrentItem(int item) {
  if (item >= itemCount()) item = -1;
  if (item == current_) return;
  current_ = item;
  marksItemOnTop() ? update() : redraw();
  if (hasFocus() && item >= 0) {
    // A screen reader speaks the item that the keys reached.
    QAccessibleEvent spoken(this, QAccessible::DescriptionChanged);
    QAccessible::updateAccessibility(&spoken);
  }
  emit currentItemChanged(item);
}

void PlotView::dataChanged() {
  if (current_ >= itemCount()) setCurrentItem(-1);
  redraw();
}

void PlotView::redraw() {
  picture_ = {};
  update();
}

QString PlotView::spokenText() const {
  if (itemCount() == 0) return emptyText();
  return hasFocus() && current_ >= 0 ? describe(current_) : textAlternative();
}

QString PlotView::inOneLine(int item) const {
  return describe(item).replace(u'\n', QStringLiteral("; "));
}

QString PlotView::everyItem(const QString& opening) const {
  QStringList lines;
  if (!opening.isEmpty()) lines.append(opening);
  for (int i = 0; i < itemCount(); ++i) lines.append(inOneLine(i));
  return lines.join(u'\n');
}

QFont PlotView::plotFont(double scale) const {
  QFont out = font();
  out.setPixelSize(std::max(8, static_cast<int>(std::lround(QFontInfo(font()).pixelSize() * scale))));
  return out;
}

QFont PlotView::smallFont() const {
  return plotFont(0.9);
}

void PlotView::drawOnTop(QPainter& /*painter*/, const QSizeF& /*size*/, const PlotTheme& /*theme*/) const {}

void PlotView::paintTo(QPainter& painter, const QSizeF& size, const PlotTheme& theme) const {
  drawPicture(painter, size, theme);
  painter.save();
  painter.setFont(plotFont(1));
  if (itemCount() > 0) drawOnTop(painter, size, theme);
  painter.restore();
}

void PlotView::drawPicture(QPainter& painter, const QSizeF& size, const PlotTheme& theme) const {
  painter.save();
  painter.setFont(plotFont(1));
  painter.fillRect(QRectF(QPointF(), size), theme.background);
  painter.setRenderHint(QPainter::TextAntialiasing);
  if (itemCount() == 0) {
    painter.setPen(theme.faint);
    painter.drawText(QRectF(QPointF(), size).adjusted(12, 12, -12, -12), Qt::AlignCenter | Qt::TextWordWrap,
                     emptyText());
  } else {
    draw(painter, size, theme);
  }
  painter.restore();
}

void PlotView::paintEvent(QPaintEvent* /*event*/) {
  QPainter painter(this);
  const PlotTheme& theme = PlotTheme::suiting(palette());
  // Painted again for many reasons; drawn again only when something changed.
  const double ratio = devicePixelRatioF();
  const QSize pixels = (QSizeF(size()) * ratio).toSize();
  if (picture_.size() != pixels || picture_.devicePixelRatio() != ratio) {
    picture_ = QPixmap(pixels);
    picture_.setDevicePixelRatio(ratio);
    QPainter into(&picture_);
    drawPicture(into, size(), theme);
  }
  painter.drawPixmap(0, 0, picture_);
  painter.save();
  painter.setFont(plotFont(1));
  if (itemCount() > 0) drawOnTop(painter, size(), theme);
  painter.restore();
  if (!hasFocus()) return;
  painter.setPen(QPen(palette().color(QPalette::Highlight), 2));
  painter.setBrush(Qt::NoBrush);
  painter.drawRect(QRectF(rect()).adjusted(1, 1, -1, -1));
}

bool PlotView::exportTo(const QString& path, QString* problem) const {
  const PlotTheme& theme = PlotTheme::suiting(palette());
  const QString ending = path.section(u'.', -1).toLower();
  QSaveFile file(path);
  const auto fail = [&](const QString& why) {
    if (problem != nullptr) *problem = why;
    return false;
  };
  if (ending != "png" && ending != "svg" && ending != "pdf") {
    return fail(tr("%1: charts are written as .png, .svg or .pdf").arg(path));
  }
  if (!file.open(QIODevice::WriteOnly)) return fail(tr("%1: %2").arg(path, file.errorString()));
  QPainter painter;
  if (ending == "png") {
    constexpr double pixels_per_point = 2;  // sharp in print and on dense screens
    QImage image((QSizeF(size()) * pixels_per_point).toSize(), QImage::Format_ARGB32_Premultiplied);
    image.setDevicePixelRatio(pixels_per_point);
    painter.begin(&image);
    paintTo(painter, size(), theme);
    painter.end();
    image.save(&file, "PNG");
  } else if (ending == "svg") {
    QSvgGenerator svg;
    svg.setOutputDevice(&file);
    svg.setSize(size());
    svg.setViewBox(rect());
    svg.setTitle(accessibleName());
    svg.setDescription(textAlternative());
    painter.begin(&svg);
    paintTo(painter, size(), theme);
    painter.end();
  } else {
    QPdfWriter pdf(&file);
    pdf.setTitle(accessibleName());
    pdf.setPageSize(QPageSize(QSizeF(size()) * 0.75, QPageSize::Point));  // 96 pixels an inch
    pdf.setPageMargins(QMarginsF());
    painter.begin(&pdf);
    painter.scale(pdf.width() / static_cast<double>(width()), pdf.height() / static_cast<double>(height()));
    paintTo(painter, size(), theme);
    painter.end();
  }
  if (!file.commit()) return fail(tr("%1: %2").arg(path, file.errorString()));
  return true;
}

void PlotView::exportWithDialog() {
  const QString path =
      QFileDialog::getSaveFileName(this, tr("Export chart"), accessibleName() + QStringLiteral(".svg"),
                                   tr("Vector graphics (*.svg);;Image (*.png);;Document (*.pdf)"));
  if (path.isEmpty()) return;
  QString problem;
  if (!exportTo(path, &problem)) QMessageBox::warning(this, tr("Export chart"), problem);
}

void PlotView::fillMenu(QMenu& /*menu*/, const QPointF& /*place*/) {}

void PlotView::contextMenuEvent(QContextMenuEvent* event) {
  QMenu menu(this);
  fillMenu(menu, event->pos());
  menu.addAction(tr("&Export chart…"), this, &PlotView::exportWithDialog);
  menu.addAction(tr("Copy as &image"), this, [this] { QGuiApplication::clipboard()->setPixmap(grab()); });
  menu.addAction(tr("Copy as &text"), this,
                 [this] { QGuiApplication::clipboard()->setText(textAlternative()); });
  menu.exec(event->globalPos());
}

int PlotView::neighbour(int item, int key) const {
  const int last = itemCount() - 1;
  if (item < 0) return key == Qt::Key_Left || key == Qt::Key_Up ? last : 0;
  const int step = key == Qt::Key_Left || key == Qt::Key_Up ? -1 : 1;
  return std::clamp(item + step, 0, last);
}

void PlotView::keyPressEvent(QKeyEvent* event) {
  const int key = event->key();
  switch (key) {
    case Qt::Key_Left:
    case Qt::Key_Right:
    case Qt::Key_Up:
    case Qt::Key_Down:
      if (itemCount() == 0) break;
      setCurrentItem(neighbour(current_, key));
      showTipFor(current_);
      return;
    case Qt::Key_Home:
    case Qt::Key_End:
      if (itemCount() == 0) break;
      setCurrentItem(key == Qt::Key_Home ? 0 : itemCount() - 1);
      showTipFor(current_);
      return;
    case Qt::Key_Return:
    case Qt::Key_Enter:
    case Qt::Key_Space:
      if (current_ < 0) break;
      emit itemActivated(current_);
      return;
    case Qt::Key_Escape:
      if (current_ < 0) break;
      QToolTip::hideText();
      setCurrentItem(-1);
      return;
    case Qt::Key_Question:
      return QWhatsThis::showText(mapToGlobal(QPoint(width() / 2, 0)), whatsThis(), this);
    default:
      break;
  }
  QWidget::keyPressEvent(event);
}

void PlotView::showTipFor(int item) {
  if (item < 0) return QToolTip::hideText();
  const QRectF box = itemRect(item);
  QToolTip::showText(mapToGlobal(QPointF(box.center().x(), box.bottom() + 4)).toPoint(), describe(item),
                     this);
}

bool PlotView::event(QEvent* event) {
  if (event->type() == QEvent::ToolTip) {
    const auto* help = static_cast<QHelpEvent*>(event);
    const int item = itemCount() == 0 ? -1 : itemAt(help->pos());
    if (item < 0) {
      QToolTip::hideText();
    } else {
      QToolTip::showText(help->globalPos(), describe(item), this);
    }
    return true;
  }
  return QWidget::event(event);
}

void PlotView::mouseMoveEvent(QMouseEvent* event) {
  if (itemCount() == 0) return;
  const int before = current_;
  setCurrentItem(itemAt(event->position()));
  if (current_ == before) return;
  // Beside the mouse, and at once when it moves on to a neighbour.
  if (current_ < 0 || !QToolTip::isVisible()) return QToolTip::hideText();
  QToolTip::showText(event->globalPosition().toPoint(), describe(current_), this);
}

void PlotView::mouseReleaseEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton || itemCount() == 0) return;
  const int item = itemAt(event->position());
  if (item >= 0) emit itemActivated(item);
}

void PlotView::leaveEvent(QEvent* event) {
  if (!hasFocus()) setCurrentItem(-1);
  QWidget::leaveEvent(event);
}

void PlotView::changeEvent(QEvent* event) {
  if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange) redraw();
  if (event->type() == QEvent::LanguageChange || event->type() == QEvent::LocaleChange) dataChanged();
  QWidget::changeEvent(event);
}

}  // namespace hexaplan::gui
