#include "gui/app/main_window/message_bar.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QToolButton>
#include <utility>

#include "gui/plot/plot_theme.h"

namespace hexaplan::gui {

MessageBar::MessageBar(QWidget* parent) : QWidget{parent} {
  line_ = new QHBoxLayout{this};
  line_->setContentsMargins(12, 6, 8, 6);
  text_ = new QLabel{this};
  text_->setObjectName("message");
  text_->setTextFormat(Qt::PlainText);
  text_->setWordWrap(true);
  text_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  auto* dismiss = new QToolButton{this};
  dismiss->setText(tr("Dismiss"));
  connect(dismiss, &QToolButton::clicked, this, &QWidget::hide);
  line_->addWidget(text_, 1);
  line_->addWidget(dismiss);
  hide();
}

void MessageBar::say(const QString& text, bool problem, std::vector<Offer> offers, Stale stale) {
  text_->setText(text);
  stale_ = std::move(stale);
  problem_ = problem;
  for (QPushButton* button : offers_) {
    button->hide();
    button->setObjectName({});
    button->deleteLater();  // one of them may have been clicked for this
  }
  offers_.clear();
  for (Offer& offer : offers) {
    auto* button = new QPushButton{offer.text, this};
    button->setObjectName(QString{"offer.%1"}.arg(offers_.size()));
    connect(button, &QPushButton::clicked, this, [this, run = std::move(offer.run)] {
      hide();
      run();
    });
    line_->insertWidget(1 + static_cast<int>(offers_.size()), button);
    offers_.push_back(button);
  }
  QPalette colors = parentWidget() != nullptr ? parentWidget()->palette() : palette();
  const PlotTheme& theme = PlotTheme::suiting(colors);  // the bar's own palette is that of its last message
  colors.setColor(QPalette::Window, problem ? theme.alarm : QColor{theme.dark ? "#1f3a5f" : "#dbe9fb"});
  colors.setColor(QPalette::WindowText, problem ? QColor{Qt::white} : theme.text);
  setAutoFillBackground(true);
  setPalette(colors);
  show();
}

void MessageBar::questionChanged() {
  if (!stale_ || stale_()) hide();
}

void MessageBar::pageChanged() {
  if (!stale_ && !problem_) hide();
}

QString MessageBar::text() const {
  return isHidden() ? QString{} : text_->text();
}

}  // namespace hexaplan::gui
