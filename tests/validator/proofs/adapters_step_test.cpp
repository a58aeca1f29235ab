// Training steps of Hugging Face PEFT (tests/golden/adapters_oracle.py) repeated by the executor, on one rank
// and cut over ranks: loss of every step, the gradient of every adapter in the first, every adapter after the
// last.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "costmodel/parameters/adapters.h"
#include "costmodel/spec/rules.h"
#include "presets/json/vocabulary.h"
#include "tests/validator/proofs/hf_steps.h"
#include "validator/executor/step/run_steps.h"

namespace hexaplan::tests {
namespace {

using costmodel::ContextKind;
using costmodel::Layout;
using costmodel::RecomputeMode;
using costmodel::Scenario;
using costmodel::ScheduleKind;
using presets::JsonValue;
using presets::StoredRun;
using validator::GlobalState;

/// An element of an adapter in PEFT's file: name of the tensor and position in it.
struct PeftElement {
  std::string name;
  std::int64_t index = 0;
};

bool is_adapter(std::string_view name) {
  return name.find(".lora_") != std::string_view::npos || name.ends_with(".ia3");
}

class PeftSteps {
 public:
  explicit PeftSteps(const std::string& name)
      : file_{presets::read_json_file(std::string{HEXAPLAN_SOURCE_DIR} + "/tests/golden/adapters/" + name +
                                      ".json")
                  .root},
        base_{*(*this)["model"].get_if<std::string>()},
        matrices_{matrices_of(base_.scenario({}))} {}

  [[nodiscard]] const JsonValue& operator[](std::string_view key) const { return *file_.find(key); }
  [[nodiscard]] const HfSteps& base() const { return base_; }
  /// IA³ instead of LoRA.
  [[nodiscard]] bool scales() const { return file_.find("rank") == nullptr; }
  [[nodiscard]] std::int64_t rank() const { return static_cast<std::int64_t>(number_in((*this)["rank"])); }
  [[nodiscard]] double scale_of(const std::string& tensor) const {
    return number_in(*(*this)["tensors"].find(tensor)->find("scale"));
  }

  [[nodiscard]] Scenario scenario(const Layout& layout) const {
    Scenario sc = base_.scenario(layout);
    if (const JsonValue* saved = file_.find("saved"); saved != nullptr)
      sc.recipe.saved_modules = word_of(presets::kSavedModulesNames, *saved);
    if (const JsonValue* bias = file_.find("bias"); bias != nullptr)
      sc.recipe.lora_bias = word_of(presets::kLoraBiasNames, *bias);
    if (scales()) {
      sc.recipe.fine_tune = costmodel::FineTune::Ia3;
      return sc;
    }
    const JsonValue* bits = file_.find("in_4_bits");
    sc.recipe.fine_tune = bits == nullptr ? costmodel::FineTune::Lora : costmodel::FineTune::Qlora;
    sc.recipe.double_quantization = bits != nullptr && *bits->get_if<std::string>() == "nf4-dq";
    sc.recipe.lora_rank = rank();
    sc.recipe.dora = file_.find("dora") != nullptr;
    if (const JsonValue* alpha = file_.find("alpha"); alpha != nullptr)
      sc.recipe.lora_alpha = static_cast<std::int64_t>(number_in(*alpha));
    sc.recipe.lora_targets = word_of(presets::kAdapterTargetNames, (*this)["targets"]);
    return sc;
  }

