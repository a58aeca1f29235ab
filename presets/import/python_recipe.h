#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "presets/import/setting.h"
#include "presets/launch/launch_config.h"

namespace hexaplan::presets {

// Recipes of Megatron-Bridge and configurations of torchtitan are Python functions that return a
// configuration. They are read, not run: what a function assigns to attributes of its configuration is a
// setting.

/// A file of recipes, and the functions whose bodies others may build on.
struct PythonFile {
  std::string name, text;
};

/// A setting whose value a reader cannot know.
struct UnreadSetting {
  Setting setting;  // without a value
  std::string_view why;
};

struct PythonRecipe {
  Launcher launcher = Launcher::Bridge;
  std::string function;           // empty: the file's own lines
  std::vector<Setting> settings;  // in the order in which they are assigned; a later one wins
  std::vector<UnreadSetting> unread;
  std::vector<std::string> notes;  // functions that are in none of the files
};

/// Whether a text is Python that assigns to attributes of a configuration.
[[nodiscard]] bool is_python_recipe(std::string_view text);

/// What Megatron-Bridge's recipes that are called like this one begin with (recipes/common.py), as settings
/// of the line that names it.
[[nodiscard]] std::vector<Setting> base_of_bridge_recipe(std::string_view name, const std::string& file,
                                                         int line);

/// The recipe `function` of the first file; without a name the only one in it, or the file's own lines. Bases
/// and helpers are followed into all files, and those that the framework keeps beside its recipes
/// (python_framework.h) are known. What stands below a condition is noted and not read. InputError when there
/// is no such function, or several and none is named, or no framework's word stands in the first file.
[[nodiscard]] PythonRecipe read_python_recipe(const std::vector<PythonFile>& files,
                                              std::string_view function);

}  // namespace hexaplan::presets
