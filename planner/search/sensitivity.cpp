#include "planner/search/sensitivity.h"

#include <cstddef>
#include <utility>

namespace hexaplan::planner {
namespace {

using costmodel::BytesPerSecond;
using costmodel::Fabric;
using costmodel::NetworkLevel;

/// False where the machines have nothing to change.
using Change = bool (*)(HardwareOption&);

bool more_memory(HardwareOption& on) {
  on.cluster.gpu.memory += costmodel::Bytes{0x1p30};
  return true;
}

bool more_network(HardwareOption& on) {
  const BytesPerSecond more{100e9 / 8 / on.cluster.gpus_per_node};
  const NetworkLevel* cards = network_cards(on.cluster);
  const bool changed = cards != nullptr;
  const double factor = changed ? (cards->bandwidth + more) / cards->bandwidth : 1;
  for (NetworkLevel& level : on.cluster.levels) {
    if (&level == cards) {
      level.bandwidth += more;
    } else if (level.fabric == Fabric::Network) {
      level.bandwidth *= factor;  // as oversubscribed as before
    }
  }
  BytesPerSecond& ceiling = on.calibration.network.ceiling;  // of other cards
  if (ceiling > BytesPerSecond{}) ceiling += more;
  return changed;
}

/// Every tier carries what the cards do.
bool full_bisection(HardwareOption& on) {
  const NetworkLevel* cards = network_cards(on.cluster);
  bool changed = false;
  for (NetworkLevel& level : on.cluster.levels) {
    if (level.fabric != Fabric::Network || !(level.bandwidth < cards->bandwidth)) continue;
    level.bandwidth = cards->bandwidth;
    changed = true;
  }
  return changed;
}

/// What a measured collective takes beyond its shortest time follows the links.
void quicken(costmodel::CollectiveCurve& curve, double factor) {
  if (curve.microseconds.empty()) return;
  const double start = curve.microseconds.front();
  for (double& time : curve.microseconds)
    if (time > start) time = start + (time - start) / factor;
}

bool faster_inside(HardwareOption& on) {
  constexpr double kFaster = 1.25;
  bool changed = false;
  for (NetworkLevel& level : on.cluster.levels) {
    if (level.fabric == Fabric::Network || level.ranks < 2) continue;
    level.bandwidth *= kFaster;
    changed = true;
  }
  for (costmodel::CollectiveCurve& curve : on.calibration.collectives) quicken(curve, kFaster);
  return changed;
}

bool cheaper(HardwareOption& on) {
  on.cluster.gpu.price_per_hour *= 0.9;
  return on.cluster.gpu.price_per_hour > 0;
}
bool dearer(HardwareOption& on) {
  on.cluster.gpu.price_per_hour *= 1.1;
  return on.cluster.gpu.price_per_hour > 0;
}

constexpr std::pair<const char*, Change> kChanges[] = {{"1 GiB more memory per GPU", more_memory},
                                                       {"100 Gbit/s more per node", more_network},
                                                       {"no oversubscription", full_bisection},
                                                       {"links inside nodes 25 % faster", faster_inside},
                                                       {"price 10 % lower", cheaper},
                                                       {"price 10 % higher", dearer}};

}  // namespace

PlanShift shift_of(const Plan& now, const Plan& then) {
  const auto rate = [](const Plan& plan) {
    return plan.price.tokens_per_second_per_gpu * static_cast<double>(plan.price.gpus);
  };
  return {
      .same_plan = then.layout == now.layout && then.recipe == now.recipe && then.hardware == now.hardware,
      .throughput = rate(then) / rate(now) - 1};
}

std::vector<ChangedMachines> sensitivity(const SearchProblem& problem, const SearchOptions& options) {
  std::vector<SearchProblem> problems;
  std::vector<ChangedMachines> answers;
  for (const auto& [name, change] : kChanges) {
    SearchProblem changed = problem;
    bool applies = false;
    for (HardwareOption& option : changed.hardware) applies = change(option) || applies;
    if (!applies) continue;
    problems.push_back(std::move(changed));
    answers.push_back({.change = name, .best = {}});
  }
  std::vector<Ranking> rankings = search_each(problems, options);
  for (std::size_t i = 0; i < rankings.size(); ++i) {
    if (!rankings[i].plans.empty()) answers[i].best = std::move(rankings[i].plans.front());
  }
  return answers;
}

}  // namespace hexaplan::planner
