#include "validator/executor/memory/tracking_allocator.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <chrono>
#include <cstddef>
#include <utility>

namespace hexaplan::validator {
namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::vector<LiveTensor> largest_first(std::vector<LiveTensor> tensors) {
  std::erase_if(tensors, [](const LiveTensor& t) { return t.bytes == 0; });
  std::stable_sort(tensors.begin(), tensors.end(),
                   [](const LiveTensor& a, const LiveTensor& b) { return a.bytes > b.bytes; });
  return tensors;
}

}  // namespace

OutOfMemory::OutOfMemory(const TensorLabel& label, std::int64_t requested, std::int64_t live,
                         std::int64_t limit)
    : std::runtime_error{"out of memory"},
      name_{label.name},
      kind_{label.kind},
      requested_{requested},
      live_{live},
      limit_{limit},
      text_{fmt::format("{} needs {} bytes; {} of {} are in use", label.name, requested, live, limit)} {}

void OutOfMemory::place_in(StepPlace where) {
  if (place_) return;
  text_ = fmt::format("{}: {}", where.text, text_);
  place_ = std::move(where);
}

TrackingAllocator::TrackingAllocator() : started_{now()} {}

std::int64_t TrackingAllocator::ledger_bytes(const TensorLabel& label, std::int64_t elements) {
  return (elements * costmodel::bits_per_element(label.dtype) + 7) / 8;
}

void TrackingAllocator::allocated(const TensorLabel& label, std::int64_t elements) {
  const std::int64_t bytes = ledger_bytes(label, elements);
  if (limit_ > 0 && total_ + bytes > limit_) throw OutOfMemory{label, bytes, total_, limit_};
  change(label, bytes);
  note_peaks();
}

void TrackingAllocator::note_peaks() {
  InstantPeak& here = instants_[costmodel::index_of(instant_)];
  if (total_ > here.total) here = {.total = total_, .live = live_};
  if (total_ > peak_) {
    peak_ = total_;
    peak_by_kind_ = live_;
    at_peak_ = tensors_;
  }
}

void TrackingAllocator::enter(costmodel::Instant instant) {
  instant_ = instant;
  note_peaks();
}

void TrackingAllocator::relabelled(const TensorLabel& from, const TensorLabel& to, std::int64_t elements) {
  assert(costmodel::bits_per_element(from.dtype) == costmodel::bits_per_element(to.dtype));
  change(from, -ledger_bytes(from, elements));
  change(to, ledger_bytes(to, elements));
}

void TrackingAllocator::released(const TensorLabel& label, std::int64_t elements) {
  change(label, -ledger_bytes(label, elements));
}

void TrackingAllocator::change(const TensorLabel& label, std::int64_t bytes) {
  auto found = std::find_if(tensors_.begin(), tensors_.end(), [&](const LiveTensor& t) {
    return t.kind == label.kind && t.name == label.name;
  });
  if (found == tensors_.end()) {
    found = tensors_.insert(found, {.name = label.name, .kind = label.kind, .bytes = 0});
  }
  found->bytes += bytes;
  live_[static_cast<std::size_t>(label.kind)] += bytes;
  total_ += bytes;
  assert(found->bytes >= 0 && total_ >= 0);
  if (keeps_timeline_) sample();
}

void TrackingAllocator::sample() {
  timeline_.push_back({.seconds = now() - started_, .live = live_});
}

std::vector<LiveTensor> TrackingAllocator::live_tensors() const {
  return largest_first(tensors_);
}

std::vector<LiveTensor> TrackingAllocator::peak_tensors() const {
  return largest_first(at_peak_);
}

void TrackingAllocator::reset_peak() {
  peak_ = 0;
  instants_ = {};
  note_peaks();
  timeline_.clear();
}

}  // namespace hexaplan::validator
