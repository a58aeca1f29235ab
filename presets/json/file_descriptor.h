#pragma once
#include <unistd.h>

#include <utility>

namespace hexaplan::presets {

/// A file descriptor of the system, closed with the object; negative where nothing was opened.
class FileDescriptor {
 public:
  explicit FileDescriptor(int number = -1) : number_{number} {}
  FileDescriptor(FileDescriptor&& other) noexcept : number_{other.release()} {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  ~FileDescriptor() { reset(); }

  [[nodiscard]] int get() const { return number_; }
  /// Whose closing is the caller's from here on.
  [[nodiscard]] int release() { return std::exchange(number_, -1); }
  void reset() {
    if (number_ >= 0) ::close(release());
  }

 private:
  int number_;
};

}  // namespace hexaplan::presets
