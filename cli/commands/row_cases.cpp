#include "cli/commands/row_cases.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "presets/json/read_text_file.h"
#include "presets/scenario/scenario_request.h"

namespace hexaplan::cli {

using costmodel::Bytes;
using costmodel::Calibration;
using costmodel::Seconds;
using presets::TruthRow;
using validator::MeasuredCase;
using validator::MeasuredMemory;
using validator::MemoryKind;
using validator::MemoryScope;

namespace {

struct KindMeaning {
  std::string_view word;
  MemoryKind kind;
  MemoryScope scope;
};
constexpr KindMeaning kMemoryWords[] = {
    {"allocated-max-rank", MemoryKind::Allocated, MemoryScope::WorstRank},
    {"allocated-last-stage", MemoryKind::Allocated, MemoryScope::LastStage},
    {"allocated-last-rank", MemoryKind::Allocated, MemoryScope::LastStage},
    {"reserved", MemoryKind::Reserved, MemoryScope::WorstRank},
    {"device", MemoryKind::Device, MemoryScope::WorstRank},
};

/// nanotron's figures are those of world rank 0, on the *first* stage. Its trainer resets the allocator's
/// peak after the last backward of each of the first five steps (log_memory) and writes the figure in the
/// third, so that "allocated" is the peak of clipping, optimizer and parameter gathering: 20 bytes per
/// parameter of the embedding and the first stage's layers without ZeRO, whatever the micro-batch.
/// (huggingface/nanotron
/// @67c5ebb6 trainer.py training_step, helpers.py log_throughput)
MemoryScope scope_of(const TruthRow& row, MemoryKind kind, MemoryScope stated) {
  if (row.framework_profile != "nanotron") return stated;
  return kind == MemoryKind::Allocated ? MemoryScope::FirstStageUpdate : MemoryScope::FirstStage;
}

std::vector<MeasuredMemory> measured_memory(const TruthRow& row) {
  std::vector<MeasuredMemory> figures;
  for (const auto& [word, kind, scope] : kMemoryWords) {
    if (word == row.memory_kind)
      figures.push_back({kind, scope_of(row, kind, scope), Bytes{row.measured_memory_bytes.value_or(0)}});
  }
  if (row.measured_reserved_bytes && row.memory_kind != "reserved") {
    const MemoryScope scope = scope_of(row, MemoryKind::Reserved, MemoryScope::WorstRank);
    figures.push_back({MemoryKind::Reserved, scope, Bytes{*row.measured_reserved_bytes}});
  }
  return figures;
}

/// A step time that is not scored only because its source says that something disturbed it.
bool excludes_time(const TruthRow& row) {
  return row.excluded_because.find("time:") != std::string::npos && row.missing_inputs.empty() &&
         row.measured_step_seconds.value_or(0) > 0;
}

MeasuredCase measured_case(const TruthRow& row) {
  MeasuredCase measured{.id = row.case_id, .source = row.source_file, .weight = row.weight};
  if (row.scoreable_memory) measured.memory = measured_memory(row);
  if (row.scoreable_time) {
    measured.step = Seconds{row.measured_step_seconds.value_or(0)};
    measured.rank_group = row.rank_group;
  } else if (excludes_time(row)) {
    measured.disturbed_step = Seconds{*row.measured_step_seconds};
  }
  if (row.scoreable_oom) measured.ran_out_of_memory = row.outcome == "oom";
  return measured;
}

/// Why a figure that the row is marked to be scored for cannot be used, or an empty string.
std::string unusable_figure(const TruthRow& row, const MeasuredCase& measured) {
  if (!row.problem.empty()) return row.problem;
  if (row.scoreable_memory && measured.memory.empty())
    return fmt::format("memory_kind is '{}'", row.memory_kind);
  if (measured.step && measured.step->value() <= 0) return "measured_step_seconds is not a positive number";
  for (const MeasuredMemory& m : measured.memory) {
    if (m.bytes.value() <= 0) return "a measured memory figure is not a positive number";
  }
  if (row.scoreable_oom && row.outcome != "oom" && row.outcome != "fits")
    return fmt::format("outcome is '{}'", row.outcome);
  return {};
}

}  // namespace

std::vector<TruthRow> rows_of(const presets::CsvTable& table) {
  std::vector<TruthRow> rows = presets::read_truth_rows(table);
  std::erase_if(rows, [](const TruthRow& r) {
    return !r.scoreable_time && !r.scoreable_memory && !r.scoreable_oom && !excludes_time(r);
  });
  return rows;
}

std::vector<TruthRow> read_rows(const std::string& path) {
  return rows_of(presets::parse_csv(presets::read_text_file(path), path));
}

MeasuredCase RowCases::measured(const TruthRow& row) {
  MeasuredCase measured = measured_case(row);
  std::map<std::string, std::size_t>& of_source = families_[row.source_file];
  const auto known = of_source.try_emplace(row.inputs, of_source.size() + 1).first;
  measured.family = fmt::format("{} {}", row.source_file, known->second);
  return measured;
}

presets::RowScenario RowCases::scenario_of(const TruthRow& row, const MeasuredCase& measured) {
  if (std::string reason = unusable_figure(row, measured); !reason.empty())
    return presets::NoScenario{std::move(reason)};
  return interpreter_.scenario_of(row);
}

const Calibration& RowCases::curves(const costmodel::ClusterSpec& cluster) {
  std::string key = cluster.gpu.name;
  for (const costmodel::NetworkLevel& level : cluster.levels) key += ' ' + level.name;
  const auto found = calibrations_.find(key);
  if (found != calibrations_.end()) return found->second;
  presets::ScenarioRequest request;
  request.calibration = calibration_;
  return calibrations_.emplace(key, presets::calibration_for(request, cluster).calibration).first->second;
}

}  // namespace hexaplan::cli
