#include "validator/executor/step/global_state.h"

#include <cmath>
#include <limits>

namespace hexaplan::validator {
namespace {

double distance(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size()) return std::numeric_limits<double>::infinity();
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference += (a[i] - b[i]) * (a[i] - b[i]);
    norm += b[i] * b[i];
  }
  if (difference == 0) return 0;
  return std::sqrt(difference / norm);
}

}  // namespace

void GlobalState::add(const RankView& rank, State state) {
  std::vector<double> values;
  rank.visit_state(state, [&](const OwnedPart& part) {
    if (part.duplicate) return;
    values.resize(static_cast<std::size_t>(part.view.elements()));
    part.device->download(values, part.view);
    const LocalTensor& t = *part.tensor;
    const std::scoped_lock lock{mutex_};
    std::vector<double>& whole = tensors_[{part.unit, std::string{t.name}}];
    whole.resize(static_cast<std::size_t>(t.global_rows * t.global_cols));
    for (std::int64_t i = 0; i < part.view.elements(); ++i) {
      const std::int64_t global = t.global_index(part.first + i);
      if (global >= 0) whole[static_cast<std::size_t>(global)] = values[static_cast<std::size_t>(i)];
    }
  });
}

Difference largest_difference(const GlobalState::Tensors& a, const GlobalState::Tensors& b) {
  Difference worst;
  const auto consider = [&](const GlobalState::Key& key, double relative) {
    if (relative > worst.relative || std::isnan(relative)) worst = {key, relative};
  };
  for (const auto& [key, values] : a) {
    const auto other = b.find(key);
    consider(key,
             other == b.end() ? std::numeric_limits<double>::infinity() : distance(values, other->second));
  }
  for (const auto& [key, values] : b) {
    if (!a.contains(key)) consider(key, std::numeric_limits<double>::infinity());
  }
  return worst;
}

}  // namespace hexaplan::validator
