#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string_view>

#include "cli/options/command_row.h"
#include "costmodel/units/parse_number.h"
#include "costmodel/units/parse_units.h"
#include "presets/json/vocabulary.h"
#include "presets/scenario/recipe_fields.h"

namespace hexaplan::cli {
namespace {

constexpr std::string_view kQuestion = "The question", kMore = "Framework, measurements, files";

/// A flag of the recipe, in the words that its field's row gives.
struct RecipeOption {
  const presets::RecipeField* field;
  std::string help;
  std::vector<std::string> choices;
  std::string_view group;
};
/// Made once: the Python module makes rows of options for every estimate.
const std::vector<RecipeOption>& recipe_options() {
  static const std::vector<RecipeOption> options = [] {
    std::vector<RecipeOption> all;
    std::string_view group;
    for (const presets::RecipeField& field : presets::recipe_fields()) {
      if (*field.text.group != '\0') group = field.text.group;
      if (!field.flag.empty()) all.push_back({&field, help_of(field.text), offered(field.text), group});
    }
    return all;
  }();
  return options;
}

/// What was typed stays, for rows that are made again over a question.
void append_recipe_options(std::vector<OptionRow>& rows, std::vector<ScenarioOptions::RecipeFlag>& typed) {
  const std::vector<RecipeOption>& options = recipe_options();
  if (typed.size() != options.size()) {
    typed.clear();
    for (const RecipeOption& option : options)
      typed.push_back({std::string{option.field->key}, std::string{option.field->flag}, ""});
  }
  for (std::size_t i = 0; i < options.size(); ++i) {
    const RecipeOption& option = options[i];
    rows.push_back(
        {typed[i].flag, option.field->text.value, option.help, &typed[i].text, option.choices, option.group});
  }
}

}  // namespace

void append_scenario_options(std::vector<OptionRow>& rows, ScenarioOptions& question) {
  const OptionRow first[] = {
      {"--model", "MODEL",
       "Preset, a Hugging Face config.json, its folder, its name on the hub, - for stdin, or dimensions "
       "(layers=8 hidden=512 heads=8 ffn=1376 vocab=32000)",
       &question.model},
      {"--cluster", "CLUSTER",
       "GPUs and network: 8xH100, 64xA100-80GB, 16x8xH200+ib400, 8x./my-gpu.json, "
       "1024x8xH100+tier:pod:3072+tier:core:x7",
       &question.cluster},
      {"--layout", "LAYOUT",
       "\"tp8 pp4 dp16 zero1 sp vpp2 cp2 ep8 etp1 fsdp hsdp8 …\"; dp follows from the cluster when left out",
       &question.layout},
  };
  rows.insert(rows.end(), std::begin(first), std::end(first));
  for (auto row = rows.end() - std::ssize(first); row != rows.end(); ++row) row->group = kQuestion;
  append_recipe_options(rows, question.recipe);
  const OptionRow last[] = {
      {"--schedule", "NAME", "Pipeline schedule, as in the layout: 1f1b, interleaved, zb-h1, zb-v, …",
       &question.schedule, presets::names_in(presets::kScheduleNames)},
      {"--framework", "NAME", "Framework profile. Default: megatron", &question.framework},
      {"--calibration", "FILE", "Measured curves: preset or FILE. Default: those of the GPU type",
       &question.calibration},
      {"--fabric", "FILE", "Measured links, as calibrate writes them. Default: those of the cluster",
       &question.fabric},
      {"--price", "DOLLARS", "US dollars per GPU-hour. Default: the GPU preset's", &question.price},
      {"--scenario", "FILE", "Read the question from a file (- for stdin); flags override it",
       &question.scenario},
      {"--from", "FILE",
       "Read the question from launch files, as import does (again for each); flags override them. With it, "
       "--cluster may be a "
       "GPU type alone",
       &question.from},
      {"--save-scenario", "FILE", "Write the question to a file", &question.save_scenario},
  };
  rows.insert(rows.end(), std::begin(last), std::end(last));
  for (auto row = rows.end() - std::ssize(last); row != rows.end(); ++row) row->group = kMore;
}

void remove_options(std::vector<OptionRow>& rows, std::initializer_list<std::string_view> flags) {
  std::erase_if(rows, [&](const OptionRow& row) {
    return std::find(flags.begin(), flags.end(), row.flags) != flags.end();
  });
}

int whole_number(const std::string& text, const std::string& flag, int most) {
  const auto value = costmodel::parse_number<std::uint32_t>(text);
  if (!value || *value > static_cast<std::uint32_t>(most))
    throw UsageError{fmt::format("{}: got \"{}\", expected a whole number from 0 to {}", flag, text, most)};
  return static_cast<int>(*value);
}

int step_count(const std::string& text, int most) {
  const int steps = whole_number(text, "--steps", most);
  if (steps < 1) throw UsageError{"--steps: got \"0\", expected a whole number >= 1"};
  return steps;
}

std::int64_t memory_limit(const std::string& text) {
  const auto limit = costmodel::parse_bytes(text);
  if (!limit || limit->value() < 1) {
    throw UsageError{
        fmt::format("--memory-limit: got \"{}\", expected a size with its unit, such as 80GiB", text)};
  }
  return costmodel::whole(*limit);
}

}  // namespace hexaplan::cli
