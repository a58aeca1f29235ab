#include "validator/executor/parallel/data.h"

#include <algorithm>
#include <cassert>
#include <cmath>
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

/// What a rank holds of a flat buffer, from its element `first` on.
struct Held {
  Device* device;
  View view;
  std::int64_t first;

  [[nodiscard]] bool meets(std::int64_t begin, std::int64_t count) const {
    return begin < first + view.elements() && first < begin + count;
  }
  /// Of the buffer's values from `begin` on, those that are held.
  void upload(std::int64_t begin, std::span<const double> values) const {
    if (!meets(begin, std::ssize(values))) return;
    const std::int64_t from = std::max(begin, first);
    const std::int64_t to = std::min(begin + std::ssize(values), first + view.elements());
    device->upload(view.slice(from - first, to - from), values.subspan(static_cast<std::size_t>(from - begin),
                                                                       static_cast<std::size_t>(to - from)));
  }
};

bool any_meets(const std::vector<Held>& held, std::int64_t begin, std::int64_t count) {
  return std::ranges::any_of(held, [&](const Held& h) { return h.meets(begin, count); });
}

/// Rows of numbers in fewer bits, with room for their scales.
struct QuantisedRows {
  QuantisedRows(const Rank& rank, std::string_view name, int width, std::int64_t rows, std::int64_t numbers)
      : bits{width},
        codes{rank.device.allocate({name, TensorKind::Transient, DType::Int8}, rows,
                                   costmodel::ceil_div(numbers * width, std::int64_t{8}))},
        scales{rank.device.allocate({"quantised.scales", TensorKind::Transient, DType::Fp32}, rows,
                                    costmodel::ceil_div(numbers, std::int64_t{costmodel::kQuantisedBlock}))} {
  }
  int bits;
  Tensor codes, scales;
};

struct ExchangeNames {
  std::string_view codes, scales;
};

/// Rows of `from` go round: of every `peers` neighbouring ones the i-th to peer i, quantised. Row i of `sums`
/// becomes what all peers sent of their i-th rows for this rank, added up in the peers' order.
void exchange_and_add(const Rank& rank, Communicator& ranks, const ExchangeNames& names, const View& from,
                      const QuantisedRows& sent, const QuantisedRows& received, const View& sums) {
  const std::int64_t peers = ranks.size(), each = from.rows / peers;
  for (std::int64_t i = 0; i < each; ++i) {
    const auto every = [&](const Tensor& rows) {
      View view = rows.view().row_range(i, 1);
      view.rows = peers;
      view.stride *= each;
      return view;
    };
    rank.device.quantise(sent.bits, from.row_range(i * peers, peers), every(sent.codes), every(sent.scales));
  }
  const auto exchange = [&](const Tensor& out, const Tensor& in, std::string_view name, DType dtype) {
    return ranks.all_to_all(wire(out.view().row_range(0, from.rows)), wire(in.view().row_range(0, from.rows)),
                            rank.call(name, Pass::BackwardWeight, dtype));
  };
  Work codes = exchange(sent.codes, received.codes, names.codes, DType::Int8);
  exchange(sent.scales, received.scales, names.scales, DType::Fp32).wait();
  codes.wait();
  for (std::int64_t peer = 0; peer < peers; ++peer)
    rank.device.dequantise(sent.bits, received.codes.view().row_range(peer * each, each),
                           received.scales.view().row_range(peer * each, each), sums.row_range(0, each),
                           peer > 0);
}

/// Of elements that a shard has: blocks of 8-bit states are not cut.
std::int64_t shard_multiple(const costmodel::Scenario& sc, const FlatParameters::Ranks& ranks) {
  const costmodel::OptimizerTraits& traits =
      costmodel::traits_of(costmodel::optimizer_of(sc.recipe, ranks.by_matrix));
  return ranks.trained && traits.quantised && !traits.projects() ? costmodel::kMomentBlock : 1;
}

}  // namespace

