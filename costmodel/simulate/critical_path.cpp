#include "costmodel/simulate/critical_path.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <optional>
#include <set>

#include "costmodel/units/format_units.h"

namespace hexaplan::costmodel {
namespace {

/// Moments that are so close, as a share of the step, are one: sums are rounded.
constexpr double kSameMoment = 1e-11;

/// Follows the step backward, from what ends last.
class PathFinder {
 public:
  explicit PathFinder(const Simulation& simulation) : simulation_{simulation} {
    for (std::size_t stage = 0; stage < simulation.stages.size(); ++stage) {
      note_messages(stage);
      for (int stream = 0; stream < kStreams; ++stream) begin_behind(stage, static_cast<Stream>(stream));
    }
    same_ = kSameMoment * now_.value();
  }

  std::vector<PathPart> find() {
    while (const auto part = step_back()) {
      if (now_ - part->at.span.end > Seconds{same_}) wait_since(part->at.span.end);
      stage_ = part->stage;
      now_ = part->at.span.begin;
      path_.push_back(part->at);
      explain(part->at);
    }
    if (!path_.empty() && now_ - simulation_.stages[stage_].begin > Seconds{same_})
      wait_since(simulation_.stages[stage_].begin);
    std::reverse(path_.begin(), path_.end());
    return std::move(path_);
  }

 private:
  struct Message {
    std::size_t stage;
    const Span* span;
  };
  struct Step {
    std::size_t stage = 0;
    PathPart at;
  };

  [[nodiscard]] const std::vector<Span>& spans(std::size_t stage, Stream stream) const {
    return simulation_.stages[stage].streams[static_cast<std::size_t>(stream)];
  }
  static std::size_t row_of(std::int32_t microbatch, bool forward) {
    return static_cast<std::size_t>(microbatch) * 2 + (forward ? 0 : 1);
  }
  [[nodiscard]] bool ends_now(const Step& step) const { return (now_ - step.at.span.end).value() <= same_; }

  void note_messages(std::size_t stage) {
    for (const Span& span : spans(stage, Stream::Messages)) {
      const std::size_t row = row_of(span.microbatch, span.kind == SpanKind::SendForward);
      if (row >= messages_.size()) messages_.resize(row + 1);
      messages_[row].push_back({stage, &span});
    }
  }
  /// At the stream's end, where it is the last one.
  void begin_behind(std::size_t stage, Stream stream) {
    const auto& drawn = spans(stage, stream);
    if (drawn.empty() || drawn.back().end <= now_) return;
    now_ = drawn.back().end;
    stage_ = stage;
  }

  /// The beginning of `part` is what is to be explained next.
  void explain(const PathPart& part) {
    if (part.stream == Stream::Messages) {
      asked_.reset();
      paired_.reset();
    } else if (part.stream == Stream::Compute && part.span.microbatch >= 0) {
      paired_ = asked_;
      asked_ = part.span;
    }
  }

  void wait_since(Seconds begin) {
    path_.push_back(
        {.stage = static_cast<int>(stage_), .waiting = true, .span = {.begin = begin, .end = now_}});
  }

  /// What runs on a stream just before now, cut there.
  [[nodiscard]] std::optional<Step> before(std::size_t stage, Stream stream) const {
    const auto& drawn = spans(stage, stream);
    const Seconds until{now_.value() - same_};
    const auto next = std::partition_point(drawn.begin(), drawn.end(),
                                           [&](const Span& span) { return span.begin < until; });
    if (next == drawn.begin()) return std::nullopt;
    Step step{stage, {.stage = static_cast<int>(stage), .stream = stream, .span = *(next - 1)}};
    step.at.span.end = smaller(step.at.span.end, now_);
    return step;
  }

