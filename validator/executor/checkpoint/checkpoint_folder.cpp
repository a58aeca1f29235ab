#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "validator/executor/checkpoint/checkpoint_file.h"
#include "validator/executor/checkpoint/durable_file.h"

namespace hexaplan::validator {
namespace {

namespace fs = std::filesystem;
constexpr const char* kLatest = "latest";
constexpr const char* kUnfinished = ".unfinished";

void check(const std::error_code& error, const fs::path& path) {
  if (error) throw CheckpointError{fmt::format("{}: {}", path.string(), error.message())};
}

}  // namespace

std::string step_folder(std::int64_t step) {
  return fmt::format("step-{:08}", step);
}

std::string unfinished_checkpoint(const std::string& root, std::int64_t step) {
  return fs::path{root} / (step_folder(step) + kUnfinished);
}

std::string begin_checkpoint(const std::string& root, std::int64_t step) {
  std::error_code error;
  fs::create_directories(root, error);
  check(error, root);
  for (const fs::directory_entry& entry : fs::directory_iterator{root}) {
    if (entry.path().extension() == kUnfinished) fs::remove_all(entry.path(), error);
  }
  const fs::path folder = unfinished_checkpoint(root, step);
  fs::create_directory(folder, error);
  check(error, folder);
  return folder;
}

void commit_checkpoint(const std::string& root, std::int64_t step) {
  const fs::path target = fs::path{root} / step_folder(step);
  const fs::path folder = unfinished_checkpoint(root, step);
  write_of_checkpoint([&] { sync_folder(folder); });
  std::error_code error;
  fs::remove_all(target, error);  // the same step of an earlier run
  fs::rename(folder, target, error);
  check(error, target);
  write_of_checkpoint([&] {
    sync_folder(root);
    write_durably(root + "/" + kLatest, step_folder(step) + "\n");
  });
}

std::string find_checkpoint(const std::string& path) {
  const fs::path folder{path};
  std::error_code error;
  if (fs::exists(folder / "rank-00000.hxp", error)) return path;
  std::ifstream latest{folder / kLatest};
  std::string name;
  if (!std::getline(latest, name))
    throw CheckpointError{
        fmt::format("{} holds no checkpoint: no file '{}' and no rank-00000.hxp", path, kLatest)};
  if (name.find('/') != std::string::npos || name.rfind("step-", 0) != 0)
    throw CheckpointError{fmt::format("{}/{} names no folder of a checkpoint", path, kLatest)};
  return folder / name;
}

}  // namespace hexaplan::validator
