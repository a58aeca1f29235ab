#include "validator/checkpoint/durable_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "validator/checkpoint/checkpoint_file.h"

namespace hexaplan::validator {
namespace {

[[noreturn]] void fail(const std::string& path) {
  throw CheckpointError{fmt::format("{} cannot be written: {}", path, std::strerror(errno))};
}

/// Closes on every way out.
class File {
 public:
  File(const std::string& path, int flags) : descriptor_{open(path.c_str(), flags | O_CLOEXEC, 0666)} {
    if (descriptor_ < 0) fail(path);
  }
  ~File() { close(descriptor_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  [[nodiscard]] int get() const { return descriptor_; }

 private:
  int descriptor_;
};

void write_all(const File& file, const std::string& path, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail(path);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  if (fsync(file.get()) != 0) fail(path);
}

}  // namespace

void write_durably(const std::string& path, std::string_view bytes) {
  const std::string neighbour = fmt::format("{}.{}.tmp", path, getpid());
  try {
    write_all(File{neighbour, O_WRONLY | O_CREAT | O_TRUNC}, path, bytes);
    if (std::rename(neighbour.c_str(), path.c_str()) != 0) fail(path);
  } catch (...) {
    unlink(neighbour.c_str());
    throw;
  }
  const std::string folder = std::filesystem::path{path}.parent_path();
  sync_folder(folder.empty() ? "." : folder);
}

void sync_folder(const std::string& folder) {
  const File handle{folder, O_RDONLY | O_DIRECTORY};
  if (fsync(handle.get()) != 0) fail(folder);
}

}  // namespace hexaplan::validator