  /// The message that `pass`, or what came before its kernels, may have waited for: the micro-batch's last
  /// one in its direction, as passes of one follow each other.
  [[nodiscard]] std::optional<Step> message_of(const std::optional<Span>& pass) const {
    if (!pass || pass->kind == SpanKind::BackwardWeight) return std::nullopt;
    const std::size_t row = row_of(pass->microbatch, pass->kind == SpanKind::Forward);
    std::optional<Step> last;
    if (row >= messages_.size()) return last;
    for (const Message& sent : messages_[row]) {
      const Span& span = *sent.span;
      const bool arrived =
          span.end.value() <= now_.value() + same_ && span.begin.value() < now_.value() - same_;
      if (!arrived || sent.stage == stage_ || (last && span.end <= last->at.span.end)) continue;
      last = {sent.stage, {.stage = static_cast<int>(sent.stage), .stream = Stream::Messages, .span = span}};
    }
    return last;
  }

  /// What follows the passes waits for all stages.
  [[nodiscard]] std::optional<Step> elsewhere() const {
    for (std::size_t stage = 0; stage < simulation_.stages.size() && !asked_; ++stage) {
      if (stage == stage_) continue;
      for (const Stream stream : {Stream::Compute, Stream::Collectives, Stream::Messages, Stream::Data}) {
        const auto other = before(stage, stream);
        if (other && ends_now(*other)) return other;
      }
    }
    return std::nullopt;
  }

  /// What now waited for. First what ends now, on this stage before others; else what ended last.
  [[nodiscard]] std::optional<Step> step_back() const {
    std::optional<Step> latest;
    const auto take = [&](const std::optional<Step>& step) {
      if (step && (!latest || step->at.span.end > latest->at.span.end)) latest = step;
      return step && ends_now(*step);
    };
    for (const Stream stream : {Stream::Compute, Stream::Collectives, Stream::Messages}) {
      if (const auto own = before(stage_, stream); take(own)) return own;
    }
    // Its last step kept the stage until now, where stages drift.
    if (now_ - simulation_.stages[stage_].begin <= Seconds{same_}) return std::nullopt;
    if (const auto arrived = message_of(asked_); take(arrived)) return arrived;
    if (const auto transfer = before(stage_, Stream::Data); take(transfer)) return transfer;
    if (const auto other = elsewhere()) return other;
    // Passes that run as a pair wait for the messages of both.
    if (const auto arrived = message_of(paired_); arrived && ends_now(*arrived)) return arrived;
    return latest;
  }

  const Simulation& simulation_;
  std::vector<std::vector<Message>> messages_;  // by micro-batch and direction
  std::vector<PathPart> path_;                  // the last first
  std::optional<Span> asked_, paired_;          // the pass whose beginning is to be explained, the one behind
  std::size_t stage_ = 0;
  Seconds now_;
  double same_ = 0;  // seconds
};

}  // namespace

std::vector<PathPart> critical_path(const Simulation& simulation) {
  return PathFinder{simulation}.find();
}

Seconds PathTimes::total() const {
  return std::accumulate(kinds.begin(), kinds.end(), waiting);
}

PathTimes times_of(const std::vector<PathPart>& path) {
  PathTimes times;
  std::set<int> stages;
  for (const PathPart& part : path) {
    Seconds& sum = part.waiting ? times.waiting : times.kinds[static_cast<std::size_t>(part.span.kind)];
    sum += part.span.end - part.span.begin;
    stages.insert(part.stage);
  }
  times.stages = static_cast<int>(stages.size());
  return times;
}

std::string shares_text(const PathTimes& times) {
  const Seconds whole = times.total();
  if (times.stages == 0 || !(whole > Seconds{})) return {};
  std::array<std::size_t, kSpanKinds> order{};
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return times.kinds[a] > times.kinds[b]; });
  constexpr double kLeast = 0.0005;  // rounds to 0.1 %
  std::string text;
  const auto add = [&](std::string_view name, Seconds time) {
    if (time / whole < kLeast) return;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, format_percent(time / whole));
  };
  for (const std::size_t kind : order) add(name_of(static_cast<SpanKind>(kind)), times.kinds[kind]);
  add("waiting", times.waiting);
  return text;
}

}  // namespace hexaplan::costmodel
