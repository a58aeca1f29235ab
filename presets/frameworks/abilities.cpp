#include "presets/frameworks/abilities.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "presets/json/vocabulary.h"

namespace hexaplan::presets {
namespace {

using costmodel::FrameworkAbilities;

/// A list of names as bits by the enum's order.
template <class Bits, class E, std::size_t N>
void read_names(ObjectReader& reader, std::string_view key, const Named<E> (&table)[N], Bits& bits) {
  const auto list = reader.optional(key);
  if (!list) return;
  bits = 0;
  for (const ValueReader& name : list->elements()) {
    bits = static_cast<Bits>(bits | 1U << static_cast<unsigned>(name.choice(table)));
  }
}

template <class E, std::size_t N>
JsonArray names_of_bits(unsigned bits, int count, const Named<E> (&table)[N]) {
  JsonArray names;
  for (int i = 0; i < count; ++i) {
    if (costmodel::has_bit(bits, i)) names.emplace_back(name_in(table, static_cast<E>(i)));
  }
  return names;
}
/// In the order of a table in which everything has one name.
template <class E, std::size_t N>
JsonArray names_of_bits(unsigned bits, const Named<E> (&table)[N]) {
  JsonArray names;
  for (const auto& row : table) {
    if (costmodel::has_bit(bits, row.value)) names.emplace_back(row.name);
  }
  return names;
}

void read_ability(ObjectReader& reader, std::string_view key, bool& flag) {
  if (const auto value = reader.optional(key)) flag = value->boolean();
}

void read_stages(ObjectReader& reader, std::string_view key, std::uint8_t& bits) {
  const auto stages = reader.optional(key);
  if (!stages) return;
  bits = 0;
  for (const std::int64_t stage : stages->integers({0, 3}))
    bits = static_cast<std::uint8_t>(bits | 1U << stage);
  if (bits == 0) throw stages->error("at least one ZeRO stage; 0 shards nothing");
}

JsonArray stages_of(std::uint8_t bits) {
  JsonArray stages;
  for (int stage = 0; stage <= 3; ++stage) {
    if (costmodel::has_bit(bits, stage)) stages.emplace_back(stage);
  }
  return stages;
}

constexpr Named<costmodel::RecomputeMode> kModeNames[] = {
    {"none", costmodel::RecomputeMode::None},
    {"selective", costmodel::RecomputeMode::Selective},
    {"selective-op", costmodel::RecomputeMode::SelectiveOperators},
    {"layers", costmodel::RecomputeMode::Layers},
    {"full", costmodel::RecomputeMode::Full},
};

constexpr Named<costmodel::RecurrentKind> kRecurrentNames[] = {
    {"gated_delta_net", costmodel::RecurrentKind::GatedDeltaNet},
    {"mamba2", costmodel::RecurrentKind::Mamba2},
    {"short_convolution", costmodel::RecurrentKind::ShortConvolution},
    {"mamba1", costmodel::RecurrentKind::Mamba1},
    {"lightning", costmodel::RecurrentKind::Lightning},
    {"kimi_delta", costmodel::RecurrentKind::KimiDelta},
};

/// Lists of module names: [["moe_act"], ["mla_up_proj", "layernorm"]].
void read_module_sets(ObjectReader& reader, std::string_view key, std::vector<std::uint16_t>& sets) {
  const auto list = reader.optional(key);
  if (!list) return;
  sets.clear();
  for (const ValueReader& names : list->elements()) {
    std::uint16_t modules = 0;
    for (const ValueReader& name : names.elements())
      modules = static_cast<std::uint16_t>(modules | name.choice(kRecomputeModuleNames));
    if (modules == 0) throw names.error("at least one module; nothing is the kind none");
    sets.push_back(modules);
  }
}

JsonArray names_of_sets(const std::vector<std::uint16_t>& sets) {
  JsonArray lists;
  for (std::uint16_t left : sets) {
    JsonArray names;
    for (const auto& row : kRecomputeModuleNames) {  // "norm" is a second name of "layernorm"
      if ((left & row.value) != 0) names.emplace_back(row.name);
      left = static_cast<std::uint16_t>(left & ~row.value);
    }
    lists.emplace_back(std::move(names));
  }
  return lists;
}

}  // namespace

std::uint8_t read_offload_targets(const ValueReader& list) {
  std::uint8_t bits = 0;
  for (const ValueReader& target : list.elements())
    bits = static_cast<std::uint8_t>(bits | target.choice(kOffloadNames));
  return bits;
}

JsonArray offload_names(std::uint8_t bits) {
  JsonArray names;
  for (const auto& row : kOffloadNames) {
    if ((bits & row.value) != 0) names.emplace_back(row.name);
  }
  return names;
}

void read_abilities(const ValueReader& value, FrameworkAbilities& a) {
  ObjectReader reader = value.object();
  read_ability(reader, "tensor", a.tensor);
  read_ability(reader, "sequence", a.sequence);
  read_ability(reader, "experts", a.experts);
  read_ability(reader, "mtp", a.mtp);
  read_names(reader, "recurrent", kRecurrentNames, a.recurrent);
  read_ability(reader, "unequal_stages", a.unequal_stages);
  read_ability(reader, "recompute_per_stage", a.recompute_per_stage);
  read_names(reader, "recompute", kModeNames, a.recompute);
  read_module_sets(reader, "recompute_modules", a.recompute_modules);
  read_ability(reader, "dora", a.dora);
  read_ability(reader, "low_rank", a.low_rank);
  read_ability(reader, "preconditioned", a.preconditioned);
  read_ability(reader, "saved_modules", a.saved_modules);
  read_ability(reader, "integer_base", a.integer_base);
  read_ability(reader, "outer_steps", a.outer_steps);
  read_ability(reader, "factored_shards", a.factored_shards);
  read_ability(reader, "zero_sizes", a.zero_sizes);
  read_ability(reader, "mixed_half_types", a.mixed_half_types);
  read_ability(reader, "layerwise_replicas", a.layerwise_replicas);
  read_ability(reader, "fp32_flash", a.fp32_flash);
  read_ability(reader, "asked_execution", a.asked_execution);
  read_names(reader, "schedules", kScheduleNames, a.schedules);
  read_names(reader, "contexts", kContextNames, a.contexts);
  read_names(reader, "moments", kStateDTypeNames, a.moments);
  read_names(reader, "gradients", kStateDTypeNames, a.gradients);
  if (const auto targets = reader.optional("offload")) a.offload = read_offload_targets(*targets);
  read_stages(reader, "zero_stages", a.zero_stages);
  read_stages(reader, "partial_offload", a.partial_offload);
  reader.finish();
}

JsonValue to_json(const FrameworkAbilities& a) {
  return JsonObject{
      {"tensor", a.tensor},
      {"sequence", a.sequence},
      {"experts", a.experts},
      {"mtp", a.mtp},
      {"recurrent", names_of_bits(a.recurrent, kRecurrentNames)},
      {"unequal_stages", a.unequal_stages},
      {"recompute_per_stage", a.recompute_per_stage},
      {"recompute", names_of_bits(a.recompute, kModeNames)},
      {"recompute_modules", names_of_sets(a.recompute_modules)},
      {"dora", a.dora},
      {"low_rank", a.low_rank},
      {"preconditioned", a.preconditioned},
      {"saved_modules", a.saved_modules},
      {"integer_base", a.integer_base},
      {"outer_steps", a.outer_steps},
      {"factored_shards", a.factored_shards},
      {"zero_sizes", a.zero_sizes},
      {"mixed_half_types", a.mixed_half_types},
      {"layerwise_replicas", a.layerwise_replicas},
      {"fp32_flash", a.fp32_flash},
      {"asked_execution", a.asked_execution},
      {"schedules", names_of_bits(a.schedules, costmodel::kScheduleKinds, kScheduleNames)},
      {"contexts", names_of_bits(a.contexts, costmodel::kContextKinds, kContextNames)},
      {"zero_stages", stages_of(a.zero_stages)},
      {"partial_offload", stages_of(a.partial_offload)},
      {"gradients", names_of_bits(a.gradients, std::numeric_limits<std::uint16_t>::digits, kStateDTypeNames)},
      {"moments", names_of_bits(a.moments, std::numeric_limits<std::uint16_t>::digits, kStateDTypeNames)},
      {"offload", offload_names(a.offload)}};
}

}  // namespace hexaplan::presets
