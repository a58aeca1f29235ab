#include "costmodel/memory/flat_units.h"

#include <algorithm>
#include <cmath>

#include "costmodel/parameters/parameter_names.h"
#include "costmodel/units/mutation.h"

namespace hexaplan::costmodel {
namespace {

FlatSizes flat_buffer(const Scenario& sc, bool expert) {
  const Layout& l = sc.layout;
  FlatSizes flat{.stage = l.sharding.stage, .expert = expert};
  if (flat.stage >= 1) {
    const double part = static_cast<double>(l.shard_ranks()) / (static_cast<double>(l.dp) * l.cp);
    flat.shards = expert ? std::max(1.0, std::floor(l.expert_data() * part)) : l.shard_ranks();
  }
  if (flat.shards <= 1) flat.stage = 0;
  return flat;
}

UnitSizes unit_of(const Scenario& sc, UnitRole role, const std::vector<ParameterTensor>& tensors) {
  UnitSizes unit{.role = role, .flats = {}};
  for (const FlatKind kind : {FlatKind::Dense, FlatKind::Expert, FlatKind::BesideTiedTable}) {
    FlatSizes flat = flat_buffer(sc, kind == FlatKind::Expert);
    for (const ParameterTensor& t : tensors) {
      if (flat_of(sc, role, t) != kind) continue;
      const auto elements =
          static_cast<double>(elements_on_rank(t, sc.model, sc.layout, sc.framework.vocab_multiple));
      flat.elements += elements;
      if (sums_over_tensor_ranks(t, sc.layout)) flat.summed_over_tensor_ranks += elements;
      if (t.cut == Cut::KeyValue && sc.layout.tp > sc.model.attention.kv_heads)
        (t.matrix ? flat.key_value_copies : flat.key_value_bias_copies) += elements;
    }
    if (flat.elements > 0) unit.flats.push_back(flat);
  }
  return unit;
}

}  // namespace

FlatKind flat_of(const Scenario& sc, UnitRole role, const ParameterTensor& t) {
  if (is_expert(t)) return FlatKind::Expert;
  const bool beside = role == UnitRole::Embedding && copies_embedding(sc) &&
                      t.name != name_of(Parameter::EmbeddingWordWeight);
  return beside ? FlatKind::BesideTiedTable : FlatKind::Dense;
}

double FlatSizes::shard() const {
  return mutant("shards-are-not-padded") ? std::floor(elements / shards) : std::ceil(elements / shards);
}

bool copies_embedding(const Scenario& sc) {
  return sc.model.tied_embeddings && separates_ends(sc.layout);
}

bool shares_embedding(const Scenario& sc) {
  return sc.model.tied_embeddings && !separates_ends(sc.layout);
}

UnitSizes layer_unit(const Scenario& sc, LayerClass kind) {
  std::vector<ParameterTensor> tensors;
  append_layer_parameters(sc.model, kind, tensors);
  return unit_of(sc, UnitRole::Layer, tensors);
}

UnitSizes end_unit(const Scenario& sc, UnitRole role) {
  std::vector<ParameterTensor> tensors;
  if (role == UnitRole::Embedding) append_embedding_parameters(sc.model, tensors);
  if (role == UnitRole::Head) append_head_parameters(sc.model, false, tensors);
  if (role == UnitRole::TiedCopy) {
    append_head_parameters(sc.model, true, tensors);
    std::erase_if(tensors, [](const ParameterTensor& t) { return t.name != name_of(Parameter::HeadWeight); });
  }
  return unit_of(sc, role, tensors);
}

void append_shard_padding(const Scenario& sc, const std::vector<UnitSizes>& units, int layer_class,
                          double count, TensorLedger& out) {
  const StateTypes types = state_types(sc);
  const auto add = [&](TensorKind kind, DType dtype, double elements) {
    if (elements <= 0) return;
    out.push_back({.name = "shard.padding",
                   .formula = "M1",
                   .kind = kind,
                   .dtype = dtype,
                   .alive = kAlways,
                   .layer_class = static_cast<std::int8_t>(layer_class),
                   .elements = elements,
                   .count = count});
  };
  for (const UnitSizes& unit : units) {
    for (const FlatSizes& f : unit.flats) {
      const double of_shard = f.shard() - f.elements / f.shards, of_whole = f.padded() - f.elements;
      add(TensorKind::Parameter, types.parameter, f.stage >= 3 ? of_shard : of_whole);
      add(TensorKind::Gradient, types.gradient, f.stage >= 2 ? of_shard : of_whole);
      if (types.master) add(TensorKind::OptimizerState, DType::Fp32, of_shard);
      for (int moment = 0; moment < 2; ++moment) add(TensorKind::OptimizerState, types.moment, of_shard);
    }
  }
}

}  // namespace hexaplan::costmodel
