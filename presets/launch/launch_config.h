#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "costmodel/spec/scenario.h"
#include "costmodel/spec/verdict.h"
#include "presets/models/model_origin.h"

namespace hexaplan::presets {

// A plan in the words of the framework that is to run it.

enum class Launcher : std::uint8_t {
  Megatron,
  Nanotron,
  Torchtitan,
  DeepSpeed,
  Bridge,
  MaxText,
  Trl,
  Axolotl,
  LlamaFactory
};
inline constexpr int kLaunchers = 9;
/// True for the trainers above Hugging Face's Trainer: the model comes from the hub, and ranks shard by FSDP
/// or DeepSpeed.
[[nodiscard]] constexpr bool is_trainer(Launcher launcher) {
  return launcher >= Launcher::Trl;
}

/// One framework whose configuration can be written.
struct LaunchFormat {
  Launcher launcher;
  std::string_view name;     // "megatron"
  std::string_view title;    // "Megatron-LM"
  std::string_view profile;  // the framework profile that predicts it best
  /// Further profiles that are run by it, blank between them.
  std::string_view profiles;
  std::string_view file;    // usual name: "megatron.sh"
  std::string_view what;    // "arguments for pretrain_gpt.py, as a script"
  std::string_view source;  // where its keys are defined
};
[[nodiscard]] std::span<const LaunchFormat> launch_formats();
/// By its name or by one of its profiles. InputError that names the nearest when there is none.
[[nodiscard]] const LaunchFormat& find_launch_format(std::string_view framework);

/// True when the framework runs what a profile predicts.
[[nodiscard]] bool runs_profile(const LaunchFormat& format, std::string_view profile);

/// The framework called `target`, for a plan of a profile. InputError when there is none, or it does not run
/// the profile.
[[nodiscard]] const LaunchFormat& find_launch_target(std::string_view target, std::string_view profile);

/// The profile that predicts what is asked for under its own name ("torchtitan": fsdp2), or as a profile.
/// InputError that lists both when it is neither; empty when nothing is asked for.
[[nodiscard]] std::string profile_of_framework(std::string_view framework);

/// Why a framework cannot run the plan's model at all, where it can run some; else nothing.
[[nodiscard]] std::optional<costmodel::Rejected> launch_rejection(const costmodel::Scenario& scenario,
                                                                  Launcher launcher);

struct LaunchConfig {
  std::string text;  // the file
  /// What the plan says and this file cannot: whoever launches it must see to that.
  std::vector<std::string> gaps;
};
/// `remark`: a line for the top of the file, where it has comments; empty: none. `origin`: config.json of the
/// plan's model, for what it says beside the plan. Preconditions: the rules accepted the scenario,
/// launch_rejection names nothing.
[[nodiscard]] LaunchConfig launch_config(const costmodel::Scenario& scenario, const LaunchFormat& format,
                                         const std::string& remark = {}, const ModelOrigin& origin = {});

}  // namespace hexaplan::presets