FlatParameters::FlatParameters(const Rank& rank, std::vector<LocalTensor> tensors, int unit,
                               const Ranks& ranks, std::uint64_t seed)
    : tensors_{std::move(tensors)},
      unit_{unit},
      stage_{ranks.shard->size() > 1 ? rank.scenario.layout.sharding.stage : 0},
      parameters_on_host_{(rank.scenario.recipe.offload & costmodel::kOffloadParameters) != 0 &&
                          rank.scenario.layout.sharding.stage >= 3},
      in_backward_{ranks.trained && rank.scenario.recipe.optimizer_in_backward},
      quantised_gathers_{stage_ >= 3 && rank.scenario.layout.sharding.quantized_weights},
      reduction_time_{stage_ >= 3 ? costmodel::gradient_reduction(rank.scenario)
                                  : costmodel::GradientReduction::Every},
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
  const std::int64_t end = first_ + shard_elements_;
  pieces_ = pieces_in(first_, end);
  parameter_ = allocate(memory(rank, parameters_on_host_), TensorKind::Parameter, types_.parameter,
                        stage_ < 3 ? 0 : first_, stage_ < 3 ? padded_ : end);
  if (ranks_.secondary != nullptr)
    secondary_ = rank.device.allocate({"parameter.secondary", TensorKind::Parameter, types_.parameter}, 1,
                                      padded_ / ranks_.secondary->size());
  if (ranks_.trained) make_parts(rank);
  initialise(rank, seed);
}

/// Parts of tensors that lie in [begin, end) of the flat buffer.
std::vector<Piece> FlatParameters::pieces_in(std::int64_t begin, std::int64_t end) const {
  std::vector<Piece> pieces;
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    const std::int64_t from = std::max(begin, tensors_[i].offset);
    const std::int64_t to = std::min(end, tensors_[i].offset + tensors_[i].elements());
    if (from < to) pieces.push_back({.tensor = i, .begin = from, .end = to});
  }
  return pieces;
}

/// A buffer of [begin, end) of the flat one, accounted under the parameters' names.
Tensor FlatParameters::allocate(Device& device, TensorKind kind, DType dtype, std::int64_t begin,
                                std::int64_t end) const {
  std::vector<LabelledColumns> parts;
  std::int64_t padding = end - begin;
  const auto name = [&](std::string_view label, std::int64_t elements) {
    if (elements > 0) parts.push_back({{label, kind, dtype}, elements});
  };
  for (const Piece& p : pieces_in(begin, end)) {
    name(tensors_[p.tensor].name, p.end - p.begin);
    padding -= p.end - p.begin;
  }
  name("shard.padding", padding);
  return device.allocate(parts, 1);
}

/// The host's part of gradients and states, then the device's.
void FlatParameters::make_parts(const Rank& rank) {
  const double share = costmodel::offloaded_update(rank.scenario.recipe);
  const auto by_host = static_cast<std::int64_t>(std::floor(share * static_cast<double>(shard_elements_)));
  const std::int64_t begins[] = {0, by_host, shard_elements_};
  for (const bool on_host : {true, false}) {
    const std::int64_t begin = begins[on_host ? 0 : 1], elements = begins[on_host ? 1 : 2] - begin;
    if (elements == 0) continue;
    Part& part = parts_.emplace_back(Part{.on_host = on_host, .begin = begin, .elements = elements});
    const std::int64_t from = first_ + begin, to = from + elements;
    part.pieces = pieces_in(from, to);
    if (on_host) part.gradient = allocate(memory(rank, true), TensorKind::Gradient, DType::Fp32, from, to);
    if (!on_host && stage_ >= 2 && !in_backward_)
      gradient_ = allocate(rank.device, TensorKind::Gradient, types_.gradient, from, to);
    part.optimizer = OptimizerShard{rank, place(rank, part)};
    if (rank.scenario.recipe.outer.taken()) part.outer = OuterShard{rank, place(rank, part)};
  }
  if (stage_ < 2 && !in_backward_)
    gradient_ = allocate(rank.device, TensorKind::Gradient, types_.gradient, 0, padded_);
}

