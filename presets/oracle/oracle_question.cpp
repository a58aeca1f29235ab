#include "presets/oracle/oracle_question.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "costmodel/spec/rules.h"
#include "presets/frameworks/framework_preset.h"
#include "presets/json/input_error.h"
#include "presets/json/spec_names.h"
#include "presets/json/vocabulary.h"
#include "presets/models/model_dimensions.h"
#include "presets/models/model_text.h"
#include "presets/scenario/recipe_fields.h"

namespace hexaplan::presets {
namespace {

using costmodel::AdapterTargets;
using costmodel::AttentionKernel;
using costmodel::DType;
using costmodel::FineTune;
using costmodel::Layout;
using costmodel::Precision;
using costmodel::Recipe;
using costmodel::RecomputeMode;
using costmodel::Scenario;

constexpr std::string_view kQuestionSchema = "hexaplan/oracle-question/1";
constexpr std::string_view kOracleFramework = "hf-eager";
constexpr std::string_view kAnyGpu = "H100";  // its type changes nothing of what is compared

/// One of the scripts, what of a recipe and of a layout it runs, and how messages say so.
struct Script {
  OracleSteps steps;
  std::string_view word;  // of "steps" in the question
  Layout (*runnable)(const Layout&);
  std::string_view layouts;
  bool any_model = false;    // else Llama's layers
  bool single_type = false;  // runs fp32 throughout, too
  bool adapters = false;     // runs LoRA and IA³
  bool stored_scores = false;
  bool operators = false;    // recomputes operation by operation
  bool may_compile = false;  // the profile means compiled layers where a recipe says nothing
};

Layout of_one_gpu(const Layout& /*asked*/) {
  return {};
}
Layout of_replicas(const Layout& asked) {
  Layout l;
  l.dp = asked.dp;
  return l;
}
Layout of_shards(const Layout& asked) {
  Layout l = of_replicas(asked);
  l.tp = asked.tp;
  l.sp = asked.sp;
  l.sharding.stage = std::max(asked.sharding.stage, 2);
  l.sharding.group = asked.sharding.group;
  return l;
}

constexpr Script kScripts[] = {
    {.steps = OracleSteps::Transformers,
     .word = "transformers",
     .runnable = of_one_gpu,
     .layouts = "dp1: transformers' own model on one GPU",
     .any_model = true,
     .single_type = true,
     .adapters = true,
     .stored_scores = true},
    {.steps = OracleSteps::FullyShard,
     .word = "fully_shard",
     .runnable = of_shards,
     .layouts = "dp, tp and sp with fsdp, zero2 or hsdp",
     .operators = true,
     .may_compile = true},
    {.steps = OracleSteps::DataParallel,
     .word = "ddp",
     .runnable = of_replicas,
     .layouts = "dp alone, without ZeRO",
     .may_compile = true},
};

const Script& script_of(const ScenarioRequest& request) {
  const OracleSteps steps = find_framework_preset(framework_of(request)).oracle;
  const auto* const found = std::ranges::find(kScripts, steps, &Script::steps);
  if (found != std::end(kScripts)) return *found;
  throw InputError({.field = "--framework",
                    .value = request.framework,
                    .expected = "hf-eager, fsdp2, ddp or a profile that inherits one of them",
                    .hint = "no other framework's step runs without its GPUs"});
}

// --- what cannot be run ---

/// What of a recipe the script runs, by the key of its field.
struct Runs {
  std::string_view key;
  bool (*runs)(const Script&, const Recipe&);
  std::string_view what;
};
bool adapts(const Recipe& r) {
  return r.fine_tune == FineTune::Lora || r.fine_tune == FineTune::Ia3;
}
bool any(const Script& /*script*/, const Recipe& /*recipe*/) {
  return true;
}
constexpr Runs kRuns[] = {
    {"sequence", any, ""},
    {"micro_batch", any, ""},
    {"global_batch", any, ""},
    {"precision",
     [](const Script& s, const Recipe& r) {
       return r.precision == Precision::Bf16 || (s.single_type && r.precision == Precision::Fp32);
     },
     "bf16, or fp32 under hf-eager"},
    {"parameter_dtype",
     [](const Script&, const Recipe& r) {
       return !r.parameter_dtype || *r.parameter_dtype == DType::Bf16 || *r.parameter_dtype == DType::Fp32;
     },
     "bf16 or fp32"},
    {"optimizer", [](const Script&, const Recipe& r) { return r.optimizer == costmodel::Optimizer::AdamW; },
     "adamw"},
    {"recompute",
     [](const Script& s, const Recipe& r) {
       const RecomputeMode mode = r.recompute.mode;
       return mode == RecomputeMode::None || mode == RecomputeMode::Full ||
              (s.operators && mode == RecomputeMode::SelectiveOperators);
     },
     "none, full, or op under fsdp2"},
    {"attention",
     [](const Script& s, const Recipe& r) {
       return r.attention == AttentionKernel::Flash ||
              (s.stored_scores && r.attention == AttentionKernel::Unfused);
     },
     "flash, or unfused under hf-eager"},
    {"fine_tune",
     [](const Script& s, const Recipe& r) {
       return r.fine_tune == FineTune::Pretrain || r.fine_tune == FineTune::Full || (s.adapters && adapts(r));
     },
     "pretrain, full, or lora and ia3 under hf-eager"},
    {"lora_rank", [](const Script&, const Recipe& r) { return r.fine_tune == FineTune::Lora; },
     "--fine-tune lora beside it"},
    {"lora_alpha", [](const Script&, const Recipe& r) { return r.fine_tune == FineTune::Lora; },
     "--fine-tune lora beside it"},
    {"lora_targets", [](const Script&, const Recipe& r) { return r.fine_tune == FineTune::Lora; },
     "--fine-tune lora beside it"},
    {"lora_bias", [](const Script&, const Recipe& r) { return r.fine_tune == FineTune::Lora; },
     "--fine-tune lora beside it"},
    {"saved_modules", [](const Script&, const Recipe& r) { return r.fine_tune == FineTune::Lora; },
     "--fine-tune lora beside it"},
    {"dora", [](const Script&, const Recipe& r) { return r.fine_tune == FineTune::Lora; },
     "--fine-tune lora beside it"},
    {"compile", [](const Script&, const Recipe& r) { return !r.execution.compiled.value_or(false); },
     "false"},
};

/// Where its kernels are not installed, transformers runs recurrent layers operation by operation, which is
/// another step than the one that is predicted.
void refuse_model(const costmodel::ModelSpec& model) {
  if (!model.is_recurrent()) return;
  throw InputError(
      {.field = "--model",
       .value = in_quotes(model.name),
       .expected = "a model whose layers attend: recurrent layers are predicted as their fused kernels run "
                   "them, and without a GPU PyTorch runs others"});
}

void refuse_recipe(const Script& script, const Recipe& recipe) {
  for (const RecipeField& field : recipe_fields()) {
    const JsonValue said = field.write(recipe);
    if (said == field.write(Recipe{})) continue;
    const auto* const row = std::ranges::find(kRuns, field.key, &Runs::key);
    const bool known = row != std::end(kRuns);
    if (known && row->runs(script, recipe)) continue;
    throw InputError(
        {.field = std::string{field.flag.empty() ? field.key : field.flag},
         .value = to_text(said, JsonStyle::Compact),
         .expected = known ? std::string{row->what} : "its default: the scripts' step has none of it",
         .hint = known ? "the scripts run nothing else" : "leave it out"});
  }
}

void refuse_layout(const Script& script, const Scenario& sc) {
  if (const auto rejected = costmodel::first_rejection(sc)) {
    throw InputError({.field = "--layout",
                      .value = to_layout_text(sc.layout),
                      .expected = "a layout that can run: " + rejected->reason,
                      .hint = rejected->advice});
  }
  if (script.runnable(sc.layout) == sc.layout) return;
  throw InputError({.field = "--layout",
                    .value = to_layout_text(sc.layout),
                    .expected = std::string{script.layouts},
                    .hint = "the script of this framework runs no other"});
}

const std::string* text_at(const JsonValue& object, std::string_view key) {
  const JsonValue* found = object.find(key);
  return found == nullptr ? nullptr : found->get_if<std::string>();
}
bool is_on(const JsonValue& object, std::string_view key) {
  const JsonValue* found = object.find(key);
  const bool* on = found == nullptr ? nullptr : found->get_if<bool>();
  return on != nullptr && *on;
}

/// config.json as it is. InputError when there is none, or its layers are not those that the script has.
JsonValue config_for(const Script& script, const ScenarioRequest& request) {
  const auto* text = request.model.get_if<std::string>();
  if (text != nullptr && is_model_text(*text)) {
    throw InputError(
        {.field = "--model",
         .value = in_quotes(*text),
         .expected = "a preset or a config.json: PyTorch's layers are chosen by its model_type"});
  }
  JsonValue config = model_config(request.model);
  const std::string* kind = text_at(config, "model_type");
  const bool llama =
      kind != nullptr && *kind == "llama" && !is_on(config, "attention_bias") && !is_on(config, "mlp_bias");
  if (script.any_model || llama) return config;
  throw InputError({.field = "--model",
                    .value = kind == nullptr ? "no model_type" : *kind,
                    .expected =
                        "model_type llama without biases: the script of this framework has the layers "
                        "of torchtitan's Llama",
                    .hint = "--framework hf-eager runs every model of transformers"});
}

// --- the scripts' own words ---

constexpr Named<AdapterTargets> kTargets[] = {{"lora-all", AdapterTargets::AllLinear},
                                              {"lora-attention", AdapterTargets::Attention},
                                              {"lora-qkv", AdapterTargets::QueryKeyValue},
                                              {"lora-qv", AdapterTargets::QueryValue},
                                              {"lora-mlp", AdapterTargets::Mlp}};

JsonValue adapters_of(const Recipe& recipe) {
  if (!costmodel::trains_adapters(recipe)) return {};
  return recipe.fine_tune == FineTune::Ia3 ? "ia3" : name_in(kTargets, recipe.lora_targets);
}

std::int64_t alpha_of(const Recipe& recipe) {
  return recipe.lora_alpha > 0 ? recipe.lora_alpha : 2 * recipe.lora_rank;
}

/// Frozen weights have 16 bits unless it is said otherwise.
std::string_view weights_of(const Scenario& sc, const Script& script) {
  if (sc.recipe.precision == Precision::Fp32) return "fp32";
  const DType own = costmodel::trains_adapters(sc.recipe) ? DType::Bf16 : sc.framework.parameter_dtype;
  if (sc.recipe.parameter_dtype.value_or(own) == DType::Bf16) return "bf16";
  return script.any_model ? "autocast" : "fp32";
}

std::string_view recompute_of(const Recipe& recipe) {
  return recipe.recompute.mode == RecomputeMode::None   ? "none"
         : recipe.recompute.mode == RecomputeMode::Full ? "full"
                                                        : "op";
}

}  // namespace

ScenarioRequest with_oracle_defaults(ScenarioRequest request) {
  if (request.framework.empty()) request.framework = kOracleFramework;
  if (request.cluster.is_null())
    request.cluster = fmt::format("{}x{}", request.layout.layout.world_size(), kAnyGpu);
  if (script_of(request).may_compile && !request.recipe.execution.compiled)
    request.recipe.execution.compiled = false;
  return request;
}

JsonValue oracle_question(const ScenarioRequest& request, const Scenario& sc) {
  const Script& script = script_of(request);
  refuse_model(sc.model);
  refuse_recipe(script, sc.recipe);
  refuse_layout(script, sc);
  const Layout& l = sc.layout;
  JsonObject question{{"schema", kQuestionSchema},
                      {"steps", script.word},
                      {"config", config_for(script, request)},
                      {"sequence", sc.recipe.sequence},
                      {"batch", sc.recipe.micro_batch},
                      {"microbatches", sc.recipe.global_batch / (sc.recipe.micro_batch * l.dp)},
                      {"weights", weights_of(sc, script)},
                      {"attention", sc.recipe.attention == AttentionKernel::Flash ? "sdpa" : "eager"},
                      {"recompute", recompute_of(sc.recipe)},
                      {"adapters", adapters_of(sc.recipe)},
                      {"lora_rank", sc.recipe.lora_rank},
                      {"lora_alpha", alpha_of(sc.recipe)},
                      {"optimizer", "fused"},
                      {"world", l.world_size()},
                      {"tp", l.tp},
                      {"sp", l.sp},
                      {"replicas", std::int64_t{l.dp} / l.shard_ranks()},
                      {"sharding", script.steps == OracleSteps::DataParallel ? "ddp" : "fsdp"},
                      {"reshard", l.sharding.stage == 3},
                      {"units", sc.framework.gather_ends_for_whole_step ? "root" : "ends"},
                      {"bucket_view", sc.framework.gradients_view_buckets}};
  if (sc.recipe.dora) question.emplace_back("dora", true);
  if (sc.recipe.lora_bias != costmodel::TrainedBiases::None)
    question.emplace_back("lora_bias",
                          sc.recipe.lora_bias == costmodel::TrainedBiases::All ? "all" : "lora_only");
  if (sc.recipe.saved_modules != costmodel::SavedModules::None)
    question.emplace_back("saved_modules", name_in(kSavedModulesNames, sc.recipe.saved_modules));
  return question;
}

}  // namespace hexaplan::presets
