#include "validator/executor/verify/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "costmodel/memory/flat_units.h"
#include "costmodel/memory/memory_kinds.h"
#include "costmodel/memory/quantised_blocks.h"
#include "costmodel/parameters/trained_elements.h"
#include "costmodel/program/replay.h"
#include "costmodel/program/techniques.h"
#include "costmodel/step/estimate.h"
#include "costmodel/step/step_counts.h"
#include "costmodel/units/ceil_div.h"
#include "validator/executor/communicator/traffic.h"
#include "validator/executor/device/cpu/kernels/quantise.h"
#include "validator/executor/step/global_state.h"
#include "validator/executor/step/run_steps.h"

namespace hexaplan::validator {
namespace {

using costmodel::MemoryBreakdown;
using costmodel::Pass;
using costmodel::Scenario;

struct Run {
  ExecutionReport report;
  GlobalState::Tensors parameters;  // after the last step
};

bool gathers_in_8_bits(const Scenario& sc) {
  return sc.layout.sharding.stage >= 3 && sc.layout.shard_ranks() > 1 && sc.layout.sharding.quantized_weights;
}

bool rounds_parameters(const Scenario& sc) {
  return gathers_in_8_bits(sc) || sc.recipe.fine_tune == costmodel::FineTune::Qlora;
}

/// Parameters as ranks compute with them: gathered in 8 bits they are rounded block by block of each shard;
/// what is kept in 4 bits is rounded as each rank has it.
class RoundedParameters {
 public:
  /// Ranks may call it at the same time.
  void add(const RankView& view) {
    std::map<const LocalTensor*, std::vector<double>> shards;
    view.visit_state(State::Parameter, [&](const OwnedPart& part) {
      std::vector<double>& shard = shards[part.rounded_with];
      const std::vector<double> values = downloaded(part);
      shard.insert(shard.end(), values.begin(), values.end());
    });
    for (auto& [buffer, values] : shards) {
      if (buffer != nullptr) round(values);
    }
    std::map<const LocalTensor*, std::int64_t> taken;
    const std::scoped_lock lock{mutex_};
    view.visit_state(State::Parameter, [&](const OwnedPart& part) {
      std::int64_t& at = taken[part.rounded_with];
      std::vector<double>& whole = whole_[{part.unit, std::string{part.tensor->name}}];
      whole.resize(static_cast<std::size_t>(part.tensor->global_rows * part.tensor->global_cols));
      for (std::int64_t i = 0; i < part.view.elements(); ++i, ++at) {
        const std::int64_t global = part.tensor->global_index(part.first + i);
        if (global >= 0)
          whole[static_cast<std::size_t>(global)] = shards[part.rounded_with][static_cast<std::size_t>(at)];
      }
    });
  }
  /// What one rank computes with becomes these.
  void load(const RankView& view) const {
    if (whole_.empty()) return;
    view.visit_state(State::Parameter, [&](const OwnedPart& part) {
      const auto whole = whole_.find({part.unit, std::string{part.tensor->name}});
      std::vector<double> values = downloaded(part);
      for (std::size_t i = 0; whole != whole_.end() && i < values.size(); ++i) {
        const std::int64_t global = part.tensor->global_index(part.first + static_cast<std::int64_t>(i));
        if (global >= 0) values[i] = whole->second[static_cast<std::size_t>(global)];
      }
      part.device->upload(part.view, values);
    });
  }

 private:
  static std::vector<double> downloaded(const OwnedPart& part) {
    std::vector<double> values(static_cast<std::size_t>(part.view.elements()));
    part.device->download(values, part.view);
    return values;
  }
  static void round(std::vector<double>& values) {
    const auto count = static_cast<std::int64_t>(values.size());
    std::vector<std::uint8_t> codes(values.size());
    std::vector<double> scales(values.size() / costmodel::kQuantisedBlock + 1);
    const auto blocks = static_cast<std::int64_t>(scales.size());
    kernels::quantise_blocks<double>(costmodel::kGatheredBits, {values.data(), 1, count, count},
                                     {codes.data(), 1, count, count}, {scales.data(), 1, blocks, blocks});
    kernels::dequantise_blocks<double>(costmodel::kGatheredBits, {codes.data(), 1, count, count},
                                       {scales.data(), 1, blocks, blocks}, {values.data(), 1, count, count},
                                       false);
  }

