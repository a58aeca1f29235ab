#pragma once
#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "costmodel/memory/tensor_ledger.h"
#include "validator/executor/report/execution_report.h"

namespace hexaplan::tests {

/// What one rank allocated, sent and computed in one step.
struct RankRecord {
  int stage = 0;
  /// Bytes by kind at the peak, and at the peak of every instant (TrackingAllocator).
  validator::BytesByKind peak{};
  std::array<validator::BytesByKind, costmodel::kInstants> at{};
  /// "attention.qkv forward FLOPs", "attention.out forward all-reduce tensor messages": value.
  std::map<std::string, double> counts;
  friend bool operator==(const RankRecord&, const RankRecord&) = default;
};

/// A layout and its step: the ranks that did the same stand together.
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

/// Runs one step of the record's layout in float64 on threads.
[[nodiscard]] StepRecord executed_step(const std::string& words, bool learned);

/// A text of a few lines per layout: its words, its losses, then a line per kind of rank. Names of counts are
/// written once, where they are first used.
void write_records(const std::filesystem::path& file, const std::vector<StepRecord>& records);
[[nodiscard]] std::vector<StepRecord> read_records(const std::filesystem::path& file);

}  // namespace hexaplan::tests
