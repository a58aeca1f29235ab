#include "validator/executor/parallel/data.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "costmodel/memory/flat_units.h"
#include "costmodel/units/ceil_div.h"
#include "validator/executor/parameters/initial_values.h"

namespace hexaplan::validator {

using costmodel::DType;
using costmodel::FlatKind;
using costmodel::Pass;
using costmodel::TensorKind;

namespace {

/// Of elements that a shard has: blocks of 8-bit states are not cut.
std::int64_t shard_multiple(const costmodel::Scenario& sc, const FlatParameters::Ranks& ranks) {
  const costmodel::Optimizer optimizer = costmodel::optimizer_of(sc.recipe, ranks.orthogonalised);
  return ranks.trained && costmodel::traits_of(optimizer).quantised ? costmodel::kMomentBlock : 1;
}

}  // namespace

FlatParameters::FlatParameters(const Rank& rank, std::vector<LocalTensor> tensors, int unit,
                               const Ranks& ranks, std::uint64_t seed)
    : tensors_{std::move(tensors)},
      unit_{unit},
      stage_{ranks.shard->size() > 1 ? rank.scenario.layout.sharding.stage : 0},
      ranks_{ranks},
      types_{costmodel::state_types(rank.scenario)} {
  types_.parameter = types_.parameter_of(ranks_.trained);
  types_.master = types_.master && ranks_.trained;
  const std::int64_t elements = tensors_.back().offset + tensors_.back().elements();
  const std::int64_t multiple = shard_multiple(rank.scenario, ranks);
  const std::int64_t shard = costmodel::ceil_div(elements, static_cast<std::int64_t>(ranks_.shard->size()));
  shard_elements_ = costmodel::ceil_div(shard, multiple) * multiple;
  padded_ = shard_elements_ * ranks_.shard->size();
  first_ = ranks_.shard->rank() * shard_elements_;
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    const std::int64_t begin = std::max(first_, tensors_[i].offset);
    const std::int64_t end = std::min(first_ + shard_elements_, tensors_[i].offset + tensors_[i].elements());
    if (begin < end) pieces_.push_back({.tensor = i, .begin = begin, .end = end});
  }
  parameter_ = allocate(rank, TensorKind::Parameter, types_.parameter, stage_ < 3);
  if (ranks_.trained) {
    gradient_ = allocate(rank, TensorKind::Gradient, types_.gradient, stage_ < 2);
    optimizer_ = OptimizerShard{rank, place()};
  }
  initialise(rank, seed);
}

/// A flat buffer of everything, or of this rank's shard, accounted under the parameters' names.
Tensor FlatParameters::allocate(const Rank& rank, TensorKind kind, DType dtype, bool whole) const {
  std::vector<LabelledColumns> parts;
  std::int64_t named = 0;
  const auto name = [&](std::string_view label, std::int64_t elements) {
    if (elements > 0) parts.push_back({{label, kind, dtype}, elements});
    named += elements;
  };
  if (whole) {
    for (const LocalTensor& t : tensors_) name(t.name, t.elements());
  } else {
    for (const Piece& p : pieces_) name(tensors_[p.tensor].name, p.end - p.begin);
  }
  name("shard.padding", (whole ? padded_ : shard_elements_) - named);
  return rank.device.allocate(parts, 1);
}

void FlatParameters::initialise(const Rank& rank, std::uint64_t seed) {
  if (rank.initial == InitialValues::Noise) {
    fill_with_noise(rank, seed);
  } else {
    upload_initial_values(rank, seed);
  }
  if (!ranks_.trained) return;
  rank.device.fill(gradient_, 0);
}

