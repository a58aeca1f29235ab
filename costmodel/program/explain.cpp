#include "costmodel/program/explain.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

namespace hexaplan::costmodel::program {
namespace {

std::string text_of(const Value& value) {
  const std::string_view name = name_of(value.tensor);
  switch (value.role) {
    case Role::Itself:
      return std::string{name};
    case Role::Gradient:
      return fmt::format("{}'", name);
    default:
      return fmt::format("{}[{}]", name, kRoles[position(value.role)].name);
  }
}

std::string text_of(const Op& op) {
  const std::string_view kind = row_of(op.kind).name;
  if (op.function == Function::Count) return std::string{kind};
  return fmt::format("{}({})", kind, kFunctions[position(op.function)].name);
}

template <class Ids>
std::string text_of(const Program& p, const Ids& ids) {
  std::string out;
  for (const ValueId id : ids) out += (out.empty() ? "" : ", ") + text_of(p.of(id));
  return out;
}

}  // namespace

std::string listing(const Program& p) {
  constexpr std::array<std::string_view, kPhases> kPhaseNames{"F", "B", "W"};
  std::string out;
  for (const Op& op : p.ops) {
    out += fmt::format("{} {} {} {}", kPhaseNames[position(op.phase)], row_of(op.site).name, text_of(op),
                       text_of(p, op.reads));
    if (op.writes.size() > 0) out += " -> " + text_of(p, op.writes);
    if (op.in_place > 0) out += " (in place)";
    if (op.recomputed) out += " (again)";
    if (op.by_chunk) out += fmt::format(" (in {} chunks)", p.chunks);
    out += '\n';
  }
  return out;
}

}  // namespace hexaplan::costmodel::program
