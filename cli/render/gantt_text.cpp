#include "cli/render/gantt_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <optional>
#include <utility>
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

/// By SpanKind, of the 256 terminal colours: the chart's hues, most of them lighter for the black letters.
constexpr std::array<int, kSpanKinds> kTerminalColours = {117, 32,  32,  35,  175, 202, 246,
                                                          250, 214, 227, 104, 240, 130};

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

/// Adds the shares of cells that the span covers.
void cover(const Span& span, const Window& window, std::vector<Coverage>& cells) {
  const double first = std::max(0.0, window.cell(span.begin));
  const double last = std::min(static_cast<double>(window.cells), window.cell(span.end));
  for (auto c = static_cast<std::size_t>(first); static_cast<double>(c) < last; ++c) {
    const double from = std::max(first, static_cast<double>(c));
    const double to = std::min(last, static_cast<double>(c + 1));
    cells[c][static_cast<std::size_t>(span.kind)] += to - from;
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

/// A line while its spans come.
class StageLine {
 public:
  explicit StageLine(const Window& window)
      : window_{window}, work_(static_cast<std::size_t>(window.cells)), beside_(work_.size()) {}

  void add(const StageTimeline& piece) {
    for (int i = 0; i < kStreams; ++i) {
      const bool waits = i == static_cast<int>(Stream::Messages) || i == static_cast<int>(Stream::Data);
      for (const Span& span : piece.streams[static_cast<std::size_t>(i)]) {
        if (span.begin >= window_.end) break;  // so do those behind it
        cover(span, window_, waits ? beside_ : work_);
        if (i == static_cast<int>(Stream::Compute)) label(span);
      }
    }
  }

  [[nodiscard]] std::string text(const TextStyle& style) const {
    std::vector<ChartCell> cells;
    for (std::size_t c = 0; c < work_.size(); ++c) cells.push_back(fullest(work_[c], beside_[c]));
    for (const Label& label : labels_) {
      for (std::size_t c = label.first; c < label.last; ++c) {
        const std::size_t i = c - label.first;
        cells[c] = {i < label.words.size() ? label.words[i] : '-', static_cast<int>(label.kind)};
      }
    }
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

 private:
  struct Label {
    std::size_t first, last;  // cells
    std::string words;
    SpanKind kind;
  };

  /// Says "F12" where the pass has room for it.
  void label(const Span& span) {
    if (span.microbatch < 0) return;
    const double first = std::ceil(window_.cell(span.begin) - 0.5),
                 last = std::floor(window_.cell(span.end) + 0.5);
    constexpr double kShortest = 2;  // "F1"
    if (first < 0 || last > window_.cells || last - first < kShortest) return;
    std::string words = fmt::format("{}{}", charts::style_of(span.kind).letter, span.microbatch);
    if (last - first < static_cast<double>(words.size())) return;
    labels_.push_back(
        {static_cast<std::size_t>(first), static_cast<std::size_t>(last), std::move(words), span.kind});
  }

  Window window_;
  std::vector<Coverage> work_, beside_;
  std::vector<Label> labels_;
};

/// Stages to show: all, or the first ones and the last.
std::vector<std::size_t> shown_stages(std::size_t stages) {
  std::vector<std::size_t> shown;
  for (std::size_t s = 0; s < stages; ++s) {
    if (stages <= kStagesShown || s + 2 < kStagesShown || s + 1 == stages) shown.push_back(s);
  }
  return shown;
}

/// A window on the whole step or a part of it, a line for each stage that is shown.
class Chart {
 public:
  Chart(const Window& window, std::size_t stages)
      : window_{window},
        stages_{stages},
        shown_{shown_stages(stages)},
        lines_(shown_.size(), StageLine{window}) {}

  void add(int stage, const StageTimeline& piece) {
    const auto found = std::lower_bound(shown_.begin(), shown_.end(), static_cast<std::size_t>(stage));
    if (found == shown_.end() || *found != static_cast<std::size_t>(stage)) return;
    lines_[static_cast<std::size_t>(found - shown_.begin())].add(piece);
  }

  [[nodiscard]] std::string text(const TextStyle& style) const {
    std::string text;
    for (std::size_t i = 0; i < shown_.size(); ++i)
      text += fmt::format("{:>4} {}\n", shown_[i], lines_[i].text(style));
    const std::string begin = costmodel::format_duration(window_.begin);
    const std::string end = costmodel::format_duration(window_.end);
    text += fmt::format("     {}{:>{}}\n", begin, end,
                        std::max<std::size_t>(1, static_cast<std::size_t>(window_.cells) - begin.size()));
    if (shown_.size() < stages_)
      text += fmt::format("({} more stages: --gantt-svg shows all)\n", stages_ - shown_.size());
    return text;
  }

 private:
  Window window_;
  std::size_t stages_;
  std::vector<std::size_t> shown_;
  std::vector<StageLine> lines_;
};

std::string legend(const TimelineSurvey& survey, const TextStyle& style) {
  std::string text = "    ";
  for (std::size_t kind = 0; kind < kSpanKinds; ++kind) {
    if (!survey.seen[kind]) continue;
    const char letter = charts::style_of(static_cast<SpanKind>(kind)).letter;
    text += fmt::format(" {} {} ", style.on_colour(kTerminalColours[kind], std::string(1, letter)),
                        name_of(static_cast<SpanKind>(kind)));
  }
  return text + fmt::format(" {} waiting\n", style.dim("."));
}

}  // namespace

void TimelineSurvey::add(const StageTimeline& piece) {
  for (const auto& stream : piece.streams) {
    for (const Span& span : stream) seen[static_cast<std::size_t>(span.kind)] = true;
  }
  for (const Span& span : piece.streams[static_cast<std::size_t>(Stream::Compute)]) {
    if (span.microbatch >= 0 && span.kind <= SpanKind::BackwardWeight)
      shortest_pass = smaller(shortest_pass, span.end - span.begin);
  }
}

std::string gantt_text(const Simulation& totals, const TimelineSurvey& survey, const TimelineFeed& feed,
                       const TextStyle& style) {
  Window whole{.cells = std::max(20, style.columns - 5)};
  for (const StageTimeline& stage : totals.stages) whole.end = larger(whole.end, stage.begin + totals.total);
  const Seconds shortest = smaller(totals.total, survey.shortest_pass);
  const Seconds readable = shortest * (whole.cells / kLabelCells);
  const std::size_t stages = totals.stages.size();
  Chart all{whole, stages};
  std::optional<Chart> beginning;
  if (readable < whole.end * 0.8) beginning.emplace(Window{.end = readable, .cells = whole.cells}, stages);
  feed([&](int stage, const StageTimeline& piece) {
    all.add(stage, piece);
    if (beginning) beginning->add(stage, piece);
  });
  std::string text = fmt::format("\n{} (a line per stage)\n", style.bold("Timeline")) + all.text(style);
  if (beginning)
    text += fmt::format("\n{} (letters with micro-batch numbers)\n", style.bold("Its beginning")) +
            beginning->text(style);
  return text + legend(survey, style);
}

}  // namespace hexaplan::cli
