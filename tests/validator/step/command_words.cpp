#include "tests/validator/step/command_words.h"

#include <algorithm>
#include <stdexcept>
#include <utility>
#include <vector>

#include "presets/models/model_text.h"
#include "presets/scenario/layout_text.h"
#include "presets/scenario/recipe_fields.h"

namespace hexaplan::tests {
namespace {

/// Words as a shell sees them.
std::vector<std::string> unquoted(const std::string& text) {
  std::vector<std::string> words(1);
  bool quoted = false;
  for (const char c : text) {
    if (c == '"') {
      quoted = !quoted;
    } else if (c == ' ' && !quoted) {
      words.emplace_back();
    } else {
      words.back() += c;
    }
  }
  return words;
}

}  // namespace

costmodel::Scenario scenario_from_words(const std::string& text, costmodel::Scenario sc) {
  const std::vector<std::string> words = unquoted(text);
  sc.recipe = {};
  for (std::size_t i = 0; i + 1 < words.size(); i += 2) {
    const std::string &flag = words[i], &value = words[i + 1];
    if (flag == "--model") {
      sc.model = presets::parse_model_text(value, flag);
    } else if (flag == "--layout") {
      sc.layout = presets::parse_layout(value, flag).layout;
    } else {
      const auto fields = presets::recipe_fields();
      const auto field =
          std::find_if(fields.begin(), fields.end(), [&](const auto& f) { return f.flag == flag; });
      if (field == fields.end()) throw std::runtime_error{"no recipe field has the flag " + flag};
      presets::set_recipe_field(sc.recipe, field->key, flag, value);
    }
  }
  sc.cluster.gpus = sc.layout.world_size();
  return sc;
}

}  // namespace hexaplan::tests
