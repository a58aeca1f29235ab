#include "charts/estimate_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "costmodel/memory/memory_kinds.h"
#include "costmodel/step/time_causes.h"
#include "costmodel/units/format_units.h"

namespace hexaplan::charts {

using costmodel::Bytes;
using costmodel::Estimate;
using costmodel::format_binary;
using costmodel::Seconds;
using costmodel::StageMemory;

namespace {

constexpr double kStageWidth = 900, kStageTop = 52;
constexpr double kBarLeft = 66, kBarRight = 128;  // of the bars: names of stages, figures
constexpr double kLegendLine = 20;
constexpr double kStageLetter = 6.6;  // pixels, of text of 12
constexpr std::string_view kStageLimit = "#d55e00";

/// Okabe and Ito's palette (https://jfly.uni-koeln.de/color/) with a brown and two greys beside it; ink: the
/// one of black and white that is readable on it.
struct Fill {
  std::string_view colour, ink;
};
constexpr std::array<Fill, costmodel::kTensorKinds> kKindFills{{
    {"#0072b2", "#ffffff"},  // parameters
    {"#56b4e9", "#000000"},  // gradients
    {"#009e73", "#000000"},  // optimizer states
    {"#e69f00", "#000000"},  // activations
    {"#f0e442", "#000000"},  // logits
    {"#cc79a7", "#000000"},  // transient
    {"#8c510a", "#ffffff"},  // communication
    {"#8a8a8a", "#000000"},  // overhead
    {"#d0d0d0", "#000000"},  // cached
}};

/// Scale of the memory chart.
struct ByteAxis {
  Bytes end;
  [[nodiscard]] double x(Bytes at) const {
    return kBarLeft + at / end * (kStageWidth - kBarLeft - kBarRight);
  }
};

Bytes highest(const Estimate& estimate) {
  Bytes most = larger(estimate.capacity, Bytes{estimate.memory_bytes.high});
  for (const StageMemory& stage : estimate.stages) most = larger(most, stage.device);
  return most;
}

void draw_bar(SvgWriter& svg, const StageMemory& stage, const ByteAxis& axis, double y, double height) {
  const costmodel::MemoryBreakdown kinds = stage.on_device();
  Bytes at;
  for (const costmodel::MemoryKind& kind : costmodel::kMemoryKinds) {
    const Bytes bytes = kinds.of(kind.kind);
    if (bytes <= Bytes{}) continue;
    const Fill& fill = kKindFills[static_cast<std::size_t>(kind.kind)];
    const double x = axis.x(at), width = axis.x(at + bytes) - x;
    svg.rectangle({x, y, width, height}, fill.colour, 1,
                  fmt::format("stage {}, {}: {}", stage.stage, kind.name, format_binary(bytes)));
    if (height >= 13 && width > 8 + kStageLetter * static_cast<double>(kind.name.size()))
      svg.text(x + width / 2, y + height / 2 + 4, kind.name, 12, Anchor::Middle, fill.ink);
    at += bytes;
  }
}

/// A line with two ends.
void draw_interval(SvgWriter& svg, const costmodel::Interval& bytes, const ByteAxis& axis, double y) {
  constexpr double kEnd = 3;
  const double low = axis.x(Bytes{bytes.low}), high = axis.x(Bytes{bytes.high});
  svg.line(low, y, high, y, "#1a1a1a");
  for (const double x : {low, high}) svg.line(x, y - kEnd, x, y + kEnd, "#1a1a1a");
}

void draw_kinds(SvgWriter& svg, double y) {
  double x = kBarLeft;
  for (const costmodel::MemoryKind& kind : costmodel::kMemoryKinds) {
    svg.rectangle({x, y - 10, 12, 12}, kKindFills[static_cast<std::size_t>(kind.kind)].colour);
    svg.text(x + 16, y, kind.name, 12);
    x += 34 + kStageLetter * static_cast<double>(kind.name.size());
  }
}

/// Room of one stage from the top, and how many stages share a name.
struct Rows {
  double pitch, bar;
  std::size_t every;
};
Rows rows_for(std::size_t stages) {
  const double pitch = std::clamp(640.0 / static_cast<double>(stages), 5.0, 30.0);
  return {pitch, pitch * 0.8, pitch < 14 ? static_cast<std::size_t>(14 / pitch) + 1 : 1};
}

/// What names a cause in this order: its share of a colour, by what it is.
std::string_view fill_of(const costmodel::TimeCause& cause) {
  constexpr std::string_view kWork = "#0072b2", kWaiting = "#e69f00", kIdle = "#8a8a8a";
  using costmodel::StepTime;
  constexpr Seconds StepTime::*kExposed[] = {&StepTime::tensor_parallel, &StepTime::context_parallel,
                                             &StepTime::expert_parallel, &StepTime::pipeline_p2p,
                                             &StepTime::data_parallel,   &StepTime::offload};
  if (std::find(std::begin(kExposed), std::end(kExposed), cause.member) != std::end(kExposed))
    return kWaiting;
  constexpr Seconds StepTime::*kNothing[] = {&StepTime::bubble, &StepTime::launch, &StepTime::host};
  const bool idle = std::find(std::begin(kNothing), std::end(kNothing), cause.member) != std::end(kNothing);
  return idle ? kIdle : kWork;
}

void draw_causes_legend(SvgWriter& svg, double left, double y) {
  constexpr std::pair<std::string_view, std::string_view> kEntries[] = {
      {"#0072b2", "computing"}, {"#e69f00", "waiting for communication"}, {"#8a8a8a", "nothing to do"}};
  for (const auto& [fill, words] : kEntries) {
    svg.rectangle({left, y - 10, 12, 12}, fill);
    svg.text(left + 16, y, words, 12);
    left += 40 + kStageLetter * static_cast<double>(words.size());
  }
}

}  // namespace

std::string stage_memory_svg(const Estimate& estimate, std::string_view title, Ground ground) {
  const Rows rows = rows_for(estimate.stages.size());
  const double chart = rows.pitch * static_cast<double>(estimate.stages.size());
  const StageMemory& peak = estimate.peak();
  SvgWriter svg{
      kStageWidth, kStageTop + chart + 3 * kLegendLine, "Memory per GPU by stage",
      fmt::format("{}: stage {} of {} holds most, {} on a device that can give {}", title, peak.stage,
                  estimate.stages.size(), format_binary(peak.device), format_binary(estimate.capacity)),
      ground};
  svg.text(kBarLeft, 18, title, 15);
  const ByteAxis axis{highest(estimate) * 1.02};
  const double limit = axis.x(estimate.capacity);
  svg.text(std::min(limit, kStageWidth - kBarRight), kStageTop - 12,
           fmt::format("{} can be used", format_binary(estimate.capacity)), 12, Anchor::End, kStageLimit);
  for (std::size_t i = 0; i < estimate.stages.size(); ++i) {
    const StageMemory& stage = estimate.stages[i];
    const double y = kStageTop + rows.pitch * static_cast<double>(i);
    svg.rectangle({kBarLeft, y, kStageWidth - kBarLeft - kBarRight, rows.bar}, "#f5f5f5");
    draw_bar(svg, stage, axis, y, rows.bar);
    const bool fullest = static_cast<int>(i) == estimate.peak_stage;
    if (fullest) draw_interval(svg, estimate.memory_bytes, axis, y + rows.bar - 3);
    if (i % rows.every != 0 && !fullest) continue;
    svg.text(kBarLeft - 8, y + rows.bar / 2 + 4, fmt::format("stage {}", i), 12, Anchor::End);
    svg.text(kStageWidth - kBarRight + 8, y + rows.bar / 2 + 4,
             format_binary(stage.device) + (fullest ? ", fullest" : ""), 12);
  }
  svg.line(limit, kStageTop - 6, limit, kStageTop + chart, kStageLimit, "6 3");
  draw_kinds(svg, kStageTop + chart + kLegendLine);
  svg.text(kBarLeft, kStageTop + chart + 2 * kLegendLine + 2,
           "Line with two ends: 90 % interval of the fullest stage.", 12, Anchor::Start, "#595959");
  return svg.take();
}

std::string step_time_svg(const Estimate& estimate, std::string_view title, Ground ground) {
  constexpr double kNames = 190, kRow = 24, kBarHeight = 17;
  const Seconds total = estimate.time.total();
  std::vector<const costmodel::TimeCause*> causes;
  for (const costmodel::TimeCause& cause : costmodel::kTimeCauses) {
    if (estimate.time.*cause.member > Seconds{}) causes.push_back(&cause);
  }
  std::stable_sort(causes.begin(), causes.end(), [&](const auto* a, const auto* b) {
    return estimate.time.*b->member < estimate.time.*a->member;
  });
  const double chart = kRow * static_cast<double>(causes.size());
  SvgWriter svg{
      kStageWidth, kStageTop - 20 + chart + 2 * kLegendLine, "Step time by cause",
      fmt::format("{}: {} per step, {} causes", title, costmodel::format_duration(total), causes.size()),
      ground};
  svg.text(kNames, 18, title, 15);
  const Seconds longest = causes.empty() ? total : estimate.time.*causes.front()->member;
  double y = kStageTop - 20;
  for (const costmodel::TimeCause* cause : causes) {
    const Seconds seconds = estimate.time.*cause->member;
    const double width = std::max(1.0, seconds / longest * (kStageWidth - kNames - 150));
    svg.text(kNames - 8, y + 13, cause->name, 12, Anchor::End);
    svg.rectangle({kNames, y, width, kBarHeight}, fill_of(*cause));
    svg.text(kNames + width + 6, y + 13,
             fmt::format("{}, {}", costmodel::format_duration(seconds),
                         costmodel::format_percent(seconds / total)),
             12);
    y += kRow;
  }
  draw_causes_legend(svg, kNames, y + kLegendLine);
  return svg.take();
}

}  // namespace hexaplan::charts
