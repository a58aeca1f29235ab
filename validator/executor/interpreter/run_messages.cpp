// Collectives whose operands a program names. Those of routers and of attention stand with them.
#include <utility>

#include "costmodel/units/mutation.h"
#include "validator/executor/interpreter/operation.h"
#include "validator/executor/parallel/context.h"

namespace hexaplan::validator {
namespace {

namespace program = costmodel::program;
using costmodel::DType;
using costmodel::Group;

Communicator& communicator(const Operation& o) {
  const Groups& groups = o.rank.groups;
  switch (o.op.group) {
    case Group::Context:
      return *groups.context;
    case Group::Expert:
      return *groups.expert;
    case Group::ExpertTensor:
      return *groups.expert_tensor;
    default:
      assert(o.op.group == Group::Tensor);
      return *groups.tensor;
  }
}

Call call_for(const Operation& o, const program::Value& value) {
  switch (value.shape.type) {
    case program::Type::Fp32:
      return o.call(DType::Fp32);
    case program::Type::Int32:
      return o.call(DType::Int32);
    case program::Type::Byte:
    case program::Type::Quantised:  // no message of a program that is executed
    case program::Type::Activation:
      break;
  }
  return o.call();
}

}  // namespace

void run_all_reduce(const Operation& o) {
  const program::Value& value = o.read_value(0);
  const Reduction reduction =
      value.tensor == program::Tensor::LossMaxima && !costmodel::mutant("maxima-are-summed") ? Reduction::Max
                                                                                             : Reduction::Sum;
  communicator(o).all_reduce(wire(o.out(0)), reduction, call_for(o, value)).wait();
  if (value.tensor == program::Tensor::ChoiceCounts) o.rank.device.download(o.frame.routing.counts, o.out(0));
}

void run_all_gather(const Operation& o) {
  const View own = o.op.group == Group::Context ? pack_own_keys(o.rank, o.in(0), o.out(0)) : o.in(0);
  communicator(o).all_gather(wire(own), wire(o.out(0)), call_for(o, o.read_value(0))).wait();
}

void run_reduce_scatter(const Operation& o) {
  communicator(o)
      .reduce_scatter(wire(o.in(0)), wire(o.out(0)), Reduction::Sum, call_for(o, o.read_value(0)))
      .wait();
}

/// Between the tokens and their experts, or heads for tokens.
void run_all_to_all(const Operation& o) {
  if (o.op.group == Group::Context) return run_head_exchange(o);
  const bool leaves_tokens = o.read_value(0).shape.rows == program::Rows::Sent;
  const ExpertExchange& exchange = o.frame.routing.exchange;
  if (leaves_tokens) {
    exchange.send_copies(o.rank, o.in(0), o.out(0), o.call());
  } else {
    exchange.return_copies(o.rank, o.in(0), o.out(0), o.call());
  }
}

}  // namespace hexaplan::validator