void FlatParameters::initialise(const Rank& rank, std::uint64_t seed) {
  if (rank.initial == InitialValues::Noise) {
    fill_with_noise(rank, seed);
  } else {
    upload_initial_values(rank, seed);
  }
  clear_gradients(rank);
}

/// The same deviations. What is cut makes a model of its own on every rank.
void FlatParameters::fill_with_noise(const Rank& rank, std::uint64_t seed) {
  Device& device = memory(rank, parameters_on_host_);
  const auto unit = static_cast<std::uint64_t>(std::int64_t{unit_} + 8);
  device.fill(parameter_, 0);  // its padding
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    const LocalTensor& t = tensors_[i];
    const std::int64_t held_from = stage_ < 3 ? 0 : first_;
    const std::int64_t begin = std::max(held_from, t.offset);
    const std::int64_t end = std::min(held_from + parameter_.view().elements(), t.offset + t.elements());
    if (begin >= end) continue;
    const View part = parameter_.view().slice(begin - held_from, end - begin);
    const InitialDistribution initial = initial_distribution(t, rank.scenario.model);
    if (initial.deviation > 0) {
      device.fill_noise(part, counter_random(seed, unit, i), initial.deviation, Stream::Compute);
    } else {
      device.fill(part, initial.mean);
    }
  }
  for (const Part& part : parts_) copy_master(rank, part, false);
}

/// In pieces: in float64 a whole unit would be larger than anything else that a step needs.
void FlatParameters::upload_initial_values(const Rank& rank, std::uint64_t seed) {
  constexpr std::int64_t kAtOnce = std::int64_t{1} << 20;
  std::vector<Held> held{{&memory(rank, parameters_on_host_), parameter_, stage_ < 3 ? 0 : first_}};
  for (const Part& part : parts_) {
    if (part.optimizer.has_master())
      held.push_back({&memory(rank, part.on_host), part.optimizer.master(), first_ + part.begin});
  }
  for (const Held& h : held) h.device->fill(h.view, 0);  // their padding
  std::vector<double> values;
  for (const LocalTensor& t : tensors_) {
    for (std::int64_t at = 0; at < t.elements(); at += kAtOnce) {
      const std::int64_t begin = t.offset + at, count = std::min(kAtOnce, t.elements() - at);
      if (!any_meets(held, begin, count)) continue;
      values.resize(static_cast<std::size_t>(count));
      initial_values(t, unit_, rank.scenario.model, seed, at, values, rank.initial == InitialValues::Begun);
      for (const Held& h : held) h.upload(begin, values);
    }
  }
}