  /// The elements of a tensor that PEFT trains; 0: it trains none of that name.
  [[nodiscard]] std::size_t elements_of(const std::string& tensor) const {
    const JsonValue* found = (*this)["tensors"].find(tensor);
    if (found == nullptr) return 0;
    double elements = 1;
    for (const double side : numbers_in(*found->find("shape"))) elements *= side;
    return static_cast<std::size_t>(elements);
  }
  /// Where the checkpoint has an element of the model's own parameters; no name: they are padding.
  [[nodiscard]] PeftElement stored_in_model(int unit, std::string_view name, std::int64_t index) const {
    PeftElement out;
    base_.map().visit(layer_of(unit), name, index, 1, [&](const StoredRun& run) {
      out = {.name = base_.map().tensors()[run.tensor].name, .index = run.first};
    });
    return out;
  }
  /// Where PEFT has an element of what trains.
  [[nodiscard]] PeftElement stored(int unit, std::string_view name, std::int64_t index) const {
    return is_adapter(name) ? stored_beside(unit, name, index) : stored_in_model(unit, name, index);
  }
  /// Of an adapter: in the rows, or columns, in which the checkpoint has those of
  /// the matrix that it stands beside.
  [[nodiscard]] PeftElement stored_beside(int unit, std::string_view name, std::int64_t index) const {
    if (scales()) return stored_scale(unit, name, index);
    const auto layers = costmodel::adaptable_layers();
    const auto layer = std::ranges::find_if(layers, [&](const costmodel::AdaptableLayer& l) {
      return (l.a == name || l.b == name || l.m == name) &&
             matrices_.contains(std::string{name_of(l.matrix)});
    });
    const costmodel::ParameterTensor& matrix = matrices_.at(std::string{name_of(layer->matrix)});
    const bool first = layer->a == name, magnitude = layer->m == name;
    const std::int64_t columns = first ? matrix.cols : magnitude ? 1 : rank();
    const std::int64_t row = index / columns, column = index % columns;
    const std::int64_t part = layer->part * (matrix.rows / matrix.parts);
    const std::int64_t beside = first ? part * matrix.cols + column : (part + row) * matrix.cols;
    PeftElement out;
    base_.map().visit(unit, name_of(layer->matrix), beside, 1, [&](const StoredRun& run) {
      const presets::StoredTensor& tensor = base_.map().tensors()[run.tensor];
      const std::int64_t inputs = tensor.shape[1];
      const std::string_view side = first ? ".lora_A" : magnitude ? ".lora_magnitude_vector" : ".lora_B";
      out.name = fmt::format("{}{}.weight", tensor.name.substr(0, tensor.name.rfind(".weight")), side);
      out.index = first ? row * inputs + run.first % inputs : run.first / inputs * columns + column;
    });
    return out;
  }

  /// The same of IA³'s scales, which stand beside rows of a matrix, or its columns.
  [[nodiscard]] PeftElement stored_scale(int unit, std::string_view name, std::int64_t index) const {
    const auto layers = costmodel::scaled_layers();
    const auto layer = std::ranges::find(layers, name, &costmodel::ScaledLayer::name);
    const costmodel::ParameterTensor& matrix = matrices_.at(std::string{name_of(layer->matrix)});
    const bool inputs = matrix.ia3 == costmodel::Ia3Scale::Inputs;
    const std::int64_t row = layer->part * (matrix.rows / matrix.parts) + index;
    PeftElement out;
    base_.map().visit(unit, name_of(layer->matrix), inputs ? index : row * matrix.cols, 1,
                      [&](const StoredRun& run) {
                        const presets::StoredTensor& tensor = base_.map().tensors()[run.tensor];
                        const std::int64_t columns = tensor.shape[1];
                        out.name = tensor.name.substr(0, tensor.name.rfind(".weight")) + ".ia3_l";
                        out.index = inputs ? run.first % columns : run.first / columns;
                      });
    return out;
  }

  void load(const validator::RankView& view) const {
    set_parameters(view, [&](int unit, const std::string& name, std::int64_t index) {
      if (!is_adapter(name)) return base_.value(unit, name, index);
      const PeftElement at = stored(unit, name, index);
      return value_of(at);
    });
  }
  [[nodiscard]] double value_of(const PeftElement& at) const {
    const bool around_one = scales() || at.name.find("magnitude") != std::string::npos;
    return (around_one ? 1 : 0) + scale_of(at.name) * uniform(base_.seed(), stream_of_name(at.name),
                                                              static_cast<std::size_t>(at.index));
  }

