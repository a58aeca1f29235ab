#include "tests/support/ptx/memory.h"

#include <algorithm>
#include <stdexcept>

namespace hexaplan::tests::ptx {

Shadow::Shadow(std::uint64_t bytes, unsigned granule_bits)
    : granule_bits_{granule_bits}, pages_(((bytes >> granule_bits) + kPage) / kPage) {}

namespace {

std::string race(const char* now, const char* before, unsigned thread, bool same_block) {
  return std::string{"is not ordered with a "} + before + " of the same place by " +
         (same_block ? "thread " + std::to_string(thread) + " of the block" : std::string{"another block"}) +
         ": a race of a " + now;
}

}  // namespace

std::optional<std::string> Shadow::read(std::uint64_t offset, unsigned bytes, const Moment& now,
                                        Traffic* traffic) {
  std::optional<std::string> conflict;
  const std::uint64_t end = behind(offset, bytes);
  for (std::uint64_t i = first(offset); i < end; ++i) {
    Cell& c = cell(i);
    if (!ordered(c.write, now))
      conflict = race("read", "write", c.write.thread, c.write.segment >= now.block_began);
    if (traffic != nullptr && c.reads[0].segment < now.launch_began && c.write.segment < now.launch_began)
      traffic->read_once += granule();
    // Two reads of different threads that nothing orders suffice: whoever writes is not ordered with one of
    // them. A read that happened before this one need not be kept.
    const Touch mine{now.segment, now.thread, now.warp_segment};
    if (ordered(c.reads[0], now))
      c.reads[0] = mine;
    else if (ordered(c.reads[1], now))
      c.reads[1] = mine;
  }
  return conflict;
}

std::optional<std::string> Shadow::write(std::uint64_t offset, unsigned bytes, const Moment& now,
                                         Traffic* traffic) {
  std::optional<std::string> conflict;
  const std::uint64_t end = behind(offset, bytes);
  for (std::uint64_t i = first(offset); i < end; ++i) {
    Cell& c = cell(i);
    if (!ordered(c.write, now))
      conflict = race("write", "write", c.write.thread, c.write.segment >= now.block_began);
    for (const Touch& read : c.reads) {
      if (!ordered(read, now)) conflict = race("write", "read", read.thread, read.segment >= now.block_began);
    }
    if (traffic != nullptr && c.write.segment < now.launch_began) traffic->written_once += granule();
    c.write = {now.segment, now.thread, now.warp_segment};
  }
  return conflict;
}

bool Shadow::written(std::uint64_t offset, unsigned bytes, std::uint32_t since) {
  const std::uint64_t end = behind(offset, bytes);
  for (std::uint64_t i = first(offset); i < end; ++i) {
    if (cell(i).write.segment < since) return false;
  }
  return true;
}

void GlobalMemory::add(const std::byte* begin, std::size_t bytes) {
  const auto address = reinterpret_cast<std::uint64_t>(begin);  // NOLINT(*-reinterpret-cast)
  last_ = nullptr;
  regions_.insert_or_assign(address,
                            Region{address, bytes, std::vector<std::uint8_t>(bytes, 0), Shadow{bytes}});
}

void GlobalMemory::remove(const std::byte* begin) {
  last_ = nullptr;
  regions_.erase(reinterpret_cast<std::uint64_t>(begin));  // NOLINT(*-reinterpret-cast)
}

void GlobalMemory::set_written(const std::byte* begin, std::size_t bytes, bool written) {
  const auto address = reinterpret_cast<std::uint64_t>(begin);  // NOLINT(*-reinterpret-cast)
  if (bytes == 0) return;
  Region* const region = find(address, static_cast<unsigned>(bytes));
  if (region == nullptr) throw std::logic_error{"the host writes outside of the device's memory"};
  std::fill_n(region->written.begin() + static_cast<std::ptrdiff_t>(address - region->begin), bytes,
              written ? 1 : 0);
}

GlobalMemory::Region* GlobalMemory::find(std::uint64_t address, unsigned bytes) {
  const auto holds = [&](const Region& r) {
    return address >= r.begin && address - r.begin <= r.bytes && bytes <= r.bytes - (address - r.begin);
  };
  if (last_ != nullptr && holds(*last_)) return last_;
  const auto after = regions_.upper_bound(address);
  if (after == regions_.begin()) return nullptr;
  Region& region = std::prev(after)->second;
  return holds(region) ? last_ = &region : nullptr;
}

std::string GlobalMemory::place(std::uint64_t address) const {
  const auto after = regions_.upper_bound(address);
  if (after == regions_.begin()) return "below all allocations";
  const Region& region = std::prev(after)->second;
  return "at byte " + std::to_string(address - region.begin) + " of an allocation of " +
         std::to_string(region.bytes);
}

}  // namespace hexaplan::tests::ptx
