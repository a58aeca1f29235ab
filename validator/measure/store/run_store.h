#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "validator/measure/store/database.h"

namespace hexaplan::validator {

/// One run or validation as the history keeps it.
struct RunRecord {
  std::int64_t id = 0;   // counts from 1; given by the store
  std::string at;        // UTC, "2026-11-22T01:02:03Z"; empty in add(): now
  std::string kind;      // "run", "validate"
  std::string title;     // one line: model, layout, ranks
  std::string machine;   // one line: device, host
  std::string version;   // of the program
  std::string scenario;  // JSON; empty = several
  std::string report;    // JSON; empty in list()
};

/// History of runs. Every add() and update() is a transaction of its own.
class RunStore {
 public:
  explicit RunStore(Database& database) : database_{database} {}
  /// Returns the id it got.
  std::int64_t add(const RunRecord& run);
  /// Gives the record of this id, `at` and kind the title and the report of `run`. False: there is none.
  bool update(const RunRecord& run);
  /// Newest first, without reports; all kinds when `kind` is empty; at most `most`.
  [[nodiscard]] std::vector<RunRecord> list(const std::string& kind = {}, std::int64_t most = 1'000'000);
  [[nodiscard]] std::optional<RunRecord> get(std::int64_t id);

 private:
  Database& database_;
};

}  // namespace hexaplan::validator
