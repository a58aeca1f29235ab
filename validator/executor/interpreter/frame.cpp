#include "validator/executor/interpreter/frame.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <string>
#include <utility>

#include "costmodel/units/mutation.h"

namespace hexaplan::validator {
namespace {

namespace program = costmodel::program;
using costmodel::DType;
using costmodel::position;
using program::Role;
using program::Rows;
using program::Type;
using program::ValueId;

using LabelNames =
    std::array<std::array<std::string, position(Role::Count)>, position(program::Tensor::Count)>;

/// "mlp.gate_up", "mlp.gate_up.gradient": names of the account, which keeps them by reference.
LabelNames make_label_names() {
  LabelNames names;
  for (const program::TensorRow& tensor : program::kTensors) {
    for (const program::RoleRow& role : program::kRoles) {
      std::string& name = names[position(tensor.id)][position(role.id)];
      name = tensor.name;
      if (role.id != Role::Itself) name.append(".").append(role.name);
    }
  }
  return names;
}
std::string_view label_name(const program::Value& value) {
  static const LabelNames names = make_label_names();
  return names[position(value.tensor)][position(value.role)];
}

DType dtype_of(Type type, DType activation) {
  switch (type) {
    case Type::Fp32:
      return DType::Fp32;
    case Type::Int32:
      return DType::Int32;
    case Type::Byte:
      return DType::Int8;
    case Type::Quantised:  // devices have no narrower type yet: casts are refused before a step begins
    case Type::Activation:
      break;
  }
  return activation;
}

}  // namespace

Frame::Frame(const Rank& rank, const Runnable& of, const program::Sizes& sizes)
    : of_{&of},
      sizes_{&sizes},
      exchange_place_{rank.groups.expert_tensor->rank()},
      buffers_(of.program.values.size()) {}

void Frame::give_input(const Rank& rank, Tensor input) {
  const ValueId id = of_->program.input;
  if (of_->lifetimes.keeps_input())
    input.relabel({label_name(of_->program.of(id)), of_->program.keeps(), rank.activation});
  buffers_[of_->lifetimes.buffer(id)] = std::move(input);
}

void Frame::give_output_gradient(Tensor gradient) {
  buffers_[of_->lifetimes.buffer(of_->program.d_output)] = std::move(gradient);
}

Tensor Frame::take(ValueId id) {
  return std::move(buffers_[of_->lifetimes.buffer(id)]);
}

std::int64_t Frame::rows(Rows symbol) const {
  switch (symbol) {
    case Rows::Sent:
      return static_cast<std::int64_t>(routing.exchange.places().size());
    case Rows::Received:
      return routing.exchange.padded_rows();
    case Rows::Exchanged:
      return routing.exchange.exchanged_rows();
    case Rows::ExpertRows:
      return routing.exchange.rows();
    default:
      return static_cast<std::int64_t>(sizes_->of(symbol));
  }
}

/// Copies of a value stand side by side; so do rows of a matrix.
std::int64_t Frame::cols(const program::Value& value) const {
  return static_cast<std::int64_t>(sizes_->of(value.shape.width) * sizes_->of(value.shape.by) * value.copies);
}

View Frame::matrix(ValueId id) const {
  const program::Shape& shape = of_->program.of(id).shape;
  return view(id).reshaped(static_cast<std::int64_t>(sizes_->of(shape.width)),
                           static_cast<std::int64_t>(sizes_->of(shape.by)));
}

View Frame::view(ValueId id) const {
  const View& whole = buffers_[of_->lifetimes.buffer(id)].view();
  const program::Shape& shape = of_->program.of(id).shape;
  const std::int64_t count = rows(shape.rows);
  assert(whole.data != nullptr || whole.elements() == 0);
  assert(whole.cols == cols(of_->program.of(id)));
  if (chunk_) return whole.row_range(of_->program.is_of_chunk(id) ? 0 : chunk_->first, chunk_->count);
  if (whole.rows == count) return whole;
  // What was received lies in the buffer of what is exchanged, at this rank's place.
  assert(shape.rows == Rows::Received);
  return whole.row_range(count * exchange_place_, count);
}

void Frame::allocate(const Rank& rank, const program::Op& op) {
  for (const ValueId id : op.writes) {
    const std::size_t buffer = of_->lifetimes.buffer(id);
    if (!buffers_[buffer].empty()) continue;
    const program::Value& value = of_->program.of(id);
    std::int64_t count = 0;  // the buffer takes the largest of its values
    for (const ValueId other : of_->taken_by[buffer])
      count = std::max(count, rows(of_->program.of(other).shape.rows));
    buffers_[buffer] = rank.device.allocate(
        {label_name(value), of_->lifetimes.kind(id, op.phase), dtype_of(value.shape.type, rank.activation)},
        count, cols(value));
  }
}

void Frame::release_if_last(ValueId id, std::size_t at) {
  const std::size_t buffer = of_->lifetimes.buffer(id);
  if (of_->lifetimes.last(buffer) != static_cast<int>(at) || of_->lifetimes.stays(buffer)) return;
  if (of_->lifetimes.held(buffer) || costmodel::mutant("buffers-are-freed-late")) {
    held_.push_back(buffer);
  } else {
    buffers_[buffer].free();
  }
}

void Frame::release(std::size_t at) {
  const program::Op& op = of_->program.ops[at];
  for (const ValueId id : op.reads) release_if_last(id, at);
  for (const ValueId id : op.writes) release_if_last(id, at);
}

Frame::Chunk Frame::enter_chunk(int chunk) {
  const std::int64_t most = rows(Rows::LossChunk), first = chunk * most;
  chunk_ = {first, std::min(most, rows(Rows::Tokens) - first)};
  return *chunk_;
}

void Frame::release_of_chunk(std::size_t at) {
  const program::Op& op = of_->program.ops[at];
  for (const ValueId id : op.reads) {
    if (of_->program.is_of_chunk(id)) release_if_last(id, at);
  }
  for (const ValueId id : op.writes) {
    if (of_->program.is_of_chunk(id)) release_if_last(id, at);
  }
}

void Frame::release_workspace(std::size_t at) {
  const program::Op& op = of_->program.ops[at];
  for (std::size_t i = position(op.in_place); i < op.writes.size(); ++i) release_if_last(op.writes[i], at);
}

void Frame::swap(ValueId a, ValueId b) {
  std::swap(buffers_[of_->lifetimes.buffer(a)], buffers_[of_->lifetimes.buffer(b)]);
}

namespace {

/// Moves tensors that are not empty into memory of `to`, one after the other.
void move_all(const Rank& rank, std::vector<Tensor>& from, Device& to, std::vector<Tensor>& moved,
              const Call& call) {
  moved.resize(from.size());
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (from[i].empty()) continue;
    const View& view = from[i].view();
    moved[i] = to.allocate(from[i].label(), view.rows, view.cols);
    Call labelled = call;
    labelled.dtype = from[i].label().dtype;
    rank.host->copy(labelled, moved[i], view);
    from[i].free();
  }
}

}  // namespace

