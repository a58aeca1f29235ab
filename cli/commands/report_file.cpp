#include "cli/commands/report_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "cli/render/execution_json.h"
#include "cli/write_file.h"
#include "presets/json/input_error.h"
#include "presets/json/read_json.h"
#include "validator/executor/checkpoint/durable_file.h"

namespace hexaplan::cli {
namespace {

constexpr std::chrono::seconds kLeastPause{1};
constexpr int kPausesPerWrite = 20;

/// null where there is no file, or it holds nothing of ours.
presets::JsonValue read_if_whole(const std::string& path) {
  try {
    if (validator::is_replaced(path)) return presets::read_json_file(path).root;
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): nothing to go on from
  }
  return {};
}

/// Where there is none yet.
void set_fault(presets::JsonValue& document, const presets::JsonValue& fault) {
  auto* const members = document.get_if<presets::JsonObject>();
  if (members == nullptr) return;
  for (auto& [key, value] : *members) {
    if (key == "fault" && value.is_null()) value = fault;
  }
}

}  // namespace

void ReportFile::begin(const ExecutionQuestion& question, const validator::ExecutionReport& report) {
  if (path_.empty()) return;
  const std::scoped_lock lock{mutex_};
  question_ = &question;
  check_output(path_);
  is_replaced_ = validator::is_replaced(path_);
  if (is_replaced_) {
    write(execution_json(question, report));
  } else {
    unwritten_ = report;
  }
}

void ReportFile::keep(const validator::ExecutionReport& report) {
  if (path_.empty()) return;
  const std::scoped_lock lock{mutex_};
  unwritten_ = report;
  if (!is_replaced_ || Clock::now() < next_write_) return;
  const bool had_failed = !problem_.empty();
  try_to_write(execution_json(*question_, report));
  if (!problem_.empty() && !had_failed)
    fmt::print(stderr, "\nhexaplan: {}; the run goes on without it, and it is tried again\n", problem_);
}

void ReportFile::finish(const validator::ExecutionReport& report) {
  if (path_.empty()) return;
  const std::scoped_lock lock{mutex_};
  unwritten_ = report;
  try_to_write(execution_json(*question_, report));
}

void ReportFile::add_fault(const std::string& cause, int rank, const std::string& reason) noexcept {
  if (path_.empty()) return;
  try {
    const std::scoped_lock lock{mutex_};
    // Another process of the job may have told a fault since this one wrote the file.
    const presets::JsonValue on_disk = read_if_whole(path_);
    presets::JsonValue document = unwritten_ ? execution_json(*question_, *unwritten_) : on_disk;
    const presets::JsonValue* const told = on_disk.find("fault");
    const bool first = told == nullptr || told->is_null();
    set_fault(document,
              first ? presets::JsonObject{{"cause", cause}, {"rank", rank}, {"reason", reason}} : *told);
    if (!document.is_null()) try_to_write(document);
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): the fault itself is told elsewhere
  }
}

std::string ReportFile::problem() const {
  const std::scoped_lock lock{mutex_};
  return problem_;
}

void ReportFile::write(const presets::JsonValue& document) {
  const Clock::time_point begin = Clock::now();
  write_file(path_, presets::to_text(document) + "\n");
  const Clock::time_point end = Clock::now();
  next_write_ = end + std::max<Clock::duration>(kLeastPause, kPausesPerWrite * (end - begin));
  unwritten_.reset();
  problem_.clear();
}

void ReportFile::try_to_write(const presets::JsonValue& document) {
  try {
    write(document);
  } catch (const presets::InputError& error) {
    problem_ = error.what();
    next_write_ = Clock::now() + kLeastPause;
  }
}

}  // namespace hexaplan::cli
