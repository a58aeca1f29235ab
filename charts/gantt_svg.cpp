#include "charts/gantt_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "charts/axis.h"
#include "charts/span_style.h"
#include "charts/svg.h"
#include "costmodel/units/format_units.h"

namespace hexaplan::charts {

using costmodel::kSpanKinds;
using costmodel::Seconds;
using costmodel::Simulation;
using costmodel::Span;
using costmodel::SpanKind;
using costmodel::StageTimeline;
using costmodel::Stream;

namespace {

constexpr double kGanttWidth = 1500, kGanttLeft = 78, kGanttRight = 22, kGanttTop = 62, kGanttBottom = 96;
constexpr double kNarrow = 1.2;  // pixels below which spans are merged
constexpr std::size_t kManyStages = 16;
constexpr double kWideColumn = 3;  // pixels that merged spans of many stages share: files stay small
constexpr double kSmallestText = 7;
constexpr double kPaleChunk = 0.62;  // opacity of every other chunk

/// Lanes of one stage, from the top.
struct Lanes {
  double compute, thin, gap;
  [[nodiscard]] double stage() const { return compute + 3 * thin + gap; }
};
Lanes lanes_for(std::size_t stages) {
  const double room = std::clamp(900.0 / static_cast<double>(stages), 12.0, 58.0);
  return {room * 0.46, room * 0.13, room * 0.15};
}

/// Where a stream lies below the top of its stage.
Box lane_of(Stream stream, const Lanes& lanes, double top) {
  constexpr std::array<int, costmodel::kStreams> kPlace = {0, 0, 2, 1};  // by Stream: below compute
  if (stream == Stream::Compute) return {0, top, 0, lanes.compute};
  const int place = kPlace[static_cast<std::size_t>(stream)];
  return {0, top + lanes.compute + place * lanes.thin, 0, lanes.thin};
}

/// Draws the spans of one lane.
class LanePainter {
 public:
  LanePainter(SvgWriter& svg, const TimeAxis& axis, const Box& lane, int chunks, bool labels, double column)
      : svg_{svg}, axis_{axis}, lane_{lane}, chunks_{chunks}, labels_{labels}, column_{column} {}

  void paint(const std::vector<Span>& spans) {
    for (const Span& span : spans) {
      const double x = axis_.x(span.begin), width = axis_.x(span.end) - x;
      if (width < std::max(kNarrow, column_)) {
        merge(span, x, width);
        continue;
      }
      flush();
      paint_wide(span, x, width);
    }
    flush();
  }

 private:
  void paint_wide(const Span& span, double x, double width) {
    const SpanStyle& style = style_of(span.kind);
    const bool pale = span.microbatch >= 0 && span.chunk % 2 == 1;
    const double shown = std::max(width - (width > 3 ? 0.6 : 0), kNarrow);  // a seam between neighbours
    constexpr double kTip = 4;  // pixels that a pointer finds: tips are most of a large file
    svg_.rectangle({x, lane_.y, shown, lane_.height}, style.fill, pale ? kPaleChunk : 1,
                   width < kTip ? std::string{}
                                : fmt::format("{}, {}", label_of(span, chunks_),
                                              costmodel::format_duration(span.end - span.begin)));
    if (!labels_ || span.microbatch < 0) return;
    const std::string number = fmt::format("{}", span.microbatch);
    const double widest = (width - 3) / (0.6 * static_cast<double>(number.size()));  // digits are 0.6 em wide
    const double size = std::min({12.0, lane_.height * 0.62, widest});
    if (size < kSmallestText) return;
    svg_.text(x + shown / 2, lane_.y + lane_.height / 2 + size * 0.36, number, size, Anchor::Middle,
              pale ? "#000000" : style.ink);
  }

  /// Narrow spans share a pixel: the kind that covers most of it gives the colour.
  void merge(const Span& span, double x, double width) {
    const double pixel = std::floor(x / column_) * column_;
    if (pixel > pixel_) flush(), pixel_ = pixel;
    covered_[static_cast<std::size_t>(span.kind)] += width;
  }
  void flush() {
    double all = 0;
    for (const double covered : covered_) all += covered;
    if (all > 0) {
      const auto most = std::max_element(covered_.begin(), covered_.end());
      const auto kind = static_cast<SpanKind>(most - covered_.begin());
      svg_.rectangle({pixel_, lane_.y, column_ + 0.05, lane_.height}, style_of(kind).fill,
                     std::clamp(all / column_, 0.25, 1.0));
    }
    covered_.fill(0);
    pixel_ = -1;
  }

