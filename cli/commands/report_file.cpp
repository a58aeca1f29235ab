#include "cli/commands/report_file.h"

#include "cli/render/execution_json.h"
#include "presets/json/input_error.h"
#include "presets/json/read_json.h"
#include "validator/checkpoint/checkpoint_file.h"
#include "validator/checkpoint/durable_file.h"

namespace hexaplan::cli {
namespace {

void write_json(const std::string& path, const presets::JsonValue& document) {
  try {
    validator::write_durably(path, presets::to_text(document) + "\n");
  } catch (const validator::CheckpointError& error) {
    throw presets::InputError{
        {.field = "--report", .value = error.what(), .expected = "a file that can be written"}};
  }
}

}  // namespace

void ReportFile::write(const ExecutionQuestion& question, const validator::ExecutionReport& report) {
  if (path_.empty()) return;
  const std::scoped_lock lock{mutex_};
  write_json(path_, execution_json(question, report));
}

void ReportFile::add_fault(const std::string& cause, int rank, const std::string& reason) noexcept {
  if (path_.empty()) return;
  try {
    const std::scoped_lock lock{mutex_};
    presets::JsonValue document = presets::read_json_file(path_).root;
    auto* const members = document.get_if<presets::JsonObject>();
    if (members == nullptr) return;
    for (auto& [key, value] : *members) {
      if (key == "fault" && value.is_null())
        value = presets::JsonObject{{"cause", cause}, {"rank", rank}, {"reason", reason}};
    }
    write_json(path_, document);
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): the fault itself is told elsewhere
  }
}

}  // namespace hexaplan::cli
