#include <fmt/format.h>

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "cli/options/command_row.h"

namespace hexaplan::cli {
namespace {

constexpr int kMostLayouts = 100000;
constexpr int kMostSeed = 999999999;

struct VerifyWords {
  std::string random, seed;
  VerifyOptions options;
};

bool is_typed(const OptionRow& row) {
  const auto* const text = std::get_if<std::string*>(&row.target);
  const auto* const texts = std::get_if<std::vector<std::string>*>(&row.target);
  return (text != nullptr && !(*text)->empty()) || (texts != nullptr && !(*texts)->empty());
}

/// Random layouts bring their own question: no word of another changes anything.
void refuse_questions(VerifyOptions& options) {
  std::vector<OptionRow> rows;
  append_scenario_options(rows, options.question);
  for (const OptionRow& row : rows) {
    if (is_typed(row))
      throw UsageError{fmt::format(
          "{}: has no effect beside --random N, whose layouts bring model, cluster and recipe", row.flags)};
  }
}

Command checked_verify(VerifyWords words) {
  VerifyOptions& o = words.options;
  if (!words.random.empty()) o.random = whole_number(words.random, "--random", kMostLayouts);
  if (!words.seed.empty()) o.seed = whole_number(words.seed, "--seed", kMostSeed);
  const bool asked = !o.question.scenario.empty() || !o.question.model.empty() || !o.question.from.empty();
  if (o.random > 0) refuse_questions(o);
  if (!asked && o.random == 0)
    throw UsageError{
        "verify: needs either a scenario (--scenario FILE, or --model, --cluster and --layout) or --random "
        "N"};
  if (o.coverage && o.random == 0) throw UsageError{"verify: --coverage needs --random N"};
  if (o.first && (o.random == 0 || o.coverage))
    throw UsageError{"verify: --first needs --random N, and layouts that are executed"};
  if (o.whole && o.random > 0) throw UsageError{"verify: --whole needs a scenario; random layouts are small"};
  return o;
}

}  // namespace

CommandRow verify_row() {
  const auto words = std::make_shared<VerifyWords>();
  CommandRow row{.name = "verify",
                 .help = "Execute a layout, shrunk, and hold its counts and parameters against prediction",
                 .options = {},
                 .finish = [words] { return checked_verify(*words); }};
  append_scenario_options(row.options, words->options.question);
  row.options.push_back(
      {"--random", "N",
       "That many layouts of small models instead of a scenario; first those in which every two "
       "choices meet. As many recorded steps are executed again",
       &words->random});
  row.options.push_back({"--coverage", "", "Say what --random draws, choice by choice, and execute nothing",
                         &words->options.coverage});
  row.options.push_back(
      {"--whole", "", "Execute the scenario as it is instead of shrunk", &words->options.whole});
  row.options.push_back(
      {"--first", "", "With --random: stop at the first layout that differs", &words->options.first});
  row.options.push_back(
      {"--seed", "N", "Of parameters, tokens and random layouts. Default: 1", &words->seed});
  return row;
}

}  // namespace hexaplan::cli
