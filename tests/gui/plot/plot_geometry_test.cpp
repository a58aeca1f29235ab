#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <QFontMetricsF>
#include <QGuiApplication>
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <random>
#include <string>
#include <utility>

#include "charts/span_style.h"
#include "gui/plot/fill_rect.h"
#include "gui/plot/legend.h"
#include "gui/plot/scale.h"
#include "gui/plot/stage_memory_geometry.h"
#include "gui/plot/ticks.h"
#include "gui/plot/timeline_geometry.h"
#include "gui/plot/treemap_geometry.h"
#include "tests/gui/support/example_views.h"

namespace hexaplan::gui {
namespace {

using testing::ElementsAre;

constexpr double kGiB = 1073741824.0;

std::vector<std::string> labels(const AxisTicks& axis) {
  std::vector<std::string> out;
  for (const Tick& tick : axis.ticks) out.push_back(tick.label.toStdString());
  return out;
}

TEST(scale, pixels_lead_back_to_their_values) {
  for (const Scale& scale :
       {Scale(ScaleKind::Linear, -3, 17, 400, 20), Scale(ScaleKind::Log, 0.01, 1e4, 0, 300)}) {
    for (const double value : {scale.low(), std::sqrt(std::abs(scale.low() * scale.high())), scale.high()}) {
      EXPECT_NEAR(scale.fromPixel(scale.toPixel(value)), value, 1e-9 * std::abs(scale.high()));
    }
  }
}

TEST(ticks, bytes_are_counted_in_the_unit_that_suits_the_axis) {
  const AxisTicks binary = placeTicks({ScaleKind::Linear, 0, 90 * kGiB, 300, 0}, AxisUnit::BinaryBytes, 50);
  EXPECT_EQ(binary.unit, "GiB");
  EXPECT_THAT(labels(binary), ElementsAre("0", "20", "40", "60", "80"));
  EXPECT_DOUBLE_EQ(binary.ticks[1].value, 20 * kGiB);
  const AxisTicks decimal = placeTicks({ScaleKind::Linear, 0, 90e9, 300, 0}, AxisUnit::DecimalBytes, 50);
  EXPECT_EQ(decimal.unit, "GB");
  EXPECT_DOUBLE_EQ(decimal.ticks.back().value, 80e9);
  const AxisTicks small =
      placeTicks({ScaleKind::Linear, 0, 700 * 1048576.0, 300, 0}, AxisUnit::BinaryBytes, 50);
  EXPECT_EQ(small.unit, "MiB");
  EXPECT_THAT(labels(small), ElementsAre("0", "128", "256", "384", "512", "640"));
}

TEST(ticks, seconds_go_from_microseconds_to_days) {
  struct Case {
    double high;
    const char* unit;
  };
  for (const Case& c :
       {Case{4e-5, "µs"}, Case{0.25, "ms"}, Case{90, "s"}, Case{3000, "min"}, Case{1e6, "d"}}) {
    EXPECT_EQ(placeTicks({ScaleKind::Linear, 0, c.high, 0, 500}, AxisUnit::Seconds, 60).unit, c.unit)
        << c.high;
  }
}

TEST(ticks, a_zoomed_axis_far_from_zero_still_tells_its_ticks_apart) {
  const AxisTicks axis = placeTicks({ScaleKind::Linear, 10.0, 10.0004, 0, 500}, AxisUnit::Seconds, 80);
  const auto texts = labels(axis);
  ASSERT_GE(texts.size(), 3U);
  for (std::size_t i = 1; i < texts.size(); ++i) EXPECT_NE(texts[i], texts[i - 1]);
}

TEST(ticks, decades_have_labels_and_what_lies_between_only_where_there_is_room) {
  EXPECT_THAT(labels(placeTicks({ScaleKind::Log, 0.1, 100, 0, 300}, AxisUnit::Plain, 60)).front(), "0.1");
  const AxisTicks wide = placeTicks({ScaleKind::Log, 1, 10, 0, 300}, AxisUnit::Plain, 60);
  std::vector<std::string> labelled = labels(wide);
  std::erase(labelled, "");
  EXPECT_THAT(labelled, ElementsAre("1", "2", "5", "10"));
  EXPECT_EQ(wide.ticks.size(), 10U);
}

TEST(hatch, lines_stay_inside_and_neighbours_share_one_grid) {
  const QRectF box(13.5, 7.25, 40, 30);
  for (int p = 1; p < kPatterns; ++p) {
    const auto lines = hatchLines(box, static_cast<Pattern>(p));
    EXPECT_FALSE(lines.empty());
    for (const QLineF& line : lines) {
      for (const QPointF& end : {line.p1(), line.p2()}) {
        EXPECT_TRUE(box.adjusted(-1e-9, -1e-9, 1e-9, 1e-9).contains(end)) << p;
      }
    }
  }
  for (const QLineF& line : hatchLines(box, Pattern::Rising)) {
    EXPECT_NEAR(std::remainder(line.x1() + line.y1(), kHatchSpacing), 0, 1e-9);
  }
}

TEST(legend, breaks_into_rows_instead_of_leaving_the_chart) {
  std::vector<LegendEntry> entries(8, {Fill{}, "tensor parallel"});
  const QFontMetricsF metrics(QGuiApplication::font());
  const LegendLayout layout = layoutLegend(entries, metrics, 300);
  for (const QRectF& text : layout.texts) EXPECT_LE(text.right(), 300);
  EXPECT_GT(layout.height, 2 * metrics.height());
  for (std::size_t i = 1; i < entries.size(); ++i) {
    EXPECT_FALSE(layout.texts[i].intersects(layout.texts[i - 1]));
  }
}

TEST(treemap_geometry, areas_are_in_proportion_fill_everything_and_do_not_overlap) {
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    std::vector<double> sizes(1 + random() % 40);
    for (double& size : sizes) size = std::exp(std::uniform_real_distribution<double>(-6, 3)(random));
    std::sort(sizes.rbegin(), sizes.rend());
    const double total = std::accumulate(sizes.begin(), sizes.end(), 0.0);
    const QRectF area(5, 9, 640, 300);
    const std::vector<QRectF> boxes = squarify(sizes, area);
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      EXPECT_NEAR(boxes[i].width() * boxes[i].height(), sizes[i] / total * 640 * 300, 1e-6 * 640 * 300);
      EXPECT_TRUE(area.adjusted(-1e-6, -1e-6, 1e-6, 1e-6).contains(boxes[i]));
      for (std::size_t j = 0; j < i; ++j) {
        const QRectF common = boxes[i] & boxes[j];
        EXPECT_LT(std::max(0.0, common.width()) * std::max(0.0, common.height()), 1e-3);
      }
    }
  }
}

