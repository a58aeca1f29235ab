#include "cli/commands/finetune.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "costmodel/program/not_modelled.h"
#include "costmodel/spec/optimizer_traits.h"
#include "costmodel/spec/rules.h"
#include "presets/json/spec_names.h"
#include "presets/json/vocabulary.h"
#include "presets/launch/launch_config.h"
#include "presets/scenario/recipe_fields.h"

namespace hexaplan::cli {

using planner::Plan;
using presets::ScenarioRequest;

namespace {

// All run transformers' layers; what differs is who shards and offloads their states.
constexpr std::string_view kProfiles[] = {"hf-deepspeed", "hf-eager", "hf-fsdp2"};
using Profiles = std::span<const std::string_view>;
constexpr Profiles kDeepSpeed = Profiles{kProfiles}.subspan(0, 1);
constexpr Profiles kWholeOrSharded = Profiles{kProfiles}.subspan(1, 2);
constexpr Profiles kWhole = Profiles{kProfiles}.subspan(1, 1);
constexpr Profiles kFsdp = Profiles{kProfiles}.subspan(2, 1);

// What people try, roughly from the most memory to the least. Optimizers are offloaded by DeepSpeed
// (accelerate and the trainers above it configure its offload_optimizer and offload_param), frozen weights by
// FSDP (AnswerDotAI/fsdp_qlora@02fe695 README.md: --use_cpu_offload true, Llama-2 70B on two GPUs of 24 GB).
// Parameters are offloaded under ZeRO-3 alone, on one GPU, too. LoRA beside a base in 8 bits is left out: its
// time is an estimate that no measurement stands behind (docs/formulas.md, T12), and the fastest wins here.
constexpr FinetuneMethod kMethods[] = {
    {.name = "full", .fine_tune = "full", .profiles = kWholeOrSharded},
    {.name = "full, 8-bit AdamW",
     .fine_tune = "full",
     .profiles = kWholeOrSharded,
     .optimizer = "adamw-8bit"},
    // Sharded by FSDP2 where precision is not mixed, which the exports say.
    {.name = "full, all in bf16",
     .fine_tune = "full",
     .profiles = kWholeOrSharded,
     .field = "parameter_dtype",
     .value = "bf16"},
    {.name = "full, all in bf16, 8-bit AdamW",
     .fine_tune = "full",
     .profiles = kWholeOrSharded,
     .optimizer = "adamw-8bit",
     .field = "parameter_dtype",
     .value = "bf16"},
    // Gradients of whole matrices are projected: hiyouga/LLaMA-Factory@ff6d4d1 examples/extras/galore,
    // apollo.
    {.name = "full, all in bf16, 8-bit GaLore",
     .fine_tune = "full",
     .profiles = kWhole,
     .optimizer = "galore-8bit",
     .field = "parameter_dtype",
     .value = "bf16"},
    {.name = "full, all in bf16, APOLLO",
     .fine_tune = "full",
     .profiles = kWhole,
     .optimizer = "apollo",
     .field = "parameter_dtype",
     .value = "bf16"},
    {.name = "full, optimizer offloaded",
     .fine_tune = "full",
     .profiles = kDeepSpeed,
     .offload = "optimizer",
     .zero = "2,3"},
    {.name = "full, optimizer and parameters offloaded",
     .fine_tune = "full",
     .profiles = kDeepSpeed,
     .offload = "optimizer,params",
     .zero = "3"},
    {.name = "LoRA", .fine_tune = "lora", .profiles = kWholeOrSharded},
    {.name = "LoRA, optimizer and parameters offloaded",
     .fine_tune = "lora",
     .profiles = kFsdp,
     .offload = "optimizer,params",
     .zero = "3"},
    {.name = "QLoRA", .fine_tune = "qlora", .profiles = kWholeOrSharded},
    {.name = "QLoRA, 8-bit AdamW",
     .fine_tune = "qlora",
     .profiles = kWholeOrSharded,
     .optimizer = "adamw-8bit"},
    {.name = "QLoRA, double quantisation",
     .fine_tune = "qlora",
     .profiles = kWholeOrSharded,
     .field = "double_quantization",
     .value = "true"},
    {.name = "QLoRA, optimizer and parameters offloaded",
     .fine_tune = "qlora",
     .profiles = kFsdp,
     .offload = "optimizer,params",
     .zero = "3"},
};

// What trainers' examples use.
constexpr std::int64_t kUsualSequence = 2048;
constexpr std::int64_t kUsualBatch = 16;
constexpr std::string_view kTrainers[] = {"axolotl", "trl", "llamafactory"};

/// The question that all methods share.
struct Asked {
  ScenarioRequest request;
  std::vector<std::string> notes;
  std::string framework;  // asked for; empty: those of the methods
  std::int64_t gpus = 0;
  std::shared_ptr<presets::PresetMemory> memory = std::make_shared<presets::PresetMemory>();
};

bool says_precision(const ScenarioOptions& question) {
  const auto typed = std::find_if(question.recipe.begin(), question.recipe.end(),
                                  [](const auto& field) { return field.key == "precision"; });
  return !question.scenario.empty() || !question.from.empty() || question.request ||
         (typed != question.recipe.end() && !typed->text.empty());
}

/// Fills in what nobody said. A batch that was not given divides over the GPUs.
void fill_in(const costmodel::Scenario& on, bool precision_said, Asked& asked) {
  costmodel::Recipe& recipe = asked.request.recipe;
  if (recipe.sequence == 0) {
    recipe.sequence = kUsualSequence;
    if (on.model.max_positions > 0) recipe.sequence = std::min(recipe.sequence, on.model.max_positions);
    asked.notes.push_back(fmt::format("sequence length not given: {} tokens", recipe.sequence));
  }
  if (recipe.global_batch == 0) {
    recipe.global_batch = (kUsualBatch + asked.gpus - 1) / asked.gpus * asked.gpus;
    asked.notes.push_back(fmt::format("global batch not given: {} sequences", recipe.global_batch));
  }
  using costmodel::Precision;
  const auto has = [&](Precision precision) { return on.cluster.gpu.peak_of(precision).value() > 0; };
  if (precision_said || has(recipe.precision) || !has(Precision::Fp16)) return;
  asked.notes.push_back(fmt::format("precision not given: fp16, {} has no units for {}", on.cluster.gpu.name,
                                    presets::name_in(presets::kPrecisionNames, recipe.precision)));
  recipe.precision = Precision::Fp16;
}

Asked asked_by(const FinetuneOptions& options) {
  ScenarioOptions question = options.question;
  if (!options.gpu.empty())
    question.cluster = fmt::format("{}x{}", options.gpus.empty() ? "1" : options.gpus, options.gpu);
  Asked asked{.framework = question.framework};
  asked.request = read_request(question, &asked.notes);
  asked.request.layout = {};
  const costmodel::Scenario on = resolve_request(asked.request, question).scenario;
  asked.gpus = on.cluster.gpus;
  fill_in(on, says_precision(question), asked);
  return asked;
}

bool says(const ScenarioRequest& request, std::string_view key) {
  return presets::recipe_field(key).write(request.recipe) != presets::recipe_field(key).write({});
}

/// Of a framework that was asked for; the methods' own can.
bool can_offload(const FinetuneMethod& method, const Asked& asked) {
  if (asked.framework.empty() || method.offload.empty()) return true;
  const bool parameters = method.offload.find("params") != std::string_view::npos;
  const int needed = parameters ? costmodel::kOffloadParameters : costmodel::kOffloadOptimizer;
  return (presets::look_up_framework(asked.framework).abilities.offload & needed) != 0;
}

bool projects(const FinetuneMethod& method) {
  costmodel::Recipe recipe;
  if (!method.optimizer.empty())
    presets::set_recipe_field(recipe, "optimizer", "optimizer", std::string{method.optimizer});
  return costmodel::traits_of(recipe.optimizer).projects();
}
/// The same of optimizers that project gradients.
bool can_project(const FinetuneMethod& method, const Asked& asked) {
  return asked.framework.empty() || !projects(method) ||
         presets::look_up_framework(asked.framework).abilities.low_rank;
}

/// False for what the question says anyhow, and for weights in bf16 where nothing computes in it.
bool applies(const FinetuneMethod& method, const Asked& asked) {
  if (!can_offload(method, asked) || !can_project(method, asked)) return false;
  if (method.field.empty()) return true;
  if (method.field == "parameter_dtype" &&
      costmodel::activation_dtype(asked.request.recipe.precision) != costmodel::DType::Bf16)
    return false;
  return !says(asked.request, method.field);
}

/// Those of a method that make sense: one GPU shards nothing. A framework that was asked for runs all
/// methods.
std::vector<std::string_view> profiles_of(const FinetuneMethod& method, const Asked& asked) {
  if (!asked.framework.empty()) return {asked.framework};
  const Profiles some = asked.gpus == 1 ? method.profiles.first(1) : method.profiles;
  return {some.begin(), some.end()};
}

/// The question of one method: what trainers above Hugging Face's Trainer can be told.
SearchOptions search_of(const Asked& asked, const FinetuneMethod& method, const FinetuneOptions& options) {
  SearchOptions search;
  ScenarioRequest request = asked.request;
  const auto set = [&](std::string_view key, std::string_view value) {
    if (!value.empty()) presets::set_recipe_field(request.recipe, key, key, value);
  };
  set("fine_tune", method.fine_tune);
  set("optimizer", method.optimizer);
  if (!projects(method)) request.recipe.projection_rank = request.recipe.projection_interval = 0;
  request.recipe.precondition_frequency = request.recipe.max_precondition_dim = 0;
  request.recipe.offload = 0;
  set("offload", method.offload);
  set(method.field, method.value);
  search.question.request = std::move(request);
  search.question.memory = asked.memory;
  for (const char* degree : {"--tp", "--pp", "--cp", "--ep", "--vpp"})
    search.dimensions.push_back({degree, "1"});
  search.dimensions.push_back({"--shard-group", "0"});
  search.dimensions.push_back({"--recompute", "none,full"});
  if (method.offload.empty()) search.dimensions.push_back({"--offload", "none"});
  if (!method.zero.empty()) search.dimensions.push_back({"--zero", std::string{method.zero}});
  search.top = "1";
  search.max_risk = options.max_risk;
  return search;
}

const Plan& plan_of(const FinetuneAnswer& answer) {
  return answer.search.ranking.plans.front().plan;
}
costmodel::Seconds step_of(const FinetuneAnswer& answer) {
  return plan_of(answer).price.step;
}

/// Without changes that would make it fit: the other methods are those.
FinetuneAnswer search_by(const SearchOptions& search, const FinetuneMethod& method) {
  FinetuneAnswer answer{.method = method, .search = read_search(search)};
  answer.search.ranking = planner::search(answer.search.problem);
  return answer;
}

/// The fastest plan of all profiles; where none has one, what the last says, which shards most.
FinetuneAnswer best_of(const std::vector<std::string_view>& profiles, SearchOptions search,
                       const FinetuneMethod& method) {
  std::optional<FinetuneAnswer> best;
  for (const std::string_view profile : profiles) {
    search.question.framework = profile;
    FinetuneAnswer answer = search_by(search, method);
    const bool better = !best || !best->fits() || (answer.fits() && step_of(answer) < step_of(*best));
    if (better) best = std::move(answer);
  }
  return std::move(*best);
}

/// True where the last limit that candidates got to is about the device's memory.
bool is_short_of_memory(const FinetuneAnswer& answer) {
  if (answer.fits()) return false;
  const std::string why = planner::reason_for_nothing(answer.search.ranking);
  return why.starts_with("fits-in-memory:") || why.starts_with("max-risk:");
}

FinetuneAnswer answer_of(const FinetuneMethod& method, const Asked& asked, const FinetuneOptions& options) {
  const std::vector<std::string_view> profiles = profiles_of(method, asked);
  SearchOptions search = search_of(asked, method, options);
  FinetuneAnswer plain = best_of(profiles, search, method);
  if (!is_short_of_memory(plain) || says(asked.request, "cross_entropy")) return plain;
  search.question.request->recipe.cross_entropy = costmodel::CrossEntropy::Chunked;
  FinetuneAnswer chunked = best_of(profiles, search, method);
  chunked.loss_in_chunks = true;
  return chunked;
}

/// Fastest first; what does not fit last, in the methods' order.
bool ranks_before(const FinetuneAnswer& a, const FinetuneAnswer& b) {
  if (!a.fits() || !b.fits()) return a.fits() && !b.fits();
  return step_of(a) < step_of(b);
}

costmodel::Scenario scenario_of(const FinetuneAnswer& answer) {
  return answer.fits() ? planner::scenario_of(answer.search.problem, plan_of(answer))
                       : answer.search.question.scenario;
}

std::vector<std::string> idle_words(const costmodel::Scenario& scenario) {
  std::vector<std::string> notes;
  for (const costmodel::KnobNote& word : words_without_effect(scenario))
    notes.push_back(presets::note_without_effect(word));
  return notes;
}

bool contains(const std::vector<std::string>& notes, const std::string& note) {
  return std::find(notes.begin(), notes.end(), note) != notes.end();
}

/// What the methods assume, each once, and the words that change nothing in any of them.
std::vector<std::string> notes_of(const FinetuneReport& report, std::vector<std::string> notes) {
  std::vector<std::string> idle = idle_words(scenario_of(report.answers.front()));
  for (const FinetuneAnswer& answer : report.answers) {
    const std::vector<std::string> asked = idle_words(answer.search.question.scenario);
    for (const std::string& note : answer.search.question.notes) {
      if (!contains(asked, note) && !contains(notes, note)) notes.push_back(note);
    }
    const std::vector<std::string> here = idle_words(scenario_of(answer));
    std::erase_if(idle, [&](const std::string& note) { return !contains(here, note); });
  }
  notes.insert(notes.end(), idle.begin(), idle.end());
  return notes;
}

std::vector<std::string_view> trainers_of(const FinetuneAnswer& answer) {
  std::vector<std::string_view> trainers;
  if (!answer.fits()) return trainers;
  costmodel::Scenario scenario = scenario_of(answer);
  if (costmodel::first_rejection(scenario)) return trainers;
  for (const std::string_view name : kTrainers) {
    const presets::LaunchFormat& format = presets::find_launch_format(name);
    if (runs_profile(format, scenario.framework.name) && !launch_rejection(scenario, format.launcher))
      trainers.push_back(name);
  }
  return trainers;
}

}  // namespace

FinetuneReport run_finetune(const FinetuneOptions& options) {
  const Asked asked = asked_by(options);
  FinetuneReport report;
  for (const FinetuneMethod& method : kMethods) {
    if (applies(method, asked)) report.answers.push_back(answer_of(method, asked, options));
  }
  std::vector<std::string> notes = notes_of(report, asked.notes);
  std::stable_sort(report.answers.begin(), report.answers.end(), ranks_before);
  report.answers.front().search.question.notes = std::move(notes);
  report.trainers = trainers_of(report.answers.front());
  return report;
}

}  // namespace hexaplan::cli