/// The same deviations. What is cut makes a model of its own on every rank.
void FlatParameters::fill_with_noise(const Rank& rank, std::uint64_t seed) {
  const View held = own_parameters();
  const auto unit = static_cast<std::uint64_t>(std::int64_t{unit_} + 8);
  rank.device.fill(parameter_, 0);  // its padding
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    const LocalTensor& t = tensors_[i];
    const std::int64_t held_from = stage_ < 3 ? 0 : first_;
    const std::int64_t begin = std::max(held_from, t.offset);
    const std::int64_t end = std::min(held_from + parameter_.view().elements(), t.offset + t.elements());
    if (begin >= end) continue;
    const View part = parameter_.view().slice(begin - held_from, end - begin);
    const InitialDistribution initial = initial_distribution(t, rank.scenario.model);
    if (initial.deviation > 0) {
      rank.device.fill_noise(part, counter_random(seed, unit, i), initial.deviation, Stream::Compute);
    } else {
      rank.device.fill(part, initial.mean);
    }
  }
  if (optimizer_.has_master()) rank.device.copy(optimizer_.master(), held);
}

void FlatParameters::upload_initial_values(const Rank& rank, std::uint64_t seed) {
  std::vector<double> all(static_cast<std::size_t>(padded_), 0.0);
  for (const LocalTensor& t : tensors_) {
    const auto part =
        std::span{all}.subspan(static_cast<std::size_t>(t.offset), static_cast<std::size_t>(t.elements()));
    initial_values(t, unit_, rank.scenario.model, seed, part, rank.initial == InitialValues::Begun);
  }
  const auto mine = std::span<const double>{all}.subspan(static_cast<std::size_t>(first_),
                                                         static_cast<std::size_t>(shard_elements_));
  rank.device.upload(parameter_, stage_ < 3 ? std::span<const double>{all} : mine);
  if (optimizer_.has_master()) rank.device.upload(optimizer_.master(), mine);
}

bool FlatParameters::holds(std::string_view name) const {
  return std::any_of(tensors_.begin(), tensors_.end(), [&](const LocalTensor& t) { return t.name == name; });
}

namespace {

/// Vectors are rows to whoever reads them, whether they are cut or not. A matrix may have one column, too.
bool is_vector(const LocalTensor& t) {
  return !t.decays;
}

}  // namespace

View FlatParameters::matrix(const View& flat, std::string_view first, std::string_view last) const {
  const auto find = [&](std::string_view name) {
    return std::find_if(tensors_.begin(), tensors_.end(),
                        [&](const LocalTensor& t) { return t.name == name; });
  };
  const auto begin = find(first), end = find(last);
  assert(begin != tensors_.end() && end != tensors_.end());
  std::int64_t rows = 0, elements = 0;
  for (auto t = begin; t <= end; ++t) {
    rows += t->rows;
    elements += t->elements();
  }
  const View all = flat.slice(begin->offset, elements);
  return is_vector(*begin) ? all : all.reshaped(rows, begin->cols);
}

View FlatParameters::parameters(std::string_view first, std::string_view last) const {
  return matrix(gathered_.empty() ? parameter_ : gathered_, first, last);
}

View FlatParameters::gradients(std::string_view first, std::string_view last) const {
  return ranks_.trained ? matrix(unsharded_gradients(), first, last) : View{};
}

void FlatParameters::gather(const Rank& rank, Pass pass) {
  if (stage_ < 3 || ranks_.shard->size() == 1) return;
  gathered_ =
      rank.device.allocate({"parameter.gathered", TensorKind::Transient, types_.parameter}, 1, padded_);
  ranks_.shard
      ->all_gather(wire(parameter_), wire(gathered_), rank.call("parameter.gather", pass, types_.parameter))
      .wait();
}

void FlatParameters::release() {
  gathered_.free();
}

void FlatParameters::open_gradients(const Rank& rank) {
  if (!ranks_.trained || stage_ < 2 || opened_++ > 0) return;
  unsharded_ =
      rank.device.allocate({"gradient.unsharded", TensorKind::Transient, types_.gradient}, 1, padded_);
  rank.device.fill(unsharded_, 0);
}

