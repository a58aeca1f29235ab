#include "costmodel/memory/flat_units.h"

#include <algorithm>
#include <cmath>

#include "costmodel/memory/outer_states.h"
#include "costmodel/parameters/trained_elements.h"
#include "costmodel/spec/rank_grid.h"
#include "costmodel/spec/stage_plan.h"
#include "costmodel/units/mutation.h"

namespace hexaplan::costmodel {
namespace {

/// What is frozen has nothing to share but the parameters themselves.
FlatSizes flat_buffer(const Scenario& sc, FlatKind kind) {
  const Layout& l = sc.layout;
  FlatSizes flat{.stage = l.sharding.stage,
                 .expert = holds_experts(kind),
                 .by_matrix = holds_matrices(kind),
                 .trained = is_trained(sc, kind)};
  flat.in_4_bits = kind == FlatKind::In4Bits;
  if (flat.in_4_bits) flat.multiple = nf4_granule(sc.recipe);
  flat.in_backward = flat.trained && sc.recipe.optimizer_in_backward;
  flat.parameters_on_host = (sc.recipe.offload & kOffloadParameters) != 0 && flat.stage >= 3;
  flat.host_share = flat.trained ? offloaded_update(sc.recipe) : 0;
  if (!flat.trained && flat.stage < 3) flat.stage = 0;
  for (const KeptState& state : kept_states(sc, flat))
    flat.multiple = std::max(flat.multiple, static_cast<double>(state.parameters));
  if (flat.stage >= 1) {
    const double part = static_cast<double>(l.shard_ranks()) / (static_cast<double>(l.dp) * l.cp);
    flat.shards = flat.expert ? std::max(1.0, std::floor(l.expert_data() * part)) : l.shard_ranks();
  }
  if (flat.shards <= 1) flat.stage = 0;
  const Sharding& z = l.sharding;
  flat.quantised_gathers = z.quantized_weights && flat.stage >= 3 && !flat.in_4_bits;
  if (z.quantized_gradients && flat.stage >= 3 && flat.trained)
    flat.neighbours = static_cast<double>(place_group(l, Group::ShardNode, sc.cluster).ranks);
  return flat;
}

/// Hexaplan's executor takes one matrix after the other: its gradient in the subspace, the step there and the
/// whole step; of APOLLO two sums of squares per factor, and one for the length.
void add_subspaces(const Scenario& sc, const LocalMatrices& m, FlatSizes& flat) {
  const SubspaceStates states = subspace_states(state_types(sc), sc.recipe, m);
  flat.matrix_state_bytes += states.bytes();
  const double longer = std::max(m.rows, m.cols);
  const GradientScale scale = traits_of(sc.recipe.optimizer).scale;
  const double factors = scale == GradientScale::Channel ? longer : 1;
  const double squares = scale == GradientScale::None ? 0 : 2 * factors + 1;
  flat.matrix_update_bytes =
      std::max(flat.matrix_update_bytes,
               (2 * states.rank * longer + m.rows * m.cols + squares) * bytes_per_element(DType::Fp32));
}

/// The executor's steps of one matrix after the other. Of SOAP the direction, the gradient in the bases, its
/// step, what lies between two rotations, and a product of the longest side; of Shampoo the direction, and of
/// its largest block the momentum, what lies between two products, the result, a root, and two norms.
void add_preconditioners(const Scenario& sc, const LocalMatrices& m, FlatSizes& flat) {
  const PreconditionerStates states = preconditioner_states(sc.recipe, m);
  flat.matrix_state_bytes += states.elements * bytes_per_element(DType::Fp32);
  const bool blocks = traits_of(sc.recipe.optimizer).precondition == Precondition::InverseRoot;
  const double square = states.largest_side * states.largest_side;
  const double beside = blocks ? 3 * states.largest_rows * states.largest_cols + 2 : 3 * m.rows * m.cols;
  flat.matrix_update_bytes = std::max(flat.matrix_update_bytes,
                                      (m.rows * m.cols + beside + square) * bytes_per_element(DType::Fp32));
}

/// What the optimizer makes of a tensor beside its states.
void add_updates(const Scenario& sc, const ParameterTensor& t, double elements, FlatSizes& flat) {
  const LocalMatrices m = local_matrices(sc.layout, t, elements);
  const OptimizerTraits& traits = traits_of(sc.recipe.optimizer);
  if (traits.scales_matrices && decays(t)) flat.norms += 2 * m.count;
  if (traits.factored) {
    flat.norms += m.count;  // of the update, of vectors too
    flat.factors += factored_sums(sc.layout, t, elements);
  }
  if (!flat.by_matrix) return;
  if (traits.projects()) return add_subspaces(sc, m, flat);
  if (traits.preconditions()) return add_preconditioners(sc, m, flat);
  const double shorter = std::min(m.rows, m.cols);
  flat.matrices += m.count;
  flat.iteration_elements = std::max(flat.iteration_elements, 2 * shorter * shorter + m.rows * m.cols);
}

UnitSizes unit_of(const Scenario& sc, UnitRole role, const std::vector<ParameterTensor>& tensors) {
  UnitSizes unit{.role = role, .flats = {}};
  for (const FlatKind kind : kFlatKinds) {
    FlatSizes flat = flat_buffer(sc, kind);
    const int hpz = sc.layout.sharding.hpz;
    if (hpz > 1 && flat.stage >= 3 && !flat.expert && backward_gathers(sc, role)) flat.secondary = hpz;
    for (const ParameterTensor& t : tensors) {
      if (flat_of(sc, role, t) != kind) continue;
      const auto elements =
          static_cast<double>(elements_on_rank(t, sc.model, sc.layout, sc.framework.vocab_multiple));
      const double room = flat.in_4_bits ? std::ceil(elements / flat.multiple) * flat.multiple : elements;
      flat.between += room - elements;
      flat.elements += room;
      if (flat.trained) add_updates(sc, t, elements, flat);
      if (sums_over_tensor_ranks(t, sc.layout)) flat.summed_over_tensor_ranks += elements;
      if (t.cut == Cut::KeyValue && sc.layout.tp > sc.model.attention.kv_heads)
        flat.key_value_copies.push_back(elements);
    }
    if (flat.elements > 0) unit.flats.push_back(flat);
  }
  return unit;
}

}  // namespace

FlatKind flat_of(const Scenario& sc, UnitRole role, const ParameterTensor& t) {
  const bool beside_adapters = adapters_are_operations(sc) && own_share(sc, t.name) > 0;
  if (t.adapter || beside_adapters) return FlatKind::Adapter;
  if (adapters_are_operations(sc) && is_kept_quantised(sc, t, role == UnitRole::Layer))
    return FlatKind::In4Bits;
  const bool by_matrix = is_updated_by_matrix(sc, t, role == UnitRole::Layer);
  if (is_expert(t)) return by_matrix ? FlatKind::ExpertMatrices : FlatKind::Expert;
  if (by_matrix) return FlatKind::DenseMatrices;
  const bool beside = role == UnitRole::Embedding && copies_embedding(sc) &&
                      t.name != name_of(Parameter::EmbeddingWordWeight);
  return beside ? FlatKind::BesideTiedTable : FlatKind::Dense;
}

double FlatSizes::shard() const {
  if (mutant("shards-are-not-padded")) return std::floor(elements / shards);
  return std::ceil(std::ceil(elements / shards) / multiple) * multiple;
}

double FlatSizes::reduction_buffer_bytes() const {
  if (neighbours == 0) return 0;
  const double sums = neighbours > 1 ? shards / neighbours : 1;
  return 2 * exchanged_codes().bytes() + sums * shard() * bytes_per_element(DType::Fp32);
}

double FlatSizes::on_host() const {
  return std::floor(host_share * shard());
}

bool copies_embedding(const Scenario& sc) {
  return (sc.model.tied_embeddings || mtp_modules(sc) > 0) && separates_ends(sc.layout);
}

bool shares_embedding(const Scenario& sc) {
  return sc.model.tied_embeddings && !separates_ends(sc.layout);
}

UnitSizes layer_unit(const Scenario& sc, LayerClass kind) {
  std::vector<ParameterTensor> tensors;
  append_layer_parameters(sc.model, kind, tensors);
  append_adapter_parameters(sc, kind, tensors);
  return unit_of(sc, UnitRole::Layer, tensors);
}

namespace {

bool is_of_final_norm(const ParameterTensor& t) {
  return t.name == name_of(Parameter::FinalNormWeight) || t.name == name_of(Parameter::FinalNormBias);
}

}  // namespace

Parameter copied_table(const ModelSpec& model) {
  return model.tied_embeddings ? Parameter::HeadWeight : Parameter::EmbeddingWordWeight;
}

std::vector<ParameterTensor> end_parameters(const Scenario& sc, UnitRole role) {
  std::vector<ParameterTensor> out;
  const auto keep = [&](const auto& wanted) {
    std::erase_if(out, [&](const ParameterTensor& t) { return !wanted(t); });
  };
  switch (role) {
    case UnitRole::Layer:
      break;
    case UnitRole::Embedding:
      append_embedding_parameters(sc.model, out);
      break;
    case UnitRole::Head:
      append_head_parameters(sc.model, false, out);
      if (runs_final_norm_apart(sc)) std::erase_if(out, is_of_final_norm);
      break;
    case UnitRole::FinalNorm:
      append_head_parameters(sc.model, false, out);
      keep(is_of_final_norm);
      break;
    case UnitRole::TiedCopy:
      append_last_stage_parameters(sc, out);
      keep([table = name_of(copied_table(sc.model))](const ParameterTensor& t) { return t.name == table; });
      break;
  }
  return out;
}

std::vector<UnitRole> last_stage_units(const Scenario& sc) {
  std::vector<UnitRole> out{UnitRole::Head};
  if (runs_final_norm_apart(sc)) out.push_back(UnitRole::FinalNorm);
  if (copies_embedding(sc)) out.push_back(UnitRole::TiedCopy);
  return out;
}

UnitSizes end_unit(const Scenario& sc, UnitRole role) {
  return unit_of(sc, role, end_parameters(sc, role));
}

double parameter_bytes(const Scenario& sc, const FlatSizes& flat, double elements) {
  if (flat.in_4_bits) return elements * nf4_bytes_per_element(sc.recipe);
  return elements * bytes_per_element(state_types(sc).parameter_of(flat.trained));
}

KeptStates kept_states(const Scenario& sc, const FlatSizes& flat) {
  if (!flat.trained) return {};
  return kept_states(state_types(sc), traits_of(optimizer_of(sc.recipe, flat.by_matrix)));
}

double update_buffer_bytes(const Scenario& sc, const UnitSizes& unit) {
  constexpr double kFp32 = bytes_per_element(DType::Fp32);
  const double activation = bytes_per_element(activation_dtype(sc.recipe.precision));
  const double parameter = bytes_per_element(state_types(sc).parameter);
  double most = 0;
  for (const FlatSizes& f : unit.flats) {
    double buffers = f.trained && f.parameters_on_host ? (f.shard() - f.on_host()) * parameter : 0;
    if (f.norms > 0) buffers += (f.shard() + f.norms) * kFp32;
    buffers += f.factors.count() * kFp32;
    if (f.matrices > 0) buffers += (f.padded() + f.iteration_elements) * activation + f.matrices * kFp32;
    buffers += f.matrix_update_bytes;
    most = std::max(most, buffers);
    if (f.trained)
      most = std::max(most,
                      mutant("outer-gradients-take-no-buffer")
                          ? 0
                          : f.shard() * outer_transient_bytes(sc.recipe.outer, sc.layout.outer_replicas > 1));
  }
  return most;
}

namespace {

/// Rows of the padding of flat buffers.
class PaddingRows {
 public:
  PaddingRows(const Scenario& sc, int layer_class, double count, TensorLedger& out)
      : sc_{sc}, types_{state_types(sc)}, layer_class_{layer_class}, count_{count}, out_{out} {}

