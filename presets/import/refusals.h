#pragma once
#include <string>
#include <vector>

#include "presets/import/command_settings.h"
#include "presets/import/import_plan.h"
#include "presets/import/setting.h"

namespace hexaplan::presets {

// Files and commands that would be taken for what they are not. Each throws an InputError that says what they
// are, or returns.

/// Programs whose flags are those of a decoder's training, and which do something else: planning them would
/// answer another question than the one that is asked.
void refuse_other_programs(const LaunchCommand& command, const std::string& file);

/// Configurations of something else than a training, or of a trainer that is not read.
void refuse_other_configurations(const std::string& file, const std::vector<Setting>& settings);
/// A model's own config.json.
void refuse_model_config(const std::string& file, const std::vector<Setting>& settings);
/// NeMo 1's, where they are taken for Megatron-Bridge's.
void refuse_nemo(const std::vector<Setting>& settings);

/// A few settings of what `file` says are `title`'s by chance, and most are nobody's.
void refuse_strangers(const std::string& file, const std::vector<ImportedSetting>& settings,
                      std::string_view title);

/// Nothing was read. `why`: what was found instead; may be empty.
[[noreturn]] void refuse_all(const std::string& file, const std::string& why);

}  // namespace hexaplan::presets
