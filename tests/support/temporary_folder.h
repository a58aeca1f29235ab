#pragma once
#include <stdlib.h>  // NOLINT(modernize-deprecated-headers): mkdtemp is POSIX's

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

namespace hexaplan::tests {

/// A folder of this test's own, removed with what lies in it.
class TemporaryFolder {
 public:
  TemporaryFolder() : path_{made()} {}
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
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
  /// mkdtemp: the number of a process comes again while what an earlier one left still lies there.
  static std::string made() {
    std::string name = (std::filesystem::temp_directory_path() / "hexaplan-test-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error{"mkdtemp: " + name};
    return name;
  }
  std::filesystem::path path_;
};

}  // namespace hexaplan::tests