  /// What the executor trains as PEFT names and orders it.
  using Tensors = std::map<std::string, std::vector<double>>;
  [[nodiscard]] Tensors stored(const GlobalState::Tensors& tensors) const {
    Tensors out;
    for (const auto& [key, values] : tensors) {
      for (std::size_t i = 0; i < values.size(); ++i) {
        const PeftElement at = stored(key.first, key.second, static_cast<std::int64_t>(i));
        const std::size_t elements = elements_of(at.name);
        if (elements == 0) continue;
        std::vector<double>& tensor = out[at.name];
        tensor.resize(elements);
        tensor.at(static_cast<std::size_t>(at.index)) = values[i];
      }
    }
    return out;
  }
  /// True for a parameter of which PEFT trains nothing.
  [[nodiscard]] bool is_frozen(int unit, std::string_view name) const {
    return elements_of(stored(unit, name, 0).name) == 0;
  }

 private:
  template <class E, std::size_t N>
  [[nodiscard]] static E word_of(const presets::Named<E> (&words)[N], const JsonValue& word) {
    return std::ranges::find(words, *word.get_if<std::string>(), &presets::Named<E>::name)->value;
  }
  using ModelMatrices = std::map<std::string, costmodel::ParameterTensor>;
  [[nodiscard]] static ModelMatrices matrices_of(const Scenario& sc) {
    std::vector<costmodel::ParameterTensor> tensors;
    append_layer_parameters(sc.model, costmodel::class_of_layer(sc.model, 0), tensors);
    ModelMatrices out;
    for (const costmodel::ParameterTensor& t : tensors) out.emplace(t.name, t);
    return out;
  }

