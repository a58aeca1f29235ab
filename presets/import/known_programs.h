#pragma once
#include <optional>
#include <string_view>

#include "presets/import/command_settings.h"
#include "presets/launch/launch_reading.h"

namespace hexaplan::presets {

/// What the program of a command says of it, whatever its arguments are.
struct KnownProgram {
  Launcher launcher = Launcher::Megatron;
  /// False: another framework's program may be called so; its settings decide.
  bool certain = true;
  /// Of TRL: what is trained ("sft", "dpo"); empty: nothing more is known.
  std::string_view method = {};
};
/// Nothing for a program whose name says no framework.
[[nodiscard]] std::optional<KnownProgram> known_program(const LaunchCommand& command);

/// What the program does when its settings say nothing, and what of it is not planned.
void read_program(const KnownProgram& program, LaunchReading& into);

}  // namespace hexaplan::presets
