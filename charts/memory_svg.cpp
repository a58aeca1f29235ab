#include "charts/memory_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "charts/axis.h"
#include "charts/svg.h"
#include "costmodel/units/format_units.h"

namespace hexaplan::charts {

using costmodel::Bytes;
using costmodel::format_binary;
using costmodel::MemoryPoint;
using costmodel::Seconds;
using costmodel::Simulation;
using costmodel::StageTimeline;

namespace {

constexpr double kMemoryWidth = 1500, kMemoryLeft = 120, kMemoryRight = 190, kMemoryTop = 62,
                 kMemoryBottom = 92;
constexpr std::string_view kStates = "#0072b2", kActivations = "#e69f00", kLimit = "#d55e00";

/// Most memory within one pixel.
struct Column {
  Bytes allocated, activations;
};

/// The step function of a stage by pixel columns, the highest point of each.
std::vector<Column> columns_of(const StageTimeline& stage, Seconds total, int pixels_wide) {
  std::vector<Column> columns(static_cast<std::size_t>(pixels_wide));
  const auto column_at = [&](Seconds at) {
    const double share = total > Seconds{} ? (at - stage.begin) / total : 0;
    return std::clamp(static_cast<int>(share * pixels_wide), 0, pixels_wide - 1);
  };
  for (std::size_t i = 0; i < stage.memory.size(); ++i) {
    const MemoryPoint& point = stage.memory[i];
    const int first = column_at(point.at);
    const int last = i + 1 < stage.memory.size() ? column_at(stage.memory[i + 1].at) : pixels_wide - 1;
    for (int c = first; c <= last; ++c) {
      Column& column = columns[static_cast<std::size_t>(c)];
      if (column.allocated < point.allocated) column = {point.allocated, point.activations};
    }
  }
  return columns;
}

/// Area under `value` as a path.
template <class Value>
std::string area(const std::vector<Column>& columns, double left, double bottom, double pixels_per_byte,
                 const Value& value) {
  std::string path = fmt::format("M{} {}", pixels(left), pixels(bottom));
  double before = -1;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const double y = bottom - value(columns[i]).value() * pixels_per_byte;
    if (y != before) path += fmt::format("H{}V{}", pixels(left + static_cast<double>(i)), pixels(y));
    before = y;
  }
  return path + fmt::format("H{}V{}Z", pixels(left + static_cast<double>(columns.size())), pixels(bottom));
}

Bytes highest(const Simulation& simulation, Bytes capacity) {
  Bytes most = capacity;
  for (const StageTimeline& stage : simulation.stages) most = larger(most, stage.peak);
  return most;
}

void draw_stage(SvgWriter& svg, const StageTimeline& stage, const Box& box, Seconds total, Bytes top_of_scale,
                Bytes capacity) {
  const double scale = box.height / top_of_scale.value();
  const double bottom = box.y + box.height;
  const auto columns = columns_of(stage, total, static_cast<int>(box.width));
  svg.path(area(columns, box.x, bottom, scale, [](const Column& c) { return c.allocated; }), kActivations,
           {});
  svg.path(area(columns, box.x, bottom, scale, [](const Column& c) { return c.allocated - c.activations; }),
           kStates, {});
  const Bytes limit = capacity - stage.outside;
  if (limit > Bytes{}) {
    const double y = bottom - limit.value() * scale;
    svg.line(box.x, y, box.x + box.width, y, kLimit, "6 3");
  }
  svg.line(box.x, bottom, box.x + box.width, bottom, "#8c8c8c");
  const bool fits = stage.peak <= limit;
  const double y = std::clamp(bottom - stage.peak.value() * scale + 4, box.y + 10, bottom);
  svg.text(box.x + box.width + 8, y,
           fmt::format("peak {}{}", format_binary(stage.peak), fits ? "" : ", does not fit"), 12,
           Anchor::Start, fits ? "#1a1a1a" : kLimit);
}

void draw_legend(SvgWriter& svg, double y) {
  svg.rectangle({kMemoryLeft, y - 10, 12, 12}, kActivations);
  svg.text(kMemoryLeft + 17, y, "activations kept for backward", 12);
  svg.rectangle({kMemoryLeft + 230, y - 10, 12, 12}, kStates);
  svg.text(kMemoryLeft + 247, y, "parameters, gradients, optimizer, working sets", 12);
  svg.line(kMemoryLeft + 560, y - 4, kMemoryLeft + 590, y - 4, kLimit, "6 3");
  svg.text(kMemoryLeft + 597, y, "capacity less context, communicators and allocator slack", 12);
}

}  // namespace

std::string memory_svg(const Simulation& simulation, Bytes capacity, std::string_view title, Ground ground) {
  const auto stages = static_cast<double>(simulation.stages.size());
  const double row = std::clamp(720.0 / stages, 26.0, 150.0);
  const double chart = row * stages;
  SvgWriter svg{kMemoryWidth, kMemoryTop + chart + kMemoryBottom, "Memory over a step",
                fmt::format("{}: live memory of {} pipeline stages", title, simulation.stages.size()),
                ground};
  const auto& peak = simulation.stages[static_cast<std::size_t>(simulation.peak_stage)];
  svg.text(kMemoryLeft, 24, title, 16);
  svg.text(kMemoryLeft, 44,
           fmt::format("live memory per GPU of each stage; highest on stage {}: {}", simulation.peak_stage,
                       format_binary(peak.peak)),
           12, Anchor::Start, "#404040");
  const TimeAxis axis{Seconds{}, simulation.total, kMemoryLeft, kMemoryWidth - kMemoryLeft - kMemoryRight};
  draw_axis(svg, axis, kMemoryTop, kMemoryTop + chart);
  const Bytes top = highest(simulation, capacity) * 1.04;
  for (std::size_t s = 0; s < simulation.stages.size(); ++s) {
    const double y = kMemoryTop + row * static_cast<double>(s);
    svg.text(kMemoryLeft - 62, y + row / 2 + 4, fmt::format("stage {}", s), 12, Anchor::End);
    const Box box{axis.left, y + 4, axis.width, row - 8};
    if (row >= 44) {
      svg.text(kMemoryLeft - 6, y + row - 4, "0", 10, Anchor::End, "#595959");
      svg.text(kMemoryLeft - 6, y + row - 4 - box.height * (capacity / top) + 4, format_binary(capacity), 10,
               Anchor::End, "#595959");
    }
    draw_stage(svg, simulation.stages[s], box, simulation.total, top, capacity);
  }
  draw_legend(svg, kMemoryTop + chart + 66);
  return svg.take();
}

}  // namespace hexaplan::charts
