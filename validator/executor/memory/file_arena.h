#pragma once
#include <cstddef>
#include <map>

#include "validator/executor/memory/arena.h"

namespace hexaplan::validator {

/// Memory that is a file: what is written there goes to a disk, without a name, below TMPDIR (or /tmp). Pages
/// come and go as the system has room for them. The file is as long as everything taken so far.
class FileArena : public Arena {
 public:
  /// Throws std::runtime_error where no file can be made.
  FileArena();
  ~FileArena() override;

  [[nodiscard]] std::byte* take(std::size_t bytes) override;
  void give_back(std::byte* memory, std::size_t bytes) noexcept override;

  /// Writes what is alive out, reads it back from the file, and compares. Throws std::runtime_error where
  /// they differ.
  void check() const;

 private:
  struct Region {
    std::size_t offset = 0, bytes = 0;  // in the file, whole pages
  };
  int file_ = -1;
  std::size_t end_ = 0;
  std::map<std::byte*, Region> regions_;
};

}  // namespace hexaplan::validator
