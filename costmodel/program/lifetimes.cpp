#include "costmodel/program/lifetimes.h"

namespace hexaplan::costmodel::program {

Lifetimes::Lifetimes(const Program& program)
    : buffers_{buffers_of(program)},
      last_{last_touches(program, buffers_)},
      outlives_(program.values.size(), false),
      stays_(program.values.size(), false),
      held_(program.values.size(), false),
      keeps_{program.keeps()} {
  for (std::size_t i = 0; i < program.values.size(); ++i) {
    const int last = last_[i];
    outlives_[i] = last >= 0 && program.ops[static_cast<std::size_t>(last)].phase != Phase::Forward;
    if (program.values[i].held) held_[buffer(static_cast<ValueId>(i))] = true;
    kinds_.push_back(program.values[i].kind);
  }
  for (const ValueId id : {program.output, program.d_input}) {
    if (id != kNone) stays_[buffer(id)] = true;
  }
  if (program.hands_input_on) stays_[buffer(program.input)] = true;
  const ValueId input = program.input;
  keeps_input_ = input != kNone && !program.of(input).kind && outlives_[buffer(input)];
}

}  // namespace hexaplan::costmodel::program
