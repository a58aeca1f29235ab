#include "costmodel/parameters/adapters.h"

#include <algorithm>
#include <array>

namespace hexaplan::costmodel {
namespace {

constexpr std::array kAdaptableLayers{
    AdaptableLayer{Parameter::AttentionQueryWeight, 0, "attention.query.lora_a", "attention.query.lora_b",
                   "attention.query.lora_m"},
    AdaptableLayer{Parameter::AttentionKeyValueWeight, 0, "attention.key.lora_a", "attention.key.lora_b",
                   "attention.key.lora_m"},
    AdaptableLayer{Parameter::AttentionKeyValueWeight, 1, "attention.value.lora_a", "attention.value.lora_b",
                   "attention.value.lora_m"},
    AdaptableLayer{Parameter::AttentionQueryDownWeight, 0, "attention.query_down.lora_a",
                   "attention.query_down.lora_b", "attention.query_down.lora_m"},
    AdaptableLayer{Parameter::AttentionQueryUpWeight, 0, "attention.query_up.lora_a",
                   "attention.query_up.lora_b", "attention.query_up.lora_m"},
    AdaptableLayer{Parameter::AttentionKeyValueDownWeight, 0, "attention.key_value_down.lora_a",
                   "attention.key_value_down.lora_b", "attention.key_value_down.lora_m"},
    AdaptableLayer{Parameter::AttentionKeyValueUpWeight, 0, "attention.key_value_up.lora_a",
                   "attention.key_value_up.lora_b", "attention.key_value_up.lora_m"},
    AdaptableLayer{Parameter::AttentionOutputWeight, 0, "attention.output.lora_a", "attention.output.lora_b",
                   "attention.output.lora_m"},
    AdaptableLayer{Parameter::StateProjectionWeight, 0, "state.projection.lora_a", "state.projection.lora_b",
                   "state.projection.lora_m"},
    AdaptableLayer{Parameter::StateGatesWeight, 0, "state.gates.lora_a", "state.gates.lora_b",
                   "state.gates.lora_m"},
    AdaptableLayer{Parameter::StateOperandsWeight, 0, "state.operands.lora_a", "state.operands.lora_b",
                   "state.operands.lora_m"},
    AdaptableLayer{Parameter::StateStepWeight, 0, "state.step.lora_a", "state.step.lora_b",
                   "state.step.lora_m"},
    AdaptableLayer{Parameter::StateGateWeight, 0, "state.gate.lora_a", "state.gate.lora_b",
                   "state.gate.lora_m"},
    AdaptableLayer{Parameter::StateOutputWeight, 0, "state.output.lora_a", "state.output.lora_b",
                   "state.output.lora_m"},
    AdaptableLayer{Parameter::MlpGateUpWeight, 0, "mlp.gate.lora_a", "mlp.gate.lora_b", "mlp.gate.lora_m"},
    AdaptableLayer{Parameter::MlpGateUpWeight, 1, "mlp.up.lora_a", "mlp.up.lora_b", "mlp.up.lora_m"},
    AdaptableLayer{Parameter::MlpUpWeight, 0, "mlp.up.lora_a", "mlp.up.lora_b", "mlp.up.lora_m"},
    AdaptableLayer{Parameter::MlpDownWeight, 0, "mlp.down.lora_a", "mlp.down.lora_b", "mlp.down.lora_m"},
};

constexpr std::array kScaledLayers{
    ScaledLayer{Parameter::AttentionKeyValueWeight, 0, "attention.key.ia3"},
    ScaledLayer{Parameter::AttentionKeyValueWeight, 1, "attention.value.ia3"},
    ScaledLayer{Parameter::AttentionKeyValueUpWeight, 0, "attention.key_value_up.ia3"},
    ScaledLayer{Parameter::MlpDownWeight, 0, "mlp.down.ia3"},
};

/// Of two layers in one matrix of which one is adapted it is the second: values, beside which the keys' layer
/// is left out.
bool is_adapted(const Scenario& sc, const AdaptableLayer& layer, const ParameterTensor& tensor) {
  if (tensor.name != name_of(layer.matrix)) return false;
  const std::int64_t parts = adapted_parts(sc, tensor.name, tensor.parts);
  return parts == tensor.parts || (parts > 0 && layer.part == 1);
}

ParameterTensor matrix_a(const AdaptableLayer& layer, const ParameterTensor& beside, std::int64_t rank) {
  const bool row_cut = beside.cut == Cut::Row;
  return {.name = layer.a,
          .rows = rank,
          .cols = beside.cols,
          .cut = row_cut ? Cut::Row : Cut::Replicated,
          .inside_region = beside.inside_region || (!row_cut && beside.cut != Cut::Replicated),
          .adapter = true};
}
ParameterTensor matrix_b(const AdaptableLayer& layer, const ParameterTensor& beside, std::int64_t rank) {
  const bool row_cut = beside.cut == Cut::Row;
  return {.name = layer.b,
          .rows = beside.rows / beside.parts,
          .cols = rank,
          .cut = row_cut ? Cut::Replicated : beside.cut,
          .inside_region = beside.inside_region || row_cut,
          .adapter = true};
}

/// Beside a row-cut matrix every rank scales what all have added up.
ParameterTensor magnitudes(const AdaptableLayer& layer, const ParameterTensor& beside,
                           std::int64_t /*rank*/) {
  return {.name = layer.m,
          .rows = beside.rows / beside.parts,
          .cut = beside.cut == Cut::Row ? Cut::Replicated : beside.cut,
          .matrix = false,
          .inside_region = beside.inside_region,
          .adapter = true};
}

ParameterTensor scales_of(const ScaledLayer& layer, const ParameterTensor& beside) {
  const bool inputs = beside.ia3 == Ia3Scale::Inputs;
  const Cut of_inputs = beside.cut == Cut::Row ? Cut::Column : Cut::Replicated;
  return {.name = layer.name,
          .rows = inputs ? beside.cols : beside.rows / beside.parts,
          .cut = inputs ? of_inputs : beside.cut,
          .matrix = false,
          .adapter = true};
}

/// Calls `visit(matrix)` for every A, then every B, then all magnitudes of what stands beside `tensor`; of
/// IA³ for all scales.
template <class Visitor>
void visit_adapters(const Scenario& sc, const ParameterTensor& tensor, const Visitor& visit) {
  if (sc.recipe.fine_tune == FineTune::Ia3) {
    for (const ScaledLayer& layer : kScaledLayers) {
      if (tensor.name == name_of(layer.matrix)) visit(scales_of(layer, tensor));
    }
    return;
  }
  const std::int64_t rank = adapter_rank(sc);
  for (const auto make : {matrix_a, matrix_b, magnitudes}) {
    if (make == magnitudes && !learns_magnitudes(sc.recipe)) continue;
    for (const AdaptableLayer& layer : kAdaptableLayers) {
      if (is_adapted(sc, layer, tensor)) visit(make(layer, tensor, rank));
    }
  }
}

bool stand_together(const ParameterTensor& a, const ParameterTensor& b) {
  return (a.name == name_of(Parameter::AttentionQueryWeight) &&
          b.name == name_of(Parameter::AttentionKeyValueWeight)) ||
         (a.name == name_of(Parameter::StateProjectionWeight) &&
          b.name == name_of(Parameter::StateGatesWeight));
}

}  // namespace

namespace {

/// The weight of the linear layer that a bias belongs to; none where it belongs to no linear layer.
std::string_view layer_of_bias(const Scenario& sc, std::string_view bias) {
  constexpr std::string_view kBias = "bias";
  const std::string_view stem = bias.substr(0, bias.size() - kBias.size() - 1);  // "." or, of steps, "_"
  for (const AdaptableLayer& layer : kAdaptableLayers) {
    const std::string_view weight = name_of(layer.matrix);
    if (!weight.starts_with(stem) || weight.substr(stem.size()) != ".weight") continue;
    // Steps have a linear layer in Mamba alone; elsewhere the bias is a parameter by itself.
    const bool steps = layer.matrix == Parameter::StateStepWeight;
    return steps && sc.model.recurrent.kind != RecurrentKind::Mamba1 ? std::string_view{} : weight;
  }
  return {};
}

double bias_share(const Scenario& sc, std::string_view bias) {
  const bool by_itself = bias == name_of(Parameter::MoeRouterCorrectionBias) ||
                         bias.starts_with("moe.experts.") ||
                         (bias == name_of(Parameter::StateStepBias) && layer_of_bias(sc, bias).empty());
  if (by_itself || sc.recipe.lora_bias == TrainedBiases::None) return 0;
  if (sc.recipe.lora_bias == TrainedBiases::All) return 1;
  const std::string_view weight = layer_of_bias(sc, bias);
  if (weight.empty()) return 0;
  std::int64_t parts = 1;
  for (const AdaptableLayer& layer : kAdaptableLayers) {
    if (name_of(layer.matrix) == weight) parts = linear_layers_in(layer.matrix);
  }
  return static_cast<double>(adapted_parts(sc, weight, parts)) / static_cast<double>(parts);
}

}  // namespace

double own_share(const Scenario& sc, std::string_view tensor) {
  if (!trains_adapters(sc.recipe)) return 1;
  const bool head = tensor == name_of(Parameter::HeadWeight) || tensor == name_of(Parameter::HeadBias);
  if (head && trains_head(sc.recipe)) return 1;
  if (tensor == name_of(Parameter::EmbeddingWordWeight)) return trains_embedding(sc.recipe) ? 1 : 0;
  return tensor.ends_with("bias") ? bias_share(sc, tensor) : 0;
}

std::span<const AdaptableLayer> adaptable_layers() {
  return kAdaptableLayers;
}

std::span<const ScaledLayer> scaled_layers() {
  return kScaledLayers;
}

void append_adapter_parameters(const Scenario& sc, LayerClass kind, std::vector<ParameterTensor>& out) {
  if (!adapters_are_operations(sc)) return;
  std::vector<ParameterTensor> base, down, up, lengths;
  append_layer_parameters(sc.model, kind, base);
  const auto flush = [&] {
    out.insert(out.end(), down.begin(), down.end());
    out.insert(out.end(), up.begin(), up.end());
    out.insert(out.end(), lengths.begin(), lengths.end());
    down.clear();
    up.clear();
    lengths.clear();
  };
  for (std::size_t i = 0; i < base.size(); ++i) {
    if (!base[i].matrix) continue;
    visit_adapters(sc, base[i], [&](const ParameterTensor& t) {
      (t.name.ends_with("lora_a") ? down : t.name.ends_with("lora_m") ? lengths : up).push_back(t);
    });
    // One product makes queries, keys and values.
    if (i + 1 < base.size() && stand_together(base[i], base[i + 1])) continue;
    flush();
  }
}

std::optional<MeasuredRows> measured_rows(const ModelSpec& model, LayerClass kind, std::string_view name) {
  std::vector<ParameterTensor> base;
  append_layer_parameters(model, kind, base);
  for (const AdaptableLayer& layer : kAdaptableLayers) {
    if (layer.m != name) continue;
    const auto matrix = std::ranges::find(base, name_of(layer.matrix), &ParameterTensor::name);
    if (matrix == base.end()) continue;
    return MeasuredRows{matrix->name, layer.part * (matrix->rows / matrix->parts), matrix->cols};
  }
  return std::nullopt;
}

double adapter_elements_on_rank(const Scenario& sc, const ParameterTensor& tensor) {
  double sum = 0;
  if (!tensor.matrix) return sum;
  visit_adapters(sc, tensor, [&](const ParameterTensor& t) {
    sum += static_cast<double>(elements_on_rank(t, sc.model, sc.layout, sc.framework.vocab_multiple));
  });
  return sum;
}

}  // namespace hexaplan::costmodel