TEST(treemap_geometry, nothing_positive_gives_empty_boxes) {
  for (const QRectF& box : squarify({0, 0}, QRectF(0, 0, 10, 10))) EXPECT_TRUE(box.isEmpty());
  EXPECT_TRUE(squarify({}, QRectF(0, 0, 10, 10)).empty());
}

TEST(time_window, never_leaves_the_step_and_zooms_around_the_mouse) {
  TimeWindow window(100);
  const TimeWindow zoomed = window.zoomed(0.1, 30);
  EXPECT_NEAR(zoomed.width(), 10, 1e-9);
  EXPECT_NEAR((30 - zoomed.low()) / zoomed.width(), 0.3, 1e-9) << "the moment under the mouse stays there";
  EXPECT_EQ(zoomed.zoomed(1e9, 31), window);
  EXPECT_NEAR(window.zoomed(0, 50).width(), 1e-7, 1e-12) << "a billionth is the narrowest";
  EXPECT_NEAR(zoomed.moved(-100).low(), 0, 1e-9);
  EXPECT_NEAR(zoomed.moved(100).high(), 100, 1e-9);
  EXPECT_NEAR(zoomed.moved(100).width(), 10, 1e-9);
}

TEST(coverage, columns_hold_exactly_what_the_spans_cover) {
  const auto data = madeUpTimeline(4, 4000);
  for (const TimelineLane& lane : data->lanes) {
    for (const TimeWindow& window : {TimeWindow(data->end), TimeWindow(100.3, 217.9, data->end)}) {
      constexpr int columns = 333;
      Coverage coverage(columns);
      coverage.add(lane, window);
      std::array<double, kInks> expected{}, found{};
      for (const TimelineSpan& span : lane.spans) {
        const double seen = std::min(span.end, window.high()) - std::max(span.begin, window.low());
        expected[static_cast<std::size_t>(span.ink)] += std::max(0.0, seen);
      }
      if (lane.idle_is_bubble) {
        const double busy = std::accumulate(expected.begin(), expected.end(), 0.0);
        expected[static_cast<std::size_t>(Ink::Bubble)] = window.width() - busy;
      }
      for (int x = 0; x < columns; ++x) {
        double column = 0;
        for (std::size_t k = 0; k < kInks; ++k) {
          found[k] += coverage.of(static_cast<Ink>(k))[x] * window.width() / columns;
          column += coverage.of(static_cast<Ink>(k))[x];
        }
        EXPECT_LE(column, 1.001);
        if (lane.idle_is_bubble) {
          EXPECT_NEAR(column, 1, 1e-3);
        }
      }
      for (std::size_t k = 0; k < kInks; ++k) EXPECT_NEAR(found[k], expected[k], 1e-3 * window.width()) << k;
    }
  }
}

