#include "costmodel/step/unit_operations.h"

#include <map>
#include <string_view>

#include "costmodel/memory/outer_states.h"
#include "costmodel/spec/stage_plan.h"
#include "costmodel/units/mutation.h"

namespace hexaplan::costmodel {
namespace {

class UnitOperations {
 public:
  explicit UnitOperations(const Scenario& sc)
      : sc_{sc},
        types_{state_types(sc)},
        replicas_of_all_{static_cast<double>(sc.layout.dp) * sc.layout.cp} {}

  /// What a step does with a unit: passes forward, each of which makes a gradient as well; passes backward
  /// that read its parameters.
  struct Uses {
    double forward = 0, backward = 0;
    friend Uses operator*(const Uses& of_microbatch, double microbatches) {
      return {of_microbatch.forward * microbatches, of_microbatch.backward * microbatches};
    }
    friend Uses operator+(const Uses& a, const Uses& b) {
      return {a.forward + b.forward, a.backward + b.backward};
    }
  };
  /// `units` equal units.
  void append(const UnitSizes& unit, double units, Uses uses) {
    for (const FlatSizes& flat : unit.flats) {
      const bool waits = flat.stage >= 3 && gradient_reduction(sc_) == GradientReduction::Once;
      const bool each = flat.stage >= 2 && !flat.in_backward && !waits;
      const double reductions = (each ? uses.forward : 1) * units;
      if (flat.trained) sum_over_tensor_ranks(flat, reductions);
      if (flat.trained) reduce(flat, reductions, units);
      gather(flat, units, uses);
      const double again = flat.secondary == 0 ? uses.backward : 0;
      quantise(flat, units * (uses.forward + again), reductions);
      if (model_copies(sc_.layout.schedule) > 1)
        add_across("gradient.mirror_reduce", Group::Mirror, flat, units);
      update(flat, units);
      copy_updated(flat, units, reductions);
      if (flat.trained) take_outer_step(flat, units);
    }
  }

  void tied(const UnitSizes& unit) {
    for (const FlatSizes& flat : unit.flats) add_across("gradient.tied_embedding", Group::Pipeline, flat, 1);
  }

  void norm_and_loss() {
    constexpr double kThreeNumbers = 12;  // fp32
    if (sc_.layout.replica_size() > 1)
      add("step.norm_and_loss", Pass::Step, CollectiveKind::AllReduce, Group::World, kThreeNumbers, 1);
  }

  std::vector<Operation> take() { return std::move(out_); }

 private:
  [[nodiscard]] double gradient() const {
    return bytes_per_element(types_.gradient) * (mutant("gradients-reduced-in-another-type") ? 0.5 : 1);
  }

  /// Sums with another stage's copy of the same parameters, shard by shard.
  void add_across(std::string_view name, Group group, const FlatSizes& flat, double times) {
    if (flat.trained)
      add(name, Pass::Step, CollectiveKind::AllReduce, group, flat.shard() * gradient(), times);
  }

  void sum_over_tensor_ranks(const FlatSizes& flat, double times) {
    add("gradient.tensor_reduce", Pass::Step, CollectiveKind::AllReduce, Group::Tensor,
        flat.summed_over_tensor_ranks * gradient(), times);
    for (const double copies : flat.key_value_copies) {
      add("gradient.key_value_reduce", Pass::Step, CollectiveKind::AllReduce, Group::Tensor,
          copies * gradient(), times);
    }
  }

  void reduce(const FlatSizes& flat, double times, double units) {
    const Pass pass = flat.stage >= 3 ? Pass::BackwardWeight : Pass::Step;
    const bool cut = flat.shards > 1;
    if (flat.neighbours > 0) {
      exchange(flat, times);
    } else if (cut) {
      add("gradient.reduce", pass, CollectiveKind::ReduceScatter, shard_group(flat),
          flat.padded() * gradient(), times);
    }
    const double replicas = flat.expert ? sc_.layout.expert_data() : replicas_of_all_;
    const bool once = flat.stage >= 3 && gradient_reduction(sc_) == GradientReduction::ReplicasOnce;
    if (replicas > flat.shards)
      add(cut ? "gradient.replica_reduce" : "gradient.reduce", pass, CollectiveKind::AllReduce,
          replica_group(flat), flat.shard() * gradient(), once ? units : times);
  }

  /// Bytes that quantising and its inverse read and write, in the types on either side. Of gradients: all of
  /// them and what comes of them, in fp32 where nodes add up, and the same of the node's sums.
  void quantise(const FlatSizes& flat, double gathers, double reductions) {
    constexpr double kFp32 = bytes_per_element(DType::Fp32);
    const double parameter = bytes_per_element(types_.parameter_of(flat.trained));
    const double code = kGatheredBits / 8.0, small = kReducedBits / 8.0;
    double bytes = 0;
    if (flat.quantised_gathers) bytes += gathers * (flat.padded() + flat.shard()) * (parameter + code);
    if (flat.neighbours > 0) {
      const double sums = flat.neighbours > 1 ? flat.padded() / flat.neighbours : 0;
      const double between = flat.neighbours < flat.shards ? sums * (kFp32 + small + small + 2 * kFp32) : 0;
      const double exchanged = flat.padded() * (gradient() + small + small + 2 * kFp32);
      bytes += reductions * (exchanged + between + flat.shard() * (kFp32 + gradient()));
    }
    if (bytes > 0)
      out_.push_back({.name = "parameter.quantise",
                      .kind = OpKind::MemoryBound,
                      .pass = Pass::Step,
                      .bytes = Bytes{bytes},
                      .formula = "C10"});
  }

