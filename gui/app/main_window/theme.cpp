#include "gui/app/main_window/theme.h"

#include <QApplication>
#include <QPainter>
#include <QPalette>
#include <QProxyStyle>
#include <QStyleFactory>
#include <QStyleOption>
#include <QToolTip>

#include "gui/plot/plot_theme.h"

namespace hexaplan::gui {
namespace {

Theme& themeInUse() {
  static Theme theme = Theme::Light;
  return theme;
}

struct Colors {
  const char *window, *base, *alternate, *button, *text, *faint, *highlight, *highlighted, *link, *disabled,
      *tip;
};
constexpr Colors kLight{"#f4f5f7", "#ffffff", "#f0f2f5", "#eceef1", "#1b1f24", "#656d76",
                        "#1f6feb", "#ffffff", "#0a58ca", "#9aa1a9", "#ffffff"};
constexpr Colors kDark{"#1c1f24", "#14171a", "#1f2328", "#2a2e34", "#e6e8eb", "#9aa3ad",
                       "#2f81f7", "#ffffff", "#79b8ff", "#6b737c", "#2a2e34"};
// Black and white: letters of 21 : 1, what is faint or disabled still of 7 : 1 (WCAG 2.1, success criterion
// 1.4.6). PlotTheme::suiting tells them by their ground.
constexpr Colors kLightContrast{"#ffffff", "#ffffff", "#ffffff", "#ffffff", "#000000", "#333333",
                                "#003d99", "#ffffff", "#003d99", "#595959", "#ffffff"};
constexpr Colors kDarkContrast{"#000000", "#000000", "#000000", "#000000", "#ffffff", "#d9d9d9",
                               "#ffe14d", "#000000", "#9fd0ff", "#a6a6a6", "#000000"};

const Colors& colorsOf(Theme theme) {
  switch (theme) {
    case Theme::Dark:
      return kDark;
    case Theme::LightContrast:
      return kLightContrast;
    case Theme::DarkContrast:
      return kDarkContrast;
    case Theme::Light:
      break;
  }
  return kLight;
}

QPalette paletteOf(const Colors& c) {
  QPalette palette;
  const auto set = [&](QPalette::ColorRole role, const char* color) {
    palette.setColor(role, QColor{color});
  };
  set(QPalette::Window, c.window);
  set(QPalette::Base, c.base);
  set(QPalette::AlternateBase, c.alternate);
  set(QPalette::Button, c.button);
  for (const auto role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText, QPalette::ToolTipText})
    set(role, c.text);
  set(QPalette::BrightText, "#ff5555");
  set(QPalette::PlaceholderText, c.faint);
  set(QPalette::Highlight, c.highlight);
  set(QPalette::HighlightedText, c.highlighted);
  set(QPalette::Link, c.link);
  set(QPalette::LinkVisited, c.link);
  set(QPalette::ToolTipBase, c.tip);
  for (const auto role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText})
    palette.setColor(QPalette::Disabled, role, QColor{c.disabled});
  palette.setColor(QPalette::Disabled, QPalette::Highlight, QColor{c.disabled});
  return palette;
}

/// Fusion outlines check boxes and text boxes in a darker shade of the window's colour: on a dark window
/// nobody sees an empty one. In high contrast, buttons have an outline, too: their grounds are the window's.
class OutlinedFusion : public QProxyStyle {
 public:
  OutlinedFusion() : QProxyStyle{QStyleFactory::create("Fusion")} {}
  void drawPrimitive(PrimitiveElement element, const QStyleOption* option, QPainter* painter,
                     const QWidget* widget) const override {
    QProxyStyle::drawPrimitive(element, option, painter, widget);
    const bool check_box = element == PE_IndicatorCheckBox && themeInUse() != Theme::Light;
    const bool box =
        isHighContrast(themeInUse()) && (element == PE_PanelButtonCommand || element == PE_FrameLineEdit ||
                                         element == PE_PanelButtonTool || element == PE_FrameFocusRect);
    // A focused one has an outline of its own.
    const bool text_box =
        element == PE_FrameLineEdit && themeInUse() == Theme::Dark && !option->state.testFlag(State_HasFocus);
    if (!check_box && !box && !text_box) return;
    painter->save();
    painter->setPen(text_box ? option->palette.color(QPalette::Disabled, QPalette::Text)
                             : option->palette.color(box ? QPalette::WindowText : QPalette::PlaceholderText));
    painter->setBrush(Qt::NoBrush);
    painter->drawRect(QRectF{option->rect}.adjusted(0.5, 0.5, -0.5, -0.5));
    painter->restore();
  }
};

}  // namespace

void applyTheme(Theme theme) {
  themeInUse() = theme;
  QApplication::setStyle(new OutlinedFusion);
  const QPalette palette = paletteOf(colorsOf(theme));
  QApplication::setPalette(palette);
  QToolTip::setPalette(palette);
}

Theme currentTheme() {
  return themeInUse();
}

}  // namespace hexaplan::gui