TEST(span_at, finds_the_span_and_nothing_in_gaps) {
  TimelineLane lane;
  lane.spans = {{0, 1}, {1, 2}, {5, 6}};
  EXPECT_EQ(spanAt(lane, 0.5), 0U);
  EXPECT_EQ(spanAt(lane, 1.0), 1U);
  EXPECT_EQ(spanAt(lane, 3.0), 3U);
  EXPECT_EQ(spanAt(lane, 5.0), 2U);
  EXPECT_EQ(spanAt(lane, 7.0), 3U);
}

TEST(stage_memory_geometry, segments_stack_up_to_what_the_device_holds) {
  const Example large = largeExample(64);
  StageMemoryData data{.stages = large.estimate.stages, .usable = large.estimate.capacity};
  const QFontMetricsF metrics(QGuiApplication::font());
  const StageMemoryGeometry at =
      stageMemoryGeometry(data, {700, 300}, ByteUnit::Binary, PlotTheme::lightTheme(), metrics);
  ASSERT_EQ(at.bars.size(), 64U);
  for (std::size_t i = 0; i < at.bars.size(); ++i) {
    const auto& bar = at.bars[i];
    double height = 0;
    for (const QRectF& segment : bar.segments) height += segment.height();
    EXPECT_NEAR(height, bar.bar.height(), 1e-6);
    EXPECT_NEAR(at.axes.y.fromPixel(bar.bar.top()), data.stages[i].device.value(), 1.0);
    EXPECT_GE(bar.bar.width(), 3) << "64 stages are still bars";
    EXPECT_EQ(at.stageAt(bar.slot.center()), static_cast<int>(i));
    if (i > 0) {
      EXPECT_GE(bar.bar.left(), at.bars[i - 1].bar.right());
    }
  }
  EXPECT_GT(at.label_stride, 1);
  EXPECT_LE(at.axes.plot.right() + at.limit_margin, 700);
}

// Machado, Oliveira, Fernandes 2009 (doi:10.1109/TVCG.2009.113), table 1, severity 1.0, on linear RGB.
using Matrix = std::array<std::array<double, 3>, 3>;
constexpr std::array<Matrix, 4> kVisions{{
    {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}},
    {{{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}}},
    {{{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}}},
    {{{1.255528, -0.076749, -0.178779}, {-0.078411, 0.930809, 0.147602}, {0.004733, 0.691367, 0.303900}}},
}};

/// CIE 1976 L*a*b* (D65) as somebody with this vision sees the colour.
std::array<double, 3> labSeen(const QColor& color, const Matrix& vision) {
  const auto linear = [](double c) { return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4); };
  const std::array<double, 3> rgb{linear(color.redF()), linear(color.greenF()), linear(color.blueF())};
  std::array<double, 3> seen{};
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j < 3; ++j) seen[i] += vision[i][j] * rgb[j];
    seen[i] = std::clamp(seen[i], 0.0, 1.0);
  }
  const double x = (0.4124 * seen[0] + 0.3576 * seen[1] + 0.1805 * seen[2]) / 0.9505;
  const double y = 0.2126 * seen[0] + 0.7152 * seen[1] + 0.0722 * seen[2];
  const double z = (0.0193 * seen[0] + 0.1192 * seen[1] + 0.9505 * seen[2]) / 1.089;
  const auto f = [](double t) { return t > 0.008856 ? std::cbrt(t) : 7.787 * t + 16.0 / 116; };
  return {116 * f(y) - 16, 500 * (f(x) - f(y)), 200 * (f(y) - f(z))};
}