  /// qgZ: all-to-all in 4 bits, in the node and then of its sums between nodes.
  void exchange(const FlatSizes& flat, double times) {
    const auto all_to_all = [&](std::string_view codes, std::string_view scales, Group group,
                                const QuantisedShards& sent) {
      add(codes, Pass::BackwardWeight, CollectiveKind::AllToAll, group, sent.code_bytes(), times);
      add(scales, Pass::BackwardWeight, CollectiveKind::AllToAll, group, sent.scale_bytes(), times);
    };
    if (flat.neighbours > 1)
      all_to_all("gradient.exchange_in_node", "gradient.scales_in_node", Group::ShardNode,
                 flat.exchanged_codes());
    if (flat.neighbours < flat.shards)
      all_to_all("gradient.exchange_between_nodes", "gradient.scales_between_nodes", Group::Shard,
                 flat.node_codes());
  }

  /// The output layer keeps what it gathered until its backward, which follows at once; the embedding's
  /// backward reads those of its norm alone.
  void gather(const FlatSizes& flat, double units, Uses uses) {
    const double bytes = parameter_bytes(sc_, flat, flat.padded());
    const auto all_gather = [&](Pass pass, double times) {
      const bool second = pass == Pass::BackwardData && flat.secondary > 0;
      if (flat.in_4_bits) {
        const double codes = flat.padded() * bytes_per_element(DType::Nf4);
        const Group group = second ? Group::Secondary : shard_group(flat);
        add("parameter.gather", pass, CollectiveKind::AllGather, group, codes, times);
        add("parameter.gather_scales", pass, CollectiveKind::AllGather, group, bytes - codes, times);
        return;
      }
      if (flat.quantised_gathers && !second) {
        const QuantisedShards sent = flat.gathered_codes();
        add("parameter.gather", pass, CollectiveKind::AllGather, shard_group(flat), sent.code_bytes(), times);
        add("parameter.gather_scales", pass, CollectiveKind::AllGather, shard_group(flat), sent.scale_bytes(),
            times);
        return;
      }
      add("parameter.gather", pass, CollectiveKind::AllGather, second ? Group::Secondary : shard_group(flat),
          bytes, times);
    };
    if (flat.stage == 1 || flat.stage == 2) all_gather(Pass::Step, units);
    if (!flat.gathers()) return;
    const auto make_whole = [&](Pass pass, double times) {
      if (flat.parameters_on_host && !(pass == Pass::BackwardData && flat.secondary > 0))
        copy("parameter.to_device", pass, parameter_bytes(sc_, flat, flat.shard()), DType::Int8, times);
      if (flat.stage >= 3) all_gather(pass, times);
    };
    make_whole(Pass::Forward, units * uses.forward);
    if (uses.backward > 0) make_whole(Pass::BackwardData, units * uses.backward);
  }

  /// What crosses the link because the host, or the device, updates what the other one has. Gradients of an
  /// offloaded update leave when they are reduced; a parameter without a master copy is read by its update.
  void copy_updated(const FlatSizes& flat, double units, double reductions) {
    if (!flat.trained) return;
    const double by_host = flat.on_host(), by_device = flat.shard() - by_host;
    copy("gradient.to_host", flat.stage >= 2 ? Pass::BackwardWeight : Pass::Step, by_host, types_.gradient,
         reductions);
    const double crossing = flat.parameters_on_host ? by_device : by_host;
    const auto cross = [&](std::string_view name) {
      copy(name, Pass::Step, crossing, types_.parameter, units);
    };
    if (!types_.master) cross(flat.parameters_on_host ? "parameter.to_device" : "parameter.to_host");
    cross(flat.parameters_on_host ? "parameter.to_host" : "parameter.to_device");
  }

  /// Adafactor's sums and norms of whole matrices, over the shards and then over tensor-parallel ranks; what
  /// is orthogonalised is gathered, and every rank of the group makes the whole.
  void update(const FlatSizes& flat, double units) {
    const auto sum = [&](std::string_view name, Group group, double numbers) {
      add(name, Pass::Step, CollectiveKind::AllReduce, group, numbers * bytes_per_element(DType::Fp32),
          units);
    };
    const Layout& l = sc_.layout;
    const bool tensor_ranks = (flat.expert ? l.expert_tensor() : l.tp) > 1;
    const Group tensor_group = flat.expert ? Group::ExpertTensor : Group::Tensor;
    if (flat.shards > 1) sum("optimizer.factors", shard_group(flat), flat.factors.count());
    if (tensor_ranks) sum("optimizer.factors", tensor_group, flat.factors.shared);
    if (flat.shards > 1) sum("optimizer.norms", shard_group(flat), flat.norms);
    if (tensor_ranks) sum("optimizer.norms", tensor_group, flat.norms);
    if (flat.matrices > 0 && flat.shards > 1)
      add("optimizer.gather_matrices", Pass::Step, CollectiveKind::AllGather, shard_group(flat),
          flat.padded() * bytes_per_element(activation_dtype(sc_.recipe.precision)), units);
  }

