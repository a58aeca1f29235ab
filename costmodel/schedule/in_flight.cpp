#include "costmodel/schedule/in_flight.h"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <tuple>

#include "costmodel/schedule/schedule.h"
#include "costmodel/spec/stage_plan.h"

namespace hexaplan::costmodel {
namespace {

/// What decides about the order of tasks, and layers of every chunk of every stage.
using Order = std::tuple<ScheduleKind, int, int, int, std::vector<int>>;

/// Most layers in flight on a stage over all its layers.
double most_in_flight(const std::vector<Task>& tasks, const int* layers, int total) {
  int now = 0, most = 0;
  for (const Task& task : tasks) {
    const bool ends = task.pass == TaskPass::Backward || task.pass == TaskPass::BackwardWeight;
    if (task.pass == TaskPass::Forward) most = std::max(most, now += layers[task.chunk]);
    if (ends) now -= layers[task.chunk];
  }
  return total > 0 ? static_cast<double>(most) / total : 0;
}

std::vector<double> walk(const Order& order) {
  const auto& [kind, stages, microbatches, per_stage, layers] = order;
  const Schedule schedule = make_schedule(kind, stages, microbatches, per_stage);
  std::vector<double> in_flight;
  for (std::size_t stage = 0; stage < schedule.stages.size(); ++stage) {
    const int* own = &layers[stage * static_cast<std::size_t>(per_stage)];
    in_flight.push_back(
        most_in_flight(schedule.stages[stage], own, std::accumulate(own, own + per_stage, 0)));
  }
  return in_flight;
}

/// Micro-batches of an order that has the same peak: the pipeline is full after some two per stage.
int enough(int microbatches, int stages) {
  const int most = 4 * stages + microbatches % stages;
  return std::min(microbatches, most);
}

const std::vector<double>& known(const Order& order) {
  constexpr std::size_t kMost = 4096;
  thread_local std::map<Order, std::vector<double>> memo;
  if (memo.size() >= kMost) memo.clear();
  const auto [entry, made] = memo.try_emplace(order);
  if (made) entry->second = walk(order);
  return entry->second;
}

bool differ(const std::vector<StagePlan>& chunks) {
  const auto held = [](const StagePlan& chunk) {
    int experts = 0;
    for (std::size_t c = 0; c < kMtpClass; ++c)
      experts += own_class_at(static_cast<int>(c)).moe ? chunk.layers[c] : 0;
    return std::array{chunk.total_layers(), experts, chunk.mtp_modules()};
  };
  return std::any_of(chunks.begin(), chunks.end(),
                     [&](const StagePlan& chunk) { return held(chunk) != held(chunks.front()); });
}

}  // namespace

bool has_unequal_chunks(const Scenario& sc) {
  return chunks_per_stage(sc.layout) > 1 && differ(plan_chunks(sc));
}

std::vector<double> microbatches_in_flight(const Scenario& sc) {
  const Layout& l = sc.layout;
  const std::int64_t microbatches = microbatches_per_step(sc);
  std::vector<double> in_flight(static_cast<std::size_t>(l.pp));
  for (int stage = 0; stage < l.pp; ++stage)
    in_flight[static_cast<std::size_t>(stage)] = microbatches_in_flight(l, microbatches, stage);
  const int per_stage = chunks_per_stage(l);
  if (per_stage == 1) return in_flight;
  const std::vector<StagePlan> chunks = plan_chunks(sc);
  if (!differ(chunks)) return in_flight;
  std::vector<int> layers(chunks.size());
  std::transform(chunks.begin(), chunks.end(), layers.begin(),
                 [](const StagePlan& chunk) { return chunk.total_layers(); });
  const auto m = static_cast<int>(microbatches);
  const std::vector<double>& walked =
      known({l.schedule, l.pp, enough(m, l.pp), per_stage, std::move(layers)});
  for (int stage = 0; stage < l.pp; ++stage) {
    double& of_stage = in_flight[static_cast<std::size_t>(stage)];
    const double plain = chunks_in_flight(l.schedule, l.pp, m, per_stage, stage) / per_stage;
    of_stage += walked[static_cast<std::size_t>(stage)] - plain;  // vocabulary parallelism adds its own
  }
  return in_flight;
}

}  // namespace hexaplan::costmodel
