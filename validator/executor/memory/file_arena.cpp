#include "validator/executor/memory/file_arena.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

namespace hexaplan::validator {
namespace {

std::size_t page_size() {
  static const auto kBytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return kBytes;
}

std::runtime_error failed(const std::string& what) {
  return std::runtime_error{what + ": " + std::system_category().message(errno)};
}

/// Reads `to` from `offset` on; false where the file ends or cannot be read.
bool read_all(int file, std::size_t offset, std::vector<std::byte>& to) {
  std::size_t done = 0;
  while (done < to.size()) {
    const ssize_t count = pread(file, to.data() + done, to.size() - done, static_cast<off_t>(offset + done));
    if (count <= 0) return false;
    done += static_cast<std::size_t>(count);
  }
  return true;
}

}  // namespace

FileArena::FileArena() {
  std::string path = (std::filesystem::temp_directory_path() / "hexaplan-states-XXXXXX").string();
  file_ = mkostemp(path.data(), O_CLOEXEC);
  if (file_ < 0) throw failed("offloaded states need a file, and " + path + " cannot be made");
  unlink(path.c_str());  // it goes with the process
}

FileArena::~FileArena() {
  for (const auto& [memory, region] : regions_) munmap(memory, region.bytes);
  close(file_);
}

std::byte* FileArena::take(std::size_t bytes) {
  const Region region{
      .offset = end_,
      .bytes = (std::max<std::size_t>(bytes, 1) + page_size() - 1) / page_size() * page_size()};
  // Room is taken now: a full disk is no memory, and not a fault at the first write.
  if (posix_fallocate(file_, static_cast<off_t>(region.offset), static_cast<off_t>(region.bytes)) != 0)
    throw std::bad_alloc{};
  void* memory = mmap(nullptr, region.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_,
                      static_cast<off_t>(region.offset));
  if (memory == MAP_FAILED) throw std::bad_alloc{};
  end_ += region.bytes;
  auto* const start = static_cast<std::byte*>(memory);
  regions_.emplace(start, region);
  return start;
}

void FileArena::give_back(std::byte* memory, std::size_t /*bytes*/) noexcept {
  const auto found = regions_.find(memory);
  if (found == regions_.end()) return;
  munmap(memory, found->second.bytes);
  regions_.erase(found);
}

void FileArena::check() const {
  constexpr std::size_t kPiece = std::size_t{1} << 20U;
  for (const auto& [memory, region] : regions_) {
    if (msync(memory, region.bytes, MS_SYNC) != 0) throw failed("offloaded states cannot be written");
    for (std::size_t at = 0; at < region.bytes; at += kPiece) {
      std::vector<std::byte> stored(std::min(kPiece, region.bytes - at));
      if (!read_all(file_, region.offset + at, stored))
        throw failed("offloaded states cannot be read from their file");
      if (std::memcmp(stored.data(), memory + at, stored.size()) != 0)
        throw std::runtime_error{"the file of the offloaded states does not hold what they are"};
    }
  }
}

}  // namespace hexaplan::validator
