#include "costmodel/step/stage_times.h"

#include <algorithm>
#include <cstddef>

#include "costmodel/spec/stage_plan.h"
#include "costmodel/step/step_counts.h"
#include "costmodel/step/step_model.h"

namespace hexaplan::costmodel {

StageTimes stage_times(const Scenario& sc, const Calibration& calibration, int stage) {
  const std::vector<StagePlan> plan = plan_stages(sc);
  return StepModel{sc, calibration, plan}.times_of(static_cast<std::size_t>(stage));
}

std::vector<CommunicationTime> communication_times(const Scenario& sc, const Calibration& calibration,
                                                   int stage) {
  const Pricer pricer{sc, calibration};
  std::vector<CommunicationTime> out;
  for (const CollectiveCount& count : count_step(sc, stage).collectives) {
    if (count.messages <= 0) continue;
    auto row = std::find_if(out.begin(), out.end(),
                            [&](const auto& r) { return r.kind == count.kind && r.group == count.group; });
    if (row == out.end()) row = out.insert(out.end(), {.kind = count.kind, .group = count.group});
    row->messages += count.messages;
    row->time += count.messages * pricer.collective(count.kind, count.bytes / count.messages, count.group);
  }
  return out;
}

StepTime with_compute_scaled(const StepTime& predicted, double ratio) {
  constexpr Seconds StepTime::*kComputed[] = {
      &StepTime::gemm,   &StepTime::attention, &StepTime::memory_bound, &StepTime::recompute,
      &StepTime::launch, &StepTime::optimizer, &StepTime::host,         &StepTime::bubble};
  StepTime time = predicted;
  for (const auto part : kComputed) time.*part *= ratio;
  return time;
}

}  // namespace hexaplan::costmodel
