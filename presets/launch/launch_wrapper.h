#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "costmodel/units/enum_table.h"
#include "presets/launch/launch_config.h"

namespace hexaplan::presets {

/// Who starts the processes of a job.
enum class Starter : std::uint8_t { Torchrun, Sbatch, Accelerate };
inline constexpr costmodel::Named<Starter> kStarterNames[] = {
    {"torchrun", Starter::Torchrun}, {"sbatch", Starter::Sbatch}, {"accelerate", Starter::Accelerate}};
/// accelerate starts the trainers above Hugging Face's Trainer, the others everything.
[[nodiscard]] constexpr bool can_start(Starter starter, Launcher launcher) {
  return starter != Starter::Accelerate || is_trainer(launcher);
}

/// A shell script that starts a configuration on the plan's machines, with the environment and the rendezvous
/// that the framework demands. accelerate's own configuration is written beside the trainer's: processes,
/// precision and FSDP, which a program of one's own on Accelerator takes as well.
struct LaunchWrapper {
  std::string file;  // "bridge.sbatch"
  std::string text;  // holds the configuration, which it writes where it is started
};
/// Precondition: can_start.
[[nodiscard]] LaunchWrapper launch_wrapper(const costmodel::Scenario& scenario, const LaunchFormat& format,
                                           const LaunchConfig& config, Starter starter);

/// Variables that the framework asks for, for this plan.
struct EnvironmentVariable {
  std::string_view name, value;
};
[[nodiscard]] std::vector<EnvironmentVariable> launch_environment(const costmodel::Scenario& scenario,
                                                                  Launcher launcher);

}  // namespace hexaplan::presets