TEST(theme, inks_of_one_chart_differ_for_every_kind_of_colour_vision_or_by_pattern) {
  const std::vector<std::vector<Ink>> charts{
      {Ink::Parameters, Ink::Gradients, Ink::OptimizerState, Ink::Activations, Ink::Logits, Ink::Transient,
       Ink::CommunicationBuffers, Ink::Overhead, Ink::Cached},
      {Ink::Gemm, Ink::Attention, Ink::MemoryBound, Ink::Recompute, Ink::Launch, Ink::TensorParallel,
       Ink::ContextParallel, Ink::ExpertParallel, Ink::PipelineMessages, Ink::Bubble, Ink::DataParallel,
       Ink::OptimizerStep, Ink::Host},
      {Ink::Forward, Ink::Backward, Ink::BackwardWeight, Ink::Recompute, Ink::OptimizerStep,
       Ink::OuterGradients, Ink::Host, Ink::HiddenCommunication, Ink::ExposedCommunication, Ink::Bubble},
      {Ink::AsPredicted, Ink::Slower, Ink::Faster, Ink::NotPredicted}};
  for (const PlotTheme& theme : {PlotTheme::lightTheme(), PlotTheme::darkTheme()}) {
    for (const auto& chart : charts) {
      for (std::size_t i = 0; i < chart.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j) {
          const Fill &a = theme.of(chart[i]), &b = theme.of(chart[j]);
          if (a.pattern != b.pattern) continue;
          for (const Matrix& vision : kVisions) {
            const auto p = labSeen(a.color, vision), q = labSeen(b.color, vision);
            EXPECT_GT(std::hypot(p[0] - q[0], p[1] - q[1], p[2] - q[2]), 12)
                << a.color.name().toStdString() << " and " << b.color.name().toStdString();
          }
        }
      }
    }
  }
}

double contrast(const QColor& a, const QColor& b) {
  const auto luminance = [](const QColor& c) {
    const auto linear = [](double v) {
      return v <= 0.03928 ? v / 12.92 : std::pow((v + 0.055) / 1.055, 2.4);
    };
    return 0.2126 * linear(c.redF()) + 0.7152 * linear(c.greenF()) + 0.0722 * linear(c.blueF());
  };
  const double x = luminance(a) + 0.05, y = luminance(b) + 0.05;
  return std::max(x, y) / std::min(x, y);
}

TEST(theme, spans_have_the_colours_that_they_have_in_the_command_s_pictures) {
  using costmodel::SpanKind;
  constexpr std::pair<Ink, SpanKind> kBoth[] = {{Ink::Forward, SpanKind::Forward},
                                                {Ink::Backward, SpanKind::Backward},
                                                {Ink::BackwardInput, SpanKind::BackwardInput},
                                                {Ink::BackwardWeight, SpanKind::BackwardWeight},
                                                {Ink::Recompute, SpanKind::Recompute},
                                                {Ink::OptimizerStep, SpanKind::Optimizer},
                                                {Ink::OuterGradients, SpanKind::OuterReduce},
                                                {Ink::Host, SpanKind::Host}};
  for (const auto& [ink, kind] : kBoth)
    EXPECT_EQ(PlotTheme::lightTheme().of(ink).color.name().toStdString(), charts::style_of(kind).fill)
        << costmodel::name_of(kind);
  for (int kind = 0; kind < costmodel::kSpanKinds; ++kind) {
    const charts::SpanStyle& style = charts::style_of(static_cast<SpanKind>(kind));
    EXPECT_GE(contrast(QColor{QString::fromStdString(std::string{style.ink})},
                       QColor{QString::fromStdString(std::string{style.fill})}),
              4.5)
        << costmodel::name_of(static_cast<SpanKind>(kind)) << ": its text cannot be read";
  }
}

TEST(theme, texts_reach_the_contrast_that_wcag_asks_for) {
  for (const PlotTheme& theme : {PlotTheme::lightTheme(), PlotTheme::darkTheme()}) {
    for (const QColor& text : {theme.text, theme.faint, theme.danger})
      EXPECT_GE(contrast(text, theme.background), 4.5);
    for (const Fill& ink : theme.inks)
      EXPECT_GE(contrast(ink.text(), ink.color), 4.5) << ink.color.name().toStdString();
  }
}

}  // namespace
}  // namespace hexaplan::gui
