#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "presets/json/json_value.h"
#include "presets/json/object_reader.h"
#include "presets/launch/launch_config.h"

namespace hexaplan::presets {

struct LaunchReading;

/// One setting, both ways: what a plan says about it, what each framework calls it, and what it says of a
/// plan.
struct LaunchField {
  /// Null: leave it out.
  JsonValue (*value)(const costmodel::Scenario& scenario);
  /// By Launcher: a flag ("--seq-length", true: without value), or a path of keys ("tokens.sequence_length").
  /// Empty: the framework has no such setting, or another row says it.
  std::array<std::string_view, kLaunchers> keys;
  /// Takes somebody's value. Null: the setting says nothing that others do not say, too.
  void (*read)(const ValueReader& value, LaunchReading& into) = nullptr;
  /// Null in a file is a value of it, not a setting left out.
  bool reads_null = false;
};
/// All, in the order in which files have them.
[[nodiscard]] std::span<const LaunchField> launch_fields();
/// How layers and states are cut over ranks.
[[nodiscard]] std::span<const LaunchField> launch_layout_fields();
/// The step, its optimizer, and memory against time.
[[nodiscard]] std::span<const LaunchField> launch_recipe_fields();
[[nodiscard]] std::span<const LaunchField> launch_model_fields();
/// Parts of launch_model_fields(): what several frameworks say alike, and what one says in its own words.
[[nodiscard]] std::span<const LaunchField> decoder_fields();
[[nodiscard]] std::span<const LaunchField> bridge_model_fields();
[[nodiscard]] std::span<const LaunchField> maxtext_model_fields();
[[nodiscard]] std::span<const LaunchField> torchtitan_model_fields();
/// What Megatron-Bridge and MaxText say of the step in their own words.
[[nodiscard]] std::span<const LaunchField> launch_bridge_fields();
[[nodiscard]] std::span<const LaunchField> launch_maxtext_fields();
/// What trainers above Hugging Face's Trainer say.
[[nodiscard]] std::span<const LaunchField> launch_trainer_fields();
/// Under DeepSpeed: the part of its own configuration that a trainer's file carries inside ("deepspeed.…").
[[nodiscard]] bool is_inside_trainers(std::string_view deepspeed_key);

/// True where Megatron-Core can offload the activations of as many layers as the plan says: some of them,
/// without pipeline or recomputation (megatron/core/transformer/transformer_config.py, cpu_offloading).
[[nodiscard]] bool offloads_counted_layers(const costmodel::Scenario& scenario);

/// True where Megatron-Core can hide exchanges of tokens behind another micro-batch
/// (megatron/core/transformer/transformer_config.py, overlap_moe_expert_parallel_comm).
[[nodiscard]] bool can_overlap_experts(const costmodel::Scenario& scenario);

/// Grouped products of experts: Megatron-LM's validate_args knows them in bf16 alone.
[[nodiscard]] bool groups_experts(const costmodel::Scenario& scenario);

/// Of the modules that run again in the plan, those that Megatron-Core has in its model
/// (megatron/core/transformer/transformer_config.py, recompute_modules): others it refuses or runs nothing
/// of.
[[nodiscard]] std::uint16_t core_modules(const costmodel::Scenario& scenario);

/// Megatron-LM's switch adds a bias to every linear layer or to none.
[[nodiscard]] bool has_linear_bias(const costmodel::Scenario& scenario);

/// What a framework's file cannot say about this plan.
[[nodiscard]] std::vector<std::string> launch_gaps(const costmodel::Scenario& scenario, Launcher launcher,
                                                   const ModelOrigin& origin = {});

/// What config.json says and no plan needs: how weights begin, losses beside the model's own.
struct ConfigSetting {
  std::string_view config_key;
  std::array<std::string_view, kLaunchers> keys;  // by Launcher
};
[[nodiscard]] std::span<const ConfigSetting> config_settings();

/// The file, with the settings in the order of launch_fields().
[[nodiscard]] std::string launch_text(const costmodel::Scenario& scenario, const LaunchFormat& format,
                                      const std::vector<std::string>& gaps, const std::string& remark,
                                      const ModelOrigin& origin);

}  // namespace hexaplan::presets
