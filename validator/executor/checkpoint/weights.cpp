#include "validator/executor/checkpoint/weights.h"

#include <vector>

#include "validator/executor/checkpoint/owned_runs.h"

namespace hexaplan::validator {
namespace {

template <class Values>
auto values_of_run(Values& values, const OwnedRun& run) {
  return std::span{values}.subspan(static_cast<std::size_t>(run.local), static_cast<std::size_t>(run.count));
}

}  // namespace

void load_weights(const ReadWeights& read, const RankView& rank) {
  std::vector<double> values;
  rank.visit_state(State::Master, [&](const OwnedPart& part) {
    if (part.tensor->adapter) return;
    values.assign(static_cast<std::size_t>(part.view.elements()), 0.0);
    const auto [unit, name] = original_of(part);
    for (const OwnedRun& run : runs_of(part)) read(unit, name, run.global, values_of_run(values, run));
    part.device->upload(part.view, std::span<const double>{values});
  });
  rank.state_changed();
}

void store_weights(const WriteWeights& write, const RankView& rank) {
  std::vector<double> values;
  rank.visit_state(State::Master, [&](const OwnedPart& part) {
    if (part.duplicate) return;
    values.resize(static_cast<std::size_t>(part.view.elements()));
    part.device->download(values, part.view);
    const auto [unit, name] = original_of(part);
    for (const OwnedRun& run : runs_of(part)) write(unit, name, run.global, values_of_run(values, run));
  });
}

}  // namespace hexaplan::validator
