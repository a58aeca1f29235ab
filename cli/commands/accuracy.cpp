#include "cli/commands/accuracy.h"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "costmodel/step/estimate.h"
#include "presets/calibration/find_calibration.h"
#include "presets/json/read_text_file.h"
#include "presets/truth/scenario_of_row.h"

namespace hexaplan::cli {

using costmodel::Bytes;
using costmodel::Calibration;
using costmodel::Scenario;
using costmodel::Seconds;
using presets::TruthRow;
using validator::MeasuredCase;
using validator::MeasuredMemory;
using validator::MemoryKind;
using validator::MemoryScope;
using validator::PredictedCase;

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

/// Predicts rows; reads the curves of a kind of cluster once.
class Predictor {
 public:
  [[nodiscard]] PredictedCase predict(const TruthRow& row) {
    PredictedCase result{measured_case(row), validator::NotPredicted{}};
    result.measured.family = family_of(row);
    if (std::string reason = unusable_figure(row, result.measured); !reason.empty()) {
      result.prediction = validator::NotPredicted{std::move(reason)};
      return result;
    }
    const presets::RowScenario interpreted = interpreter_.scenario_of(row);
    if (const auto* none = std::get_if<presets::NoScenario>(&interpreted)) {
      result.prediction = validator::NotPredicted{none->reason};
      return result;
    }
    const auto& scenario = std::get<Scenario>(interpreted);
    costmodel::Estimate estimate = costmodel::estimate_step(scenario, calibration(scenario.cluster));
    if (estimate.stages.empty()) {
      const auto& rejected = std::get<costmodel::Rejected>(estimate.verdict);
      result.prediction = validator::NotPredicted{fmt::format("{}: {}", rejected.rule, rejected.reason)};
    } else {
      result.prediction = std::move(estimate);
    }
    return result;
  }

 private:
  /// Curves depend on the GPU, on what links it inside the node, and on the kind of network.
  const Calibration& calibration(const costmodel::ClusterSpec& cluster) {
    std::string key = cluster.gpu.name;
    for (const costmodel::NetworkLevel& level : cluster.levels) key += ' ' + level.name;
    const auto found = calibrations_.find(key);
    if (found != calibrations_.end()) return found->second;
    return calibrations_.emplace(key, presets::find_calibration(cluster).calibration).first->second;
  }

  /// Runs of one source with the same inputs: "vtrain 17", in the order of the tables.
  std::string family_of(const TruthRow& row) {
    std::map<std::string, std::size_t>& of_source = families_[row.source_file];
    const auto known = of_source.try_emplace(row.inputs, of_source.size() + 1).first;
    return fmt::format("{} {}", row.source_file, known->second);
  }

  presets::RowInterpreter interpreter_;
  std::map<std::string, std::map<std::string, std::size_t>> families_;
  std::map<std::string, Calibration> calibrations_;
};

std::vector<TruthRow> scoreable_rows(const std::string& path) {
  std::vector<TruthRow> rows =
      presets::read_truth_rows(presets::parse_csv(presets::read_text_file(path), path));
  std::erase_if(rows, [](const TruthRow& r) {
    return !r.scoreable_time && !r.scoreable_memory && !r.scoreable_oom && !excludes_time(r);
  });
  return rows;
}

}  // namespace

AccuracyResult run_accuracy(const AccuracyOptions& options) {
  Predictor predictor;
  std::vector<PredictedCase> cases;
  for (const std::string& path : options.tables) {
    for (const TruthRow& row : scoreable_rows(path)) cases.push_back(predictor.predict(row));
  }
  AccuracyResult result{.report = validator::score(cases)};
  for (const PredictedCase& c : cases) result.cases.push_back(validator::compare(c));
  return result;
}

}  // namespace hexaplan::cli
