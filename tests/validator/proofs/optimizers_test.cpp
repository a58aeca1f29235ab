// What the executor's optimizers make of given gradients against what the implementations that people train
// with make of them (tests/golden/optimizer_oracle.py), on one rank and cut over several.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "costmodel/units/ceil_div.h"
#include "presets/json/read_json.h"
#include "tests/validator/proofs/hf_steps.h"
#include "tests/validator/step/tiny_scenario.h"
#include "validator/executor/communicator/threads/thread_ranks.h"
#include "validator/executor/device/cpu/cpu_device.h"
#include "validator/executor/device/dynamic_map.h"
#include "validator/executor/parallel/optimizer_shard.h"

namespace hexaplan::tests {
namespace {

using costmodel::Optimizer;
using presets::JsonValue;
using validator::LocalTensor;
using validator::OptimizerShard;
using validator::Piece;
using validator::Rank;
using validator::ShardPlace;
using validator::State;

const JsonValue& golden() {
  static const JsonValue file =
      presets::read_json_file(std::string{HEXAPLAN_SOURCE_DIR} + "/tests/golden/executor/optimizers.json")
          .root;
  return file;
}
double rate(std::string_view name) {
  return number_in(*golden().find("rates")->find(name));
}

/// The oracle's formulas.
double value(std::int64_t i) {
  return 0.3 * std::sin(1.7 * static_cast<double>(i) + 0.3);
}
double gradient(std::int64_t step, std::int64_t i) {
  return 0.05 * std::cos(0.9 * static_cast<double>(i * step) + 0.1) * static_cast<double>(1 + i % 7);
}
constexpr int kSteps = 3;
int steps_of(const costmodel::Scenario& sc) {
  if (!costmodel::traits_of(sc.recipe.optimizer).preconditions()) return kSteps;
  return static_cast<int>(number_in(*golden().find("preconditioning")->find("steps")));
}
constexpr std::int64_t kElements = 20 + 2 * 8 * 20 + 12 * 5;

/// A flat buffer of the oracle's parameters from its element `first` on.
struct Buffer {
  std::vector<LocalTensor> tensors;
  std::int64_t first = 0;
  bool by_matrix = false;
};
LocalTensor matrix(std::string_view name, std::int64_t rows, std::int64_t cols, std::int64_t matrices = 1) {
  LocalTensor t{.name = name};
  t.matrices = matrices;
  t.rows = rows, t.cols = cols;
  t.matrix_rows = rows / matrices, t.matrix_cols = cols;
  return t;
}
std::vector<Buffer> buffers_for(Optimizer optimizer) {
  LocalTensor vector = matrix("vector", 1, 20);
  vector.decays = false;
  const std::vector<LocalTensor> matrices{matrix("two", 16, 20, 2), matrix("tall", 12, 5)};
  // Blocks of 8-bit states reach over tensors, and the oracle knows one parameter.
  if (optimizer == Optimizer::AdamW8bit) return {{{matrix("all", 1, kElements)}}};
  if (costmodel::traits_of(optimizer).by_matrix()) return {{{vector}}, {matrices, 20, true}};
  return {{{vector, matrices[0], matrices[1]}}};
}

struct Trained {
  std::mutex mutex;
  std::vector<double> updated = std::vector<double>(kElements), first_moment = updated, first_scale = updated;
};

/// Steps of one rank's shard of a buffer.
void train(const Rank& rank, validator::Communicator& shard, validator::Communicator& tensor, Buffer buffer,
           Trained& out) {
  std::int64_t elements = 0;
  for (LocalTensor& t : buffer.tensors) {
    t.offset = elements;
    elements += t.elements();
  }
  const costmodel::OptimizerTraits& traits =
      costmodel::traits_of(costmodel::optimizer_of(rank.scenario.recipe, buffer.by_matrix));
  const std::int64_t multiple = traits.quantised && !traits.projects() ? 256 : 1;
  const std::int64_t size = costmodel::ceil_div(elements, multiple * shard.size()) * multiple;
  const std::int64_t first = shard.rank() * size;
  std::vector<Piece> pieces;
  for (std::size_t i = 0; i < buffer.tensors.size(); ++i) {
    const LocalTensor& t = buffer.tensors[i];
    const std::int64_t begin = std::max(first, t.offset),
                       end = std::min(first + size, t.offset + t.elements());
    if (begin < end) pieces.push_back({i, begin, end});
  }
  const ShardPlace place{.tensors = buffer.tensors,
                         .pieces = pieces,
                         .first = first,
                         .elements = size,
                         .shard = &shard,
                         .tensor = &tensor,
                         .device = &rank.device,
                         .by_matrix = buffer.by_matrix};
  OptimizerShard optimizer{rank, place};
  const auto filled = [&](const auto& of) {
    std::vector<double> values(static_cast<std::size_t>(size));
    for (std::int64_t i = 0; i < size; ++i)
      values[static_cast<std::size_t>(i)] = first + i < elements ? of(buffer.first + first + i) : 0;
    return values;
  };
  const auto allocate = [&] {
    return rank.device.allocate({"shard", costmodel::TensorKind::Parameter, costmodel::DType::Fp32}, 1, size);
  };
  const validator::Tensor parameters = allocate(), gradients = allocate();
  rank.device.upload(optimizer.master(), filled(value));
  for (int step = 1; step <= steps_of(rank.scenario); ++step) {
    rank.device.upload(gradients, filled([&](std::int64_t i) { return gradient(step, i); }));
    validator::OptimizerStep given{.learning_rate = rate("learning_rate"), .step = step};
    given.options = {.beta1 = rate("beta1"),
                     .beta2 = rate("beta2"),
                     .epsilon = rate("epsilon"),
                     .momentum = rate("momentum"),
                     .weight_decay = rate("weight_decay")};
    optimizer.update(rank, given, place, parameters, gradients);
  }
  const auto keep = [&](State state, std::vector<double>& to) {
    optimizer.visit(state, [&](const validator::View& view) {
      std::vector<double> values(static_cast<std::size_t>(size));
      rank.device.download(values, view);
      const std::scoped_lock lock{out.mutex};
      for (std::int64_t i = 0; i < size && first + i < elements; ++i)
        to[static_cast<std::size_t>(buffer.first + first + i)] = values[static_cast<std::size_t>(i)];
    });
  };
  keep(State::Master, out.updated);
  keep(State::FirstMoment, out.first_moment);
  keep(State::FirstScale, out.first_scale);
}

void train(const costmodel::Scenario& sc, validator::Element element, Trained& out) {
  validator::RankOptions options;
  options.ranks = sc.layout.dp;
  validator::ThreadRanks threads;
  threads.run(options, [&](validator::Communicator& world) {
    const auto device = validator::make_cpu_device(element);
    const Rank rank{sc, *device, world};
    for (const Buffer& buffer : buffers_for(sc.recipe.optimizer))
      train(rank, *rank.groups.shard, *rank.groups.tensor, buffer, out);
  });
}

costmodel::Scenario trained_by(Optimizer optimizer, int ranks) {
  costmodel::Layout layout;
  layout.dp = ranks;
  layout.sharding.stage = 1;
  costmodel::Scenario sc = tiny_scenario(layout);
  sc.recipe.optimizer = optimizer;
  if (costmodel::traits_of(optimizer).preconditions()) {
    const JsonValue& said = *golden().find("preconditioning");
    const auto whole = [&](const char* name) {
      return static_cast<std::int64_t>(number_in(*said.find(name)));
    };
    sc.recipe.precondition_frequency = whole("frequency");
    sc.recipe.max_precondition_dim = whole(optimizer == Optimizer::Soap ? "soap_dim" : "shampoo_dim");
  }
  if (!costmodel::traits_of(optimizer).projects()) return sc;
  const JsonValue& projection = *golden().find("projection");
  if (optimizer != Optimizer::ApolloMini)
    sc.recipe.projection_rank = static_cast<std::int64_t>(number_in(*projection.find("rank")));
  sc.recipe.projection_interval = static_cast<std::int64_t>(number_in(*projection.find("interval")));
  return sc;
}

void train(Optimizer optimizer, int ranks, Trained& out) {
  train(trained_by(optimizer, ranks), validator::Element::F64, out);
}

void expect_close(const std::vector<double>& got, const std::vector<double>& expected, double tolerance) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], tolerance) << "element " << i;
}

