#include "presets/frameworks/allocator_words.h"

#include <algorithm>
#include <bit>
#include <string>
#include <vector>

#include "costmodel/units/nearest_name.h"
#include "costmodel/units/parse_number.h"
#include "presets/json/input_error.h"

namespace hexaplan::presets {

using costmodel::AllocatorSettings;

namespace {

/// A word, what it may say and what it does. pytorch/pytorch docs/source/notes/cuda.rst, "Optimizing memory
/// usage with PYTORCH_CUDA_ALLOC_CONF"; limits: c10/core/AllocatorConfig.cpp.
struct AllocatorWord {
  std::string_view name, expected;
  bool (*set)(std::string_view value, AllocatorSettings& settings);
};

bool set_expandable(std::string_view value, AllocatorSettings& settings) {
  settings.expandable_segments = value == "True";
  return value == "True" || value == "False";
}
bool set_split(std::string_view value, AllocatorSettings& settings) {
  constexpr std::int64_t kLeast = 20, kMost = std::int64_t{1} << 40;  // a large segment's 20 MiB
  const auto mebibytes = costmodel::parse_number<std::int64_t>(value);
  if (!mebibytes || *mebibytes <= kLeast || *mebibytes > kMost) return false;
  settings.max_split_size = *mebibytes << 20;
  return true;
}
bool set_collection(std::string_view value, AllocatorSettings& settings) {
  const auto share = costmodel::parse_number<double>(value);
  if (!share || !(*share > 0 && *share < 1)) return false;
  settings.garbage_collection_threshold = *share;
  return true;
}
bool set_divisions(std::string_view value, AllocatorSettings& settings) {
  constexpr std::int64_t kMost = 64;
  const auto divisions = costmodel::parse_number<std::int64_t>(value);
  if (!divisions || *divisions < 1 || *divisions > kMost ||
      !std::has_single_bit(static_cast<std::uint64_t>(*divisions)))
    return false;
  settings.roundup_power2_divisions = *divisions;
  return true;
}

constexpr AllocatorWord kAllocatorWords[] = {
    {"expandable_segments", "True or False", set_expandable},
    {"max_split_size_mb", "a whole number of MiB above 20", set_split},
    {"garbage_collection_threshold", "a number between 0 and 1", set_collection},
    {"roundup_power2_divisions", "a power of 2 up to 64", set_divisions},
};

[[noreturn]] void refuse_word(std::string_view word, std::string_view field) {
  std::string expected =
      "words of PYTORCH_CUDA_ALLOC_CONF, as in expandable_segments:True,max_split_size_mb:128: ";
  std::vector<std::string_view> names;
  for (const AllocatorWord& known : kAllocatorWords) {
    expected += (names.empty() ? "" : ", ") + std::string{known.name};
    names.push_back(known.name);
  }
  throw InputError{{.field = std::string{field},
                    .value = in_quotes(word),
                    .expected = expected + "; or default",
                    .hint = did_you_mean(costmodel::nearest_name(word.substr(0, word.find(':')), names))}};
}

}  // namespace

AllocatorSettings allocator_settings(std::string_view words, std::string_view field) {
  AllocatorSettings settings;
  if (words == "default") return settings;
  for (std::size_t begin = 0; begin <= words.size();) {
    const std::size_t end = std::min(words.find(',', begin), words.size());
    const std::string_view word = words.substr(begin, end - begin);
    const std::size_t colon = word.find(':');
    const auto known = std::find_if(std::begin(kAllocatorWords), std::end(kAllocatorWords),
                                    [&](const AllocatorWord& w) { return w.name == word.substr(0, colon); });
    if (known == std::end(kAllocatorWords) || colon == std::string_view::npos) refuse_word(word, field);
    if (!known->set(word.substr(colon + 1), settings))
      throw InputError{{.field = std::string{field} + " " + std::string{known->name},
                        .value = in_quotes(word.substr(colon + 1)),
                        .expected = std::string{known->expected}}};
    begin = end + 1;
  }
  return settings;
}

}  // namespace hexaplan::presets
