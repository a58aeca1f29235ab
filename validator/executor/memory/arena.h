#pragma once
#include <cstddef>

namespace hexaplan::validator {

/// Where a CPU device takes its memory from.
class Arena {
 public:
  Arena() = default;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  virtual ~Arena() = default;
  /// Aligned to a cache line at least. Throws std::bad_alloc.
  [[nodiscard]] virtual std::byte* take(std::size_t bytes) = 0;
  virtual void give_back(std::byte* memory, std::size_t bytes) noexcept = 0;
};

}  // namespace hexaplan::validator
