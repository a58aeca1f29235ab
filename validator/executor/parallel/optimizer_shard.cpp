#include "validator/executor/parallel/optimizer_shard.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <utility>

#include "validator/executor/device/dynamic_map.h"
#include "validator/executor/parallel/newton_schulz.h"

namespace hexaplan::validator {
namespace {

using costmodel::DType;
using costmodel::KeptState;
using costmodel::Optimizer;
using costmodel::OptimizerTensor;
using costmodel::Pass;
using costmodel::TensorKind;

constexpr std::int64_t kBlock = costmodel::kMomentBlock;

State state_of(OptimizerTensor tensor) {
  return static_cast<State>(static_cast<int>(tensor) + 1);
}

/// A tensor of the ledger's `state`, accounted under the parameters' names.
Tensor allocate(const ShardPlace& place, const KeptState& state) {
  if (state.parameters > 1)
    return place.device->allocate({"optimizer.scales", TensorKind::OptimizerState, state.dtype}, 1,
                                  place.elements / state.parameters);
  std::vector<LabelledColumns> parts;
  std::int64_t padding = place.elements;
  for (const Piece& p : place.pieces) {
    const std::int64_t count = p.end - p.begin;
    parts.push_back({{place.tensors[p.tensor].name, TensorKind::OptimizerState, state.dtype}, count});
    padding -= count;
  }
  if (padding > 0) parts.push_back({{"shard.padding", TensorKind::OptimizerState, state.dtype}, padding});
  return place.device->allocate(parts, 1);
}

/// Numbers of the tensors' first matrices among those whose step is scaled; −1 for vectors.
std::vector<std::int64_t> scaled_matrices(std::span<const LocalTensor> tensors, std::int64_t& count) {
  std::vector<std::int64_t> first;
  count = 0;
  for (const LocalTensor& t : tensors) {
    first.push_back(t.decays ? count : -1);
    count += t.decays ? t.matrices : 0;
  }
  return first;
}

}  // namespace

/// One step: what is updated with what.
struct OptimizerShard::Updated {
  const Rank& rank;
  const OptimizerStep& step;
  const ShardPlace& place;
  View parameters, gradients;