  void append(const FlatSizes& f) {
    const double elements = f.elements - f.between;
    const double of_shard = f.shard() - elements / f.shards, of_whole = f.padded() - elements;
    if (!f.parameters_on_host) append_parameters(f, f.stage >= 3 ? of_shard : of_whole);
    if (!f.trained) return;
    if (!f.in_backward && (f.host_share == 0 || f.stage < 2))
      add(TensorKind::Gradient, types_.gradient, f.stage >= 2 ? of_shard : of_whole);
    if (f.host_share > 0) return;
    for (const KeptState& state : kept_states(sc_, f))
      add(TensorKind::OptimizerState, state.dtype, of_shard / state.parameters);
    for (int i = 0; i < outer_states_on_gpu(sc_.recipe.outer); ++i)
      add(TensorKind::OptimizerState, DType::Fp32, of_shard);
  }

 private:
  void append_parameters(const FlatSizes& f, double elements) {
    if (!f.in_4_bits) return add(TensorKind::Parameter, types_.parameter_of(f.trained), elements);
    for (const KeptPart& part : nf4_parts(sc_.recipe))
      add(TensorKind::Parameter, part.dtype, elements * part.per_element);
  }
  void add(TensorKind kind, DType dtype, double elements) {
    if (elements <= 0) return;
    out_.push_back({.name = "shard.padding",
                    .formula = "M1",
                    .kind = kind,
                    .dtype = dtype,
                    .alive = kAlways,
                    .layer_class = static_cast<std::int8_t>(layer_class_),
                    .elements = elements,
                    .count = count_});
  }

  const Scenario& sc_;
  StateTypes types_;
  int layer_class_;
  double count_;
  TensorLedger& out_;
};

}  // namespace

void append_shard_padding(const Scenario& sc, const std::vector<UnitSizes>& units, int layer_class,
                          double count, TensorLedger& out) {
  PaddingRows rows{sc, layer_class, count, out};
  for (const UnitSizes& unit : units) {
    for (const FlatSizes& flat : unit.flats) rows.append(flat);
  }
}

}  // namespace hexaplan::costmodel
