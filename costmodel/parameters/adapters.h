#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "costmodel/parameters/parameter_names.h"
#include "costmodel/parameters/parameter_tensors.h"
#include "costmodel/spec/scenario.h"

namespace hexaplan::costmodel {

/// A linear layer of its own that low-rank matrices can stand beside: part `part` of the outputs of `matrix`.
/// What it makes gains scale·(x·Aᵀ)·Bᵀ (arXiv:2106.09685 §4.1); A is rank × inputs, B outputs × rank.
struct AdaptableLayer {
  Parameter matrix;
  int part;
  std::string_view a, b;  // names of the matrices as parameters
  std::string_view m;     // … of the magnitudes of its outputs (learns_magnitudes)
};
/// All of them, in the order in which a matrix holds them.
[[nodiscard]] std::span<const AdaptableLayer> adaptable_layers();

/// What IA³ learns scales for: part `part` of the outputs of `matrix`, or its inputs (ParameterTensor::ia3).
struct ScaledLayer {
  Parameter matrix;
  int part;
  std::string_view name;  // of the scales as a parameter
};
/// All of them, in the order in which a matrix makes what is scaled (arXiv:2205.05638 §3.3).
[[nodiscard]] std::span<const ScaledLayer> scaled_layers();

/// Linear layers of their own that a parameter's matrix holds (ParameterTensor::parts).
[[nodiscard]] constexpr std::int64_t linear_layers_in(Parameter parameter) {
  const bool two =
      parameter == Parameter::AttentionKeyValueWeight || parameter == Parameter::MlpGateUpWeight ||
      parameter == Parameter::MoeExpertsGateUpWeight || parameter == Parameter::MoeSharedGateUpWeight;
  return two ? 2 : 1;
}

/// Linear layers of the model that the framework runs as one, beside which one adapter stands.
struct PackedLayers {
  bool attention = false;  // queries, keys and values
  bool mlp = false;        // gate and up
};
/// A framework whose own layers are packed adapts queries and values by themselves where it is asked to
/// (NVIDIA-NeMo/Megatron-Bridge src/megatron/bridge/peft/canonical_lora.py).
[[nodiscard]] constexpr PackedLayers packed_layers(const Scenario& scenario) {
  const FrameworkProfile& f = scenario.framework;
  if (scenario.recipe.fine_tune == FineTune::Ia3) return {};
  const bool by_model = f.runs_models_code;
  const bool all = f.packs_projections;
  const bool apart = all && scenario.recipe.lora_targets == AdapterTargets::QueryValue;
  return {.attention = (all && !apart) || (by_model && scenario.model.attention.packed),
          .mlp = all || (by_model && scenario.model.mlp.packed)};
}

/// True for experts' and routers' weights that are no linear layers
/// (FrameworkProfile::experts_are_parameters).
[[nodiscard]] constexpr bool is_expert_parameter(const Scenario& scenario, std::string_view tensor) {
  return scenario.framework.experts_are_parameters &&
         (tensor.starts_with("moe.experts.") || tensor.starts_with("moe.router."));
}

/// Of the `parts` linear layers that a matrix of this name holds together (ParameterTensor::parts), those
/// whose outputs adapters change.
[[nodiscard]] constexpr std::int64_t adapted_parts(const Scenario& scenario, std::string_view tensor,
                                                   std::int64_t parts) {
  const Recipe& recipe = scenario.recipe;
  const bool attention = tensor.starts_with("attention."), state = tensor.starts_with("state.");
  if (is_expert_parameter(scenario, tensor)) return 0;
  if (recipe.fine_tune == FineTune::Ia3) return parts;
  switch (recipe.lora_targets) {
    case AdapterTargets::AllLinear:
      return parts;
    case AdapterTargets::Attention:
      return attention ? parts : 0;
    case AdapterTargets::QueryKeyValue:
      return attention && tensor != name_of(Parameter::AttentionOutputWeight) ? parts : 0;
    case AdapterTargets::QueryValue:
      if (tensor == name_of(Parameter::AttentionKeyValueWeight))
        return packed_layers(scenario).attention ? parts : 1;
      return tensor == name_of(Parameter::AttentionQueryWeight) ? parts : 0;
    case AdapterTargets::Mlp:
      return attention || state || tensor == name_of(Parameter::MoeRouterWeight) ? 0 : parts;
  }
  return 0;
}

/// How many adapters, each with a first matrix of its own, change them. Packed queries, keys and values have
/// one, counted with the queries.
[[nodiscard]] constexpr std::int64_t adapters_beside(const Scenario& scenario, std::string_view tensor,
                                                     std::int64_t parts) {
  const std::int64_t adapted = adapted_parts(scenario, tensor, parts);
  const PackedLayers packed = packed_layers(scenario);
  const bool grouped = scenario.model.attention.kind == AttentionKind::Grouped;
  if (packed.attention && grouped && tensor == name_of(Parameter::AttentionKeyValueWeight)) return 0;
  const bool gate_up = tensor == name_of(Parameter::MlpGateUpWeight) ||
                       tensor == name_of(Parameter::MoeExpertsGateUpWeight) ||
                       tensor == name_of(Parameter::MoeSharedGateUpWeight);
  return packed.mlp && gate_up && adapted > 0 ? 1 : adapted;
}

/// Share of a parameter of the model that has a gradient of its own: beside adapters those biases and modules
/// that the recipe names (huggingface/peft@0.21.2 src/peft/tuners/tuners_utils.py
/// _mark_only_adapters_as_trainable; utils/other.py ModulesToSaveWrapper). "all" are those of linear layers
/// and of norms, the output layer's as well; "lora_only" those of adapted layers, of layers that a matrix
/// holds together the adapted ones' share. Never experts' (moe.experts.*), the router's correction, and the
/// bias of steps outside Mamba-1's linear layer.
[[nodiscard]] double own_share(const Scenario& scenario, std::string_view tensor);

/// True where such biases have gradients that are operations of their own. Not: those that recurrences and
/// embeddings' norms read beside what stays frozen, and that of the values alone, where keys' lies beside it.
[[nodiscard]] constexpr bool trained_biases_are_operations(const Scenario& scenario) {
  const ModelSpec& m = scenario.model;
  const TrainedBiases biases = scenario.recipe.lora_bias;
  if (biases == TrainedBiases::None) return true;
  const bool values_alone = biases == TrainedBiases::Adapted && m.attention.qkv_bias &&
                            scenario.recipe.lora_targets == AdapterTargets::QueryValue;
  return !m.is_recurrent() && !values_alone && !(biases == TrainedBiases::All && m.embedding_norm);
}

/// alpha, by which and by the rank the second product is scaled (arXiv:2106.09685 §4.1): the recipe's, else
/// twice the rank, which launch files say then. 0 where nothing has a rank.
[[nodiscard]] constexpr std::int64_t adapter_alpha(const Scenario& scenario) {
  const std::int64_t said = scenario.recipe.lora_alpha;
  return said > 0 ? said : 2 * adapter_rank(scenario);
}
/// What the second product is multiplied by. Precondition: adapters have a rank.
[[nodiscard]] constexpr double adapter_scale(const Scenario& scenario) {
  return static_cast<double>(adapter_alpha(scenario)) / static_cast<double>(adapter_rank(scenario));
}

/// True when the step program has the adapters' matrices, their products and gradients one by one, as the
/// executor runs them: LoRA of a rank beside matrices that are no expert's and no router's; of a base in 4
/// bits, and IA³, in models without experts. Otherwise they are counted beside the frozen matrices.
[[nodiscard]] constexpr bool adapters_are_operations(const Scenario& scenario) {
  const Recipe& r = scenario.recipe;
  const bool scales = r.fine_tune == FineTune::Ia3;
  const bool in_4_bits = r.fine_tune == FineTune::Qlora;
  const bool beside_experts = scales || in_4_bits || r.lora_targets == AdapterTargets::AllLinear ||
                              r.lora_targets == AdapterTargets::Mlp;
  return scenario.framework.adapters_by_operation && (scales || in_4_bits || r.fine_tune == FineTune::Lora) &&
         r.trainable_parameters == 0 && scenario.model.mtp_layers == 0 &&
         trained_biases_are_operations(scenario) && !(scenario.model.is_moe() && beside_experts);
}

/// Appends the adapters' matrices beside those of one layer of class `kind`: of every matrix first all A,
/// then all B, then all magnitudes, so that those of one product are neighbours. Nothing where they are no
/// operations. Beside a column-cut matrix A is whole and B is cut, beside a row-cut one A is cut and B is
/// whole: both products are parts of the sum that the frozen ones are, and need no message; magnitudes are
/// whole, and scale the sum. Of IA³ vectors, cut as what they scale.
void append_adapter_parameters(const Scenario& scenario, LayerClass kind, std::vector<ParameterTensor>& out);

/// Rows of a frozen matrix whose lengths are what magnitudes begin with, as B begins with zeros.
struct MeasuredRows {
  std::string_view matrix;
  std::int64_t first = 0, cols = 0;
};
/// Nothing where `name` is not that of the magnitudes beside a layer of the class.
[[nodiscard]] std::optional<MeasuredRows> measured_rows(const ModelSpec& model, LayerClass kind,
                                                        std::string_view name);

/// Elements of the adapters beside `tensor` that one rank holds before ZeRO. Precondition:
/// adapters_are_operations.
[[nodiscard]] double adapter_elements_on_rank(const Scenario& scenario, const ParameterTensor& tensor);

}  // namespace hexaplan::costmodel
