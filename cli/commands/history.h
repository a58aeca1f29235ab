#pragma once
#include <string>
#include <vector>

#include "cli/commands/execute.h"
#include "cli/commands/validate.h"
#include "cli/options.h"
#include "validator/measure/store/run_store.h"

namespace hexaplan::cli {

/// Of this machine; "unknown" where it has none.
[[nodiscard]] std::string host_name();

/// Adds to the history what came of a run. What keeps it from that is told on stderr and changes nothing
/// else: the result is there already.
void remember(const StoreOptions& store, const ExecutionResult& result);

/// The record of one validation in the history, from its first measured scenario on: on disk, and nothing
/// beside the history's file, when keep() returns. What keeps it from that is told once on stderr.
class ValidationRecord {
 public:
  explicit ValidationRecord(const StoreOptions& store) : store_{store} {}
  /// The report as it stands.
  void keep(const ValidateReport& report);

 private:
  StoreOptions store_;
  std::string told_;
  validator::RunRecord record_;
};

/// One figure of a record, for looking at and for comparing.
struct Figure {
  std::string scenario;  // of a validation; empty: of the whole
  std::string name;
  double value = 0;
  std::string unit;  // "s", "bytes", "share", "error" (a share with its sign), ""
};
/// A scenario that gave no figures, in words.
struct Unmeasured {
  std::string scenario, why;
};
struct RecordFigures {
  std::vector<Figure> figures;
  std::vector<Unmeasured> unmeasured;
};
/// What a record's report says in figures: step, loss, phases, kinds of work and memory of a run; every
/// scenario's step and memory of a validation. Nothing when the report is none of these.
[[nodiscard]] RecordFigures figures_of(const validator::RunRecord& record);

struct HistoryReport {
  HistoryUse use = HistoryUse::List;
  std::string file;
  std::vector<validator::RunRecord> records;
};
/// Reads the history. InputError when it cannot be read or has no such record.
[[nodiscard]] HistoryReport run_history(const RunsOptions& options);

}  // namespace hexaplan::cli
