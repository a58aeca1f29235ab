#pragma once
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "costmodel/spec/scenario.h"
#include "presets/json/json_value.h"
#include "presets/oracle/compare_step.h"

namespace hexaplan::presets {

/// A framework's profile with what a comparison told.
struct OwnProfile {
  /// The content of a file for --framework; null where nothing can be said.
  JsonValue file;
  costmodel::FrameworkProfile profile;  // that the file gives
  std::vector<std::string> said;        // what changed: "mlp bf16: activation_inner 1 (compute), was 0"
  std::vector<std::string> not_said;    // differences that no field of a profile says: "peak: backward"
};

/// True where the file is the profile that `framework` names: written there, it would inherit itself.
[[nodiscard]] bool would_inherit_itself(const std::string& framework, const std::filesystem::path& file);

/// Looks, for every difference in what layers keep, for a rule of the profile ("saved") and a number of
/// copies with which it is gone and no other one is larger. The rules hold for scenarios of this
/// one's cases. `framework`: what the question calls the profile that the file inherits; `step`: whose
/// versions are its source.
[[nodiscard]] OwnProfile own_profile(const costmodel::Scenario& scenario, const FrameworkStep& step,
                                     const std::string& framework);

}  // namespace hexaplan::presets
