#include "cli/commands/search_space.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "costmodel/units/nearest_name.h"
#include "costmodel/units/parse_number.h"
#include "costmodel/units/trimmed.h"
#include "presets/json/input_error.h"
#include "presets/json/spec_names.h"
#include "presets/json/vocabulary.h"
#include "presets/scenario/layout_text.h"
#include "presets/scenario/recompute_text.h"

namespace hexaplan::cli {

using planner::SearchSpace;
using presets::in_quotes;
using presets::InputError;

namespace {

constexpr std::int64_t kMostRanks = 10'000'000;
constexpr std::int64_t kMostValues = 100'000;

InputError list_error(std::string_view flag, std::string_view value, std::string expected) {
  return InputError({.field = std::string{flag}, .value = in_quotes(value), .expected = std::move(expected)});
}

std::int64_t whole(std::string_view text, std::string_view flag, std::int64_t least, std::int64_t most) {
  const auto value = costmodel::parse_number<std::int64_t>(text);
  if (!value || *value < least || *value > most)
    throw list_error(flag, text, fmt::format("whole numbers from {} to {}: 8, 1,2,4 or 1..8", least, most));
  return *value;
}

/// Calls `add(first, last)` for every item of a list; "8" is the range from 8 to 8.
template <class Add>
void for_each_range(std::string_view text, std::string_view flag, std::int64_t least, std::int64_t most,
                    const Add& add) {
  for (const std::string& word : read_words(text, flag)) {
    const std::size_t dots = word.find("..");
    const std::int64_t first =
        whole(costmodel::trimmed(std::string_view{word}.substr(0, dots)), flag, least, most);
    const std::int64_t last =
        dots == std::string::npos
            ? first
            : whole(costmodel::trimmed(std::string_view{word}.substr(dots + 2)), flag, least, most);
    if (last < first) throw list_error(flag, word, "the smaller number first");
    add(first, last);
  }
}

std::vector<std::int64_t> sorted_once(std::vector<std::int64_t> values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

std::vector<int> read_degrees(std::string_view text, std::string_view flag, std::int64_t least,
                              std::int64_t most) {
  std::vector<int> degrees;
  for (const std::int64_t value : read_numbers(text, flag, least, most))
    degrees.push_back(static_cast<int>(value));
  return degrees;
}

/// Words of a table of names, each once; InputError names the nearest.
template <class E, std::size_t N>
std::vector<E> read_named(std::string_view text, std::string_view flag, const presets::Named<E> (&table)[N]) {
  std::vector<std::string> names;
  for (const auto& row : table) names.emplace_back(row.name);
  std::vector<E> values;
  for (const std::string& word : read_words(text, flag)) {
    const auto value = presets::value_in(table, word);
    if (!value)
      throw InputError({.field = std::string{flag},
                        .value = in_quotes(word),
                        .expected = fmt::format("{}", fmt::join(names, ", ")),
                        .hint = presets::did_you_mean(costmodel::nearest_name(word, names))});
    if (std::find(values.begin(), values.end(), *value) == values.end()) values.push_back(*value);
  }
  return values;
}

std::vector<costmodel::Recompute> read_recomputes(std::string_view text, std::string_view flag) {
  std::vector<costmodel::Recompute> policies;
  for (std::string word : read_words(text, flag)) {
    if (word == "layers") {
      policies.push_back({.mode = costmodel::RecomputeMode::Layers});
      continue;
    }
    std::replace(word.begin(), word.end(), '+', ',');  // modules within one policy
    policies.push_back(presets::parse_recompute(word, flag));
  }
  return policies;
}

std::vector<bool> read_switch(std::string_view text, std::string_view flag) {
  std::vector<bool> values;
  for (const std::string& word : read_words(text, flag)) {
    if (word != "on" && word != "off") throw list_error(flag, word, "on, off or on,off");
    if (std::find(values.begin(), values.end(), word == "on") == values.end()) values.push_back(word == "on");
  }
  return values;
}

/// Sets of targets: "none,activations,optimizer+activations".
std::vector<std::uint8_t> read_offloads(std::string_view text, std::string_view flag) {
  std::vector<std::uint8_t> sets;
  for (const std::string& word : read_words(text, flag)) {
    std::uint8_t set = 0;
    for (std::size_t at = 0; word != "none" && at <= word.size();) {
      const std::size_t plus = std::min(word.find('+', at), word.size());
      const auto target = presets::value_in(presets::kOffloadNames, word.substr(at, plus - at));
      if (!target)
        throw list_error(flag, word, "none, optimizer, params, activations, or several of them with '+'");
      set = static_cast<std::uint8_t>(set | *target);
      at = plus + 1;
    }
    if (std::find(sets.begin(), sets.end(), set) == sets.end()) sets.push_back(set);
  }
  return sets;
}

std::vector<double> read_shares(std::string_view text, std::string_view flag) {
  std::vector<double> shares;
  for (const std::string& word : read_words(text, flag)) {
    const double share = read_share(word, flag);
    if (std::find(shares.begin(), shares.end(), share) == shares.end()) shares.push_back(share);
  }
  return shares;
}

std::vector<std::array<costmodel::Axis, 4>> read_orders(std::string_view text, std::string_view flag) {
  std::vector<std::array<costmodel::Axis, 4>> orders;
  for (const std::string& word : read_words(text, flag))
    orders.push_back(presets::parse_layout("order=" + word, flag).layout.order);
  return orders;
}

/// How the text of a flag becomes a dimension.
struct DimensionReader {
  std::string_view flag;
  void (*read)(std::string_view text, std::string_view flag, SearchSpace& space);
};

template <auto Member, std::int64_t Least, std::int64_t Most = kMostRanks>
void degrees(std::string_view text, std::string_view flag, SearchSpace& space) {
  space.*Member = read_degrees(text, flag, Least, Most);
}

constexpr DimensionReader kReaders[] = {
    {"--tp", degrees<&SearchSpace::tp, 1>},
    {"--pp", degrees<&SearchSpace::pp, 1>},
    {"--dp", degrees<&SearchSpace::dp, 1>},
    {"--cp", degrees<&SearchSpace::cp, 1>},
    {"--ep", degrees<&SearchSpace::ep, 1>},
    {"--etp", degrees<&SearchSpace::etp, 0>},
    {"--vpp", degrees<&SearchSpace::vpp, 1>},
    {"--zero", degrees<&SearchSpace::zero, 0, 3>},
    {"--shard-group", degrees<&SearchSpace::shard_group, 0>},
    {"--sp", [](auto text, auto flag, SearchSpace& s) { s.sp = read_switch(text, flag); }},
    {"--micro-batch",
     [](auto text, auto flag, SearchSpace& s) { s.micro_batch = read_numbers(text, flag, 1, kMostRanks); }},
    {"--recompute", [](auto text, auto flag, SearchSpace& s) { s.recompute = read_recomputes(text, flag); }},
    {"--schedule", [](auto text, auto flag,
                      SearchSpace& s) { s.schedule = read_named(text, flag, presets::kScheduleNames); }},
    {"--context", [](auto text, auto flag,
                     SearchSpace& s) { s.context = read_named(text, flag, presets::kContextNames); }},
    {"--order", [](auto text, auto flag, SearchSpace& s) { s.order = read_orders(text, flag); }},
    {"--offload", [](auto text, auto flag, SearchSpace& s) { s.offload = read_offloads(text, flag); }},
    {"--offload-fraction",
     [](auto text, auto flag, SearchSpace& s) { s.offload_fraction = read_shares(text, flag); }},
    {"--precision", [](auto text, auto flag,
                       SearchSpace& s) { s.precision = read_named(text, flag, presets::kPrecisionNames); }},
};

}  // namespace

std::vector<std::string> read_words(std::string_view text, std::string_view flag) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    const std::string_view word = costmodel::trimmed(text.substr(at, comma - at));
    if (word.empty()) throw list_error(flag, text, "a list with commas between its items");
    words.emplace_back(word);
    at = comma + 1;
  }
  return words;
}

