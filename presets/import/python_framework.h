#pragma once
#include <span>
#include <string_view>

#include "presets/launch/launch_config.h"

namespace hexaplan::presets {

/// A setting that a function or class makes, and that stands in no file.
struct KnownSetting {
  const char* key;
  const char* value;  // as Python writes it
};

/// A function that recipes begin with, or hand their configuration to.
enum class KnownRole { Base, Helper };
struct KnownFunction {
  std::string_view name;
  KnownRole role;
  std::span<const KnownSetting> settings;
};

/// An object that stands for settings of its own: "SelectiveAC.Config()". `name`: what is called; of
/// "X.Config" it is X. Keys lie below the attribute that it is assigned to.
struct KnownCall {
  std::string_view name;
  std::span<const KnownSetting> settings;
  std::string_view first_argument = {};  // the key that it is; empty: it is none
};

/// An attribute whose None says something.
struct KnownNone {
  std::string_view key;
  KnownSetting setting;
};

/// What the configuration calls `from` is `to` in the framework's tables. Both are beginnings of keys.
struct KeyRename {
  std::string_view from, to;
};

/// How the people of one framework write a run down in Python.
struct PythonFramework {
  Launcher launcher;
  std::span<const std::string_view> signs;       // one of them stands in every file
  std::span<const std::string_view> containers;  // how the names of configuration classes end
  std::string_view recipe_ending;                // of functions that make one, where they are called so
  std::span<const KnownFunction> functions;
  std::span<const KnownCall> calls;
  std::span<const KnownNone> nones;
  std::span<const KeyRename> renames;
  std::string_view folder_key;  // what the folder of a recipe's file is; empty: nothing
};

/// The framework whose signs stand in a text; nullptr: none of them.
[[nodiscard]] const PythonFramework* python_framework_of(std::string_view text);
/// The framework of a launcher whose recipes are Python; nullptr: none.
[[nodiscard]] const PythonFramework* python_framework_of(Launcher launcher);

/// "llama31_8b_pretrain_config"; "default_peft_config" makes a part of one.
[[nodiscard]] bool is_called_a_recipe(const PythonFramework& framework, std::string_view function);
/// A class of configurations, as it is called or stands behind "->".
[[nodiscard]] bool is_container(const PythonFramework& framework, std::string_view name);
[[nodiscard]] const KnownFunction* find_function(const PythonFramework& framework, std::string_view name);
/// What a recipe that is in no file begins with, by its name ("llama3_8b_pretrain_config"); nullptr: unknown.
[[nodiscard]] const KnownFunction* find_base_of_recipe(const PythonFramework& framework,
                                                       std::string_view recipe);
[[nodiscard]] const KnownCall* find_call(const PythonFramework& framework, std::string_view name);

}  // namespace hexaplan::presets