  SvgWriter& svg_;
  const TimeAxis& axis_;
  Box lane_;
  int chunks_;
  bool labels_;
  double column_;  // pixels that narrow spans share
  double pixel_ = -1;
  std::array<double, kSpanKinds> covered_{};
};

std::array<bool, kSpanKinds> kinds_in(const Simulation& simulation) {
  std::array<bool, kSpanKinds> seen{};
  for (const StageTimeline& stage : simulation.stages) {
    for (const auto& stream : stage.streams) {
      for (const Span& span : stream) seen[static_cast<std::size_t>(span.kind)] = true;
    }
  }
  return seen;
}

void draw_passes(SvgWriter& svg, const Simulation& simulation, double y) {
  const auto seen = kinds_in(simulation);
  double x = kGanttLeft;
  const auto entry = [&](std::string_view words, std::string_view fill, double opacity) {
    svg.rectangle({x, y - 10, 12, 12}, fill, opacity);
    if (fill == "#ffffff") svg.outline({x, y - 10, 12, 12}, "#8c8c8c");
    svg.text(x + 17, y, words, 12);
    x += 34 + 6.4 * static_cast<double>(words.size());
  };
  for (std::size_t kind = 0; kind < kSpanKinds; ++kind) {
    if (seen[kind])
      entry(name_of(static_cast<SpanKind>(kind)), style_of(static_cast<SpanKind>(kind)).fill, 1);
  }
  entry("waiting", "#ffffff", 1);
  if (simulation.chunks > 1) entry("paler: every second chunk", style_of(SpanKind::Forward).fill, kPaleChunk);
}

/// What the axis spans: the step, or with drifting stages from the first beginning to the last end.
TimeAxis axis_of(const Simulation& simulation) {
  TimeAxis axis{.left = kGanttLeft, .width = kGanttWidth - kGanttLeft - kGanttRight};
  for (const StageTimeline& stage : simulation.stages)
    axis.end = larger(axis.end, stage.begin + simulation.total);
  return axis;
}

}  // namespace

std::string gantt_svg(const Simulation& simulation, std::string_view title, Ground ground) {
  const Lanes lanes = lanes_for(simulation.stages.size());
  const double chart = lanes.stage() * static_cast<double>(simulation.stages.size());
  SvgWriter svg{kGanttWidth, kGanttTop + chart + kGanttBottom, "Pipeline timeline",
                fmt::format("{}: {} stages, {} micro-batches, step of {}", title, simulation.stages.size(),
                            simulation.microbatches, costmodel::format_duration(simulation.total)),
                ground};
  svg.text(kGanttLeft, 24, title, 16);
  svg.text(kGanttLeft, 44,
           fmt::format("{} simulated; waiting for other stages {} of the ranks' time, for communication {}",
                       costmodel::format_duration(simulation.total),
                       costmodel::format_percent(simulation.bubble_share()),
                       costmodel::format_percent(simulation.exposed_share())),
           12, Anchor::Start, "#404040");
  const TimeAxis axis = axis_of(simulation);
  draw_axis(svg, axis, kGanttTop, kGanttTop + chart);
  const double column = simulation.stages.size() > kManyStages ? kWideColumn : 1;
  const std::size_t every = lanes.stage() < 14 ? 4 : 1;  // stages that get a label
  for (std::size_t s = 0; s < simulation.stages.size(); ++s) {
    const double top = kGanttTop + lanes.stage() * static_cast<double>(s);
    svg.rectangle({axis.left, top, axis.width, lanes.compute}, "#f5f5f5");
    if (s % every == 0)
      svg.text(kGanttLeft - 8, top + lanes.compute / 2 + 4, fmt::format("stage {}", s), 12, Anchor::End);
    for (int i = 0; i < costmodel::kStreams; ++i) {
      const auto stream = static_cast<Stream>(i);
      LanePainter painter{
          svg, axis, lane_of(stream, lanes, top), simulation.chunks, stream == Stream::Compute, column};
      painter.paint(simulation.stages[s].streams[static_cast<std::size_t>(i)]);
    }
  }
  draw_passes(svg, simulation, kGanttTop + chart + 66);
  svg.text(kGanttLeft, kGanttTop + chart + 86,
           "Per stage: compute; below it, thin, from the top: collectives that compute waits for, "
           "data-parallel transfers, messages to neighbours.",
           11, Anchor::Start, "#595959");
  return svg.take();
}

}  // namespace hexaplan::charts
