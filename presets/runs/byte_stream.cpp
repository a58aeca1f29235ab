#include "presets/runs/byte_stream.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "presets/json/file_descriptor.h"
#include "presets/json/input_error.h"
#ifdef HEXAPLAN_ZLIB
#include <zlib.h>
#endif

namespace hexaplan::presets {
namespace {

constexpr std::size_t kBytesAtOnce = 1 << 18;

/// Opened without waiting for a writer of a pipe; `size` is that of the file.
int open_regular(const std::string& name, double& size) {
  FileDescriptor file{::open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  struct stat info {};
  if (file.get() < 0 || ::fstat(file.get(), &info) != 0)
    throw InputError({.file = name, .hint = fmt::format("cannot be read: {}", std::strerror(errno))});
  size = static_cast<double>(info.st_size);
  if (S_ISREG(info.st_mode)) return file.release();
  throw InputError({.file = name, .value = "no regular file", .expected = "a regular file"});
}

}  // namespace

#ifdef HEXAPLAN_ZLIB
/// zlib reads files that are not packed as they are.
struct ByteStream::File {
  explicit File(const std::string& name) : handle{gzdopen(open_regular(name, size), "rb")} {}
  ~File() { gzclose(handle); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int read(char* to, std::size_t most, bool& cut_off) const {
    const int got = gzread(handle, to, static_cast<unsigned>(most));
    int error = Z_OK;
    gzerror(handle, &error);
    cut_off = error != Z_OK && error != Z_STREAM_END;
    return got;
  }
  [[nodiscard]] double taken() const { return static_cast<double>(gzoffset(handle)); }
  double size = 0;  // before the handle, whose opening tells it
  gzFile handle;
};
#else
struct ByteStream::File {
  explicit File(const std::string& name) : handle{open_regular(name, size)} {
    std::array<char, 2> magic{};
    if (::pread(handle, magic.data(), 2, 0) == 2 && magic[0] == '\x1f' && magic[1] == '\x8b') {
      ::close(handle);
      throw InputError({.file = name,
                        .value = "a gzip'ed file",
                        .expected = "a plain one: this program was built without zlib",
                        .hint = "unpack it with gunzip"});
    }
  }
  ~File() { ::close(handle); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int read(char* to, std::size_t most, bool&) const { return static_cast<int>(::read(handle, to, most)); }
  [[nodiscard]] double taken() const { return static_cast<double>(::lseek(handle, 0, SEEK_CUR)); }
  double size = 0;  // before the handle, whose opening tells it
  int handle;
};
#endif

ByteStream::ByteStream(const std::filesystem::path& path)
    : file_{std::make_unique<File>(path.string())}, buffer_(kBytesAtOnce, '\0') {}
ByteStream::~ByteStream() = default;

double ByteStream::share() const {
  return file_->size > 0 ? std::clamp(file_->taken() / file_->size, 0.0, 1.0) : 1.0;
}

int ByteStream::refill() {
  if (cut_off_) return -1;
  const int got = file_->read(buffer_.data(), buffer_.size(), cut_off_);
  if (got <= 0) return -1;
  read_ += static_cast<std::uint64_t>(got);
  end_ = static_cast<std::size_t>(got);
  at_ = 1;
  return static_cast<unsigned char>(buffer_[0]);
}

}  // namespace hexaplan::presets
