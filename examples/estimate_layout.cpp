// Does a layout fit, and how long does a step take?
//   estimate_layout llama-3.1-8b 16xH100 "tp2 pp2 zero1 sp" 8192 64
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <variant>

#include "costmodel/memory/memory_kinds.h"
#include "costmodel/step/estimate.h"
#include "costmodel/step/time_causes.h"
#include "presets/scenario/scenario_request.h"

using namespace hexaplan;

static int answer(const presets::ScenarioRequest& request) {
  const presets::CalibratedScenario question = presets::resolve_calibrated(request);
  for (const std::string& note : question.notes) std::printf("note: %s\n", note.c_str());

  const costmodel::Estimate estimate = costmodel::estimate_step(question.scenario, question.calibration);
  if (const auto* no = std::get_if<costmodel::Rejected>(&estimate.verdict)) {
    std::printf("%s: %s; %s\n", no->rule.c_str(), no->reason.c_str(), no->advice.c_str());
    if (estimate.stages.empty()) return 1;  // a rule says that it cannot run: nothing was priced
  }
  for (const costmodel::StageMemory& stage : estimate.stages) {
    std::printf("stage %d: %.0f bytes of device memory\n", stage.stage, stage.device.value());
  }
  const costmodel::MemoryBreakdown kinds = estimate.peak().on_device();
  for (const costmodel::MemoryKind& kind : costmodel::kMemoryKinds) {
    std::printf("  %-18.*s %15.0f bytes\n", static_cast<int>(kind.name.size()), kind.name.data(),
                kinds.of(kind.kind).value());
  }
  std::printf("step: %.6f s, MFU %.1f %%\n", estimate.time.total().value(), 100 * estimate.throughput.mfu);
  for (const costmodel::TimeCause& cause : costmodel::kTimeCauses) {
    std::printf("  %-22.*s %9.6f s\n", static_cast<int>(cause.name.size()), cause.name.data(),
                (estimate.time.*cause.member).value());
  }
  return 0;
}

int main(int count, char** words) {
  if (count != 6) {
    std::fprintf(stderr, "usage: %s MODEL CLUSTER LAYOUT SEQUENCE GLOBAL_BATCH\n", words[0]);
    return 2;
  }
  try {
    presets::ScenarioRequest request;
    request.model = words[1];  // a preset's name, a config.json or its folder
    request.cluster = words[2];
    request.layout = presets::parse_layout(words[3], "layout");
    request.recipe.sequence = std::atoll(words[4]);
    request.recipe.global_batch = std::atoll(words[5]);
    return answer(request);
  } catch (const std::exception& error) {  // presets::InputError: one line that names the word at fault
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
