#pragma once
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace hexaplan::tests {

/// A folder of this test's own, removed with what lies in it.
class TemporaryFolder {
 public:
  TemporaryFolder() : path_{std::filesystem::temp_directory_path() / unique_name()} {
    std::filesystem::create_directories(path_);
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  /// A file in it with these bytes.
  [[nodiscard]] std::filesystem::path file(const std::string& name, std::string_view content) const {
    std::ofstream out{path_ / name, std::ios::binary};
    out.write(content.data(), static_cast<std::streamsize>(content.size()));
    return path_ / name;
  }

 private:
  static std::string unique_name() {
    static std::atomic<int> count{0};
    return "hexaplan_test_" + std::to_string(getpid()) + "_" + std::to_string(++count);
  }
  std::filesystem::path path_;
};

}  // namespace hexaplan::tests
