#include "validator/executor/checkpoint/weights.h"

#include <vector>

#include "validator/executor/checkpoint/owned_runs.h"

namespace hexaplan::validator {

void load_weights(const ReadWeights& read, const RankView& rank) {
  std::vector<double> values;
  rank.visit_state(State::Master, [&](const OwnedPart& part) {
    if (part.tensor->adapter) return;
    const auto original = original_of(part);
    for_each_piece(part, [&](const OwnedPiece& piece) {
      values.assign(static_cast<std::size_t>(piece.view.elements()), 0.0);
      for (const OwnedRun& run : piece.runs)
        read(original.first, original.second, run.global, values_of_run(values, run));
      part.device->upload(piece.view, std::span<const double>{values});
    });
  });
  rank.state_changed();
}

void store_weights(const WriteWeights& write, const RankView& rank) {
  std::vector<double> values;
  rank.visit_state(State::Master, [&](const OwnedPart& part) {
    if (part.duplicate) return;
    const auto original = original_of(part);
    for_each_piece(part, [&](const OwnedPiece& piece) {
      values.resize(static_cast<std::size_t>(piece.view.elements()));
      part.device->download(values, piece.view);
      for (const OwnedRun& run : piece.runs)
        write(original.first, original.second, run.global, values_of_run(values, run));
    });
  });
}

}  // namespace hexaplan::validator
