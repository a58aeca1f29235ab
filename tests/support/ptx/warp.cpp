#include "tests/support/ptx/warp.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "tests/support/ptx/fault.h"

namespace hexaplan::tests::ptx {
namespace {

constexpr std::uint32_t kNever = std::numeric_limits<std::uint32_t>::max();

std::string words_of(Dim3 d) {
  return "(" + std::to_string(d.x) + ", " + std::to_string(d.y) + ", " + std::to_string(d.z) + ")";
}

/// 1, 2, 4, 8, 16 or 32 bytes; calling memcpy for each of them takes longer.
void copy_few(void* to, const void* from, unsigned bytes) {
  switch (bytes) {
    case 4:
      std::memcpy(to, from, 4);
      break;
    case 2:
      std::memcpy(to, from, 2);
      break;
    case 8:
      std::memcpy(to, from, 8);
      break;
    case 16:
      std::memcpy(to, from, 16);
      break;
    default:
      std::memcpy(to, from, bytes);
  }
}

std::uint64_t special_value(Special special, const Block& block, unsigned thread) {
  const Dim3 of = block.grid.threads, grid = block.grid.blocks;
  switch (special) {
    case Special::TidX:
      return thread % of.x;
    case Special::TidY:
      return thread / of.x % of.y;
    case Special::TidZ:
      return thread / of.x / of.y;
    case Special::NtidX:
      return of.x;
    case Special::NtidY:
      return of.y;
    case Special::NtidZ:
      return of.z;
    case Special::CtaidX:
      return block.index.x;
    case Special::CtaidY:
      return block.index.y;
    case Special::CtaidZ:
      return block.index.z;
    case Special::NctaidX:
      return grid.x;
    case Special::NctaidY:
      return grid.y;
    case Special::NctaidZ:
      return grid.z;
    case Special::LaneId:
      return thread % kLanes;
  }
  return 0;
}

}  // namespace

Warp::Warp(Block& block, unsigned first_thread, unsigned threads)
    : block_{block},
      first_thread_{first_thread},
      registers_(block.kernel.registers),
      all_{threads >= kLanes ? ~Mask{0} : (Mask{1} << threads) - 1},
      live_{all_},
      local_(block.kernel.local_bytes * kLanes),
      local_written_(local_.size(), 0) {
  for (Lanes& lanes : registers_) lanes.fill(0xa5a5a5a5a5a5a5a5U);  // what nobody wrote is no sensible number
  for (const auto& [r, bits] : block.kernel.constants) registers_[r].fill(bits);
  for (const auto& [r, special] : block.kernel.specials) {
    for (unsigned lane = 0; lane < kLanes; ++lane)
      registers_[r][lane] = special_value(special, block, first_thread + lane);
  }
}

void Warp::fail(const Instruction& in, unsigned lane, const std::string& what) const {
  throw Fault{block_.kernel.name + ", line " + std::to_string(in.line) + ", block " + words_of(block_.index) +
              ", thread " + std::to_string(first_thread_ + lane) + ": `" + in.text + "` " + what};
}

Moment Warp::now(unsigned lane) const {
  Moment now = block_.now;
  now.thread = static_cast<std::uint16_t>(first_thread_ + lane);
  now.warp_segment = warp_segment_;
  return now;
}

/// All lanes, when they wait at one place: those that they waited for have ended.
Mask Warp::all_wait_alike() {
  const auto first = static_cast<unsigned>(__builtin_ctz(waiting_));
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if ((waiting_ >> lane & 1) != 0 && pcs_[lane] != pcs_[first])
      fail(block_.kernel.code[pcs_[first]], first,
           "is reached by only some of the threads that it waits for");
  }
  waiting_ = 0;
  return live_;
}

/// Those that stand at the lowest instruction, of those that do not wait.
void Warp::choose_lanes() {
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if ((running_ >> lane & 1) != 0) pcs_[lane] = pc_;
  }
  Mask could = live_ & ~waiting_;
  if (could == 0) could = all_wait_alike();
  pc_ = kNever;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if ((could >> lane & 1) != 0) pc_ = std::min(pc_, pcs_[lane]);
  }
  running_ = 0;
  next_pc_ = kNever;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if ((could >> lane & 1) == 0) continue;
    if (pcs_[lane] == pc_)
      running_ |= Mask{1} << lane;
    else
      next_pc_ = std::min(next_pc_, pcs_[lane]);
  }
}

void Warp::run() {
  while (live_ != 0 && !at_barrier_) {
    if (running_ == 0 || pc_ >= next_pc_) choose_lanes();
    step();
  }
}

void Warp::pass_barrier() {
  at_barrier_ = false;
  warp_segment_ = 0;
  ++pc_;
}

