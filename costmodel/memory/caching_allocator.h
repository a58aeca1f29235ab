#pragma once
#include <array>
#include <cstdint>
#include <deque>
#include <limits>
#include <optional>
#include <set>
#include <vector>

#include "costmodel/units/quantity.h"

namespace hexaplan::costmodel {

/// What PYTORCH_CUDA_ALLOC_CONF can say, with PyTorch's defaults. Sizes in bytes.
struct AllocatorSettings {
  static constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max();
  bool expandable_segments = false;
  /// Blocks of this size and more are not split (max_split_size_mb).
  std::int64_t max_split_size = kUnlimited;
  /// Above this share of `capacity` cached segments that wait longest are freed before new ones are taken;
  /// 0: never.
  double garbage_collection_threshold = 0;
  /// Sizes are rounded up to one of so many steps between powers of two (roundup_power2_divisions); 0: to 512
  /// bytes.
  std::int64_t roundup_power2_divisions = 0;
  std::int64_t capacity = kUnlimited;  // that the driver can give
};

/// A CUDA stream, by number. A block belongs to the stream that asked for it: freed, it serves no other.
using StreamNumber = std::int32_t;
/// Names an allocation until it is freed.
using AllocationId = std::uint32_t;

/// What the allocator holds, in bytes.
struct AllocatorUse {
  Bytes allocated, peak_allocated;  // sizes after rounding
  Bytes reserved, peak_reserved;    // taken from the driver
  Bytes largest_free;               // block
  std::int64_t segments = 0;        // cudaMalloc'ed ones that are held
  std::int64_t retries = 0;         // times that everything unused was freed because the driver had no more
  [[nodiscard]] Bytes cached() const { return reserved - allocated; }
};

/// Memory that the driver gives, or takes back: a segment, or pages of one that grows.
struct SegmentChange {
  bool taken = true;  // from the driver
  bool pages = false;
  std::int64_t address = 0, size = 0;
  StreamNumber stream = 0;
};

/// Memory that is held: a segment, or adjacent pages of one that grows.
struct SegmentState {
  struct Block {
    std::int64_t size = 0;
    bool allocated = false, pending = false;  // pending: freed, and waits for other streams
    AllocationId id = 0;
  };
  std::int64_t address = 0, size = 0;
  StreamNumber stream = 0;
  bool small = false, grows = false;
  std::vector<Block> blocks;  // side by side
};

/// Sees what the allocator does unasked.
class AllocatorObserver {
 public:
  AllocatorObserver() = default;
  AllocatorObserver(const AllocatorObserver&) = delete;
  AllocatorObserver& operator=(const AllocatorObserver&) = delete;
  virtual ~AllocatorObserver() = default;
  virtual void changed(const SegmentChange& change) = 0;
  /// A freed allocation serves others from now on.
  virtual void returned(AllocationId id) = 0;
};

/// PyTorch's CUDA caching allocator as a state machine over sizes: no memory is touched. The same calls in
/// the same order give the same reserved bytes as the allocator itself, apart from which of equally large
/// free blocks is taken, which depends on addresses: here every new segment lies behind the ones before.
/// Rules: pytorch/pytorch c10/cuda/CUDACachingAllocator.cpp, held against the library of version 2.15
/// (tests/golden/oracle/allocator.json). Not here: private pools of CUDA graphs.  [docs/formulas.md#M7]
class CachingAllocator {
 public:
  explicit CachingAllocator(const AllocatorSettings& settings = {});
  CachingAllocator(const CachingAllocator&) = delete;
  CachingAllocator& operator=(const CachingAllocator&) = delete;
  ~CachingAllocator() = default;