std::vector<std::int64_t> read_numbers(std::string_view text, std::string_view flag, std::int64_t least,
                                       std::int64_t most) {
  std::vector<std::int64_t> values;
  for_each_range(text, flag, least, most, [&](std::int64_t first, std::int64_t last) {
    if (last - first >= kMostValues)
      throw list_error(flag, text, fmt::format("at most {} values", kMostValues));
    for (std::int64_t value = first; value <= last; ++value) values.push_back(value);
  });
  return sorted_once(std::move(values));
}

std::vector<std::int64_t> read_gpu_counts(std::string_view text, std::string_view flag) {
  std::vector<std::int64_t> values;
  for_each_range(text, flag, 1, kMostRanks, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t value = first; value <= last; value *= 2) values.push_back(value);
  });
  return sorted_once(std::move(values));
}

SearchSpace read_space(const std::vector<DimensionText>& dimensions) {
  SearchSpace space;
  for (const auto& [flag, text] : dimensions) {
    if (text.empty()) continue;
    const auto* reader = std::find_if(std::begin(kReaders), std::end(kReaders),
                                      [&, &name = flag](const auto& row) { return row.flag == name; });
    reader->read(text, flag, space);
  }
  return space;
}

std::vector<std::string> words_beyond(const SearchSpace& space,
                                      const costmodel::FrameworkProfile& framework) {
  using costmodel::RecomputeMode;
  const costmodel::FrameworkAbilities& can = framework.abilities;
  std::vector<std::string> words;
  for (const costmodel::ScheduleKind schedule : space.schedule) {
    if (!costmodel::has_bit(can.schedules, schedule))
      words.emplace_back(presets::name_in(presets::kScheduleNames, schedule));
  }
  for (const costmodel::ContextKind context : space.context) {
    if (!costmodel::has_bit(can.contexts, context))
      words.emplace_back(presets::name_in(presets::kContextNames, context));
  }
  for (const int stage : space.zero) {
    if (!costmodel::has_bit(can.zero_stages, stage)) words.push_back(fmt::format("zero{}", stage));
  }
  for (const std::uint8_t set : space.offload) {
    for (const auto& row : presets::kOffloadNames) {
      if ((set & ~can.offload & row.value) != 0) words.push_back(fmt::format("offloaded {}", row.name));
    }
  }
  for (const costmodel::Recompute& recompute : space.recompute) {
    const bool modules = recompute.mode == RecomputeMode::SelectiveModules;
    const bool by_stage = !recompute.stage_layers.empty() && !can.recompute_per_stage;
    if (by_stage ||
        (modules ? can.recompute_modules.empty() : !costmodel::has_bit(can.recompute, recompute.mode)))
      words.push_back(fmt::format("recompute {}", recompute.mode == RecomputeMode::Layers &&
                                                          recompute.layers == 0 &&
                                                          recompute.stage_layers.empty()
                                                      ? "layers"
                                                      : presets::to_recompute_text(recompute)));
  }
  std::vector<std::string> notes;
  for (const std::string& word : words) {
    std::string note =
        fmt::format("{} has no {}: plans with it are those of one like it that had", framework.name, word);
    if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(std::move(note));
  }
  return notes;
}

std::vector<std::string> axes_left_out(const SearchSpace& space, const costmodel::FrameworkProfile& framework,
                                       std::string_view ask) {
  if (!space.tp.empty() || framework.undescribed_tensor.empty() || framework.abilities.tensor) return {};
  return {
      fmt::format("tensor parallelism is left out: profile {} does not describe {}; {} looks at it, priced "
                  "as Megatron's",
                  framework.name, framework.undescribed_tensor, ask)};
}

double read_amount(std::string_view text, std::string_view flag, std::string_view expected) {
  const auto value = costmodel::parse_number<double>(text);
  if (!value || !(*value >= 0 && *value <= 1e15)) throw list_error(flag, text, std::string{expected});
  return *value;
}

double read_share(std::string_view text, std::string_view flag) {
  constexpr std::string_view expected = "a share such as 90% or 0.9";
  std::string_view digits = costmodel::trimmed(text);
  const bool percent = !digits.empty() && digits.back() == '%';
  if (percent) digits = costmodel::trimmed(digits.substr(0, digits.size() - 1));
  const double share = read_amount(digits, flag, expected) / (percent ? 100.0 : 1.0);
  if (share > 1) throw list_error(flag, text, std::string{expected});
  return share;
}

}  // namespace hexaplan::cli