void Warp::step() {
  const std::vector<Instruction>& code = block_.kernel.code;
  if (pc_ >= code.size()) throw Fault{block_.kernel.name + ": runs beyond its end"};
  const Instruction& in = code[pc_];
  Mask mask = running_;
  if (in.guard >= 0) {
    const Lanes& guard = registers_[static_cast<std::size_t>(in.guard)];
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      if (((guard[lane] & 1) != 0) == in.guard_negated) mask &= ~(Mask{1} << lane);
    }
  }
  ++block_.work.instructions;
  switch (in.act) {
    case Act::Compute:
      in.compute(registers_.data(), in, mask);
      break;
    case Act::Load:
    case Act::Store:
      access(in, mask);
      break;
    case Act::Branch:
      return branch(in, mask);
    case Act::End:
      live_ &= ~mask;
      running_ &= ~mask;
      break;
    case Act::ShuffleXor:
    case Act::Ballot:
    case Act::WarpBarrier:
    case Act::BlockBarrier: {
      if (in.guard >= 0) fail(in, 0, "is guarded, which the interpreter does not know");
      const std::uint64_t members =
          in.act == Act::BlockBarrier
              ? live_
              : registers_[in.operands.back()][static_cast<unsigned>(__builtin_ctz(running_))];
      if (!meet(in, static_cast<Mask>(members))) return;
      if (in.act == Act::ShuffleXor) shuffle(in, running_);
      if (in.act == Act::Ballot) ballot(in, running_);
      if (in.act == Act::WarpBarrier && running_ == live_) ++warp_segment_;
      if (in.act == Act::BlockBarrier) {
        if (live_ != all_)
          fail(in, static_cast<unsigned>(__builtin_ctz(live_)),
               "is not reached by threads of its warp, which have ended");
        at_barrier_ = true;
        return;
      }
      break;
    }
  }
  ++pc_;
}

void Warp::branch(const Instruction& in, Mask taken) {
  const Mask stay = running_ & ~taken;
  if (taken == 0) {
    ++pc_;
    return;
  }
  if (stay == 0) {
    pc_ = in.target;
    if (pc_ > next_pc_) choose_lanes();
    return;
  }
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if ((taken >> lane & 1) != 0) pcs_[lane] = in.target;
    if ((stay >> lane & 1) != 0) pcs_[lane] = pc_ + 1;
  }
  running_ = 0;
  choose_lanes();
}

/// Whether all members have come; else the lanes that are here wait and others run.
bool Warp::meet(const Instruction& in, Mask members) {
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if ((waiting_ >> lane & 1) != 0 && pcs_[lane] == pc_) running_ |= Mask{1} << lane;
  }
  const Mask needed = members & live_;
  waiting_ &= ~running_;
  if (const Mask others = running_ & ~needed; others != 0)
    fail(in, static_cast<unsigned>(__builtin_ctz(others)), "is executed by a lane that its mask leaves out");
  if (running_ == needed) return true;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if ((running_ >> lane & 1) != 0) pcs_[lane] = pc_;
  }
  waiting_ |= running_;
  running_ = 0;
  choose_lanes();
  return false;
}

void Warp::shuffle(const Instruction& in, Mask mask) {
  // shfl.sync.bfly d|p, a, lanes, clamp, members.
  const bool says_whether = in.operands.size() == 6;
  const std::size_t a = says_whether ? 2 : 1;
  const Lanes from = registers_[in.operands[a]];
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if ((mask >> lane & 1) == 0) continue;
    const std::uint64_t other = lane ^ registers_[in.operands[a + 1]][lane];
    if (registers_[in.operands[a + 2]][lane] != kLanes - 1)
      fail(in, lane, "exchanges within parts of a warp, which the interpreter does not know");
    if (other >= kLanes || (mask >> other & 1) == 0)
      fail(in, lane, "reads from lane " + std::to_string(other) + ", which does not take part");
    registers_[in.operands[0]][lane] = from[other];
    if (says_whether) registers_[in.operands[1]][lane] = 1;
  }
}

void Warp::ballot(const Instruction& in, Mask mask) {
  std::uint64_t bits = 0;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if ((mask >> lane & 1) != 0) bits |= (registers_[in.operands[1]][lane] & 1) << lane;
  }
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if ((mask >> lane & 1) != 0) registers_[in.operands[0]][lane] = bits;
  }
}

// --- memory ---

void Warp::access(const Instruction& in, Mask mask) {
  const unsigned words = static_cast<unsigned>(in.operands.size()), all = words * in.bytes;
  std::byte value[32];
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if ((mask >> lane & 1) == 0) continue;
    std::uint64_t address = registers_[in.address][lane] + static_cast<std::uint64_t>(in.offset);
    if (in.space == Space::Shared) address &= 0xffffffffU;  // addresses of shared memory have 32 bits
    if ((address & (all - 1)) != 0)                         // a power of two

      fail(in, lane, "is not aligned to the " + std::to_string(all) + " bytes that it takes");
    if (in.act == Act::Store) {
      for (unsigned i = 0; i < words; ++i)
        copy_few(value + i * in.bytes, &registers_[in.operands[i]][lane], in.bytes);
    }
    switch (in.space) {
      case Space::Global:
        access_global(in, lane, address, value);
        break;
      case Space::Shared:
        access_shared(in, lane, address, value);
        break;
      case Space::Local:
        access_local(in, lane, address, value);
        break;
      case Space::Parameter:
        read_argument(in, lane, address, value);
        break;
    }
    if (in.act == Act::Store) continue;
    for (unsigned i = 0; i < words; ++i) {
      std::uint64_t bits = 0;
      copy_few(&bits, value + i * in.bytes, in.bytes);
      const unsigned unused = 64 - 8 * in.bytes;
      if (in.sign_extended)
        bits = static_cast<std::uint64_t>(static_cast<std::int64_t>(bits << unused) >> unused);
      registers_[in.operands[i]][lane] = bits;
    }
  }
}

