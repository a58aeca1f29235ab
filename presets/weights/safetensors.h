#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "presets/weights/stored_type.h"

namespace hexaplan::presets {

// A safetensors file (huggingface/safetensors, README "Format"): the length of a header in 8 bytes, the
// header (a JSON object: name -> dtype, shape, data_offsets), then the tensors' elements, row-major,
// little-endian.

struct SafetensorsEntry {
  std::string name;
  StoredType type = StoredType::F32;
  std::vector<std::int64_t> shape;
  std::int64_t begin = 0;  // bytes from the end of the header; set by safetensors_header
  [[nodiscard]] std::int64_t elements() const;
  [[nodiscard]] std::int64_t bytes() const { return elements() * row_of(type).bytes; }
};

/// Puts the tensors in the order in which the safetensors library writes them (wider types first, then by
/// name), gives them their places and returns all that stands before the elements.
[[nodiscard]] std::string safetensors_header(std::vector<SafetensorsEntry>& entries);

/// A file mapped into memory; closed by the destructor. Throws InputError when it cannot be.
class MappedFile {
 public:
  /// To read a file as it is.
  explicit MappedFile(const std::filesystem::path& path);
  /// To write an existing file of at least one byte in place.
  static MappedFile to_write(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&&) = delete;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  [[nodiscard]] std::span<const std::byte> bytes() const { return {data_, size_}; }
  /// Precondition: opened by to_write.
  [[nodiscard]] std::span<std::byte> writable() { return {data_, size_}; }
  /// What was written is on disk when it returns. Throws InputError.
  void sync() const;

 private:
  MappedFile(const std::filesystem::path& path, bool writes);

  std::string path_;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

/// Reads one file.
class SafetensorsFile {
 public:
  /// Checks the header: every tensor lies inside the file and has the bytes that type and shape ask for.
  /// Tensors of other types than StoredType are left out. Throws InputError.
  explicit SafetensorsFile(const std::filesystem::path& path);

  [[nodiscard]] const std::map<std::string, SafetensorsEntry, std::less<>>& entries() const {
    return entries_;
  }
  /// Elements first, first + stride, … of a tensor. Precondition: it has them.
  void read(const SafetensorsEntry& entry, std::int64_t first, std::int64_t stride,
            std::span<double> out) const;

 private:
  MappedFile file_;
  std::size_t data_ = 0;  // where the header ends
  std::map<std::string, SafetensorsEntry, std::less<>> entries_;
};

}  // namespace hexaplan::presets
