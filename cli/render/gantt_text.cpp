#include "cli/render/gantt_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "charts/span_style.h"
#include "costmodel/units/format_units.h"

namespace hexaplan::cli {

using costmodel::kSpanKinds;
using costmodel::kStreams;
using costmodel::Seconds;
using costmodel::Simulation;
using costmodel::Span;
using costmodel::SpanKind;
using costmodel::StageTimeline;
using costmodel::Stream;

namespace {

constexpr std::size_t kStagesShown = 24;
constexpr double kLabelCells = 4;  // of the shortest pass, for "F12" and a seam

/// Nearest of the 256 terminal colours to the chart's, by SpanKind.
constexpr std::array<int, kSpanKinds> kTerminalColours = {117, 35,  35,  227, 175, 202,
                                                          246, 250, 214, 67,  250, 240};

/// A piece of the step and the cells it is shown in.
struct Window {
  Seconds begin, end;
  int cells;
  [[nodiscard]] double cell(Seconds at) const { return (at - begin) / (end - begin) * cells; }
};

struct ChartCell {
  char letter = '.';
  int kind = -1;
};

using Coverage = std::array<double, kSpanKinds>;

/// Adds the shares of cells that the spans cover.
void cover(const std::vector<Span>& spans, const Window& window, std::vector<Coverage>& cells) {
  for (const Span& span : spans) {
    const double first = std::max(0.0, window.cell(span.begin));
    const double last = std::min(static_cast<double>(window.cells), window.cell(span.end));
    for (auto c = static_cast<std::size_t>(first); static_cast<double>(c) < last; ++c) {
      const double from = std::max(first, static_cast<double>(c));
      const double to = std::min(last, static_cast<double>(c + 1));
      cells[c][static_cast<std::size_t>(span.kind)] += to - from;
    }
  }
}

/// What fills most of a cell: work, or what is waited for, or nothing.
ChartCell fullest(const Coverage& work, const Coverage& beside) {
  ChartCell cell;
  double most = 0, idle = 1;
  const auto look_at = [&](const Coverage& covered) {
    for (std::size_t kind = 0; kind < kSpanKinds; ++kind) {
      if (covered[kind] <= most) continue;
      most = covered[kind];
      cell = {charts::style_of(static_cast<SpanKind>(kind)).letter, static_cast<int>(kind)};
    }
  };
  look_at(work);
  for (const double covered : work) idle -= covered;
  if (idle <= most) return cell;
  // Mostly idle: for a message or a transfer, or for another stage.
  cell = {}, most = idle / 2;
  look_at(beside);
  return cell;
}

/// Writes "F12" where the pass has room for it.
void label(const Span& span, const Window& window, std::vector<ChartCell>& cells) {
  if (span.microbatch < 0) return;
  const std::string words = fmt::format("{}{}", charts::style_of(span.kind).letter, span.microbatch);
  const double first = std::ceil(window.cell(span.begin) - 0.5),
               last = std::floor(window.cell(span.end) + 0.5);
  if (first < 0 || last > window.cells || last - first < static_cast<double>(words.size())) return;
  for (auto c = static_cast<std::size_t>(first); static_cast<double>(c) < last; ++c) {
    const std::size_t i = c - static_cast<std::size_t>(first);
    cells[c] = {i < words.size() ? words[i] : '-', static_cast<int>(span.kind)};
  }
}

std::string line_of(const StageTimeline& stage, const Window& window, const TextStyle& style) {
  std::vector<Coverage> work(static_cast<std::size_t>(window.cells)), beside(work.size());
  for (int i = 0; i < kStreams; ++i) {
    const bool waits = i == static_cast<int>(Stream::Messages) || i == static_cast<int>(Stream::Data);
    cover(stage.streams[static_cast<std::size_t>(i)], window, waits ? beside : work);
  }
  std::vector<ChartCell> cells;
  for (std::size_t c = 0; c < work.size(); ++c) cells.push_back(fullest(work[c], beside[c]));
  for (const Span& span : stage.streams[static_cast<std::size_t>(Stream::Compute)])
    label(span, window, cells);
  std::string line;
  for (std::size_t c = 0; c < cells.size();) {
    const int kind = cells[c].kind;
    std::string run;
    for (; c < cells.size() && cells[c].kind == kind; ++c) run += cells[c].letter;
    line +=
        kind < 0 ? style.dim(run) : style.on_colour(kTerminalColours[static_cast<std::size_t>(kind)], run);
  }
  return line;
}

/// Stages to show: all, or the first ones and the last.
std::vector<std::size_t> shown_stages(std::size_t stages) {
  std::vector<std::size_t> shown;
  for (std::size_t s = 0; s < stages; ++s) {
    if (stages <= kStagesShown || s + 2 < kStagesShown || s + 1 == stages) shown.push_back(s);
  }
  return shown;
}

std::string chart(const Simulation& simulation, const Window& window, const TextStyle& style) {
  std::string text;
  const auto shown = shown_stages(simulation.stages.size());
  for (const std::size_t s : shown)
    text += fmt::format("{:>4} {}\n", s, line_of(simulation.stages[s], window, style));
  const std::string begin = costmodel::format_duration(window.begin);
  const std::string end = costmodel::format_duration(window.end);
  text += fmt::format("     {}{:>{}}\n", begin, end,
                      std::max<std::size_t>(1, static_cast<std::size_t>(window.cells) - begin.size()));
  if (shown.size() < simulation.stages.size())
    text += fmt::format("({} more stages: --gantt-svg shows all)\n", simulation.stages.size() - shown.size());
  return text;
}

/// The shortest forward or backward anywhere.
Seconds shortest_pass(const Simulation& simulation) {
  Seconds shortest = simulation.total;
  for (const StageTimeline& stage : simulation.stages) {
    for (const Span& span : stage.streams[static_cast<std::size_t>(Stream::Compute)]) {
      if (span.microbatch >= 0 && span.kind <= SpanKind::BackwardWeight)
        shortest = smaller(shortest, span.end - span.begin);
    }
  }
  return shortest;
}

std::string legend(const Simulation& simulation, const TextStyle& style) {
  std::array<bool, kSpanKinds> seen{};
  for (const StageTimeline& stage : simulation.stages) {
    for (const auto& stream : stage.streams) {
      for (const Span& span : stream) seen[static_cast<std::size_t>(span.kind)] = true;
    }
  }
  std::string text = "    ";
  for (std::size_t kind = 0; kind < kSpanKinds; ++kind) {
    if (!seen[kind]) continue;
    const char letter = charts::style_of(static_cast<SpanKind>(kind)).letter;
    text += fmt::format(" {} {} ", style.on_colour(kTerminalColours[kind], std::string(1, letter)),
                        name_of(static_cast<SpanKind>(kind)));
  }
  return text + fmt::format(" {} waiting\n", style.dim("."));
}

}  // namespace

std::string gantt_text(const Simulation& simulation, const TextStyle& style) {
  Window whole{.cells = std::max(20, style.columns - 5)};
  for (const StageTimeline& stage : simulation.stages)
    whole.end = larger(whole.end, stage.begin + simulation.total);
  std::string text =
      fmt::format("\n{} (a line per stage)\n", style.bold("Timeline")) + chart(simulation, whole, style);
  const Seconds readable = shortest_pass(simulation) * (whole.cells / kLabelCells);
  if (readable < whole.end * 0.8) {
    const Window beginning{.end = readable, .cells = whole.cells};
    text += fmt::format("\n{} (letters with micro-batch numbers)\n", style.bold("Its beginning")) +
            chart(simulation, beginning, style);
  }
  return text + legend(simulation, style);
}

}  // namespace hexaplan::cli
