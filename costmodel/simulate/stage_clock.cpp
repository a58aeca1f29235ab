#include "costmodel/simulate/stage_clock.h"

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace hexaplan::costmodel {
namespace {

/// The latest entry, which the next one may lengthen or replace.
template <class Entry>
std::optional<Entry> hold_back(std::vector<Entry>& entries, Piece piece) {
  if (piece == Piece::Last || entries.empty()) return std::nullopt;
  const Entry latest = entries.back();
  entries.pop_back();
  return latest;
}

template <class Entry>
void start_again(std::vector<Entry>& entries, const std::optional<Entry>& latest) {
  entries.clear();
  if (latest) entries.push_back(*latest);
}

}  // namespace

StageClock::StageClock(MemoryTrack memory, Seconds begin, double slowdown, std::size_t spans)
    : memory_{std::move(memory)},
      now_{begin},
      data_free_{begin},
      messages_free_{begin},
      slowdown_{slowdown},
      keep_spans_{spans > 0} {
  timeline_.begin = begin;
  for (const Stream stream : {Stream::Compute, Stream::Collectives, Stream::Messages})
    timeline_.streams[static_cast<std::size_t>(stream)].reserve(spans);
  memory_.enter(begin, kIdle);
}

void StageClock::wait_for_data(Seconds until) {
  if (until <= now_) return;
  times().data_parallel += until - now_;
  now_ = until;
}

void StageClock::work_beside(Seconds time) {
  const Seconds beside = data_free_ - now_;
  const Seconds done = beside / slowdown_;
  const Seconds takes = time <= done ? time * slowdown_ : beside + (time - done);
  times().data_parallel += takes - time;
  now_ += takes;
}

Seconds StageClock::send(Seconds time, double waited, Seconds host, Span span) {
  span.begin = larger(now_, messages_free_);
  span.end = messages_free_ = span.begin + time;
  if (time > Seconds{}) draw(Stream::Messages, span);
  spend(time * waited + host, &SimulatedTimes::messages);
  return span.end + host;
}

Seconds StageClock::transfer(Seconds time, SpanKind kind, int chunk) {
  const Seconds begin = larger(now_, data_free_);
  data_free_ = begin + time;
  auto& drawn = timeline_.streams[static_cast<std::size_t>(Stream::Data)];
  const bool goes_on =
      !drawn.empty() && drawn.back().end == begin && drawn.back().kind == kind && drawn.back().chunk == chunk;
  if (goes_on) {
    drawn.back().end = data_free_;
  } else {
    draw(Stream::Data, {begin, data_free_, -1, static_cast<std::int16_t>(chunk), kind});
  }
  return begin;
}

void StageClock::hand_over(int stage, Piece piece, const TakePiece& take) {
  auto& transfers = timeline_.streams[static_cast<std::size_t>(Stream::Data)];
  timeline_.memory.swap(memory_.points());
  const auto transfer = hold_back(transfers, piece);
  const auto point = hold_back(timeline_.memory, piece);
  take(stage, timeline_);
  for (auto& spans : timeline_.streams) spans.clear();
  start_again(transfers, transfer);
  start_again(timeline_.memory, point);
  timeline_.memory.swap(memory_.points());
}

StageTimeline StageClock::take(Seconds total) {
  timeline_.memory = memory_.take();
  timeline_.peak = memory_.peak();
  timeline_.outside = memory_.outside();
  timeline_.microbatches_in_flight = memory_.most_in_flight();
  times().bubble = Seconds{};
  times().bubble = larger(Seconds{}, total - times().total());
  return std::move(timeline_);
}

}  // namespace hexaplan::costmodel