/// Under sequence parallelism every tensor-parallel rank saw its own tokens: gradients of what all of them
/// hold add up. So do those of kv heads that several hold.
void FlatParameters::reduce_over_tensor_ranks(const Rank& rank) {
  const View flat = unsharded_gradients();
  std::int64_t summed = 0;
  for (const LocalTensor& t : tensors_) summed += t.sums_over_tp ? t.elements() : 0;
  if (summed > 0) {
    rank.groups.tensor
        ->all_reduce(wire(flat.slice(0, summed)), Reduction::Sum,
                     rank.call("gradient.tensor_reduce", Pass::Step, types_.gradient))
        .wait();
  }
  for (const LocalTensor& t : tensors_) {
    if (t.copies == 1) continue;
    rank.groups.key_value
        ->all_reduce(wire(flat.slice(t.offset, t.elements())), Reduction::Sum,
                     rank.call("gradient.key_value_reduce", Pass::Step, types_.gradient))
        .wait();
  }
}

void FlatParameters::reduce(const Rank& rank) {
  if (!ranks_.trained) return;
  reduce_over_tensor_ranks(rank);
  const View whole = unsharded_gradients();
  const View mine = own(whole);
  const Pass pass = stage_ >= 3 ? Pass::BackwardWeight : Pass::Step;
  Work reduction;
  if (ranks_.shard->size() > 1) {
    reduction = ranks_.shard->reduce_scatter(wire(whole), wire(mine), Reduction::Sum,
                                             rank.call("gradient.reduce", pass, types_.gradient));
  }
  if (ranks_.replica->size() > 1) {
    reduction.wait();
    reduction = ranks_.replica->all_reduce(
        wire(mine), Reduction::Sum,
        rank.call(ranks_.shard->size() > 1 ? "gradient.replica_reduce" : "gradient.reduce", pass,
                  types_.gradient));
  }
  if (stage_ < 2) {
    reduction_ = std::move(reduction);
    return;
  }
  reduction.wait();
  rank.device.add(gradient_, mine);
  if (--opened_ == 0) {
    unsharded_.free();
  } else {
    rank.device.fill(unsharded_, 0);
  }
}

void FlatParameters::clear_gradients(const Rank& rank) {
  if (!ranks_.trained) return;
  rank.device.fill(gradient_, 0);
}

void FlatParameters::add_across(const Rank& rank, Communicator& copies) {
  if (!ranks_.trained) return;
  copies
      .all_reduce(wire(own_gradients()), Reduction::Sum,
                  rank.call("gradient.tied_embedding", Pass::Step, types_.gradient))
      .wait();
}

void FlatParameters::add_squares(const Rank& rank, const View& sum) const {
  if (!ranks_.trained || ranks_.replica->rank() != 0) return;
  for (const Piece& p : pieces_) {
    if (!tensors_[p.tensor].counted) continue;
    rank.device.squared_norm(own_gradients().slice(p.begin - first_, p.end - p.begin), sum);
  }
}

ShardPlace FlatParameters::place() const {
  return {.tensors = tensors_,
          .pieces = pieces_,
          .first = first_,
          .elements = shard_elements_,
          .shard = ranks_.shard,
          .tensor = ranks_.tensor,
          .orthogonalised = ranks_.orthogonalised};
}

void FlatParameters::update(const Rank& rank, const OptimizerStep& step) {
  if (!ranks_.trained) return;
  optimizer_.update(rank, step, place(), own_parameters(), own_gradients());
}

void FlatParameters::collect_updated(const Rank& rank) {
  if (stage_ < 1 || stage_ >= 3 || ranks_.shard->size() == 1) return;
  ranks_.shard
      ->all_gather(wire(own(parameter_)), wire(parameter_),
                   rank.call("parameter.gather", Pass::Step, types_.parameter))
      .wait();
}

void FlatParameters::follow_master(const Rank& rank) {
  if (optimizer_.has_master()) rank.device.copy(own_parameters(), optimizer_.master());
  collect_updated(rank);
}

