#include "costmodel/step/goodput.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <string_view>
#include <vector>

#include "costmodel/compute/host_time.h"
#include "costmodel/memory/layer_ledger.h"
#include "costmodel/memory/parameter_memory.h"
#include "costmodel/spec/stage_plan.h"
#include "costmodel/step/stage_parameters.h"

namespace hexaplan::costmodel {
namespace {

constexpr Seconds kOneHour{3600}, kOneDay{86400};

/// Llama 3 405B (arXiv:2407.21783 section 3.3.4, table 5): what interrupted 54 days on 16,384 GPUs in nodes
/// of 8.
constexpr double kLlamaDays = 54, kLlamaGpus = 16384, kLlamaNodes = 2048;
/// 268 of GPUs: faulty GPU 148, HBM 72, SRAM 19, system processor 17, silent corruption 6, thermal and
/// sensor 6; and 56 of their processes: software 54, dependencies 2.
constexpr double kLlamaGpuFailures = 268 + 56;
/// Host maintenance 32, SSD 3, power supply 3, chassis 2, IO board 2, CPU 2, system memory 2.
constexpr double kLlamaNodeFailures = 46;
/// Switches and cables 35, NIC 7; NCCL watchdog time-outs 7, whose cause was not found.
constexpr double kLlamaLinkFailures = 49;
static_assert(kLlamaGpuFailures + kLlamaNodeFailures + kLlamaLinkFailures == 419);

/// Whether `hours` is 54 days of `parts` over `failures`, to the hour.
constexpr bool is_record(double hours, double parts, double failures) {
  const double off = kLlamaDays * 24 * parts / failures - hours;
  return off < 0.5 && off > -0.5;
}
constexpr double kGpuHours = 65536, kNodeHours = 57700, kLinkHours = 433340;
static_assert(is_record(kGpuHours, kLlamaGpus, kLlamaGpuFailures));
static_assert(is_record(kNodeHours, kLlamaNodes, kLlamaNodeFailures));
static_assert(is_record(kLinkHours, kLlamaGpus, kLlamaLinkFailures));

/// Where nobody says otherwise.
struct Assumed {
  Seconds gpu_mtbf = kOneHour * kGpuHours, node_mtbf = kOneHour * kNodeHours,
          link_mtbf = kOneHour * kLinkHours;
  /// An assumption between two systems: 273 GB/s from 384 nodes (arXiv:2104.04473 section 5.10, cited
  /// from memory) and 2 TB/s sustained for 3,072 nodes (arXiv:2407.21783 section 3.3.1) are 0.7 GB/s per
  /// node.
  BytesPerSecond storage_per_node{0.7e9};
  /// An assumption: detecting and diagnosing took less than 10 minutes on 12,288 GPUs (arXiv:2402.15627
  /// section 6.3, cited from memory).
  Seconds restart = Seconds{600};
  /// An assumption: a node is drained, examined and returned, or replaced, within a day.
  Seconds repair = kOneDay;
};
constexpr Assumed kAssumed;

/// Unexpected interruptions of published runs and clusters, per GPU and day. All but Llama 3's are cited from
/// memory.
struct PublishedRate {
  std::string_view source;
  double interruptions, gpus, days;
};
constexpr PublishedRate kPublished[] = {
    {"Llama 3 405B, arXiv:2407.21783 section 3.3.4", 419, kLlamaGpus, kLlamaDays},
    // 35 manual and over 70 automatic restarts in two months.
    {"OPT-175B, arXiv:2205.01068 section 2.5", 105, 992, 60},
    // One to two failures a week.
    {"BLOOM, arXiv:2211.05100 section 3.2", 1.5, 384, 7},
    // Failures per 1,000 node-days of 8 GPUs.
    {"RSC-1, arXiv:2410.21680", 6.50, 8000, 1},
    {"RSC-2, arXiv:2410.21680", 2.34, 8000, 1},
};

double per_day(const PublishedRate& row) {
  return row.interruptions / (row.gpus * row.days);
}

std::int64_t nodes_of(const ClusterSpec& cluster) {
  return (cluster.gpus + cluster.gpus_per_node - 1) / cluster.gpus_per_node;
}

/// GPUs that reach others over a network.
double links_of(const ClusterSpec& cluster) {
  const bool network = !cluster.levels.empty() && cluster.levels.back().fabric == Fabric::Network;
  return network ? static_cast<double>(cluster.gpus) : 0;
}

/// Failures per second of the whole job.
struct FailureRates {
  double nodes = 0;  // that take a node out: of its GPUs and of the rest
  double links = 0;
};
FailureRates rates_of(const ClusterSpec& cluster, const Reliability& r) {
  return {.nodes = static_cast<double>(cluster.gpus) / r.gpu_mtbf->value() +
                   static_cast<double>(nodes_of(cluster)) / r.node_mtbf->value(),
          .links = links_of(cluster) / r.link_mtbf->value()};
}

constexpr double kHopeless = 1e6;  // a run that is slowed down so much counts as one that never ends

/// Shares of the time of a run that fails, without the waiting for repairs.
void share_out(const InterruptedRun& run, Goodput& result) {
  const double m = run.mtbf.value(), t = result.interval.value(), d = run.stall.value();
  if (std::isinf(m)) {
    const double segment = std::isinf(t) ? 1 : t + d;
    result.productive = std::isinf(t) ? 1 : t / segment;
    result.checkpointing = std::isinf(t) ? 0 : d / segment;
    return;
  }
  const double whole = slowdown(run, result.interval) * t;  // per interval
  if (!(whole < kHopeless * t)) {
    result.productive = result.checkpointing = result.repeating = 0;
    result.restarting = 1;
    return;
  }
  const double attempts = m * std::expm1((t + d) / m);
  const double after_failures = whole - attempts;
  const double lost = (run.unusable + run.restart).value();
  const double of_restart = lost > 0 ? run.restart.value() / lost : 0;
  result.productive = t / whole;
  result.checkpointing = d / whole;
  result.restarting = after_failures * of_restart / whole;
  result.repeating = 1 - result.productive - result.checkpointing - result.restarting;
}

/// Erlang's recursion: the blocked share with `servers` from that with one less.
double blocked_with(int servers, double in_repair, double blocked) {
  return in_repair * blocked / (servers + in_repair * blocked);
}

void wait_for_repairs(const Reliability& r, double node_failures, Goodput& result) {
  constexpr double kHardly = 1e-3;
  constexpr int kMostSpares = 100'000;
  const double in_repair = node_failures * r.repair_time->value();
  double blocked = waiting_share(in_repair, 0);
  while (blocked > kHardly && result.enough_spares < kMostSpares) {
    ++result.enough_spares;
    blocked = blocked_with(result.enough_spares + 1, in_repair, blocked);
  }
  if (!r.spare_nodes) return;
  result.waiting = waiting_share(in_repair, *r.spare_nodes);
  const double going = 1 - result.waiting;
  for (double* share : {&result.productive, &result.checkpointing, &result.repeating, &result.restarting})
    *share *= going;
}

}  // namespace

double slowdown(const InterruptedRun& run, Seconds interval) {
  const double m = run.mtbf.value();
  if (std::isinf(m)) return std::isinf(interval.value()) ? 1 : 1 + run.stall / interval;
  return m / interval.value() * std::exp((run.restart + run.unusable).value() / m) *
         std::expm1((interval + run.stall).value() / m);
}

Seconds best_interval(const InterruptedRun& run) {
  if (std::isinf(run.mtbf.value())) return Seconds{std::numeric_limits<double>::infinity()};
  // u − 1 + e^−(u + d) is convex and rising right of its zero in (0, 1]: Newton's steps from 1 never pass it.
  const double d = run.stall / run.mtbf;
  constexpr int kMostSteps = 200;
  double u = 1;
  for (int i = 0; i < kMostSteps; ++i) {
    const double next = u - (u - 1 + std::exp(-(u + d))) / -std::expm1(-(u + d));
    if (!(next < u)) break;
    u = next;
  }
  return larger(run.mtbf * u, run.unusable);
}

double waiting_share(double in_repair, int spares) {
  double blocked = 1;
  for (int servers = 1; servers <= spares + 1; ++servers) blocked = blocked_with(servers, in_repair, blocked);
  return blocked;
}

Bytes checkpoint_bytes(const Scenario& scenario) {
  Scenario whole = scenario;
  whole.layout = {};
  whole.recipe.offload = 0;
  const std::vector<StagePlan> stages = plan_stages(whole);
  const double trained = ModelParameters{whole, stages}.of(stages.front()).trained.all();
  Bytes sum{trained * bytes_per_element(state_types(whole).parameter)};
  ParameterMemory{whole, used_classes(stages)}.visit(whole, stages.front(),
                                                     [&](const TensorEntry& entry, double times) {
                                                       if (entry.kind == TensorKind::OptimizerState)
                                                         sum += entry.size() * times;
                                                     });
  return sum;
}

Reliability reliability_of(const Scenario& scenario) {
  const ClusterSpec& cluster = scenario.cluster;
  const Reliability assumed{
      .gpu_mtbf = kAssumed.gpu_mtbf,
      .node_mtbf = kAssumed.node_mtbf,
      .link_mtbf = kAssumed.link_mtbf,
      .storage_bandwidth = kAssumed.storage_per_node * static_cast<double>(nodes_of(cluster)),
      .restart_time = kAssumed.restart,
      .repair_time = kAssumed.repair,
      .spare_nodes = std::nullopt,
      .pue = std::nullopt};
  return overlaid(overlaid(scenario.recipe.reliability, cluster.reliability), assumed);
}

double published_rate_sigma() {
  double squares = 0;
  for (const PublishedRate& row : kPublished) {
    const double off = std::log(per_day(row) / per_day(kPublished[0]));
    squares += off * off;
  }
  return std::sqrt(squares / static_cast<double>(std::size(kPublished)));
}

Goodput goodput(const Scenario& scenario, double rate_factor) {
  const Reliability r = reliability_of(scenario);
  const Reliability said = overlaid(scenario.recipe.reliability, scenario.cluster.reliability);
  const FailureRates rates = rates_of(scenario.cluster, r);
  Goodput result;
  result.rate_sigma = said.gpu_mtbf && said.node_mtbf && said.link_mtbf ? 0 : published_rate_sigma();
  result.mtbf = Seconds{1 / ((rates.nodes + rates.links) * rate_factor)};
  result.checkpoint = checkpoint_bytes(scenario);
  result.writing = result.checkpoint / *r.storage_bandwidth;
  const Checkpointing& how = scenario.recipe.checkpoints;
  // Ranks' parts are equal: data-parallel ones share the writing. They are copied to host memory first.
  const Bytes of_rank = result.checkpoint / static_cast<double>(scenario.cluster.gpus);
  result.stall = how.asynchronous ? smaller(host_copy_time(of_rank, false, scenario.cluster), result.writing)
                                  : result.writing;
  result.restart = *r.restart_time + result.writing;
  const InterruptedRun run{.mtbf = result.mtbf,
                           .stall = result.stall,
                           .unusable = how.asynchronous ? result.writing : Seconds{},
                           .restart = result.restart};
  result.best_interval = best_interval(run);
  result.interval = how.interval.value_or(result.best_interval);
  share_out(run, result);
  wait_for_repairs(r, rates.nodes * rate_factor, result);
  return result;
}

}  // namespace hexaplan::costmodel