struct Case {
  std::string name;
  Optimizer optimizer;
  int ranks;
};
void PrintTo(const Case& c, std::ostream* out) {
  *out << c.name << " over " << c.ranks;
}
class optimizer_steps : public testing::TestWithParam<Case> {};

TEST_P(optimizer_steps, are_those_of_the_implementations_that_people_train_with) {
  Trained run;
  train(GetParam().optimizer, GetParam().ranks, run);
  // The numbers that codes stand for are rounded to float32.
  const costmodel::OptimizerTraits& traits = costmodel::traits_of(GetParam().optimizer);
  const double tolerance = traits.quantised ? 1e-7 : traits.preconditions() ? 1e-10 : 1e-12;
  expect_close(run.updated, numbers_in(*golden().find(GetParam().name)->find("updated")), tolerance);
}

std::vector<Case> cases() {
  std::vector<Case> out;
  for (const auto& [name, optimizer] : {std::pair{"adamw", Optimizer::AdamW},
                                        {"adamw-8bit", Optimizer::AdamW8bit},
                                        {"sgd", Optimizer::Sgd},
                                        {"lion", Optimizer::Lion},
                                        {"lamb", Optimizer::Lamb},
                                        {"muon", Optimizer::Muon},
                                        {"adafactor", Optimizer::Adafactor},
                                        {"galore", Optimizer::Galore},
                                        {"galore-8bit", Optimizer::Galore8bit},
                                        {"apollo", Optimizer::Apollo},
                                        {"apollo-mini", Optimizer::ApolloMini},
                                        {"soap", Optimizer::Soap},
                                        {"shampoo", Optimizer::Shampoo}}) {
    // Gradients of whole matrices are projected and preconditioned.
    const costmodel::OptimizerTraits& traits = costmodel::traits_of(optimizer);
    const int most = traits.projects() || traits.preconditions() ? 1 : 3;
    for (int ranks = 1; ranks <= most; ++ranks) out.push_back({name, optimizer, ranks});
  }
  return out;
}
std::string name_of(const testing::TestParamInfo<Case>& which) {
  std::string name = which.param.name + "_over_" + std::to_string(which.param.ranks);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(validator, optimizer_steps, testing::ValuesIn(cases()), name_of);

TEST(dynamic_map, has_the_numbers_of_bitsandbytes_but_for_a_rounding_of_float32) {
  for (const bool has_sign : {true, false}) {
    const auto expected =
        numbers_in(*golden().find("adamw-8bit")->find(has_sign ? "signed_map" : "unsigned_map"));
    const validator::DynamicMap map = validator::dynamic_map(has_sign);
    ASSERT_EQ(expected.size(), map.values.size());
    for (std::size_t i = 0; i < expected.size(); ++i)
      EXPECT_NEAR(static_cast<double>(map.values.at(i)), expected[i], 1.5e-7 * std::abs(expected[i])) << i;
  }
}

TEST(moments_in_8_bits, have_the_codes_and_scales_of_bitsandbytes) {
  Trained run;
  train(Optimizer::AdamW8bit, 1, run);
  const JsonValue& expected = *golden().find("adamw-8bit");
  const validator::DynamicMap map = validator::dynamic_map(true);
  const auto codes = numbers_in(*expected.find("first_codes")),
             scales = numbers_in(*expected.find("first_scales"));
  for (std::size_t i = 0; i < codes.size(); ++i) {
    EXPECT_NEAR(run.first_scale[i], scales[i / 256], 1e-8);
    EXPECT_NEAR(run.first_moment[i],
                static_cast<double>(map.values.at(static_cast<std::size_t>(codes[i]))) * scales[i / 256],
                1e-8);
  }
}

float in_bfloat16(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  return std::bit_cast<float>((bits + 0x7fffU + (bits >> 16 & 1U)) & 0xffff0000U);
}

/// As Transformer Engine's FusedAdam and PyTorch's fused AdamW do: a step reads what the last one stored,
/// moves the parameter by what it has in fp32, and rounds the moments to the nearest when it stores them.
TEST(moments_in_16_bits, are_those_of_adamw_rounded_behind_every_step) {
  costmodel::Scenario sc = trained_by(Optimizer::AdamW, 2);
  sc.recipe.moment_dtype = costmodel::DType::Bf16;
  Trained run;
  train(sc, validator::Element::Bf16, run);
  const auto r = [](const char* name) { return static_cast<float>(rate(name)); };
  for (std::int64_t i = 0; i < kElements; ++i) {
    SCOPED_TRACE("element " + std::to_string(i));
    const float decay = i < 20 ? 0 : r("weight_decay");  // the vector does not decay
    auto parameter = static_cast<float>(value(i));
    float m = 0, v = 0;
    for (int step = 1; step <= kSteps; ++step) {
      const auto g = static_cast<float>(gradient(step, i));
      m = r("beta1") * m + (1 - r("beta1")) * g;
      v = r("beta2") * v + (1 - r("beta2")) * g * g;
      const float mean = m / (1 - std::pow(r("beta1"), static_cast<float>(step)));
      const float square = v / (1 - std::pow(r("beta2"), static_cast<float>(step)));
      parameter -= r("learning_rate") * (mean / (std::sqrt(square) + r("epsilon")) + decay * parameter);
      m = in_bfloat16(m), v = in_bfloat16(v);
    }
    const auto stored = static_cast<float>(run.first_moment[static_cast<std::size_t>(i)]);
    EXPECT_EQ(stored, in_bfloat16(stored));
    EXPECT_NEAR(stored, m, std::abs(m) / 128);
    EXPECT_NEAR(run.updated[static_cast<std::size_t>(i)], static_cast<double>(parameter), 1e-5);
  }
}

}  // namespace
}  // namespace hexaplan::tests
