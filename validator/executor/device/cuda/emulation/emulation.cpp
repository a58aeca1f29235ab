#include "validator/executor/device/cuda/emulation/emulation.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "validator/executor/device/cuda/emulation/fiber.h"

namespace hexaplan::validator::cuda::emulation {
namespace {

constexpr std::size_t kLanes = 32;
constexpr std::size_t kSharedAlignment = 256;
constexpr unsigned char kUnwritten = 0xff;  // a not-a-number in every element

enum class State : std::uint8_t { Ready, AtBarrier, InWarp, Done };

/// Where a thread waits: the line of the call and how many of its kind the thread has made.
struct Place {
  int line = 0;
  int count = 0;
  friend bool operator==(const Place&, const Place&) = default;
};

struct Thread {
  std::unique_ptr<Fiber> fiber;
  State state = State::Done;
  Place barrier, warp;  // the last ones
};

/// One per host thread: what a streaming multiprocessor does with one block at a time.
class Multiprocessor {
 public:
  void run(const Launch& launch, const std::function<void()>& kernel);
  void set_order(Order order) { order_ = order; }
  void* shared_memory() { return shared_; }
  void sync_block(int line);
  void sync_warp(int line);
  const std::uint64_t* exchange(std::uint64_t mine, int line);

 private:
  static void thread_main();
  void prepare(const Launch& launch);
  void run_block(std::size_t threads);
  void run_warp(std::size_t first);
  void run_thread(std::size_t index);
  /// Lets all threads pass the barrier; false when nobody waits any more.
  bool release(std::size_t threads);
  bool release_warp(std::size_t first);
  [[nodiscard]] std::string who_waits(std::size_t threads) const;