  /// Between replicas that train apart, once in so many steps; what the host keeps comes and goes for it.
  void take_outer_step(const FlatSizes& flat, double units) {
    const OuterSteps& outer = sc_.recipe.outer;
    if (!outer.taken()) return;
    const std::int64_t every = mutant("outer-steps-count-in-every-step") ? 1 : outer.every;
    const double times = units / static_cast<double>(every);
    if (sc_.layout.outer_replicas > 1)
      add("outer.gradient_reduce", Pass::Step, CollectiveKind::AllReduce, Group::Outer,
          flat.shard() * bytes_per_element(outer.dtype), times);
    const double on_host = outer_states_on_host(outer);
    copy("outer.to_device", Pass::Step, flat.shard(), DType::Fp32, times * on_host);
    copy("outer.to_host", Pass::Step, flat.shard(), DType::Fp32, times * on_host);
  }

  static Group shard_group(const FlatSizes& flat) { return flat.expert ? Group::ExpertData : Group::Shard; }
  [[nodiscard]] Group replica_group(const FlatSizes& flat) const {
    if (flat.expert) return Group::ExpertData;
    return sc_.layout.sharding.stage >= 1 ? Group::Replica : Group::DataContext;
  }

  void copy(std::string_view name, Pass pass, double elements, DType dtype, double times) {
    if (elements <= 0 || times <= 0) return;
    out_.push_back({.name = name,
                    .kind = OpKind::Copy,
                    .pass = pass,
                    .count = times,
                    .on_disk = sc_.recipe.offload_device == OffloadDevice::Nvme,
                    .payload = Bytes{elements * bytes_per_element(dtype)},
                    .formula = "T11"});
  }

  void add(std::string_view name, Pass pass, CollectiveKind kind, Group group, double bytes, double times) {
    if (bytes <= 0 || times <= 0) return;
    out_.push_back({.name = name,
                    .kind = OpKind::Collective,
                    .pass = pass,
                    .count = times,
                    .collective = kind,
                    .group = group,
                    .payload = Bytes{bytes},
                    .formula = "C10"});
  }

  const Scenario& sc_;
  StateTypes types_;
  double replicas_of_all_;
  std::vector<Operation> out_;
};

/// Losses of a micro-batch.
double losses_of(const StagePlan& last) {
  return 1 + last.mtp_modules();
}

/// What one micro-batch does with units of the last chunk. A table of words is looked up by every
/// multi-token-prediction module, and read by every loss where it is the output layer.
UnitOperations::Uses uses_of_end(const Scenario& sc, UnitRole role, const StagePlan& last) {
  if (role == UnitRole::Head) return {.forward = losses_of(last)};
  if (role == UnitRole::FinalNorm) return {.forward = 1, .backward = 1};
  return {.forward = last.mtp_modules() + (sc.model.tied_embeddings ? losses_of(last) : 0),
          .backward = static_cast<double>(last.recomputed[kMtpClass])};
}

}  // namespace

std::vector<Operation> unit_operations(const Scenario& sc, int stage) {
  using Uses = UnitOperations::Uses;
  UnitOperations operations{sc};
  std::map<UnitRole, Uses> ends;
  const auto use = [&](UnitRole role, const Uses& of_microbatch, double microbatches) {
    Uses& uses = ends[role];
    uses = uses + of_microbatch * microbatches;
  };
  for (const CrossedChunk& chunk : crossed_chunks(sc, stage)) {
    const StagePlan& plan = chunk.plan;
    for (std::size_t c = 0; c < kLayerClasses; ++c) {
      if (plan.layers[c] > 0)
        operations.append(layer_unit(sc, layer_class_at(sc.model, static_cast<int>(c))), plan.layers[c],
                          Uses{.forward = 1, .backward = 1} * chunk.microbatches);
    }
    if (plan.embedding > 0)
      use(UnitRole::Embedding,
          {.forward = 1, .backward = backward_gathers(sc, UnitRole::Embedding) ? 1.0 : 0.0},
          chunk.microbatches);
    if (plan.head <= 0) continue;
    for (const UnitRole role : last_stage_units(sc))
      use(role, uses_of_end(sc, role, plan), chunk.microbatches);
    if (!separates_ends(sc.layout))
      use(UnitRole::Embedding, uses_of_end(sc, UnitRole::TiedCopy, plan), chunk.microbatches);
  }
  for (const auto& [role, uses] : ends) operations.append(end_unit(sc, role), 1, uses);
  if (copies_embedding(sc) && !ends.empty()) operations.tied(end_unit(sc, UnitRole::TiedCopy));
  operations.norm_and_loss();
  return operations.take();
}

}  // namespace hexaplan::costmodel
