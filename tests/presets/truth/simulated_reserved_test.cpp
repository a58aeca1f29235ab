// What the simulated allocator reserves, beside measured runs and beside the profile's own factor.
// HEXAPLAN_REPORT=1 prints the table of docs/accuracy.md.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "costmodel/program/step_allocations.h"
#include "costmodel/step/estimate.h"
#include "presets/json/read_text_file.h"
#include "presets/truth/csv.h"
#include "presets/truth/scenario_of_row.h"

namespace hexaplan::presets {
namespace {

using costmodel::Scenario;

/// Errors as shares of what was measured.
struct ReservedErrors {
  int rows = 0;
  double factor = 0, simulated = 0, simulated_bias = 0;  // sums
  double farthest_allocated = 0;                         // from the ledger's
};

/// Of nanotron's runs the first stage reports, of others the fullest.
int reporting_stage(const TruthRow& row, const costmodel::Estimate& e) {
  return row.framework_profile == "nanotron" ? 0 : e.peak_stage;
}

void score(const TruthRow& row, const Scenario& sc, double measured, ReservedErrors& errors) {
  const costmodel::Estimate e = estimate_step(sc, {});
  ASSERT_FALSE(e.stages.empty()) << row.case_id;
  const costmodel::StageMemory& stage = e.stages[static_cast<std::size_t>(reporting_stage(row, e))];
  const auto calls =
      costmodel::program::step_allocations(sc, stage.stage, costmodel::program::kSimulatedSteps);
  ASSERT_TRUE(calls.has_value()) << row.case_id;
  const costmodel::AllocatorSettings settings{
      .capacity = costmodel::whole(sc.cluster.gpu.memory - (stage.device - stage.reserved))};
  const costmodel::program::SimulatedAllocator run = costmodel::program::run_calls(*calls, settings);
  ++errors.rows;
  errors.factor += std::abs(stage.reserved.value() / measured - 1);
  const double error = run.use.peak_reserved.value() / measured - 1;
  errors.simulated += std::abs(error);
  errors.simulated_bias += error;
  errors.farthest_allocated = std::max(
      errors.farthest_allocated, std::abs(run.use.peak_allocated.value() / stage.allocated.value() - 1));
}

std::optional<double> measured_reserved(const TruthRow& row) {
  if (!row.scoreable_memory || !row.problem.empty()) return std::nullopt;
  if (row.memory_kind == "reserved") return row.measured_memory_bytes;
  return row.measured_reserved_bytes;
}

/// By source and profile.
std::map<std::pair<std::string, std::string>, ReservedErrors> errors_of(
    const std::vector<std::string>& sources) {
  std::map<std::pair<std::string, std::string>, ReservedErrors> errors;
  RowInterpreter interpreter;
  for (const std::string& source : sources) {
    const std::string path =
        fmt::format("{}/tests/golden/rows/{}.csv", std::string{HEXAPLAN_SOURCE_DIR}, source);
    for (const TruthRow& row : read_truth_rows(parse_csv(read_text_file(path), path))) {
      const std::optional<double> measured = measured_reserved(row);
      if (!measured) continue;
      const RowScenario scenario = interpreter.scenario_of(row);
      if (const auto* sc = std::get_if<Scenario>(&scenario))
        score(row, *sc, *measured, errors[{source, sc->framework.name}]);
    }
  }
  return errors;
}

TEST(simulated_reserved, is_no_further_from_measured_runs_than_recorded) {
  // Mean |error| in percent, recorded with room for another compiler's rounding. The factors of megatron and
  // nanotron were chosen over these very rows, hf-eager's over these with batches of varying length.
  const std::map<std::pair<std::string, std::string>, double> limits{
      {{"torchtitan", "fsdp2"}, 9.2},         {{"simumax_b200", "megatron"}, 3.6},
      {{"stas_mleng", "deepspeed"}, 12.3},    {{"finetune_memory", "hf-eager"}, 28.4},
      {{"nanotron_bench", "nanotron"}, 13.5}, {{"nanotron_bench", "nanotron-polling"}, 7.0}};
  const auto errors =
      errors_of({"torchtitan", "simumax_b200", "stas_mleng", "finetune_memory", "nanotron_bench"});
  EXPECT_EQ(errors.size(), limits.size());
  for (const auto& [key, e] : errors) {
    SCOPED_TRACE(key.first + " " + key.second);
    if (std::getenv("HEXAPLAN_REPORT") != nullptr)
      fmt::print("| {}, {} | {} | {:.1f} % | {:.1f} % | {:+.1f} % | {:.1f} % |\n", key.first, key.second,
                 e.rows, 100 * e.factor / e.rows, 100 * e.simulated / e.rows, 100 * e.simulated_bias / e.rows,
                 100 * e.farthest_allocated);
    EXPECT_LE(100 * e.simulated / e.rows, limits.at(key));
    // The calls of a step and the ledger are two accounts of the same tensors.
    EXPECT_LE(e.farthest_allocated, 0.07);
  }
}

}  // namespace
}  // namespace hexaplan::presets
