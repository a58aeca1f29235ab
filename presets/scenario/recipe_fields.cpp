#include "presets/scenario/recipe_fields.h"

#include <fmt/format.h>

#include <cassert>
#include <cstddef>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "costmodel/units/parse_number.h"
#include "costmodel/units/parse_units.h"
#include "costmodel/units/trimmed.h"
#include "presets/clusters/reliability_fields.h"
#include "presets/frameworks/abilities.h"
#include "presets/json/vocabulary.h"
#include "presets/scenario/execution_words.h"
#include "presets/scenario/recompute_text.h"

namespace hexaplan::presets {

using costmodel::Checkpointing;
using costmodel::Execution;
using costmodel::MoeRouting;
using costmodel::Recipe;
using costmodel::ZeroSizes;

namespace {

constexpr std::int64_t kMaxSequence = 1'000'000'000;
constexpr std::int64_t kMaxBatch = 1'000'000'000;
constexpr std::int64_t kMaxTokens = 1'000'000'000'000'000'000;

/// A whole number, or text that `parse` understands ("8k", "15T").
std::int64_t count(const ValueReader& value, IntegerRange range, std::string_view examples,
                   std::optional<std::int64_t> (*parse)(std::string_view)) {
  if (value.json().get_if<std::string>() == nullptr) return value.integer(range);
  const auto n = parse(value.text());
  if (!n || *n < range.low || *n > range.high) {
    throw value.error(
        fmt::format("a whole number from {} to {}, such as {}", range.low, range.high, examples));
  }
  return *n;
}
std::int64_t length(const ValueReader& value) {
  return count(value, {1, kMaxSequence}, "8192 or 8k", costmodel::parse_length);
}
std::int64_t batch(const ValueReader& value) {
  return count(value, {1, kMaxBatch}, "1024", costmodel::parse_count);
}
std::int64_t budget(const ValueReader& value) {
  return count(value, {1, kMaxTokens}, "15T or 300B", costmodel::parse_count);
}

double real(const ValueReader& value, RealRange range) {
  const auto* text = value.json().get_if<std::string>();
  if (text == nullptr) return value.number(range);
  const auto number = costmodel::parse_number<double>(*text);
  if (!number || !(*number >= range.low && *number <= range.high)) {
    throw value.error(fmt::format("a number from {:g} to {:g}", range.low, range.high));
  }
  return *number;
}

constexpr Named<bool> kYesNo[] = {{"false", false}, {"true", true}};

bool yes_or_no(const ValueReader& value) {
  if (value.json().get_if<std::string>() == nullptr) return value.boolean();
  return value.choice(kYesNo);
}

std::uint8_t choice_of(const ValueReader& value, std::string_view word) {
  for (const auto& row : kOffloadNames)
    if (row.name == word) return row.value;
  throw value.error("optimizer, params, activations, or several with commas");
}

/// A list, or on the command line words with commas.
std::uint8_t offload_targets(const ValueReader& value) {
  const auto* text = value.json().get_if<std::string>();
  if (text == nullptr) return read_offload_targets(value);
  std::uint8_t bits = 0;
  std::string_view rest = *text;
  while (true) {
    const std::size_t comma = rest.find(',');
    bits = static_cast<std::uint8_t>(bits | choice_of(value, costmodel::trimmed(rest.substr(0, comma))));
    if (comma == std::string_view::npos) return bits;
    rest.remove_prefix(comma + 1);
  }
}

JsonValue offload_list(std::uint8_t bits) {
  JsonArray list = offload_names(bits);
  return list.empty() ? JsonValue{} : JsonValue{std::move(list)};
}

/// `value`, or null when it equals the default.
template <class T>
JsonValue unless(const T& value, const T& usual) {
  return value == usual ? JsonValue{} : JsonValue{value};
}
template <class E, std::size_t N>
JsonValue word_unless(const Named<E> (&table)[N], E value, E usual) {
  return value == usual ? JsonValue{} : JsonValue{name_in(table, value)};
}
JsonValue dtype_or_null(std::optional<costmodel::DType> dtype) {
  return dtype ? JsonValue{name_in(kStateDTypeNames, *dtype)} : JsonValue{};
}

const Recipe kUsual{};

constexpr Named<bool> kCheckpointNames[] = {{"sync", false}, {"async", true}};
constexpr costmodel::Seconds kLongestInterval{3.6e7};
constexpr RealRange kDropoutRange{0.0, 0.999}, kFractionRange{0.0, 1.0}, kImbalanceRange{1.0, 1e6},
    kCapacityRange{0.0, 1e6};

/// How a row is read and written.
struct Access {
  void (*read)(const ValueReader& value, Recipe& recipe);
  JsonValue (*write)(const Recipe& recipe);
};

/// The member at the end of `path`, a chain of pointers to members.
template <auto... path>
constexpr auto& at(auto& recipe) {
  return (recipe.*....*path);
}

template <auto parse, auto... path>
constexpr Access whole_number() {
  return {[](const ValueReader& v, Recipe& r) {
            auto& member = at<path...>(r);
            member = static_cast<std::remove_reference_t<decltype(member)>>(parse(v));
          },
          [](const Recipe& r) { return unless(at<path...>(r), at<path...>(kUsual)); }};
}
template <const RealRange& range, auto... path>
constexpr Access number() {
  return {[](const ValueReader& v, Recipe& r) { at<path...>(r) = real(v, range); },
          [](const Recipe& r) { return unless(at<path...>(r), at<path...>(kUsual)); }};
}
template <auto... path>
constexpr Access flag() {
  return {[](const ValueReader& v, Recipe& r) { at<path...>(r) = yes_or_no(v); },
          [](const Recipe& r) { return unless(at<path...>(r), at<path...>(kUsual)); }};
}
/// A flag that the framework decides where it is not said.
template <auto... path>
constexpr Access flag_or_framework() {
  return {[](const ValueReader& v, Recipe& r) { at<path...>(r) = yes_or_no(v); },
          [](const Recipe& r) { return at<path...>(r) ? JsonValue{*at<path...>(r)} : JsonValue{}; }};
}
/// Elements; the framework's where they are not said.
template <auto... path>
constexpr Access size_or_framework() {
  return {[](const ValueReader& v, Recipe& r) {
            at<path...>(r) = count(v, {0, kMaxTokens}, "500M or 1B", costmodel::parse_count);
          },
          [](const Recipe& r) { return at<path...>(r) ? JsonValue{*at<path...>(r)} : JsonValue{}; }};
}
template <const auto& names, auto... path>
constexpr Access word() {
  return {[](const ValueReader& v, Recipe& r) { at<path...>(r) = v.choice(names); },
          [](const Recipe& r) { return word_unless(names, at<path...>(r), at<path...>(kUsual)); }};
}
template <auto... path>
constexpr Access state_type() {
  return {[](const ValueReader& v, Recipe& r) { at<path...>(r) = v.choice(kStateDTypeNames); },
          [](const Recipe& r) { return dtype_or_null(at<path...>(r)); }};
}
/// The same, written even where it is the default: what a scenario file always says.
template <const auto& names, auto... path>
constexpr Access spoken_word() {
  return {word<names, path...>().read,
          [](const Recipe& r) { return JsonValue{name_in(names, at<path...>(r))}; }};
}

struct RecipeRow {
  std::string_view key, flag;
  Access access;
  FieldText text;
};
constexpr RecipeRow kRecipeRows[] = {
    {"sequence",
     "--seq",
     whole_number<length, &Recipe::sequence>(),
     {.value = "TOKENS",
      .help = "Sequence length: 4096, 8k (= 8192). Default: 4096, or the model's context length if shorter",
      .steps = {512, 1048576},
      .editor = FieldEditor::Steps,
      .advanced = false,
      .label = window_text("Field", "Sequence"),
      .unit = window_text("Field", "tokens"),
      .formula = "M2",
      .tip = window_text("Field",
                         "Tokens of one sequence: 4096, 8k (= 8192), 1M (= 1048576). auto: 4096, or the "
                         "model's context where that is shorter."),
      .group = "Batch"}},
    {"micro_batch",
     "--micro-batch",
     Access{whole_number<batch, &Recipe::micro_batch>().read,
            [](const Recipe& r) { return JsonValue{r.micro_batch}; }},
     {.value = "N",
      .help = "Sequences per data-parallel rank and pass. Default: 1",
      .steps = {1, 64},
      .editor = FieldEditor::Steps,
      .advanced = false,
      .usual = "1",
      .label = window_text("Field", "Micro-batch"),
      .unit = window_text("Field", "sequences"),
      .formula = "M2",
      .tip = window_text("Field", "Sequences that a data-parallel rank passes through the model at once.")}},
    {"global_batch",
     "--global-batch",
     whole_number<batch, &Recipe::global_batch>(),
     {.value = "N",
      .help = "Sequences per optimizer step. Default: enough to run 4 micro-batches per pipeline stage (1 "
              "without pipeline)",
      .steps = {1, 16384},
      .editor = FieldEditor::Steps,
      .advanced = false,
      .label = window_text("Field", "Global batch"),
      .unit = window_text("Field", "sequences"),
      .formula = "S3",
      .tip = window_text("Field",
                         "Sequences of one optimizer step over all ranks; micro-batch × data parallelism "
                         "must divide it. auto: 4 micro-batches per pipeline stage.")}},
    {"padding",
     "--padding",
     word<kPaddingNames, &Recipe::padding>(),
     {.value = "HOW",
      .help =
          "Sequences of a batch are padded: {} (of the batch: lengths vary, and the allocator holds more). "
          "Packed ones are max_length. Default: max_length",
      .words = names_of<kPaddingNames>,
      .editor = FieldEditor::Choice,
      .usual = "max_length",
      .label = window_text("Field", "Padding"),
      .formula = "M7",
      .tip = window_text("Field",
                         "max_length: all batches have the sequence length, padded to it or packed; longest: "
                         "that of their longest sequence, so that the allocator holds more.")}},
    {"precision",
     "--precision",
     spoken_word<kPrecisionNames, &Recipe::precision>(),
     {.value = "TYPE",
      .help = "Type of the matrix products: {}. Default: bf16",
      .words = names_of<kPrecisionNames>,
      .editor = FieldEditor::Choice,
      .advanced = false,
      .usual = "bf16",
      .label = window_text("Field", "Precision"),
      .formula = "T1",
      .tip = window_text("Field", "Type in which matrix products run."),
      .group = "Types of numbers"}},
    {"parameter_dtype",
     "--params-dtype",
     state_type<&Recipe::parameter_dtype>(),
     {.value = "TYPE",
      .help = "Type in which parameters are kept for compute: {}. Default: the framework's",
      .words = names_of<kStateDTypeNames>,
      .editor = FieldEditor::Choice,
      .label = window_text("Field", "Parameters in"),
      .formula = "M1",
      .tip = window_text("Field", "Type in which parameters are kept for compute; auto: the framework's.")}},
    {"gradient_dtype",
     "--grad-dtype",
     state_type<&Recipe::gradient_dtype>(),
     {.value = "TYPE",
      .help = "Type in which gradients are accumulated: {}. Default: the framework's",
      .words = names_of<kStateDTypeNames>,
      .editor = FieldEditor::Choice,
      .label = window_text("Field", "Gradients in"),
      .formula = "M1",
      .tip = window_text("Field",
                         "Type in which gradients are accumulated and reduced; auto: the framework's.")}},
    {"moment_dtype",
     "--moments-dtype",
     state_type<&Recipe::moment_dtype>(),
     {.value = "TYPE",
      .help = "Type in which AdamW's moments are kept: {}. Default: the framework's",
      .words = names_of<kStateDTypeNames>,
      .editor = FieldEditor::Choice,
      .label = window_text("Field", "Moments in"),
      .formula = "M1",
      .tip = window_text("Field", "Type in which AdamW's two moments are kept; auto: the framework's.")}},
    {"optimizer",
     "--optimizer",
     spoken_word<kOptimizerNames, &Recipe::optimizer>(),
     {.value = "NAME",
      .help = "{}. Default: adamw",
      .words = names_of<kOptimizerNames>,
      .editor = FieldEditor::Choice,
      .advanced = false,
      .usual = "adamw",
      .label = window_text("Field", "Optimizer"),
      .formula = "M1",
      .tip = window_text("Field", "Optimizer, and with it the states kept per parameter."),
      .group = "Optimizer"}},
    {"projection_rank",
     "--projection-rank",
     whole_number<batch, &Recipe::projection_rank>(),
     {.value = "N",
      .help = "GaLore, APOLLO: dimensions of the subspace in which gradients of a matrix are followed. "
              "Default: 128, of apollo-mini 1",
      .examples = "1 64 128 256 1024",
      .editor = FieldEditor::Words,
      .label = window_text("Field", "Projection rank"),
      .formula = "M1",
      .tip = window_text("Field",
                         "GaLore, APOLLO: dimensions of the subspace in which moments of a matrix are kept; "
                         "128, of apollo-mini 1, if not said.")}},
    {"projection_interval",
     "--projection-interval",
     whole_number<batch, &Recipe::projection_interval>(),
     {.value = "N",
      .help = "GaLore, APOLLO: steps after which subspaces are chosen anew, and over which times are means. "
              "Default: 200",
      .examples = "50 200 500 1000",
      .editor = FieldEditor::Words,
      .label = window_text("Field", "Projection interval"),
      .unit = window_text("Field", "steps"),
      .formula = "T16",
      .tip = window_text("Field",
                         "GaLore, APOLLO: steps after which subspaces are chosen anew; 200 if not said. "
                         "Times are means over them.")}},
    {"precondition_frequency",
     "--precondition-frequency",
     whole_number<batch, &Recipe::precondition_frequency>(),
     {.value = "N",
      .help =
          "Shampoo, SOAP: steps after which roots or bases are made anew, and over which times are means. "
          "Default: 100, of soap 10",
      .examples = "1 10 50 100",
      .editor = FieldEditor::Words,
      .label = window_text("Field", "Precondition frequency"),
      .unit = window_text("Field", "steps"),
      .formula = "T17",
      .tip = window_text("Field",
                         "Shampoo, SOAP: steps after which roots or bases are made anew; 100, of soap 10, if "
                         "not said. Times are means over them.")}},
    {"max_precondition_dim",
     "--max-precondition-dim",
     whole_number<batch, &Recipe::max_precondition_dim>(),
     {.value = "N",
      .help =
          "Shampoo: longest side of the blocks of a matrix; SOAP: longest side that has a basis. Default: "
          "8192, of soap 10000",
      .examples = "1024 2048 4096 8192 10000",
      .editor = FieldEditor::Words,
      .label = window_text("Field", "Longest preconditioned side"),
      .formula = "M1",
      .tip = window_text("Field",
                         "Shampoo: longest side of the blocks of a matrix, 8192 if not said; SOAP: longest "
                         "side that has a basis, 10000 if not said.")}},
    {"outer_steps",
     "--outer-steps",
     whole_number<batch, &Recipe::outer, &costmodel::OuterSteps::every>(),
     {.value = "N",
      .help = "Steps of the optimizer from one outer step to the next (DiLoCo): in between, the replicas of "
              "diloco2, a word of the layout, exchange nothing. Times are means over them. Default: none are "
              "taken",
      .examples = "30 100 500 1000",
      .editor = FieldEditor::Words,
      .label = window_text("Field", "Outer steps every"),
      .unit = window_text("Field", "steps"),
      .formula = "T18",
      .tip = window_text("Field",
                         "DiLoCo: steps of the optimizer from one outer step to the next, in which replicas "
                         "(diloco2 in the layout) exchange what their parameters have moved by. Empty: none "
                         "are taken."),
      .group = "Optimizer"}},
    {"outer_dtype",
     "--outer-dtype",
     word<kOuterDTypeNames, &Recipe::outer, &costmodel::OuterSteps::dtype>(),
     {.value = "TYPE",
      .help = "Type in which outer gradients travel: {}. Default: fp32",
      .words = names_of<kOuterDTypeNames>,
      .editor = FieldEditor::Choice,
      .usual = "fp32",
      .label = window_text("Field", "Outer gradients in"),
      .formula = "C14",
      .tip = window_text("Field", "Type in which outer gradients travel between replicas."),
      .group = "Optimizer"}},
    {"outer_states",
     "--outer-states",
     word<kOuterStatesNames, &Recipe::outer, &costmodel::OuterSteps::states>(),
     {.value = "PLACE",
      .help = "Where the copy of the parameters and the momentum of outer steps lie: {}. Default: gpu",
      .words = names_of<kOuterStatesNames>,
      .editor = FieldEditor::Choice,
      .usual = "gpu",
      .label = window_text("Field", "Outer states on"),
      .formula = "M1",
      .tip = window_text("Field",
                         "Where outer steps keep the parameters of the last one, and their momentum: both on "
                         "the GPU, the copy in host memory, or both there."),
      .group = "Optimizer"}},
    {"optimizer_in_backward",
     "--optimizer-in-backward",
     flag<&Recipe::optimizer_in_backward>(),
     {.value = "BOOL",
      .help = "Each parameter is updated as soon as its gradient is there, which is freed at once: {}. "
              "Default: false",
      .words = names_of<kYesNo>,
      .editor = FieldEditor::Check,
      .usual = "false",
      .label = window_text("Field", "Optimizer in backward"),
      .formula = "M1",
      .tip = window_text(
          "Field", "Each parameter is updated as soon as its gradient is there, which is freed at once.")}},
    {"recompute",
     "--recompute",
     Access{[](const ValueReader& v, Recipe& r) { r.recompute = parse_recompute(v.text(), v.pointer()); },
            [](const Recipe& r) { return JsonValue{to_recompute_text(r.recompute)}; }},
     {.value = "POLICY",
      .help = "{}, layers=4 (first ones of every model chunk), modules=core_attn,norm. Default: none",
      .words = names_of<kRecomputeNames>,
      .examples = "layers=4 modules=core_attn,layernorm",
      .editor = FieldEditor::Words,
      .advanced = false,
      .usual = "none",
      .label = window_text("Field", "Recompute"),
      .formula = "M3",
      .tip =
          window_text("Field",
                      "Activations that are computed again in the backward pass instead of being kept: none, "
                      "selective (attention scores), full, layers=4 (the first 4 of every model chunk), "
                      "modules=core_attn,layernorm."),
      .group = "Recomputation and kernels"}},
    {"attention",
     "--attention",
     word<kAttentionNames, &Recipe::attention>(),
     {.value = "KERNEL",
      .help = "{} (flash: by the framework's library). Default: flash",
      .words = names_of<kAttentionNames>,
      .editor = FieldEditor::Choice,
      .advanced = false,
      .usual = "flash",
      .label = window_text("Field", "Attention"),
      .formula = "T2",
      .tip = window_text(
          "Field",
          "flash: scores are never stored, by the framework's library; flash-attention-2: by that one; "
          "fused-softmax and unfused keep them for the backward pass.")}},
    {"cross_entropy",
     "--cross-entropy",
     word<kCrossEntropyNames, &Recipe::cross_entropy>(),
     {.value = "KIND",
      .help = "How the loss handles the logits: {}. Default: what the framework does",
      .words = names_of<kCrossEntropyNames>,
      .editor = FieldEditor::Choice,
      .usual = "default",
      .label = window_text("Field", "Cross-entropy"),
      .formula = "M5",
      .tip = window_text("Field", "How the loss handles the logits; default: what the framework does.")}},
    {"fused_norm",
     "--fused-norm",
     flag<&Recipe::fused_norm>(),
     {.value = "BOOL",
      .help = "The norm is one kernel instead of a row of tensor operations: {}. Default: true",
      .words = names_of<kYesNo>,
      .editor = FieldEditor::Check,
      .usual = "true",
      .label = window_text("Field", "Fused norm"),
      .formula = "T3",
      .tip = window_text("Field", "The norm is one kernel instead of a row of tensor operations.")}},
    {"dropout",
     "--dropout",
     number<kDropoutRange, &Recipe::dropout>(),
     {.value = "P",
      .help = "Dropout probability; above 0 masks are saved. Default: 0",
      .editor = FieldEditor::Text,
      .usual = "0",
      .label = window_text("Field", "Dropout"),
      .formula = "M2",
      .tip = window_text("Field", "Probability of dropping an activation; above 0 the masks are saved.")}},
    {"fine_tune",
     "--fine-tune",
     word<kFineTuneNames, &Recipe::fine_tune>(),
     {.value = "KIND",
      .help = "{}. Default: pretrain",
      .words = names_of<kFineTuneNames>,
      .editor = FieldEditor::Choice,
      .usual = "pretrain",
      .label = window_text("Field", "Training"),
      .formula = "M1",
      .tip = window_text("Field", "Pre-training, full fine-tuning, or adapters beside frozen weights."),
      .group = "Fine-tuning"}},
    {"lora_rank",
     "--lora-rank",
     whole_number<batch, &Recipe::lora_rank>(),
     {.value = "N",
      .help = "Rank of LoRA adapters. Default: the framework's, 8 or 32",
      .examples = "8 16 32 64 128",
      .editor = FieldEditor::Words,
      .label = window_text("Field", "Adapter rank"),
      .formula = "M1",
      .tip = window_text("Field", "Rank of LoRA adapters.")}},
    {"lora_alpha",
     "--lora-alpha",
     whole_number<batch, &Recipe::lora_alpha>(),
     {.value = "N",
      .help = "LoRA adds alpha/rank times what adapters make. Default: twice the rank",
      .examples = "8 16 32 64 128",
      .editor = FieldEditor::Words,
      .label = window_text("Field", "Adapter alpha"),
      .formula = "T12",
      .tip = window_text("Field",
                         "LoRA adds alpha/rank times what adapters make; twice the rank if not said.")}},
    {"lora_targets",
     "--lora-targets",
     word<kAdapterTargetNames, &Recipe::lora_targets>(),
     {.value = "WHICH",
      .help = "Layers with LoRA adapters: {}. Default: all-linear",
      .words = names_of<kAdapterTargetNames>,
      .editor = FieldEditor::Choice,
      .usual = "all-linear",
      .label = window_text("Field", "Adapted layers"),
      .formula = "T12",
      .tip = window_text("Field", "Linear layers that LoRA adapters stand beside.")}},
    {"lora_bias",
     "--lora-bias",
     word<kLoraBiasNames, &Recipe::lora_bias>(),
     {.value = "WHICH",
      .help = "Biases of the model that train beside LoRA adapters: {}. Default: none",
      .words = names_of<kLoraBiasNames>,
      .editor = FieldEditor::Choice,
      .usual = "none",
      .label = window_text("Field", "Trained biases"),
      .formula = "M1",
      .tip = window_text("Field",
                         "Biases of the model that train beside LoRA adapters: of all layers and norms, or "
                         "of the adapted layers.")}},
    {"saved_modules",
     "--saved-modules",
     word<kSavedModulesNames, &Recipe::saved_modules>(),
     {.value = "WHICH",
      .help = "Modules that train as a whole beside adapters (PEFT's modules_to_save): {}. Default: none",
      .words = names_of<kSavedModulesNames>,
      .editor = FieldEditor::Choice,
      .usual = "none",
      .label = window_text("Field", "Trained modules"),
      .formula = "M1",
      .tip = window_text("Field",
                         "Word table and output layer that train as a whole beside adapters, with gradients "
                         "and states of their own; PEFT keeps the frozen ones as well.")}},
    {"dora",
     "--dora",
     flag<&Recipe::dora>(),
     {.value = "BOOL",
      .help = "LoRA, QLoRA: rows of the sum are divided by their lengths and times learned magnitudes: {}. "
              "Default: false",
      .words = names_of<kYesNo>,
      .editor = FieldEditor::Check,
      .usual = "false",
      .label = window_text("Field", "DoRA"),
      .formula = "T12",
      .tip = window_text("Field",
                         "Directions and magnitudes of the adapted weights are learned apart: further "
                         "products and kept outputs beside every adapter.")}},
    {"double_quantization",
     "--double-quantization",
     flag<&Recipe::double_quantization>(),
     {.value = "BOOL",
      .help = "QLoRA: scales of 4-bit weights are quantised to 8 bits: {}. Default: false",
      .words = names_of<kYesNo>,
      .editor = FieldEditor::Check,
      .usual = "false",
      .label = window_text("Field", "Double quantisation"),
      .formula = "M1",
      .tip =
          window_text("Field",
                      "QLoRA: the scales of 4-bit weights are quantised to 8 bits themselves, 0.37 bit per "
                      "weight less.")}},
    {"trainable_parameters", "", whole_number<budget, &Recipe::trainable_parameters>(), {}},
    {"offload",
     "--offload",
     Access{[](const ValueReader& v, Recipe& r) { r.offload = offload_targets(v); },
            [](const Recipe& r) { return offload_list(r.offload); }},
     {.value = "WHAT",
      .help = "Kept in host memory: optimizer, params, activations, or several with commas",
      .group = "Offloading"}},
    {"offload_fraction",
     "--offload-fraction",
     number<kFractionRange, &Recipe::offload_fraction>(),
     {.value = "X",
      .help = "Share of the optimizer's states to offload. Default: 1, all",
      .editor = FieldEditor::Text,
      .usual = "1",
      .label = window_text("Field", "Offloaded share"),
      .unit = window_text("Field", "× states"),
      .formula = "M1",
      .tip = window_text("Field", "Share of the optimizer's states that the host keeps and updates.")}},
    {"offload_layers",
     "--offload-layers",
     whole_number<batch, &Recipe::offload_layers>(),
     {.value = "N",
      .help = "Layers per stage whose activations are offloaded. Default: all",
      .editor = FieldEditor::Text,
      .usual = "0",
      .label = window_text("Field", "Offloaded layers"),
      .unit = window_text("Field", "per stage"),
      .formula = "M2",
      .tip = window_text("Field", "Layers whose activations are offloaded; 0: all of a stage.")}},
    {"offload_device",
     "--offload-device",
     word<kOffloadDeviceNames, &Recipe::offload_device>(),
     {.value = "WHERE",
      .help = "Where offloaded states are: {}. Default: cpu",
      .words = names_of<kOffloadDeviceNames>,
      .editor = FieldEditor::Choice,
      .usual = "cpu",
      .label = window_text("Field", "Offload to"),
      .formula = "M1",
      .tip = window_text("Field", "Where offloaded tensors live: host memory or NVMe.")}},
    {"reduce_bucket",
     "--reduce-bucket",
     size_or_framework<&Recipe::sizes, &ZeroSizes::reduce_bucket>(),
     {.value = "N",
      .help = "Gradients that ZeRO reduces at a time, elements: 500M. Default: the framework's",
      .examples = "200M 500M",
      .editor = FieldEditor::Words,
      .label = window_text("Field", "Reduction bucket"),
      .unit = window_text("Field", "elements"),
      .formula = "M6",
      .tip = window_text(
          "Field",
          "Gradients that ZeRO reduces at a time (DeepSpeed reduce_bucket_size); auto: the framework's."),
      .group = "Sizes of ZeRO (DeepSpeed)"}},
    {"prefetch_bucket",
     "--prefetch-bucket",
     size_or_framework<&Recipe::sizes, &ZeroSizes::prefetch>(),
     {.value = "N",
      .help = "ZeRO-3: parameters gathered ahead of the module that runs: 50M. Default: the framework's",
      .examples = "0 50M 500M",
      .editor = FieldEditor::Words,
      .label = window_text("Field", "Fetched ahead"),
      .unit = window_text("Field", "elements"),
      .formula = "C9",
      .tip = window_text("Field",
                         "ZeRO-3: parameters that are gathered ahead of the module that runs "
                         "(stage3_prefetch_bucket_size).")}},
    {"live_parameters",
     "--live-parameters",
     size_or_framework<&Recipe::sizes, &ZeroSizes::live>(),
     {.value = "N",
      .help = "ZeRO-3: with so many gathered, nothing is fetched ahead: 1B. Default: the framework's",
      .examples = "100M 1B",
      .editor = FieldEditor::Words,
      .label = window_text("Field", "Live parameters"),
      .unit = window_text("Field", "elements"),
      .formula = "C9",
      .tip = window_text("Field",
                         "ZeRO-3: with so many parameters gathered, nothing more is fetched ahead "
                         "(stage3_max_live_parameters).")}},
    {"reuse_distance",
     "--reuse-distance",
     size_or_framework<&Recipe::sizes, &ZeroSizes::reuse>(),
     {.value = "N",
      .help =
          "ZeRO-3: what runs again within so many parameters stays gathered: 1B. Default: the framework's",
      .examples = "0 1B",
      .editor = FieldEditor::Words,
      .label = window_text("Field", "Reuse distance"),
      .unit = window_text("Field", "elements"),
      .formula = "C9",
      .tip = window_text(
          "Field",
          "ZeRO-3: what runs again within so many parameters stays gathered (stage3_max_reuse_distance).")}},
    {"persistence_threshold",
     "--persistence-threshold",
     size_or_framework<&Recipe::sizes, &ZeroSizes::persistent>(),
     {.value = "N",
      .help = "ZeRO-3: tensors of so many elements or fewer stay whole: 100k. Default: the framework's",
      .examples = "0 100k 1M",
      .editor = FieldEditor::Words,
      .label = window_text("Field", "Persistence"),
      .unit = window_text("Field", "elements"),
      .formula = "C9",
      .tip = window_text("Field",
                         "ZeRO-3: tensors of so many elements or fewer stay whole on every rank "
                         "(stage3_param_persistence_threshold).")}},
    {"sub_group_size",
     "--sub-group-size",
     size_or_framework<&Recipe::sizes, &ZeroSizes::update_group>(),
     {.value = "N",
      .help = "ZeRO-3: parameters of a rank's shard that are updated at a time: 1B. Default: the framework's",
      .examples = "100M 1B",
      .editor = FieldEditor::Words,
      .label = window_text("Field", "Updated at a time"),
      .unit = window_text("Field", "elements"),
      .formula = "M6",
      .tip = window_text(
          "Field", "ZeRO-3: parameters of a rank's shard that are updated at a time (sub_group_size).")}},
    {"routing_imbalance",
     "--routing-imbalance",
     number<kImbalanceRange, &Recipe::routing, &MoeRouting::imbalance>(),
     {.value = "X",
      .help = "Tokens of the busiest expert rank over the mean. Default: 1",
      .editor = FieldEditor::Text,
      .usual = "1",
      .label = window_text("Field", "Routing imbalance"),
      .unit = window_text("Field", "× mean"),
      .formula = "F2",
      .tip = window_text("Field", "Tokens of the busiest expert rank over the mean."),
      .group = "Experts"}},
    {"capacity_factor",
     "--capacity-factor",
     number<kCapacityRange, &Recipe::routing, &MoeRouting::capacity_factor>(),
     {.value = "X",
      .help = "Tokens beyond X times the mean per expert are dropped. Default: 0, none are",
      .editor = FieldEditor::Text,
      .usual = "0",
      .label = window_text("Field", "Capacity factor"),
      .unit = window_text("Field", "× mean"),
      .formula = "F2",
      .tip = window_text("Field",
                         "Tokens beyond this multiple of the mean per expert are dropped; 0: none are.")}},
    {"pad_to_capacity",
     "--pad-to-capacity",
     flag<&Recipe::routing, &MoeRouting::pad_to_capacity>(),
     {.value = "BOOL",
      .help = "Every expert computes as many rows as its capacity, empty ones too: {}. Default: false",
      .words = names_of<kYesNo>,
      .editor = FieldEditor::Check,
      .usual = "false",
      .label = window_text("Field", "Pad to capacity"),
      .formula = "M2",
      .tip = window_text("Field",
                         "Every expert gets as many rows as its capacity factor says, empty ones too.")}},
    {"tp_comm_overlap",
     "--tp-comm-overlap",
     flag_or_framework<&Recipe::execution, &Execution::tensor_overlap>(),
     {.value = "BOOL",
      .help = "Tensor-parallel messages run under the products beside them: {}. Default: the framework's",
      .words = names_of<kYesNo>,
      .editor = FieldEditor::Choice,
      .label = window_text("Field", "Overlap of tensor parallelism"),
      .formula = "C7",
      .tip = window_text("Field",
                         "Tensor-parallel messages run under the products beside them (userbuffers, async "
                         "TP); auto: what the framework does."),
      .group = "Overlap, compilation, dispatch"}},
    {"tp_backward_overlap",
     "--tp-backward-overlap",
     flag_or_framework<&Recipe::execution, &Execution::tensor_backward_overlap>(),
     {.value = "BOOL",
      .help = "With sequence parallelism, the messages of a linear layer's backward run under its products: "
              "{}. Default: the framework's",
      .words = names_of<kYesNo>,
      .editor = FieldEditor::Choice,
      .label = window_text("Field", "Overlap of its backward"),
      .formula = "C7",
      .tip = window_text("Field",
                         "With sequence parallelism, the messages of a linear layer's backward run under its "
                         "products; auto: what the framework does.")}},
    {"pipeline_overlap",
     "--pipeline-overlap",
     flag_or_framework<&Recipe::execution, &Execution::pipeline_overlap>(),
     {.value = "BOOL",
      .help = "Messages between stages run under computation: {}. Default: interleaved schedules only",
      .words = names_of<kYesNo>,
      .editor = FieldEditor::Choice,
      .label = window_text("Field", "Overlap of stages"),
      .formula = "C7",
      .tip = window_text("Field",
                         "Messages between stages run under computation; auto: under interleaved schedules, "
                         "where the framework can.")}},
    {"dp_overlap",
     "--dp-overlap",
     flag_or_framework<&Recipe::execution, &Execution::data_overlap>(),
     {.value = "BOOL",
      .help = "Gradients are reduced and parameters gathered under computation: {}. Default: the framework's",
      .words = names_of<kYesNo>,
      .editor = FieldEditor::Choice,
      .label = window_text("Field", "Overlap of gradients"),
      .formula = "C8",
      .tip = window_text("Field",
                         "Gradients are reduced and parameters gathered under computation; auto: what the "
                         "framework does.")}},
    {"reduce_gradients",
     "--reduce-gradients",
     word<kReductionNames, &Recipe::execution, &Execution::reduction>(),
     {.value = "WHEN",
      .help = "FSDP: in every micro-batch, replicas-once (between replicas of hsdp in the last) or once "
              "(no_sync: whole gradients wait). Default: every",
      .words = names_of<kReductionNames>,
      .editor = FieldEditor::Choice,
      .usual = "default",
      .label = window_text("Field", "Reduction"),
      .formula = "C9",
      .tip =
          window_text("Field",
                      "FSDP reduces gradients in every micro-batch, between replicas of hybrid sharding in "
                      "the last alone, or all of them once (no_sync): until then whole gradients wait.")}},
    {"ep_overlap",
     "--ep-overlap",
     flag_or_framework<&Recipe::execution, &Execution::expert_overlap>(),
     {.value = "BOOL",
      .help = "Tokens travel to the experts under another micro-batch: {}. Default: the framework's",
      .words = names_of<kYesNo>,
      .editor = FieldEditor::Choice,
      .label = window_text("Field", "Overlap of experts"),
      .formula = "C4",
      .tip = window_text(
          "Field",
          "Tokens travel to the experts under another micro-batch; auto: what the framework does.")}},
    {"compile",
     "--compile",
     flag_or_framework<&Recipe::execution, &Execution::compiled>(),
     {.value = "BOOL",
      .help = "torch.compile or XLA: {}. Default: the framework's (fsdp2 and maxtext: true)",
      .words = names_of<kYesNo>,
      .editor = FieldEditor::Choice,
      .label = window_text("Field", "Compiled"),
      .formula = "T3",
      .tip = window_text("Field", "torch.compile or XLA: fewer operations for the host.")}},
    {"cuda_graphs",
     "--cuda-graphs",
     word<kCudaGraphNames, &Recipe::execution, &Execution::graphs>(),
     {.value = "WHICH",
      .help = "Launches that graphs replay: {}. Default: the framework's",
      .words = names_of<kCudaGraphNames>,
      .editor = FieldEditor::Choice,
      .usual = "default",
      .label = window_text("Field", "CUDA graphs"),
      .formula = "T3",
      .tip = window_text("Field", "Launches that graphs replay instead of the host.")}},
    {"moe_dispatcher",
     "--moe-dispatcher",
     word<kDispatcherNames, &Recipe::execution, &Execution::dispatcher>(),
     {.value = "KERNEL",
      .help = "Kernel that carries tokens to the ranks of their experts: {}. Default: the framework's",
      .words = names_of<kDispatcherNames>,
      .editor = FieldEditor::Choice,
      .usual = "default",
      .label = window_text("Field", "Dispatcher"),
      .formula = "C4",
      .tip = window_text("Field", "Kernel that carries tokens to the ranks of their experts.")}},
    {"tokens",
     "--tokens",
     whole_number<budget, &Recipe::tokens>(),
     {.value = "N",
      .help = "Training budget, for days, GPU-hours, cost and energy: 15T, 300B",
      .examples = "10B 100B 300B 1T 2T 15T",
      .editor = FieldEditor::Words,
      .advanced = false,
      .label = window_text("Field", "Token budget"),
      .unit = window_text("Field", "tokens"),
      .formula = "U3",
      .tip = window_text("Field",
                         "Tokens of the whole training, for days and cost: 300B, 15T. auto: not asked."),
      .group = "The whole run"}},
    {"checkpoint",
     "--checkpoint",
     word<kCheckpointNames, &Recipe::checkpoints, &Checkpointing::asynchronous>(),
     {.value = "HOW",
      .help = "Checkpoints: sync, or async (written beside the steps that follow). Default: sync",
      .words = names_of<kCheckpointNames>,
      .editor = FieldEditor::Choice,
      .usual = "sync",
      .label = window_text("Field", "Checkpoints"),
      .formula = "U4",
      .tip = window_text(
          "Field",
          "sync: training waits until a checkpoint is written; async: until it is copied to host memory.")}},
    {"checkpoint_interval",
     "--checkpoint-interval",
     Access{
         [](const ValueReader& v, Recipe& r) { r.checkpoints.interval = positive_time(v, kLongestInterval); },
         [](const Recipe& r) {
           return r.checkpoints.interval ? JsonValue{exact_text(*r.checkpoints.interval)} : JsonValue{};
         }},
     {.value = "TIME",
      .help = "Training between two checkpoints: 30min. Default: what costs least",
      .examples = "10min 30min 1h 3h",
      .editor = FieldEditor::Words,
      .label = window_text("Field", "Checkpoint interval"),
      .formula = "U4",
      .tip = window_text("Field",
                         "Training between two checkpoints: 30 min, 3 h. auto: what costs the least time.")}},
};

/// A row that cluster files have, too.
template <std::size_t row>
RecipeField reliability_row() {
  const ReliabilityField& shared = reliability_fields()[row];
  return {shared.key, shared.flag, shared.text,
          [](const ValueReader& v, Recipe& r) { reliability_fields()[row].read(v, r.reliability); },
          [](const Recipe& r) { return reliability_fields()[row].write(r.reliability); }};
}

template <std::size_t... row>
std::vector<RecipeField> all_fields(std::index_sequence<row...>) {
  std::vector<RecipeField> fields;
  for (const RecipeRow& own : kRecipeRows)
    fields.push_back({own.key, own.flag, own.text, own.access.read, own.access.write});
  (fields.push_back(reliability_row<row>()), ...);
  return fields;
}

}  // namespace

std::span<const RecipeField> recipe_fields() {
  static const std::vector<RecipeField> fields = all_fields(std::make_index_sequence<kReliabilityFields>{});
  return fields;
}

const RecipeField& recipe_field(std::string_view key) {
  for (const RecipeField& field : recipe_fields()) {
    if (field.key == key) return field;
  }
  assert(false && "not a recipe field");
  return recipe_fields().front();
}

void set_recipe_field(Recipe& recipe, std::string_view key, std::string_view flag, std::string_view text) {
  const JsonValue value{text};
  const std::string no_file;
  recipe_field(key).read(ValueReader{no_file, std::string{flag}, value, Reading::Strict}, recipe);
}

}  // namespace hexaplan::presets
