#include "gui/plot/timeline_geometry.h"

#include <QCoreApplication>
#include <algorithm>
#include <cassert>

namespace hexaplan::gui {

std::size_t TimelineData::spanCount() const {
  std::size_t count = 0;
  for (const TimelineLane& lane : lanes) count += lane.spans.size();
  return count;
}

void nameInks(TimelineData& data, std::span<const InkName> names, const char* context) {
  std::array<bool, kInks> used{};
  const auto use = [&](Ink ink) -> bool& { return used[static_cast<std::size_t>(ink)]; };
  for (const TimelineLane& lane : data.lanes) {
    if (lane.idle_is_bubble) use(Ink::Bubble) = true;
    for (const TimelineSpan& span : lane.spans) use(span.ink) = true;
  }
  if (use(Ink::BackwardInput)) use(Ink::Backward) = true;  // one row names both
  for (const InkName& name : names) {
    if (use(name.ink)) data.legend.push_back({name.ink, QCoreApplication::translate(context, name.text)});
  }
}

TimeWindow::TimeWindow(double low, double high, double end) : end_{end} {
  assert(end > 0);
  const double width = std::clamp(high - low, end * 1e-9, end);
  low_ = std::clamp(low, 0.0, end - width);
  high_ = low_ + width;
}

TimeWindow TimeWindow::zoomed(double factor, double around) const {
  const double fixed = std::clamp(around, low_, high_);
  const double width = std::clamp(this->width() * factor, end_ * 1e-9, end_);
  const double share = (fixed - low_) / this->width();
  const double low = fixed - share * width;
  return {low, low + width, end_};
}

TimeWindow TimeWindow::moved(double share) const {
  const double by = std::clamp(share * width(), -low_, std::max(end_ - high_, -low_));
  return {low_ + by, high_ + by, end_};
}

Coverage::Coverage(int columns)
    : columns_{columns}, shares_(static_cast<std::size_t>(columns) * kInks, 0.0F) {
  assert(columns > 0);
}

void Coverage::clear() {
  for (std::size_t k = 0; k < kInks; ++k) {
    if (used_[k]) std::fill_n(start(static_cast<Ink>(k)), columns_, 0.0F);
  }
  used_ = {};
}

const float* Coverage::of(Ink ink) const {
  return shares_.data() + static_cast<std::size_t>(ink) * static_cast<std::size_t>(columns_);
}

float* Coverage::start(Ink ink) {
  used_[static_cast<std::size_t>(ink)] = true;
  return shares_.data() + static_cast<std::size_t>(ink) * static_cast<std::size_t>(columns_);
}

void Coverage::add(const TimelineLane& lane, const TimeWindow& window) {
  const double pixels = columns_ / window.width();
  const auto cover = [&](double begin, double end, Ink ink) {
    const double from = std::max((begin - window.low()) * pixels, 0.0);
    const double to = std::min((end - window.low()) * pixels, static_cast<double>(columns_));
    if (!(from < to)) return;
    auto x = static_cast<int>(from);
    float* const share = start(ink);
    if (to <= x + 1) {
      share[x] += static_cast<float>(to - from);
      return;
    }
    share[x] += static_cast<float>(x + 1 - from);
    for (++x; x + 1 <= to; ++x) share[x] += 1.0F;
    if (x < to) share[x] += static_cast<float>(to - x);
  };
  double previous_end = window.low();
  for (std::size_t i = firstEndingAfter(lane, window.low()); i < lane.spans.size(); ++i) {
    const TimelineSpan& span = lane.spans[i];
    if (span.begin >= window.high()) break;
    if (lane.idle_is_bubble && span.begin > previous_end) cover(previous_end, span.begin, Ink::Bubble);
    cover(span.begin, span.end, span.ink);
    previous_end = span.end;
  }
  if (lane.idle_is_bubble && previous_end < window.high()) cover(previous_end, window.high(), Ink::Bubble);
}

std::size_t firstEndingAfter(const TimelineLane& lane, double time) {
  const auto it = std::lower_bound(lane.spans.begin(), lane.spans.end(), time,
                                   [](const TimelineSpan& span, double t) { return span.end <= t; });
  return static_cast<std::size_t>(it - lane.spans.begin());
}

std::size_t spanAt(const TimelineLane& lane, double time) {
  const std::size_t i = firstEndingAfter(lane, time);
  return i < lane.spans.size() && lane.spans[i].begin <= time ? i : lane.spans.size();
}

}  // namespace hexaplan::gui