/// The master becomes the parameters' values, or they become its.
void FlatParameters::copy_master(const Rank& rank, const Part& part, bool to_parameters) {
  if (!part.optimizer.has_master()) return;
  Device& device = memory(rank, part.on_host);
  const View &master = part.optimizer.master(), parameters = part_of(own_parameters(), part);
  const auto copy = [&](const View& here) {
    to_parameters ? device.copy(here, master) : device.copy(master, here);
  };
  if (part.on_host == parameters_on_host_) return copy(parameters);
  const Tensor here = device.allocate_message(parameters.element, part.elements);
  if (!to_parameters) rank.host->move(here, parameters);
  copy(here);
  if (to_parameters) rank.host->move(parameters, here);
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

FlatParameters::Range FlatParameters::range(std::string_view first, std::string_view last) const {
  const auto find = [&](std::string_view name) {
    const auto found = std::ranges::find(tensors_, name, &LocalTensor::name);
    assert(found != tensors_.end());
    return static_cast<std::size_t>(found - tensors_.begin());
  };
  return {find(first), find(last) + 1};
}

View FlatParameters::matrix(const View& flat, std::string_view first, std::string_view last) const {
  const Range of = range(first, last);
  std::int64_t rows = 0, elements = 0;
  for (std::size_t i = of.begin; i < of.end; ++i) {
    rows += tensors_[i].rows;
    elements += tensors_[i].elements();
  }
  const LocalTensor& begin = tensors_[of.begin];
  const View all = flat.slice(begin.offset, elements);
  return is_vector(begin) ? all : all.reshaped(rows, begin.cols);
}

View FlatParameters::parameters(std::string_view first, std::string_view last) const {
  return matrix(gathered_.empty() ? parameter_ : gathered_, first, last);
}

void FlatParameters::clear_unsharded(const Rank& rank) {
  counts_as_zeros_.assign(tensors_.size(), true);
  const std::int64_t behind = tensors_.empty() ? 0 : tensors_.back().offset + tensors_.back().elements();
  if (behind < padded_) rank.device.fill(unsharded_gradients().slice(behind, padded_ - behind), 0);
}

void FlatParameters::write_zeros(const Rank& rank, const Range& of) const {
  for (std::size_t i = of.begin; i < of.end && i < counts_as_zeros_.size(); ++i) {
    if (!counts_as_zeros_[i]) continue;
    rank.device.fill(unsharded_gradients().slice(tensors_[i].offset, tensors_[i].elements()), 0);
    counts_as_zeros_[i] = false;
  }
}

View FlatParameters::gradients(const Rank& rank, std::string_view first, std::string_view last) const {
  if (!ranks_.trained) return {};
  write_zeros(rank, range(first, last));
  return matrix(unsharded_gradients(), first, last);
}

bool FlatParameters::take_zeros(std::string_view first, std::string_view last) const {
  if (!ranks_.trained) return false;
  const Range of = range(first, last);
  const auto at = [&](std::size_t i) { return counts_as_zeros_.begin() + static_cast<std::ptrdiff_t>(i); };
  if (!std::all_of(at(of.begin), at(of.end), [](bool zeros) { return zeros; })) return false;
  std::fill(at(of.begin), at(of.end), false);
  return true;
}

void FlatParameters::gather(const Rank& rank, Pass pass) {
  if (stage_ < 3 && !parameters_on_host_) return;
  gathered_ =
      rank.device.allocate({"parameter.gathered", TensorKind::Transient, types_.parameter}, 1, padded_);
  const Call call = rank.call("parameter.gather", pass, types_.parameter);
  if (ranks_.secondary != nullptr && pass != Pass::Forward)
    return ranks_.secondary->all_gather(wire(secondary_), wire(gathered_), call).wait();
  if (parameters_on_host_)
    rank.host->copy(rank.call("parameter.to_device", pass, types_.parameter), own(gathered_), parameter_);
  if (stage_ < 3) return;
  const View& mine = parameters_on_host_ ? own(gathered_) : parameter_.view();
  if (quantised_gathers_) {
    gather_quantised(rank, pass, mine);
  } else {
    ranks_.shard->all_gather(wire(mine), wire(gathered_), call).wait();
  }
  if (ranks_.secondary == nullptr) return;
  const std::int64_t count = secondary_.view().elements();
  rank.device.copy(secondary_, gathered_.view().slice(ranks_.secondary->rank() * count, count));
}

void FlatParameters::gather_quantised(const Rank& rank, Pass pass, const View& mine) {
  const QuantisedRows all{rank, "parameter.quantised", costmodel::kGatheredBits, ranks_.shard->size(),
                          shard_elements_};
  const int own = ranks_.shard->rank();
  rank.device.quantise(all.bits, mine.reshaped(1, shard_elements_), all.codes.view().row_range(own, 1),
                       all.scales.view().row_range(own, 1));
  Work codes = ranks_.shard->all_gather(wire(all.codes.view().row_range(own, 1)), wire(all.codes),
                                        rank.call("parameter.gather", pass, DType::Int8));
  ranks_.shard
      ->all_gather(wire(all.scales.view().row_range(own, 1)), wire(all.scales),
                   rank.call("parameter.gather_scales", pass, DType::Fp32))
      .wait();
  codes.wait();
  rank.device.dequantise(all.bits, all.codes, all.scales,
                         gathered_.view().reshaped(ranks_.shard->size(), shard_elements_), false);
}

void FlatParameters::release() {
  gathered_.free();
}

void FlatParameters::open_gradients(const Rank& rank) {
  if (!ranks_.trained || (stage_ < 2 && !in_backward_)) return;
  if (opened_for_step() ? !unsharded_.empty() : opened_++ > 0) return;
  unsharded_ =
      rank.device.allocate({"gradient.unsharded", TensorKind::Transient, types_.gradient}, 1, padded_);
  clear_unsharded(rank);
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

/// Over the shard group, and over those that hold the same shard.
Work FlatParameters::add_up(const Rank& rank, const View& whole, bool over_replicas) {
  const View mine = own(whole);
  const Pass pass = stage_ >= 3 ? Pass::BackwardWeight : Pass::Step;
  const bool cut = ranks_.shard->size() > 1;
  Work reduction;
  if (cut && ranks_.node != nullptr) {
    exchange_quantised(rank, whole);
  } else if (cut) {
    reduction = ranks_.shard->reduce_scatter(wire(whole), wire(mine), Reduction::Sum,
                                             rank.call("gradient.reduce", pass, types_.gradient));
  }
  if (!over_replicas || ranks_.replica->size() == 1) return reduction;
  reduction.wait();
  return ranks_.replica->all_reduce(
      wire(mine), Reduction::Sum,
      rank.call(cut ? "gradient.replica_reduce" : "gradient.reduce", pass, types_.gradient));
}

/// Members of a node add up the shards of its members' places in all nodes, then nodes those of one place.
/// Shard i is that of place i % neighbours in node i / neighbours. Sums are added in fp32 (section 4.3).
void FlatParameters::exchange_quantised(const Rank& rank, const View& whole) {
  Communicator &node = *ranks_.node, &across = *ranks_.across;
  const std::int64_t count = shard_elements_, nodes = node.size() > 1 ? across.size() : 1;
  const View shards = whole.reshaped(ranks_.shard->size(), count);
  QuantisedRows sent{rank, "gradient.quantised", costmodel::kReducedBits, shards.rows, count};
  QuantisedRows received{rank, "gradient.received", costmodel::kReducedBits, shards.rows, count};
  const Tensor sums =
      rank.device.allocate({"gradient.sums", TensorKind::Transient, DType::Fp32}, nodes, count);
  if (node.size() > 1)
    exchange_and_add(rank, node, {"gradient.exchange_in_node", "gradient.scales_in_node"}, shards, sent,
                     received, sums);
  if (across.size() > 1)
    exchange_and_add(rank, across, {"gradient.exchange_between_nodes", "gradient.scales_between_nodes"},
                     node.size() > 1 ? sums.view() : shards, sent, received, sums.view().row_range(0, 1));
  rank.device.copy(own(whole).reshaped(1, count), sums.view().row_range(0, 1));
}

void FlatParameters::reduce(const Rank& rank, bool last) {
  if (!ranks_.trained) return;
  write_zeros(rank);
  reduce_over_tensor_ranks(rank);
  const View whole = unsharded_gradients();
  const bool replicas_wait = reduction_time_ == costmodel::GradientReduction::ReplicasOnce;
  Work reduction = add_up(rank, whole, !replicas_wait);
  if (stage_ < 2 && !in_backward_) {
    reduction_ = std::move(reduction);
    return;
  }
  reduction.wait();
  if (in_backward_) return;
  for (Part& part : parts_) add_gradients(rank, part, part_of(own(whole), part));
  if (replicas_wait && last && ranks_.replica->size() > 1)
    ranks_.replica
        ->all_reduce(wire(gradient_), Reduction::Sum,
                     rank.call("gradient.replica_reduce", Pass::BackwardWeight, types_.gradient))
        .wait();
  if (opened_for_step() || --opened_ == 0) {
    unsharded_.free();
  } else {
    clear_unsharded(rank);
  }
}

/// Of sharded gradients, which the host has in fp32, as the CPU's update reads them.
void FlatParameters::add_gradients(const Rank& rank, Part& part, const View& reduced) {
  if (!part.on_host) return rank.device.add(gradient_, reduced);
  Device& host = memory(rank, true);
  const Tensor arrived = host.allocate_message(reduced.element, part.elements);
  rank.host->copy(rank.call("gradient.to_host", Pass::BackwardWeight, types_.gradient), arrived, reduced);
  host.add(part.gradient, arrived);
}

void FlatParameters::clear_gradients(const Rank& rank) {
  if (!gradient_.empty()) stage_ < 2 ? clear_unsharded(rank) : rank.device.fill(gradient_, 0);
  for (const Part& part : parts_) {
    if (part.on_host) memory(rank, true).fill(part.gradient, 0);
  }
}

void FlatParameters::add_across(const Rank& rank, Communicator& copies, std::string_view name) {
  if (!ranks_.trained) return;
  copies.all_reduce(wire(own_gradients()), Reduction::Sum, rank.call(name, Pass::Step, types_.gradient))
      .wait();
}

void FlatParameters::add_squares(const Rank& rank, const View& sum) const {
  if (!ranks_.trained || ranks_.mirrored || ranks_.replica->rank() != 0) return;
  const auto add = [&](Device& device, const View& flat, std::span<const Piece> pieces, std::int64_t first,
                       const View& to) {
    for (const Piece& p : pieces) {
      if (tensors_[p.tensor].counted) device.squared_norm(flat.slice(p.begin - first, p.end - p.begin), to);
    }
  };
  if (stage_ < 2 || in_backward_) return add(rank.device, own_gradients(), pieces_, first_, sum);
  for (const Part& part : parts_) {
    const View gradients = part.on_host ? part.gradient.view() : gradient_.view();
    add(memory(rank, part.on_host), gradients, part.pieces, first_ + part.begin,
        part.on_host ? rank.host->squares() : sum);
  }
}

ShardPlace FlatParameters::place(const Rank& rank, const Part& part) const {
  return {.tensors = tensors_,
          .pieces = part.pieces,
          .first = first_ + part.begin,
          .elements = part.elements,
          .shard = ranks_.shard,
          .tensor = ranks_.tensor,
          .device = &memory(rank, part.on_host),
          .by_matrix = ranks_.by_matrix,
          .unit = unit_};
}

void FlatParameters::update(const Rank& rank, const OptimizerStep& step) {
  for (Part& part : parts_) update_part(rank, step, part);
}

void FlatParameters::begin_outer_steps(const Rank& rank) const {
  for (const Part& part : parts_) part.outer.begin(rank, updated(part));
}

void FlatParameters::take_outer_step(const Rank& rank, const OptimizerOptions& options) {
  for (const Part& part : parts_) {
    part.outer.step(rank, options, updated(part));
    copy_master(rank, part, true);
  }
}

/// Whole gradients come to the host now. A parameter that the other memory has is written there; its update
/// reads it where no master copy stands behind it.
void FlatParameters::update_part(const Rank& rank, const OptimizerStep& step, Part& part) {
  Device& device = memory(rank, part.on_host);
  const auto call = [&](std::string_view name, DType dtype) { return rank.call(name, Pass::Step, dtype); };
  if (part.on_host && stage_ < 2) {
    const View gradients = part_of(own(gradient_), part);
    const Tensor arrived = device.allocate_message(gradients.element, part.elements);
    rank.host->copy(call("gradient.to_host", types_.gradient), arrived, gradients);
    device.copy(part.gradient, arrived);
  }
  const bool apart = stage_ >= 2 && !in_backward_;  // the device's part in a buffer of its own
  const View gradients = part.on_host ? part.gradient.view()
                         : apart      ? gradient_.view()
                                      : part_of(own_gradients(), part);
  const View parameters = part_of(own_parameters(), part);
  if (part.on_host == parameters_on_host_)
    return part.optimizer.update(rank, step, place(rank, part), parameters, gradients);
  const std::string_view here = part.on_host ? "parameter.to_host" : "parameter.to_device";
  const std::string_view back = part.on_host ? "parameter.to_device" : "parameter.to_host";
  const Tensor staged =
      part.on_host
          ? device.allocate_message(parameters.element, part.elements)
          : device.allocate({"parameter.staged", TensorKind::Transient, types_.parameter}, 1, part.elements);
  if (part.optimizer.has_master()) {
    device.copy(staged, part.optimizer.master());
  } else {
    rank.host->copy(call(here, types_.parameter), staged, parameters);
  }
  part.optimizer.update(rank, step, place(rank, part), staged, gradients);
  rank.host->copy(call(back, types_.parameter), parameters, staged);
}

void FlatParameters::collect_updated(const Rank& rank) {
  if (stage_ < 1 || stage_ >= 3 || ranks_.shard->size() == 1) return;
  ranks_.shard
      ->all_gather(wire(own(parameter_)), wire(parameter_),
                   rank.call("parameter.gather", Pass::Step, types_.parameter))
      .wait();
}

void FlatParameters::follow_master(const Rank& rank) {
  for (const Part& part : parts_) copy_master(rank, part, true);
  collect_updated(rank);
}

void FlatParameters::visit(const Rank& rank, State state,
                           const std::function<void(const OwnedPart&)>& visitor) const {
  const auto visit_pieces = [&](const View& flat, bool on_host, std::span<const Piece> pieces,
                                std::int64_t first) {
    for (const Piece& p : pieces) {
      const LocalTensor& t = tensors_[p.tensor];
      visitor({.unit = unit_,
               .tensor = &t,
               .state = state,
               .first = p.begin - t.offset,
               .view = flat.slice(p.begin - first, p.end - p.begin),
               .device = &memory(rank, on_host),
               .rounded_with = quantised_gathers_ ? tensors_.data() : nullptr,
               .duplicate = is_copy(rank) || !t.counted});
    }
  };
  if (state == State::Parameter || (state == State::Master && !types_.master))
    return visit_pieces(own_parameters(), parameters_on_host_, pieces_, first_);
  if (state == State::RowMoment || state == State::ColumnMoment) return visit_factored(rank, state, visitor);
  for (const Part& part : parts_) {
    part.optimizer.visit(
        state, [&](const View& flat) { visit_pieces(flat, part.on_host, part.pieces, first_ + part.begin); });
  }
}

/// Ranks that share the buffer hold the same; the first one counts.
void FlatParameters::visit_factored(const Rank& rank, State state,
                                    const std::function<void(const OwnedPart&)>& visitor) const {
  const bool copy = is_copy(rank) || ranks_.shard->rank() != 0;
  for (const Part& part : parts_) {
    part.optimizer.visit_factored(state, [&](const LocalTensor& tensor, const View& moments) {
      visitor({.unit = unit_,
               .tensor = &tensor,
               .state = state,
               .view = moments,
               .device = &memory(rank, part.on_host),
               .duplicate = copy || !tensor.counted});
    });
  }
}

Unit::Unit(const Rank& rank, UnitPlan plan, const Uses& uses, std::uint64_t seed)
    : index_{plan.index}, expected_{uses.gradients} {
  const Groups& g = rank.groups;
  const bool gathers_again =
      g.shard->size() > 1 && costmodel::backward_gathers(rank.scenario, role_of_unit(plan.index));
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
        .node = shards && trained ? g.shard_node.get() : nullptr,
        .across = shards && trained ? g.shard_across.get() : nullptr,
        .secondary = expert || !gathers_again ? nullptr : g.secondary.get(),
        .by_matrix = holds_matrices(kind),
        .trained = trained,
        .mirrored = uses.mirrored};
    flats_.emplace_back(rank, std::move(tensors), index_, ranks, seed);
  };
  add(FlatKind::Dense, plan.dense);
  add(FlatKind::BesideTiedTable, plan.beside_tied_table);
  add(FlatKind::DenseMatrices, plan.dense_matrices);
  add(FlatKind::Expert, plan.expert);
  add(FlatKind::ExpertMatrices, plan.expert_matrices);
  add(FlatKind::Adapter, plan.adapters);
  if (plan.in_4_bits.empty()) return;
  const bool shards = rank.scenario.layout.sharding.stage >= 3;
  in_4_bits_.emplace(rank, std::move(plan.in_4_bits), index_,
                     Nf4Matrices::Ranks{.shard = (shards ? g.shard : g.alone).get(),
                                        .replica = (shards ? g.replica : g.data).get(),
                                        .mirrored = uses.mirrored},
                     seed);
}

