#include "run_hexaplan.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "presets/json/read_json.h"
#include "tests/support/temporary_folder.h"

namespace hexaplan::cli {

std::string content_of(const std::string& path) {
  std::ifstream file{path, std::ios::binary};
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// Of this process, removed at its end.
static const std::filesystem::path& own_folder() {
  static const tests::TemporaryFolder folder;
  return folder.path();
}

TemporaryFile::TemporaryFile(const std::string& content, const std::string& suffix) {
  static std::atomic<int> count{0};
  path_ = (own_folder() / fmt::format("{}{}", count++, suffix)).string();
  std::ofstream{path_, std::ios::binary} << content;
}
TemporaryFile::~TemporaryFile() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

/// The user's own history of runs is not the tests' business.
static std::string own_data_home() {
  return (own_folder() / "data").string();
}

Finished run_hexaplan(const std::string& arguments, const std::string& input,
                      const std::string& environment) {
  const TemporaryFile in{input}, out{""}, err{""};
  const std::string command = fmt::format(
      "env -u HEXAPLAN_PRESETS -u NO_COLOR LC_ALL=C.UTF-8 XDG_DATA_HOME='{}' {} '{}' {} <'{}' >'{}' "
      "2>'{}'",
      own_data_home(), environment, HEXAPLAN_BINARY, arguments, in.path(), out.path(), err.path());
  const int status = std::system(command.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, content_of(out.path()), content_of(err.path())};
}

presets::JsonValue json_of(const std::string& arguments) {
  const Finished run = run_hexaplan(arguments);
  EXPECT_EQ(run.exit_code, 0) << arguments << "\n" << run.err;
  return presets::parse_json(run.out, "stdout").root;
}

const presets::JsonValue& at(const presets::JsonValue& value, std::string path) {
  static const presets::JsonValue kNone;
  const std::size_t dot = path.find('.');
  const presets::JsonValue* member = value.find(path.substr(0, dot));
  if (member == nullptr) {
    ADD_FAILURE() << "no member " << path;
    return kNone;
  }
  return dot == std::string::npos ? *member : at(*member, path.substr(dot + 1));
}

double number_at(const presets::JsonValue& value, const std::string& path) {
  const presets::JsonValue& member = at(value, path);
  if (const auto* whole = member.get_if<std::int64_t>()) return static_cast<double>(*whole);
  if (const auto* real = member.get_if<double>()) return *real;
  ADD_FAILURE() << path << " is no number";
  return 0;
}

}  // namespace hexaplan::cli
