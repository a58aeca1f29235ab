#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "presets/catalog/catalog.h"
#include "presets/json/object_reader.h"
#include "presets/scenario/scenario_request.h"

namespace hexaplan::gui {

// What the rows of the field tables share.

/// A whole number from `low` to `high` as people write them ("64", "1k" = 1000); InputError names `field`.
[[nodiscard]] std::int64_t parseWhole(const std::string& text, std::string_view field, std::int64_t low,
                                      std::int64_t high);
[[nodiscard]] double parseReal(const std::string& text, std::string_view field, double low, double high);
[[nodiscard]] bool isAuto(const std::string& text);

/// Powers of two up to `most`, divisors of `whole` that are small, and `now`; ascending, each once.
[[nodiscard]] std::vector<std::string> degrees(std::int64_t whole, std::int64_t most, std::int64_t now);
[[nodiscard]] std::vector<std::string> powersOfTwo(std::int64_t low, std::int64_t high, std::int64_t now);

/// Names of the installed presets, read from the folders once.
[[nodiscard]] const std::vector<std::string>& presetNames(presets::PresetKind kind);

/// The same cluster with another number of GPUs, in nodes of the same size where it fills such nodes.
/// Not looked up: `checkCluster` says whether there is such a cluster.
void writeGpuCount(presets::ScenarioRequest& request, std::int64_t gpus);

/// InputError when the cluster that is asked for is none.
void checkCluster(const presets::ScenarioRequest& request);

[[nodiscard]] inline std::string wordOf(bool value) {
  return value ? "true" : "false";
}
[[nodiscard]] inline std::vector<std::string> yesAndNo() {
  return {"false", "true"};
}

/// The value that `text` names; InputError names `field`.
template <class E, std::size_t N>
[[nodiscard]] E parseWord(const presets::Named<E> (&table)[N], const std::string& text,
                          std::string_view field) {
  const presets::JsonValue value{text};
  const std::string no_file;
  return presets::ValueReader{no_file, std::string{field}, value, presets::Reading::Strict}.choice(table);
}

}  // namespace hexaplan::gui
