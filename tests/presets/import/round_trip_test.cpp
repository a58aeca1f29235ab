// What a plan's export says, import reads back: random plans, every target.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "costmodel/memory/saved_rule.h"
#include "costmodel/spec/optimizer_traits.h"
#include "costmodel/spec/rules.h"
#include "costmodel/spec/stage_plan.h"
#include "costmodel/step/estimate.h"
#include "presets/calibration/find_calibration.h"
#include "presets/catalog/catalog.h"
#include "presets/import/import_plan.h"
#include "presets/json/input_error.h"
#include "presets/launch/launch_fields.h"
#include "presets/launch/launch_readers.h"

namespace hexaplan::presets {
namespace {

using costmodel::Scenario;

template <class T>
const T& one_of(std::mt19937& random, const std::vector<T>& values) {
  return values[random() % values.size()];
}

struct Question {
  ScenarioRequest request;
  std::string cluster;
};

/// A question of fine-tuning: what a trainer above Hugging Face's Trainer runs.
Question random_fine_tuning(std::mt19937& random, const LaunchFormat& format) {
  Question question;
  question.cluster = std::to_string(8 << (random() % 3)) + "xH100";
  ScenarioRequest& request = question.request;
  request.model = one_of<std::string>(
      random, {"llama-3.1-8b", "llama-2-7b", "qwen2.5-7b", "qwen3-8b", "mistral-7b", "mixtral-8x7b"});
  request.cluster = question.cluster;
  request.framework = one_of<std::string>(random, {"hf-eager", "fsdp2", "fsdp1", "deepspeed"});
  request.layout = parse_layout(
      one_of<std::string>(random, {"zero0", "zero1", "zero2", "zero3", "zero3", "hsdp8", "hpz8 zero3"}),
      "layout");
  costmodel::Recipe& recipe = request.recipe;
  recipe.sequence = one_of<std::int64_t>(random, {2048, 4096, 8192});
  recipe.global_batch = one_of<std::int64_t>(random, {64, 256});
  recipe.micro_batch = one_of<std::int64_t>(random, {1, 1, 2, 4});
  using costmodel::Precision;
  recipe.precision =
      one_of<Precision>(random, {Precision::Bf16, Precision::Bf16, Precision::Bf16, Precision::Fp16,
                                 Precision::Fp32, Precision::Tf32, Precision::Fp8});
  using costmodel::FineTune;
  recipe.fine_tune = one_of<FineTune>(random, {FineTune::Full, FineTune::Full, FineTune::Lora,
                                               FineTune::Qlora, FineTune::Lora8bit, FineTune::Ia3});
  if (recipe.fine_tune != FineTune::Full && recipe.fine_tune != FineTune::Ia3) {
    recipe.double_quantization = recipe.fine_tune == FineTune::Qlora && random() % 2 == 0;
    recipe.lora_rank = one_of<std::int64_t>(random, {8, 16, 64});
    recipe.lora_alpha = one_of<std::int64_t>(random, {0, 12, 1000});
    recipe.dora = request.framework != "deepspeed" && random() % 4 == 0;
    using costmodel::SavedModules;
    if (request.framework == "hf-eager" && random() % 3 == 0)
      recipe.saved_modules =
          one_of<SavedModules>(random, {SavedModules::Embedding, SavedModules::Head, SavedModules::Both});
    using costmodel::AdapterTargets;
    recipe.lora_targets = one_of<AdapterTargets>(
        random, {AdapterTargets::AllLinear, AdapterTargets::AllLinear, AdapterTargets::Attention,
                 AdapterTargets::QueryKeyValue, AdapterTargets::QueryValue, AdapterTargets::Mlp});
  }
  if (random() % 3 == 0)
    recipe.parameter_dtype = one_of<costmodel::DType>(
        random, {costmodel::DType::Bf16, costmodel::DType::Bf16, costmodel::DType::Fp32});
  using costmodel::RecomputeMode;
  recipe.recompute.mode =
      one_of<RecomputeMode>(random, {RecomputeMode::None, RecomputeMode::Full, RecomputeMode::Selective});
  using costmodel::Optimizer;
  recipe.optimizer = one_of<Optimizer>(
      random, {Optimizer::AdamW, Optimizer::AdamW, Optimizer::AdamW8bit, Optimizer::Adafactor,
               Optimizer::Lion, Optimizer::Sgd, Optimizer::Muon, Optimizer::Galore, Optimizer::Galore8bit,
               Optimizer::Apollo, Optimizer::ApolloMini});
  if (costmodel::traits_of(recipe.optimizer).projects()) {
    recipe.projection_rank = one_of<std::int64_t>(random, {0, 8, 256});
    recipe.projection_interval = one_of<std::int64_t>(random, {0, 50});
    // Shards and adapters have no gradients of whole matrices.
    request.framework = "hf-eager";
    request.layout = parse_layout("zero0", "layout");
    recipe.fine_tune = FineTune::Full;
    recipe.lora_rank = recipe.lora_alpha = 0;
    recipe.lora_targets = costmodel::AdapterTargets::AllLinear;
    recipe.dora = recipe.double_quantization = false;
    recipe.saved_modules = costmodel::SavedModules::None;
  }
  if (random() % 3 == 0)
    recipe.offload = one_of<std::uint8_t>(
        random,
        {costmodel::kOffloadOptimizer, costmodel::kOffloadParameters, costmodel::kOffloadActivations});
  using costmodel::AttentionKernel;
  recipe.attention =
      one_of<AttentionKernel>(random, {AttentionKernel::Flash, AttentionKernel::Flash,
                                       AttentionKernel::FlashAttention2, AttentionKernel::Unfused});
  if (random() % 4 == 0) recipe.execution.compiled = random() % 2 == 0;
  using costmodel::CrossEntropy;
  if (format.launcher == Launcher::Trl || random() % 4 == 0) recipe.cross_entropy = CrossEntropy::Chunked;
  if (random() % 4 == 0) recipe.tokens = recipe.sequence * recipe.global_batch * 1000;
  return question;
}

/// What an export to this framework says everything of.
ScenarioRequest plain_question(const LaunchFormat& format) {
  ScenarioRequest plain;
  plain.model = "llama-2-7b";
  plain.cluster = "8xH100";
  plain.framework = format.profile;
  // MaxText cannot keep everything.
  if (format.launcher == Launcher::MaxText) plain.recipe.recompute.mode = costmodel::RecomputeMode::Full;
  // torchtitan replicates with DDP, which is another profile.
  if (format.launcher == Launcher::Torchtitan) plain.layout = parse_layout("zero3", "layout");
  // … and has flavors of its models.
  if (format.launcher == Launcher::Torchtitan) plain.model = "qwen3-8b";
  // DeepSpeed hides no reductions where it shards nothing.
  if (format.launcher == Launcher::DeepSpeed) plain.layout = parse_layout("zero3", "layout");
  if (!is_trainer(format.launcher)) return plain;
  plain.recipe.fine_tune = costmodel::FineTune::Full;
  plain.recipe.parameter_dtype = costmodel::DType::Bf16;
  plain.recipe.cross_entropy = costmodel::CrossEntropy::Chunked;
  return plain;
}

/// A question as people ask it; many break a rule.
Question random_question(std::mt19937& random, const LaunchFormat& format) {
  static const std::vector<std::string> all = list_presets(PresetKind::Model);
  std::vector<std::string> models = all;
  if (format.launcher == Launcher::Nanotron)  // it has no others
    std::erase_if(models, [](const std::string& name) {
      return !name.starts_with("llama") && !name.starts_with("qwen2.5");
    });
  if (format.launcher == Launcher::Torchtitan)  // it has a flavor of most of these
    std::erase_if(models, [](const std::string& name) {
      return !name.starts_with("llama-3.1") && !name.starts_with("qwen3") && !name.starts_with("gpt-oss");
    });
  const int gpus = 8 << (random() % 4);
  const auto degree = [&] { return 1 << one_of<int>(random, {0, 0, 0, 1, 2, 3}); };
  std::string words;
  const auto add = [&](const std::string& word) { words += word + " "; };
  const int tp = degree(), pp = degree(), cp = one_of<int>(random, {1, 1, 1, 1, 2, 4});
  add("tp" + std::to_string(tp)), add("pp" + std::to_string(pp)), add("cp" + std::to_string(cp));
  if (tp > 1 && random() % 6 != 0) add("sp");
  add(one_of<std::string>(random, {"zero0", "zero1", "zero1", "zero2", "zero3", "fsdp", "hsdp8"}));
  if (pp > 1)
    add(one_of<std::string>(random, {"1f1b", "1f1b", "1f1b", "vpp2 interleaved", "embedding-counts",
                                     "compute-cost", "gpipe", "zb-v", "zb-h1"}));
  if (cp > 1) add(one_of<std::string>(random, {"ring", "allgather", "alltoall"}));
  if (random() % 3 == 0) add("ep" + std::to_string(2 << (random() % 3)));
  Question question;
  question.cluster = std::to_string(gpus) + "xH100";
  ScenarioRequest& request = question.request;
  request.model = one_of(random, models);
  request.cluster = question.cluster;
  request.framework = format.profile;
  request.layout = parse_layout(words, "layout");
  request.recipe.sequence = one_of<std::int64_t>(random, {2048, 4096, 8192});
  request.recipe.global_batch = one_of<std::int64_t>(random, {64, 256, 512});
  request.recipe.micro_batch = one_of<std::int64_t>(random, {1, 1, 2, 4});
  using costmodel::Precision;
  request.recipe.precision = one_of<Precision>(
      random, {Precision::Bf16, Precision::Bf16, Precision::Bf16, Precision::Bf16, Precision::Bf16,
               Precision::Fp16, Precision::Fp32, Precision::Fp8, Precision::Fp8Block, Precision::Mxfp8});
  using costmodel::RecomputeMode;
  request.recipe.recompute.mode = one_of<RecomputeMode>(
      random, {RecomputeMode::None, RecomputeMode::None, RecomputeMode::None, RecomputeMode::Full,
               RecomputeMode::Full, RecomputeMode::Selective, RecomputeMode::SelectiveOperators,
               RecomputeMode::Layers, RecomputeMode::SelectiveModules});
  if (request.recipe.recompute.mode == RecomputeMode::Layers) request.recipe.recompute.layers = 2;
  if (request.recipe.recompute.mode == RecomputeMode::SelectiveModules)
    request.recipe.recompute.modules = costmodel::kRecomputeMlp | costmodel::kRecomputeNorm;
  using costmodel::Optimizer;
  request.recipe.optimizer =
      one_of<Optimizer>(random, {Optimizer::AdamW, Optimizer::AdamW, Optimizer::AdamW, Optimizer::AdamW,
                                 Optimizer::Sgd, Optimizer::Lion, Optimizer::Muon});
  using costmodel::DType;
  if (request.recipe.optimizer == Optimizer::AdamW && random() % 8 == 0)
    request.recipe.moment_dtype = one_of<DType>(random, {DType::Bf16, DType::Fp16, DType::Fp8});
  if (random() % 8 == 0)
    request.recipe.offload = one_of<std::uint8_t>(
        random,
        {costmodel::kOffloadOptimizer, costmodel::kOffloadParameters, costmodel::kOffloadActivations});
  if (request.recipe.offload == costmodel::kOffloadOptimizer && random() % 2 == 0)
    request.recipe.offload_fraction = 0.5;
  if (format.launcher == Launcher::DeepSpeed && random() % 2 == 0)
    request.recipe.sizes = {.reduce_bucket = 200'000'000};
  if (format.launcher == Launcher::DeepSpeed && request.layout.layout.sharding.stage == 3 &&
      random() % 2 == 0)
    request.recipe.sizes = {
        .prefetch = 0, .live = 300'000'000, .reuse = 0, .persistent = 1'000'000, .update_group = 100'000'000};
  if (request.recipe.offload == costmodel::kOffloadActivations) request.recipe.offload_layers = 2;
  using costmodel::CudaGraphs;
  if (format.launcher == Launcher::Megatron && random() % 4 == 0)
    request.recipe.execution.graphs =
        one_of<CudaGraphs>(random, {CudaGraphs::None, CudaGraphs::Partial, CudaGraphs::FullIteration});
  if (random() % 8 == 0) request.recipe.dropout = 0.1;
  if (random() % 8 == 0) {
    request.recipe.routing.capacity_factor = 1.25;
    request.recipe.routing.pad_to_capacity = random() % 2 == 0;
  }
  if (random() % 4 == 0) request.recipe.tokens = request.recipe.sequence * request.recipe.global_batch * 1000;
  if (random() % 8 == 0)
    request.recipe.gradient_dtype =
        one_of<costmodel::DType>(random, {costmodel::DType::Fp32, costmodel::DType::Bf16});
  return question;
}

std::optional<Scenario> accepted(const ScenarioRequest& request, Launcher launcher) {
  try {
    Scenario scenario = resolve(request).scenario;
    if (costmodel::first_rejection(scenario) || launch_rejection(scenario, launcher)) return std::nullopt;
    return scenario;
  } catch (const InputError&) {
    return std::nullopt;
  }
}

/// The lines that say something.
std::string settings_in(const std::string& text) {
  std::string lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    if (text[begin] != '#') lines += text.substr(begin, end - begin) + "\n";
    begin = end + 1;
  }
  return lines;
}

/// Two scenarios that say the same may write it differently.
Scenario normal(Scenario s) {
  if (s.layout.pp > 1 && s.layout.split != costmodel::StageSplit::Explicit) {
    s.layout.stage_layers = costmodel::chunk_layers(s);
    s.layout.split = costmodel::StageSplit::Explicit;
  }
  Scenario unsaid = s;
  unsaid.recipe.gradient_dtype.reset();
  if (s.recipe.gradient_dtype == gradient_dtype(unsaid)) s.recipe.gradient_dtype.reset();
  if (s.layout.etp == 0 && s.model.is_moe()) s.layout.etp = s.layout.tp;
  if (!s.model.is_moe()) s.layout.etp = 0;
  if (!s.model.is_moe()) s.recipe.routing = {};
  if (s.layout.dp * s.layout.cp == 1) s.layout.sharding = {};
  if (s.layout.shard_ranks() == s.layout.dp * s.layout.cp) s.layout.sharding.group = 0;
  if (s.layout.cp == 1) s.layout.context = costmodel::ContextKind::Ring;
  s.recipe.execution.compiled = costmodel::compiles_layers(s);
  if (!stores_scores(s.recipe.attention) &&
      attention_library(s) == costmodel::AttentionLibrary::FlashAttention2)
    s.recipe.attention = costmodel::AttentionKernel::FlashAttention2;
  return s;
}

/// Layout and recipe in words, for messages.
std::string words_of(const Scenario& s) {
  return to_text(to_json(ScenarioRequest{.model = {},
                                         .cluster = {},
                                         .framework = {},
                                         .calibration = {},
                                         .fabric = {},
                                         .layout = {s.layout, true},
                                         .recipe = s.recipe,
                                         .price_per_hour = {}}));
}

/// What names the profile that runs a file in place of the plan's.
bool names_other_profile(const LaunchConfig& written) {
  return std::ranges::any_of(written.gaps,
                             [](const std::string& gap) { return gap.starts_with("profile "); });
}

/// A plan costs what its file read again costs, or the file says whose kernels run instead.
void expect_same_price(const Scenario& plan, const Scenario& again, const LaunchConfig& written) {
  if (names_other_profile(written)) {
    EXPECT_NE(plan.framework.name, again.framework.name);
    EXPECT_TRUE(std::ranges::any_of(written.gaps, [&](const std::string& gap) {
      return gap.find("--framework " + again.framework.name) != std::string::npos;
    })) << again.framework.name;
    return;
  }
  EXPECT_EQ(plan.framework.name, again.framework.name);
  const costmodel::Calibration calibration = find_calibration(plan.cluster.gpu);
  const costmodel::Estimate a = estimate_step(plan, calibration), b = estimate_step(again, calibration);
  EXPECT_DOUBLE_EQ(a.time.total().value(), b.time.total().value());
  ASSERT_EQ(a.stages.size(), b.stages.size());
  for (std::size_t s = 0; s < a.stages.size(); ++s)
    EXPECT_DOUBLE_EQ(a.stages[s].device.value(), b.stages[s].device.value()) << "stage " << s;
}

class RoundTrip : public testing::TestWithParam<const LaunchFormat*> {};

TEST_P(RoundTrip, import_reads_what_export_wrote) {
  const LaunchFormat& format = *GetParam();
  std::mt19937 random{7};
  const std::size_t usual_gaps =
      launch_gaps(resolve(plain_question(format)).scenario, format.launcher).size();
  int asked = 0, complete = 0, failures = 0;
  for (int draw = 0; draw < 8000 && complete < 60; ++draw) {
    const Question question =
        is_trainer(format.launcher) ? random_fine_tuning(random, format) : random_question(random, format);
    const auto plan = accepted(question.request, format.launcher);
    if (!plan) continue;
    ++asked;
    const LaunchConfig written = launch_config(*plan, format);
    SCOPED_TRACE(written.text);
    const ImportedPlan read = import_plan({{std::string{format.file}, written.text}}, question.cluster);
    for (const ImportedSetting& setting : read.settings)
      ASSERT_NE(setting.fate, SettingFate::Unknown)
          << setting.key << " " << setting.value << ": " << setting.why;
    ScenarioRequest request = read.request;
    if (request.model.is_null()) request.model = question.request.model;
    if (request.recipe.sequence == 0) request.recipe.sequence = question.request.recipe.sequence;
    if (format.launcher == Launcher::DeepSpeed) request.recipe.tokens = question.request.recipe.tokens;
    // What is not said cannot be read; delayed scaling is said, and planned alike.
    const bool scales =
        plan->recipe.precision == costmodel::Precision::Fp8 && plan->framework.name == "megatron";
    const bool other_profile = names_other_profile(written);
    if (written.gaps.size() > usual_gaps + (scales ? 1 : 0) + (other_profile ? 1 : 0)) continue;
    ++complete;
    const Scenario again = resolve(request).scenario;
    EXPECT_EQ(settings_in(launch_config(again, format).text), settings_in(written.text));
    const Scenario a = normal(*plan), b = normal(again);
    EXPECT_EQ(words_of(a), words_of(b));
    EXPECT_TRUE(a.layout == b.layout);
    EXPECT_TRUE(a.recipe == b.recipe);
    EXPECT_TRUE(a.model == b.model) << a.model.name << " was read as " << b.model.name;
    expect_same_price(*plan, again, written);
    failures += HasFailure() ? 1 : 0;
    if (HasFailure()) break;
  }
  if (failures > 0) return;
  EXPECT_EQ(complete, 60) << "of " << asked;
}

std::vector<const LaunchFormat*> all_formats() {
  std::vector<const LaunchFormat*> formats;
  for (const LaunchFormat& format : launch_formats()) formats.push_back(&format);
  return formats;
}
INSTANTIATE_TEST_SUITE_P(launch, RoundTrip, testing::ValuesIn(all_formats()),
                         [](const auto& each) { return std::string{each.param->name}; });

}  // namespace
}  // namespace hexaplan::presets
