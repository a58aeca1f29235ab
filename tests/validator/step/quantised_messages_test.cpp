// ZeRO++ (arXiv:2306.10209): parameters gathered in 8 bits (qwZ) and gradients reduced in 4 bits (qgZ), as
// predicted; their numbers against the quantiser written once more here, and within its bound of what is not
// quantised.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include "costmodel/step/step_counts.h"
#include "tests/validator/step/tiny_scenario.h"
#include "validator/executor/communicator/threads/thread_ranks.h"
#include "validator/executor/device/cpu/cpu_device.h"
#include "validator/executor/parallel/data.h"
#include "validator/executor/verify/verify.h"

namespace hexaplan::tests {
namespace {

using costmodel::Layout;
using costmodel::Scenario;

constexpr std::size_t kBlock = 4096;  // DeepSpeed: "the optimal size is 4k"

/// Nodes of so many ranks, joined by a network.
void put_on_nodes(Scenario& sc, int ranks) {
  costmodel::NetworkLevel node = sc.cluster.levels.front(), network = node;
  node.ranks = sc.cluster.gpus_per_node = ranks;
  network.fabric = costmodel::Fabric::Network;
  sc.cluster.levels = {node, network};
}
template <int kRanks>
void on_nodes(Scenario& sc) {
  put_on_nodes(sc, kRanks);
}

struct QuantisedCase {
  std::string name;
  Layout layout;
  void (*change)(Scenario&) = [](Scenario&) {};
  [[nodiscard]] Scenario scenario() const {
    Scenario sc = tiny_scenario(layout);
    sc.layout.sharding.stage = 3;
    change(sc);
    return sc;
  }
};
std::ostream& operator<<(std::ostream& out, const QuantisedCase& c) {
  return out << c.name;
}
constexpr costmodel::Sharding kQwz{.quantized_weights = true}, kQgz{.quantized_gradients = true},
    kBoth{.quantized_weights = true, .quantized_gradients = true};

/// Shards of several blocks, the last ones begun.
void wide(Scenario& sc) {
  sc.model.hidden = 64;
  sc.model.mlp.ffn = 250;
}

const std::vector<QuantisedCase>& cases() {
  static const std::vector<QuantisedCase> kCases{
      {"qwz_dp4", {.dp = 4, .sharding = kQwz}},
      {"qwz_wide", {.dp = 2, .sharding = kQwz}, wide},
      {"qwz_dp2_cp2_pp2", {.dp = 2, .cp = 2, .pp = 2, .sharding = kQwz}},
      {"qwz_hpz2_recomputed",
       {.dp = 4, .sharding = {.hpz = 2, .quantized_weights = true}},
       [](Scenario& sc) { sc.recipe.recompute.mode = costmodel::RecomputeMode::Full; }},
      {"qwz_experts",
       {.dp = 4, .ep = 2, .sharding = kQwz},
       [](Scenario& sc) { sc.model.moe = {.experts = 4, .top_k = 2, .expert_ffn = 8}; }},
      {"qwz_params_offloaded",
       {.dp = 4, .sharding = kQwz},
       [](Scenario& sc) { sc.recipe.offload = costmodel::kOffloadParameters; }},
      {"qwz_adapters",
       {.dp = 2, .sharding = kBoth},
       [](Scenario& sc) {
         sc.recipe.fine_tune = costmodel::FineTune::Lora;
         sc.recipe.lora_rank = 3;
       }},
      {"qgz_one_node", {.dp = 4, .sharding = kQgz}},
      {"qgz_nodes_of_2", {.dp = 4, .sharding = kQgz}, on_nodes<2>},
      {"qgz_nodes_of_1",
       {.dp = 3, .sharding = kQgz},
       [](Scenario& sc) {
         put_on_nodes(sc, 1);
         sc.recipe.global_batch = 6;
       }},
      {"qgz_wide_nodes_of_2",
       {.dp = 4, .sharding = kBoth},
       [](Scenario& sc) {
         wide(sc);
         put_on_nodes(sc, 2);
       }},
      {"both_hybrid",
       {.dp = 8, .sharding = {.group = 4, .quantized_weights = true, .quantized_gradients = true}},
       on_nodes<2>},
      {"both_zb_h1",
       {.dp = 2, .pp = 2, .sharding = kBoth},
       [](Scenario& sc) { sc.layout.schedule = costmodel::ScheduleKind::ZbH1; }},
      {"both_in_backward",
       {.dp = 2, .sharding = kBoth},
       [](Scenario& sc) {
         sc.recipe.optimizer_in_backward = true;
         sc.recipe.global_batch = 2;
       }},
      {"both_once",
       {.dp = 4, .sharding = kBoth},
       [](Scenario& sc) { sc.recipe.execution.reduction = costmodel::GradientReduction::Once; }},
      {"both_optimizer_offloaded", {.dp = 4, .pp = 2, .sharding = kBoth}, [](Scenario& sc) {
         sc.recipe.offload = costmodel::kOffloadOptimizer;
       }}};
  return kCases;
}

class QuantisedMessages : public testing::TestWithParam<QuantisedCase> {};

TEST_P(QuantisedMessages, are_what_was_predicted) {
  const Scenario sc = GetParam().scenario();
  const validator::Verification result = expect_what_was_predicted(sc);
  if (sc.layout.sharding.quantized_gradients) {
    EXPECT_GT(result.norm_error, 1e-9) << "something was rounded";
  }
}
INSTANTIATE_TEST_SUITE_P(validator, QuantisedMessages, testing::ValuesIn(cases()),
                         [](const testing::TestParamInfo<QuantisedCase>& which) { return which.param.name; });

/// By hand: a layer has 512 + 256 + 512 numbers of attention, 768 + 384 of its MLP and 32 of its norms, the
/// embedding 62 · 16, the head 16 more. Four micro-batches, two shards, each of one block.
TEST(quantised_messages, have_a_byte_or_half_a_one_per_number_and_four_per_block) {
  const std::vector<double> units{2464, 2464, 2464, 2464, 992, 1008};
  double numbers = 0;
  for (const double unit : units) numbers += unit;
  const Scenario sc = QuantisedCase{"", {.dp = 2, .sharding = kBoth}}.scenario();
  std::map<std::pair<std::string, costmodel::Pass>, std::pair<double, double>> sent;
  for (const costmodel::CollectiveCount& c : costmodel::count_step(sc, 0).collectives)
    sent[{std::string{c.operation}, c.pass}] = {c.messages, c.bytes.value()};
  using costmodel::Pass;
  const auto expect = [&](const char* name, Pass pass, double messages, double bytes) {
    EXPECT_EQ((sent[{name, pass}]), (std::pair{messages, bytes})) << name;
  };
  expect("parameter.gather", Pass::Forward, 4 * 6, 4 * numbers);
  expect("parameter.gather_scales", Pass::Forward, 4 * 6, 4 * 6 * 2 * 4);
  expect("parameter.gather", Pass::BackwardData, 4 * 4, 4 * 4 * 2464.0);
  expect("gradient.exchange_in_node", Pass::BackwardWeight, 4 * 6, 4 * numbers / 2);
  expect("gradient.scales_in_node", Pass::BackwardWeight, 4 * 6, 4 * 6 * 2 * 4);
  EXPECT_FALSE(sent.contains({"gradient.reduce", Pass::BackwardWeight}));
}

/// The reason, where gradients cannot be exchanged.
TEST(quantised_messages, are_refused_where_tensor_parallel_ranks_would_come_apart) {
  for (const costmodel::Sharding& z : {kQwz, kQgz}) {
    const Scenario sc = QuantisedCase{"", {.dp = 2, .tp = 2, .sharding = z}}.scenario();
    EXPECT_EQ(validator::first_not_executable(sc).value().rule, "executor-sharding");
  }
}

TEST(qgz, is_refused_beside_experts_and_where_nodes_differ) {
  Scenario sc = QuantisedCase{"", {.dp = 6, .sharding = kQgz}}.scenario();
  EXPECT_EQ(validator::first_not_executable(sc), std::nullopt);
  put_on_nodes(sc, 4);
  EXPECT_EQ(validator::first_not_executable(sc).value().rule, "executor-sharding");
  put_on_nodes(sc, 6);
  sc.model.moe = {.experts = 4, .top_k = 2, .expert_ffn = 8};
  EXPECT_EQ(validator::first_not_executable(sc).value().rule, "executor-sharding");
}

/// What `values` are behind a message in `bits`, by the format's definition.
std::vector<double> behind_message(const std::vector<double>& values, int bits) {
  std::vector<double> out;
  const double half = std::pow(2, bits - 1);
  for (std::size_t first = 0; first < values.size(); first += kBlock) {
    const std::size_t end = std::min(values.size(), first + kBlock);
    double largest = 0;
    for (std::size_t i = first; i < end; ++i) largest = std::max(largest, std::abs(values[i]));
    for (std::size_t i = first; i < end; ++i) {
      const double step = largest / half;
      const double code = largest == 0 ? 0 : std::min(half - 1, std::nearbyint(values[i] / step));
      out.push_back(code * step);
    }
  }
  return out;
}

struct Step {
  double loss = 0, norm = 0;
};
/// The first step, on parameters that may have been rounded shard by shard before it.
Step first_step(const Scenario& sc, bool rounded) {
  validator::RunOptions options{.steps = 1};
  options.make_device = [](int /*rank*/) { return validator::make_cpu_device(validator::Element::F64); };
  if (rounded) {
    options.loaded = [](const validator::RankView& view) {
      std::map<int, std::vector<double>> shards;  // by unit
      view.visit_state(validator::State::Parameter, [&](const validator::OwnedPart& part) {
        std::vector<double> values(static_cast<std::size_t>(part.view.elements()));
        part.device->download(values, part.view);
        shards[part.unit].insert(shards[part.unit].end(), values.begin(), values.end());
      });
      for (auto& [unit, values] : shards) values = behind_message(values, 8);
      std::map<int, std::size_t> taken;
      view.visit_state(validator::State::Parameter, [&](const validator::OwnedPart& part) {
        const auto count = static_cast<std::size_t>(part.view.elements());
        part.device->upload(part.view, std::span{shards[part.unit]}.subspan(taken[part.unit], count));
        taken[part.unit] += count;
      });
    };
  }
  validator::ThreadRanks ranks;
  const validator::ExecutionReport report = validator::run_steps(sc, options, ranks);
  return {report.steps.at(0).loss, report.steps.at(0).gradient_norm};
}

/// Another rounding would be 1e-4 away.
TEST(qwz, computes_with_parameters_rounded_block_by_block) {
  for (void (*const change)(Scenario&) : {on_nodes<2>, wide}) {
    Scenario sc = tiny_scenario({.dp = 2, .sharding = {.stage = 3}});
    change(sc);
    const Step exact = first_step(sc, false), rounded = first_step(sc, true);
    sc.layout.sharding.quantized_weights = true;
    const Step gathered = first_step(sc, false);
    EXPECT_NEAR(gathered.loss, rounded.loss, 1e-12 * rounded.loss);
    EXPECT_NEAR(gathered.norm, rounded.norm, 1e-11 * rounded.norm);
    EXPECT_GT(std::abs(gathered.norm - exact.norm), 1e-6 * exact.norm);
    EXPECT_NEAR(gathered.loss, exact.loss, 0.01 * exact.loss);
  }
}

/// Backward reads what forward gathered, from the second copy or rounded once more; recomputed layers too.
TEST(qwz, comes_to_the_same_bits_with_a_second_copy_and_when_layers_are_recomputed) {
  Scenario sc = tiny_scenario({.dp = 4, .sharding = {.stage = 3, .quantized_weights = true}});
  const TinyRun plain = run_tiny(sc, 3);
  sc.layout.sharding.hpz = 2;
  const TinyRun second = run_tiny(sc, 3);
  sc.recipe.recompute.mode = costmodel::RecomputeMode::Full;
  const TinyRun recomputed = run_tiny(sc, 3);
  EXPECT_EQ(validator::largest_difference(plain.parameters, second.parameters).relative, 0);
  EXPECT_EQ(validator::largest_difference(plain.parameters, recomputed.parameters).relative, 0);
}

/// Every rank's copy of every element after three steps, of the masters and of what is computed with.
TEST(quantised_messages, leave_replicas_equal_bit_for_bit) {
  Scenario sc = tiny_scenario(
      {.dp = 8,
       .sharding = {.stage = 3, .group = 4, .quantized_weights = true, .quantized_gradients = true}});
  put_on_nodes(sc, 2);
  std::map<std::tuple<validator::State, int, std::string_view, std::int64_t>, double> seen;
  std::mutex mutex;
  std::int64_t twice = 0;
  validator::RunOptions options{.steps = 3};
  options.make_device = [](int /*rank*/) { return validator::make_cpu_device(validator::Element::F64); };
  options.stepped = [&](const validator::RankView& view) {
    if (view.step < 3) return;
    for (const validator::State state : {validator::State::Parameter, validator::State::Master}) {
      view.visit_state(state, [&](const validator::OwnedPart& part) {
        std::vector<double> values(static_cast<std::size_t>(part.view.elements()));
        part.device->download(values, part.view);
        const std::scoped_lock lock{mutex};
        for (std::size_t i = 0; i < values.size(); ++i) {
          const auto [at, first] = seen.insert(
              {{state, part.unit, part.tensor->name, part.first + static_cast<std::int64_t>(i)}, values[i]});
          if (first) continue;
          ++twice;
          EXPECT_EQ(at->second, values[i]);
        }
      });
    }
  };
  validator::ThreadRanks ranks;
  static_cast<void>(validator::run_steps(sc, options, ranks));
  EXPECT_EQ(twice, static_cast<std::int64_t>(seen.size()));
}

/// A rank's gradient at place `i` of a unit.
double gradient_at(int rank, std::size_t i) {
  const auto x = static_cast<double>(i);
  return std::sin(0.37 * x + rank) * std::exp(-0.001 * static_cast<double>(i % 700)) * (1 + rank);
}

/// Sums of shard `shard` over ranks on nodes of `neighbours`, as the two exchanges make them.
std::vector<double> exchanged(std::size_t shard, std::size_t count, std::size_t elements, int ranks,
                              int neighbours) {
  const auto of_rank = [&](int rank) {
    std::vector<double> values(count);
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t place = shard * count + i;
      values[i] = place < elements ? gradient_at(rank, place) : 0;
    }
    return values;
  };
  const auto add = [&](std::vector<double>& to, const std::vector<double>& values) {
    for (std::size_t i = 0; i < count; ++i) to[i] += values[i];
  };
  std::vector<double> sum(count);
  for (int node = 0; node < ranks / neighbours; ++node) {
    std::vector<double> of_node(count);
    for (int i = 0; i < neighbours; ++i) {
      const std::vector<double> values = of_rank(node * neighbours + i);
      add(of_node, neighbours > 1 ? behind_message(values, 4) : values);
    }
    add(sum, neighbours < ranks ? behind_message(of_node, 4) : of_node);
  }
  return sum;
}

/// First moments of AdamW's first step are a tenth of the gradients.
TEST(qgz, adds_up_gradients_rounded_block_by_block_in_nodes_and_between_them) {
  for (const auto& nodes : {std::pair{4, 4}, {4, 2}, {4, 1}, {6, 2}, {6, 3}, {2, 2}}) {
    const int ranks = nodes.first, neighbours = nodes.second;  // Clang 14 captures no structured bindings
    Scenario sc = tiny_scenario({.dp = ranks, .sharding = {.stage = 3, .quantized_gradients = true}});
    wide(sc);
    put_on_nodes(sc, neighbours);
    validator::ThreadRanks threads;
    threads.run({.ranks = ranks}, [&](validator::Communicator& world) {
      const auto device = validator::make_cpu_device(validator::Element::F64);
      const validator::DeviceInUse in_use{world, *device};
      validator::Rank rank{sc, *device, world};
      validator::Unit unit{rank, validator::plan_unit(sc, 0, rank.parameter_place()), {.gradients = 1}, 1};
      validator::FlatParameters& flat = unit.flats().at(0);
      const auto& tensors = flat.tensors();
      const auto elements = static_cast<std::size_t>(tensors.back().offset + tensors.back().elements());
      flat.open_gradients(rank);
      for (const validator::LocalTensor& t : tensors) {
        std::vector<double> values(static_cast<std::size_t>(t.elements()));
        for (std::size_t i = 0; i < values.size(); ++i)
          values[i] = gradient_at(world.rank(), static_cast<std::size_t>(t.offset) + i);
        device->upload(flat.gradients(rank, t.name, t.name), values);
      }
      flat.reduce(rank, true);
      flat.update(rank, {.learning_rate = 1e-3});
      const std::size_t count =
          (elements + static_cast<std::size_t>(ranks) - 1) / static_cast<std::size_t>(ranks);
      const auto own = static_cast<std::size_t>(world.rank());
      const std::vector<double> expected = exchanged(own, count, elements, ranks, neighbours);
      double worst = 0, rounded = 0, bound = 0;
      flat.visit(rank, validator::State::FirstMoment, [&](const validator::OwnedPart& part) {
        std::vector<double> values(static_cast<std::size_t>(part.view.elements()));
        device->download(values, part.view);
        for (std::size_t i = 0; i < values.size(); ++i) {
          const std::size_t place = static_cast<std::size_t>(part.tensor->offset + part.first) + i;
          double exact = 0;
          for (int r = 0; r < ranks; ++r) exact += gradient_at(r, place);
          worst = std::max(worst, std::abs(10 * values[i] - expected.at(place - own * count)));
          rounded = std::max(rounded, std::abs(10 * values[i] - exact));
        }
      });
      // An eighth of a rank's largest in the first exchange, of a node's largest in the second.
      for (int r = 0; r < ranks; ++r)
        bound += (1.0 + r) / 8 * (neighbours > 1 && neighbours < ranks ? 2.125 : 1);
      EXPECT_LT(worst, 1e-12) << ranks << " ranks on nodes of " << neighbours;
      EXPECT_LE(rounded, bound);
      EXPECT_GT(rounded, bound / 1000);
    });
  }
}

}  // namespace
}  // namespace hexaplan::tests
