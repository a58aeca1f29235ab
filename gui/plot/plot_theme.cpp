#include "gui/plot/plot_theme.h"

#include <QPalette>
#include <algorithm>
#include <cstdint>

#include "charts/colour_scale.h"
#include "charts/span_style.h"

namespace hexaplan::gui {
namespace {

struct InkRow {
  Ink ink;
  QRgb light, dark;
  Pattern pattern;
};
// Hues of Okabe and Ito (jfly.uni-koeln.de/color, 2008) with a violet and a brown beside them, lightened for
// the dark theme. Communication is always orange or brown and hatched; red is left to what does not fit.
constexpr QRgb kBlue = 0xff0072b2, kBlueDark = 0xff3f9fdc;
constexpr QRgb kSky = 0xff56b4e9, kSkyDark = 0xff8fd0f5;
constexpr QRgb kGreen = 0xff009e73, kGreenDark = 0xff33c29a;
constexpr QRgb kOrange = 0xffe69f00, kOrangeDark = 0xfff0b43c;
constexpr QRgb kYellow = 0xfff0e442, kYellowDark = 0xfff5ec7a;
constexpr QRgb kPink = 0xffcc79a7, kPinkDark = 0xffdd9abf;
constexpr QRgb kViolet = 0xff5e4fa2, kVioletDark = 0xff9b8fd9;
constexpr QRgb kBrown = 0xff8c510a, kBrownDark = 0xffc98b45;
constexpr QRgb kGrey = 0xff8a8a8a, kGreyDark = 0xff9a9a9a;
constexpr QRgb kPale = 0xffdedede, kPaleDark = 0xff454a52;
/// What spans have in the pictures of the command and the page, too.
QRgb ofSpans(costmodel::SpanKind kind) {
  const std::string_view fill = charts::style_of(kind).fill;
  return QColor(QString::fromLatin1(fill.data(), static_cast<qsizetype>(fill.size()))).rgb();
}

const std::array<InkRow, kInks>& inkRows() {
  using costmodel::SpanKind;
  static const std::array<InkRow, kInks> rows{{
      {Ink::Parameters, kBlue, kBlueDark, Pattern::Solid},
      {Ink::Gradients, kSky, kSkyDark, Pattern::Rising},
      {Ink::OptimizerState, kGreen, kGreenDark, Pattern::Solid},
      {Ink::Activations, kOrange, kOrangeDark, Pattern::Solid},
      {Ink::Logits, kYellow, kYellowDark, Pattern::Falling},
      {Ink::Transient, kPink, kPinkDark, Pattern::Solid},
      {Ink::CommunicationBuffers, kBrown, kBrownDark, Pattern::Crossed},
      {Ink::Overhead, kGrey, kGreyDark, Pattern::Horizontal},
      {Ink::Cached, kPale, kPaleDark, Pattern::Vertical},
      {Ink::Gemm, kBlue, kBlueDark, Pattern::Solid},
      {Ink::Attention, kSky, kSkyDark, Pattern::Solid},
      {Ink::MemoryBound, kGreen, kGreenDark, Pattern::Solid},
      {Ink::Recompute, ofSpans(SpanKind::Recompute), kPinkDark, Pattern::Rising},
      {Ink::Launch, kYellow, kYellowDark, Pattern::Falling},
      {Ink::TensorParallel, kOrange, kOrangeDark, Pattern::Rising},
      {Ink::ContextParallel, kOrange, kOrangeDark, Pattern::Vertical},
      {Ink::ExpertParallel, kOrange, kOrangeDark, Pattern::Crossed},
      {Ink::PipelineMessages, kBrown, kBrownDark, Pattern::Horizontal},
      {Ink::Bubble, kPale, kPaleDark, Pattern::Falling},
      {Ink::DataParallel, kBrown, kBrownDark, Pattern::Rising},
      {Ink::OptimizerStep, ofSpans(SpanKind::Optimizer), kVioletDark, Pattern::Vertical},
      {Ink::Host, ofSpans(SpanKind::Host), kGreyDark, Pattern::Horizontal},
      {Ink::Forward, ofSpans(SpanKind::Forward), kSkyDark, Pattern::Solid},
      {Ink::Backward, ofSpans(SpanKind::Backward), kBlueDark, Pattern::Solid},
      {Ink::BackwardInput, ofSpans(SpanKind::BackwardInput), kBlueDark, Pattern::Solid},
      {Ink::BackwardWeight, ofSpans(SpanKind::BackwardWeight), kGreenDark, Pattern::Solid},
      {Ink::OuterGradients, ofSpans(SpanKind::OuterReduce), kBrownDark, Pattern::Crossed},
      {Ink::HiddenCommunication, kYellow, kYellowDark, Pattern::Solid},
      {Ink::ExposedCommunication, kOrange, kOrangeDark, Pattern::Rising},
      {Ink::AsPredicted, kPale, kPaleDark, Pattern::Solid},
      {Ink::Slower, kPink, kPinkDark, Pattern::Rising},
      {Ink::Faster, kViolet, kVioletDark, Pattern::Falling},
      {Ink::NotPredicted, kGrey, kGreyDark, Pattern::Horizontal},
  }};
  return rows;
}

std::array<Fill, kInks> inksOf(bool dark) {
  std::array<Fill, kInks> out;
  for (const InkRow& row : inkRows()) {
    const QColor color = QColor::fromRgb(dark ? row.dark : row.light);
    const QColor line = color.lightnessF() > 0.3F ? color.darker(dark ? 165 : 140) : color.lighter(170);
    out[static_cast<std::size_t>(row.ink)] = {color, line, row.pattern};
  }
  return out;
}

QColor colorOf(charts::Colour colour) {
  return {colour.red, colour.green, colour.blue};
}

}  // namespace

QColor Fill::text() const {
  return colorOf(
      charts::writing_on({static_cast<std::uint8_t>(color.red()), static_cast<std::uint8_t>(color.green()),
                          static_cast<std::uint8_t>(color.blue())}));
}

QColor PlotTheme::sequential(double position) {
  return colorOf(charts::sequential_colour(position));
}

const PlotTheme& PlotTheme::lightTheme() {
  static const PlotTheme theme{.dark = false,
                               .background = QColor(0xff, 0xff, 0xff),
                               .text = QColor(0x1c, 0x1f, 0x24),
                               .faint = QColor(0x5a, 0x60, 0x6b),
                               .axis = QColor(0x8a, 0x90, 0x9a),
                               .grid = QColor(0xe6, 0xe8, 0xec),
                               .danger = QColor(0xc6, 0x1a, 0x27),
                               .alarm = QColor(0xb4, 0x23, 0x18),
                               .limit = QColor(0x1c, 0x1f, 0x24),
                               .baseline = QColor(0x3c, 0x42, 0x4d),
                               .focus = QColor(0x1c, 0x1f, 0x24),
                               .inks = inksOf(false)};
  return theme;
}

const PlotTheme& PlotTheme::darkTheme() {
  static const PlotTheme theme{.dark = true,
                               .background = QColor(0x1e, 0x21, 0x26),
                               .text = QColor(0xe8, 0xea, 0xee),
                               .faint = QColor(0xa6, 0xad, 0xb8),
                               .axis = QColor(0x72, 0x79, 0x85),
                               .grid = QColor(0x32, 0x37, 0x3f),
                               .danger = QColor(0xff, 0x6b, 0x70),
                               .alarm = QColor(0xc9, 0x3c, 0x37),
                               .limit = QColor(0xe8, 0xea, 0xee),
                               .baseline = QColor(0xc8, 0xce, 0xd8),
                               .focus = QColor(0xff, 0xff, 0xff),
                               .inks = inksOf(true)};
  return theme;
}

const PlotTheme& PlotTheme::highContrast(bool dark) {
  const auto made = [](const PlotTheme& usual, const QColor& ground, const QColor& ink,
                       const QColor& alarming) {
    PlotTheme theme = usual;
    theme.high_contrast = true;
    theme.background = ground;
    for (QColor* line : {&theme.text, &theme.faint, &theme.axis, &theme.limit, &theme.baseline, &theme.focus})
      *line = ink;
    theme.grid = QColor(0x80, 0x80, 0x80);
    theme.danger = alarming;
    theme.alarm = QColor(0x99, 0x00, 0x00);
    return theme;
  };
  static const PlotTheme light = made(lightTheme(), Qt::white, Qt::black, QColor(0x99, 0x00, 0x00));
  static const PlotTheme black = made(darkTheme(), Qt::black, Qt::white, QColor(0xff, 0x8a, 0x8f));
  return dark ? black : light;
}

const PlotTheme& PlotTheme::suiting(const QPalette& palette) {
  const QColor ground = palette.color(QPalette::Window);
  if (ground == QColor{Qt::black} || ground == QColor{Qt::white})
    return highContrast(ground == QColor{Qt::black});
  return palette.color(QPalette::Window).lightness() < 128 ? darkTheme() : lightTheme();
}

}  // namespace hexaplan::gui
