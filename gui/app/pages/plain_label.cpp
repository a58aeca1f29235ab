#include "gui/app/pages/plain_label.h"

#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QComboBox>
#include <QCoreApplication>
#include <QEvent>
#include <QLabel>
#include <QPainter>
#include <QResizeEvent>
#include <QScrollArea>
#include <QScrollBar>
#include <QStyle>
#include <algorithm>

namespace hexaplan::gui {

namespace {

class ElidingLabel : public QLabel {
 public:
  explicit ElidingLabel(QWidget* parent) : QLabel{parent} {}
  [[nodiscard]] QSize minimumSizeHint() const override {
    constexpr int kLetters = 6;
    return {kLetters * fontMetrics().averageCharWidth(), QLabel::minimumSizeHint().height()};
  }

 protected:
  void paintEvent(QPaintEvent* /*event*/) override {
    const QString shown = fontMetrics().elidedText(text(), Qt::ElideRight, width());
    QPainter painter{this};
    style()->drawItemText(&painter, contentsRect(), Qt::AlignLeft | Qt::AlignVCenter, palette(), isEnabled(),
                          shown, foregroundRole());
  }
  bool event(QEvent* event) override {
    if (event->type() == QEvent::ToolTip) {
      const bool whole = fontMetrics().horizontalAdvance(text()) <= width();
      setToolTip(whole ? QString{} : text().toHtmlEscaped());
    }
    return QLabel::event(event);
  }
};

class ScrolledText : public QScrollArea {
 public:
  explicit ScrolledText(QLabel* label) : QScrollArea{label->parentWidget()}, label_{label} {
    label->setWordWrap(true);
    label->setAlignment(Qt::AlignLeft | Qt::AlignTop);
    setWidgetResizable(true);
    setFrameShape(QFrame::NoFrame);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Maximum);
    setFocusPolicy(Qt::NoFocus);
    setWidget(label);
    label->setAutoFillBackground(false);
    viewport()->setAutoFillBackground(false);
  }
  [[nodiscard]] QSize sizeHint() const override {
    return {label_->sizeHint().width(), label_->heightForWidth(std::max(1, viewport()->width()))};
  }
  [[nodiscard]] QSize minimumSizeHint() const override {
    return {0, std::min(sizeHint().height(), fontMetrics().lineSpacing())};
  }

 protected:
  void resizeEvent(QResizeEvent* event) override {
    QScrollArea::resizeEvent(event);
    if (event->size().width() != event->oldSize().width()) updateGeometry();
    // The keyboard has something to do here only where there is more than is seen.
    setFocusPolicy(verticalScrollBar()->maximum() > 0 ? Qt::StrongFocus : Qt::NoFocus);
  }
  bool viewportEvent(QEvent* event) override {
    if (event->type() == QEvent::LayoutRequest) updateGeometry();  // another text
    return QScrollArea::viewportEvent(event);
  }

 private:
  QLabel* label_;
};

QLabel* namedLabel(QLabel* label, const char* name) {
  label->setObjectName(name);
  label->setTextFormat(Qt::PlainText);
  auto* copy = new QAction{QCoreApplication::translate("TableTools", "Copy"), label};
  QObject::connect(copy, &QAction::triggered, label,
                   [label] { QApplication::clipboard()->setText(label->text()); });
  label->addAction(copy);
  label->setContextMenuPolicy(Qt::ActionsContextMenu);
  return label;
}

}  // namespace

QLabel* plainLabel(QWidget* parent, const char* name) {
  return namedLabel(new QLabel{parent}, name);
}

QLabel* elidingLabel(QWidget* parent, const char* name) {
  return namedLabel(new ElidingLabel{parent}, name);
}

QWidget* scrolledText(QLabel* label, const QString& name) {
  auto* scrolled = new ScrolledText{label};
  scrolled->setAccessibleName(name);
  return scrolled;
}

void nameBox(QComboBox& box, const QString& name) {
  box.setAccessibleName(name);
  auto* label = new QLabel{name, box.parentWidget()};
  label->setBuddy(&box);
  label->hide();
}

}  // namespace hexaplan::gui