bool Unit::holds(std::string_view name) const {
  if (in_4_bits_ && in_4_bits_->find(name) != nullptr) return true;
  return std::ranges::any_of(flats_, [&](const FlatParameters& f) { return f.holds(name); });
}

const FlatParameters& Unit::holder(std::string_view name) const {
  const auto found =
      std::find_if(flats_.begin(), flats_.end(), [&](const FlatParameters& f) { return f.holds(name); });
  assert(found != flats_.end());
  return *found;
}

const LocalTensor& Unit::tensor(std::string_view name) const {
  if (const LocalTensor* quantised = in_4_bits_ ? in_4_bits_->find(name) : nullptr; quantised != nullptr)
    return *quantised;
  const std::vector<LocalTensor>& all = holder(name).tensors();
  return *std::ranges::find(all, name, &LocalTensor::name);
}

View Unit::weight(std::string_view first, std::string_view last) const {
  return holder(first).parameters(first, last);
}

void Unit::gather(Rank& rank, Pass pass) {
  const Phase before = rank.clock.enter(Phase::Gather);
  for (FlatParameters& flat : flats_) flat.gather(rank, pass);
  if (in_4_bits_) in_4_bits_->gather(rank, pass);
  rank.clock.enter(before);
}

void Unit::release() {
  for (FlatParameters& flat : flats_) flat.release();
  if (in_4_bits_) in_4_bits_->release();
}

