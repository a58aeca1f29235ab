#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/ptx/launch.h"

namespace hexaplan::tests::ptx {

/// What the threads of one block share.
struct Block {
  const Kernel& kernel;
  const Grid& grid;
  const std::byte* arguments;
  GlobalMemory& memory;
  Dim3 index;
  std::vector<std::byte> shared;
  Shadow shared_shadow;
  Moment now;  // of thread 0
  Work& work;
};

/// Up to 32 threads that run together.
class Warp {
 public:
  Warp(Block& block, unsigned first_thread, unsigned threads);

  /// Until all of its threads have ended or wait at the block's barrier.
  void run();
  [[nodiscard]] bool ended() const { return live_ == 0; }
  /// The instruction of the barrier at which it waits.
  [[nodiscard]] std::uint32_t waits_at() const { return pc_; }
  void pass_barrier();

 private:
  void choose_lanes();
  void step();
  void branch(const Instruction& in, Mask taken);
  bool meet(const Instruction& in, Mask members);
  Mask all_wait_alike();
  void shuffle(const Instruction& in, Mask mask);
  void ballot(const Instruction& in, Mask mask);
  void access(const Instruction& in, Mask mask);
  void access_global(const Instruction& in, unsigned lane, std::uint64_t address, std::byte* value);
  void access_shared(const Instruction& in, unsigned lane, std::uint64_t address, std::byte* value);
  void access_local(const Instruction& in, unsigned lane, std::uint64_t address, std::byte* value);
  void read_argument(const Instruction& in, unsigned lane, std::uint64_t address, std::byte* value) const;
  [[nodiscard]] Moment now(unsigned lane) const;
  [[noreturn]] void fail(const Instruction& in, unsigned lane, const std::string& what) const;

  Block& block_;
  unsigned first_thread_;
  std::vector<Lanes> registers_;
  std::array<std::uint32_t, kLanes> pcs_{};  // of lanes that do not run now
  Mask all_, live_, running_ = 0,
                    waiting_ = 0;       // waiting: for other lanes, at an operation of the warp or the block
  std::uint32_t pc_ = 0, next_pc_ = 0;  // next_pc_: the lowest of lanes that could run and do not
  bool at_barrier_ = false;
  std::uint16_t warp_segment_ = 0;
  std::vector<std::byte> local_;
  std::vector<std::uint8_t> local_written_;
};

}  // namespace hexaplan::tests::ptx