  JsonValue file_;
  HfSteps base_;
  ModelMatrices matrices_;  // of a layer; the models here have equal ones
};

void expect_frozen_weights_as_before(const PeftSteps& golden, const Repeated& run) {
  for (const auto& [key, values] : run.before.tensors())
    EXPECT_EQ(values == run.master.tensors().at(key), golden.is_frozen(key.first, key.second)) << key.second;
}

void expect_steps_of_peft(const PeftSteps& golden, const Scenario& sc) {
  Repeated run;
  const HfSteps& base = golden.base();
  repeat_steps(
      base, sc, [&](const validator::RankView& rank) { golden.load(rank); }, run);
  const std::vector<double> losses = numbers_in(golden["losses"]),
                            norms = numbers_in(golden["gradient_norms"]);
  ASSERT_EQ(run.report.steps.size(), losses.size());
  for (std::size_t i = 0; i < losses.size(); ++i) {
    ASSERT_NEAR(run.report.steps[i].loss, losses[i], 10 * kOfLosses * losses[i]) << "step " << i + 1;
    ASSERT_NEAR(run.report.steps[i].gradient_norm, norms[i], kOfTensors * norms[i]) << "step " << i + 1;
  }
  expect_frozen_weights_as_before(golden, run);
  // m = (1 − β₁)·clipped gradient after the first step.
  const double clip = base.optimizer("clip");
  ASSERT_LT(clip, norms[0]) << "the step must clip";
  const double share = (1 - base.optimizer("beta1")) * clip / (norms[0] + 1e-6);
  PeftSteps::Tensors gradients = golden.stored(run.first_moment.tensors());
  PeftSteps::Tensors changes = golden.stored(run.master.tensors());
  const PeftSteps::Tensors before = golden.stored(run.before.tensors());
  EXPECT_EQ(changes.size(), golden["tensors"].get_if<presets::JsonObject>()->size());
  double trained = 0;
  for (auto& [name, change] : changes) {
    for (double& g : gradients[name]) g /= share;
    for (std::size_t i = 0; i < change.size(); ++i) change[i] -= before.at(name)[i];
    trained += static_cast<double>(change.size());
    const JsonValue* tensor = golden["tensors"].find(name);
    ASSERT_NE(tensor, nullptr) << name;
    expect_fingerprint(*tensor, base.seed(), name, "gradient", gradients[name], 1e-3 * norms[0]);
    expect_fingerprint(*tensor, base.seed(), name, "change", change, base.optimizer("learning_rate"));
  }
  EXPECT_EQ(trained, number_in(golden["trained"]));
}

struct NamedLayout {
  std::string_view name;
  Layout layout;
  RecomputeMode recompute = RecomputeMode::None;
};

const std::vector<NamedLayout>& layouts() {
  static const std::vector<NamedLayout> kLayouts{
      {"one rank", {}},
      {"dp 2", {.dp = 2}},
      {"tp 2", {.tp = 2}},
      {"tp 4, key-value heads on two ranks each", {.tp = 4}},
      {"tp 2 with sequence parallelism", {.tp = 2, .sp = true}},
      {"cp 2, ring", {.cp = 2}},
      {"cp 2, all to all", {.cp = 2, .context = ContextKind::AllToAll}},
      {"pp 2, two chunks", {.pp = 2, .vpp = 2, .schedule = ScheduleKind::Interleaved}},
      {"pp 2, ZB-H1", {.pp = 2, .schedule = ScheduleKind::ZbH1}},
      {"zero 1", {.dp = 2, .sharding = {.stage = 1}}},
      {"zero 2, pp 2", {.dp = 2, .pp = 2, .sharding = {.stage = 2}}},
      {"zero 3", {.dp = 4, .sharding = {.stage = 3}}},
      {"recompute full", {}, RecomputeMode::Full},
      {"recompute selective", {}, RecomputeMode::Selective},
      {"tp 2 sp pp 2, ZB-H1, recompute full",
       {.tp = 2, .pp = 2, .sp = true, .schedule = ScheduleKind::ZbH1},
       RecomputeMode::Full},
  };
  return kLayouts;
}

class steps_of_peft : public testing::TestWithParam<std::string> {};

TEST_P(steps_of_peft, are_repeated_on_every_layout) {
  const PeftSteps golden{GetParam()};
  int proved = 0, least = 11;
  for (const NamedLayout& named : layouts()) {
    Scenario sc = golden.scenario(named.layout);
    sc.recipe.recompute.mode = named.recompute;
    const bool in_4_bits = sc.recipe.fine_tune == costmodel::FineTune::Qlora;
    if (in_4_bits && named.layout.tp > 1) continue;  // parts of a matrix have other blocks
    if (sc.recipe.double_quantization) least = 10;   // … and ranks of ZeRO-3 other means
    if (costmodel::first_rejection(sc) || validator::first_not_executable(sc)) continue;
    SCOPED_TRACE(named.name);
    expect_steps_of_peft(golden, sc);
    if (HasFatalFailure()) return;
    ++proved;
  }
  EXPECT_GE(proved, least) << "one rank and as many layouts";
}

INSTANTIATE_TEST_SUITE_P(models, steps_of_peft,
                         testing::Values("llama", "llama_mlp", "qwen2_qv", "mistral_attention", "gemma2_qkv",
                                         "opt", "mistral_alpha", "dora_llama", "dora_qwen2_qv",
                                         "dora_gemma2_attention", "dora_opt", "qdora_phi", "qlora_stablelm",
                                         "qlora_phi", "qlora_llama", "qlora_llama_double", "qlora_phi_double",
                                         "ia3_llama", "ia3_qwen2", "ia3_gemma2", "ia3_opt", "bias_qwen2",
                                         "bias_opt", "bias_phi_mlp", "bias_dora_starcoder2", "saved_llama",
                                         "saved_mistral", "ia3_saved_mistral"),
                         [](const testing::TestParamInfo<std::string>& test) { return test.param; });

}  // namespace
}  // namespace hexaplan::tests
