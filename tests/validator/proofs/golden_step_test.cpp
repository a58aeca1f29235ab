// The executor against steps that PyTorch computed (tests/golden/llama_oracle.py), alone and cut over ranks.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "presets/json/read_json.h"
#include "tests/validator/proofs/global_parameters.h"
#include "tests/validator/step/tiny_scenario.h"
#include "validator/communicator/threads/thread_ranks.h"
#include "validator/device/cpu/cpu_device.h"

namespace hexaplan::tests {
namespace {

using costmodel::Layout;
using costmodel::Scenario;
using presets::JsonArray;
using presets::JsonValue;
using validator::GlobalState;

double number(const JsonValue& value) {
  if (const auto* whole = value.get_if<std::int64_t>()) return static_cast<double>(*whole);
  return *value.get_if<double>();
}
double number(const JsonValue& object, std::string_view key) {
  return number(*object.find(key));
}
std::int64_t whole(const JsonValue& object, std::string_view key) {
  const JsonValue* member = object.find(key);
  return member == nullptr ? 0 : *member->get_if<std::int64_t>();
}

/// Names of the golden file whose tensors, one behind the other, are one of the executor's.
std::vector<std::string> golden_names(int unit, const std::string& name, std::int64_t experts) {
  if (name == "embedding.word.weight") return {"embedding"};
  if (name == "final_norm.weight") return {"norm"};
  if (name == "head.weight") return {"head"};
  const std::string layer = "layers." + std::to_string(unit) + ".";
  static const std::map<std::string, std::vector<std::string>> kNames = {
      {"norm1.weight", {"norm1"}},
      {"attention.query.weight", {"query"}},
      {"attention.key_value.weight", {"key", "value"}},
      {"attention.output.weight", {"output"}},
      {"norm2.weight", {"norm2"}},
      {"mlp.gate_up.weight", {"mlp.gate", "mlp.up"}},
      {"mlp.down.weight", {"mlp.down"}},
      {"moe.router.weight", {"router"}},
      {"moe.shared.gate_up.weight", {"shared.gate", "shared.up"}},
      {"moe.shared.down.weight", {"shared.down"}},
      {"moe.experts.gate_up.weight", {"gate", "up"}},
      {"moe.experts.down.weight", {"down"}}};
  std::vector<std::string> out;
  const bool stacked = name.starts_with("moe.experts.");
  for (std::int64_t e = 0; e < (stacked ? experts : 1); ++e) {
    for (const std::string& part : kNames.at(name))
      out.push_back(layer + (stacked ? "experts." + std::to_string(e) + "." : "") + part);
  }
  return out;
}

/// A golden file.
class Golden {
 public:
  explicit Golden(const std::string& name)
      : file_{presets::read_json_file(std::string{HEXAPLAN_SOURCE_DIR} + "/tests/golden/executor/" + name +
                                      ".json")
                  .root} {}
  [[nodiscard]] const JsonValue& operator[](std::string_view key) const { return *file_.find(key); }

  /// A tensor as the executor has it.
  [[nodiscard]] std::vector<double> tensor(int unit, const std::string& name, std::string_view what) const {
    std::vector<double> out;
    for (const std::string& part : golden_names(unit, name, whole((*this)["model"], "experts"))) {
      for (const JsonValue& x : *(*this)["parameters"].find(part)->find(what)->get_if<JsonArray>())
        out.push_back(number(x));
    }
    return out;
  }

  [[nodiscard]] Scenario scenario(const Layout& layout) const {
    Scenario sc = tiny_scenario(layout);
    const JsonValue& m = (*this)["model"];
    sc.model.layers = whole(m, "layers");
    sc.model.hidden = whole(m, "hidden");
    sc.model.vocab = whole(m, "vocab");
    sc.model.attention = {.heads = whole(m, "heads"),
                          .kv_heads = whole(m, "kv_heads"),
                          .head_dim = whole(m, "head_dim"),
                          .v_head_dim = whole(m, "head_dim")};
    sc.model.mlp.ffn = whole(m, "ffn");
    sc.model.moe = {.experts = whole(m, "experts"),
                    .top_k = whole(m, "top_k"),
                    .expert_ffn = whole(m, "expert_ffn"),
                    .shared_ffn = whole(m, "shared_ffn")};
    sc.recipe.sequence = whole(file_, "sequence");
    sc.recipe.micro_batch = 1;
    sc.recipe.global_batch = 2;
    return sc;
  }

