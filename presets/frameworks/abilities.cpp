#include "presets/frameworks/abilities.h"

#include <cstddef>
#include <cstdint>
#include <limits>

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
    if ((bits >> i & 1U) != 0) names.emplace_back(name_in(table, static_cast<E>(i)));
  }
  return names;
}

void read_ability(ObjectReader& reader, std::string_view key, bool& flag) {
  if (const auto value = reader.optional(key)) flag = value->boolean();
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
  read_ability(reader, "unequal_stages", a.unequal_stages);
  read_ability(reader, "factored_shards", a.factored_shards);
  read_names(reader, "schedules", kScheduleNames, a.schedules);
  read_names(reader, "contexts", kContextNames, a.contexts);
  read_names(reader, "moments", kStateDTypeNames, a.moments);
  if (const auto targets = reader.optional("offload")) a.offload = read_offload_targets(*targets);
  if (const auto stages = reader.optional("zero_stages")) {
    a.zero_stages = 0;
    for (const std::int64_t stage : stages->integers({0, 3})) {
      a.zero_stages = static_cast<std::uint8_t>(a.zero_stages | 1U << stage);
    }
    if (a.zero_stages == 0) throw stages->error("at least one ZeRO stage; 0 shards nothing");
  }
  reader.finish();
}

JsonValue to_json(const FrameworkAbilities& a) {
  JsonArray stages;
  for (int stage = 0; stage <= 3; ++stage) {
    if ((a.zero_stages >> stage & 1) != 0) stages.emplace_back(stage);
  }
  return JsonObject{
      {"tensor", a.tensor},
      {"sequence", a.sequence},
      {"experts", a.experts},
      {"mtp", a.mtp},
      {"unequal_stages", a.unequal_stages},
      {"factored_shards", a.factored_shards},
      {"schedules", names_of_bits(a.schedules, costmodel::kScheduleKinds, kScheduleNames)},
      {"contexts", names_of_bits(a.contexts, costmodel::kContextKinds, kContextNames)},
      {"zero_stages", std::move(stages)},
      {"moments", names_of_bits(a.moments, std::numeric_limits<std::uint16_t>::digits, kStateDTypeNames)},
      {"offload", offload_names(a.offload)}};
}

}  // namespace hexaplan::presets
