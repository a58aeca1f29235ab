#include "presets/scenario/recipe_fields.h"

#include <fmt/format.h>

#include <cassert>
#include <cstddef>
#include <iterator>
#include <optional>
#include <string>
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

using costmodel::Recipe;

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

bool yes_or_no(const ValueReader& value) {
  if (value.json().get_if<std::string>() == nullptr) return value.boolean();
  static constexpr Named<bool> answers[] = {{"true", true}, {"false", false}};
  return value.choice(answers);
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

JsonValue flag_or_null(std::optional<bool> flag) {
  return flag ? JsonValue{*flag} : JsonValue{};
}

const Recipe kUsual{};

constexpr Named<bool> kCheckpointNames[] = {{"sync", false}, {"async", true}};
constexpr costmodel::Seconds kLongestInterval{3.6e7};

constexpr RecipeField kOwnFields[] = {
    {"sequence", "--seq", [](const ValueReader& v, Recipe& r) { r.sequence = length(v); },
     [](const Recipe& r) { return unless(r.sequence, std::int64_t{0}); }},
    {"micro_batch", "--micro-batch", [](const ValueReader& v, Recipe& r) { r.micro_batch = batch(v); },
     [](const Recipe& r) { return JsonValue{r.micro_batch}; }},
    {"global_batch", "--global-batch", [](const ValueReader& v, Recipe& r) { r.global_batch = batch(v); },
     [](const Recipe& r) { return unless(r.global_batch, std::int64_t{0}); }},
    {"precision", "--precision",
     [](const ValueReader& v, Recipe& r) { r.precision = v.choice(kPrecisionNames); },
     [](const Recipe& r) { return JsonValue{name_in(kPrecisionNames, r.precision)}; }},
    {"parameter_dtype", "--params-dtype",
     [](const ValueReader& v, Recipe& r) { r.parameter_dtype = v.choice(kStateDTypeNames); },
     [](const Recipe& r) { return dtype_or_null(r.parameter_dtype); }},
    {"gradient_dtype", "--grad-dtype",
     [](const ValueReader& v, Recipe& r) { r.gradient_dtype = v.choice(kStateDTypeNames); },
     [](const Recipe& r) { return dtype_or_null(r.gradient_dtype); }},
    {"optimizer", "--optimizer",
     [](const ValueReader& v, Recipe& r) { r.optimizer = v.choice(kOptimizerNames); },
     [](const Recipe& r) { return JsonValue{name_in(kOptimizerNames, r.optimizer)}; }},
    {"optimizer_in_backward", "",
     [](const ValueReader& v, Recipe& r) { r.optimizer_in_backward = yes_or_no(v); },
     [](const Recipe& r) { return unless(r.optimizer_in_backward, false); }},
    {"recompute", "--recompute",
     [](const ValueReader& v, Recipe& r) { r.recompute = parse_recompute(v.text(), v.pointer()); },
     [](const Recipe& r) { return JsonValue{to_recompute_text(r.recompute)}; }},
    {"attention", "--attention",
     [](const ValueReader& v, Recipe& r) { r.attention = v.choice(kAttentionNames); },
     [](const Recipe& r) { return word_unless(kAttentionNames, r.attention, kUsual.attention); }},
    {"cross_entropy", "--cross-entropy",
     [](const ValueReader& v, Recipe& r) { r.cross_entropy = v.choice(kCrossEntropyNames); },
     [](const Recipe& r) { return word_unless(kCrossEntropyNames, r.cross_entropy, kUsual.cross_entropy); }},
    {"fused_norm", "", [](const ValueReader& v, Recipe& r) { r.fused_norm = yes_or_no(v); },
     [](const Recipe& r) { return unless(r.fused_norm, true); }},
    {"dropout", "--dropout",
     [](const ValueReader& v, Recipe& r) {
       r.dropout = real(v, {0.0, 0.999});
     },
     [](const Recipe& r) { return unless(r.dropout, 0.0); }},
    {"fine_tune", "--fine-tune",
     [](const ValueReader& v, Recipe& r) { r.fine_tune = v.choice(kFineTuneNames); },
     [](const Recipe& r) { return word_unless(kFineTuneNames, r.fine_tune, kUsual.fine_tune); }},
    {"lora_rank", "--lora-rank", [](const ValueReader& v, Recipe& r) { r.lora_rank = batch(v); },
     [](const Recipe& r) { return unless(r.lora_rank, std::int64_t{0}); }},
    {"lora_targets", "--lora-targets",
     [](const ValueReader& v, Recipe& r) { r.lora_targets = v.choice(kAdapterTargetNames); },
     [](const Recipe& r) { return word_unless(kAdapterTargetNames, r.lora_targets, kUsual.lora_targets); }},
    {"trainable_parameters", "", [](const ValueReader& v, Recipe& r) { r.trainable_parameters = budget(v); },
     [](const Recipe& r) { return unless(r.trainable_parameters, std::int64_t{0}); }},
    {"offload", "--offload", [](const ValueReader& v, Recipe& r) { r.offload = offload_targets(v); },
     [](const Recipe& r) { return offload_list(r.offload); }},
    {"offload_fraction", "--offload-fraction",
     [](const ValueReader& v, Recipe& r) {
       r.offload_fraction = real(v, {0.0, 1.0});
     },
     [](const Recipe& r) { return unless(r.offload_fraction, 1.0); }},
    {"offload_layers", "--offload-layers",
     [](const ValueReader& v, Recipe& r) { r.offload_layers = static_cast<int>(batch(v)); },
     [](const Recipe& r) { return unless(r.offload_layers, 0); }},
    {"offload_device", "--offload-device",
     [](const ValueReader& v, Recipe& r) { r.offload_device = v.choice(kOffloadDeviceNames); },
     [](const Recipe& r) {
       return word_unless(kOffloadDeviceNames, r.offload_device, kUsual.offload_device);
     }},
    {"routing_imbalance", "--routing-imbalance",
     [](const ValueReader& v, Recipe& r) {
       r.routing.imbalance = real(v, {1.0, 1e6});
     },
     [](const Recipe& r) { return unless(r.routing.imbalance, 1.0); }},
    {"capacity_factor", "--capacity-factor",
     [](const ValueReader& v, Recipe& r) {
       r.routing.capacity_factor = real(v, {0.0, 1e6});
     },
     [](const Recipe& r) { return unless(r.routing.capacity_factor, 0.0); }},
    {"tp_comm_overlap", "--tp-comm-overlap",
     [](const ValueReader& v, Recipe& r) { r.execution.tensor_overlap = yes_or_no(v); },
     [](const Recipe& r) { return flag_or_null(r.execution.tensor_overlap); }},
    {"tp_backward_overlap", "",
     [](const ValueReader& v, Recipe& r) { r.execution.tensor_backward_overlap = yes_or_no(v); },
     [](const Recipe& r) { return flag_or_null(r.execution.tensor_backward_overlap); }},
    {"pipeline_overlap", "--pipeline-overlap",
     [](const ValueReader& v, Recipe& r) { r.execution.pipeline_overlap = yes_or_no(v); },
     [](const Recipe& r) { return flag_or_null(r.execution.pipeline_overlap); }},
    {"dp_overlap", "--dp-overlap",
     [](const ValueReader& v, Recipe& r) { r.execution.data_overlap = yes_or_no(v); },
     [](const Recipe& r) { return flag_or_null(r.execution.data_overlap); }},
    {"reduce_gradients", "--reduce-gradients",
     [](const ValueReader& v, Recipe& r) { r.execution.reduction = v.choice(kReductionNames); },
     [](const Recipe& r) {
       return word_unless(kReductionNames, r.execution.reduction, kUsual.execution.reduction);
     }},
    {"ep_overlap", "--ep-overlap",
     [](const ValueReader& v, Recipe& r) { r.execution.expert_overlap = yes_or_no(v); },
     [](const Recipe& r) { return flag_or_null(r.execution.expert_overlap); }},
    {"compile", "--compile", [](const ValueReader& v, Recipe& r) { r.execution.compiled = yes_or_no(v); },
     [](const Recipe& r) { return flag_or_null(r.execution.compiled); }},
    {"cuda_graphs", "--cuda-graphs",
     [](const ValueReader& v, Recipe& r) { r.execution.graphs = v.choice(kCudaGraphNames); },
     [](const Recipe& r) {
       return word_unless(kCudaGraphNames, r.execution.graphs, kUsual.execution.graphs);
     }},
    {"moe_dispatcher", "--moe-dispatcher",
     [](const ValueReader& v, Recipe& r) { r.execution.dispatcher = v.choice(kDispatcherNames); },
     [](const Recipe& r) {
       return word_unless(kDispatcherNames, r.execution.dispatcher, kUsual.execution.dispatcher);
     }},
    {"tokens", "--tokens", [](const ValueReader& v, Recipe& r) { r.tokens = budget(v); },
     [](const Recipe& r) { return unless(r.tokens, std::int64_t{0}); }},
    {"checkpoint", "--checkpoint",
     [](const ValueReader& v, Recipe& r) { r.checkpoints.asynchronous = v.choice(kCheckpointNames); },
     [](const Recipe& r) { return word_unless(kCheckpointNames, r.checkpoints.asynchronous, false); }},
    {"checkpoint_interval", "--checkpoint-interval",
     [](const ValueReader& v, Recipe& r) { r.checkpoints.interval = positive_time(v, kLongestInterval); },
     [](const Recipe& r) {
       return r.checkpoints.interval ? JsonValue{exact_text(*r.checkpoints.interval)} : JsonValue{};
     }},
};

/// A row that cluster files have, too.
template <std::size_t row>
RecipeField reliability_row() {
  return {reliability_fields()[row].key, reliability_fields()[row].flag,
          [](const ValueReader& v, Recipe& r) { reliability_fields()[row].read(v, r.reliability); },
          [](const Recipe& r) { return reliability_fields()[row].write(r.reliability); }};
}

template <std::size_t... row>
std::vector<RecipeField> all_fields(std::index_sequence<row...>) {
  std::vector<RecipeField> fields{std::begin(kOwnFields), std::end(kOwnFields)};
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
