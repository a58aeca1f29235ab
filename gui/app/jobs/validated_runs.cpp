#include "gui/app/jobs/validated_runs.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>

#include "presets/json/object_reader.h"

namespace hexaplan::gui {

using presets::JsonDocument;
using presets::ObjectReader;
using presets::Reading;
using presets::ValueReader;
using validator::ComparedTotal;
using validator::kTermGroupKeys;
using validator::ValidatedScenario;

namespace {

/// Ranks of the largest job that a file may speak of.
constexpr int kMostComparedRanks = 1'000'000;

/// null, which counts as absent, is how a report says that something was not compared.
std::optional<ComparedTotal> readTotal(ObjectReader& scenario, std::string_view key) {
  const auto value = scenario.optional(key);
  if (!value) return std::nullopt;
  ObjectReader total = value->object();
  ComparedTotal out{.predicted = total.required("predicted").number(presets::kNotNegative),
                    .measured = total.required("measured").number(presets::kNotNegative)};
  const std::vector<double> ends = total.required("interval").numbers();
  if (ends.size() != 2) throw total.error("interval", "two numbers");
  out.interval = {ends[0], ends[1]};
  return out;
}

/// Terms of groups that this program does not know are left out: reports grow.
validator::ComparedRank readComparedRank(const ValueReader& value) {
  ObjectReader object = value.object();
  validator::ComparedRank rank{.rank = object.required("rank").small_integer({0, kMostComparedRanks}),
                               .stage = object.required("stage").small_integer({0, kMostComparedRanks})};
  for (const ValueReader& element : object.required("terms").elements()) {
    ObjectReader term = element.object();
    const auto group = std::find(kTermGroupKeys.begin(), kTermGroupKeys.end(), term.required("group").text());
    if (group == kTermGroupKeys.end()) continue;
    rank.terms.push_back(
        {.group = static_cast<validator::TermGroup>(std::distance(kTermGroupKeys.begin(), group)),
         .name = term.required("name").text(),
         .predicted = term.required("predicted").number(presets::kNotNegative),
         .measured = term.required("measured").number(presets::kNotNegative)});
  }
  return rank;
}

/// The value of an enum with this name; `otherwise` for names that this program does not know.
template <class E, std::size_t N>
E namedAs(const std::string& name, const std::array<E, N>& values, E otherwise) {
  using validator::name_of;
  const auto found =
      std::find_if(values.begin(), values.end(), [&](E value) { return name_of(value) == name; });
  return found == values.end() ? otherwise : *found;
}

ValidatedScenario readScenario(const ValueReader& value) {
  using validator::Outcome;
  using validator::ScenarioUse;
  ObjectReader object = value.object();
  ValidatedScenario out;
  out.name = object.required("name").text();
  if (const auto title = object.optional("title")) out.title = title->text();
  if (const auto use = object.optional("use"))
    out.use =
        namedAs(use->text(), std::array{ScenarioUse::Fitted, ScenarioUse::HeldOut}, ScenarioUse::Unknown);
  out.outcome =
      namedAs(object.required("outcome").text(),
              std::array{Outcome::Measured, Outcome::OutOfMemory, Outcome::Failed}, Outcome::NotRun);
  if (const auto reason = object.optional("reason")) out.reason = reason->text();
  out.step = readTotal(object, "step");
  out.memory = readTotal(object, "memory");
  if (const auto ranks = object.optional("ranks")) {
    for (const ValueReader& rank : ranks->elements()) out.ranks.push_back(readComparedRank(rank));
  }
  return out;
}

}  // namespace

ValidatedRuns readValidatedRuns(const QString& path, const JsonDocument& document) {
  // Lenient: a report holds more than is shown here, and grows.
  ObjectReader root{document, Reading::Lenient};
  ValidatedRuns runs{.path = path};
  if (const auto device = root.optional("device")) runs.device = QString::fromStdString(device->text());
  for (const ValueReader& scenario : root.required("scenarios").elements())
    runs.scenarios.push_back(readScenario(scenario));
  return runs;
}

}  // namespace hexaplan::gui
