// The step program: what compiling and folding costs, and an exact replay of memory beside the hand-written
// replay.
#include <benchmark/benchmark.h>

#include "costmodel/program/compile.h"
#include "costmodel/program/count.h"
#include "costmodel/program/layer_program.h"
#include "costmodel/program/replay.h"
#include "presets/scenario/scenario_request.h"
#include "tests/costmodel/program/hand_written_replay.h"

namespace {

using namespace hexaplan;
using namespace hexaplan::costmodel;

Scenario scenario_of(const char* model, const char* cluster, const Layout& layout,
                     std::int64_t microbatches) {
  Scenario sc;
  sc.model = presets::look_up_model(presets::JsonValue{model});
  sc.cluster = presets::look_up_cluster(presets::JsonValue{cluster});
  sc.framework = presets::look_up_framework("hexaplan");
  sc.layout = layout;
  sc.recipe.sequence = 8192;
  sc.recipe.global_batch = layout.dp * microbatches;
  sc.recipe.recompute.mode = RecomputeMode::Full;
  return sc;
}
/// Llama-3.1-8B on 128 GPUs, tp4 sp pp4 zb-h1.
Scenario small(std::int64_t microbatches) {
  return scenario_of("llama-3.1-8b", "128xH100",
                     {.dp = 8, .tp = 4, .pp = 4, .sp = true, .schedule = ScheduleKind::ZbH1}, microbatches);
}
/// Llama-3.1-405B on 16,384 GPUs, tp8 sp pp16, ZeRO-1.
Scenario large(ScheduleKind schedule, int zero) {
  Layout layout{.dp = 128, .tp = 8, .pp = 16, .sp = true, .schedule = schedule};
  layout.sharding.stage = zero;
  return scenario_of("llama-3.1-405b", "16384xH100", layout, 256);
}

void compile_layer(benchmark::State& state) {
  const Scenario sc = small(64);
  program::Techniques t = program::techniques_of(sc, state.range(0) != 0);
  t.splits_backward = state.range(1) != 0;
  std::size_t ops = 0;
  for (auto unused : state) {
    const program::Program p = program::compile(program::forward_layer(sc.model, {}), t);
    benchmark::DoNotOptimize(ops = p.ops.size());
  }
  state.counters["operations"] = static_cast<double>(ops);
}
BENCHMARK(compile_layer)->ArgNames({"recomputed", "split"})->ArgsProduct({{0, 1}, {0, 1}});

void fold_layer(benchmark::State& state) {
  const Scenario sc = small(64);
  program::Techniques t = program::techniques_of(sc, true);
  t.splits_backward = true;
  const program::Program p = program::compile(program::forward_layer(sc.model, {}), t);
  const program::Sizes sizes = program::sizes_of(sc, local_dims(sc));
  const program::Footprint footprint{p};
  for (auto unused : state) benchmark::DoNotOptimize(footprint.fold(sizes));
}
BENCHMARK(fold_layer);

void count_layer(benchmark::State& state) {
  const Scenario sc = small(64);
  const program::Program p =
      program::compile(program::forward_layer(sc.model, {}), program::techniques_of(sc, true));
  const program::Sizes sizes = program::sizes_of(sc, local_dims(sc));
  for (auto unused : state) benchmark::DoNotOptimize(program::count(p, sizes));
}
BENCHMARK(count_layer);

template <bool Program>
void replay_all_stages(benchmark::State& state, const Scenario& sc) {
  double sum = 0;
  for (auto unused : state) {
    if constexpr (Program) {
      const program::StepReplay replay{sc};
      for (int stage = 0; stage < sc.layout.pp; ++stage) sum += replay.stage(stage).peak().total().value();
    } else {
      for (int stage = 0; stage < sc.layout.pp; ++stage)
        sum += program::hand_written_replay(sc, stage).peak().total().value();
    }
    benchmark::DoNotOptimize(sum);
  }
}
void register_replays() {
  const auto add = [](const std::string& name, const Scenario& sc) {
    benchmark::RegisterBenchmark(("step_program/" + name).c_str(), replay_all_stages<true>, sc)
        ->Unit(benchmark::kMicrosecond);
    benchmark::RegisterBenchmark(("hand_written/" + name).c_str(), replay_all_stages<false>, sc)
        ->Unit(benchmark::kMicrosecond);
  };
  add("8b_pp4_zbh1_64_microbatches", small(64));
  add("8b_pp4_zbh1_640_microbatches", small(640));
  add("405b_pp16_1f1b_256_microbatches", large(ScheduleKind::OneFOneB, 1));
  add("405b_pp16_zbh1_zero3_256_microbatches", large(ScheduleKind::ZbH1, 3));
}

}  // namespace

int main(int argc, char** argv) {
  register_replays();
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
