#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace hexaplan::validator {

/// A file's bytes, of which those lie in memory that are looked at.
class MappedFile {
 public:
  /// Throws std::system_error.
  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  [[nodiscard]] std::string_view bytes() const { return bytes_; }
  /// What has been looked at may leave this process's memory; it is read again when it is looked at again.
  /// Any thread, at any time.
  void let_go() const;

 private:
  std::string_view bytes_;
};

}  // namespace hexaplan::validator
