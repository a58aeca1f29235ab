#include "presets/import/python_module.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "costmodel/units/trimmed.h"

namespace hexaplan::presets {
namespace {

/// Adds what a "from x import (a as b, c)" renames.
void read_aliases(std::string_view statement, std::map<std::string, std::string>& aliases) {
  constexpr std::string_view kImport = " import ", kAs = " as ";
  const std::size_t at = statement.find(kImport);
  if (!statement.starts_with("from ") || at == std::string_view::npos) return;
  std::string names{statement.substr(at + kImport.size())};
  std::replace_if(
      names.begin(), names.end(), [](char c) { return c == '(' || c == ')'; }, ' ');
  for (std::size_t from = 0; from < names.size();) {
    const std::size_t end = std::min(names.find(',', from), names.size());
    const std::string_view each = std::string_view{names}.substr(from, end - from);
    from = end + 1;
    const std::size_t as = each.find(kAs);
    if (as == std::string_view::npos) continue;
    const auto trimmed = [](std::string_view text) { return std::string{costmodel::trimmed(text)}; };
    aliases[trimmed(each.substr(as + kAs.size()))] = trimmed(each.substr(0, as));
  }
}

/// "def f(a, b: int = 1) -> C:".
PythonFunction head_of(const PythonFile& file, std::string_view statement) {
  PythonFunction function{
      .name = {}, .file = &file, .parameters = {}, .defaults = {}, .returns = {}, .body = {}};
  const std::size_t open = statement.find('(');
  constexpr std::size_t kDef = 4;
  if (open == std::string_view::npos || open <= kDef) return function;
  function.name = statement.substr(kDef, open - kDef);
  if (const std::size_t arrow = statement.rfind("->"); arrow != std::string_view::npos) {
    const std::string_view annotation = statement.substr(arrow + 2);
    function.returns = costmodel::trimmed(annotation.substr(0, annotation.rfind(':')));
  }
  std::string parameter;
  int depth = 0;
  for (const char c : statement.substr(open + 1)) {
    if ((c == ')' || c == ',') && depth == 0) {
      const std::string name = parameter.substr(0, parameter.find_first_of(" :="));
      if (!name.empty()) function.parameters.push_back(name);
      if (const std::size_t equals = parameter.find('='); equals != std::string::npos)
        function.defaults[name] = python_value(std::string_view{parameter}.substr(equals + 1));
      parameter.clear();
      if (c == ')') break;
      continue;
    }
    depth += bracket_step(c);
    if (!parameter.empty() || (c != ' ' && c != '\n')) parameter += c;
  }
  return function;
}

}  // namespace

PythonModule python_module(const PythonFile& file) {
  PythonModule module;
  module.own.file = &file;
  PythonFunction* open = nullptr;
  for (PythonLine& line : python_lines(file.text)) {
    if (line.indent > 0) {
      (open != nullptr ? open->body : module.own.body).push_back(std::move(line));
      continue;
    }
    if (line.text.starts_with("def ")) {
      module.functions.push_back(head_of(file, line.text));
      open = &module.functions.back();
    } else {
      open = nullptr;
      read_aliases(line.text, module.aliases);
      module.own.body.push_back(std::move(line));
    }
  }
  return module;
}

}  // namespace hexaplan::presets