  /// Nothing: out of memory, although everything unused was given back first. Preconditions: bytes > 0, and
  /// below 2^60.
  [[nodiscard]] std::optional<AllocationId> allocate(std::int64_t bytes, StreamNumber stream = 0);
  /// `stream` reads or writes the allocation, too: once freed, it serves nothing else until what the stream
  /// has been given by then is done.
  void record_stream(AllocationId id, StreamNumber stream);
  void free(AllocationId id);
  /// What `stream` has been given so far is done, but for what the last `running` freed allocations wait for.
  /// The allocator notices at the next allocation.
  void complete(StreamNumber stream, std::int64_t running = 0);
  /// Gives back every segment in which nothing lives (torch.cuda.empty_cache).
  void empty_cache();

  [[nodiscard]] AllocatorUse use() const;
  /// Of a live allocation. Where the driver puts segments nobody knows: here each lies behind the ones
  /// before.
  [[nodiscard]] std::int64_t address_of(AllocationId id) const { return blocks_[id].address; }
  /// By address.
  [[nodiscard]] std::vector<SegmentState> segments() const;
  /// `observer` lives as long as the allocator is used.
  void observe(AllocatorObserver& observer) { observer_ = &observer; }
  /// Bytes that a request of `bytes` takes out of its block.
  [[nodiscard]] std::int64_t rounded(std::int64_t bytes) const;

 private:
  struct Block {
    StreamNumber stream = 0;
    bool small = false, allocated = false, mapped = true, expandable = false;
    int events = 0;  // of other streams that have not passed
    std::int64_t size = 0, address = 0;
    std::int64_t segment = 0;   // address of the expandable segment
    std::int64_t inserted = 0;  // searches of the pool when it was freed
    std::vector<StreamNumber> uses;
    Block *previous = nullptr, *next = nullptr;  // neighbours in the segment
    AllocationId id = 0;
    [[nodiscard]] bool is_split() const { return previous != nullptr || next != nullptr; }
  };
  struct BySize {
    bool operator()(const Block* a, const Block* b) const;
  };
  struct ByAddress {
    bool operator()(const Block* a, const Block* b) const;
  };
  struct Pool {
    bool small = false;
    std::set<Block*, BySize> free{};
    std::set<Block*, ByAddress> unmapped{};
    std::int64_t searches = 0;
  };
  struct Event {
    StreamNumber stream;
    Block* block;
    bool done;
  };
  struct Request {
    std::int64_t size, segment_size;
    StreamNumber stream;
  };

  Block* make(const Block& like, std::int64_t address, std::int64_t size);
  void forget(Block* block);
  [[nodiscard]] Pool& pool_of(const Block& block) { return pools_[block.small ? 0 : 1]; }
  void insert(Block* block);
  [[nodiscard]] Block* find_free(Pool& pool, const Request& request);
  [[nodiscard]] Block* take_segment(Pool& pool, const Request& request);
  [[nodiscard]] Block* take_expandable(Pool& pool, const Request& request);
  [[nodiscard]] Block* expandable_candidate(Pool& pool, const Request& request);
  [[nodiscard]] bool map(Block* block, std::int64_t size);
  void unmap(Block* block);
  [[nodiscard]] Block* take_under_pressure(Pool& pool, const Request& request);
  void collect_garbage();
  [[nodiscard]] bool release_oversized(Pool& pool, const Request& request);
  void release_unused();
  void release_pool(Pool& pool);
  void release(Block* block);
  [[nodiscard]] bool splits(const Block& block, std::int64_t size) const;
  Block* split(Block* block, std::int64_t size);
  void return_to_pool(Block* block);
  bool merge(Block* into, Block* neighbour);
  void process_events();
  void note(const Block& block, std::int64_t size, bool taken);

  AllocatorSettings settings_;
  AllocatorObserver* observer_ = nullptr;
  std::array<Pool, 2> pools_;  // small, large
  std::deque<Block> blocks_;
  std::vector<Block*> spare_;
  std::deque<Event> events_;
  std::int64_t next_address_ = 0;
  std::int64_t allocated_ = 0, peak_allocated_ = 0, reserved_ = 0, peak_reserved_ = 0;
  std::int64_t segments_ = 0, retries_ = 0;
};

}  // namespace hexaplan::costmodel
