#include "presets/scenario/recipe_fields.h"

#include <QCoreApplication>
#include <QLocale>

#include "costmodel/units/format_units.h"
#include "gui/app/setup/field_values.h"
#include "gui/app/setup/fields.h"
#include "presets/catalog/catalog.h"
#include "presets/json/json_value.h"
#include "presets/json/vocabulary.h"
#include "presets/scenario/execution_words.h"

namespace hexaplan::gui {
namespace {

using costmodel::Recipe;
using presets::JsonValue;
using presets::ScenarioRequest;

using Values = std::function<std::vector<std::string>(const Evaluation&)>;

/// A field of the recipe as scenario files have it; reading and writing are presets' own.
struct RecipeRow {
  const char* key;  // presets::recipe_fields()
  const char* id;
  bool advanced;
  EditorKind editor;
  const char* usual;  // what stands in the field when the file says nothing
  const char* label;
  const char* unit;
  const char* formula;
  const char* tip;
};
constexpr RecipeRow kRows[] = {
    {"sequence", "recipe.sequence", false, EditorKind::Steps, kAuto, QT_TRANSLATE_NOOP("Field", "Sequence"),
     QT_TRANSLATE_NOOP("Field", "tokens"), "M2",
     QT_TRANSLATE_NOOP("Field",
                       "Tokens of one sequence: 4096, 8k (= 8192), 1M (= 1048576). auto: 4096, or the "
                       "model's context where that is shorter.")},
    {"micro_batch", "recipe.micro_batch", false, EditorKind::Steps, "1",
     QT_TRANSLATE_NOOP("Field", "Micro-batch"), QT_TRANSLATE_NOOP("Field", "sequences"), "M2",
     QT_TRANSLATE_NOOP("Field", "Sequences that a data-parallel rank passes through the model at once.")},
    {"global_batch", "recipe.global_batch", false, EditorKind::Steps, kAuto,
     QT_TRANSLATE_NOOP("Field", "Global batch"), QT_TRANSLATE_NOOP("Field", "sequences"), "S3",
     QT_TRANSLATE_NOOP("Field",
                       "Sequences of one optimizer step over all ranks; micro-batch × data parallelism "
                       "must divide it. auto: 4 micro-batches per pipeline stage.")},
    {"precision", "recipe.precision", false, EditorKind::Choice, "bf16",
     QT_TRANSLATE_NOOP("Field", "Precision"), "", "T1",
     QT_TRANSLATE_NOOP("Field", "Type in which matrix products run.")},
    {"recompute", "recipe.recompute", false, EditorKind::Words, "none",
     QT_TRANSLATE_NOOP("Field", "Recompute"), "", "M3",
     QT_TRANSLATE_NOOP("Field",
                       "Activations that are computed again in the backward pass instead of being kept: "
                       "none, selective (attention scores), full, layers=4, modules=core_attn,layernorm.")},
    {"optimizer", "recipe.optimizer", false, EditorKind::Choice, "adamw",
     QT_TRANSLATE_NOOP("Field", "Optimizer"), "", "M1",
     QT_TRANSLATE_NOOP("Field", "Optimizer, and with it the states kept per parameter.")},
    {"attention", "recipe.attention", false, EditorKind::Choice, "flash",
     QT_TRANSLATE_NOOP("Field", "Attention"), "", "T2",
     QT_TRANSLATE_NOOP("Field",
                       "flash: scores are never stored; fused-softmax and unfused keep them for the "
                       "backward pass.")},
    {"cross_entropy", "recipe.cross_entropy", true, EditorKind::Choice, "default",
     QT_TRANSLATE_NOOP("Field", "Cross-entropy"), "", "M5",
     QT_TRANSLATE_NOOP("Field", "How the loss handles the logits; default: what the framework does.")},
    {"tokens", "recipe.tokens", false, EditorKind::Words, kAuto, QT_TRANSLATE_NOOP("Field", "Token budget"),
     QT_TRANSLATE_NOOP("Field", "tokens"), "U3",
     QT_TRANSLATE_NOOP("Field",
                       "Tokens of the whole training, for days and cost: 300B, 15T. auto: not asked.")},
    {"parameter_dtype", "recipe.parameter_dtype", true, EditorKind::Choice, kAuto,
     QT_TRANSLATE_NOOP("Field", "Parameters in"), "", "M1",
     QT_TRANSLATE_NOOP("Field", "Type in which parameters are kept for compute; auto: the framework's.")},
    {"gradient_dtype", "recipe.gradient_dtype", true, EditorKind::Choice, kAuto,
     QT_TRANSLATE_NOOP("Field", "Gradients in"), "", "M1",
     QT_TRANSLATE_NOOP("Field",
                       "Type in which gradients are accumulated and reduced; auto: the framework's.")},
    {"optimizer_in_backward", "recipe.optimizer_in_backward", true, EditorKind::Check, "false",
     QT_TRANSLATE_NOOP("Field", "Optimizer in backward"), "", "M1",
     QT_TRANSLATE_NOOP(
         "Field", "Each parameter is updated as soon as its gradient is there, which is freed at once.")},
    {"fused_norm", "recipe.fused_norm", true, EditorKind::Check, "true",
     QT_TRANSLATE_NOOP("Field", "Fused norm"), "", "T3",
     QT_TRANSLATE_NOOP("Field", "The norm is one kernel instead of a row of tensor operations.")},
    {"dropout", "recipe.dropout", true, EditorKind::Text, "0", QT_TRANSLATE_NOOP("Field", "Dropout"), "",
     "M2", QT_TRANSLATE_NOOP("Field", "Probability of dropping an activation; above 0 the masks are saved.")},
    {"fine_tune", "recipe.fine_tune", true, EditorKind::Choice, "pretrain",
     QT_TRANSLATE_NOOP("Field", "Training"), "", "M1",
     QT_TRANSLATE_NOOP("Field", "Pre-training, full fine-tuning, or adapters beside frozen weights.")},
    {"lora_rank", "recipe.lora_rank", true, EditorKind::Words, kAuto,
     QT_TRANSLATE_NOOP("Field", "Adapter rank"), "", "M1",
     QT_TRANSLATE_NOOP("Field", "Rank of LoRA adapters.")},
    {"lora_targets", "recipe.lora_targets", true, EditorKind::Choice, "all-linear",
     QT_TRANSLATE_NOOP("Field", "Adapted layers"), "", "T12",
     QT_TRANSLATE_NOOP("Field", "Linear layers that LoRA adapters stand beside.")},
    {"offload_device", "recipe.offload_device", true, EditorKind::Choice, "cpu",
     QT_TRANSLATE_NOOP("Field", "Offload to"), "", "M1",
     QT_TRANSLATE_NOOP("Field", "Where offloaded tensors live: host memory or NVMe.")},
    {"offload_layers", "recipe.offload_layers", true, EditorKind::Text, "0",
     QT_TRANSLATE_NOOP("Field", "Offloaded layers"), QT_TRANSLATE_NOOP("Field", "per stage"), "M2",
     QT_TRANSLATE_NOOP("Field", "Layers whose activations are offloaded; 0: all of a stage.")},
    {"offload_fraction", "recipe.offload_fraction", true, EditorKind::Text, "1",
     QT_TRANSLATE_NOOP("Field", "Offloaded share"), QT_TRANSLATE_NOOP("Field", "× states"), "M1",
     QT_TRANSLATE_NOOP("Field", "Share of the optimizer's states that the host keeps and updates.")},
    {"routing_imbalance", "recipe.routing_imbalance", true, EditorKind::Text, "1",
     QT_TRANSLATE_NOOP("Field", "Routing imbalance"), QT_TRANSLATE_NOOP("Field", "× mean"), "F2",
     QT_TRANSLATE_NOOP("Field", "Tokens of the busiest expert rank over the mean.")},
    {"capacity_factor", "recipe.capacity_factor", true, EditorKind::Text, "0",
     QT_TRANSLATE_NOOP("Field", "Capacity factor"), QT_TRANSLATE_NOOP("Field", "× mean"), "F2",
     QT_TRANSLATE_NOOP("Field",
                       "Tokens beyond this multiple of the mean per expert are dropped; 0: none are.")},
    {"tp_comm_overlap", "recipe.tp_comm_overlap", true, EditorKind::Choice, kAuto,
     QT_TRANSLATE_NOOP("Field", "Overlap of tensor parallelism"), "", "C7",
     QT_TRANSLATE_NOOP("Field",
                       "Tensor-parallel messages run under the products beside them (userbuffers, async TP); "
                       "auto: what the framework does.")},
    {"tp_backward_overlap", "recipe.tp_backward_overlap", true, EditorKind::Choice, kAuto,
     QT_TRANSLATE_NOOP("Field", "Overlap of its backward"), "", "C7",
     QT_TRANSLATE_NOOP("Field",
                       "With sequence parallelism, the messages of a linear layer's backward run under its "
                       "products; auto: what the framework does.")},
    {"pipeline_overlap", "recipe.pipeline_overlap", true, EditorKind::Choice, kAuto,
     QT_TRANSLATE_NOOP("Field", "Overlap of stages"), "", "C7",
     QT_TRANSLATE_NOOP("Field",
                       "Messages between stages run under computation; auto: under interleaved schedules, "
                       "where the framework can.")},
    {"dp_overlap", "recipe.dp_overlap", true, EditorKind::Choice, kAuto,
     QT_TRANSLATE_NOOP("Field", "Overlap of gradients"), "", "C8",
     QT_TRANSLATE_NOOP(
         "Field",
         "Gradients are reduced and parameters gathered under computation; auto: what the framework does.")},
    {"reduce_gradients", "recipe.reduce_gradients", true, EditorKind::Choice, "default",
     QT_TRANSLATE_NOOP("Field", "Reduction"), "", "C9",
     QT_TRANSLATE_NOOP("Field",
                       "FSDP reduces gradients in every micro-batch, between replicas of hybrid sharding in "
                       "the last alone, or all of them once (no_sync): until then whole gradients wait.")},
    {"ep_overlap", "recipe.ep_overlap", true, EditorKind::Choice, kAuto,
     QT_TRANSLATE_NOOP("Field", "Overlap of experts"), "", "C4",
     QT_TRANSLATE_NOOP(
         "Field", "Tokens travel to the experts under another micro-batch; auto: what the framework does.")},
    {"moe_dispatcher", "recipe.moe_dispatcher", true, EditorKind::Choice, "default",
     QT_TRANSLATE_NOOP("Field", "Dispatcher"), "", "C4",
     QT_TRANSLATE_NOOP("Field", "Kernel that carries tokens to the ranks of their experts.")},
    {"cuda_graphs", "recipe.cuda_graphs", true, EditorKind::Choice, "default",
     QT_TRANSLATE_NOOP("Field", "CUDA graphs"), "", "T3",
     QT_TRANSLATE_NOOP("Field", "Launches that graphs replay instead of the host.")},
    {"compile", "recipe.compile", true, EditorKind::Choice, kAuto, QT_TRANSLATE_NOOP("Field", "Compiled"), "",
     "T3", QT_TRANSLATE_NOOP("Field", "torch.compile or XLA: fewer operations for the host.")},
    {"checkpoint", "recipe.checkpoint", true, EditorKind::Choice, "sync",
     QT_TRANSLATE_NOOP("Field", "Checkpoints"), "", "U4",
     QT_TRANSLATE_NOOP(
         "Field",
         "sync: training waits until a checkpoint is written; async: until it is copied to host "
         "memory.")},
    {"checkpoint_interval", "recipe.checkpoint_interval", true, EditorKind::Words, kAuto,
     QT_TRANSLATE_NOOP("Field", "Checkpoint interval"), "", "U4",
     QT_TRANSLATE_NOOP("Field",
                       "Training between two checkpoints: 30 min, 3 h. auto: what costs the least time.")},
    {"gpu_mtbf", "recipe.gpu_mtbf", true, EditorKind::Words, kAuto,
     QT_TRANSLATE_NOOP("Field", "MTBF of a GPU"), "", "U4",
     QT_TRANSLATE_NOOP("Field",
                       "Mean time between failures of one GPU and its process; auto: the cluster's, or as in "
                       "the Llama 3 report.")},
    {"node_mtbf", "recipe.node_mtbf", true, EditorKind::Words, kAuto,
     QT_TRANSLATE_NOOP("Field", "MTBF of a node"), "", "U4",
     QT_TRANSLATE_NOOP("Field",
                       "Mean time between failures of what a node has beside its GPUs; auto: the cluster's, "
                       "or as in the Llama 3 report.")},
    {"link_mtbf", "recipe.link_mtbf", true, EditorKind::Words, kAuto,
     QT_TRANSLATE_NOOP("Field", "MTBF of a link"), "", "U4",
     QT_TRANSLATE_NOOP("Field",
                       "Mean time between failures of one GPU's link to other nodes; auto: the cluster's, or "
                       "as in the Llama 3 report.")},
    {"storage_bandwidth", "recipe.storage_bandwidth", true, EditorKind::Words, kAuto,
     QT_TRANSLATE_NOOP("Field", "Storage"), "", "U4",
     QT_TRANSLATE_NOOP(
         "Field",
         "Rate at which the whole job writes and loads checkpoints; auto: the cluster's, or 0.7 "
         "GB/s per node.")},
    {"restart_time", "recipe.restart_time", true, EditorKind::Words, kAuto,
     QT_TRANSLATE_NOOP("Field", "Restart"), "", "U4",
     QT_TRANSLATE_NOOP("Field",
                       "From a failure until training goes on, without loading the checkpoint; auto: the "
                       "cluster's, or 10 min.")},
    {"repair_time", "recipe.repair_time", true, EditorKind::Words, kAuto,
     QT_TRANSLATE_NOOP("Field", "Repair of a node"), "", "U4",
     QT_TRANSLATE_NOOP("Field", "Until a node that failed is back; auto: the cluster's, or 1 d.")},
    {"spare_nodes", "recipe.spare_nodes", true, EditorKind::Words, kAuto,
     QT_TRANSLATE_NOOP("Field", "Spare nodes"), QT_TRANSLATE_NOOP("Field", "nodes"), "U4",
     QT_TRANSLATE_NOOP("Field",
                       "Nodes that wait to replace others, and are paid for; auto: the cluster's, or one is "
                       "always at hand.")},
    {"pue", "recipe.pue", true, EditorKind::Words, kAuto, QT_TRANSLATE_NOOP("Field", "PUE"),
     QT_TRANSLATE_NOOP("Field", "× GPUs"), "U3",
     QT_TRANSLATE_NOOP("Field",
                       "Energy of the site over that of its GPUs; auto: the cluster's, or the GPUs alone.")},
};

/// "1T", "300B": exact, with the largest unit that divides it.
std::string shortCount(std::int64_t count) {
  struct Unit {
    std::int64_t size;
    const char* letter;
  };
  static constexpr Unit units[] = {{1'000'000'000'000, "T"}, {1'000'000'000, "B"}, {1'000'000, "M"}};
  for (const Unit& unit : units) {
    if (count % unit.size == 0) return std::to_string(count / unit.size) + unit.letter;
  }
  return std::to_string(count);
}

std::string textOf(const JsonValue& value) {
  if (const auto* text = value.get_if<std::string>()) return *text;
  if (const auto* flag = value.get_if<bool>()) return wordOf(*flag);
  if (const auto* whole = value.get_if<std::int64_t>()) return std::to_string(*whole);
  if (const auto* real = value.get_if<double>()) return QLocale::c().toString(*real, 'g', 6).toStdString();
  return {};
}

/// The recipe with everything but `key`, which gets its default again.
Recipe without(const Recipe& recipe, std::string_view key) {
  const std::string no_file;
  Recipe rest;
  for (const auto& field : presets::recipe_fields()) {
    const JsonValue value = field.write(recipe);
    if (field.key == key || value.is_null()) continue;
    field.read({no_file, std::string{field.key}, value, presets::Reading::Strict}, rest);
  }
  return rest;
}

Values valuesOf(std::string_view key) {
  struct Row {
    std::string_view key;
    Values values;
  };
  const auto words = [](std::vector<std::string> list) {
    return [list = std::move(list)](const Evaluation&) { return list; };
  };
  const auto with_auto = [&](std::vector<std::string> list) {
    list.insert(list.begin(), kAuto);
    return words(std::move(list));
  };
  const auto state_types = namesOf(presets::kStateDTypeNames);
  const Row rows[] = {
      {"sequence", [](const Evaluation& e) { return powersOfTwo(512, 1 << 20, e.scenario.recipe.sequence); }},
      {"micro_batch", [](const Evaluation& e) { return powersOfTwo(1, 64, e.scenario.recipe.micro_batch); }},
      {"global_batch",
       [](const Evaluation& e) {
         return powersOfTwo(1, 16384, std::max<std::int64_t>(1, e.scenario.recipe.global_batch));
       }},
      {"precision", words(namesOf(presets::kPrecisionNames))},
      {"recompute",
       words({"none", "selective", "selective-op", "full", "layers=4", "modules=core_attn,layernorm"})},
      {"optimizer", words(namesOf(presets::kOptimizerNames))},
      {"attention", words(namesOf(presets::kAttentionNames))},
      {"cross_entropy", words(namesOf(presets::kCrossEntropyNames))},
      {"tokens", with_auto({"10B", "100B", "300B", "1T", "2T", "15T"})},
      {"checkpoint", words({"sync", "async"})},
      {"checkpoint_interval", with_auto({"10min", "30min", "1h", "3h"})},
      {"gpu_mtbf", with_auto({"20000h", "50000h", "100000h"})},
      {"node_mtbf", with_auto({"20000h", "50000h", "100000h"})},
      {"link_mtbf", with_auto({"100000h", "400000h", "1000000h"})},
      {"storage_bandwidth", with_auto({"20GB/s", "100GB/s", "500GB/s", "2000GB/s"})},
      {"restart_time", with_auto({"2min", "10min", "30min"})},
      {"repair_time", with_auto({"4h", "24h", "168h"})},
      {"spare_nodes", with_auto({"0", "1", "2", "4", "8", "16"})},
      {"pue", with_auto({"1.1", "1.2", "1.5"})},
      {"parameter_dtype", with_auto(state_types)},
      {"gradient_dtype", with_auto(state_types)},
      {"optimizer_in_backward", words(yesAndNo())},
      {"fused_norm", words(yesAndNo())},
      {"fine_tune", words(namesOf(presets::kFineTuneNames))},
      {"lora_rank", words({kAuto, "8", "16", "32", "64", "128"})},
      {"lora_targets", words(namesOf(presets::kAdapterTargetNames))},
      {"offload_device", words(namesOf(presets::kOffloadDeviceNames))},
      {"tp_comm_overlap", with_auto(yesAndNo())},
      {"tp_backward_overlap", with_auto(yesAndNo())},
      {"pipeline_overlap", with_auto(yesAndNo())},
      {"dp_overlap", with_auto(yesAndNo())},
      {"reduce_gradients", words(namesOf(presets::kReductionNames))},
      {"ep_overlap", with_auto(yesAndNo())},
      {"compile", with_auto(yesAndNo())},
      {"cuda_graphs", words(namesOf(presets::kCudaGraphNames))},
      {"moe_dispatcher", words(namesOf(presets::kDispatcherNames))},
  };
  for (const Row& row : rows) {
    if (row.key == key) return row.values;
  }
  return nullptr;
}

QString stepFollows(const Evaluation& e) {
  if (!e.priced()) return {};
  const auto& recipe = e.scenario.recipe;
  const double tokens = static_cast<double>(recipe.global_batch) * static_cast<double>(recipe.sequence);
  return QCoreApplication::translate("Field", "%1 tokens; micro-batches: %2")
      .arg(QString::fromStdString(costmodel::format_short(tokens)))
      .arg(e.estimate.microbatches);
}

Field recipeField(const RecipeRow& row) {
  const std::string key = row.key, usual = row.usual;
  Field field{.id = row.id,
              .section = Section::Recipe,
              .advanced = row.advanced,
              .label = row.label,
              .unit = row.unit,
              .tip = row.tip,
              .formula = row.formula,
              .editor = row.editor,
              .read =
                  [key, usual](const Evaluation& e) {
                    if (key == "tokens" && e.request.recipe.tokens > 0)
                      return shortCount(e.request.recipe.tokens);
                    const JsonValue said = presets::recipe_field(key).write(e.request.recipe);
                    if (!said.is_null()) return textOf(said);
                    // What was not said has a value all the same.
                    const JsonValue filled = presets::recipe_field(key).write(e.scenario.recipe);
                    return filled.is_null() ? usual : textOf(filled);
                  },
              .write =
                  [key](ScenarioRequest& request, const std::string& text, const Evaluation&) {
                    if (isAuto(text)) {
                      request.recipe = without(request.recipe, key);
                    } else {
                      presets::set_recipe_field(request.recipe, key, key, text);
                    }
                  },
              .values = valuesOf(key)};
  if (key == "global_batch") field.follows = stepFollows;
  field.tried = *row.formula != 'U';  // no rule reads what is about the whole run
  // Both have a number all the same; elsewhere "auto" itself stands in the field.
  if (key == "global_batch" || key == "sequence") {
    field.automatic = [key](const Evaluation& e) {
      return presets::recipe_field(key).write(e.request.recipe).is_null();
    };
  }
  return field;
}

struct OffloadRow {
  const char* id;
  costmodel::OffloadTarget bit;
  const char* label;
};
constexpr OffloadRow kOffloads[] = {
    {"recipe.offload_optimizer", costmodel::kOffloadOptimizer,
     QT_TRANSLATE_NOOP("Field", "Offload optimizer")},
    {"recipe.offload_parameters", costmodel::kOffloadParameters,
     QT_TRANSLATE_NOOP("Field", "Offload parameters")},
    {"recipe.offload_activations", costmodel::kOffloadActivations,
     QT_TRANSLATE_NOOP("Field", "Offload activations")},
};

Field offloadField(const OffloadRow& row) {
  const std::uint8_t bit = row.bit;
  return {.id = row.id,
          .section = Section::Recipe,
          .advanced = true,
          .label = row.label,
          .tip = QT_TRANSLATE_NOOP("Field",
                                   "Kept outside the device between uses (ZeRO-Offload, ZeRO-Infinity)."),
          .formula = "M1",
          .editor = EditorKind::Check,
          .read = [bit](const Evaluation& e) { return wordOf((e.request.recipe.offload & bit) != 0); },
          .write =
              [bit](ScenarioRequest& request, const std::string& text, const Evaluation&) {
                auto& bits = request.recipe.offload;
                bits = static_cast<std::uint8_t>(text == "true" ? bits | bit : bits & ~bit);
              },
          .values = [](const Evaluation&) { return yesAndNo(); }};
}

}  // namespace

void appendRecipeFields(std::vector<Field>& table) {
  table.push_back(
      {.id = "framework",
       .section = Section::Recipe,
       .label = QT_TRANSLATE_NOOP("Field", "Framework"),
       .tip = QT_TRANSLATE_NOOP("Field",
                                "Whose habits cost memory and time: what is saved, in which type, "
                                "buckets, overlap, overheads."),
       .formula = "M6",
       .editor = EditorKind::Choice,
       .read =
           [](const Evaluation& e) {
             return e.request.framework.empty() ? std::string{"megatron"} : e.request.framework;
           },
       .write =
           [](ScenarioRequest& request, const std::string& text, const Evaluation&) {
             static_cast<void>(presets::look_up_framework(text));
             request.framework = text;
           },
       .values = [](const Evaluation&) { return presetNames(presets::PresetKind::Framework); },
       .tried = false});
  for (const RecipeRow& row : kRows) table.push_back(recipeField(row));
  for (const OffloadRow& row : kOffloads) table.push_back(offloadField(row));
}

}  // namespace hexaplan::gui