void Frame::cut_input(const Rank& rank) {
  Tensor& whole = buffers_[of_->lifetimes.buffer(of_->program.input)];
  const View view = whole.view();
  const int ranks = rank.groups.tensor->size();
  const std::int64_t count = view.elements() / ranks;
  Tensor part = rank.device.allocate(whole.label(), 1, count);
  rank.device.copy(part, view.slice(rank.groups.tensor->rank() * count, count));
  whole = std::move(part);
}

void Frame::gather_input(const Rank& rank) {
  const ValueId id = of_->program.input;
  Tensor& part = buffers_[of_->lifetimes.buffer(id)];
  const program::Value& input = of_->program.of(id);
  Tensor whole = rank.device.allocate(part.label(), rows(input.shape.rows), cols(input));
  rank.groups.tensor
      ->all_gather(wire(part), wire(whole), rank.call("checkpoint.gather", costmodel::Pass::BackwardData))
      .wait();
  part = std::move(whole);
}

void Frame::offload(const Rank& rank) {
  move_all(rank, buffers_, rank.host->activations(), on_host_,
           rank.call("activation.to_host", costmodel::Pass::Forward));
}

void Frame::fetch(const Rank& rank) {
  move_all(rank, on_host_, rank.device, buffers_,
           rank.call("activation.to_device", costmodel::Pass::BackwardData));
}

void Frame::end_phase() {
  for (const std::size_t buffer : held_) {
    if (!costmodel::mutant("held-values-leak")) buffers_[buffer].free();
  }
  held_.clear();
}

}  // namespace hexaplan::validator
