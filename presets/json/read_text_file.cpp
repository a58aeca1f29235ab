#include "presets/json/read_text_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "presets/json/file_descriptor.h"
#include "presets/json/input_error.h"

namespace hexaplan::presets {
namespace {

std::string_view kind_of(mode_t mode) {
  return S_ISDIR(mode) ? "a directory" : S_ISFIFO(mode) ? "a pipe" : S_ISSOCK(mode) ? "a socket" : "a device";
}

}  // namespace

std::string read_text_file(const std::filesystem::path& path, std::int64_t largest) {
  const std::string name = path.string();
  // Non-blocking: opening a pipe must not wait for its writer.
  const FileDescriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  struct stat info {};
  if (file.get() < 0 || ::fstat(file.get(), &info) != 0) {
    throw InputError({.file = name, .hint = fmt::format("cannot be read: {}", std::strerror(errno))});
  }
  if (!S_ISREG(info.st_mode)) {
    throw InputError(
        {.file = name, .value = std::string{kind_of(info.st_mode)}, .expected = "a regular file"});
  }
  const auto too_large = [&] {
    return InputError({.file = name,
                       .value = "more bytes than that",
                       .expected = fmt::format("a file of at most {} bytes", largest)});
  };
  if (info.st_size > largest) {
    throw too_large();
  }
  std::string content;
  content.reserve(static_cast<std::size_t>(info.st_size));
  char buffer[65536];
  while (true) {
    const ssize_t count = ::read(file.get(), buffer, sizeof buffer);
    if (count < 0) {
      throw InputError({.file = name, .hint = fmt::format("cannot be read: {}", std::strerror(errno))});
    }
    if (count == 0) {
      return content;
    }
    content.append(buffer, static_cast<std::size_t>(count));
    if (static_cast<std::int64_t>(content.size()) > largest) {
      throw too_large();
    }
  }
}

}  // namespace hexaplan::presets
