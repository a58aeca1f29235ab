// Weights of a Hugging Face checkpoint on the executor's ranks: into any layout and out of any layout.
#include "validator/executor/checkpoint/weights.h"

#include <gtest/gtest.h>

#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "costmodel/parameters/parameter_tensors.h"
#include "costmodel/spec/rules.h"
#include "tests/validator/step/tiny_scenario.h"
#include "validator/executor/communicator/threads/thread_ranks.h"
#include "validator/executor/device/cpu/cpu_device.h"

namespace hexaplan::tests {
namespace {

using costmodel::Layout;
using costmodel::Scenario;
using validator::RankView;

using Key = std::pair<int, std::string>;

double given_value(int unit, std::string_view name, std::int64_t index) {
  return 0.01 * static_cast<double>((index * 13 + unit * 7 + std::ssize(name)) % 101 - 50);
}

/// One run of a step that nothing changes: weights go in and come out.
struct Kept {
  std::mutex mutex;
  std::map<Key, std::map<std::int64_t, double>> loaded, stored;
  std::int64_t written = 0;
};

void pass_through(const Scenario& scenario, Kept& kept) {
  ASSERT_FALSE(costmodel::first_rejection(scenario) || validator::first_not_executable(scenario));
  validator::RunOptions options;
  options.learning_rate.peak = 0;
  options.make_device = [](int /*rank*/) { return validator::make_cpu_device(validator::Element::F64); };
  options.loaded = [&](const RankView& rank) {
    load_weights(
        [&](int unit, std::string_view name, std::int64_t first, std::span<double> values) {
          for (std::size_t i = 0; i < values.size(); ++i)
            values[i] = given_value(unit, name, first + static_cast<std::int64_t>(i));
        },
        rank);
  };
  options.stepped = [&](const RankView& rank) {
    store_weights(
        [&](int unit, std::string_view name, std::int64_t first, std::span<const double> values) {
          const std::scoped_lock lock{kept.mutex};
          auto& tensor = kept.stored[{unit, std::string{name}}];
          for (std::size_t i = 0; i < values.size(); ++i)
            tensor[first + static_cast<std::int64_t>(i)] = values[i];
          kept.written += std::ssize(values);
        },
        rank);
  };
  validator::ThreadRanks ranks;
  (void)run_steps(scenario, options, ranks);
}

struct WeightsCase {
  std::string name;
  Layout layout;
  void (*change)(Scenario&) = [](Scenario&) {};
};
class weights_of_ranks : public testing::TestWithParam<WeightsCase> {};

TEST_P(weights_of_ranks, come_out_as_they_went_in_every_element_once) {
  Scenario scenario = tiny_scenario(GetParam().layout);
  GetParam().change(scenario);
  Kept kept;
  pass_through(scenario, kept);
  std::int64_t elements = 0;
  for (const auto& [key, tensor] : kept.stored) {
    for (const auto& [index, value] : tensor)
      ASSERT_EQ(value, given_value(key.first, key.second, index)) << key.second << " " << index;
    EXPECT_EQ(tensor.rbegin()->first + 1, std::ssize(tensor)) << key.second << ": without a hole";
    elements += std::ssize(tensor);
  }
  const costmodel::ParameterCount all = costmodel::count_parameters(scenario.model);
  EXPECT_EQ(elements, all.total + all.mtp);
  EXPECT_EQ(kept.written, elements);
}

INSTANTIATE_TEST_SUITE_P(
    layouts, weights_of_ranks,
    testing::Values(WeightsCase{"one_rank", {}}, WeightsCase{"dp2", {.dp = 2}},
                    WeightsCase{"tp4_more_than_kv_heads", {.tp = 4}},
                    WeightsCase{"tp2_pp2_padded_words", {.tp = 2, .pp = 2}},
                    WeightsCase{"zero3_by_3",
                                {.dp = 3, .sharding = {.stage = 3}},
                                [](Scenario& s) { s.recipe.global_batch = 6; }},
                    WeightsCase{"pp2_tied", {.pp = 2}, [](Scenario& s) { s.model.tied_embeddings = true; }},
                    WeightsCase{"two_modules_pp2_zero3",
                                {.dp = 2, .pp = 2, .sharding = {.stage = 3}},
                                [](Scenario& s) { s.model.mtp_layers = 2; }},
                    WeightsCase{"experts_ep2_etp2",
                                {.dp = 2, .tp = 2, .ep = 2, .sp = true},
                                [](Scenario& s) {
                                  s.model.moe = {.experts = 4, .top_k = 2, .expert_ffn = 8, .shared_ffn = 12};
                                }}),
    [](const testing::TestParamInfo<WeightsCase>& c) { return c.param.name; });

}  // namespace
}  // namespace hexaplan::tests
