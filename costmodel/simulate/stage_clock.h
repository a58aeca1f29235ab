#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "costmodel/simulate/memory_track.h"
#include "costmodel/simulate/simulation.h"

namespace hexaplan::costmodel {

/// Part of a stage's timeline: the next one, without what may still change, or what is left.
enum class Piece : std::uint8_t { Next, Last };

/// Time, streams and memory of one stage.
class StageClock {
 public:
  /// `slowdown`: of compute while the data stream is busy. `spans`: about so many are kept per stream; 0
  /// none.
  StageClock(MemoryTrack memory, Seconds begin, double slowdown, std::size_t spans);

  /// Waits until `until`, at least for what the host takes to look (`host`, counted as a message).
  void wait_for_message(Seconds until, Seconds host) {
    const Seconds begin = larger(now_ + host, until);
    if (host > Seconds{}) times().messages += smaller(host, begin - now_);
    now_ = begin;
  }
  /// Waits for something on the data stream.
  void wait_for_data(Seconds until);
  /// Works for `time`, longer while the data stream is busy.
  void work(Seconds time) { data_free_ <= now_ ? void(now_ += time) : work_beside(time); }
  /// Adds to the clock and to one of the times.
  void spend(Seconds time, Seconds SimulatedTimes::*on) {
    now_ += time;
    times().*on += time;
  }
  /// … and draws it.
  void spend(Seconds time, Seconds SimulatedTimes::*on, Stream stream, SpanKind kind) {
    if (time <= Seconds{}) return;
    draw(stream, {now_, now_ + time, -1, -1, kind});
    spend(time, on);
  }
  /// Sends something; returns when it has arrived. `waited` of it the stage waits for, and then for `host`.
  [[nodiscard]] Seconds send(Seconds time, double waited, Seconds host, Span span);
  /// Puts a transfer on the data stream, at the earliest now. Returns when it begins.
  Seconds transfer(Seconds time, SpanKind kind, int chunk);
  void draw(Stream stream, const Span& span) {
    if (!keep_spans_ || span.end <= span.begin) return;
    auto& spans = timeline_.streams[static_cast<std::size_t>(stream)];
    spans.push_back(span);
    // Stages take turns: the line that this one writes next is fetched meanwhile.
    __builtin_prefetch(&spans.back() + 2, 1);
  }

  [[nodiscard]] Seconds now() const { return now_; }
  void stand_still_until(Seconds when) { now_ = larger(now_, when); }
  [[nodiscard]] Seconds data_free() const { return data_free_; }
  [[nodiscard]] Seconds begin() const { return timeline_.begin; }
  [[nodiscard]] SimulatedTimes& times() { return timeline_.times; }
  [[nodiscard]] MemoryTrack& memory() { return memory_; }
  /// Gives away what was drawn.
  void hand_over(int stage, Piece piece, const TakePiece& take);
  /// The stage's timeline; what is left of `total` is bubble.
  [[nodiscard]] StageTimeline take(Seconds total);

 private:
  void work_beside(Seconds time);

  StageTimeline timeline_;
  MemoryTrack memory_;
  Seconds now_, data_free_, messages_free_;
  double slowdown_;
  bool keep_spans_;
};

}  // namespace hexaplan::costmodel
