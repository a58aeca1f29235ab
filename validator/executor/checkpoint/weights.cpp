#include "validator/executor/checkpoint/weights.h"

#include <cmath>
#include <numeric>
#include <optional>
#include <vector>

#include "costmodel/parameters/adapters.h"
#include "validator/executor/checkpoint/owned_runs.h"

namespace hexaplan::validator {

namespace {

/// `read` for magnitudes, which begin with the lengths of rows of the weights.
ReadWeights lengths_of_rows(const ReadWeights& read, const costmodel::MeasuredRows& rows) {
  return [&read, rows](int unit, std::string_view /*name*/, std::int64_t first, std::span<double> values) {
    std::vector<double> row(static_cast<std::size_t>(rows.cols));
    for (double& length : values) {
      read(unit, rows.matrix, (rows.first + first++) * rows.cols, row);
      length = std::sqrt(std::inner_product(row.begin(), row.end(), row.begin(), 0.0));
    }
  };
}

}  // namespace

void load_weights(const ReadWeights& read, const RankView& rank) {
  std::vector<double> values;
  const costmodel::ModelSpec& model = rank.rank.scenario.model;
  rank.visit_state(State::Master, [&](const OwnedPart& part) {
    const auto original = original_of(part);
    const auto measured =
        part.tensor->adapter
            ? measured_rows(model, costmodel::class_of_layer(model, part.unit), part.tensor->name)
            : std::optional<costmodel::MeasuredRows>{};
    if (part.tensor->adapter && !measured) return;
    const ReadWeights numbers = measured ? lengths_of_rows(read, *measured) : read;
    for_each_piece(part, [&](const OwnedPiece& piece) {
      values.assign(static_cast<std::size_t>(piece.view.elements()), 0.0);
      for (const OwnedRun& run : piece.runs)
        numbers(original.first, original.second, run.global, values_of_run(values, run));
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
