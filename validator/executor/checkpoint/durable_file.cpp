#include "validator/executor/checkpoint/durable_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

namespace hexaplan::validator {
namespace {

namespace fs = std::filesystem;
constexpr int kMostLinks = 40;  // as Linux follows them (path_resolution(7))

std::string folder_of(const std::string& path) {
  const std::string folder = fs::path{path}.parent_path();
  return folder.empty() ? "." : folder;
}

/// Where the links at the end of `path` lead, also when nothing is there yet.
std::string follow_links(const std::string& path) {
  fs::path target{path};
  std::error_code error;
  for (int links = 0; fs::is_symlink(fs::symlink_status(target, error)); ++links) {
    if (links == kMostLinks) throw FileError{path, ELOOP};
    const fs::path next = fs::read_symlink(target, error);
    if (error) throw FileError{path, error.value()};
    target = next.is_absolute() ? next : target.parent_path() / next;
  }
  return target;
}

/// Mode of what lies at `target`; 0: nothing does.
mode_t mode_of(const std::string& target, const std::string& path) {
  struct stat state {};
  if (stat(target.c_str(), &state) == 0) {
    if (S_ISDIR(state.st_mode)) throw FileError{path, EISDIR};
    return state.st_mode;
  }
  if (errno != ENOENT) throw FileError{path, errno};
  return 0;
}

bool may_be_replaced(mode_t mode) {
  return mode == 0 || S_ISREG(mode);
}

int open_or_fail(const std::string& file, int flags, const std::string& path) {
  int descriptor = -1;
  do {
    descriptor = open(file.c_str(), flags | O_CLOEXEC, 0666);
  } while (descriptor < 0 && errno == EINTR);
  if (descriptor < 0) throw FileError{path, errno};
  return descriptor;
}

/// Devices and FIFOs have nothing to sync.
void sync_or_fail(int descriptor, const std::string& path) {
  if (fsync(descriptor) != 0 && errno != EINVAL && errno != ENOTSUP && errno != EROFS)
    throw FileError{path, errno};
}

void check_access(const std::string& folder, const std::string& path) {
  struct stat state {};
  if (stat(folder.c_str(), &state) != 0) throw FileError{path, errno};
  if (!S_ISDIR(state.st_mode)) throw FileError{path, ENOTDIR};
  if (access(folder.c_str(), W_OK | X_OK) != 0) throw FileError{path, errno};
}

}  // namespace

FileError::FileError(std::string which, int error_number)
    : std::runtime_error{fmt::format("{} cannot be written: {}", which, std::strerror(error_number))},
      path{std::move(which)},
      error{error_number} {}

DurableFile::DurableFile(std::string path) : path_{std::move(path)}, target_{follow_links(path_)} {
  const mode_t mode = mode_of(target_, path_);
  if (!may_be_replaced(mode)) {
    descriptor_ = open_or_fail(target_, O_WRONLY | O_NOCTTY, path_);
    return;
  }
  neighbour_ = fmt::format("{}.{}.tmp", target_, getpid());
  descriptor_ = open_or_fail(neighbour_, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, path_);
  // A file system without permissions refuses, and has none to keep.
  if (mode != 0) static_cast<void>(fchmod(descriptor_, mode & 07777) == 0);
}

DurableFile::~DurableFile() {
  if (descriptor_ >= 0) close(descriptor_);
  if (!neighbour_.empty()) unlink(neighbour_.c_str());
}

void DurableFile::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw FileError{path_, errno};
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

void DurableFile::commit() {
  sync_or_fail(descriptor_, path_);
  if (close(std::exchange(descriptor_, -1)) != 0) throw FileError{path_, errno};
  if (neighbour_.empty()) return;
  if (std::rename(neighbour_.c_str(), target_.c_str()) != 0) throw FileError{path_, errno};
  neighbour_.clear();
  sync_folder(folder_of(target_));
}

void write_durably(const std::string& path, std::string_view bytes) {
  DurableFile file{path};
  file.write(bytes);
  file.commit();
}

bool is_replaced(const std::string& path) {
  return may_be_replaced(mode_of(follow_links(path), path));
}

void check_can_write(const std::string& path) {
  const std::string target = follow_links(path);
  const mode_t mode = mode_of(target, path);
  if (may_be_replaced(mode)) check_access(folder_of(target), path);
  if (mode != 0 && access(target.c_str(), W_OK) != 0) throw FileError{path, errno};
}

void check_can_make_folder(const std::string& path) {
  fs::path there = fs::absolute(path), missing;
  std::error_code error;
  while (!fs::exists(there, error) && !error && there.has_relative_path()) {
    missing = there;
    there = there.parent_path();
  }
  if (error) throw FileError{path, error.value()};
  check_access(there, path);
  if (missing.empty()) return;
  // Some file systems grant access and make no folders; nobody asks root.
  const bool made = fs::create_directory(missing, error);
  if (error) throw FileError{path, error.value()};
  if (made) fs::remove(missing, error);
}

void sync_folder(const std::string& folder) {
  const int handle = open_or_fail(folder, O_RDONLY | O_DIRECTORY, folder);
  const bool synced = fsync(handle) == 0 || errno == EINVAL;
  const int error = errno;
  close(handle);
  if (!synced) throw FileError{folder, error};
}

}  // namespace hexaplan::validator
