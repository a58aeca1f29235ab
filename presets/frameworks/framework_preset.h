#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "costmodel/spec/framework_profile.h"
#include "presets/json/read_json.h"

namespace hexaplan::presets {

/// Which of the scripts in scripts/oracle runs a framework's step without a GPU.
enum class OracleSteps : std::uint8_t {
  None,
  Transformers,  // hugging_face.py
  FullyShard,    // whole_steps.py, FSDP2
  DataParallel,  // whole_steps.py, DDP
};

/// One file of presets/frameworks. Keys are the fields of FrameworkProfile; "saved" and "elementwise" map a
/// snake_case name of the enum to its rule. "inherits" names the profile that everything left out is taken
/// from; single rules replace the parent's rule of the same name.
struct FrameworkPreset {
  costmodel::FrameworkProfile profile;
  std::string description;
  std::string inherits;  // empty: the defaults of FrameworkProfile
  OracleSteps oracle = OracleSteps::None;
  /// Field → where its number comes from; those of the parent's fields that this file leaves alone are
  /// included.
  std::vector<std::pair<std::string, std::string>> sources;
};

/// The profile of one file with what it inherits; InputError names what is wrong in which file.
[[nodiscard]] FrameworkPreset read_framework_preset(const std::filesystem::path& path);
/// The same by name, among the presets that are installed.
[[nodiscard]] FrameworkPreset find_framework_preset(std::string_view name);
[[nodiscard]] costmodel::FrameworkProfile find_framework(std::string_view name);

/// "hf-eager" of "hf-eager@transformers-4.44": versions of a framework are profiles that inherit its own.
[[nodiscard]] constexpr std::string_view without_version(std::string_view profile) {
  return profile.substr(0, profile.find('@'));
}
/// The scenario's profile is `name` or a version of it.
[[nodiscard]] inline bool is_version_of(const costmodel::FrameworkProfile& profile, std::string_view name) {
  return without_version(profile.name) == name;
}

/// Every field, such that reading it gives the same profile.
[[nodiscard]] JsonValue to_json(const costmodel::FrameworkProfile& profile);
/// Keys of the single-valued fields, in the order of FrameworkProfile.
[[nodiscard]] std::vector<std::string_view> framework_fields();

}  // namespace hexaplan::presets