void Warp::access_global(const Instruction& in, unsigned lane, std::uint64_t address, std::byte* value) {
  const auto bytes = static_cast<unsigned>(in.operands.size()) * in.bytes;
  GlobalMemory::Region* const region = block_.memory.find(address, bytes);
  if (region == nullptr) fail(in, lane, "is out of bounds: " + block_.memory.place(address));
  const std::uint64_t offset = address - region->begin;
  std::uint8_t* const written = region->written.data() + offset;
  auto* const memory = reinterpret_cast<std::byte*>(address);  // NOLINT(*-reinterpret-cast, *-int-to-ptr)
  Traffic& traffic = block_.work.global;
  if (in.act == Act::Store) {
    traffic.stored += bytes;
    if (const auto conflict = region->shadow.write(offset, bytes, now(lane), &traffic))
      fail(in, lane, *conflict);
    copy_few(memory, value, bytes);
    std::fill_n(written, bytes, 1);
    return;
  }
  if (!std::all_of(written, written + bytes, [](std::uint8_t w) { return w != 0; }))
    fail(in, lane, "reads what nobody wrote, " + block_.memory.place(address));
  traffic.loaded += bytes;
  if (const auto conflict = region->shadow.read(offset, bytes, now(lane), &traffic))
    fail(in, lane, *conflict);
  copy_few(value, memory, bytes);
}

void Warp::access_shared(const Instruction& in, unsigned lane, std::uint64_t address, std::byte* value) {
  const auto bytes = static_cast<unsigned>(in.operands.size()) * in.bytes;
  const std::uint64_t end = address + bytes;
  const Kernel& kernel = block_.kernel;
  const bool inside =
      (address >= kernel.dynamic_shared && end <= kernel.dynamic_shared + block_.grid.dynamic_shared_bytes) ||
      std::any_of(kernel.shared.begin(), kernel.shared.end(),
                  [&](const SharedArray& a) { return address >= a.offset && end <= a.offset + a.bytes; });
  if (!inside)
    fail(in, lane, "is out of bounds of the block's shared memory, at byte " + std::to_string(address));
  // Other blocks of the launch had memory of their own.
  Moment in_block = now(lane);
  in_block.launch_began = in_block.block_began;
  std::byte* const memory = block_.shared.data() + address;
  if (in.act == Act::Store) {
    if (const auto conflict = block_.shared_shadow.write(address, bytes, in_block, nullptr))
      fail(in, lane, *conflict);
    copy_few(memory, value, bytes);
    return;
  }
  if (!block_.shared_shadow.written(address, bytes, block_.now.block_began))
    fail(in, lane, "reads shared memory that nobody wrote, at byte " + std::to_string(address));
  if (const auto conflict = block_.shared_shadow.read(address, bytes, in_block, nullptr))
    fail(in, lane, *conflict);
  copy_few(value, memory, bytes);
}

void Warp::access_local(const Instruction& in, unsigned lane, std::uint64_t address, std::byte* value) {
  const auto bytes = static_cast<unsigned>(in.operands.size()) * in.bytes;
  const std::uint64_t size = block_.kernel.local_bytes;
  if (address > size || bytes > size - address) fail(in, lane, "is out of bounds of the thread's own memory");
  std::byte* const memory = local_.data() + lane * size + address;
  std::uint8_t* const written = local_written_.data() + lane * size + address;
  if (in.act == Act::Store) {
    copy_few(memory, value, bytes);
    std::fill_n(written, bytes, 1);
    return;
  }
  if (!std::all_of(written, written + bytes, [](std::uint8_t w) { return w != 0; }))
    fail(in, lane, "reads memory of its own that it did not write");
  copy_few(value, memory, bytes);
}

void Warp::read_argument(const Instruction& in, unsigned lane, std::uint64_t address,
                         std::byte* value) const {
  const auto bytes = static_cast<unsigned>(in.operands.size()) * in.bytes;
  if (in.act == Act::Store || address + bytes > block_.kernel.parameter_bytes)
    fail(in, lane, "is out of bounds of the arguments");
  copy_few(value, block_.arguments + address, bytes);
}

}  // namespace hexaplan::tests::ptx