  std::mutex mutex_;
  std::map<std::pair<int, std::string>, std::vector<double>> whole_;  // by unit and name
};

Run run(const Scenario& sc, Routing routing, const std::optional<costmodel::Layout>& drops_as,
        const VerifyOptions& options, double clip_norm, RankBackend& backend, RoundedParameters& rounded) {
  Run out;
  GlobalState state;
  RunOptions run_options{.steps = options.steps,
                         .seed = options.seed,
                         .routing = routing,
                         .drops_as = drops_as,
                         .initial = InitialValues::Begun};
  run_options.optimizer.clip_norm = clip_norm;
  run_options.ranks = options.ranks;
  run_options.make_device = options.make_device;
  run_options.loaded = [&](const RankView& view) {
    rounds_parameters(sc) ? rounded.add(view) : rounded.load(view);
  };
  run_options.stepped = [&](const RankView& view) {
    if (view.step == options.steps) state.add(view, State::Master);
  };
  out.report = run_steps(sc, run_options, backend);
  out.parameters = state.tensors();
  return out;
}

class Comparison {
 public:
  explicit Comparison(Verification& result) : result_{result} {}
  /// Exactly equal. A ledger that adds up thirds of tensors comes to whole numbers but for rounding.
  void equal(int rank, const std::string& what, double predicted, double executed) {
    constexpr double kRounding = 1e-12;
    ++result_.compared;
    if (std::abs(predicted - executed) > kRounding * executed)
      result_.mismatches.push_back({rank, what, predicted, executed});
  }
  /// A relative difference that may not be larger than rounding, or than `bound`.
  void same(const std::string& what, double difference, double& worst, double bound = kSameNumbers) {
    ++result_.compared;
    worst = std::max(worst, difference);
    if (!(difference <= bound)) result_.mismatches.push_back({-1, what, 0, difference});
  }

