#include "costmodel/simulate/simulation.h"

#include <cstddef>

namespace hexaplan::costmodel {
namespace {

constexpr std::array<std::string_view, kSpanKinds> kKindNames = {
    "forward",      "backward",      "backward input",     "backward weight",  "recompute", "collective",
    "send forward", "send backward", "gradient reduction", "parameter gather", "optimizer", "host"};
constexpr std::array<std::string_view, kStreams> kStreamNames = {"compute", "collectives", "messages",
                                                                 "data parallel"};

double share_of(const Simulation& simulation, Seconds (*part)(const StageTimes&)) {
  Seconds sum;
  for (const StageTimeline& stage : simulation.stages) sum += part(stage.times);
  const Seconds all = simulation.total * static_cast<double>(simulation.stages.size());
  return all > Seconds{} ? sum / all : 0.0;
}

}  // namespace

std::string_view name_of(SpanKind kind) {
  return kKindNames[static_cast<std::size_t>(kind)];
}
std::string_view name_of(Stream stream) {
  return kStreamNames[static_cast<std::size_t>(stream)];
}

double Simulation::bubble_share() const {
  return share_of(*this, [](const StageTimes& times) { return times.bubble; });
}
double Simulation::exposed_share() const {
  return share_of(*this, [](const StageTimes& times) { return times.exposed(); });
}

}  // namespace hexaplan::costmodel
