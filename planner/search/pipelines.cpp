#include "planner/search/pipelines.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "costmodel/memory/layer_ledger.h"
#include "costmodel/schedule/in_flight.h"
#include "costmodel/schedule/schedule.h"
#include "planner/refine/refine.h"

namespace hexaplan::planner {

using namespace costmodel;

namespace {

/// A stage's chunks recompute as many layers each, a smaller one all that it has.
void add_layers(const LayersByCount& chunk, LayersByCount& stage) {
  const std::size_t counts = std::max(stage.size(), chunk.size());
  stage.resize(counts, stage.empty() ? LayersByClass{} : stage.back());
  for (std::size_t n = 0; n < counts; ++n) {
    const LayersByClass& first = chunk[std::min(n, chunk.size() - 1)];
    for (std::size_t c = 0; c < first.size(); ++c) stage[n][c] += first[c];
  }
}

/// Chunks alike are one that runs more often.
void add_chunk(WarmUp::Forwards chunk, WarmUp& warm) {
  if (chunk.count == 0) return;
  const auto same = std::ranges::find_if(warm.chunks, [&](const WarmUp::Forwards& known) {
    return known.chunk == chunk.chunk && known.first == chunk.first;
  });
  if (same == warm.chunks.end()) {
    warm.chunks.push_back(std::move(chunk));
  } else {
    same->count += chunk.count;
  }
}

}  // namespace

/// Makes it without holding up other threads; of two that make the same the first one's stays.
template <class Made, class Make>
const Made& Pipelines::known(By<Made>& made, Key key, std::int64_t microbatches, const Make& make) {
  {
    const std::lock_guard lock{mutex_};
    if (const auto found = made.find({key, microbatches}); found != made.end()) return *found->second;
  }
  auto fresh = std::make_unique<const Made>(make());
  const std::lock_guard lock{mutex_};
  return *made.try_emplace({key, microbatches}, std::move(fresh)).first->second;
}

std::vector<StageGroup> Pipelines::groups_of(const Scenario& sc) const {
  const std::vector<StagePlan> stages = plan_stages(sc);
  const auto of_chunks = counts_layers_ ? first_layers_of_chunks(sc) : std::vector<LayersByCount>{};
  const std::size_t per_stage = of_chunks.size() / stages.size();
  std::vector<StageGroup> groups;
  for (std::size_t s = 0; s < stages.size(); ++s) {
    StageGroup stage{.plan = stages[s], .first = {}, .members = {static_cast<int>(s)}};
    for (std::size_t c = 0; c < per_stage; ++c) add_layers(of_chunks[s * per_stage + c], stage.first);
    const auto same = std::ranges::find_if(groups, [&](const StageGroup& group) {
      return group.plan == stage.plan && group.first == stage.first;
    });
    if (same == groups.end()) {
      groups.push_back(std::move(stage));
    } else {
      same->members.push_back(static_cast<int>(s));
    }
  }
  return groups;
}

const Pipeline& Pipelines::of(const Scenario& sc, Key key) {
  {
    const std::lock_guard lock{mutex_};
    if (const auto found = pipelines_.find(key); found != pipelines_.end()) return *found->second;
  }
  Pipeline pipe{.groups = groups_of(sc)};
  pipe.least_chunk = std::numeric_limits<int>::max();
  for (const StagePlan& chunk : plan_chunks(sc)) {
    pipe.least_chunk = std::min(pipe.least_chunk, chunk.total_layers());
    pipe.most_chunk = std::max(pipe.most_chunk, chunk.total_layers());
  }
  pipe.separates_ends = separates_ends(sc.layout);
  pipe.chunks_differ = chunks_differ(sc);
  pipe.refinable = can_be_refined(sc);
  const std::lock_guard lock{mutex_};
  const auto last = pipelines_.lower_bound({static_cast<std::uint16_t>(key.pp + 1), 0});
  for (auto other = pipelines_.lower_bound({key.pp, 0}); other != last; ++other) {
    const Pipeline& twin = *other->second;
    if (twin.groups == pipe.groups && twin.separates_ends == pipe.separates_ends) {
      pipe.plan = twin.plan;
      break;
    }
    pipe.plan = std::max(pipe.plan, twin.plan + 1);
  }
  return *pipelines_.try_emplace(key, std::make_unique<const Pipeline>(std::move(pipe))).first->second;
}

const std::vector<double>& Pipelines::in_flight(const Scenario& sc, Key key) {
  return known(in_flight_, key, microbatches_per_step(sc), [&] {
    const std::vector<double> of_stages = microbatches_in_flight(sc);
    std::vector<double> in_flight;
    for (const StageGroup& group : of(sc, key).groups) {
      double most = 0;
      for (const int stage : group.members) most = std::max(most, of_stages[static_cast<std::size_t>(stage)]);
      in_flight.push_back(most);
    }
    return in_flight;
  });
}

const WarmUps& Pipelines::warm_ups(const Scenario& sc, Key key) {
  // More micro-batches change no warm-up.
  const auto microbatches =
      static_cast<int>(std::min(microbatches_per_step(sc), std::int64_t{4} * sc.layout.pp));
  return known(warm_ups_, key, microbatches, [&] { return make_warm_ups(sc, of(sc, key), microbatches); });
}

WarmUps Pipelines::make_warm_ups(const Scenario& sc, const Pipeline& pipe, int microbatches) const {
  const Layout& l = sc.layout;
  const auto schedule = known_schedule(l.schedule, l.pp, microbatches, l.vpp);
  const std::vector<StagePlan> chunks = plan_chunks(sc);
  const auto first = counts_layers_ ? first_layers_of_chunks(sc) : std::vector<LayersByCount>(chunks.size());
  const auto per_stage = static_cast<std::size_t>(schedule->chunks);
  const auto of_stage = [&](std::size_t stage) {
    std::vector<int> forwards(per_stage, 0);
    for (const Task& task : schedule->stages[stage]) {
      if (task.pass != TaskPass::Forward) break;
      ++forwards[static_cast<std::size_t>(task.chunk)];
    }
    WarmUp warm;
    for (std::size_t c = 0; c < per_stage; ++c) {
      const std::size_t at = stage * per_stage + c;
      warm.layers += forwards[c] * chunks[at].total_layers();
      add_chunk({chunks[at], first[at], forwards[c]}, warm);
    }
    return warm;
  };
  WarmUps out;
  for (const StageGroup& group : pipe.groups) {
    WarmUp most{.layers = -1};
    for (const int member : group.members) {
      WarmUp warm = of_stage(static_cast<std::size_t>(member));
      if (warm.layers > most.layers) most = std::move(warm);
    }
    out.push_back(std::move(most));
  }
  return out;
}

}  // namespace hexaplan::planner
