#include "costmodel/spec/beyond_abilities.h"

#include <fmt/format.h>

#include <array>
#include <cstddef>

namespace hexaplan::costmodel {
namespace {

struct AxisRow {
  const char* word;
  int none;  // the degree that every framework has
  int (*degree)(const Layout&);
  bool (*has)(const FrameworkAbilities&);
};
constexpr AxisRow kAxes[] = {
    {"tp", 1, [](const Layout& l) { return l.tp; }, [](const FrameworkAbilities& f) { return f.tensor; }},
    {"cp", 1, [](const Layout& l) { return l.cp; },
     [](const FrameworkAbilities& f) { return f.contexts != 0; }},
    {"pp", 1, [](const Layout& l) { return l.pp; },
     [](const FrameworkAbilities& f) { return f.schedules != 0; }},
    {"ep", 1, [](const Layout& l) { return l.ep; }, [](const FrameworkAbilities& f) { return f.experts; }},
    {"zero", 0, [](const Layout& l) { return l.sharding.stage; },
     [](const FrameworkAbilities& f) { return f.zero_stages != 1; }},
};

/// By RecurrentKind.
constexpr std::array<const char*, kRecurrentKinds> kLayersOf{"",
                                                             "gated-delta-net layers",
                                                             "Mamba-2 layers",
                                                             "short-convolution layers",
                                                             "Mamba-1 layers",
                                                             "lightning-attention layers",
                                                             "Kimi delta-attention layers"};

}  // namespace

std::vector<std::string> beyond_abilities(const Scenario& sc) {
  std::vector<std::string> words;
  for (const AxisRow& axis : kAxes) {
    const int degree = axis.degree(sc.layout);
    if (degree > axis.none && !axis.has(sc.framework.abilities))
      words.push_back(fmt::format("{}{}", axis.word, degree));
  }
  const RecurrentKind kind = sc.model.recurrent.kind;
  if (kind != RecurrentKind::None && !has_bit(sc.framework.abilities.recurrent, kind))
    words.emplace_back(kLayersOf[static_cast<std::size_t>(kind)]);
  return words;
}

}  // namespace hexaplan::costmodel
