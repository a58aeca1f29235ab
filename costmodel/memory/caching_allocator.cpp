#include "costmodel/memory/caching_allocator.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <iterator>
#include <tuple>

#include "costmodel/units/ceil_div.h"

namespace hexaplan::costmodel {
namespace {

// pytorch/pytorch c10/cuda/CUDACachingAllocator.cpp: kMinBlockSize, kSmallSize, kSmallBuffer, kMinLargeAlloc,
// kLargeBuffer, kRoundLarge.
constexpr std::int64_t kLeast = 512;
constexpr std::int64_t kMebibyte = std::int64_t{1} << 20;
constexpr std::int64_t kSmallest = kMebibyte;  // the largest size that counts as small
constexpr std::int64_t kSmallSegment = 2 * kMebibyte;
constexpr std::int64_t kLargeFrom = 10 * kMebibyte;  // from here on a segment of its own
constexpr std::int64_t kLargeSegment = 20 * kMebibyte;
constexpr std::int64_t kSegmentStep = 2 * kMebibyte;
constexpr std::int64_t kAddresses = std::int64_t{1} << 62;  // no segment's are used again

std::int64_t segment_size(std::int64_t size) {
  if (size <= kSmallest) return kSmallSegment;
  return size < kLargeFrom ? kLargeSegment : ceil_div(size, kSegmentStep) * kSegmentStep;
}

}  // namespace

bool CachingAllocator::BySize::operator()(const Block* a, const Block* b) const {
  return std::tie(a->stream, a->size, a->address) < std::tie(b->stream, b->size, b->address);
}
bool CachingAllocator::ByAddress::operator()(const Block* a, const Block* b) const {
  return std::tie(a->stream, a->address) < std::tie(b->stream, b->address);
}

CachingAllocator::CachingAllocator(const AllocatorSettings& settings)
    : settings_{settings}, pools_{Pool{.small = true}, Pool{.small = false}} {}

std::int64_t CachingAllocator::rounded(std::int64_t bytes) const {
  const std::int64_t divisions = settings_.roundup_power2_divisions;
  if (divisions <= 1 || bytes <= kLeast * divisions)
    return std::max(kLeast, ceil_div(bytes, kLeast) * kLeast);
  const auto size = static_cast<std::uint64_t>(bytes);
  if (std::has_single_bit(size)) return bytes;
  const std::uint64_t floor = std::bit_floor(size);
  const std::uint64_t step = floor >> (std::bit_width(static_cast<std::uint64_t>(divisions)) - 1);
  return static_cast<std::int64_t>(step == 0 ? floor * 2 : (size + step - 1) / step * step);
}

CachingAllocator::Block* CachingAllocator::make(const Block& like, std::int64_t address, std::int64_t size) {
  if (spare_.empty()) {
    const auto id = static_cast<AllocationId>(blocks_.size());
    spare_.push_back(&blocks_.emplace_back());
    spare_.back()->id = id;
  }
  Block* block = spare_.back();
  spare_.pop_back();
  block->stream = like.stream;
  block->small = like.small;
  block->expandable = like.expandable;
  block->segment = like.segment;
  block->allocated = false;
  block->mapped = true;
  block->address = address;
  block->size = size;
  block->previous = block->next = nullptr;
  return block;
}

void CachingAllocator::forget(Block* block) {
  assert(block->uses.empty() && block->events == 0);
  spare_.push_back(block);
}

void CachingAllocator::insert(Block* block) {
  Pool& pool = pool_of(*block);
  block->inserted = pool.searches;
  pool.free.insert(block);
}

/// The first `size` bytes of the block are taken from the driver, or given back.
void CachingAllocator::note(const Block& block, std::int64_t size, bool taken) {
  reserved_ += taken ? size : -size;
  peak_reserved_ = std::max(peak_reserved_, reserved_);
  if (observer_ != nullptr) observer_->changed({taken, block.expandable, block.address, size, block.stream});
}

std::optional<AllocationId> CachingAllocator::allocate(std::int64_t bytes, StreamNumber stream) {
  assert(bytes > 0);
  process_events();
  const std::int64_t size = rounded(bytes);
  Pool& pool = pools_[size <= kSmallest ? 0 : 1];
  const Request request{size, segment_size(size), stream};
  Block* block = find_free(pool, request);
  if (block == nullptr) block = take_under_pressure(pool, request);
  if (block == nullptr) return std::nullopt;
  if (splits(*block, size)) block = split(block, size);
  block->allocated = true;
  allocated_ += block->size;
  peak_allocated_ = std::max(peak_allocated_, allocated_);
  return block->id;
}

/// A new segment; where the driver has none: oversized blocks first, then whatever is unused is given back.
CachingAllocator::Block* CachingAllocator::take_under_pressure(Pool& pool, const Request& request) {
  if (settings_.garbage_collection_threshold > 0) collect_garbage();
  if (Block* block = take_segment(pool, request)) return block;
  if (release_oversized(pool, request)) {
    if (Block* block = take_segment(pool, request)) return block;
  }
  release_unused();
  ++retries_;
  return take_segment(pool, request);
}

/// Best fit: the smallest block of the stream that is large enough, of equal ones that at the lowest address.
CachingAllocator::Block* CachingAllocator::find_free(Pool& pool, const Request& request) {
  ++pool.searches;
  Block key;
  key.stream = request.stream;
  key.size = request.size;
  key.address = std::numeric_limits<std::int64_t>::min();
  auto at = pool.free.lower_bound(&key);
  if (at == pool.free.end() || (*at)->stream != request.stream) return nullptr;
  if ((*at)->expandable) {
    // A block that can still grow counts as large as it can become.
    const auto can_become = [](const Block* b) {
      return b->size + (b->next != nullptr && !b->next->mapped ? b->next->size : 0);
    };
    for (auto next = std::next(at);
         next != pool.free.end() && (*next)->stream == request.stream && can_become(*next) < can_become(*at);
         ++next)
      at = next;
  }
  const bool oversized = (*at)->size >= settings_.max_split_size;
  if (request.size < settings_.max_split_size) {
    if (oversized) return nullptr;
  } else if ((*at)->size >= request.size + kLargeSegment) {
    return nullptr;
  }
  Block* block = *at;
  pool.free.erase(at);
  return block;
}

CachingAllocator::Block* CachingAllocator::take_segment(Pool& pool, const Request& request) {
  if (settings_.expandable_segments) return take_expandable(pool, request);
  if (request.segment_size > settings_.capacity - reserved_ ||
      request.segment_size > kAddresses - next_address_)
    return nullptr;
  Block like;
  like.stream = request.stream;
  like.small = pool.small;
  Block* block = make(like, next_address_, request.segment_size);
  next_address_ += request.segment_size;
  note(*block, request.segment_size, true);
  ++segments_;
  return block;
}

/// The lowest address at which the request fits, free parts in front of what is not mapped included; else a
/// new segment, with room for one and an eighth times the card's memory.
CachingAllocator::Block* CachingAllocator::expandable_candidate(Pool& pool, const Request& request) {
  const auto usable = [](const Block* b) {
    return b != nullptr && !b->allocated && b->events == 0 && b->uses.empty();
  };
  Block key;
  key.stream = request.stream;
  key.address = std::numeric_limits<std::int64_t>::min();
  for (auto at = pool.unmapped.lower_bound(&key);
       at != pool.unmapped.end() && (*at)->stream == request.stream; ++at) {
    Block* first = usable((*at)->previous) ? (*at)->previous : *at;
    std::int64_t room = 0;
    for (const Block* b = first; room < request.size && usable(b); b = b->next) room += b->size;
    if (room >= request.size) return first;
  }
  const std::int64_t page = pool.small ? kSmallSegment : kLargeSegment;
  constexpr std::int64_t kEnough = std::int64_t{1} << 44;  // where the card's memory is not said
  const std::int64_t card = std::min(settings_.capacity, kEnough);
  const std::int64_t size = ceil_div(card + card / 8, page) * page;
  if (request.size > size || size > kAddresses - next_address_) return nullptr;
  Block like;
  like.stream = request.stream;
  like.small = pool.small;
  like.expandable = true;
  like.segment = next_address_;
  Block* block = make(like, like.segment, size);
  block->mapped = false;
  next_address_ += size;
  pool.unmapped.insert(block);
  return block;
}

CachingAllocator::Block* CachingAllocator::take_expandable(Pool& pool, const Request& request) {
  Block* block = expandable_candidate(pool, request);
  if (block == nullptr || (!block->mapped && !map(block, std::min(block->size, request.size))))
    return nullptr;
  while (block->size < request.size) {
    Block* next = block->next;
    if (!map(next, std::min(request.size - block->size, next->size))) return nullptr;
    block = next;  // which has taken the free part before it
  }
  pool.free.erase(block);
  return block;
}

/// Whole pages from the block's beginning on. False: the driver has no more.
bool CachingAllocator::map(Block* block, std::int64_t size) {
  Pool& pool = pool_of(*block);
  const std::int64_t page = pool.small ? kSmallSegment : kLargeSegment;
  const std::int64_t mapped = ceil_div(size, page) * page;
  if (mapped > settings_.capacity - reserved_) return false;
  note(*block, mapped, true);
  pool.unmapped.erase(block);
  block->mapped = true;
  if (mapped < block->size) {
    Block* rest = make(*block, block->address + mapped, block->size - mapped);
    rest->mapped = false;
    rest->previous = block;
    rest->next = block->next;
    if (rest->next != nullptr) rest->next->previous = rest;
    block->next = rest;
    block->size = mapped;
    pool.unmapped.insert(rest);
  }
  merge(block, block->previous);
  merge(block, block->next);
  insert(block);
  return true;
}

bool CachingAllocator::splits(const Block& block, std::int64_t size) const {
  const std::int64_t rest = block.size - size;
  if (block.small || settings_.expandable_segments) return rest >= kLeast;
  return size < settings_.max_split_size && rest > kSmallest;
}

/// The first `size` bytes of the block; the rest is free.
CachingAllocator::Block* CachingAllocator::split(Block* block, std::int64_t size) {
  Block* first = make(*block, block->address, size);
  first->previous = block->previous;
  if (first->previous != nullptr) first->previous->next = first;
  first->next = block;
  block->previous = first;
  block->address += size;
  block->size -= size;
  insert(block);
  return first;
}

void CachingAllocator::record_stream(AllocationId id, StreamNumber stream) {
  Block& block = blocks_[id];
  if (stream == block.stream) return;
  if (std::find(block.uses.begin(), block.uses.end(), stream) == block.uses.end())
    block.uses.push_back(stream);
}

void CachingAllocator::free(AllocationId id) {
  Block* block = &blocks_[id];
  assert(block->allocated);
  block->allocated = false;
  allocated_ -= block->size;
  if (block->uses.empty()) return return_to_pool(block);
  for (const StreamNumber stream : block->uses) {
    events_.push_back({stream, block, false});
    ++block->events;
  }
  block->uses.clear();
}

void CachingAllocator::complete(StreamNumber stream, std::int64_t running) {
  for (auto event = events_.rbegin(); event != events_.rend(); ++event) {
    if (event->stream == stream && running-- <= 0) event->done = true;
  }
}

void CachingAllocator::process_events() {
  if (events_.empty()) return;
  // By stream in its order; streams do not wait for one another.
  for (Event& event : events_) {
    if (event.done && --event.block->events == 0) return_to_pool(event.block);
  }
  std::erase_if(events_, [](const Event& event) { return event.done; });
}

void CachingAllocator::return_to_pool(Block* block) {
  if (observer_ != nullptr) observer_->returned(block->id);
  merge(block, block->previous);
  merge(block, block->next);
  insert(block);
}

/// True when `neighbour`, free and mapped as `into` is, became part of it.
bool CachingAllocator::merge(Block* into, Block* neighbour) {
  if (neighbour == nullptr || neighbour->allocated || neighbour->events > 0 || !neighbour->uses.empty() ||
      neighbour->mapped != into->mapped)
    return false;
  Pool& pool = pool_of(*into);
  if (neighbour->mapped) {
    pool.free.erase(neighbour);
  } else {
    pool.unmapped.erase(neighbour);
  }
  if (into->previous == neighbour) {
    into->address = neighbour->address;
    into->previous = neighbour->previous;
    if (into->previous != nullptr) into->previous->next = into;
  } else {
    into->next = neighbour->next;
    if (into->next != nullptr) into->next->previous = into;
  }
  into->size += neighbour->size;
  forget(neighbour);
  return true;
}

void CachingAllocator::release(Block* block) {
  pool_of(*block).free.erase(block);
  note(*block, block->size, false);
  --segments_;
  forget(block);
}

/// Frees large segments in which nothing lives, those first that have waited longer than the mean, until what
/// is held has fallen to the threshold.
void CachingAllocator::collect_garbage() {
  const auto threshold = static_cast<std::int64_t>(settings_.garbage_collection_threshold *
                                                   static_cast<double>(settings_.capacity));
  if (reserved_ <= threshold) return;
  const std::int64_t target = reserved_ - threshold;
  Pool& pool = pools_[1];
  const auto age = [&](const Block* b) { return pool.searches - b->inserted; };
  const auto can_go = [](const Block* b) { return !b->is_split() && !b->expandable; };
  std::int64_t ages = 0, count = 0, freed = 0;
  for (const Block* b : pool.free) {
    if (!can_go(b)) continue;
    ages += age(b);
    ++count;
  }
  for (bool any = true; freed < target && any && count > 0;) {
    any = false;
    const double mean = static_cast<double>(ages) / static_cast<double>(count);
    for (auto at = pool.free.begin(); at != pool.free.end();) {
      Block* block = *at++;
      if (!can_go(block) || static_cast<double>(age(block)) < mean) continue;
      any = true;
      freed += block->size;
      ages -= age(block);
      --count;
      release(block);
    }
  }
}

/// With max_split_size: the smallest oversized block that is large enough, or the largest ones until they
/// are.
bool CachingAllocator::release_oversized(Pool& pool, const Request& request) {
  if (settings_.max_split_size == AllocatorSettings::kUnlimited || settings_.expandable_segments)
    return false;
  Block key;
  key.stream = request.stream;
  key.size = std::max(request.size, settings_.max_split_size);
  key.address = std::numeric_limits<std::int64_t>::min();
  auto at = pool.free.lower_bound(&key);
  if (at != pool.free.end() && (*at)->stream == request.stream) {
    release(*at);
    return true;
  }
  std::int64_t freed = 0;
  while (at != pool.free.begin() && freed < key.size) {
    Block* block = *--at;
    if (block->size < settings_.max_split_size || block->stream != request.stream) break;
    freed += block->size;
    at = std::next(at);
    release(block);
  }
  return freed >= key.size;
}

void CachingAllocator::release_unused() {
  for (Event& event : events_) event.done = true;  // the host waits for all of them
  process_events();
  release_pool(pools_[1]);
  release_pool(pools_[0]);
}

void CachingAllocator::release_pool(Pool& pool) {
  std::vector<Block*> to_unmap;
  for (auto at = pool.free.begin(); at != pool.free.end();) {
    Block* block = *at++;
    if (block->expandable) {
      to_unmap.push_back(block);
    } else if (!block->is_split()) {
      release(block);
    }
  }
  for (Block* block : to_unmap) {
    unmap(block);
    if (block->is_split() || block->mapped) continue;
    pool.unmapped.erase(block);
    forget(block);
  }
}

/// Gives back the pages that the free block covers whole.
void CachingAllocator::unmap(Block* block) {
  Pool& pool = pool_of(*block);
  const std::int64_t page = pool.small ? kSmallSegment : kLargeSegment;
  const std::int64_t begin = block->segment + ceil_div(block->address - block->segment, page) * page;
  const std::int64_t end = block->segment + (block->address + block->size - block->segment) / page * page;
  if (begin >= end) return;
  pool.free.erase(block);
  const auto part = [&](std::int64_t address, std::int64_t size, Block* before, Block* after) {
    Block* rest = make(*block, address, size);
    rest->previous = before;
    rest->next = after;
    if (before != nullptr) before->next = rest;
    if (after != nullptr) after->previous = rest;
    insert(rest);
  };
  if (begin > block->address) part(block->address, begin - block->address, block->previous, block);
  if (const std::int64_t rest = block->address + block->size - end; rest > 0)
    part(end, rest, block, block->next);
  block->address = begin;
  block->size = end - begin;
  block->mapped = false;
  note(*block, block->size, false);
  merge(block, block->previous);
  merge(block, block->next);
  pool.unmapped.insert(block);
}

void CachingAllocator::empty_cache() {
  release_unused();
}

AllocatorUse CachingAllocator::use() const {
  const auto bytes = [](std::int64_t n) { return Bytes{static_cast<double>(n)}; };
  std::int64_t largest = 0;
  for (const Pool& pool : pools_) {
    for (const Block* b : pool.free) largest = std::max(largest, b->size);
  }
  return {.allocated = bytes(allocated_),
          .peak_allocated = bytes(peak_allocated_),
          .reserved = bytes(reserved_),
          .peak_reserved = bytes(peak_reserved_),
          .largest_free = bytes(largest),
          .segments = segments_,
          .retries = retries_};
}

std::vector<SegmentState> CachingAllocator::segments() const {
  std::vector<SegmentState> segments;
  const std::set<const Block*> unused(spare_.begin(), spare_.end());
  for (const Block& first : blocks_) {
    if (first.previous != nullptr || unused.contains(&first)) continue;
    bool before = false;  // what lies before is held
    for (const Block* block = &first; block != nullptr; block = block->next) {
      if (block->mapped && !before)
        segments.push_back({.address = block->address,
                            .stream = block->stream,
                            .small = block->small,
                            .grows = block->expandable});
      before = block->mapped;
      if (!block->mapped) continue;
      const bool pending = !block->allocated && block->events > 0;
      segments.back().size += block->size;
      segments.back().blocks.push_back({block->size, block->allocated, pending, block->id});
    }
  }
  std::sort(segments.begin(), segments.end(),
            [](const SegmentState& a, const SegmentState& b) { return a.address < b.address; });
  return segments;
}

}  // namespace hexaplan::costmodel
