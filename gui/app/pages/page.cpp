#include "gui/app/pages/page.h"

namespace hexaplan::gui {

Page::Page(ScenarioDocument& document, QWidget* parent) : QWidget{parent}, document_{document} {
  connect(&document_, &ScenarioDocument::evaluated, this, &Page::documentChanged);
  connect(&document_, &ScenarioDocument::baselineChanged, this, &Page::documentChanged);
  connect(&document_, &ScenarioDocument::pinsChanged, this, &Page::documentChanged);
}

void Page::documentChanged() {
  stale_ = !isVisible();
  if (!stale_) refresh();
}

void Page::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  if (!stale_) return;
  stale_ = false;
  refresh();
}

}  // namespace hexaplan::gui
