// Whole searches, uneven splits and simulation of the winners included. items_per_second counts priced
// candidates, whatever the number of threads.
#include <benchmark/benchmark.h>

#include <array>
#include <string>
#include <vector>

#include "planner/search/search.h"
#include "presets/calibration/find_calibration.h"
#include "presets/clusters/cluster_preset.h"
#include "presets/frameworks/framework_preset.h"
#include "presets/models/find_model.h"

namespace hexaplan::planner {
namespace {

struct Case {
  const char* name;
  const char* model;
  const char* cluster;
  std::int64_t sequence, global_batch;
  std::vector<costmodel::ScheduleKind> schedules = {};  // empty: the framework's
};

// The last two are Calculon's problem (Isaev et al., SC 2023): 507,960 candidates in 2,023 s as shipped, on a
// comparable two-core machine.
const std::array kCases{
    Case{"llama_3_1_8b_on_8_h100", "llama-3.1-8b", "8xH100", 8192, 128},
    Case{"llama_3_1_70b_on_256_h100", "llama-3.1-70b", "32x8xH100", 8192, 512},
    Case{"llama_3_1_405b_on_16384_h100", "llama-3.1-405b", "2048x8xH100", 8192, 2048},
    Case{"deepseek_v3_on_2048_h800", "deepseek-v3", "256x8xH800", 4096, 15360},
    Case{"deepseek_v3_on_2048_h800_dualpipe",
         "deepseek-v3",
         "256x8xH800",
         4096,
         15360,
         {costmodel::ScheduleKind::DualPipe}},
    Case{"llama_3_1_405b_on_16384_h100_five_schedules",
         "llama-3.1-405b",
         "2048x8xH100",
         8192,
         2048,
         {costmodel::ScheduleKind::OneFOneB, costmodel::ScheduleKind::Interleaved,
          costmodel::ScheduleKind::ZbH1, costmodel::ScheduleKind::Zbv, costmodel::ScheduleKind::DualPipeV}},
    Case{"gpt_3_175b_on_512_a100", "gpt-3-175b", "64x8xA100-80GB", 2048, 1536},
    Case{"gpt_3_175b_on_4096_a100", "gpt-3-175b", "512x8xA100-80GB", 2048, 3072},
};

SearchProblem problem_of(const Case& c) {
  SearchProblem problem;
  problem.base.model = presets::find_model(c.model);
  problem.base.framework = presets::find_framework("megatron");
  problem.base.recipe.sequence = c.sequence;
  problem.base.recipe.global_batch = c.global_batch;
  problem.space.schedule = c.schedules;
  const auto cluster = presets::parse_cluster(c.cluster);
  problem.hardware = {{cluster, presets::find_calibration(cluster.gpu)}};
  return problem;
}

void whole_space(benchmark::State& state, const Case& c) {
  const SearchProblem problem = problem_of(c);
  SearchCounts counts;
  for (auto _ : state) {
    const Ranking ranking = search(problem, {.threads = static_cast<int>(state.range(0))});
    counts = ranking.counts;
    benchmark::DoNotOptimize(ranking.plans.data());
  }
  state.SetItemsProcessed(counts.priced * state.iterations());
  state.counters["enumerated"] = static_cast<double>(counts.enumerated);
  state.counters["priced"] = static_cast<double>(counts.priced);
  state.counters["pruned"] = static_cast<double>(counts.pruned + counts.outclassed);
}

void register_all() {
  for (const Case& c : kCases) {
    benchmark::RegisterBenchmark((std::string{"search/"} + c.name).c_str(), whole_space, c)
        ->ArgName("threads")
        ->Arg(1)
        ->Arg(2)
        ->UseRealTime()
        ->Unit(benchmark::kMillisecond);
  }
}

}  // namespace
}  // namespace hexaplan::planner

int main(int argc, char** argv) {
  hexaplan::planner::register_all();
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