void FlatParameters::visit(const Rank& rank, State state,
                           const std::function<void(const OwnedPart&)>& visitor) const {
  const auto visit_parts = [&](const View& flat) {
    for (const Piece& p : pieces_) {
      const LocalTensor& t = tensors_[p.tensor];
      visitor({.unit = unit_,
               .tensor = &t,
               .state = state,
               .first = p.begin - t.offset,
               .view = flat.slice(p.begin - first_, p.end - p.begin),
               .duplicate = ranks_.replica->rank() != 0 || !t.counted});
    }
  };
  if (state == State::Parameter || (state == State::Master && !optimizer_.has_master()))
    return visit_parts(own_parameters());
  optimizer_.visit(rank, state, visit_parts);
}

Unit::Unit(const Rank& rank, UnitPlan plan, int uses, std::uint64_t seed)
    : index_{plan.index}, expected_{uses * costmodel::microbatches_per_step(rank.scenario)} {
  const Groups& g = rank.groups;
  const auto add = [&](FlatKind kind, std::vector<LocalTensor>& tensors) {
    if (tensors.empty()) return;
    const bool trained = is_trained(rank.scenario, kind);
    const bool expert = holds_experts(kind);
    // Of what is frozen, ZeRO has nothing to share before stage 3.
    const bool shards = rank.scenario.layout.sharding.stage >= (trained ? 1 : 3);
    const FlatParameters::Ranks ranks{
        .shard = !shards ? g.alone.get() : (expert ? g.expert_shard : g.shard).get(),
        .replica =
            expert ? (shards ? g.expert_replica : g.expert_data).get() : (shards ? g.replica : g.data).get(),
        .tensor = (expert ? g.expert_tensor : g.tensor).get(),
        .orthogonalised = is_orthogonalised(kind),
        .trained = trained};
    flats_.emplace_back(rank, std::move(tensors), index_, ranks, seed);
  };
  add(FlatKind::Dense, plan.dense);
  add(FlatKind::BesideTiedTable, plan.beside_tied_table);
  add(FlatKind::DenseMatrices, plan.dense_matrices);
  add(FlatKind::Expert, plan.expert);
  add(FlatKind::ExpertMatrices, plan.expert_matrices);
  add(FlatKind::Adapter, plan.adapters);
}

bool Unit::holds(std::string_view name) const {
  return std::ranges::any_of(flats_, [&](const FlatParameters& f) { return f.holds(name); });
}

const FlatParameters& Unit::holder(std::string_view name) const {
  const auto found =
      std::find_if(flats_.begin(), flats_.end(), [&](const FlatParameters& f) { return f.holds(name); });
  assert(found != flats_.end());
  return *found;
}

const LocalTensor& Unit::tensor(std::string_view name) const {
  const std::vector<LocalTensor>& all = holder(name).tensors();
  return *std::ranges::find(all, name, &LocalTensor::name);
}

View Unit::weight(std::string_view first, std::string_view last) const {
  return holder(first).parameters(first, last);
}

View Unit::gradient(std::string_view first, std::string_view last) const {
  return holder(first).gradients(first, last);
}

void Unit::gather(Rank& rank, Pass pass) {
  const Phase before = rank.clock.enter(Phase::Gather);
  for (FlatParameters& flat : flats_) flat.gather(rank, pass);
  rank.clock.enter(before);
}

void Unit::release() {
  for (FlatParameters& flat : flats_) flat.release();
}

void Unit::open_gradients(const Rank& rank) {
  for (FlatParameters& flat : flats_) flat.open_gradients(rank);
}

void Unit::finish_gradients(Rank& rank) {
  const bool last = ++finished_ == expected_;
  const Phase before = rank.clock.enter(Phase::Reduction);
  for (FlatParameters& flat : flats_) {
    if (last || flat.sharded_gradients()) flat.reduce(rank);
  }
  rank.clock.enter(before);
}

void Unit::begin_step(const Rank& rank) {
  finished_ = 0;
  for (FlatParameters& flat : flats_) flat.clear_gradients(rank);
}

}  // namespace hexaplan::validator
