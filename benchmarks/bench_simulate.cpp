// Simulated steps and the replays that price schedules without a closed form.
#include <benchmark/benchmark.h>

#include <string>

#include "costmodel/schedule/replay.h"
#include "costmodel/simulate/simulation.h"
#include "costmodel/spec/rules.h"
#include "costmodel/step/estimate.h"
#include "presets/calibration/find_calibration.h"
#include "presets/clusters/cluster_preset.h"
#include "presets/frameworks/framework_preset.h"
#include "presets/models/find_model.h"

namespace hexaplan::costmodel {
namespace {

/// 256 layers on 64 stages of 4 chunks, 512 micro-batches: 262,144 passes.
Scenario large_pipeline() {
  Scenario sc;
  sc.model = presets::find_model("llama-3.1-405b");
  sc.model.layers = 256;
  sc.cluster = presets::parse_cluster("64x8xH100");
  sc.framework = presets::find_framework("megatron");
  sc.layout = {.tp = 8, .pp = 64, .vpp = 4, .sp = true, .schedule = ScheduleKind::Interleaved};
  sc.recipe.sequence = 8192;
  sc.recipe.global_batch = 512;
  return sc;
}

void simulate(benchmark::State& state, const SimulationOptions& options) {
  const Scenario sc = large_pipeline();
  const Calibration calibration = presets::find_calibration(sc.cluster.gpu);
  if (const auto rejection = first_rejection(sc)) {
    state.SkipWithError(rejection->reason.c_str());
    return;
  }
  for (auto _ : state) benchmark::DoNotOptimize(simulate_step(sc, calibration, options));
  state.SetItemsProcessed(state.iterations() * 64 * 512 * 4 * 2);
}
BENCHMARK_CAPTURE(simulate, 64_stages_512_microbatches_4_chunks, SimulationOptions{})
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(simulate, the_same_totals_only,
                  SimulationOptions{.keep_spans = false, .keep_memory = false})
    ->Unit(benchmark::kMillisecond);

/// What a search pays for a candidate whose schedule has no closed form.
void replay_order(benchmark::State& state, ScheduleKind kind) {
  const auto stages = static_cast<int>(state.range(0)), microbatches = static_cast<int>(state.range(1));
  const int chunks = chunks_per_stage(kind, 1);
  const std::vector<ChunkSeconds> one(static_cast<std::size_t>(stages * chunks),
                                      {Seconds{1}, Seconds{1.3}, Seconds{0.8}});
  for (auto _ : state)
    benchmark::DoNotOptimize(pipeline_time(make_schedule(kind, stages, microbatches, 1), one));
}
BENCHMARK_CAPTURE(replay_order, zb_h1, ScheduleKind::ZbH1)->Args({8, 32})->Args({16, 128});
BENCHMARK_CAPTURE(replay_order, zb_v, ScheduleKind::Zbv)->Args({8, 32})->Args({16, 128});
BENCHMARK_CAPTURE(replay_order, dualpipe_v, ScheduleKind::DualPipeV)->Args({8, 32})->Args({16, 128});

}  // namespace
}  // namespace hexaplan::costmodel

BENCHMARK_MAIN();
