#pragma once
#include <functional>
#include <string>
#include <vector>

#include "validator/executor/step/global_state.h"
#include "validator/executor/step/run_steps.h"

namespace hexaplan::tests {

/// Overwrites what a rank owns of the master parameters: `value(unit, parameter, index)` of every element of
/// the unsharded tensors.
inline void set_parameters(const validator::RankView& rank,
                           const std::function<double(int, const std::string&, std::int64_t)>& value) {
  std::vector<double> values;
  rank.visit_state(validator::State::Master, [&](const validator::OwnedPart& part) {
    const std::string name{part.tensor->name};
    values.assign(static_cast<std::size_t>(part.view.elements()), 0.0);
    for (std::int64_t i = 0; i < part.view.elements(); ++i) {
      const std::int64_t global = part.tensor->global_index(part.first + i);
      if (global >= 0) values[static_cast<std::size_t>(i)] = value(part.unit, name, global);
    }
    part.device->upload(part.view, values);
  });
  rank.state_changed();
}

}  // namespace hexaplan::tests