void Unit::visit(const Rank& rank, State state, const std::function<void(const OwnedPart&)>& visitor) {
  for (const FlatParameters& flat : flats_) flat.visit(rank, state, visitor);
  if (in_4_bits_) in_4_bits_->visit(rank, state, visitor);
}

void Unit::open_gradients(const Rank& rank) {
  for (FlatParameters& flat : flats_) flat.open_gradients(rank);
}

void Unit::finish_gradients(Rank& rank) {
  const bool last = ++finished_ == expected_;
  const Phase before = rank.clock.enter(Phase::Reduction);
  for (FlatParameters& flat : flats_) {
    if (last || flat.reduces_at_once()) flat.reduce(rank, last);
  }
  if (last && rank.update != nullptr) update_in_backward(rank);
  rank.clock.enter(before);
}

/// Nothing of the running pass reads these parameters any more.
void Unit::update_in_backward(Rank& rank) {
  rank.clock.enter(Phase::Optimizer);
  for (FlatParameters& flat : flats_) {
    flat.add_squares(rank, rank.squares);
    flat.update(rank, *rank.update);
  }
  rank.clock.enter(Phase::Gather);
  for (FlatParameters& flat : flats_) {
    flat.collect_updated(rank);
    flat.close_gradients();
  }
}

void Unit::begin_step(const Rank& rank) {
  finished_ = 0;
  for (FlatParameters& flat : flats_) flat.clear_gradients(rank);
}

}  // namespace hexaplan::validator
