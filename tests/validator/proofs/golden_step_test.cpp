// The executor against steps that PyTorch computed (tests/golden/llama_oracle.py, mtp_oracle.py,
// adafactor_oracle.py, diloco_oracle.py), alone and cut over ranks.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "costmodel/spec/rules.h"
#include "presets/json/read_json.h"
#include "presets/models/read_model_config.h"
#include "tests/validator/proofs/global_parameters.h"
#include "tests/validator/step/tiny_scenario.h"
#include "validator/executor/communicator/threads/thread_ranks.h"
#include "validator/executor/device/cpu/cpu_device.h"
#include "validator/executor/parallel/rotary.h"
#include "validator/executor/parameters/initial_values.h"
#include "validator/executor/step/run_steps.h"

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
/// False where there is no such member.
bool is_set(const JsonValue& object, std::string_view key) {
  const JsonValue* member = object.find(key);
  return member != nullptr && *member->get_if<bool>();
}
std::int64_t whole(const JsonValue& object, std::string_view key) {
  const JsonValue* member = object.find(key);
  return member == nullptr ? 0 : *member->get_if<std::int64_t>();
}

/// Names of the golden file whose tensors, one behind the other, are one of the executor's.
std::vector<std::string> golden_names(int unit, const std::string& name, std::int64_t experts) {
  if (name == "embedding.word.weight" || unit == validator::UnitPlan::kTiedCopy) return {"embedding"};
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
      {"mtp.embedding_norm.weight", {"enorm"}},
      {"mtp.hidden_norm.weight", {"hnorm"}},
      {"mtp.projection.weight", {"eh_proj"}},
      {"mtp.final_norm.weight", {"norm"}},
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

/// Both sides compute in float64.
constexpr double kTolerance = 1e-10;

/// A golden file.
class Golden {
 public:
  explicit Golden(const std::string& name)
      : file_{presets::read_json_file(std::string{HEXAPLAN_SOURCE_DIR} + "/tests/golden/executor/" + name +
                                      ".json")
                  .root},
        model_{written_down()} {}
  [[nodiscard]] const JsonValue& operator[](std::string_view key) const { return *file_.find(key); }

  [[nodiscard]] const JsonValue* find(std::string_view key) const { return file_.find(key); }
  [[nodiscard]] std::int64_t steps() const { return std::max<std::int64_t>(1, whole(file_, "steps")); }
  /// A tensor as the executor has it.
  [[nodiscard]] std::vector<double> tensor(int unit, const std::string& name, std::string_view what) const {
    std::vector<double> out;
    for (const std::string& part : golden_names(unit, name, model_.moe.experts)) {
      for (const JsonValue& x : *(*this)["parameters"].find(part)->find(what)->get_if<JsonArray>())
        out.push_back(number(x));
    }
    return out;
  }

  /// `pads`: experts to their capacity, if they have one.
  [[nodiscard]] Scenario scenario(const Layout& layout, bool pads) const {
    Scenario sc = tiny_scenario(layout);
    sc.model = model_;
    if (const JsonValue* factor = (*this)["model"].find("capacity_factor"))
      sc.recipe.routing = {.capacity_factor = number(*factor), .pad_to_capacity = pads};
    sc.recipe.sequence = whole(file_, "sequence");
    sc.recipe.micro_batch = 1;
    sc.recipe.global_batch = std::max<std::int64_t>(2, whole(file_, "batch"));
    return sc;
  }

 private:
  [[nodiscard]] costmodel::ModelSpec written_down() const {
    const JsonValue& m = (*this)["model"];
    costmodel::ModelSpec model;
    model.layers = whole(m, "layers");
    model.hidden = whole(m, "hidden");
    model.vocab = whole(m, "vocab");
    model.attention = {.heads = whole(m, "heads"),
                       .kv_heads = whole(m, "kv_heads"),
                       .head_dim = whole(m, "head_dim"),
                       .v_head_dim = whole(m, "head_dim")};
    model.mlp.ffn = whole(m, "ffn");
    model.norm_epsilon = number(m, "norm_eps");
    model.rotary.base = number(m, "rope_theta");
    model.moe = {.experts = whole(m, "experts"),
                 .top_k = whole(m, "top_k"),
                 .expert_ffn = whole(m, "expert_ffn"),
                 .shared_ffn = whole(m, "shared_ffn"),
                 .renormalise = is_set(m, "renormalise")};
    if (model.is_moe()) model.moe.balance_coefficient = number(m, "balance_coefficient");
    model.tied_embeddings = is_set(m, "tied");
    model.mtp_layers = static_cast<int>(whole(m, "modules"));
    return model;
  }

  JsonValue file_;
  costmodel::ModelSpec model_;
};

struct Executed {
  validator::ExecutionReport report;
  GlobalState first_moment, master;
};

void execute(
    const Golden& golden, const Scenario& sc, Executed& out,
    const std::function<void(validator::RunOptions&)>& change = [](validator::RunOptions&) {}) {
  const JsonValue& o = golden["optimizer"];
  const std::int64_t steps = golden.steps();
  validator::RunOptions options{.steps = steps};
  options.optimizer = {.beta1 = number(o, "beta1"),
                       .beta2 = number(o, "beta2"),
                       .epsilon = number(o, "epsilon"),
                       .weight_decay = number(o, "weight_decay"),
                       .clip_norm = number(o, "clip")};
  if (const JsonValue* outer = golden.find("outer")) {
    options.optimizer.outer_learning_rate = number(*outer, "learning_rate");
    options.optimizer.outer_momentum = number(*outer, "momentum");
  }
  change(options);
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
    if (rank.step < steps) return;
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
    EXPECT_NEAR(got[i], expected[i], kTolerance * scale) << what << " element " << i;
}

struct Case {
  std::string name, golden;
  Layout layout;
  bool pads = false;
};
void PrintTo(const Case& c, std::ostream* out) {
  *out << c.name;
}
class golden_step : public testing::TestWithParam<Case> {};

TEST_P(golden_step, loss_gradient_of_every_parameter_and_clipped_update_are_those_of_pytorch) {
  const Golden golden{GetParam().golden};
  const Scenario sc = golden.scenario(GetParam().layout, GetParam().pads);
  Executed run;
  execute(golden, sc, run);
  ASSERT_EQ(run.report.steps.size(), 1U);
  ASSERT_FALSE(validator::first_not_executable(sc));
  const validator::StepReport& step = run.report.steps[0];
  const double balance = number(golden["balance_loss"]);
  const double loss = number(golden["loss"]), norm = number(golden["gradient_norm"]);
  EXPECT_NEAR(step.loss - step.balance_loss, loss, kTolerance * loss);
  EXPECT_NEAR(step.balance_loss, balance, kTolerance * std::max(balance, 1e-3));
  EXPECT_NEAR(step.gradient_norm, norm, kTolerance * norm);
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

class golden_steps_of_adafactor : public testing::TestWithParam<Case> {};

TEST_P(golden_steps_of_adafactor, losses_gradient_norms_and_updated_parameters_are_those_of_transformers) {
  const Golden golden{GetParam().golden};
  Scenario sc = golden.scenario(GetParam().layout, GetParam().pads);
  sc.recipe.optimizer = costmodel::Optimizer::Adafactor;
  ASSERT_FALSE(validator::first_not_executable(sc));
  Executed run;
  execute(golden, sc, run);
  const JsonArray& losses = *golden["losses"].get_if<JsonArray>();
  const JsonArray& norms = *golden["gradient_norms"].get_if<JsonArray>();
  ASSERT_EQ(run.report.steps.size(), losses.size());
  for (std::size_t i = 0; i < losses.size(); ++i) {
    const validator::StepReport& step = run.report.steps[i];
    EXPECT_NEAR(step.loss, number(losses[i]), kTolerance * number(losses[i])) << "step " << i + 1;
    EXPECT_NEAR(step.gradient_norm, number(norms[i]), kTolerance * number(norms[i])) << "step " << i + 1;
  }
  EXPECT_TRUE(run.first_moment.tensors().empty());
  for (const auto& [key, updated] : run.master.tensors())
    expect_close(updated, golden.tensor(key.first, key.second, "updated"), "updated " + key.second);
}

struct OuterCase {
  std::string name;
  Layout layout;
  costmodel::OuterStates states = costmodel::OuterStates::Gpu;
};
void PrintTo(const OuterCase& c, std::ostream* out) {
  *out << c.name;
}
class golden_outer_steps : public testing::TestWithParam<OuterCase> {};

/// A scenario of the golden file's outer steps.
Scenario with_outer_steps(const Golden& golden, Layout layout, int replicas) {
  layout.outer_replicas = replicas;
  Scenario sc = golden.scenario(layout, false);
  sc.recipe.outer.every = whole(*golden.find("outer"), "every");
  return sc;
}

TEST_P(golden_outer_steps, of_replicas_that_train_apart_are_those_of_pytorch) {
  const Golden golden{"diloco"};
  const int replicas = static_cast<int>(whole(*golden.find("outer"), "replicas"));
  Scenario sc = with_outer_steps(golden, GetParam().layout, replicas);
  sc.recipe.outer.states = GetParam().states;
  ASSERT_FALSE(costmodel::first_rejection(sc));
  ASSERT_FALSE(validator::first_not_executable(sc));
  Executed run;
  execute(golden, sc, run);
  const JsonArray& losses = *golden["losses"].get_if<JsonArray>();
  const JsonArray& norms = *golden["gradient_norms"].get_if<JsonArray>();
  ASSERT_EQ(run.report.steps.size(), losses.size());
  for (std::size_t i = 0; i < losses.size(); ++i) {
    const validator::StepReport& step = run.report.steps[i];
    EXPECT_NEAR(step.loss, number(losses[i]), kTolerance * number(losses[i])) << "step " << i + 1;
    EXPECT_NEAR(step.gradient_norm, number(norms[i]), kTolerance * number(norms[i])) << "step " << i + 1;
  }
  ASSERT_FALSE(run.master.tensors().empty());
  for (const auto& [key, updated] : run.master.tensors())
    expect_close(updated, golden.tensor(key.first, key.second, "updated"), "updated " + key.second);
}

/// One replica, a learning rate of 1 and no momentum: the outer step goes where the inner ones went.
TEST(golden_outer_step, of_one_replica_at_rate_1_without_momentum_is_none) {
  const Golden golden{"diloco"};
  for (const int dp : {1, 2}) {
    const Scenario sc = with_outer_steps(golden, {.dp = dp, .sharding = {.stage = 1}}, 1);
    Executed run;
    execute(golden, sc, run, [](validator::RunOptions& options) {
      options.optimizer.outer_learning_rate = 1, options.optimizer.outer_momentum = 0;
    });
    for (const auto& [key, updated] : run.master.tensors())
      expect_close(updated, golden.tensor(key.first, key.second, "plain"), "plain " + key.second);
  }
}

INSTANTIATE_TEST_SUITE_P(steps, golden_outer_steps,
                         testing::Values(OuterCase{"one_rank_each", {}}, OuterCase{"dp2", {.dp = 2}},
                                         OuterCase{"dp2_zero1_on_the_host",
                                                   {.dp = 2, .sharding = {.stage = 1}},
                                                   costmodel::OuterStates::Host},
                                         OuterCase{"tp2_sp_zero2",
                                                   {.dp = 2, .tp = 2, .sp = true, .sharding = {.stage = 2}}},
                                         OuterCase{"pp2_zero3_copy_on_the_host",
                                                   {.dp = 2, .pp = 2, .sharding = {.stage = 3}},
                                                   costmodel::OuterStates::CopyOnHost},
                                         OuterCase{"cp2", {.cp = 2}}),
                         [](const testing::TestParamInfo<OuterCase>& step) { return step.param.name; });

struct Named {
  std::string name;
  Layout layout;
};

std::vector<Case> adafactor_cases() {
  const std::vector<Named> tied{{"one_rank", {}},
                                {"tp2_sp_zero1", {.dp = 2, .tp = 2, .sp = true, .sharding = {.stage = 1}}},
                                {"tp4", {.tp = 4}},
                                {"cp2_zero2", {.cp = 2, .sharding = {.stage = 2}}},
                                {"pp2_zero3", {.dp = 2, .pp = 2, .sharding = {.stage = 3}}}};
  const std::vector<Named> experts{
      {"one_rank", {}},
      {"ep2_zero1", {.dp = 2, .ep = 2, .sharding = {.stage = 1}}},
      {"tp2_cp2_ep2", {.tp = 2, .cp = 2, .ep = 2, .sp = true}},
      {"ep2_etp2_zero3", {.dp = 2, .tp = 2, .ep = 2, .etp = 2, .sp = true, .sharding = {.stage = 3}}},
      {"pp2_zero2", {.dp = 2, .pp = 2, .sharding = {.stage = 2}}}};
  std::vector<Case> out;
  for (const Named& n : tied) out.push_back({"tied_" + n.name, "adafactor_tied", n.layout});
  for (const Named& n : experts) out.push_back({"experts_" + n.name, "adafactor_moe", n.layout});
  return out;
}

INSTANTIATE_TEST_SUITE_P(steps, golden_steps_of_adafactor, testing::ValuesIn(adafactor_cases()),
                         [](const testing::TestParamInfo<Case>& step) { return step.param.name; });

/// Every golden step on one rank and on layouts that cut each axis.
std::vector<Case> cases() {
  const std::vector<Named> dense{{"one_rank", {}},
                                 {"tp2", {.tp = 2}},
                                 {"tp2_sp_cp2", {.tp = 2, .cp = 2, .sp = true}},
                                 {"cp2_gathered", {.cp = 2, .context = costmodel::ContextKind::AllGather}},
                                 {"pp2", {.pp = 2}},
                                 {"dp2_pp2_zero3", {.dp = 2, .pp = 2, .sharding = {.stage = 3}}}};
  const std::vector<Named> experts{
      {"one_rank", {}},
      {"ep2", {.dp = 2, .ep = 2}},
      {"tp2_cp2_ep2", {.tp = 2, .cp = 2, .ep = 2, .sp = true}},
      {"dp2_pp2_ep2_zero1", {.dp = 2, .pp = 2, .ep = 2, .sharding = {.stage = 1}}},
      {"dp2_ep2_zero3", {.dp = 2, .ep = 2, .sharding = {.stage = 3}}}};
  const std::vector<Named> one_layer{{"one_rank", {}},
                                     {"dp2_ep2_zero2", {.dp = 2, .ep = 2, .sharding = {.stage = 2}}}};
  std::vector<Case> out;
  const auto add = [&](const std::vector<std::string>& goldens, const std::vector<Named>& layouts,
                       bool pads = false) {
    for (const std::string& golden : goldens) {
      for (const Named& layout : layouts)
        out.push_back({golden + "_" + layout.name + (pads ? "_padded" : ""), golden, layout.layout, pads});
    }
  };
  add({"llama", "mtp", "mtp2_tied"}, dense);
  add({"llama_moe", "renormalised_moe", "mtp_moe"}, experts);
  add({"mtp2_moe"}, one_layer);
  // What a rank drops depends on the tokens that it routes: all of a sequence, or a part.
  const std::vector<Named> whole_sequences{
      {"one_rank", {}},
      {"ep2", {.dp = 2, .ep = 2}},
      {"dp2_pp2_ep2_zero1", {.dp = 2, .pp = 2, .ep = 2, .sharding = {.stage = 1}}},
      {"dp2_ep2_zero3", {.dp = 2, .ep = 2, .sharding = {.stage = 3}}}};
  const std::vector<Named> cut_sequences{
      {"tp2_cp2_ep2", {.tp = 2, .cp = 2, .ep = 2, .sp = true}},
      {"tp2_cp2_ep4_etp1", {.tp = 2, .cp = 2, .ep = 4, .etp = 1, .sp = true}}};
  for (const bool pads : {false, true}) {
    add({"capacity_moe"}, whole_sequences, pads);
    add({"capacity_moe_cut"}, cut_sequences, pads);
  }
  return out;
}

INSTANTIATE_TEST_SUITE_P(steps, golden_step, testing::ValuesIn(cases()),
                         [](const testing::TestParamInfo<Case>& step) { return step.param.name; });

TEST(rotation_of, has_the_frequencies_and_magnitude_that_transformers_has_for_every_kind_of_scaling) {
  const JsonValue file = presets::read_json_file(std::string{HEXAPLAN_SOURCE_DIR} +
                                                 "/tests/golden/executor/rope_frequencies.json")
                             .root;
  std::size_t kinds = 0;
  for (const auto& [name, golden] : *file.get_if<presets::JsonObject>()) {
    SCOPED_TRACE(name);
    const costmodel::ModelSpec model = presets::model_from_config("config.json", "", *golden.find("config"));
    const validator::Rotation rotation = validator::rotation_of(model, whole(golden, "sequence"));
    EXPECT_NEAR(rotation.magnitude, number(golden, "magnitude"), 1e-12);
    const JsonArray& expected = *golden.find("frequencies")->get_if<JsonArray>();
    ASSERT_EQ(rotation.pairs, std::ssize(expected));
    for (std::size_t i = 0; i < expected.size(); ++i)
      EXPECT_NEAR(rotation.frequencies.at(i), number(expected[i]), 1e-6 * number(expected[i])) << i;
    ++kinds;
  }
  EXPECT_EQ(kinds, 16U);
}

/// What a config.json says beside sizes, and what the executor does about it.
struct Said {
  std::string name;
  std::function<void(costmodel::ModelSpec&)> say;
};
void PrintTo(const Said& said, std::ostream* out) {
  *out << said.name;
}
class identity : public testing::TestWithParam<Said> {};

/// With parameters so large, norms and biases too, that none leaves the function as it was.
double loss_of(const Scenario& sc) {
  validator::RunOptions options;
  options.loaded = [](const validator::RankView& rank) {
    set_parameters(rank, [](int unit, const std::string& name, std::int64_t index) {
      const std::uint64_t stream = std::hash<std::string>{}(name) + static_cast<std::uint64_t>(unit + 8);
      return validator::counter_normal(1, stream, static_cast<std::uint64_t>(index));
    });
  };
  options.make_device = [](int /*rank*/) { return validator::make_cpu_device(validator::Element::F64); };
  validator::ThreadRanks ranks;
  const validator::StepReport step = validator::run_steps(sc, options, ranks).steps.at(0);
  return step.loss + step.gradient_norm;
}

TEST_P(identity, a_model_that_says_it_is_refused_or_trains_another_loss) {
  Scenario sc = tiny_scenario({});
  sc.model.moe = {.experts = 4, .top_k = 2, .expert_ffn = 12, .shared_ffn = 12};
  sc.model.attention.window = 8;
  sc.model.attention.global_period = 2;
  const Scenario plain = sc;
  ASSERT_FALSE(validator::first_not_executable(plain));
  GetParam().say(sc.model);
  if (const auto refused = validator::first_not_executable(sc)) {
    EXPECT_FALSE(refused->reason.empty());
    EXPECT_FALSE(refused->advice.empty());
    return;
  }
  EXPECT_GT(std::abs(loss_of(sc) - loss_of(plain)), 1e-9);
}

using costmodel::ModelSpec;
using costmodel::RopeScaling;

void stretch(ModelSpec& m, RopeScaling scaling) {
  m.rotary.scaling = scaling;
  m.rotary.factor = 4;
  m.rotary.original_positions = 4;
  m.rotary.attention_factor = 1.1;
  m.rotary.short_factors = m.rotary.long_factors = {1.5, 3};
}

INSTANTIATE_TEST_SUITE_P(
    fields, identity,
    testing::Values(Said{"base", [](ModelSpec& m) { m.rotary.base = 5e5; }},
                    Said{"local_base", [](ModelSpec& m) { m.rotary.local_base = 1e3; }},
                    Said{"partial", [](ModelSpec& m) { m.rotary.share = 0.5; }},
                    Said{"odd_columns", [](ModelSpec& m) { m.rotary.share = 0.75; }},
                    Said{"interleaved", [](ModelSpec& m) { m.rotary.interleaved = true; }},
                    Said{"linear", [](ModelSpec& m) { stretch(m, RopeScaling::Linear); }},
                    Said{"dynamic", [](ModelSpec& m) { stretch(m, RopeScaling::Dynamic); }},
                    Said{"yarn", [](ModelSpec& m) { stretch(m, RopeScaling::Yarn); }},
                    Said{"longrope", [](ModelSpec& m) { stretch(m, RopeScaling::LongRope); }},
                    Said{"llama3_scaling", [](ModelSpec& m) { stretch(m, RopeScaling::Llama3); }},
                    Said{"epsilon", [](ModelSpec& m) { m.norm_epsilon = 1e-3; }},
                    Said{"zero_centered_norm", [](ModelSpec& m) { m.zero_centered_norm = true; }},
                    Said{"norms_after", [](ModelSpec& m) { m.norms_after = true; }},
                    Said{"layer_norm", [](ModelSpec& m) { m.norm = costmodel::NormKind::Layer; }},
                    Said{"embedding_multiplier", [](ModelSpec& m) { m.embedding_multiplier = 4; }},
                    Said{"logit_softcap", [](ModelSpec& m) { m.logit_softcap = 30; }},
                    Said{"softcap", [](ModelSpec& m) { m.attention.softcap = 50; }},
                    Said{"value_clip", [](ModelSpec& m) { m.attention.value_clip = 1; }},
                    Said{"score_width", [](ModelSpec& m) { m.attention.score_width = 16; }},
                    Said{"sinks", [](ModelSpec& m) { m.attention.sinks = true; }},
                    Said{"qk_norm", [](ModelSpec& m) { m.attention.qk_norm = true; }},
                    Said{"window", [](ModelSpec& m) { m.attention.window = 4; }},
                    Said{"alibi", [](ModelSpec& m) { m.positions = costmodel::PositionKind::Alibi; }},
                    Said{"learned", [](ModelSpec& m) { m.positions = costmodel::PositionKind::Learned; }},
                    Said{"no_positions", [](ModelSpec& m) { m.positions = costmodel::PositionKind::None; }},
                    Said{"geglu", [](ModelSpec& m) { m.mlp.activation = costmodel::Activation::Gelu; }},
                    Said{"clamp", [](ModelSpec& m) { m.mlp.clamp = 7; }},
                    Said{"renormalise", [](ModelSpec& m) { m.moe.renormalise = true; }},
                    Said{"balance", [](ModelSpec& m) { m.moe.balance_coefficient = 0.5; }},
                    Said{"sigmoid", [](ModelSpec& m) { m.moe.score = costmodel::RouterScore::Sigmoid; }},
                    Said{"groups", [](ModelSpec& m) { m.moe.groups = 2; }},
                    Said{"weight_factor", [](ModelSpec& m) { m.moe.weight_factor = 2.5; }},
                    Said{"shared_gate", [](ModelSpec& m) { m.moe.shared_gate = true; }},
                    Said{"correction", [](ModelSpec& m) { m.moe.router_correction = true; }}),
    [](const testing::TestParamInfo<Said>& said) { return said.param.name; });

}  // namespace
}  // namespace hexaplan::tests
