#include "costmodel/posttrain/plan_post_training.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "costmodel/communication/collective_time.h"
#include "costmodel/compute/host_time.h"
#include "costmodel/compute/kernel_time.h"
#include "costmodel/parameters/parameter_tensors.h"
#include "costmodel/posttrain/kv_cache.h"
#include "costmodel/spec/rank_grid.h"
#include "costmodel/step/host_memory.h"

namespace hexaplan::costmodel {
namespace {

using namespace literals;

/// vLLM's default gpu_memory_utilization (vllm/config/cache.py); a share that is derived leaves as much of
/// what the models beside the engine leave.
constexpr double kUsualShare = 0.9;
/// Of weights that are on their way into the engine (verl trainer/config/rollout/rollout.yaml
/// update_weights_bucket_megabytes: 2048).
constexpr Bytes kSyncBucket{2048.0 * 1048576.0};

std::size_t index_of(ModelRole role) {
  return static_cast<std::size_t>(role);
}

/// What of a model waits on the host while others work.
struct IdleRow {
  ModelRole model;
  std::uint8_t parameters, optimizer;
};
constexpr IdleRow kIdleModels[] = {
    {ModelRole::Actor, kIdleActorParameters, kIdleActorOptimizer},
    {ModelRole::Reference, kIdleReference, 0},
    {ModelRole::Critic, kIdleCriticParameters, kIdleCriticOptimizer},
    {ModelRole::Reward, kIdleReward, 0},
};

class Planner {
 public:
  Planner(const PostTraining& question, const Calibration& calibration)
      : q_{question}, calibration_{calibration} {}

  PostTrainingPlan plan() {
    for (const RoleRow& role : kRoles) {
      if (q_.model(role.id) && !add_model(role.id)) return std::move(plan_);
    }
    plan_.capacity = q_.pools.front().cluster.gpu.memory;
    if (q_.generates() && !add_engine()) return std::move(plan_);
    for (std::size_t pool = 0; pool < q_.pools.size(); ++pool) fill_memory(pool);
    find_fullest();
    fill_host();
    fill_times();
    return std::move(plan_);
  }

 private:
  bool add_model(ModelRole role);
  bool add_engine();
  [[nodiscard]] Bytes cache_of_engine() const;
  void refuse_cache(Bytes longest);
  void fill_memory(std::size_t pool);
  void find_fullest();
  void fill_host();
  void fill_times();
  void add_time(Phase phase);

  [[nodiscard]] const ModelMemory& memory_of(ModelRole role) const {
    return plan_.models[index_of(role)]->memory;
  }
  [[nodiscard]] bool offloads(std::uint8_t bit) const { return bit != 0 && (q_.offload_idle & bit) != 0; }
  /// Calls `visit(role)` for every model that lies in the pool.
  template <class Visitor>
  void visit_models(const GpuPool& pool, const Visitor& visit) const {
    for (const RoleRow& role : kRoles) {
      if (pool.holds[index_of(role.id)] && plan_.models[index_of(role.id)]) visit(role.id);
    }
  }
  [[nodiscard]] bool runs(Phase phase) const;
  [[nodiscard]] std::size_t pool_of(Phase phase) const;
  [[nodiscard]] std::size_t engine_pool() const;
  [[nodiscard]] Bytes idle(ModelRole role) const;
  [[nodiscard]] Bytes busy(ModelRole role, Phase phase) const;
  [[nodiscard]] Bytes borrowed(ModelRole role) const;
  [[nodiscard]] Bytes outside(const GpuPool& pool) const;
  [[nodiscard]] Bytes on_host(ModelRole role) const;
  [[nodiscard]] PhaseMemory memory_in(std::size_t pool, Phase phase) const;
  void add_engine_memory(Phase phase, PhaseMemory& memory) const;
  [[nodiscard]] Seconds moving(Phase phase) const;
  [[nodiscard]] Seconds sync_time() const;
  [[nodiscard]] Seconds collective(CollectiveKind kind, Bytes payload, std::int64_t ranks) const;