 private:
  JsonValue file_;
};

struct Executed {
  validator::ExecutionReport report;
  GlobalState first_moment, master;
};

void execute(const Golden& golden, const Scenario& sc, Executed& out) {
  const JsonValue& o = golden["optimizer"];
  validator::RunOptions options;
  options.optimizer = {.beta1 = number(o, "beta1"),
                       .beta2 = number(o, "beta2"),
                       .epsilon = number(o, "epsilon"),
                       .weight_decay = number(o, "weight_decay"),
                       .clip_norm = number(o, "clip")};
  options.learning_rate = {.peak = number(o, "learning_rate")};
  std::vector<std::int32_t> tokens;
  for (const JsonValue& t : *golden["tokens"].get_if<JsonArray>())
    tokens.push_back(static_cast<std::int32_t>(number(t)));
  options.tokens = validator::TokenSource::from_tokens(tokens, sc.recipe.sequence);
  options.make_device = [](int /*rank*/) { return validator::make_cpu_device(validator::Element::F64); };
  options.loaded = [&](const validator::RankView& rank) {
    GlobalState::Tensors values;
    set_parameters(rank, [&](int unit, const std::string& name, std::int64_t index) {
      std::vector<double>& tensor = values[{unit, name}];
      if (tensor.empty()) tensor = golden.tensor(unit, name, "value");
      return tensor.at(static_cast<std::size_t>(index));
    });
  };
  options.stepped = [&](const validator::RankView& rank) {
    out.first_moment.add(rank, validator::State::FirstMoment);
    out.master.add(rank, validator::State::Master);
  };
  validator::ThreadRanks ranks;
  out.report = validator::run_steps(sc, options, ranks);
}

void expect_close(const std::vector<double>& got, const std::vector<double>& expected,
                  const std::string& what) {
  ASSERT_EQ(got.size(), expected.size()) << what;
  double scale = 0;
  for (const double x : expected) scale = std::max(scale, std::abs(x));
  for (std::size_t i = 0; i < got.size(); ++i)
    EXPECT_NEAR(got[i], expected[i], 1e-10 * scale) << what << " element " << i;
}

struct Case {
  std::string name, golden;
  Layout layout;
};
void PrintTo(const Case& c, std::ostream* out) {
  *out << c.name;
}
class golden_step : public testing::TestWithParam<Case> {};

TEST_P(golden_step, loss_gradient_of_every_parameter_and_clipped_update_are_those_of_pytorch) {
  const Golden golden{GetParam().golden};
  const Scenario sc = golden.scenario(GetParam().layout);
  Executed run;
  execute(golden, sc, run);
  ASSERT_EQ(run.report.steps.size(), 1U);
  const double loss = number(golden["loss"]) + number(golden["balance_loss"]);
  const double norm = number(golden["gradient_norm"]);
  EXPECT_NEAR(run.report.steps[0].loss, loss, 1e-12 * loss);
  EXPECT_NEAR(run.report.steps[0].gradient_norm, norm, 1e-11 * norm);
  // m = (1 − β₁)·clipped gradient after one step.
  const double clip = number(golden["optimizer"], "clip");
  ASSERT_LT(clip, norm) << "the step must clip";
  const double share = (1 - number(golden["optimizer"], "beta1")) * clip / (norm + 1e-6);
  ASSERT_FALSE(run.first_moment.tensors().empty());
  for (const auto& [key, moment] : run.first_moment.tensors()) {
    std::vector<double> expected = golden.tensor(key.first, key.second, "gradient");
    for (double& g : expected) g *= share;
    expect_close(moment, expected, "gradient of " + key.second);
  }
  for (const auto& [key, updated] : run.master.tensors())
    expect_close(updated, golden.tensor(key.first, key.second, "updated"), "updated " + key.second);
}

INSTANTIATE_TEST_SUITE_P(
    steps, golden_step,
    testing::Values(Case{"llama", "llama", {}}, Case{"llama_moe", "llama_moe", {}},
                    Case{"llama_tp2_sp_cp2", "llama", {.tp = 2, .cp = 2, .sp = true}},
                    Case{"llama_dp2_pp2_zero3", "llama", {.dp = 2, .pp = 2, .sharding = {.stage = 3}}},
                    Case{"llama_moe_ep2", "llama_moe", {.dp = 2, .ep = 2}},
                    Case{"llama_moe_tp2_cp2_ep2", "llama_moe", {.tp = 2, .cp = 2, .ep = 2, .sp = true}}),
    [](const testing::TestParamInfo<Case>& step) { return step.param.name; });

}  // namespace
}  // namespace hexaplan::tests
