#include <benchmark/benchmark.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "costmodel/communication/collective_time.h"
#include "costmodel/compute/kernel_time.h"
#include "costmodel/spec/rules.h"
#include "costmodel/step/estimate.h"
#include "presets/calibration/find_calibration.h"
#include "presets/clusters/cluster_preset.h"
#include "presets/frameworks/framework_preset.h"
#include "presets/gpus/gpu_preset.h"
#include "presets/models/find_model.h"

namespace hexaplan::costmodel {
namespace {

/// One question, with its answer's ingredients read from the presets before the clock starts.
struct Question {
  Scenario scenario;
  Calibration calibration;
};

struct Case {
  const char* name;
  const char* model;
  const char* cluster;
  Layout layout;
  std::int64_t sequence, global_batch;
};

const std::array<Case, 3>& cases() {
  static const std::array<Case, 3> all{{
      {"llama_3_1_8b_on_8_gpus",
       "llama-3.1-8b",
       "8xH100",
       {.dp = 4, .tp = 2, .sp = true, .sharding = {.stage = 1}},
       8192,
       128},
      {"llama_3_1_405b_on_16384_gpus",
       "llama-3.1-405b",
       "2048x8xH100",
       {.dp = 128, .tp = 8, .pp = 16, .sp = true, .sharding = {.stage = 1}},
       8192,
       2048},
      {"deepseek_v3_on_2048_gpus",
       "deepseek-v3",
       "256x8xH800",
       {.dp = 128, .pp = 16, .ep = 64, .sharding = {.stage = 1}},
       4096,
       15360},
  }};
  return all;
}

Question question(const Case& c) {
  Question q;
  q.scenario.model = presets::find_model(c.model);
  q.scenario.cluster = presets::parse_cluster(c.cluster);
  q.scenario.framework = presets::find_framework("megatron");
  q.scenario.layout = c.layout;
  q.scenario.recipe.sequence = c.sequence;
  q.scenario.recipe.global_batch = c.global_batch;
  q.calibration = presets::find_calibration(q.scenario.cluster.gpu);
  return q;
}

void estimate(benchmark::State& state, const Case& c) {
  const Question q = question(c);
  if (const auto rejection = first_rejection(q.scenario)) {
    state.SkipWithError(rejection->reason.c_str());
    return;
  }
  for (auto _ : state) benchmark::DoNotOptimize(estimate_step(q.scenario, q.calibration));
}

/// As the first question after the program starts: neither code nor data in the caches.
void estimate_flushed(benchmark::State& state, const Case& c) {
  const Question q = question(c);
  std::vector<char> evict(64 << 20);
  for (auto _ : state) {
    state.PauseTiming();
    for (std::size_t i = 0; i < evict.size(); i += 64) ++evict[i];
    state.ResumeTiming();
    benchmark::DoNotOptimize(estimate_step(q.scenario, q.calibration));
  }
}

void ledger(benchmark::State& state, const Case& c) {
  const Question q = question(c);
  for (auto _ : state) benchmark::DoNotOptimize(build_ledger(q.scenario, 0));
}

void rules(benchmark::State& state, const Case& c) {
  const Question q = question(c);
  for (auto _ : state) benchmark::DoNotOptimize(first_rejection(q.scenario));
}

void gemm(benchmark::State& state, const Case& c) {
  const Question q = question(c);
  GemmShape shape{.m = 8192, .n = 4096, .k = 14336};
  for (auto _ : state) {
    shape.m = shape.m % 16384 + 128;
    benchmark::DoNotOptimize(gemm_time(shape, Precision::Bf16, q.scenario.cluster.gpu, q.calibration));
  }
}

void collective(benchmark::State& state, const Case& c) {
  const Question q = question(c);
  const GroupPlacement group = place_group(q.scenario.layout, Group::DataContext, q.scenario.cluster);
  double megabytes = 1;
  for (auto _ : state) {
    megabytes = megabytes < 4096 ? megabytes * 1.7 : 1;
    benchmark::DoNotOptimize(collective_cost(CollectiveKind::AllReduce, Bytes{megabytes * 1e6}, group,
                                             q.scenario.cluster, q.calibration));
  }
}

void place(benchmark::State& state, const Case& c) {
  const Question q = question(c);
  for (auto _ : state) {
    benchmark::DoNotOptimize(place_group(q.scenario.layout, Group::DataContext, q.scenario.cluster));
  }
}

/// What a command reads before it answers.
void read_gpu(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(presets::find_gpu("H100"));
}
void read_calibration(benchmark::State& state) {
  const GpuSpec gpu = presets::find_gpu("b200");
  for (auto _ : state) benchmark::DoNotOptimize(presets::find_calibration(gpu));
}

void register_all() {
  benchmark::RegisterBenchmark("presets/gpu", read_gpu);
  benchmark::RegisterBenchmark("presets/calibration", read_calibration);
  using Run = void (*)(benchmark::State&, const Case&);
  constexpr std::array<std::pair<const char*, Run>, 7> kRuns{{{"estimate", estimate},
                                                              {"estimate_flushed", estimate_flushed},
                                                              {"ledger", ledger},
                                                              {"rules", rules},
                                                              {"gemm", gemm},
                                                              {"collective", collective},
                                                              {"place", place}}};
  for (const auto& [what, run] : kRuns) {
    for (const Case& c : cases()) {
      benchmark::RegisterBenchmark((std::string{what} + "/" + c.name).c_str(), run, c);
    }
  }
}

}  // namespace
}  // namespace hexaplan::costmodel

int main(int argc, char** argv) {
  hexaplan::costmodel::register_all();
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