 private:
  Verification& result_;
};

double relative(double a, double b) {
  return std::abs(a - b) / std::abs(b);
}

/// The sharded steps against those of one rank, as long as they do not depend on the layout.
void compare_steps(const Run& sharded, const Run& single, std::string_view routing, Verification& out) {
  Comparison compare{out};
  const std::int64_t same = updates_as_on_one_rank(out.scenario);
  const SameNumbers bound = same_numbers(out.scenario);
  for (std::size_t i = 0; i < single.report.steps.size() && std::cmp_less_equal(i, same); ++i) {
    const StepReport &a = sharded.report.steps.at(i), &b = single.report.steps[i];
    compare.same(fmt::format("loss of step {}, experts {}", b.step, routing), relative(a.loss, b.loss),
                 out.loss_error, bound.loss);
    compare.same(fmt::format("gradient norm of step {}, experts {}", b.step, routing),
                 relative(a.gradient_norm, b.gradient_norm), out.norm_error, bound.norm);
  }
  if (std::cmp_greater(single.report.steps.size(), same)) return;
  const Difference worst = largest_difference(sharded.parameters, single.parameters);
  compare.same(
      fmt::format("{} of unit {}, experts {}", worst.parameter.second, worst.parameter.first, routing),
      worst.relative, out.parameter_error);
  out.compared += static_cast<std::int64_t>(single.parameters.size()) - 1;
}

void compare_memory(const RankReport& rank, const MemoryBreakdown& predicted, Comparison& compare) {
  for (const costmodel::MemoryKind& row : costmodel::kMemoryKinds) {
    compare.equal(rank.rank, fmt::format("bytes of {} at the peak", row.name), predicted.of(row.kind).value(),
                  static_cast<double>(rank.memory.peak_by_kind[static_cast<std::size_t>(row.kind)]));
  }
}

std::string_view name_of_pass(Pass pass) {
  constexpr std::array<std::string_view, 4> kNames = {"forward", "backward", "weight gradient", "step"};
  return kNames[static_cast<std::size_t>(pass)];
}

/// Every instant's own peak, where the step program describes the step.
void compare_instants(const RankReport& rank, const costmodel::ReplayedMemory& predicted,
                      Comparison& compare) {
  for (std::size_t i = 0; i < predicted.at.size(); ++i) {
    const std::string_view instant = costmodel::name_of(costmodel::instant_at(static_cast<int>(i)));
    for (const costmodel::MemoryKind& row : costmodel::kMemoryKinds) {
      compare.equal(rank.rank, fmt::format("bytes of {} at instant \"{}\"", row.name, instant),
                    predicted.at[i].of(row.kind).value(),
                    static_cast<double>(rank.memory.peak_at[i][static_cast<std::size_t>(row.kind)]));
    }
  }
}

/// What the host has of offloaded tensors at every instant: in memory, or states on its disks.
void compare_host(const Scenario& sc, const RankReport& rank, const costmodel::ReplayedMemory& predicted,
                  Comparison& compare) {
  if (sc.recipe.offload == 0) return;
  const bool on_disk = sc.recipe.offload_device == costmodel::OffloadDevice::Nvme;
  for (std::size_t i = 0; i < predicted.host.size(); ++i) {
    const std::string_view instant = costmodel::name_of(costmodel::instant_at(static_cast<int>(i)));
    for (const costmodel::MemoryKind& row : costmodel::kMemoryKinds) {
      const auto kind = static_cast<std::size_t>(row.kind);
      const double bytes = predicted.host[i].of(row.kind).value();
      const bool there = on_disk && row.kind != costmodel::TensorKind::Activation;
      compare.equal(rank.rank, fmt::format("bytes of {} in host memory at instant \"{}\"", row.name, instant),
                    there ? 0 : bytes, static_cast<double>(rank.offloaded.memory.peak_at[i][kind]));
      compare.equal(rank.rank, fmt::format("bytes of {} on disks at instant \"{}\"", row.name, instant),
                    there ? bytes : 0, static_cast<double>(rank.offloaded.disk.peak_at[i][kind]));
    }
  }
}

/// What the host holds at most, as the estimate prints it.
void compare_host_peaks(const RankReport& rank, const costmodel::StageMemory& predicted,
                        Comparison& compare) {
  compare.equal(rank.rank, "bytes in host memory", predicted.host.value(),
                static_cast<double>(rank.offloaded.memory.peak_bytes));
  compare.equal(rank.rank, "bytes on disks", predicted.disk.value(),
                static_cast<double>(rank.offloaded.disk.peak_bytes));
}

/// What the rank's own allocator holds of an estimated peak.
MemoryBreakdown tensors_at_peak(const costmodel::StageMemory& stage) {
  MemoryBreakdown kinds = stage.at_peak;
  kinds.communication = kinds.overhead = {};
  return kinds;
}

void compare_traffic(const RankReport& rank, const std::vector<costmodel::CollectiveCount>& predicted,
                     double steps, Comparison& compare) {
  struct Both {
    double messages[2] = {}, bytes[2] = {};
  };
  std::map<std::string, Both> rows;
  const auto key = [](std::string_view operation, Pass pass, costmodel::CollectiveKind kind,
                      costmodel::Group group) {
    return fmt::format("{} ({}), {} over {}", operation, name_of_pass(pass), validator::name_of(kind),
                       costmodel::name_of(group));
  };
  for (const auto& p : predicted) {
    Both& row = rows[key(p.operation, p.pass, p.kind, p.group)];
    row.messages[0] += p.messages * steps;
    row.bytes[0] += p.bytes.value() * steps;
  }
  for (const auto& t : rank.traffic) {
    Both& row = rows[key(t.operation, t.pass, t.kind, t.group)];
    row.messages[1] += static_cast<double>(t.count.messages);
    row.bytes[1] += t.count.bytes.value();
  }
  for (const auto& [what, row] : rows) {
    compare.equal(rank.rank, "messages of " + what, row.messages[0], row.messages[1]);
    compare.equal(rank.rank, "bytes of " + what, row.bytes[0], row.bytes[1]);
  }
}

void compare_copies(const RankReport& rank, const std::vector<costmodel::CopyCount>& predicted, double steps,
                    Comparison& compare) {
  std::map<std::string, std::array<double, 4>> rows;  // copies and bytes, predicted and executed
  const auto key = [](std::string_view operation, Pass pass) {
    return fmt::format("{} ({})", operation, name_of_pass(pass));
  };
  for (const auto& p : predicted) {
    auto& row = rows[key(p.operation, p.pass)];
    row[0] += p.copies * steps;
    row[1] += p.bytes.value() * steps;
  }
  for (const CopyReport& c : rank.offloaded.copies) {
    auto& row = rows[key(c.operation, c.pass)];
    row[2] += static_cast<double>(c.copies);
    row[3] += c.bytes.value();
  }
  for (const auto& [what, row] : rows) {
    compare.equal(rank.rank, "copies of " + what, row[0], row[2]);
    compare.equal(rank.rank, "bytes copied of " + what, row[1], row[3]);
  }
}

void compare_flops(const RankReport& rank, const std::vector<costmodel::FlopCount>& predicted, double steps,
                   Comparison& compare) {
  std::map<std::string, std::pair<double, double>> rows;
  const auto key = [](std::string_view operation, Pass pass) {
    return fmt::format("FLOPs of {} ({})", operation, name_of_pass(pass));
  };
  for (const auto& p : predicted) rows[key(p.operation, p.pass)].first += p.flops.value() * steps;
  for (const auto& o : rank.operations) rows[key(o.name, o.pass)].second += o.flops.value();
  for (const auto& [what, row] : rows) compare.equal(rank.rank, what, row.first, row.second);
}

/// Steps with experts filled in turn, then with the routers' own choice.
void verify_runs(const Scenario& sc, const VerifyOptions& options, RankBackend& backend, Verification& out) {
  const Scenario one = on_one_rank(sc);
  // Updates in backward cannot clip.
  const double clip = sc.recipe.optimizer_in_backward ? 0 : OptimizerOptions{}.clip_norm;
  RoundedParameters rounded;  // that the ranks compute with, and then one rank
  const auto run_sharded = [&](Routing routing) {
    return run(sc, routing, std::nullopt, options, clip, backend, rounded);
  };
  const auto run_alone = [&](Routing routing) {
    return run(one, routing, sc.layout, options, clip, backend, rounded);
  };
  const Run counted = run_sharded(Routing::InTurn);
  compare_steps(counted, run_alone(Routing::InTurn), "in turn", out);
  compare_with_prediction(sc, counted.report, options.steps, out);
  out.loss = counted.report.steps.back().loss;
  if (!sc.model.is_moe()) return;
  compare_steps(run_sharded(Routing::Learned), run_alone(Routing::Learned), "chosen by the router", out);
}

}  // namespace

void compare_with_prediction(const Scenario& sc, const ExecutionReport& report, std::int64_t steps,
                             Verification& out) {
  Comparison compare{out};
  std::map<int, std::pair<MemoryBreakdown, costmodel::StepCounts>> stages;
  const costmodel::Estimate estimate = costmodel::estimate_step(sc, {});
  std::optional<costmodel::program::StepReplay> replay;
  if (!costmodel::program::first_gap(sc)) replay.emplace(sc);
  for (const RankReport& rank : report.ranks) {
    auto& [memory, counts] = stages[rank.stage];
    if (counts.flops.empty()) {
      memory = tensors_at_peak(estimate.stages.at(static_cast<std::size_t>(rank.stage)));
      counts = costmodel::count_step(sc, rank.stage);
    }
    compare_memory(rank, memory, compare);
    if (replay) {
      const costmodel::ReplayedMemory replayed = replay->stage(rank.stage);
      compare_instants(rank, replayed, compare);
      compare_host(sc, rank, replayed, compare);
    }
    compare_host_peaks(rank, estimate.stages.at(static_cast<std::size_t>(rank.stage)), compare);
    compare_copies(rank, counts.copies, static_cast<double>(steps), compare);
    compare_traffic(rank, counts.collectives, static_cast<double>(steps), compare);
    compare_flops(rank, counts.flops, static_cast<double>(steps), compare);
    if (rank.memory.peak_bytes > out.most_bytes) {
      out.most_bytes = rank.memory.peak_bytes;
      out.predicted_memory = memory;
    }
    for (const TrafficReport& t : rank.traffic) {
      out.messages += t.count.messages;
      out.communicated += t.count.bytes;
    }
    for (const OperationReport& o : rank.operations) out.flops += o.flops;
  }
}

namespace {

bool sends_4_bits(const Scenario& sc) {
  return sc.layout.sharding.stage >= 3 && sc.layout.shard_ranks() > 1 &&
         sc.layout.sharding.quantized_gradients;
}

}  // namespace

SameNumbers same_numbers(const Scenario& sc) {
  constexpr double kRoundedGradients = 0.25;
  return {.loss = kSameNumbers, .norm = sends_4_bits(sc) ? kRoundedGradients : kSameNumbers};
}

namespace {

/// A subspace of nearly as many dimensions as a gradient has, or an expert's of a few tokens, follows
/// singular vectors of small values, which are made of rounding.
bool follows_rounding(const Scenario& sc) {
  if (costmodel::traits_of(sc.recipe.optimizer).subspace != costmodel::Subspace::Singular) return false;
  const auto tokens = static_cast<double>(costmodel::tokens_per_step(sc.recipe));
  std::vector<costmodel::ParameterTensor> tensors;
  for (std::int64_t layer = 0; layer < sc.model.layers; ++layer)
    costmodel::append_layer_parameters(sc.model, costmodel::class_of_layer(sc.model, layer), tensors);
  return std::ranges::any_of(tensors, [&](const costmodel::ParameterTensor& t) {
    if (!costmodel::is_updated_by_matrix(sc, t, true)) return false;
    if (costmodel::is_expert(t)) return true;
    const auto rows = static_cast<double>(t.rows) / t.parts, cols = static_cast<double>(t.cols);
    return 2 * costmodel::projection_rank(sc.recipe, rows, cols) > std::min({rows, cols, tokens});
  });
}

}  // namespace

std::int64_t updates_as_on_one_rank(const Scenario& sc) {
  const costmodel::Layout& l = sc.layout;
  if (gathers_in_8_bits(sc) || sends_4_bits(sc)) return 0;
  const bool cuts_ends = costmodel::end_unit(sc, costmodel::UnitRole::Embedding).flats.size() > 1;
  const bool other_blocks = l.tp > 1 || l.ep > 1 || cuts_ends;
  const bool blocks = costmodel::traits_of(costmodel::optimizer_of(sc.recipe, false)).quantised;
  if (blocks && other_blocks) return 1;
  if (sc.recipe.optimizer == costmodel::Optimizer::Muon && l.tp > 1) return 0;
  if (follows_rounding(sc)) return 0;
  // Bases of what few tokens make of a gradient follow rounding, and roots of what maps to zero magnify it.
  const costmodel::OptimizerTraits& traits = costmodel::traits_of(sc.recipe.optimizer);
  if (traits.preconditions() && l.world_size() > 1) return 1;
  return std::numeric_limits<std::int64_t>::max();
}

Scenario on_one_rank(Scenario sc) {
  // Of replicas that train apart, each.
  sc.layout = {.outer_replicas = sc.layout.outer_replicas};
  sc.cluster.gpus = sc.layout.world_size();
  sc.recipe.outer.states = costmodel::OuterStates::Gpu;
  // Weights in 4 bits are wide there, and given the others' numbers.
  if (sc.recipe.fine_tune == costmodel::FineTune::Qlora) sc.recipe.fine_tune = costmodel::FineTune::Lora;
  sc.recipe.double_quantization = false;
  sc.recipe.recompute = {};
  sc.recipe.offload = 0;
  sc.recipe.optimizer_in_backward = false;
  sc.recipe.execution.reduction = costmodel::GradientReduction::Default;
  sc.recipe.routing.pad_to_capacity = false;
  return sc;
}

Verification verify(const Scenario& sc, const VerifyOptions& options, RankBackend& backend) {
  Verification out{.scenario = sc, .ranks = sc.layout.world_size()};
  // Outer steps are executed whole.
  VerifyOptions whole = options;
  if (const std::int64_t every = sc.recipe.outer.every; every > 0)
    whole.steps = costmodel::ceil_div(options.steps, every) * every;
  try {
    verify_runs(sc, whole, backend, out);
  } catch (const RankFault& fault) {
    out.fault = fault.what();
  }
  return out;
}

}  // namespace hexaplan::validator