  HostStack host_;
  std::vector<Thread> threads_;
  std::size_t current_ = 0;
  const std::function<void()>* kernel_ = nullptr;
  Order order_ = Order::Forward;
  std::vector<std::byte> shared_bytes_;
  void* shared_ = nullptr;
  // Two places per lane, in turn: who reads the last exchange may be behind who writes the next.
  std::array<std::vector<std::uint64_t>, 2> lanes_;
};

Multiprocessor& here() {
  static thread_local Multiprocessor mine;
  return mine;
}

void Multiprocessor::thread_main() {
  Multiprocessor& processor = here();
  processor.threads_[processor.current_].fiber->arrived();
  for (;;) {
    (*processor.kernel_)();
    Thread& thread = processor.threads_[processor.current_];
    thread.state = State::Done;
    thread.fiber->pause();
  }
}

void Multiprocessor::prepare(const Launch& launch) {
  const std::size_t count = std::size_t{launch.block.x} * launch.block.y * launch.block.z;
  assert(count % kLanes == 0 && launch.block.z == 1);
  while (threads_.size() < count)
    threads_.push_back({.fiber = std::make_unique<Fiber>(host_, &thread_main), .barrier = {}, .warp = {}});
  for (auto& lanes : lanes_) lanes.resize(threads_.size());
  shared_bytes_.resize(launch.shared_bytes + kSharedAlignment);
  void* begin = shared_bytes_.data();
  std::size_t space = shared_bytes_.size();
  shared_ = std::align(kSharedAlignment, launch.shared_bytes, begin, space);
}

void Multiprocessor::run(const Launch& launch, const std::function<void()>& kernel) {
  prepare(launch);
  kernel_ = &kernel;
  blockDim = launch.block;
  gridDim = launch.grid;
  const std::size_t blocks = std::size_t{launch.grid.x} * launch.grid.y * launch.grid.z;
  for (std::size_t i = 0; i < blocks; ++i) {
    const std::size_t block = order_ == Order::Forward ? i : blocks - 1 - i;
    blockIdx = {static_cast<unsigned>(block % launch.grid.x),
                static_cast<unsigned>(block / launch.grid.x % launch.grid.y),
                static_cast<unsigned>(block / launch.grid.x / launch.grid.y)};
    std::memset(shared_, kUnwritten, launch.shared_bytes);
    run_block(std::size_t{launch.block.x} * launch.block.y);
  }
}

void Multiprocessor::run_block(std::size_t threads) {
  for (std::size_t i = 0; i < threads; ++i) {
    threads_[i].state = State::Ready;
    threads_[i].barrier = threads_[i].warp = {};
  }
  do {
    for (std::size_t i = 0; i < threads; i += kLanes)
      run_warp(order_ == Order::Forward ? i : threads - kLanes - i);
  } while (release(threads));
}

/// As far as it gets before the next one runs: to the block's next barrier.
void Multiprocessor::run_warp(std::size_t first) {
  do {
    for (std::size_t i = 0; i < kLanes; ++i) {
      const std::size_t index = first + (order_ == Order::Forward ? i : kLanes - 1 - i);
      if (threads_[index].state == State::Ready) run_thread(index);
    }
  } while (release_warp(first));
}

void Multiprocessor::run_thread(std::size_t index) {
  current_ = index;
  threadIdx = {static_cast<unsigned>(index) % blockDim.x, static_cast<unsigned>(index) / blockDim.x, 0};
  threads_[index].fiber->resume();
}

bool Multiprocessor::release(std::size_t threads) {
  const auto begin = threads_.begin(), end = begin + static_cast<std::ptrdiff_t>(threads);
  if (std::all_of(begin, end, [](const Thread& t) { return t.state == State::Done; })) return false;
  const Place place = begin->barrier;
  const bool all_there = std::all_of(
      begin, end, [&](const Thread& t) { return t.state == State::AtBarrier && t.barrier == place; });
  if (!all_there) {
    const std::string waiting = who_waits(threads);
    threads_.clear();  // paused in the middle of the kernel: new ones for the next
    throw std::logic_error("threads of a block do not meet: " + waiting);
  }
  std::for_each(begin, end, [](Thread& t) { t.state = State::Ready; });
  return true;
}

bool Multiprocessor::release_warp(std::size_t first) {
  const auto begin = threads_.begin() + static_cast<std::ptrdiff_t>(first), end = begin + kLanes;
  const Place place = begin->warp;
  const bool all_there =
      std::all_of(begin, end, [&](const Thread& t) { return t.state == State::InWarp && t.warp == place; });
  if (all_there) std::for_each(begin, end, [](Thread& t) { t.state = State::Ready; });
  return all_there;
}

std::string Multiprocessor::who_waits(std::size_t threads) const {
  std::string text, before;
  std::size_t ended = 0;
  for (std::size_t i = 0; i < threads; ++i) {
    const Thread& t = threads_[i];
    if (t.state == State::Done) {
      ++ended;
      continue;
    }
    const bool barrier = t.state == State::AtBarrier;
    const std::string where = (barrier ? " at the barrier of line " : " in the warp operation of line ") +
                              std::to_string((barrier ? t.barrier : t.warp).line);
    if (where != before) text += "thread " + std::to_string(i) + where + ", ";
    before = where;
  }
  return text + std::to_string(ended) + " of " + std::to_string(threads) + " have ended";
}

void Multiprocessor::sync_block(int line) {
  Thread& thread = threads_[current_];
  thread.barrier = {line, thread.barrier.count + 1};
  thread.state = State::AtBarrier;
  thread.fiber->pause();
}

void Multiprocessor::sync_warp(int line) {
  Thread& thread = threads_[current_];
  thread.warp = {line, thread.warp.count + 1};
  thread.state = State::InWarp;
  thread.fiber->pause();
}

const std::uint64_t* Multiprocessor::exchange(std::uint64_t mine, int line) {
  const std::size_t me = current_;
  std::vector<std::uint64_t>& lanes = lanes_[static_cast<std::size_t>(threads_[me].warp.count % 2)];
  lanes[me] = mine;
  sync_warp(line);
  return &lanes[me / kLanes * kLanes];
}

}  // namespace

void run(const Launch& launch, const std::function<void()>& kernel) {
  here().run(launch, kernel);
}
void set_order(Order order) {
  here().set_order(order);
}
void* shared_memory() {
  return here().shared_memory();
}
void sync_block(int line) {
  here().sync_block(line);
}
void sync_warp(int line) {
  here().sync_warp(line);
}
const std::uint64_t* exchange(std::uint64_t mine, int line) {
  return here().exchange(mine, line);
}

}  // namespace hexaplan::validator::cuda::emulation
