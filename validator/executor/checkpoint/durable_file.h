#pragma once
#include <stdexcept>
#include <string>
#include <string_view>

namespace hexaplan::validator {

/// A file or folder that cannot be written; what() is "PATH cannot be written: No space left on device".
struct FileError : std::runtime_error {
  FileError(std::string which, int error_number);
  std::string path;  // as the caller named it
  int error;         // errno
};

/// A file that is written whole or not at all. What `path` is decides how:
///   a file, or nothing yet: a neighbour is written; commit() syncs it, renames it over the file, whose
///     permissions it takes over, and syncs the folder;
///   a symbolic link: the same with what it points to, and the link stays;
///   a device, FIFO or socket: written to directly, opening a FIFO waits for its reader; never replaced;
///   a folder: an error.
/// Without commit() a file is as it was. Every member throws FileError.
class DurableFile {
 public:
  explicit DurableFile(std::string path);
  ~DurableFile();
  DurableFile(const DurableFile&) = delete;
  DurableFile& operator=(const DurableFile&) = delete;

  void write(std::string_view bytes);
  void commit();

 private:
  std::string path_, target_;
  std::string neighbour_;  // empty: target_ itself is written to
  int descriptor_ = -1;
};

/// DurableFile with these bytes, on disk when it returns. Throws FileError.
void write_durably(const std::string& path, std::string_view bytes);

/// True when what is written to `path` replaces what was there: a file, or nothing yet. False: a device, a
/// FIFO, anything that receives whatever is written to it.
[[nodiscard]] bool is_replaced(const std::string& path);

// Asked before hours of work, so that a typing error costs nothing. They change nothing, and are no promise:
// the disk may be full by then. Throw FileError.

/// A file could be written at `path` now.
void check_can_write(const std::string& path);
/// `path` is a folder that files can be put into, or could be made.
void check_can_make_folder(const std::string& path);

/// What was renamed or made in `folder` survives a crash from here on. Throws FileError.
void sync_folder(const std::string& folder);

}  // namespace hexaplan::validator
