#include "cli/write_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>

#include "presets/json/input_error.h"

namespace hexaplan::cli {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& path, int error) {
  throw presets::InputError(
      {.file = path, .value = std::strerror(error), .expected = "a file that can be written"});
}

void write_directly(const std::string& target, const std::string& path, std::string_view text) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file{std::fopen(target.c_str(), "wb"), &std::fclose};
  if (!file) fail(path, errno);
  const bool written = std::fwrite(text.data(), 1, text.size(), file.get()) == text.size();
  if (!written || std::fflush(file.get()) != 0) fail(path, errno);
}

}  // namespace

void write_file(const std::string& path, std::string_view text) {
  std::error_code error;
  if (fs::exists(path, error) && !fs::is_regular_file(path, error)) {
    write_directly(path, path, text);
    return;
  }
  const std::string neighbour = fmt::format("{}.{}.tmp", path, getpid());
  try {
    write_directly(neighbour, path, text);
    fs::rename(neighbour, path, error);
    if (error) fail(path, error.value());
  } catch (...) {
    fs::remove(neighbour, error);
    throw;
  }
}

}  // namespace hexaplan::cli
