#include "costmodel/step/layer_cost.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <utility>

#include "costmodel/communication/group_links.h"
#include "costmodel/compute/host_time.h"
#include "costmodel/compute/kernel_time.h"
#include "costmodel/compute/operations.h"
#include "costmodel/step/execution.h"
#include "costmodel/units/overlap.h"

namespace hexaplan::costmodel {
namespace {

constexpr Seconds PassCost::*kPassParts[] = {&PassCost::gemm,   &PassCost::attention, &PassCost::memory_bound,
                                             &PassCost::launch, &PassCost::tensor,    &PassCost::context,
                                             &PassCost::expert, &PassCost::offload};
static_assert(sizeof(PassCost) == std::size(kPassParts) * sizeof(Seconds), "every part of a pass is listed");

/// `pipeline_collective_host` per member, over its value inside a node, where the tensor-parallel ranks lie
/// on several: nanotron's undisturbed runs (docs/accuracy.md) spend 10 ms per layer and micro-batch with 2
/// ranks, 14 with 4, 23.5 with 8 on one node, 50 with 16 on two, 97 with 32 on four; for every model and
/// micro-batch.
constexpr double kHostBetweenNodes = 1.25;

/// Members beyond which a call costs no more: the largest group that one of those runs had for many calls in
/// a step (buckets of gradients; none has more than 256 replicas, and those gather once). What the host waits
/// for is not known, hence not whether it goes on growing.
constexpr std::int64_t kMostMembersMeasured = 128;

/// Standard deviation of the speed of GPUs of one type under their power limit; an estimate: 8 % average
/// variation (Sinha et al., "Not All GPUs Are Created Equal", SC22, arXiv:2208.11035, abstract; V100, MI60
/// and others), taken for the 5.4 deviations between the whiskers of a normal sample.
constexpr double kSpeedSpread = 0.015;

/// Ranks that wait for each other in every layer or step run as fast as the slowest: the largest of n
/// normal deviations is about √(2 ln n).  [docs/formulas.md#T5]
double slowest_of(std::int64_t gpus) {
  return 1 + kSpeedSpread * std::sqrt(2 * std::log(static_cast<double>(gpus)));
}

}  // namespace

PassCost& PassCost::operator+=(const PassCost& o) {
  for (const auto part : kPassParts) this->*part += o.*part;
  return *this;
}

PassCost operator*(PassCost cost, double factor) {
  for (const auto part : kPassParts) cost.*part *= factor;
  return cost;
}

LayerCost& LayerCost::operator+=(const LayerCost& o) {
  forward += o.forward;
  backward += o.backward;
  recomputed += o.recomputed;
  weight_gradient += o.weight_gradient;
  flops += o.flops;
  recomputed_flops += o.recomputed_flops;
  return *this;
}

LayerCost operator*(LayerCost cost, double factor) {
  cost.forward = cost.forward * factor;
  cost.backward = cost.backward * factor;
  cost.recomputed = cost.recomputed * factor;
  cost.weight_gradient *= factor;
  cost.flops *= factor;
  cost.recomputed_flops *= factor;
  return cost;
}

Pricer::Pricer(const Scenario& sc, const Calibration& calibration)
    : scenario_{sc},
      calibration_{calibration},
      slowest_{slowest_of(sc.layout.world_size())},
      tensor_overlap_{costmodel::tensor_overlap(sc)},
      host_share_{costmodel::host_share(sc)},
      tensor_backward_overlap_{costmodel::tensor_backward_overlap(sc)} {
  for (std::size_t g = 0; g < kGroupCount; ++g) {
    placements_[g] = place_group(sc.layout, static_cast<Group>(g), sc.cluster);
  }
  tensor_crosses_network_ = crosses_network(Group::Tensor);
  pipeline_crosses_network_ = crosses_network(Group::Pipeline);
  const Seconds per_member = sc.framework.pipeline_collective_host;
  if (!pipeline_crosses_network_ || per_member <= Seconds{}) return;
  for (std::size_t g = 0; g < kGroupCount; ++g) {
    const double between = crosses_network(static_cast<Group>(g)) ? kHostBetweenNodes : 1.0;
    const auto members = std::min<std::int64_t>(placements_[g].ranks, kMostMembersMeasured);
    collective_host_[g] = per_member * (between * static_cast<double>(members));
  }
}

bool Pricer::crosses_network(Group group) const {
  return links_of(placements_[static_cast<std::size_t>(group)], scenario_.cluster, calibration_.network)
             .domains > 1;
}

Seconds Pricer::collective(CollectiveKind kind, Bytes payload, Group group) const {
  return collective_cost(kind, payload, placements_[static_cast<std::size_t>(group)], scenario_.cluster,
                         calibration_)
      .time;
}

/// Share of a token's copies that are sent when those to one destination travel together: of k copies to n
/// destinations at random, n·(1 − (1 − 1/n)^k) go to different ones.  [docs/formulas.md#C4]
double Pricer::merged_share(const Operation& op) const {
  if (!merges_expert_copies(scenario_) || op.copies <= 1) return 1;
  const GroupPlacement& group = placements_[static_cast<std::size_t>(op.group)];
  const GroupLinks links = links_of(group, scenario_.cluster, calibration_.network);
  const double destinations = links.domains > 1 ? links.domains : links.ranks;
  return destinations * (1 - std::pow(1 - 1 / destinations, op.copies)) / op.copies;
}

bool Pricer::gathers_tokens(const Operation& op) const {
  return op.copies > 0 && scenario_.recipe.execution.dispatcher == ExpertDispatcher::AllGather;
}

/// Every rank receives all tokens of its group, whoever needs them.
Seconds Pricer::gathered_tokens(const Operation& op) const {
  const double ranks = static_cast<double>(placements_[static_cast<std::size_t>(op.group)].ranks);
  return collective(CollectiveKind::AllGather, op.payload / op.copies * ranks, op.group);
}

Seconds Pricer::time_of(const Operation& op) const {
  const GpuSpec& gpu = scenario_.cluster.gpu;
  switch (op.kind) {
    case OpKind::Gemm:
    case OpKind::GroupedGemm:
      return slowest_ * op.count *
             (op.integers ? integer_gemm_time(op.gemm, gpu, calibration_)
                          : gemm_time(op.gemm, op.precision, gpu, calibration_));
    case OpKind::Attention:
      return slowest_ * op.count *
             attention_time(op.attention, op.pass == Pass::Forward ? Direction::Forward : Direction::Backward,
                            op.precision, gpu, calibration_);
    case OpKind::Scan:
      return slowest_ * op.count *
             scan_time(op.flops, op.bytes, op.by_elements,
                       op.pass == Pass::Forward ? Direction::Forward : Direction::Backward, op.precision, gpu,
                       calibration_);
    case OpKind::MemoryBound:
      return op.count * (op.update ? optimizer_time(op.bytes, gpu, calibration_)
                                   : memory_bound_time(op.bytes, gpu, calibration_));
    case OpKind::Copy:
      return op.count * host_copy_time(op.payload, op.on_disk, scenario_.cluster);
    case OpKind::HostUpdate:
      return op.count * host_update_time(op.bytes, op.on_disk, scenario_.cluster);
    case OpKind::Collective:
      return op.count * (gathers_tokens(op)
                             ? gathered_tokens(op)
                             : collective(op.collective, op.payload * merged_share(op), op.group));
  }
  return {};
}

Seconds Pricer::collective_host(const Operation& op) const {
  return op.kind == OpKind::Collective ? op.count * collective_host_[static_cast<std::size_t>(op.group)]
                                       : Seconds{};
}

/// What the host takes to issue an operation's kernels.
Seconds Pricer::host_time(const Operation& op) const {
  return op.count * host_share_ * scenario_.framework.kernel_launch * op.kernels + collective_host(op);
}

/// What of a collective a rank waits for. A tensor-parallel one hides behind the product it feeds (gathers)
/// or drains (reductions): in the backward of a column-parallel layer the input is gathered again beside the
/// gradient of the data, and that gradient is reduced beside the one of the weight.  [docs/formulas.md#C7]
Seconds Pricer::exposed(const TimedOperations& timed, std::size_t at, Seconds time) const {
  const std::vector<Operation>& operations = timed.operations;
  const Operation& op = operations[at];
  if (op.kind != OpKind::Collective || op.group != Group::Tensor) return time;
  const bool forward = op.pass == Pass::Forward;
  const bool gathers = op.collective == CollectiveKind::AllGather;
  const bool column = !forward && (op.pass == Pass::BackwardWeight || !gathers);
  const double share = column && tensor_backward_overlap_ ? 1.0 : tensor_overlap_;
  if (share <= 0) return time;
  const bool before = forward ? !gathers : op.pass == Pass::BackwardWeight;
  for (std::size_t i = at; before ? i-- > 0 : ++i < operations.size();) {
    const Operation& other = operations[i];
    if ((other.pass == Pass::Forward) != forward) break;
    if (other.kind == OpKind::Gemm)
      return overlap(timed.times[i], time, share, scenario_.framework.overlap_slowdown).exposed;
  }
  return time;
}

void Pricer::add(const Operation& op, Seconds time, PassCost& cost, HostWork& host) const {
  host.issuing += host_time(op);
  switch (op.kind) {
    case OpKind::Gemm:
    case OpKind::GroupedGemm:
      cost.gemm += time;
      return;
    case OpKind::Attention:
      cost.attention += time;
      return;
    case OpKind::MemoryBound:
    case OpKind::Scan:
    case OpKind::HostUpdate:
      cost.memory_bound += time;
      return;
    case OpKind::Copy:
      cost.offload += time;
      return;
    case OpKind::Collective:
      break;
  }
  if (op.group == Group::Context) {
    cost.context += time;
  } else if (op.group == Group::Expert || op.group == Group::ExpertTensor) {
    cost.expert += time * (1 - expert_overlap(scenario_));
  } else {
    cost.tensor += time;
    if (tensor_crosses_network_ && !pipeline_crosses_network_) host.moving += time;
  }
}

/// Ring sends hide behind attention.
void Pricer::hide_ring(PassCost& cost) const {
  if (scenario_.layout.context != ContextKind::Ring) return;
  const Seconds hidden = cost.attention * scenario_.framework.context_overlap;
  cost.context = larger(Seconds{}, cost.context - hidden);
}

/// Copies run on a stream and engines of their own, beside everything that computes.
void Pricer::hide_copies(PassCost& cost) {
  cost.offload = larger(Seconds{}, cost.offload - cost.compute());
}

/// The host must launch as fast as the device runs. It gets ahead in the pass that the device is slower in
/// and makes up for the other one there; the device waits for the rest.
void Pricer::wait_for_host(LayerCost& cost, const HostWork& forward, const HostWork& backward) {
  const Seconds behind_forward = forward.behind(cost.forward),
                behind_backward = backward.behind(cost.backward);
  cost.forward.launch = larger(Seconds{}, behind_forward + smaller(Seconds{}, behind_backward));
  cost.backward.launch = larger(Seconds{}, behind_backward + smaller(Seconds{}, behind_forward));
}

TimedOperations Pricer::timed(std::vector<Operation> operations) const {
  TimedOperations timed{.operations = std::move(operations), .times = {}};
  timed.times.reserve(timed.operations.size());
  for (const Operation& op : timed.operations)
    timed.times.push_back(op.kind == OpKind::Collective ? Seconds{} : time_of(op));
  return timed;
}

LayerCost Pricer::price(const TimedOperations& timed, Seconds forward_host, Seconds backward_host) const {
  const std::vector<Operation>& operations = timed.operations;
  LayerCost cost;
  HostWork forward, backward, recomputed;
  std::int64_t experts = 0;  // of the rank
  bool experts_recomputed = false;
  for (std::size_t at = 0; at < operations.size(); ++at) {
    const Operation& op = operations[at];
    const Seconds time = op.kind == OpKind::Collective ? exposed(timed, at, time_of(op)) : timed.times[at];
    if (op.kind == OpKind::GroupedGemm) {
      experts = op.gemm.batch;
      experts_recomputed = experts_recomputed || op.recomputed;
    }
    if (only_recomputes(op)) {
      add(op, time, cost.recomputed, recomputed);
      continue;
    }
    if (op.pass == Pass::Forward) {
      add(op, time, cost.forward, forward);
    } else {
      add(op, time, cost.backward, backward);
      if (op.pass == Pass::BackwardWeight && op.kind != OpKind::Collective) cost.weight_gradient += time;
    }
    cost.flops += op.flops;
    if (op.recomputed) {
      add(op, time, cost.recomputed, recomputed);
      cost.recomputed_flops += op.flops;
    }
  }
  forward_host = forward_host * host_share_;
  backward_host = backward_host * host_share_;
  if (forward.issuing > Seconds{})
    recomputed.issuing += forward_host * (recomputed.issuing / forward.issuing);
  forward.issuing += forward_host;
  backward.issuing += backward_host;
  for (PassCost* pass : {&cost.forward, &cost.backward, &cost.recomputed}) hide_ring(*pass);
  for (PassCost* pass : {&cost.forward, &cost.backward}) hide_copies(*pass);
  wait_for_host(cost, forward, backward);
  cost.recomputed.launch = larger(Seconds{}, recomputed.behind(cost.recomputed));
  const Seconds wait = host_share_ * (scenario_.framework.expert_layer_overhead +
                                      scenario_.framework.expert_overhead * static_cast<double>(experts));
  if (experts > 0) cost.forward.launch += wait, cost.backward.launch += wait;
  if (experts_recomputed) cost.recomputed.launch += wait;
  return cost;
}

}  // namespace hexaplan::costmodel
