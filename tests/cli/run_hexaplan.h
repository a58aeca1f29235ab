#pragma once
#include <string>

#include "presets/json/json_value.h"

namespace hexaplan::cli {

struct Finished {
  int exit_code = -1;
  std::string out, err;
};
/// Runs the program as a shell would: `arguments` are shell words, stdin is `input`. The locale is C.UTF-8,
/// HEXAPLAN_PRESETS is not set unless `environment` ("NAME='value'") does, stdout is no terminal, data goes
/// to a folder of the test's own.
[[nodiscard]] Finished run_hexaplan(const std::string& arguments, const std::string& input = {},
                                    const std::string& environment = {});

/// The JSON that a command printed; fails the test when it did not succeed.
[[nodiscard]] presets::JsonValue json_of(const std::string& arguments);
/// Member at a path such as "memory.peak_bytes"; fails the test when it is missing.
[[nodiscard]] const presets::JsonValue& at(const presets::JsonValue& value, std::string path);
[[nodiscard]] double number_at(const presets::JsonValue& value, const std::string& path);

/// A file that is removed with the object.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& content, const std::string& suffix = ".txt");
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile();
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};
[[nodiscard]] std::string content_of(const std::string& path);

}  // namespace hexaplan::cli
