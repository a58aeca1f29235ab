#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

namespace hexaplan::presets {

/// Bytes of a regular file, unpacked where it is gzip'ed, a piece at a time. InputError when it cannot be
/// opened, or is packed and this program was built without zlib. A file that ends too early, or whose packed
/// bytes are damaged, just ends: `is_cut_off`.
class ByteStream {
 public:
  explicit ByteStream(const std::filesystem::path& path);
  ~ByteStream();
  ByteStream(const ByteStream&) = delete;
  ByteStream& operator=(const ByteStream&) = delete;

  /// The next byte, 0 to 255; −1 at the end.
  [[nodiscard]] int next() { return at_ < end_ ? static_cast<unsigned char>(buffer_[at_++]) : refill(); }
  [[nodiscard]] bool is_cut_off() const { return cut_off_; }
  [[nodiscard]] std::uint64_t read() const { return read_; }
  /// How much of the file, packed as it is, has been taken in: 0 to 1.
  [[nodiscard]] double share() const;

 private:
  int refill();

  struct File;
  std::unique_ptr<File> file_;
  std::string buffer_;
  std::size_t at_ = 0, end_ = 0;
  std::uint64_t read_ = 0;
  bool cut_off_ = false;
};

}  // namespace hexaplan::presets
