#pragma once
#include <map>
#include <string>
#include <vector>

#include "presets/import/python_lines.h"
#include "presets/import/python_recipe.h"

namespace hexaplan::presets {

/// A function of some file, or a file's own lines (no name).
struct PythonFunction {
  std::string name;
  const PythonFile* file = nullptr;
  std::vector<std::string> parameters;
  std::map<std::string, PythonValue> defaults;  // of parameters
  std::string returns;                          // what stands behind "->"
  std::vector<PythonLine> body;
};

/// A file's functions and its own lines.
struct PythonModule {
  std::vector<PythonFunction> functions;
  PythonFunction own;
  std::map<std::string, std::string> aliases;  // "from x import a as b": b is a
};

[[nodiscard]] PythonModule python_module(const PythonFile& file);

}  // namespace hexaplan::presets
