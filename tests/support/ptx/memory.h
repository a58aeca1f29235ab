#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace hexaplan::tests::ptx {

/// When an access happens, for those who ask what happens before what. Threads of a block are ordered by
/// barriers alone, threads of a warp also by barriers of the warp; blocks of one launch by nothing, launches
/// by their order. Segments count what lies between barriers, over all launches.
struct Moment {
  std::uint32_t launch_began = 1, block_began = 1, segment = 1;
  std::uint16_t thread = 0, warp_segment = 0;
};

/// Bytes that kernels moved.
struct Traffic {
  std::uint64_t loaded = 0, stored = 0;  // as the instructions ask, hits of caches included
  /// Every byte once per launch: what memory gives at least, of what the launch did not write itself, and
  /// what it takes.
  std::uint64_t read_once = 0, written_once = 0;
};

/// Who touched each cell of a memory last.
class Shadow {
 public:
  /// Cells of 2^granule_bits bytes; smaller accesses count as one of the whole cell.
  explicit Shadow(std::uint64_t bytes, unsigned granule_bits = 0);

  /// The access that `now` is not ordered with, in words, if there is one.
  std::optional<std::string> read(std::uint64_t offset, unsigned bytes, const Moment& now, Traffic* traffic);
  std::optional<std::string> write(std::uint64_t offset, unsigned bytes, const Moment& now, Traffic* traffic);
  /// Whether every cell was written since segment `since`.
  [[nodiscard]] bool written(std::uint64_t offset, unsigned bytes, std::uint32_t since);

 private:
  struct Touch {
    std::uint32_t segment = 0;
    std::uint16_t thread = 0, warp_segment = 0;
  };
  struct Cell {
    Touch write;
    std::array<Touch, 2> reads;  // the last ones that are not ordered, of two threads
  };
  static bool ordered(const Touch& before, const Moment& now) {
    if (before.segment < now.launch_began) return true;
    if (before.segment < now.block_began) return false;  // another block of this launch
    if (before.segment < now.segment || before.thread == now.thread) return true;
    return before.thread / 32 == now.thread / 32 && before.warp_segment < now.warp_segment;
  }
  Cell& cell(std::uint64_t index) {
    auto& page = pages_[index / kPage];
    if (!page) page = std::make_unique<std::array<Cell, kPage>>();
    return (*page)[index % kPage];
  }
  [[nodiscard]] std::uint64_t first(std::uint64_t offset) const { return offset >> granule_bits_; }
  [[nodiscard]] std::uint64_t behind(std::uint64_t offset, unsigned bytes) const {
    return (offset + bytes + granule() - 1) >> granule_bits_;
  }
  [[nodiscard]] std::uint64_t granule() const { return std::uint64_t{1} << granule_bits_; }

  static constexpr std::uint64_t kPage = 1024;
  unsigned granule_bits_;
  std::vector<std::unique_ptr<std::array<Cell, kPage>>> pages_;  // made when first touched
};

/// Memory of the device: what was allocated, and which bytes of it somebody wrote. The bytes are the host's.
class GlobalMemory {
 public:
  struct Region {
    std::uint64_t begin = 0, bytes = 0;
    std::vector<std::uint8_t> written;  // per byte
    Shadow shadow;
  };
  void add(const std::byte* begin, std::size_t bytes);
  void remove(const std::byte* begin);
  /// The host wrote numbers there (or what stands for none).
  void set_written(const std::byte* begin, std::size_t bytes, bool written);
  /// The allocation that holds all these bytes; nullptr: none does.
  [[nodiscard]] Region* find(std::uint64_t address, unsigned bytes);
  /// Where the nearest allocation below lies, in words.
  [[nodiscard]] std::string place(std::uint64_t address) const;

 private:
  std::map<std::uint64_t, Region> regions_;
  Region* last_ = nullptr;
};

}  // namespace hexaplan::tests::ptx
