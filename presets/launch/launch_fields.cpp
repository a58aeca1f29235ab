#include "presets/launch/launch_fields.h"

#include <initializer_list>

#include "costmodel/spec/recompute_modules.h"
#include "presets/launch/launch_readers.h"

namespace hexaplan::presets {

namespace {

std::vector<LaunchField> together(std::initializer_list<std::span<const LaunchField>> parts) {
  std::vector<LaunchField> fields;
  for (const auto part : parts) fields.insert(fields.end(), part.begin(), part.end());
  return fields;
}

}  // namespace

std::span<const LaunchField> launch_model_fields() {
  static const std::vector<LaunchField> all =
      together({decoder_fields(), bridge_model_fields(), maxtext_model_fields(), torchtitan_model_fields()});
  return all;
}

std::span<const LaunchField> launch_fields() {
  static const std::vector<LaunchField> all =
      together({launch_layout_fields(), launch_recipe_fields(), launch_model_fields(), launch_bridge_fields(),
                launch_maxtext_fields(), launch_trainer_fields()});
  return all;
}

std::span<const ConfigSetting> config_settings() {
  // Megatron-LM, nanotron, torchtitan, DeepSpeed, Megatron-Bridge; their sources stand in launch_formats().
  static constexpr ConfigSetting kSettings[] = {
      {"initializer_range", {"--init-method-std", "model.init_method.std", {}, {}, "model.init_method_std"}},
      {"router_z_loss_coef", {"--moe-z-loss-coeff", {}, {}, {}, "model.moe_z_loss_coeff"}},
      {"router_jitter_noise", {"--moe-input-jitter-eps", {}, {}, {}, "model.moe_input_jitter_eps"}},
  };
  return kSettings;
}

bool can_overlap_experts(const costmodel::Scenario& s) {
  using costmodel::RecomputeMode;
  const RecomputeMode mode = s.recipe.recompute.mode;
  const bool keeps_layers = mode != RecomputeMode::Full && mode != RecomputeMode::Layers &&
                            (s.recipe.recompute.modules & costmodel::kRecomputeMoe) == 0;
  return s.model.is_moe() && s.layout.ep > 1 && (s.layout.pp == 1 || s.layout.vpp > 1) && keeps_layers &&
         costmodel::activation_dtype(s.recipe.precision) != costmodel::DType::Fp32 && s.model.mtp_layers <= 1;
}

bool groups_experts(const costmodel::Scenario& s) {
  return s.model.is_moe() && costmodel::activation_dtype(s.recipe.precision) == costmodel::DType::Bf16;
}

std::uint16_t core_modules(const costmodel::Scenario& s) {
  // It has no "act", takes "mlp" of any model, and "moe_act" of grouped products alone.
  unsigned modules = costmodel::recompute_modules_of(s.model) | costmodel::kRecomputeMlp;
  modules &= ~unsigned{costmodel::kRecomputeActivation};
  if (!groups_experts(s)) modules &= ~unsigned{costmodel::kRecomputeMoeActivation};
  return static_cast<std::uint16_t>(modules & s.recipe.recompute.modules);
}

bool offloads_counted_layers(const costmodel::Scenario& s) {
  return offloads(s, costmodel::kOffloadActivations) && s.recipe.offload_layers > 0 &&
         s.recipe.offload_layers < s.model.layers && s.layout.pp == 1 &&
         s.recipe.recompute.mode == costmodel::RecomputeMode::None;
}

}  // namespace hexaplan::presets
