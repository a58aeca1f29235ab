// What does one rank run for a layer, and what is alive when a pipeline stage is fullest?
//   step_program llama-3.2-1b 4xH100 "tp2 pp2 sp" 1024 8
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "costmodel/memory/memory_kinds.h"
#include "costmodel/program/compile.h"
#include "costmodel/program/explain.h"
#include "costmodel/program/layer_program.h"
#include "costmodel/program/replay.h"
#include "costmodel/program/replay_memory.h"
#include "costmodel/spec/rules.h"
#include "costmodel/step/estimate.h"
#include "presets/scenario/scenario_request.h"

using namespace hexaplan;
namespace program = costmodel::program;

/// The operations of one dense layer, forward and backward, after every pass that the layout asks for.
static void print_layer(const costmodel::Scenario& scenario) {
  const auto techniques = program::techniques_of(scenario, /*whole_layer_recomputed=*/false);
  const auto forward = program::forward_layer(scenario.model, costmodel::LayerClass{});
  std::printf("%s\n", program::listing(program::compile(forward, techniques)).c_str());
}

/// Every stage's peak by kind: the schedule walked task by task over the program's allocations.
static void print_memory(const costmodel::Scenario& scenario) {
  const program::StepReplay replay{scenario};
  for (int stage = 0; stage < scenario.layout.pp; ++stage) {
    const costmodel::ReplayedMemory memory = replay.stage(stage);
    const std::string_view instant = costmodel::name_of(memory.peak_instant);
    std::printf("stage %d: %.0f bytes allocated at the peak, %.*s\n", stage,
                memory.peak().allocated().value(), static_cast<int>(instant.size()), instant.data());
    for (const costmodel::MemoryKind& kind : costmodel::kMemoryKinds) {
      std::printf("  %-18.*s %15.0f bytes\n", static_cast<int>(kind.name.size()), kind.name.data(),
                  memory.peak().of(kind.kind).value());
    }
  }
}

int main(int count, char** words) {
  if (count != 6) {
    std::fprintf(stderr, "usage: %s MODEL CLUSTER LAYOUT SEQUENCE GLOBAL_BATCH\n", words[0]);
    return 2;
  }
  try {
    presets::ScenarioRequest request;
    request.model = words[1];
    request.cluster = words[2];
    request.framework = "hexaplan";  // the executor's profile: every allocation of its step is known
    request.layout = presets::parse_layout(words[3], "layout");
    request.recipe.sequence = std::atoll(words[4]);
    request.recipe.global_batch = std::atoll(words[5]);
    const costmodel::Scenario scenario = presets::resolve(request).scenario;
    if (const auto rejected = costmodel::first_rejection(scenario)) {
      std::fprintf(stderr, "%s: %s\n", rejected->reason.c_str(), rejected->advice.c_str());
      return 1;
    }
    if (const auto gap = program::first_gap(scenario)) {
      std::fprintf(stderr, "the step program does not describe %.*s\n", static_cast<int>(gap->size()),
                   gap->data());
      return 1;
    }
    print_layer(scenario);
    print_memory(scenario);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
