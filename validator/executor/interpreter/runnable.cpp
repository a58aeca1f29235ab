#include "validator/executor/interpreter/runnable.h"

#include <utility>

namespace hexaplan::validator {

namespace program = costmodel::program;

Runnable::Runnable(program::Program compiled)
    : program{std::move(compiled)}, lifetimes{program}, taken_by(program.values.size()) {
  std::size_t begin = 0;
  for (std::size_t phase = 0; phase < program::kPhases; ++phase) {
    std::size_t end = begin;
    while (end < program.ops.size() && costmodel::position(program.ops[end].phase) == phase) ++end;
    phases[phase] = {begin, end};
    begin = end;
  }
  for (std::size_t i = 0; i < program.values.size(); ++i) {
    const auto id = static_cast<program::ValueId>(i);
    taken_by[lifetimes.buffer(id)].push_back(id);
  }
}

}  // namespace hexaplan::validator
