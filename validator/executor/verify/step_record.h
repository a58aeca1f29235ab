#pragma once
#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "costmodel/memory/tensor_ledger.h"
#include "costmodel/spec/scenario.h"
#include "validator/executor/communicator/run_ranks.h"
#include "validator/executor/memory/tracking_allocator.h"
#include "validator/executor/verify/verify.h"

namespace hexaplan::validator {

/// What one rank allocated, sent and computed in one step.
struct RankRecord {
  int stage = 0;
  /// Bytes by kind at the peak, and at the peak of every instant (TrackingAllocator).
  BytesByKind peak{};
  std::array<BytesByKind, costmodel::kInstants> at{};
  /// "attention.qkv forward FLOPs", "attention.out forward all-reduce tensor messages": value.
  std::map<std::string, double> counts;
  friend bool operator==(const RankRecord&, const RankRecord&) = default;
};

/// A layout and its step, run once in float64: the ranks that did the same stand together. Recorded steps are
/// a witness from outside: estimate and executor read one step program, so that a fault in it moves both.
struct StepRecord {
  std::string words;     // as presets::to_command_words
  bool learned = false;  // experts as their router chose them; else filled in turn
  double loss = 0, gradient_norm = 0;
  struct Ranks {
    std::vector<int> ranks;
    RankRecord record;
  };
  std::vector<Ranks> ranks;
};

/// Runs one step of the scenario, which `words` say, on ranks of `backend`. RankFault when a rank fails.
[[nodiscard]] StepRecord executed_step(const costmodel::Scenario& scenario, const std::string& words,
                                       bool learned, const VerifyOptions& options, RankBackend& backend);

/// Executes a recorded step again: bytes by kind and instant, messages, bytes and FLOPs must be those of the
/// record, loss and gradient norm no further apart than kSameNumbers. `predicted` of a mismatch is what was
/// recorded. Of the ranks that were alike the first that differs is named. Parameters and tokens are those of
/// the record; options.seed and options.steps are not read.
[[nodiscard]] Verification verify_record(const costmodel::Scenario& scenario, const StepRecord& record,
                                         const VerifyOptions& options, RankBackend& backend);

/// A text of a few lines per layout: its words, its losses, then a line per kind of rank. Names of counts are
/// written once, where they are first used.
void write_records(const std::filesystem::path& file, const std::vector<StepRecord>& records);
/// std::runtime_error when the file cannot be opened.
[[nodiscard]] std::vector<StepRecord> read_records(const std::filesystem::path& file);

}  // namespace hexaplan::validator
