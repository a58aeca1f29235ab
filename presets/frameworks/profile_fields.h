#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "costmodel/spec/framework_profile.h"
#include "presets/json/object_reader.h"

namespace hexaplan::presets {

template <class T>
using ProfileMember = T costmodel::FrameworkProfile::*;

/// One single-valued field of a framework's profile: its key in the file and where it goes.
struct ProfileField {
  std::string_view key;
  std::variant<ProfileMember<bool>, ProfileMember<double>, ProfileMember<std::int64_t>,
               ProfileMember<costmodel::DType>, ProfileMember<costmodel::StageSplit>,
               ProfileMember<costmodel::GradientOverlap>, ProfileMember<costmodel::AttentionLibrary>,
               ProfileMember<std::string>, ProfileMember<costmodel::Bytes>, ProfileMember<costmodel::Seconds>>
      member;
  RealRange range = {0, 1e15};  // of numbers
};
/// In the order of FrameworkProfile. A new field is one line in the table behind it.
[[nodiscard]] std::span<const ProfileField> profile_fields();

/// Key and member of one number of a rule.
template <class Rule>
struct RulePart {
  std::string_view key;
  double Rule::*member;
};
/// Rules of the group "saved", by the enum's order, and their numbers.
[[nodiscard]] std::span<const Named<costmodel::Saved>> saved_names();
[[nodiscard]] std::span<const RulePart<costmodel::SavedRule>> saved_parts();
/// Words of "saved_when", by the enum's order.
[[nodiscard]] std::span<const Named<costmodel::SavedCase>> saved_case_names();
/// The same of the group "elementwise".
[[nodiscard]] std::span<const Named<costmodel::Elementwise>> elementwise_names();
[[nodiscard]] std::span<const RulePart<costmodel::ElementwiseRule>> elementwise_parts();

}  // namespace hexaplan::presets
