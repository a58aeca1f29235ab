#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace hexaplan::tests::ptx {

inline constexpr unsigned kLanes = 32;
/// A bit per lane of a warp.
using Mask = std::uint32_t;
/// A register of a warp: its bits on every lane, narrower ones in the low bits.
using Lanes = std::array<std::uint64_t, kLanes>;

/// A number as the bits of a register, and back; of predicates one bit counts.
template <class T>
[[nodiscard]] T from_bits(std::uint64_t bits) {
  if constexpr (std::is_same_v<T, bool>) {
    return (bits & 1) != 0;
  } else {
    T value;
    __builtin_memcpy(&value, &bits, sizeof value);
    return value;
  }
}
template <class T>
[[nodiscard]] std::uint64_t to_bits(T value) {
  std::uint64_t bits = 0;
  __builtin_memcpy(&bits, &value, sizeof value);
  return bits;
}

enum class Space : std::uint8_t { Global, Shared, Local, Parameter };

struct Instruction;
/// Writes the first operands from the others on the lanes of `mask`.
using LaneFunction = void (*)(Lanes* registers, const Instruction& in, Mask mask);

/// What an instruction is for those who run it.
enum class Act : std::uint8_t {
  Compute,  // `compute`, lane by lane
  Load,
  Store,
  Branch,
  End,
  ShuffleXor,
  Ballot,
  WarpBarrier,
  BlockBarrier,
};
/// One line of PTX. Operands are numbers of registers; immediates and special registers have registers of
/// their own, which nothing writes.
struct Instruction {
  std::string text;  // for messages
  unsigned line = 0;
  Act act = Act::Compute;
  LaneFunction compute = nullptr;
  std::vector<std::uint32_t> operands;  // of an access: what is loaded or stored
  std::int32_t guard = -1;              // register of the predicate
  bool guard_negated = false;
  std::uint32_t target = 0;  // of a branch: number of the instruction
  // Of an access: operands.size() words of `bytes` bytes from registers[address] + offset on.
  Space space = Space::Global;
  std::uint32_t address = 0;
  std::int64_t offset = 0;
  unsigned bytes = 0;
  bool sign_extended = false;
};

/// The semantics of what is computed lane by lane, by the name that PTX gives it ("add.s64"); `nullptr`: none
/// is known. Modifiers that change no result here (.uni, .sync of a whole warp) are not part of it.
[[nodiscard]] LaneFunction find_compute(const std::string& opcode);

}  // namespace hexaplan::tests::ptx
