#pragma once
#include <mutex>
#include <string>

#include "cli/commands/execute.h"

namespace hexaplan::cli {

/// The file of --report: a whole, valid JSON document at every moment, on disk after every step.
class ReportFile {
 public:
  /// Empty path: keeps nothing.
  explicit ReportFile(std::string path) : path_{std::move(path)} {}

  /// Rewrites the file. Throws InputError when it cannot be written.
  void write(const ExecutionQuestion& question, const validator::ExecutionReport& report);
  /// Puts a fault into the file as it stands, unless it names one already: the first is the cause. Never
  /// throws: it is called when all is lost.
  void add_fault(const std::string& cause, int rank, const std::string& reason) noexcept;

 private:
  std::string path_;
  std::mutex mutex_;
};

}  // namespace hexaplan::cli