  /// Elements [begin, end) of the flat buffer, without states; weight decay as the tensor says.
  [[nodiscard]] OptimizerUpdate run(const OptimizerShard& shard, UpdateRule rule, const LocalTensor& tensor,
                                    std::int64_t begin, std::int64_t end) const {
    const std::int64_t at = begin - place.first, count = end - begin;
    const View parameter = parameters.slice(at, count);
    OptimizerUpdate update{.rule = rule,
                           .parameter = parameter,
                           .master = shard.has_master() ? shard.master().slice(at, count) : parameter,
                           .first = at,
                           .gradient = gradients.slice(at, count),
                           .learning_rate = step.learning_rate,
                           .beta1 = step.options.beta1,
                           .beta2 = step.options.beta2,
                           .epsilon = step.options.epsilon,
                           .momentum = step.options.momentum,
                           .weight_decay = tensor.decays ? step.options.weight_decay : 0,
                           .gradient_factor = step.gradient_factor,
                           .step = step.step};
    if (shard.preconditioners_.begins_with_a_look()) {
      update.step -= 1;
      if (update.step > 0) as_reference(update, true);
    }
    if (costmodel::traits_of(rank.scenario.recipe.optimizer).projects() &&
        shard.optimizer_ != Optimizer::AdamW8bit)
      as_reference(update, shard.optimizer_ != Optimizer::Galore8bit);
    return update;
  }
  /// The implementations of GaLore, APOLLO and SOAP decay what the step has moved already, and those in full
  /// precision add ε to a root that is not corrected (jiaweizzhao/GaLore@2cc66f8 galore_torch/adamw.py,
  /// adamw8bit.py; zhuhanqing/APOLLO@76b3472 apollo_torch/apollo.py; nikhilvyas/SOAP@a1e5535 soap.py).
  static void as_reference(OptimizerUpdate& update, bool full_precision) {
    const double kept = 1 - update.learning_rate * update.weight_decay;
    update.learning_rate *= kept;
    update.weight_decay /= kept;
    if (full_precision)
      update.epsilon /= std::sqrt(1 - std::pow(update.beta2, static_cast<double>(update.step)));
  }
  /// None in a skipped step, which changes nothing but sends what others wait for.
  template <class Visit>
  void for_pieces(const Visit& visit) const {
    if (step.skipped) return;
    for (const Piece& p : place.pieces) visit(p, place.tensors[p.tensor]);
  }
};

OptimizerShard::OptimizerShard(const Rank& rank, const ShardPlace& place)
    : optimizer_{costmodel::optimizer_of(rank.scenario.recipe, place.by_matrix)}, device_{place.device} {
  for (const KeptState& kept :
       costmodel::kept_states(costmodel::state_types(rank.scenario), costmodel::traits_of(optimizer_))) {
    Tensor& tensor = states_[static_cast<std::size_t>(state_of(kept.tensor))];
    tensor = allocate(place, kept);
    if (kept.tensor != OptimizerTensor::Master) device_->fill(tensor, 0);
  }
  if (costmodel::traits_of(optimizer_).factored) factored_ = FactoredMoments{place};
  if (costmodel::traits_of(optimizer_).projects()) subspaces_ = Subspaces{rank, place};
  if (costmodel::traits_of(optimizer_).preconditions()) preconditioners_ = Preconditioners{rank, place};
}

View OptimizerShard::part(State which, std::int64_t at, std::int64_t count) const {
  return state(which).empty() ? View{} : state(which).view().slice(at, count);
}

void OptimizerShard::update(const Rank& rank, const OptimizerStep& step, const ShardPlace& place,
                            const View& parameters, const View& gradients) {
  const Updated updated{rank, step, place, parameters, gradients};
  switch (optimizer_) {
    case Optimizer::AdamW:
    case Optimizer::Sgd:
    case Optimizer::Lion:
      return update_elements(updated);
    case Optimizer::AdamW8bit:
      return update_8bit(updated);
    case Optimizer::Lamb:
      return update_lamb(updated);
    case Optimizer::Muon:
      return update_muon(updated);
    case Optimizer::Adafactor:
      return update_adafactor(updated);
    case Optimizer::Galore:
    case Optimizer::Galore8bit:
    case Optimizer::Apollo:
    case Optimizer::ApolloMini:
      return update_projected(updated);
    case Optimizer::Soap:
    case Optimizer::Shampoo:
      return update_preconditioned(updated);
  }
}

/// Optimizers that look at one parameter at a time.
void OptimizerShard::update_elements(const Updated& u) const {
  const UpdateRule rule = optimizer_ == Optimizer::Sgd    ? UpdateRule::Sgd
                          : optimizer_ == Optimizer::Lion ? UpdateRule::Lion
                                                          : UpdateRule::AdamW;
  u.for_pieces([&](const Piece& p, const LocalTensor& t) {
    OptimizerUpdate run = u.run(*this, rule, t, p.begin, p.end);
    run.first_moment = part(State::FirstMoment, run.first, p.end - p.begin);
    run.second_moment = part(State::SecondMoment, run.first, p.end - p.begin);
    device_->update(run);
  });
}

/// Blocks of moments reach over tensors: they follow when all parameters have moved.
void OptimizerShard::update_8bit(const Updated& u) const {
  if (u.step.skipped) return;
  const auto with_states = [&](OptimizerUpdate run) {
    run.first_moment = state(State::FirstMoment);
    run.second_moment = state(State::SecondMoment);
    run.first_scale = state(State::FirstScale);
    run.second_scale = state(State::SecondScale);
    return run;
  };
  u.for_pieces([&](const Piece& p, const LocalTensor& t) {
    device_->update(with_states(u.run(*this, UpdateRule::AdamW8bit, t, p.begin, p.end)));
  });
  OptimizerUpdate moments =
      u.run(*this, UpdateRule::AdamW8bitMoments, {}, u.place.first, u.place.first + u.place.elements);
  moments.parameter = moments.master = {};
  device_->update(with_states(moments));
}

/// norms[2m], norms[2m + 1]: squares of what the ranks hold of the m-th scaled matrix and of its direction.
void OptimizerShard::add_norms(const Updated& u, const View& directions, const View& norms) const {
  std::int64_t count = 0;
  const std::vector<std::int64_t> numbers = scaled_matrices(u.place.tensors, count);
  u.for_pieces([&](const Piece& p, const LocalTensor& t) {
    if (!t.decays || !t.first_copy) return;
    for_matrices(t, p, [&](std::int64_t m, const MatrixPart& part) {
      const std::int64_t at = part.begin - u.place.first, size = part.end - part.begin;
      const std::int64_t number = numbers[p.tensor] + m;
      const View& masters = has_master() ? master() : u.parameters;
      device_->squared_norm(masters.slice(at, size), norms.slice(2 * number, 1));
      device_->squared_norm(directions.slice(at, size), norms.slice(2 * number + 1, 1));
    });
  });
  sum_norms(u, norms);
}

void OptimizerShard::sum_norms(const Updated& u, const View& norms) const {
  const Call call = u.rank.call("optimizer.norms", Pass::Step, DType::Fp32);
  for (Communicator* ranks : {u.place.shard, u.place.tensor}) {
    if (ranks->size() > 1) ranks->all_reduce(wire(norms), Reduction::Sum, call).wait();
  }
}

/// As huggingface/transformers optimization.py Adafactor, the way in which its Trainer makes it
/// (trainer_optimizer.py _get_adafactor): no first moment, a learning rate that is given, steps that
/// parameters' norms do not scale. Updates of a matrix, or vector, are cut to a root mean square of 1
/// (arXiv:1804.04235 section 6).
void OptimizerShard::update_adafactor(const Updated& u) const {
  constexpr double kLargestUpdate = 1;
  Device& device = *device_;
  const Tensor roots = factored_.follow(u.rank, u.step, u.place, u.gradients);
  std::vector<std::int64_t> numbers;
  std::int64_t count = 0;
  for (const LocalTensor& t : u.place.tensors) numbers.push_back(std::exchange(count, count + t.matrices));
  const Tensor directions =
      device.allocate({"optimizer.directions", TensorKind::Transient, DType::Fp32}, 1, u.place.elements);
  const Tensor norms = device.allocate({"optimizer.norms", TensorKind::Transient, DType::Fp32}, 1, count);
  device.fill(norms, 0);
  u.for_pieces([&](const Piece& p, const LocalTensor& t) {
    factored_.divide(u.place, p, u.gradients, roots, directions);
    if (!t.first_copy) return;
    for_matrices(t, p, [&](std::int64_t m, const MatrixPart& part) {
      device.squared_norm(directions.view().slice(part.begin - u.place.first, part.end - part.begin),
                          norms.view().slice(numbers[p.tensor] + m, 1));
    });
  });
  sum_norms(u, norms);
  if (u.step.skipped) return;
  std::vector<double> squares(static_cast<std::size_t>(count));
  device.download(squares, norms);
  u.for_pieces([&](const Piece& p, const LocalTensor& t) {
    for_matrices(t, p, [&](std::int64_t m, const MatrixPart& part) {
      OptimizerUpdate run = u.run(*this, UpdateRule::Descend, t, part.begin, part.end);
      const double square = squares[static_cast<std::size_t>(numbers[p.tensor] + m)];
      const double factor = u.step.gradient_factor;  // directions are made of gradients without it
      const double size = factor * std::sqrt(square / static_cast<double>(t.matrix_rows * t.matrix_cols));
      run.direction_factor = factor / std::max(1.0, size / kLargestUpdate);
      run.gradient = {};
      run.direction = directions.view().slice(run.first, part.end - part.begin);
      device.update(run);
    });
  });
}

/// Matrices by ‖w‖ / ‖direction‖; what does not decay is not scaled (timm optim/lamb.py, always_adapt =
/// False; NVIDIA/apex csrc/multi_tensor_lamb.cu).
void OptimizerShard::update_lamb(const Updated& u) const {
  Device& device = *device_;
  std::int64_t count = 0;
  const std::vector<std::int64_t> numbers = scaled_matrices(u.place.tensors, count);
  if (count == 0) return update_elements(u);
  const Tensor directions =
      device.allocate({"optimizer.directions", TensorKind::Transient, DType::Fp32}, 1, u.place.elements);
  const Tensor norms = device.allocate({"optimizer.norms", TensorKind::Transient, DType::Fp32}, 1, 2 * count);
  device.fill(norms, 0);
  u.for_pieces([&](const Piece& p, const LocalTensor& t) {
    OptimizerUpdate run =
        u.run(*this, t.decays ? UpdateRule::LambDirection : UpdateRule::AdamW, t, p.begin, p.end);
    run.first_moment = part(State::FirstMoment, run.first, p.end - p.begin);
    run.second_moment = part(State::SecondMoment, run.first, p.end - p.begin);
    run.direction = directions.view().slice(run.first, p.end - p.begin);
    if (t.decays) run.parameter = {};
    device.update(run);
  });
  add_norms(u, directions, norms);
  if (u.step.skipped) return;
  std::vector<double> squares(static_cast<std::size_t>(2 * count));
  device.download(squares, norms);
  u.for_pieces([&](const Piece& p, const LocalTensor& t) {
    if (!t.decays) return;
    for_matrices(t, p, [&](std::int64_t m, const MatrixPart& part) {
      OptimizerUpdate run = u.run(*this, UpdateRule::Descend, t, part.begin, part.end);
      const auto number = static_cast<std::size_t>(2 * (numbers[p.tensor] + m));
      const bool scaled = squares[number] > 0 && squares[number + 1] > 0 && u.step.options.weight_decay > 0;
      run.direction_factor = scaled ? std::sqrt(squares[number] / squares[number + 1]) : 1;
      run.weight_decay = 0;  // it is in the direction
      run.gradient = {};
      run.direction = directions.view().slice(run.first, part.end - part.begin);
      device.update(run);
    });
  });
}

/// Directions of the whole buffer are gathered, each matrix is orthogonalised, and every rank keeps its part.
/// Matrices that tensor parallelism cuts are orthogonalised as the rank holds them (NVIDIA/Megatron-LM
/// megatron/core/optimizer: muon_tp_mode "blockwise").
void OptimizerShard::update_muon(const Updated& u) const {
  Device& device = *device_;
  const std::int64_t whole = u.place.elements * u.place.shard->size();
  const Tensor directions =
      device.allocate({"optimizer.directions", TensorKind::Transient, u.rank.activation}, 1, whole);
  const View mine = directions.view().slice(u.place.first, u.place.elements);
  device.fill(mine, 0);
  u.for_pieces([&](const Piece& p, const LocalTensor& t) {
    OptimizerUpdate run = u.run(*this, UpdateRule::MuonDirection, t, p.begin, p.end);
    run.first_moment = part(State::FirstMoment, run.first, p.end - p.begin);
    run.direction = mine.slice(run.first, p.end - p.begin);
    run.parameter = run.master = {};
    device.update(run);
  });
  if (u.place.shard->size() > 1)
    u.place.shard
        ->all_gather(wire(mine), wire(directions),
                     u.rank.call("optimizer.gather_matrices", Pass::Step, u.rank.activation))
        .wait();
  orthogonalise(u.rank, u.place.tensors, directions);
  u.for_pieces([&](const Piece& p, const LocalTensor& t) {
    OptimizerUpdate run = u.run(*this, UpdateRule::Descend, t, p.begin, p.end);
    const auto longer = static_cast<double>(std::max(t.rows / t.matrices, t.cols));
    // As long as AdamW's steps are, so that both take one learning rate (arXiv:2502.16982 §2.2).
    run.direction_factor = 0.2 * std::sqrt(longer);
    run.gradient = {};
    run.direction = mine.slice(run.first, p.end - p.begin);
    device.update(run);
  });
}

void OptimizerShard::update_projected(const Updated& u) const {
  if (u.step.skipped) return;
  const double said = u.step.options.projection_scale;
  const double scale = said > 0 ? said : costmodel::traits_of(optimizer_).step_scale;
  for (const ProjectedMatrix& m : subspaces_.matrices()) {
    const LocalTensor& t = u.place.tensors[m.tensor];
    OptimizerUpdate run = u.run(*this, UpdateRule::Descend, t, m.first, m.first + m.rows * m.cols);
    const Tensor direction =
        device_->allocate({"optimizer.directions", TensorKind::Transient, DType::Fp32}, m.rows, m.cols);
    run.direction_factor = subspaces_.follow(u.rank, u.place, m, run, scale, direction);
    run.gradient = {};
    run.direction = direction.view().reshaped(1, m.rows * m.cols);
    device_->update(run);
  }
}

void OptimizerShard::update_preconditioned(const Updated& u) const {
  if (u.step.skipped) return;
  for (const PreconditionedMatrix& m : preconditioners_.matrices()) {
    const LocalTensor& t = u.place.tensors[m.tensor];
    const std::int64_t count = m.rows * m.cols;
    OptimizerUpdate run = u.run(*this, UpdateRule::Descend, t, m.first, m.first + count);
    const Tensor direction =
        device_->allocate({"optimizer.directions", TensorKind::Transient, DType::Fp32}, m.rows, m.cols);
    OptimizerUpdate rates = run;
    rates.first_moment = part(State::FirstMoment, m.first, count);
    rates.second_moment = part(State::SecondMoment, m.first, count);
    preconditioners_.follow(u.rank, m, rates, direction);
    if (run.step == 0) continue;
    run.gradient = {};
    run.direction = direction.view().reshaped(1, count);
    device_->update(run);
  }
}

void OptimizerShard::visit(State which, const std::function<void(const View&)>& visitor) const {
  if (state(which).empty()) return;
  const bool scales = which == State::FirstScale || which == State::SecondScale;
  if (scales) return visit_scales(which, visitor);
  if (state(which).view().element == Element::U8) return visit_codes(which, visitor);
  visitor(state(which));
}

void OptimizerShard::visit_scales(State which, const std::function<void(const View&)>& visitor) const {
  Device& device = *device_;
  const Tensor& scales = state(which);
  std::vector<double> blocks(static_cast<std::size_t>(scales.view().elements()));
  device.download(blocks, scales);
  std::vector<double> values;
  for (const double scale : blocks) values.insert(values.end(), static_cast<std::size_t>(kBlock), scale);
  const Tensor all = device.allocate({"optimizer.scales", TensorKind::Transient, DType::Fp32}, 1,
                                     static_cast<std::int64_t>(values.size()));
  device.upload(all, values);
  visitor(all);
  device.download(values, all);
  for (std::size_t block = 0; block < blocks.size(); ++block) {
    const auto begin = values.begin() + static_cast<std::ptrdiff_t>(block) * kBlock;
    blocks[block] = *std::max_element(begin, begin + kBlock);
  }
  device.upload(scales, blocks);
}

void OptimizerShard::visit_codes(State which, const std::function<void(const View&)>& visitor) const {
  Device& device = *device_;
  const bool first = which == State::FirstMoment;
  const DynamicMap map = dynamic_map(first);
  const Tensor& scales = state(first ? State::FirstScale : State::SecondScale);
  const auto count = static_cast<std::size_t>(state(which).view().elements());
  std::vector<double> blocks(static_cast<std::size_t>(scales.view().elements())), values(count);
  device.download(blocks, scales);
  device.download(values, state(which));
  const auto scale_of = [&](std::size_t i) { return blocks[i / static_cast<std::size_t>(kBlock)]; };
  for (std::size_t i = 0; i < count; ++i)
    values[i] = static_cast<double>(map.values.at(static_cast<std::size_t>(values[i]))) * scale_of(i);
  const Tensor all = device.allocate({"optimizer.moments", TensorKind::Transient, DType::Fp32}, 1,
                                     static_cast<std::int64_t>(count));
  device.upload(all, values);
  visitor(all);
  device.download(values, all);
  for (std::size_t i = 0; i < count; ++i)
    values[i] = map.nearest(scale_of(i) > 0 ? values[i] / scale_of(i) : 0.0);
  device.upload(state(which), values);
}

}  // namespace hexaplan::validator