  const PostTraining& q_;
  const Calibration& calibration_;
  PostTrainingPlan plan_;
};

bool Planner::add_model(ModelRole role) {
  auto phases = model_phases(q_, role, calibration_);
  if (auto* rejected = std::get_if<Rejected>(&phases)) {
    plan_.rejected = std::move(*rejected);
    return false;
  }
  plan_.models[index_of(role)] = std::get<ModelPhases>(phases);
  if (role == ModelRole::Reference && q_.reference_in_actor) {
    ModelMemory& memory = plan_.models[index_of(role)]->memory;
    memory.score -= memory.parameters;
    memory.parameters = {};
    memory.outside = memory.context;
  }
  return true;
}

bool Planner::runs(Phase phase) const {
  const PhaseRow& row = row_of(phase);
  if (phase == Phase::Generate || phase == Phase::SyncWeights) return q_.generates();
  if (!q_.model(*row.model)) return false;
  return phase != Phase::ScoreActor || (q_.generates() && q_.old_log_probs);
}

std::size_t Planner::engine_pool() const {
  for (std::size_t i = 0; i < q_.pools.size(); ++i) {
    if (q_.pools[i].engine) return i;
  }
  return 0;
}

std::size_t Planner::pool_of(Phase phase) const {
  const PhaseRow& row = row_of(phase);
  if (!row.model) return engine_pool();
  for (std::size_t i = 0; i < q_.pools.size(); ++i) {
    if (q_.pools[i].holds[index_of(*row.model)]) return i;
  }
  return 0;
}

Bytes Planner::idle(ModelRole role) const {
  const IdleRow& row = kIdleModels[index_of(role)];
  const ModelMemory& memory = memory_of(role);
  return (offloads(row.parameters) ? Bytes{} : memory.parameters) +
         (offloads(row.optimizer) ? Bytes{} : memory.optimizer);
}

Bytes Planner::on_host(ModelRole role) const {
  const IdleRow& row = kIdleModels[index_of(role)];
  const ModelMemory& memory = memory_of(role);
  return memory.host + (offloads(row.parameters) ? memory.parameters : Bytes{}) +
         (offloads(row.optimizer) ? memory.optimizer : Bytes{});
}

/// What the model holds while it works in `phase`; an optimizer that is away returns for training alone.
Bytes Planner::busy(ModelRole role, Phase phase) const {
  const ModelMemory& memory = memory_of(role);
  const Bytes optimizer = offloads(kIdleModels[index_of(role)].optimizer) ? Bytes{} : memory.optimizer;
  switch (row_of(phase).part) {
    case StepPart::Training:
      return memory.train;
    case StepPart::Sync:
      return memory.parameters + optimizer;
    default:
      return memory.score + optimizer + borrowed(role);
  }
}

/// Parameters of the actor that come from the host for the reference.
Bytes Planner::borrowed(ModelRole role) const {
  const bool away = offloads(kIdleModels[index_of(ModelRole::Actor)].parameters);
  return role == ModelRole::Reference && q_.reference_in_actor && away
             ? memory_of(ModelRole::Actor).parameters
             : Bytes{};
}

/// Models on one GPU share a process, and with it the context; each has its own communicators.
Bytes Planner::outside(const GpuPool& pool) const {
  Bytes context, communicators;
  visit_models(pool, [&](ModelRole role) {
    const ModelMemory& memory = memory_of(role);
    context = larger(context, memory.context);
    communicators += memory.outside - memory.context;
  });
  if (pool.engine) context = larger(context, q_.engine.framework.context);
  return context + communicators;
}

void Planner::add_engine_memory(Phase phase, PhaseMemory& memory) const {
  const EngineMemory& engine = *plan_.engine;
  memory.engine += engine.graphs;
  const bool awake = q_.engine.sleep == EngineSleep::Awake;
  const bool generates = phase == Phase::Generate || q_.asynchronous;
  if (generates || awake || phase == Phase::SyncWeights) memory.engine += engine.weights;
  if (generates || awake) memory.cache += plan_.generation->cache;
  if (generates) memory.engine += engine.activations;
  if (phase == Phase::SyncWeights) memory.buffer = smaller(kSyncBucket, engine.weights);
}

PhaseMemory Planner::memory_in(std::size_t pool, Phase phase) const {
  const GpuPool& gpus = q_.pools[pool];
  PhaseMemory memory{.phase = phase, .pool = pool, .outside = outside(gpus)};
  visit_models(gpus, [&](ModelRole role) {
    memory.models[index_of(role)] = row_of(phase).model == role ? busy(role, phase) : idle(role);
  });
  if (gpus.engine) add_engine_memory(phase, memory);
  return memory;
}

/// Phases of other pools change nothing here, except that the engine's own is there while it generates.
void Planner::fill_memory(std::size_t pool) {
  for (const PhaseRow& row : kPhaseRows) {
    if (!runs(row.id)) continue;
    const bool here = pool_of(row.id) == pool || (row.id == Phase::SyncWeights && q_.pools[pool].engine);
    if (here) plan_.memory.push_back(memory_in(pool, row.id));
  }
}

void Planner::find_fullest() {
  for (std::size_t i = 0; i < plan_.memory.size(); ++i) {
    if (plan_.memory[plan_.fullest].total() < plan_.memory[i].total()) plan_.fullest = i;
  }
  const PhaseMemory& most = plan_.memory[plan_.fullest];
  if (most.total() <= plan_.capacity) return;
  plan_.rejected =
      Rejected{"fits-in-memory",
               fmt::format("{} needs {:.2f} GiB per GPU, the GPU has {:.2f} GiB", row_of(most.phase).name,
                           most.total() / 1_GiB, plan_.capacity / 1_GiB),
               ""};
}

Bytes Planner::cache_of_engine() const {
  return plan_.memory_share * plan_.capacity - plan_.engine->weights - plan_.engine->activations;
}

void Planner::refuse_cache(Bytes longest) {
  const EngineMemory& engine = *plan_.engine;
  plan_.rejected = Rejected{
      "cache-holds-a-sequence",
      fmt::format(
          "beside what the models keep on the GPU the engine has {:.2f} GiB; its weights and "
          "activations take {:.2f} GiB, so that the cache of the longest sequence ({:.2f} GiB) finds no "
          "room",
          plan_.memory_share * plan_.capacity / 1_GiB, (engine.weights + engine.activations) / 1_GiB,
          longest / 1_GiB),
      "--offload-idle all, a larger --engine-tp or --engine-memory, --engine-weights fp8, or more GPUs"};
}

/// The engine takes the share it is given, or what everybody else on its GPUs leaves.
bool Planner::add_engine() {
  const GpuPool& pool = q_.pools[engine_pool()];
  if (pool.cluster.gpus % q_.engine.tp != 0) {
    plan_.rejected =
        Rejected{"engines-fill-gpus",
                 fmt::format("{} GPUs do not split over engines of tp={}", pool.cluster.gpus, q_.engine.tp),
                 "another --engine-tp"};
    return false;
  }
  if (q_.actor().model.attention.heads % q_.engine.tp != 0) {
    plan_.rejected = Rejected{"heads-divide-by-tp",
                              fmt::format("engine: {} heads do not split over tp={}",
                                          q_.actor().model.attention.heads, q_.engine.tp),
                              "another --engine-tp"};
    return false;
  }
  plan_.engine = engine_memory(q_, pool.cluster);
  Bytes others = outside(pool) + plan_.engine->graphs;
  visit_models(pool, [&](ModelRole role) { others += idle(role); });
  const double left = 1 - others.value() / plan_.capacity.value();
  plan_.memory_share = q_.engine.memory_share.value_or(kUsualShare * std::max(left, 0.0));
  const Bytes cache = cache_of_engine();
  const Bytes longest = cache_of_sequence(q_.actor().model, q_.engine.cache, q_.engine.tp,
                                          static_cast<double>(q_.batch.longest()));
  if (cache < longest) {
    refuse_cache(longest);
    return false;
  }
  plan_.generation = generate(q_, pool.cluster, cache, calibration_);
  return true;
}

void Planner::fill_host() {
  for (const GpuPool& pool : q_.pools) {
    HostLoad rank;
    visit_models(pool, [&](ModelRole role) { rank.memory += on_host(role); });
    const bool backs_up = q_.engine.sleep == EngineSleep::Offloaded && !q_.asynchronous;
    if (pool.engine && plan_.engine && backs_up) rank.memory += plan_.engine->weights;
    const HostLoad node = of_node(rank, pool.cluster);
    plan_.host = larger(plan_.host, node.memory);
    if (plan_.rejected) continue;
    if (auto rejected = host_rejection(node, pool.cluster.host)) plan_.rejected = std::move(*rejected);
  }
}

/// Copies before and after a phase. What was not changed need not go back, but for the trainers' parameters,
/// which are moved both ways (verl utils/fsdp_utils.py offload_fsdp_model_to_cpu).
Seconds Planner::moving(Phase phase) const {
  const PhaseRow& row = row_of(phase);
  const ClusterSpec& cluster = q_.pools[pool_of(phase)].cluster;
  Bytes bytes;
  if (!row.model) {
    if (q_.engine.sleep == EngineSleep::Offloaded && !q_.asynchronous) bytes += 2 * plan_.engine->weights;
  } else {
    const IdleRow& away = kIdleModels[index_of(*row.model)];
    const bool both_ways = kRoles[index_of(*row.model)].trained;
    if (offloads(away.parameters)) bytes += (both_ways ? 2 : 1) * memory_of(*row.model).parameters;
    if (row.part == StepPart::Training && offloads(away.optimizer))
      bytes += 2 * memory_of(*row.model).optimizer;
  }
  return bytes > Bytes{} ? host_copy_time(bytes, false, cluster) : Seconds{};
}

/// Over `ranks` neighbouring GPUs.
Seconds Planner::collective(CollectiveKind kind, Bytes payload, std::int64_t ranks) const {
  if (ranks <= 1) return {};
  const Layout side_by_side{.tp = static_cast<int>(ranks)};
  return collective_cost(kind, payload, place_group(side_by_side, Group::Tensor, q_.cluster), q_.cluster,
                         calibration_)
      .time;
}

/// The trainer's shards are gathered on every GPU, which copies what its engine's rank needs
/// (arXiv:2409.19256 §5.3); another pool gets them by broadcast over the network.
Seconds Planner::sync_time() const {
  const Scenario& actor = q_.actor();
  const Layout& layout = actor.layout;
  const auto parameters = static_cast<double>(count_parameters(actor.model).total);
  const Bytes payload{parameters * bytes_per_element(DType::Bf16)};
  const std::int64_t sharded = layout.sharding.stage >= 3 ? layout.shard_ranks() : 1;
  const std::int64_t holders =
      std::min<std::int64_t>(layout.world_size(), std::int64_t{layout.tp} * layout.pp * layout.ep * sharded);
  const Bytes copied = 2 * plan_.engine->weights;
  Seconds time = collective(CollectiveKind::AllGather, payload, holders) +
                 memory_bound_time(copied, actor.cluster.gpu, calibration_);
  const std::size_t from = pool_of(Phase::TrainActor), to = engine_pool();
  if (from != to) time += payload / q_.cluster.levels.back().bandwidth;
  return time;
}

void Planner::add_time(Phase phase) {
  const PhaseRow& row = row_of(phase);
  PhaseTime time{.phase = phase, .pool = pool_of(phase), .moving = moving(phase)};
  if (phase == Phase::Generate) {
    time.work = plan_.generation->total();
  } else if (phase == Phase::SyncWeights) {
    time.work = sync_time();
  } else {
    const ModelTimes& of_model = plan_.models[index_of(*row.model)]->times;
    time.work = row.part == StepPart::Training ? of_model.train : of_model.score;
  }
  plan_.times.push_back(time);
}

void Planner::fill_times() {
  for (const PhaseRow& row : kPhaseRows) {
    if (runs(row.id)) add_time(row.id);
  }
  for (int part = 0; part < kStepParts; ++part) {
    std::vector<Seconds> of_pool(q_.pools.size());
    for (const PhaseTime& time : plan_.times) {
      if (row_of(time.phase).part == static_cast<StepPart>(part)) of_pool[time.pool] += time.total();
    }
    plan_.parts[static_cast<std::size_t>(part)] = *std::max_element(of_pool.begin(), of_pool.end());
  }
  const auto& [rollout, scoring, training, sync] = plan_.parts;
  plan_.step = (q_.asynchronous ? larger(rollout, scoring + training) : rollout + scoring + training) + sync;
  const auto sequences = static_cast<double>(q_.batch.sequences());
  plan_.tokens = sequences * q_.batch.mean();
  plan_.generated = q_.generates() ? sequences * q_.batch.response.mean : 0;
  for (const GpuPool& pool : q_.pools) {
    plan_.gpus += static_cast<double>(pool.cluster.gpus);
    plan_.dollars +=
        static_cast<double>(pool.cluster.gpus) * pool.cluster.gpu.price_per_hour * plan_.step.value() / 3600;
  }
}

}  // namespace

Bytes PhaseMemory::total() const {
  Bytes sum = engine + cache + buffer + outside;
  for (const Bytes model : models) sum += model;
  return sum;
}

PostTrainingPlan plan_post_training(const PostTraining& question, const Calibration& calibration) {
  return Planner{question, calibration}.plan();
}

}  // namespace hexaplan::costmodel
